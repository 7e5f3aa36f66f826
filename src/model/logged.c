/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * logged.c - lines of an access.log as transactions that are over.
 */
#include <string.h>

#include "class.h"
#include "model-internal.h"

static int
logged_has(const char *text, const char *part)
{
    return text && strstr(text, part) != NULL;
}

/* Squid says in the result code how a transaction ended. */
static enum sqt_outcome
logged_outcome(const struct sqt_logged *l, const char *tag)
{
    if (l->took == SQT_LOG_UNKNOWN)
        return SQT_OUTCOME_CLOCK; /* nobody knows how long it took */
    return logged_has(tag, "_TIMEDOUT")  ? SQT_OUTCOME_TIMEOUT
           : logged_has(tag, "_ABORTED") ? SQT_OUTCOME_ABORTED
                                         : SQT_OUTCOME_COMPLETE;
}

/* Who made the reply.  Squid calls a transaction aborted if all that it has is a page of its own about what went wrong on
 * the way to a server; and what it made without asking anybody has no server. */
static uint32_t
logged_flags(const struct sqt_logged *l, const char *tag)
{
    const int alone = l->hierarchy ? logged_has(l->hierarchy, "NONE") : 0;
    uint32_t flags = logged_has(tag, "_CF") ? SQT_XACT_COLLAPSED : 0;
    if (l->status >= 500 && (alone || logged_has(tag, "_ABORTED")) &&
        (l->received == SQT_LOG_UNKNOWN || l->received != l->status))
        flags |= SQT_XACT_ERROR_PAGE;
    else if (alone && l->status > 0 && l->status < 400)
        flags |= SQT_XACT_INTERNAL;
    /* Before 6.7, what Squid logs for a tunnel that its server closed: sqt_xact_got_error().  Of a CONNECT that a parent answered
     * with a 500 only %<Hs says that there was no tunnel. */
    if (l->status == 500 && l->received != l->status && l->hierarchy && !alone && !(flags & SQT_XACT_ERROR_PAGE) &&
        logged_has(tag, "TUNNEL"))
        flags |= SQT_XACT_TUNNEL;
    return flags;
}

static int64_t
logged_size(const struct sqt_logged *l)
{
    return l->sent == SQT_LOG_UNKNOWN || l->headers == SQT_LOG_UNKNOWN || l->headers > l->sent
               ? SQT_MISSING
               : (int64_t)sqt_bytes((uint64_t)(l->sent - l->headers));
}

static void
logged_take(struct sqt_xact *x, const struct sqt_logged *l)
{
    const char *const tag = l->tag == UINT32_MAX ? NULL : sqt_origin_text(l->origin, SQT_DEF_TAG, l->tag);
    x->origin = l->origin;
    x->logged = l;
    x->id = l->xid == SQT_LOG_UNKNOWN ? SQT_UNNAMED : (uint64_t)l->xid & ~SQT_UNNAMED;
    x->begin = l->begin;
    x->end = l->at;
    x->method = l->method;
    x->tag = l->tag;
    x->status = l->status > 0 && l->status <= UINT32_MAX ? (uint32_t)l->status : 0;
    x->tries = l->tries > 0 && l->tries <= UINT32_MAX ? (uint32_t)l->tries : 0;
    x->server = l->server;
    x->object = l->object;
    x->size = logged_size(l);
    x->sent = l->sent == SQT_LOG_UNKNOWN ? SQT_MISSING : (int64_t)sqt_bytes((uint64_t)l->sent);
    x->flags = logged_flags(l, tag);
    x->disk_reads = !logged_has(tag, "MEM_HIT"); /* HIT is from disk, as far as a log knows */
    x->outcome = logged_outcome(l, tag);
}

/* What no line says. */
static const struct sqt_xact logged_unknown = {
    .of_log = 1,
    .client_connect = SQT_MISSING,
    .client_tls = SQT_MISSING,
    .read_wait = SQT_MISSING,
    .sending = SQT_MISSING,
    .accept_wait = SQT_MISSING,
    .unparsed = SQT_MISSING,
    .read_last = SQT_MISSING,
    .range = SQT_MISSING,
    .tunnel_first = SQT_MISSING,
    .tunnel_held = SQT_MISSING,
    .tunnel_unsent = SQT_MISSING,
    .tunnel_uploaded = SQT_MISSING,
    .tunnel_rest = SQT_MISSING,
    .tunnel_came = SQT_MISSING,
    .first_byte = SQT_MISSING,
    .server_from = SQT_MISSING,
    .server_until = SQT_MISSING,
    .dir = UINT32_MAX,
    .reply_source = -1,
    .reused = -1,
    .failed_server = UINT32_MAX,
    .neighbor = UINT32_MAX,
    .listener = UINT32_MAX,
    .held = SQT_MISSING,
};

void
sqt_logged_hand_out(const struct sqt_consumer *consumer, const struct sqt_logged *logged)
{
    struct sqt_xact x = logged_unknown;
    logged_take(&x, logged);
    if (consumer->request)
        consumer->request(consumer->context, &x);
}
