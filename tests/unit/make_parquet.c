/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_parquet.c - a table with a column of each type, as Parquet in a new directory and as TSV on the standard output.
 *
 * usage: make_parquet DIRECTORY ROWS PROCESSES
 *
 * A row is of one process after the other.  The first rows have the bounds of each type, and what is missing; the others
 * grow, jump or stay, each column in its own way.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "parquet/parquet.h"
#include "row/cell-text.h"

#define TYPES(X) X(TIME) X(NS) X(MS) X(PCT) X(MILLI) X(BYTES) X(COUNT) X(FLAG) X(ID) X(HASH) X(TEXT)

enum {
#define CELL(type) CELL_##type,
    TYPES(CELL)
#undef CELL
        CELL_WORD,
    CELL_PROCESS,
    CELL_NONE,
    CELLS
};

static const struct sqt_column columns[CELLS] = {
#define COLUMN(type) {"c_" #type, SQT_TYPE_##type, ""},
    TYPES(COLUMN)
#undef COLUMN
        {"word", SQT_TYPE_TEXT, ""},
    {"ring", SQT_TYPE_TEXT, ""},
    {"none", SQT_TYPE_TEXT, ""}};
static const struct sqt_table table = {.name = "types", .columns = columns, .column_count = CELLS};

static uint64_t
random_number(void)
{
    static uint64_t x = 88172645463325252;
    x ^= x << 13;
    x ^= x >> 7;
    return x ^= x << 17;
}

#define DECIMALS INT64_C(999999999999999999)

static int
is_decimal(unsigned cell)
{
    return cell == CELL_TIME || cell == CELL_MS || cell == CELL_PCT || cell == CELL_MILLI;
}

static int64_t
number_of(unsigned cell, uint64_t row)
{
    static const int64_t bounds[] = {0, -1, 1, INT64_MAX, INT64_MIN + 1, INT64_MAX - 1, INT32_MAX, INT32_MIN, 255, 256};
    static const int64_t decimals[] = {0, -1, 1, DECIMALS, -DECIMALS, 1000, 999, -999, 1000000, -1000001};
    if (row < 10 || row % 1000 == 7)
        return is_decimal(cell) ? decimals[row % 10] : bounds[row % 10];
    if (row < 20 || random_number() % (cell + 5) == 0 || (cell == CELL_MILLI && row % 1000 > 300))
        return SQT_CELL_MISSING;
    if (cell == CELL_FLAG)
        return row / 100 % 2;
    if (cell == CELL_HASH)
        return (int64_t)random_number();
    return (int64_t)(row * 1000 + random_number() % (1u << (cell + 1)));
}

static const char *
text_of(uint64_t row, char text[64])
{
    static const char *const odd[] = {"",         "-",    "\t", "tab\there", "\n", "\xff\xfe", "\xc3\xa9\xe2\x82\xac",
                                      "a\x1b[2J", "NULL", "\\N"};
    if (row < 10)
        return odd[row];
    if (row < 20 || row % 5 == 0)
        return NULL;
    snprintf(text, 64, "text %llu", (unsigned long long)(row % 3 ? random_number() % 100000 : row));
    return text;
}

int
main(int argc, char **argv)
{
    static const char *const words[] = {"out", "in"};
    if (argc != 4 || mkdir(argv[1], 0777) != 0)
        return 2;
    const uint64_t rows = strtoull(argv[2], NULL, 10);
    const unsigned processes = (unsigned)atoi(argv[3]);
    struct sqt_origin *const origins = calloc(processes, sizeof(*origins));
    const int directory = open(argv[1], O_RDONLY | O_DIRECTORY);
    struct sqt_parquet *const parquet = sqt_parquet_new(directory, argv[1], 0, 0666);
    struct sqt_parquet_table *const files = sqt_parquet_add(parquet, &table);
    for (unsigned i = 0; i < processes; ++i) {
        origins[i].index = i;
        memcpy(origins[i].identity.ring_id, &i, sizeof(i));
        memcpy(origins[i].shown_ring, origins[i].identity.ring_id, sizeof(origins[i].shown_ring));
    }
    for (unsigned c = 0; c < CELLS; ++c)
        printf("%s%c", columns[c].name, c + 1 < CELLS ? '\t' : '\n');
    for (uint64_t row = 0; row < rows; ++row) {
        union sqt_cell cells[CELLS];
        char text[64], ring[40], print[SQT_CELL_TEXT_ROOM];
        const uint32_t process = (uint32_t)(row % processes);
        snprintf(ring, sizeof(ring), "%02x%02x%028x", process & 255, process >> 8, 0);
        for (unsigned c = 0; c < CELL_TEXT; ++c)
            cells[c].number = number_of(c, row);
        cells[CELL_TEXT].text = text_of(row, text);
        cells[CELL_WORD].text = words[row / 3000 % 2];
        cells[CELL_PROCESS].text = ring;
        cells[CELL_NONE].text = NULL;
        for (unsigned c = 0; c < CELLS; ++c) {
            *sqt_put_cell(print, columns[c].type, &cells[c]) = '\0';
            printf("%s%c", print, c + 1 < CELLS ? '\t' : '\n');
        }
        if (!sqt_parquet_row(files, &origins[process], cells))
            break;
    }
    const int failed = sqt_parquet_finish(parquet) != 0;
    if (failed)
        fprintf(stderr, "%s\n", sqt_parquet_error(parquet));
    sqt_parquet_free(parquet);
    free(origins);
    return failed;
}
