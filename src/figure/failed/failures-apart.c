/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures-apart.c - what nearly all requests of one failure have in common, and few others have: their method, their worker, or
 * the size of their replies; and servers that fail alike.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "failures.h"

/* Nearly all of them, in %; they are so many at least, and so are all others. */
#define NEARLY_ALL 95
#define LEAST 10
#define OTHERS 20
/* A method, or a worker, sets them apart if that part of all requests has it at most, in %. */
#define METHOD_SHARE 50
#define WORKER_SHARE 80
#define METHODS 64
/* A size sets them apart if that part of others has it at most, in %. */
#define HARDLY_ANY 5
#define SIZES_OCTAVE 16
#define SIZES_FIRST 10 /* octave */
/* So many servers that fail alike are told together, if each fails so often. */
#define SEVERAL 3
#define EACH 5

struct apart_method {
    struct sqt_name_entry named;
    uint64_t count;
};

static const char *
apart_method(const struct sqt_xact *xact)
{
    return xact->method == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_METHOD, xact->method);
}

/* -1: not of a worker that is told apart. */
static int
apart_worker(const struct sqt_xact *xact)
{
    const struct sqt_identity *const its = &xact->origin->identity;
    return its->kid_kind == SQT_KID_WORKER && its->kid < SQT_FAILED_WORKERS ? (int)its->kid : -1;
}

/* Bytes with which a step begins: 2 to the power of sixteenths. */
static double
apart_bytes(unsigned step)
{
    static const double sixteenths[SIZES_OCTAVE] = {1.000000, 1.044274, 1.090508, 1.138789, 1.189207, 1.241858,
                                                    1.296840, 1.354256, 1.414214, 1.476826, 1.542211, 1.610490,
                                                    1.681793, 1.756252, 1.834008, 1.915207};
    return (double)(UINT64_C(1) << (SIZES_FIRST + step / SIZES_OCTAVE)) * sixteenths[step % SIZES_OCTAVE];
}

/* The step of so many bytes. */
static unsigned
apart_size(int64_t bytes)
{
    if (bytes < INT64_C(1) << SIZES_FIRST)
        return 0;
    const unsigned octave = 63 - (unsigned)__builtin_clzll((unsigned long long)bytes) - SIZES_FIRST;
    if (octave >= SQT_FAILED_SIZES / SIZES_OCTAVE)
        return SQT_FAILED_SIZES - 1;
    unsigned step = octave * SIZES_OCTAVE;
    while (step + 1 < (octave + 1) * SIZES_OCTAVE && (double)bytes >= apart_bytes(step + 1))
        ++step;
    return step;
}

static void
apart_add_size(uint32_t sizes[SQT_FAILED_SIZES], const struct sqt_xact *xact)
{
    if (xact->fetched > 0)
        ++sizes[apart_size(xact->fetched)];
}

void
sqt_failed_apart_well(struct sqt_failed_requests *all, const struct sqt_xact *xact)
{
    apart_add_size(all->sizes, xact);
}

void
sqt_failed_apart_all(struct sqt_failed_requests *all, const struct sqt_xact *xact)
{
    const char *const method = apart_method(xact);
    all->methods.size = sizeof(struct apart_method);
    all->methods.most = METHODS;
    if (method)
        ++((struct apart_method *)sqt_names_get(&all->methods, method))->count;
    if (apart_worker(xact) >= 0)
        ++all->workers[apart_worker(xact)];
}

void
sqt_failed_apart_add(struct sqt_failure *failure, const struct sqt_xact *xact)
{
    struct sqt_failed_apart *const a = &failure->apart;
    const char *const method = apart_method(xact) ? apart_method(xact) : "";
    if (!failure->count) {
        snprintf(a->method, sizeof(a->method), "%s", method);
        a->worker = apart_worker(xact);
    }
    a->of_method += strncmp(a->method, method, sizeof(a->method) - 1) == 0;
    a->of_worker += a->worker == apart_worker(xact);
    apart_add_size(a->sizes, xact);
}

static uint64_t
apart_of_method(const struct sqt_failed_requests *all, const char *method)
{
    for (const struct sqt_name_entry *named = all->methods.first; named; named = named->next)
        if (strncmp(named->name, method, SQT_FAILED_METHOD - 1) == 0)
            return ((const struct apart_method *)named)->count;
    return 0;
}

static int
is_apart(const struct sqt_failed_requests *all, const struct sqt_failure *x, uint64_t of, uint64_t its, unsigned most)
{
    return x->count >= LEAST && 100 * of >= NEARLY_ALL * x->count && 100 * its <= most * all->requests &&
           all->requests - its >= OTHERS;
}

int
sqt_failed_worker(const struct sqt_failed_requests *all, const struct sqt_failure *x)
{
    const struct sqt_failed_apart *const a = &x->apart;
    return a->worker >= 0 && is_apart(all, x, a->of_worker, all->workers[a->worker], WORKER_SHARE) ? a->worker : -1;
}

/* Who is asked instead of these servers for all that has another method; "": nobody. */
static void
apart_parent(const struct sqt_failed_requests *all, const struct sqt_failure *x, char text[SQT_TOLD_TEXT])
{
    const struct sqt_name_entry *const parent = all->peers.first;
    *text = '\0';
    for (const struct sqt_name_entry *named = parent; named; named = named->next)
        if (x->named.name && strstr(x->named.name, named->name))
            return;
    if (x->at == SQT_FAILED_CONNECT && parent)
        snprintf(
            text, SQT_TOLD_TEXT,
            " They go direct, and others through %s: nonhierarchical_direct, prefer_direct and never_direct say what "
            "goes where.",
            all->peers.count > 1 ? "cache_peers" : parent->name);
}

static const char *
apart_all(const struct sqt_failure *x, uint64_t of)
{
    return of == x->count ? "All" : "Nearly all";
}

/* From how many bytes on their replies are what hardly any other is; 0: sizes do not set them apart.  well: others that have
 * as many. */
static double
apart_large(const struct sqt_failed_requests *all, const struct sqt_failure *x, uint64_t *well)
{
    uint64_t its = 0, others = 0, least = 0, all_others = 0;
    for (unsigned i = 0; i < SQT_FAILED_SIZES; ++i) {
        its += x->apart.sizes[i];
        all_others += all->sizes[i];
    }
    unsigned step = SQT_FAILED_SIZES;
    while (step && 100 * least < NEARLY_ALL * its) {
        least += x->apart.sizes[--step];
        others += all->sizes[step];
    }
    *well = others;
    return step && its >= LEAST && 100 * its >= NEARLY_ALL * x->count && all_others >= OTHERS &&
                   100 * others <= HARDLY_ANY * all_others
               ? apart_bytes(step)
               : 0;
}

/* A service that has read all of a reply, and fails: its size may be why. */
static void
apart_size_tell(const struct sqt_failed_requests *all, const struct sqt_failure *x, struct sqt_told *told)
{
    char bytes[SQT_HUMAN_ROOM];
    uint64_t well = 0;
    const size_t used = strlen(told->sentence);
    const double large = x->at == SQT_FAILED_SERVICE ? apart_large(all, x, &well) : 0;
    if (large <= 0)
        return;
    snprintf(
        told->sentence + used, sizeof(told->sentence) - used,
        " They are large: nearly all of them had replies of %s or more, and %llu of the requests that did not fail "
        "had.",
        sqt_human_bytes(bytes, large), (unsigned long long)well);
    if (2 * x->timed_out > x->count)
        sqt_told_print(
            told->advice,
            "That service takes longer for such replies than Squid waits: ask it by hand for one of that size, and "
            "see how long. icap_io_timeout: longer than that. adaptation_access: leave out what is too large for "
            "it. icap_service: bypass=1 goes on without it.");
    else
        sqt_told_print(told->advice,
                       "Ask that service by hand for a reply of that size, and look for a limit of it in its own "
                       "settings, and at its log. adaptation_access: leave out what it cannot take. icap_service: "
                       "bypass=1 goes on without it.");
}

void
sqt_failed_apart_tell(const struct sqt_failed_requests *all, const struct sqt_failure *x, struct sqt_told *told)
{
    const struct sqt_failed_apart *const a = &x->apart;
    const uint64_t its = *a->method ? apart_of_method(all, a->method) : 0;
    char parent[SQT_TOLD_TEXT];
    size_t used = strlen(told->sentence);
    if (its && is_apart(all, x, a->of_method, its, METHOD_SHARE)) {
        apart_parent(all, x, parent);
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " %s of them are %s, which %.0f %% of all requests are.%s", apart_all(x, a->of_method), a->method,
                 100.0 * (double)its / (double)all->requests, parent);
    }
    apart_size_tell(all, x, told);
    used = strlen(told->sentence);
    if (sqt_failed_worker(all, x) >= 0)
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " %s of them are in worker %d, which has %.0f %% of all requests.", apart_all(x, a->of_worker),
                 a->worker, 100.0 * (double)all->workers[a->worker] / (double)all->requests);
}

/* Adds what one server's failures are to the sum of several servers'. */
static void
apart_join(struct sqt_failure *sum, const struct sqt_failure *x)
{
    if (!sum->count)
        sum->apart = (struct sqt_failed_apart){.worker = x->apart.worker};
    if (!sum->count)
        snprintf(sum->apart.method, sizeof(sum->apart.method), "%s", x->apart.method);
    sum->apart.of_method += strcmp(sum->apart.method, x->apart.method) == 0 ? x->apart.of_method : 0;
    sum->apart.of_worker += sum->apart.worker == x->apart.worker ? x->apart.of_worker : 0;
    sum->before = !sum->count || x->before < sum->before ? x->before : sum->before;
    sum->count += x->count;
    sum->felt += x->felt;
    sum->timed_out += x->timed_out;
    sum->reused += x->reused;
    sum->late.count += x->late.count;
    sum->late.sum += x->late.sum;
    sum->late.squares += x->late.squares;
    for (unsigned why = 0; why < SQT_WHYS; ++why)
        sum->whys[why] += x->whys[why];
}

/* NULL: of nobody in particular. */
static const char *
apart_server(const struct sqt_failure *x)
{
    const char *const space = strchr(x->named.name, ' ');
    return space && space[1] && strcmp(space + 1, "other") != 0 ? space + 1 : NULL;
}

/* How many of a series were from `first` to `last`.  Of windows that are partly in that time, that part counts. */
static uint64_t
apart_between(const struct sqt_when *when, uint32_t series, int64_t first, int64_t last)
{
    size_t count;
    double sum = 0;
    const struct sqt_when_sum *const sums = sqt_when_of(when, series, &count);
    for (size_t i = 0; i < count; ++i) {
        const double width = (double)when->width, begin = (double)sums[i].window * width, end = begin + width;
        const double from = begin > (double)first ? begin : (double)first, to = end < (double)last ? end : (double)last;
        sum += to > from ? sums[i].count * (to - from) / width : 0;
    }
    return (uint64_t)sum;
}

void
sqt_failed_count_kept(struct sqt_failed_requests *all)
{
    sqt_when_sort(&all->kept);
    for (struct sqt_name_entry *named = all->names.first; named; named = named->next) {
        struct sqt_failure *const x = (struct sqt_failure *)named;
        if (x->at == SQT_FAILED_ANSWER && x->count)
            x->kept_answers = apart_between(
                &all->kept, sqt_failure_get(all, SQT_FAILED_REFUSED, apart_server(x))->series, x->first, x->last);
    }
    sqt_when_free(&all->kept);
}

int
sqt_failed_is_dead_kept(const struct sqt_failure *x)
{
    return x->at == SQT_FAILED_ANSWER && 10 * x->reused >= 9 * x->count && 2 * x->timed_out > x->count &&
           2 * x->kept_answers < x->count;
}

int
sqt_failed_is_one_of_several(const struct sqt_failure *x, enum sqt_failed_at at)
{
    return x->at == at && x->count >= EACH && apart_server(x) &&
           (at == SQT_FAILED_CONNECT || sqt_failed_is_dead_kept(x));
}

unsigned
sqt_failed_several(const struct sqt_failed_requests *all, enum sqt_failed_at at, struct sqt_failure *sum,
                   char names[SQT_TOLD_NAME])
{
    unsigned servers = 0;
    uint64_t most = 0;
    int alike = 1;
    size_t used = 0;
    *sum = (struct sqt_failure){.at = at};
    for (const struct sqt_name_entry *named = all->names.first; named; named = named->next) {
        const struct sqt_failure *const x = (const struct sqt_failure *)named;
        if (!sqt_failed_is_one_of_several(x, at))
            continue;
        alike &= !servers || sqt_failed_mostly(sum) == sqt_failed_mostly(x);
        apart_join(sum, x);
        most = x->count > most ? x->count : most;
        if (servers++ < SQT_FAILED_NAMED && used < SQT_TOLD_NAME)
            used += (size_t)snprintf(names + used, SQT_TOLD_NAME - used, "%s%s", used ? ", " : "", apart_server(x));
    }
    return servers >= SEVERAL && alike && 2 * most <= sum->count ? servers : 0;
}
