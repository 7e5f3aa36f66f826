/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fuzz-input.c - the line of words at the head of an input, and draws of numbers; see fuzz.h.
 */
#include "fuzz.h"

#include <string.h>

const char *const fuzz_words[FUZZ_WORDS] = {
    [FUZZ_STDIN] = "stdin",       [FUZZ_DIR] = "dir",          [FUZZ_CREW] = "crew", [FUZZ_FIGURES] = "figures",
    [FUZZ_LOG] = "log",           [FUZZ_REPORT] = "report",    [FUZZ_TOP] = "top",   [FUZZ_SHIP] = "ship",
    [FUZZ_SNAPSHOT] = "snapshot", [FUZZ_EXPORTER] = "exporter"};

static void
take_word(struct fuzz_input *input, char *word)
{
    if (*word == '-' && input->argument_count < FUZZ_ARGUMENTS)
        input->arguments[input->argument_count++] = word;
    for (unsigned i = 0; *word == '+' && i < FUZZ_WORDS; ++i)
        if (strcmp(word + 1, fuzz_words[i]) == 0)
            input->words |= 1u << i;
}

int
fuzz_input_parse(struct fuzz_input *input, const uint8_t *data, size_t size)
{
    memset(input, 0, sizeof(*input));
    const uint8_t *const end = size ? memchr(data, '\n', size < FUZZ_LINE ? size : FUZZ_LINE) : NULL;
    if (!end || memchr(data, '\0', (size_t)(end - data)))
        return -1;
    memcpy(input->line, data, (size_t)(end - data));
    for (char *word = input->line, *next = word; next; word = next) {
        next = strchr(word, '\t');
        if (next)
            *next++ = '\0';
        take_word(input, word);
    }
    input->body = end + 1;
    input->body_size = size - (size_t)(input->body - data);
    return 0;
}

/* ---- draws ---- */

void
fuzz_random_init(struct fuzz_random *random, uint64_t seed)
{
    random->state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    fuzz_below(random, 1);
    fuzz_below(random, 1);
}

uint64_t
fuzz_below(struct fuzz_random *random, uint64_t limit)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return limit ? (random->state >> 11) % limit : 0;
}

uint64_t
fuzz_edge(struct fuzz_random *random)
{
    const uint64_t power = UINT64_C(1) << fuzz_below(random, 64);
    switch (fuzz_below(random, 5)) {
    case 0:
        return power - 1;
    case 1:
        return 0 - power;
    case 2:
        return fuzz_below(random, 16);
    case 3:
        return power + fuzz_below(random, power);
    default:
        return power;
    }
}
