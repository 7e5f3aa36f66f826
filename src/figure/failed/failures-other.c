/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures-other.c - requests that fail in another way than with a 5xx: refused, cut, turned away, or never begun.
 */
#include <stdio.h>
#include <string.h>

#include "figure/harm/blame.h"
#include "failures.h"

/* Who waits for the next bytes of a server until its time is up waits for so long, ns. */
#define PAUSE INT64_C(500000000)
/* A client whose protocol Squid does not speak waits for an answer, ns; a health check that sends a header of the PROXY
 * protocol, or anything, leaves at once.  Where Squid itself closes the connection, it does so as soon as it has read that. */
#define SPOKE INT64_C(500000000)
/* Who leaves a handshake sooner, ns, and has said nothing as far as the trace knows, is a health check that only connects.  Who
 * has said nothing for so long, ns, waits for the server to speak first. */
#define CHECK INT64_C(2000000)
#define MUTE INT64_C(1000000000)

/* Tunnels are quiet for so long, ns, and are used afterwards: a longer time-out is what many people want. */
#define QUIET INT64_C(60000000000)

/* Whether no server that is well gives the status again and again.  It may give others: for what is not there, not allowed,
 * known already, or, as interfaces for programs do, not asked as it should be. */
static int
is_odd(uint32_t status)
{
    static const uint32_t odd[] = {407, 421, 426, 429, 431};
    for (unsigned i = 0; i < sizeof(odd) / sizeof(*odd); ++i)
        if (odd[i] == status)
            return 1;
    return 0;
}

/* The same of what is sent with a body, by a server that answers other requests well: it takes no such body. */
static int
is_odd_for_body(uint32_t status)
{
    return status == 411 || status == 413 || status == 417;
}

/* Answers in a row that are 4xx; of a server also those that lead elsewhere, as those to uploads do where all is well. */
static void
other_run(struct sqt_failure *server, const struct sqt_xact *xact)
{
    struct sqt_failed_run *const run = &server->run;
    const int of_method = server->at == SQT_FAILED_ONE_METHOD;
    const uint32_t least = of_method ? 400 : 300;
    if (xact->status < least || xact->status == 304 || xact->status >= 500) {
        run->count = run->odd = 0;
        ++server->answered;
        return;
    }
    run->after = server->answered;
    run->since = run->count ? run->since : xact->begin;
    run->until = xact->end;
    run->status = xact->status;
    run->odd += is_odd(xact->status) || (of_method && is_odd_for_body(xact->status));
    if (++run->count > server->longest.count)
        server->longest = *run;
}

static const char *
other_method(const struct sqt_xact *xact)
{
    return xact->method == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_METHOD, xact->method);
}

/* The same of one method.  Nearly all servers answer GET, so that a row of it is the server's. */
static void
other_of_method(struct sqt_failed_requests *all, const struct sqt_xact *xact)
{
    char name[SQT_TOLD_NAME];
    const char *const server = sqt_failure_server(xact), *const method = other_method(xact);
    if (!server || !method || strcmp(method, "GET") == 0)
        return;
    snprintf(name, sizeof(name), "%s %s", server, method);
    other_run(sqt_failure_get(all, SQT_FAILED_ONE_METHOD, name), xact);
}

/* A server answered; of a tunnel a parent did, or it is open. */
static void
other_answered(struct sqt_failed_requests *all, const struct sqt_xact *xact, int tunnel)
{
    if (!tunnel) {
        struct sqt_failure *const server = sqt_failure_get(all, SQT_FAILED_REFUSED, sqt_failure_server(xact));
        other_run(server, xact);
        sqt_failed_odd(all, server, xact);
        if (xact->reused == 1)
            sqt_when_add(&all->kept, server->series, xact->begin, 0, 1);
    }
    other_of_method(all, xact);
}

void
sqt_failure_answered(struct sqt_failed_requests *all, const struct sqt_xact *xact, int error)
{
    struct sqt_failure *const server = sqt_failure_get(all, SQT_FAILED_REFUSED, sqt_failure_server(xact));
    if (error && xact->reused == 1)
        sqt_when_add(&all->kept, server->series, xact->begin, 0, 1);
    const char *const method = other_method(xact) ? other_method(xact) : "?";
    const int same = strncmp(server->errors.method, method, SQT_FAILED_METHOD - 1) == 0;
    if (error && !same) {
        snprintf(server->errors.method, sizeof(server->errors.method), "%s", method);
        server->errors.count = 0;
    }
    server->errors.well = server->errors.count ? server->errors.well + (!error && !same && xact->status < 400) : 0;
    server->errors.count = error ? server->errors.count + 1 : same ? 0 : server->errors.count;
    if (server->errors.count > server->errors.most) {
        server->errors.most = server->errors.count;
        server->errors.others = server->errors.well;
    }
}

/* The client got all that the server sent, and that was not the whole: a client that leaves has not got all of it. */
static int
is_cut(const struct sqt_xact *xact, enum sqt_outcome outcome)
{
    return xact->outcome == outcome && !(xact->flags & (SQT_XACT_ERROR_PAGE | SQT_XACT_TUNNEL)) &&
           xact->server != UINT32_MAX && xact->fetched > 0 && xact->server_until != SQT_MISSING &&
           xact->server_until < xact->end && xact->sent != SQT_MISSING && xact->sent >= xact->fetched;
}

/* A hit that was read from a disk, and that ended too soon though nothing failed. */
static int
is_cut_hit(const struct sqt_xact *xact, const struct sqt_request_fact *fact)
{
    const char *const method = other_method(xact);
    return fact->class == SQT_CLASS_DISK_HIT && xact->outcome == SQT_OUTCOME_COMPLETE && xact->status == 200 &&
           method && strcmp(method, "GET") == 0 && xact->size != SQT_MISSING && xact->sent != SQT_MISSING &&
           xact->sent < xact->size;
}

/* Squid refuses what the client sent: with a 4xx of its own that is neither about who asks nor about what is not there. */
static int
is_refused(const struct sqt_xact *xact)
{
    const int made = (xact->flags & SQT_XACT_ERROR_PAGE) || xact->reply_source == SQT_REPLY_MADE;
    return made && xact->server == UINT32_MAX && xact->status >= 400 && xact->status < 500 && xact->status != 401 &&
           xact->status != 403 && xact->status != 404 && xact->status != 407;
}

/* Squid closed the tunnel, although it was open for a short time: who is at its ends may still want it. */
static int
is_closed_soon(const struct sqt_xact *xact, const struct sqt_request_fact *fact)
{
    return fact->class == SQT_CLASS_TUNNEL && xact->outcome == SQT_OUTCOME_TIMEOUT &&
           sqt_row_sum(fact->row, SQT_NS(tunnel)) < QUIET;
}

/* The client did not shake hands with Squid.  Whether its hello came is known of tunnels that are bumped only. */
static struct sqt_failure *
other_handshake(struct sqt_failed_requests *all, const struct sqt_xact *xact)
{
    const int hello = !xact->tls_before && !xact->handshake_mute, left = xact->handshake == SQT_OUTCOME_ABORTED;
    if (left && !hello && xact->client_tls < CHECK)
        return NULL;
    struct sqt_failure *const failure =
        sqt_failure_get(all, SQT_FAILED_HANDSHAKE, sqt_origin_text(xact->origin, SQT_DEF_LISTENER, xact->listener));
    sqt_failed_late(failure, xact->client_tls);
    failure->mute += xact->handshake_mute && (xact->client_tls >= MUTE || xact->handshake == SQT_OUTCOME_TIMEOUT);
    failure->left += left;
    failure->hello += hello;
    failure->timed_out += xact->handshake == SQT_OUTCOME_TIMEOUT;
    return failure;
}

/* Bytes of a request came in pieces until its connection closed: it was not quiet for longer than they came. */
static int
is_coming(const struct sqt_xact *xact)
{
    return xact->sending != SQT_MISSING && xact->sending > xact->unparsed - xact->sending;
}

/* Its reply was there, and a rule or a limit did not let it through. */
static int
is_reply_denied(const struct sqt_request_fact *fact)
{
    const char *const tag = fact->row[SQT_CELL(requests, tag)].text;
    return tag && strstr(tag, "_REPLY");
}

struct sqt_failure *
sqt_failure_other(struct sqt_failed_requests *all, const struct sqt_xact *xact, const struct sqt_request_fact *fact,
                  const struct sqt_blame *blame)
{
    if (blame->cut)
        return sqt_failure_get(all, SQT_FAILED_HALF, sqt_blame_name(blame, SQT_BLAMED_SERVICE));
    if (is_closed_soon(xact, fact)) {
        struct sqt_failure *const failure = sqt_failure_get(all, SQT_FAILED_TUNNEL, "read_timeout");
        sqt_failed_late(failure, sqt_row_sum(fact->row, SQT_NS(tunnel)));
        return failure;
    }
    if ((xact->status == 403 || xact->status == 407 || sqt_finding_is_denied(xact, fact)) &&
        (blame->failed >> SQT_BLAMED_HELPER & 1)) {
        struct sqt_failure *const failure =
            sqt_failure_get(all, SQT_FAILED_HELPER, sqt_blame_name(blame, SQT_BLAMED_HELPER));
        failure->broken += blame->broken >> SQT_BLAMED_HELPER & 1;
        return failure;
    }
    const int is_answer = xact->reused >= 0 && xact->status && !sqt_finding_is_denied(xact, fact);
    if (is_answer)
        other_answered(all, xact, fact->class == SQT_CLASS_TUNNEL);
    if (is_answer && fact->class != SQT_CLASS_TUNNEL && xact->status < 500)
        sqt_failure_answered(all, xact, 0);
    if (is_cut(xact, SQT_OUTCOME_TIMEOUT) && xact->server_until - xact->read_last >= PAUSE) {
        struct sqt_failure *const failure = sqt_failure_get(all, SQT_FAILED_TIMED_OUT, sqt_failure_server(xact));
        sqt_failed_late(failure, xact->server_until - xact->read_last);
        ++failure->timed_out;
        return failure;
    }
    if (xact->outcome == SQT_OUTCOME_TIMEOUT && (xact->size == SQT_MISSING || xact->sent < xact->size))
        return sqt_failure_get(all, SQT_FAILED_TIMED_OUT, "client_lifetime");
    if (is_cut(xact, SQT_OUTCOME_ABORTED)) {
        struct sqt_failure *const failure = sqt_failure_get(all, SQT_FAILED_CUT, sqt_failure_server(xact));
        failure->writing += (uint64_t)sqt_row_sum(fact->row, SQT_NS(proxy_reply));
        all->cut.writing += (uint64_t)sqt_row_sum(fact->row, SQT_NS(proxy_reply));
        return failure;
    }
    if (is_cut_hit(xact, fact)) {
        char place[SQT_FINDING_NAME];
        return sqt_failure_get(all, SQT_FAILED_CUT_HIT, sqt_finding_place_name(xact, place) ? place : NULL);
    }
    if (sqt_finding_is_denied(xact, fact))
        return sqt_failure_get(all, is_reply_denied(fact) ? SQT_FAILED_REPLY : SQT_FAILED_DENIED, NULL);
    if (is_refused(xact))
        return sqt_failure_get(all, SQT_FAILED_BY_SQUID, NULL);
    if ((!xact->status || (fact->class == SQT_CLASS_INTERNAL && xact->outcome == SQT_OUTCOME_ABORTED)) &&
        xact->client_tls != SQT_MISSING && xact->handshake != SQT_OUTCOME_COMPLETE)
        return other_handshake(all, xact);
    if (!xact->status && xact->method == UINT32_MAX && xact->unparsed != SQT_MISSING &&
        (xact->unparsed >= SPOKE || xact->turned_away) && xact->client_tls == SQT_MISSING) {
        struct sqt_failure *const failure = sqt_failure_get(
            all, SQT_FAILED_NO_REQUEST, sqt_origin_text(xact->origin, SQT_DEF_LISTENER, xact->listener));
        sqt_failed_late(failure, xact->unparsed);
        failure->coming += is_coming(xact);
        failure->turned_away += (unsigned)xact->turned_away;
        return failure;
    }
    if (fact->class == SQT_CLASS_INTERNAL && xact->status == 200 && xact->client_tls == SQT_MISSING &&
        xact->longest[SQT_NAMED_ADAPT].def)
        return sqt_failure_get(
            all, SQT_FAILED_ADAPTED,
            sqt_origin_text(xact->origin, xact->longest[SQT_NAMED_ADAPT].def, xact->longest[SQT_NAMED_ADAPT].who));
    if (fact->class == SQT_CLASS_INTERNAL && (xact->status == 301 || xact->status == 302 || xact->status == 307))
        return sqt_failure_get(all, SQT_FAILED_REDIRECTED, all->rewriter);
    return NULL;
}
