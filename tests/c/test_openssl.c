/*
 * test_openssl.c: what TLS needs of OpenSSL: found once, whole or not at all, as its headers say,
 * and enough for what a policy may ask.
 * Not here: TLS as a user has it; Python's own ssl in the same process (tests/fault).
 * Law: where OpenSSL is not, or its headers are not, that test says so and checks no more.
 */
#include <pthread.h>

#include "check.h"
#include "crypto/z85.h"
#include "plat/library.h"
#include "tls_pair.h"

#if __has_include(<openssl/ssl.h>)
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#endif
#if defined(OPENSSL_VERSION_MAJOR) && OPENSSL_VERSION_MAJOR == 3 /* 4 has more const */
#define SAME(result, name, arguments)                                                              \
    _Static_assert(                                                                                \
        __builtin_types_compatible_p(__typeof__(&name), __typeof__(((mmi_openssl *)0)->name)),     \
        #name);
MMI_OPENSSL_FUNCTIONS(SAME)
#define SAME_NUMBER(name) _Static_assert((uint64_t)(name) == (uint64_t)(MMI_##name), #name)
SAME_NUMBER(TLS1_2_VERSION);
SAME_NUMBER(TLS1_3_VERSION);
SAME_NUMBER(OPENSSL_INIT_NO_ATEXIT);
SAME_NUMBER(SSL_CTRL_MODE);
SAME_NUMBER(SSL_CTRL_SET_SESS_CACHE_MODE);
SAME_NUMBER(SSL_CTRL_SET_TLSEXT_HOSTNAME);
SAME_NUMBER(SSL_CTRL_CHAIN_CERT);
SAME_NUMBER(SSL_CTRL_SET_GROUPS_LIST);
SAME_NUMBER(SSL_CTRL_SET_MIN_PROTO_VERSION);
SAME_NUMBER(SSL_CTRL_SET_MAX_PROTO_VERSION);
SAME_NUMBER(SSL_MODE_ENABLE_PARTIAL_WRITE);
SAME_NUMBER(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
SAME_NUMBER(SSL_MODE_NO_AUTO_CHAIN);
SAME_NUMBER(SSL_MODE_RELEASE_BUFFERS);
SAME_NUMBER(SSL_VERIFY_NONE);
SAME_NUMBER(SSL_VERIFY_PEER);
SAME_NUMBER(SSL_VERIFY_FAIL_IF_NO_PEER_CERT);
SAME_NUMBER(SSL_ERROR_WANT_READ);
SAME_NUMBER(SSL_ERROR_ZERO_RETURN);
SAME_NUMBER(SSL_KEY_UPDATE_NOT_REQUESTED);
SAME_NUMBER(SSL_CB_READ_ALERT);
SAME_NUMBER(SSL_TLSEXT_ERR_OK);
SAME_NUMBER(SSL_TLSEXT_ERR_ALERT_FATAL);
SAME_NUMBER(BIO_C_SET_BUF_MEM_EOF_RETURN);
SAME_NUMBER(X509_V_FLAG_CRL_CHECK);
SAME_NUMBER(X509_V_FLAG_CRL_CHECK_ALL);
SAME_NUMBER(X509_V_ERR_UNABLE_TO_GET_CRL);
SAME_NUMBER(X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER);
SAME_NUMBER(X509_V_ERR_CRL_HAS_EXPIRED);
SAME_NUMBER(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
SAME_NUMBER(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
SAME_NUMBER(SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE);
SAME_NUMBER(SSL_R_NO_SHARED_CIPHER);
SAME_NUMBER(SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC);
SAME_NUMBER(SSL_R_UNSUPPORTED_PROTOCOL);
SAME_NUMBER(SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM);
SAME_NUMBER(SSL_R_NO_SUITABLE_KEY_SHARE);
SAME_NUMBER(SSL_R_VERSION_TOO_LOW);
SAME_NUMBER(SSL_AD_REASON_OFFSET);
SAME_NUMBER(ERR_REASON_MASK);
SAME_NUMBER(ERR_R_MALLOC_FAILURE);
SAME_NUMBER(PEM_R_NO_START_LINE);
SAME_NUMBER(BIO_TYPE_SOURCE_SINK);
SAME_NUMBER(BIO_FLAGS_READ);
SAME_NUMBER(BIO_FLAGS_SHOULD_RETRY);
SAME_NUMBER(BIO_CTRL_FLUSH);
SAME_NUMBER(XN_FLAG_RFC2253);
SAME_NUMBER(X509_V_ERR_CERT_NOT_YET_VALID);
SAME_NUMBER(X509_V_ERR_CERT_HAS_EXPIRED);
SAME_NUMBER(X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT);
SAME_NUMBER(X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN);
SAME_NUMBER(X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
SAME_NUMBER(X509_V_ERR_CERT_REVOKED);
SAME_NUMBER(X509_V_ERR_INVALID_PURPOSE);
SAME_NUMBER(X509_V_ERR_CERT_REJECTED);
SAME_NUMBER(X509_V_ERR_HOSTNAME_MISMATCH);
SAME_NUMBER(X509_V_FLAG_PARTIAL_CHAIN);
SAME_NUMBER(X509_V_FLAG_NO_CHECK_TIME);
SAME_NUMBER(X509_PURPOSE_SSL_CLIENT);
SAME_NUMBER(X509_PURPOSE_SSL_SERVER);
SAME_NUMBER(GEN_DNS);
SAME_NUMBER(GEN_URI);
SAME_NUMBER(GEN_IPADD);
SAME_NUMBER(SSL_CTRL_SET_MAX_CERT_LIST);
SAME_NUMBER(SSL_OP_NO_COMPRESSION);
SAME_NUMBER(SSL_OP_NO_RENEGOTIATION);
SAME_NUMBER(SSL_OP_NO_TICKET);
_Static_assert(NID_subject_alt_name == MMI_NID_SUBJECT_ALT_NAME, "NID_subject_alt_name");
#define HEADERS 1
#else
#define HEADERS 0
#endif

enum { THREADS = 8, ALERT_BAD_CERTIFICATE = 42, ALERT_FATAL = 2 };

static const mmi_openssl *tls;

static void *
find(void *arg)
{
    (void)arg;
    return (void *)(uintptr_t)mmi_openssl_get();
}

static void
test_all_threads_find_the_same_or_are_told_what_to_install(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK_INT(pthread_create(&threads[i], NULL, find, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *found = NULL;
        CHECK_INT(pthread_join(threads[i], &found), 0);
        CHECK(found == (const void *)mmi_openssl_get());
    }
    if (mmi_openssl_get() != NULL) {
        CHECK_INT(strlen(mmi_openssl_missing()), 0);
    } else {
        printf("no OpenSSL: %s\n", mmi_openssl_missing());
        CHECK(strstr(mmi_openssl_missing(), "libssl.so.3") != NULL);
        CHECK(strstr(mmi_openssl_missing(), "apt-get install libssl3") != NULL);
    }
    printf("compared with headers: %s\n", HEADERS ? "yes" : "no, there are none of 3.x");
}

static unsigned long
old_version(void)
{
    return 0x1010117fUL; /* 1.1.1w */
}

static int
no_beginning(uint64_t options, const struct ossl_init_settings_st *settings)
{
    (void)options, (void)settings;
    return 0;
}

static void
check_not_there(const mmi_openssl *table, const char *wanted)
{
    void *functions[MMI_OPENSSL_COUNT];
    mmi_openssl out;
    char why[128];
    memcpy(functions, table, sizeof *table);
    CHECK_INT(mmi_openssl_fill(&out, functions, why, sizeof why), MM_EINVAL);
    if (strstr(why, wanted) == NULL) {
        check_failed(why, __FILE__, __LINE__);
    }
}

static void
test_a_library_that_is_old_or_not_whole_is_not_there(void)
{
    mmi_openssl table = *tls;
    table.SSL_key_update = NULL;
    check_not_there(&table, "it has no SSL_key_update");
    table = *tls;
    table.OpenSSL_version_num = NULL;
    check_not_there(&table, "it has no OpenSSL_version_num");
    table = *tls;
    table.OpenSSL_version_num = old_version;
    table.SSL_get1_peer_certificate = NULL; /* as it is there */
    check_not_there(&table, "version 1010117f is older than 3.0");
    table = *tls;
    table.OPENSSL_init_ssl = no_beginning;
    check_not_there(&table, "it does not begin: ");
}

static void
check_pin(tls_pair *pair, tls_end *end)
{
    struct x509_st *certificate = tls->SSL_get1_peer_certificate(end->ssl);
    CHECK(certificate != NULL);
    unsigned char der[512], *at = der, digest[32], wanted[MMI_KEY_OCTETS];
    size_t digest_size = 0, wrong;
    int size = tls->i2d_X509_PUBKEY(tls->X509_get_X509_PUBKEY(certificate), &at);
    CHECK(size > 0 && size < (int)sizeof der);
    CHECK_INT(tls->EVP_Q_digest(NULL, "SHA256", NULL, der, (size_t)size, digest, &digest_size), 1);
    CHECK_INT(mmi_pin_decode(wanted, TLS_PIN, strlen(TLS_PIN), &wrong), MMI_TEXT_RIGHT);
    CHECK(digest_size == sizeof digest && memcmp(digest, wanted, sizeof digest) == 0);
    tls->X509_free(certificate);
    (void)pair;
}

static int
alpn_select(struct ssl_st *ssl, const unsigned char **out, unsigned char *out_size,
            const unsigned char *in, unsigned in_size, void *arg)
{
    (void)ssl, (void)arg;
    CHECK(in_size > 1 + (unsigned)in[0]);
    *out = in + in[0] + 2; /* the second that is offered */
    *out_size = in[in[0] + 1];
    return MMI_SSL_TLSEXT_ERR_OK;
}

static void
test_certificates_of_both_sides_names_pins_alpn_and_key_update(void)
{
    static const unsigned char NAMES[] = "\x06zmtp/3\x04sp/1";
    tls_pair pair;
    tls_pair_init(&pair, tls, MMI_TLS1_3_VERSION, false);
    CHECK_INT(tls->SSL_CTX_set_alpn_protos(pair.client.ctx, NAMES, sizeof NAMES - 1), 0);
    tls->SSL_CTX_set_alpn_select_cb(pair.server.ctx, alpn_select, NULL);
    tls_end fresh = { .ctx = pair.client.ctx };
    tls->SSL_free(pair.client.ssl); /* it was made before its context had the names */
    tls_open(tls, &fresh);
    pair.client = fresh;
    CHECK_INT(tls->SSL_set_ex_data(fresh.ssl, 0, &pair.client), 1);
    tls->SSL_set_connect_state(pair.client.ssl);
    CHECK_INT(tls->SSL_ctrl(pair.client.ssl, MMI_SSL_CTRL_SET_TLSEXT_HOSTNAME, 0, "peer.example"),
              1);
    struct X509_VERIFY_PARAM_st *param = tls->SSL_get0_param(pair.client.ssl);
    tls->X509_VERIFY_PARAM_set_hostflags(param, MMI_X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                                    MMI_X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    CHECK_INT(tls->X509_VERIFY_PARAM_set1_host(param, "peer.example", 0), 1);
    CHECK(tls_join(&pair));
    check_pin(&pair, &pair.client);
    check_pin(&pair, &pair.server);
    const unsigned char *name = NULL;
    unsigned size = 0;
    tls->SSL_get0_alpn_selected(pair.client.ssl, &name, &size);
    CHECK(size == 4 && memcmp(name, "sp/1", 4) == 0);
    CHECK(strcmp(tls->SSL_get_servername(pair.server.ssl, 0), "peer.example") == 0);
    CHECK(strcmp(tls->SSL_get_version(pair.server.ssl), "TLSv1.3") == 0);
    CHECK_INT(tls->SSL_session_reused(pair.client.ssl), 0);
    tls_say(&pair, &pair.client, &pair.server, "there");
    CHECK_INT(tls->SSL_key_update(pair.client.ssl, MMI_SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    tls_say(&pair, &pair.client, &pair.server, "under new keys");
    tls_say(&pair, &pair.server, &pair.client, "and back");
    CHECK_INT(tls->SSL_shutdown(pair.client.ssl), 0);
    CHECK(tls_carry(&pair, &pair.client, &pair.server));
    size_t none = 0;
    char octet;
    int rc = tls->SSL_read_ex(pair.server.ssl, &octet, 1, &none);
    CHECK_INT(tls->SSL_get_error(pair.server.ssl, rc), MMI_SSL_ERROR_ZERO_RETURN);
    tls_pair_fini(&pair);
}

static void
test_a_pre_shared_key_needs_no_certificate(void)
{
    tls_pair pair;
    tls_pair_init(&pair, tls, MMI_TLS1_3_VERSION, true);
    CHECK(tls_join(&pair));
    CHECK(tls->SSL_get1_peer_certificate(pair.client.ssl) == NULL);
    CHECK(strcmp(tls->SSL_CIPHER_get_name(tls->SSL_get_current_cipher(pair.client.ssl)),
                 "TLS_AES_128_GCM_SHA256") == 0);
    CHECK_INT(tls->SSL_session_reused(pair.client.ssl), 1); /* so OpenSSL calls it */
    tls_say(&pair, &pair.client, &pair.server, "there");
    tls_pair_fini(&pair);
}

static void
test_tls_1_2_is_there_for_old_peers(void)
{
    tls_pair pair;
    tls_pair_init(&pair, tls, MMI_TLS1_2_VERSION, false);
    CHECK_INT(tls->SSL_CTX_set_cipher_list(pair.client.ctx, "ECDHE+AESGCM:ECDHE+CHACHA20"), 1);
    CHECK(tls_join(&pair));
    CHECK(strcmp(tls->SSL_get_version(pair.client.ssl), "TLSv1.2") == 0);
    tls_say(&pair, &pair.server, &pair.client, "there");
    tls_pair_fini(&pair);
}

static void
test_a_wrong_name_is_refused_and_the_other_side_gets_an_alert(void)
{
    tls_pair pair;
    tls_pair_init(&pair, tls, MMI_TLS1_3_VERSION, false);
    struct X509_VERIFY_PARAM_st *param = tls->SSL_get0_param(pair.client.ssl);
    CHECK_INT(tls->X509_VERIFY_PARAM_set1_ip_asc(param, "127.0.0.2"), 1);
    CHECK(!tls_join(&pair));
    long result = tls->SSL_get_verify_result(pair.client.ssl);
    CHECK(strstr(tls->X509_verify_cert_error_string(result), "IP address mismatch") != NULL);
    CHECK_INT(pair.server.alert_count, 1);
    CHECK_INT(pair.server.alerts[0], ALERT_FATAL << 8 | ALERT_BAD_CERTIFICATE);
    CHECK(strcmp(tls->SSL_alert_desc_string_long(pair.server.alerts[0]), "bad certificate") == 0);
    tls_pair_fini(&pair);
}

/* What a reload does with connections that are there: their chain at another time. */
static void
test_a_chain_is_judged_again_at_another_time(void)
{
    struct x509_st *certificate = tls_certificate(tls);
    struct x509_store_st *store = tls->X509_STORE_new();
    CHECK_INT(tls->X509_STORE_add_cert(store, certificate), 1);
    for (int i = 0; i < 2; i++) {
        struct x509_store_ctx_st *chain = tls->X509_STORE_CTX_new();
        CHECK_INT(tls->X509_STORE_CTX_init(chain, store, certificate, NULL), 1);
        tls->X509_VERIFY_PARAM_set_time(tls->X509_STORE_CTX_get0_param(chain),
                                        i == 0 ? TLS_NOW : 0);
        CHECK_INT(tls->X509_verify_cert(chain) == 1, i == 0);
        const char *said = tls->X509_verify_cert_error_string(tls->X509_STORE_CTX_get_error(chain));
        CHECK(strcmp(said, i == 0 ? "ok" : "certificate is not yet valid") == 0);
        tls->X509_STORE_CTX_free(chain);
    }
    struct tm until;
    CHECK_INT(tls->ASN1_TIME_to_tm(tls->X509_get0_notAfter(certificate), &until), 1);
    CHECK_INT(until.tm_year, 226);
    struct stack_st_GENERAL_NAME *names =
        tls->X509_get_ext_d2i(certificate, MMI_NID_SUBJECT_ALT_NAME, NULL, NULL);
    CHECK_INT(tls->OPENSSL_sk_num((const struct stack_st *)names), 3);
    int kind = 0;
    const struct asn1_string_st *text = tls->GENERAL_NAME_get0_value(
        tls->OPENSSL_sk_value((const struct stack_st *)names, 0), &kind);
    CHECK_INT(tls->ASN1_STRING_length(text), strlen("peer.example"));
    CHECK(memcmp(tls->ASN1_STRING_get0_data(text), "peer.example", 12) == 0);
    tls->GENERAL_NAMES_free(names);
    tls->X509_STORE_free(store);
    tls->X509_free(certificate);
}

int
main(void)
{
    RUN(test_all_threads_find_the_same_or_are_told_what_to_install);
    tls = mmi_openssl_get();
    if (tls == NULL) {
        return 0;
    }
    RUN(test_a_library_that_is_old_or_not_whole_is_not_there);
    RUN(test_certificates_of_both_sides_names_pins_alpn_and_key_update);
    RUN(test_a_pre_shared_key_needs_no_certificate);
    RUN(test_tls_1_2_is_there_for_old_peers);
    RUN(test_a_wrong_name_is_refused_and_the_other_side_gets_an_alert);
    RUN(test_a_chain_is_judged_again_at_another_time);
    return 0;
}
