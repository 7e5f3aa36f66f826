/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * choose.c - which format a log has.
 */
#include <string.h>

#include "conf.h"
#include "log-internal.h"

/* Whether the file may be of another format, though its lines look so: two numbers may stand for anything. */
static int
log_only_looks_so(const struct sqt_log_file *file, const struct sqt_log_format *format)
{
    return format->has[SQT_LOG_XID] && format->has[SQT_LOG_KID] && !sqt_log_file_may_join(file);
}

/* Files of lines that are of no known format, after which no more are looked at. */
#define STRANGE_MOST 64

/* Of all formats that have names the one that most lines of the first file are of; of several the first that does not only look
 * so. */
static int
log_guess(struct sqt_log *log)
{
    const char *best = NULL, *name;
    uint64_t most = 0;
    int unsure = 0;
    unsigned strange = 0;
    char error[256];
    for (size_t file = 0; file < log->files.count && !best && strange < STRANGE_MOST; ++file) {
        for (unsigned i = 0; (name = sqt_log_format_name(i)) != NULL; ++i) {
            struct sqt_log_format format;
            if (sqt_log_format_parse(&format, name, sqt_log_format_named(name), error, sizeof(error)) == 0) {
                const uint64_t of_it =
                    sqt_log_files_try(&log->files, &log->files.files[file], &format, log->diagnostics);
                const int looks_so = log_only_looks_so(&log->files.files[file], &format);
                if (of_it > most || (of_it && of_it == most && unsure && !looks_so)) {
                    unsure = looks_so;
                    most = of_it;
                    best = name;
                }
            }
            sqt_log_format_free(&format);
        }
        strange += log->files.files[file].looked_at != 0;
    }
    if (best)
        return sqt_log_format_parse(&log->format, best, sqt_log_format_named(best), error, sizeof(error));
    sqt_diagnose(log->diagnostics, SQT_ERROR,
                 "%s: no line is of a format that is known; give its logformat, or the squid.conf that has it, by "
                 "--log-format",
                 log->files.files[0].name);
    return -1;
}

static int
log_take_format(struct sqt_log *log, const char *name, const char *text)
{
    char error[1024];
    if (sqt_log_format_parse(&log->format, name, text, error, sizeof(error)) == 0)
        return 0;
    sqt_diagnose(log->diagnostics, SQT_ERROR, "--log-format: %s", error);
    return -1;
}

int
sqt_log_choose(struct sqt_log *log, const char *wanted)
{
    struct sqt_log_conf conf;
    char error[1024];
    if (!wanted)
        return log_guess(log);
    const char *const named = sqt_log_format_named(wanted);
    if (named)
        return log_take_format(log, wanted, named);
    if (strchr(wanted, '%'))
        return log_take_format(log, wanted, wanted);
    if (!strpbrk(wanted, "./")) {
        sqt_diagnose(
            log->diagnostics, SQT_ERROR,
            "--log-format: '%s' is no format; there are: squid, squid-join, sqtrace, ecs, elastic, ltsv, combined, "
            "common; or a logformat, as in '%%ts.%%03tu %%tr %%>a %%ru', or the name of a squid.conf",
            wanted);
        return -1;
    }
    if (sqt_log_conf_read(&conf, wanted, log->files.files[0].name, error, sizeof(error)) != 0) {
        sqt_diagnose(log->diagnostics, SQT_ERROR, "--log-format: %s", error);
        return -1;
    }
    const int result = log_take_format(log, conf.name, conf.format);
    sqt_log_conf_free(&conf);
    return result;
}

static int
log_has_time(const struct sqt_log_format *f)
{
    return f->has[SQT_LOG_SECONDS] || f->has[SQT_LOG_DATE] || f->has[SQT_LOG_DATE_GMT] || f->has[SQT_LOG_START];
}

int
sqt_log_check(struct sqt_log *log)
{
    const struct sqt_log_format *const f = &log->format;
    uint64_t looked_at = 0, understood = 0;
    log->account = (struct sqt_log_account){.format = f->name,
                                            .has_total = f->has[SQT_LOG_TOOK] || f->has[SQT_LOG_START],
                                            .has_kid = f->has[SQT_LOG_KID] || log->files.kids,
                                            .has_xid = f->has[SQT_LOG_XID],
                                            .has_url = f->has[SQT_LOG_URL],
                                            .has_server = f->has[SQT_LOG_SERVER]};
    if (!log_has_time(f)) {
        sqt_diagnose(log->diagnostics, SQT_ERROR, "--log-format: %s: it has no time: %%ts, %%tl, %%tg or %%tS",
                     f->name);
        return -1;
    }
    for (size_t i = 0; i < log->files.count; ++i) {
        looked_at += log->files.files[i].looked_at;
        understood += log->files.files[i].understood;
    }
    if (!looked_at || understood)
        return 0;
    sqt_diagnose(log->diagnostics, SQT_ERROR, "%s: no line is of the format %s", log->files.files[0].name, f->name);
    return -1;
}
