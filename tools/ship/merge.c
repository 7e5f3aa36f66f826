/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * merge.c - one file of the row groups of several; see compact.h.
 *
 * Views tell by the records of rows that a file has what others have.  So files go together only if each has such rows,
 * and those of one stand behind those of the one before.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open.h"
#include "compact.h"
#include "parquet/footer.h"

#include "../program/readers.h"

#define MAGIC "PAR1"
#define MAGIC_SIZE 4
#define COPY_BYTES ((size_t)256 << 10)
/* A file that is being made, of its own name where two runs work in spite of the lock. */
#define MERGE_PART "merge.%d.%08x.part"
#define MERGE_PART_ROOM 40
#define MERGE_NOTE "sqtrace.merged"
/* A new file counts so many seconds after it has its name, or after --grace if that is shorter. */
#define MERGE_SETTLE 60
#define SECOND INT64_C(1000000000)

/* ---- reading ---- */

/* Opens a file and reads its metadata.  Returns its descriptor, or -1 after saying why. */
static int
merge_open(struct compact *c, int folder, const char *path, const struct compact_file *file, struct sqt_footer *footer)
{
    const char *why = "";
    memset(footer, 0, sizeof(*footer));
    const int fd = sqt_open_regular(folder, file->name, O_RDONLY | O_NOFOLLOW, NULL);
    if (fd >= 0 && sqt_footer_read(footer, fd, &why) == 0)
        return fd;
    program_fail(&c->voice, "%s/%s: %s", path, file->name, fd < 0 ? sqt_open_refusal(errno) : why);
    c->failed = 1;
    sqt_footer_free(footer);
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Whether a merge can have written a list of names.  Reading it takes time for each name, and anybody may write one. */
static int
merge_wrote_names(const char *names)
{
    size_t count = 0;
    for (const char *at = names; (at = strchr(at, ' ')) && count <= COMPACT_GROUPS; ++at)
        ++count;
    return count <= COMPACT_GROUPS && strlen(names) <= (size_t)COMPACT_GROUPS * SHIP_NAME_ROOM;
}

char *
compact_sources(struct compact *c, int folder, const char *path, const struct compact_file *file, uint64_t *rows)
{
    struct sqt_footer footer;
    const int fd = merge_open(c, folder, path, file, &footer);
    if (fd < 0)
        return NULL;
    char *const names = sqt_footer_note(&footer, MERGE_NOTE);
    *rows = footer.rows;
    sqt_footer_free(&footer);
    close(fd);
    if (!names || merge_wrote_names(names))
        return names;
    c->failed = 1;
    program_fail(&c->voice, "%s/%s: names more files than sqtrace-ship merges into one; they stay", path, file->name);
    free(names);
    return NULL;
}

int
compact_rows(struct compact *c, int folder, const char *path, struct compact_file *file)
{
    struct sqt_footer footer;
    if (file->looked)
        return file->looked > 0 ? 0 : -1;
    file->looked = -1;
    const int fd = merge_open(c, folder, path, file, &footer);
    if (fd < 0)
        return -1;
    file->looked = 1;
    file->rows = footer.rows;
    sqt_footer_free(&footer);
    close(fd);
    return 0;
}

/* From which moment the times of a file count; NULL: it does not say. */
static char *
merge_start(const struct sqt_footer *footer)
{
    return sqt_footer_note(footer, "sqtrace.start_ns");
}

/* Whether the times of a file count from that moment. */
static int
merge_same_start(const char *start, const struct sqt_footer *footer)
{
    char *const other = merge_start(footer);
    const int same = start && other && strcmp(start, other) == 0;
    free(other);
    return same;
}

size_t
compact_fitting(struct compact *c, int folder, const char *path, const struct compact_file *files, size_t count)
{
    struct sqt_footer first = {0}, footer;
    char *start = NULL; /* of the first file: its notes may be long, and are read once */
    int64_t least, most, before = 0;
    uint64_t groups = 0;
    size_t fit = 0;
    for (; fit < count; ++fit) {
        const int fd = merge_open(c, folder, path, &files[fit], &footer);
        if (fd < 0)
            break;
        close(fd);
        groups += footer.groups.count;
        const int fits =
            sqt_footer_range(&footer, "row", &least, &most) == 0 && groups <= COMPACT_GROUPS &&
            (!fit || (least > before && sqt_footer_same_columns(&first, &footer) && merge_same_start(start, &footer)));
        before = most;
        if (fits && !fit) {
            first = footer;
            start = merge_start(&first);
            continue;
        }
        sqt_footer_free(&footer);
        if (!fits)
            break;
    }
    free(start);
    sqt_footer_free(&first);
    return fit;
}

/* ---- writing ---- */

static int
merge_write(int fd, const uint8_t *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = write(fd, data + done, size - done);
        if (n < 0 && errno != EINTR)
            return -1;
        done += n < 0 ? 0 : (size_t)n;
    }
    return 0;
}

/* Copies the row groups of a file, which end at offset `end`.  Returns 0; -1 with errno if they cannot be written, 1 if they
 * cannot be read. */
static int
merge_copy(int from, uint64_t end, int to)
{
    uint8_t *const bytes = sqt_zeroed(1, COPY_BYTES);
    int result = 0;
    for (uint64_t at = MAGIC_SIZE; at < end && result == 0;) {
        const size_t wanted = end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;
        const ssize_t n = pread(from, bytes, wanted, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        errno = n == 0 ? EIO : errno;
        result = n <= 0 ? 1 : merge_write(to, bytes, (size_t)n);
        at += n > 0 ? (uint64_t)n : 0;
    }
    free(bytes);
    return result;
}

/* A file that is being made. */
struct merge {
    int fd;
    uint64_t offset, rows, group_count;
    mode_t mode;                    /* what all files so far may be read by; 0: there is none */
    struct sqt_bytes groups, names; /* metadata of row groups; names of files */
};

/* Adds a file.  last: writes what stands behind all row groups, too.  Returns 0; -1 with errno if it could not be written;
 * 1 if the file could not be read, after saying why. */
static int
merge_add(struct compact *c, struct merge *m, int folder, const char *path, const struct compact_file *file, int last)
{
    struct sqt_footer footer;
    struct sqt_bytes end = {0};
    const int from = merge_open(c, folder, path, file, &footer);
    if (from < 0)
        return 1;
    struct stat readers = {.st_mode = 0};
    program_look_readers(from, &readers);
    m->mode = m->mode ? m->mode & readers.st_mode : readers.st_mode;
    const int sound = sqt_footer_put_groups(&footer, (int64_t)m->offset - MAGIC_SIZE, &m->groups) == 0;
    m->group_count += footer.groups.count;
    m->rows += footer.rows;
    sqt_bytes_put(&m->names, file->name, strlen(file->name));
    sqt_bytes_byte(&m->names, ' ');
    int result = sound ? merge_copy(from, footer.groups_end, m->fd) : 1;
    if (result == 1) {
        c->failed = 1;
        program_fail(&c->voice, "%s/%s: %s", path, file->name,
                     sound ? strerror(errno) : "an offset of its metadata is not in its row groups");
    }
    m->offset += footer.groups_end - MAGIC_SIZE;
    if (result == 0 && last) {
        sqt_bytes_byte(&m->names, '\0');
        sqt_footer_put(&footer, &m->groups, m->group_count, m->rows, MERGE_NOTE, (const char *)m->names.data, &end);
        result = merge_write(m->fd, end.data, end.used);
    }
    const int cause = errno;
    sqt_bytes_free(&end);
    sqt_footer_free(&footer);
    close(from);
    errno = cause;
    return result;
}

static int
merge_say(struct compact *c, const char *part)
{
    c->failed = c->stop = 1;
    return program_fail(&c->voice, "%s/%s/%s: cannot write: %s", c->place.name, SHIP_STAGE, part, strerror(errno));
}

/* Who may read all of the files may read the new one; for root their owner, too.  Returns 0, 1 if it cannot get their group,
 * or -1. */
static int
merge_own(const struct compact *c, const struct merge *m, const struct compact_file *like)
{
    const struct stat all = {.st_mode = m->mode, .st_gid = like->gid};
    if (geteuid() == 0 && fchown(m->fd, like->uid, (gid_t)-1) != 0)
        return -1;
    if (program_give_readers(m->fd, &all, c->place.named) == 0)
        return 0;
    return errno == EPERM || errno == EINVAL ? 1 : -1;
}

/* Makes the file, and waits until the disk has it. */
static int
merge_make(struct compact *c, int folder, const char *path, const struct compact_file *files, size_t count,
           char part[MERGE_PART_ROOM])
{
    struct merge m = {.offset = MAGIC_SIZE};
    uint32_t number = 0;
    (void)!getrandom(&number, sizeof(number), 0);
    snprintf(part, MERGE_PART_ROOM, MERGE_PART, (int)getpid(), number);
    m.fd = openat(c->place.stage, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (m.fd < 0)
        return merge_say(c, part);
    int result = merge_write(m.fd, (const uint8_t *)MAGIC, MAGIC_SIZE);
    for (size_t i = 0; i < count && result == 0; ++i)
        result = merge_add(c, &m, folder, path, &files[i], i + 1 == count);
    if (result == 0 && (result = merge_own(c, &m, &files[0])) == 1) {
        c->failed = 1;
        program_fail(&c->voice, "%s: small files stay, because a merged one cannot get their group (%u)", path,
                     (unsigned)files[0].gid);
    }
    if (result == 0)
        result = fsync(m.fd);
    if (result < 0)
        merge_say(c, part);
    sqt_bytes_free(&m.groups);
    sqt_bytes_free(&m.names);
    if (close(m.fd) != 0 && result == 0)
        result = merge_say(c, part);
    return result == 0 ? 0 : -1;
}

/* When a file counts that has its name from now on. */
static int64_t
merge_counts_from(struct compact *c)
{
    const int64_t now = compact_now(c), grace = c->request->grace / SECOND;
    return now < 0 ? -1 : now + (grace < MERGE_SETTLE ? grace : MERGE_SETTLE);
}

int
compact_merge(struct compact *c, int folder, const char *path, const struct compact_file *files, size_t count)
{
    struct ship_name name = files[0].is;
    char text[SHIP_NAME_ROOM], part[MERGE_PART_ROOM];
    int result = merge_make(c, folder, path, files, count, part);
    const int64_t from = result == 0 ? merge_counts_from(c) : -1;
    if (from >= 0) {
        name.end = files[count - 1].is.end;
        name.part = (unsigned)from;
        ship_name_public(text, &name);
        result = renameat(c->place.stage, part, folder, text) == 0 ? fsync(folder) : -1;
        if (result != 0) {
            c->failed = c->stop = 1;
            program_fail(&c->voice, "%s/%s: cannot give this file its name: %s", path, text, strerror(errno));
        }
    }
    if (from >= 0 && result == 0)
        return 0;
    unlinkat(c->place.stage, part, 0);
    return -1;
}
