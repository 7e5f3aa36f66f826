/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * alarm.c - --fail-if and --warn-if: what became of the conditions, for people and for monitoring.
 */
#include <string.h>

#include "run.h"

/* ---- the command line ---- */

/* Options that say how rows are printed: with --fail-if none are. */
static const enum dump_option alarm_senseless[] = {
    DUMP_figure, DUMP_columns, DUMP_sort,   DUMP_limit,     DUMP_group_by,    DUMP_histogram,
    DUMP_clock,  DUMP_format,  DUMP_output, DUMP_no_header, DUMP_no_comments, DUMP_from,
};

static int
alarm_add(struct dump_request *r, const struct options *o, enum dump_option option, const char *const *texts,
          size_t count)
{
    char error[768];
    for (size_t i = 0; i < count; ++i)
        if (sqt_alarms_add(r->alarms, texts[i], error, sizeof(error)) != 0)
            return options_fail(o, "--%s: %s", dump_option_infos[option].name, error);
    return 0;
}

int
dump_take_alarms(struct dump_request *r, const struct options *o)
{
    const char *const name = dump_option_infos[r->given[DUMP_fail_if] ? DUMP_fail_if : DUMP_warn_if].name;
    if (r->given[DUMP_nagios] && !dump_has_alarms(r))
        return options_fail(o, "--nagios goes with --fail-if");
    if (!dump_has_alarms(r))
        return 0;
    for (unsigned i = 0; i < sizeof(alarm_senseless) / sizeof(*alarm_senseless); ++i)
        if (r->given[alarm_senseless[i]])
            return options_fail(o, "--%s does not go with --%s", dump_option_infos[alarm_senseless[i]].name, name);
    r->alarms = sqt_alarms_new(r->table);
    r->failures = (unsigned)o->repeat_count;
    return alarm_add(r, o, DUMP_fail_if, o->repeats, o->repeat_count) != 0
               ? -1
               : alarm_add(r, o, DUMP_warn_if, o->third.values, o->third.count);
}

int
dump_wants_nagios(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; ++i)
        if (strcmp(argv[i], "--nagios") == 0)
            return 1;
    return 0;
}

/* ---- verdicts ---- */

/* Whether it is cause for alarm, and what to say of it. */
static int
alarm_verdict(const struct dump *d, unsigned i, struct sqt_alarm_verdict *v, char words[SQT_ALARM_WORDS])
{
    const int none = !sqt_alarms_rows(d->request->alarms);
    sqt_alarms_judge(d->request->alarms, i, v);
    sqt_alarm_words(v, words);
    if (none)
        snprintf(words, SQT_ALARM_WORDS, "no rows");
    return v->holds || (d->request->given[DUMP_strict] && (none || !v->known));
}

/* What the conditions come to. */
enum alarm_level { ALARM_NONE, ALARM_WARNS, ALARM_FAILS };

static enum alarm_level
alarm_level(const struct dump *d, unsigned i)
{
    return i < d->request->failures ? ALARM_FAILS : ALARM_WARNS;
}

/* Text from the command line on one line; a bar would begin Nagios's figures. */
static void
alarm_put_text(const char *text, int bar)
{
    for (; *text; ++text)
        putchar((unsigned char)*text < ' ' || (bar && *text == '|') ? ' ' : *text);
}

/* ---- for people ---- */

static int
alarm_print(const struct dump *d)
{
    static const char *const words_of[] = {"ok ", "WARNING ", "FAILED "};
    enum alarm_level most = d->dead_fails ? ALARM_FAILS : ALARM_NONE;
    if (d->dead_fails)
        printf("FAILED %s\n", d->dead);
    for (unsigned i = 0; i < sqt_alarms_count(d->request->alarms); ++i) {
        struct sqt_alarm_verdict v;
        char words[SQT_ALARM_WORDS];
        const enum alarm_level level = alarm_verdict(d, i, &v, words) ? alarm_level(d, i) : ALARM_NONE;
        fputs(words_of[level], stdout);
        alarm_put_text(v.text, 0);
        printf(": %s\n", words);
        most = level > most ? level : most;
    }
    return most == ALARM_FAILS ? DUMP_ALARM : most == ALARM_WARNS ? DUMP_WARNING : DUMP_DONE;
}

/* ---- for Nagios ---- */

enum { NAGIOS_OK, NAGIOS_WARNING = 1, NAGIOS_CRITICAL = 2, NAGIOS_UNKNOWN = 3 };

static void
alarm_put_number(enum sqt_type type, double value)
{
    if (type == SQT_TYPE_NS || type == SQT_TYPE_MS || type == SQT_TYPE_TIME)
        printf("%.9f", value / 1e9);
    else if (type == SQT_TYPE_PCT || type == SQT_TYPE_MILLI)
        printf("%.3f", value / 1000);
    else
        printf("%.0f", value);
}

static const char *
alarm_unit(enum sqt_type type)
{
    return type == SQT_TYPE_NS || type == SQT_TYPE_MS || type == SQT_TYPE_TIME ? "s"
           : type == SQT_TYPE_BYTES                                            ? "B"
           : type == SQT_TYPE_PCT                                              ? "%"
                                                                               : "";
}

/* 'label'=value[unit];warning;critical: the ranges outside of which it is one or the other. */
static void
alarm_put_figure(const struct sqt_alarm_verdict *v, unsigned number, enum alarm_level level)
{
    printf(" '%s", v->label);
    if (number)
        printf(" %u", number + 1);
    fputs("'=", stdout);
    if (!v->known) {
        putchar('U');
        return;
    }
    alarm_put_number(v->type, v->value);
    printf("%s%s", alarm_unit(v->type), level == ALARM_WARNS ? ";" : ";;");
    if (v->above == v->below)
        return;
    if (v->above)
        fputs("~:", stdout);
    alarm_put_number(v->type, v->bound);
    if (v->below)
        putchar(':');
}

static void
alarm_put_figures(const struct dump *d)
{
    struct sqt_alarm_verdict v;
    char words[SQT_ALARM_WORDS];
    fputs(" |", stdout);
    for (unsigned i = 0; i < sqt_alarms_count(d->request->alarms); ++i) {
        alarm_verdict(d, i, &v, words);
        alarm_put_figure(&v, i, alarm_level(d, i));
    }
    putchar('\n');
}

/* Those that are met, the worst first; all, if none is. */
static void
alarm_put_verdicts(const struct dump *d, enum alarm_level most)
{
    struct sqt_alarm_verdict v;
    char words[SQT_ALARM_WORDS];
    for (unsigned i = 0, told = 0; i < sqt_alarms_count(d->request->alarms); ++i)
        if (alarm_verdict(d, i, &v, words) || !most) {
            fputs(told++ ? "; " : " ", stdout);
            alarm_put_text(v.text, 1);
            printf(": %s", words);
        }
}

static int
alarm_nagios(const struct dump *d, int damaged)
{
    static const char *const names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
    struct sqt_alarm_verdict v;
    char words[SQT_ALARM_WORDS];
    enum alarm_level most = ALARM_NONE;
    for (unsigned i = 0; i < sqt_alarms_count(d->request->alarms); ++i)
        if (alarm_verdict(d, i, &v, words) && alarm_level(d, i) > most)
            most = alarm_level(d, i);
    const int unknown = most != ALARM_FAILS && (damaged || *d->dead);
    const int status = unknown               ? NAGIOS_UNKNOWN
                       : most == ALARM_FAILS ? NAGIOS_CRITICAL
                       : most == ALARM_WARNS ? NAGIOS_WARNING
                                             : NAGIOS_OK;
    printf("SQTRACE %s:", names[status]);
    if (unknown)
        printf(" %s;", *d->dead ? d->dead : "the trace is damaged or lost records");
    alarm_put_verdicts(d, most);
    alarm_put_figures(d);
    return status;
}

int
dump_nagios_unknown(const char *text)
{
    fputs("SQTRACE UNKNOWN: ", stdout);
    alarm_put_text(text, 1);
    putchar('\n');
    fflush(stdout);
    return NAGIOS_UNKNOWN;
}

int
dump_alarms_finish(const struct dump *d, int damaged)
{
    const int nagios = d->request->given[DUMP_nagios] != NULL;
    int status = nagios ? alarm_nagios(d, damaged) : alarm_print(d);
    if (!nagios && status != DUMP_ALARM && damaged)
        status = DUMP_DAMAGED;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fputs("sqtrace-dump: standard output: cannot write\n", stderr);
    return nagios ? NAGIOS_UNKNOWN : DUMP_FAILED;
}
