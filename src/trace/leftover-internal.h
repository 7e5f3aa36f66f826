/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * leftover-internal.h - rings whose process died.
 */
#ifndef SQT_LEFTOVER_INTERNAL_H
#define SQT_LEFTOVER_INTERNAL_H

#include <sys/types.h>

#include "message-internal.h"

struct sqt_leftovers {
    int directory;
    const char *directory_path;
    const char *service;
    const char *base;    /* of this run, whose ring is no leftover */
    uid_t owner;
    uint8_t boot_id[16]; /* of now */
    struct sqt_mailbox *mailbox;
};

/* Turns every ring that a dead process of the service left into a segment, and removes what an earlier boot left.
 * What lives is left alone; a lock decides.  Returns how many could not be dealt with and should be tried again. */
unsigned sqt_leftovers_take(const struct sqt_leftovers *leftovers);

#endif
