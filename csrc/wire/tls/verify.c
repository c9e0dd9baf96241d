/*
 * wire/tls/verify.c: whether who shows a certificate is taken: by its signers, its key, or not at
 * all; and whether it still would be.
 *
 * Not here: names (names.c); that the peer has the key, which OpenSSL sees.
 * Law: what cannot be judged is refused; a proof is judged again without looking at dates, so that
 * a connection does not end because its certificate has done so meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crypto/z85.h"
#include "wire/tls/inside.h"

enum { NS_PER_S = 1000000000 };

static const char *
certificate_date(const mmi_openssl *o, const struct asn1_string_st *when, char text[TLS_DATE_SIZE])
{
    struct tm at;
    if (o->ASN1_TIME_to_tm(when, &at) != 1) {
        return "?";
    }
    snprintf(text, TLS_DATE_SIZE, "%04d-%02d-%02d %02d:%02d:%02d UTC", (at.tm_year + 1900) % 10000,
             at.tm_mon % 12 + 1, at.tm_mday % 32, at.tm_hour % 24, at.tm_min % 60, at.tm_sec % 61);
    return text;
}

static void
certificate_issuer(const mmi_openssl *o, const struct x509_st *certificate, char *out, size_t cap)
{
    struct bio_st *text = o->BIO_new(o->BIO_s_mem());
    uint8_t said[TLS_NAMES_SIZE];
    size_t size = 0;
    if (text != NULL) {
        (void)o->X509_NAME_print_ex(text, o->X509_get_issuer_name(certificate), 0,
                                    MMI_XN_FLAG_RFC2253);
        (void)o->BIO_read_ex(text, said, sizeof said, &size);
        o->BIO_free(text);
    }
    mmi_text_excerpt(out, cap, said, size);
}

/* OpenSSL did not take the chain. */
static void
verify_words(const mmi_tls *t, struct x509_store_ctx_st *chain, mmi_refusal *why)
{
    const mmi_openssl *o = t->openssl;
    const struct x509_st *of = o->X509_STORE_CTX_get_current_cert(chain);
    int error = o->X509_STORE_CTX_get_error(chain),
        depth = o->X509_STORE_CTX_get_error_depth(chain);
    char text[TLS_NAMES_SIZE] = "", date[TLS_DATE_SIZE];
    char place[TLS_DATE_SIZE] = "";
    if (depth > 0) {
        snprintf(place, sizeof place, " (%d above it)", depth);
    }
    of = of != NULL ? of : o->X509_STORE_CTX_get0_cert(chain);
    switch (error) {
    case MMI_X509_V_ERR_CERT_HAS_EXPIRED:
        (void)mmi_refuse(why, MM_REASON_CERTIFICATE, "its certificate expired at %s%s",
                         certificate_date(o, o->X509_get0_notAfter(of), date), place);
        break;
    case MMI_X509_V_ERR_CERT_NOT_YET_VALID:
        (void)mmi_refuse(why, MM_REASON_CERTIFICATE, "its certificate is not valid before %s%s",
                         certificate_date(o, o->X509_get0_notBefore(of), date), place);
        break;
    case MMI_X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case MMI_X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case MMI_X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        certificate_issuer(o, of, text, sizeof text);
        (void)mmi_refuse(why, MM_REASON_CERTIFICATE,
                         "nobody in ca= signed its certificate%s: the issuer is %.45s", place,
                         text);
        break;
    case MMI_X509_V_ERR_CERT_REVOKED:
        (void)mmi_refuse(why, MM_REASON_CERTIFICATE,
                         "crl= says that its certificate was taken back%s", place);
        break;
    case MMI_X509_V_ERR_UNABLE_TO_GET_CRL:
    case MMI_X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER:
        certificate_issuer(o, of, text, sizeof text);
        (void)mmi_refuse(why, MM_REASON_CERTIFICATE,
                         "crl= has no list of its certificate's issuer%s: %.45s", place, text);
        break;
    case MMI_X509_V_ERR_CRL_HAS_EXPIRED:
        certificate_issuer(o, of, text, sizeof text);
        (void)mmi_refuse(why, MM_REASON_CERTIFICATE,
                         "the list of its certificate's issuer in crl= expired%s: %.45s", place,
                         text);
        break;
    case MMI_X509_V_ERR_INVALID_PURPOSE:
        (void)mmi_refuse(why, MM_REASON_CERTIFICATE,
                         "its certificate's extended key usage is not that of a %s%s",
                         t->dials ? "server" : "client", place);
        break;
    default:
        (void)mmi_refuse(why, MM_REASON_CERTIFICATE, "its certificate: %.85s%s",
                         o->X509_verify_cert_error_string(error), place);
    }
}

/* The last of a chain is believed itself: it needs no list, which only its signer could write, whom
 * ca= need not have. */
int
mmi_tls_forgive(int right_so_far, struct x509_store_ctx_st *chain)
{
    const mmi_openssl *o = mmi_tls_library();
    int error = o->X509_STORE_CTX_get_error(chain);
    bool no_list = error == MMI_X509_V_ERR_UNABLE_TO_GET_CRL ||
                   error == MMI_X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER;
    const struct stack_st *all =
        (const struct stack_st *)(const void *)o->X509_STORE_CTX_get0_chain(chain);
    if (right_so_far != 1 && no_list &&
        o->X509_STORE_CTX_get_error_depth(chain) == o->OPENSSL_sk_num(all) - 1) {
        o->X509_STORE_CTX_set_error(chain, 0);
        return 1;
    }
    return right_so_far;
}

/* SHA-256 of its public key, as SubjectPublicKeyInfo.  MM_ENOMEM. */
static int
certificate_pin(const mmi_openssl *o, const struct x509_st *certificate,
                uint8_t pin[MMI_TLS_KEY_SIZE])
{
    unsigned char *der = NULL;
    size_t hashed = 0;
    int size = o->i2d_X509_PUBKEY(o->X509_get_X509_PUBKEY(certificate), &der);
    bool done =
        size > 0 && o->EVP_Q_digest(NULL, "SHA256", NULL, der, (size_t)size, pin, &hashed) == 1;
    o->CRYPTO_free(der, __FILE__, __LINE__);
    return done && hashed == MMI_TLS_KEY_SIZE ? MM_OK : MM_ENOMEM;
}

static int
pin_compare(const void *a, const void *b)
{
    return memcmp(a, b, MMI_TLS_KEY_SIZE);
}

static bool
pin_known(const mmi_tls_context *context, const uint8_t pin[MMI_TLS_KEY_SIZE])
{
    return bsearch(pin, context->pins, context->pin_count, MMI_TLS_KEY_SIZE, pin_compare) != NULL;
}

static bool
verify_pin(mmi_tls *t, struct x509_st *certificate, mmi_refusal *why)
{
    uint8_t pin[MMI_TLS_KEY_SIZE];
    char text[MMI_Z85_SIZE + 1];
    if (certificate_pin(t->openssl, certificate, pin) != MM_OK) {
        t->no_memory = true;
        return false;
    }
    if (pin_known(t->context, pin)) {
        return true;
    }
    mmi_z85_encode(text, pin);
    (void)mmi_refuse(why, MM_REASON_CERTIFICATE, "its key %s is none of the pins of allow=", text);
    return false;
}

/* The names that one of is to be in the certificate; 0 octets: any will do. */
static size_t
names_wanted(const mmi_tls_context *context, const mmi_tls_proof *proof, const char **names)
{
    bool host = context->names_size == 0 && proof->dials;
    *names = host ? proof->host : context->names;
    return host ? strlen(proof->host) + 1 : context->names_size;
}

static bool
verify_chain(mmi_tls *t, struct x509_store_ctx_st *chain, mmi_refusal *why)
{
    const mmi_openssl *o = t->openssl;
    const mmi_tls_world *world = &t->context->world;
    const char *names;
    o->X509_VERIFY_PARAM_set_time(o->X509_STORE_CTX_get0_param(chain),
                                  (time_t)(world->wall_ns(world->plat) / NS_PER_S));
    if (o->X509_verify_cert(chain) != 1) {
        verify_words(t, chain, why);
        return false;
    }
    size_t size = names_wanted(t->context, t->proof, &names);
    char text[MM_DETAIL_MAX + 1];
    const char *miss =
        size > 0 ? mmi_tls_names_miss(o, o->X509_STORE_CTX_get0_cert(chain), names, size, text)
                 : NULL;
    if (miss != NULL) {
        o->X509_STORE_CTX_set_error(chain, MMI_X509_V_ERR_HOSTNAME_MISMATCH);
        (void)mmi_refuse(why, MM_REASON_CERTIFICATE, "%s", miss);
    }
    return miss == NULL;
}

static bool
verify_any(mmi_tls *t, struct x509_store_ctx_st *chain, mmi_refusal *why)
{
    switch (t->context->kind) {
    case TLS_BY_CERTIFICATE: return verify_chain(t, chain, why);
    case TLS_BY_PIN: return verify_pin(t, t->openssl->X509_STORE_CTX_get0_cert(chain), why);
    case TLS_BY_ASKING: return !t->dials;
    default:
        (void)mmi_refuse(why, MM_REASON_CERTIFICATE,
                         "it shows a certificate, and has to know our secret");
        return false;
    }
}

int
mmi_tls_verify(struct x509_store_ctx_st *chain, void *arg)
{
    const mmi_openssl *o = ((const mmi_tls_context *)arg)->world.openssl;
    mmi_tls *t =
        mmi_tls_of(o->X509_STORE_CTX_get_ex_data(chain, o->SSL_get_ex_data_X509_STORE_CTX_idx()));
    if (verify_any(t, chain, &t->refusal)) {
        o->X509_STORE_CTX_set_error(chain, 0);
        return 1;
    }
    if (o->X509_STORE_CTX_get_error(chain) == 0) {
        o->X509_STORE_CTX_set_error(chain, MMI_X509_V_ERR_CERT_REJECTED);
    }
    return 0;
}

/* ---- who it was, and whether it would be taken again ---- */

static bool
judge_chain(const mmi_tls_context *context, const mmi_tls_proof *proof)
{
    const mmi_openssl *o = context->world.openssl;
    struct x509_store_ctx_st *chain = o->X509_STORE_CTX_new();
    const char *names;
    bool stands = false;
    if (chain != NULL && o->X509_STORE_CTX_init(chain, o->SSL_CTX_get_cert_store(context->ctx),
                                                proof->certificate, proof->chain) == 1) {
        struct X509_VERIFY_PARAM_st *param = o->X509_STORE_CTX_get0_param(chain);
        int purpose = proof->dials ? MMI_X509_PURPOSE_SSL_SERVER : MMI_X509_PURPOSE_SSL_CLIENT;
        size_t size = names_wanted(context, proof, &names);
        char text[MM_DETAIL_MAX + 1];
        stands =
            o->X509_VERIFY_PARAM_set_flags(param, MMI_X509_V_FLAG_NO_CHECK_TIME) == 1 &&
            o->X509_VERIFY_PARAM_set_purpose(param, purpose) == 1 &&
            o->X509_verify_cert(chain) == 1 &&
            (size == 0 || mmi_tls_names_miss(o, proof->certificate, names, size, text) == NULL);
    }
    o->X509_STORE_CTX_free(chain);
    o->ERR_clear_error();
    return stands;
}

bool
mmi_tls_judge(const mmi_tls_context *context, const mmi_tls_proof *proof)
{
    if (context->kind == TLS_BY_SECRET) {
        return mmi_tls_secret_known(context, proof->identity);
    }
    if (proof->certificate == NULL) {
        return !proof->dials && context->clients != MM_CLIENTS_REQUIRED;
    }
    return context->kind == TLS_BY_PIN           ? pin_known(context, proof->pin)
           : context->kind == TLS_BY_CERTIFICATE ? judge_chain(context, proof)
                                                 : !proof->dials;
}

/* MM_ENOMEM */
static int
prove_certificate(mmi_tls *t)
{
    const mmi_openssl *o = t->openssl;
    struct mmi_tls_proof *proof = t->proof;
    struct stack_st_X509 *chain = o->SSL_get_peer_cert_chain(t->ssl);
    unsigned char *at;
    int size = o->i2d_X509(proof->certificate, NULL);
    proof->chain = chain != NULL ? o->X509_chain_up_ref(chain) : NULL;
    proof->der = size > 0 ? mmi_alloc((size_t)size) : NULL;
    at = proof->der;
    if (proof->der == NULL || (chain != NULL && proof->chain == NULL) ||
        o->i2d_X509(proof->certificate, &at) != size) {
        return MM_ENOMEM;
    }
    proof->der_size = (size_t)size;
    return certificate_pin(o, proof->certificate, proof->pin);
}

int
mmi_tls_prove(mmi_tls *t, mmi_refusal *why)
{
    bool secret = t->context->kind == TLS_BY_SECRET;
    t->proof->version = t->openssl->SSL_get_version(t->ssl);
    t->proof->cipher = t->openssl->SSL_CIPHER_get_name(t->openssl->SSL_get_current_cipher(t->ssl));
    if ((t->openssl->SSL_session_reused(t->ssl) == 1) != secret) {
        return mmi_refuse(why, MM_REASON_CRYPTO,
                          secret ? "it did not show that it knows our secret"
                                 : "it took up another connection");
    }
    if (secret) {
        return MM_OK;
    }
    t->proof->certificate = t->openssl->SSL_get1_peer_certificate(t->ssl);
    if (t->proof->certificate != NULL) {
        return prove_certificate(t);
    }
    return !t->dials && t->context->clients != MM_CLIENTS_REQUIRED
               ? MM_OK
               : mmi_refuse(why, MM_REASON_CERTIFICATE, "it has no certificate");
}
