/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * draft.h - an output that gets its name when it is whole.
 *
 * Until then it stands beside that name, as NAME.part-XXXXXX.  A program that fails or has no memory removes it; one that is
 * killed leaves it there.  A program has one draft at a time.
 */
#ifndef PROGRAM_DRAFT_H
#define PROGRAM_DRAFT_H

/* Opens a file for writing.  What is no regular file (a pipe, a device), or is a link, mounted at that name or not this
 * user's own, is opened itself, and so is every file if in_place.  Returns a descriptor, which the caller closes, or -1
 * with errno. */
int draft_file(const char *name, int in_place);

/* Makes a folder, at whose name nothing may be.  Returns as above. */
int draft_folder(const char *name);

/* Gives the draft its name, if there is one.  Returns 0, or -1 with errno after removing it. */
int draft_keep(void);

/* Removes the draft, if there is one. */
void draft_drop(void);

#endif
