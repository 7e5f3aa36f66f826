/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * place.c - OUT and the stage in it, and the files that this run may believe there; see run.h.
 *
 * Others may write to these folders.  So each step of a path is opened by itself and never through a link, and a file
 * counts only if it belongs to the owner that files of this run get.  On a network folder that is not always the user.
 */
#define _GNU_SOURCE /* F_OFD_SETLK, O_TMPFILE */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/open.h"
#include "run.h"

#define PLACE_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define PLACE_PRIVATE 0600
#define PLACE_MAKE_HINT "if no share is missing here, --make-folder makes it, for the first time"

/* ---- folders ---- */

int
ship_place_folder(int parent, const char *name)
{
    if (mkdirat(parent, name, 0777) == 0) {
        if (fsync(parent) != 0)
            return -1;
    } else if (errno != EEXIST)
        return -1;
    return openat(parent, name, PLACE_FLAGS | O_NOFOLLOW);
}

const char *
ship_place_why_no_folder(int error)
{
    return error == ENOTDIR || error == ELOOP ? "it is a symbolic link, or no folder" : strerror(error);
}

static int
place_open_out(struct ship_place *p, struct program_voice *voice, int make)
{
    p->out = open(p->name, PLACE_FLAGS);
    if (p->out < 0 && errno == ENOENT && make) {
        if (mkdir(p->name, 0777) != 0)
            return program_fail(voice, "%s: cannot make this folder: %s", p->name, strerror(errno));
        p->out = open(p->name, PLACE_FLAGS);
    }
    if (p->out >= 0)
        return 0;
    if (errno == ENOENT)
        return program_fail(voice, "%s: there is no such folder; " PLACE_MAKE_HINT, p->name);
    return program_fail(voice, "%s: cannot open this folder: %s", p->name, strerror(errno));
}

static int
place_open_stage(struct ship_place *p, struct program_voice *voice, int make)
{
    p->stage = make ? ship_place_folder(p->out, SHIP_STAGE) : openat(p->out, SHIP_STAGE, PLACE_FLAGS | O_NOFOLLOW);
    if (p->stage >= 0)
        return 0;
    if (errno == ENOENT)
        return program_fail(voice,
                            "%s: has no folder %s, which sqtrace-ship made where it shipped to; " PLACE_MAKE_HINT,
                            p->name, SHIP_STAGE);
    return program_fail(voice, "%s/%s: cannot %s this folder: %s", p->name, SHIP_STAGE, make ? "make" : "open",
                        ship_place_why_no_folder(errno));
}

/* ---- whose files are those of this run ---- */

/* Makes a file that goes away when it is closed.  Returns a descriptor, or -1 with errno. */
static int
place_probe(const struct ship_place *p)
{
    char name[40];
    uint32_t number = 0;
    const int without_name = openat(p->stage, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, PLACE_PRIVATE);
    if (without_name >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return without_name;
    (void)!getrandom(&number, sizeof(number), 0);
    snprintf(name, sizeof(name), SHIP_PROBE "%d.%08x", (int)getpid(), number);
    const int fd = openat(p->stage, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, PLACE_PRIVATE);
    if (fd >= 0)
        unlinkat(p->stage, name, 0);
    return fd;
}

static int
place_is_ours(const struct ship_place *p, int folder)
{
    struct stat st;
    return fstat(folder, &st) == 0 && (st.st_uid == p->owner || st.st_uid == 0);
}

static int
place_look_owner(struct ship_place *p, struct program_voice *voice)
{
    struct stat st;
    const int fd = place_probe(p);
    if (fd < 0 || fstat(fd, &st) != 0) {
        program_fail(voice, "%s/%s: cannot write to this folder: %s", p->name, SHIP_STAGE, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    close(fd);
    p->owner = st.st_uid;
    p->modeless = (st.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    p->since = st.st_mtim;
    p->named = place_is_ours(p, p->out) && place_is_ours(p, p->stage);
    return 0;
}

int
ship_place_open(struct ship_place *p, struct program_voice *voice, const char *name, int make)
{
    *p = (struct ship_place){.name = name, .out = -1, .stage = -1};
    return place_open_out(p, voice, make) == 0 && place_open_stage(p, voice, make) == 0 ? place_look_owner(p, voice)
                                                                                        : -1;
}

void
ship_place_close(struct ship_place *p)
{
    if (p->stage >= 0)
        close(p->stage);
    if (p->out >= 0)
        close(p->out);
    p->out = p->stage = -1;
}

/* ---- files of the stage ---- */

int
ship_place_is_own(const struct ship_place *p, const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == p->owner && st->st_nlink == 1;
}

/* The same as sqt_open_owned(), where modes say nothing. */
int
ship_place_own(const struct ship_place *p, const char *name, int flags, struct stat *st)
{
    const int fd = sqt_open_regular(p->stage, name, flags | O_NOFOLLOW, st);
    if (fd < 0 || ship_place_is_own(p, st))
        return fd;
    close(fd);
    errno = st->st_uid != p->owner ? EOWNERDEAD : EMLINK; /* as sqt_open_refusal() understands it */
    return -1;
}

/* Whether a group is the user's own: of his name, and nobody else is in it.  Where users have such groups, pam_umask(8) gives
 * them the umask 002, and an earlier sqtrace-ship made states with it. */
static int
place_is_private_group(uid_t user, gid_t group)
{
    char name[256];
    const struct passwd *const who = user ? getpwuid(user) : NULL;
    if (!who || who->pw_gid != group || (size_t)snprintf(name, sizeof(name), "%s", who->pw_name) >= sizeof(name))
        return 0;
    const struct group *const g = getgrgid(group);
    if (!g || strcmp(g->gr_name, name) != 0)
        return 0;
    return !g->gr_mem[0] || (strcmp(g->gr_mem[0], name) == 0 && !g->gr_mem[1]);
}

int
ship_place_believed(const struct ship_place *p, const char *name, struct stat *st)
{
    if (p->modeless)
        return ship_place_own(p, name, O_RDONLY, st);
    const int fd = sqt_open_owned(p->stage, name, O_RDONLY, p->owner, st);
    if (fd >= 0 || !sqt_open_others_write(errno) || st->st_mode & S_IWOTH)
        return fd;
    if (place_is_private_group(p->owner, st->st_gid))
        return ship_place_own(p, name, O_RDONLY, st);
    errno = ENOTRECOVERABLE; /* as sqt_open_refusal() understands it */
    return -1;
}

int
ship_place_new(const struct ship_place *p, const char *name)
{
    unlinkat(p->stage, name, 0); /* if it cannot, the next call says why */
    return openat(p->stage, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, PLACE_PRIVATE);
}

/* Opens the file of a lock, new if it must be.  Nobody else may open it: a reader's lock would keep others out, too. */
static int
place_lock_file(const struct ship_place *p, const char *name)
{
    struct stat st;
    int fd = ship_place_own(p, name, O_RDWR, &st);
    if (fd < 0 && errno == ENOENT) {
        fd = openat(p->stage, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, PLACE_PRIVATE);
        return fd < 0 && errno == EEXIST ? ship_place_own(p, name, O_RDWR, &st) : fd;
    }
    if (fd >= 0 && (st.st_mode & (S_IRWXG | S_IRWXO)) && !p->modeless)
        (void)!fchmod(fd, PLACE_PRIVATE);
    return fd;
}

int
ship_place_lock(const struct ship_place *p, const char *name)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int fd = place_lock_file(p, name);
    if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return fd;
    const int cause = errno == EACCES ? EAGAIN : errno;
    close(fd);
    errno = cause;
    return -1;
}
