/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * raw.h - the fields of a record as text, by what they hold.
 */
#ifndef SQT_RAW_H
#define SQT_RAW_H

#include "read/stream.h"

/* How a field is printed. */
enum sqt_raw {
    SQT_RAW_NOTHING, /* "-" */
    SQT_RAW_NUMBER,
    SQT_RAW_XACT,      /* a number, or "u" and the serial of an unnamed transaction */
    SQT_RAW_HASH,      /* 16 hexadecimal digits */
    SQT_RAW_TIME,      /* seconds since the start of the trace */
    SQT_RAW_DEFINITION /* the text of a definition, or the number if it is not known */
};

/* How a field of that kind is printed; *definition is set to enum sqt_def for SQT_RAW_DEFINITION. */
enum sqt_raw sqt_raw_of(enum sqt_kind kind, unsigned *definition);

/* The text of the field if it is not a plain number, else NULL.  Made in buffer (64 bytes) where it has to be. */
const char *sqt_raw_text(const struct sqt_run *run, enum sqt_kind kind, uint64_t value, char *buffer);

#endif
