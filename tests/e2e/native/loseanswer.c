/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loseanswer.c - loses one answer of diskd, for LD_PRELOAD: once the file LOSEANSWER_ONCE exists, the next message that
 * is sent by one who would wait for room, as diskd does and Squid does not, goes nowhere, and that file with it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <unistd.h>

int
msgsnd(int queue, const void *message, size_t size, int flags)
{
    static int (*next)(int, const void *, size_t, int);
    const char *const once = getenv("LOSEANSWER_ONCE");
    if (!(flags & IPC_NOWAIT) && once && unlink(once) == 0)
        return 0;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "msgsnd");
    return next(queue, message, size, flags);
}
