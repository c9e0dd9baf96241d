/*
 * wire/zmtp/curve_box.c: boxes of CURVE, in place; what both roles say and forget in the same way;
 * and memory that grows with what came.
 *
 * NaCl's calls want 16 zeros in front of the tag, and in each command something stands there that
 * is written last or was read before.
 * Not here: what is in the boxes (curve_client.c, curve_server.c, curve_message.c).
 * Law: nothing of the peer's is used before its box opened.
 */
#include <string.h>

#include "base/octets.h"
#include "wire/zmtp/curve_inside.h"

enum {
    CURVE_SHORT = 8,                     /* octets of an n */
    CURVE_GROWS_FROM = 256               /* octets of a block at first */
};

static const char CURVE_OF_CLIENT[] = "CurveZMQMESSAGEC", CURVE_OF_SERVER[] = "CurveZMQMESSAGES";

static void
curve_seal(const mmi_curve *c, const uint8_t *key, const uint8_t *nonce, uint8_t *tag,
           size_t plain_size)
{
    uint8_t *padded = tag - MMI_BOX_PAD;
    memset(padded, 0, MMI_BOX_PLAIN_PAD);
    (void)c->config->sodium->box_afternm(padded, padded, MMI_BOX_PLAIN_PAD + plain_size, nonce,
                                         key);
}

static bool
curve_open(const mmi_curve *c, const uint8_t *key, const uint8_t *nonce, uint8_t *tag,
           size_t plain_size)
{
    uint8_t *padded = tag - MMI_BOX_PAD;
    memset(padded, 0, MMI_BOX_PAD);
    return c->config->sodium->box_open_afternm(padded, padded, MMI_BOX_PLAIN_PAD + plain_size,
                                               nonce, key) == 0;
}

static void
curve_nonce(uint8_t nonce[MMI_NONCE_SIZE], const char *prefix, uint64_t n)
{
    memcpy(nonce, prefix, CURVE_PREFIX);
    mmi_be64_put(nonce + CURVE_PREFIX, n);
}

void
mmi_curve_seal_n(const mmi_curve *c, const uint8_t *key, const char *prefix, uint64_t n,
                 uint8_t *tag, size_t plain_size)
{
    uint8_t nonce[MMI_NONCE_SIZE];
    curve_nonce(nonce, prefix, n);
    curve_seal(c, key, nonce, tag, plain_size);
}

bool
mmi_curve_open_n(const mmi_curve *c, const uint8_t *key, const char *prefix, uint64_t n,
                 uint8_t *tag, size_t plain_size)
{
    uint8_t nonce[MMI_NONCE_SIZE];
    curve_nonce(nonce, prefix, n);
    return curve_open(c, key, nonce, tag, plain_size);
}

void
mmi_curve_seal_long(const mmi_curve *c, const uint8_t *key, const char *prefix, uint8_t *tag,
                    size_t plain_size)
{
    uint8_t nonce[MMI_NONCE_SIZE];
    memcpy(nonce, prefix, CURVE_LONG_PREFIX);
    c->config->random(c->config->plat, nonce + CURVE_LONG_PREFIX, CURVE_LONG);
    curve_seal(c, key, nonce, tag, plain_size);
    memcpy(tag - CURVE_LONG, nonce + CURVE_LONG_PREFIX, CURVE_LONG);
}

bool
mmi_curve_open_long(const mmi_curve *c, const uint8_t *key, const char *prefix, uint8_t *tag,
                    size_t plain_size)
{
    uint8_t nonce[MMI_NONCE_SIZE];
    memcpy(nonce, prefix, CURVE_LONG_PREFIX);
    memcpy(nonce + CURVE_LONG_PREFIX, tag - CURVE_LONG, CURVE_LONG);
    return curve_open(c, key, nonce, tag, plain_size);
}

bool
mmi_curve_share(const mmi_curve *c, uint8_t *key, const uint8_t *public, const uint8_t *secret)
{
    bool shared = c->config->sodium->box_beforenm(key, public, secret) == 0;
    mmi_wipe_stack();
    return shared;
}

void
mmi_curve_random_pair(mmi_curve *c)
{
    c->config->random(c->config->plat, c->secrets->ours, MMI_KEY_SIZE);
    (void)c->config->sodium->scalarmult_base(c->short_public, c->secrets->ours);
    mmi_wipe_stack();
}

uint8_t *
mmi_curve_say(mmi_curve *c, size_t size)
{
    size_t head = mmi_frame_head_put(c->out, MMI_FRAME_COMMAND, size);
    c->out_sent = 0;
    c->out_size = head + size;
    return c->out + head;
}

/* What all nonces of a direction begin with goes into a key of its own. */
static void
curve_messages_begin(mmi_curve *c)
{
    const mmi_sodium *sodium = c->config->sodium;
    mmi_curve_secrets *s = c->secrets;
    const char *ours = c->config->serves ? CURVE_OF_SERVER : CURVE_OF_CLIENT;
    const char *theirs = c->config->serves ? CURVE_OF_CLIENT : CURVE_OF_SERVER;
    if (mmi_sodium_has_pieces(sodium)) {
        mmi_sodium_subkey(sodium, s->seals, s->messages, (const uint8_t *)ours);
        mmi_sodium_subkey(sodium, s->opens, s->messages, (const uint8_t *)theirs);
        mmi_wipe(s->messages, sizeof s->messages);
    }
}

int
mmi_curve_done(mmi_curve *c)
{
    mmi_curve_secrets *s = c->secrets;
    mmi_wipe(s->ours, sizeof s->ours);
    mmi_wipe(s->hello, sizeof s->hello);
    mmi_wipe(s->vouch, sizeof s->vouch);
    curve_messages_begin(c);
    c->state = CURVE_DONE;
    return MMI_STEP_DONE;
}

void
mmi_curve_seal_message(const mmi_curve *c, uint64_t n, uint8_t *tag, size_t plain_size)
{
    const mmi_sodium *sodium = c->config->sodium;
    if (mmi_sodium_has_pieces(sodium)) {
        uint8_t nonce[CURVE_SHORT];
        mmi_be64_put(nonce, n);
        mmi_sodium_seal(sodium, tag - MMI_BOX_PAD, MMI_BOX_PLAIN_PAD + plain_size, nonce,
                        c->secrets->seals);
        return;
    }
    mmi_curve_seal_n(c, c->secrets->messages, c->config->serves ? CURVE_OF_SERVER : CURVE_OF_CLIENT,
                     n, tag, plain_size);
}

bool
mmi_curve_open_message(const mmi_curve *c, uint64_t n, uint8_t *tag, size_t plain_size)
{
    const mmi_sodium *sodium = c->config->sodium;
    if (mmi_sodium_has_pieces(sodium)) {
        uint8_t nonce[CURVE_SHORT];
        mmi_be64_put(nonce, n);
        return mmi_sodium_open(sodium, tag - MMI_BOX_PAD, MMI_BOX_PLAIN_PAD + plain_size, nonce,
                               c->secrets->opens);
    }
    return mmi_curve_open_n(c, c->secrets->messages,
                            c->config->serves ? CURVE_OF_CLIENT : CURVE_OF_SERVER, n, tag,
                            plain_size);
}

/* Octets that are done with make room first. */
static void
curve_compact(mmi_curve_octets *o)
{
    if (o->at > 0) {
        memmove(o->data, o->data + o->at, o->size - o->at);
        o->size -= o->at;
        o->at = 0;
    }
}

int
mmi_curve_append(mmi_curve_octets *o, const uint8_t *data, size_t size)
{
    if (size == 0) {
        return MM_OK;
    }
    if (size > o->cap - o->size) {
        curve_compact(o);
    }
    if (size > o->cap - o->size) {
        size_t cap = o->cap == 0 ? (size_t)CURVE_GROWS_FROM : o->cap;
        while (cap < o->size + size) {
            cap *= 2;
        }
        uint8_t *grown = mmi_realloc(o->data, cap);
        if (grown == NULL) {
            return MM_ENOMEM;
        }
        o->data = grown;
        o->cap = cap;
    }
    memcpy(o->data + o->size, data, size);
    o->size += size;
    return MM_OK;
}

void
mmi_curve_free(mmi_curve_octets *o)
{
    mmi_free(o->data);
    *o = (mmi_curve_octets){ .data = NULL };
}
