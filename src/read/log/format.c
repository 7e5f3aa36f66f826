/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * format.c - see format.h.
 */
#include "format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const struct {
    const char *code;
    enum sqt_log_field field;
} log_codes[] = {
#define SQT_LOG_CODE(code, FIELD) {code, SQT_LOG_##FIELD},
#include "codes.def"
};

static const struct {
    const char *name, *format;
} log_formats[] = {
#define SQT_LOG_FORMAT(name, format, doc) {name, format},
#include "formats.def"
};
#define LOG_FORMATS (sizeof(log_formats) / sizeof(*log_formats))

/* The macro of squid.conf that becomes the number of the kid. */
static const char log_kid_macro[] = "${process_number}";

const char *
sqt_log_format_name(unsigned i)
{
    return i < LOG_FORMATS ? log_formats[i].name : NULL;
}

const char *
sqt_log_format_named(const char *name)
{
    for (unsigned i = 0; i < LOG_FORMATS; ++i)
        if (strcmp(log_formats[i].name, name) == 0)
            return log_formats[i].format;
    return NULL;
}

/* What is read so far. */
struct format_parser {
    struct sqt_log_format *format;
    const char *at;
    char *to;     /* end of the texts */
    char quoting; /* of the values here: '"', '[', or 0 */
    char *error;
    size_t error_size;
};

static int
format_fail(struct format_parser *p, const char *what)
{
    snprintf(p->error, p->error_size, "'%.60s': %s", p->at, what);
    return -1;
}

/* ---- texts between fields ---- */

/* Text is added to that behind the last field. */
static void
format_add_text(struct format_parser *p, char letter)
{
    struct sqt_log_format *const f = p->format;
    const char **const text = f->count ? &f->items[f->count - 1].text : &f->head;
    size_t *const length = f->count ? &f->items[f->count - 1].length : &f->head_length;
    if (!*length)
        *text = p->to;
    *p->to++ = letter;
    ++*length;
    if (letter == '"' && p->quoting != '[')
        p->quoting = p->quoting ? 0 : '"';
    else if ((letter == '[' && !p->quoting) || (letter == ']' && p->quoting == '['))
        p->quoting = p->quoting ? 0 : '[';
}

/* ---- fields ---- */

static enum sqt_log_field
format_field(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(log_codes) / sizeof(*log_codes); ++i)
        if (strlen(log_codes[i].code) == length && memcmp(log_codes[i].code, name, length) == 0)
            return log_codes[i].field;
    return SQT_LOG_PASSED_OVER;
}

static int
is_code_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The letters of a code, with the name of its space: "adapt::sum_trs", ">Hs". */
static size_t
format_code_length(const char *code)
{
    size_t n = 0;
    while (is_code_letter(code[n]))
        ++n;
    if (n && code[n] == ':' && code[n + 1] == ':')
        n += 2;
    else
        n = 0;
    n += code[n] == '<' || code[n] == '>';
    while (is_code_letter(code[n]))
        ++n;
    return n;
}

/* Letters may follow a code at once: then the longest code that is known counts.  The name of a code's space is whole. */
static enum sqt_log_field
format_longest(const char *name, size_t *length)
{
    const char *const space = strstr(name, "::");
    const size_t least = space && space < name + *length ? (size_t)(space - name) : 0;
    for (size_t n = *length; n > least; --n) {
        const enum sqt_log_field field = format_field(name, n);
        if (field != SQT_LOG_PASSED_OVER) {
            *length = n;
            return field;
        }
    }
    return SQT_LOG_PASSED_OVER;
}

/* "{...}" here; NULL: there is none. */
static const char *
format_argument(struct format_parser *p)
{
    if (*p->at != '{')
        return NULL;
    const size_t length = strcspn(++p->at, "}");
    char *const argument = p->to;
    memcpy(argument, p->at, length);
    argument[length] = '\0';
    p->to += length + 1;
    p->at += length + (p->at[length] == '}');
    return argument;
}

static int
format_add_field(struct format_parser *p, enum sqt_log_field field, const char *argument, char quoting,
                 unsigned decimals)
{
    struct sqt_log_format *const f = p->format;
    if (f->count == SQT_LOG_ITEMS)
        return format_fail(p, "more fields than can be read");
    f->items[f->count++] = (struct sqt_log_item){
        .field = field, .argument = argument, .quoted = quoting == '"' || quoting == '/', .decimals = decimals};
    f->has[field] = 1;
    return 0;
}

static unsigned
format_number(struct format_parser *p)
{
    unsigned number = 0;
    for (; *p->at >= '0' && *p->at <= '9'; ++p->at)
        number = number < 10000 ? number * 10 + (unsigned)(*p->at - '0') : number;
    return number;
}

/* Behind "%". */
static int
format_take_code(struct format_parser *p)
{
    char quoting = p->quoting;
    unsigned decimals = 3;
    if (*p->at && strchr("\"[#/'", *p->at))
        quoting = *p->at++;
    p->at += *p->at == '-';
    format_number(p);
    if (*p->at == '.') {
        ++p->at;
        decimals = format_number(p);
    }
    const char *argument = format_argument(p);
    if (strncmp(p->at, "http::", 6) == 0)
        p->at += 6;
    size_t length = format_code_length(p->at);
    if (!length)
        return format_fail(p, "expected a code of logformat, as in %>a");
    if (length >= 4 && strncmp(p->at, "byte", 4) == 0 && p->at[4] == '{') {
        p->at += 5;
        const unsigned byte = format_number(p);
        p->at += *p->at == '}';
        if (!byte || byte > 255)
            return format_fail(p, "expected %byte{1} to %byte{255}");
        format_add_text(p, (char)byte);
        return 0;
    }
    const enum sqt_log_field field = format_longest(p->at, &length);
    p->at += length;
    if (!argument)
        argument = format_argument(p);
    return format_add_field(p, field, argument, quoting, decimals);
}

static int
format_take(struct format_parser *p)
{
    const size_t macro = sizeof(log_kid_macro) - 1;
    while (*p->at) {
        if (strncmp(p->at, log_kid_macro, macro) == 0) {
            p->at += macro;
            if (format_add_field(p, SQT_LOG_KID, NULL, 0, 0) != 0)
                return -1;
        } else if (*p->at != '%') {
            format_add_text(p, *p->at++);
        } else if (p->at[1] == '%') {
            format_add_text(p, '%');
            p->at += 2;
        } else {
            ++p->at;
            if (format_take_code(p) != 0)
                return -1;
        }
    }
    return 0;
}

/* Texts are handed out with a NUL behind them, in the place of the text that ends them. */
static int
format_has_open_text(const struct sqt_log_format *f)
{
    for (unsigned i = 0; i + 1 < f->count; ++i) {
        const enum sqt_log_field field = f->items[i].field;
        const int is_text = field == SQT_LOG_CLIENT || field == SQT_LOG_URL || field == SQT_LOG_USER ||
                            field == SQT_LOG_HIERARCHY || field == SQT_LOG_HOST;
        if (is_text && !f->items[i].length)
            return 1;
    }
    return 0;
}

int
sqt_log_format_parse(struct sqt_log_format *f, const char *name, const char *text, char *error, size_t error_size)
{
    memset(f, 0, sizeof(*f));
    f->name = sqt_copied(name);
    /* No text is longer than what it was made of, but for the NUL of an argument, for which there are its braces. */
    f->texts = sqt_zeroed(strlen(text) + 1, 1);
    struct format_parser p = {.format = f, .at = text, .to = f->texts, .error = error, .error_size = error_size};
    if (format_take(&p) != 0)
        return -1;
    if (!f->count) {
        snprintf(error, error_size, "'%.60s': it has no fields: a logformat has codes as %%ts, %%>a and %%ru", text);
        return -1;
    }
    if (format_has_open_text(f)) {
        snprintf(
            error, error_size,
            "'%.60s': nothing stands between a client, user, URL or hierarchy and the next code, so where it ends is "
            "not known",
            text);
        return -1;
    }
    f->has[SQT_LOG_PASSED_OVER] = 0;
    return 0;
}

void
sqt_log_format_free(struct sqt_log_format *f)
{
    free(f->name);
    free(f->texts);
    memset(f, 0, sizeof(*f));
}
