/*
 * shake.c: handshakes of TLS over memory, both sides: the library's, and OpenSSL's by itself.
 *
 * Both show the same certificate and pin the other's key, so that no signature of a CA is looked at.
 * Not here: sockets, and what a socket does once a peer is there (the command connections).
 * Law: no clock; whoever calls takes the time, of so many handshakes in a row.
 */
#include <string.h>

#include "crypto/openssl.h"
#include "plat/library.h"
#include "wire/tls/tls.h"

enum { SHAKE_OCTETS_MAX = 64 * 1024, SHAKE_ROUNDS_MAX = 8, SHAKE_NOW_S = 1800000000 };

static uint64_t
shake_wall_ns(void *plat)
{
    (void)plat;
    return (uint64_t)SHAKE_NOW_S * 1000000000u;
}

/* ---- the library's ---- */

static int
shake_feed(void *shield, const uint8_t *data, size_t size)
{
    mmi_refusal why = { 0 };
    size_t used = 0;
    return mmi_mechanism_tls.feed(shield, data, size, &used, &why);
}

/* What one has to say, to the other; rc: of its steps. */
static bool
shake_carry(void *from, void *to, int *rc)
{
    const uint8_t *out;
    uint8_t data[SHAKE_OCTETS_MAX];
    size_t size = mmi_mechanism_tls.output(from, &out);
    if (size == 0 || size > sizeof data || *rc != MMI_STEP_MORE) {
        return false;
    }
    memcpy(data, out, size);
    mmi_mechanism_tls.sent(from, size);
    *rc = shake_feed(to, data, size);
    return true;
}

static bool
shake_once(mmi_tls_config *config)
{
    const mmi_mechanism *tls = &mmi_mechanism_tls;
    void *dialer = tls->begin(config, true, NULL, 0, 1 << 20);
    void *listener = tls->begin(config, false, NULL, 0, 1 << 20);
    bool done = false;
    if (dialer != NULL && listener != NULL && tls->aim(dialer, "127.0.0.1", NULL, NULL) == MM_OK) {
        int dialer_rc = shake_feed(dialer, NULL, 0), listener_rc = MMI_STEP_MORE;
        while (shake_carry(dialer, listener, &listener_rc) ||
               shake_carry(listener, dialer, &dialer_rc)) {
        }
        done = dialer_rc == MMI_STEP_DONE && listener_rc == MMI_STEP_DONE;
    }
    tls->end(dialer);
    tls->end(listener);
    return done;
}

/* How many were done; -1: there is no OpenSSL. */
int
micro_shake(const char *certificate, const char *key, const uint8_t *pin, int count)
{
    mmi_tls_world world = { .openssl = mmi_openssl_get(), .wall_ns = shake_wall_ns };
    mm_tls_opts opts = { .certificate = { certificate, strlen(certificate) },
                         .key = { key, strlen(key) },
                         .pins = { pin, MMI_TLS_KEY_SIZE } };
    mmi_tls_context *context;
    char why[MM_WHY_SIZE] = "";
    if (world.openssl == NULL ||
        mmi_tls_context_new(&world, &opts, &context, why, sizeof why) != MM_OK) {
        return -1;
    }
    mmi_tls_config *config = mmi_tls_config_new(&world, context);
    int done = 0;
    while (config != NULL && done < count && shake_once(config)) {
        done++;
    }
    mmi_tls_config_drop(config);
    return done;
}

/* ---- OpenSSL's, as its users write it ---- */

static int
bare_take(int ok, struct x509_store_ctx_st *store)
{
    (void)ok, (void)store;
    return 1;
}

static bool
bare_use(const mmi_openssl *o, struct ssl_ctx_st *ctx, const char *certificate, const char *key)
{
    struct bio_st *certificate_text = o->BIO_new_mem_buf(certificate, -1);
    struct bio_st *key_text = o->BIO_new_mem_buf(key, -1);
    struct x509_st *x = o->PEM_read_bio_X509(certificate_text, NULL, NULL, NULL);
    struct evp_pkey_st *k = o->PEM_read_bio_PrivateKey(key_text, NULL, NULL, NULL);
    o->BIO_free(certificate_text);
    o->BIO_free(key_text);
    bool used = o->SSL_CTX_use_certificate(ctx, x) == 1 && o->SSL_CTX_use_PrivateKey(ctx, k) == 1;
    o->SSL_CTX_set_verify(ctx, MMI_SSL_VERIFY_PEER | MMI_SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                          bare_take);
    (void)o->SSL_CTX_set_num_tickets(ctx, 0);
    o->X509_free(x);
    o->EVP_PKEY_free(k);
    return used;
}

typedef struct bare_end {
    struct ssl_st *ssl;
    struct bio_st *in, *out;
} bare_end;

static bare_end
bare_begin(const mmi_openssl *o, struct ssl_ctx_st *ctx)
{
    bare_end end = { o->SSL_new(ctx), o->BIO_new(o->BIO_s_mem()), o->BIO_new(o->BIO_s_mem()) };
    (void)o->BIO_ctrl(end.in, MMI_BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
    o->SSL_set_bio(end.ssl, end.in, end.out);
    return end;
}

/* A step of one, and what it has to say goes to the other.  Whether it is done. */
static bool
bare_step(const mmi_openssl *o, const bare_end *from, const bare_end *to)
{
    uint8_t data[SHAKE_OCTETS_MAX];
    size_t size = 0;
    o->ERR_clear_error();
    bool done = o->SSL_do_handshake(from->ssl) == 1;
    if (o->BIO_ctrl_pending(from->out) > 0 &&
        o->BIO_read_ex(from->out, data, sizeof data, &size) == 1) {
        (void)o->BIO_write_ex(to->in, data, size, &size);
    }
    return done;
}

static bool
bare_once(const mmi_openssl *o, struct ssl_ctx_st *ctx)
{
    bare_end dialer = bare_begin(o, ctx), listener = bare_begin(o, ctx);
    o->SSL_set_connect_state(dialer.ssl);
    o->SSL_set_accept_state(listener.ssl);
    bool done = false;
    for (int i = 0; i < SHAKE_ROUNDS_MAX && !done; i++) {
        bool first = bare_step(o, &dialer, &listener);
        done = bare_step(o, &listener, &dialer) && first;
    }
    o->SSL_free(dialer.ssl);
    o->SSL_free(listener.ssl);
    return done;
}

/* As micro_shake. */
int
micro_shake_bare(const char *certificate, const char *key, int count)
{
    const mmi_openssl *o = mmi_openssl_get();
    struct ssl_ctx_st *ctx = o != NULL ? o->SSL_CTX_new(o->TLS_method()) : NULL;
    if (ctx == NULL || !bare_use(o, ctx, certificate, key)) {
        return -1;
    }
    int done = 0;
    while (done < count && bare_once(o, ctx)) {
        done++;
    }
    o->SSL_CTX_free(ctx);
    return done;
}
