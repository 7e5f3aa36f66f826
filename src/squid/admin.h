/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * admin.h - the directive sqtrace_log, in squid.conf or sqtrace.conf, the page mgr:sqtrace, and the life of a trace in a
 * Squid process.
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

/// what the last reading of squid.conf and sqtrace.conf left
struct Reading {
    char place[600];  ///< of the directive in squid.conf
    char error[1024]; ///< in sqtrace.conf; empty: none
};

inline Reading &
LastReading()
{
    static Reading reading = {};
    return reading;
}

/// Takes the directive's words from nextWord().  Says what is wrong in error, else leaves it empty.
template <class NextWord>
inline void
TakeWords(sqt_config &config, NextWord nextWord, char *error, const size_t errorSize)
{
    *error = '\0';
    sqt_config_init(&config);
    while (const char *word = nextWord())
        if (sqt_config_word(&config, word, error, errorSize) != 0)
            return;
    if (!config.directory[0])
        snprintf(error, errorSize, "needs a directory");
    else
        sqt_config_check(&config, error, errorSize);
}

/// The same of the directive in squid.conf, which stands at that line of that file.
template <class NextWord>
inline void
ParseDirective(sqt_config *&config, NextWord nextWord, const char *file, const int line, char *error,
               const size_t errorSize)
{
    if (config) {
        snprintf(error, errorSize, "is given twice");
        return;
    }
    Reading &reading = LastReading();
    snprintf(reading.place, sizeof(reading.place), "%.500s:%d", file ? file : "squid.conf", line);
    config = new sqt_config;
    TakeWords(*config, nextWord, error, errorSize);
}

inline void
FreeDirective(sqt_config *&config)
{
    delete config;
    config = nullptr;
}

/* ---- sqtrace.conf ---- */

/// Takes the directive that was found in sqtrace.conf.  Says what is wrong in error, else leaves it empty.
template <class BeginLine, class NextWord>
inline void
TakeFound(sqt_config *&config, const sqt_conf_directive &found, const bool quoted, BeginLine beginLine,
          NextWord nextWord, char *error, const size_t errorSize)
{
    char problem[800];
    if (config) {
        snprintf(error, errorSize, "%.450s: sqtrace_log is given twice, here and at %.450s", found.place,
                 LastReading().place);
        return;
    }
    // Squid would read another file for parameters("FILE"), and end if it cannot.
    if (quoted && strchr(found.words, '(')) {
        snprintf(error, errorSize, "%.500s: sqtrace_log: no parenthesis is allowed here", found.place);
        return;
    }
    beginLine(found.words);
    config = new sqt_config;
    TakeWords(*config, nextWord, problem, sizeof(problem));
    if (*problem)
        snprintf(error, errorSize, "%.200s: sqtrace_log: %.800s", found.place, problem);
}

/// Reads sqtrace.conf beside the file squidConf, if it is there.  quoted: whether Squid's parser takes quoted words.
/// Returns what is wrong, nil if nothing is.  Then config is nil, whatever squid.conf has: Squid does not trace.
template <class BeginLine, class NextWord>
inline const char *
ReadConfFile(sqt_config *&config, const char *squidConf, const uid_t squidUser, const bool quoted, BeginLine beginLine,
             NextWord nextWord)
{
    Reading &reading = LastReading();
    char error[sizeof(reading.error)];
    sqt_conf_directive found;
    if (sqt_conf_file(squidConf, squidUser, &found, error, sizeof(error)) == 1)
        TakeFound(config, found, quoted, beginLine, nextWord, error, sizeof(error));
    strcpy(reading.error, error);
    if (!*error)
        return nullptr;
    FreeDirective(config);
    return reading.error;
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

/// what is done each second while there is a trace
inline void (*&EachSecond())()
{
    static void (*function)() = nullptr;
    return function;
}

/// Squid calls this in its own work of each second.  A timed event of its own would wake an idle Squid once more.
inline void
ASecondIsOver()
{
    if (EachSecond() && HasTrace())
        EachSecond()();
}

/// starts tracing at the end of a process's initialization, or applies a changed squid.conf
inline void
Configure(const sqt_config *config, const sqt_process &process, const bool atStart, sqt_log_function *log)
{
    if (*LastReading().error) {
        char text[sizeof(LastReading().error) + 64];
        snprintf(text, sizeof(text), "WARNING: sqtrace: %s; tracing is off", LastReading().error);
        log(0, text);
    } else if (!config) {
        sqt_status s;
        sqt_get_status(&s);
        if (strcmp(s.state, "off") != 0)
            log(1, "sqtrace: there is no sqtrace_log any more; tracing is off");
    }
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
    const char *const reason = *LastReading().error ? LastReading().error : s.reason;
    if (*reason)
        append(entry, "reason: %s\n", reason);
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
                    {"groups (bits)", s.groups},
                    {"records overwritten", s.overwritten},
                    {"ring reaches back (ms)", s.reaches_ns / 1000000}};
    const size_t ofRecorder = 2; // the last ones
    const size_t count = sizeof(counters) / sizeof(*counters) - (s.recorder ? 0 : ofRecorder);
    for (size_t i = 0; i < count; ++i)
        append(entry, "%s: %llu\n", counters[i].name, static_cast<unsigned long long>(counters[i].value));
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
