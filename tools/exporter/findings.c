/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings.c - what people suffer now, and whose fault it is, as gauges: while somebody scrapes, and a process writes the trace.
 */
#include <time.h>

#include "base/visible.h"
#include "exporter.h"

/* Between two looks for findings, and for how long after a scrape they are looked for, in ns. */
#define FINDINGS_EVERY (5 * EXPORTER_SECOND)
#define FINDINGS_AFTER (300 * EXPORTER_SECOND)
/* The same while somebody looks at the page, which asks every 2 s. */
#define FINDINGS_SOON (2 * EXPORTER_SECOND)
#define FINDINGS_LOOKED (10 * EXPORTER_SECOND)
/* Bytes of a label's value; what is longer is cut. */
#define LABEL 128

/* The label set of a finding: its cause and harm are words of sqtrace, its culprit is of the trace. */
static struct export_child *
gauges_child(struct exporter *e, const struct sqt_live_finding *finding, int64_t monotonic)
{
    char culprit[LABEL];
    const char *const name = SQT_LIVE_TEXT(finding, culprit);
    const char *labels[] = {SQT_LIVE_TEXT(finding, cause), culprit, SQT_LIVE_TEXT(finding, harm)};
    sqt_visible_text(culprit, sizeof(culprit), name ? name : "");
    if (!export_is_known(&e->culprits, labels, sizeof(labels) / sizeof(*labels), monotonic))
        labels[1] = EXPORT_OTHER;
    return export_series_get(e->series, EXPORT_FAMILY_finding, labels);
}

/* Several may share the label set of the others. */
static void
gauges_put(struct exporter *e, const struct sqt_live_finding *finding, int64_t monotonic)
{
    struct export_child *const child = gauges_child(e, finding, monotonic);
    export_series_raise(child, EXPORT_finding_waiting, SQT_LIVE_NUMBER(finding, waiting_s));
    export_series_raise(child, EXPORT_finding_requests, SQT_LIVE_NUMBER(finding, requests));
    export_series_raise(child, EXPORT_finding_failures, SQT_LIVE_NUMBER(finding, failures));
    export_series_raise(child, EXPORT_finding_lasts, SQT_LIVE_NUMBER(finding, lasts) == 1);
}

static void
gauges_take(struct exporter *e, int64_t monotonic)
{
    const struct sqt_live_finding *const found = sqt_live_found(e->trace.live, &e->findings);
    export_series_clear(e->series, EXPORT_FAMILY_finding);
    for (unsigned i = 0; i < e->findings; ++i)
        gauges_put(e, &found[i], monotonic);
}

static int64_t
findings_pause(const struct exporter *e, int64_t monotonic)
{
    return e->looked && monotonic - e->looked < FINDINGS_LOOKED ? FINDINGS_SOON : FINDINGS_EVERY;
}

void
exporter_findings_look(struct exporter *e, int64_t monotonic)
{
    const struct sqt_now now = {sqt_stream_now(e->trace.stream), sqt_origin_silent, sqt_origin_acl};
    const int lives = now.ns != INT64_MIN;
    if (sqt_live_take(e->trace.live, 0) > 0)
        gauges_take(e, monotonic);
    if (!lives || !e->scraped || monotonic - e->scraped > FINDINGS_AFTER)
        exporter_findings_forget(e);
    else
        sqt_live_ask(e->trace.live, &now, findings_pause(e, monotonic));
}

void
exporter_findings_forget(struct exporter *e)
{
    e->findings = 0;
    export_series_clear(e->series, EXPORT_FAMILY_finding);
}
