/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * page-within.c - files that stand within a page: as they are, as a script, or as the address of an image.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "page-internal.h"

static const struct {
    const char *ending, *type;
} types[] = {{".svg", "image/svg+xml"}, {".tsv", "text/tab-separated-values"}};

/* All of a file, to be freed, with a zero behind it; NULL: errno says why. */
static char *
within_read(const char *path, size_t *size)
{
    FILE *const in = sqt_fopen(path, "r");
    if (!in)
        return NULL;
    char *text = NULL;
    size_t room = 0;
    *size = 0;
    for (;;) {
        if (room - *size < 2)
            text = sqt_resized(text, room = room ? 2 * room : 65536);
        const size_t n = fread(text + *size, 1, room - *size - 1, in);
        *size += n;
        if (!n)
            break;
    }
    text[*size] = '\0';
    const int error = ferror(in) ? EIO : 0;
    fclose(in);
    if (!error)
        return text;
    free(text);
    errno = error;
    return NULL;
}

/* A browser ends a script at "</script" and begins a comment at "<!--", even where they are in a text of the script.
 * With a backslash they are the same text for the script, and nothing for the browser. */
static void
within_put_script(FILE *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; ++i) {
        putc(text[i], out);
        if (text[i] == '<' && (text[i + 1] == '/' || text[i + 1] == '!' || strncasecmp(text + i + 1, "script", 6) == 0))
            putc('\\', out);
    }
}

static void
within_put_address(FILE *out, const char *path, const char *text, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t length = strlen(path);
    const char *type = "application/octet-stream";
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); ++i)
        if (length > 4 && strcmp(path + length - 4, types[i].ending) == 0)
            type = types[i].type;
    fprintf(out, "data:%s;base64,", type);
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const unsigned bits = (unsigned)(unsigned char)text[i] << 16 |
                              (left > 1 ? (unsigned)(unsigned char)text[i + 1] << 8 : 0) |
                              (left > 2 ? (unsigned char)text[i + 2] : 0);
        putc(digits[bits >> 18], out);
        putc(digits[bits >> 12 & 63], out);
        putc(left > 1 ? digits[bits >> 6 & 63] : '=', out);
        putc(left > 2 ? digits[bits & 63] : '=', out);
    }
}

int
page_put_within(FILE *out, enum page_within how, const char *path)
{
    size_t size;
    char *const text = within_read(path, &size);
    if (!text)
        return -1;
    if (how == PAGE_WITHIN_SCRIPT)
        within_put_script(out, text, size);
    else if (how == PAGE_WITHIN_ADDRESS)
        within_put_address(out, path, text, size);
    else
        fwrite(text, 1, size, out);
    free(text);
    return 0;
}
