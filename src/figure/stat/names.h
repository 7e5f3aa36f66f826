/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * names.h - things that are found by their names, such as servers: a bounded number, and one for all others.
 *
 *     struct server { struct sqt_name_entry named; uint64_t requests; };
 *     struct sqt_names names = {.size = sizeof(struct server), .most = 4096};
 *     ++((struct server *)sqt_names_get(&names, "parent"))->requests;
 */
#ifndef SQT_NAMES_H
#define SQT_NAMES_H

#include <stddef.h>

#define SQT_NAMES_CHAINS 1024

/* What things begin with. */
struct sqt_name_entry {
    char *name;
    struct sqt_name_entry *chain; /* the next with the same hash */
    struct sqt_name_entry *next;  /* the next of all */
};

struct sqt_names {
    size_t size;          /* bytes of a thing */
    unsigned most, count; /* things; there may be one more, for all others */
    struct sqt_name_entry *chains[SQT_NAMES_CHAINS];
    struct sqt_name_entry *first; /* of all, in no order */
};

/* The thing of that name, zeroed at first.  Those after the first `most` share the one of the name "other". */
void *sqt_names_get(struct sqt_names *names, const char *name);

/* Whether there is a thing of that name. */
int sqt_names_has(const struct sqt_names *names, const char *name);

/* Frees a thing, and makes room for another one. */
void sqt_names_drop(struct sqt_names *names, struct sqt_name_entry *entry);

/* Whether it is the one that all others share: what is told of a thing is not true of it. */
int sqt_names_is_others(const struct sqt_name_entry *entry);

/* Frees all things. */
void sqt_names_free(struct sqt_names *names);

#endif
