/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_golden.c - the traces in tests/golden give what their .txt says: each message and each record.
 *
 *     read_golden                  compares all of them
 *     read_golden print TRACE      shows what a trace gives, to make or to look at a .txt
 */
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/read/stream.h"

static const char *
golden_directory(void)
{
    static char path[1024];
    const char *const source = getenv("SQT_SOURCE");
    snprintf(path, sizeof(path), "%s/tests/golden", source ? source : ".");
    return path;
}

static void
hear(void *out, enum sqt_severity severity, const char *text)
{
    const char *const directory = golden_directory();
    const size_t prefix = strlen(directory);
    const int inside = strncmp(text, directory, prefix) == 0 && text[prefix] == '/';
    fprintf(out, "%c %s\n", "NWE"[severity], inside ? text + prefix + 1 : text);
}

/* Everything a trace gives, as text: a run's records as
 * ns, kid, number ("-" if the reader made it), event, id, arg, aux, and "+" for a part of the unit before it. */
static void
print_trace(const char *path, FILE *out)
{
    struct sqt_run run;
    struct sqt_stream *const stream = sqt_stream_open(&path, 1, hear, out);
    if (!stream) {
        fprintf(out, "nothing to read\n");
        return;
    }
    fprintf(out, "start %" PRIu64 "\n", sqt_stream_start_ns(stream));
    while (sqt_stream_next(stream, &run))
        for (size_t i = 0; i < run.count; ++i) {
            const struct sqt_record *const r = &run.records[i];
            char number[24] = "-";
            if (run.first != UINT64_MAX)
                snprintf(number, sizeof(number), "%" PRIu64, run.first + i);
            fprintf(out, "%" PRId64 "\t%u\t%s\t%s%s\t%" PRIu64 "\t%" PRIu64 "\t%u", sqt_line_ns(&run.line, r->time),
                    run.origin->identity.kid, number, r->flags & SQT_FLAG_PART ? "+" : "",
                    sqt_origin_event_name(run.origin, r->event), r->id, r->arg, r->aux);
            if (r->event == SQT_EV_XACT_END) {
                const char *const tag = sqt_origin_text(run.origin, SQT_DEF_TAG, (uint32_t)r->arg);
                fprintf(out, "\t%s", tag ? tag : "-");
            }
            fprintf(out, "\n");
        }
    fprintf(out, "problems %u\n", sqt_stream_problems(stream));
    sqt_stream_close(stream);
}

static char *
text_of(FILE *f)
{
    size_t size = 0, room = 1 << 16, n;
    char *text = malloc(room);
    while (text && (n = fread(text + size, 1, room - size - 1, f)) > 0) {
        size += n;
        if (size + 1 == room)
            text = realloc(text, room *= 2);
    }
    assert_non_null(text);
    text[size] = '\0';
    return text;
}

static void
compare(void **state)
{
    char path[2048];
    const char *const name = *state;
    snprintf(path, sizeof(path), "%s/%s", golden_directory(), name);
    FILE *const f = fopen(path, "r");
    assert_non_null(f);
    char *const expected = text_of(f);
    fclose(f);
    path[strlen(path) - strlen(".txt")] = '\0';
    FILE *const out = tmpfile();
    assert_non_null(out);
    print_trace(path, out);
    rewind(out);
    char *const got = text_of(out);
    fclose(out);
    assert_string_equal(got, expected);
    free(got);
    free(expected);
}

#define GOLDEN_MAX 100

static int
is_text(const struct dirent *entry)
{
    const size_t n = strlen(entry->d_name);
    return n > 4 && strcmp(entry->d_name + n - 4, ".txt") == 0;
}

int
main(int argc, char **argv)
{
    struct CMUnitTest tests[GOLDEN_MAX];
    struct dirent **names;
    if (argc == 3 && strcmp(argv[1], "print") == 0) {
        print_trace(argv[2], stdout);
        return 0;
    }
    memset(tests, 0, sizeof(tests));
    const int count = scandir(golden_directory(), &names, is_text, alphasort);
    if (count < 1 || count > GOLDEN_MAX) {
        fprintf(stderr, "read_golden: %s: no .txt in it; SQT_SOURCE is to name the source tree\n", golden_directory());
        return 1;
    }
    for (int i = 0; i < count; ++i) {
        tests[i].name = names[i]->d_name;
        tests[i].test_func = compare;
        tests[i].initial_state = names[i]->d_name;
    }
    const int failed = _cmocka_run_group_tests("read_golden", tests, (size_t)count, NULL, NULL);
    for (int i = 0; i < count; ++i)
        free(names[i]);
    free(names);
    return failed;
}
