/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ports.h - what a trace says of each listening port of each kid: connections, the backlog, accepts that were put off.
 */
#ifndef SQT_PORTS_H
#define SQT_PORTS_H

#include "figure/stat/names.h"
#include "pass/family.h"

/* Ports with numbers of their own, of all kids together; the others are one. */
#define SQT_PORTS 1024

struct sqt_port {
    struct sqt_name_entry named; /* the kid's number, a space, and the port's name */
    uint64_t connections;        /* accepted */
    uint64_t put_off;            /* how often Squid put off accepts */
    uint64_t put_off_ns;         /* for how long, where that is known */
    uint32_t descriptors;        /* limit of descriptors when it did so last */
    int sampled;
    uint64_t backlog, limit; /* largest backlog, and its limit then */
    int drops_known;         /* the kernel tells drops of a socket */
    uint64_t drops;

    /* the last sample of drops */
    const struct sqt_origin *origin; /* NULL: none */
    uint64_t last_drops, last_limit;
};

/* Its kid, and its name. */
int64_t sqt_port_kid(const struct sqt_port *port);
const char *sqt_port_name(const struct sqt_port *port);

void sqt_ports_init(struct sqt_names *ports);

/* The name of a port by its number in an origin; NULL if it has none. */
const char *sqt_listener_text(const struct sqt_origin *origin, uint32_t listener);

/* The port of that number; NULL if it is not known. */
struct sqt_port *sqt_ports_get(struct sqt_names *ports, const struct sqt_origin *origin, uint32_t listener);

/* Whether the sample is of a port: sets its number, and returns the rest of the sample's name, " backlog"; else NULL. */
const char *sqt_listener_sampled(const struct sqt_sample_row *sample, uint32_t *listener);

/* Adds what the trace says, where the job asks for that time. */
void sqt_ports_accept(struct sqt_names *ports, const struct sqt_job *job, const struct sqt_accept_row *row);
void sqt_ports_put_off(struct sqt_names *ports, const struct sqt_job *job, const struct sqt_put_off_row *row);
void sqt_ports_sample(struct sqt_names *ports, const struct sqt_job *job, const struct sqt_sample_row *sample);

#endif
