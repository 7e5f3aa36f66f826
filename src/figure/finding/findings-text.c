/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings-text.c - the rules as data, and sentences and commands from their texts.
 */
#include <stdio.h>
#include <string.h>

#include "findings.h"

const char *const sqt_finding_whens[SQT_FINDING_WHENS] = {
#define SQT_FINDING_WHEN(NAME, doc) doc,
#include "findings.def"
};

#define SQT_FINDING(cause, by, when, stages, mean, each, part, sentence, advice, command) \
    {#cause, \
     SQT_FINDING_##by, \
     SQT_FINDING_##when, \
     stages, \
     INT64_C(1000) * (mean), \
     INT64_C(1000) * (each), \
     part, \
     sentence, \
     advice, \
     command},
const struct sqt_finding_rule sqt_finding_rules[SQT_FINDINGS] = {
#include "findings.def"
};

struct text {
    char *to, *end;
};

static void
text_add(struct text *text, const char *from, size_t length)
{
    const size_t room = (size_t)(text->end - text->to) - 1;
    length = length < room ? length : room;
    memcpy(text->to, from, length);
    text->to += length;
    *text->to = '\0';
}

/* Durations have about three digits: 5 ms, 0.25 ms, 12.3 ms, 123 ms. */
static void
findings_number(struct text *text, double number, const char *unit)
{
    char digits[64];
    const int decimals = strcmp(unit, " ms") != 0 || number >= 99.5 ? 0 : number >= 0.95 ? 1 : 2;
    const int length = snprintf(digits, sizeof(digits), "%.*f", decimals, number);
    const int round = decimals && strspn(digits + length - decimals, "0") == (size_t)decimals;
    text_add(text, digits, (size_t)(round ? length - decimals - 1 : length));
    text_add(text, unit, strlen(unit));
}

/* A condition on a column that may stand between single quotes of a shell.  A name with characters that do not go into
 * one is a pattern, in which ? stands for each of them. */
static void
text_is(struct text *text, const char *column, const char *name)
{
    const int plain = !name[strcspn(name, "'\"\\")];
    const char *c = name;
    while (plain && (unsigned char)*c >= ' ' && *c != 0x7f)
        ++c;
    const int equal = plain && !*c;
    text_add(text, column, strlen(column));
    text_add(text, equal ? " == \"" : " ~ \"", equal ? 5 : 4);
    for (c = name; *c; ++c)
        text_add(text, !equal && (strchr("'\"\\*?[", *c) || (unsigned char)*c < ' ' || *c == 0x7f) ? "?" : c, 1);
    text_add(text, "\"", 1);
}

/* The same of table `waits`, for a kind and a name. */
static void
text_waited(struct text *text, const char *culprit)
{
    const size_t kind = strcspn(culprit, " ");
    if (strspn(culprit, "abcdefghijklmnopqrstuvwxyz_") == kind) {
        text_add(text, "kind == ", 8);
        text_add(text, culprit, kind);
        text_add(text, " and ", 5);
    }
    text_is(text, "name", culprit + kind + (culprit[kind] == ' '));
}

/* The same of table `requests`, for "note NAME=VALUE". */
static void
text_note(struct text *text, const char *culprit)
{
    char column[sizeof("note_") + SQT_NOTE_NAME];
    const size_t kind = strlen("note "), name = strncmp(culprit, "note ", kind) == 0 ? strcspn(culprit + kind, "=") : 0;
    if (!name || !culprit[kind + name])
        return;
    snprintf(column, sizeof(column), "note_%.*s", (int)name, culprit + kind);
    text_is(text, column, culprit + kind + name + 1);
}

/* Whether the word in braces is that one. */
static int
findings_is_word(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

/* A column of `requests` that the culprit may be in; NULL: the word is none. */
static const char *
findings_is_column(const char *word, size_t length)
{
    static const char *const columns[] = {"server", "url_host", "client", "user_name", "miss_reason"};
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); ++i)
        if (findings_is_word(word, length, columns[i]))
            return columns[i];
    return NULL;
}

/* A name server is no directive of squid.conf, as other kinds are. */
static void
text_culprit(struct text *text, const char *culprit)
{
    static const char kind[] = "name_server ";
    const size_t length = sizeof(kind) - 1;
    const int is_name_server = strncmp(culprit, kind, length) == 0;
    if (is_name_server)
        text_add(text, "name server ", length);
    text_add(text, culprit + (is_name_server ? length : 0), strlen(culprit) - (is_name_server ? length : 0));
}

static void
text_word(struct text *text, const char *word, size_t length, const struct sqt_finding_values *v)
{
    const struct {
        const char *name;
        double number;
        const char *unit;
    } numbers[] = {{"share", v->share, " %"},
                   {"reads", v->reads, " %"},
                   {"each", (double)v->each / 1e6, " ms"},
                   {"mean", (double)v->mean / 1e6, " ms"},
                   {"wait", (double)v->wait / 1e6, " ms"},
                   {"others", (double)v->others / 1e6, " ms"},
                   {"connect", (double)v->connect / 1e6, " ms"},
                   {"dir", (double)v->dir, ""},
                   {"late", (double)v->late, ""},
                   {"syns", (double)v->syns, ""},
                   {"busy", v->busy, " %"},
                   {"idle", v->other_busy, " %"},
                   {"kid", (double)v->kid, ""},
                   {"other_kid", (double)v->other_kid, ""},
                   {"drops", (double)v->drops, ""},
                   {"backlog", (double)v->backlog, ""},
                   {"descriptors", (double)v->descriptors, ""}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); ++i)
        if (findings_is_word(word, length, numbers[i].name))
            findings_number(text, numbers[i].number, numbers[i].unit);
    if (findings_is_word(word, length, "culprit"))
        text_culprit(text, v->culprit ? v->culprit : "-");
    else if (findings_is_word(word, length, "stage") && v->stage)
        text_add(text, v->stage, strlen(v->stage));
    else if (findings_is_column(word, length) && v->culprit)
        text_is(text, findings_is_column(word, length), v->culprit);
    else if (findings_is_word(word, length, "note") && v->culprit)
        text_note(text, v->culprit);
    else if (findings_is_word(word, length, "waited") && v->culprit)
        text_waited(text, v->culprit);
}

char *
sqt_finding_text(char *buffer, size_t size, const char *from, const struct sqt_finding_values *values)
{
    struct text text = {buffer, buffer + size};
    *buffer = '\0';
    while (*from) {
        const size_t plain = strcspn(from, "{");
        text_add(&text, from, plain);
        from += plain;
        if (*from) {
            const size_t word = strcspn(from + 1, "}");
            text_word(&text, from + 1, word, values);
            from += word + 2;
        }
    }
    return buffer;
}
