/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins.h - calls of functions of one process -> records of its transactions.
 *
 * To read it: joins-call.h says how a call finds its transaction, and joins-rule.h how a rule says what a call means.  Each other
 * file joins-*.c is one thing, with its state, its functions and, at its end, its rules.  They do not know each other, except
 * that transactions call clients and codes.  Without memory the program ends (base/memory.h).
 */
#ifndef SQT_ATTACH_JOINS_H
#define SQT_ATTACH_JOINS_H

#include "joins-call.h"
#include "joins-codes.h"

/* Before the first call.  The owner has filled in its members of *joins, and zeroed the rest.  sqt_joins_free() afterwards. */
void sqt_joins_begin(struct sqt_joins *joins);

/* Takes the next call of the process, in the order of time, and emits its records.  An event of an unknown row is left out. */
void sqt_joins_take(struct sqt_joins *joins, const struct sqt_attach_event *event);

/* After a loss: forgets all objects, since any of them may have become another one.  Nothing is emitted for them. */
void sqt_joins_forget(struct sqt_joins *joins);

/* Bytes of memory that all which is known of objects takes.  Calls may be made up, and each may add an object, so the owner looks
 * now and then, and forgets them where they are too many. */
size_t sqt_joins_bytes(const struct sqt_joins *joins);

/* Frees what *joins owns.  The counts in it stay. */
void sqt_joins_free(struct sqt_joins *joins);

#endif
