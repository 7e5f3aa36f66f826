/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sampler-read.c - what the kernel tells of the process, the machine and its disks.
 *
 * What cannot be read is said once, and its values are missing.  Files are read by the kernel's own calls or with stdio,
 * which the wrappers of calls-wrap.c do not see: /proc is no disk, and the account of system calls is about Squid's.
 */
#define _GNU_SOURCE
#include "sampler-internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SECTOR 512 /* bytes, whatever the disk's own are */

/* What may fail to be read. */
enum { MEMORY, DESCRIPTORS, PROCESSORS, PAGING, NETWORK, DISK };

static void
complain(struct sqt_sampler *s, unsigned what, const char *path)
{
    if (!(s->complained & 1u << what))
        sqt_say(s->mailbox, 1, "sqtrace: cannot sample from %s: %s", path, strerror(errno));
    s->complained |= 1u << what;
}

/* Reads what a file has, or as much as there is room for.  Returns how much that is. */
static size_t
sampler_read_all(int fd, char *text, size_t size)
{
    size_t n = 0;
    long got;
    while (n < size && (got = syscall(SYS_read, fd, text + n, size - n)) > 0)
        n += (size_t)got;
    return n;
}

/* Reads a small file as a text.  Returns 0 or -1.  stdio would make three calls more, each second for good. */
static int
read_text(struct sqt_sampler *s, unsigned what, const char *path, char *text, size_t size)
{
    char whole[PATH_MAX];
    snprintf(whole, sizeof(whole), "%s%s", s->root, path);
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, whole, O_RDONLY | O_CLOEXEC);
    const size_t n = fd < 0 ? 0 : sampler_read_all(fd, text, size - 1);
    if (!n)
        complain(s, what, whole);
    if (fd >= 0)
        syscall(SYS_close, fd);
    text[n] = '\0';
    return n ? 0 : -1;
}

static unsigned
sampler_read_add(struct sqt_sampled *round, unsigned count, enum sqt_sample_value what, unsigned index, uint64_t value)
{
    round[count] = (struct sqt_sampled){.value = value, .number = sqt_sample_number(what, index)};
    return count + 1;
}

/* ---- the process ---- */

static uint64_t
microseconds(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

/* Whether an entry of an open folder is the descriptor through which that folder is read.  It is none of the process's
 * where the flusher has a table of descriptors of its own: /proc/self/fd is that of the main thread. */
static int
is_own_entry(int folder, const char *name)
{
    struct stat own, entry;
    return atoi(name) == folder && fstat(folder, &own) == 0 && fstatat(folder, name, &entry, 0) == 0 &&
           own.st_dev == entry.st_dev && own.st_ino == entry.st_ino;
}

/* Counts the entries of a folder of descriptors; -1 if it cannot be opened. */
static int64_t
count_entries(const char *path)
{
    int64_t count = 0;
    DIR *const folder = opendir(path);
    if (!folder)
        return -1;
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.' && !is_own_entry(dirfd(folder), entry->d_name);
    closedir(folder);
    return count;
}

/* How many descriptors are open; -1 if that is not known.  Newer kernels (6.2) tell it as the size of the folder, older
 * ones as the number of its entries; the size of any other file system's folder is something else. */
static int64_t
sampler_descriptors(struct sqt_sampler *s)
{
    char path[PATH_MAX];
    struct stat st;
    struct statfs fs;
    snprintf(path, sizeof(path), "%s/proc/self/fd", s->root);
    if (stat(path, &st) == 0 && st.st_size > 0 && statfs(path, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC)
        return st.st_size;
    const int64_t count = count_entries(path);
    if (count < 0)
        complain(s, DESCRIPTORS, path);
    return count;
}

unsigned
sqt_sample_process(struct sqt_sampler *s, struct sqt_sampled *round, unsigned count)
{
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) == 0) {
        count = sampler_read_add(round, count, SQT_SAMPLE_PROCESS_cpu_user_us, 0, microseconds(&used.ru_utime));
        count = sampler_read_add(round, count, SQT_SAMPLE_PROCESS_cpu_system_us, 0, microseconds(&used.ru_stime));
        count = sampler_read_add(round, count, SQT_SAMPLE_PROCESS_voluntary_switches, 0, (uint64_t)used.ru_nvcsw);
        count = sampler_read_add(round, count, SQT_SAMPLE_PROCESS_involuntary_switches, 0, (uint64_t)used.ru_nivcsw);
        count = sampler_read_add(round, count, SQT_SAMPLE_PROCESS_minor_faults, 0, (uint64_t)used.ru_minflt);
        count = sampler_read_add(round, count, SQT_SAMPLE_PROCESS_major_faults, 0, (uint64_t)used.ru_majflt);
    }
    const int64_t open_now = sampler_descriptors(s);
    if (open_now >= 0)
        count = sampler_read_add(round, count, SQT_SAMPLE_PROCESS_descriptors, 0, (uint64_t)open_now);
    char text[256];
    uint64_t pages;
    if (read_text(s, MEMORY, "/proc/self/statm", text, sizeof(text)) == 0 && sscanf(text, "%*u %" SCNu64, &pages) == 1)
        count =
            sampler_read_add(round, count, SQT_SAMPLE_PROCESS_rss_bytes, 0, pages * (uint64_t)sysconf(_SC_PAGESIZE));
    return count;
}

/* ---- the machine ---- */

/* A counter of /proc/net/netstat: a line of names, and below it a line of values.  Returns 0 or -1. */
static int
netstat_value(const char *text, const char *name, uint64_t *value)
{
    const char *names = strstr(text, "TcpExt:"), *const end = names ? strchr(names, '\n') : NULL;
    const char *values = end && strncmp(end + 1, "TcpExt:", 7) == 0 ? end + 1 : NULL;
    const size_t length = strlen(name);
    while (values) {
        names = strchr(names, ' ');
        values = strchr(values, ' ');
        if (!names || names > end || !values)
            return -1;
        if (strncmp(++names, name, length) == 0 && strchr(" \n", names[length]))
            return sscanf(values, "%" SCNu64, value) == 1 ? 0 : -1;
        ++values;
    }
    return -1;
}

/* What the kernel dropped on the way into a backlog, of all sockets of the network namespace. */
static unsigned
sample_network(struct sqt_sampler *s, struct sqt_sampled *round, unsigned count)
{
    char text[16384];
    uint64_t value;
    if (read_text(s, NETWORK, "/proc/self/net/netstat", text, sizeof(text)) != 0)
        return count;
    if (netstat_value(text, "ListenOverflows", &value) == 0)
        count = sampler_read_add(round, count, SQT_SAMPLE_MACHINE_listen_overflows, 0, value);
    if (netstat_value(text, "ListenDrops", &value) == 0)
        count = sampler_read_add(round, count, SQT_SAMPLE_MACHINE_listen_drops, 0, value);
    return count;
}

unsigned
sqt_sample_machine(struct sqt_sampler *s, struct sqt_sampled *round, unsigned count)
{
    static const struct {
        const char *line;
        enum sqt_sample_value what;
    } paging[] = {{"\npgpgin ", SQT_SAMPLE_MACHINE_paged_in_kb},
                  {"\npgpgout ", SQT_SAMPLE_MACHINE_paged_out_kb},
                  {"\npswpin ", SQT_SAMPLE_MACHINE_swapped_in_pages},
                  {"\npswpout ", SQT_SAMPLE_MACHINE_swapped_out_pages}};
    char text[16384];
    uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
    if (read_text(s, PROCESSORS, "/proc/stat", text, sizeof(text)) == 0 &&
        sscanf(text, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal) == 8) {
        const uint64_t tick = 1000 / (uint64_t)sysconf(_SC_CLK_TCK); /* ms */
        count = sampler_read_add(round, count, SQT_SAMPLE_MACHINE_cpu_user_ms, 0, (user + nice) * tick);
        count = sampler_read_add(round, count, SQT_SAMPLE_MACHINE_cpu_system_ms, 0, (system + irq + softirq) * tick);
        count = sampler_read_add(round, count, SQT_SAMPLE_MACHINE_cpu_idle_ms, 0, idle * tick);
        count = sampler_read_add(round, count, SQT_SAMPLE_MACHINE_cpu_iowait_ms, 0, iowait * tick);
        count = sampler_read_add(round, count, SQT_SAMPLE_MACHINE_cpu_steal_ms, 0, steal * tick);
    }
    if (read_text(s, PAGING, "/proc/vmstat", text, sizeof(text)) == 0)
        for (unsigned i = 0; i < sizeof(paging) / sizeof(*paging); ++i) {
            const char *const at = strstr(text, paging[i].line);
            uint64_t value;
            if (at && sscanf(at + strlen(paging[i].line), "%" SCNu64, &value) == 1)
                count = sampler_read_add(round, count, paging[i].what, 0, value);
        }
    return sample_network(s, round, count);
}

/* ---- disks ---- */

unsigned
sqt_sample_disk(struct sqt_sampler *s, struct sqt_sampled *round, unsigned count, unsigned disk, uint64_t device)
{
    char path[64], text[512];
    uint64_t reads, sectors_read, read_ms, writes, sectors_written, write_ms, in_flight, busy_ms, queue_ms;
    snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", major(device), minor(device));
    if (read_text(s, DISK, path, text, sizeof(text)) != 0 ||
        sscanf(text,
               "%" SCNu64 " %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64,
               &reads, &sectors_read, &read_ms, &writes, &sectors_written, &write_ms, &in_flight, &busy_ms,
               &queue_ms) != 9)
        return count;
    count = sampler_read_add(round, count, SQT_SAMPLE_DISK_device, disk, device);
    count = sampler_read_add(round, count, SQT_SAMPLE_DISK_reads, disk, reads);
    count = sampler_read_add(round, count, SQT_SAMPLE_DISK_read_bytes, disk, sectors_read * SECTOR);
    count = sampler_read_add(round, count, SQT_SAMPLE_DISK_read_ms, disk, read_ms);
    count = sampler_read_add(round, count, SQT_SAMPLE_DISK_writes, disk, writes);
    count = sampler_read_add(round, count, SQT_SAMPLE_DISK_written_bytes, disk, sectors_written * SECTOR);
    count = sampler_read_add(round, count, SQT_SAMPLE_DISK_write_ms, disk, write_ms);
    count = sampler_read_add(round, count, SQT_SAMPLE_DISK_busy_ms, disk, busy_ms);
    count = sampler_read_add(round, count, SQT_SAMPLE_DISK_queue_ms, disk, queue_ms);
    return sampler_read_add(round, count, SQT_SAMPLE_DISK_in_flight, disk, in_flight);
}

/* What /proc/self/mountinfo says of the file system with that number: its type and what it is made of. */
static int
mount_of(const struct sqt_sampler *s, dev_t number, char *type, size_t type_size, char *source, size_t source_size)
{
    char path[PATH_MAX], wanted[32], *line = NULL;
    size_t room = 0;
    int found = 0;
    snprintf(path, sizeof(path), "%s/proc/self/mountinfo", s->root);
    snprintf(wanted, sizeof(wanted), "%u:%u", major(number), minor(number));
    FILE *const file = fopen(path, "re");
    while (file && !found && getline(&line, &room, file) > 0) {
        char device[32], kind[64], made_of[256];
        const char *const rest = strstr(line, " - ");
        found = rest && sscanf(line, "%*u %*u %31s", device) == 1 && strcmp(device, wanted) == 0 &&
                sscanf(rest, " - %63s %255s", kind, made_of) == 2;
        if (found) {
            snprintf(type, type_size, "%s", kind);
            snprintf(source, source_size, "%s", made_of);
        }
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

/* The name of a block device, if there are numbers of it to be read. */
static int
device_name(const struct sqt_sampler *s, dev_t number, char *name, size_t size)
{
    char path[PATH_MAX], link[PATH_MAX];
    snprintf(path, sizeof(path), "%s/sys/dev/block/%u:%u", s->root, major(number), minor(number));
    const ssize_t n = readlink(path, link, sizeof(link) - 1);
    if (n < 0)
        return 0;
    link[n] = '\0';
    const char *const slash = strrchr(link, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : link);
    return 1;
}

uint64_t
sqt_device_of(const struct sqt_sampler *s, const char *path, char *name, size_t size)
{
    struct stat st, made_of;
    char source[256];
    if (stat(path, &st) != 0) {
        snprintf(name, size, "%s", strerror(errno));
        return 0;
    }
    if (device_name(s, st.st_dev, name, size))
        return st.st_dev;
    /* btrfs and the like have numbers of their own above their devices. */
    snprintf(name, size, "unknown");
    if (mount_of(s, st.st_dev, name, size, source, sizeof(source)) && stat(source, &made_of) == 0 &&
        S_ISBLK(made_of.st_mode) && device_name(s, made_of.st_rdev, name, size))
        return made_of.st_rdev;
    return 0;
}
