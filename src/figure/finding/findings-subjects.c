/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings-subjects.c - for whom the time of a request counts.
 */
#include <stdio.h>
#include <string.h>

#include "findings-internal.h"

static void
findings_blocks(struct sqt_subject *subject, const struct sqt_xact *xact)
{
    subject->blocks += xact->disk_reads;
    for (unsigned i = 0; i < SQT_IO_PARTS; ++i)
        subject->parts[i] += (uint64_t)xact->read_parts[i];
}

void
sqt_finding_swap_name(const struct sqt_swap *swap, char name[SQT_FINDING_NAME])
{
    struct sqt_row_text text;
    const char *path;
    char place[SQT_PLACE_NAME];
    sqt_place_name(place, sqt_split_dir(swap, &text, &path), swap->dir);
    snprintf(name, SQT_FINDING_NAME, "%s%s%s", place, path ? " " : "", path ? path : "");
}

int
sqt_finding_place_name(const struct sqt_xact *xact, char name[SQT_FINDING_NAME])
{
    const struct sqt_swap swap = {.origin = xact->origin, .dir = xact->dir};
    if (xact->dir != UINT32_MAX)
        sqt_finding_swap_name(&swap, name);
    return xact->dir != UINT32_MAX;
}

/* The cache_dir that the request read from last. */
static struct sqt_subject *
findings_place(struct sqt_findings *f, const struct sqt_xact *xact, const union sqt_cell *row)
{
    char name[SQT_FINDING_NAME];
    if (!sqt_finding_place_name(xact, name))
        return NULL;
    struct sqt_subject *const subject = sqt_names_get(&f->names[SQT_FINDING_PLACE], name);
    subject->dir = xact->dir;
    subject->opens_ns += (uint64_t)sqt_row_sum(row, SQT_NS(swap_in_open));
    findings_blocks(subject, xact);
    return subject;
}

/* Whether the object was asked for before; from now on it was. */
static int
findings_again(struct sqt_findings *f, uint64_t object)
{
    uint64_t *const asked = sqt_sparse_at(&f->asked, SQT_FINDING_ASKED, sizeof(*asked), object % SQT_FINDING_ASKED);
    const int again = object && *asked == object;
    *asked = object;
    return again;
}

/* Reads of what was asked for before are reads that memory could have saved. */
static void
findings_reads(struct sqt_findings *f, const struct sqt_xact *xact, const union sqt_cell *row)
{
    const int again = findings_again(f, xact->object);
    if (xact->dir == UINT32_MAX)
        return;
    findings_blocks(&f->all, xact);
    f->all.again_ns += again ? (uint64_t)sqt_row_sum(row, SQT_SWAP_IN) : 0;
}

/* Whom the request waited for longest in a stage: kind and name. */
static struct sqt_subject *
findings_waited(struct sqt_findings *f, const struct sqt_xact *xact, enum sqt_named_stage stage)
{
    const struct sqt_longest_wait *const longest = &xact->longest[stage];
    const char *const text = longest->def ? sqt_origin_text(xact->origin, longest->def, longest->who) : NULL;
    char name[SQT_FINDING_NAME];
    if (!text)
        return NULL;
    snprintf(name, sizeof(name), "%s%s", longest->def == SQT_DEF_SERVICE ? "adaptation " : "", text);
    struct sqt_subject *const subject = sqt_names_get(&f->names[SQT_FINDING_HELPER + stage], name);
    if (longest->queue != SQT_MISSING) {
        subject->parts[SQT_IO_QUEUE] += (uint64_t)longest->queue;
        subject->parts[SQT_IO_SERVICE] += (uint64_t)(longest->ns - longest->queue);
    }
    return subject;
}

/* Who waits for a look-up that another request began has no query of its own: it waits for who answered last. */
static struct sqt_subject *
findings_name_server(struct sqt_findings *f, const struct sqt_xact *xact, const union sqt_cell *row)
{
    struct sqt_subject *const subject = findings_waited(f, xact, SQT_NAMED_DNS);
    const int64_t ns = row[SQT_CELL(requests, dns_ns)].number;
    if (subject) {
        f->name_server = subject;
        f->name_server_origin = xact->origin;
    } else if (f->name_server && f->name_server_origin == xact->origin && ns > 0) {
        f->name_server->parts[SQT_IO_SERVICE] += (uint64_t)ns;
        return f->name_server;
    }
    return subject;
}

static struct sqt_subject *
findings_listener(struct sqt_findings *f, const struct sqt_xact *xact)
{
    const char *const name = sqt_listener_text(xact->origin, xact->listener);
    if (!name)
        return NULL;
    struct sqt_subject *const subject = sqt_names_get(&f->names[SQT_FINDING_LISTENER], name);
    if (xact->put_off && xact->accept_wait > 0)
        subject->put_off += (uint64_t)xact->accept_wait;
    return subject;
}

static struct sqt_subject *
findings_named(struct sqt_findings *f, enum sqt_finding_by by, const char *name)
{
    return name ? sqt_names_get(&f->names[by], name) : NULL;
}

/* Whom the request followed, by the server that this one asked. */
static struct sqt_subject *
findings_leader(struct sqt_findings *f, const struct sqt_xact *xact)
{
    struct sqt_subject *const subject = findings_named(f, SQT_FINDING_LEADER, sqt_leader_server(xact));
    for (unsigned i = 0; xact->follow && i < SQT_FOLLOW_STAGES; ++i) {
        f->all.followed[i] += (uint64_t)xact->follow->ns[i];
        if (subject)
            subject->followed[i] += (uint64_t)xact->follow->ns[i];
    }
    return subject;
}

static struct sqt_subject *
findings_pool(struct sqt_findings *f, const struct sqt_xact *xact)
{
    char name[32];
    if (!xact->pool)
        return NULL;
    snprintf(name, sizeof(name), "delay pool %u", (unsigned)xact->pool);
    return sqt_names_get(&f->names[SQT_FINDING_POOL], name);
}

/* The server of the last try that failed. */
static struct sqt_subject *
findings_failed(struct sqt_findings *f, const struct sqt_xact *xact)
{
    const char *const name =
        xact->failed_server == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_SERVER, xact->failed_server);
    struct sqt_subject *const subject = findings_named(f, SQT_FINDING_FAILED, name);
    if (subject && xact->failed_reused)
        subject->kept_ns += (uint64_t)xact->stages.ns[SQT_STAGE_FAILED_TRIES];
    if (subject && xact->failed_answered)
        subject->answered_ns += (uint64_t)xact->stages.ns[SQT_STAGE_FAILED_TRIES];
    return subject;
}

/* The worker that serves the request; without several workers there are none. */
struct sqt_subject *
sqt_findings_worker(struct sqt_findings *f, const struct sqt_identity *identity)
{
    char name[32];
    if (identity->kid_kind != SQT_KID_WORKER || identity->kid >= SQT_FINDING_KIDS)
        return NULL;
    snprintf(name, sizeof(name), "worker %u", (unsigned)identity->kid);
    struct sqt_subject *const subject = sqt_names_get(&f->names[SQT_FINDING_WORKER], name);
    subject->kid = identity->kid;
    return subject;
}

/* Its requests are for one host, as far as an access.log says. */
static struct sqt_subject *
findings_server(struct sqt_findings *f, const union sqt_cell *row)
{
    struct sqt_subject *const subject = findings_named(f, SQT_FINDING_SERVER, row[SQT_CELL(requests, server)].text);
    const char *const host = row[SQT_CELL(requests, url_host)].text;
    if (!subject || !host)
        return subject;
    if (!subject->hosts) {
        snprintf(subject->host, sizeof(subject->host), "%s", host);
        subject->hosts = 1;
    } else if (strncmp(subject->host, host, sizeof(subject->host) - 1) != 0)
        subject->hosts = 2;
    return subject;
}

void
sqt_findings_subjects(struct sqt_findings *f, const struct sqt_xact *xact, const union sqt_cell *row,
                      struct sqt_subject *subjects[SQT_FINDING_BYS])
{
    struct sqt_subject *const found[SQT_FINDING_BYS] = {
        [SQT_FINDING_ALL] = &f->all,
        [SQT_FINDING_SERVER] = findings_server(f, row),
        [SQT_FINDING_PLACE] = findings_place(f, xact, row),
        [SQT_FINDING_REASON] = findings_named(f, SQT_FINDING_REASON, row[SQT_CELL(requests, miss_reason)].text),
        [SQT_FINDING_LEADER] = findings_leader(f, xact),
        [SQT_FINDING_POOL] = findings_pool(f, xact),
        [SQT_FINDING_FAILED] = findings_failed(f, xact),
        [SQT_FINDING_NEIGHBOR] = findings_named(
            f, SQT_FINDING_NEIGHBOR,
            xact->neighbor == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_PEER, xact->neighbor)),
        [SQT_FINDING_LISTENER] = findings_listener(f, xact),
        [SQT_FINDING_WORKER] = sqt_findings_worker(f, &xact->origin->identity),
        [SQT_FINDING_HELPER] = findings_waited(f, xact, SQT_NAMED_HELPER),
        [SQT_FINDING_REWRITER] = findings_waited(f, xact, SQT_NAMED_REDIRECT),
        [SQT_FINDING_ADAPTER] = findings_waited(f, xact, SQT_NAMED_ADAPT),
        [SQT_FINDING_NAME_SERVER] = findings_name_server(f, xact, row),
    };
    memcpy(subjects, found, sizeof(found));
    findings_reads(f, xact, row);
}
