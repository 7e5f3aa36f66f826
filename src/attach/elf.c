/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * elf.c - see elf.h.
 */
#include "elf.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

#ifdef __x86_64__
#define ELF_OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define ELF_OWN_MACHINE EM_AARCH64
#else
#define ELF_OWN_MACHINE EM_NONE
#endif

/* A file of holes would have its symbols looked at for hours. */
#define ELF_MOST (INT64_C(1) << 30)
/* So would notes, if all headers led to the same many of them. */
#define ELF_NOTES 4096u

/* The size bytes at an offset; NULL if the file does not have them. */
static const uint8_t *
elf_bytes(const struct sqt_elf *elf, uint64_t offset, uint64_t size)
{
    return offset <= elf->size && size <= elf->size - offset ? elf->bytes + offset : NULL;
}

/* Copies what may lie at any address.  Returns whether it is there. */
static int
elf_copy(const struct sqt_elf *elf, uint64_t offset, void *to, size_t size)
{
    const uint8_t *const from = elf_bytes(elf, offset, size);
    if (from)
        memcpy(to, from, size);
    return from != NULL;
}

/* One of count headers of that size, which begin at an offset. */
static int
elf_header(const struct sqt_elf *elf, uint64_t begin, unsigned i, void *to, size_t size)
{
    return begin <= elf->size && elf_copy(elf, begin + (uint64_t)i * size, to, size);
}

static const char *
elf_check(const Elf64_Ehdr *header)
{
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return "it is not an ELF file";
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != ELF_OWN_MACHINE)
        return "it was built for another architecture than this machine's";
    if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
        return "it is no program";
    if (header->e_phentsize != sizeof(Elf64_Phdr) || (header->e_shnum && header->e_shentsize != sizeof(Elf64_Shdr)))
        return "its headers are damaged";
    return NULL;
}

/* The build id is a note of the owner GNU.  left: notes that may still be looked at. */
static void
elf_note(struct sqt_elf *elf, const Elf64_Phdr *segment, unsigned *left)
{
    uint64_t at = segment->p_offset;
    const uint64_t end = at + segment->p_filesz;
    Elf64_Nhdr note;
    if (!elf_bytes(elf, segment->p_offset, segment->p_filesz))
        return;
    for (; *left && end - at >= sizeof(note) && elf_copy(elf, at, &note, sizeof(note)); --*left) {
        const uint64_t name = at + sizeof(note), id = name + ((note.n_namesz + 3ull) & ~3ull);
        const uint8_t *const bytes = elf_bytes(elf, id, note.n_descsz);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && bytes && note.n_descsz < SQT_BUILD_ID_TEXT / 2 &&
            memcmp(elf->bytes + name, "GNU", 4) == 0) {
            for (unsigned i = 0; i < note.n_descsz; ++i)
                snprintf(elf->build_id + 2 * i, 3, "%02x", bytes[i]);
            return;
        }
        at = id + ((note.n_descsz + 3ull) & ~3ull);
        if (at > end)
            return;
    }
}

static void
elf_segments(struct sqt_elf *elf, const Elf64_Ehdr *header)
{
    Elf64_Phdr segment;
    unsigned notes = ELF_NOTES;
    for (unsigned i = 0; i < header->e_phnum; ++i) {
        if (!elf_header(elf, header->e_phoff, i, &segment, sizeof(segment)))
            return;
        if (segment.p_type == PT_INTERP)
            elf->dynamic = 1;
        else if (segment.p_type == PT_NOTE)
            elf_note(elf, &segment, &notes);
        else if (segment.p_type == PT_LOAD && segment.p_offset == 0)
            elf->load_address = segment.p_vaddr;
    }
}

static void
elf_table(struct sqt_elf *elf, const Elf64_Ehdr *header, const Elf64_Shdr *section, struct sqt_elf_table *table)
{
    Elf64_Shdr names;
    if (section->sh_link >= header->e_shnum ||
        !elf_header(elf, header->e_shoff, section->sh_link, &names, sizeof(names)))
        return;
    const uint8_t *const symbols = elf_bytes(elf, section->sh_offset, section->sh_size);
    const uint8_t *const text = elf_bytes(elf, names.sh_offset, names.sh_size);
    if (!symbols || !text || !names.sh_size || text[names.sh_size - 1] != '\0')
        return;
    table->symbols = symbols;
    table->count = section->sh_size / sizeof(Elf64_Sym);
    table->names = (const char *)text;
    table->names_size = names.sh_size;
}

static void
elf_sections(struct sqt_elf *elf, const Elf64_Ehdr *header)
{
    Elf64_Shdr section;
    for (unsigned i = 0; i < header->e_shnum; ++i) {
        if (!elf_header(elf, header->e_shoff, i, &section, sizeof(section)))
            return;
        if (section.sh_type == SHT_DYNSYM)
            elf_table(elf, header, &section, &elf->tables[0]);
        else if (section.sh_type == SHT_SYMTAB)
            elf_table(elf, header, &section, &elf->tables[1]);
    }
}

/* A copy: a file that is mapped, and gets shorter, would end the program.  What is gone by now is 0. */
static int
elf_read(struct sqt_elf *elf, int fd, size_t size)
{
    uint8_t *const bytes = sqt_zeroed(1, size);
    elf->bytes = bytes;
    elf->size = size;
    for (size_t at = 0; at < size;) {
        const ssize_t got = pread(fd, bytes + at, size - at, (off_t)at);
        if (got < 0 && errno != EINTR)
            return -1;
        if (got == 0)
            break;
        at += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

int
sqt_elf_open(struct sqt_elf *elf, int fd, const char **why)
{
    struct stat st;
    Elf64_Ehdr header;
    memset(elf, 0, sizeof(*elf));
    *why = "it is not an ELF file";
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(header))
        return -1;
    *why = "it is larger than 1 GB, and no Squid is";
    if (st.st_size > ELF_MOST)
        return -1;
    *why = "it cannot be read";
    if (elf_read(elf, fd, (size_t)st.st_size) != 0)
        return -1;
    memcpy(&header, elf->bytes, sizeof(header));
    *why = elf_check(&header);
    if (*why)
        return -1;
    elf_segments(elf, &header);
    elf_sections(elf, &header);
    return 0;
}

void
sqt_elf_close(struct sqt_elf *elf)
{
    free((void *)(uintptr_t)elf->bytes);
    memset(elf, 0, sizeof(*elf));
}

int
sqt_elf_has_symbols(const struct sqt_elf *elf)
{
    return elf->tables[0].count > 0 || elf->tables[1].count > 0;
}

/* Where an address as linked lies in the file: 0 if it lies in no executable segment. */
static uint64_t
elf_offset(const struct sqt_elf *elf, uint64_t address)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    memcpy(&header, elf->bytes, sizeof(header));
    for (unsigned i = 0; i < header.e_phnum; ++i)
        if (elf_header(elf, header.e_phoff, i, &segment, sizeof(segment)) && segment.p_type == PT_LOAD &&
            (segment.p_flags & PF_X) && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    return 0;
}

static int
elf_by_name(const void *name, const void *symbol)
{
    return strcmp(name, ((const struct sqt_elf_symbol *)symbol)->name);
}

static void
elf_find_in(const struct sqt_elf *elf, const struct sqt_elf_table *table, struct sqt_elf_symbol *symbols, size_t count)
{
    Elf64_Sym symbol;
    for (size_t i = 0; i < table->count; ++i) {
        memcpy(&symbol, table->symbols + i * sizeof(symbol), sizeof(symbol));
        if (!symbol.st_name || symbol.st_name >= table->names_size || symbol.st_shndx == SHN_UNDEF || !symbol.st_value)
            continue;
        struct sqt_elf_symbol *const found =
            bsearch(table->names + symbol.st_name, symbols, count, sizeof(*symbols), elf_by_name);
        if (!found || found->address)
            continue;
        found->address = symbol.st_value;
        found->size = symbol.st_size;
        found->offset = elf_offset(elf, symbol.st_value);
    }
}

void
sqt_elf_find(const struct sqt_elf *elf, struct sqt_elf_symbol *symbols, size_t count)
{
    for (size_t i = 0; i < sizeof(elf->tables) / sizeof(*elf->tables); ++i)
        if (elf->tables[i].count)
            elf_find_in(elf, &elf->tables[i], symbols, count);
}

const uint8_t *
sqt_elf_code(const struct sqt_elf *elf, uint64_t offset, size_t *size)
{
    *size = offset < elf->size ? elf->size - offset : 0;
    return *size ? elf->bytes + offset : NULL;
}
