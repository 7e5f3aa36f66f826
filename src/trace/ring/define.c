/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * define.c - definitions, interned once.
 *
 * Numbers below 64 of the few kinds that there are, are bits; others go into a small open hash table.  The text is
 * valid once text_used covers it, and that is stored before the head of the first record that needs it.
 */
#include "define-internal.h"

#include <stdio.h>
#include <string.h>

#include "emit-internal.h"
#include "format/events.h"

#define SLOTS 4096 /* of the hash table, a power of two */
#define SLOTS_USED (SLOTS / 4 * 3)
#define NAMES 1024 /* texts that are known by their address: sqt_name() has 10 bits of a hash */
#define NAMES_USED 1000

static struct {
    struct sqt_ring_header *ring; /* NULL: nothing is traced */
    uint64_t large[SLOTS];        /* key_of() of what is known; 0: free */
    unsigned large_used;
    unsigned invented[SQT_KNOWN_KINDS];
    unsigned waited[SQT_WAITED_KINDS];
    uint64_t dropped;
} definitions;

uint64_t sqt_known[SQT_KNOWN_KINDS];

/* Rings so far, of which the last is definitions.ring. */
static unsigned rings;

static uint64_t
key_of(unsigned kind, uint32_t number)
{
    return ((uint64_t)kind << 32 | number) + 1;
}

static uint64_t *
define_slot_of(uint64_t key)
{
    uint64_t i = key * UINT64_C(0x9e3779b97f4a7c15) >> 52;
    while (definitions.large[i & (SLOTS - 1)] && definitions.large[i & (SLOTS - 1)] != key)
        ++i;
    return &definitions.large[i & (SLOTS - 1)];
}

int
sqt_defined_large(unsigned kind, uint32_t number)
{
    return *define_slot_of(key_of(kind, number)) != 0;
}

/* A line is a definition's end, a tab its fields'. */
static void
copy_text(char *to, const char *text, size_t size)
{
    for (size_t i = 0; i < size; ++i)
        to[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
}

static void
define_append(unsigned kind, uint32_t number, const char *text)
{
    struct sqt_ring_header *const ring = definitions.ring;
    const uint64_t used = ring->writer.text_used;
    char prefix[48];
    const size_t prefix_size = (size_t)snprintf(prefix, sizeof(prefix), "def\t%u\t%u\t", kind, (unsigned)number);
    const size_t text_size = strlen(text);
    if (prefix_size + text_size + 1 > ring->text_size - used) {
        ++definitions.dropped;
        return;
    }
    char *to = sqt_ring_text_area(ring) + used;
    memcpy(to, prefix, prefix_size);
    copy_text(to + prefix_size, text, text_size);
    to[prefix_size + text_size] = '\n';
    __atomic_store_n(&ring->writer.text_used, used + prefix_size + text_size + 1, __ATOMIC_RELEASE);
}

uint32_t
sqt_define_new(unsigned kind, uint32_t number, const char *text)
{
    if (!definitions.ring)
        return number;
    if (kind < SQT_KNOWN_KINDS && number < 64) {
        sqt_known[kind] |= UINT64_C(1) << number;
    } else {
        if (definitions.large_used == SLOTS_USED) {
            ++definitions.dropped;
            return number;
        }
        const uint64_t key = key_of(kind, number);
        *define_slot_of(key) = key;
        ++definitions.large_used;
    }
    define_append(kind, number, text);
    return number;
}

/* Interns the text's first `longest` bytes, and only the first `most` texts that `count` counts.  Returns 0 if there were
 * more. */
static uint32_t
define_bounded(unsigned kind, uint32_t number, const char *text, unsigned *count, unsigned most, int longest)
{
    char cut[SQT_SERVER_TEXT + 32];
    if (sqt_defined(kind, number))
        return number;
    if (*count == most)
        return 0;
    ++*count;
    snprintf(cut, sizeof(cut), "%.*s", longest, text);
    return sqt_define_new(kind, number, cut);
}

uint32_t
sqt_define_invented(unsigned kind, uint32_t number, const char *text)
{
    if (kind >= SQT_KNOWN_KINDS)
        return 0;
    return define_bounded(kind, number, text, &definitions.invented[kind], SQT_INVENTED, SQT_INVENTED_TEXT);
}

uint32_t
sqt_define_named(unsigned kind, uint32_t number, const char *text)
{
    const uint32_t defined = kind < SQT_KNOWN_KINDS ? define_bounded(kind, number, text, &definitions.invented[kind],
                                                                     SQT_SERVERS, SQT_SERVER_TEXT)
                                                    : 0;
    return defined ? defined : sqt_define(kind, 0, "other");
}

/* Numbers of kinds are below 64, those of names are not. */
static __attribute__((noinline)) uint32_t
define_waited(enum sqt_waited kind, uint32_t number, const char *name)
{
    static const char *const kinds[] = {
#define SQT_WAITED(NAME, name, doc) #name,
#include "format/waits.def"
    };
    char text[SQT_SERVER_TEXT + 32];
    if (sqt_names == SQT_NAMES_OFF)
        snprintf(text, sizeof(text), "%s %s-%08x", kinds[kind], kinds[kind], (unsigned)number);
    else
        snprintf(text, sizeof(text), "%s %.*s", kinds[kind], SQT_SERVER_TEXT, *name ? name : "?");
    const uint32_t defined =
        define_bounded(SQT_DEF_WAITED, number, text, &definitions.waited[kind], SQT_WAITED_NAMES, (int)sizeof(text));
    if (defined)
        return defined;
    snprintf(text, sizeof(text), "%s other", kinds[kind]);
    return sqt_define(SQT_DEF_WAITED, kind, text);
}

uint32_t
sqt_waited_number(enum sqt_waited kind, const char *name)
{
    /* What another names= calls otherwise has another number. */
    const uint32_t salt = (uint32_t)kind << 24 ^ (uint32_t)sqt_names << 16;
    const uint32_t number = (((uint32_t)sqt_hash(name, strlen(name)) ^ salt) & INT32_MAX) | 64;
    return sqt_defined(SQT_DEF_WAITED, number) ? number : define_waited(kind, number, name);
}

static int
is_any_of(const char *text, size_t length, const char *const *words)
{
    while (*words && (strlen(*words) != length || memcmp(*words, text, length) != 0))
        ++words;
    return *words != NULL;
}

/* How much of an ACL's name is told.  An ACL has a name of one word, but Squid names the lists of ACLs as well:
 *     DIRECTIVE#1   NAME_access LABEL   (NAME lines)   (NAME line #1)   (DIRECTIVE rules)   (DIRECTIVE rule)
 * and DIRECTIVE LABEL and (DIRECTIVE LABEL line), whose LABEL has what the directive sets, such as the value of a header
 * field, which may be a password.  Of these two only the directive is told. */
static size_t
acl_told(const char *name, size_t length)
{
    static const char *const said[] = {"lines)", "rules)", "rule)", NULL};
    static const char access[] = "_access", line[] = "line #";
    const char *const blank = memchr(name, ' ', length);
    if (!blank)
        return length;
    const size_t first = (size_t)(blank - name), rest = length - first - 1;
    if (name[0] != '(') {
        const size_t most = sizeof(access) - 1;
        return first > most && memcmp(blank - most, access, most) == 0 ? length : first;
    }
    if (is_any_of(blank + 1, rest, said))
        return length;
    size_t digits = sizeof(line) - 1;
    if (rest <= digits || memcmp(blank + 1, line, digits) != 0)
        return first;
    while (digits < rest - 1 && blank[1 + digits] >= '0' && blank[1 + digits] <= '9')
        ++digits;
    return digits == rest - 1 && blank[1 + digits] == ')' ? length : first;
}

uint32_t
sqt_define_acl(const char *name, size_t length)
{
    char text[SQT_SERVER_TEXT + 1];
    const size_t told = acl_told(name, length);
    snprintf(text, sizeof(text), "%.*s%s", (int)(told < SQT_SERVER_TEXT ? told : SQT_SERVER_TEXT), name,
             told < length && name[0] == '(' ? ")" : "");
    uint32_t number = UINT32_C(2166136261); /* FNV-1a: nobody chooses these names but who writes squid.conf */
    for (size_t i = 0; i < told; ++i)
        number = (number ^ (unsigned char)name[i]) * UINT32_C(16777619);
    const uint32_t defined = define_bounded(SQT_DEF_ACL, (number & INT32_MAX) | 2, text,
                                            &definitions.invented[SQT_DEF_ACL], SQT_ACLS, SQT_SERVER_TEXT);
    return defined ? defined : sqt_define(SQT_DEF_ACL, 1, "other");
}

/* Texts that are known by their address, in an open hash table. */
static struct {
    const char *text;
    unsigned kind;
    unsigned told; /* the ring that knows it */
} names[NAMES];

/* A text that does not stand where it is looked for first, or that the ring does not know. */
static __attribute__((noinline)) uint32_t
look_for_name(unsigned kind, const char *text, unsigned i)
{
    static unsigned used;
    while (names[i].text && (names[i].text != text || names[i].kind != kind))
        i = (i + 1) % NAMES;
    if (names[i].text && names[i].told == rings)
        return i + 1;
    if (!names[i].text) {
        if (used == NAMES_USED)
            return sqt_define(kind, 0, "other");
        ++used;
        names[i].text = text;
        names[i].kind = kind;
    }
    names[i].told = rings;
    return sqt_define(kind, i + 1, text);
}

uint32_t
sqt_name(unsigned kind, const char *text)
{
    const unsigned i = (uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15) >> 54;
    return names[i].text == text && names[i].kind == kind && names[i].told == rings ? i + 1
                                                                                    : look_for_name(kind, text, i);
}

struct sqt_known_acl sqt_known_acls[SQT_KNOWN_ACLS];
uint32_t *sqt_acl_now;

void
sqt_define_forget_acls(void)
{
    memset(sqt_known_acls, 0, sizeof(sqt_known_acls));
}

int
sqt_define_begin(struct sqt_ring_header *ring)
{
    sqt_define_forget_acls();
    memset(&definitions, 0, sizeof(definitions));
    memset(sqt_known, 0, sizeof(sqt_known));
    const size_t size = sqt_events_text(sqt_ring_text_area(ring), ring->text_size);
    if (size >= ring->text_size)
        return -1;
    __atomic_store_n(&ring->writer.text_used, size, __ATOMIC_RELEASE);
    definitions.ring = ring;
    ++rings;
    return 0;
}

void
sqt_define_end(void)
{
    definitions.ring = NULL;
}

uint64_t
sqt_define_dropped(void)
{
    return definitions.dropped;
}
