/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * elf.h - what sqtrace-attach needs of an executable: its machine, its build id, and where functions are in the file.
 *
 * The file may be anybody's: every offset and size in it is checked, and nothing outside of it is read.  Nor is more of it in memory
 * than is needed: most of a program is code, and a file may be of holes.
 */
#ifndef SQT_ATTACH_ELF_H
#define SQT_ATTACH_ELF_H

#include <stddef.h>
#include <stdint.h>

#define SQT_BUILD_ID_TEXT 129 /* hexadecimal, with its NUL */

struct sqt_elf {
    int fd;            /* of the file; -1: none */
    uint64_t size;     /* bytes of the file */
    uint8_t *segments; /* its program headers */
    size_t segment_count;
    int dynamic;                      /* it asks for shared libraries */
    uint64_t load_address;            /* of the segment at offset 0 */
    char build_id[SQT_BUILD_ID_TEXT]; /* "" if the file has none */
    /* symbol tables: the dynamic one and, if the file is not stripped, the whole one */
    struct sqt_elf_table {
        uint64_t symbols; /* where they are in the file, and their names */
        uint64_t names;
        size_t count;
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

/* Looks at the file that is open as fd, which the caller may close.  Returns 0, or -1 with *why, a constant text: "it is not an ELF
 * file".  sqt_elf_close() in either case. */
int sqt_elf_open(struct sqt_elf *elf, int fd, const char **why);
void sqt_elf_close(struct sqt_elf *elf);

/* Whether it has a table of symbols at all. */
int sqt_elf_has_symbols(const struct sqt_elf *elf);

/* Fills in those of the count symbols that the file has; they are sorted by name. */
void sqt_elf_find(const struct sqt_elf *elf, struct sqt_elf_symbol *symbols, size_t count);

/* Copies the bytes at that offset of the file, at most that many.  Returns how many there are. */
size_t sqt_elf_code(const struct sqt_elf *elf, uint64_t offset, uint8_t *code, size_t size);

#endif
