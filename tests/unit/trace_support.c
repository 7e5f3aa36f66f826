/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_support.c - see trace_support.h.
 */
#include "trace_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "format/compress.h"
#include "format/pack.h"
#include "trace/ring/emit-internal.h"
#include "trace/life/trace-internal.h"

const struct sqt_process place_process = {3, SQT_KID_WORKER, "test", "7.7", NULL};
char place_said[8192];

void
place_log(int level, const char *text)
{
    (void)level;
    const size_t used = strlen(place_said);
    snprintf(place_said + used, sizeof(place_said) - used, "%s\n", text);
}

void
place_make(struct place *place)
{
    const char *const tmp = getenv("TMPDIR");
    snprintf(place->directory, sizeof(place->directory), "%s/sqtrace-test-XXXXXX", tmp ? tmp : "/tmp");
    strcpy(place->ringdir, "/dev/shm/sqtrace-test-XXXXXX");
    assert_non_null(mkdtemp(place->directory));
    assert_non_null(mkdtemp(place->ringdir));
    place->owner = getpid();
    sqt_patience_ns = UINT64_C(30000000000); /* the machine may be busy */
}

static void
remove_all(const char *directory)
{
    DIR *const dir = opendir(directory);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        if (unlink(path) != 0 && errno == EISDIR && entry->d_name[0] != '.')
            remove_all(path);
    }
    if (dir)
        closedir(dir);
    rmdir(directory);
}

void
place_remove(const struct place *place)
{
    if (place->owner != getpid())
        _exit(1);
    remove_all(place->directory);
    remove_all(place->ringdir);
}

static int
ends_with(const char *name, const char *suffix)
{
    const size_t n = strlen(name), s = strlen(suffix);
    return n >= s && strcmp(name + n - s, suffix) == 0;
}

int
place_setup(void **state)
{
    struct place *const place = calloc(1, sizeof(*place));
    place_make(place);
    *state = place;
    return 0;
}

int
place_teardown(void **state)
{
    sqt_stop();
    place_remove(*state);
    free(*state);
    return 0;
}

unsigned
place_count(const char *directory, const char *suffix)
{
    unsigned count = 0;
    DIR *const dir = opendir(directory);
    if (!dir)
        fail_msg("cannot open %s: %s", directory, strerror(errno));
    const struct dirent *entry;
    while ((entry = readdir(dir)))
        count += ends_with(entry->d_name, suffix) && entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

void
place_only(char *path, size_t size, const char *directory, const char *suffix)
{
    assert_int_equal(place_count(directory, suffix), 1);
    DIR *const dir = opendir(directory);
    const struct dirent *entry;
    while ((entry = readdir(dir)))
        if (ends_with(entry->d_name, suffix))
            snprintf(path, size, "%s/%s", directory, entry->d_name);
    closedir(dir);
}

int
place_has(const struct place *place, const char *name)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s", place->directory, name);
    return access(path, F_OK) == 0;
}

void
place_config(const struct place *place, const char *const *words, struct sqt_config *config)
{
    char error[512], ringdir[160];
    sqt_config_init(config);
    /* So that a test knows which records there are: these come of themselves.  Words may add them. */
    config->groups &= ~(uint32_t)(SQT_GROUP_SAMPLE | SQT_GROUP_LOOP);
    assert_int_equal(sqt_config_word(config, place->directory, error, sizeof(error)), 0);
    snprintf(ringdir, sizeof(ringdir), "ringdir=%s", place->ringdir);
    assert_int_equal(sqt_config_word(config, ringdir, error, sizeof(error)), 0);
    for (; words && *words; ++words)
        if (sqt_config_word(config, *words, error, sizeof(error)) != 0)
            fail_msg("%s", error);
}

int
place_start(const struct place *place, const char *const *words)
{
    struct sqt_config config;
    place_config(place, words, &config);
    place_said[0] = '\0';
    return sqt_start(&config, &place_process, place_log);
}

void
wait_flushed(void)
{
    struct sqt_status status;
    for (unsigned i = 0; i < 10000; ++i) {
        sqt_get_status(&status);
        if (!status.waiting)
            return;
        usleep(1000);
    }
    fail_msg("the flusher did not empty the ring within 10 s");
}

struct sqt_ring_header *
ring_in_memory(unsigned capacity, unsigned text_size, uint32_t clock)
{
    struct sqt_ring_header *const ring = calloc(1, SQT_RING_HEADER + text_size + capacity * sizeof(struct sqt_record));
    assert_non_null(ring);
    ring->capacity = capacity;
    ring->text_offset = SQT_RING_HEADER;
    ring->text_size = text_size;
    ring->records_offset = SQT_RING_HEADER + text_size;
    sqt_clock = clock;
    sqt_emitter_attach(&sqt_emitter, ring);
    return ring;
}

void
ring_in_memory_end(struct sqt_ring_header *ring)
{
    sqt_emitter_detach(&sqt_emitter);
    sqt_clock = 0;
    free(ring);
}

/* ---- decoding ---- */

const char *
definition(const char *text, unsigned kind, uint32_t number)
{
    static char found[64];
    char wanted[48];
    snprintf(wanted, sizeof(wanted), "\ndef\t%u\t%u\t", kind, (unsigned)number);
    const char *const at = strstr(text, wanted);
    assert_non_null(at);
    snprintf(found, sizeof(found), "%.*s", (int)strcspn(at + strlen(wanted), "\n"), at + strlen(wanted));
    return found;
}

static uint8_t *
read_file(const char *path, size_t *size)
{
    struct stat st;
    const int fd = open(path, O_RDONLY);
    if (fd < 0)
        fail_msg("cannot open %s", path);
    assert_int_equal(fstat(fd, &st), 0);
    uint8_t *const data = malloc((size_t)st.st_size + 1);
    assert_int_equal(read(fd, data, (size_t)st.st_size), st.st_size);
    close(fd);
    *size = (size_t)st.st_size;
    return data;
}

static void
add_records(struct decoded *d, uint64_t first, const struct sqt_record *records, uint64_t count)
{
    if (!d->count)
        d->first = first;
    assert_int_equal(first, d->first + d->count);
    d->records = realloc(d->records, (d->count + count) * sizeof(*records));
    memcpy(d->records + d->count, records, count * sizeof(*records));
    unsigned more = 0;
    for (uint64_t i = 0; i < count; ++i) {
        const struct sqt_record *const r = &records[i];
        if (d->count + i)
            assert_true(r->time >= d->records[d->count + i - 1].time);
        if (more) {
            assert_int_equal(r->flags, SQT_FLAG_PART);
            --more;
        } else {
            assert_int_equal(r->flags & ~SQT_FLAG_MORE, 0);
            more = r->flags & SQT_FLAG_MORE;
        }
        if (r->event == SQT_EV_LOST) {
            assert_int_equal(r->aux, SQT_LOSS_RING_FULL);
            assert_true(r->id <= r->time);
            d->lost += r->arg;
            ++d->marks;
        }
    }
    assert_int_equal(more, 0);
    d->count += count;
}

static void
add_block(struct decoded *d, const struct sqt_frame *frame, const uint8_t *body)
{
    struct sqt_pack_table table;
    struct sqt_block block;
    sqt_pack_table_init(&table);
    memcpy(&block, body, sizeof(block));
    assert_memory_equal(block.ring_id, d->ring_id, 16);
    assert_true(block.count > 0 && block.count <= SQT_BLOCK_RECORDS);
    uint8_t *const packed = malloc(block.packed_size);
    uLongf size = block.packed_size;
    if (frame->flags & SQT_FRAME_ZSTD) {
        struct sqt_decompressor zstd = {NULL, NULL};
        assert_null(sqt_decompress(&zstd, SQT_COMPRESSION_ZSTD, body + sizeof(block), frame->size - sizeof(block),
                                   packed, block.packed_size));
        sqt_decompressor_free(&zstd);
    } else if (frame->flags & SQT_FRAME_ZLIB) {
        assert_int_equal(uncompress(packed, &size, body + sizeof(block), frame->size - sizeof(block)), Z_OK);
        assert_int_equal(size, block.packed_size);
    } else {
        assert_int_equal(frame->size, sizeof(block) + block.packed_size);
        memcpy(packed, body + sizeof(block), block.packed_size);
    }
    struct sqt_record *const records = calloc(block.count, sizeof(*records));
    assert_int_equal(sqt_unpack(&table, packed, size, block.time_first, records, block.count), 0);
    assert_int_equal(block.time_first, records[0].time);
    assert_int_equal(block.time_last, records[block.count - 1].time);
    assert_true(block.from.ticks < block.to.ticks && block.from.monotonic_ns < block.to.monotonic_ns);
    add_records(d, block.first, records, block.count);
    free(records);
    free(packed);
}

static void
add_segment(struct decoded *d, const char *path)
{
    size_t size, at;
    uint8_t *const data = read_file(path, &size);
    struct sqt_segment_header header;
    assert_true(size >= sizeof(header));
    memcpy(&header, data, sizeof(header));
    assert_memory_equal(header.magic, SQT_SEGMENT_MAGIC, 8);
    const uint32_t crc = header.crc;
    header.crc = 0;
    assert_int_equal(crc32(0, (const uint8_t *)&header, sizeof(header)), crc);
    memcpy(d->ring_id, header.identity.ring_id, 16);
    free(d->text);
    d->text = calloc(1, 1);
    size_t text_size = 0;
    ++d->segments;

    int ended = 0;
    for (at = sizeof(header); at < size;) {
        struct sqt_frame frame;
        assert_true(size - at >= sizeof(frame));
        memcpy(&frame, data + at, sizeof(frame));
        const uint8_t *const body = data + at + sizeof(frame);
        assert_int_equal(frame.magic, SQT_FRAME_MAGIC);
        assert_true(frame.size <= size - at - sizeof(frame));
        struct sqt_frame blank = frame;
        blank.crc = 0;
        assert_int_equal(crc32(crc32(0, (const uint8_t *)&blank, sizeof(blank)), body, frame.size), frame.crc);
        assert_int_equal(ended, 0);
        if (at == sizeof(header))
            assert_int_equal(frame.type, SQT_FRAME_TEXT);
        if (frame.type == SQT_FRAME_TEXT) {
            d->text = realloc(d->text, text_size + frame.size + 1);
            memcpy(d->text + text_size, body, frame.size);
            text_size += frame.size;
            d->text[text_size] = '\0';
        } else if (frame.type == SQT_FRAME_BLOCK) {
            add_block(d, &frame, body);
        } else {
            assert_int_equal(frame.type, SQT_FRAME_END);
            memcpy(&d->totals, body, sizeof(d->totals));
            ++d->ends;
            ended = 1;
        }
        at += sizeof(frame) + frame.size;
    }
    free(data);
}

void
decode_ring(struct decoded *d, const char *path)
{
    size_t size;
    uint8_t *const data = read_file(path, &size);
    const struct sqt_ring_header *const ring = (const struct sqt_ring_header *)data;
    assert_memory_equal(ring->magic, SQT_RING_MAGIC, 8);
    const struct sqt_record *const slots = (const struct sqt_record *)(data + ring->records_offset);
    sqt_ring_totals(ring, &d->totals);
    /* The process may have died after its last block was whole and before it moved the tail. */
    uint64_t first = ring->flusher.tail;
    if (d->count && d->first + d->count > first)
        first = d->first + d->count;
    const uint64_t count = d->totals.head - first;
    struct sqt_record *const records = calloc(count + 1, sizeof(*records));
    for (uint64_t i = 0; i < count; ++i)
        records[i] = slots[(first + i) & (ring->capacity - 1)];
    add_records(d, first, records, count);
    free(records);
    free(data);
}

static int
compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The value of "ring=" in a pointer file. */
static void
follow_pointer(struct decoded *d, const char *path)
{
    size_t size;
    char *const text = (char *)read_file(path, &size);
    text[size] = '\0';
    assert_memory_equal(text, "ring=", 5);
    *strchr(text, '\n') = '\0';
    decode_ring(d, text + 5);
    free(text);
}

void
decode(struct decoded *d, const char *directory, const char *base)
{
    char *names[4096];
    unsigned count = 0;
    memset(d, 0, sizeof(*d));
    DIR *const dir = opendir(directory);
    const struct dirent *entry;
    while ((entry = readdir(dir)))
        if ((ends_with(entry->d_name, ".sqt") || ends_with(entry->d_name, ".ring")) && count < 4096 &&
            (!base || strncmp(entry->d_name, base, strlen(base)) == 0))
            names[count++] = strdup(entry->d_name);
    closedir(dir);
    qsort(names, count, sizeof(names[0]), compare_names); /* a pointer comes after the segments */
    for (unsigned i = 0; i < count; ++i) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        if (ends_with(path, ".sqt"))
            add_segment(d, path);
        else
            follow_pointer(d, path);
        free(names[i]);
    }
}

void
decode_free(struct decoded *d)
{
    free(d->records);
    free(d->text);
    memset(d, 0, sizeof(*d));
}

uint64_t
emit_mixed(uint64_t id, unsigned n)
{
    uint64_t records = 0;
    for (unsigned i = 0; i < n; ++i, ++id) {
        if (id % 5) {
            sqt_emit(SQT_EV_CLIENT_READ, id, 7 * id, (uint32_t)id);
            ++records;
        } else {
            struct sqt_record unit[3];
            memset(unit, 0, sizeof(unit));
            unit[0].event = SQT_EV_XACT_END;
            unit[1].event = SQT_EV_PART_XACT_SIZES;
            unit[2].event = SQT_EV_PART_XACT_FLAGS;
            unit[0].id = id;
            sqt_emit_unit(unit, 3);
            records += 3;
        }
    }
    return records;
}

void
check_mixed(const struct decoded *d, uint64_t from, uint64_t to)
{
    uint64_t id = from;
    for (uint64_t i = 0; i < d->count; ++i) {
        const struct sqt_record *const r = &d->records[i];
        if (r->event != SQT_EV_CLIENT_READ && r->event != SQT_EV_XACT_END)
            continue;
        assert_int_equal(r->id, id);
        ++id;
    }
    assert_int_equal(id, to);
}

void
plant_file(const char *root, const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof(whole), "%s%s", root, path);
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); ++slash) {
        *slash = '\0';
        mkdir(whole, 0777);
        *slash = '/';
    }
    FILE *const file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}
