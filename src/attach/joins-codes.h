/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-codes.h - the result code of a transaction, as its log line has it.
 */
#ifndef SQT_ATTACH_JOINS_CODES_H
#define SQT_ATTACH_JOINS_CODES_H

#include "joins-call.h"

/* Where the result code is in the object that the log line is made from.  Releases differ, so it is found out: calls of TAG say
 * the code's place, and LOG that of the object.  It is known once LOG's own code was right often enough; then TAG's calls are
 * of no more use.  The owner zeroes it. */
struct sqt_joins_code {
    uint32_t at;     /* byte of the object to read it at; 0: not known */
    uint32_t place;  /* of LogTags in the object, bytes */
    unsigned agreed; /* log lines in a row that say so, or whose code is right */
    unsigned tried;  /* places behind LogTags that are wrong */
    int sure;
};

/* LOG was called for the call's transaction, which must be known: its code may be better than TAG's. */
void sqt_joins_code_logged(const struct sqt_joins_call *call);

#endif
