/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * places.c - see places.h.
 */
#include "places.h"

#include <string.h>

unsigned
sqt_place_number(struct sqt_places *p, const char *name)
{
    unsigned hash = 0;
    for (const char *c = name; *c; ++c)
        hash = hash * 31 + (unsigned char)*c;
    unsigned char *const first = &p->first[(hash ^ hash >> 8) & 255];
    for (unsigned i = *first; i; i = p->next[i - 1])
        if (strcmp(p->names[i - 1], name) == 0)
            return i - 1;
    if (p->count == SQT_PLACES) {
        if (!p->others++)
            strcpy(p->names[SQT_PLACES], "other");
        return SQT_PLACES;
    }
    const unsigned number = p->count++;
    memcpy(p->names[number], name, strnlen(name, SQT_PLACE_NAME - 1));
    p->next[number] = *first;
    *first = (unsigned char)(number + 1);
    return number;
}

unsigned
sqt_places_sorted(const struct sqt_places *p, unsigned char sorted[SQT_PLACES + 1])
{
    for (unsigned i = 0; i < p->count; ++i) {
        unsigned at = i;
        for (; at && strcmp(p->names[sorted[at - 1]], p->names[i]) > 0; --at)
            sorted[at] = sorted[at - 1];
        sorted[at] = (unsigned char)i;
    }
    if (p->others)
        sorted[p->count] = SQT_PLACES;
    return sqt_places_used(p);
}

void
sqt_places_note(const struct sqt_places *p, const struct sqt_job *job)
{
    sqt_job_note_bound(job, p->others, "are of more than 64 cache_dirs and stand together as `other`");
}
