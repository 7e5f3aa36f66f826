/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * holder-advice.c - what to do about what holds the event loop, by its name.
 */
#include <string.h>

#include "holders.h"

/* Squid writes for aufs in the main thread; threads only open, read and remove files. */
static const char write_of_aufs[] = "aufs writes in the event loop: its threads only open, read and remove files. "
                                    "cache_dir: rock or diskd write elsewhere. Put "
                                    "that cache_dir on a faster disk, or on one that is not full of other writes.";

const char *
sqt_holder_advice(const char *holder)
{
    static const struct {
        const char *word, *advice; /* the name has that word */
    } advice[] = {
        {"write to cache.log", "debug_options ALL,1: only important lines, which is the default. cache_log: on a disk "
                               "that takes them at once."},
        {"write to a log", "access_log: daemon instead of stdio writes outside the event loop, and buffer-size= or "
                           "buffered_logs writes less often. logformat: shorter lines."},
        {"acl ",
         "acl: shorten long lists, and use dstdomain in place of regexes. http_access: ask cheaper ACLs first."},
        {" on cache_dir ", "cache_dir: aufs or rock do disk calls outside the event loop, ufs does not."},
        {"storeDigest",
         "digest_generation off, or a longer digest_rebuild_period: the digest is rebuilt in the event loop."},
    };
    if (strstr(holder, "write on cache_dir ") && strstr(holder, "(aufs)"))
        return write_of_aufs;
    for (unsigned i = 0; i < sizeof(advice) / sizeof(*advice); ++i)
        if (strstr(holder, advice[i].word))
            return advice[i].advice;
    return NULL;
}
