/*
 * wire/zmtp/curve_client.c: the client of CURVE: HELLO and INITIATE, WELCOME and READY.
 *
 * Not here: which command comes, and whether it may (curve.c).
 * Law: nothing is said of who we are before the server has shown that it has its key.
 */
#include <string.h>

#include "base/octets.h"
#include "wire/zmtp/curve_inside.h"

enum {
    HELLO_KEY = 80,                      /* offsets in the commands, see curve.h */
    HELLO_N = 112,
    HELLO_BOX = 120,
    HELLO_PLAIN = 64,
    WELCOME_BOX = 24,
    WELCOME_PLAIN = MMI_KEY_SIZE + CURVE_COOKIE,
    INITIATE_COOKIE = 9,
    INITIATE_N = 105,
    INITIATE_BOX = 113,
    VOUCH_PLAIN = 2 * MMI_KEY_SIZE,
    READY_N = 6,
    READY_BOX = 14
};

void
mmi_curve_say_hello(mmi_curve *c)
{
    const mmi_curve_config *config = c->config;
    mmi_curve_random_pair(c);
    if (!mmi_curve_share(c, c->secrets->hello, config->server, c->secrets->ours)) {
        c->state = CURVE_FAILED;         /* mmi_curve_config_check refused it */
        return;
    }
    uint8_t *body = mmi_curve_say(c, CURVE_HELLO);
    memset(body, 0, CURVE_HELLO);
    mmi_curve_seal_n(c, c->secrets->hello, "CurveZMQHELLO---", ++c->sealed, body + HELLO_BOX,
                     HELLO_PLAIN);
    memcpy(body, "\x05HELLO\x01\x00", 8);
    memcpy(body + HELLO_KEY, c->short_public, MMI_KEY_SIZE);
    mmi_be64_put(body + HELLO_N, c->sealed);
    c->state = CURVE_AWAITS_WELCOME;
}

/* The vouch, behind C: the server's long-term key is in it, so that it is good nowhere else. */
static void
client_vouch(const mmi_curve *c, uint8_t *vouch)
{
    uint8_t *tag = vouch + CURVE_LONG, *plain = tag + CURVE_TAG;
    memcpy(plain, c->short_public, MMI_KEY_SIZE);
    memcpy(plain + MMI_KEY_SIZE, c->config->server, MMI_KEY_SIZE);
    mmi_curve_seal_long(c, c->secrets->vouch, "VOUCH---", tag, VOUCH_PLAIN);
}

static void
client_initiate(mmi_curve *c, const uint8_t *public, const uint8_t *cookie)
{
    uint8_t *body = mmi_curve_say(c, CURVE_INITIATE + c->ours_size);
    uint8_t *plain = body + INITIATE_BOX + CURVE_TAG;
    memcpy(plain, public, MMI_KEY_SIZE);
    client_vouch(c, plain + MMI_KEY_SIZE);
    memcpy(plain + MMI_KEY_SIZE + CURVE_VOUCH, c->ours, c->ours_size);
    mmi_curve_seal_n(c, c->secrets->messages, "CurveZMQINITIATE", ++c->sealed, body + INITIATE_BOX,
                     MMI_KEY_SIZE + CURVE_VOUCH + c->ours_size);
    memcpy(body, "\x08INITIATE", 9);
    memcpy(body + INITIATE_COOKIE, cookie, CURVE_COOKIE);
    mmi_be64_put(body + INITIATE_N, c->sealed);
    c->state = CURVE_AWAITS_READY;
}

/* Who we are: a client without a key of its own is somebody else each time.  The secret key, and
 * the public one in *public. */
static const uint8_t *
client_key(const mmi_curve *c, uint8_t public[MMI_KEY_SIZE])
{
    if (c->config->pair_count > 0) {
        memcpy(public, c->config->pairs[0].public, MMI_KEY_SIZE);
        return c->config->pairs[0].secret;
    }
    c->config->random(c->config->plat, c->secrets->drawn, MMI_KEY_SIZE);
    (void)c->config->sodium->scalarmult_base(public, c->secrets->drawn);
    mmi_wipe_stack();
    return c->secrets->drawn;
}

int
mmi_curve_take_welcome(mmi_curve *c, uint8_t *body, size_t size, mmi_refusal *why)
{
    (void)size;
    if (!mmi_curve_open_long(c, c->secrets->hello, "WELCOME-", body + WELCOME_BOX, WELCOME_PLAIN)) {
        return mmi_refuse(why, MM_REASON_CRYPTO, "WELCOME does not open: not our server");
    }
    const uint8_t *plain = body + WELCOME_BOX + CURVE_TAG;
    uint8_t public[MMI_KEY_SIZE];
    const uint8_t *secret = client_key(c, public);
    memcpy(c->peer_short, plain, MMI_KEY_SIZE);
    bool shared = mmi_curve_share(c, c->secrets->messages, c->peer_short, c->secrets->ours) &&
                  mmi_curve_share(c, c->secrets->vouch, c->peer_short, secret);
    mmi_wipe(c->secrets->drawn, MMI_KEY_SIZE);
    if (!shared) {
        return mmi_refuse(why, MM_REASON_CRYPTO, "WELCOME has a key of low order");
    }
    memcpy(c->peer, c->config->server, MMI_KEY_SIZE);
    client_initiate(c, public, plain + MMI_KEY_SIZE);
    return MMI_STEP_MORE;
}

int
mmi_curve_take_ready(mmi_curve *c, uint8_t *body, size_t size, mmi_refusal *why)
{
    uint64_t n = mmi_be64_get(body + READY_N);
    size_t plain_size = size - CURVE_READY;
    if (n > INT64_MAX) {
        return mmi_refuse(why, MM_REASON_SEQUENCE, "READY has a number over 2^63 - 1");
    }
    if (!mmi_curve_open_n(c, c->secrets->messages, "CurveZMQREADY---", n, body + READY_BOX,
                          plain_size)) {
        return mmi_refuse(why, MM_REASON_CRYPTO, "READY does not open");
    }
    c->opened = n;
    c->metadata_at = (size_t)(body - c->in.data) + READY_BOX + CURVE_TAG;
    c->metadata_size = plain_size;
    return mmi_curve_done(c);
}
