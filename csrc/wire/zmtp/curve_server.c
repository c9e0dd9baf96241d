/*
 * wire/zmtp/curve_server.c: the server of CURVE: HELLO and INITIATE, WELCOME and READY; or ERROR.
 *
 * Not here: which command comes, and whether it may (curve.c), who may come in (the answer).
 * Law: the checks of INITIATE stand in the order of what they cost and tell: number, cookie, box,
 * vouch.  A cookie is good on its own connection only, once, and MMI_CURVE_COOKIE_MS.
 */
#include <string.h>

#include "base/octets.h"
#include "wire/zmtp/curve_inside.h"

enum {
    HELLO_VERSION = 6,                   /* offsets in the commands, see curve.h */
    HELLO_PADDING = 8,
    HELLO_KEY = 80,
    HELLO_N = 112,
    HELLO_BOX = 120,
    HELLO_PLAIN = 64,
    WELCOME_BOX = 24,
    WELCOME_PLAIN = MMI_KEY_SIZE + CURVE_COOKIE,
    COOKIE_PLAIN = 2 * MMI_KEY_SIZE,
    INITIATE_COOKIE = 9,
    INITIATE_N = 105,
    INITIATE_BOX = 113,
    VOUCH_PLAIN = 2 * MMI_KEY_SIZE,
    READY_N = 6,
    READY_BOX = 14
};
#define SERVER_REFUSAL                                                                             \
    "\x05"                                                                                         \
    "ERROR\x03"                                                                                    \
    "400"
#define SERVER_NS_PER_MS 1000000u

static bool
server_zeros(const uint8_t *data, size_t size)
{
    uint8_t all = 0;
    for (size_t i = 0; i < size; i++) {
        all |= data[i];
    }
    return all == 0;
}

/* HELLO's box, which is kept apart as each of our keys is tried on it. */
static int
server_open_hello(mmi_curve *c, const uint8_t *body, mmi_refusal *why)
{
    const mmi_curve_config *config = c->config;
    uint8_t box[MMI_BOX_PAD + CURVE_TAG + HELLO_PLAIN];
    uint64_t n = mmi_be64_get(body + HELLO_N);
    for (uint32_t i = 0; i < config->pair_count; i++) {
        if (!mmi_curve_share(c, c->secrets->hello, c->peer_short, config->pairs[i].secret)) {
            return mmi_refuse(why, MM_REASON_CRYPTO, "HELLO has a key of low order");
        }
        memcpy(box + MMI_BOX_PAD, body + HELLO_BOX, CURVE_TAG + HELLO_PLAIN);
        if (mmi_curve_open_n(c, c->secrets->hello, "CurveZMQHELLO---", n, box + MMI_BOX_PAD,
                             HELLO_PLAIN)) {
            c->pair = i;
            c->opened = n;
            return server_zeros(box + MMI_BOX_PLAIN_PAD, HELLO_PLAIN)
                       ? MM_OK
                       : mmi_refuse(why, MM_REASON_CRYPTO, "the box of HELLO has no zeros");
        }
    }
    return mmi_refuse(why, MM_REASON_CRYPTO,
                      "HELLO does not open: the client's server= is not our key");
}

static void
server_welcome(mmi_curve *c)
{
    uint8_t *body = mmi_curve_say(c, CURVE_WELCOME);
    uint8_t *tag = body + WELCOME_BOX, *plain = tag + CURVE_TAG, *cookie = plain + MMI_KEY_SIZE;
    uint8_t *cookie_tag = cookie + CURVE_LONG, *inside = cookie_tag + CURVE_TAG;
    memcpy(inside, c->peer_short, MMI_KEY_SIZE);
    mmi_secret_copy(inside + MMI_KEY_SIZE, c->secrets->ours, MMI_KEY_SIZE);
    /* A secretbox is a box by a key that is shared with oneself: after its DH a box is the same. */
    mmi_curve_seal_long(c, c->secrets->cookie, "COOKIE--", cookie_tag, COOKIE_PLAIN);
    memcpy(plain, c->short_public, MMI_KEY_SIZE);
    mmi_curve_seal_long(c, c->secrets->hello, "WELCOME-", tag, WELCOME_PLAIN);
    memcpy(body, "\x07WELCOME", 8);
    c->state = CURVE_AWAITS_INITIATE;
}

int
mmi_curve_take_hello(mmi_curve *c, uint8_t *body, size_t size, mmi_refusal *why)
{
    (void)size;
    if (body[HELLO_VERSION] != 1 || body[HELLO_VERSION + 1] != 0) {
        return mmi_refuse(why, MM_REASON_HANDSHAKE, "HELLO of version %u.%u, ours is 1.0",
                          body[HELLO_VERSION], body[HELLO_VERSION + 1]);
    }
    if (!server_zeros(body + HELLO_PADDING, HELLO_KEY - HELLO_PADDING)) {
        return mmi_refuse(why, MM_REASON_HANDSHAKE, "the padding of HELLO is not zero");
    }
    memcpy(c->peer_short, body + HELLO_KEY, MMI_KEY_SIZE);
    int rc = server_open_hello(c, body, why);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_curve_random_pair(c);
    c->config->random(c->config->plat, c->secrets->cookie, MMI_KEY_SIZE);
    server_welcome(c);
    return MMI_STEP_MORE;
}

/* The cookie, which comes back once: its key is wiped whatever is in it. */
static int
server_open_cookie(mmi_curve *c, uint8_t *cookie, mmi_refusal *why)
{
    uint8_t *tag = cookie + CURVE_LONG, *inside = tag + CURVE_TAG;
    uint64_t age_ns = c->config->now_ns(c->config->plat) - c->begun_ns;
    bool opens = mmi_curve_open_long(c, c->secrets->cookie, "COOKIE--", tag, COOKIE_PLAIN);
    mmi_wipe(c->secrets->cookie, MMI_KEY_SIZE);
    bool right =
        opens && mmi_secret_equal(inside, c->peer_short, MMI_KEY_SIZE) &
                     mmi_secret_equal(inside + MMI_KEY_SIZE, c->secrets->ours, MMI_KEY_SIZE);
    mmi_wipe(inside, COOKIE_PLAIN);
    if (!right) {
        return mmi_refuse(why, MM_REASON_CRYPTO, "the cookie is not of this connection");
    }
    if (age_ns > (uint64_t)MMI_CURVE_COOKIE_MS * SERVER_NS_PER_MS) {
        return mmi_refuse(why, MM_REASON_HANDSHAKE_TIMEOUT, "INITIATE came over %d ms after HELLO",
                          MMI_CURVE_COOKIE_MS);
    }
    return MM_OK;
}

/* What the client's long-term key signs: that C' is its, and that it wanted us. */
static int
server_open_vouch(mmi_curve *c, uint8_t *vouch, mmi_refusal *why)
{
    uint8_t *tag = vouch + CURVE_LONG, *inside = tag + CURVE_TAG;
    const uint8_t *public = c->config->pairs[c->pair].public;
    if (!mmi_curve_share(c, c->secrets->vouch, c->peer, c->secrets->ours)) {
        return mmi_refuse(why, MM_REASON_CRYPTO, "INITIATE has a key of low order");
    }
    if (!mmi_curve_open_long(c, c->secrets->vouch, "VOUCH---", tag, VOUCH_PLAIN)) {
        return mmi_refuse(why, MM_REASON_CRYPTO, "the vouch does not open");
    }
    bool right = mmi_secret_equal(inside, c->peer_short, MMI_KEY_SIZE) &
                 mmi_secret_equal(inside + MMI_KEY_SIZE, public, MMI_KEY_SIZE);
    return right
               ? MM_OK
               : mmi_refuse(why, MM_REASON_CRYPTO, "the vouch is for another connection or server");
}

static int
server_ready(mmi_curve *c)
{
    c->sealed = 0;
    uint8_t *body = mmi_curve_say(c, CURVE_READY + c->ours_size);
    memcpy(body + CURVE_READY, c->ours, c->ours_size);
    mmi_curve_seal_n(c, c->secrets->messages, "CurveZMQREADY---", ++c->sealed, body + READY_BOX,
                     c->ours_size);
    body = mmi_curve_say(c, CURVE_READY + c->ours_size);   /* the zeros lay on the head, too */
    memcpy(body, "\x05READY", 6);
    mmi_be64_put(body + READY_N, c->sealed);
    return mmi_curve_done(c);
}

int
mmi_curve_take_initiate(mmi_curve *c, uint8_t *body, size_t size, mmi_refusal *why)
{
    uint64_t n = mmi_be64_get(body + INITIATE_N);
    size_t plain_size = size - INITIATE_BOX - CURVE_TAG;
    if (n <= c->opened || n > INT64_MAX) {
        return mmi_refuse(why, MM_REASON_SEQUENCE,
                          "the number of INITIATE is not above that of HELLO");
    }
    int rc = server_open_cookie(c, body + INITIATE_COOKIE, why);
    if (rc != MM_OK) {
        return rc;
    }
    if (!mmi_curve_share(c, c->secrets->messages, c->peer_short, c->secrets->ours) ||
        !mmi_curve_open_n(c, c->secrets->messages, "CurveZMQINITIATE", n, body + INITIATE_BOX,
                          plain_size)) {
        return mmi_refuse(why, MM_REASON_CRYPTO, "INITIATE does not open");
    }
    uint8_t *plain = body + INITIATE_BOX + CURVE_TAG;
    memcpy(c->peer, plain, MMI_KEY_SIZE);
    rc = server_open_vouch(c, plain + MMI_KEY_SIZE, why);
    if (rc != MM_OK) {
        return rc;
    }
    c->opened = n;
    c->metadata_at = (size_t)(plain - c->in.data) + MMI_KEY_SIZE + CURVE_VOUCH;
    c->metadata_size = plain_size - MMI_KEY_SIZE - CURVE_VOUCH;
    c->state = CURVE_AWAITS_ANSWER;
    return c->config->asks ? MMI_STEP_ASK : server_ready(c);
}

int
mmi_curve_take_answer(mmi_curve *c, bool allowed, bool denied, mmi_refusal *why)
{
    if (c->state != CURVE_AWAITS_ANSWER) {
        return mmi_refuse(why, MM_REASON_HANDSHAKE, "an answer that nobody waits for");
    }
    if (allowed) {
        return server_ready(c);
    }
    if (denied) {
        memcpy(mmi_curve_say(c, sizeof SERVER_REFUSAL - 1), SERVER_REFUSAL,
               sizeof SERVER_REFUSAL - 1);
    }
    return mmi_refuse(why, MM_REASON_NOT_ALLOWED, "not let in");
}
