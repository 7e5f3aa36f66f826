/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * open.h - the one way to open a file that somebody else may own.
 *
 * Traces, rings, pointers, squid.conf, states of sqtrace-ship and Parquet of a shared folder are opened here.  At any of
 * their names somebody may have put a pipe, a device, a link or a file of his own.  So nothing here waits for a pipe's
 * writer or gets a controlling terminal, and the descriptor that is used afterwards is the one that is looked at.  A file
 * of /proc, /sys or another file system of the kernel is not regular.
 */
#ifndef SQT_OPEN_H
#define SQT_OPEN_H

#include <sys/stat.h>

/* Whether a descriptor, which looks as *st, is of a regular file, and of none of the kernel's. */
int sqt_open_is_regular(int fd, const struct stat *st);

/* Opens the regular file `name` of the folder `at` (or AT_FDCWD).  flags: O_RDONLY, O_WRONLY or O_RDWR, with O_APPEND or
 * O_NOFOLLOW.  The owner does not matter.  *st, unless st is NULL: what the descriptor was like then.
 * Returns the descriptor, which is the caller's, or -1 with errno for sqt_open_refusal(). */
int sqt_open_regular(int at, const char *name, int flags, struct stat *st);

/* The same, and the file belongs to `owner`, has no other name, is no link, and nobody else may write to it. */
int sqt_open_owned(int at, const char *name, int flags, uid_t owner, struct stat *st);

/* Whether sqt_open_owned() refused only because others may write to the file. */
int sqt_open_others_write(int error);

/* Why neither of them opened a file, for a message: "it is not a regular file".  error: errno. */
const char *sqt_open_refusal(int error);

#endif
