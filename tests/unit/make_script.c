/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_script.c - makes a segment of kid 1 of its text form, which it reads.
 *
 * usage: make_script FILE <SCRIPT
 *
 *     def 2 1 TCP_MISS       a definition: kind, number, text
 *     100 DNS_BEGIN 5 7 0    a record: microseconds after the start, event, id, arg, aux
 *     + PART_SERVER 4 0 1    a further record of that unit
 *     # anything             a comment
 *
 * Numbers that are left out are 0.  They may be hexadecimal, as 0x8000000000000005.
 */
#include <stdlib.h>
#include <string.h>

#include "format/events.h"
#include "make_trace.h"

#define RECORDS 4096

static struct sqt_record records[RECORDS];
static size_t count;
static struct make_bytes texts;

static void
die(const char *line, const char *why)
{
    fprintf(stderr, "make_script: %s: %s\n", why, line);
    exit(1);
}

static uint16_t
event_number(const char *line, const char *name)
{
    unsigned event = 1;
    while (event < SQT_EVENTS && strcmp(sqt_events[event].name, name) != 0)
        ++event;
    if (event == SQT_EVENTS)
        die(line, "no such event");
    return (uint16_t)event;
}

/* A further record of the unit whose first one stands before those that are parts. */
static void
be_a_part(const char *line)
{
    size_t first = count;
    while (first && records[first - 1].flags & SQT_FLAG_PART)
        --first;
    if (!first)
        die(line, "there is no record before it");
    records[count].time = records[count - 1].time;
    records[count].flags = SQT_FLAG_PART;
    ++records[first - 1].flags;
}

static void
take_record(const char *line)
{
    char when[32], name[64], numbers[3][32] = {"0", "0", "0"};
    if (count == RECORDS)
        die(line, "too many records");
    if (sscanf(line, "%31s %63s %31s %31s %31s", when, name, numbers[0], numbers[1], numbers[2]) < 2)
        die(line, "neither a definition nor a record");
    records[count] = (struct sqt_record){.time = MAKE_START + (uint64_t)(strtod(when, NULL) * 3000),
                                         .id = strtoull(numbers[0], NULL, 0),
                                         .arg = strtoull(numbers[1], NULL, 0),
                                         .aux = (uint32_t)strtoul(numbers[2], NULL, 0),
                                         .event = event_number(line, name)};
    if (strcmp(when, "+") == 0)
        be_a_part(line);
    ++count;
}

static void
take_definition(const char *line)
{
    unsigned kind, number;
    int text = 0;
    char definition[1200];
    if (sscanf(line, "def %u %u %n", &kind, &number, &text) < 2 || !text)
        die(line, "no definition");
    snprintf(definition, sizeof(definition), "def\t%u\t%u\t%s\n", kind, number, line + text);
    make_append(&texts, definition, strlen(definition));
}

int
main(int argc, char **argv)
{
    char line[1024];
    struct sqt_identity identity;
    if (argc != 2) {
        fputs("usage: make_script FILE <SCRIPT\n", stderr);
        return 2;
    }
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "def ", 4) == 0)
            take_definition(line);
        else if (*line && *line != '#')
            take_record(line);
    }
    make_append(&texts, "", 1);
    make_identity(&identity, 1, 1);
    make_segment_file(argv[1], &identity, 0, 0, records, count, (const char *)texts.data, MAKE_ZLIB);
    make_free(&texts);
    return 0;
}
