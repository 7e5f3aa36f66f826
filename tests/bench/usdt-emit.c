/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * usdt-emit.c - what a USDT probe costs: alone, and with a uprobe attached that records each hit.
 *
 * usage: usdt-emit EVENTS
 *
 * The probe is a no-operation until the kernel puts a breakpoint in its place.  Where that is not permitted, or the
 * kernel has no uprobes, it says so.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sdt.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"

#define BURSTS 15
#define PAGES 256 /* of the kernel's buffer, which overwrites the oldest records */
#define TYPE "/sys/bus/event_source/devices/uprobe/type"

static double
burst(uint64_t events)
{
    const uint64_t begin = measure_cpu();
    for (uint64_t i = 0; i < events; ++i)
        DTRACE_PROBE3(sqtrace_bench, event, i, i * 4096, (uint32_t)i);
    return (double)(measure_cpu() - begin) / (double)events;
}

static double
median_burst(uint64_t events)
{
    double mean[BURSTS];
    for (unsigned b = 0; b < BURSTS; ++b)
        mean[b] = burst(events);
    return measure_median(mean, BURSTS);
}

/* Where the probe stands in this program's file; 0 if it is not found.  Its address is in an ELF note. */
static uint64_t
probe_offset(const uint8_t *file)
{
    const Elf64_Ehdr *const elf = (const Elf64_Ehdr *)file;
    const Elf64_Shdr *const sections = (const Elf64_Shdr *)(file + elf->e_shoff);
    const Elf64_Phdr *const segments = (const Elf64_Phdr *)(file + elf->e_phoff);
    const char *const names = (const char *)file + sections[elf->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < elf->e_shnum; ++i) {
        if (strcmp(names + sections[i].sh_name, ".note.stapsdt") != 0)
            continue;
        const Elf64_Nhdr *const note = (const Elf64_Nhdr *)(file + sections[i].sh_offset);
        uint64_t address;
        memcpy(&address, (const uint8_t *)(note + 1) + ((note->n_namesz + 3) & ~3u), sizeof(address));
        for (unsigned k = 0; k < elf->e_phnum; ++k)
            if (segments[k].p_type == PT_LOAD && address >= segments[k].p_vaddr &&
                address - segments[k].p_vaddr < segments[k].p_filesz)
                return address - segments[k].p_vaddr + segments[k].p_offset;
    }
    return 0;
}

/* Attaches a uprobe there.  Returns its descriptor, or -1 after setting errno. */
static int
attach(const char *path, uint64_t offset, unsigned type)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.size = sizeof(attr);
    attr.type = type;
    attr.config1 = (uint64_t)(uintptr_t)path;
    attr.config2 = offset;
    attr.sample_period = 1;
    attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_IP;
    const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    if (fd >= 0 && mmap(NULL, (1 + PAGES) * 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
        return -1;
    return fd;
}

/* The file of this program, mapped. */
static const uint8_t *
own_file(char *path, size_t size)
{
    struct stat st;
    const ssize_t n = readlink("/proc/self/exe", path, size - 1);
    path[n < 0 ? 0 : n] = '\0';
    const int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0)
        return NULL;
    void *const map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

int
main(int argc, char **argv)
{
    char path[4096];
    unsigned type = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: usdt-emit EVENTS\n");
        return 2;
    }
    const uint64_t events = strtoull(argv[1], NULL, 10);
    measure_print("usdt_off", median_burst(events), "ns");

    FILE *const in = fopen(TYPE, "r");
    if (!in || fscanf(in, "%u", &type) != 1) {
        puts("# this kernel has no uprobes (" TYPE " is not there): no figure for an attached USDT probe");
        return 0;
    }
    const uint8_t *const file = own_file(path, sizeof(path));
    const uint64_t offset = file ? probe_offset(file) : 0;
    const int fd = offset ? attach(path, offset, type) : -1;
    uint64_t hits = 0;
    if (fd < 0) {
        printf("# no uprobe can be attached (%s): no figure for an attached USDT probe\n", strerror(errno));
        return 0;
    }
    measure_print("usdt_uprobe", median_burst(events / 16), "ns");
    if (read(fd, &hits, sizeof(hits)) != sizeof(hits) || hits != BURSTS * (events / 16))
        printf("# the uprobe counted %llu hits instead of %llu\n", (unsigned long long)hits,
               (unsigned long long)(BURSTS * (events / 16)));
    return 0;
}
