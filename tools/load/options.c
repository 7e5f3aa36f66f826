/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * options.c - the command line of sqtrace-load.
 */
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/memory.h"
#include "load.h"

enum kind { FLAG, TEXT, NUMBER, REAL, RATIO, TIME, BYTES };

const struct option_info load_option_infos[LOAD_OPTIONS] = {
#define LOAD_OPTION(id, name, letter, kind, value, preset, least, doc) {name, value, doc, letter},
#include "options.def"
};

static const struct {
    enum kind kind;
    const char *preset;
    int64_t least;
} rules[LOAD_OPTIONS] = {
#define LOAD_OPTION(id, name, letter, kind, value, preset, least, doc) {kind, preset, least},
#include "options.def"
};

const struct workload load_workloads[WORKLOADS] = {
#define LOAD_WORKLOAD(name, doc) {#name, doc, name##_plan, name##_next, name##_end},
#include "workloads.def"
};

static const struct {
    enum load_workload workload;
    enum load_option option;
    const char *text;
} presets[] = {
#define LOAD_PRESET(workload, option, text) {WORKLOAD_##workload, LOAD_##option, text},
#include "workloads.def"
};

void
load_help(FILE *to)
{
    fputs("usage: sqtrace-load [OPTION]... [URL]...\n"
          "       sqtrace-load --origin [OPTION]...\n"
          "Sends a workload to a proxy, or to an origin server of its own, and says how long the responses took.\n\n"
          "workloads:\n",
          to);
    for (unsigned i = 0; i < WORKLOADS; ++i)
        fprintf(to, "  %-6s %s\n", load_workloads[i].name, load_workloads[i].doc);
    fputs("\noptions:\n", to);
    options_help(to, load_option_infos, LOAD_OPTIONS);
    fputs("\npresets:", to);
    for (unsigned i = 0; i < LOAD_OPTIONS; ++i)
        if (rules[i].preset)
            fprintf(to, " --%s=%s", load_option_infos[i].name, rules[i].preset);
    for (unsigned i = 0; i < sizeof(presets) / sizeof(*presets); ++i)
        fprintf(to, "%s %s: --%s=%s", i ? "," : ";", load_workloads[presets[i].workload].name,
                load_option_infos[presets[i].option].name, presets[i].text);
    fputs("\n\nexit status: 0 done; 1 could not, or a body was wrong; 2 usage; 3 done, but the run is invalid: "
          "more than 1 % of the requests were late, or no response was good\n",
          to);
}

/* ---- values ---- */

static int
take_real(struct load *load, const struct options *o, unsigned i)
{
    char *end;
    const char *const text = load->value[i];
    const double most = rules[i].kind == RATIO ? 1 : 1e9;
    load->real[i] = strtod(text, &end);
    if (end == text || *end || !(load->real[i] >= (double)rules[i].least) || !(load->real[i] <= most))
        return options_fail(o, "--%s: '%s': expected a number from %g to %g", o->infos[i].name, text,
                            (double)rules[i].least, most);
    return 0;
}

static int
load_options_take_value(struct load *load, const struct options *o, unsigned i)
{
    if (!load->value[i])
        return 0;
    switch (rules[i].kind) {
    case FLAG:
    case TEXT:
        return 0;
    case REAL:
    case RATIO:
        return take_real(load, o, i);
    case NUMBER:
        return options_number(o, i, SQT_UNITS_NONE, 1, rules[i].least, &load->number[i]);
    case TIME:
        if (options_number(o, i, SQT_UNITS_TIME, LOAD_SECOND, rules[i].least, &load->number[i]) != 0)
            return -1;
        if (load->number[i] > LOAD_NEVER)
            load->number[i] = LOAD_NEVER;
        return 0;
    case BYTES:
        return options_number(o, i, SQT_UNITS_BYTES, 1, rules[i].least, &load->number[i]);
    }
    return 0;
}

static int
take_workload(struct load *load, const struct options *o)
{
    const char *const name = load->given[LOAD_workload] ? load->given[LOAD_workload] : rules[LOAD_workload].preset;
    struct sqt_nearest nearest;
    sqt_nearest_init(&nearest, name, strlen(name));
    for (unsigned i = 0; i < WORKLOADS; ++i) {
        if (strcmp(name, load_workloads[i].name) == 0)
            load->workload = &load_workloads[i];
        sqt_nearest_offer(&nearest, load_workloads[i].name);
    }
    if (load->workload)
        return 0;
    return options_fail(o, "unknown workload '%s'; %s", name, sqt_nearest_text(&nearest, "", "--help shows them"));
}

static void
take_presets(struct load *load)
{
    for (unsigned i = 0; i < LOAD_OPTIONS; ++i)
        load->value[i] = load->given[i] ? load->given[i] : rules[i].preset;
    for (unsigned i = 0; i < sizeof(presets) / sizeof(*presets); ++i)
        if (load->workload == &load_workloads[presets[i].workload] && !load->given[presets[i].option])
            load->value[presets[i].option] = presets[i].text;
}

/* ---- places ---- */

static int
take_places(struct load *load, const struct options *o, unsigned i, struct places *places)
{
    char error[256];
    if (!load->value[i] || places_take(places, load->value[i], error, sizeof(error)) == 0)
        return 0;
    return options_fail(o, "--%s: %s", o->infos[i].name, error);
}

static int
take_http(struct load *load, const struct options *o)
{
    const char *const version = load->value[LOAD_http];
    if (strcmp(version, "1.0") != 0 && strcmp(version, "1.1") != 0)
        return options_fail(o, "--http: '%s': expected 1.0 or 1.1", version);
    if (load->given[LOAD_once] && load->given[LOAD_keep])
        return options_fail(o, "--once and --keep-alive exclude each other");
    load->minor = (unsigned)(version[2] - '0');
    load->keep = load->given[LOAD_keep] || (load->minor && !load->given[LOAD_once]);
    return 0;
}

/* Header fields of the command line: a name, a colon, and no line break, which would end the head. */
static int
take_fields(const struct load *load, const struct options *o)
{
    static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
    size_t size = 0;
    for (size_t i = 0; i < load->field_count; ++i) {
        const char *const field = load->fields[i];
        const size_t name = strspn(field, token);
        if (!name || field[name] != ':' || strpbrk(field, "\r\n"))
            return options_fail(o, "--header: '%s': expected NAME: VALUE in one line", field);
        size += strlen(field) + 2;
    }
    return size <= LOAD_FIELDS_MOST ? 0 : options_fail(o, "--header: more than %d bytes of fields", LOAD_FIELDS_MOST);
}

int
load_parse(struct load *load, int argc, char **argv, char *error, size_t error_size)
{
    memset(load, 0, sizeof(*load));
    load->distributions.budget = (size_t)1 << 22;
    load->words = sqt_zeroed((size_t)argc + 1, sizeof(*load->words));
    load->fields = sqt_zeroed((size_t)argc + 1, sizeof(*load->fields));
    struct options taken = {load_option_infos,
                            LOAD_OPTIONS,
                            load->given,
                            load->words,
                            0,
                            error,
                            error_size,
                            LOAD_header,
                            load->fields,
                            0,
                            {LOAD_OPTIONS, NULL, 0},
                            {LOAD_OPTIONS, NULL, 0}};
    if (options_take(&taken, argc, argv) != 0)
        return -1;
    load->word_count = taken.word_count;
    load->field_count = taken.repeat_count;
    if (load->given[LOAD_help] || load->given[LOAD_version])
        return 0;
    taken.given = load->value;
    if (take_workload(load, &taken) != 0)
        return -1;
    take_presets(load);
    for (unsigned i = 0; i < LOAD_OPTIONS; ++i)
        if (load_options_take_value(load, &taken, i) != 0)
            return -1;
    if (take_http(load, &taken) != 0 || take_places(load, &taken, LOAD_listen, &load->listen) != 0 ||
        take_places(load, &taken, LOAD_server, &load->servers) != 0 ||
        take_places(load, &taken, LOAD_proxy, &load->proxy) != 0)
        return -1;
    if (take_fields(load, &taken) != 0)
        return -1;
    if (load->number[LOAD_post] > LOAD_POST_MOST)
        return options_fail(&taken, "--post: '%s': too large", load->value[LOAD_post]);
    if (load->number[LOAD_duration] && !load->given[LOAD_requests])
        load->number[LOAD_requests] = 0;
    if (load->proxy.count > 1)
        return options_fail(&taken, "--proxy: expected one address");
    if (load->given[LOAD_origin] && load->word_count)
        return options_fail(&taken, "--origin takes no URL");
    if (load->word_count && load->workload != &load_workloads[WORKLOAD_urls])
        return options_fail(&taken, "'%s': only --workload=urls takes URLs", load->words[0]);
    if (load->given[LOAD_tunnel] && !load->proxy.count)
        return options_fail(&taken, "--tunnel needs a proxy");
    return 0;
}
