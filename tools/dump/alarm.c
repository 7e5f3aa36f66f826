/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * alarm.c - --fail-if: what became of the conditions, for people and for monitoring.
 */
#include <string.h>

#include "run.h"

/* ---- the command line ---- */

/* Options that say how rows are printed: with --fail-if none are. */
static const enum dump_option alarm_senseless[] = {
    DUMP_figure, DUMP_columns, DUMP_sort,   DUMP_limit,     DUMP_group_by,    DUMP_histogram,
    DUMP_clock,  DUMP_format,  DUMP_output, DUMP_no_header, DUMP_no_comments, DUMP_from,
};

int
dump_take_alarms(struct dump_request *r, const struct options *o)
{
    char error[768];
    if (r->given[DUMP_nagios] && !r->given[DUMP_fail_if])
        return options_fail(o, "--nagios goes with --fail-if");
    if (!r->given[DUMP_fail_if])
        return 0;
    for (unsigned i = 0; i < sizeof(alarm_senseless) / sizeof(*alarm_senseless); ++i)
        if (r->given[alarm_senseless[i]])
            return options_fail(o, "--%s does not go with --fail-if", dump_option_infos[alarm_senseless[i]].name);
    r->alarms = sqt_alarms_new(r->table);
    for (size_t i = 0; i < o->repeat_count; ++i)
        if (sqt_alarms_add(r->alarms, o->repeats[i], error, sizeof(error)) != 0)
            return options_fail(o, "--fail-if: %s", error);
    return 0;
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
    int alarms = 0;
    for (unsigned i = 0; i < sqt_alarms_count(d->request->alarms); ++i) {
        struct sqt_alarm_verdict v;
        char words[SQT_ALARM_WORDS];
        const int failed = alarm_verdict(d, i, &v, words);
        fputs(failed ? "FAILED " : "ok ", stdout);
        alarm_put_text(v.text, 0);
        printf(": %s\n", words);
        alarms |= failed;
    }
    return alarms;
}

/* ---- for Nagios ---- */

enum { NAGIOS_OK, NAGIOS_CRITICAL = 2, NAGIOS_UNKNOWN = 3 };

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

/* 'label'=value[unit];;critical: the range outside of which it is critical. */
static void
alarm_put_figure(const struct sqt_alarm_verdict *v, unsigned number)
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
    printf("%s;;", alarm_unit(v->type));
    if (v->above == v->below)
        return;
    if (v->above)
        fputs("~:", stdout);
    alarm_put_number(v->type, v->bound);
    if (v->below)
        putchar(':');
}

static int
alarm_nagios(const struct dump *d, int damaged)
{
    const unsigned count = sqt_alarms_count(d->request->alarms);
    struct sqt_alarm_verdict v;
    char words[SQT_ALARM_WORDS];
    int alarms = 0;
    for (unsigned i = 0; i < count; ++i)
        alarms |= alarm_verdict(d, i, &v, words);
    printf("SQTRACE %s:", alarms ? "CRITICAL" : damaged ? "UNKNOWN" : "OK");
    if (damaged && !alarms)
        fputs(" the trace is damaged or lost records;", stdout);
    for (unsigned i = 0, told = 0; i < count; ++i)
        if (alarm_verdict(d, i, &v, words) || !alarms) {
            fputs(told++ ? "; " : " ", stdout);
            alarm_put_text(v.text, 1);
            printf(": %s", words);
        }
    fputs(" |", stdout);
    for (unsigned i = 0; i < count; ++i) {
        alarm_verdict(d, i, &v, words);
        alarm_put_figure(&v, i);
    }
    putchar('\n');
    return alarms ? NAGIOS_CRITICAL : damaged ? NAGIOS_UNKNOWN : NAGIOS_OK;
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
    const int status = nagios           ? alarm_nagios(d, damaged)
                       : alarm_print(d) ? DUMP_ALARM
                       : damaged        ? DUMP_DAMAGED
                                        : DUMP_DONE;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fputs("sqtrace-dump: standard output: cannot write\n", stderr);
    return nagios ? NAGIOS_UNKNOWN : DUMP_FAILED;
}
