/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * elf.h - what sqtrace-attach needs of an executable: its machine, its build id, and where functions are in the file.
 *
 * The file may be anybody's: every offset and size in it is checked, and nothing outside of it is read.
 */
#ifndef SQT_ATTACH_ELF_H
#define SQT_ATTACH_ELF_H

#include <stddef.h>
#include <stdint.h>

#define SQT_BUILD_ID_TEXT 129 /* hexadecimal, with its NUL */

struct sqt_elf {
    const uint8_t *bytes; /* a copy of the whole file */
    size_t size;
    int dynamic;                      /* it asks for shared libraries */
    uint64_t load_address;            /* of the segment at offset 0 */
    char build_id[SQT_BUILD_ID_TEXT]; /* "" if the file has none */
    /* symbol tables: the dynamic one and, if the file is not stripped, the whole one */
    struct sqt_elf_table {
        const uint8_t *symbols;
        size_t count;
        const char *names;
        size_t names_size; /* 0: there is no such table */
    } tables[2];
};

/* A symbol that was looked for. */
struct sqt_elf_symbol {
    const char *name;
    uint64_t address; /* as linked; 0: the file has no such symbol */
    uint64_t offset;  /* in the file; of a function only */
    uint64_t size;    /* bytes, 0 if the file does not say */
};

/* Reads the file that is open as fd, which the caller closes.  Returns 0, or -1 with *why, a constant text: "it is not an ELF
 * file".  sqt_elf_close() in either case. */
int sqt_elf_open(struct sqt_elf *elf, int fd, const char **why);
void sqt_elf_close(struct sqt_elf *elf);

/* Whether it has a table of symbols at all. */
int sqt_elf_has_symbols(const struct sqt_elf *elf);

/* Fills in those of the count symbols that the file has; they are sorted by name. */
void sqt_elf_find(const struct sqt_elf *elf, struct sqt_elf_symbol *symbols, size_t count);

/* The bytes of a segment at that offset of the file: NULL, with *size 0, if there are none. */
const uint8_t *sqt_elf_code(const struct sqt_elf *elf, uint64_t offset, size_t *size);

#endif
