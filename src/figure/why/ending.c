/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ending.c - see ending.h.
 */
#include "ending.h"

#include <stdio.h>
#include <string.h>

/* A kind of words of Squid: they begin so, and go on so behind a name. */
static const struct ending_words {
    const char *begin, *end;
    const char *culprit, *because; /* with %s for the name between the two */
    const char *advice;
} ending_words[] = {
    {"logfileWrite: ", ": (", "log %s", "it could not write to its log %s%s",
     "Make room on that disk, or rotate logs earlier. access_log: on-error=drop goes on without lines, and the module "
     "daemon does not end Squid."},
    {"The ", " helpers are crashing too rapidly", "%s", "children of its helper %s died one after the other",
     "Run that helper by hand, as Squid's user: cache.log has what it wrote to its standard error."},
    {"Too many queued ", " requests", "%s", "too many questions waited for its helper %s",
     "More children of that helper, or concurrency=. queue-size= and on-persistent-overload=err: Squid answers with an "
     "error in place of ending."},
    {"Bungled ", "", "%s", "it could not read its configuration: %s",
     "squid -k parse finds the fault before squid -k reconfigure does."},
    {"reconfiguration failure", "", "Squid%s", "it could not read its configuration%s",
     "squid -k parse finds the fault before squid -k reconfigure does."},
    {"assertion failed: ", "", "Squid, at %s", "an assertion failed: %s",
     "A fault of Squid: look for it among those that are known, and report it with Squid's version and a backtrace."},
};

static const char any_advice[] = "cache.log has more: look for FATAL, and for the lines before it.";

/* Of a place in Squid's source, "../../src/helper.cc:1123: ...", from the file's name on. */
static const char *
ending_file(const char *at, const char *end)
{
    if (strncmp(at, "../", 3) != 0)
        return at;
    const char *const colon = memchr(at, ':', (size_t)(end - at));
    for (const char *slash = at; colon && slash < colon; ++slash)
        at = *slash == '/' ? slash + 1 : at;
    return at;
}

/* The name between the two; NULL: they are other words. */
static const char *
ending_name(const struct ending_words *w, const char *why, char name[SQT_TOLD_NAME], const char **rest)
{
    const size_t begin = strlen(w->begin);
    if (strncmp(why, w->begin, begin) != 0)
        return NULL;
    const char *const end = *w->end ? strstr(why + begin, w->end) : why + strlen(why);
    if (!end)
        return NULL;
    const char *const at = ending_file(why + begin, end);
    snprintf(name, SQT_TOLD_NAME, "%.*s", (int)(end - at), at);
    *rest = end;
    return name;
}

static int
is_about_helper(const struct ending_words *w)
{
    return strstr(w->end, "helpers") || strstr(w->end, "requests");
}

/* A write that took only a part has no error of its own. */
static const char *
ending_rest(const char *rest)
{
    return strncmp(rest, ": (0)", 5) == 0 ? ": it took only a part of a line, as a full disk does" : rest;
}

/* The words with the name in the place of the first %s, and the rest of Squid's in that of the second. */
static void
ending_fill(char *text, size_t size, const char *words, const char *name, const char *rest)
{
    const char *const hole = strstr(words, "%s"), *const second = strstr(hole + 2, "%s");
    snprintf(text, size, "%.*s%s%.*s%s", (int)(hole - words), words, name,
             second ? (int)(second - hole - 2) : (int)strlen(hole + 2), hole + 2, second ? rest : "");
}

void
sqt_ending_of(struct sqt_ending *e, const char *why, const char *helper)
{
    char name[SQT_TOLD_NAME];
    const char *rest = "";
    for (unsigned i = 0; i < sizeof(ending_words) / sizeof(*ending_words); ++i) {
        const struct ending_words *const w = &ending_words[i];
        if (!ending_name(w, why, name, &rest))
            continue;
        const char *const who = is_about_helper(w) && *helper ? helper : name;
        ending_fill(e->culprit, sizeof(e->culprit), w->culprit, who, "");
        ending_fill(e->because, sizeof(e->because), w->because, who, ending_rest(rest));
        e->advice = w->advice;
        return;
    }
    snprintf(e->culprit, sizeof(e->culprit), "Squid");
    snprintf(e->because, sizeof(e->because), "%s", why);
    e->advice = any_advice;
}
