/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * logged.h - what one line of Squid's access.log says of a request, and how logs are opened.
 *
 * A log is given by files, and by the logformat that Squid wrote it with: log/format.h.
 */
#ifndef SQT_LOGGED_H
#define SQT_LOGGED_H

#include <stddef.h>
#include <stdint.h>

struct sqt_origin;

/* What a line does not say. */
#define SQT_LOG_UNKNOWN INT64_MIN

/* Texts end with a NUL, and may have any other byte; NULL: the line does not say it.  Durations are in ns, sizes in
 * bytes. */
struct sqt_logged {
    const struct sqt_origin *origin; /* of its kid */
    int64_t at;    /* when the line was written; ns since 1970, and once it is handed out, of the stream */
    int64_t begin; /* the same of the request's begin: %tS, or what follows from %tr */
    int64_t took;  /* %tr */
    int64_t dns, peer, server_side, adapting; /* %dt, %<pt, %<tt, %adapt::sum_trs or %icap::tt */
    int64_t sent, headers;                    /* %<st, %<sh */
    int64_t status, received;                 /* %>Hs, %<Hs */
    int64_t tries;
    int64_t kid; /* ${process_number} */
    int64_t xid; /* %master_xaction */
    const char *client, *url, *host, *user;
    const char *hierarchy;        /* %Sh */
    uint64_t object;              /* a hash of the URL; 0: the line has none */
    uint32_t method, tag, server; /* definitions of the origin; UINT32_MAX: the line does not say it */
};

/* The line of a transaction of the origin that ended at that time of the stream, ns; NULL: it has none. */
typedef const struct sqt_logged *sqt_logged_function(void *context, const struct sqt_origin *origin, uint64_t xid,
                                                     int64_t end_ns);

/* Which files, and how they were written. */
struct sqt_log_request {
    const char *const *files; /* names, or patterns as in access.log*; "-" is the standard input */
    size_t count;
    const char *format; /* the name of a format, a logformat as in squid.conf, or the name of a squid.conf; NULL: it is
                         * found out from the lines */
    int follow; /* Squid still writes them: only the end of what is there is read, and then what is added, also to a new file
                 * of the same name.  "-" does not go with it */
};

/* What became of the lines. */
struct sqt_log_account {
    const char *format; /* name of the format, or the format itself */
    uint64_t lines;     /* that were read, without those that are not understood */
    uint64_t not_understood;
    int has_total, has_kid, has_xid, has_url, has_server; /* what its format has */
};

#endif
