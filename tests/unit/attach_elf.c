/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * attach_elf.c - symbols, build id and machine of programs, also damaged ones.
 */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/elf.h"
#include "attach/table.h"

#define FILE_SIZE 2048
#define CODE_AT 0x400
#define BASE 0x10000

/* A program of one executable segment, with a symbol table of two functions and a build id. */
struct program {
    uint8_t bytes[FILE_SIZE];
};

static void
program_make(struct program *p)
{
    static const char names[] = "\0first\0second";
    static const char note_name[4] = "GNU";
    Elf64_Ehdr *const header = (Elf64_Ehdr *)p->bytes;
    Elf64_Phdr *const segments = (Elf64_Phdr *)(p->bytes + 64);
    Elf64_Shdr *const sections = (Elf64_Shdr *)(p->bytes + 256);
    Elf64_Sym *const symbols = (Elf64_Sym *)(p->bytes + 512);
    memset(p, 0, sizeof(*p));
    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_type = ET_DYN;
#ifdef __aarch64__
    header->e_machine = EM_AARCH64;
#else
    header->e_machine = EM_X86_64;
#endif
    header->e_phoff = 64;
    header->e_phentsize = sizeof(*segments);
    header->e_phnum = 2;
    header->e_shoff = 256;
    header->e_shentsize = sizeof(*sections);
    header->e_shnum = 3;
    segments[0] =
        (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_X, .p_offset = CODE_AT, .p_vaddr = BASE, .p_filesz = 512};
    segments[1] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = 800, .p_filesz = 12 + 4 + 4};
    sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_offset = 512, .sh_size = 3 * sizeof(*symbols), .sh_link = 2};
    sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = 700, .sh_size = sizeof(names)};
    symbols[1] = (Elf64_Sym){.st_name = 1, .st_shndx = 1, .st_value = BASE + 16, .st_size = 32};
    symbols[2] = (Elf64_Sym){.st_name = 7, .st_shndx = 1, .st_value = BASE + 5000, .st_size = 8};
    memcpy(p->bytes + 700, names, sizeof(names));
    const Elf64_Nhdr note = {4, 4, NT_GNU_BUILD_ID};
    memcpy(p->bytes + 800, &note, sizeof(note));
    memcpy(p->bytes + 812, note_name, 4);
    memcpy(p->bytes + 816, "\xde\xad\xbe\xef", 4);
    p->bytes[CODE_AT + 16] = 0x55;
}

static int
program_open(const struct program *p, size_t size, struct sqt_elf *elf, const char **why)
{
    char path[] = "/tmp/sqtrace-elf.XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, p->bytes, size), (ssize_t)size);
    const int result = sqt_elf_open(elf, fd, why);
    close(fd);
    return result;
}

static void
test_symbols(void **state)
{
    (void)state;
    struct program p;
    struct sqt_elf elf;
    const char *why;
    struct sqt_elf_symbol wanted[] = {{"absent", 0, 0, 0}, {"first", 0, 0, 0}, {"second", 0, 0, 0}};
    program_make(&p);
    assert_int_equal(program_open(&p, sizeof(p.bytes), &elf, &why), 0);
    assert_string_equal(elf.build_id, "deadbeef");
    assert_true(sqt_elf_has_symbols(&elf));
    sqt_elf_find(&elf, wanted, 3);
    assert_int_equal(wanted[0].address, 0);
    assert_int_equal(wanted[1].address, BASE + 16);
    assert_int_equal(wanted[1].offset, CODE_AT + 16);
    assert_int_equal(wanted[2].address, BASE + 5000);
    assert_int_equal(wanted[2].offset, 0); /* it is in no segment */
    uint8_t code[FILE_SIZE];
    assert_int_equal(sqt_elf_code(&elf, wanted[1].offset, code, 8), 8);
    assert_int_equal(code[0], 0x55);
    assert_int_equal(sqt_elf_code(&elf, FILE_SIZE - 8, code, sizeof(code)), 8); /* the file ends there */
    assert_int_equal(sqt_elf_code(&elf, FILE_SIZE, code, sizeof(code)), 0);
    sqt_elf_close(&elf);
}

/* Each of its headers leads to all of its notes: to look at each would take minutes. */
static void
test_notes(void **state)
{
    enum { SEGMENTS = 60000, NOTES_SIZE = 4 << 20 };
    const size_t notes_at = sizeof(struct program) + SEGMENTS * sizeof(Elf64_Phdr), size = notes_at + NOTES_SIZE;
    uint8_t *const bytes = calloc(size, 1);
    char path[] = "/tmp/sqtrace-elf.XXXXXX";
    struct sqt_elf elf;
    const char *why;
    (void)state;
    program_make((struct program *)bytes);
    ((Elf64_Ehdr *)bytes)->e_phoff = sizeof(struct program);
    ((Elf64_Ehdr *)bytes)->e_phnum = SEGMENTS;
    Elf64_Phdr *const segments = (Elf64_Phdr *)(bytes + sizeof(struct program));
    for (unsigned i = 0; i < SEGMENTS; ++i)
        segments[i] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = notes_at, .p_filesz = NOTES_SIZE};
    const int fd = mkstemp(path);
    unlink(path);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    const struct itimerval long_enough = {.it_value = {.tv_sec = 10}}, off = {.it_value = {.tv_sec = 0}};
    setitimer(ITIMER_VIRTUAL, &long_enough, NULL); /* of the processor: other processes may have it meanwhile */
    assert_int_equal(sqt_elf_open(&elf, fd, &why), 0);
    setitimer(ITIMER_VIRTUAL, &off, NULL);
    assert_string_equal(elf.build_id, "");
    sqt_elf_close(&elf);
    close(fd);
    free(bytes);
}

/* No function of attach.def is in it. */
static void
test_no_squid(void **state)
{
    (void)state;
    struct program p;
    struct sqt_elf elf;
    struct sqt_attach_functions functions;
    const char *why;
    program_make(&p);
    assert_int_equal(program_open(&p, sizeof(p.bytes), &elf, &why), 0);
    sqt_attach_find(&functions, &elf);
    assert_int_equal(functions.count, 0);
    assert_int_equal(functions.has[SQT_ATTACH_XACT], 0);
    sqt_attach_functions_free(&functions);
    sqt_elf_close(&elf);
}

static void
test_refused(void **state)
{
    (void)state;
    struct program p;
    struct sqt_elf elf;
    const char *why;
    program_make(&p);
    p.bytes[1] = 'X';
    assert_int_equal(program_open(&p, sizeof(p.bytes), &elf, &why), -1);
    assert_string_equal(why, "it is not an ELF file");
    sqt_elf_close(&elf);
    program_make(&p);
    ((Elf64_Ehdr *)p.bytes)->e_machine = EM_PPC64;
    assert_int_equal(program_open(&p, sizeof(p.bytes), &elf, &why), -1);
    assert_non_null(strstr(why, "another architecture"));
    sqt_elf_close(&elf);
    program_make(&p);
    assert_int_equal(program_open(&p, 20, &elf, &why), -1);
    sqt_elf_close(&elf);
}

static void
test_too_large(void **state)
{
    (void)state;
    struct program p;
    struct sqt_elf elf;
    const char *why;
    program_make(&p);
    char path[] = "/tmp/sqtrace-elf.XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, p.bytes, sizeof(p.bytes)), sizeof(p.bytes));
    assert_int_equal(ftruncate(fd, (off_t)8 << 30), 0);
    assert_int_equal(sqt_elf_open(&elf, fd, &why), -1);
    assert_non_null(strstr(why, "1 GB"));
    sqt_elf_close(&elf);
    close(fd);
}

/* A file of holes, of which a table of symbols takes that many bytes.  Returns as sqt_elf_open(). */
static int
sparse_open(struct sqt_elf *elf, uint64_t bytes, const char **why)
{
    char path[] = "/tmp/sqtrace-elf.XXXXXX";
    struct program p;
    program_make(&p);
    ((Elf64_Shdr *)(p.bytes + 256))[1].sh_size = bytes;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, p.bytes, sizeof(p.bytes)), sizeof(p.bytes));
    assert_int_equal(ftruncate(fd, (off_t)1 << 30), 0);
    const int result = sqt_elf_open(elf, fd, why);
    close(fd);
    return result;
}

/* Only tables are read, and not long ones.  Nothing else of the file takes memory. */
static void
test_holes(void **state)
{
    (void)state;
    struct sqt_elf elf;
    const char *why;
    struct rusage used;
    struct sqt_elf_symbol wanted[] = {{"first", 0, 0, 0}};
    assert_int_equal(sparse_open(&elf, 3 * sizeof(Elf64_Sym), &why), 0);
    sqt_elf_find(&elf, wanted, 1);
    assert_int_equal(wanted[0].address, BASE + 16);
    sqt_elf_close(&elf);
    assert_int_equal(sparse_open(&elf, (uint64_t)512 << 20, &why), -1);
    assert_non_null(strstr(why, "32 MB"));
    sqt_elf_close(&elf);
    assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
    assert_true(used.ru_maxrss < 256 << 10);
}

/* Any byte may be any other, and the file may end anywhere: nothing outside of it is read. */
static void
test_damaged(void **state)
{
    (void)state;
    struct program p;
    struct sqt_elf elf;
    const char *why;
    for (unsigned at = 0; at < 832; ++at)
        for (unsigned value = 0; value < 256; value += 85) {
            struct sqt_elf_symbol wanted[] = {{"first", 0, 0, 0}, {"second", 0, 0, 0}};
            program_make(&p);
            p.bytes[at] = (uint8_t)value;
            if (program_open(&p, value == 85 ? at + 65 : sizeof(p.bytes), &elf, &why) == 0)
                sqt_elf_find(&elf, wanted, 2);
            sqt_elf_close(&elf);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbols), cmocka_unit_test(test_notes),     cmocka_unit_test(test_no_squid),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_too_large), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_holes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
