/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-rule.h - what a call of a function means, as data.
 *
 * Each row of attach.def has one rule, or several that stand together: of these the first one that applies.  A rule says how the
 * call finds its transaction, which object becomes the transaction's, and which record it is.  A function does what is left.
 * Each file joins-*.c has the rules of one thing.
 */
#ifndef SQT_ATTACH_JOINS_RULE_H
#define SQT_ATTACH_JOINS_RULE_H

#include "joins-call.h"

struct sqt_joins_rule {
    enum sqt_attach_row row;
    enum sqt_joins_kind of;     /* it applies if an object of that kind belongs to a known transaction; 0: always */
    unsigned of_value;          /* the event's value that has the object's address */
    enum sqt_attach_row after;  /* or if the call before was of that row, and of a known transaction; 0: always */
    int ends;                   /* the object of `of` is destroyed */
    enum sqt_joins_kind owns;   /* kind of an object that is the transaction's from now on; 0: none */
    unsigned owns_value;        /* the event's value that has the object's address */
    enum sqt_joins_pair opens;  /* the pair of which `event` is the first; 0: none */
    enum sqt_joins_pair closes; /* the pair of which it is the second: it is recorded if that is open; 0: none */
    enum sqt_event event;       /* of the record; SQT_EV_NONE_: there is none */
    uint32_t aux;               /* of the record */
    void (*handle)(struct sqt_joins_call *call); /* called last; NULL: nothing is left to do */
};

/* The same in words.  A rule with neither OF nor AFTER has at most DOES. */
#define CALL(NAME) .row = SQT_ATTACH_##NAME
#define OF(KIND, VALUE) .of = SQT_JOINS_##KIND, .of_value = (VALUE)
#define AFTER(NAME) .after = SQT_ATTACH_##NAME
#define OWNS(KIND, VALUE) .owns = SQT_JOINS_##KIND, .owns_value = (VALUE)
#define OPENS(PAIR, EVENT, AUX) .opens = SQT_JOINS_IN_##PAIR, EMITS(EVENT, AUX)
#define CLOSES(PAIR, EVENT, AUX) .closes = SQT_JOINS_IN_##PAIR, EMITS(EVENT, AUX)
#define EMITS(EVENT, AUX) .event = SQT_EV_##EVENT, .aux = (AUX)
#define DOES(FUNCTION) .handle = FUNCTION
#define ENDS .ends = 1

/* The rules of each thing, up to one of row SQT_ATTACH_ROWS. */
extern const struct sqt_joins_rule sqt_joins_client_rules[];  /* joins-clients.c */
extern const struct sqt_joins_rule sqt_joins_xact_rules[];    /* joins-xacts.c */
extern const struct sqt_joins_rule sqt_joins_callout_rules[]; /* joins-callouts.c */
extern const struct sqt_joins_rule sqt_joins_reply_rules[];   /* joins-replies.c */
extern const struct sqt_joins_rule sqt_joins_code_rules[];    /* joins-codes.c */
extern const struct sqt_joins_rule sqt_joins_server_rules[];  /* joins-servers.c */
extern const struct sqt_joins_rule sqt_joins_tunnel_rules[];  /* joins-tunnels.c */
extern const struct sqt_joins_rule sqt_joins_swap_rules[];    /* joins-swaps.c */

#endif
