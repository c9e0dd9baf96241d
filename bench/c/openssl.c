/*
 * openssl.c: a framed stream over OpenSSL's TLS 1.3 and nothing else: the most TLS gives here.  As
 * raw.c, messages are collected, here into full records of 16 KiB, and reads are parsed in place.
 * Not here: sockets (raw_socket.h).
 * Law: one connection; a body is copied once into the buffer.  The listener makes its certificate
 * (P-256, signed by itself) as it opens; nobody looks whether it is the right one.
 */
#include "raw_socket.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

enum { TLS_HEAD = 4, TLS_RECORD = 16 * 1024, TLS_READ = 256 * 1024, TLS_YEAR_S = 31536000 };

struct bench_end {
    int listener, fd;
    SSL_CTX *context;
    SSL *ssl;
    uint8_t *out, *in;
    size_t out_size, write_size;
    size_t in_capacity, in_begin, in_end;
};

static void
tls_certify(SSL_CTX *context)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    if (key == NULL || certificate == NULL) {
        bench_fail("a certificate");
    }
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), TLS_YEAR_S);
    X509_set_pubkey(certificate, key);
    if (X509_sign(certificate, key, EVP_sha256()) == 0 ||
        SSL_CTX_use_certificate(context, certificate) != 1 ||
        SSL_CTX_use_PrivateKey(context, key) != 1) {
        bench_fail("a certificate");
    }
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static void
tls_shake(bench_end *end, bool accepts)
{
    end->ssl = SSL_new(end->context);
    if (end->ssl == NULL || SSL_set_fd(end->ssl, end->fd) != 1 ||
        (accepts ? SSL_accept(end->ssl) : SSL_connect(end->ssl)) != 1) {
        bench_fail("the handshake");
    }
}

bench_end *
bench_open(const bench_task *task, char *endpoint, size_t endpoint_size)
{
    bench_end *end = calloc(1, sizeof *end);
    size_t frame = TLS_HEAD + task->size + 16;
    if (end == NULL) {
        bench_fail("calloc");
    }
    end->fd = end->listener = -1;
    end->write_size = task->write_size;
    end->out = malloc(TLS_RECORD + task->write_size + frame);
    end->in_capacity = TLS_READ + frame;
    end->in = malloc(end->in_capacity);
    end->context = SSL_CTX_new(TLS_method());
    if (end->out == NULL || end->in == NULL || end->context == NULL ||
        SSL_CTX_set_min_proto_version(end->context, TLS1_3_VERSION) != 1) {
        bench_fail("opening");
    }
    SSL_CTX_set_num_tickets(end->context, 0);
    if (task->receives) {
        tls_certify(end->context);
        end->listener = raw_listen(task->url, 1, endpoint, endpoint_size);
    } else {
        end->fd = raw_connect(task->url);
        tls_shake(end, false);
    }
    return end;
}

static void
tls_write(bench_end *end, size_t size)
{
    size_t written;
    if (size > 0 && SSL_write_ex(end->ssl, end->out, size, &written) != 1) {
        bench_fail("SSL_write");
    }
    memmove(end->out, end->out + size, end->out_size - size);
    end->out_size -= size;
}

void
bench_flush(bench_end *end)
{
    tls_write(end, end->out_size);
}

void
bench_send(bench_end *end, const void *body, size_t size)
{
    uint32_t head = (uint32_t)size;
    memcpy(end->out + end->out_size, &head, TLS_HEAD);
    memcpy(end->out + end->out_size + TLS_HEAD, body, size);
    end->out_size += TLS_HEAD + size;
    while (end->write_size > 0 && end->out_size >= end->write_size) {
        tls_write(end, end->write_size);   /* full records */
    }
    if (end->write_size == 0) {
        bench_flush(end);
    }
}

static void
tls_fill(bench_end *end)
{
    size_t got = 0;
    if (end->in_begin > 0) {
        memmove(end->in, end->in + end->in_begin, end->in_end - end->in_begin);
        end->in_end -= end->in_begin;
        end->in_begin = 0;
    }
    if (SSL_read_ex(end->ssl, end->in + end->in_end, end->in_capacity - end->in_end, &got) != 1) {
        bench_fail("SSL_read");
    }
    end->in_end += got;
}

const uint8_t *
bench_recv(bench_end *end, size_t *size)
{
    uint32_t head;
    if (end->fd < 0) {
        end->fd = raw_accept(end->listener);
        tls_shake(end, true);
    }
    while (end->in_end - end->in_begin < TLS_HEAD) {
        tls_fill(end);
    }
    memcpy(&head, end->in + end->in_begin, TLS_HEAD);
    while (end->in_end - end->in_begin < TLS_HEAD + (size_t)head) {
        tls_fill(end);
    }
    const uint8_t *body = end->in + end->in_begin + TLS_HEAD;
    end->in_begin += TLS_HEAD + (size_t)head;
    *size = head;
    return body;
}

bool
bench_offer(bench_end *end, const void *body, size_t size)
{
    (void)end, (void)body, (void)size;
    bench_fail("it waits where there is no room");
}

void
bench_close(bench_end *end)
{
    SSL_free(end->ssl);
    SSL_CTX_free(end->context);
    if (end->fd >= 0) {
        close(end->fd);
    }
    if (end->listener >= 0) {
        close(end->listener);
    }
    free(end->out);
    free(end->in);
    free(end);
}

const char *
bench_version(void)
{
    return OpenSSL_version(OPENSSL_VERSION_STRING);
}
