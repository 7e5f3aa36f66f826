/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * visible.h - text that comes from a trace, made safe for a terminal, a table, a page or a message.
 *
 * Each byte of a character that could do more than be seen becomes \xNN: control characters (C0, DEL, C1), what is no
 * UTF-8, line and paragraph separators, and marks that change the direction of text.  All else stays as it is.
 */
#ifndef SQT_VISIBLE_H
#define SQT_VISIBLE_H

#include <stddef.h>

/* Bytes that one byte of text may become. */
#define SQT_VISIBLE_MOST 4

/* Whether a byte is a character by itself, and harmless. */
static inline int
sqt_visible_plain(char byte)
{
    return (unsigned char)(byte - ' ') < 0x7f - ' ';
}

/* Copies the first character of text, which is not empty, or its escape; no NUL is appended.  Sets *text behind the
 * character.  Returns the end of what was written: at most SQT_VISIBLE_MOST bytes for each byte taken. */
char *sqt_visible_next(char *to, const char **text);

/* Bytes that sqt_visible() writes at most, and a NUL. */
#define SQT_VISIBLE_ROOM(most) (SQT_VISIBLE_MOST * ((most) + 3) + 1)

/* Copies whole characters of text until `most` bytes are taken or more: the last one may have 3 bytes behind them.  Returns
 * the end; no NUL is appended. */
static inline char *
sqt_visible(char *to, const char *text, size_t most)
{
    const char *const end = text + most;
    while (text < end && *text)
        if (__builtin_expect(sqt_visible_plain(*text), 1))
            *to++ = *text++;
        else
            to = sqt_visible_next(to, &text);
    return to;
}

/* The same into a buffer of size bytes (at least 1), with a NUL; what does not fit is left out.  Returns buffer. */
char *sqt_visible_text(char *buffer, size_t size, const char *text);

#endif
