/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loseanswer.c - loses one answer of diskd, for LD_PRELOAD: once the file LOSEANSWER_ONCE exists, the next message that
 * Squid takes without waiting is thrown away, and that file with it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <unistd.h>

ssize_t
msgrcv(int queue, void *message, size_t size, long type, int flags)
{
    static ssize_t (*next)(int, void *, size_t, long, int);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "msgrcv");
    ssize_t got = next(queue, message, size, type, flags);
    const char *const once = getenv("LOSEANSWER_ONCE");
    if (got >= 0 && flags & IPC_NOWAIT && once && unlink(once) == 0)
        got = next(queue, message, size, type, flags);
    return got;
}
