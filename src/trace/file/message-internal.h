/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * message-internal.h - what the flusher wants to say in cache.log, kept until the main thread says it.
 */
#ifndef SQT_MESSAGE_INTERNAL_H
#define SQT_MESSAGE_INTERNAL_H

#include <pthread.h>

#include "trace/sqtrace.h"

#define SQT_MESSAGES 16
#define SQT_MESSAGE_MAX 1024

struct sqt_message {
    int level; /* as sqt_log_function's */
    char text[SQT_MESSAGE_MAX];
};

struct sqt_mailbox {
    pthread_mutex_t mutex;
    unsigned count;
    struct sqt_message messages[SQT_MESSAGES];
};

void sqt_mailbox_init(struct sqt_mailbox *mailbox);

/* Any thread.  A line that finds no room is dropped, and so is one for a mailbox that is NULL. */
void sqt_say(struct sqt_mailbox *mailbox, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Hands everything to log.  Never waits for the disk. */
void sqt_mailbox_empty(struct sqt_mailbox *mailbox, sqt_log_function *log);

#endif
