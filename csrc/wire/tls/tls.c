/*
 * wire/tls/tls.c: TLS as a table; its handshake.
 *
 * OpenSSL is given the octets of one record after the other, so that those behind its handshake
 * stay the caller's.
 * Not here: records after it (record.c), who is taken (verify.c).
 * Law: before the peer is known it may send MMI_HANDSHAKE_SIZE_MAX octets; after an error nothing
 * is to be written but an alert.
 */
#include <stdio.h>
#include <string.h>

#include "wire/tls/inside.h"

enum {
    TLS_RECORD_ALERT = 0x15,
    TLS_RECORD_HANDSHAKE = 0x16,
    TLS_RECORD_MAJOR = 3,
    TLS_EXCERPT_MAX = 30                 /* octets of what a stranger said that are shown */
};

/* An alert, as the first thing that is said: unexpected_message. */
static const uint8_t tls_unexpected[] = { TLS_RECORD_ALERT, TLS_RECORD_MAJOR, 3, 0, 2, 2, 10 };

static void
tls_end(void *self)
{
    mmi_tls *t = self;
    if (t->ssl != NULL) {
        t->openssl->SSL_free(t->ssl);   /* and its stream */
    }
    mmi_tls_proof_drop(t->proof);
    mmi_tls_context_drop(t->context);
    pthread_mutex_destroy(&t->lock);
    mmi_free(t->said);
    mmi_free(t->came);
    mmi_free(t);
}

static mmi_tls_proof *
proof_new(const mmi_openssl *o, bool dials, uint64_t generation)
{
    mmi_tls_proof *proof = mmi_alloc(sizeof *proof);
    if (proof != NULL) {
        proof->openssl = o;
        proof->dials = dials;
        proof->judged = generation;
        proof->stands = true;   /* or its handshake fails */
        atomic_init(&proof->refs, 1);
        pthread_mutex_init(&proof->lock, NULL);
    }
    return proof;
}

/* Whether who listens wants a certificate; who dials always does. */
static int
tls_verify_mode(const mmi_tls *t)
{
    const mmi_tls_context *c = t->context;
    if (t->dials) {
        return MMI_SSL_VERIFY_PEER;
    }
    return c->clients == MM_CLIENTS_NONE || c->kind == TLS_BY_SECRET ? MMI_SSL_VERIFY_NONE
           : c->clients == MM_CLIENTS_OPTIONAL
               ? MMI_SSL_VERIFY_PEER
               : MMI_SSL_VERIFY_PEER | MMI_SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
}

/* MM_ENOMEM */
static int
tls_open_ssl(mmi_tls *t)
{
    const mmi_openssl *o = t->openssl;
    o->ERR_clear_error();
    t->ssl = o->SSL_new(t->context->ctx);
    struct bio_st *stream = t->ssl != NULL ? mmi_tls_bio(t) : NULL;
    if (stream == NULL) {
        o->ERR_clear_error();
        return MM_ENOMEM;
    }
    o->SSL_set_bio(t->ssl, stream, stream);
    o->SSL_set_verify(t->ssl, tls_verify_mode(t), NULL);
    if (t->dials) {
        o->SSL_set_connect_state(t->ssl);
    } else {
        o->SSL_set_accept_state(t->ssl);
    }
    return o->SSL_set_ex_data(t->ssl, 0, t) == 1 ? MM_OK : MM_ENOMEM;
}

static void *
tls_begin(const void *config, bool dials, const uint8_t *metadata, size_t size, uint64_t frame_max)
{
    (void)metadata, (void)size, (void)frame_max;   /* no wire is known yet */
    mmi_tls *t = mmi_alloc(sizeof *t);
    uint64_t generation;
    if (t == NULL) {
        return NULL;
    }
    pthread_mutex_init(&t->lock, NULL);
    t->config = (mmi_tls_config *)config;   /* for its lock */
    t->context = mmi_tls_config_now(t->config, &generation);
    t->openssl = t->context->world.openssl;
    t->dials = dials;
    t->proof = proof_new(t->openssl, dials, generation);
    if (t->proof == NULL || tls_open_ssl(t) != MM_OK) {
        tls_end(t);
        return NULL;
    }
    return t;
}

static int
tls_may(const void *config, bool dials)
{
    const mmi_tls_config *c = config;
    return (dials ? c->dials : c->serves) ? MM_OK : MM_EINVAL;
}

static int
tls_aim(void *self, const char *host, const char *wire, const mmi_expected *who)
{
    mmi_tls *t = self;
    const mmi_openssl *o = t->openssl;
    uint8_t names[TLS_ALPN_MAX];
    size_t size = strcspn(host, "%");   /* the zone of an address is of this machine only */
    size -= size > 0 && host[size - 1] == '.' ? 1 : 0;
    if (size == 0 || size > TLS_HOST_MAX || host[0] == '.') {
        return MM_EINVAL;
    }
    memcpy(t->proof->host, host, size);
    t->proof->host[size] = '\0';
    if (who != NULL && mmi_tls_node_expect(t, who) != MM_OK) {
        return MM_EINVAL;
    }
    size = mmi_tls_alpn_put(wire, names);
    bool done = o->SSL_set_alpn_protos(t->ssl, names, (unsigned)size) == 0 &&
                (mmi_tls_is_address(t->proof->host) ||
                 o->SSL_ctrl(t->ssl, MMI_SSL_CTRL_SET_TLSEXT_HOSTNAME, 0, t->proof->host) == 1);
    o->ERR_clear_error();
    return done ? MM_OK : MM_ENOMEM;
}

/* The peer picked something that was not offered. */
static bool
alpn_wrong(const mmi_tls *t)
{
    const unsigned char *name = NULL;
    unsigned size = 0;
    t->openssl->SSL_get0_alpn_selected(t->ssl, &name, &size);
    uint8_t sized[TLS_ALPN_MAX];
    if (size == 0) {
        return false;
    }
    if (size >= sizeof sized) {
        return true;
    }
    sized[0] = (uint8_t)size;
    memcpy(sized + 1, name, size);
    return !mmi_tls_alpn_known(sized);
}

/* OpenSSL is done: who is it? */
static int
tls_shaken(mmi_tls *t, mmi_refusal *why)
{
    if (alpn_wrong(t)) {
        return mmi_refuse(why, MM_REASON_MECHANISM, "by ALPN it chose neither " MMI_TLS_ALPN_TEXT);
    }
    int rc = mmi_tls_prove(t, why);
    if (rc != MM_OK) {
        return rc;
    }
    t->state = t->context->asks && !t->dials ? TLS_ASKS : TLS_DONE;
    return t->state == TLS_ASKS ? MMI_STEP_ASK : MMI_STEP_DONE;
}

static int
tls_shake(mmi_tls *t, mmi_refusal *why)
{
    const mmi_openssl *o = t->openssl;
    t->quiet = 0;
    o->ERR_clear_error();
    int rc = o->SSL_do_handshake(t->ssl);
    if (rc == 1) {
        return tls_shaken(t, why);
    }
    return o->SSL_get_error(t->ssl, rc) == MMI_SSL_ERROR_WANT_READ ? MMI_STEP_MORE
                                                                   : mmi_tls_failed(t, why);
}

/* The first octets are of no TLS. */
static int
tls_stranger(const mmi_tls *t, const uint8_t *buf, size_t size, mmi_refusal *why)
{
    char said[TLS_EXCERPT_MAX + 1];
    if (t->heard > 0 || (size > 1 && buf[0] == TLS_RECORD_HANDSHAKE)) {
        return mmi_refuse(why, MM_REASON_TLS_EXPECTED, "its second octet is %02x, and %02x in TLS",
                          buf[t->heard > 0 ? 0 : 1], TLS_RECORD_MAJOR);
    }
    if (buf[0] >= 0x20 && buf[0] < 0x7f) {
        mmi_text_excerpt(said, sizeof said, buf, size < TLS_EXCERPT_MAX ? size : TLS_EXCERPT_MAX);
        return mmi_refuse(why, MM_REASON_TLS_EXPECTED, "it said '%s'", said);
    }
    return mmi_refuse(why, MM_REASON_TLS_EXPECTED, "its first octet is %02x%s", buf[0],
                      buf[0] == 0xff ? ", as of ZMTP without TLS"
                      : buf[0] == 0  ? ", as of SP without TLS"
                                     : "");
}

static bool
tls_first_may_be(const mmi_tls *t, const uint8_t *buf, size_t size)
{
    for (size_t i = 0; i < size && t->heard + i < 2; i++) {
        bool may = t->heard + i == 1
                       ? buf[i] == TLS_RECORD_MAJOR
                       : buf[i] == TLS_RECORD_HANDSHAKE || (t->dials && buf[i] == TLS_RECORD_ALERT);
        if (!may) {
            return false;
        }
    }
    return true;
}

/* As many octets as belong together. */
static int
tls_step(mmi_tls *t, const uint8_t *buf, size_t size, size_t *used, mmi_refusal *why)
{
    size_t part = mmi_tls_records_part(&t->records, size);
    if (!tls_first_may_be(t, buf, size)) {
        if (!t->dials) {   /* so that who dials knows what is spoken here */
            mmi_tls_say(t, tls_unexpected, sizeof tls_unexpected);
        }
        return tls_stranger(t, buf, size, why);
    }
    t->heard += part;
    if (t->heard > MMI_HANDSHAKE_SIZE_MAX) {
        return mmi_refuse(why, MM_REASON_HANDSHAKE, "over %d octets, and it is not done",
                          MMI_HANDSHAKE_SIZE_MAX);
    }
    t->from = buf;
    t->from_size = part;
    int rc = tls_shake(t, why);
    bool all = t->from_size == 0;
    *used += part;
    t->from_size = 0;
    return rc < 0 || all ? rc
                         : mmi_refuse(why, MM_REASON_HANDSHAKE, "a record that nobody waits for");
}

static int
tls_feed(void *self, const uint8_t *buf, size_t size, size_t *used, mmi_refusal *why)
{
    mmi_tls *t = self;
    if (t->state != TLS_BEGUN && t->state != TLS_SHAKES) {
        return mmi_refuse(why, MM_REASON_HANDSHAKE, "octets that nobody waits for");
    }
    int rc = MMI_STEP_MORE;
    if (t->state == TLS_BEGUN) {
        t->state = TLS_SHAKES;
        rc = t->dials ? tls_shake(t, why) : rc;
    }
    while (rc == MMI_STEP_MORE && *used < size) {
        rc = tls_step(t, buf + *used, size - *used, used, why);
    }
    t->state = rc < 0 ? TLS_FAILED : t->state;
    return rc;
}

static int
tls_answer(void *self, const mmi_answer *answer, mmi_refusal *why)
{
    mmi_tls *t = self;
    if (answer->kind == MM_ALLOW) {
        t->state = TLS_DONE;
        return MMI_STEP_DONE;
    }
    if (answer->kind == MM_DENY) {   /* OpenSSL has no function for another alert by now */
        t->openssl->ERR_clear_error();
        (void)t->openssl->SSL_shutdown(t->ssl);
        t->openssl->ERR_clear_error();
    }
    t->state = TLS_FAILED;
    return mmi_refuse(why, answer->reason, "%s", answer->why);
}

static void
tls_applicant(const void *self, mmi_applicant *out)
{
    const struct mmi_tls_proof *proof = ((const mmi_tls *)self)->proof;
    out->version = proof->version;
    out->cipher = proof->cipher;
    if (proof->node) {
        out->key = (mmi_octets){ .data = proof->pin, .size = sizeof proof->pin };
        out->user_id = proof->user_id;
    }
    if (proof->certificate != NULL) {
        out->key = (mmi_octets){ .data = proof->pin, .size = sizeof proof->pin };
        out->certificate = (mmi_octets){ .data = proof->der, .size = proof->der_size };
    }
}

static size_t
tls_output(const void *self, const uint8_t **out)
{
    const mmi_tls *t = self;
    *out = t->said != NULL ? t->said + t->said_at : NULL;
    return t->said_size - t->said_at;
}

static void
tls_sent(void *self, size_t size)
{
    mmi_tls_said_sent(self, size);
}

static const char *
tls_guess(const void *self)
{
    const mmi_tls *t = self;
    switch (t->state) {
    case TLS_ASKS: return "nobody had let it in yet";
    case TLS_DONE: return "it may not let us in";
    default:
        return t->heard > 0 ? t->context->kind == TLS_BY_SECRET
                                  ? t->expects ? "it may not be the node that we expect there"
                                               : "it may have another secret, or none"
                                  : "it may not take our certificate"
               : t->dials   ? "it may not speak TLS there"
                            : "a port scan, a health check, or a peer that gave up";
    }
}

static bool
tls_asks(const void *config)
{
    return ((const mmi_tls_config *)config)->asks;
}

static void
tls_forget(void *config)
{
    mmi_tls_config_drop(config);
}

static bool
tls_stands(void *self)
{
    mmi_tls *t = self;
    return mmi_tls_proof_stands(t->config, t->proof);
}

const mmi_mechanism mmi_mechanism_tls = {
    .name = "TLS",
    .record_max = MMI_TLS_RECORD_MAX,
    .asks = tls_asks,
    .begin = tls_begin,
    .end = tls_end,
    .feed = tls_feed,
    .applicant = tls_applicant,
    .answer = tls_answer,
    .output = tls_output,
    .sent = tls_sent,
    .guess = tls_guess,
    .room = mmi_tls_room,
    .seal = mmi_tls_seal,
    .open = mmi_tls_open,
    .idle = mmi_tls_idle,
    .outer = true,
    .may = tls_may,
    .aim = tls_aim,
    .closed = mmi_tls_closed,
    .farewell = mmi_tls_farewell,
    .stands = tls_stands,
    .forget = tls_forget,
};
