/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * folder.c - the folder of a report: made beside its place, DIR.part, and moved there when it is whole.
 *
 * So DIR is always a whole report or what it was before.  Only an empty folder or a whole report is replaced: its
 * index.html ends with END_MARK.  With --single-file the page has all that the folder has, and only the page stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/open.h"
#include "report.h"

#define END_MARK "<!-- sqtrace-report: the end -->\n"

#ifndef SQT_DATA
#define SQT_DATA "tools"
#endif

char *
folder_path(const struct report *r, const char *format, ...)
{
    char name[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof(name), format, arguments);
    va_end(arguments);
    char *const path = sqt_zeroed(strlen(r->making) + strlen(name) + 2, 1);
    sprintf(path, "%s/%s", r->making, name);
    return path;
}

/* ---- where scripts and templates are ---- */

int
report_is_single(const struct report *r)
{
    return r->given[REPORT_single] != NULL;
}

int
report_find_data(struct report *r)
{
    const char *const data = r->given[REPORT_data] ? r->given[REPORT_data] : SQT_DATA;
    r->plots = sqt_zeroed(strlen(data) + 32, 1);
    sprintf(r->plots, "%s/plots", data);
    r->pages = sqt_zeroed(strlen(data) + 32, 1);
    sprintf(r->pages, "%s/report", data);
    const char *const missing = access(r->plots, R_OK | X_OK) != 0   ? r->plots
                                : access(r->pages, R_OK | X_OK) != 0 ? r->pages
                                                                     : NULL;
    return missing ? report_fail(r, "%s: %s; --data=DIR names the folder that has plots/ and report/", missing,
                                 strerror(errno))
                   : 0;
}

/* ---- removing ---- */

static int
remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static int
remove_all(const char *path)
{
    return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* What is removed if there is no memory to go on; NULL: nothing.  One a process. */
static const char *folder_made;

static void
folder_drop(void)
{
    if (folder_made)
        remove_all(folder_made);
}

void
folder_abandon(struct report *r)
{
    folder_made = NULL;
    if (r->making)
        remove_all(r->making);
}

/* ---- what is there ---- */

enum place { PLACE_FREE, PLACE_OURS, PLACE_TAKEN };

static int
ends_with_mark(const char *file)
{
    char end[sizeof(END_MARK)] = "";
    const int fd = sqt_open_regular(AT_FDCWD, file, O_RDONLY | O_NOFOLLOW, NULL);
    if (fd < 0)
        return 0;
    const off_t from = lseek(fd, -(off_t)strlen(END_MARK), SEEK_END);
    const ssize_t n = from >= 0 ? read(fd, end, strlen(END_MARK)) : 0;
    close(fd);
    return n == (ssize_t)strlen(END_MARK) && strcmp(end, END_MARK) == 0;
}

/* Looks at what stands where the file is to be. */
static int
folder_look_single(struct report *r, enum place *place)
{
    struct stat status;
    *place = PLACE_FREE;
    if (lstat(r->folder, &status) != 0)
        return errno == ENOENT ? 0 : report_fail(r, "%s: %s", r->folder, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return report_fail(r, "%s: is a folder; with --single-file, -o names a file", r->folder);
    if (!S_ISREG(status.st_mode) || (status.st_size && !ends_with_mark(r->folder)))
        return report_fail(r, "%s: is not a report; name another with -o", r->folder);
    *place = PLACE_OURS;
    return 0;
}

/* Looks at what stands where the report is to be. */
static int
folder_look(struct report *r, enum place *place)
{
    struct stat status;
    *place = PLACE_FREE;
    if (lstat(r->folder, &status) != 0)
        return errno == ENOENT ? 0 : report_fail(r, "%s: %s", r->folder, strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return report_fail(r, "%s: exists and is not a folder; name another with -o", r->folder);
    char *const index = sqt_zeroed(strlen(r->folder) + 16, 1);
    sprintf(index, "%s/index.html", r->folder);
    *place = ends_with_mark(index) ? PLACE_OURS : PLACE_TAKEN;
    const int partly = *place == PLACE_TAKEN && access(index, F_OK) == 0;
    free(index);
    if (*place == PLACE_OURS)
        return 0;
    /* An empty folder can be removed, and is made again if there is no report in the end. */
    if (rmdir(r->folder) == 0) {
        if (mkdir(r->folder, status.st_mode & 07777) != 0)
            return report_fail(r, "%s: %s", r->folder, strerror(errno));
        return 0;
    }
    if (errno != ENOTEMPTY && errno != EEXIST)
        return report_fail(r, "%s: cannot be replaced: %s", r->folder, strerror(errno));
    return partly ? report_fail(r,
                                "%s: holds half a report (its index.html has no end); remove it, or name another "
                                "with -o",
                                r->folder)
                  : report_fail(r, "%s: is not a report; name another with -o", r->folder);
}

int
folder_begin(struct report *r)
{
    enum place place;
    const char *const given = r->given[REPORT_output];
    size_t length = strlen(given);
    while (length > 1 && given[length - 1] == '/')
        --length;
    r->folder = sqt_zeroed(length + 1, 1);
    memcpy(r->folder, given, length);
    if ((report_is_single(r) ? folder_look_single : folder_look)(r, &place) != 0)
        return -1;
    char *const making = sqt_zeroed(length + 8, 1);
    sprintf(making, "%s.part", r->folder);
    if (mkdir(making, 0777) != 0) {
        if (errno == EEXIST)
            report_fail(r, "%s: exists: another sqtrace-report is running, or was killed; if none runs, remove it",
                        making);
        else
            report_fail(r, "%s: cannot be made: %s", making, strerror(errno));
        free(making);
        return -1;
    }
    r->making = making;
    folder_made = making;
    sqt_before_no_memory(folder_drop);
    char *const figures = folder_path(r, "figures");
    const int failed = mkdir(figures, 0777) != 0;
    if (failed)
        report_fail(r, "%s: cannot be made: %s", figures, strerror(errno));
    free(figures);
    return failed ? -1 : 0;
}

/* Only the page stays of the folder. */
static int
folder_commit_single(struct report *r)
{
    enum place place;
    if (folder_look_single(r, &place) != 0)
        return -1;
    char *const page = folder_path(r, "index.html");
    int failed = 0;
    if (rename(page, r->folder) != 0)
        failed = report_fail(r, "%s: cannot be renamed to %s: %s", page, r->folder, strerror(errno));
    else if (remove_all(r->making) != 0)
        report_say(r, "warning: %s: could not be removed: %s", r->making, strerror(errno));
    free(page);
    return failed ? -1 : 0;
}

int
folder_commit(struct report *r)
{
    enum place place;
    if (report_is_single(r))
        return folder_commit_single(r);
    if (folder_look(r, &place) != 0)
        return -1;
    char *const old = sqt_zeroed(strlen(r->folder) + 8, 1);
    sprintf(old, "%s.old", r->folder);
    int failed = 0;
    if (place == PLACE_OURS && rename(r->folder, old) != 0)
        failed = report_fail(r, "%s: cannot be renamed to %s: %s", r->folder, old, strerror(errno));
    if (!failed && rename(r->making, r->folder) != 0) {
        failed = report_fail(r, "%s: cannot be renamed to %s: %s", r->making, r->folder, strerror(errno));
        if (place == PLACE_OURS)
            rename(old, r->folder);
    }
    if (!failed) {
        folder_made = NULL;
        free(r->making);
        r->making = NULL;
        if (place == PLACE_OURS && remove_all(old) != 0)
            report_say(r, "warning: %s: the old report could not be removed: %s", old, strerror(errno));
    }
    free(old);
    return failed ? -1 : 0;
}

/* ---- copies ---- */

int
folder_copy(struct report *r, const char *from, const char *to)
{
    char buffer[16384];
    char *const path = folder_path(r, "%s", to);
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    const int out = in < 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ssize_t n = 0;
    int failed = 0;
    if (in < 0) {
        failed = report_fail(r, "%s: %s", from, strerror(errno));
    } else {
        while (out >= 0 && (n = read(in, buffer, sizeof(buffer))) > 0)
            if (write(out, buffer, (size_t)n) != n)
                break;
        if (out < 0 || n != 0 || close(out) != 0)
            failed = report_fail(r, "%s: cannot write: %s", path, strerror(errno));
        close(in);
    }
    free(path);
    return failed ? -1 : 0;
}
