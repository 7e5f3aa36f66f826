/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pager.h - long output on a terminal, a page at a time, as git does it.
 *
 * The pager is the command in SQTRACE_PAGER, else in PAGER, else less if it is there.  An empty command or "cat" is none.
 * less leaves output that fits the screen as it is, and does not wrap lines, unless LESS says otherwise.
 */
#ifndef SQT_PAGER_H
#define SQT_PAGER_H

#include <sys/types.h>

struct pager {
    pid_t pid; /* 0: none */
    int fd;    /* what it reads comes from here */
};

/* Starts one if the standard output is a terminal.  Returns where to write: the pager, or the standard output. */
int pager_start(struct pager *pager);

/* No more comes: waits until its user leaves it. */
void pager_finish(struct pager *pager);

/* Characters of a line: COLUMNS, else those of the terminal; 0: no bound. */
unsigned pager_width(void);

#endif
