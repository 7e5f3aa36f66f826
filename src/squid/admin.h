/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * admin.h - the directive sqtrace_log, the page mgr:sqtrace, and the life of a trace in a Squid process.
 *
 * For cache_cf.cc (the directive) and main.cc (the rest).  config is what the directive's parser made, nil without
 * the directive.
 */
#ifndef SQT_SQUID_ADMIN_H
#define SQT_SQUID_ADMIN_H

#include "../trace/sqtrace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace Sqtrace
{

/* ---- the directive ---- */

/// Takes the words of the directive from nextWord().  Says what is wrong in error, else leaves it empty.
template <class NextWord>
inline void
ParseDirective(sqt_config *&config, NextWord nextWord, char *error, const size_t errorSize)
{
    *error = '\0';
    if (config) {
        snprintf(error, errorSize, "is given twice");
        return;
    }
    config = new sqt_config;
    sqt_config_init(config);
    while (const char *word = nextWord())
        if (sqt_config_word(config, word, error, errorSize) != 0)
            return;
    if (!config->directory[0])
        snprintf(error, errorSize, "needs a directory");
    else
        sqt_config_check(config, error, errorSize);
}

inline void
FreeDirective(sqt_config *&config)
{
    delete config;
    config = nullptr;
}

/* ---- the life of a trace ---- */

/// the process that traces; a forked child must not end its parent's trace
inline pid_t &
Owner()
{
    static pid_t owner = 0;
    return owner;
}

inline void
Stop()
{
    if (Owner() == getpid())
        sqt_stop();
}

/// whether the library has a trace, perhaps one that it cannot write at the moment
inline bool
HasTrace()
{
    return sqt_has_trace() != 0;
}

/// starts tracing at the end of a process's initialization, or applies a changed squid.conf
inline void
Configure(const sqt_config *config, const sqt_process &process, const bool atStart, sqt_log_function *log)
{
    if (!config && atStart)
        return;
    if (!Owner()) {
        Owner() = getpid();
        atexit(Stop);
    }
    sqt_config none;
    sqt_config_init(&none);
    if (atStart)
        sqt_start(config, &process, log);
    else
        sqt_reconfigure(config ? config : &none, &process, log);
}

/* ---- the page mgr:sqtrace ---- */

template <class Entry, class Append>
inline void
Report(Entry *entry, const Append append)
{
    sqt_status s;
    sqt_get_status(&s);
    append(entry, "state: %s\n", s.state);
    if (*s.reason)
        append(entry, "reason: %s\n", s.reason);
    append(entry, "traces left behind: %u\n", static_cast<unsigned>(s.left_behind));
    if (strcmp(s.state, "off") == 0)
        return;
    append(entry, "directory: %s\n", s.directory);
    append(entry, "file: %s\n", s.file);
    append(entry, "ring: %s\n", s.ring);
    const struct {
        const char *name;
        uint64_t value;
    } counters[] = {{"records emitted", s.emitted},
                    {"records written", s.written},
                    {"records lost", s.lost},
                    {"records in segments", s.flushed},
                    {"bytes in segments", s.bytes},
                    {"ring capacity (records)", s.capacity},
                    {"ring waiting (records)", s.waiting},
                    {"ring high-water mark (records)", s.high_water},
                    {"flusher lag (us)", s.flusher_lag_ns / 1000},
                    {"write errors", s.errors},
                    {"groups (bits)", s.groups}};
    for (const auto &c : counters)
        append(entry, "%s: %llu\n", c.name, static_cast<unsigned long long>(c.value));
    append(entry, "groups: %s\n", s.group_names);
    // The flusher's open files are in no /proc/PID/fd of Squid's, where lsof looks, but in that of its disk process.
    if (s.flusher_disk)
        append(entry, "flusher's disk process: %u (lsof -p %u)\n", static_cast<unsigned>(s.flusher_disk),
               static_cast<unsigned>(s.flusher_disk));
    else
        append(entry, "flusher's open files: ls -l /proc/%d/task/%u/fd\n", static_cast<int>(getpid()),
               static_cast<unsigned>(s.flusher));
}

} // namespace Sqtrace

#endif
