/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fuzz-target.c - sqtrace-dump, or another program, against bytes that nobody wrote.
 *
 * Each input goes through the options, the reader, the model and one table, figure or format, as sqtrace-dump takes
 * them; or through the program that it names, as fuzz-programs.c calls that.  Whatever the bytes are, it must end in time, touch no memory that is not its own, leave no descriptor open,
 * and keep its promises:
 *
 *   - of a stream: time does not go back from unit to unit (with --follow: of one process), no unit is split, a run is
 *     never empty, events have names; an access.log has requests in place of records;
 *   - of messages: each is one line that begins with the program's name;
 *   - of rows: each has as many columns as the header; nothing but printable text, tabs and newlines;
 *   - with a second thread, and when it is read again, the same bytes come out.
 *
 * In time: at most FREE_NS of processor time, and PER_UNIT_NS for each byte of the input, record unpacked and byte
 * printed.  That is some 20 times what they take with sanitizers, so that only what grows faster than the input is
 * found; the least of three attempts counts.  The other programs may take PROGRAM_NS in the place of FREE_NS: a report
 * writes a hundred files, whatever the input, and a trace is shipped twice.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "read/file/block.h"
#include "../../tools/dump/run.h"

#ifdef __SANITIZE_THREAD__ /* which takes some 5 times as long as the others */
#define FREE_NS INT64_C(1000000000)
#else
#define FREE_NS INT64_C(200000000) /* all figures fill their time groups once, whatever the input */
#endif
#define PROGRAM_NS (10 * FREE_NS)
#define PER_UNIT_NS INT64_C(5000)

/* What a row that is not printed counts as. */
#define ROW_BYTES 50

/* Printed bytes that are looked at, and of which two runs are compared. */
#define PRINTED_MAX (1u << 20)

/* One input out of so many is read a second time, with another number of threads. */
#define TWICE 16

static int input_fd, log_fd, output_fd;
static FILE *said;          /* the standard error, which the program does not have meanwhile */
static unsigned processors; /* that the program is told it has */
static uint64_t unpacked;   /* records, of this input */
static uint64_t rows;       /* of all its figures, which are not printed */
static int follows;         /* the input has --follow */
static size_t log_bytes;    /* of the input, that are an access.log */
/* Time of the last record: of all, in the first; with --follow of each process, by its number, of which few are given. */
#define BEFORE 64
static int64_t before_ns[BEFORE];

void
fuzz_broken(const char *promise)
{
    fprintf(said, "fuzz_dump: broken promise: %s\n", promise);
    abort();
}

/* ---- the functions that the linker puts between (--wrap) ---- */

unsigned __wrap_sqt_processors(void);
const char *__wrap_sqt_block_unpack(struct sqt_unpacker *u, const struct sqt_pack_table *table,
                                    const struct sqt_frame *frame, const uint8_t *payload, const struct sqt_block *b,
                                    struct sqt_record *records);
const char *__real_sqt_block_unpack(struct sqt_unpacker *u, const struct sqt_pack_table *table,
                                    const struct sqt_frame *frame, const uint8_t *payload, const struct sqt_block *b,
                                    struct sqt_record *records);
int __wrap_sqt_stream_next(struct sqt_stream *stream, struct sqt_run *run);
int __real_sqt_stream_next(struct sqt_stream *stream, struct sqt_run *run);
struct sqt_stream *__wrap_sqt_stream_open(const char *const *paths, size_t count, sqt_diagnosis_function *report,
                                          void *context);
struct sqt_stream *__real_sqt_stream_open(const char *const *paths, size_t count, sqt_diagnosis_function *report,
                                          void *context);
void __wrap_sqt_stream_wait(struct sqt_stream *stream, int milliseconds);
void __real_sqt_stream_wait(struct sqt_stream *stream, int milliseconds);

unsigned
__wrap_sqt_processors(void)
{
    return processors;
}

const char *
__wrap_sqt_block_unpack(struct sqt_unpacker *u, const struct sqt_pack_table *table, const struct sqt_frame *frame,
                        const uint8_t *payload, const struct sqt_block *b, struct sqt_record *records)
{
    __atomic_fetch_add(&unpacked, b->count, __ATOMIC_RELAXED);
    return __real_sqt_block_unpack(u, table, frame, payload, b, records);
}

struct sqt_stream *
__wrap_sqt_stream_open(const char *const *paths, size_t count, sqt_diagnosis_function *report, void *context)
{
    for (unsigned i = 0; i < BEFORE; ++i)
        before_ns[i] = INT64_MIN;
    return __real_sqt_stream_open(paths, count, report, context);
}

/* Nothing comes while the target waits. */
void
__wrap_sqt_stream_wait(struct sqt_stream *stream, int milliseconds)
{
    (void)milliseconds;
    __real_sqt_stream_wait(stream, 0);
}

int
__wrap_sqt_stream_next(struct sqt_stream *stream, struct sqt_run *run)
{
    if (!__real_sqt_stream_next(stream, run))
        return 0;
    __atomic_fetch_add(&unpacked, run->logged_count, __ATOMIC_RELAXED);
    if (run->count + run->logged_count == 0)
        fuzz_broken("a run has records, or requests of a log");
    if (run->count && run->records[0].flags & SQT_FLAG_PART)
        fuzz_broken("a unit is whole");
    /* A reader that follows waits for the rest of a block; that it never comes is told at the end of that process. */
    int64_t *const before = &before_ns[follows ? run->origin->index % BEFORE : 0];
    for (size_t i = 0; i < run->count; ++i) {
        const int64_t ns = sqt_line_ns(&run->line, run->records[i].time);
        /* Of a unit the first record counts: the merge keeps the others with it. */
        if (ns < *before)
            fuzz_broken("time does not go back");
        if (!(run->records[i].flags & SQT_FLAG_PART))
            *before = ns;
        if (!sqt_origin_event_name(run->origin, run->records[i].event))
            fuzz_broken("an event has a name");
    }
    return 1;
}

/* ---- files ---- */

static void
write_whole(int fd, const uint8_t *data, size_t size)
{
    if (ftruncate(fd, 0) != 0 || (size && pwrite(fd, data, size, 0) != (ssize_t)size)) {
        perror("fuzz_dump: cannot write the input");
        _exit(2);
    }
}

/* ---- what was printed ---- */

static void
check_messages(const char *program, const char *text, size_t size)
{
    const size_t length = strlen(program);
    if (size && text[size - 1] != '\n')
        fuzz_broken("a message is a line");
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        if (strncmp(line, program, length) != 0 || strncmp(line + length, ": ", 2) != 0 || line[length + 2] == '\n')
            fuzz_broken("a message is one line");
}

static size_t
printed(uint8_t *bytes)
{
    const ssize_t size = pread(output_fd, bytes, PRINTED_MAX, 0);
    return size > 0 ? (size_t)size : 0;
}

/* Rows as tab-separated text.  With --wide, the first row says how many columns there are. */
static void
check_rows(const struct dump_request *r, const uint8_t *bytes, size_t size)
{
    unsigned tabs = 0, wanted = r->given[DUMP_wide] ? UINT_MAX : r->column_count - 1;
    int comment = 0, fresh = 1;
    for (size_t i = 0; i < size; ++i) {
        const uint8_t c = bytes[i];
        if (fresh)
            comment = c == '#';
        fresh = c == '\n';
        if (c < ' ' && c != '\n' && c != '\t')
            fuzz_broken("rows are printable text");
        tabs += c == '\t';
        if (fresh && !comment && wanted == UINT_MAX)
            wanted = tabs;
        if (fresh && !comment && tabs != wanted)
            fuzz_broken("a row has a cell for each column");
        if (fresh)
            tabs = 0;
    }
}

/* ---- one run ---- */

static void
no_note(void *context, const char *key, const char *text)
{
    (void)context, (void)key, (void)text;
}

static int
count_row(void *context, const union sqt_cell *row)
{
    (void)context, (void)row;
    ++rows;
    return 1;
}

static void
hear(void *context, enum sqt_severity severity, const char *text)
{
    (void)context, (void)severity;
    fprintf(stderr, "sqtrace-dump: %s\n", text);
}

/* All figures in one pass. */
static void
run_figures(const struct dump_request *r)
{
    static struct sqt_job jobs[SQT_TABLES];
    size_t count = 0;
    struct sqt_extent extent;
    int64_t since, until;
    char error[512];
    struct sqt_run run;
    struct sqt_stream *const stream = sqt_stream_open(r->traces, r->trace_count, hear, NULL);
    if (!stream)
        return;
    sqt_stream_extent(stream, &extent);
    const struct moment_trace trace = {.start_ns = (int64_t)sqt_stream_start_ns(stream), .last_ns = extent.last_ns};
    if (moment_window(&r->since, &r->until, &trace, &since, &until, error, sizeof(error)) != 0) {
        sqt_stream_close(stream);
        return;
    }
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (sqt_tables[i].figure)
            jobs[count++] = (struct sqt_job){.table = &sqt_tables[i],
                                             .since = since,
                                             .until = until,
                                             .group = r->group,
                                             .peak = r->peak,
                                             .batch = r->batch,
                                             .row = count_row,
                                             .note = no_note};
    struct sqt_crew *const crew = sqt_crew_new(sqt_processors() - 1);
    struct sqt_pass *const pass = sqt_pass_new(jobs, count, NULL, crew);
    sqt_stream_share(stream, crew);
    while (!sqt_pass_done(pass) && sqt_stream_next(stream, &run))
        sqt_pass_run(pass, &run);
    sqt_pass_finish(pass);
    sqt_pass_free(pass);
    sqt_stream_close(stream);
    sqt_crew_free(crew);
}

/* Where the files of an input are: removed behind it. */
static struct {
    char folder[1024], trace[1040], output[1040], input[32];
} place;

static void
run_program(const struct fuzz_input *input, const struct dump_request *r, enum fuzz_word program)
{
    if (program != FUZZ_WORDS)
        fuzz_program_run(program, input, place.folder);
    else if (input->words & 1u << FUZZ_FIGURES && r->trace_count)
        run_figures(r);
    else {
        dump_follow_end(); /* else --follow would wait for a signal */
        dump_run(r);
    }
}

/* Runs the request, or the program, with a standard error of its own.  Returns how many nanoseconds of processor time
 * that took. */
static int64_t
run_measured(const struct fuzz_input *input, const struct dump_request *r, enum fuzz_word program)
{
    char *text = NULL;
    size_t size = 0;
    struct timespec begin, end;
    stderr = open_memstream(&text, &size);
    if (!stderr)
        abort();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    run_program(input, r, program);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    fclose(stderr);
    stderr = said;
    check_messages(fuzz_program_name(program), text, size);
    free(text);
    return (int64_t)(end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec;
}

static void
rewind_files(unsigned threads)
{
    if (ftruncate(output_fd, 0) != 0 || lseek(output_fd, 0, SEEK_SET) != 0 || lseek(input_fd, 0, SEEK_SET) != 0 ||
        lseek(log_fd, 0, SEEK_SET) != 0)
        abort();
    processors = threads;
    unpacked = rows = 0;
}

/* The same, with so many threads. */
static int64_t
run_once(const struct fuzz_input *input, struct dump_request *r, unsigned threads)
{
    rewind_files(threads);
    follows = r->given[DUMP_follow] != NULL;
    const int64_t ns = run_measured(input, r, FUZZ_WORDS);
    if (r->format->directory)
        fuzz_folder_remove(place.output);
    return ns;
}

/* Makes the files that the request is about, and names them in it. */
static void
make_place(const struct fuzz_input *input, struct dump_request *r)
{
    const unsigned words = r->given[DUMP_from] ? 0 : input->words;
    const char *const folder = getenv("TMPDIR");
    snprintf(place.folder, sizeof(place.folder), "%s/sqtrace-fuzz-XXXXXX", folder ? folder : "/tmp");
    *place.trace = '\0';
    if (((words & 1u << FUZZ_DIR) || r->format->directory) && !mkdtemp(place.folder))
        abort();
    snprintf(place.output, sizeof(place.output), "%s/ctf", place.folder);
    snprintf(place.input, sizeof(place.input), "/proc/self/fd/%d", input_fd);
    r->given[DUMP_output] = r->format->directory ? place.output : NULL;
    r->traces[0] = place.input;
    if (words & 1u << FUZZ_STDIN)
        r->traces[0] = "-";
    else if (words & 1u << FUZZ_DIR) {
        snprintf(place.trace, sizeof(place.trace), "%s/trace", place.folder);
        fuzz_folder_write(place.trace, input->body, input->body_size);
        r->traces[0] = place.trace;
    }
}

static void
remove_place(void)
{
    if (*place.trace)
        fuzz_folder_remove(place.trace);
    rmdir(place.folder);
}

/* Whether that time is too long for what was read and printed. */
static int
too_long(const struct fuzz_input *input, int64_t ns, int64_t free_ns)
{
    const off_t size = lseek(output_fd, 0, SEEK_END);
    return ns > free_ns + PER_UNIT_NS *
                              (int64_t)(input->body_size + log_bytes + unpacked + (uint64_t)size + ROW_BYTES * rows);
}

static void
broken_time(const struct fuzz_input *input, int64_t ns)
{
    fprintf(stderr, "fuzz_dump: %.3f s for %zu bytes and %" PRIu64 " records\n", (double)ns / 1e9, input->body_size,
            unpacked);
    fuzz_broken("the time grows as the input does");
}

/* ---- the other programs ---- */

static int64_t
program_once(const struct fuzz_input *input, enum fuzz_word program)
{
    const char *const folder = getenv("TMPDIR");
    snprintf(place.folder, sizeof(place.folder), "%s/sqtrace-fuzz-XXXXXX", folder ? folder : "/tmp");
    if (!mkdtemp(place.folder))
        abort();
    snprintf(place.trace, sizeof(place.trace), "%s/trace", place.folder);
    fuzz_folder_write(place.trace, input->body, input->body_size);
    rewind_files(input->words & 1u << FUZZ_CREW ? 2 : 1);
    follows = fuzz_program_follows(program);
    const int64_t ns = run_measured(input, NULL, program);
    fuzz_folder_remove(place.folder);
    return ns;
}

/* What is printed for people and for Prometheus is text. */
static void
check_text(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; ++i)
        if (bytes[i] == 0x7f || (bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t'))
            fuzz_broken("what is printed is text");
}

static void
program_run(const struct fuzz_input *input, enum fuzz_word program)
{
    static uint8_t text[PRINTED_MAX];
    int64_t ns = program_once(input, program);
    for (unsigned tries = 1; tries < 3 && too_long(input, ns, PROGRAM_NS); ++tries)
        ns = program_once(input, program);
    if (too_long(input, ns, PROGRAM_NS))
        broken_time(input, ns);
    check_text(text, printed(text));
}

/* ---- one input of sqtrace-dump ---- */

static void
run(const struct fuzz_input *input, struct dump_request *r)
{
    static uint8_t first[PRINTED_MAX], second[PRINTED_MAX];
    const unsigned threads = input->words & 1u << FUZZ_CREW ? 2 : 1;
    int64_t ns = run_once(input, r, threads);
    for (unsigned tries = 1; tries < 3 && too_long(input, ns, FREE_NS); ++tries)
        ns = run_once(input, r, threads);
    if (too_long(input, ns, FREE_NS))
        broken_time(input, ns);
    const size_t size = printed(first);
    if (strcmp(r->format->name, "tsv") == 0)
        check_rows(r, first, size);
    uint64_t hash = input->body_size;
    for (size_t i = 0; i < input->body_size; ++i)
        hash = hash * 31 + input->body[i];
    if (hash % TWICE)
        return;
    run_once(input, r, 3 - threads);
    if (printed(second) != size || memcmp(first, second, size) != 0)
        fuzz_broken("the same comes out with a second thread, and again");
}

/* ---- the functions of libFuzzer ---- */

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    input_fd = memfd_create("input", MFD_CLOEXEC);
    log_fd = memfd_create("log", MFD_CLOEXEC);
    output_fd = memfd_create("output", MFD_CLOEXEC);
    said = stderr;
    if (input_fd < 0 || log_fd < 0 || output_fd < 0) {
        perror("fuzz_dump");
        exit(2);
    }
    return 0;
}

/* Standard input and output are the program's for this input.  r: NULL for another program than sqtrace-dump. */
static void
take(const struct fuzz_input *input, struct dump_request *r, enum fuzz_word program)
{
    const int in = dup(0), out = dup(1);
    write_whole(input_fd, input->body, input->body_size);
    dup2(input_fd, 0);
    dup2(output_fd, 1);
    if (r) {
        make_place(input, r);
        run(input, r);
        remove_place();
    } else
        program_run(input, program);
    dup2(in, 0);
    dup2(out, 1);
    close(in);
    close(out);
}

/* An option that names what is read. */
static int
names_file(const char *word)
{
    return strncmp(word, "--access-log", 12) == 0 || strncmp(word, "--squid-conf", 12) == 0;
}

/* Takes the log out of the body: all before the first segment or ring. */
static void
split_log(struct fuzz_input *input)
{
    const uint8_t *const body = input->body;
    const size_t size = input->body_size;
    const uint8_t *const segment = size ? memmem(body, size, SQT_SEGMENT_MAGIC, 7) : NULL;
    const uint8_t *const ring = size ? memmem(body, size, SQT_RING_MAGIC, 7) : NULL;
    const uint8_t *const first = !segment || (ring && ring < segment) ? ring : segment;
    log_bytes = first ? (size_t)(first - body) : size;
    write_whole(log_fd, body, log_bytes);
    input->body += log_bytes;
    input->body_size -= log_bytes;
}

/* The options of sqtrace-dump, and then the input. */
static void
take_dump(struct fuzz_input *input)
{
    struct dump_request r;
    const int has_log = input->words >> FUZZ_LOG & 1;
    char error[1024] = "", log[48], *argv[FUZZ_ARGUMENTS + 5] = {"sqtrace-dump"};
    int argc = 1;
    log_bytes = 0;
    if (has_log)
        split_log(input);
    for (int i = 0; i < input->argument_count; ++i)
        if (!names_file(input->arguments[i]))
            argv[argc++] = input->arguments[i];
    /* run_once() puts other names in the place of these: an input does not say what is read and written. */
    argv[argc++] = "--output=output";
    snprintf(log, sizeof(log), "--access-log=/proc/self/fd/%d", log_fd);
    if (has_log)
        argv[argc++] = log;
    if (!has_log || input->body_size)
        argv[argc++] = "trace";
    if (dump_parse(&r, argc, argv, error, sizeof(error)) != 0) {
        if (!*error || strchr(error, '\n'))
            fuzz_broken("an error is one line");
    } else if (!r.given[DUMP_help] && !r.given[DUMP_version] && !r.given[DUMP_list] && r.log_count == (size_t)has_log &&
               r.trace_count <= 1 && r.trace_count + r.log_count)
        take(input, &r, FUZZ_WORDS);
    dump_request_free(&r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_input input;
    const int lowest = dup(0);
    close(lowest);
    if (fuzz_input_parse(&input, data, size) != 0)
        return 0;
    const enum fuzz_word program = fuzz_program_of(&input);
    if (program == FUZZ_WORDS)
        take_dump(&input);
    else
        take(&input, NULL, program);
    const int now = dup(0);
    close(now);
    if (now != lowest)
        fuzz_broken("no descriptor is left open");
    return 0;
}
