/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * look.h - a look for harm of one kind, beside the rules of findings.def: failures, standstills, waste ...
 *
 * A look is a file.  It is told of what the model hands out, keeps what it needs in a state of its own, and in the end
 * tells what it found.  looks.def has the list of them.
 */
#ifndef SQT_LOOK_H
#define SQT_LOOK_H

#include "pass/family.h"
#include "told.h"
#include "when.h"

/* What a look may know of the whole trace when it tells. */
struct sqt_look_totals {
    uint64_t requests;  /* that count: finished or not, tunnels, too; not lost */
    uint64_t total_ns;  /* that their clients waited */
    int64_t begin, end; /* of the part of the trace that is asked for, ns */
};

struct sqt_look {
    size_t size; /* bytes of its state, zeroed at first */
    int of_log;  /* it is told of requests that only a log knows, too, which have no stages */
    /* Each may be NULL.  Requests are those that --where, --since and --until ask for, but lost ones.  felt: ns that the
     * client waited, of a tunnel until it opened, of one that has not ended until the end of the trace.  The others are
     * those of that time. */
    void (*request)(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt);
    void (*connection)(void *state, const struct sqt_attempt *attempt);
    void (*wait)(void *state, const struct sqt_wait *wait);
    void (*swap)(void *state, const struct sqt_swap *swap);
    void (*loop)(void *state, const struct sqt_loop_row *pass);
    void (*stop)(void *state, const struct sqt_stop_row *stop);
    void (*loop_sample)(void *state, const struct sqt_loop_sample_row *sample);
    void (*sample)(void *state, const struct sqt_sample_row *sample);
    void (*accept)(void *state, const struct sqt_accept_row *row);
    void (*client_closed)(void *state, const struct sqt_client_closed_row *row);
    void (*put_off)(void *state, const struct sqt_put_off_row *row);
    void (*setup)(void *state, const struct sqt_setup_row *row);
    void (*closed)(void *state, const struct sqt_closed_row *row);
    void (*late_read)(void *state, const struct sqt_late_read *row);
    void (*incident)(void *state, const struct sqt_incident_row *row);
    void (*step)(void *state, const struct sqt_step_row *row);
    /* Of a trace that is still being written, before the requests that are open. */
    void (*open_loop)(void *state, const struct sqt_open_loop *loop, const struct sqt_now *now);
    /* Takes what it must know of the time before it began from the state of an earlier one; NULL: nothing. */
    void (*inherit)(void *state, const void *from);
    void (*tell)(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds);
    void (*end)(void *state); /* frees what the state owns */
};

/* One for each file of looks.def. */
#define SQT_LOOK(name) extern const struct sqt_look sqt_look_##name;
#include "looks.def"

/* The list ends with NULL. */
extern const struct sqt_look *const sqt_looks[];

/* Bytes a second that nobody calls slow: a reply that comes faster is as long as it is large. */
#define SQT_FINDING_RATE 1000000

/* What it took less what its bytes need at SQT_FINDING_RATE, not below 0. */
int64_t sqt_finding_slow(const struct sqt_xact *xact, int64_t ns);

/* The name of the cache_dir that the request read from last: type, number and path.  Returns 0 if it read from none. */
#define SQT_FINDING_NAME 256
int sqt_finding_place_name(const struct sqt_xact *xact, char name[SQT_FINDING_NAME]);

/* The same of a swap. */
void sqt_finding_swap_name(const struct sqt_swap *swap, char name[SQT_FINDING_NAME]);

/* Whether access rules denied the request, or its reply.  The client got an error page (403), or what deny_info names in its
 * place: another URL (302), another page, or nothing.  Being asked for a login is no denial. */
static inline int
sqt_finding_is_denied(const struct sqt_xact *xact, const struct sqt_request_fact *fact)
{
    return fact->class == SQT_CLASS_DENIED && xact->status != 401 && xact->status != 407;
}

#endif
