/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * poly.c - the workload poly: content, recurrence and phases of PolyMix-3 and PolyMix-4.
 *
 * An object is a number: all there is to know of it follows from that and the seed.  The working set is the newest of
 * them; until the end of `fill` it grows, then it stays as large as it is.  Each hundredth object is hot.
 */
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/memory.h"
#include "load.h"

#define HOT_EVERY 100    /* objects */
#define HOT_SHARE 0.10   /* of all requests */
#define OLDER_SHARE 0.05 /* conditional, to be answered 200 */
#define SAME_SHARE 0.10  /* conditional, to be answered 304 */
#define RELOAD_SHARE 0.05
#define WAIT_DEVIATION 0.4 /* of the mean */

static const struct {
    const char *name;
    double share, mean, deviation, stored;
} contents[] = {
#define POLY_CONTENT(name, share, mean, deviation, stored) {#name, share, mean, deviation, stored},
#include "poly.def"
};
#define CONTENTS (sizeof(contents) / sizeof(*contents))

static const struct {
    const char *name;
    double minutes, from, to;
} phases[] = {
#define POLY_PHASE(name, minutes, from, to) {#name, minutes, from, to},
#include "poly.def"
};
#define PHASES (sizeof(phases) / sizeof(*phases))

struct poly {
    struct sqt_random random;
    uint64_t newest; /* number of the newest object; the first is 1 */
    uint64_t frozen; /* objects in the working set; 0: all */
    int filling;     /* the last request was one of `fill` */
};

/* Whether --phases names it. */
static int
is_chosen(const char *list, const char *name)
{
    const size_t length = strlen(name);
    while (list && *list) {
        const size_t word = strcspn(list, ",");
        if (word == length && memcmp(list, name, length) == 0)
            return 1;
        list += word + (list[word] == ',');
    }
    return !list;
}

static int
check_phases(const char *list, char *error, size_t error_size)
{
    while (list && *list) {
        const size_t word = strcspn(list, ",");
        struct sqt_nearest nearest;
        size_t i = 0;
        sqt_nearest_init(&nearest, list, word);
        while (i < PHASES && (strlen(phases[i].name) != word || memcmp(list, phases[i].name, word) != 0))
            sqt_nearest_offer(&nearest, phases[i++].name);
        if (i == PHASES) {
            snprintf(error, error_size, "--phases: there is no phase '%.*s'; %s", (int)word, list,
                     sqt_nearest_text(&nearest, "", "sqtrace-load(1) lists them"));
            return -1;
        }
        list += word + (list[word] == ',');
    }
    return 0;
}

int
poly_plan(struct load *load, char *error, size_t error_size)
{
    struct poly *const p = load->state = sqt_zeroed(1, sizeof(*p));
    const double rate = load->real[LOAD_rate], scale = load->real[LOAD_scale];
    p->random = sqt_random_of((uint64_t)load->number[LOAD_seed], 0);
    if (!(rate > 0) || !(scale > 0)) {
        snprintf(error, error_size, rate > 0 ? "--scale: expected more than 0" : "poly needs a --rate");
        return -1;
    }
    if (check_phases(load->given[LOAD_phases], error, error_size) != 0)
        return -1;
    for (unsigned i = 0; i < PHASES; ++i)
        if (is_chosen(load->given[LOAD_phases], phases[i].name))
            load->phases[load->phase_count++] = (struct phase){
                .name = phases[i].name,
                .rate = phases[i].from * rate,
                .end_rate = phases[i].to * rate,
                .duration = load_ns(phases[i].minutes * 60 * scale * LOAD_SECOND),
                .miss_bytes =
                    phases[i].minutes > 0 ? 0 : (uint64_t)sqt_whole(2 * scale * (double)load->number[LOAD_cache]) + 1,
            };
    return 0;
}

/* ---- objects ---- */

static void
name_object(const struct load *load, uint64_t number, char *path)
{
    struct sqt_random r = sqt_random_of((uint64_t)load->number[LOAD_seed], number);
    double left = sqt_random_unit(&r);
    unsigned c = 0;
    while (c + 1 < CONTENTS && left >= contents[c].share)
        left -= contents[c++].share;
    const double mean = contents[c].mean * 1024;
    const double size = contents[c].deviation > 0 ? sqt_random_lognormal(&r, mean, contents[c].deviation * 1024)
                                                  : sqt_random_exponential(&r, mean);
    const double wait = (double)load->number[LOAD_wait] / 1e6;
    const double drawn = wait > 0 ? sqt_random_normal(&r, wait, WAIT_DEVIATION * wait) : 0;
    const int stored = sqt_random_unit(&r) < contents[c].stored;
    snprintf(path, LOAD_PATH_MAX, "/size=%llu;wait=%lld%s/%s%llu", (unsigned long long)size,
             drawn > 0 ? (long long)drawn : 0, stored ? "" : ";store=0", contents[c].name, (unsigned long long)number);
}

/* One of the working set. */
static uint64_t
again(struct load *load, struct poly *p)
{
    const uint64_t count = p->frozen && p->frozen < p->newest ? p->frozen : p->newest, first = p->newest - count + 1;
    const uint64_t first_hot = (first + HOT_EVERY - 1) / HOT_EVERY, hot = p->newest / HOT_EVERY + 1 - first_hot;
    if (hot && sqt_random_unit(&p->random) * load->real[LOAD_recurrence] < HOT_SHARE)
        return (first_hot + sqt_random_below(&p->random, hot)) * HOT_EVERY;
    uint64_t number;
    do
        number = first + sqt_random_below(&p->random, count);
    while (number % HOT_EVERY == 0 && hot < count);
    return number;
}

static enum request_kind
poly_kind_of(double luck)
{
    return luck < OLDER_SHARE                               ? REQUEST_SINCE_OLDER
           : luck < OLDER_SHARE + SAME_SHARE                ? REQUEST_SINCE_SAME
           : luck < OLDER_SHARE + SAME_SHARE + RELOAD_SHARE ? REQUEST_RELOAD
                                                            : REQUEST_PLAIN;
}

int
poly_next(struct load *load, struct request *r)
{
    struct poly *const p = load->state;
    const int filling = load->phases[load->phase].miss_bytes != 0;
    if (p->filling && !filling)
        p->frozen = p->newest;
    p->filling = filling;
    const int repeats = p->newest && sqt_random_unit(&p->random) < load->real[LOAD_recurrence];
    const uint64_t number = repeats ? again(load, p) : ++p->newest;
    name_object(load, number, r->made);
    r->kind = poly_kind_of(sqt_random_unit(&p->random));
    r->place = &load->servers.place[number % load->servers.count];
    return 1;
}

void
poly_end(struct load *load)
{
    free(load->state);
}
