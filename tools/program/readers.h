/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * readers.h - a copy of a trace may be read by those who may read the trace, and by nobody else.
 */
#ifndef SQT_READERS_H
#define SQT_READERS_H

#include <sys/stat.h>

/* As fstat(); where an ACL names others, too, the mode has what the group itself may do, and not the ACL's mask. */
int program_look_readers(int fd, struct stat *st);

/* Gives the open file `fd` the group of *like and, of its mode, the permissions to read.  Its owner may write, too.
 * named: those whom the default ACL of its folder names may read it as well, if that lets them; otherwise it gets no ACL.
 * Returns 0, or -1 with errno if it could not get the group: then the group may read only what all others may. */
int program_give_readers(int fd, const struct stat *like, int named);

/* Leaves of *all what *one allows, too.  Where the groups differ, a group may read only what all others may. */
void program_share_readers(struct stat *all, const struct stat *one);

#endif
