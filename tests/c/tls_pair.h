/*
 * tls_pair.h: two ends of TLS that talk over memory, through the table of OpenSSL's functions.
 * Not here: checks of what came of it; sockets, which there are none.
 * Law: the certificate is for tests, with its key here for all to read, and valid from 2026-11-23 for
 * a hundred years; who judges it says what time it is.
 */
#ifndef TLS_PAIR_H
#define TLS_PAIR_H

#include "check.h"
#include "crypto/openssl.h"

/* "meshmsg test": DNS:peer.example, IP:127.0.0.1, URI:spiffe://etl/one. */
static const char TLS_KEY[] =
    "-----BEGIN EC PRIVATE KEY-----\n"
    "MHcCAQEEINtZSCnWTaiMTeXR0/J/Vyv0EUDcwLEP1tgWY1/VOVZnoAoGCCqGSM49\n"
    "AwEHoUQDQgAETl8LBcxbxOAa8n+2myXi+kD577mibIBL1n2GyH7emK9JMG/Y3eVX\n"
    "Cw9Dte1YHuYh5QjUfvyryig3KQlNEBRGKw==\n"
    "-----END EC PRIVATE KEY-----\n";
static const char TLS_CERTIFICATE[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBuDCCAV6gAwIBAgIUAuWK7zM0DQRZSgAlxsRn9Q0Q+SYwCgYIKoZIzj0EAwIw\n"
    "FzEVMBMGA1UEAwwMbWVzaG1zZyB0ZXN0MCAXDTI2MTEyMzIwMjUwNVoYDzIxMjYx\n"
    "MDMwMjAyNTA1WjAXMRUwEwYDVQQDDAxtZXNobXNnIHRlc3QwWTATBgcqhkjOPQIB\n"
    "BggqhkjOPQMBBwNCAAROXwsFzFvE4Bryf7abJeL6QPnvuaJsgEvWfYbIft6Yr0kw\n"
    "b9jd5VcLD0O17Vge5iHlCNR+/KvKKDcpCU0QFEYro4GFMIGCMB0GA1UdDgQWBBT6\n"
    "/HiPI+8JwLwajJ8hrB+TnauJPzAfBgNVHSMEGDAWgBT6/HiPI+8JwLwajJ8hrB+T\n"
    "nauJPzAvBgNVHREEKDAmggxwZWVyLmV4YW1wbGWHBH8AAAGGEHNwaWZmZTovL2V0\n"
    "bC9vbmUwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiBg+5jf/5PH\n"
    "WpSNfnn/HhSwe71Bt2Mfqlwoysi9K858cgIhAKsUwseZXAm+uncT9TL4hsY96/rV\n"
    "X59rGyAKODSBRbAq\n"
    "-----END CERTIFICATE-----\n";
/* Of its public key, as "openssl pkey -pubin -outform der | sha256sum" says. */
#define TLS_PIN "279ee8f26444ed0cbfe1375160f15021e7deb7a5c920dbdbb7bbc5d6728af5c4"
enum { TLS_NOW = 1830000000, TLS_ALERTS_MAX = 8, TLS_STEPS_MAX = 20, TLS_PSK_SIZE = 32 };

typedef struct tls_end {
    struct ssl_ctx_st *ctx;
    struct ssl_st *ssl;
    struct bio_st *in, *out;           /* the connection's */
    int alerts[TLS_ALERTS_MAX], alert_count;   /* that it got, as the info callback has them */
} tls_end;

typedef struct tls_pair {
    const mmi_openssl *tls;
    tls_end server, client;
} tls_pair;

static const mmi_openssl *tls_now_used;    /* for callbacks, which get an SSL and no more */
static const char TLS_PSK_NAME[] = "psk";
static const unsigned char TLS_PSK[TLS_PSK_SIZE] = { 1, 2, 3, 4 };

static inline void
tls_note_alert(const struct ssl_st *ssl, int where, int value)
{
    tls_end *end = tls_now_used->SSL_get_ex_data(ssl, 0);
    if (where == MMI_SSL_CB_READ_ALERT && end != NULL && end->alert_count < TLS_ALERTS_MAX) {
        end->alerts[end->alert_count++] = value;
    }
}

static inline struct x509_st *
tls_certificate(const mmi_openssl *tls)
{
    struct bio_st *text = tls->BIO_new_mem_buf(TLS_CERTIFICATE, -1);
    struct x509_st *certificate = tls->PEM_read_bio_X509(text, NULL, NULL, NULL);
    CHECK(certificate != NULL);
    tls->BIO_free(text);
    return certificate;
}

static inline void
tls_use_certificate(const mmi_openssl *tls, struct ssl_ctx_st *ctx)
{
    struct bio_st *text = tls->BIO_new_mem_buf(TLS_KEY, -1);
    struct evp_pkey_st *key = tls->PEM_read_bio_PrivateKey(text, NULL, NULL, NULL);
    struct x509_st *certificate = tls_certificate(tls);
    CHECK(key != NULL);
    CHECK_INT(tls->SSL_CTX_use_certificate(ctx, certificate), 1);
    CHECK_INT(tls->SSL_CTX_use_PrivateKey(ctx, key), 1);
    CHECK_INT(tls->SSL_CTX_check_private_key(ctx), 1);
    CHECK_INT(tls->X509_STORE_add_cert(tls->SSL_CTX_get_cert_store(ctx), certificate), 1);
    tls->SSL_CTX_set_verify(ctx, MMI_SSL_VERIFY_PEER | MMI_SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    tls->X509_VERIFY_PARAM_set_time(tls->SSL_CTX_get0_param(ctx), TLS_NOW);
    tls->X509_free(certificate);
    tls->EVP_PKEY_free(key);
    tls->BIO_free(text);
}

static inline struct ssl_session_st *
tls_psk(struct ssl_st *ssl)
{
    static const unsigned char AES_128_GCM_SHA256[] = { 0x13, 0x01 };
    const mmi_openssl *tls = tls_now_used;
    struct ssl_session_st *psk = tls->SSL_SESSION_new();
    CHECK_INT(tls->SSL_SESSION_set1_master_key(psk, TLS_PSK, TLS_PSK_SIZE), 1);
    CHECK_INT(tls->SSL_SESSION_set_cipher(psk, tls->SSL_CIPHER_find(ssl, AES_128_GCM_SHA256)), 1);
    CHECK_INT(tls->SSL_SESSION_set_protocol_version(psk, MMI_TLS1_3_VERSION), 1);
    return psk;
}

static inline int
tls_psk_find(struct ssl_st *ssl, const unsigned char *name, size_t size,
             struct ssl_session_st **found)
{
    bool known = size == strlen(TLS_PSK_NAME) && memcmp(name, TLS_PSK_NAME, size) == 0;
    *found = known ? tls_psk(ssl) : NULL;
    return 1;
}

static inline int
tls_psk_use(struct ssl_st *ssl, const struct evp_md_st *md, const unsigned char **name,
            size_t *size, struct ssl_session_st **used)
{
    (void)md;
    *name = (const unsigned char *)TLS_PSK_NAME;
    *size = strlen(TLS_PSK_NAME);
    *used = tls_psk(ssl);
    return 1;
}

static inline void
tls_use_psk(const mmi_openssl *tls, struct ssl_ctx_st *ctx)
{
    CHECK_INT(tls->SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256"), 1);
    tls->SSL_CTX_set_psk_find_session_callback(ctx, tls_psk_find);
    tls->SSL_CTX_set_psk_use_session_callback(ctx, tls_psk_use);
}

static inline void
tls_begin(const mmi_openssl *tls, tls_end *end, int version, bool psk)
{
    long modes = MMI_SSL_MODE_ENABLE_PARTIAL_WRITE | MMI_SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                 MMI_SSL_MODE_RELEASE_BUFFERS;
    end->ctx = tls->SSL_CTX_new(tls->TLS_method());
    CHECK(end->ctx != NULL);
    CHECK_INT(tls->SSL_CTX_ctrl(end->ctx, MMI_SSL_CTRL_SET_MIN_PROTO_VERSION, version, NULL), 1);
    CHECK_INT(tls->SSL_CTX_ctrl(end->ctx, MMI_SSL_CTRL_SET_MAX_PROTO_VERSION, version, NULL), 1);
    (void)tls->SSL_CTX_ctrl(end->ctx, MMI_SSL_CTRL_MODE, modes, NULL);
    tls->SSL_CTX_set_options(end->ctx, MMI_SSL_OP_NO_COMPRESSION | MMI_SSL_OP_NO_RENEGOTIATION |
                                           MMI_SSL_OP_NO_TICKET);
    CHECK_INT(tls->SSL_CTX_set_num_tickets(end->ctx, 0), 1);
    tls->SSL_CTX_set_info_callback(end->ctx, tls_note_alert);
    psk ? tls_use_psk(tls, end->ctx) : tls_use_certificate(tls, end->ctx);
}

static inline void
tls_open(const mmi_openssl *tls, tls_end *end)
{
    end->ssl = tls->SSL_new(end->ctx);
    end->in = tls->BIO_new(tls->BIO_s_mem());
    end->out = tls->BIO_new(tls->BIO_s_mem());
    CHECK(end->ssl != NULL && end->in != NULL && end->out != NULL);
    (void)tls->BIO_ctrl(end->in, MMI_BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
    tls->SSL_set_bio(end->ssl, end->in, end->out);
    CHECK_INT(tls->SSL_set_ex_data(end->ssl, 0, end), 1);
}

/* Contexts and connections of both ends; what a test wants otherwise it changes before tls_join. */
static inline void
tls_pair_init(tls_pair *pair, const mmi_openssl *tls, int version, bool psk)
{
    *pair = (tls_pair){ .tls = tls };
    tls_now_used = tls;
    tls_begin(tls, &pair->server, version, psk);
    tls_begin(tls, &pair->client, version, psk);
    tls_open(tls, &pair->server);
    tls_open(tls, &pair->client);
    tls->SSL_set_accept_state(pair->server.ssl);
    tls->SSL_set_connect_state(pair->client.ssl);
}

static inline void
tls_pair_fini(tls_pair *pair)
{
    tls_end *ends[] = { &pair->server, &pair->client };
    for (int i = 0; i < 2; i++) {
        pair->tls->SSL_free(ends[i]->ssl);   /* and its BIOs */
        pair->tls->SSL_CTX_free(ends[i]->ctx);
    }
}

/* Hands over what one end wrote; whether it was anything. */
static inline bool
tls_carry(tls_pair *pair, tls_end *from, tls_end *to)
{
    uint8_t octets[4096];
    bool any = false;
    size_t got = 0, put = 0;
    while (pair->tls->BIO_ctrl_pending(from->out) > 0) {
        CHECK_INT(pair->tls->BIO_read_ex(from->out, octets, sizeof octets, &got), 1);
        CHECK_INT(pair->tls->BIO_write_ex(to->in, octets, got, &put), 1);
        CHECK_INT(put, got);
        any = true;
    }
    return any;
}

/* Both handshakes, to the end or to an error: whether both are done. */
static inline bool
tls_join(tls_pair *pair)
{
    for (int step = 0; step < TLS_STEPS_MAX; step++) {
        pair->tls->ERR_clear_error();
        (void)pair->tls->SSL_do_handshake(pair->client.ssl);
        bool moved = tls_carry(pair, &pair->client, &pair->server);
        pair->tls->ERR_clear_error();
        (void)pair->tls->SSL_do_handshake(pair->server.ssl);
        moved |= tls_carry(pair, &pair->server, &pair->client);
        if (!moved) {
            break;
        }
    }
    return pair->tls->SSL_is_init_finished(pair->client.ssl) == 1 &&
           pair->tls->SSL_is_init_finished(pair->server.ssl) == 1;
}

/* Sends a text from one end to the other and sees that it came. */
static inline void
tls_say(tls_pair *pair, tls_end *from, tls_end *to, const char *text)
{
    char got[256];
    size_t size = 0;
    CHECK_INT(pair->tls->SSL_write_ex(from->ssl, text, strlen(text), &size), 1);
    CHECK_INT(size, strlen(text));
    CHECK(tls_carry(pair, from, to));
    CHECK_INT(pair->tls->SSL_read_ex(to->ssl, got, sizeof got, &size), 1);
    CHECK_INT(size, strlen(text));
    CHECK(memcmp(got, text, size) == 0);
}

#endif
