/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ports.c - see ports.h.
 */
#include "ports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 256

int64_t
sqt_port_kid(const struct sqt_port *port)
{
    return strchr(port->named.name, ' ') ? strtoll(port->named.name, NULL, 10) : SQT_CELL_MISSING;
}

const char *
sqt_port_name(const struct sqt_port *port)
{
    const char *const space = strchr(port->named.name, ' ');
    return space ? space + 1 : port->named.name;
}

void
sqt_ports_init(struct sqt_names *ports)
{
    *ports = (struct sqt_names){.size = sizeof(struct sqt_port), .most = SQT_PORTS};
}

const char *
sqt_listener_text(const struct sqt_origin *origin, uint32_t listener)
{
    return listener == UINT32_MAX ? NULL : sqt_origin_text(origin, SQT_DEF_LISTENER, listener);
}

struct sqt_port *
sqt_ports_get(struct sqt_names *ports, const struct sqt_origin *origin, uint32_t listener)
{
    char name[NAME_SIZE];
    const char *const text = sqt_listener_text(origin, listener);
    if (!text)
        return NULL;
    snprintf(name, sizeof(name), "%u %s", (unsigned)origin->identity.kid, text);
    return sqt_names_get(ports, name);
}

static int
is_wanted(const struct sqt_job *job, int64_t at)
{
    return at >= job->since && at < job->until;
}

void
sqt_ports_accept(struct sqt_names *ports, const struct sqt_job *job, const struct sqt_accept_row *row)
{
    struct sqt_port *const port = is_wanted(job, row->at) ? sqt_ports_get(ports, row->origin, row->listener) : NULL;
    if (port)
        ++port->connections;
}

void
sqt_ports_put_off(struct sqt_names *ports, const struct sqt_job *job, const struct sqt_put_off_row *row)
{
    struct sqt_port *const port = is_wanted(job, row->begin) ? sqt_ports_get(ports, row->origin, row->listener) : NULL;
    if (!port)
        return;
    ++port->put_off;
    port->descriptors = row->limit;
    if (row->known)
        port->put_off_ns += (uint64_t)(row->end - row->begin);
}

/* The limit is told after the backlog, in the same moment. */
static void
ports_backlog(struct sqt_port *port, uint64_t backlog)
{
    if (!port->sampled || backlog > port->backlog)
        port->backlog = backlog;
    port->sampled = 1;
}

static void
ports_limit(struct sqt_port *port, uint64_t limit)
{
    if (limit > port->limit)
        port->limit = limit;
}

/* A socket's counter begins anew when the port is opened again. */
static void
ports_drops(struct sqt_port *port, const struct sqt_origin *origin, uint64_t drops, int wanted)
{
    const int known = port->origin == origin;
    const uint64_t more = !known ? 0 : drops >= port->last_drops ? drops - port->last_drops : drops;
    port->origin = origin;
    port->last_drops = drops;
    if (!wanted)
        return;
    port->drops_known = 1;
    if (__builtin_add_overflow(port->drops, more, &port->drops))
        port->drops = INT64_MAX;
}

const char *
sqt_listener_sampled(const struct sqt_sample_row *sample, uint32_t *listener)
{
    static const char begin[] = "listener ";
    const char *const text = sqt_origin_text(sample->origin, SQT_DEF_SAMPLE, sample->what);
    if (!text || strncmp(text, begin, sizeof(begin) - 1) != 0)
        return NULL;
    char *value;
    const unsigned long number = strtoul(text + sizeof(begin) - 1, &value, 10);
    *listener = (uint32_t)number;
    return number < UINT32_MAX ? value : NULL;
}

void
sqt_ports_sample(struct sqt_names *ports, const struct sqt_job *job, const struct sqt_sample_row *sample)
{
    uint32_t number;
    const char *const value = sqt_listener_sampled(sample, &number);
    const int wanted = is_wanted(job, sample->at);
    struct sqt_port *const port = value ? sqt_ports_get(ports, sample->origin, number) : NULL;
    if (!port)
        return;
    if (strcmp(value, " drops") == 0)
        ports_drops(port, sample->origin, sample->value, wanted);
    else if (wanted && strcmp(value, " backlog") == 0)
        ports_backlog(port, sample->value);
    else if (wanted && strcmp(value, " backlog_limit") == 0)
        ports_limit(port, sample->value);
}
