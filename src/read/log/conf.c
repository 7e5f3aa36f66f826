/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * conf.c - see conf.h.
 */
#include "conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/open.h"
#include "format.h"

/* A squid.conf does not have more formats. */
#define FORMATS_MOST 256

struct conf {
    struct {
        char *name, *format;
    } formats[FORMATS_MOST];
    unsigned count;
    char *wanted; /* the format of the access_log line that counts; NULL: none so far */
    int by_name;  /* that line has the log's name */
    const char *log;
};

/* ---- words of a line ---- */

static const char *
conf_skip(const char *at)
{
    return at + strspn(at, " \t");
}

static char *
conf_word(const char **at)
{
    *at = conf_skip(*at);
    const size_t length = strcspn(*at, " \t");
    char *const word = sqt_printed("%.*s", (int)(length < 4096 ? length : 4096), *at);
    *at += length;
    return word;
}

/* ---- directives ---- */

/* The rest of the line; a text in quotes has backslashes before some letters. */
static char *
conf_rest(const char *at)
{
    at = conf_skip(at);
    char *const rest = sqt_copied(at);
    if (*at != '"')
        return rest;
    char *to = rest;
    for (++at; *at && *at != '"'; ++at) {
        if (*at == '\\' && at[1]) {
            ++at;
            *to++ = (char)(*at == 't' ? '\t' : *at == 'n' ? '\n' : *at == 'r' ? '\r' : *at);
        } else
            *to++ = *at;
    }
    *to = '\0';
    return rest;
}

static void
conf_take_logformat(struct conf *c, const char *at)
{
    char *const name = conf_word(&at);
    for (unsigned i = 0; i < c->count; ++i)
        if (strcmp(c->formats[i].name, name) == 0) { /* the last one counts */
            free(name);
            free(c->formats[i].format);
            c->formats[i].format = conf_rest(at);
            return;
        }
    if (c->count == FORMATS_MOST) {
        free(name);
        return;
    }
    c->formats[c->count].name = name;
    c->formats[c->count++].format = conf_rest(at);
}

static const char *
conf_base(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether a file of the log, perhaps rotated, is that of an access_log line. */
static int
conf_is_log(const char *place, const char *log)
{
    static const char macro[] = "${process_number}";
    place = conf_base(place);
    log = conf_base(log);
    while (*place) {
        if (strncmp(place, macro, sizeof(macro) - 1) == 0) {
            place += sizeof(macro) - 1;
            log += strspn(log, "0123456789");
        } else if (*place++ != *log++)
            return 0;
    }
    return !*log || *log == '.' || *log == '-';
}

static int
conf_starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void
conf_take_access_log(struct conf *c, const char *at)
{
    char *const place = conf_word(&at), *format = NULL;
    int position = 0;
    while (*conf_skip(at)) {
        char *const word = conf_word(&at);
        if (conf_starts(word, "logformat=") && !format)
            format = sqt_copied(word + 10);
        else if (!position++ && !format && !strchr(word, '='))
            format = sqt_copied(word); /* the old form: its format, or else the first acl */
        free(word);
    }
    const int by_name = conf_is_log(place, c->log);
    const int counts =
        strcmp(place, "none") != 0 && strcmp(place, "off") != 0 && (!c->wanted || (by_name && !c->by_name));
    free(place);
    if (!counts) {
        free(format);
        return;
    }
    free(c->wanted);
    c->wanted = format ? format : sqt_copied("squid");
    c->by_name = by_name;
}

static void
conf_take_line(struct conf *c, char *line)
{
    const char *at = conf_skip(line);
    char *const directive = conf_word(&at);
    if (strcmp(directive, "logformat") == 0)
        conf_take_logformat(c, at);
    else if (strcmp(directive, "access_log") == 0)
        conf_take_access_log(c, at);
    free(directive);
}

static void
conf_take(struct conf *c, char *text)
{
    for (char *line = text; line;) {
        char *const end = strchr(line, '\n');
        if (end)
            *end = '\0';
        conf_take_line(c, line);
        line = end ? end + 1 : NULL;
    }
}

/* ---- the file ---- */

/* What Squid cuts off at both ends of a line. */
#define CONF_BLANKS " \t\v\f"

/* As Squid does it: a backslash at the end of a line joins the next one that is neither empty nor a comment, without the blanks
 * before it; a line that still waits for one at the end is none.  Blanks at the end of the whole are cut off.  As many empty
 * lines follow as were joined, so that the numbers of later lines stay. */
static void
conf_join(char *text)
{
    char *to = text, *begin = text;
    size_t joined = 0;
    int goes_on = 0;
    for (const char *from = text; *from;) {
        const char *const end = from + strcspn(from, "\n");
        const int last = !*end;
        from += strspn(from, CONF_BLANKS);
        const size_t length = *from == '#' ? 0 : strcspn(from, "\r\n");
        memmove(to, from, length);
        to += length;
        if (length)
            goes_on = to[-1] == '\\';
        if (length && goes_on)
            --to;
        from = last ? end : end + 1;
        joined += !last;
        if (goes_on)
            continue;
        while (to > begin && strchr(CONF_BLANKS, to[-1]))
            --to;
        for (; joined; --joined)
            *to++ = '\n';
        begin = to;
    }
    *(goes_on ? begin : to) = '\0';
}

char *
sqt_conf_text(const char *name, size_t *bytes, char *error, size_t error_size)
{
    struct stat st;
    const int fd = sqt_open_regular(AT_FDCWD, name, O_RDONLY, &st);
    if (fd < 0) {
        snprintf(error, error_size, "%.400s: cannot be opened: %s", name, sqt_open_refusal(errno));
        return NULL;
    }
    const size_t size = st.st_size > 0 ? (size_t)st.st_size : 0;
    size_t got = 0;
    if (size > SQT_CONF_MOST) {
        snprintf(error, error_size, "%.400s: it is larger than %zu MiB, so it is no squid.conf", name,
                 SQT_CONF_MOST >> 20);
        close(fd);
        return NULL;
    }
    char *const text = sqt_zeroed(size + 1, 1);
    ssize_t n = 0;
    while (got < size && (n = read(fd, text + got, size - got)) > 0)
        got += (size_t)n;
    const int failed = n < 0 ? errno : 0;
    close(fd);
    if (!failed && !memchr(text, 0, got)) {
        *bytes = got;
        conf_join(text);
        return text;
    }
    if (failed)
        snprintf(error, error_size, "%.400s: cannot be read: %s", name, strerror(failed));
    else
        snprintf(error, error_size, "%.400s: it has a byte 0, so it is no squid.conf", name);
    free(text);
    return NULL;
}

static void
conf_free(struct conf *c)
{
    for (unsigned i = 0; i < c->count; ++i) {
        free(c->formats[i].name);
        free(c->formats[i].format);
    }
    free(c->wanted);
}

static const char *
conf_format(const struct conf *c, const char *name)
{
    for (unsigned i = 0; i < c->count; ++i)
        if (strcmp(c->formats[i].name, name) == 0)
            return c->formats[i].format;
    return sqt_log_format_named(name);
}

int
sqt_log_conf_read(struct sqt_log_conf *found, const char *name, const char *log, char *error, size_t error_size)
{
    struct conf c = {.log = log};
    size_t bytes;
    memset(found, 0, sizeof(*found));
    char *const text = sqt_conf_text(name, &bytes, error, error_size);
    if (!text)
        return -1;
    conf_take(&c, text);
    free(text);
    /* In the old form the word may be an acl. */
    const char *format = c.wanted ? conf_format(&c, c.wanted) : NULL;
    if (!format && c.count == 1 && !c.wanted)
        format = c.formats[0].format;
    if (format) {
        found->name = sqt_copied(c.wanted ? c.wanted : c.formats[0].name);
        found->format = sqt_copied(format);
    } else
        snprintf(
            error, error_size,
            c.wanted
                ? "%.400s: it has no logformat '%.60s', which its access_log names; a file that it includes may have it"
                : "%.400s: it has no line access_log",
            name, c.wanted);
    conf_free(&c);
    return format ? 0 : -1;
}

void
sqt_log_conf_free(struct sqt_log_conf *found)
{
    free(found->name);
    free(found->format);
    memset(found, 0, sizeof(*found));
}
