/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * attach.bpf.c - the kernel's part of sqtrace-attach: one event for each call of a function of a traced Squid.
 *
 * It only reads.  clang compiles it for the kernel's virtual machine.  Nothing here wakes the reader, which looks at the
 * ring by the clock.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>

#include "event.h"

char bpf_license[] SEC("license") = "GPL";

/* Processes that are traced, and how many calls of each found no room.  A child of one is one. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 4096);
    __type(key, __u32);
    __type(value, __u64);
} processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 24);
} events SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct sqt_attach_counts);
} counts SEC(".maps");

enum outcome { PASSED_ON, LOST, OF_OTHERS };

static __always_inline void
count(enum outcome outcome)
{
    const __u32 zero = 0;
    struct sqt_attach_counts *const c = bpf_map_lookup_elem(&counts, &zero);
    if (!c)
        return;
    if (outcome == LOST)
        ++c->lost;
    else if (outcome == OF_OTHERS)
        ++c->others;
    else
        ++c->events;
}

/* Where the result code lies in Squid's AccessLogEntry; 0: not known yet.  User space finds it out. */
volatile __u32 code_at = 0;

static __always_inline __u64
code_of(const struct pt_regs *registers)
{
    const void *entry = 0;
    __u32 code = 0;
    const __u32 at = code_at;
    if (!at || bpf_probe_read_user(&entry, sizeof(entry), (const void *)registers->rdi) != 0 ||
        bpf_probe_read_user(&code, sizeof(code), (const char *)entry + at) != 0)
        return SQT_NO_CODE;
    return (__u64)at << 32 | code;
}

static __always_inline __u64
value_of(const struct pt_regs *registers, unsigned source)
{
    __u64 value = 0;
    if (source == SQT_SOURCE_CODE)
        return code_of(registers);
    switch (source & 7) {
    case 1:
        value = registers->rdi;
        break;
    case 2:
        value = registers->rsi;
        break;
    case 3:
        value = registers->rdx;
        break;
    case 4:
        value = registers->rcx;
        break;
    case 5:
        value = registers->r8;
        break;
    case 6:
        value = registers->r9;
        break;
    }
    if (source & SQT_SOURCE_BEHIND) {
        const void *const from = (const void *)value;
        if (bpf_probe_read_user(&value, sizeof(value), from) != 0)
            value = 0;
    }
    return value;
}

SEC("uprobe")
int
on_entry(struct pt_regs *registers)
{
    const __u64 who = bpf_get_current_pid_tgid();
    const __u32 pid = who >> 32;
    __u64 *const lost = (__u32)who == pid ? bpf_map_lookup_elem(&processes, &pid) : 0; /* the main thread only */
    if (!lost) {
        count(OF_OTHERS);
        return 0;
    }
    struct sqt_attach_event *const e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
    count(e ? PASSED_ON : LOST);
    if (!e) {
        ++*lost;
        return 0;
    }
    const __u64 cookie = bpf_get_attach_cookie(registers);
    e->time = bpf_ktime_get_ns();
    e->pid = pid;
    e->row = SQT_COOKIE_ROW(cookie);
    e->values[0] = value_of(registers, SQT_COOKIE_SOURCE(cookie, 0));
    e->values[1] = value_of(registers, SQT_COOKIE_SOURCE(cookie, 1));
    e->values[2] = value_of(registers, SQT_COOKIE_SOURCE(cookie, 2));
    e->lost = *lost;
    bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
    return 0;
}

/* Where there is no room for it, user space finds out by itself, and the process stays in the map until then. */
static __always_inline void
pass_end(__u32 pid, const __u64 *lost)
{
    struct sqt_attach_event *const e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
    if (!e)
        return;
    e->time = bpf_ktime_get_ns();
    e->pid = pid;
    e->row = SQT_ATTACH_EXIT;
    e->values[0] = e->values[1] = e->values[2] = 0;
    e->lost = *lost;
    bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
    bpf_map_delete_elem(&processes, &pid);
}

/* Where the event sched_process_fork has the child's number.  Kernels differ: user space reads it from tracefs. */
const volatile __u32 child_at = 20;

SEC("tracepoint/sched/sched_process_fork")
int
on_fork(void *context)
{
    const __u32 parent = bpf_get_current_pid_tgid() >> 32;
    if (!bpf_map_lookup_elem(&processes, &parent))
        return 0;
    __u32 child = 0;
    bpf_probe_read_kernel(&child, sizeof(child), (const char *)context + child_at);
    const __u64 none = 0;
    if (child)
        bpf_map_update_elem(&processes, &child, &none, BPF_ANY);
    return 0;
}

SEC("tracepoint/sched/sched_process_exit")
int
on_exit(void *context)
{
    (void)context;
    const __u64 who = bpf_get_current_pid_tgid();
    const __u32 pid = who >> 32, thread = (__u32)who;
    const __u64 *const lost = bpf_map_lookup_elem(&processes, &thread);
    if (lost && thread == pid)
        pass_end(pid, lost);
    else if (lost) /* on_fork() has threads, too */
        bpf_map_delete_elem(&processes, &thread);
    return 0;
}
