/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dictionary.h - what the text of a trace says: its events, and its definitions.
 */
#ifndef SQT_DICTIONARY_H
#define SQT_DICTIONARY_H

#include "format/pack.h"

struct sqt_definition; /* in the hash table */

struct sqt_dictionary {
    struct sqt_pack_table pack; /* how the trace's records are packed, in its own event numbers */
    uint16_t event[256];        /* the trace's number -> this program's; 0: the trace does not declare it */
    unsigned events;            /* how many the trace declares; 0: none so far */
    int assumed;                /* this program's own were taken, the trace's are lost */
    char *unknown[256];         /* names of events that this program does not know */
    unsigned unknown_count;
    struct sqt_definition **table; /* open addressing, a power of two */
    size_t used, room;
    uint64_t scatter; /* where a definition belongs is a random matter */
    unsigned shift;
    size_t *left;     /* bytes that definitions may still take; NULL: no bound */
    size_t taken;     /* of them */
    uint64_t refused; /* definitions that were left out for that */
    int two_hosts;    /* the name of the host was defined twice, and not as the same */
};

void sqt_dictionary_init(struct sqt_dictionary *dictionary);
void sqt_dictionary_free(struct sqt_dictionary *dictionary);

/* Takes whole lines.  Lines of a kind that this program does not know are left out.  Returns how many lines were not
 * what they should be, or -1 without memory. */
int sqt_dictionary_take(struct sqt_dictionary *dictionary, const char *text, size_t size);

/* Defines a text that no trace has, as one of a log: \\t, \\n and \\\\ in it are undone. */
void sqt_dictionary_define(struct sqt_dictionary *dictionary, unsigned kind, uint32_t number, const char *text,
                           size_t size);

/* This program's own events: for a trace whose table of events is lost. */
void sqt_dictionary_assume(struct sqt_dictionary *dictionary);

/* This program's number for an event of the trace; an event that the trace does not declare gets a name made from
 * its number. */
unsigned sqt_dictionary_event(struct sqt_dictionary *dictionary, unsigned number);

/* Text of a definition, NULL if there is none. */
const char *sqt_dictionary_text(const struct sqt_dictionary *dictionary, unsigned kind, uint32_t number);

/* Name of an event in this program's numbers. */
const char *sqt_dictionary_event_name(const struct sqt_dictionary *dictionary, unsigned event);

#endif
