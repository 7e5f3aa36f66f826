/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pack-internal.h - columns, and what fields are expected to be: for pack.c and unpack.c alone.
 */
#ifndef SQT_PACK_INTERNAL_H
#define SQT_PACK_INTERNAL_H

#include <string.h>

#include "pack.h"
#include "varint.h"

enum column { COLUMN_EVENT, COLUMN_FLAGS, COLUMN_TIME, COLUMN_ID, COLUMN_ARG, COLUMN_AUX, COLUMNS };

/* Slots of what the fields of coming records are expected to be. */
enum { SLOT_ZERO, SLOT_TIME, SLOT_KIND, SLOT_EVENT = SLOT_KIND + 256, SLOTS = SLOT_EVENT + 256 };

enum field { FIELD_ID, FIELD_ARG, FIELD_AUX, FIELDS };

/* Values of all fields by slot.  What is expected to be 0 or the time is read from a slot that others share, and goes
 * to one that nobody reads. */
enum { VALUE_ZERO, VALUE_TIME, VALUE_UNREAD, VALUE_FIRST };

struct pack_prediction {
    struct {
        uint16_t from, to;
    } slot[256][FIELDS];
    uint64_t value[VALUE_FIRST + FIELDS * SLOTS];
};

static inline void
pack_predict(struct pack_prediction *p, unsigned event, enum field field, uint16_t slot)
{
    const int own = slot >= SLOT_KIND;
    const uint16_t place = (uint16_t)(VALUE_FIRST + field * SLOTS + slot);
    p->slot[event][field].from = own ? place : slot == SLOT_TIME ? VALUE_TIME : VALUE_ZERO;
    p->slot[event][field].to = own ? place : VALUE_UNREAD;
}

static inline void
pack_prediction_init(struct pack_prediction *p, const struct sqt_pack_table *t)
{
    for (unsigned event = 0; event < 256; ++event) {
        pack_predict(p, event, FIELD_ID, t->id[event]);
        pack_predict(p, event, FIELD_ARG, t->arg[event]);
        pack_predict(p, event, FIELD_AUX, t->aux[event]);
    }
    memset(p->value, 0, sizeof(p->value));
}

#endif
