/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fuzz-choose.c - few and small inputs that reach what many reach.
 *
 *     fuzz_choose OUT FOLDER...
 *
 * Built with --enable-coverage, so that clang counts how often each piece of code runs.  Inputs are chosen one after
 * the other, by the pieces that each adds for its size.  Of each, what it does not need for that is then taken away:
 * segments and frames, records, lines of text.  OUT gets the rest, under names made from the bytes.
 */
#include "fuzz.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

extern uint64_t *__llvm_profile_begin_counters(void);
extern uint64_t *__llvm_profile_end_counters(void);
void __llvm_profile_reset_counters(void);

/* What a file costs beside its bytes. */
#define FILE_BYTES 300

struct input {
    struct make_bytes bytes;
    uint8_t *reached; /* for each counter; NULL: it was not chosen */
};

static struct input *inputs;
static size_t input_count, counter_count;
static uint8_t *reached_now; /* by the input that ran last */
static uint32_t *chosen_by;  /* how many chosen inputs reach each counter */

size_t
LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    (void)data, (void)max_size;
    return size;
}

static void
run(const struct make_bytes *b)
{
    __llvm_profile_reset_counters();
    LLVMFuzzerTestOneInput(b->data, b->size);
    const uint64_t *const counters = __llvm_profile_begin_counters();
    for (size_t i = 0; i < counter_count; ++i)
        reached_now[i] = counters[i] != 0;
}

static void
load(const char *folder)
{
    struct dirent **names;
    const int count = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < count; ++i) {
        char path[4096];
        uint8_t piece[65536];
        size_t n;
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
        FILE *const f = *names[i]->d_name == '.' ? NULL : fopen(path, "rb");
        if (!f)
            continue;
        inputs = realloc(inputs, (input_count + 1) * sizeof(*inputs));
        if (!inputs)
            exit(2);
        struct input *const input = &inputs[input_count++];
        memset(input, 0, sizeof(*input));
        while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
            make_append(&input->bytes, piece, n);
        fclose(f);
        run(&input->bytes);
        input->reached = malloc(counter_count);
        if (!input->reached)
            exit(2);
        memcpy(input->reached, reached_now, counter_count);
    }
}

/* ---- choosing ---- */

static size_t
adds(const struct input *input)
{
    size_t n = 0;
    for (size_t i = 0; i < counter_count; ++i)
        n += input->reached[i] && !chosen_by[i];
    return n;
}

/* Puts the chosen inputs first.  Returns how many they are. */
static size_t
choose(void)
{
    size_t chosen = 0;
    for (;;) {
        size_t best = input_count;
        double worth = 0;
        for (size_t i = chosen; i < input_count; ++i) {
            const double w = (double)adds(&inputs[i]) / (double)(inputs[i].bytes.size + FILE_BYTES);
            if (w > worth) {
                worth = w;
                best = i;
            }
        }
        if (best == input_count)
            return chosen;
        const struct input input = inputs[best];
        inputs[best] = inputs[chosen];
        inputs[chosen++] = input;
        for (size_t i = 0; i < counter_count; ++i)
            chosen_by[i] += input.reached[i];
    }
}

/* ---- making smaller ---- */

/* Whether the bytes reach all that only this input reaches. */
static int
is_enough(const struct input *input, const struct make_bytes *b)
{
    run(b);
    for (size_t i = 0; i < counter_count; ++i)
        if (input->reached[i] && chosen_by[i] == 1 && !reached_now[i])
            return 0;
    return 1;
}

/* Takes the smaller bytes if they are enough. */
static int
try(struct input *input, const char *line, struct fuzz_pieces *pieces)
{
    struct make_bytes b = {NULL, 0, 0};
    fuzz_pieces_seal(pieces, 0);
    make_append(&b, line, strlen(line));
    make_append(&b, "\n", 1);
    fuzz_pieces_join(pieces, &b);
    if (b.size < input->bytes.size && is_enough(input, &b)) {
        make_free(&input->bytes);
        input->bytes = b;
        for (size_t i = 0; i < counter_count; ++i) {
            chosen_by[i] -= input->reached[i];
            chosen_by[i] += reached_now[i];
            input->reached[i] = reached_now[i];
        }
        return 1;
    }
    make_free(&b);
    return 0;
}

static int
take_pieces_away(struct input *input, const char *line, const uint8_t *body, size_t size)
{
    static struct fuzz_pieces pieces;
    int smaller = 0;
    fuzz_pieces_parse(&pieces, body, size);
    const size_t count = pieces.count;
    fuzz_pieces_free(&pieces);
    for (size_t at = 0; at < count && !smaller; ++at) {
        fuzz_pieces_parse(&pieces, body, size);
        fuzz_pieces_remove(&pieces, at);
        smaller = try(input, line, &pieces);
        fuzz_pieces_free(&pieces);
    }
    return smaller;
}

static int
take_records_away(struct input *input, const char *line, const uint8_t *body, size_t size)
{
    static struct fuzz_pieces pieces;
    static struct sqt_record all[FUZZ_RECORDS], some[FUZZ_RECORDS];
    int smaller = 0;
    fuzz_pieces_parse(&pieces, body, size);
    for (size_t at = 0; at < pieces.count && !smaller; ++at) {
        const size_t count = fuzz_block_unpack(&pieces, at, all);
        for (size_t part = count / 2; part && part >= count / 32 && !smaller; part /= 2)
            for (size_t from = 0; from < count && !smaller; from += part) {
                const size_t gone = count - from < part ? count - from : part;
                if (gone == count)
                    continue;
                memcpy(some, all, from * sizeof(*all));
                memcpy(some + from, all + from + gone, (count - from - gone) * sizeof(*all));
                fuzz_pieces_free(&pieces);
                fuzz_pieces_parse(&pieces, body, size);
                fuzz_block_pack(&pieces, at, some, count - gone, 1);
                smaller = try(input, line, &pieces);
            }
    }
    fuzz_pieces_free(&pieces);
    return smaller;
}

/* Each line of a text by itself. */
static int
take_lines_away(struct input *input, const char *line, const uint8_t *body, size_t size)
{
    static struct fuzz_pieces pieces;
    int smaller = 0;
    fuzz_pieces_parse(&pieces, body, size);
    for (size_t at = 0; at < pieces.count; ++at) {
        struct make_bytes *const b = &pieces.piece[at].bytes;
        if (fuzz_frame_type(&pieces.piece[at]) != SQT_FRAME_TEXT)
            continue;
        for (size_t from = sizeof(struct sqt_frame); from < b->size;) {
            uint8_t *const end = memchr(b->data + from, '\n', b->size - from);
            const size_t length = end ? (size_t)(end + 1 - (b->data + from)) : b->size - from;
            struct make_bytes whole = {NULL, 0, 0};
            make_append(&whole, b->data, b->size);
            memmove(b->data + from, b->data + from + length, b->size - from - length);
            b->size -= length;
            if (try(input, line, &pieces)) {
                smaller = 1;
                make_free(&whole);
            } else {
                make_free(b);
                *b = whole;
                from += length;
            }
        }
    }
    fuzz_pieces_free(&pieces);
    return smaller;
}

static void
make_smaller(struct input *input)
{
    static int (*const ways[])(struct input *, const char *, const uint8_t *,
                               size_t) = {take_pieces_away, take_records_away, take_lines_away};
    for (size_t way = 0, tries = 0; way < 3 && tries < 200; ++tries) {
        struct fuzz_input parsed;
        struct make_bytes copy = {NULL, 0, 0};
        char line[FUZZ_LINE + 1];
        make_append(&copy, input->bytes.data, input->bytes.size);
        if (fuzz_input_parse(&parsed, copy.data, copy.size) != 0) {
            make_free(&copy);
            return;
        }
        const size_t length = (size_t)(parsed.body - copy.data) - 1;
        memcpy(line, copy.data, length);
        line[length] = '\0';
        way += !ways[way](input, line, parsed.body, parsed.body_size);
        make_free(&copy);
    }
}

int
main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: fuzz_choose OUT FOLDER...\n");
        return 2;
    }
    counter_count = (size_t)(__llvm_profile_end_counters() - __llvm_profile_begin_counters());
    reached_now = malloc(counter_count);
    chosen_by = calloc(counter_count, sizeof(*chosen_by));
    if (!reached_now || !chosen_by)
        return 2;
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 2; i < argc; ++i)
        load(argv[i]);
    const size_t chosen = choose();
    size_t bytes = 0;
    for (size_t i = chosen; i-- > 0;)
        make_smaller(&inputs[i]);
    for (size_t i = 0; i < chosen; ++i) {
        char path[4096];
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        for (size_t k = 0; k < inputs[i].bytes.size; ++k)
            hash = (hash ^ inputs[i].bytes.data[k]) * UINT64_C(0x100000001b3);
        snprintf(path, sizeof(path), "%s/%016" PRIx64, argv[1], hash);
        make_file(path, &inputs[i].bytes);
        bytes += inputs[i].bytes.size;
    }
    printf("fuzz_choose: %zu of %zu inputs, %zu bytes\n", chosen, input_count, bytes);
    return 0;
}
