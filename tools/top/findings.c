/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings.c - what people suffer now, and whose fault it is: asked again and again, as rows and as lines of a screen.
 */
#include <string.h>

#include "base/human.h"
#include "frame.h"
#include "live/live.h"

/* Between two looks for findings, ns; and how many ms --once waits for them. */
#define FINDINGS_EVERY INT64_C(1000000000)
#define FINDINGS_WAIT 10000
/* A screen of so many lines has room for another finding. */
#define FINDINGS_ROOM 24
#define FINDINGS_MOST 5

/* ---- asking ---- */

void
top_findings_look(struct top *top)
{
    const struct sqt_now now = {top->now, sqt_origin_silent, sqt_origin_acl};
    if (top->request->given[TOP_once]) {
        if (sqt_live_ask(top->live, top->live_now ? &now : NULL, 0))
            sqt_live_take(top->live, FINDINGS_WAIT);
        return;
    }
    sqt_live_take(top->live, 0);
    sqt_live_ask(top->live, top->live_now ? &now : NULL, FINDINGS_EVERY);
}

/* ---- lines ---- */

/* How many bytes of the text fit into a line of that width: it is broken between words. */
static size_t
findings_fit(const char *text, size_t width)
{
    size_t fit = strlen(text);
    if (fit <= width)
        return fit;
    for (fit = width; fit && text[fit] != ' '; --fit)
        ;
    return fit ? fit : width;
}

/* A text of several lines, which begin below the first word of the first one. */
static void
findings_wrap(struct frame *f, enum frame_look look, const char *first, const char *text)
{
    const size_t indent = strlen(first), width = f->width > indent + 20 ? f->width - indent : 20;
    for (int begun = 0; *text; begun = 1) {
        const size_t fit = findings_fit(text, width);
        frame_add(f, look, "%*s%.*s", (int)indent, begun ? "" : first, (int)fit, text);
        text += fit;
        text += *text == ' ';
    }
}

static void
findings_one(struct frame *f, const struct sqt_live_finding *finding, unsigned number, int with_advice)
{
    char first[16];
    const char *const advice = SQT_LIVE_TEXT(finding, advice);
    snprintf(first, sizeof(first), "%u. ", number);
    findings_wrap(f, sqt_live_is_now(finding->row) ? FRAME_ALARM : FRAME_PLAIN, first,
                  SQT_LIVE_TEXT(finding, sentence));
    if (with_advice && advice)
        findings_wrap(f, FRAME_PLAIN, "   ", advice);
}

/* Of how much time findings are. */
static void
findings_title(struct frame *f, const struct top *top, unsigned count)
{
    char width[SQT_HUMAN_ROOM];
    const int64_t from = sqt_live_from(top->live);
    sqt_human_time(width, from < top->now ? (double)(top->now - from) : 0, " ", "us");
    frame_add(f, FRAME_TITLE, "Findings of the last %s%s", width, count ? "" : ": none");
}

void
frame_findings(struct frame *f, const struct top *top)
{
    unsigned count;
    const struct sqt_live_finding *const found = sqt_live_found(top->live, &count);
    const unsigned most = f->height ? f->height / FINDINGS_ROOM : FINDINGS_MOST;
    findings_title(f, top, count);
    for (unsigned i = 0; i < count && i < (most ? most : 1) && i < FINDINGS_MOST; ++i)
        findings_one(f, &found[i], i + 1, 0);
}

void
frame_all_findings(struct frame *f, const struct top *top)
{
    unsigned count;
    const struct sqt_live_finding *const found = sqt_live_found(top->live, &count);
    findings_title(f, top, count);
    for (unsigned i = 0; i < count; ++i)
        findings_one(f, &found[i], i + 1, 1);
}
