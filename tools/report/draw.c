/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * draw.c - pictures: each script runs on its series in a gnuplot of its own, as many at a time as there are
 * processors.
 *
 * gnuplot's SVG follows the page: a style sheet is put into each picture, so that it is light or dark as the reader's
 * system is.  Phones get a narrower picture, so that its letters are as large as those of the page.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "report.h"

#define AT_A_TIME_MOST 8
/* Bytes of what gnuplot says that are kept. */
#define SAID_ROOM 512
/* Seconds of processor time that a picture may take.  One of 5,000 rows takes at most 3. */
#define PICTURE_SECONDS 120
/* What the scripts say when no row has a value: no error. */
#define NOTHING_TO_DRAW "there are no rows: nothing to draw"
/* What gnuplot itself says then: at last, of what is to be plotted; or of what a script counts, which is undefined at last. */
#define NO_POINTS "all points y value undefined!"
#define NO_COUNT "No valid data points found in file"
#define UNDEFINED "undefined variable: "

struct drawing {
    pid_t pid;
    rlim_t seconds; /* of processor time that it may take */
    struct picture *picture;
    int narrow;
};

/* Starts gnuplot in that folder (NULL: here) with these arguments; what it says goes into said.  Returns 0, or an errno.
 * A process that is forked would copy the tables of this one's memory first, for each picture. */
static int
start_gnuplot(pid_t *pid, const char *folder, const char *said, const char *const *arguments)
{
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    if (folder)
        failed = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, said, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (!failed)
        failed = posix_spawnp(pid, "gnuplot", &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

int
report_find_gnuplot(struct report *r)
{
    pid_t pid;
    const char *const arguments[] = {"gnuplot", "--version", NULL};
    const int failed = start_gnuplot(&pid, NULL, "/dev/null", arguments);
    if (failed == ENOENT)
        return report_fail(r, "gnuplot is not installed, and draws the figures: apt-get install gnuplot-nox");
    if (failed)
        return report_fail(r, "gnuplot cannot be started: %s", strerror(failed));
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return report_fail(r, "gnuplot does not work: 'gnuplot --version' failed");
    return 0;
}

/* ---- one picture ---- */

static char *
said_path(const struct report *r, const struct drawing *d)
{
    return folder_path(r, "figures/%s%s.said", d->picture->file, d->narrow ? ".narrow" : "");
}

static char *
picture_path(const struct report *r, const struct drawing *d)
{
    return folder_path(r, "figures/%s%s.svg", d->picture->file, d->narrow ? ".narrow" : "");
}

/* The folder of figures is gnuplot's current one, so the commands are those that the page shows.  Returns 0, or an errno. */
static int
draw_picture(const struct report *r, struct drawing *d)
{
    char *const folder = folder_path(r, "figures");
    const char *const narrow = d->narrow ? ".narrow" : "";
    char script[192], picture[192], series[192], said[192];
    snprintf(script, sizeof(script), "%s.gp", d->picture->script);
    snprintf(picture, sizeof(picture), "%s%s.svg", d->picture->file, narrow);
    snprintf(said, sizeof(said), "%s%s.said", d->picture->file, narrow);
    snprintf(series, sizeof(series), "%s.tsv", d->picture->file);
    const char *const arguments[] = {
        "gnuplot", "-e", d->narrow ? "UNTITLED = 1; NARROW = 1" : "UNTITLED = 1", "-c", script, picture, series, NULL};
    const int failed = start_gnuplot(&d->pid, folder, said, arguments);
    struct rlimit most = {0};
    if (!failed && prlimit(d->pid, RLIMIT_CPU, NULL, &most) == 0 && most.rlim_cur > PICTURE_SECONDS) {
        most.rlim_cur = PICTURE_SECONDS;
        prlimit(d->pid, RLIMIT_CPU, &most, NULL);
    }
    d->seconds = most.rlim_cur;
    free(folder);
    return failed;
}

/* Puts the style sheet before the first element of the picture, and notes its size.  Returns 0, or -1. */
static int
put_style(const struct report *r, struct drawing *d, const char *picture)
{
    char *text = NULL, *style = NULL;
    size_t size = 0, style_size = 0;
    char *const sheet = sqt_zeroed(strlen(r->pages) + 32, 1);
    sprintf(sheet, "%s/picture.css", r->pages);
    FILE *in = sqt_fopen(picture, "r");
    const ssize_t got = in ? sqt_getdelim(&text, &size, '\0', in) : -1;
    if (in)
        fclose(in);
    in = sqt_fopen(sheet, "r");
    const ssize_t style_got = in ? sqt_getdelim(&style, &style_size, '\0', in) : -1;
    if (in)
        fclose(in);
    int failed = -1;
    const char *const box = got > 0 ? strstr(text, "viewBox=\"0 0 ") : NULL;
    if (!box || sscanf(box, "viewBox=\"0 0 %u %u", &d->picture->width[d->narrow], &d->picture->height[d->narrow]) != 2)
        d->picture->width[d->narrow] = d->picture->height[d->narrow] = 0;
    char *const at = got > 0 ? strstr(text, "<desc>") : NULL;
    FILE *const out = at && style_got > 0 ? sqt_fopen(picture, "w") : NULL;
    if (out) {
        fwrite(text, 1, (size_t)(at - text), out);
        fprintf(out, "<style>%s</style>\n", style);
        fwrite(at, 1, (size_t)(text + got - at), out);
        failed = ferror(out) ? -1 : 0;
        if (fclose(out) != 0)
            failed = -1;
    }
    free(text);
    free(style);
    free(sheet);
    return failed;
}

/* What gnuplot said, its last line: before it, it repeats a command that failed.  NULL if nothing. */
static const char *
last_said(const char *path)
{
    static char line[SAID_ROOM], last[SAID_ROOM];
    FILE *const in = sqt_fopen(path, "r");
    int counted = 1;
    last[0] = '\0';
    while (in && fgets(line, sizeof(line), in)) {
        line[strcspn(line, "\n")] = '\0';
        if (strstr(line, NO_COUNT))
            counted = 0;
        if (line[strspn(line, " \t^")])
            memcpy(last, line, sizeof(last));
    }
    if (in)
        fclose(in);
    if (strstr(last, NO_POINTS) || (!counted && strstr(last, UNDEFINED)))
        return NOTHING_TO_DRAW;
    return last[0] ? last + strspn(last, " \t") : NULL;
}

static void
end_drawing(struct report *r, struct drawing *d, int status)
{
    char *const said = said_path(r, d), *const picture = picture_path(r, d);
    const char *trouble = last_said(said);
    char too_long[64];
    snprintf(too_long, sizeof(too_long), "gnuplot took more than %" PRIu64 " s of processor time",
             (uint64_t)d->seconds);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
            trouble = too_long;
        else if (!trouble)
            trouble = "gnuplot failed";
    } else {
        trouble = NULL; /* a warning, of which no reader knows what to do */
    }
    if (!trouble && put_style(r, d, picture) != 0) {
        trouble = "gnuplot drew nothing";
        if (!report_stop && !r->full)
            report_fail(r, "%s: gnuplot could not write it, or it could not be copied; is the disk full?", picture);
        r->full = 1;
    }
    if (!trouble) {
        d->picture->drawn = 1;
    } else if (!d->picture->trouble) {
        if (!report_stop && !r->full && strcmp(trouble, NOTHING_TO_DRAW) != 0) {
            report_fail(r, "%s could not be drawn: %s", d->picture->file, trouble);
            ++r->undrawn;
        }
        d->picture->trouble = sqt_copied(trouble);
    }
    if (trouble)
        unlink(picture);
    unlink(said);
    free(said);
    free(picture);
    d->pid = 0;
}

/* ---- all pictures ---- */

static int
wait_for_one(struct report *r, struct drawing *drawings, unsigned count)
{
    int status;
    const pid_t pid = waitpid(-1, &status, 0);
    for (unsigned i = 0; i < count; ++i)
        if (pid > 0 && drawings[i].pid == pid)
            end_drawing(r, &drawings[i], status);
    return pid < 0 && errno != EINTR ? -1 : 0;
}

static unsigned
at_a_time(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? 1 : processors > AT_A_TIME_MOST ? AT_A_TIME_MOST : (unsigned)processors;
}

static int
has_script(const struct report *r, const struct sqt_table *table)
{
    char *const path = folder_path(r, "figures/%s.gp", table->name);
    const int there = table->figure && access(path, R_OK) == 0;
    free(path);
    return there;
}

/* All of them, for some need others.  glob() of the C library may free a name twice when there is no memory. */
static int
copy_scripts(struct report *r)
{
    const int fd = open(r->plots, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const list = fd < 0 ? NULL : sqt_fdopendir(fd);
    unsigned count = 0;
    int failed = 0;
    for (const struct dirent *one; list && !failed && (one = readdir(list)) != NULL;) {
        const size_t length = strlen(one->d_name);
        if (length < 4 || strcmp(one->d_name + length - 3, ".gp") != 0)
            continue;
        char *const from = sqt_printed("%s/%s", r->plots, one->d_name), *const to =
                                                                            sqt_printed("figures/%s", one->d_name);
        failed = folder_copy(r, from, to);
        free(from);
        free(to);
        ++count;
    }
    if (list)
        closedir(list);
    return failed || count ? failed : report_fail(r, "%s/*.gp: there are none", r->plots);
}

/* Starts gnuplot, after another one has ended if there are enough of them. */
static int
pictures_draw(struct report *r, struct drawing *drawings, unsigned room, struct picture *picture, int narrow)
{
    unsigned slot = 0;
    for (;;) {
        for (slot = 0; slot < room && drawings[slot].pid; ++slot)
            ;
        if (slot < room)
            break;
        if (wait_for_one(r, drawings, room) != 0)
            return -1;
    }
    drawings[slot] = (struct drawing){.picture = picture, .narrow = narrow};
    const int failed = draw_picture(r, &drawings[slot]);
    if (failed) {
        drawings[slot].pid = 0;
        return report_fail(r, "gnuplot cannot be started: %s", strerror(failed));
    }
    return 0;
}

static int
draw_both(struct report *r, struct drawing *drawings, unsigned room, struct picture *picture)
{
    for (int narrow = 0; narrow < 2 && picture->wanted && !report_stop; ++narrow)
        if (pictures_draw(r, drawings, room, picture, narrow) != 0)
            return -1;
    return 0;
}

int
report_draw(struct report *r)
{
    struct drawing drawings[AT_A_TIME_MOST] = {0};
    const unsigned room = at_a_time();
    int failed = copy_scripts(r);
    if (r->trace_count > 1)
        r->compared = sqt_zeroed(r->figure_count, sizeof(*r->compared));
    for (size_t i = 0; i < r->figure_count && !failed && !r->full && !report_stop; ++i) {
        report_progress(r, "drawing %s, %zu %%", r->figures[i]->name, 100 * i / r->figure_count);
        if (!has_script(r, r->figures[i]))
            continue;
        if (r->compared)
            failed = report_overlay(r, i, &r->compared[i]) != 0 || draw_both(r, drawings, room, &r->compared[i]) != 0;
        for (size_t t = 0; t < r->trace_count && !failed; ++t) {
            struct series *const s = &r->traces[t].series[i];
            s->picture.wanted = s->sink.rows > 0 && !(r->compared && r->compared[i].wanted);
            snprintf(s->picture.script, sizeof(s->picture.script), "%s", s->table->name);
            failed = draw_both(r, drawings, room, &s->picture);
        }
    }
    for (unsigned slot = 0; slot < room; ++slot)
        while (drawings[slot].pid > 0) {
            if (failed || r->full || report_stop)
                kill(drawings[slot].pid, SIGTERM); /* nobody wants it any more */
            if (wait_for_one(r, drawings, room) != 0)
                break;
        }
    return failed || r->full || report_stop ? -1 : 0;
}
