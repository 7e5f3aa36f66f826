/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * page.c - see page.h.
 */
#include "page.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/visible.h"

#define MARK "<!-- fragment: "
#define MARK_END " -->\n"
#define VALUES_MOST 32

struct page {
    FILE *out;
    char *text;
    char error[160];
};

struct page *
page_open(const char *path, FILE *out)
{
    FILE *const in = fopen(path, "r");
    if (!in)
        return NULL;
    struct page *const page = sqt_zeroed(1, sizeof(*page));
    size_t room = 0;
    page->out = out;
    if (getdelim(&page->text, &room, '\0', in) < 0 && !page->text)
        page->text = sqt_zeroed(1, 1);
    fclose(in);
    return page;
}

const char *
page_error(const struct page *page)
{
    return *page->error ? page->error : NULL;
}

void
page_free(struct page *page)
{
    if (page)
        free(page->text);
    free(page);
}

/* The text of a fragment and where it ends; NULL: there is none. */
static const char *
page_find(const struct page *page, const char *name, const char **end)
{
    const size_t length = strlen(name);
    for (const char *p = page->text; (p = strstr(p, MARK));) {
        p += strlen(MARK);
        if (strncmp(p, name, length) != 0 || strncmp(p + length, MARK_END, strlen(MARK_END)) != 0)
            continue;
        p += length + strlen(MARK_END);
        *end = strstr(p, MARK);
        if (!*end)
            *end = p + strlen(p);
        return p;
    }
    return NULL;
}

static void
page_put_text(FILE *out, const char *text)
{
    while (*text) {
        char character[4 * SQT_VISIBLE_MOST];
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            ++text;
            break;
        case '<':
            fputs("&lt;", out);
            ++text;
            break;
        case '>':
            fputs("&gt;", out);
            ++text;
            break;
        case '"':
            fputs("&quot;", out);
            ++text;
            break;
        case '\'':
            fputs("&#39;", out);
            ++text;
            break;
        case '\n':
            putc(*text++, out);
            break;
        default:
            fwrite(character, 1, (size_t)(sqt_visible_next(character, &text) - character), out);
        }
    }
}

void
page_put(struct page *page, const char *fragment, ...)
{
    const char *names[VALUES_MOST], *values[VALUES_MOST], *end = NULL;
    unsigned count = 0;
    va_list arguments;
    va_start(arguments, fragment);
    while (count < VALUES_MOST && (names[count] = va_arg(arguments, const char *))) {
        values[count] = va_arg(arguments, const char *);
        ++count;
    }
    va_end(arguments);
    const char *p = page_find(page, fragment, &end);
    if (!p) {
        if (!*page->error)
            snprintf(page->error, sizeof(page->error), "there is no fragment '%s'", fragment);
        return;
    }
    while (p < end) {
        const char *const open = strstr(p, "{{"), *const close = open ? strstr(open, "}}") : NULL;
        if (!close || open >= end) {
            fwrite(p, 1, (size_t)(end - p), page->out);
            return;
        }
        fwrite(p, 1, (size_t)(open - p), page->out);
        const size_t length = (size_t)(close - open) - 2;
        unsigned i = 0;
        while (i < count && (strlen(names[i]) != length || memcmp(names[i], open + 2, length) != 0))
            ++i;
        if (i < count)
            page_put_text(page->out, values[i] ? values[i] : "");
        else if (!*page->error)
            snprintf(page->error, sizeof(page->error), "fragment '%s': nothing is given for {{%.*s}}", fragment,
                     (int)length, open + 2);
        p = close + 2;
    }
}
