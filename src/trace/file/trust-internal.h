/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trust-internal.h - whose directories and files tracing believes: those of Squid's effective user and of root.
 *
 * Everything is checked through the descriptor that is used afterwards, so nobody can change a name in between.
 */
#ifndef SQT_TRUST_INTERNAL_H
#define SQT_TRUST_INTERNAL_H

#include <sys/types.h>

#include "error-internal.h"

/* Whether a file of `uid` belongs to `owner` (Squid's effective user) or to root. */
int sqt_trusted(uid_t uid, uid_t owner);

/* These return 0, or -1 after filling in error with what was found and what was expected, without the file's name. */

/* A directory in which nobody but its owner, root and its group can make, remove or rename files.  sticky: others may
 * make files there if the sticky bit keeps them from removing those of somebody else. */
int sqt_trust_directory(int fd, uid_t owner, int sticky, struct sqt_error *error);

/* A regular file that nobody but its owner and root can have written.  It may have more names: who only reads it, as of a
 * segment that an administrator linked elsewhere, asks for no more. */
int sqt_trust_content(int fd, uid_t owner, struct sqt_error *error);

/* A regular file with at most one name and without any of the mode bits in `forbidden`. */
int sqt_trust_file(int fd, uid_t owner, mode_t forbidden, struct sqt_error *error);

/* Opens a directory and checks it as above.  Follows links: the path is the administrator's.  Returns a descriptor. */
int sqt_open_directory(const char *path, uid_t owner, int sticky, struct sqt_error *error);

#endif
