/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * settings.h - the settings of squid.conf that forecasts need: what a Squid has now, and what is asked about.
 *
 * They come from lines as squid.conf has them.  A trace has such lines as definitions; --squid-conf reads a file of them.
 */
#ifndef SQT_WHATIF_SETTINGS_H
#define SQT_WHATIF_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

/* Values that --whatif may name, cache_dirs and helpers that are kept. */
#define SQT_ASKED_MOST 8
#define SQT_DIRS_MOST 16
#define SQT_CHILDREN_MOST 64
#define SQT_SETTING_NAME 64

/* A number that is not set. */
#define SQT_UNSET INT64_MIN

struct sqt_setting_dir {
    char type[16];
    int64_t bytes, min_object, max_object; /* objects: SQT_UNSET if the line does not limit them */
};

/* How many children a helper may have: url_rewrite_children, or children= of an external_acl_type. */
struct sqt_setting_children {
    char kind[24]; /* as column `kind` of table waits */
    char name[SQT_SETTING_NAME];
    int64_t children, concurrency; /* concurrency: 0 is none, so a child has one question at a time */
};

struct sqt_settings {
    int64_t cache_mem;            /* bytes */
    int64_t max_object_in_memory; /* bytes */
    int64_t max_object;           /* bytes */
    int64_t workers;
    int64_t memory_shared; /* 1: on, 0: off; so are the next two */
    int64_t server_persistent, collapsed;
    int64_t idle_timeout, negative_dns_ttl; /* seconds */
    int64_t swap_low, swap_high;            /* percent */
    char memory_policy[32];                 /* "": not set */
    char disk_policy[32];                   /* "": not set */
    struct sqt_setting_dir dirs[SQT_DIRS_MOST];
    unsigned dir_count;
    struct sqt_setting_children helpers[SQT_CHILDREN_MOST];
    unsigned helper_count;
};

/* A value that --whatif names. */
struct sqt_asked {
    char setting[SQT_SETTING_NAME];
    int64_t value;
};

/* What the command line says for table `whatif` and its figures. */
struct sqt_whatif {
    struct sqt_settings settings;
    struct sqt_asked asked[SQT_ASKED_MOST];
    unsigned asked_count;
    int from_file; /* settings are those of a file, whatever a trace says */
};

/* Nothing is set. */
void sqt_settings_init(struct sqt_settings *settings);

/* Takes a line of squid.conf; lines about something else change nothing.  Returns 0, or -1 with what is wrong with the
 * value in error, without a newline. */
int sqt_settings_line(struct sqt_settings *settings, const char *line, char *error, size_t error_size);

/* Takes a file, and the files that it includes.  Returns 0, or -1 with one line in error. */
int sqt_settings_file(struct sqt_settings *settings, const char *name, char *error, size_t error_size);

/* Takes "SETTING=VALUE[,VALUE...]".  Returns 0, or -1 with one line in error, which says what the setting takes. */
int sqt_whatif_ask(struct sqt_whatif *whatif, const char *text, char *error, size_t error_size);

/* A size as squid.conf writes it: "8 MB".  size: of text, at least 32. */
void sqt_settings_size_text(char *text, size_t size, int64_t bytes);

#endif
