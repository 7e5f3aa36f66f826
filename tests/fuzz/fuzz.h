/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fuzz.h - what the files of the fuzz target share.
 *
 * An input is a line of words, separated by tabs, and then the bytes of a trace:
 *
 *     --figure=hit-stages <tab> --group=1s <tab> +stdin \n
 *     SQTRACE...
 *
 * Words with a minus are options of sqtrace-dump.  Words with a plus say how the bytes are given to it:
 *
 *     +stdin     on the standard input: joined segments
 *     +dir       as files of a directory, a file for each segment, ring and pointer
 *     +crew      with a second thread
 *     +figures   through all figures in one pass, as sqtrace-report does it
 *     +log       as an access.log; from the first segment or ring on, they are the trace that the log is joined with
 *
 * or which program takes them, from a directory, in the place of sqtrace-dump: +report, +top, +ship, +snapshot, +exporter.
 * Such a program has those of the options that it knows.  $FUZZ_PROGRAM, as in FUZZ_PROGRAM=ship, is a word of every input.
 */
#ifndef SQT_FUZZ_H
#define SQT_FUZZ_H

#include "row/table.h"
#include "../../src/format/compress.h"
#include "../unit/make_trace.h"

/* ---- fuzz-input.c: the line of words ---- */

enum fuzz_word {
    FUZZ_STDIN,
    FUZZ_DIR,
    FUZZ_CREW,
    FUZZ_FIGURES,
    FUZZ_LOG,
    FUZZ_REPORT,
    FUZZ_TOP,
    FUZZ_SHIP,
    FUZZ_SNAPSHOT,
    FUZZ_EXPORTER,
    FUZZ_WORDS
};
extern const char *const fuzz_words[FUZZ_WORDS]; /* "stdin", ... */

#define FUZZ_ARGUMENTS 24
#define FUZZ_LINE 1024 /* bytes of the line, at most */

struct fuzz_input {
    char line[FUZZ_LINE + 1];            /* the words, each ended by a NUL */
    char *arguments[FUZZ_ARGUMENTS + 1]; /* those with a minus, into `line` */
    int argument_count;
    unsigned words;      /* 1 << enum fuzz_word */
    const uint8_t *body; /* the bytes of the trace, in the input itself */
    size_t body_size;
};

/* Returns 0, or -1 if the bytes do not begin with such a line. */
int fuzz_input_parse(struct fuzz_input *input, const uint8_t *data, size_t size);

/* ---- fuzz-random.c: draws that depend on the seed only ---- */

struct fuzz_random {
    uint64_t state;
};
void fuzz_random_init(struct fuzz_random *random, uint64_t seed);
/* 0 <= result < limit; 0 if limit is 0. */
uint64_t fuzz_below(struct fuzz_random *random, uint64_t limit);
/* A number that is likely to be at some limit. */
uint64_t fuzz_edge(struct fuzz_random *random);

/* ---- fuzz-pieces.c: the bytes of a trace as its pieces ---- */

enum fuzz_kind { FUZZ_RAW, FUZZ_HEADER, FUZZ_FRAME, FUZZ_RING };

struct fuzz_piece {
    enum fuzz_kind kind;
    struct make_bytes bytes;
};

#define FUZZ_PIECES 256
#define FUZZ_RECORDS 4096 /* more records of a block are left out when it is changed */

struct fuzz_pieces {
    struct fuzz_piece piece[FUZZ_PIECES];
    size_t count;
};

/* Cuts the bytes up, copies them.  Whatever they are, the pieces joined again are the same bytes. */
void fuzz_pieces_parse(struct fuzz_pieces *pieces, const uint8_t *data, size_t size);
void fuzz_pieces_free(struct fuzz_pieces *pieces);
void fuzz_pieces_join(const struct fuzz_pieces *pieces, struct make_bytes *bytes);

/* All of these leave the array as it is where it is full or the place is not in it. */
void fuzz_pieces_remove(struct fuzz_pieces *pieces, size_t at);
void fuzz_pieces_insert(struct fuzz_pieces *pieces, size_t at, const struct fuzz_piece *copied);
void fuzz_pieces_swap(struct fuzz_pieces *pieces, size_t a, size_t b);

/* Type of a frame; 0 if the piece is none. */
unsigned fuzz_frame_type(const struct fuzz_piece *piece);

/* Makes sizes and checksums right: what was changed is read, and not refused at the door.  renumber: blocks also get
 * the ring id of their segment and numbers that follow each other. */
void fuzz_pieces_seal(struct fuzz_pieces *pieces, int renumber);

/* Unpacks a block into at most FUZZ_RECORDS records, with the trace's own event numbers.  Returns how many; 0 if the
 * piece is no block that can be unpacked. */
size_t fuzz_block_unpack(const struct fuzz_pieces *pieces, size_t at, struct sqt_record *records);

/* Makes the block of these records (count > 0), compressed so if that makes it smaller.  Events that the trace has not declared so far are
 * added to the text before the block. */
void fuzz_block_pack(struct fuzz_pieces *pieces, size_t at, const struct sqt_record *records, size_t count,
                     enum sqt_compression compression);

/* ---- fuzz-records.c: records of a block ---- */

/* Changes the records, at most FUZZ_RECORDS of which there is room for.  Returns how many there are then (never 0). */
size_t fuzz_records_mutate(struct sqt_record *records, size_t count, struct fuzz_random *random);

/* ---- fuzz-words.c: lines of words ---- */

/* Changes the line (with room for FUZZ_LINE bytes, NUL-terminated, tabs between its words). */
void fuzz_words_mutate(char *line, struct fuzz_random *random);

/* ---- fuzz-mutate.c: the mutator ---- */

/* As libFuzzer wants them. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2, uint8_t *out,
                                 size_t max_out_size, unsigned seed);
/* libFuzzer's own; fuzz-main.c has another where libFuzzer is not linked. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* ---- fuzz-folder.c: the trace as a directory ---- */

/* Makes the folder if need be: a segment, a ring and what comes before the first of them are a file each. */
void fuzz_folder_write(const char *path, const uint8_t *data, size_t size);
/* Removes it with all that is in it. */
void fuzz_folder_remove(const char *path);

/* ---- fuzz-programs.c: the programs other than sqtrace-dump ---- */

/* The program that the input is for; FUZZ_WORDS: sqtrace-dump. */
enum fuzz_word fuzz_program_of(const struct fuzz_input *input);
/* Its name, as it begins its messages. */
const char *fuzz_program_name(enum fuzz_word program);
/* Whether its stream goes on: then time does not go back in each process. */
int fuzz_program_follows(enum fuzz_word program);
/* Runs it: folder/trace is the trace, and the output goes to the standard output or into the folder. */
void fuzz_program_run(enum fuzz_word program, const struct fuzz_input *input, const char *folder);

/* ---- fuzz-target.c ---- */

/* Says so, and aborts. */
void fuzz_broken(const char *promise) __attribute__((noreturn));

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
