/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hook_form.c - see hook_form.h.
 *
 * Empty fields and the values of flags come from events.def; the parts that follow an event are in the table below.
 */
#include "hook_form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/events.h"

#define MOST_PARTS 3

/* The parts of an event in their order; the first `must` of them are always there. */
static const struct {
    unsigned event, must, parts[MOST_PARTS];
} followed[] = {
    {SQT_EV_XACT_END, 2, {SQT_EV_PART_XACT_SIZES, SQT_EV_PART_XACT_FLAGS}},
    {SQT_EV_CONN_ACCEPT, 0, {SQT_EV_PART_LISTENER}},
    {SQT_EV_CONNECT_BEGIN, 0, {SQT_EV_PART_SERVER}},
    {SQT_EV_CONNECT_REUSED, 0, {SQT_EV_PART_SERVER}},
    {SQT_EV_CONNECT_END, 0, {SQT_EV_PART_CONNECT_ERROR}},
    {SQT_EV_SERVER_CLOSE, 0, {SQT_EV_PART_TCP}},
    {SQT_EV_TUNNEL_END, 0, {SQT_EV_PART_TUNNEL_HELD, SQT_EV_PART_TUNNEL_UPLOAD, SQT_EV_PART_TUNNEL_DOWNLOAD}},
    {SQT_EV_CLIENT_RESENT, 1, {SQT_EV_PART_CLIENT_RESENT}},
    {SQT_EV_SWAPIN_OPEN, 1, {SQT_EV_PART_SWAP_FILE}},
    {SQT_EV_SWAPOUT_OPEN, 1, {SQT_EV_PART_SWAP_FILE}},
    {SQT_EV_SWAPIN_OPENED, 0, {SQT_EV_PART_DISKOP_IO}},
    {SQT_EV_SWAPOUT_OPENED, 0, {SQT_EV_PART_DISKOP_IO}},
    {SQT_EV_SWAPIN_READ_DONE, 0, {SQT_EV_PART_DISKOP_IO}},
    {SQT_EV_SWAPOUT_WRITE, 0, {SQT_EV_PART_SLOT}},
    {SQT_EV_SWAPOUT_WRITTEN, 0, {SQT_EV_PART_DISKOP_IO}},
    {SQT_EV_SWAPIN_CLOSED, 0, {SQT_EV_PART_DISKOP_IO}},
    {SQT_EV_SWAPOUT_CLOSED, 0, {SQT_EV_PART_DISKOP_IO}},
    {SQT_EV_IO_LATE, 1, {SQT_EV_PART_DISKOP_IO}},
    {SQT_EV_DISKOP_BEGIN, 1, {SQT_EV_PART_DISKOP}},
    {SQT_EV_DISKOP_END, 0, {SQT_EV_PART_DISKOP_IO, SQT_EV_PART_STAMP}},
    {SQT_EV_DISKOP_LATE, 1, {SQT_EV_PART_DISKOP_IO}},
    {SQT_EV_WAIT_BEGIN, 0, {SQT_EV_PART_ACTIVITY}},
    {SQT_EV_ANCHOR, 1, {SQT_EV_PART_ANCHOR}},
    {SQT_EV_HEARTBEAT_LATE, 0, {SQT_EV_PART_HEARTBEAT_DUE}},
    {SQT_EV_HELPER_END, 1, {SQT_EV_PART_HELPER}},
    {SQT_EV_QUERY_END, 1, {SQT_EV_PART_QUERY}},
    {SQT_EV_CALLS, 1, {SQT_EV_PART_CALLS}},
    {SQT_EV_LOOP_SAMPLE, 1, {SQT_EV_PART_LOOP_RAN, SQT_EV_PART_LOOP_HELD, SQT_EV_PART_LOOP_IN}},
    {SQT_EV_DIGEST_REBUILD, 0, {SQT_EV_PART_DIGEST_UPDATES, SQT_EV_PART_DIGEST_UPDATES}},
};

static char error[160];

static const char *
say(unsigned event, const char *what)
{
    snprintf(error, sizeof(error), "%s %s", event < SQT_EVENTS ? sqt_events[event].name : "an unknown event", what);
    return error;
}

/* The numbers that a field's documentation explains, each before a colon: their largest, or their sum. */
static uint32_t
explained(const char *doc, int sum)
{
    uint32_t all = 0;
    for (const char *colon = strchr(doc, ':'); colon; colon = strchr(colon + 1, ':')) {
        const char *digits = colon;
        while (digits > doc && digits[-1] >= '0' && digits[-1] <= '9')
            --digits;
        const uint32_t number = (uint32_t)strtoul(digits, NULL, 10);
        const int is_bit = digits - doc >= 4 && memcmp(digits - 4, "bit ", 4) == 0;
        if (is_bit)
            all |= UINT32_C(1) << number;
        else if (sum)
            all |= number;
        else
            all = number > all ? number : all;
    }
    return all;
}

/* Whether a value is among those that its field can have. */
static int
fits(const struct sqt_field_info *field, uint64_t value)
{
    switch (field->kind) {
    case SQT_KIND_NONE:
        return value == 0;
    case SQT_KIND_FLAG:
    case SQT_KIND_OUTCOME:
    case SQT_KIND_REPLY_SOURCE:
    case SQT_KIND_DISK_OP:
        return value <= explained(field->doc, 0);
    case SQT_KIND_XACT_FLAGS:
        return !(value & ((UINT64_C(1) << SQT_XACT_MISS_SHIFT) - 1) & ~(uint64_t)explained(field->doc, 1)) &&
               value >> SQT_XACT_MISS_SHIFT < SQT_MISSES_COUNT;
    case SQT_KIND_IO_BYTES:
        return !(value & ~(uint64_t)(explained(field->doc, 0) | SQT_IO_BYTES));
    case SQT_KIND_STAMP:
        return value == SQT_STAMP_SECOND_QUEUE;
    default:
        return 1;
    }
}

static const char *
fields_error(const struct sqt_record *r)
{
    const struct sqt_event_info *const info = &sqt_events[r->event];
    if (!fits(&info->id, r->id))
        return say(r->event, "has an id that no hook gives it");
    if (!fits(&info->arg, r->arg))
        return say(r->event, "has an arg that no hook gives it");
    if (!fits(&info->aux, r->aux))
        return say(r->event, "has an aux that no hook gives it");
    return NULL;
}

/* Transactions without a name are those of XACT_BEGIN and XACT_UNLOGGED, and what XACT_NAMED names. */
static const char *
names_error(const struct sqt_record *r)
{
    const int unnamed = (r->id & SQT_UNNAMED) != 0;
    if ((r->event == SQT_EV_XACT_BEGIN || r->event == SQT_EV_XACT_UNLOGGED) && !unnamed)
        return say(r->event, "has a name");
    if (r->event == SQT_EV_XACT_NAMED && (unnamed || !(r->arg & SQT_UNNAMED)))
        return say(r->event, "does not name an unnamed transaction");
    return NULL;
}

/* The ends of I/Os that moved nothing say so alone; the stamps of one that timed out are not known. */
static const char *
outcome_error(const struct sqt_record *r, unsigned more)
{
    if (sqt_events[r->event].aux.kind != SQT_KIND_IO_BYTES)
        return NULL;
    if ((r->aux & SQT_IO_TIMED_OUT) && (more || !(r->aux & SQT_IO_FAILED)))
        return say(r->event, "timed out, and has stamps or has not failed");
    if ((r->aux & (SQT_IO_FAILED | SQT_IO_CANCELLED)) && (r->aux & SQT_IO_BYTES) && r->event != SQT_EV_SWAPOUT_WRITTEN)
        return say(r->event, "moved bytes and failed");
    return NULL;
}

static const char *
parts_error(const struct sqt_record *unit, unsigned more)
{
    unsigned i = 0;
    while (i < sizeof(followed) / sizeof(*followed) && followed[i].event != unit->event)
        ++i;
    if (i == sizeof(followed) / sizeof(*followed))
        return more ? say(unit->event, "has parts") : NULL;
    if (more < followed[i].must || more > MOST_PARTS)
        return say(unit->event, "has too few or too many parts");
    for (unsigned p = 0, k = 0; p < more; ++p, ++k) {
        while (k >= followed[i].must && k < MOST_PARTS && unit[p + 1].event != followed[i].parts[k])
            ++k;
        if (k == MOST_PARTS || unit[p + 1].event != followed[i].parts[k])
            return say(unit->event, "has a part of another event");
    }
    return NULL;
}

const char *
hook_form_error(const struct sqt_record *unit, size_t room)
{
    const unsigned more = unit->flags & SQT_FLAG_MORE;
    if (unit->event < 1 || unit->event >= SQT_EVENTS || (unit->flags & SQT_FLAG_PART) || more >= room)
        return say(unit->event, "does not begin a whole unit");
    const char *wrong = parts_error(unit, more);
    if (!wrong)
        wrong = names_error(unit);
    if (!wrong)
        wrong = outcome_error(unit, more);
    for (unsigned i = 0; !wrong && i <= more; ++i) {
        if (i && (unit[i].flags != SQT_FLAG_PART || unit[i].time != unit->time))
            return say(unit[i].event, "is no part of its unit");
        wrong = fields_error(&unit[i]);
    }
    return wrong;
}
