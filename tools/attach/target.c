/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * target.c - the running Squid that is meant, and its program.
 *
 * A Squid is its master process and the kids that it starts, all from one file.  Kids call themselves "(squid-1)" or
 * "(squid-disk-2)", and have the option --kid.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach.h"
#include "base/memory.h"
#include "format/format.h"
#include "trace/life/identity-internal.h"

#define COMMAND_LINE 4096
#define COMMAND_WORDS 64

/* The words of a process's command line. */
struct command {
    char text[COMMAND_LINE];
    const char *words[COMMAND_WORDS];
    unsigned count;
};

static int
command_read(struct command *c, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? -1 : read(fd, c->text, sizeof(c->text) - 1);
    if (fd >= 0)
        close(fd);
    c->count = 0;
    if (size <= 0)
        return -1;
    c->text[size] = '\0';
    for (const char *p = c->text; p < c->text + size && c->count < COMMAND_WORDS; p += strlen(p) + 1)
        c->words[c->count++] = p;
    return 0;
}

/* The value of an option of one letter: "-n NAME" or "-nNAME"; NULL: it is not given. */
static const char *
command_option(const struct command *c, char letter)
{
    for (unsigned i = 1; i < c->count; ++i) {
        const char *const word = c->words[i];
        if (word[0] != '-' || word[1] == '-' || word[1] != letter)
            continue;
        return word[2] ? word + 2 : i + 1 < c->count ? c->words[i + 1] : NULL;
    }
    return NULL;
}

/* Squid's service name, as file names may have it: a command line may say anything. */
static void
command_service(const struct command *c, char service[32])
{
    const char *const name = command_option(c, 'n');
    sqt_service_name(service, name && *name ? name : "squid");
}

static int
target_stat(pid_t pid, struct stat *st)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return stat(path, st);
}

static pid_t
parent_of(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    const char *const behind = strrchr(text, ')'); /* the name of a program may have anything else */
    int parent = 0;
    return behind && sscanf(behind + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static uint32_t
kid_kind(const char *name)
{
    return strstr(name, "disk") ? SQT_KID_DISKER : strstr(name, "coord") ? SQT_KID_COORDINATOR : SQT_KID_WORKER;
}

/* What the command line says: "(squid-disk-3) --kid squid-disk-3". */
static void
member_from(struct attach_member *member, const struct command *c)
{
    member->kid = 0;
    member->kid_kind = SQT_KID_SINGLE;
    for (unsigned i = 1; i + 1 < c->count; ++i) {
        const char *const number = strrchr(c->words[i + 1], '-');
        if (strcmp(c->words[i], "--kid") != 0 || !number)
            continue;
        member->kid = (uint32_t)strtoul(number + 1, NULL, 10);
        member->kid_kind = kid_kind(c->words[i + 1]);
        return;
    }
}

int
attach_member_of(const struct attach_target *target, pid_t pid, struct attach_member *member)
{
    struct command c;
    struct stat st;
    char service[32];
    if (target_stat(pid, &st) != 0 || st.st_dev != target->device || st.st_ino != target->file ||
        command_read(&c, pid) != 0)
        return -1;
    command_service(&c, service);
    if (strcmp(service, target->service) != 0)
        return -1;
    member->pid = pid;
    member_from(member, &c);
    return 0;
}

/* All processes; calls take() for each until it returns something else than 0. */
static int
each_process(int (*take)(void *context, pid_t pid), void *context)
{
    DIR *const dir = sqt_opendir("/proc");
    int result = 0;
    for (const struct dirent *entry; dir && !result && (entry = readdir(dir));)
        if (isdigit((unsigned char)entry->d_name[0]))
            result = take(context, (pid_t)strtol(entry->d_name, NULL, 10));
    if (dir)
        closedir(dir);
    return result;
}

struct member_list {
    const struct attach_target *target;
    struct attach_member *members;
    size_t count, room;
    pid_t root; /* the process that all are children of */
};

static int
descends(pid_t pid, pid_t root)
{
    for (unsigned i = 0; i < 8 && pid > 1; ++i, pid = parent_of(pid))
        if (pid == root)
            return 1;
    return 0;
}

static int
member_add(void *context, pid_t pid)
{
    struct member_list *const list = context;
    if (list->count < list->room && attach_member_of(list->target, pid, &list->members[list->count]) == 0 &&
        descends(pid, list->root)) /* which takes longer to find out */
        ++list->count;
    return 0;
}

/* The process of the same program that no other of it started. */
static pid_t
target_root(const struct attach_target *target)
{
    struct attach_member ignored;
    pid_t root = target->pid;
    for (pid_t up = parent_of(root); up > 1 && attach_member_of(target, up, &ignored) == 0; up = parent_of(root))
        root = up;
    return root;
}

size_t
attach_members(const struct attach_target *target, struct attach_member *members, size_t room)
{
    struct member_list list = {target, members, 0, room, target->root};
    uint32_t most = 0;
    each_process(member_add, &list);
    for (size_t i = 0; i < list.count; ++i)
        if (members[i].kid > most)
            most = members[i].kid;
    for (size_t i = 0; i < list.count && most == 1; ++i) /* no SMP */
        members[i].kid_kind = SQT_KID_SINGLE;
    return list.count;
}

struct sibling_search {
    const struct attach_target *target;
    pid_t parent;
    uint32_t most; /* highest number of a kid */
};

static int
sibling_try(void *context, pid_t pid)
{
    struct sibling_search *const search = context;
    struct attach_member sibling;
    if (parent_of(pid) == search->parent && attach_member_of(search->target, pid, &sibling) == 0 &&
        sibling.kid > search->most)
        search->most = sibling.kid;
    return 0;
}

int
attach_member_now(const struct attach_target *target, pid_t pid, struct attach_member *member)
{
    struct sibling_search search = {target, parent_of(pid), 0};
    if (attach_member_of(target, pid, member) != 0)
        return -1;
    search.most = member->kid;
    if (search.most == 1)
        each_process(sibling_try, &search);
    if (search.most == 1) /* no SMP */
        member->kid_kind = SQT_KID_SINGLE;
    return 0;
}

/* ---- the program ---- */

#define VERSION_MARK "squid/" /* "Squid Cache: Version 7.7" is not in the file as such, but "squid/7.7" is */

/* Takes the version that begins at p, if one does. */
static int
version_take(struct attach_target *target, const char *p, const char *end)
{
    size_t size = 0;
    while (p + size < end && size < sizeof(target->version) - 1 &&
           (isalnum((unsigned char)p[size]) || p[size] == '.' || p[size] == '-'))
        ++size;
    if (!size || !isdigit((unsigned char)p[0]) || p + size == end || p[size])
        return 0;
    memcpy(target->version, p, size);
    target->version[size] = '\0';
    return 1;
}

/* Reads the file piece by piece; each has the end of the one before, too, where a version may begin. */
static void
target_version(struct attach_target *target)
{
    const size_t mark = strlen(VERSION_MARK), again = mark + sizeof(target->version), piece = 1u << 16;
    char *const text = sqt_allocated(piece);
    int found = 0;
    size_t size;
    for (uint64_t at = 0; !found && (size = sqt_elf_code(&target->elf, at, (uint8_t *)text, piece)) > 0;) {
        for (const char *p = text, *const end = text + size;
             !found && (p = memmem(p, (size_t)(end - p), VERSION_MARK, mark));) {
            p += mark;
            found = version_take(target, p, end);
        }
        at += size < piece ? size : piece - again;
    }
    free(text);
}

/* What no request can do without. */
static int
target_is_squid(const struct attach_target *target)
{
    return target->functions.has[SQT_ATTACH_XACT] && target->functions.has[SQT_ATTACH_LOG_REQUEST];
}

/* Whether the program is of somebody who could do all that it does anyway. */
static int
target_trusted(const struct stat *st)
{
    return st->st_uid == 0 || st->st_uid == geteuid();
}

/* searched: nobody named the process, so its program must be one to trust.  The process may run another one by now than when it
 * was found, so this is asked of the file that is looked at. */
static int
target_look(struct attach_target *target, const char *path, int searched, struct program_voice *voice)
{
    const char *why = NULL;
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) != 0) {
        program_fail(voice, "%s: %s", target->program, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    /* Of the file that is looked at: the process may run another one a moment later. */
    target->device = st.st_dev;
    target->file = st.st_ino;
    target->fd = fd;
    if (searched && !target_trusted(&st))
        return program_fail(voice, "%s: it belongs to neither root nor you; --pid=%d traces it all the same",
                            target->program, (int)target->pid);
    const int opened = sqt_elf_open(&target->elf, fd, &why);
    if (opened != 0)
        return program_fail(voice, "%s: %s", target->program, why);
    sqt_attach_find(&target->functions, &target->elf);
    if (target_is_squid(target)) {
        target_version(target);
        return 0;
    }
    if (!sqt_elf_has_symbols(&target->elf))
        return program_fail(voice, "%s: it has no symbols: it is fully stripped%s", target->program,
                            target->elf.dynamic ? "" : " and statically linked");
    return program_fail(voice, "%s: it is not Squid, or its symbols were removed: it has no ClientHttpRequest",
                        target->program);
}

int
attach_target_program(struct attach_target *target, const char *path, struct program_voice *voice)
{
    *target = (struct attach_target){.fd = -1, .elf.fd = -1};
    snprintf(target->program, sizeof(target->program), "%s", path);
    return target_look(target, path, 0, voice);
}

/* Says why a process cannot be looked at: errno. */
static int
target_absent(pid_t pid, struct program_voice *voice)
{
    if (errno == ENOENT || errno == ESRCH)
        return program_fail(voice, "there is no process %d", (int)pid);
    return program_fail(voice, "cannot look at process %d: %s%s", (int)pid, strerror(errno),
                        geteuid() ? "; sqtrace-attach needs root" : "");
}

static int
target_take(struct attach_target *target, pid_t pid, int searched, struct program_voice *voice)
{
    char path[64];
    struct command c;
    target->pid = pid;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    const ssize_t size = readlink(path, target->program, sizeof(target->program) - 1);
    if (size < 0)
        return target_absent(pid, voice);
    target->program[size] = '\0';
    if (target_look(target, path, searched, voice) != 0)
        return -1;
    if (command_read(&c, pid) != 0)
        return target_absent(pid, voice);
    command_service(&c, target->service);
    target->root = target_root(target);
    return 0;
}

struct search {
    const char *service;
    pid_t found;
    pid_t foreign; /* its program belongs to somebody else */
    pid_t hidden;  /* which program it runs may not be seen */
};

/* "squid", "(squid)", "(squid-1)" or "(squid-disk-2)", but not squidGuard. */
static int
search_name(const char *name)
{
    const size_t kid = *name == '(';
    if (strncmp(name + kid, "squid", 5) != 0)
        return 0;
    const char behind = name[kid + 5];
    return behind == '\0' || (kid && (behind == '-' || behind == ')'));
}

/* "squid", "squid6" or "squid-openssl", but not "squidclient". */
static int
search_file_name(const char *name)
{
    return strncmp(name, "squid", 5) == 0 && !isalpha((unsigned char)name[5]);
}

/* Whether the file of its program is called so, as far as the kernel says to everybody. */
static int
search_comm(pid_t pid)
{
    char path[64], name[32];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);
    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return 0;
    name[size] = '\0';
    return search_file_name(name);
}

/* Whether the file of its program is called so; -1: that may not be seen. */
static int
search_file(pid_t pid)
{
    char path[64], program[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    const ssize_t size = readlink(path, program, sizeof(program) - 1);
    if (size <= 0)
        return size < 0 && errno == EACCES ? -1 : 0;
    program[size] = '\0';
    const char *const slash = strrchr(program, '/');
    return search_file_name(slash ? slash + 1 : program);
}

/* A process that calls itself squid, whose program is called so, too, and that has that service name.  Anybody can call a
 * process so, of any program; whoever cannot change files of root cannot call one of its programs so.  The program comes first:
 * the words of a process are in its memory, and a program can have whoever reads them wait. */
static int
search_try(void *context, pid_t pid)
{
    struct search *const search = context;
    struct command c;
    struct stat st;
    char service[32];
    const int its_file = search_file(pid);
    if (its_file < 0)
        search->hidden = search_comm(pid) ? pid : search->hidden;
    if (its_file <= 0)
        return 0;
    if (target_stat(pid, &st) != 0)
        return 0;
    if (!target_trusted(&st)) {
        search->foreign = pid;
        return 0;
    }
    if (command_read(&c, pid) != 0 || !c.count)
        return 0;
    const char *const slash = strrchr(c.words[0], '/'), *const name = slash ? slash + 1 : c.words[0];
    if (!search_name(name))
        return 0;
    command_service(&c, service);
    if (strcmp(service, search->service) != 0 || command_option(&c, 'k') || command_option(&c, 'z'))
        return 0; /* another service, or a command for Squid */
    search->found = pid;
    return 1;
}

pid_t
attach_target_pid(const char *service)
{
    struct search search = {.service = service};
    return each_process(search_try, &search) ? search.found : 0;
}

static int
target_missing(const char *service, struct program_voice *voice)
{
    struct search search = {.service = service};
    each_process(search_try, &search);
    if (search.foreign)
        return program_fail(voice,
                            "no Squid runs here under the service name %s, unless process %d is it: its program "
                            "belongs to neither root "
                            "nor you; --pid=%d traces it all the same",
                            service, (int)search.foreign, (int)search.foreign);
    if (search.hidden)
        return program_fail(voice,
                            "no Squid runs here under the service name %s, unless process %d is it: only root may see "
                            "which program that runs",
                            service, (int)search.hidden);
    return program_fail(voice, "no Squid runs here under the service name %s", service);
}

int
attach_target_find(struct attach_target *target, const struct attach_request *request, struct program_voice *voice)
{
    const char *const service = request->given[ATTACH_service];
    const pid_t pid = request->pid ? request->pid : attach_target_pid(service);
    *target = (struct attach_target){.fd = -1, .elf.fd = -1};
    return pid ? target_take(target, pid, !request->pid, voice) : target_missing(service, voice);
}

/* The kernel's own number of its first namespace of processes. */
#define TARGET_FIRST_NAMESPACE 0xEFFFFFFCu

int
attach_target_numbers(struct program_voice *voice)
{
    struct stat st;
    if (stat("/proc/self/ns/pid", &st) != 0 || st.st_ino == TARGET_FIRST_NAMESPACE)
        return 0;
    return program_fail(voice,
                        "processes have other numbers here than in the kernel, as in most containers; trace Squid "
                        "from the host, or from a container that shares the host's (--pid=host)");
}

void
attach_target_free(struct attach_target *target)
{
    sqt_attach_functions_free(&target->functions);
    sqt_elf_close(&target->elf);
    if (target->fd >= 0)
        close(target->fd);
    target->fd = -1;
}
