/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * conf-file.c - sqtrace.conf, the file beside squid.conf that holds the directive.
 *
 * Its folder may be anybody's, as of a squid.conf below /tmp.  So folder and file are checked through the descriptors that
 * are used afterwards, before anything of the text is read or shown.
 */
#define _GNU_SOURCE /* O_PATH: a security module may allow reading the files of a folder, but not the folder */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open.h"
#include "base/visible.h"
#include "trace/file/error-internal.h"
#include "trace/sqtrace.h"

#define MOST_BYTES (64 * 1024) /* of the file */

#define DIRECTIVE "sqtrace_log"

struct conf_reader {
    char *folder;
    char *path;
    char *text;    /* of the file, with a NUL behind it */
    char *next;    /* the first line that is not read yet */
    unsigned line; /* its number, from 1 */
    struct sqt_error *error;
};

/* ---- whose files these are ---- */

/* Neither folder nor file may be writable by somebody who may not start Squid anyway. */
static int
conf_trust(const struct stat *st, uid_t squid_user, const char *name, struct sqt_error *error)
{
    const unsigned mode = (unsigned)st->st_mode & 07777;
    if (st->st_uid != 0 && st->st_uid != squid_user && st->st_uid != getuid())
        return sqt_fail(
            error, "%s: it belongs to uid %u; expected is root, uid %u (Squid's user) or uid %u (who starts Squid)",
            name, (unsigned)st->st_uid, (unsigned)squid_user, (unsigned)getuid());
    if (mode & S_IWOTH)
        return sqt_fail(error, "%s: everybody may write to it (mode %04o); expected is its owner only (chmod go-w)",
                        name, mode);
    if (mode & S_IWGRP && st->st_gid != 0)
        return sqt_fail(error, "%s: group %u may write to it (mode %04o); expected is its owner only (chmod g-w)", name,
                        (unsigned)st->st_gid, mode);
    return 0;
}

/* Judges folder and file.  cause: why the file is not open, 0 if it is. */
static int
conf_judge(const struct conf_reader *r, uid_t squid_user, int folder, const struct stat *file, int cause)
{
    struct stat st;
    if (fstat(folder, &st) != 0)
        return sqt_fail(r->error, "%s: %s", r->folder, strerror(errno));
    if (conf_trust(&st, squid_user, r->folder, r->error) != 0)
        return -1;
    if (cause)
        return sqt_fail(r->error, "%s: %s", r->path, sqt_open_refusal(cause));
    /* Whoever may write to the folder can give a name in it to a file of root's.  A file without a name was just replaced. */
    if (file->st_nlink > 1 && st.st_uid != 0)
        return sqt_fail(r->error, "%s: it has %lu names; expected is one, and no hard link to another file", r->path,
                        (unsigned long)file->st_nlink);
    return conf_trust(file, squid_user, r->path, r->error);
}

/* Sets *fd to the file.  Returns 1, 0 if there is none, whatever its folder is like, or -1. */
static int
conf_open(const struct conf_reader *r, uid_t squid_user, int *fd)
{
    struct stat st;
    const int folder = open(r->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : sqt_fail(r->error, "%s: %s", r->folder, strerror(errno));
    *fd = sqt_open_regular(folder, SQT_CONF_FILE, O_RDONLY | O_NOFOLLOW, &st);
    const int cause = *fd < 0 ? errno : 0;
    const int result = cause == ENOENT ? 0 : conf_judge(r, squid_user, folder, &st, cause) == 0 ? 1 : -1;
    close(folder);
    return result;
}

/* ---- its text ---- */

static int
conf_read(struct conf_reader *r, int fd)
{
    size_t used = 0;
    r->text = malloc(MOST_BYTES + 1);
    if (!r->text)
        return sqt_fail(r->error, "%s: %s", r->path, strerror(errno));
    while (used <= MOST_BYTES) {
        const ssize_t got = read(fd, r->text + used, MOST_BYTES + 1 - used);
        if (got < 0 && errno != EINTR)
            return sqt_fail(r->error, "%s: %s", r->path, strerror(errno));
        if (got == 0)
            break;
        used += got > 0 ? (size_t)got : 0;
    }
    if (used > MOST_BYTES)
        return sqt_fail(r->error, "%s: it is larger than %d KB; expected is a line with %s", r->path, MOST_BYTES / 1024,
                        DIRECTIVE);
    r->text[used] = '\0';
    r->next = r->text;
    r->line = 1;
    for (size_t i = 0, line = 1; i < used; ++i) {
        const unsigned char byte = (unsigned char)r->text[i];
        if (byte == '\n')
            ++line;
        else if ((byte < ' ' && byte != '\t' && !(byte == '\r' && r->text[i + 1] == '\n')) || byte == 0x7f)
            return sqt_fail(r->error, "%s:%zu: it has a byte 0x%02x; expected is text", r->path, line, byte);
    }
    return 0;
}

/* Cuts the next line off, without blanks before it and its end.  Returns NULL at the end of the file. */
static char *
conf_next_line(struct conf_reader *r)
{
    if (!*r->next)
        return NULL;
    char *const line = r->next + strspn(r->next, " \t");
    char *end = line + strcspn(line, "\n");
    r->next = end + (*end != '\0');
    ++r->line;
    *end = '\0';
    if (end > line && end[-1] == '\r')
        *--end = '\0';
    return line;
}

/* The next line that says something, with those that go on with it, as Squid's own parser takes them: comments and blank
 * lines in between are left out.  *first: the number of its first line.  Returns NULL at the end of the file. */
static char *
conf_next_statement(struct conf_reader *r, unsigned *first)
{
    char *statement = NULL, *end = NULL, *line;
    while ((line = conf_next_line(r))) {
        if (*line == '#' || !*line)
            continue;
        const size_t size = strlen(line);
        if (!statement) {
            statement = end = line;
            *first = r->line - 1;
        }
        memmove(end, line, size + 1);
        end += size;
        if (end[-1] != '\\')
            break;
        *--end = '\0';
    }
    while (end && end > statement && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    return statement;
}

/* The words of a statement, which must be the directive.  Returns NULL after an error. */
static const char *
conf_words(const struct conf_reader *r, const char *statement, unsigned line)
{
    const size_t name = strcspn(statement, " \t"), all = strlen(statement);
    if (name != strlen(DIRECTIVE) || memcmp(statement, DIRECTIVE, name) != 0) {
        sqt_fail(r->error, "%s:%u: '%.*s' is not allowed here; expected is %s", r->path, line,
                 (int)(name < 40 ? name : 40), statement, DIRECTIVE);
        return NULL;
    }
    if (statement[all - 1] == '\\') {
        sqt_fail(r->error, "%s:%u: nothing follows the backslash at the end of the line", r->path, line);
        return NULL;
    }
    return statement + name + strspn(statement + name, " \t");
}

/* Finds the directive.  Returns 1, 0 if there is none, or -1. */
static int
conf_find(struct conf_reader *r, struct sqt_conf_directive *found)
{
    unsigned line = 0, earlier = 0;
    char *statement;
    while ((statement = conf_next_statement(r, &line))) {
        const char *const words = conf_words(r, statement, line);
        if (!words)
            return -1;
        if (earlier)
            return sqt_fail(r->error, "%s:%u: %s is given twice, here and in line %u", r->path, line, DIRECTIVE,
                            earlier);
        if (strlen(words) >= sizeof(found->words))
            return sqt_fail(r->error, "%s:%u: %s is longer than %zu bytes", r->path, line, DIRECTIVE,
                            sizeof(found->words) - 1);
        strcpy(found->words, words);
        snprintf(found->place, sizeof(found->place), "%s:%u", r->path, line);
        earlier = line;
    }
    return earlier != 0;
}

/* ---- all of it ---- */

/* Sets folder and path for a squid.conf of that name.  Returns 0, or -1. */
static int
conf_name(struct conf_reader *r, const char *squid_conf)
{
    const char *const slash = strrchr(squid_conf, '/');
    const size_t size = slash ? (size_t)(slash - squid_conf) + 1 : 0;
    const char *const folder = size ? squid_conf : "./";
    const int length = size ? (int)size : 2;
    if (asprintf(&r->folder, "%.*s", length, folder) < 0) {
        r->folder = NULL;
        return sqt_fail(r->error, "%s: %s", SQT_CONF_FILE, strerror(ENOMEM));
    }
    if (asprintf(&r->path, "%.*s%s", size ? length : 0, folder, SQT_CONF_FILE) < 0) {
        r->path = NULL;
        return sqt_fail(r->error, "%s: %s", SQT_CONF_FILE, strerror(ENOMEM));
    }
    return 0;
}

static int
conf_look(struct conf_reader *r, const char *squid_conf, uid_t squid_user, struct sqt_conf_directive *found)
{
    int fd = -1;
    if (conf_name(r, squid_conf) != 0)
        return -1;
    int result = conf_open(r, squid_user, &fd);
    if (result == 1)
        result = conf_read(r, fd) == 0 ? conf_find(r, found) : -1;
    if (fd >= 0)
        close(fd);
    return result;
}

int
sqt_conf_file(const char *squid_conf, uid_t squid_user, struct sqt_conf_directive *found, char *error,
              size_t error_size)
{
    struct sqt_error raw = {""};
    struct conf_reader r = {.error = &raw};
    *error = found->place[0] = found->words[0] = '\0';
    /* A command that prints squid.conf has no folder. */
    if (*squid_conf == '!' || *squid_conf == '|')
        return 0;
    const int result = conf_look(&r, squid_conf, squid_user, found);
    if (result < 0)
        sqt_visible_text(error, error_size, raw.text);
    free(r.folder);
    free(r.path);
    free(r.text);
    return result;
}
