/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * send.h - spans on their way to a receiver of OTLP over HTTP: batches, a bounded queue, tries again.
 *
 * One batch is under way at a time, in the loop of events: nothing here blocks.  A batch that the receiver cannot take now
 * (no connection, no answer in time, status 429, 502, 503 or 504) is tried again, each time later, or when the receiver says.
 * Any other answer but 2xx drops it.  What finds no room in the queue is dropped.  All of that is counted.
 */
#ifndef SQT_EXPORTER_SEND_H
#define SQT_EXPORTER_SEND_H

#include <stddef.h>
#include <stdint.h>

struct exporter;
struct export_sender;

/* Where it sends to, and how patiently. */
struct export_receiver {
    char address[64]; /* of IP, without brackets; "": nowhere */
    uint16_t port;
    char place[160]; /* as in a header Host */
    char path[256];  /* "/v1/traces" */
    int64_t timeout; /* ns, of a try */
    int64_t retry;   /* ns, from the first try of a batch to its last */
    int64_t queue;   /* bytes */
};

/* In spans, but for tries and bytes. */
struct export_sent {
    uint64_t sent, full, refused, expired;
    uint64_t retries;
    size_t queued; /* bytes */
};

/* Returns NULL without memory. */
struct export_sender *export_sender_new(struct exporter *exporter, const struct export_receiver *receiver);

/* Takes an object ResourceSpans of so many bytes and spans. */
void export_sender_take(struct export_sender *sender, const char *json, size_t size, unsigned spans);

/* What became of the spans so far. */
const struct export_sent *export_sender_sent(const struct export_sender *sender);

/* Runs the loop until the queue is empty, a try fails, or two seconds are over. */
void export_sender_drain(struct export_sender *sender);

void export_sender_free(struct export_sender *sender); /* NULL is welcome */

#endif
