/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * settings.c - see settings.h.
 */
#include "settings.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/units.h"
#include "read/file/listing.h"
#include "read/log/conf.h"

/* A longer line of squid.conf is cut off: the settings are at its begin. */
#define WORDS_MOST 16
/* Squid's own limit of files that include each other. */
#define DEPTH_MOST 16u
/* Names and patterns after "include", and files that match patterns, of all files together. */
#define INCLUDES_MOST 256u
/* Patterns of all files together, letters of one behind its folder, and names in those folders: what comparing takes. */
#define PATTERNS_MOST 32u
#define PATTERN_MOST 64u
#define NAMES_MOST 10000u

void
sqt_settings_init(struct sqt_settings *s)
{
    memset(s, 0, sizeof(*s));
    s->cache_mem = s->max_object_in_memory = s->max_object = s->workers = s->memory_shared = SQT_UNSET;
    s->swap_low = s->swap_high = SQT_UNSET;
    s->server_persistent = s->collapsed = s->idle_timeout = s->negative_dns_ttl = SQT_UNSET;
}

/* A size: a number, and a unit behind it that may stand alone, as Squid takes it. */
static int
settings_size(const char *number, const char *unit, int64_t *bytes)
{
    char whole[64];
    const char *error;
    if (!number)
        return -1;
    const int joined = number[strspn(number, "0123456789.")] != '\0';
    snprintf(whole, sizeof(whole), "%s%s", number, joined || !unit ? "" : unit);
    const size_t length = strlen(whole);
    if (length > 5 && strcasecmp(whole + length - 5, "bytes") == 0)
        whole[length - 5] = '\0';
    return sqt_units_parse(whole, strlen(whole), SQT_UNITS_BYTES, 1, bytes, &error) == 0 && *bytes >= 0 ? 0 : -1;
}

static int
settings_whole(const char *word, int64_t *value)
{
    char *end;
    if (!word || *word < '0' || *word > '9')
        return -1;
    errno = 0;
    *value = strtoll(word, &end, 10);
    return errno || (*end && *end != '%') || *value > INT32_MAX ? -1 : 0;
}

static int
settings_flag(const char *word, int64_t *value)
{
    if (!word || (strcmp(word, "on") != 0 && strcmp(word, "off") != 0))
        return -1;
    *value = strcmp(word, "on") == 0;
    return 0;
}

/* Ten years: what is longer is as long. */
#define TIME_MOST INT64_C(315360000)

/* A time in seconds: a number, and a unit behind it. */
static int
settings_time(const char *number, const char *unit, int64_t *seconds)
{
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {{"second", 1},          {"minute", 60},     {"hour", 3600},     {"day", 86400},       {"week", 604800},
                 {"fortnight", 1209600}, {"month", 2592000}, {"year", 31557790}, {"decade", 315577900}};
    char *end;
    const double value = number ? strtod(number, &end) : -1;
    if (!number || end == number || *end || !(value >= 0 && value <= INT32_MAX))
        return -1;
    for (unsigned i = 0; i < sizeof(units) / sizeof(*units); ++i)
        if (!unit || strncasecmp(unit, units[i].name, strlen(units[i].name)) == 0) {
            const double whole = value * (double)units[i].seconds;
            *seconds = whole < TIME_MOST ? (int64_t)whole : TIME_MOST;
            return 0;
        }
    return -1;
}

static void
settings_policy(char *policy, size_t size, char *const *words, unsigned count)
{
    snprintf(policy, size, "%s%s%s", count > 1 ? words[1] : "", count > 2 ? " " : "", count > 2 ? words[2] : "");
}

/* cache_dir TYPE PATH MB [L1 L2] [max-size=BYTES] [min-size=BYTES] */
static int
settings_dir(struct sqt_settings *s, char *const *words, unsigned count)
{
    int64_t mb;
    if (count < 4 || settings_whole(words[3], &mb) != 0)
        return -1;
    if (s->dir_count == SQT_DIRS_MOST)
        return 0;
    struct sqt_setting_dir *const dir = &s->dirs[s->dir_count++];
    snprintf(dir->type, sizeof(dir->type), "%s", words[1]);
    dir->bytes = mb << 20;
    dir->min_object = dir->max_object = SQT_UNSET;
    for (unsigned i = 4; i < count; ++i) {
        if (strncmp(words[i], "max-size=", 9) == 0 && settings_size(words[i] + 9, NULL, &dir->max_object) != 0)
            return -1;
        if (strncmp(words[i], "min-size=", 9) == 0 && settings_size(words[i] + 9, NULL, &dir->min_object) != 0)
            return -1;
    }
    return 0;
}

/* The entry of a helper; NULL if there are too many. */
static struct sqt_setting_children *
settings_helper(struct sqt_settings *s, const char *kind, const char *name)
{
    for (unsigned i = 0; i < s->helper_count; ++i)
        if (strcmp(s->helpers[i].kind, kind) == 0 && strcmp(s->helpers[i].name, name) == 0)
            return &s->helpers[i];
    if (s->helper_count == SQT_CHILDREN_MOST)
        return NULL;
    struct sqt_setting_children *const helper = &s->helpers[s->helper_count++];
    snprintf(helper->kind, sizeof(helper->kind), "%s", kind);
    snprintf(helper->name, sizeof(helper->name), "%s", name);
    helper->children = SQT_UNSET;
    return helper;
}

/* "N [startup=N] [idle=N] [concurrency=N]", from that word on. */
static int
settings_children(struct sqt_settings *s, const char *kind, const char *name, char *const *words, unsigned count)
{
    struct sqt_setting_children *const helper = settings_helper(s, kind, name);
    if (!helper)
        return 0;
    if (count < 1 || settings_whole(words[0], &helper->children) != 0)
        return -1;
    helper->concurrency = 0;
    for (unsigned i = 1; i < count; ++i)
        if (strncmp(words[i], "concurrency=", 12) == 0 && settings_whole(words[i] + 12, &helper->concurrency) != 0)
            return -1;
    return 0;
}

/* external_acl_type NAME [children-max=N] [concurrency=N] ... */
static int
settings_external(struct sqt_settings *s, char *const *words, unsigned count)
{
    struct sqt_setting_children *const helper = count > 1 ? settings_helper(s, "external_acl", words[1]) : NULL;
    if (!helper)
        return 0;
    helper->children = 5; /* Squid's default */
    for (unsigned i = 2; i < count; ++i) {
        const char *const word = words[i];
        const size_t prefix = strncmp(word, "children-max=", 13) == 0 ? 13 : strncmp(word, "children=", 9) == 0 ? 9 : 0;
        if (prefix && settings_whole(word + prefix, &helper->children) != 0)
            return -1;
        if (strncmp(word, "concurrency=", 12) == 0 && settings_whole(word + 12, &helper->concurrency) != 0)
            return -1;
    }
    return 0;
}

/* icap_service NAME VECTORING_POINT URI [max-conn=N] ... */
static int
settings_service(struct sqt_settings *s, char *const *words, unsigned count)
{
    for (unsigned i = 2; i < count; ++i) {
        struct sqt_setting_children *const service =
            strncmp(words[i], "max-conn=", 9) == 0 ? settings_helper(s, "adaptation", words[1]) : NULL;
        if (service && settings_whole(words[i] + 9, &service->children) != 0)
            return -1;
    }
    return 0;
}

/* Takes the words of a line.  Returns 0, or -1 if the value is none. */
static int
settings_words(struct sqt_settings *s, char *const *w, unsigned count)
{
    const char *const name = w[0], *const first = count > 1 ? w[1] : NULL, *const second = count > 2 ? w[2] : NULL;
    if (strcmp(name, "cache_mem") == 0)
        return settings_size(first, second, &s->cache_mem);
    if (strcmp(name, "maximum_object_size_in_memory") == 0)
        return settings_size(first, second, &s->max_object_in_memory);
    if (strcmp(name, "maximum_object_size") == 0)
        return settings_size(first, second, &s->max_object);
    if (strcmp(name, "workers") == 0)
        return settings_whole(first, &s->workers);
    if (strcmp(name, "memory_cache_shared") == 0)
        return settings_flag(first, &s->memory_shared);
    if (strcmp(name, "server_persistent_connections") == 0)
        return settings_flag(first, &s->server_persistent);
    if (strcmp(name, "collapsed_forwarding") == 0)
        return settings_flag(first, &s->collapsed);
    if (strcmp(name, "server_idle_pconn_timeout") == 0 || strcmp(name, "pconn_timeout") == 0)
        return settings_time(first, second, &s->idle_timeout);
    if (strcmp(name, "negative_dns_ttl") == 0)
        return settings_time(first, second, &s->negative_dns_ttl);
    if (strcmp(name, "cache_swap_low") == 0)
        return settings_whole(first, &s->swap_low);
    if (strcmp(name, "cache_swap_high") == 0)
        return settings_whole(first, &s->swap_high);
    if (strcmp(name, "memory_replacement_policy") == 0)
        settings_policy(s->memory_policy, sizeof(s->memory_policy), w, count);
    if (strcmp(name, "cache_replacement_policy") == 0)
        settings_policy(s->disk_policy, sizeof(s->disk_policy), w, count);
    if (strcmp(name, "cache_dir") == 0)
        return settings_dir(s, w, count);
    if (strcmp(name, "url_rewrite_children") == 0)
        return settings_children(s, "url_rewrite", "", w + 1, count - 1);
    if (strcmp(name, "store_id_children") == 0)
        return settings_children(s, "store_id", "", w + 1, count - 1);
    if (strcmp(name, "auth_param") == 0 && count > 3 && strcmp(w[2], "children") == 0)
        return settings_children(s, "auth", w[1], w + 3, count - 3);
    if (strcmp(name, "external_acl_type") == 0)
        return settings_external(s, w, count);
    if (strcmp(name, "icap_service") == 0)
        return settings_service(s, w, count);
    return 0;
}

int
sqt_settings_line(struct sqt_settings *settings, const char *line, char *error, size_t error_size)
{
    char copy[1024], *words[WORDS_MOST], *rest = copy;
    unsigned count = 0;
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word; count < WORDS_MOST && (word = strtok_r(rest, " \t\r\n", &rest)) && *word != '#';)
        words[count++] = word;
    if (!count || settings_words(settings, words, count) == 0)
        return 0;
    snprintf(error, error_size, "'%.200s %.200s' is no value that Squid takes", words[0], count > 1 ? words[1] : "");
    return -1;
}

/* ---- a file, and the files that it includes ---- */

struct settings_reader {
    struct sqt_settings *settings;
    unsigned includes, patterns;
    size_t bytes; /* of all files so far */
    size_t names; /* that were compared with patterns */
    char *error;
    size_t error_size;
};

/* A line of a file that is being read. */
struct settings_place {
    const char *file;
    size_t line;
    unsigned depth; /* files that include this one */
};

static int settings_file(struct settings_reader *r, const char *name, const struct settings_place *from);

/* Returns -1.  at: NULL if no line is at fault. */
__attribute__((format(printf, 3, 4))) static int
settings_fail(struct settings_reader *r, const struct settings_place *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const why = sqt_vprinted(format, arguments);
    va_end(arguments);
    if (at)
        snprintf(r->error, r->error_size, "%.300s: line %zu: %s", at->file, at->line, why);
    else
        snprintf(r->error, r->error_size, "%s", why);
    free(why);
    return -1;
}

static int
settings_count(struct settings_reader *r, const struct settings_place *at)
{
    if (++r->includes > INCLUDES_MOST)
        return settings_fail(r, at, "include: expected at most %u files and patterns in all", INCLUDES_MOST);
    return 0;
}

static int
settings_wants(const char *name, const char *pattern)
{
    (void)name, (void)pattern;
    return 1;
}

/* Includes a file of a folder if it has a name that the pattern means.  Squid reads nothing of a folder. */
static int
settings_match(struct settings_reader *r, const char *pattern, const char *folder, const char *file,
               const struct settings_place *at)
{
    struct stat st;
    if (fnmatch(pattern, file, FNM_PERIOD) != 0)
        return 0;
    char *const name = sqt_printed("%s%s", folder, file);
    int status = 0;
    if (stat(name, &st) != 0 || !S_ISDIR(st.st_mode))
        status = settings_count(r, at) != 0 ? -1 : settings_file(r, name, at);
    free(name);
    return status;
}

/* The files of one folder.  Patterns of folders are refused, because they could walk through the whole file system. */
static int
settings_matches(struct settings_reader *r, const char *pattern, const struct settings_place *at)
{
    const char *const slash = strrchr(pattern, '/');
    const char *const last = slash ? slash + 1 : pattern;
    char *const folder = sqt_printed("%.*s", (int)(last - pattern), pattern);
    struct sqt_listing found;
    int status = 0;
    if (strpbrk(folder, "*?[\\"))
        status = settings_fail(r, at, "include %.300s: expected wildcards only after the last slash", pattern);
    else if (strlen(last) > PATTERN_MOST)
        status =
            settings_fail(r, at, "include %.300s: expected a pattern of at most %u characters", pattern, PATTERN_MOST);
    else if (++r->patterns > PATTERNS_MOST)
        status = settings_fail(r, at, "include %.300s: expected at most %u patterns in all", pattern, PATTERNS_MOST);
    else if (sqt_listing_read(&found, *folder ? folder : ".", settings_wants, NULL, NAMES_MOST) == 0) {
        r->names += found.count + found.left_out;
        if (r->names > NAMES_MOST)
            status = settings_fail(r, at, "include %.300s: expected at most %u files in the folders of all patterns",
                                   pattern, NAMES_MOST);
        for (size_t i = 0; i < found.count && status == 0; ++i)
            status = settings_match(r, last, folder, found.names[i], at);
        sqt_listing_free(&found);
    } else if (errno != ENOENT && errno != ENOTDIR)
        status = settings_fail(r, at, "include %.300s: %s", pattern, strerror(errno));
    free(folder);
    return status;
}

/* The names and patterns after "include".  Those without a file are left out. */
static int
settings_include(struct settings_reader *r, char *patterns, const struct settings_place *at)
{
    int status = 0;
    char *rest = patterns;
    for (char *pattern; status == 0 && (pattern = strtok_r(rest, " \t\r\n\"", &rest)) && *pattern != '#';) {
        status = settings_count(r, at);
        if (status == 0 && strpbrk(pattern, "*?[\\"))
            status = settings_matches(r, pattern, at);
        else if (status == 0 && (access(pattern, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR)))
            status = settings_file(r, pattern, at);
    }
    return status;
}

/* The patterns of a line that includes other files; NULL: it is another one. */
static char *
settings_included(char *line)
{
    static const char word[] = "include";
    line += strspn(line, " \t");
    const size_t length = sizeof(word) - 1;
    return strncmp(line, word, length) == 0 && (line[length] == ' ' || line[length] == '\t') ? line + length : NULL;
}

static int
settings_line(struct settings_reader *r, char *line, const struct settings_place *at)
{
    char why[512];
    char *const patterns = settings_included(line);
    if (patterns)
        return settings_include(r, patterns, at);
    return sqt_settings_line(r->settings, line, why, sizeof(why)) == 0 ? 0 : settings_fail(r, at, "%s", why);
}

/* from: the line that includes the file; NULL: none does. */
static int
settings_file(struct settings_reader *r, const char *name, const struct settings_place *from)
{
    struct settings_place at = {.file = name, .depth = from ? from->depth + 1 : 0};
    char why[512];
    if (at.depth > DEPTH_MOST)
        return settings_fail(r, from, "include %.300s: files include each other more than %u deep", name, DEPTH_MOST);
    size_t bytes = 0;
    char *const text = sqt_conf_text(name, &bytes, why, sizeof(why));
    if (!text)
        return settings_fail(r, from, "%s%s", from ? "include " : "", why);
    int status = 0;
    r->bytes += bytes;
    if (r->bytes > SQT_CONF_MOST)
        status = settings_fail(r, from, "include %.300s: expected at most %zu MiB in all files together", name,
                               SQT_CONF_MOST >> 20);
    char *rest = text;
    for (char *line; status == 0 && (line = strsep(&rest, "\n"));) {
        ++at.line;
        status = settings_line(r, line, &at);
    }
    free(text);
    return status;
}

int
sqt_settings_file(struct sqt_settings *settings, const char *name, char *error, size_t error_size)
{
    struct settings_reader r = {.settings = settings, .error = error, .error_size = error_size};
    return settings_file(&r, name, NULL);
}

/* ---- --whatif ---- */

/* Settings that --whatif takes, and what their values are. */
static const struct {
    const char *name;
    enum sqt_units units;
    const char *takes;
} whatif_settings[] = {
    {"cache_mem", SQT_UNITS_BYTES, "a size, as 512MB"},
    {"maximum_object_size_in_memory", SQT_UNITS_BYTES, "a size, as 1MB"},
    {"maximum_object_size", SQT_UNITS_BYTES, "a size, as 64MB"},
    {"cache_dir", SQT_UNITS_BYTES, "a size, as 20GB"},
    {"children", SQT_UNITS_NONE, "a number of children, as 16"},
    {"max-conn", SQT_UNITS_NONE, "a number of connections, as 20"},
};
#define WHATIF_SETTINGS (sizeof(whatif_settings) / sizeof(*whatif_settings))

static int
whatif_unknown(const char *name, int length, char *error, size_t error_size)
{
    int used = snprintf(error, error_size, "unknown setting '%.*s'; it takes", length, name);
    for (unsigned i = 0; i < WHATIF_SETTINGS && used > 0 && (size_t)used < error_size; ++i)
        used += snprintf(error + used, error_size - (size_t)used, "%s %s", i ? "," : "", whatif_settings[i].name);
    return -1;
}

static int
whatif_value(struct sqt_whatif *whatif, unsigned setting, const char *text, size_t length, char *error,
             size_t error_size)
{
    const char *wrong;
    int64_t value;
    if (whatif->asked_count == SQT_ASKED_MOST) {
        snprintf(error, error_size, "more than %d values", SQT_ASKED_MOST);
        return -1;
    }
    if (sqt_units_parse(text, length, whatif_settings[setting].units, 1, &value, &wrong) != 0 || value <= 0) {
        snprintf(error, error_size, "'%.*s': %s takes %s", (int)length, text, whatif_settings[setting].name,
                 whatif_settings[setting].takes);
        return -1;
    }
    struct sqt_asked *const asked = &whatif->asked[whatif->asked_count++];
    snprintf(asked->setting, sizeof(asked->setting), "%s", whatif_settings[setting].name);
    asked->value = value;
    return 0;
}

int
sqt_whatif_ask(struct sqt_whatif *whatif, const char *text, char *error, size_t error_size)
{
    const size_t name = strcspn(text, "=");
    unsigned setting = 0;
    while (setting < WHATIF_SETTINGS &&
           (strlen(whatif_settings[setting].name) != name || strncmp(whatif_settings[setting].name, text, name) != 0))
        ++setting;
    if (setting == WHATIF_SETTINGS)
        return whatif_unknown(text, (int)name, error, error_size);
    const char *value = text + name + (text[name] == '=');
    for (;;) {
        const size_t length = strcspn(value, ",");
        if (whatif_value(whatif, setting, value, length, error, error_size) != 0)
            return -1;
        if (!value[length])
            return 0;
        value += length + 1;
    }
}

void
sqt_settings_size_text(char *text, size_t size, int64_t bytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    unsigned unit = 0;
    while (unit < 4 && bytes && bytes % 1024 == 0) {
        bytes /= 1024;
        ++unit;
    }
    snprintf(text, size, "%lld %s", (long long)bytes, units[unit]);
}
