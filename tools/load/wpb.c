/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * wpb.c - the workload wpb: the Wisconsin Proxy Benchmark 1.0.
 *
 * A file is a number of a client; its server and size follow from both and from the seed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "load.h"
#include "object/sizes.h"

struct wpb_client {
    struct sqt_random random;
    uint32_t *files; /* of each request so far */
    uint64_t count, room;
    uint32_t newest; /* file */
};

struct wpb {
    sizes_fn *size;
    struct wpb_client *client;
};

int
wpb_plan(struct load *load, char *error, size_t error_size)
{
    struct wpb *const w = sqt_zeroed(1, sizeof(*w));
    const uint64_t clients = (uint64_t)load->number[LOAD_clients];
    load->state = w;
    w->client = sqt_zeroed(clients, sizeof(*w->client));
    for (uint64_t i = 0; i < clients; ++i)
        w->client[i].random = sqt_random_of((uint64_t)load->number[LOAD_seed], i);
    w->size = sizes_named(load->value[LOAD_sizes]);
    if (!w->size) {
        snprintf(error, error_size, "--sizes: '%s': expected uniform or pareto", load->value[LOAD_sizes]);
        return -1;
    }
    if (load->real[LOAD_rate] > 0) {
        snprintf(error, error_size, "--rate: wpb is a closed loop");
        return -1;
    }
    const struct phase phase = {.requests = (uint64_t)load->number[LOAD_requests],
                                .duration = load->number[LOAD_duration]};
    if (!phase.requests && !phase.duration) {
        snprintf(error, error_size, "--requests=0: wpb needs a number of requests or a --duration");
        return -1;
    }
    load->phases[0] = load->phases[1] = phase;
    load->phases[0].name = "phase1";
    load->phases[1].name = "phase2";
    load->phase_count = 2;
    return 0;
}

static uint32_t
wpb_choose(struct load *load, struct wpb_client *c)
{
    if (load->phase == 1 && c->count && sqt_random_unit(&c->random) < load->real[LOAD_hit_ratio])
        return c->files[c->count - sqt_random_harmonic(&c->random, c->count)];
    return ++c->newest;
}

int
wpb_next(struct load *load, struct request *r)
{
    struct wpb *const w = load->state;
    struct wpb_client *const c = &w->client[r->client];
    if (c->count == c->room) {
        c->room = c->room ? 2 * c->room : 1024;
        c->files = sqt_resized(c->files, c->room * sizeof(*c->files));
    }
    const uint32_t file = wpb_choose(load, c);
    c->files[c->count++] = file;
    struct sqt_random of_file = sqt_random_of((uint64_t)load->number[LOAD_seed] + r->client, UINT64_C(1) << 32 | file);
    r->place = &load->servers.place[sqt_random_below(&of_file, load->servers.count)];
    snprintf(r->made, sizeof(r->made), "/size=%llu/c%uf%u", (unsigned long long)w->size(&of_file), r->client, file);
    return 1;
}

void
wpb_end(struct load *load)
{
    struct wpb *const w = load->state;
    for (int64_t i = 0; i < load->number[LOAD_clients]; ++i)
        free(w->client[i].files);
    free(w->client);
    free(w);
}
