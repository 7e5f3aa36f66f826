/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * links.c - from what the page says to the requests behind it.
 */
#include "index.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/finding/findings.h"

/* ---- filters ---- */

/* Adds "&key=value", with what a URL needs escaped. */
static void
link_add(char link[LINK_ROOM], const char *key, const char *value, size_t length)
{
    size_t at = strlen(link);
    at += (size_t)snprintf(link + at, LINK_ROOM - at, "%s%s=", at ? "&" : "", key);
    for (size_t i = 0; i < length && at + 4 < LINK_ROOM; ++i) {
        const unsigned char c = (unsigned char)value[i];
        at += (size_t)snprintf(link + at, LINK_ROOM - at, isalnum(c) || strchr("_-.,:", c) ? "%c" : "%%%02X", c);
    }
}

static void
link_begin(char link[LINK_ROOM], const struct report_trace *t)
{
    *link = '\0';
    if (*t->label)
        link_add(link, "trace", t->label, strlen(t->label));
}

const char *
link_of_part(char link[LINK_ROOM], const struct report_trace *t, enum sqt_class class, unsigned part)
{
    const char *const name = sqt_classes[class].name;
    const char *const stage = part < SQT_STAGES ? sqt_stages[part].name : "unaccounted";
    link_begin(link, t);
    link_add(link, "class", name, strlen(name));
    if (part < SQT_PARTS)
        link_add(link, "stage", stage, strlen(stage));
    return link;
}

const char *
link_of_parts(char link[LINK_ROOM], const struct report_trace *t, enum sqt_class class, uint64_t parts)
{
    char names[LINK_ROOM / 2] = "";
    link_begin(link, t);
    link_add(link, "class", sqt_classes[class].name, strlen(sqt_classes[class].name));
    for (unsigned p = 0; p < SQT_PARTS; ++p)
        if (parts >> p & 1 && strlen(names) + 40 < sizeof(names)) {
            strcat(names, *names ? "," : "");
            strcat(names, p < SQT_STAGES ? sqt_stages[p].name : "unaccounted");
        }
    link_add(link, "stage", names, strlen(names));
    return link;
}

/* The stages of a set of columns. */
static void
link_add_stages(char link[LINK_ROOM], uint64_t columns)
{
    char names[LINK_ROOM / 2] = "";
    for (unsigned i = 0; i < SQT_STAGES; ++i)
        if (columns >> SQT_STAGE_CELL(i) & 1 && strlen(names) + 40 < sizeof(names)) {
            strcat(names, *names ? "," : "");
            strcat(names, sqt_stages[sqt_stage_columns[i]].name);
        }
    if (*names)
        link_add(link, "stage", names, strlen(names));
}

/* Columns that are no stages. */
static void
link_add_others(char link[LINK_ROOM], uint64_t columns)
{
    static const struct {
        uint64_t column;
        const char *key, *sort;
    } others[] = {{SQT_NS(loop_held), "loop_held", "loop_held_ns"},
                  {SQT_NS(accept_wait), "accept_wait", "accept_wait_ns"},
                  {SQT_NS(client_tls), "client_tls", "client_tls_ns"}};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); ++i)
        if (columns == others[i].column) {
            link_add(link, others[i].key, "1", 1);
            link_add(link, "sort", others[i].sort, strlen(others[i].sort));
        }
}

const char *
link_of_finding(char link[LINK_ROOM], const struct report_trace *t, const union sqt_cell *row)
{
    static const char *const keys[SQT_FINDING_BYS] = {
        [SQT_FINDING_SERVER] = "server", [SQT_FINDING_PLACE] = "dir", [SQT_FINDING_REASON] = "miss_reason"};
    const char *const cause = row[SQT_CELL(findings, cause)].text, *const culprit =
                                                                       row[SQT_CELL(findings, culprit)].text;
    unsigned i = 0;
    link_begin(link, t);
    while (i < SQT_FINDINGS && strcmp(sqt_finding_rules[i].cause, cause) != 0)
        ++i;
    if (i < SQT_FINDINGS) {
        const struct sqt_finding_rule *const rule = &sqt_finding_rules[i];
        if (culprit && keys[rule->by])
            link_add(link, keys[rule->by], culprit,
                     rule->by == SQT_FINDING_PLACE ? strcspn(culprit, " ") : strlen(culprit));
        link_add_stages(link, rule->stages);
        link_add_others(link, rule->stages);
    } else {
        link_add(link, "sort", "total_ns", 8);
    }
    return link;
}

const char *
link_of_figure(char link[LINK_ROOM], const struct report_trace *t, const struct sqt_table *figure)
{
    static const struct {
        const char *filter, *words;
    } links[SQT_TABLES] = {
#define SQT_FIGURE(id, name, family, title, x, y, rule, caption)
#define SQT_CURVE(id, curve, FORM, part, whole)
#define SQT_LINK(id, filter, words) [SQT_TABLE_##id] = {filter, words},
#include "row/tables.def"
    };
    const size_t of = (size_t)(figure - sqt_tables);
    if (!links[of].words)
        return NULL;
    link_begin(link, t);
    const size_t at = strlen(link);
    snprintf(link + at, LINK_ROOM - at, "%s%s", at ? "&" : "", links[of].filter);
    return links[of].words;
}

/* ---- the list ---- */

void
index_data(const struct report *r, struct page *page, const char *fragment)
{
    for (size_t i = 0; i < r->trace_count; ++i) {
        char file[80];
        snprintf(file, sizeof(file), "requests%s%s.js", *r->traces[i].label ? "." : "", r->traces[i].label);
        page_put(page, fragment, "file", file, NULL);
    }
}

void
index_requests(struct page *page)
{
    page_put(page, "section", "id", "requests", "title", "Requests", NULL);
    page_put(page, "browse", NULL);
    page_put(page, "section-end", NULL);
}

int
index_files(struct report *r)
{
    static const char *const files[] = {"style.css",         "report.js",      "browse/browse.css",
                                        "browse/charts.css", "browse/data.js", "browse/view.js",
                                        "browse/charts.js",  "browse/heat.js", "browse/waterfall.js",
                                        "browse/address.js", "browse/list.js"};
    int failed = 0;
    for (unsigned i = 0; i < sizeof(files) / sizeof(*files) && !failed; ++i) {
        const char *const slash = strrchr(files[i], '/');
        char *const from = sqt_zeroed(strlen(r->pages) + 32, 1);
        sprintf(from, "%s/%s", r->pages, files[i]);
        failed = folder_copy(r, from, slash ? slash + 1 : files[i]);
        free(from);
    }
    return failed ? -1 : 0;
}
