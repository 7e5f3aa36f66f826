/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * run.h - one run of sqtrace-ship.
 *
 * A batch is made in the folder OUT/.sqtrace-ship.  Its files are sealed there under names that say which records they are
 * of, then the ring's state says how many records are shipped, then the files move to their places.  So a sealed file
 * belongs to the output exactly if its range ends at or before what the state says.
 */
#ifndef SQT_SHIP_RUN_H
#define SQT_SHIP_RUN_H

#include <sys/stat.h>
#include <time.h>

#include "parquet/parquet.h"
#include "pass/pass.h"

#include "../program/voice.h"
#include "ship.h"

/* The folder within OUT where batches are made, and where states are. */
#define SHIP_STAGE ".sqtrace-ship"
/* Bytes of a host's name as a part of a path, and of a file's name. */
#define SHIP_HOST_ROOM 244
#define SHIP_NAME_ROOM 160
/* What engines take for a value that is missing. */
#define SHIP_NONE "__HIVE_DEFAULT_PARTITION__"
/* A day that is not known. */
#define SHIP_NO_DAY INT64_MIN

/* Days that a run makes folders for: of the rows of a ring, and of all.  Other rows go to SHIP_NO_DAY. */
#define SHIP_RING_DAYS 64
#define SHIP_RUN_DAYS 400
/* Once a run has made so many files, it ends, and the next one goes on. */
#define SHIP_FILES_MOST 20000
/* Begins the name of a file of the stage that shows whose files are those of a run. */
#define SHIP_PROBE "probe."

/* OUT, and the stage in it. */
struct ship_place {
    const char *name; /* of OUT */
    int out, stage;   /* descriptors; -1: not open */
    uid_t owner;      /* of files that this run makes there */
    int modeless;     /* others may write to them, whatever mode they are made with: the file system keeps none */
    int named;        /* those whom the default ACL there names may read them: only their owner, or root, wrote it */
    struct timespec since; /* when this run began, by the clock of that file system */
};

/* How far a ring was shipped: what its state file says. */
struct ship_state {
    unsigned version;        /* of the file; 0: there is none */
    char boot[33];           /* of the machine, in version 2, as 32 hexadecimal digits */
    struct sqt_anchor start; /* when the ring was made, in version 2 */
    struct timespec changed; /* the file's time */
    uint64_t shipped;        /* records; and one more when the end of the ring has been shipped */
    uint64_t ticks;          /* the time of the last of them, by the ring's clock */
    int ended;               /* nothing more comes */
    char host[SHIP_HOST_ROOM];
};

/* What a trace is like before it is read. */
struct ship_trace {
    const struct sqt_origin *origin;
    uint64_t end,
        ticks;   /* number of the record behind the last one, and time of the last one in blocks; 0: not known */
    int damaged; /* it may have more */
    int looked;  /* readers are known */
    struct stat readers; /* group and mode: who may read it */
};

/* A ring in this run. */
struct ship_ring {
    const struct sqt_origin *origin;
    char id[33];                    /* 32 hexadecimal digits: what rows, files and its state are called by */
    const struct ship_trace *trace; /* NULL: not known */
    struct stat readers;            /* group and mode: who may read its files */
    int64_t days[SHIP_RING_DAYS];   /* that have folders for its rows */
    unsigned day_count;
    int lock; /* descriptor; -1: not open, and its rows are left out */
    struct ship_state state;
    int met;        /* a record was handed out */
    uint64_t seen;  /* number of the record behind the last one */
    uint64_t ticks; /* time of the last one */
    int ended;      /* all was read, and there will be no more */
    struct sqt_run
        rest; /* of the record `lost`, which is handed on once the ring has ended; no records: there is none */
    struct sqt_record lost;
    int64_t oldest_ns; /* of the first record that was not shipped before, since 1970; INT64_MAX: none */
    uint64_t bytes;    /* of its files in this batch */
};

struct ship_table;

struct ship {
    const struct ship_request *request;
    struct program_voice voice;
    struct ship_place place;
    struct sqt_stream *stream;
    struct sqt_identities identities;
    struct sqt_job jobs[SQT_TABLES];
    struct ship_table *tables;
    struct sqt_parquet *parquet;
    struct sqt_pass *pass;
    uint64_t position;        /* number that stands for a row that no record ended */
    struct ship_ring **rings; /* by the origin's index */
    size_t ring_count;
    struct ship_trace *traces;
    size_t trace_count;
    int64_t days[SHIP_RUN_DAYS]; /* that have folders */
    unsigned day_count;
    uint64_t undated;             /* rows that found no day */
    uint64_t files, bytes;        /* shipped */
    unsigned put_off;             /* rings */
    int failed, busy;             /* something went wrong; another sqtrace-ship has a ring */
    int crowded;                  /* as many files are made as a run may make */
    int told_foreign, told_group; /* said once */
};

/* ---- read.c: reading the trace ---- */

/* Reads all traces and ships what is new.  Returns enum ship_status. */
enum ship_status ship_run(const struct ship_request *request);

/* ---- compact.c: merging files ---- */

/* Merges small files, and removes files that were merged.  Returns enum ship_status. */
enum ship_status ship_compact(const struct ship_request *request);

/* ---- rings.c: rings, and which of their rows are new ---- */

/* The ring of an origin; at first sight it is locked and its state is read. */
struct ship_ring *ship_ring_of(struct ship *ship, const struct sqt_origin *origin);
/* Locks a ring and reads its state.  Returns 0, or -1 if its rows are to be left out, after saying why. */
int ship_ring_open(struct ship *ship, struct ship_ring *ring);
/* The same, and clears the stage of it. */
int ship_ring_begin(struct ship *ship, struct ship_ring *ring);
void ship_ring_close(struct ship_ring *ring);
/* Whether a row of that record, or a row that stands at that position, was not shipped before. */
int ship_ring_wants(const struct ship_ring *ring, uint64_t position);
/* Takes note of a run before the pass does.  What the reader says of losses is cut to what was not shipped before; the
 * changed run is in *mine, and *lost, both of which live until the pass has seen it.  Returns the run to hand on; NULL: it
 * waits in ring->rest. */
const struct sqt_run *ship_ring_run(struct ship *ship, struct ship_ring *ring, const struct sqt_run *run,
                                    struct sqt_run *mine, struct sqt_record *lost);
/* If records were removed before they were shipped, makes a run that says so, and returns 1; else 0. */
int ship_ring_removed(const struct ship_ring *ring, const struct sqt_run *first, struct sqt_run *mine,
                      struct sqt_record *lost);

/* ---- claim.c: what a trace is shipped as ---- */

/* Looks at the traces before they are read. */
void ship_claim_look(struct ship *ship);
/* Finds the id and the state of a ring, and opens it unless all of it was shipped.  If its id stands for another trace,
 * too, it gets another one, and that is said. */
void ship_claim(struct ship *ship, struct ship_ring *ring);
/* Notes in a state which trace it is of. */
void ship_claim_sign(const struct ship_ring *ring, struct ship_state *state);

/* ---- days.c ---- */

/* The day whose folder a row of that day goes to: the same, or SHIP_NO_DAY once there are too many. */
int64_t ship_day(struct ship *ship, struct ship_ring *ring, int64_t day);

/* ---- place.c: OUT and the stage ---- */

/* Opens both.  make: makes what is missing.  Returns 0, or -1 after saying why; close it in either case. */
int ship_place_open(struct ship_place *place, struct program_voice *voice, const char *name, int make);
void ship_place_close(struct ship_place *place);
/* Opens a folder in a folder, never through a link, and makes it if it is not there.  Returns its descriptor, or -1 with
 * errno. */
int ship_place_folder(int parent, const char *name);
/* Why that failed. */
const char *ship_place_why_no_folder(int error);
/* Whether a file belongs to the owner of this run's files, is regular and has no other name. */
int ship_place_is_own(const struct ship_place *place, const struct stat *st);
/* Opens such a file of the stage.  Returns its descriptor, or -1 with errno for sqt_open_refusal(). */
int ship_place_own(const struct ship_place *place, const char *name, int flags, struct stat *st);
/* The same, for reading, if nobody else may write to it either; a group that has nobody but its user is nobody else. */
int ship_place_believed(const struct ship_place *place, const char *name, struct stat *st);
/* Makes a file in the stage for its owner alone, instead of what has that name.  Returns its descriptor, or -1 with errno. */
int ship_place_new(const struct ship_place *place, const char *name);
/* Returns a descriptor that holds the lock of that name in the stage; -1 with errno, EAGAIN if somebody else holds it. */
int ship_place_lock(const struct ship_place *place, const char *name);

/* ---- rows.c: rows on their way to files ---- */

/* Makes the jobs of the pass.  The stage and the stream are open. */
void ship_rows_begin(struct ship *ship);
/* Writes what is left.  Returns 0, or -1 after saying why. */
int ship_rows_finish(struct ship *ship);
void ship_rows_free(struct ship *ship);

/* ---- state.c: the state of a ring ---- */

/* Reads it, if sqtrace-ship can have written it; without a file it is that of a ring of which nothing was shipped.  Returns 0, or -1 after saying why. */
int ship_state_load(struct ship *ship, const char *ring, struct ship_state *state);
/* Replaces it, and waits until the disk has it.  Returns 0, or -1 after saying why. */
int ship_state_save(struct ship *ship, const char *ring, const struct ship_state *state);

/* ---- stage.c: files of batches ---- */

/* Publishes and removes what killed runs left behind, of rings that nobody else has. */
void ship_stage_recover(struct ship *ship);
/* The same of one ring, which is locked.  Returns 0, or -1 after saying why. */
int ship_stage_clear(struct ship *ship, const char *ring, const struct ship_state *state);
/* Adds the sizes of the files of this run to their rings. */
void ship_stage_count(struct ship *ship);
/* Ships what was made of a ring in this run: seals its files, saves the state, and publishes.  Returns 0, or -1 after
 * saying why. */
int ship_stage_commit(struct ship *ship, struct ship_ring *ring, const struct ship_state *state);

/* ---- names.c: names of files ---- */

/* What the name of a file in the stage says. */
struct ship_name {
    char ring[33];
    char table[32], date[16];
    unsigned part;
    uint64_t first, end; /* sealed: records [first, end) of the ring */
    int sealed, whole;   /* not sealed and not whole: a file that was being written */
};

/* "requests.2026-11-26", which the files of a table and a day are called by while they are made.  day: since 1970. */
void ship_name_prefix(char prefix[31], const char *table, int64_t day);
/* Reads a name; 0 if it is none of a batch. */
int ship_name_parse(struct ship_name *name, const char *text);
/* The name of a sealed file in the stage. */
void ship_name_sealed(char text[SHIP_NAME_ROOM], const struct ship_name *name);
/* The name of a file in the output. */
void ship_name_public(char text[SHIP_NAME_ROOM], const struct ship_name *name);
/* Reads such a name; 0 if it is none.  table and date stay empty. */
int ship_name_parse_public(struct ship_name *name, const char *text);
/* A host as a part of a path: other characters than letters, digits and "._-" as %XX.  NULL or "": SHIP_NONE. */
void ship_name_host(char text[SHIP_HOST_ROOM], const char *host);
/* Whether that function can have made the text. */
int ship_name_is_host(const char *text);

#endif
