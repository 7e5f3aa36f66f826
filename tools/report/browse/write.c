/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * write.c - the requests of a page as a script, which hands them to browse.js.
 *
 * A page that is opened from a disk may not read files, but it may load scripts.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "browse-internal.h"
#include "sink/json.h"

static unsigned
write_slow_count(const struct browse *b)
{
    unsigned count = 0;
    for (unsigned s = 0; s < BROWSE_SLICES; ++s)
        for (unsigned c = 0; c < BROWSE_CLASSES; ++c)
            for (unsigned i = 0; i < BROWSE_SLOWEST; ++i)
                count += b->slow.cells[s][c][i] != NULL;
    return count;
}

struct browse_counts
browse_counts(const struct browse *b)
{
    return (struct browse_counts){b->all,
                                  write_slow_count(b) + b->samples[BROWSE_BAD].count + b->samples[BROWSE_REST].count};
}

static void
write_bytes(struct sqt_out *out, const char *text, size_t length)
{
    while (length) {
        const size_t piece = length < SQT_OUT_ROOM ? length : SQT_OUT_ROOM;
        memcpy(sqt_out_room(out, piece), text, piece);
        out->used += piece;
        text += piece;
        length -= piece;
    }
}

/* Lists of names. */
static void
write_names(struct sqt_out *out, const char *key, const char *const *names, size_t count)
{
    sqt_json_print(out, "\"%s\":[", key);
    for (size_t i = 0; i < count; ++i) {
        sqt_json_print(out, i ? "," : "");
        sqt_json_string(out, names[i] ? names[i] : "");
    }
    sqt_json_print(out, "],\n");
}

static void
write_schema(struct sqt_out *out, const struct browse *b)
{
    static const char *const columns[] = {
#define NUMBER(name) #name,
#define NAME(name) #name,
#include "columns.def"
        "dir"};
    static const char *const named[] = {
#define NUMBER(name)
#define NAME(name) #name,
#include "columns.def"
        "dir"};
    const char *stages[SQT_STAGES];
    for (unsigned i = 0; i < SQT_STAGES; ++i)
        stages[i] = sqt_stages[i].name;
    write_names(out, "columns", columns, sizeof(columns) / sizeof(*columns));
    write_names(out, "named", named, sizeof(named) / sizeof(*named));
    write_names(out, "stages", stages, SQT_STAGES);
    write_names(out, "names", b->texts.list, b->texts.count + 1);
}

/* ---- the heat map ---- */

static void
write_cell(struct sqt_out *out, const char *between, unsigned slice, unsigned bin, unsigned count)
{
    sqt_json_text(out, between);
    sqt_json_unsigned(out, slice);
    sqt_json_text(out, ",");
    sqt_json_unsigned(out, bin);
    sqt_json_text(out, ",");
    sqt_json_unsigned(out, count);
}

/* [slice, bin, count, ...] of a map, without zeros. */
static void
write_map(struct sqt_out *out, const char *by, const struct browse_map *map, int more)
{
    int begun = 0;
    sqt_json_print(out, "%s\n{\"by\":\"%s\",\"name\":", more ? "," : "", by);
    sqt_json_string(out, map->named.name);
    sqt_json_print(out, ",\"requests\":%" PRIu64 ",\"cells\":[", map->requests);
    for (unsigned s = 0; s < BROWSE_SLICES; ++s)
        for (unsigned bin = 0; bin < BROWSE_BINS; ++bin)
            if (map->counts[s][bin])
                write_cell(out, begun++ ? "," : "", s, bin, map->counts[s][bin]);
    sqt_json_print(out, "]}");
}

static void
write_heat(struct sqt_out *out, const struct browse_heat *heat)
{
    int more = 0;
    sqt_json_print(out, "\"heat\":{\"slice_ns\":%" PRId64 ",\"first_bin\":%d,\"bin_bits\":%d,\"maps\":[", heat->slice,
                   BROWSE_FIRST_BIN, BROWSE_BIN_BITS);
    for (unsigned by = 0; by < BROWSE_BYS; ++by)
        for (const struct sqt_name_entry *map = heat->maps[by].first; map; map = map->next)
            write_map(out, browse_by_names[by], (const struct browse_map *)map, more++);
    sqt_json_print(out, "]},\n");
}

/* ---- requests ---- */

/* Lines have digits, letters and marks only, so nothing in them needs to be escaped. */
static void
write_request(struct sqt_out *out, const struct browse_request *request, enum browse_why why)
{
    const char first[] = {"sbr"[why], '|'};
    write_bytes(out, first, sizeof(first));
    write_bytes(out, request->text, strlen(request->text));
    sqt_json_text(out, "\\n");
}

static void
write_requests(struct sqt_out *out, const struct browse *b)
{
    sqt_json_print(out, "\"rows\":\"");
    for (unsigned s = 0; s < BROWSE_SLICES; ++s)
        for (unsigned c = 0; c < BROWSE_CLASSES; ++c)
            for (unsigned i = 0; i < BROWSE_SLOWEST; ++i)
                if (b->slow.cells[s][c][i])
                    write_request(out, b->slow.cells[s][c][i], BROWSE_SLOW);
    for (unsigned why = BROWSE_BAD; why < BROWSE_WHYS; ++why)
        for (unsigned i = 0; i < b->samples[why].count; ++i)
            write_request(out, b->samples[why].heap[i].request, why);
    sqt_json_print(out, "\"");
}

/* ---- the whole ---- */

int
browse_write(struct browse *b, const char *path, const char *label, uint64_t start_ns, int64_t length)
{
    struct sqt_out out;
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    sqt_out_init(&out, fd);
    sqt_json_print(&out, "/* Requests of a report; see browse.js. */\n(window.sqtraceData ||= []).push({\"label\":");
    sqt_json_string(&out, label);
    sqt_json_print(&out, ",\"start_ms\":%.6f,\"length_ns\":%" PRId64 ",\n", (double)start_ns / 1e6, length);
    sqt_json_print(&out,
                   "\"all\":%" PRIu64 ",\"slow\":%u,\"slowest\":%d,\"slow_slice_ns\":%" PRId64 ",\"bad\":%u,"
                   "\"bad_all\":%" PRIu64 ",\"rest\":%u,\"plain\":%" PRIu64 ",\n",
                   b->all, write_slow_count(b), BROWSE_SLOWEST, b->slow.slice, b->samples[BROWSE_BAD].count, b->bad,
                   b->samples[BROWSE_REST].count, b->plain);
    write_schema(&out, b);
    write_heat(&out, &b->heat);
    write_requests(&out, b);
    sqt_json_print(&out, "});\n");
    sqt_out_flush(&out);
    int error = out.error;
    sqt_out_free(&out);
    if (close(fd) != 0 && !error)
        error = errno;
    return error;
}
