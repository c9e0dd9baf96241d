/*
 * openssl.h: what TLS needs of OpenSSL 3 or later, as a table, without its headers: every build has TLS,
 * whether or not they are there, and the system's own updates mend it.
 *
 * Not here: where the table comes from (plat/library.h); what is done with it.  The prototypes are
 * OpenSSL's: tests/c/test_openssl.c compares each with its headers.  Its macros are calls of the
 * _ctrl functions with the numbers below.
 * Law for who calls: ERR_clear_error before each call whose error is asked for; an SSL is not for two
 * threads at once; never OPENSSL_cleanup, which others in this process may not survive.
 */
#ifndef MMI_OPENSSL_H
#define MMI_OPENSSL_H

#include <time.h>

#include "base/base.h"

#define MMI_OPENSSL_MIN 0x30000000UL   /* 3.0.0: with SSL_get1_peer_certificate and EVP_Q_digest */

/* Its own incomplete types, by its own tags, so that a file may include its headers and this one. */
struct asn1_string_st;
struct bio_method_st;
struct bio_st;
struct evp_pkey_ctx_st;
struct evp_pkey_st;
struct GENERAL_NAME_st;
struct ossl_init_settings_st;
struct ossl_lib_ctx_st;
struct ossl_param_st;
struct ssl_cipher_st;
struct ssl_ctx_st;
struct ssl_method_st;
struct ssl_session_st;
struct ssl_st;
struct stack_st;
struct stack_st_GENERAL_NAME;
struct stack_st_X509;
struct evp_md_st;
struct X509_crl_st;
struct X509_name_st;
struct X509_pubkey_st;
struct x509_st;
struct x509_store_ctx_st;
struct x509_store_st;
struct X509_VERIFY_PARAM_st;

typedef int mmi_pem_password(char *buf, int size, int writes, void *arg);
typedef int mmi_ssl_verify(int right_so_far, struct x509_store_ctx_st *chain);
typedef int mmi_ssl_verify_all(struct x509_store_ctx_st *chain, void *arg);
typedef void mmi_ssl_info(const struct ssl_st *ssl, int where, int value);
typedef int mmi_ssl_alpn(struct ssl_st *ssl, const unsigned char **out, unsigned char *out_size,
                         const unsigned char *in, unsigned in_size, void *arg);
typedef int mmi_ssl_psk_find(struct ssl_st *ssl, const unsigned char *identity, size_t size,
                             struct ssl_session_st **found);
typedef int mmi_ssl_psk_use(struct ssl_st *ssl, const struct evp_md_st *md, const unsigned char **identity,
                            size_t *size, struct ssl_session_st **used);

typedef int mmi_bio_read(struct bio_st *bio, char *buf, size_t size, size_t *read);
typedef int mmi_bio_write(struct bio_st *bio, const char *buf, size_t size, size_t *written);
typedef long mmi_bio_ctrl(struct bio_st *bio, int what, long value, void *arg);

/* Each function: what it returns, its name, its arguments. */
#define MMI_OPENSSL_LIBRARY(X) \
    X(unsigned long, OpenSSL_version_num, (void)) \
    X(const char *, OpenSSL_version, (int what)) \
    X(int, OPENSSL_init_ssl, (uint64_t options, const struct ossl_init_settings_st *settings)) \
    X(void, CRYPTO_free, (void *at, const char *file, int line)) \
    X(void, ERR_clear_error, (void)) \
    X(unsigned long, ERR_get_error, (void)) \
    X(unsigned long, ERR_peek_last_error, (void)) \
    X(void, ERR_error_string_n, (unsigned long error, char *buf, size_t size)) \
    X(const char *, ERR_reason_error_string, (unsigned long error)) \
    X(int, EVP_Q_digest, (struct ossl_lib_ctx_st *library, const char *name, const char *properties, \
                          const void *data, size_t size, unsigned char *digest, size_t *digest_size)) \
    X(unsigned char *, EVP_Q_mac, (struct ossl_lib_ctx_st *library, const char *name, const char *properties, \
                                   const char *part, const struct ossl_param_st *params, const void *key, \
                                   size_t key_size, const unsigned char *data, size_t size, \
                                   unsigned char *out, size_t out_cap, size_t *out_size)) \
    X(void, OPENSSL_sk_pop_free, (struct stack_st *stack, void (*free)(void *each))) \
    X(int, OPENSSL_sk_num, (const struct stack_st *stack)) \
    X(void *, OPENSSL_sk_value, (const struct stack_st *stack, int index))

/* What a policy is made into: certificate and key, whom to believe, versions, PSK, ALPN. */
#define MMI_OPENSSL_CONTEXT(X) \
    X(const struct ssl_method_st *, TLS_method, (void)) \
    X(struct ssl_ctx_st *, SSL_CTX_new, (const struct ssl_method_st *method)) \
    X(void, SSL_CTX_free, (struct ssl_ctx_st *ctx)) \
    X(int, SSL_CTX_up_ref, (struct ssl_ctx_st *ctx)) \
    X(long, SSL_CTX_ctrl, (struct ssl_ctx_st *ctx, int what, long value, void *arg)) \
    X(uint64_t, SSL_CTX_set_options, (struct ssl_ctx_st *ctx, uint64_t options)) \
    X(int, SSL_CTX_set_ciphersuites, (struct ssl_ctx_st *ctx, const char *names)) \
    X(int, SSL_CTX_set_cipher_list, (struct ssl_ctx_st *ctx, const char *names)) \
    X(int, SSL_CTX_set_num_tickets, (struct ssl_ctx_st *ctx, size_t count)) \
    X(int, SSL_CTX_use_certificate, (struct ssl_ctx_st *ctx, struct x509_st *certificate)) \
    X(int, SSL_CTX_use_PrivateKey, (struct ssl_ctx_st *ctx, struct evp_pkey_st *key)) \
    X(int, SSL_CTX_check_private_key, (const struct ssl_ctx_st *ctx)) \
    X(int, SSL_CTX_set_default_verify_paths, (struct ssl_ctx_st *ctx)) \
    X(struct x509_store_st *, SSL_CTX_get_cert_store, (const struct ssl_ctx_st *ctx)) \
    X(struct X509_VERIFY_PARAM_st *, SSL_CTX_get0_param, (struct ssl_ctx_st *ctx)) \
    X(void, SSL_CTX_set_verify, (struct ssl_ctx_st *ctx, int mode, mmi_ssl_verify *verify)) \
    X(void, SSL_CTX_set_cert_verify_callback, (struct ssl_ctx_st *ctx, mmi_ssl_verify_all *verify, void *arg)) \
    X(void, SSL_CTX_set_info_callback, (struct ssl_ctx_st *ctx, mmi_ssl_info *info)) \
    X(int, SSL_CTX_set_alpn_protos, (struct ssl_ctx_st *ctx, const unsigned char *names, unsigned size)) \
    X(void, SSL_CTX_set_alpn_select_cb, (struct ssl_ctx_st *ctx, mmi_ssl_alpn *select, void *arg)) \
    X(void, SSL_CTX_set_psk_find_session_callback, (struct ssl_ctx_st *ctx, mmi_ssl_psk_find *find)) \
    X(void, SSL_CTX_set_psk_use_session_callback, (struct ssl_ctx_st *ctx, mmi_ssl_psk_use *use)) \
    X(struct ssl_session_st *, SSL_SESSION_new, (void)) \
    X(void, SSL_SESSION_free, (struct ssl_session_st *psk)) \
    X(int, SSL_SESSION_set1_master_key, (struct ssl_session_st *psk, const unsigned char *key, size_t size)) \
    X(int, SSL_SESSION_set_cipher, (struct ssl_session_st *psk, const struct ssl_cipher_st *cipher)) \
    X(int, SSL_SESSION_set_protocol_version, (struct ssl_session_st *psk, int version))

/* One connection, over a BIO of ours. */
#define MMI_OPENSSL_CONNECTION(X) \
    X(struct ssl_st *, SSL_new, (struct ssl_ctx_st *ctx)) \
    X(void, SSL_free, (struct ssl_st *ssl)) \
    X(void, SSL_set_connect_state, (struct ssl_st *ssl)) \
    X(void, SSL_set_accept_state, (struct ssl_st *ssl)) \
    X(void, SSL_set_bio, (struct ssl_st *ssl, struct bio_st *in, struct bio_st *out)) \
    X(long, SSL_ctrl, (struct ssl_st *ssl, int what, long value, void *arg)) \
    X(void, SSL_set_verify, (struct ssl_st *ssl, int mode, mmi_ssl_verify *verify)) \
    X(int, SSL_set_alpn_protos, (struct ssl_st *ssl, const unsigned char *names, unsigned size)) \
    X(int, SSL_set_ex_data, (struct ssl_st *ssl, int index, void *data)) \
    X(void *, SSL_get_ex_data, (const struct ssl_st *ssl, int index)) \
    X(int, SSL_get_ex_data_X509_STORE_CTX_idx, (void)) \
    X(struct X509_VERIFY_PARAM_st *, SSL_get0_param, (struct ssl_st *ssl)) \
    X(int, SSL_do_handshake, (struct ssl_st *ssl)) \
    X(int, SSL_is_init_finished, (const struct ssl_st *ssl)) \
    X(int, SSL_read_ex, (struct ssl_st *ssl, void *buf, size_t size, size_t *read)) \
    X(int, SSL_write_ex, (struct ssl_st *ssl, const void *buf, size_t size, size_t *written)) \
    X(int, SSL_pending, (const struct ssl_st *ssl)) \
    X(int, SSL_has_pending, (const struct ssl_st *ssl)) \
    X(int, SSL_key_update, (struct ssl_st *ssl, int kind)) \
    X(int, SSL_shutdown, (struct ssl_st *ssl)) \
    X(int, SSL_get_shutdown, (const struct ssl_st *ssl)) \
    X(int, SSL_get_error, (const struct ssl_st *ssl, int result)) \
    X(const char *, SSL_alert_desc_string_long, (int value)) \
    X(int, SSL_version, (const struct ssl_st *ssl)) \
    X(const char *, SSL_get_version, (const struct ssl_st *ssl)) \
    X(const struct ssl_cipher_st *, SSL_get_current_cipher, (const struct ssl_st *ssl)) \
    X(const char *, SSL_CIPHER_get_name, (const struct ssl_cipher_st *cipher)) \
    X(const struct ssl_cipher_st *, SSL_CIPHER_find, (struct ssl_st *ssl, const unsigned char *id)) \
    X(const char *, SSL_get_servername, (const struct ssl_st *ssl, int kind)) \
    X(void, SSL_get0_alpn_selected, (const struct ssl_st *ssl, const unsigned char **name, unsigned *size)) \
    X(int, SSL_session_reused, (const struct ssl_st *ssl)) \
    X(long, SSL_get_verify_result, (const struct ssl_st *ssl)) \
    X(struct x509_st *, SSL_get1_peer_certificate, (const struct ssl_st *ssl)) \
    X(struct stack_st_X509 *, SSL_get_peer_cert_chain, (const struct ssl_st *ssl)) \
    X(struct bio_method_st *, BIO_meth_new, (int type, const char *name)) \
    X(void, BIO_meth_free, (struct bio_method_st *kind)) \
    X(int, BIO_meth_set_read_ex, (struct bio_method_st *kind, mmi_bio_read *read)) \
    X(int, BIO_meth_set_write_ex, (struct bio_method_st *kind, mmi_bio_write *write)) \
    X(int, BIO_meth_set_ctrl, (struct bio_method_st *kind, mmi_bio_ctrl *ctrl)) \
    X(void, BIO_set_data, (struct bio_st *bio, void *data)) \
    X(void *, BIO_get_data, (struct bio_st *bio)) \
    X(void, BIO_set_init, (struct bio_st *bio, int init)) \
    X(void, BIO_set_flags, (struct bio_st *bio, int flags)) \
    X(void, BIO_clear_flags, (struct bio_st *bio, int flags)) \
    X(const struct bio_method_st *, BIO_s_mem, (void)) \
    X(struct bio_st *, BIO_new, (const struct bio_method_st *kind)) \
    X(struct bio_st *, BIO_new_mem_buf, (const void *buf, int size)) \
    X(int, BIO_free, (struct bio_st *bio)) \
    X(int, BIO_read_ex, (struct bio_st *bio, void *buf, size_t size, size_t *read)) \
    X(int, BIO_write_ex, (struct bio_st *bio, const void *buf, size_t size, size_t *written)) \
    X(long, BIO_ctrl, (struct bio_st *bio, int what, long value, void *arg)) \
    X(size_t, BIO_ctrl_pending, (struct bio_st *bio))

/* Certificates: read, judged, told of. */
#define MMI_OPENSSL_CERTIFICATES(X) \
    X(struct x509_st *, PEM_read_bio_X509, \
      (struct bio_st *in, struct x509_st **old, mmi_pem_password *ask, void *arg)) \
    X(struct X509_crl_st *, PEM_read_bio_X509_CRL, \
      (struct bio_st *in, struct X509_crl_st **old, mmi_pem_password *ask, void *arg)) \
    X(struct evp_pkey_st *, PEM_read_bio_PrivateKey, \
      (struct bio_st *in, struct evp_pkey_st **old, mmi_pem_password *ask, void *arg)) \
    X(void, X509_free, (struct x509_st *certificate)) \
    X(void, X509_CRL_free, (struct X509_crl_st *crl)) \
    X(void, EVP_PKEY_free, (struct evp_pkey_st *key)) \
    X(struct evp_pkey_st *, EVP_PKEY_new_raw_private_key_ex, \
      (struct ossl_lib_ctx_st *library, const char *kind, const char *properties, const unsigned char *key, \
       size_t size)) \
    X(struct evp_pkey_st *, EVP_PKEY_new_raw_public_key_ex, \
      (struct ossl_lib_ctx_st *library, const char *kind, const char *properties, const unsigned char *key, \
       size_t size)) \
    X(int, EVP_PKEY_get_raw_public_key, (const struct evp_pkey_st *key, unsigned char *out, size_t *size)) \
    X(struct evp_pkey_ctx_st *, EVP_PKEY_CTX_new_from_pkey, \
      (struct ossl_lib_ctx_st *library, struct evp_pkey_st *key, const char *properties)) \
    X(void, EVP_PKEY_CTX_free, (struct evp_pkey_ctx_st *ctx)) \
    X(int, EVP_PKEY_derive_init, (struct evp_pkey_ctx_st *ctx)) \
    X(int, EVP_PKEY_derive_set_peer, (struct evp_pkey_ctx_st *ctx, struct evp_pkey_st *peer)) \
    X(int, EVP_PKEY_derive, (struct evp_pkey_ctx_st *ctx, unsigned char *out, size_t *size)) \
    X(int, X509_up_ref, (struct x509_st *certificate)) \
    X(struct stack_st_X509 *, X509_chain_up_ref, (struct stack_st_X509 *chain)) \
    X(int, X509_check_host, \
      (struct x509_st *certificate, const char *name, size_t size, unsigned flags, char **matched)) \
    X(int, X509_check_ip_asc, (struct x509_st *certificate, const char *address, unsigned flags)) \
    X(struct x509_store_st *, X509_STORE_new, (void)) \
    X(void, X509_STORE_free, (struct x509_store_st *store)) \
    X(int, X509_STORE_add_cert, (struct x509_store_st *store, struct x509_st *certificate)) \
    X(int, X509_STORE_add_crl, (struct x509_store_st *store, struct X509_crl_st *crl)) \
    X(int, X509_STORE_set_flags, (struct x509_store_st *store, unsigned long flags)) \
    X(void, X509_STORE_set_verify_cb, (struct x509_store_st *store, mmi_ssl_verify *verify)) \
    X(struct x509_store_ctx_st *, X509_STORE_CTX_new, (void)) \
    X(void, X509_STORE_CTX_free, (struct x509_store_ctx_st *chain)) \
    X(int, X509_STORE_CTX_init, (struct x509_store_ctx_st *chain, struct x509_store_st *store, \
                                 struct x509_st *certificate, struct stack_st_X509 *others)) \
    X(struct X509_VERIFY_PARAM_st *, X509_STORE_CTX_get0_param, (const struct x509_store_ctx_st *chain)) \
    X(struct x509_st *, X509_STORE_CTX_get0_cert, (const struct x509_store_ctx_st *chain)) \
    X(struct x509_st *, X509_STORE_CTX_get_current_cert, (const struct x509_store_ctx_st *chain)) \
    X(struct stack_st_X509 *, X509_STORE_CTX_get0_chain, (const struct x509_store_ctx_st *chain)) \
    X(int, X509_STORE_CTX_get_error, (const struct x509_store_ctx_st *chain)) \
    X(int, X509_STORE_CTX_get_error_depth, (const struct x509_store_ctx_st *chain)) \
    X(void, X509_STORE_CTX_set_error, (struct x509_store_ctx_st *chain, int error)) \
    X(void *, X509_STORE_CTX_get_ex_data, (const struct x509_store_ctx_st *chain, int index)) \
    X(int, X509_verify_cert, (struct x509_store_ctx_st *chain)) \
    X(const char *, X509_verify_cert_error_string, (long error)) \
    X(int, X509_VERIFY_PARAM_set1_host, (struct X509_VERIFY_PARAM_st *param, const char *name, size_t size)) \
    X(int, X509_VERIFY_PARAM_add1_host, (struct X509_VERIFY_PARAM_st *param, const char *name, size_t size)) \
    X(void, X509_VERIFY_PARAM_set_hostflags, (struct X509_VERIFY_PARAM_st *param, unsigned flags)) \
    X(int, X509_VERIFY_PARAM_set1_ip_asc, (struct X509_VERIFY_PARAM_st *param, const char *address)) \
    X(int, X509_VERIFY_PARAM_set_flags, (struct X509_VERIFY_PARAM_st *param, unsigned long flags)) \
    X(int, X509_VERIFY_PARAM_set_purpose, (struct X509_VERIFY_PARAM_st *param, int purpose)) \
    X(void, X509_VERIFY_PARAM_set_time, (struct X509_VERIFY_PARAM_st *param, time_t now)) \
    X(struct X509_name_st *, X509_get_subject_name, (const struct x509_st *certificate)) \
    X(struct X509_name_st *, X509_get_issuer_name, (const struct x509_st *certificate)) \
    X(int, X509_NAME_print_ex, \
      (struct bio_st *out, const struct X509_name_st *name, int indent, unsigned long flags)) \
    X(const struct asn1_string_st *, X509_get0_notBefore, (const struct x509_st *certificate)) \
    X(const struct asn1_string_st *, X509_get0_notAfter, (const struct x509_st *certificate)) \
    X(int, ASN1_TIME_to_tm, (const struct asn1_string_st *when, struct tm *out)) \
    X(struct X509_pubkey_st *, X509_get_X509_PUBKEY, (const struct x509_st *certificate)) \
    X(int, i2d_X509_PUBKEY, (const struct X509_pubkey_st *key, unsigned char **out)) \
    X(int, i2d_X509, (const struct x509_st *certificate, unsigned char **out)) \
    X(void *, X509_get_ext_d2i, (const struct x509_st *certificate, int nid, int *critical, int *index)) \
    X(void *, GENERAL_NAME_get0_value, (const struct GENERAL_NAME_st *name, int *kind)) \
    X(void, GENERAL_NAMES_free, (struct stack_st_GENERAL_NAME *names)) \
    X(const unsigned char *, ASN1_STRING_get0_data, (const struct asn1_string_st *text)) \
    X(int, ASN1_STRING_length, (const struct asn1_string_st *text))

#define MMI_OPENSSL_FUNCTIONS(X) \
    MMI_OPENSSL_LIBRARY(X) \
    MMI_OPENSSL_CONTEXT(X) \
    MMI_OPENSSL_CONNECTION(X) \
    MMI_OPENSSL_CERTIFICATES(X)

#define MMI_OPENSSL_MEMBER(result, name, arguments) result (*name) arguments;
#define MMI_OPENSSL_ONE(result, name, arguments) + 1

enum { MMI_OPENSSL_COUNT = 0 MMI_OPENSSL_FUNCTIONS(MMI_OPENSSL_ONE) };

typedef struct mmi_openssl {
    MMI_OPENSSL_FUNCTIONS(MMI_OPENSSL_MEMBER)
} mmi_openssl;

extern const char *const mmi_openssl_names[MMI_OPENSSL_COUNT];   /* in the order of the table */

/* Numbers of its headers, for the _ctrl functions and the rest; compared by the same test. */
enum {
    MMI_OPENSSL_INIT_NO_ATEXIT = 0x00080000,
    MMI_TLS1_2_VERSION = 0x0303,
    MMI_TLS1_3_VERSION = 0x0304,
    MMI_SSL_CTRL_MODE = 33,
    MMI_SSL_CTRL_SET_SESS_CACHE_MODE = 44,
    MMI_SSL_CTRL_SET_TLSEXT_HOSTNAME = 55,
    MMI_SSL_CTRL_CHAIN_CERT = 89,
    MMI_SSL_CTRL_SET_MAX_CERT_LIST = 51,
    MMI_SSL_CTRL_SET_GROUPS_LIST = 92,
    MMI_SSL_CTRL_SET_MIN_PROTO_VERSION = 123,
    MMI_SSL_CTRL_SET_MAX_PROTO_VERSION = 124,
    MMI_SSL_MODE_ENABLE_PARTIAL_WRITE = 0x1,
    MMI_SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER = 0x2,
    MMI_SSL_MODE_NO_AUTO_CHAIN = 0x8,
    MMI_SSL_MODE_RELEASE_BUFFERS = 0x10,
    MMI_SSL_VERIFY_NONE = 0,
    MMI_SSL_VERIFY_PEER = 1,
    MMI_SSL_VERIFY_FAIL_IF_NO_PEER_CERT = 2,
    MMI_SSL_ERROR_WANT_READ = 2,
    MMI_SSL_ERROR_ZERO_RETURN = 6,
    MMI_SSL_KEY_UPDATE_NOT_REQUESTED = 0,
    MMI_SSL_CB_READ_ALERT = 0x4004,
    MMI_SSL_TLSEXT_ERR_OK = 0,
    MMI_SSL_TLSEXT_ERR_ALERT_FATAL = 2,
    MMI_SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE = 199,
    MMI_SSL_R_NO_SHARED_CIPHER = 193,
    MMI_SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC = 281,
    MMI_SSL_R_UNSUPPORTED_PROTOCOL = 258,
    MMI_SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM = 118,
    MMI_SSL_R_NO_SUITABLE_KEY_SHARE = 101,
    MMI_SSL_R_VERSION_TOO_LOW = 396,
    MMI_SSL_AD_REASON_OFFSET = 1000,     /* of an error: in front of the code of an alert that came */
    MMI_ERR_REASON_MASK = 0x7FFFFF,      /* of an error: what is said about it */
    MMI_ERR_R_MALLOC_FAILURE = 0xC0100,
    MMI_PEM_R_NO_START_LINE = 108,
    MMI_BIO_TYPE_SOURCE_SINK = 0x400,
    MMI_BIO_FLAGS_READ = 0x1,
    MMI_BIO_FLAGS_SHOULD_RETRY = 0x8,
    MMI_BIO_CTRL_FLUSH = 11,
    MMI_BIO_C_SET_BUF_MEM_EOF_RETURN = 130,
    MMI_XN_FLAG_RFC2253 = 0x1110317,
    MMI_X509_V_ERR_UNABLE_TO_GET_CRL = 3,
    MMI_X509_V_ERR_CERT_NOT_YET_VALID = 9,
    MMI_X509_V_ERR_CERT_HAS_EXPIRED = 10,
    MMI_X509_V_ERR_CRL_HAS_EXPIRED = 12,
    MMI_X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT = 18,
    MMI_X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN = 19,
    MMI_X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY = 20,
    MMI_X509_V_ERR_CERT_REVOKED = 23,
    MMI_X509_V_ERR_INVALID_PURPOSE = 26,
    MMI_X509_V_ERR_CERT_REJECTED = 28,
    MMI_X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER = 33,
    MMI_X509_V_ERR_HOSTNAME_MISMATCH = 62,
    MMI_X509_V_FLAG_CRL_CHECK = 0x4,
    MMI_X509_V_FLAG_CRL_CHECK_ALL = 0x8,
    MMI_X509_V_FLAG_PARTIAL_CHAIN = 0x80000,
    MMI_X509_V_FLAG_NO_CHECK_TIME = 0x200000,
    MMI_X509_PURPOSE_SSL_CLIENT = 1,
    MMI_X509_PURPOSE_SSL_SERVER = 2,
    MMI_GEN_DNS = 2,
    MMI_GEN_URI = 6,
    MMI_GEN_IPADD = 7,
    MMI_X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS = 0x4,
    MMI_X509_CHECK_FLAG_NEVER_CHECK_SUBJECT = 0x20,
    MMI_NID_SUBJECT_ALT_NAME = 85
};
#define MMI_SSL_OP_NO_COMPRESSION (UINT64_C(1) << 17)
#define MMI_SSL_OP_NO_RENEGOTIATION (UINT64_C(1) << 30)
#define MMI_SSL_OP_NO_TICKET (UINT64_C(1) << 14)

/* The table of these functions, if none is NULL and the library is new enough and begins: MM_OK, else
 * MM_EINVAL and why. */
int mmi_openssl_fill(mmi_openssl *out, void *const functions[MMI_OPENSSL_COUNT], char *why,
                     size_t size) MMI_WARN_UNUSED;

#endif
