/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * take.c - makes a snapshot: rings first, then the segments, which have by then what has left the rings.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/digits.h"
#include "base/human.h"
#include "base/memory.h"
#include "base/open.h"
#include "read/files.h"

#include "snapshot.h"

struct take {
    const struct snapshot_request *request;
    struct snapshot_out out;
    int64_t start_ns;     /* of the trace, since 1970 */
    int64_t since, until; /* ns since then */
    int64_t last;         /* ns since then: the latest time of the trace, or until */
    struct sqt_file *files;
    size_t count, room;
    int failed, told; /* told: what is wrong with the trace has been said */
};

static void
take_report(void *context, enum sqt_severity severity, const char *text)
{
    struct take *const take = context;
    if (severity == SQT_ERROR)
        program_fail(&take->out.voice, "%s", text);
    else if (severity == SQT_WARNING && !take->told)
        program_say(&take->out.voice, "warning: %s", text);
}

static struct sqt_stream *
take_open(struct take *take)
{
    return sqt_stream_open(take->request->directories, 1, take_report, take);
}

/* ---- which files ---- */

static void
snapshot_note(void *context, const struct sqt_file *file)
{
    struct take *const take = context;
    if (take->count == take->room) {
        take->room = take->room ? 2 * take->room : 64;
        take->files = sqt_resized(take->files, take->room * sizeof(*take->files));
    }
    take->files[take->count++] = *file;
}

static int
take_wants(const struct take *take, const struct sqt_file *file)
{
    return file->from <= file->until && file->until >= take->since && file->from <= take->until;
}

/* ---- one file ---- */

/* Copies the bytes from `at` to `end`, so much nearer to the start of the file. */
static int
take_copy_moved(struct take *take, int from, int to, uint64_t at, uint64_t end, uint64_t moved)
{
    static char bytes[1 << 17];
    while (at < end) {
        const size_t most = end - at < sizeof(bytes) ? (size_t)(end - at) : sizeof(bytes);
        const ssize_t got = pread(from, bytes, most, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got ? errno : EIO;
            return -1;
        }
        if (snapshot_out_write(&take->out, to, bytes, (size_t)got, at - moved) != 0)
            return -1;
        at += (uint64_t)got;
    }
    return 0;
}

static int
take_copy_bytes(struct take *take, int from, int to, uint64_t at, uint64_t end)
{
    return take_copy_moved(take, from, to, at, end, 0);
}

/* The same of a file's first `size` bytes, whose holes stay holes. */
static int
take_copy_data(struct take *take, int from, int to, uint64_t size)
{
    for (uint64_t at = 0; at < size;) {
        const off_t data = lseek(from, (off_t)at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break; /* the rest is a hole */
        const off_t hole = data < 0 ? (off_t)size : lseek(from, data, SEEK_HOLE);
        const uint64_t begin = data < 0 ? at : (uint64_t)data, end = hole < 0 ? size : (uint64_t)hole;
        if (begin >= size)
            break;
        if (take_copy_bytes(take, from, to, begin, end < size ? end : size) != 0)
            return -1;
        at = end;
    }
    return ftruncate(to, (off_t)size);
}

/* A segment that does not begin with its first block is not the first of its ring.  Returns 0, or -1 with errno. */
static int
take_copy_header(struct take *take, int from, int to, uint64_t size, int cut)
{
    struct sqt_segment_header header;
    if (!cut || size != sizeof(header))
        return take_copy_bytes(take, from, to, 0, size);
    if (pread(from, &header, sizeof(header), 0) != (ssize_t)sizeof(header)) {
        errno = EIO;
        return -1;
    }
    header.sequence += header.sequence == 0;
    header.crc = 0;
    header.crc = (uint32_t)crc32(0, (const Bytef *)&header, sizeof(header));
    return snapshot_out_write(&take->out, to, &header, sizeof(header), 0);
}

/* Copies the pieces one behind the other; the first begins with the header.  Returns 0, or -1 with errno. */
static int
take_copy_pieces(struct take *take, int from, int to, const struct sqt_piece *pieces, size_t count, int cut)
{
    const uint64_t head = sizeof(struct sqt_segment_header);
    uint64_t moved = 0; /* how much nearer to the start of the file a piece comes */
    int result = take_copy_header(take, from, to, head, cut);
    for (size_t i = 0; i < count && result == 0; ++i) {
        const uint64_t at = i ? pieces[i].at : head;
        moved += i ? at - pieces[i - 1].end : 0;
        result = take_copy_moved(take, from, to, at, pieces[i].end, moved);
    }
    return result;
}

/* Whether it is still that segment, and not another file that somebody put there: 1, or 0 with errno. */
static int
take_is_segment(int fd, const struct sqt_file *file)
{
    struct sqt_segment_header header;
    if (pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
        memcmp(header.magic, SQT_SEGMENT_MAGIC, sizeof(header.magic)) == 0 &&
        memcmp(header.identity.ring_id, file->origin->identity.ring_id, sizeof(header.identity.ring_id)) == 0)
        return 1;
    errno = ESTALE;
    return 0;
}

/* Returns 0, or -1 with errno. */
static int
take_copy(struct take *take, const struct sqt_file *file, const char *name)
{
    const int from = sqt_open_regular(AT_FDCWD, file->name, O_RDONLY, NULL);
    const int to = from >= 0 && take_is_segment(from, file) ? snapshot_out_create(&take->out, name, from) : -1;
    struct sqt_piece *pieces = NULL;
    struct stat st;
    int cut, result = to >= 0 && fstat(from, &st) == 0 ? 0 : -1;
    const size_t count = result == 0 ? sqt_file_pieces(file, take->since, take->until, &pieces, &cut) : 0;
    if (count)
        result = take_copy_pieces(take, from, to, pieces, count, cut);
    else if (result == 0)
        result = take_copy_data(take, from, to,
                                file->last && file->whole != UINT64_MAX ? file->whole : (uint64_t)st.st_size);
    const int cause = errno;
    free(pieces);
    if (from >= 0)
        close(from);
    if (to >= 0 && snapshot_out_finish(to) != 0)
        return -1;
    errno = cause;
    return result;
}

/* A segment that the limits of the trace removed just now is told.  Segments are not linked: Squid writes to no
 * file that has a second name, and its limits would remove files without gaining room. */
static void
take_file(struct take *take, const struct sqt_file *file)
{
    const char *const slash = strrchr(file->name, '/'), *const name = slash ? slash + 1 : file->name;
    if (take_copy(take, file, name) == 0)
        return;
    if (errno == ENOENT && access(file->name, F_OK) != 0) {
        program_say(&take->out.voice, "warning: %s: was removed meanwhile; its records are missing", file->name);
        return;
    }
    snapshot_out_fail(&take->out, name, errno);
    take->failed = 1;
}

/* ---- a process ---- */

/* Files [from, end) are of one process.  What lies between two that are wanted is, too. */
static void
take_process(struct take *take, size_t from, size_t end)
{
    size_t first = end, behind = from;
    for (size_t i = from; i < end; ++i)
        if (take_wants(take, &take->files[i])) {
            first = first == end ? i : first;
            behind = i + 1;
        }
    if (take->files[end - 1].ring &&
        take->until >=
            take->files[end - 1].until) { /* what is in its ring is wanted; the segment has its definitions */
        first = first == end ? end - 1 : first;
        behind = end;
    }
    for (size_t i = first; i < behind && !take->failed; ++i)
        take_file(take, &take->files[i]);
}

static void
take_files(struct take *take, struct sqt_stream *stream)
{
    sqt_stream_files(stream, take, snapshot_note);
    for (size_t i = 0, end; i < take->count; i = end) {
        for (end = i + 1; end < take->count && take->files[end].origin == take->files[i].origin; ++end)
            ;
        take_process(take, i, end);
    }
}

/* ---- all together ---- */

/* What the options mean in this trace. */
static int
take_window(struct take *take)
{
    struct sqt_extent extent;
    char error[512];
    struct stat st;
    if (stat(take->request->directories[0], &st) == 0 && !S_ISDIR(st.st_mode))
        return program_fail(&take->out.voice, "%s: is no directory; name the directory of a trace",
                            take->request->directories[0]);
    struct sqt_stream *const stream = take_open(take);
    if (!stream)
        return -1;
    take->told = 1;
    sqt_stream_extent(stream, &extent);
    take->start_ns = (int64_t)sqt_stream_start_ns(stream);
    sqt_stream_close(stream);
    const struct moment_trace trace = {.start_ns = take->start_ns, .last_ns = extent.records ? extent.last_ns : -1};
    if (moment_window(&take->request->since, &take->request->until, &trace, &take->since, &take->until, error,
                      sizeof(error)) != 0)
        return program_fail(&take->out.voice, "%s", error);
    if (trace.last_ns < 0 || moment_misses(&trace, take->since, take->until, error, sizeof(error)))
        return program_fail(&take->out.voice, "%s", trace.last_ns < 0 ? "the trace has no records" : error);
    take->last = take->until < extent.last_ns ? take->until : extent.last_ns;
    return 0;
}

/* Rings are wanted only if the window reaches beyond the segments; else they would stand behind a gap. */
static int
take_all(struct take *take)
{
    const int64_t start_ns = take->start_ns;
    const int open = take->request->until.form == MOMENT_NONE;
    if (snapshot_out_begin(&take->out) != 0 || (open && snapshot_rings(&take->out, take->request->directories[0]) != 0))
        return -1;
    struct sqt_stream *const stream = take_open(take);
    if (!stream)
        return -1;
    /* The oldest segment may be gone by now, and the start with it. */
    const int64_t moved = start_ns - (int64_t)sqt_stream_start_ns(stream);
    take->since = take->since > INT64_MIN / 2 ? take->since + moved : take->since;
    take->until = take->until < INT64_MAX / 2 ? take->until + moved : take->until;
    take_files(take, stream);
    sqt_stream_close(stream);
    return take->failed ? -1 : 0;
}

/* Returns 0, or -1 after saying that there are enough. */
static int
take_limits(struct take *take)
{
    const struct snapshot_request *const r = take->request;
    char text[SQT_HUMAN_ROOM];
    int64_t count, bytes;
    if (!r->keep && !r->total)
        return 0;
    if (snapshot_out_count(&take->out, &count, &bytes) != 0)
        return -1;
    if (r->keep && count >= r->keep)
        return program_fail(&take->out.voice,
                            "%s: has %" PRId64 " snapshots, and --keep=%" PRId64 " allows no more; none was made",
                            take->out.name, count, r->keep);
    if (r->total && bytes >= r->total)
        return program_fail(&take->out.voice, "%s: its snapshots take %s, and --total allows no more; none was made",
                            take->out.name, sqt_human_bytes(text, (double)bytes));
    take->out.full = 0;
    take->out.room = r->total ? r->total - bytes : INT64_MAX;
    return 0;
}

static void
take_tell(struct take *take, const struct snapshot_reason *reason, const char *name)
{
    char text[SQT_HUMAN_ROOM];
    program_say(&take->out.voice, "made %s/%s (%" PRId64 " files, %s)%s%s; see: sqtrace-dump %s/%s %s", take->out.name,
                name, take->out.files, sqt_human_bytes(text, (double)take->out.bytes), *reason->why ? ", because " : "",
                reason->why, take->out.name, name, reason->hint);
}

enum snapshot_status
snapshot_take(const struct snapshot_request *request, const struct snapshot_reason *reason)
{
    struct take take = {
        .request = request,
        .out = {.voice = {.program = "sqtrace-snapshot", .quiet = request->given[SNAPSHOT_quiet] != NULL},
                .name = request->given[SNAPSHOT_to],
                .folder = -1,
                .room = INT64_MAX,
                .made = -1}};
    char name[64];
    const int failed = snapshot_out_open(&take.out) != 0 || take_limits(&take) != 0 || take_window(&take) != 0 ||
                       take_all(&take) != 0 || snapshot_out_publish(&take.out, take.start_ns + take.last, name) != 0;
    if (!failed)
        take_tell(&take, reason, name);
    free(take.files);
    snapshot_out_close(&take.out);
    return failed ? SNAPSHOT_FAILED : SNAPSHOT_DONE;
}
