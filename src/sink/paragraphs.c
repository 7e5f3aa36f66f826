/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * paragraphs.c - findings for people: a paragraph each, in lines that fit the terminal.
 */
#include <stdio.h>
#include <string.h>

#include "base/visible.h"
#include "sink.h"

/* Characters of a line: longer ones are hard to read. */
#define LINE_MOST 100
#define LINE_LEAST 40
/* Bytes of a text. */
#define TEXT_MOST 4000

static void
paragraphs_put(struct sqt_sink *sink, const char *text, size_t size)
{
    memcpy(sqt_out_room(&sink->out, size), text, size);
    sink->out.used += size;
}

static unsigned
paragraphs_characters(const char *text, size_t size)
{
    unsigned count = 0;
    for (size_t i = 0; i < size; ++i)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* Words behind the first indent columns, which used says are filled already.  Returns the column after them. */
static unsigned
paragraphs_words(struct sqt_sink *sink, const char *text, unsigned indent, unsigned used)
{
    char safe[SQT_VISIBLE_ROOM(TEXT_MOST)];
    const unsigned bound = !sink->width || sink->width > LINE_MOST ? LINE_MOST : sink->width;
    const unsigned width = bound > LINE_LEAST ? bound : LINE_LEAST;
    *sqt_visible(safe, text, TEXT_MOST) = '\0';
    for (const char *word = safe + strspn(safe, " "); *word;) {
        const size_t size = strcspn(word, " ");
        const unsigned length = paragraphs_characters(word, size);
        if (used > indent && used + 1 + length > width) {
            char line[64];
            paragraphs_put(sink, line, (size_t)snprintf(line, sizeof(line), "\n%*s", (int)indent, ""));
            used = indent;
        } else if (used > indent) {
            paragraphs_put(sink, " ", 1);
            ++used;
        }
        paragraphs_put(sink, word, size);
        used += length;
        word += size;
        word += strspn(word, " ");
    }
    return used;
}

int
sqt_paragraphs_wanted(const struct sqt_sink *sink)
{
    return sink->table == &sqt_tables[SQT_TABLE_findings] && !sink->columns_given;
}

void
sqt_paragraphs_row(struct sqt_sink *sink, const union sqt_cell *row)
{
    char start[64];
    const char *const sentence = row[SQT_CELL(findings, sentence)].text;
    const char *const advice = row[SQT_CELL(findings, advice)].text;
    const char *const command = row[SQT_CELL(findings, command)].text;
    const int length = snprintf(start, sizeof(start), "%s%2lld. ", sink->rows ? "\n" : "",
                                (long long)row[SQT_CELL(findings, rank)].number);
    const unsigned indent = (unsigned)length - (sink->rows ? 1 : 0);
    paragraphs_put(sink, start, (size_t)length);
    const unsigned used = paragraphs_words(sink, sentence ? sentence : "-", indent, indent);
    paragraphs_words(sink, advice ? advice : "", indent, used);
    paragraphs_put(sink, "\n", 1);
    if (!command)
        return;
    /* To be copied: in one line. */
    char safe[SQT_VISIBLE_ROOM(TEXT_MOST)];
    *sqt_visible(safe, command, TEXT_MOST) = '\0';
    paragraphs_put(sink, start, (size_t)snprintf(start, sizeof(start), "%*s", (int)indent, ""));
    paragraphs_put(sink, safe, strlen(safe));
    paragraphs_put(sink, "\n", 1);
}
