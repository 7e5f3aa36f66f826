/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * attach.h - what the files of sqtrace-attach share.
 */
#ifndef SQT_ATTACH_PROGRAM_H
#define SQT_ATTACH_PROGRAM_H

#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

#include "../program/options.h"
#include "../program/voice.h"
#include "attach/event.h"
#include "attach/table.h"

enum attach_status { ATTACH_DONE = 0, ATTACH_FAILED = 1, ATTACH_USAGE = 2 };

enum attach_option {
#define ATTACH_OPTION(id, name, letter, value, doc) ATTACH_##id,
#include "options.def"
    ATTACH_OPTIONS
};

extern const struct option_info attach_option_infos[ATTACH_OPTIONS];

/* What the command line says. */
struct attach_request {
    const char *given[ATTACH_OPTIONS]; /* value of each option; "" if it stands alone, NULL if not given */
    const char **words;                /* the program for --check, if any; attach_request_free() frees the array */
    size_t word_count;
    pid_t pid;        /* 0: not given */
    int64_t duration; /* ns; 0: until the end */
    double most;      /* share of a processor that the probes may take; 0: any */
};

/* Returns 0, or -1 with a line in error.  Call attach_request_free() in either case. */
int attach_parse(struct attach_request *request, int argc, char **argv, char *error, size_t error_size);
void attach_request_free(struct attach_request *request);
/* Prints a summary of the options. */
void attach_help(FILE *to);

/* ---- target.c: which processes are traced ---- */

/* What a process of Squid is, by its command line. */
struct attach_member {
    pid_t pid;
    uint32_t kid;      /* 0: the master process, or a Squid without one */
    uint32_t kid_kind; /* enum sqt_kid_kind */
};

struct attach_target {
    pid_t pid;              /* a process of it */
    char program[PATH_MAX]; /* for people: the path of its file */
    char service[32];
    char version[32]; /* of Squid, "" if its file does not say */
    dev_t device;     /* of its file */
    ino_t file;
    int fd;     /* of it, which may be replaced or removed meanwhile; -1: none */
    pid_t root; /* the process that all others of it are children of */
    struct sqt_elf elf;
    struct sqt_attach_functions functions;
};

/* Finds the Squid that the request means, and looks at its program.  Returns 0, or -1 after saying why.  attach_target_free() in
 * either case. */
int attach_target_find(struct attach_target *target, const struct attach_request *request, struct program_voice *voice);
/* A process of the Squid with that service name; 0: none runs. */
pid_t attach_target_pid(const char *service);
/* Looks at a program for --check.  The same. */
int attach_target_program(struct attach_target *target, const char *path, struct program_voice *voice);
void attach_target_free(struct attach_target *target);

/* Whether this process sees the numbers of processes that the kernel itself uses.  Returns 0, or -1 after saying why. */
int attach_target_numbers(struct program_voice *voice);

/* Lists the processes of the target that run now: at most `room`.  Returns how many. */
size_t attach_members(const struct attach_target *target, struct attach_member *members, size_t room);
/* What one of them is now.  Returns 0, or -1 if it is not there, or not a process of that program. */
int attach_member_now(const struct attach_target *target, pid_t pid, struct attach_member *member);
/* The same, but for whether it is the only worker, which takes longer to find out. */
int attach_member_of(const struct attach_target *target, pid_t pid, struct attach_member *member);

/* ---- kernel.c: probes ---- */

struct attach_kernel;

/* Loads the kernel's program.  many: for probes that all come in one call, which older kernels cannot.  Returns NULL: without
 * many, after saying why. */
struct attach_kernel *attach_kernel_load(int many, struct program_voice *voice);
/* A process is traced from now on, and so are its children. */
int attach_kernel_watch(struct attach_kernel *kernel, pid_t pid);
/* It is traced no more. */
void attach_kernel_unwatch(struct attach_kernel *kernel, pid_t pid);
/* Calls of it that found no room, so far; 0 if its end is among the events. */
uint64_t attach_kernel_lost_of(const struct attach_kernel *kernel, pid_t pid);
/* Puts the probes in.  many as it was loaded.  Returns 0, or -1: without many, after saying why. */
int attach_kernel_attach(struct attach_kernel *kernel, int many, const struct attach_target *target,
                         struct program_voice *voice);
/* What a call costs on this machine, in ns: measured with a function of this process.  0: not known. */
uint64_t attach_kernel_cost(struct attach_kernel *kernel);
/* Takes the probes out for a while, and puts them in again: with or without those of TAG.  Returns 0, or -1. */
void attach_kernel_pause(struct attach_kernel *kernel);
int attach_kernel_resume(struct attach_kernel *kernel, const struct attach_target *target, int tags);
/* Where the result code is in the object of a log line; 0: not known. */
void attach_kernel_code(struct attach_kernel *kernel, uint32_t at);
/* Takes only those of TAG out. */
void attach_kernel_no_tags(struct attach_kernel *kernel);
/* Takes them out. */
void attach_kernel_detach(struct attach_kernel *kernel);
/* Gives the events that there are to take(), at most some.  Returns whether there may be more. */
int attach_kernel_drain(struct attach_kernel *kernel, void (*take)(void *context, const struct sqt_attach_event *event),
                        void *context);
struct sqt_attach_counts attach_kernel_counts(const struct attach_kernel *kernel);
void attach_kernel_free(struct attach_kernel *kernel);

/* ---- budget.c: --most ---- */

struct attach_budget {
    double most;      /* share of a processor */
    uint64_t call;    /* ns that a call costs */
    double left;      /* ns of a processor that may be used now */
    uint64_t looked;  /* ns of CLOCK_MONOTONIC */
    uint64_t calls;   /* until then */
    uint64_t on, off; /* ns with and without probes */
    int paused;
};

/* Takes account of time and calls.  Returns whether the probes may be in. */
int attach_budget_allows(struct attach_budget *budget, uint64_t now, uint64_t calls);

/* ---- check.c ---- */

/* Prints the functions of attach.def and what the program has of them.  Returns enum attach_status. */
enum attach_status attach_check(const struct attach_target *target, FILE *to);

/* ---- run.c ---- */

enum attach_status attach_run(const struct attach_request *request, struct program_voice *voice);

#endif
