/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * table.c - see table.h.
 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "event.h"

#define TABLE_TAGS "_ZN7LogTags4Str_E" /* LogTags::Str_ */

#define NONE SQT_SOURCE_NONE
#define A(n) SQT_SOURCE_ARGUMENT(n)
#define P(n) SQT_SOURCE_POINTER(n)
#define CODE SQT_SOURCE_CODE
const struct sqt_attach_info sqt_attach_infos[SQT_ATTACH_ROWS] = {
#define SQT_ATTACH(NAME, stage, a, b, c, functions, doc) {#NAME, stage, functions, doc, {a, b, c}},
#include "attach.def"
};
#undef NONE
#undef A
#undef P
#undef CODE

/* A name that is looked for, and the row that asks for it. */
struct table_name {
    const char *name;
    unsigned row;
};

static int
table_by_text(const void *a, const void *b)
{
    return strcmp(((const struct table_name *)a)->name, ((const struct table_name *)b)->name);
}

/* Splits all names of the table, sorted, and one more; *memory has their texts. */
static struct table_name *
table_names(char **memory, size_t *count)
{
    size_t size = sizeof(TABLE_TAGS), most = 1;
    for (unsigned i = 0; i < SQT_ATTACH_ROWS; ++i)
        size += strlen(sqt_attach_infos[i].functions) + 1;
    for (unsigned i = 0; i < SQT_ATTACH_ROWS; ++i)
        for (const char *p = sqt_attach_infos[i].functions; p; p = strchr(p + 1, ' '))
            ++most;
    char *to = *memory = sqt_zeroed(size, 1);
    struct table_name *const names = sqt_zeroed(most, sizeof(*names));
    *count = 0;
    for (unsigned i = 0; i < SQT_ATTACH_ROWS; ++i) {
        strcpy(to, sqt_attach_infos[i].functions);
        char *rest = NULL;
        const size_t whole = strlen(to) + 1;
        for (char *name = strtok_r(to, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
            names[(*count)++] = (struct table_name){name, i};
        to += whole;
    }
    strcpy(to, TABLE_TAGS);
    names[(*count)++] = (struct table_name){to, SQT_ATTACH_ROWS};
    qsort(names, *count, sizeof(*names), table_by_text);
    return names;
}

static void
table_add(struct sqt_attach_functions *functions, const struct sqt_elf *elf, const struct sqt_elf_symbol *symbol,
          unsigned row)
{
    uint8_t code[SQT_PLACE_FAR];
    size_t size = symbol->offset ? sqt_elf_code(elf, symbol->offset, code, sizeof(code)) : 0;
    if (!size)
        return;
    if (symbol->size && symbol->size < size)
        size = symbol->size;
    const struct sqt_place_found place = sqt_place_find(code, size);
    const uint64_t offset = symbol->offset + place.offset;
    for (size_t i = 0; i < functions->count; ++i)
        if (functions->found[i].offset == offset && functions->found[i].row == row)
            return;
    functions->has[row] = 1;
    functions->found[functions->count++] =
        (struct sqt_attach_function){(enum sqt_attach_row)row, symbol->name, offset, place.emulated};
}

static int
table_by_row(const void *a, const void *b)
{
    const struct sqt_attach_function *const x = a, *const y = b;
    return x->row != y->row ? (x->row > y->row) - (x->row < y->row) : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Each function that is watched costs. */
static void
table_drop(struct sqt_attach_functions *functions, unsigned row)
{
    size_t kept = 0;
    for (size_t i = 0; i < functions->count; ++i)
        if (functions->found[i].row != row)
            functions->found[kept++] = functions->found[i];
    functions->count = kept;
    functions->has[row] = 0;
}

void
sqt_attach_find(struct sqt_attach_functions *functions, const struct sqt_elf *elf)
{
    size_t count;
    memset(functions, 0, sizeof(*functions));
    struct table_name *const names = table_names(&functions->names, &count);
    struct sqt_elf_symbol *const symbols = sqt_zeroed(count, sizeof(*symbols));
    for (size_t i = 0; i < count; ++i)
        symbols[i].name = names[i].name;
    sqt_elf_find(elf, symbols, count);
    functions->found = sqt_zeroed(count, sizeof(*functions->found));
    for (size_t i = 0; i < count; ++i) {
        if (names[i].row == SQT_ATTACH_ROWS)
            functions->tags = symbols[i].address;
        else if (symbols[i].address)
            table_add(functions, elf, &symbols[i], names[i].row);
    }
    if (functions->has[SQT_ATTACH_HELD])
        table_drop(functions, SQT_ATTACH_READ_BEGINS);
    qsort(functions->found, functions->count, sizeof(*functions->found), table_by_row);
    free(symbols);
    free(names);
}

void
sqt_attach_functions_free(struct sqt_attach_functions *functions)
{
    free(functions->found);
    free(functions->names);
    memset(functions, 0, sizeof(*functions));
}
