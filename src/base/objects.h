/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * objects.h - a set of objects by their hashes, with 4 marks each: 9 to 13 bytes an object.
 *
 * Two objects are taken for one when 60 of their hashes' 64 bits agree: with 100 million of them, that happens once in
 * 200 traces.
 */
#ifndef SQT_OBJECTS_H
#define SQT_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

/* Apart tables, so that growing one copies little. */
#define SQT_OBJECTS_PARTS 256

/* Most objects that are remembered: 27 MB. */
#define SQT_OBJECTS_MOST ((size_t)1 << 21)

struct sqt_objects {
    struct sqt_objects_part {
        uint64_t *slots; /* hash without its lowest 4 bits, and the marks there; 0: free */
        size_t room, used;
    } parts[SQT_OBJECTS_PARTS];
    uint64_t scatter; /* 0: not chosen yet */
    size_t used;
    uint64_t beyond; /* times that there was no room for a new object */
};

/* Sets marks (1 to 15) of the object; returns those that it had before, 0 if it is new.  A new one for which there is no
 * room is not remembered: 15. */
unsigned sqt_objects_mark(struct sqt_objects *objects, uint64_t hash, unsigned marks);

/* The marks of the object, 0 if it has none. */
unsigned sqt_objects_marks(const struct sqt_objects *objects, uint64_t hash);

/* The object is about to be looked for: memory is slow, and its place can be on the way meanwhile. */
void sqt_objects_expect(const struct sqt_objects *objects, uint64_t hash);

void sqt_objects_free(struct sqt_objects *objects);

#endif
