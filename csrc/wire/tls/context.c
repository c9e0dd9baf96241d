/*
 * wire/tls/context.c: a policy is made: what a user gives becomes what OpenSSL takes.
 *
 * Not here: PEM texts (pem.c), which policy is the one of now (config.c).
 * Law: a policy is whole or there is none; what is wrong is told by the name of the option, and
 * nothing that is secret is quoted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/tls/inside.h"

static const char context_suites_1_2[] = "ECDHE+AESGCM:ECDHE+CHACHA20:@SECLEVEL=2";
static const char *const context_groups_all[] = { "X25519MLKEM768:X25519:P-256:P-384",
                                                  "X25519:P-256:P-384" };
static const char context_suites_secret[] = "TLS_AES_128_GCM_SHA256";

static int
context_wrong(const mmi_tls_context *c, char *why, size_t size, const char *what)
{
    snprintf(why, size, "%s: %s", what, mmi_tls_words(c->world.openssl));
    return MM_EINVAL;
}

static int
option_wrong(char *why, size_t size, const char *what)
{
    snprintf(why, size, "%s", what);
    return MM_EINVAL;
}

static bool
given(const mm_body *body)
{
    return body->size > 0;
}

/* What cannot be said together. */
static int
options_check(const mm_tls_opts *o, char *why, size_t size)
{
    bool signers = given(&o->ca) || o->system_ca != 0;
    bool certificates =
        given(&o->certificate) || signers || given(&o->crl) || given(&o->pins) || given(&o->names);
    if (o->clients > MM_CLIENTS_NONE || o->min_version > MM_TLS_1_2) {
        return option_wrong(why, size, "clients, min_version: no such value");
    }
    if (given(&o->certificate) != given(&o->key)) {
        return option_wrong(why, size, "certificate and key: one is there without the other");
    }
    if (o->secrets.size % MMI_TLS_KEY_SIZE != 0 ||
        o->secrets.size > MMI_TLS_SECRETS_MAX * MMI_TLS_KEY_SIZE) {
        return option_wrong(why, size, "secrets: 1 to 3 of 32 octets each");
    }
    if (given(&o->secrets) && (certificates || o->min_version != MM_TLS_1_3)) {
        return option_wrong(why, size,
                            "secrets: they stand alone, without certificates, and need TLS 1.3");
    }
    if ((given(&o->node_key) || given(&o->node_name)) && !given(&o->secrets)) {
        return option_wrong(why, size, "node_key, node_name: they go with secrets");
    }
    if (o->pins.size % MMI_TLS_KEY_SIZE != 0) {
        return option_wrong(why, size, "pins: 32 octets each");
    }
    if (given(&o->pins) && (signers || given(&o->crl) || given(&o->names))) {
        return option_wrong(why, size, "pins: they stand for ca, crl and names");
    }
    if ((given(&o->crl) || given(&o->names)) && !signers) {
        return option_wrong(why, size, "crl, names: they need ca");
    }
    if (given(&o->secrets) || given(&o->pins) || signers) {
        return MM_OK;
    }
    bool serves = given(&o->certificate) && (o->asks != 0 || o->clients == MM_CLIENTS_NONE);
    return serves ? MM_OK : option_wrong(why, size, "whom to believe: ca, pins or secrets");
}

static tls_kind
options_kind(const mm_tls_opts *o)
{
    bool signers = given(&o->ca) || o->system_ca != 0;
    return given(&o->secrets)        ? TLS_BY_SECRET
           : given(&o->pins)         ? TLS_BY_PIN
           : signers || o->asks == 0 ? TLS_BY_CERTIFICATE
                                     : TLS_BY_ASKING;
}

static int
pin_compare(const void *a, const void *b)
{
    return memcmp(a, b, MMI_TLS_KEY_SIZE);
}

/* At least one.  MM_ENOMEM */
static int
context_pins(mmi_tls_context *c, const void *pins, size_t count)
{
    c->pins = mmi_alloc(count * MMI_TLS_KEY_SIZE);
    if (c->pins == NULL) {
        return MM_ENOMEM;
    }
    memcpy(c->pins, pins, count * MMI_TLS_KEY_SIZE);
    c->pin_count = count;
    qsort(c->pins, count, MMI_TLS_KEY_SIZE, pin_compare);
    return MM_OK;
}

/* MM_ENOMEM, or as mmi_tls_names_check. */
static int
context_keep(mmi_tls_context *c, const mm_tls_opts *opts, char *why, size_t size)
{
    if (given(&opts->pins)) {
        size_t count = opts->pins.size / MMI_TLS_KEY_SIZE;
        if (context_pins(c, opts->pins.data, count) != MM_OK) {
            return MM_ENOMEM;
        }
    }
    if (given(&opts->names)) {
        c->names = mmi_alloc(opts->names.size);
        if (c->names == NULL) {
            return MM_ENOMEM;
        }
        memcpy(c->names, opts->names.data, opts->names.size);
        c->names_size = opts->names.size;
        return mmi_tls_names_check(c->names, c->names_size, why, size);
    }
    return MM_OK;
}

/* Those that cost a listener no more than who dials: of DHE a hello of 1 kB takes 0.1 s. */
static bool
context_groups(mmi_tls_context *c)
{
    const mmi_openssl *o = c->world.openssl;
    for (size_t i = 0; i < MMI_COUNT_OF(context_groups_all); i++) {
        void *groups = (void *)(uintptr_t)context_groups_all[i];   /* which it only reads */
        if (o->SSL_CTX_ctrl(c->ctx, MMI_SSL_CTRL_SET_GROUPS_LIST, 0, groups) == 1) {
            return true;
        }
        o->ERR_clear_error();   /* it does not know the first one yet */
    }
    return false;
}

/* Versions and ciphers, and all that is off. */
static int
context_limits(mmi_tls_context *c, uint32_t min_version, char *why, size_t size)
{
    const mmi_openssl *o = c->world.openssl;
    int min = min_version == MM_TLS_1_2 ? MMI_TLS1_2_VERSION : MMI_TLS1_3_VERSION;
    long modes = MMI_SSL_MODE_ENABLE_PARTIAL_WRITE | MMI_SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                 MMI_SSL_MODE_NO_AUTO_CHAIN | MMI_SSL_MODE_RELEASE_BUFFERS;
    (void)o->SSL_CTX_ctrl(c->ctx, MMI_SSL_CTRL_MODE, modes, NULL);
    (void)o->SSL_CTX_ctrl(c->ctx, MMI_SSL_CTRL_SET_SESS_CACHE_MODE, 0, NULL);
    (void)o->SSL_CTX_ctrl(c->ctx, MMI_SSL_CTRL_SET_MAX_CERT_LIST, MMI_HANDSHAKE_SIZE_MAX, NULL);
    (void)o->SSL_CTX_set_options(c->ctx, MMI_SSL_OP_NO_COMPRESSION | MMI_SSL_OP_NO_RENEGOTIATION |
                                             MMI_SSL_OP_NO_TICKET);
    bool done = context_groups(c) && o->SSL_CTX_set_num_tickets(c->ctx, 0) == 1 &&
                o->SSL_CTX_set_cipher_list(c->ctx, context_suites_1_2) == 1 &&
                (c->kind != TLS_BY_SECRET ||
                 o->SSL_CTX_set_ciphersuites(c->ctx, context_suites_secret) == 1) &&
                o->SSL_CTX_ctrl(c->ctx, MMI_SSL_CTRL_SET_MAX_PROTO_VERSION, MMI_TLS1_3_VERSION,
                                NULL) == 1 &&
                o->SSL_CTX_ctrl(c->ctx, MMI_SSL_CTRL_SET_MIN_PROTO_VERSION, min, NULL) == 1;
    return done ? MM_OK : context_wrong(c, why, size, "this OpenSSL refuses what TLS needs");
}

/* Who listens: the first of what is offered that we know; who offers nothing is fine. */
static int
context_alpn(struct ssl_st *ssl, const unsigned char **out, unsigned char *out_size,
             const unsigned char *in, unsigned in_size, void *arg)
{
    mmi_tls *t = mmi_tls_of(ssl);
    char said[TLS_DATE_SIZE];
    (void)arg;
    for (unsigned at = 0; at < in_size; at += 1u + in[at]) {
        if (mmi_tls_alpn_known(in + at)) {
            *out = in + at + 1;
            *out_size = in[at];
            return MMI_SSL_TLSEXT_ERR_OK;
        }
    }
    mmi_text_excerpt(said, sizeof said, in + 1, in[0]);
    (void)mmi_refuse(&t->refusal, MM_REASON_MECHANISM, "by ALPN it speaks '%s', not %s", said,
                     MMI_TLS_ALPN_TEXT);
    return MMI_SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* Everything but the certificates. */
static int
context_fill(mmi_tls_context *c, const mm_tls_opts *opts, char *why, size_t size)
{
    const mmi_openssl *o = c->world.openssl;
    o->ERR_clear_error();
    c->ctx = o->SSL_CTX_new(o->TLS_method());
    c->bio = c->ctx != NULL ? mmi_tls_bio_method(o) : NULL;
    if (c->bio == NULL) {
        o->ERR_clear_error();
        return MM_ENOMEM;
    }
    o->SSL_CTX_set_cert_verify_callback(c->ctx, mmi_tls_verify, c);
    o->SSL_CTX_set_alpn_select_cb(c->ctx, context_alpn, NULL);
    mmi_tls_callbacks(c);
    int rc = context_limits(c, opts->min_version, why, size);
    if (rc == MM_OK && given(&opts->secrets)) {
        rc = mmi_tls_secrets_set(c, opts->secrets.data, opts->secrets.size);
    }
    if (rc == MM_OK && (given(&opts->node_key) || given(&opts->node_name))) {
        rc = mmi_tls_node_set(c, opts, why, size);
    }
    return rc == MM_OK ? context_keep(c, opts, why, size) : rc;
}

int
mmi_tls_context_new(const mmi_tls_world *world, const mm_tls_opts *opts, mmi_tls_context **out,
                    char *why, size_t why_size)
{
    int rc = options_check(opts, why, why_size);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_tls_context *c = mmi_alloc(sizeof *c);
    if (c == NULL) {
        return MM_ENOMEM;
    }
    c->world = *world;
    atomic_init(&c->refs, 1);
    c->kind = options_kind(opts);
    c->asks = opts->asks != 0;
    c->clients = opts->clients;
    c->serves = given(&opts->secrets) || given(&opts->certificate);
    c->dials =
        given(&opts->secrets) || given(&opts->pins) || given(&opts->ca) || opts->system_ca != 0;
    mmi_secrets_init(&c->pool, world->pages, MMI_SECRETS_CHUNK_MIN);
    rc = context_fill(c, opts, why, why_size);
    if (rc == MM_OK) {
        rc = mmi_tls_pem_use(c, opts, why, why_size);
    }
    if (rc != MM_OK) {
        mmi_tls_context_drop(c);
        return rc;
    }
    *out = c;
    return MM_OK;
}

mmi_tls_context *
mmi_tls_context_of_pins(const mmi_tls_world *world, const uint8_t *pins, size_t count)
{
    mmi_tls_context *c = mmi_alloc(sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->world = *world;
    atomic_init(&c->refs, 1);
    mmi_secrets_init(&c->pool, world->pages, MMI_SECRETS_CHUNK_MIN);
    if (context_pins(c, pins, count) != MM_OK) {
        mmi_tls_context_drop(c);
        return NULL;
    }
    return c;
}

void
mmi_tls_context_drop(mmi_tls_context *c)
{
    if (c == NULL || atomic_fetch_sub(&c->refs, 1) != 1) {
        return;
    }
    mmi_tls_context *base = c->base;
    if (base == NULL) {
        c->world.openssl->SSL_CTX_free(c->ctx);
        c->world.openssl->BIO_meth_free(c->bio);
    }
    if (c->node != NULL) {
        c->world.openssl->EVP_PKEY_free(c->node);
    }
    mmi_secrets_fini(&c->pool);
    mmi_free(c->pins);
    mmi_free(c->names);
    mmi_free(c);
    mmi_tls_context_drop(base);   /* which has none itself */
}
