/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * files.c - see files.h.
 */
#include "files.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/open.h"
#include "read/file/listing.h"
#include "line.h"

/* ---- names ---- */

/* The macro of squid.conf that is the number of a kid. */
static const char files_macro[] = "${process_number}";
#define MACRO (sizeof(files_macro) - 1)

static void
files_leave_out(struct sqt_log_files *f, struct sqt_diagnostics *diagnostics)
{
    if (!f->told++)
        sqt_diagnose(diagnostics, SQT_WARNING, "--access-log: more than %zu files; the others are left out",
                     SQT_LOG_FILES_MOST);
}

/* before: the length of what stands before the number of a kid in the name; 0: there is none. */
static void
files_add(struct sqt_log_files *f, const char *name, size_t before, struct sqt_diagnostics *diagnostics)
{
    for (size_t i = 0; i < f->count; ++i)
        if (strcmp(f->files[i].name, name) == 0)
            return;
    if (f->count == SQT_LOG_FILES_MOST) {
        files_leave_out(f, diagnostics);
        return;
    }
    f->files = sqt_resized(f->files, (f->count + 1) * sizeof(*f->files));
    f->files[f->count++] =
        (struct sqt_log_file){.name = sqt_copied(name),
                              .first_at = INT64_MAX,
                              .begin = INT64_MAX,
                              .kid = before ? (int64_t)strtoul(name + before, NULL, 10) : SQT_LOG_UNKNOWN};
    f->kids |= before != 0;
}

static int
files_wants(const char *name, const char *pattern)
{
    return fnmatch(pattern, name, FNM_PERIOD) == 0;
}

/* The files of a folder whose names match.  folder: as their names begin, with the slash; "": the current one.  Returns how
 * many there are. */
static size_t
files_match_in(struct sqt_log_files *f, const char *folder, const char *pattern, size_t before,
               struct sqt_diagnostics *diagnostics)
{
    struct sqt_listing found;
    if (sqt_listing_read(&found, *folder ? folder : ".", files_wants, pattern, SQT_LOG_FILES_MOST) != 0)
        return 0;
    const size_t count = found.count;
    for (size_t i = 0; i < count; ++i) {
        char *const name = sqt_printed("%s%s", folder, found.names[i]);
        files_add(f, name, before, diagnostics);
        free(name);
    }
    if (found.left_out)
        files_leave_out(f, diagnostics);
    sqt_listing_free(&found);
    return count;
}

/* The same where folders are patterns, too. */
static size_t
files_match_all(struct sqt_log_files *f, const char *pattern, size_t before, struct sqt_diagnostics *diagnostics)
{
    glob_t found = {.gl_pathc = 0};
    const int result = glob(pattern, 0, NULL, &found);
    if (result == GLOB_NOSPACE)
        sqt_no_memory();
    const size_t count = result == 0 ? found.gl_pathc : 0;
    for (size_t i = 0; i < count; ++i)
        files_add(f, found.gl_pathv[i], before, diagnostics);
    globfree(&found);
    return count;
}

static void
files_match(struct sqt_log_files *f, const char *pattern, size_t before, struct sqt_diagnostics *diagnostics)
{
    const char *const slash = strrchr(pattern, '/');
    char *const folder = sqt_printed("%.*s", slash ? (int)(slash + 1 - pattern) : 0, pattern);
    const size_t count = strpbrk(folder, "*?[\\")
                             ? files_match_all(f, pattern, before, diagnostics)
                             : files_match_in(f, folder, slash ? slash + 1 : pattern, before, diagnostics);
    if (!count)
        sqt_diagnose(diagnostics, SQT_ERROR, "%s: no file is called so", pattern);
    free(folder);
}

/* The files of all kids: the macro stands for digits. */
static void
files_match_kids(struct sqt_log_files *f, const char *name, const char *macro, struct sqt_diagnostics *diagnostics)
{
    char *const pattern = sqt_printed("%.*s[0-9]*%s", (int)(macro - name), name, macro + MACRO);
    files_match(f, pattern, (size_t)(macro - name), diagnostics);
    free(pattern);
}

static void
files_take(struct sqt_log_files *f, const char *name, struct sqt_diagnostics *diagnostics)
{
    struct stat st;
    const char *const macro = strstr(name, files_macro);
    if (strcmp(name, "-") == 0)
        files_add(f, name, 0, diagnostics);
    else if (macro && macro > name)
        files_match_kids(f, name, macro, diagnostics);
    else if (stat(name, &st) == 0 && S_ISDIR(st.st_mode)) {
        char *const folder = sqt_printed("%s/", name);
        if (!files_match_in(f, folder, "access.log*", 0, diagnostics))
            sqt_diagnose(diagnostics, SQT_ERROR, "%saccess.log*: no file is called so", folder);
        free(folder);
    } else if (stat(name, &st) != 0 && strpbrk(name, "*?["))
        files_match(f, name, 0, diagnostics);
    else
        files_add(f, name, 0, diagnostics);
}

int
sqt_log_files_open(struct sqt_log_files *f, struct sqt_log_file *file, struct sqt_log_bytes *bytes,
                   struct sqt_diagnostics *diagnostics)
{
    const int standard = strcmp(file->name, "-") == 0;
    if (standard && f->standard_open) {
        *bytes = f->standard;
        f->standard_open = 0;
        return 0;
    }
    if (sqt_log_bytes_open(bytes, file->name, &file->size) == 0)
        return 0;
    const int error = errno;
    sqt_diagnose(diagnostics, SQT_ERROR, SQT_CANNOT_OPEN(error), file->name, sqt_open_refusal(error));
    return -1;
}

/* Gives back what was opened to look at its first lines. */
static void
files_put_back(struct sqt_log_files *f, const struct sqt_log_file *file, struct sqt_log_bytes *bytes)
{
    if (strcmp(file->name, "-") != 0) {
        sqt_log_bytes_close(bytes);
        return;
    }
    sqt_log_bytes_rewind(bytes);
    f->standard = *bytes;
    f->standard_open = 1;
}

int
sqt_log_files_find(struct sqt_log_files *f, const struct sqt_log_request *request, struct sqt_diagnostics *diagnostics)
{
    size_t left = 0;
    struct sqt_log_bytes bytes;
    for (size_t i = 0; i < request->count; ++i)
        files_take(f, request->files[i], diagnostics);
    for (size_t i = 0; i < f->count; ++i) {
        if (sqt_log_files_open(f, &f->files[i], &bytes, diagnostics) != 0) {
            free(f->files[i].name);
            continue;
        }
        files_put_back(f, &f->files[i], &bytes);
        f->files[left++] = f->files[i];
    }
    f->count = left;
    return left ? 0 : -1;
}

/* ---- first lines ---- */

/* Few Squids have more kids. */
#define KIDS_MOST 1024
#define KIDS_APART 32
/* Begins that are no farther apart may be in another order: a line rounds two times to ms.  ns */
#define TOGETHER INT64_C(2000000)

/* Lines of a format: when they were written, and when their requests began. */
struct files_times {
    size_t count;
    struct files_last {
        int used;
        int64_t kid, xid, begin;
    } last[KIDS_APART]; /* the last line of each kid */
    int64_t at[SQT_LOG_LOOKED_AT], begin[SQT_LOG_LOOKED_AT];
};

/* What stands for the kid and the transaction, beside that of the line before.  Squid writes no transaction where it had no
 * request: for a connection that a client opened and closed. */
static void
files_look_at_join(struct sqt_log_file *file, const struct sqt_logged *l, struct files_times *times)
{
    if (l->kid < 0 || l->kid > KIDS_MOST || (l->xid <= 0 && l->xid != SQT_LOG_UNKNOWN)) {
        ++file->no_join;
        return;
    }
    if (l->xid == SQT_LOG_UNKNOWN)
        return;
    ++file->joins;
    struct files_last *const last = &times->last[l->kid % KIDS_APART];
    const struct files_last before = *last;
    *last = (struct files_last){1, l->kid, l->xid, l->begin};
    if (!before.used || before.kid != l->kid)
        return;
    const int64_t later = l->begin - before.begin;
    if (later > TOGETHER || later < -TOGETHER)
        ++*(l->xid != before.xid && (l->xid > before.xid) == (later > 0) ? &file->in_order : &file->disordered);
}

int
sqt_log_file_may_join(const struct sqt_log_file *file)
{
    const uint64_t compared = file->in_order + file->disordered;
    return file->joins && file->no_join * 4 <= file->understood && file->disordered * 4 <= compared;
}

static void
files_look_at(struct sqt_log_file *file, const struct sqt_log_format *format, const char *line, size_t length,
              struct files_times *times)
{
    struct sqt_log_slice slices[SQT_LOG_FIELDS];
    struct sqt_logged logged;
    ++file->looked_at;
    file->bytes += length + 1;
    if (sqt_log_line_split(format, line, length, slices) != 0 || sqt_log_line_numbers(format, slices, &logged) != 0)
        return;
    files_look_at_join(file, &logged, times);
    ++file->understood;
    times->at[times->count] = logged.at;
    times->begin[times->count++] = logged.begin;
}

size_t
sqt_log_first_near(const int64_t *times, size_t count)
{
    for (size_t i = 0; i + 1 < count; ++i)
        if (sqt_log_is_near(times[i], times[i + 1]))
            return i;
    return 0;
}

static void
files_take_times(struct sqt_log_file *file, const struct files_times *times)
{
    file->first_at = file->begin = INT64_MAX;
    if (!times->count)
        return;
    const size_t first = sqt_log_first_near(times->at, times->count);
    int64_t last = file->first_at = file->begin = times->at[first];
    for (size_t i = first; i < times->count; ++i) {
        if (!sqt_log_is_near(times->at[i], last))
            continue;
        last = times->at[i];
        if (times->begin[i] < file->begin && sqt_log_is_near(times->begin[i], last))
            file->begin = times->begin[i];
    }
}

uint64_t
sqt_log_files_try(struct sqt_log_files *f, struct sqt_log_file *file, const struct sqt_log_format *format,
                  struct sqt_diagnostics *diagnostics)
{
    struct sqt_log_bytes bytes;
    char *line;
    size_t length;
    const int standard = strcmp(file->name, "-") == 0;
    file->looked_at = file->understood = file->bytes = 0;
    file->in_order = file->disordered = file->joins = file->no_join = 0;
    if (sqt_log_files_open(f, file, &bytes, diagnostics) != 0)
        return 0;
    struct files_times *const times = sqt_zeroed(1, sizeof(*times));
    sqt_log_bytes_allow(&bytes, SQT_LOG_LOOKED_BYTES);
    while (file->looked_at < SQT_LOG_LOOKED_AT && sqt_log_bytes_line(&bytes, standard, &line, &length) == 1)
        files_look_at(file, format, line, length, times);
    files_take_times(file, times);
    free(times);
    files_put_back(f, file, &bytes);
    return file->understood;
}

static int
files_by_time(const void *a, const void *b)
{
    const struct sqt_log_file *const x = a, *const y = b;
    return x->first_at != y->first_at ? (x->first_at < y->first_at ? -1 : 1) : strcmp(x->name, y->name);
}

void
sqt_log_files_order(struct sqt_log_files *f, const struct sqt_log_format *format, struct sqt_diagnostics *diagnostics)
{
    for (size_t i = 0; i < f->count; ++i)
        sqt_log_files_try(f, &f->files[i], format, diagnostics);
    qsort(f->files, f->count, sizeof(*f->files), files_by_time);
}

void
sqt_log_files_free(struct sqt_log_files *f)
{
    for (size_t i = 0; i < f->count; ++i)
        free(f->files[i].name);
    free(f->files);
    if (f->standard_open)
        sqt_log_bytes_close(&f->standard);
}
