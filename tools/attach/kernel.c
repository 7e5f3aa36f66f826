/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * kernel.c - the kernel's part: its program, the probes, and the events.
 *
 * Probes belong to this process's file descriptors.  So the kernel takes them out when it ends, however it ends.
 */
#include <errno.h>
#include <stdarg.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach.h"
#include "base/memory.h"
#include "trace/clock/clock-internal.h"

/* The compiled attach.bpf.c. */
__asm__(".section .rodata\n"
        ".balign 8\n"
        "sqt_attach_bpf:\n"
        ".incbin \"" SQT_ATTACH_BPF "\"\n"
        "sqt_attach_bpf_end:\n"
        ".byte 0\n"
        ".previous\n");
extern const char sqt_attach_bpf[], sqt_attach_bpf_end[];

/* Many probes in one call, which Linux 6.6 and newer can.  One by one, each takes some 0.1 s to be taken out.  Debian 12's
 * headers are older, so the numbers are given here. */
#define KERNEL_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI */
struct kernel_many {           /* the part of union bpf_attr that BPF_LINK_CREATE reads */
    uint32_t program, target, type, flags;
    uint64_t path, offsets, counters, cookies;
    uint32_t count, own_flags, pid, padding;
};

#define KERNEL_DRAIN 65536u /* Several workers may call faster than the reader reads: it must do other things, too. */

struct attach_kernel {
    struct bpf_object *object;
    struct bpf_program *entry;
    struct bpf_link **links;
    size_t link_count;
    int many;             /* descriptor of the link of all probes; -1: there is none */
    int tags;             /* of those that are taken out first; -1: there is none */
    struct bpf_link *tag; /* the same if they are put in one by one */
    struct ring_buffer *ring;
    int processes, counts; /* descriptors of maps */
    int processors;
    void (*take)(void *context, const struct sqt_attach_event *event);
    void *context;
    uint64_t own;  /* events of attach_kernel_cost() */
    unsigned left; /* events until the drain returns */
};

/* What the kernel's verifier says goes nowhere: people cannot act on it. */
static int
kernel_hush(enum libbpf_print_level level, const char *format, va_list arguments)
{
    if (getenv("SQTRACE_ATTACH_DEBUG"))
        return vfprintf(stderr, format, arguments);
    (void)level;
    return 0;
}

static int
kernel_event(void *context, void *data, size_t size)
{
    struct attach_kernel *const kernel = context;
    if (size >= sizeof(struct sqt_attach_event))
        kernel->take(kernel->context, data);
    return kernel->left && --kernel->left ? 0 : -1; /* this one is taken; the next ones wait */
}

/* What an error of the kernel means here. */
static const char *
kernel_why(int error)
{
    if (error == EPERM || error == EACCES)
        return geteuid() == 0
                   ? "the kernel does not allow it: CAP_SYS_ADMIN is missing (a container?), or lockdown is on"
                   : "it needs root";
    if (error == ENOSYS || error == EINVAL || error == EOPNOTSUPP)
        return "this kernel cannot do it: Linux 5.15 or newer with BPF and uprobes is needed";
    return strerror(error);
}

/* Where the kernel's event of a new process has its number. */
static unsigned
kernel_child_at(void)
{
    static const char *const paths[] = {"/sys/kernel/tracing/events/sched/sched_process_fork/format",
                                        "/sys/kernel/debug/tracing/events/sched/sched_process_fork/format"};
    unsigned at = 0;
    for (unsigned i = 0; !at && i < sizeof(paths) / sizeof(*paths); ++i) {
        FILE *const f = sqt_fopen(paths[i], "r");
        char line[256];
        while (f && !at && fgets(line, sizeof(line), f)) {
            const char *const field = strstr(line, "child_pid;"), *const offset = strstr(line, "offset:");
            if (field && offset)
                at = (unsigned)strtoul(offset + 7, NULL, 10);
        }
        if (f)
            fclose(f);
    }
    return at;
}

/* many: the program is for probes that come in one call. */
static int
kernel_load_object(struct attach_kernel *k, int many)
{
    LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "sqtrace");
    const unsigned child_at = kernel_child_at();
    k->object = bpf_object__open_mem(sqt_attach_bpf, (size_t)(sqt_attach_bpf_end - sqt_attach_bpf), &options);
    if (!k->object)
        return -1;
    struct bpf_map *const constants = bpf_object__find_map_by_name(k->object, ".rodata");
    if (child_at && constants && bpf_map__set_initial_value(constants, &child_at, sizeof(child_at)) != 0)
        return -1;
    k->entry = bpf_object__find_program_by_name(k->object, "on_entry");
    if (many && k->entry)
        bpf_program__set_expected_attach_type(k->entry, (enum bpf_attach_type)KERNEL_UPROBE_MULTI);
    return bpf_object__load(k->object);
}

static void
kernel_let_go(struct attach_kernel *k)
{
    ring_buffer__free(k->ring);
    bpf_object__close(k->object);
    k->ring = NULL;
    k->object = NULL;
}

/* Maps what the kernel's program shares. */
static int
kernel_map(struct attach_kernel *k)
{
    k->processors = libbpf_num_possible_cpus();
    k->processes = bpf_object__find_map_fd_by_name(k->object, "processes");
    k->counts = bpf_object__find_map_fd_by_name(k->object, "counts");
    k->ring = ring_buffer__new(bpf_object__find_map_fd_by_name(k->object, "events"), kernel_event, k, NULL);
    return k->ring && k->entry && k->processors > 0 ? 0 : -1;
}

struct attach_kernel *
attach_kernel_load(int many, struct program_voice *voice)
{
    struct attach_kernel *const k = sqt_zeroed(1, sizeof(*k));
    k->many = k->tags = -1;
    libbpf_set_print(kernel_hush);
    if (kernel_load_object(k, many) == 0 && kernel_map(k) == 0)
        return k;
    const int error = errno;
    attach_kernel_free(k);
    if (!many)
        program_fail(voice, "cannot load a program into the kernel: %s", kernel_why(error));
    return NULL;
}

int
attach_kernel_watch(struct attach_kernel *k, pid_t pid)
{
    const uint32_t key = (uint32_t)pid;
    const uint64_t none = 0;
    return bpf_map_update_elem(k->processes, &key, &none, BPF_NOEXIST) == 0 || errno == EEXIST ? 0 : -1;
}

uint64_t
attach_kernel_lost_of(const struct attach_kernel *k, pid_t pid)
{
    const uint32_t key = (uint32_t)pid;
    uint64_t lost = 0;
    return bpf_map_lookup_elem(k->processes, &key, &lost) == 0 ? lost : 0;
}

void
attach_kernel_unwatch(struct attach_kernel *k, pid_t pid)
{
    const uint32_t key = (uint32_t)pid;
    bpf_map_delete_elem(k->processes, &key);
}

static int
kernel_link(struct attach_kernel *k, struct bpf_link *link)
{
    if (!link)
        return -1;
    k->links[k->link_count++] = link;
    return 0;
}

static int
kernel_life(struct attach_kernel *k, const char *program, const char *event)
{
    struct bpf_program *const p = bpf_object__find_program_by_name(k->object, program);
    return kernel_link(k, p ? bpf_program__attach_tracepoint(p, "sched", event) : NULL);
}

static int
kernel_probe(struct attach_kernel *k, const char *program, const struct sqt_attach_function *function)
{
    const unsigned *const s = sqt_attach_infos[function->row].sources;
    LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = SQT_COOKIE((unsigned)function->row, s[0], s[1], s[2]));
    return kernel_link(k, bpf_program__attach_uprobe_opts(k->entry, -1, program, function->offset, &options));
}

/* Probes of TAG, or all others, in one call.  Returns a descriptor, or -1 if this kernel cannot do it. */
static int
kernel_probe_all(struct attach_kernel *k, const char *program, const struct sqt_attach_functions *f, int tags)
{
    uint32_t count = 0;
    uint64_t *const offsets = sqt_zeroed(f->count, sizeof(*offsets)), *const cookies =
                                                                          sqt_zeroed(f->count, sizeof(*cookies));
    for (size_t i = 0; i < f->count; ++i) {
        const unsigned *const s = sqt_attach_infos[f->found[i].row].sources;
        if ((f->found[i].row == SQT_ATTACH_TAG) != tags)
            continue;
        offsets[count] = f->found[i].offset;
        cookies[count++] = SQT_COOKIE((unsigned)f->found[i].row, s[0], s[1], s[2]);
    }
    const struct kernel_many attributes = {.program = (uint32_t)bpf_program__fd(k->entry),
                                           .type = KERNEL_UPROBE_MULTI,
                                           .path = (uintptr_t)program,
                                           .offsets = (uintptr_t)offsets,
                                           .cookies = (uintptr_t)cookies,
                                           .count = count};
    const int link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes));
    free(offsets);
    free(cookies);
    return link;
}

static int
kernel_probe_each(struct attach_kernel *k, const char *program, const struct sqt_attach_functions *f,
                  struct program_voice *voice)
{
    for (size_t i = 0; i < f->count; ++i) {
        if (kernel_probe(k, program, &f->found[i]) != 0)
            return program_fail(voice, "cannot put a probe on %s: %s", f->found[i].name, kernel_why(errno));
        if (f->found[i].row == SQT_ATTACH_TAG)
            k->tag = k->links[--k->link_count];
    }
    return 0;
}

static int
kernel_probe_many(struct attach_kernel *k, const char *program, const struct sqt_attach_functions *f)
{
    k->many = kernel_probe_all(k, program, f, 0);
    if (k->many >= 0 && f->has[SQT_ATTACH_TAG])
        k->tags = kernel_probe_all(k, program, f, 1);
    return k->many < 0 ? -1 : 0;
}

void
attach_kernel_code(struct attach_kernel *k, uint32_t at)
{
    const struct bpf_map *const variables = bpf_object__find_map_by_name(k->object, ".bss");
    const uint32_t zero = 0;
    if (variables && bpf_map__value_size(variables) == sizeof(at))
        bpf_map_update_elem(bpf_map__fd(variables), &zero, &at, BPF_ANY);
}

void
attach_kernel_no_tags(struct attach_kernel *k)
{
    if (k->tags >= 0)
        close(k->tags);
    if (k->tag)
        bpf_link__destroy(k->tag);
    k->tags = -1;
    k->tag = NULL;
}

/* The name of the file whose functions were looked at: offsets of one file would be wrong in another, and the process may be
 * gone. */
static void
kernel_program(const struct attach_target *target, char name[64])
{
    snprintf(name, 64, "/proc/self/fd/%d", target->fd);
}

int
attach_kernel_attach(struct attach_kernel *k, int many, const struct attach_target *target, struct program_voice *voice)
{
    char program[64];
    const struct sqt_attach_functions *const f = &target->functions;
    kernel_program(target, program);
    k->links = sqt_zeroed(f->count + 2, sizeof(*k->links));
    const int followed =
        kernel_life(k, "on_fork", "sched_process_fork") == 0 && kernel_life(k, "on_exit", "sched_process_exit") == 0;
    if (many)
        return followed ? kernel_probe_many(k, program, f) : -1;
    return followed ? kernel_probe_each(k, program, f, voice)
                    : program_fail(voice, "cannot follow new processes: %s",
                                   errno == ENOENT ? "the kernel's tracefs is missing: mount -t tracefs tracefs "
                                                     "/sys/kernel/tracing"
                                                   : kernel_why(errno));
}

/* A function that begins as most of Squid's do. */
__asm__(".text\n"
        ".type sqt_attach_called, @function\n"
        "sqt_attach_called:\n"
        "push %rbp\n"
        "pop %rbp\n"
        "ret\n"
        ".size sqt_attach_called, . - sqt_attach_called\n");
extern void sqt_attach_called(void);

/* Where the function is in this program's file; 0: not known. */
static uint64_t
kernel_own_offset(void)
{
    const unsigned long long at = (uintptr_t)sqt_attach_called;
    unsigned long long begin, end, offset;
    uint64_t found = 0;
    char line[512];
    FILE *const f = sqt_fopen("/proc/self/maps", "r");
    while (f && !found && fgets(line, sizeof(line), f))
        if (sscanf(line, "%llx-%llx %*s %llx", &begin, &end, &offset) == 3 && at >= begin && at < end)
            found = offset + (at - begin);
    if (f)
        fclose(f);
    return found;
}

static void
kernel_forget(void *context, const struct sqt_attach_event *event)
{
    (void)context, (void)event;
}

/* ns for each of many calls: of the quickest round, since others run meanwhile. */
static uint64_t
kernel_time_calls(void)
{
    uint64_t least = UINT64_MAX;
    for (unsigned round = 0; round < 20; ++round) {
        const uint64_t begin = sqt_monotonic_ns();
        for (unsigned i = 0; i < 500; ++i)
            sqt_attach_called();
        const uint64_t each = (sqt_monotonic_ns() - begin) / 500;
        if (each < least)
            least = each;
    }
    return least;
}

uint64_t
attach_kernel_cost(struct attach_kernel *k)
{
    struct sqt_attach_function function = {.row = SQT_ATTACH_XACT, .offset = kernel_own_offset()};
    const struct sqt_attach_functions only = {.found = &function, .count = 1};
    const uint32_t pid = (uint32_t)getpid();
    if (!function.offset || attach_kernel_watch(k, (pid_t)pid) != 0)
        return 0;
    const int link = kernel_probe_all(k, "/proc/self/exe", &only, 0);
    const uint64_t cost = link < 0 ? 0 : kernel_time_calls();
    if (link >= 0)
        close(link);
    attach_kernel_unwatch(k, (pid_t)pid);
    while (attach_kernel_drain(k, kernel_forget, NULL))
        continue;
    k->own = attach_kernel_counts(k).events;
    return cost;
}

void
attach_kernel_pause(struct attach_kernel *k)
{
    attach_kernel_no_tags(k);
    if (k->many >= 0)
        close(k->many);
    k->many = -1;
}

int
attach_kernel_resume(struct attach_kernel *k, const struct attach_target *target, int tags)
{
    char program[64];
    kernel_program(target, program);
    const int failed = kernel_probe_many(k, program, &target->functions);
    if (!tags)
        attach_kernel_no_tags(k);
    return failed;
}

void
attach_kernel_detach(struct attach_kernel *k)
{
    attach_kernel_no_tags(k);
    if (k->many >= 0)
        close(k->many);
    k->many = -1;
    for (size_t i = 0; i < k->link_count; ++i)
        bpf_link__destroy(k->links[i]);
    free(k->links);
    k->links = NULL;
    k->link_count = 0;
}

int
attach_kernel_drain(struct attach_kernel *k, void (*take)(void *context, const struct sqt_attach_event *event),
                    void *context)
{
    k->take = take;
    k->context = context;
    k->left = KERNEL_DRAIN;
    ring_buffer__consume(k->ring);
    return !k->left;
}

struct sqt_attach_counts
attach_kernel_counts(const struct attach_kernel *k)
{
    struct sqt_attach_counts sum = {0, 0, 0}, *const each = sqt_zeroed((size_t)k->processors, sizeof(*each));
    const uint32_t zero = 0;
    if (bpf_map_lookup_elem(k->counts, &zero, each) == 0)
        for (int i = 0; i < k->processors; ++i) {
            sum.events += each[i].events;
            sum.lost += each[i].lost;
            sum.others += each[i].others;
        }
    free(each);
    sum.events -= k->own;
    return sum;
}

void
attach_kernel_free(struct attach_kernel *k)
{
    if (!k)
        return;
    attach_kernel_detach(k);
    kernel_let_go(k);
    free(k);
}
