/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * errors.h - why connections fail, from the system's error to the words of a person.
 */
#ifndef SQT_WHY_ERRORS_H
#define SQT_WHY_ERRORS_H

/* Classes of errors. */
enum sqt_why {
    SQT_WHY_UNKNOWN, /* the system does not say, or something else */
    SQT_WHY_REFUSED,
    SQT_WHY_UNREACHABLE,
    SQT_WHY_NO_PORT,
    SQT_WHY_FORBIDDEN,
    SQT_WHY_TIMED_OUT,
    SQT_WHY_NO_SOCKET, /* not begun: its local address or port is not to be had */
    SQT_WHYS
};

/* The class of an error of the system. */
enum sqt_why sqt_why_of(unsigned error);

/* Whether it is this machine that fails them. */
int sqt_why_is_local(enum sqt_why why);

/* The words behind "because", with %s for the server, and the advice; NULL: nothing in particular. */
const char *sqt_why_because(enum sqt_why why);
const char *sqt_why_advice(enum sqt_why why);

#endif
