/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * contradict.c - answers that contradict each other: one server has what another one, asked for the same, does not have.
 *
 * That 4xx is an error is no question of numbers then: somebody has what the client asked for.  Objects are told apart by
 * their key in the cache.  A server lacks something if it says so again, of the same object.  One whose answers turn from
 * good to bad, or back, has what comes and goes, or fails now and then.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "failures.h"
#include "figure/finding/spell.h"
#include "figure/stat/sparse.h"

#define SERVERS 1024
/* Objects that are known at a time: one takes the place of another. */
#define OBJECTS 16384
/* So many errors contradict others' good answers, and that part of the server's errors, in %.  All such errors are that part
 * of all requests, in %. */
#define LEAST 10
#define PART 20
#define SHARE 2
/* A server that changes its own mind, more than once of so many such errors, does not lack anything: it asks who wants it.  Nor does
 * one whose answers turn more than once for so many errors that it repeats. */
#define OWN_MIND 10
#define STEADY 4
/* So many errors that nobody contradicts are a note, and that part of all requests, in %. */
#define LEAST_NOTED 20
#define SHARE_NOTED 10
/* Servers that are named. */
#define NAMED 3

struct contradict_server {
    struct sqt_name_entry named;
    uint16_t number; /* from 1 on */
    uint64_t answers, errors;
    uint64_t against, itself; /* errors for what another server has, and changes of mind */
    uint64_t steady, turned;  /* errors where it had given one before, and answers that are not as the one before was */
    uint64_t refused;         /* 4xx */
    uint64_t felt;            /* ns that clients waited for errors */
    uint32_t status;          /* of its first error */
    uint64_t with_status;
    int64_t since, until; /* of its errors */
};

struct contradict_object {
    uint64_t object;    /* 0: none */
    uint64_t good, bad; /* servers whose last answer was such a one, a bit each */
    uint16_t waits;     /* server whose errors nobody has contradicted yet; 0: none */
    uint16_t waiting;   /* their number */
    uint16_t changes;   /* of mind, of any server */
};

struct contradict {
    struct sqt_names servers;                        /* of struct contradict_server */
    struct contradict_server *numbered[SERVERS + 2]; /* by number */
    struct sqt_sparse objects;                       /* OBJECTS of struct contradict_object */
    uint64_t requests, refused;                      /* refused: by servers, with 4xx */
};

/* An error that is not about who asks, about how much or how often, or about the form of the request. */
static int
contradict_is_error(uint32_t status)
{
    static const uint32_t of_clients[] = {401, 407, 408, 411, 412, 413, 415, 416, 417, 428, 429, 431, 503};
    for (unsigned i = 0; i < sizeof(of_clients) / sizeof(*of_clients); ++i)
        if (of_clients[i] == status)
            return 0;
    return status >= 400;
}

static struct contradict_server *
contradict_of(struct contradict *c, const char *name)
{
    c->servers.size = sizeof(struct contradict_server);
    c->servers.most = SERVERS;
    struct contradict_server *const its = sqt_names_get(&c->servers, name);
    if (!its->number) {
        its->number = (uint16_t)c->servers.count;
        c->numbered[its->number] = its;
    }
    return its;
}

/* What an answer says against the answers to the same before it. */
static void
contradict_object(struct contradict *c, struct contradict_server *its, uint64_t key, int bad)
{
    struct contradict_object *const o =
        sqt_sparse_at(&c->objects, OBJECTS, sizeof(struct contradict_object), key % OBJECTS);
    const uint64_t bit = UINT64_C(1) << its->number % 64;
    if (o->object != key)
        *o = (struct contradict_object){.object = key};
    its->steady += bad && o->bad & bit;
    its->turned += ((bad ? o->good : o->bad) & bit) != 0;
    /* What is new, or is gone, changes once. */
    if ((bad ? o->good : o->bad) & bit && o->changes < UINT16_MAX &&
        ++o->changes > __builtin_popcountll(o->good | o->bad))
        ++its->itself;
    if (bad && o->good & ~bit) {
        ++its->against;
    } else if (bad) {
        o->waiting = (uint16_t)(o->waits == its->number && o->waiting < UINT16_MAX ? o->waiting + 1 : 1);
        o->waits = its->number;
    } else {
        if (o->waits != its->number && o->waits)
            c->numbered[o->waits]->against += o->waiting;
        o->waits = o->waiting = 0;
    }
    o->good = bad ? o->good & ~bit : o->good | bit;
    o->bad = bad ? o->bad | bit : o->bad & ~bit;
}

static void
contradict_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct contradict *const c = state;
    const char *const name = sqt_failure_server(xact);
    const char *const method =
        xact->method == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_METHOD, xact->method);
    const int made = (xact->flags & SQT_XACT_ERROR_PAGE) || xact->reply_source == SQT_REPLY_MADE,
              bad = contradict_is_error(xact->status);
    ++c->requests;
    if (!name || made || xact->reused < 0 || fact->class == SQT_CLASS_TUNNEL ||
        !(bad || (xact->status >= 200 && xact->status < 300) || xact->status == 304))
        return;
    struct contradict_server *const its = contradict_of(c, name);
    ++its->answers;
    c->refused += bad && xact->status < 500;
    its->refused += bad && xact->status < 500;
    if (bad) {
        its->since = its->errors ? its->since : xact->begin;
        its->until = xact->end;
        its->status = its->errors ? its->status : xact->status;
        its->with_status += its->status == xact->status;
        its->felt += (uint64_t)felt;
        ++its->errors;
    }
    /* What another method does depends on the body that is sent. */
    if (xact->object && !sqt_names_is_others(&its->named) && method && strcmp(method, "GET") == 0)
        contradict_object(c, its, xact->object, bad);
}

static int
contradict_lacks(const struct contradict_server *its)
{
    return its->against >= LEAST && its->against * 100 >= its->errors * PART &&
           its->itself * OWN_MIND <= its->against && its->steady >= LEAST && its->turned * STEADY <= its->steady;
}

/* Whether a finding says already that it fails. */
static int
contradict_is_told(const struct sqt_tolds *tolds, const char *name)
{
    for (unsigned i = 0; i < tolds->count; ++i)
        if (tolds->told[i]->harm == SQT_HARM_FAILURE && sqt_told_names(tolds->told[i]->culprit, name))
            return 1;
    return 0;
}

/* All that lack something. */
struct contradict_sum {
    unsigned servers;
    uint64_t errors, against, felt, with_status;
    uint32_t status;
    int64_t since, until;
    char names[SQT_TOLD_NAME], each[SQT_TOLD_TEXT / 2];
};

static void
contradict_add(struct contradict_sum *sum, const struct contradict_server *its)
{
    const size_t names = strlen(sum->names), each = strlen(sum->each);
    sum->status = sum->servers ? sum->status : its->status;
    sum->since = sum->servers && sum->since < its->since ? sum->since : its->since;
    sum->until = sum->until > its->until ? sum->until : its->until;
    sum->errors += its->errors;
    sum->against += its->against;
    sum->felt += its->felt;
    sum->with_status += its->status == sum->status ? its->with_status : 0;
    if (sum->servers++ >= NAMED)
        return;
    snprintf(sum->names + names, sizeof(sum->names) - names, "%s%.60s", names ? " " : "", its->named.name);
    snprintf(sum->each + each, sizeof(sum->each) - each, "%s%.60s %llu of %llu", each ? ", " : "", its->named.name,
             (unsigned long long)its->errors, (unsigned long long)its->answers);
}

/* "404", or "an error" where there are several. */
static const char *
contradict_status(uint64_t with_status, uint64_t errors, uint32_t status, char text[16])
{
    if (10 * with_status < 9 * errors)
        return "an error";
    snprintf(text, 16, "%u", status);
    return text;
}

static void
contradict_tell_several(const struct contradict *c, struct sqt_tolds *tolds)
{
    struct contradict_sum sum = {.servers = 0};
    char status[16];
    for (unsigned i = 1; i <= c->servers.count; ++i) {
        const struct contradict_server *const its = c->numbered[i];
        if (!sqt_names_is_others(&its->named) && contradict_lacks(its) && !contradict_is_told(tolds, its->named.name))
            contradict_add(&sum, its);
    }
    if (!sum.servers || sqt_spell_percent(sum.errors, c->requests) < SHARE)
        return;
    struct sqt_told *const told =
        sqt_tolds_add(tolds, "contradicting_answers", SQT_HARM_FAILURE, sum.felt + sum.errors * SQT_FAILURE_NS);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", sum.names);
    told->since = sum.since;
    told->until = sum.until;
    told->requests = told->failures = sum.errors;
    told->waiting = sum.felt;
    sqt_told_print(
        told->sentence,
        "%llu of %llu requests (%.0f %%) were answered with %s by a server that does not have what another one has: "
        "%s of its answers%s. %llu times another server gave a good answer to the same.",
        (unsigned long long)sum.errors, (unsigned long long)c->requests, sqt_spell_percent(sum.errors, c->requests),
        contradict_status(sum.with_status, sum.errors, sum.status, status), sum.each,
        sum.servers > NAMED ? ", and others" : "", (unsigned long long)sum.against);
    sqt_told_print(
        told->advice,
        "Squid asks one or the other of them for the same: cache_peers in turn (round-robin, or when one does not "
        "answer), or the addresses of one name. If each has a part only, cache_peer_access says which of "
        "them gets what. If they should be alike, one is out of date, or set up in another way.");
    sqt_told_print(told->command, "sqtrace-dump --where='status >= 400 and tries > 0' TRACE");
}

/* Many errors of servers that contradict nobody: only servers know what they have.  That is said where all else is healthy, and
 * whether the client decides, and not the object. */
static void
contradict_note(const struct contradict *c, struct sqt_tolds *tolds)
{
    const struct contradict_server *most = NULL;
    char status[16];
    for (const struct sqt_name_entry *named = c->servers.first; named; named = named->next)
        if (!sqt_names_is_others(named) &&
            (!most || ((const struct contradict_server *)named)->refused > most->refused))
            most = (const struct contradict_server *)named;
    if (!most || *tolds->meant || c->refused < LEAST_NOTED || sqt_spell_percent(c->refused, c->requests) < SHARE_NOTED)
        return;
    const int used =
        snprintf(tolds->meant, sizeof(tolds->meant),
                 " Servers refused %llu of the requests (%.0f %%) with 4xx, most often %.100s, with %s: as they know "
                 "what they have, that is taken as meant.",
                 (unsigned long long)c->refused, sqt_spell_percent(c->refused, c->requests), most->named.name,
                 contradict_status(most->with_status, most->errors, most->status, status));
    if (most->itself >= LEAST_NOTED && used > 0 && (size_t)used < sizeof(tolds->meant))
        snprintf(tolds->meant + used, sizeof(tolds->meant) - (size_t)used,
                 " If it is not: that server changed its mind %llu times about what it was asked before, so that the "
                 "URL does not decide. Who asks may (a login or cookie), how often, or from which address "
                 "(tcp_outgoing_address).",
                 (unsigned long long)most->itself);
}

static void
contradict_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct contradict *const c = state;
    (void)totals;
    contradict_tell_several(c, tolds);
    contradict_note(c, tolds);
}

static void
contradict_end(void *state)
{
    struct contradict *const c = state;
    sqt_names_free(&c->servers);
    sqt_sparse_free(&c->objects);
}

const struct sqt_look sqt_look_contradict = {
    .size = sizeof(struct contradict), .request = contradict_request, .tell = contradict_tell, .end = contradict_end};
