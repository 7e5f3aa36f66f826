/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * message.c - see message-internal.h.
 */
#include "message-internal.h"

#include <stdarg.h>
#include <stdio.h>

void
sqt_mailbox_init(struct sqt_mailbox *mailbox)
{
    pthread_mutex_init(&mailbox->mutex, NULL);
    mailbox->count = 0;
}

void
sqt_say(struct sqt_mailbox *mailbox, int level, const char *format, ...)
{
    if (!mailbox)
        return;
    pthread_mutex_lock(&mailbox->mutex);
    if (mailbox->count < SQT_MESSAGES) {
        struct sqt_message *const message = &mailbox->messages[mailbox->count++];
        va_list args;
        va_start(args, format);
        message->level = level;
        vsnprintf(message->text, sizeof(message->text), format, args);
        va_end(args);
    }
    pthread_mutex_unlock(&mailbox->mutex);
}

void
sqt_mailbox_empty(struct sqt_mailbox *mailbox, sqt_log_function *log)
{
    struct sqt_message message;
    for (;;) {
        pthread_mutex_lock(&mailbox->mutex);
        const int some = mailbox->count > 0;
        if (some) {
            message = mailbox->messages[0];
            --mailbox->count;
            for (unsigned i = 0; i < mailbox->count; ++i)
                mailbox->messages[i] = mailbox->messages[i + 1];
        }
        pthread_mutex_unlock(&mailbox->mutex);
        if (!some)
            return;
        if (log)
            log(message.level, message.text);
    }
}
