/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * slowtls.c - puts 200 ms under one step of a TLS handshake, by OpenSSL or GnuTLS, for LD_PRELOAD.
 *
 *   SLOWTLS_ONCE   a file: while it exists one step waits, and removes it
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int
step(const char *name, void *session)
{
    const struct timespec delay = {0, 200000000};
    const char *const once = getenv("SLOWTLS_ONCE");
    int (*real)(void *);
    *(void **)&real = dlsym(RTLD_NEXT, name);
    if (once && unlink(once) == 0)
        nanosleep(&delay, NULL);
    return real(session);
}

int SSL_accept(void *session);
int SSL_connect(void *session);
int gnutls_handshake(void *session);

int
SSL_accept(void *session)
{
    return step("SSL_accept", session);
}

int
SSL_connect(void *session)
{
    return step("SSL_connect", session);
}

int
gnutls_handshake(void *session)
{
    return step("gnutls_handshake", session);
}
