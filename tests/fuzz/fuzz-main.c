/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fuzz-main.c - the fuzz target without libFuzzer, for any compiler and sanitizer.
 *
 *     fuzz_dump [FILE|DIRECTORY]...                  takes each input once
 *     fuzz_dump --runs=N [--seed=S] FILE|DIRECTORY   and then N mutations of them, blindly
 */
#include "fuzz.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ROOM (1u << 20)

static struct make_bytes *inputs;
static size_t input_count;
static struct fuzz_random random_state;

size_t
LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    if (size && fuzz_below(&random_state, 2))
        data[fuzz_below(&random_state, size)] ^= (uint8_t)(1u << fuzz_below(&random_state, 8));
    else if (size && fuzz_below(&random_state, 2))
        size = fuzz_below(&random_state, size) + 1;
    else if (size < max_size)
        data[size++] = (uint8_t)fuzz_below(&random_state, 256);
    return size;
}

static void
load_file(const char *path)
{
    uint8_t piece[65536];
    size_t n;
    FILE *const f = fopen(path, "rb");
    inputs = realloc(inputs, (input_count + 1) * sizeof(*inputs));
    if (!f || !inputs) {
        perror(path);
        exit(2);
    }
    struct make_bytes *const b = &inputs[input_count++];
    memset(b, 0, sizeof(*b));
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
        make_append(b, piece, n);
    fclose(f);
}

static void
load(const char *path)
{
    struct dirent **names;
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        load_file(path);
        return;
    }
    const int count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; ++i) {
        char file[4096];
        if (*names[i]->d_name != '.' && snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name) < 4096)
            load_file(file);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}

/* $FUZZ_KEEP: a file for the input that is taken, so that the one that failed is known. */
static void
take(const uint8_t *data, size_t size)
{
    const struct make_bytes bytes = {(uint8_t *)(uintptr_t)data, size, size};
    if (getenv("FUZZ_KEEP"))
        make_file(getenv("FUZZ_KEEP"), &bytes);
    LLVMFuzzerTestOneInput(data, size);
}

int
main(int argc, char **argv)
{
    static uint8_t data[ROOM];
    uint64_t runs = 0, seed = 1;
    for (int i = 1; i < argc; ++i)
        if (strncmp(argv[i], "--runs=", 7) == 0)
            runs = strtoull(argv[i] + 7, NULL, 10);
        else if (strncmp(argv[i], "--seed=", 7) == 0)
            seed = strtoull(argv[i] + 7, NULL, 10);
        else
            load(argv[i]);
    if (!input_count) {
        fprintf(stderr, "usage: fuzz_dump [--runs=N] [--seed=S] FILE|DIRECTORY...\n");
        return 2;
    }
    fuzz_random_init(&random_state, seed);
    LLVMFuzzerInitialize(&argc, &argv);
    for (size_t i = 0; i < input_count; ++i)
        take(inputs[i].data, inputs[i].size);
    for (uint64_t run = 0; run < runs; ++run) {
        const struct make_bytes *const b = &inputs[fuzz_below(&random_state, input_count)];
        if (!b->size || b->size > ROOM / 2)
            continue;
        memcpy(data, b->data, b->size);
        take(data, LLVMFuzzerCustomMutator(data, b->size, ROOM, (unsigned)fuzz_below(&random_state, UINT32_MAX)));
    }
    printf("fuzz_dump: %zu inputs and %" PRIu64 " mutations taken\n", input_count, runs);
    for (size_t i = 0; i < input_count; ++i)
        make_free(&inputs[i]);
    free(inputs);
    return 0;
}
