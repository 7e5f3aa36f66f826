/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * terminated.c - TLS handshakes of clients that Squid itself ends as soon as it has read the hello: ssl_bump terminate.
 *
 * A client that leaves does so a round trip later, because it has seen Squid's part of the handshake.  It adds to what was told of
 * handshakes that failed.  Rules may mean it, so that it ranks behind what is not meant.
 */
#include <stdio.h>
#include <string.h>

#include "figure/finding/look.h"
#include "figure/finding/spell.h"
#include "figure/stat/names.h"

#define PORTS 64
/* That part of the handshakes that failed, in %. */
#define MOST 80
/* Fewer of all handshakes there, in %, are what rules are for. */
#define SHARE 15

struct terminated_port {
    struct sqt_name_entry named;
    uint64_t shaken, failed, ended, felt; /* handshakes, and of these; felt: ns that clients waited */
};

struct terminated {
    struct sqt_names ports; /* of struct terminated_port */
};

static void
terminated_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct terminated *const t = state;
    const char *const name = sqt_origin_text(xact->origin, SQT_DEF_LISTENER, xact->listener);
    (void)fact;
    if (!name || xact->client_tls == SQT_MISSING)
        return;
    t->ports.size = sizeof(struct terminated_port);
    t->ports.most = PORTS;
    struct terminated_port *const port = sqt_names_get(&t->ports, name);
    ++port->shaken;
    if (xact->handshake == SQT_OUTCOME_COMPLETE)
        return;
    ++port->failed;
    port->ended += xact->handshake_ended;
    port->felt += (uint64_t)felt;
}

static void
terminated_told(const struct terminated_port *port, struct sqt_tolds *tolds)
{
    struct sqt_told *const told = sqt_tolds_find(tolds, "failed_client_tls", port->named.name, 0);
    char when[128];
    if (!told || port->ended * 100 < port->failed * MOST)
        return;
    if (sqt_spell_percent(port->ended, port->shaken) < SHARE) {
        sqt_tolds_drop(tolds, "failed_client_tls", port->named.name);
        return;
    }
    told->weight = port->felt;
    sqt_told_print(
        told->sentence,
        "%s, Squid itself ended %llu tunnels through %s as soon as it had read the client's TLS hello (%.0f %% of "
        "the handshakes there), as the rule `ssl_bump terminate` does. %s",
        sqt_told_when(when, sizeof(when), told), (unsigned long long)port->ended, port->named.name,
        sqt_spell_percent(port->ended, port->shaken),
        strncmp(port->named.name, "http_port", 9) == 0
            ? "Their clients read that the tunnel is open (200), and then got nothing."
            : "Their clients got nothing.");
    snprintf(told->culprit, sizeof(told->culprit), "ssl_bump on %.200s", port->named.name);
    sqt_told_print(
        told->advice,
        "If that is not meant: look at the ssl_bump lines with terminate, and at the names (ssl::server_name) that "
        "their acls list. A last line `ssl_bump terminate all` ends what no line before it allows. access.log has "
        "the names (%%ssl::>sni, %%ssl::bump_mode). http_access deny tells a client why; this does not.");
}

static void
terminated_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct terminated *const t = state;
    (void)totals;
    for (const struct sqt_name_entry *named = t->ports.first; named; named = named->next)
        if (!sqt_names_is_others(named))
            terminated_told((const struct terminated_port *)named, tolds);
}

static void
terminated_end(void *state)
{
    sqt_names_free(&((struct terminated *)state)->ports);
}

const struct sqt_look sqt_look_terminated = {
    .size = sizeof(struct terminated), .request = terminated_request, .tell = terminated_tell, .end = terminated_end};
