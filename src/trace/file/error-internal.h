/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * error-internal.h - what failed and where, as one line.
 */
#ifndef SQT_ERROR_INTERNAL_H
#define SQT_ERROR_INTERNAL_H

struct sqt_error {
    char text[1024];
};

/* Writes the line; always returns -1. */
int sqt_fail(struct sqt_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
