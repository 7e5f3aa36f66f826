/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sqtrace-load.c - a load for proxies, and the origin server behind them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "load.h"

/* ---- what a run needs ---- */

/* Descriptors for the clients, and for the origin's ends of their connections. */
static int
raise_limits(struct load *load)
{
    struct rlimit limit;
    const rlim_t wanted = (rlim_t)load->number[LOAD_clients] + 64;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < wanted && !load->given[LOAD_origin])
        return load_fail(load, "--clients=%s: only %llu descriptors may be open (ulimit -n)", load->value[LOAD_clients],
                         (unsigned long long)limit.rlim_max);
    return 0;
}

static int
open_rows(struct load *load)
{
    const char *const name = load->given[LOAD_rows];
    if (!name)
        return 0;
    load->rows = sqt_fopen(name, "we");
    if (!load->rows)
        return load_fail(load, "%s: cannot write: %s", name, strerror(errno));
    setvbuf(load->rows, NULL, _IOFBF, 1 << 18);
    fputs("time_s\tphase\tclient\tkind\tstatus\tcache\tbytes\tsent_ns\tfirst_byte_ns\ttotal_ns\terror\turl\n",
          load->rows);
    return 0;
}

static int
close_rows(struct load *load)
{
    if (!load->rows)
        return 0;
    if (!load->rows_failed && (fflush(load->rows) != 0 || ferror(load->rows)))
        load->rows_failed = errno;
    if (fclose(load->rows) != 0 && !load->rows_failed)
        load->rows_failed = errno;
    return load->rows_failed
               ? load_fail(load, "%s: cannot write: %s", load->given[LOAD_rows], strerror(load->rows_failed))
               : 0;
}

/* ---- the origin ---- */

static int
load_main_serve(struct load *load, char *error, size_t error_size)
{
    if (load->given[LOAD_tls] && tls_server(load, error, error_size) != 0)
        return -1;
    struct origin *const origin = origin_open(load, error, error_size);
    if (!origin)
        return -1;
    for (size_t i = 0; i < load->listen.count; ++i)
        printf("http%s://%s\n", load->server_tls ? "s" : "", load->listen.place[i].authority);
    fflush(stdout);
    origin_run(origin);
    origin_free(origin);
    return 0;
}

/* A child that serves what our own URLs ask for.  Sets load->servers.  Returns its pid, or -1. */
static pid_t
fork_origin(struct load *load, char *error, size_t error_size)
{
    if (load->given[LOAD_tls] && tls_server(load, error, error_size) != 0)
        return -1;
    load->counts = mmap(NULL, sizeof(*load->counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (load->counts == MAP_FAILED) {
        snprintf(error, error_size, "no memory for the origin: %s", strerror(errno));
        load->counts = NULL;
        return -1;
    }
    struct origin *const origin = origin_open(load, error, error_size);
    if (!origin)
        return -1;
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGINT, SIG_IGN); /* of a terminal or of a service, for all its processes; the parent ends us */
        signal(SIGTERM, SIG_IGN);
        if (getppid() == parent)
            origin_run(origin);
        _exit(0);
    }
    if (pid < 0)
        snprintf(error, error_size, "no process for the origin: %s", strerror(errno));
    origin_free(origin);
    load->servers = load->listen;
    memset(&load->listen, 0, sizeof(load->listen));
    return pid;
}

/* ---- the whole ---- */

static void
load_main_stop(int signal_number)
{
    load_stop = signal_number;
}

static int
needs_tls(const struct load *load)
{
    int needs = load->proxy.count && load->proxy.place->tls;
    for (size_t i = 0; i < load->servers.count; ++i)
        needs |= load->servers.place[i].tls;
    return needs;
}

static int
wrong_bodies(const struct load *load)
{
    uint64_t wrong = 0;
    for (unsigned i = 0; i < load->phase_count; ++i)
        wrong += load->stats[i].errors[LOAD_ERROR_wrong];
    return wrong > 0;
}

int
load_lost_origin(struct load *load)
{
    int status = 0;
    if (load->origin_pid > 0 && waitpid(load->origin_pid, &status, WNOHANG) != 0) {
        load->origin_pid = -1;
        if (!WIFEXITED(status) || WEXITSTATUS(status) == 0) /* else it has said why */
            load_fail(load, "the origin has ended: %s", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "early");
    }
    return load->origin_pid < 0;
}

/* The same after an error, which may have been that it ends: its connections are closed a moment before. */
static int
load_is_losing_origin(struct load *load)
{
    const unsigned most = load->origin_pid && *load->first_error ? 50 : 0;
    for (unsigned looks = 0; looks < most && !load_lost_origin(load); ++looks)
        usleep(10000);
    return load_lost_origin(load);
}

/* From phases to an exit status. */
static int
load_main_measure(struct load *load)
{
    if (open_rows(load) != 0)
        return LOAD_FAILED;
    int failed = run_all(load) != 0;
    const int lost = load_is_losing_origin(load);
    program_clear(&load->voice);
    if (load->connected || !load->broken)
        failed |= print_results(load) != 0;
    failed |= close_rows(load) != 0;
    if (lost)
        return LOAD_FAILED; /* which was said */
    if (wrong_bodies(load))
        failed |= load_fail(load, "bodies were not those of their URLs") != 0;
    if (failed)
        return LOAD_FAILED;
    if (!load_stop && stats_all_refused(load)) {
        load_fail(load, "the run is invalid: each response was an error; the first was a %s", load->first_error);
        return LOAD_INVALID;
    }
    if (load_stop || !stats_invalid(load))
        return LOAD_DONE;
    load_fail(load, "the run is invalid: %s",
              *load->first_error ? load->first_error : "more than 1 % of the requests could not be sent on time");
    return LOAD_INVALID;
}

static int
load_run(struct load *load)
{
    char error[1024];
    int status = LOAD_FAILED;
    const int brings_urls = load->word_count || load->given[LOAD_urls];
    if (raise_limits(load) != 0)
        return LOAD_FAILED;
    if (load->given[LOAD_origin]) {
        if (load_main_serve(load, error, sizeof(error)) == 0)
            return LOAD_DONE;
        load_fail(load, "%s", error);
        return LOAD_FAILED;
    }
    if (!load->servers.count && !brings_urls)
        load->origin_pid = fork_origin(load, error, sizeof(error));
    if (load->origin_pid < 0 || load->workload->plan(load, error, sizeof(error)) != 0 ||
        (needs_tls(load) && tls_client(load, error, sizeof(error)) != 0))
        load_fail(load, "%s", error);
    else
        status = load_main_measure(load);
    if (load->origin_pid > 0) {
        kill(load->origin_pid, SIGKILL); /* it holds nothing that outlives it */
        waitpid(load->origin_pid, NULL, 0);
    }
    return status;
}

static void
load_free(struct load *load)
{
    stats_free(load);
    if (load->workload && load->state)
        load->workload->end(load);
    places_free(&load->listen);
    places_free(&load->servers);
    places_free(&load->proxy);
    SSL_CTX_free(load->client_tls);
    SSL_CTX_free(load->server_tls);
    if (load->counts)
        munmap(load->counts, sizeof(*load->counts));
    free(load->fields);
    free(load->words);
}

int
main(int argc, char **argv)
{
    static struct load load;
    char error[1024];
    int status;
    signal(SIGPIPE, SIG_IGN);
    event_set_mem_functions(sqt_allocated, sqt_resized, free);
    tls_memory();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error, as a full disk is */
    const struct sigaction action = {.sa_handler = load_main_stop};
    if (load_parse(&load, argc, argv, error, sizeof(error)) != 0) {
        fprintf(stderr, "sqtrace-load: %s\n", error);
        status = LOAD_USAGE;
    } else if (load.given[LOAD_help]) {
        options_print_help(load_help);
        status = options_told();
    } else if (load.given[LOAD_version]) {
        puts("sqtrace-load " PACKAGE_VERSION);
        status = options_told();
    } else {
        const int quiet = load.given[LOAD_quiet] != NULL;
        load.voice = (struct program_voice){
            .program = "sqtrace-load", .quiet = quiet, .watched = !quiet && isatty(STDERR_FILENO)};
        if (!load.given[LOAD_origin]) {
            sigaction(SIGINT, &action, NULL);
            sigaction(SIGTERM, &action, NULL);
        }
        status = load_run(&load);
    }
    load_free(&load);
    if (load_stop) {
        signal(load_stop, SIG_DFL);
        raise(load_stop);
    }
    return status;
}
