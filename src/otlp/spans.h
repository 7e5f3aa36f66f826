/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spans.h - the parts of spans: what each kind of them says.
 */
#ifndef SQT_OTLP_SPANS_H
#define SQT_OTLP_SPANS_H

#include "model/model.h"
#include "row/kept.h"
#include "text.h"

/* The attributes of a process. */
void sqt_otlp_resource_text(struct sqt_otlp_text *text, const struct sqt_origin *origin);

/* Each appends a span from its name up to its last attribute.  wall: added to a time of the model, it gives ns since
 * 1970.  Of a span whose duration is not known, begin and end are the same. */
void sqt_otlp_request_text(struct sqt_otlp_text *text, const struct sqt_xact *xact, const union sqt_cell *row,
                           uint64_t wall);
void sqt_otlp_try_text(struct sqt_otlp_text *text, const struct sqt_try_row *row, uint64_t wall);
void sqt_otlp_connection_text(struct sqt_otlp_text *text, const struct sqt_attempt *attempt, uint64_t wall);
void sqt_otlp_wait_text(struct sqt_otlp_text *text, const struct sqt_wait *wait, uint64_t wall);
void sqt_otlp_stage_text(struct sqt_otlp_text *text, const struct sqt_tile *tile, uint64_t wall);
/* events: those of its blocks, with commas between them; dropped: those that are not among them. */
void sqt_otlp_swap_text(struct sqt_otlp_text *text, const struct sqt_swap *swap, const struct sqt_otlp_text *events,
                        uint64_t dropped, uint64_t wall);
/* A block as an event. */
void sqt_otlp_io_text(struct sqt_otlp_text *text, const struct sqt_io *io, uint64_t wall);

/* Whether the request failed: Squid could not serve it. */
int sqt_otlp_request_failed(const struct sqt_xact *xact, const union sqt_cell *row);

#endif
