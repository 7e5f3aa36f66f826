/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * elf.c - see elf.h.
 */
#include "elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
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
/* Bytes of a table of symbols, and of its names.  Squid 7.7 has 0.5 MB and 0.9 MB, with the symbols of its C++ library some MB. */
#define ELF_TABLE (UINT64_C(32) << 20)

/* Whether the file has that many bytes at an offset. */
static int
elf_has(const struct sqt_elf *elf, uint64_t offset, uint64_t size)
{
    return offset <= elf->size && size <= elf->size - offset;
}

/* Copies what may lie anywhere.  Returns whether it is there: the file may have got shorter. */
static int
elf_copy(const struct sqt_elf *elf, uint64_t offset, void *to, size_t size)
{
    if (!elf_has(elf, offset, size))
        return 0;
    for (size_t done = 0; done < size;) {
        const ssize_t got = pread(elf->fd, (uint8_t *)to + done, size - done, (off_t)(offset + done));
        if (got == 0 || (got < 0 && errno != EINTR))
            return 0;
        done += got > 0 ? (size_t)got : 0;
    }
    return 1;
}

/* The same, to memory that the caller frees; NULL: it is not there. */
static void *
elf_copied(const struct sqt_elf *elf, uint64_t offset, size_t size)
{
    uint8_t *const bytes = size && elf_has(elf, offset, size) ? sqt_allocated(size) : NULL;
    if (bytes && elf_copy(elf, offset, bytes, size))
        return bytes;
    free(bytes);
    return NULL;
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
    uint8_t bytes[SQT_BUILD_ID_TEXT / 2];
    char owner[4];
    Elf64_Nhdr note;
    if (!elf_has(elf, segment->p_offset, segment->p_filesz))
        return;
    for (; *left && end - at >= sizeof(note) && elf_copy(elf, at, &note, sizeof(note)); --*left) {
        const uint64_t name = at + sizeof(note), id = name + ((note.n_namesz + 3ull) & ~3ull);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(owner) && note.n_descsz < sizeof(bytes) &&
            elf_copy(elf, id, bytes, note.n_descsz) && elf_copy(elf, name, owner, sizeof(owner)) &&
            memcmp(owner, "GNU", sizeof(owner)) == 0) {
            for (unsigned i = 0; i < note.n_descsz; ++i)
                snprintf(elf->build_id + 2 * i, 3, "%02x", bytes[i]);
            return;
        }
        at = id + ((note.n_descsz + 3ull) & ~3ull);
        if (at > end)
            return;
    }
}

static Elf64_Phdr
elf_segment(const struct sqt_elf *elf, size_t i)
{
    Elf64_Phdr segment;
    memcpy(&segment, elf->segments + i * sizeof(segment), sizeof(segment));
    return segment;
}

static void
elf_segments(struct sqt_elf *elf, const Elf64_Ehdr *header)
{
    unsigned notes = ELF_NOTES;
    elf->segments = elf_copied(elf, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr));
    elf->segment_count = elf->segments ? header->e_phnum : 0;
    for (size_t i = 0; i < elf->segment_count; ++i) {
        const Elf64_Phdr segment = elf_segment(elf, i);
        if (segment.p_type == PT_INTERP)
            elf->dynamic = 1;
        else if (segment.p_type == PT_NOTE)
            elf_note(elf, &segment, &notes);
        else if (segment.p_type == PT_LOAD && segment.p_offset == 0)
            elf->load_address = segment.p_vaddr;
    }
}

/* Returns whether the table is not too large. */
static int
elf_table(const struct sqt_elf *elf, const Elf64_Ehdr *header, const Elf64_Shdr *section, struct sqt_elf_table *table)
{
    Elf64_Shdr names;
    if (section->sh_link >= header->e_shnum ||
        !elf_header(elf, header->e_shoff, section->sh_link, &names, sizeof(names)) || !names.sh_size ||
        !elf_has(elf, section->sh_offset, section->sh_size) || !elf_has(elf, names.sh_offset, names.sh_size))
        return 1;
    *table = (struct sqt_elf_table){section->sh_offset, names.sh_offset, section->sh_size / sizeof(Elf64_Sym),
                                    names.sh_size};
    return section->sh_size <= ELF_TABLE && names.sh_size <= ELF_TABLE;
}

/* The same for all. */
static int
elf_sections(struct sqt_elf *elf, const Elf64_Ehdr *header)
{
    Elf64_Shdr section;
    int good = 1;
    for (unsigned i = 0; i < header->e_shnum && good; ++i) {
        if (!elf_header(elf, header->e_shoff, i, &section, sizeof(section)))
            break;
        if (section.sh_type == SHT_DYNSYM)
            good = elf_table(elf, header, &section, &elf->tables[0]);
        else if (section.sh_type == SHT_SYMTAB)
            good = elf_table(elf, header, &section, &elf->tables[1]);
    }
    return good;
}

int
sqt_elf_open(struct sqt_elf *elf, int fd, const char **why)
{
    struct stat st;
    Elf64_Ehdr header;
    memset(elf, 0, sizeof(*elf));
    elf->fd = -1;
    *why = "it is not an ELF file";
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(header))
        return -1;
    *why = "it is larger than 1 GB, and no Squid is";
    if (st.st_size > ELF_MOST)
        return -1;
    *why = "it cannot be read";
    elf->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    elf->size = (uint64_t)st.st_size;
    if (elf->fd < 0 || !elf_copy(elf, 0, &header, sizeof(header)))
        return -1;
    *why = elf_check(&header);
    if (*why)
        return -1;
    elf_segments(elf, &header);
    *why = "it has a table of symbols of more than 32 MB, and no Squid has";
    return elf_sections(elf, &header) ? 0 : -1;
}

void
sqt_elf_close(struct sqt_elf *elf)
{
    if (elf->fd >= 0)
        close(elf->fd);
    free(elf->segments);
    memset(elf, 0, sizeof(*elf));
    elf->fd = -1;
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
    for (size_t i = 0; i < elf->segment_count; ++i) {
        const Elf64_Phdr segment = elf_segment(elf, i);
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    }
    return 0;
}

static int
elf_by_name(const void *name, const void *symbol)
{
    return strcmp(name, ((const struct sqt_elf_symbol *)symbol)->name);
}

/* from, names: copies of what the table has. */
static void
elf_find_in(const struct sqt_elf *elf, const struct sqt_elf_table *table, const uint8_t *from, const char *names,
            struct sqt_elf_symbol *symbols, size_t count)
{
    Elf64_Sym symbol;
    for (size_t i = 0; i < table->count; ++i) {
        memcpy(&symbol, from + i * sizeof(symbol), sizeof(symbol));
        if (!symbol.st_name || symbol.st_name >= table->names_size || symbol.st_shndx == SHN_UNDEF || !symbol.st_value)
            continue;
        struct sqt_elf_symbol *const found =
            bsearch(names + symbol.st_name, symbols, count, sizeof(*symbols), elf_by_name);
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
    for (size_t i = 0; i < sizeof(elf->tables) / sizeof(*elf->tables); ++i) {
        const struct sqt_elf_table *const table = &elf->tables[i];
        uint8_t *const from = elf_copied(elf, table->symbols, table->count * sizeof(Elf64_Sym));
        char *const names = elf_copied(elf, table->names, table->names_size);
        if (from && names && names[table->names_size - 1] == '\0')
            elf_find_in(elf, table, from, names, symbols, count);
        free(from);
        free(names);
    }
}

size_t
sqt_elf_code(const struct sqt_elf *elf, uint64_t offset, uint8_t *code, size_t size)
{
    if (offset >= elf->size)
        return 0;
    if (size > elf->size - offset)
        size = elf->size - offset;
    return elf_copy(elf, offset, code, size) ? size : 0;
}
