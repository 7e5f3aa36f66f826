/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * class.h - what kind of request a result code stands for.
 */
#ifndef SQT_CLASS_H
#define SQT_CLASS_H

#include <stdint.h>

enum sqt_class {
#define SQT_CLASS(NAME, name, doc) SQT_CLASS_##NAME,
#include "classes.def"
    SQT_CLASSES
};

struct sqt_class_info {
    const char *name;
    const char *doc;
};
extern const struct sqt_class_info sqt_classes[SQT_CLASSES];

/* tag: %Ss in full, NULL if unknown; disk_reads: completed disk reads of the request's own; flags: enum
 * sqt_xact_flags. */
enum sqt_class sqt_class_of(const char *tag, uint32_t disk_reads, uint32_t flags);

/* The result code without "TCP", "CF" and what was noted behind it (IGNORED, TIMEDOUT, ABORTED), as in "MEM_HIT".
 * Returns its length; its text begins at *code. */
unsigned sqt_tag_code(const char *tag, const char **code);

#endif
