/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * page.c - see page.h.
 */
#include "page.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/visible.h"
#include "page-internal.h"

#define MARK "<!-- fragment: "
#define MARK_END " -->\n"
#define VALUES_MOST 32

struct fragment {
    const char *name, *text, *end;
    size_t name_length;
};

struct page {
    FILE *out;
    char *text;
    struct fragment *fragments; /* by name */
    size_t count;
    const char *folder; /* of what is put into the page; NULL: nothing is */
    char error[600];
};

static int
page_compare(const void *x, const void *y)
{
    const struct fragment *const a = x, *const b = y;
    const size_t shorter = a->name_length < b->name_length ? a->name_length : b->name_length;
    const int by_text = memcmp(a->name, b->name, shorter);
    return by_text ? by_text : (a->name_length > b->name_length) - (a->name_length < b->name_length);
}

/* Notes where each fragment stands: a page of many rows asks for one at each cell. */
static void
page_note_fragments(struct page *page)
{
    for (const char *mark = strstr(page->text, MARK), *next; mark; mark = next) {
        const char *const name = mark + strlen(MARK), *const name_end = strstr(name, MARK_END);
        next = strstr(name, MARK);
        if (!name_end || (next && name_end > next))
            continue;
        page->fragments = sqt_resized(page->fragments, (page->count + 1) * sizeof(*page->fragments));
        page->fragments[page->count++] = (struct fragment){
            name, name_end + strlen(MARK_END), next ? next : name + strlen(name), (size_t)(name_end - name)};
    }
    if (page->count)
        qsort(page->fragments, page->count, sizeof(*page->fragments), page_compare);
}

/* NULL: there is none. */
static const struct fragment *
page_find(const struct page *page, const char *name)
{
    const struct fragment wanted = {.name = name, .name_length = strlen(name)};
    return page->count ? bsearch(&wanted, page->fragments, page->count, sizeof(wanted), page_compare) : NULL;
}

struct page *
page_open(const char *path, FILE *out, const char *folder)
{
    FILE *const in = sqt_fopen(path, "r");
    if (!in)
        return NULL;
    struct page *const page = sqt_zeroed(1, sizeof(*page));
    size_t room = 0;
    page->out = out;
    page->folder = folder;
    if (sqt_getdelim(&page->text, &room, '\0', in) < 0 && !page->text)
        page->text = sqt_zeroed(1, 1);
    fclose(in);
    page_note_fragments(page);
    return page;
}

int
page_is_single(const struct page *page)
{
    return page->folder != NULL;
}

const char *
page_error(const struct page *page)
{
    return *page->error ? page->error : NULL;
}

void
page_free(struct page *page)
{
    if (page) {
        free(page->fragments);
        free(page->text);
    }
    free(page);
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
        default:
            fwrite(character, 1, (size_t)(sqt_visible_next(character, &text) - character), out);
        }
    }
}

/* Prints {{how:path}}, of which `length` bytes stand between the braces.  Returns 0 if it is none. */
static int
page_put_file(struct page *page, const char *text, size_t length, const char *file)
{
    static const char *const ways[] = {
        [PAGE_WITHIN_TEXT] = "text:", [PAGE_WITHIN_SCRIPT] = "script:", [PAGE_WITHIN_ADDRESS] = "address:"};
    for (unsigned how = 0; page->folder && how < sizeof(ways) / sizeof(*ways); ++how) {
        const size_t begin = strlen(ways[how]);
        if (length <= begin || memcmp(text, ways[how], begin) != 0)
            continue;
        const char *const star = memchr(text, '*', length);
        const int before = (int)((star ? star : text + length) - text - (long)begin);
        char path[2048];
        const int n = snprintf(path, sizeof(path), "%s/%.*s%s%.*s", page->folder, before, text + begin,
                               star ? file : "", star ? (int)(text + length - star) - 1 : 0, star ? star + 1 : "");
        if (n >= (int)sizeof(path))
            errno = ENAMETOOLONG;
        if ((n >= (int)sizeof(path) || page_put_within(page->out, how, path) != 0) && !*page->error)
            snprintf(page->error, sizeof(page->error), "%.450s: %s", path, strerror(errno));
        return 1;
    }
    return 0;
}

/* The fragment of a page of one file, or that of all pages. */
static const struct fragment *
page_find_own(const struct page *page, const char *name)
{
    char single[128];
    snprintf(single, sizeof(single), "%s.single", name);
    const struct fragment *const found = page->folder ? page_find(page, single) : NULL;
    return found ? found : page_find(page, name);
}

/* Prints what stands in braces. */
static void
page_put_place(struct page *page, const char *fragment, const char *text, size_t length, const char *const *names,
               const char *const *values, unsigned count)
{
    const char *file = "";
    for (unsigned i = 0; i < count; ++i) {
        if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0) {
            page_put_text(page->out, values[i] ? values[i] : "");
            return;
        }
        if (strcmp(names[i], "file") == 0 && values[i])
            file = values[i];
    }
    if (!page_put_file(page, text, length, file) && !*page->error)
        snprintf(page->error, sizeof(page->error), "fragment '%s': nothing is given for {{%.*s}}", fragment,
                 (int)length, text);
}

void
page_put(struct page *page, const char *fragment, ...)
{
    const char *names[VALUES_MOST], *values[VALUES_MOST];
    unsigned count = 0;
    va_list arguments;
    va_start(arguments, fragment);
    while (count < VALUES_MOST && (names[count] = va_arg(arguments, const char *))) {
        values[count] = va_arg(arguments, const char *);
        ++count;
    }
    va_end(arguments);
    const struct fragment *const found = page_find_own(page, fragment);
    if (!found) {
        if (!*page->error)
            snprintf(page->error, sizeof(page->error), "there is no fragment '%s'", fragment);
        return;
    }
    for (const char *p = found->text; p < found->end;) {
        const char *const open = memmem(p, (size_t)(found->end - p), "{{", 2);
        const char *const close = open ? memmem(open, (size_t)(found->end - open), "}}", 2) : NULL;
        if (!close) {
            fwrite(p, 1, (size_t)(found->end - p), page->out);
            return;
        }
        fwrite(p, 1, (size_t)(open - p), page->out);
        page_put_place(page, fragment, open + 2, (size_t)(close - open) - 2, names, values, count);
        p = close + 2;
    }
}
