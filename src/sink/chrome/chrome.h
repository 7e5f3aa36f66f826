/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * chrome.h - requests and what they wait for as trace-event JSON, which Perfetto and Chromium draw.
 *
 *     process "kid 1, pid 4711"
 *         thread  event loop          |work|  |work|          a slice for each pass; between them it waits
 *         thread  losses                                      a slice for each stretch
 *         threads requests            disk_hit ------------------------------------------------
 *             stage                   |access|lookup|swap_in_open|  swap_in_first  |proxy_reply|   what was charged
 *             part                                               |queue|service|                   of the block waited for
 *         threads server_wait, server connections, url_rewrite, name_server, ...
 *         threads ufs /cache                   read           the I/O itself; an arrow comes from its request
 *         counters                    requests in flight, event loop busy, blocks of ufs /cache
 */
#ifndef SQT_CHROME_H
#define SQT_CHROME_H

#include "../sink.h"
#include "counters.h"
#include "row/kept.h"
#include "links.h"
#include "tracks.h"

struct sqt_chrome {
    struct sqt_sink *sink;
    struct sqt_events events;
    struct sqt_keep keep;
    struct sqt_tracks tracks;
    struct sqt_counters counters;
    struct sqt_links links;
};

extern const char *const sqt_class_colours[SQT_CLASSES];
extern const char *const sqt_stage_colours[SQT_STAGES + 1];
extern const char *const sqt_part_colours[SQT_IO_PARTS];
extern const char *const sqt_block_colours[2]; /* [0]: of a read, [1]: of a write */

/* What a block's time went to, one part after the other. */
struct sqt_part {
    const char *name;
    int64_t from, until; /* ns */
};
void sqt_chrome_parts(const union sqt_cell *row, struct sqt_part parts[SQT_IO_PARTS]);

/* Prints a block.  Its place has thread 0 if it is no slice. */
struct sqt_linked_block sqt_chrome_block(struct sqt_chrome *chrome, const struct sqt_origin *origin,
                                         const union sqt_cell *row);

/* A wait of a request for its server. */
void sqt_chrome_server_wait(struct sqt_chrome *chrome, const struct sqt_xact *xact, int64_t from, int64_t until);

/* What the model says; the context is the job. */
void sqt_chrome_charge(void *job, const struct sqt_charge *charge);
void sqt_chrome_recharge(void *job, const struct sqt_charge *charge);
void sqt_chrome_request(void *job, const struct sqt_xact *xact);
void sqt_chrome_unlogged(void *job, const struct sqt_xact *xact);
void sqt_chrome_io(void *job, const struct sqt_io *io);
void sqt_chrome_connection(void *job, const struct sqt_attempt *attempt);
void sqt_chrome_wait(void *job, const struct sqt_wait *wait);
void sqt_chrome_loop(void *job, const struct sqt_loop_row *pass);
void sqt_chrome_loss(void *job, const struct sqt_loss_row *loss);

/* The last value of the loop's counter. */
void sqt_chrome_loop_finish(struct sqt_chrome *chrome);

/* Whether what is no request, and began then, is asked for: --where picks requests. */
static inline int
sqt_chrome_wants(const struct sqt_job *job, int64_t begin)
{
    return !job->where && begin >= job->since && begin < job->until;
}

#endif
