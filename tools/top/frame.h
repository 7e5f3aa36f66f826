/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * frame.h - the lines of a screen, as text: for a terminal, and for --once.
 */
#ifndef SQT_TOP_FRAME_H
#define SQT_TOP_FRAME_H

#include "base/wall.h"
#include "top.h"

/* Bytes of a line. */
#define FRAME_LINE 1024
#define FRAME_LINES_MOST 256
/* Rows of a table that a frame shows at most. */
#define FRAME_ROWS_MOST 200

enum frame_look { FRAME_PLAIN, FRAME_TITLE, FRAME_COLUMNS, FRAME_SELECTED, FRAME_ALARM };

struct frame {
    unsigned width, height; /* characters; height 0: as many lines as it takes */
    unsigned count;
    char lines[FRAME_LINES_MOST][FRAME_LINE];
    unsigned char looks[FRAME_LINES_MOST]; /* enum frame_look */
};

/* What a frame shows. */
enum frame_view {
    FRAME_ALL,      /* the beginning of each table */
    FRAME_OF_TABLE, /* FRAME_OF_TABLE + enum top_table: that one */
    FRAME_WATERFALL = FRAME_OF_TABLE + TOP_TABLES,
    FRAME_HELP
};

/* Adds a line, made safe by visible.h; lines beyond the last one are left out. */
void frame_add(struct frame *frame, enum frame_look look, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The time of day, with so many decimals (0, 6 or 9), of a time since the start of the trace.  Returns text. */
const char *frame_wall(const struct top *top, int64_t ns, unsigned decimals, char text[SQT_WALL_ROOM]);

/* The lines that stand above everything: rates, what is in flight, what is not known, loops that are blocked. */
void frame_head(struct frame *frame, const struct top *top);

/* findings.c: the first findings, as many as a screen of that height has room for; and all of them, with advice. */
void frame_findings(struct frame *frame, const struct top *top);
void frame_all_findings(struct frame *frame, const struct top *top);

/* Where the time of the request that was chosen went. */
void frame_waterfall(struct frame *frame, const struct top_waterfall *waterfall);

/* Makes the whole frame anew.  selected: the row of the requests in flight that stands out; -1: none. */
void frame_make(struct frame *frame, const struct top *top, enum frame_view view, long selected);

#endif
