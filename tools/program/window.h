/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * window.h - which part of a trace a program reads: --since, --until and --lookback.
 */
#ifndef SQT_PROGRAM_WINDOW_H
#define SQT_PROGRAM_WINDOW_H

#include "read/window.h"
#include "options.h"

/* What is asked for, and what it costs. */
struct program_window {
    struct sqt_window window;
    struct sqt_window_cost cost;
    int used; /* what does not matter is left out */
};

/* What the rows of a program are made of. */
enum program_window_need {
    PROGRAM_WINDOW_RECORDS, /* single records, which need nothing before them */
    PROGRAM_WINDOW_THINGS,  /* things, which may have begun or been named before */
    PROGRAM_WINDOW_WHOLE    /* all before them: struct sqt_family, chained */
};

/* At least an hour before the window is read, unless --lookback says how much. */
void program_window_hour(struct program_window *w);

/* Reads --lookback: a time, or "all".  Returns 0, or -1 with a line in the options' error. */
int program_window_take(const struct options *options, unsigned option, struct program_window *window);

/* Lets the stream begin no earlier than what begins from since until until needs. */
void program_window_begin(struct program_window *window, struct sqt_stream *stream, int64_t since, int64_t until,
                          enum program_window_need need);

/* The time of the last record of the whole trace, ns; read: of those that were read. */
int64_t program_window_length(const struct program_window *window, const struct sqt_stream *stream, int64_t read);

/* What was read, in words for a comment.  Returns 0 if it was all. */
int program_window_text(const struct program_window *window, uint64_t records, char *text, size_t size);

/* Whether reading on behind --until, after that many records and seconds, may take more than a second: a price to say before it
 * is paid. */
int program_window_is_dear(const struct program_window *window, uint64_t records, double seconds);

/* How far it is after that many records and seconds, and what takes less.  reads_on: only what is not over at --until is waited
 * for.  Returns text. */
const char *program_window_progress(const struct program_window *window, uint64_t records, double seconds, int reads_on,
                                    char *text, size_t size);

/* What may be missing because reading began where it did.  Returns 0 if nothing may. */
int program_window_missing(const struct program_window *window, char *text, size_t size);

#endif
