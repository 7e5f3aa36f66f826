/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * options.c - see options.h.
 */
#include "options.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "base/visible.h"

int
options_fail(const struct options *o, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    sqt_visible_text(o->error, o->error_size, text);
    return -1;
}

static int
unknown_option(const struct options *o, const char *name, size_t length)
{
    struct sqt_nearest nearest;
    sqt_nearest_init(&nearest, name, length);
    for (unsigned i = 0; i < o->info_count; ++i)
        sqt_nearest_offer(&nearest, o->infos[i].name);
    return options_fail(o, "unknown option '--%.*s'; %s", (int)length, name,
                        sqt_nearest_text(&nearest, "--", "--help shows them"));
}

/* Option i with the value that was given with it, if any; next: the word that follows it.  Returns how many words were
 * used up, or -1. */
static int
options_take_value(struct options *o, unsigned i, const char *value, const char *next)
{
    const struct option_info *const info = &o->infos[i];
    if (!*info->value) {
        if (value)
            return options_fail(o, "option '--%s' takes no value", info->name);
        o->given[i] = "";
        return 1;
    }
    if (!value && !next)
        return options_fail(o, "option '--%s' needs a value: --%s=%s", info->name, info->name, info->value);
    o->given[i] = value ? value : next;
    if (o->repeats && i == o->repeatable)
        o->repeats[o->repeat_count++] = o->given[i];
    if (o->also.values && i == o->also.option)
        o->also.values[o->also.count++] = o->given[i];
    if (o->third.values && i == o->third.option)
        o->third.values[o->third.count++] = o->given[i];
    return value ? 1 : 2;
}

/* argv[0] is "--..." */
static int
take_long(struct options *o, char **argv)
{
    const char *const name = argv[0] + 2;
    const char *const equals = strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);
    for (unsigned i = 0; i < o->info_count; ++i)
        if (strlen(o->infos[i].name) == length && memcmp(o->infos[i].name, name, length) == 0)
            return options_take_value(o, i, equals ? equals + 1 : NULL, argv[1]);
    return unknown_option(o, name, length);
}

/* argv[0] is "-x..." */
static int
take_letter(struct options *o, char **argv)
{
    const char *const rest = argv[0] + 2;
    for (unsigned i = 0; i < o->info_count; ++i)
        if (o->infos[i].letter && o->infos[i].letter == argv[0][1])
            return options_take_value(o, i, *rest ? rest : NULL, argv[1]);
    return options_fail(o, "unknown option '%s'; --help shows them", argv[0]);
}

int
options_take(struct options *o, int argc, char **argv)
{
    int more = 1;
    for (int i = 1; i < argc;) {
        const char *const word = argv[i];
        if (!more || word[0] != '-' || !word[1]) {
            o->words[o->word_count++] = word;
            ++i;
        } else if (strcmp(word, "--") == 0) {
            more = 0;
            ++i;
        } else {
            const int used = word[1] == '-' ? take_long(o, argv + i) : take_letter(o, argv + i);
            if (used < 0)
                return -1;
            i += used;
        }
    }
    return 0;
}

int
options_number(const struct options *o, unsigned option, enum sqt_units units, int64_t plain, int64_t least,
               int64_t *value)
{
    const char *const text = o->given[option];
    const char *error = NULL;
    if (!text)
        return 0;
    if (sqt_units_parse(text, strlen(text), units, plain, value, &error) != 0)
        return options_fail(o, "--%s: '%s': %s", o->infos[option].name, text, error);
    if (*value < least)
        return options_fail(o, "--%s: '%s': too small", o->infos[option].name, text);
    return 0;
}

void
options_help(FILE *to, const struct option_info *infos, unsigned count)
{
    for (unsigned i = 0; i < count; ++i) {
        char option[64], letter[8] = "";
        if (infos[i].letter)
            snprintf(letter, sizeof(letter), "-%c, ", infos[i].letter);
        snprintf(option, sizeof(option), "%s--%s%s%s", letter, infos[i].name, *infos[i].value ? "=" : "",
                 infos[i].value);
        fprintf(to, "  %-20s  %s\n", option, infos[i].doc);
    }
}

/* ---- lines that fit ---- */

#define FOLD_WIDE 79
/* Explanations of options stand behind so many columns. */
#define FOLD_INDENT 24

/* Where a line goes on that is folded: below what stands behind its first wide gap, as an option's explanation does. */
static size_t
fold_indent(const char *line, size_t length)
{
    size_t at = strspn(line, " ");
    const size_t first = at;
    while (at + 2 < length && at < FOLD_INDENT && !(line[at] == ' ' && line[at + 1] == ' '))
        ++at;
    if (at + 2 >= length || at >= FOLD_INDENT)
        return first && line[first] == '-' ? FOLD_INDENT : first;
    return at + strspn(line + at, " ");
}

/* Puts a line, of which so many bytes, in pieces that fit. */
static void
fold_line(FILE *to, const char *line, size_t length)
{
    const size_t indent = fold_indent(line, length);
    size_t used = 0;
    for (size_t at = 0; at < length;) {
        const size_t spaces = strspn(line + at, " "), word = strcspn(line + at + spaces, " \n");
        if (used > indent && used + spaces + word > FOLD_WIDE) {
            fprintf(to, "\n%*s", (int)indent, "");
            used = indent;
        } else {
            fprintf(to, "%*s", (int)spaces, "");
            used += spaces;
        }
        fprintf(to, "%.*s", (int)word, line + at + spaces);
        used += word;
        at += spaces + word;
    }
    putc('\n', to);
}

void
options_print_help(void (*help)(FILE *to))
{
    char *text = NULL;
    size_t size = 0;
    FILE *const whole = sqt_text_stream(&text, &size);
    help(whole);
    fclose(whole);
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        fold_line(stdout, line, length);
        line += length + (line[length] == '\n');
    }
    free(text);
}

int
options_told(void)
{
    return fflush(stdout) != 0 || ferror(stdout);
}
