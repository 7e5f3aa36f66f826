/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * visible.c - see visible.h.
 */
#include "visible.h"

#include <stdint.h>
#include <string.h>

/* How many bytes of well-formed UTF-8 the character at s has, 0 if it is none; *code is set to it. */
static unsigned
utf8_length(const unsigned char *s, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned length = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
    *code = length < 2 ? *s : *s & (0x7fu >> length);
    for (unsigned i = 1; i < length; ++i) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (s[i] & 0x3f);
    }
    /* Too long a form, half of a surrogate pair, or beyond the last character. */
    if (length && (*code < least[length] || (*code >= 0xd800 && *code < 0xe000) || *code > 0x10ffff))
        return 0;
    return length;
}

static const struct {
    uint32_t from, to;
} harmful[] = {
    {0x00, 0x1f},     /* C0 */
    {0x7f, 0x9f},     /* DEL, C1 */
    {0x061c, 0x061c}, /* Arabic letter mark */
    {0x200e, 0x200f}, /* left-to-right and right-to-left mark */
    {0x2028, 0x202e}, /* line and paragraph separator, embeddings and overrides */
    {0x2066, 0x2069}, /* isolates */
    {0xfeff, 0xfeff}, /* byte order mark */
};

static int
is_harmful(uint32_t code)
{
    for (size_t i = 0; i < sizeof(harmful) / sizeof(*harmful); ++i)
        if (code >= harmful[i].from && code <= harmful[i].to)
            return 1;
    return 0;
}

char *
sqt_visible_next(char *to, const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    uint32_t code;
    const unsigned length = utf8_length(s, &code);
    const unsigned taken = length ? length : 1;
    const int plain = length && !is_harmful(code);
    *text += taken;
    for (unsigned i = 0; i < taken; ++i)
        if (plain) {
            *to++ = (char)s[i];
        } else {
            *to++ = '\\';
            *to++ = 'x';
            *to++ = "0123456789abcdef"[s[i] >> 4];
            *to++ = "0123456789abcdef"[s[i] & 15];
        }
    return to;
}

char *
sqt_visible_text(char *buffer, size_t size, const char *text)
{
    char character[4 * SQT_VISIBLE_MOST], *to = buffer;
    while (*text) {
        const size_t length = (size_t)(sqt_visible_next(character, &text) - character);
        if (length >= size - (size_t)(to - buffer))
            break;
        memcpy(to, character, length);
        to += length;
    }
    *to = '\0';
    return buffer;
}
