/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fuzz-words.c - changes of the line of words: which table or figure, with which options.
 */
#include "fuzz.h"

#include <string.h>

#include "pass/family.h"

#define WORDS 24
#define WORD 400

struct words {
    char word[WORDS][WORD];
    size_t count;
    struct fuzz_random *random;
};

static uint64_t
below(const struct words *w, uint64_t limit)
{
    return fuzz_below(w->random, limit);
}

#define PICK(w, list) ((list)[below(w, sizeof(list) / sizeof(*(list)))])

/* ---- the line as words ---- */

static void
split(struct words *w, const char *line)
{
    while (*line && w->count < WORDS) {
        const size_t length = strcspn(line, "\t");
        const size_t kept = length < WORD - 1 ? length : WORD - 1;
        memcpy(w->word[w->count], line, kept);
        w->word[w->count++][kept] = '\0';
        line += length + (line[length] == '\t');
    }
}

static void
join(const struct words *w, char *line)
{
    size_t used = 0;
    for (size_t i = 0; i < w->count; ++i) {
        const size_t length = strlen(w->word[i]);
        if (used + length + 1 >= FUZZ_LINE)
            break;
        if (used)
            line[used++] = '\t';
        memcpy(line + used, w->word[i], length);
        used += length;
    }
    line[used] = '\0';
}

static void
drop(struct words *w, size_t at)
{
    if (at < w->count)
        memmove(w->word[at], w->word[at + 1], (--w->count - at) * sizeof(w->word[0]));
}

static void
put(struct words *w, const char *word)
{
    const size_t name = strcspn(word, "=");
    size_t i = 0;
    while (i < w->count && !(strncmp(w->word[i], word, name) == 0 && strcspn(w->word[i], "=") == name))
        ++i;
    if (i == WORDS)
        i = below(w, WORDS);
    w->count += i == w->count;
    snprintf(w->word[i], WORD, "%s", word);
}

/* ---- what is asked for ---- */

static const struct sqt_table *
asked(const struct words *w)
{
    for (size_t i = 0; i < w->count; ++i) {
        const char *const word = w->word[i];
        const int figure = strncmp(word, "--figure=", 9) == 0;
        const struct sqt_table *const table =
            figure || strncmp(word, "--table=", 8) == 0 ? sqt_table_find(strchr(word, '=') + 1, figure) : NULL;
        if (table)
            return table;
    }
    return &sqt_tables[SQT_TABLE_requests];
}

static int
names_job(const char *word)
{
    return strncmp(word, "--table=", 8) == 0 || strncmp(word, "--figure=", 9) == 0 ||
           strncmp(word, "--format=", 9) == 0 || strncmp(word, "--from=", 7) == 0 ||
           strncmp(word, "--whatif=", 9) == 0 || strcmp(word, "+figures") == 0;
}

static void
choose_job(struct words *w)
{
    static const char *const others[] = {"--format=chrome", "--format=otlp", "--format=ctf", "--format=parquet",
                                         "+figures",        "--from=strace", "--from=perf",  "--whatif=cache_mem=1GB"};
    char word[WORD];
    for (size_t i = w->count; i-- > 0;)
        if (names_job(w->word[i]) || below(w, 2))
            drop(w, i);
    if (below(w, 6) == 0) {
        const char *const other = PICK(w, others);
        put(w, other);
        if (strncmp(other, "--from", 6) == 0)
            put(w, "--table=syscalls");
        return;
    }
    const struct sqt_table *const table = &PICK(w, sqt_tables);
    snprintf(word, sizeof(word), "--%s=%s", table->figure ? "figure" : "table", table->name);
    put(w, word);
}

/* ---- values ---- */

static void
time_text(const struct words *w, char *text, size_t size)
{
    static const char *const units[] = {"ns", "us", "ms", "s", "min", "h", ""};
    snprintf(text, size, "%s%llu%s%s", below(w, 8) ? "" : "-",
             (unsigned long long)(below(w, 4) ? 1 + below(w, 100) : fuzz_edge(w->random)), below(w, 8) ? "" : ".5",
             PICK(w, units));
}

static void
put_time(struct words *w, const char *option)
{
    char word[WORD], value[64];
    time_text(w, value, sizeof(value));
    snprintf(word, sizeof(word), "--%s=%s", option, value);
    put(w, word);
}

static void
put_number(struct words *w, const char *option)
{
    char word[WORD];
    snprintf(word, sizeof(word), "--%s=%llu", option,
             (unsigned long long)(below(w, 2) ? below(w, 20) : fuzz_edge(w->random)));
    put(w, word);
}

static void
value_text(const struct words *w, enum sqt_type type, char *text, size_t size)
{
    static const char *const texts[] = {"TCP_HIT", "hit", "disk_hit", "miss", "*",  "TCP*", "'a b'", "\"\"",
                                        "?[!a]*",  "ok",  "none",     "read", "in", "out",  "GET",   "'ufs /*'"};
    static const char *const units[] = {"", "B", "KB", "MB", "GB", "TB", "ns"};
    if (below(w, 8) == 0)
        snprintf(text, size, "-");
    else if (type == SQT_TYPE_TEXT || below(w, 16) == 0)
        snprintf(text, size, "%s", PICK(w, texts));
    else if (type == SQT_TYPE_TIME || type == SQT_TYPE_NS || type == SQT_TYPE_MS)
        time_text(w, text, size);
    else
        snprintf(text, size, "%llu%s", (unsigned long long)(below(w, 2) ? below(w, 500) : fuzz_edge(w->random)),
                 type == SQT_TYPE_BYTES || below(w, 16) == 0 ? PICK(w, units) : "");
}

/* A comparison of a column that the table's expressions take, as a rule. */
static void
comparison(const struct words *w, char *text, size_t size)
{
    static const char *const operators[] = {"==", "!=", "<", "<=", ">", ">=", "~", "!~", "=", "=~"};
    const struct sqt_family *const family = sqt_family_of(asked(w));
    const unsigned tables = family->where_count;
    const struct sqt_table *const table =
        tables && below(w, 16) ? &sqt_tables[family->where[below(w, tables)]] : &PICK(w, sqt_tables);
    const struct sqt_column *const column = &table->columns[below(w, table->column_count)];
    char value[64];
    value_text(w, column->type, value, sizeof(value));
    snprintf(text, size, "%s%s %s %s", below(w, 6) ? "" : "not ", column->name,
             operators[below(w, column->type == SQT_TYPE_TEXT ? 10
                                : below(w, 8)                 ? 6
                                                              : 10)],
             value);
}

static void
put_where(struct words *w)
{
    char word[WORD] = "--where=", part[110];
    unsigned open = 0;
    for (uint64_t n = 1 + below(w, 3); n; --n) {
        comparison(w, part, sizeof(part));
        const size_t used = strlen(word); /* at most 8 + 2 * 117: there is room */
        const int opens = n > 1 && below(w, 3) == 0;
        const int closes = open && below(w, 2);
        open += (unsigned)opens;
        if (used + sizeof(part) + 8 > sizeof(word))
            break;
        strcat(strcat(strcat(word, opens ? "(" : ""), part), closes ? ")" : "");
        strcat(word, n == 1 ? "" : below(w, 2) ? " and " : " or ");
        open -= (unsigned)closes;
    }
    while (open-- && strlen(word) + 1 < sizeof(word))
        strcat(word, ")");
    put(w, word);
}

static void
put_columns(struct words *w)
{
    const struct sqt_table *const table = asked(w);
    char word[WORD] = "--columns=";
    for (uint64_t n = 1 + below(w, 4); n; --n) {
        const size_t used = strlen(word);
        snprintf(word + used, sizeof(word) - used, "%s%s", table->columns[below(w, table->column_count)].name,
                 n > 1 ? "," : "");
    }
    put(w, word);
}

static const char *
any_column(const struct words *w)
{
    const struct sqt_table *const table = asked(w);
    return table->columns[below(w, table->column_count)].name;
}

/* What is made of the rows: groups, a histogram, times of day. */
static void
put_made(struct words *w)
{
    static const char *const ways[] = {"clock=wall", "format=table", "format=json", "format=gnuplot", "wide"};
    char word[WORD];
    switch (below(w, 4)) {
    case 0:
        snprintf(word, sizeof(word), "--group-by=%s", any_column(w));
        break;
    case 1:
        snprintf(word, sizeof(word), "--group-by=%s,%s", any_column(w), below(w, 2) ? "when" : any_column(w));
        break;
    case 2:
        snprintf(word, sizeof(word), "--%s=%s", below(w, 2) ? "histogram" : "of", any_column(w));
        break;
    default:
        snprintf(word, sizeof(word), "--%s", PICK(w, ways));
    }
    put(w, word);
}

static void
put_option(struct words *w)
{
    static const char *const plain[] = {"--no-header", "--no-comments", "--strict", "--quiet", "--follow"};
    /* Of programs other than sqtrace-dump. */
    static const char *const others[] = {"--single-file",
                                         "--figures=load,stages",
                                         "--raw=slowest:1,failed",
                                         "--table=requests,losses,rollups",
                                         "--sort=whom",
                                         "--sort=stage",
                                         "--limit=1",
                                         "--xid=1",
                                         "--xid=2",
                                         "--now=1min",
                                         "--last=1s",
                                         "--keep=1",
                                         "--detail",
                                         "--top=1",
                                         "--series=500",
                                         "--buckets=1us,1s",
                                         "--otlp-sample=0.5",
                                         "--otlp-failed",
                                         "--otlp-stages",
                                         "--otlp-slow=1ms",
                                         "--log-format=squid",
                                         "--log-format=squid-join",
                                         "--log-format=ecs",
                                         "--log-format=ltsv",
                                         "--log-format=%ts %6tr %>a %Ss/%03>Hs %<st %rm %ru",
                                         "--dry-run"};
    char word[WORD];
    switch (below(w, 15)) {
    case 0:
    case 1:
    case 2:
    case 3:
        put_where(w);
        break;
    case 4:
        put_columns(w);
        break;
    case 5:
    case 6:
        put_time(w, "group");
        break;
    case 7:
        put_time(w, "peak");
        break;
    case 8:
        put_time(w, below(w, 2) ? "since" : "until");
        break;
    case 9:
        put_number(w, below(w, 2) ? "batch" : "kid");
        break;
    case 10:
        put(w, PICK(w, plain));
        break;
    case 11:
    case 12:
        put_made(w);
        break;
    case 13:
        put(w, PICK(w, others));
        break;
    default:
        snprintf(word, sizeof(word), "+%s", PICK(w, fuzz_words));
        put(w, word);
    }
}

/* Bytes of a word, as libFuzzer changes them. */
static void
change_bytes(struct words *w)
{
    if (!w->count)
        return;
    char *const word = w->word[below(w, w->count)];
    const size_t size = LLVMFuzzerMutate((uint8_t *)word, strlen(word), WORD - 1);
    for (size_t i = 0; i < size; ++i)
        if (!word[i] || word[i] == '\n' || word[i] == '\t')
            word[i] = ' ';
    word[size] = '\0';
}

void
fuzz_words_mutate(char *line, struct fuzz_random *random)
{
    struct words w = {.count = 0, .random = random};
    split(&w, line);
    switch (below(&w, 8)) {
    case 0:
    case 1:
    case 2:
        choose_job(&w);
        break;
    case 3:
        drop(&w, below(&w, w.count));
        break;
    case 4:
        change_bytes(&w);
        break;
    default:
        put_option(&w);
    }
    join(&w, line);
}
