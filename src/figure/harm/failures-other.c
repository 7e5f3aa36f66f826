/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures-other.c - requests that fail in another way than with a 5xx: refused, cut, turned away, or never begun.
 */
#include "blame.h"
#include "failures.h"

/* Who waits for the next bytes of a server until its time is up waits for so long, ns. */
#define PAUSE INT64_C(500000000)
/* A client whose protocol Squid does not speak waits for an answer, ns; a health check that sends a header of the PROXY
 * protocol, or anything, leaves at once. */
#define SPOKE INT64_C(500000000)

/* Answers of a server in a row that are 4xx, or lead elsewhere. */
static void
other_answered(struct sqt_failed_requests *all, const struct sqt_xact *xact)
{
    struct sqt_failure *const server = sqt_failure_get(all, SQT_FAILED_REFUSED, sqt_failure_server(xact));
    struct sqt_failed_run *const run = &server->run;
    if (xact->status < 300 || xact->status == 304 || xact->status >= 500) {
        run->count = 0;
        ++server->answered;
        return;
    }
    run->after = server->answered;
    run->since = run->count ? run->since : xact->begin;
    run->until = xact->end;
    run->status = xact->status;
    if (++run->count > server->longest.count)
        server->longest = *run;
}

/* The client got all that the server sent, and that was not the whole: a client that leaves has not got all of it. */
static int
is_cut(const struct sqt_xact *xact, enum sqt_outcome outcome)
{
    return xact->outcome == outcome && !(xact->flags & (SQT_XACT_ERROR_PAGE | SQT_XACT_TUNNEL)) &&
           xact->server != UINT32_MAX && xact->fetched > 0 && xact->server_until != SQT_MISSING &&
           xact->server_until < xact->end && xact->sent != SQT_MISSING && xact->sent >= xact->fetched;
}

/* Squid refuses what the client sent: with a 4xx of its own that is neither about who asks nor about what is not there. */
static int
is_refused(const struct sqt_xact *xact)
{
    const int made = (xact->flags & SQT_XACT_ERROR_PAGE) || xact->reply_source == SQT_REPLY_MADE;
    return made && xact->server == UINT32_MAX && xact->status >= 400 && xact->status < 500 && xact->status != 401 &&
           xact->status != 403 && xact->status != 404 && xact->status != 407;
}

struct sqt_failure *
sqt_failure_other(struct sqt_failed_requests *all, const struct sqt_xact *xact, const struct sqt_request_fact *fact,
                  const struct sqt_blame *blame)
{
    if ((xact->status == 403 || xact->status == 407) && (blame->failed >> SQT_BLAMED_HELPER & 1)) {
        struct sqt_failure *const failure =
            sqt_failure_get(all, SQT_FAILED_HELPER, sqt_blame_name(blame, SQT_BLAMED_HELPER));
        failure->broken += blame->broken >> SQT_BLAMED_HELPER & 1;
        return failure;
    }
    if (xact->reused >= 0 && fact->class != SQT_CLASS_TUNNEL && xact->status)
        other_answered(all, xact);
    if (is_cut(xact, SQT_OUTCOME_TIMEOUT) && xact->server_until - xact->read_last >= PAUSE) {
        struct sqt_failure *const failure = sqt_failure_get(all, SQT_FAILED_TIMED_OUT, sqt_failure_server(xact));
        sqt_failed_late(failure, xact->server_until - xact->read_last);
        ++failure->timed_out;
        return failure;
    }
    if (xact->outcome == SQT_OUTCOME_TIMEOUT && (xact->size == SQT_MISSING || xact->sent < xact->size))
        return sqt_failure_get(all, SQT_FAILED_TIMED_OUT, "client_lifetime");
    if (is_cut(xact, SQT_OUTCOME_ABORTED))
        return sqt_failure_get(all, SQT_FAILED_CUT, sqt_failure_server(xact));
    if (is_refused(xact))
        return sqt_failure_get(all, SQT_FAILED_BY_SQUID, NULL);
    if ((!xact->status || (fact->class == SQT_CLASS_INTERNAL && xact->outcome == SQT_OUTCOME_ABORTED)) &&
        xact->client_tls != SQT_MISSING && xact->handshake != SQT_OUTCOME_COMPLETE)
        return sqt_failure_get(all, SQT_FAILED_HANDSHAKE,
                               sqt_origin_text(xact->origin, SQT_DEF_LISTENER, xact->listener));
    if (!xact->status && xact->method == UINT32_MAX && xact->unparsed != SQT_MISSING && xact->unparsed >= SPOKE &&
        xact->client_tls == SQT_MISSING) {
        struct sqt_failure *const failure = sqt_failure_get(
            all, SQT_FAILED_NO_REQUEST, sqt_origin_text(xact->origin, SQT_DEF_LISTENER, xact->listener));
        sqt_failed_late(failure, xact->unparsed);
        return failure;
    }
    if (fact->class == SQT_CLASS_INTERNAL && xact->status == 200 && xact->client_tls == SQT_MISSING &&
        xact->longest[SQT_NAMED_ADAPT].def)
        return sqt_failure_get(
            all, SQT_FAILED_ADAPTED,
            sqt_origin_text(xact->origin, xact->longest[SQT_NAMED_ADAPT].def, xact->longest[SQT_NAMED_ADAPT].who));
    if (fact->class == SQT_CLASS_INTERNAL && (xact->status == 301 || xact->status == 302 || xact->status == 307))
        return sqt_failure_get(all, SQT_FAILED_REDIRECTED, all->rewriter);
    return xact->status == 403 && fact->class == SQT_CLASS_DENIED ? sqt_failure_get(all, SQT_FAILED_DENIED, NULL)
                                                                  : NULL;
}
