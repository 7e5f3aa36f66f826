/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * traffic_texts.c - the definitions that the records of make_traffic need.
 */
#include "traffic-internal.h"

#include "format/events.h"

static const struct {
    unsigned kind, number;
    const char *text;
} definitions[] = {
    {SQT_DEF_DIR, 0, "ufs /var/spool/squid/0"},
    {SQT_DEF_DIR, 1, "aufs /var/spool/squid/1"},
    {SQT_DEF_DIR, 2, "diskd /var/spool/squid/2"},
    {SQT_DEF_TAG, 1, "TCP_MEM_HIT"},
    {SQT_DEF_TAG, 2, "TCP_HIT"},
    {SQT_DEF_TAG, 3, "TCP_IMS_HIT"},
    {SQT_DEF_TAG, 4, "TCP_NEGATIVE_HIT"},
    {SQT_DEF_TAG, 5, "TCP_REFRESH_UNMODIFIED"},
    {SQT_DEF_TAG, 6, "TCP_REFRESH_MODIFIED"},
    {SQT_DEF_TAG, 7, "TCP_MISS"},
    {SQT_DEF_TAG, 8, "TCP_TUNNEL"},
    {SQT_DEF_TAG, 9, "TCP_DENIED"},
    {SQT_DEF_TAG, 10, "NONE_NONE"},
    {SQT_DEF_TAG, TRAFFIC_TAG_COLLAPSED, "TCP_CF_HIT"},
    {SQT_DEF_METHOD, 1, "GET"},
    {SQT_DEF_METHOD, 2, "CONNECT"},
    {SQT_DEF_PEER_KIND, TRAFFIC_DIRECT, "direct"},
    {SQT_DEF_PEER_KIND, TRAFFIC_SIBLING, "sibling"},
    {SQT_DEF_PEER_KIND, TRAFFIC_PARENT, "parent"},
    {SQT_DEF_SERVICE, TRAFFIC_ANTIVIRUS, "antivirus"},
    {SQT_DEF_CALL, 1, "epoll_wait"},
    {SQT_DEF_CALL, 2, "read"},
    {SQT_DEF_CALL, 3, "write"},
    {SQT_DEF_CALL, 4, "sendmsg"},
    {SQT_DEF_CALL, SQT_LOOP_CALLS, "system call 232"},
    {SQT_DEF_CALL, SQT_LOOP_CALLS + 1, "futex"},
    {SQT_DEF_CALL, SQT_LOOP_CALLS + 2, "read"},
    {SQT_DEF_ACL, TRAFFIC_ACL, "within_quota"},
    {SQT_DEF_THREAD, 1, "main"},
    {SQT_DEF_WAITED, TRAFFIC_REWRITER, "url_rewrite helper.py"},
    {SQT_DEF_WAITED, TRAFFIC_QUOTA, "external_acl quota"},
    {SQT_DEF_WAITED, TRAFFIC_NAME_SERVER, "name_server 198.51.100.53"},
    {SQT_DEF_LISTENER, TRAFFIC_HTTP_PORT, "http_port 198.51.100.10:3128"},
    {SQT_DEF_LISTENER, TRAFFIC_HTTPS_PORT, "https_port 198.51.100.10:3129"},
#define TRAFFIC_SERVER(name, kind, text, share) \
    {SQT_DEF_PEER, TRAFFIC_SERVER_NUMBER(TRAFFIC_TO_##name), text}, \
        {SQT_DEF_SERVER, TRAFFIC_SERVER_NUMBER(TRAFFIC_TO_##name), text},
#include "traffic.def"
};

static const char *const activities[] = {
#define TRAFFIC_ACTIVITY(text, passes, samples) text,
#include "traffic.def"
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct texts {
    char lines[64 * (COUNT(definitions) + COUNT(activities) + SQT_SAMPLES)];
    size_t used;
};

static void
define(struct texts *texts, unsigned kind, unsigned number, const char *source, const char *which, const char *text)
{
    texts->used += (size_t)snprintf(texts->lines + texts->used, sizeof(texts->lines) - texts->used,
                                    "def\t%u\t%u\t%s%s%s\n", kind, number, source, which, text);
}

const char *
make_traffic_texts(void)
{
    static const char *const which[SQT_SAMPLE_SOURCES] = {[SQT_SOURCE_DISK] = " vda ", [SQT_SOURCE_DIR] = " 0 "};
    static struct texts texts;
    texts.used = 0;
    for (unsigned i = 0; i < COUNT(definitions); ++i)
        define(&texts, definitions[i].kind, definitions[i].number, "", "", definitions[i].text);
    for (unsigned i = 0; i < COUNT(activities); ++i)
        define(&texts, SQT_DEF_ACTIVITY, i + 1, "", "", activities[i]);
    for (unsigned i = 0; i < SQT_SAMPLES; ++i) {
        const struct sqt_sample_info *const sample = &sqt_samples[i];
        define(&texts, SQT_DEF_SAMPLE, i + 1, sqt_sample_sources[sample->source].name,
               which[sample->source] ? which[sample->source] : " ", sample->name);
    }
    return texts.lines;
}
