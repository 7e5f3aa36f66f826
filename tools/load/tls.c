/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tls.c - contexts for both ends.
 */
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "load.h"

static int
tls_say(char *error, size_t error_size, const char *what, const char *file)
{
    const unsigned long number = ERR_get_error();
    const char *const reason = number ? ERR_reason_error_string(number) : NULL;
    snprintf(error, error_size, "%s: %s: %s", file, what, reason ? reason : "OpenSSL cannot");
    ERR_clear_error();
    return -1;
}

static void *
tls_allocate(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return sqt_allocated(size);
}

static void *
tls_resize(void *memory, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    if (size)
        return sqt_resized(memory, size);
    free(memory);
    return NULL;
}

static void
tls_release(void *memory, const char *file, int line)
{
    (void)file, (void)line;
    free(memory);
}

void
tls_memory(void)
{
    CRYPTO_set_mem_functions(tls_allocate, tls_resize, tls_release);
}

int
tls_client(struct load *load, char *error, size_t error_size)
{
    const char *const ca = load->given[LOAD_ca];
    load->client_tls = SSL_CTX_new(TLS_client_method());
    if (!load->client_tls)
        return tls_say(error, error_size, "no context", "TLS");
    if (!ca)
        return 0;
    SSL_CTX_set_verify(load->client_tls, SSL_VERIFY_PEER, NULL);
    return SSL_CTX_load_verify_locations(load->client_tls, ca, NULL) == 1
               ? 0
               : tls_say(error, error_size, "expected certificates in PEM", ca);
}

SSL *
tls_to(const struct load *load, const struct place *place)
{
    char host[256];
    SSL *const tls = SSL_new(load->client_tls);
    const char *const authority = place->authority, *const colon = strrchr(authority, ':');
    const int bracketed = *authority == '[';
    snprintf(host, sizeof(host), "%.*s", (int)(colon - authority) - 2 * bracketed, authority + bracketed);
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host) != 1) {
        SSL_set_tlsext_host_name(tls, host);
        SSL_set1_host(tls, host);
    }
    return tls;
}

/* A key and a certificate that it signs itself, for the time of a run. */
static int
make_certificate(SSL_CTX *context)
{
    EVP_PKEY *const key = EVP_EC_gen("P-256");
    X509 *const certificate = X509_new();
    int done = key && certificate && ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) &&
               X509_gmtime_adj(X509_getm_notBefore(certificate), -86400) &&
               X509_gmtime_adj(X509_getm_notAfter(certificate), 30 * 86400) && X509_set_pubkey(certificate, key);
    if (done) {
        X509_NAME *const name = X509_get_subject_name(certificate);
        done = X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"sqtrace-load", -1, -1, 0) &&
               X509_set_issuer_name(certificate, name) && X509_sign(certificate, key, EVP_sha256()) &&
               SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1;
    }
    EVP_PKEY_free(key);
    X509_free(certificate);
    return done ? 0 : -1;
}

int
tls_server(struct load *load, char *error, size_t error_size)
{
    const char *const file = load->given[LOAD_cert];
    load->server_tls = SSL_CTX_new(TLS_server_method());
    if (!load->server_tls)
        return tls_say(error, error_size, "no context", "TLS");
    if (!file)
        return make_certificate(load->server_tls) == 0 ? 0 : tls_say(error, error_size, "no certificate", "TLS");
    if (SSL_CTX_use_certificate_chain_file(load->server_tls, file) != 1)
        return tls_say(error, error_size, "expected a certificate in PEM", file);
    if (SSL_CTX_use_PrivateKey_file(load->server_tls, file, SSL_FILETYPE_PEM) != 1)
        return tls_say(error, error_size, "expected its key, too, in PEM", file);
    return 0;
}
