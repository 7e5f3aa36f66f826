/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-codes.c - see joins-codes.h.
 */
#include "joins-codes.h"

#include "joins-rule.h"

/* ---- TAG ---- */

/* Whether calls from that function that name no object are of the same transaction. */
static int
joins_calls_for_itself(unsigned row)
{
    return row == SQT_ATTACH_PROCESS || row == SQT_ATTACH_LOOKUP || row == SQT_ATTACH_FOUND ||
           row == SQT_ATTACH_NOT_MODIFIED || row == SQT_ATTACH_TUNNEL;
}

/* The result code changes.  Its place says of which transaction, once it was changed in a function of its transaction. */
static void
joins_tag(struct sqt_joins_call *call)
{
    struct sqt_joins *const joins = call->joins;
    const uint64_t place = call->event->values[0], code = call->event->values[1] & UINT32_MAX;
    const uint64_t number = sqt_joins_bound(joins, SQT_JOINS_TAG, place);
    if (code >= joins->tags)
        return;
    joins->tag_unclaimed = 0;
    call->xact = number ? sqt_idmap_get(&joins->xacts, number) : NULL;
    if (!call->xact && joins_calls_for_itself(joins->before))
        call->xact = sqt_idmap_get(&joins->xacts, joins->before_xact);
    if (call->xact) {
        sqt_joins_own(call, SQT_JOINS_TAG, 0);
        call->xact->tag = (uint32_t)code + 1;
        call->xact->tag_place = place;
    } else {
        joins->tag_unclaimed = (uint32_t)code + 1;
    }
}

/* ---- LOG ---- */

/* LogTags begins with a few flags in some releases. */
#define JOINS_CODE_PLACES 4u
#define JOINS_CODE_MOST 8192u /* bytes of an AccessLogEntry */
#define JOINS_CODE_AGREED 8u  /* log lines that must say the same place */
#define JOINS_CODE_RIGHT 32u  /* and that must have the right code there */

/* Another line says where LogTags is. */
static void
joins_code_place(struct sqt_joins_code *code, uint64_t place)
{
    if (place > JOINS_CODE_MOST)
        return;
    code->agreed = place == code->place ? code->agreed + 1 : 0;
    code->place = (uint32_t)place;
    if (code->agreed >= JOINS_CODE_AGREED && code->tried < JOINS_CODE_PLACES) {
        code->at = code->place + 4 * code->tried;
        code->agreed = 0;
    }
}

/* Another line has a code there, and calls of TAG said which one is right. */
static void
joins_code_test(struct sqt_joins_code *code, uint64_t said, uint32_t right)
{
    if (said + 1 == right) {
        code->sure = ++code->agreed >= JOINS_CODE_RIGHT;
        return;
    }
    ++code->tried;
    code->agreed = 0;
    code->at = 0;
}

void
sqt_joins_code_logged(const struct sqt_joins_call *call)
{
    struct sqt_joins_code *const code = call->joins->code;
    struct sqt_joins_xact *const xact = call->xact;
    const uint64_t entry = call->event->values[0], said = call->event->values[1] & UINT32_MAX;
    const int there = code && code->at && call->event->values[1] >> 32 == code->at;
    if (!code)
        return;
    if (code->sure && there && said < call->joins->tags)
        xact->tag = (uint32_t)said + 1;
    else if (!code->sure && xact->tag_place && !code->at)
        joins_code_place(code, xact->tag_place - entry);
    else if (!code->sure && xact->tag > 1 && xact->tag_place && there)
        joins_code_test(code, said, xact->tag);
}

const struct sqt_joins_rule sqt_joins_code_rules[] = {
    {CALL(TAG), DOES(joins_tag)},
    {CALL(ROWS)},
};
