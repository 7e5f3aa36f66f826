/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pager.c - see pager.h.
 */
#define _GNU_SOURCE /* pipe2 */
#include "pager.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Without less the terminal gets all of it. */
#define USUAL "if command -v less >/dev/null 2>&1; then exec less; fi; exec cat"

static const char *
pager_command(void)
{
    const char *command = getenv("SQTRACE_PAGER");
    if (!command)
        command = getenv("PAGER");
    if (!command)
        return USUAL;
    return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

static void
pager_become(const char *command, int from)
{
    if (dup2(from, STDIN_FILENO) < 0)
        _exit(127);
    setenv("LESS", "FRSX", 0);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

int
pager_start(struct pager *pager)
{
    const char *const command = pager_command();
    int ends[2];
    *pager = (struct pager){0, STDOUT_FILENO};
    if (!isatty(STDOUT_FILENO) || !command || pipe2(ends, O_CLOEXEC) != 0)
        return STDOUT_FILENO;
    const pid_t pid = fork();
    if (pid == 0)
        pager_become(command, ends[0]);
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        return STDOUT_FILENO;
    }
    *pager = (struct pager){pid, ends[1]};
    return ends[1];
}

void
pager_finish(struct pager *pager)
{
    if (!pager->pid)
        return;
    close(pager->fd);
    while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    pager->pid = 0;
}

unsigned
pager_width(void)
{
    const char *const columns = getenv("COLUMNS");
    struct winsize size;
    if (columns && atoi(columns) > 0)
        return (unsigned)atoi(columns);
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
