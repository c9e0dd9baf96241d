/*
 * wire/tls/pem.c: certificates, a key and lists of revoked ones, as PEM has them, are put into a
 * policy.
 *
 * Not here: files.
 * Law: texts are read where the caller has them, and not copied; nobody is asked for a password;
 * nothing is half read.
 */
#include <stdio.h>

#include "wire/tls/inside.h"

enum { PEM_ADD_CHAIN = 1 /* one more reference to it */ };

/* One text that is being read. */
typedef struct pem {
    const mmi_tls_context *context;
    const mmi_openssl *openssl;
    struct bio_st *text;
    const char *what;                    /* the option */
    char *why;
    size_t why_size;
    uint32_t count;                      /* that were read */
} pem;

static int
pem_wrong(pem *p, const char *words)
{
    snprintf(p->why, p->why_size, "%s: %s", p->what, words);
    return MM_EINVAL;
}

static int
pem_begin(pem *p, const mm_body *body, const char *what)
{
    p->what = what;
    p->count = 0;
    if (body->size > MMI_TLS_PEM_MAX) {
        return pem_wrong(p, "over 1 MiB");
    }
    p->openssl->ERR_clear_error();
    p->text = p->openssl->BIO_new_mem_buf(body->data, (int)body->size);
    return p->text != NULL ? MM_OK : MM_ENOMEM;
}

/* Nothing more could be read: because it was all, or because something is wrong. */
static int
pem_end(pem *p, int rc, const char *none)
{
    unsigned long error = p->openssl->ERR_peek_last_error();
    p->openssl->BIO_free(p->text);
    if (rc == MM_OK && (error & MMI_ERR_REASON_MASK) != MMI_PEM_R_NO_START_LINE) {
        return pem_wrong(p, mmi_tls_words(p->openssl));
    }
    p->openssl->ERR_clear_error();
    return rc == MM_OK && p->count == 0 ? pem_wrong(p, none) : rc;
}

/* 0 octets: an encrypted key is not for here. */
static int
pem_no_password(char *buf, int size, int writes, void *arg)
{
    (void)buf, (void)size, (void)writes;
    *(bool *)arg = true;
    return 0;
}

/* Ours and those between it and who is believed. */
static int
pem_chain(pem *p, const mm_body *body)
{
    const mmi_openssl *o = p->openssl;
    struct ssl_ctx_st *ctx = p->context->ctx;
    struct x509_st *one;
    bool asked;
    int rc = pem_begin(p, body, "certificate");
    if (rc != MM_OK) {
        return rc;
    }
    while (rc == MM_OK &&
           (one = o->PEM_read_bio_X509(p->text, NULL, pem_no_password, &asked)) != NULL) {
        int done = p->count == 0
                       ? o->SSL_CTX_use_certificate(ctx, one)
                       : (int)o->SSL_CTX_ctrl(ctx, MMI_SSL_CTRL_CHAIN_CERT, PEM_ADD_CHAIN, one);
        o->X509_free(one);
        p->count++;
        rc = done != 1                      ? pem_wrong(p, mmi_tls_words(o))
             : p->count > MMI_TLS_CHAIN_MAX ? pem_wrong(p, "more than 10 in its chain")
                                            : MM_OK;
    }
    return pem_end(p, rc, "no PEM certificate is in it");
}

static int
pem_key(pem *p, const mm_body *body)
{
    const mmi_openssl *o = p->openssl;
    bool asked = false;
    int rc = pem_begin(p, body, "key");
    if (rc != MM_OK) {
        return rc;
    }
    struct evp_pkey_st *key = o->PEM_read_bio_PrivateKey(p->text, NULL, pem_no_password, &asked);
    o->BIO_free(p->text);
    if (key == NULL) {
        rc = pem_wrong(p, asked ? "it is encrypted; give it without a password"
                                : "no PEM private key is in it");
    } else if (o->SSL_CTX_use_PrivateKey(p->context->ctx, key) != 1 ||
               o->SSL_CTX_check_private_key(p->context->ctx) != 1) {
        rc = pem_wrong(p, "it is not the key of the certificate");
    }
    o->EVP_PKEY_free(key);
    o->ERR_clear_error();
    return rc;
}

static int
pem_ca(pem *p, const mm_body *body, struct x509_store_st *store)
{
    const mmi_openssl *o = p->openssl;
    struct x509_st *one;
    bool asked;
    int rc = pem_begin(p, body, "ca");
    if (rc != MM_OK) {
        return rc;
    }
    while (rc == MM_OK &&
           (one = o->PEM_read_bio_X509(p->text, NULL, pem_no_password, &asked)) != NULL) {
        rc = o->X509_STORE_add_cert(store, one) == 1 ? MM_OK : pem_wrong(p, mmi_tls_words(o));
        o->X509_free(one);
        p->count++;
    }
    return pem_end(p, rc, "no PEM certificate is in it");
}

static int
pem_crl(pem *p, const mm_body *body, struct x509_store_st *store)
{
    const mmi_openssl *o = p->openssl;
    struct X509_crl_st *one;
    bool asked;
    int rc = pem_begin(p, body, "crl");
    if (rc != MM_OK) {
        return rc;
    }
    while (rc == MM_OK &&
           (one = o->PEM_read_bio_X509_CRL(p->text, NULL, pem_no_password, &asked)) != NULL) {
        rc = o->X509_STORE_add_crl(store, one) == 1 ? MM_OK : pem_wrong(p, mmi_tls_words(o));
        o->X509_CRL_free(one);
        p->count++;
    }
    return pem_end(p, rc, "no PEM list of revoked certificates is in it");
}

int
mmi_tls_pem_use(mmi_tls_context *context, const mm_tls_opts *opts, char *why, size_t why_size)
{
    const mmi_openssl *o = context->world.openssl;
    struct x509_store_st *store = o->SSL_CTX_get_cert_store(context->ctx);
    pem p = { .context = context, .openssl = o, .why = why, .why_size = why_size };
    unsigned long flags = MMI_X509_V_FLAG_PARTIAL_CHAIN;
    int rc = MM_OK;
    if (opts->certificate.size > 0) {
        rc = pem_chain(&p, &opts->certificate);
        rc = rc == MM_OK ? pem_key(&p, &opts->key) : rc;
    }
    if (rc == MM_OK && opts->ca.size > 0) {
        rc = pem_ca(&p, &opts->ca, store);
    }
    if (rc == MM_OK && opts->system_ca != 0 &&
        o->SSL_CTX_set_default_verify_paths(context->ctx) != 1) {
        p.what = "system_ca";
        rc = pem_wrong(&p, mmi_tls_words(o));
    }
    if (rc == MM_OK && opts->crl.size > 0) {
        flags |= MMI_X509_V_FLAG_CRL_CHECK | MMI_X509_V_FLAG_CRL_CHECK_ALL;
        o->X509_STORE_set_verify_cb(store, mmi_tls_forgive);
        rc = pem_crl(&p, &opts->crl, store);
    }
    (void)o->X509_STORE_set_flags(store, flags);
    return rc;
}
