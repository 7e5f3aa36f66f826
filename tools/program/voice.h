/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * voice.h - what a program says on the standard error, one line each, and its progress.
 */
#ifndef SQT_VOICE_H
#define SQT_VOICE_H

struct program_voice {
    const char *program;
    int quiet;    /* errors only */
    int silent;   /* no errors either */
    int watched;  /* somebody looks at the standard error */
    int progress; /* a line of it stands there */
};

/* No line of progress stands there any more. */
void program_clear(struct program_voice *voice);
/* One line, "PROGRAM: ..."; what is harmful in it, a file's name perhaps, is escaped.  Returns -1. */
int program_fail(struct program_voice *voice, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for what is no error; nothing if it is to be quiet. */
void program_say(struct program_voice *voice, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line that the next one replaces; only for a person. */
void program_progress(struct program_voice *voice, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
