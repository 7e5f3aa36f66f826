/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * text.h - JSON text in memory, and OTLP's attributes.
 *
 * In OTLP's JSON a whole number of 64 bits is a string of digits.  Without memory the program ends, as in memory.h.
 */
#ifndef SQT_OTLP_TEXT_H
#define SQT_OTLP_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "row/table.h"

/* Zeroed at first; bytes is not terminated. */
struct sqt_otlp_text {
    char *bytes;
    size_t size, room;
};

void sqt_otlp_text_free(struct sqt_otlp_text *text);
/* Gives back the room that nothing was appended to. */
void sqt_otlp_text_fit(struct sqt_otlp_text *text);

/* Appends so many bytes as they are; a string as it is. */
void sqt_otlp_bytes(struct sqt_otlp_text *text, const char *bytes, size_t size);
void sqt_otlp_put(struct sqt_otlp_text *text, const char *string);
/* A string in quotes, with escapes; at most 4,000 bytes of it. */
void sqt_otlp_string(struct sqt_otlp_text *text, const char *string);
void sqt_otlp_unsigned(struct sqt_otlp_text *text, uint64_t value);
/* Bytes as hexadecimal digits. */
void sqt_otlp_hex(struct sqt_otlp_text *text, const uint8_t *bytes, size_t size);

/* Attributes, each with a comma before it unless the text ends with '['.  name: prefix and name together are the key. */
void sqt_otlp_text_attribute(struct sqt_otlp_text *text, const char *prefix, const char *name, const char *value);
void sqt_otlp_number_attribute(struct sqt_otlp_text *text, const char *prefix, const char *name, int64_t value);
void sqt_otlp_flag_attribute(struct sqt_otlp_text *text, const char *prefix, const char *name, int value);

/* The cells of a row that are not missing, but for those of `without`, which ends with UINT_MAX: squid.NAME. */
void sqt_otlp_cells(struct sqt_otlp_text *text, const struct sqt_table *table, const union sqt_cell *row,
                    const unsigned *without);

#endif
