/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * name.c - names of files in a trace directory.
 */
#include "file-internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STAMP_SIZE 16 /* yyyymmddThhmmssZ */
#define ID_SIZE 8
#define SEQUENCE_DIGITS 6

void
sqt_hex(char *out, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        sprintf(out + 2 * i, "%02x", bytes[i]);
}

void
sqt_base_name(char base[SQT_BASE_MAX], const char *service, uint32_t kid, uint64_t start_ns, const uint8_t ring_id[16])
{
    const time_t seconds = (time_t)(start_ns / UINT64_C(1000000000));
    char stamp[STAMP_SIZE + 1], id[ID_SIZE + 1];
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
    sqt_hex(id, ring_id, ID_SIZE / 2);
    snprintf(base, SQT_BASE_MAX, "%s.%" PRIu32 ".%s.%s", service, kid, stamp, id);
}

void
sqt_segment_name(char name[SQT_NAME_MAX], const char *base, uint64_t sequence)
{
    snprintf(name, SQT_NAME_MAX, "%s.%0*" PRIu64 SQT_SEGMENT_SUFFIX, base, SEQUENCE_DIGITS, sequence);
}

void
sqt_pointer_name(char name[SQT_NAME_MAX], const char *base)
{
    snprintf(name, SQT_NAME_MAX, "%s" SQT_POINTER_SUFFIX, base);
}

/* Cuts suffix off the end of text; returns whether it was there. */
static int
name_cut(char *text, const char *suffix)
{
    const size_t size = strlen(text), suffix_size = strlen(suffix);
    if (size < suffix_size || strcmp(text + size - suffix_size, suffix) != 0)
        return 0;
    text[size - suffix_size] = '\0';
    return 1;
}

/* Cuts the text at its last dot; returns what follows the dot, or NULL if there is none. */
static char *
cut_part(char *text)
{
    char *const dot = strrchr(text, '.');
    if (!dot)
        return NULL;
    *dot = '\0';
    return dot + 1;
}

static int
all_digits(const char *text)
{
    const char *p = text;
    while (isdigit((unsigned char)*p))
        ++p;
    return p != text && !*p;
}

void
sqt_name_parse(struct sqt_name *parsed, const char *name)
{
    char text[SQT_NAME_MAX];
    memset(parsed, 0, sizeof(*parsed));
    if (strlen(name) >= sizeof(text))
        return;
    strcpy(text, name);

    const int draft = name_cut(text, SQT_DRAFT_SUFFIX);
    const int pointer = name_cut(text, SQT_POINTER_SUFFIX);
    if (!pointer) {
        const char *sequence;
        if (!name_cut(text, SQT_SEGMENT_SUFFIX) || !(sequence = cut_part(text)) || !all_digits(sequence))
            return;
        parsed->sequence = strtoull(sequence, NULL, 10);
    }
    if (strlen(text) >= sizeof(parsed->base))
        return;
    strcpy(parsed->base, text);

    const char *const id = cut_part(text);
    const char *const stamp = cut_part(text);
    const char *const kid = cut_part(text);
    if (!kid || strlen(id) != ID_SIZE || strlen(stamp) != STAMP_SIZE || !all_digits(kid) || !*text ||
        strlen(text) >= sizeof(parsed->service))
        return;
    strcpy(parsed->service, text);
    parsed->kid = (uint32_t)strtoul(kid, NULL, 10);
    parsed->kind = draft ? SQT_NAME_DRAFT : pointer ? SQT_NAME_POINTER : SQT_NAME_SEGMENT;
}
