/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cells.h - from a request, a swap, a block, a disk operation, a wait or a connection of the model to a row of its table.
 */
#ifndef SQT_CELLS_H
#define SQT_CELLS_H

#include "model/class.h"
#include "model/model.h"
#include "table.h"

extern const char *const sqt_direction_names[2]; /* of swaps and blocks: in, out */

/* Room for what a row's texts are made of. */
struct sqt_row_text {
    char store[32];
};

/* The type of the swap's cache_dir, made in text if need be, and its path; NULL if they are not known. */
const char *sqt_split_dir(const struct sqt_swap *swap, struct sqt_row_text *text, const char **path);

/* The server that the leader of this transaction asks; NULL if it follows none, or the trace does not say. */
const char *sqt_leader_server(const struct sqt_xact *xact);

/* Fill rows of `requests` (of which trace_id and parent_id are texts of the transaction), `swaps`, `ios`, `diskops`, `waits` and `connections`. */
enum sqt_class sqt_request_cells(union sqt_cell *row, const struct sqt_xact *xact);
void sqt_swap_cells(union sqt_cell *row, const struct sqt_swap *swap, struct sqt_row_text *text);
void sqt_io_cells(union sqt_cell *row, const struct sqt_io *io);
void sqt_diskop_cells(union sqt_cell *row, const struct sqt_diskop *op, struct sqt_row_text *text);
/* The name of a type of query in the DNS: "A", "AAAA", "PTR" ..., or "other"; NULL: 0, which is not told. */
const char *sqt_query_name(uint32_t type);

void sqt_wait_cells(union sqt_cell *row, const struct sqt_wait *wait);
void sqt_connection_cells(union sqt_cell *row, const struct sqt_attempt *attempt);

/* Names of errors of connections; the last is "other". */
#define SQT_ERRORS 18
extern const char *const sqt_error_names[SQT_ERRORS];
/* That of an error of the system; NULL: 0. */
const char *sqt_error_name(unsigned error);

#endif
