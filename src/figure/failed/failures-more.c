/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures-more.c - what else is known of failures: neighbours that are dead, time-outs of one length, look-ups that failed
 * before, services that Squid did not ask, and after how many bytes replies are cut.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "failures.h"
#include "row/cells.h"

enum sqt_why
sqt_failed_mostly(const struct sqt_failure *failure)
{
    for (enum sqt_why why = SQT_WHY_UNKNOWN + 1; why < SQT_WHYS; ++why)
        if (2 * failure->whys[why] > failure->count)
            return why;
    return SQT_WHY_UNKNOWN;
}

void
sqt_failed_denied_with(const struct sqt_failure *x, char text[SQT_FAILED_WITH])
{
    if (10 * x->with_status < 9 * x->count)
        snprintf(text, SQT_FAILED_WITH, "403, or what deny_info names");
    else if (!x->status)
        snprintf(text, SQT_FAILED_WITH, "without a reply, as by deny_info TCP_RESET");
    else
        snprintf(text, SQT_FAILED_WITH, "%u%s", x->status,
                 x->status >= 300 && x->status < 400 ? ", to another URL, by deny_info" : "");
}

void
sqt_failed_dead(const struct sqt_failed_requests *all, char names[SQT_TOLD_NAME], char because[SQT_TOLD_TEXT])
{
    const char *error = NULL;
    size_t used = 0;
    unsigned count = 0, all_live = 1; /* again: then they were dead */
    *names = '\0';
    for (unsigned i = 0; i < SQT_FAILED_PEERS; ++i)
        all_live &= !all->dead[i].error || all->dead[i].lives;
    for (unsigned i = 0; i < SQT_FAILED_PEERS && used < SQT_TOLD_NAME; ++i)
        if (*all->dead[i].name && all->dead[i].error && (all_live || !all->dead[i].lives)) {
            ++count;
            error = sqt_error_name(all->dead[i].error);
            used += (size_t)snprintf(names + used, SQT_TOLD_NAME - used, "%s%s", used ? ", " : "", all->dead[i].name);
        }
    snprintf(
        because, SQT_TOLD_TEXT,
        "got an error page, because %s %s dead, and Squid may ask nobody else: each try to connect to %s fails (%s).",
        names,
        all_live    ? (count > 1 ? "were" : "was")
        : count > 1 ? "are"
                    : "is",
        count > 1 ? "them" : "it", error ? error : "error");
}

/* Time-outs are alike if they deviate by that many seconds, as Squid looks for them once a second, or by that part of
 * their mean, in %. */
#define DEVIATE 0.6
#define DEVIATE_PART 5
/* So many at least, and that part of them, in %. */
#define LATE_LEAST 5
#define LATE_PART 80

void
sqt_failed_late(struct sqt_failure *x, int64_t ns)
{
    const double s = (double)ns / 1e9;
    x->late.sum += s;
    x->late.squares += s * s;
    ++x->late.count;
}

/* The trace does not say whether a server is a cache_peer. */
#define CONNECT_TIMEOUTS "connect_timeout (of a cache_peer: its connect-timeout=, or peer_connect_timeout)"

int
sqt_failed_is_alike(const struct sqt_failure *x)
{
    const double count = (double)x->late.count, mean = x->late.sum / count,
                 variance = x->late.squares / count - mean * mean;
    const double most = mean * DEVIATE_PART / 100 > DEVIATE ? mean * DEVIATE_PART / 100 : DEVIATE;
    return variance <= most * most;
}

void
sqt_failed_timeout(const struct sqt_failure *x, struct sqt_told *told)
{
    static const char *const names[SQT_FAILED_ATS] = {[SQT_FAILED_SERVICE] = "icap_io_timeout, or icap_connect_timeout",
                                                      [SQT_FAILED_CONNECT] = CONNECT_TIMEOUTS,
                                                      [SQT_FAILED_TLS] = CONNECT_TIMEOUTS,
                                                      [SQT_FAILED_LOOK_UP] = "dns_timeout, or dns_retransmit_interval",
                                                      [SQT_FAILED_ANSWER] = "read_timeout",
                                                      [SQT_FAILED_TIMED_OUT] = "read_timeout"};
    const size_t used = strlen(told->sentence);
    if (!names[x->at] || x->late.count < LATE_LEAST || x->late.count * 100 < x->count * LATE_PART)
        return;
    snprintf(told->sentence + used, sizeof(told->sentence) - used,
             sqt_failed_is_alike(x) ? " Each wait ends after about %.1f s: that is %s."
                                    : " Squid gives up after %.1f s, in the mean: what ends a wait is %s.",
             x->late.sum / (double)x->late.count, names[x->at]);
}

void
sqt_failed_kept(const struct sqt_failure *x, struct sqt_told *told)
{
    const size_t used = strlen(told->sentence);
    if (x->at == SQT_FAILED_LOOK_UP && x->kept_failure >= LATE_LEAST && 2 * x->kept_failure >= x->count)
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " %llu of them asked nobody: Squid keeps such a failure for a while, and answers with it "
                 "(negative_dns_ttl).",
                 (unsigned long long)x->kept_failure);
}

void
sqt_failed_unasked(const struct sqt_failure *x, struct sqt_told *told)
{
    const size_t used = strlen(told->sentence);
    if (x->at != SQT_FAILED_SERVICE || x->suspended.count || 2 * x->at_once < x->count)
        return;
    snprintf(
        told->sentence + used, sizeof(told->sentence) - used,
        " %llu of them failed within 1 ms, before the service was asked: it is down, or Squid has no options of it "
        "(OPTIONS) that are valid and fit squid.conf.",
        (unsigned long long)x->at_once);
    sqt_told_print(told->advice, "Ask that service for its OPTIONS by hand, and look at the time that this takes, at "
                                 "Options-TTL and at Methods. cache.log says where they do not fit icap_service. "
                                 "icap_service: bypass=1 goes on without it.");
}

/* Cuts differ by that many bytes at most where something cuts at one size: headers of replies differ. */
#define SAME_CUT 2000
/* Fewer servers are not told as several, and of each so many replies are cut at least. */
#define CUTTERS 3
#define CUT_EACH 3

void
sqt_failed_cut(const struct sqt_failure *x, struct sqt_told *told)
{
    char least[SQT_HUMAN_ROOM], most[SQT_HUMAN_ROOM];
    const size_t used = strlen(told->sentence);
    sqt_human_bytes(least, (double)x->sent_least);
    sqt_human_bytes(most, (double)x->sent_most);
    if (x->sent_most - x->sent_least <= SAME_CUT)
        snprintf(told->sentence + used, sizeof(told->sentence) - used, " All of them are cut after about %s.", most);
    else
        snprintf(told->sentence + used, sizeof(told->sentence) - used, " They are cut after %s to %s.", least, most);
}

void
sqt_failed_writing(const struct sqt_failure *x, struct sqt_told *told, struct sqt_tolds *tolds)
{
    struct sqt_told *const slow = sqt_tolds_find(tolds, "slow_clients", NULL, 0);
    const size_t used = strlen(told->sentence);
    if (2 * x->writing < x->felt)
        return;
    snprintf(
        told->sentence + used, sizeof(told->sentence) - used,
        " Most of their time Squid wrote to clients, who took it slowly, and read no more meanwhile (read_ahead_gap): "
        "the server may not wait that long.");
    if (!slow)
        return;
    const size_t length = strlen(slow->sentence);
    snprintf(slow->sentence + length, sizeof(slow->sentence) - length,
             " %llu of these replies are cut, because %s closed the connection before the end.",
             (unsigned long long)x->count, *told->culprit ? told->culprit : "a server");
}

unsigned
sqt_failed_cutters(const struct sqt_failed_requests *all)
{
    unsigned servers = 0;
    uint64_t most = 0;
    for (const struct sqt_name_entry *named = all->names.first; named; named = named->next) {
        const struct sqt_failure *const x = (const struct sqt_failure *)named;
        if (x->at != SQT_FAILED_CUT)
            continue;
        servers += x->count >= CUT_EACH;
        most = x->count > most ? x->count : most;
    }
    return servers >= CUTTERS && 2 * most <= all->cut.count ? servers : 0;
}

void
sqt_failed_suspended(const struct sqt_failure *x, int64_t end, struct sqt_told *told)
{
    const int64_t since = x->suspended.since, ns = x->suspended.ns + (since && end > since ? end - since : 0);
    const size_t used = strlen(told->sentence);
    if (x->suspended.count)
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " Squid suspended it %u time%s, for %.1f s in all.", x->suspended.count,
                 x->suspended.count > 1 ? "s" : "", (double)ns / 1e9);
}
