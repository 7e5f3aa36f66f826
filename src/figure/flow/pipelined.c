/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pipelined.c - requests that a client sent behind another one on its connection, before that one was answered.
 *
 * Squid reads a connection's next request when the one before is over (pipeline_prefetch 0), so the wait lies before the
 * request's begin, where no stage counts it: from its first byte, or from the parse of the one before it, to its begin.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/look.h"
#include "figure/finding/spell.h"
#include "figure/stat/names.h"
#include "figure/stat/sparse.h"

/* Connections that are remembered: a new one takes the place of another. */
#define CONNECTIONS 4096
/* A shorter wait is none, ns. */
#define LEAST_NS INT64_C(20000000)
/* So many at least, and that part of all requests in that time, in %. */
#define LEAST 5
#define SHARE 2
/* The next request is parsed so shortly around the end of the one before it, ns: its log line may come later. */
#define SOON INT64_C(10000000)
#define SERVERS 256
/* Series of sums by time. */
enum { ALL = 1, BEHIND };

/* The last request of a connection. */
struct piped_connection {
    const struct sqt_origin *origin; /* only compared */
    uint64_t conn;
    int64_t end;
    int64_t since; /* since when bytes of those behind it may have been there; SQT_MISSING: it was none itself */
    struct sqt_name_entry *slow; /* whom the one that holds them up waited for; NULL: nobody who has a name */
};

struct pipelined {
    struct sqt_sparse connections; /* CONNECTIONS of struct piped_connection */
    struct sqt_names servers;      /* of struct piped_server */
    struct sqt_when when;
    uint64_t count;
    double ns;
};

struct piped_server {
    struct sqt_name_entry named;
    uint64_t count;
    double ns;
};

static struct sqt_name_entry *
piped_server(struct pipelined *p, const struct sqt_xact *xact)
{
    const char *const name =
        xact->server == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_SERVER, xact->server);
    p->servers.size = sizeof(struct piped_server);
    p->servers.most = SERVERS;
    return name ? sqt_names_get(&p->servers, name) : NULL;
}

/* How long it waited behind the one before it; 0: it did not.  since: when its first bytes may have been there. */
static int64_t
piped_waited(const struct piped_connection *c, const struct sqt_xact *xact, int64_t *since)
{
    const int64_t before = xact->client_connect == SQT_MISSING ? xact->begin : xact->begin - xact->client_connect;
    if (c->origin != xact->origin || c->conn != xact->conn || before > c->end || xact->begin < c->end - SOON ||
        xact->begin > c->end + SOON)
        return 0;
    *since = c->since != SQT_MISSING && c->since < before ? c->since : before;
    return (c->end < xact->begin ? c->end : xact->begin) - *since;
}

static void
piped_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct pipelined *const p = state;
    (void)fact;
    (void)felt;
    sqt_when_add(&p->when, ALL, xact->begin, 0, 1);
    if (!xact->conn || xact->begin == SQT_MISSING)
        return;
    struct piped_connection *const c =
        sqt_sparse_at(&p->connections, CONNECTIONS, sizeof(struct piped_connection), xact->conn % CONNECTIONS);
    int64_t since = 0;
    const int64_t waited = piped_waited(c, xact, &since);
    struct sqt_name_entry *const slow = waited >= LEAST_NS ? c->slow : piped_server(p, xact);
    if (waited >= LEAST_NS) {
        sqt_when_add(&p->when, BEHIND, xact->begin, (uint64_t)waited, 1);
        ++p->count;
        p->ns += (double)waited;
        if (slow) {
            ++((struct piped_server *)slow)->count;
            ((struct piped_server *)slow)->ns += (double)waited;
        }
    }
    *c = (struct piped_connection){xact->origin, xact->conn, xact->end, waited >= LEAST_NS ? since : SQT_MISSING, slow};
}

/* The server that most of them wait for; NULL: none. */
static const struct piped_server *
piped_most(const struct pipelined *p)
{
    const struct piped_server *most = NULL;
    for (const struct sqt_name_entry *named = p->servers.first; named; named = named->next)
        if (!sqt_names_is_others(named) && (!most || ((const struct piped_server *)named)->ns > most->ns))
            most = (const struct piped_server *)named;
    return most && most->ns * 2 > p->ns ? most : NULL;
}

static void
piped_print(const struct pipelined *p, const struct piped_server *server, const char *before, char *text, size_t size)
{
    char each[SQT_HUMAN_ROOM];
    snprintf(
        text, size,
        "%s%llu requests came behind another one on the same connection before that was answered (pipelined): they "
        "waited for it%s%s, %s each, before their time begins.",
        before, (unsigned long long)p->count, server ? ", mostly for " : "", server ? server->named.name : "",
        sqt_human_time(each, p->ns / (double)p->count, " ", "us"));
}

static void
piped_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct pipelined *const p = state;
    struct sqt_told probe = {.since = 0};
    char when[128], text[SQT_TOLD_TEXT];
    (void)totals;
    if (p->count < LEAST)
        return;
    sqt_when_sort(&p->when);
    const struct sqt_spell spell = sqt_spell_tell(&probe, &p->when, BEHIND, ALL);
    const struct piped_server *const server = piped_most(p);
    struct sqt_told *told = server ? sqt_tolds_find(tolds, NULL, server->named.name, 0) : NULL;
    if (sqt_spell_percent(spell.met, spell.all) < SHARE)
        return;
    if (told) { /* of that server already */
        const size_t used = strlen(told->sentence);
        piped_print(p, NULL, " ", told->sentence + used, sizeof(told->sentence) - used);
        return;
    }
    told = sqt_tolds_add(tolds, "pipelined", SQT_HARM_WAITING, sqt_told_ns(p->ns));
    if (!told)
        return;
    told->since = probe.since;
    told->until = probe.until;
    told->pattern = probe.pattern;
    told->requests = p->count;
    told->waiting = sqt_told_ns(p->ns);
    snprintf(told->culprit, sizeof(told->culprit), "%s", server ? server->named.name : "clients");
    piped_print(p, server, "", text, sizeof(text));
    sqt_told_print(told->sentence, "%s, %s", sqt_told_when(when, sizeof(when), told), text);
    sqt_told_print(
        told->advice,
        "A slow answer holds up all that a client sends behind it on the same connection: clients that do not "
        "pipeline, or that open a second connection, do not wait. pipeline_prefetch lets Squid begin with the "
        "next ones, but their answers still wait for their turn.");
    sqt_told_print(told->command, "sqtrace-dump --where='client_connect_ns > 20000000' TRACE");
}

static void
piped_end(void *state)
{
    struct pipelined *const p = state;
    sqt_names_free(&p->servers);
    sqt_when_free(&p->when);
    sqt_sparse_free(&p->connections);
}

const struct sqt_look sqt_look_pipelined = {
    .size = sizeof(struct pipelined), .request = piped_request, .tell = piped_tell, .end = piped_end};
