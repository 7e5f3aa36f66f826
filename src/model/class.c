/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * class.c - see class.h.
 */
#include "class.h"

#include <string.h>

#include "../format/format.h"

const struct sqt_class_info sqt_classes[SQT_CLASSES] = {
#define SQT_CLASS(NAME, name, doc) {#name, doc},
#include "classes.def"
};

#define CODE(code, CLASS) \
    { \
#code, sizeof(#code) - 1, SQT_CLASS_##CLASS \
    }
static const struct {
    const char *code;
    size_t length;
    enum sqt_class class;
} codes[] = {
    CODE(MEM_HIT, MEM_HIT),
    CODE(HIT, DISK_HIT),
    CODE(OFFLINE_HIT, DISK_HIT),
    CODE(MISS, MISS),
    CODE(CLIENT_REFRESH_MISS, MISS),
    CODE(SWAPFAIL_MISS, MISS),
    CODE(IMS_HIT, IMS_HIT),
    CODE(INM_HIT, IMS_HIT),
    CODE(NEGATIVE_HIT, NEGATIVE_HIT),
    CODE(REFRESH_UNMODIFIED, REFRESH_HIT),
    CODE(REFRESH_FAIL_OLD, REFRESH_HIT),
    CODE(REFRESH_MODIFIED, REFRESH_MISS),
    CODE(REFRESH_FAIL_ERR, REFRESH_MISS),
    CODE(REFRESH, REFRESH_MISS),
    CODE(TUNNEL, TUNNEL),
    CODE(DENIED, DENIED),
    CODE(DENIED_REPLY, DENIED),
    CODE(REDIRECT, INTERNAL),
    CODE(NONE, ERROR),
};
#undef CODE

unsigned
sqt_tag_code(const char *tag, const char **code)
{
    static const char *const suffixes[] = {"_ABORTED", "_TIMEDOUT", "_IGNORED"};
    if (strncmp(tag, "TCP_", 4) == 0)
        tag += 4;
    else if (strncmp(tag, "NONE_", 5) == 0)
        tag += 5;
    if (strncmp(tag, "CF_", 3) == 0)
        tag += 3;
    size_t length = strlen(tag);
    /* Squid appends them in the reverse of this order. */
    for (unsigned i = 0; i < sizeof(suffixes) / sizeof(*suffixes); ++i) {
        const size_t size = strlen(suffixes[i]);
        if (length > size && memcmp(tag + length - size, suffixes[i], size) == 0)
            length -= size;
    }
    *code = tag;
    return (unsigned)length;
}

enum sqt_class
sqt_class_of(const char *tag, uint32_t disk_reads, uint32_t flags)
{
    if (!tag)
        return SQT_CLASS_ERROR;
    if (strncmp(tag, "UDP_", 4) == 0)
        return SQT_CLASS_QUERY;
    const char *code;
    const unsigned length = sqt_tag_code(tag, &code);
    enum sqt_class class = SQT_CLASS_ERROR;
    for (unsigned i = 0; i < sizeof(codes) / sizeof(*codes); ++i)
        if (codes[i].length == length && memcmp(codes[i].code, code, length) == 0) {
            class = codes[i].class;
            break;
        }
    if (class == SQT_CLASS_DISK_HIT && !disk_reads)
        return SQT_CLASS_MEM_HIT;
    const uint32_t made = flags & (SQT_XACT_INTERNAL | SQT_XACT_ERROR_PAGE);
    if ((class == SQT_CLASS_MISS && (made & SQT_XACT_INTERNAL)) ||
        (class == SQT_CLASS_ERROR && made == SQT_XACT_INTERNAL))
        return SQT_CLASS_INTERNAL;
    return class;
}
