/*
 * api/curve_codec.c: CURVE from outside, for tests and tools: only marshalling, and a world of one
 * connection: what is drawn as random, and how late it is, is given.
 *
 * Law: nothing here that wire/zmtp/curve.h does not do by itself.
 */
#include <string.h>

#include "meshmsg_testing.h"
#include "plat/library.h"
#include "wire/zmtp/curve.h"
#include "wire/zmtp/curve_inside.h"

struct mm_codec_curve {
    mmi_curve_config config;
    mmi_curve *shield;
    mmi_refusal why;
    uint64_t now_ns;
    const uint8_t *drawn;                /* behind this struct */
    size_t drawn_left;
};

enum { CURVE_NS_PER_MS = 1000000 };

static void
curve_drawn(void *self, void *buf, size_t size)
{
    mm_codec_curve *c = self;
    size_t part = size < c->drawn_left ? size : c->drawn_left;
    memset(buf, 0, size);
    memcpy(buf, c->drawn, part);
    c->drawn += part;
    c->drawn_left -= part;
}

static uint64_t
curve_now(void *self)
{
    return ((mm_codec_curve *)self)->now_ns;
}

mm_codec_curve *
mm_codec_curve_new(const uint8_t *secrets, uint32_t count, const uint8_t *server, int asks,
                   const uint8_t *properties, size_t size, uint64_t frame_max, const uint8_t *drawn,
                   size_t drawn_size)
{
    const mmi_sodium *sodium = mmi_sodium_get();
    mm_codec_curve *c = sodium == NULL ? NULL : mmi_alloc(sizeof *c + drawn_size);
    if (c == NULL) {
        return NULL;
    }
    c->config = (mmi_curve_config){ .sodium = sodium,
                                    .plat = c,
                                    .random = curve_drawn,
                                    .now_ns = curve_now,
                                    .serves = server == NULL,
                                    .asks = asks != 0,
                                    .pair_count = count };
    for (uint32_t i = 0; i < count && i < MMI_CURVE_KEYS_MAX; i++) {
        memcpy(c->config.pairs[i].secret, secrets + (size_t)i * MMI_KEY_SIZE, MMI_KEY_SIZE);
    }
    if (server != NULL) {
        memcpy(c->config.server, server, MMI_KEY_SIZE);
    }
    memcpy(c + 1, drawn, drawn_size);
    c->drawn = (const uint8_t *)(c + 1);
    c->drawn_left = drawn_size;
    if (size <= MMI_CURVE_METADATA_MAX && mmi_curve_config_check(&c->config) == MM_OK) {
        c->shield = mmi_mechanism_curve.begin(&c->config, false, properties, size, frame_max);
    }
    if (c->shield == NULL) {
        mmi_free(c);
        return NULL;
    }
    return c;
}

void
mm_codec_curve_free(mm_codec_curve *c)
{
    mmi_mechanism_curve.end(c->shield);
    mmi_free(c);
}

int
mm_codec_curve_feed(mm_codec_curve *c, const uint8_t *buf, size_t size, size_t *used)
{
    *used = 0;
    return mmi_mechanism_curve.feed(c->shield, buf, size, used, &c->why);
}

int
mm_codec_curve_answer(mm_codec_curve *c, int kind)
{
    const mmi_answer answer = { .kind = kind };
    return mmi_mechanism_curve.answer(c->shield, &answer, &c->why);
}

int
mm_codec_curve_failure(const mm_codec_curve *c, char *detail, size_t size)
{
    size_t part = size < sizeof c->why.detail ? size : sizeof c->why.detail;
    memcpy(detail, c->why.detail, part);
    return c->why.reason;
}

size_t
mm_codec_curve_output(mm_codec_curve *c, uint8_t *out, size_t size)
{
    const uint8_t *from;
    size_t there = mmi_mechanism_curve.output(c->shield, &from);
    size_t part = there < size ? there : size;
    memcpy(out, from, part);
    mmi_mechanism_curve.sent(c->shield, part);
    return part;
}

size_t
mm_codec_curve_peer(const mm_codec_curve *c, uint8_t *properties, size_t size, uint8_t *key)
{
    size_t there;
    mmi_applicant who = { .mechanism = NULL };
    const uint8_t *from = mmi_mechanism_curve.metadata(c->shield, &there);
    memcpy(properties, from, there < size ? there : size);
    mmi_mechanism_curve.applicant(c->shield, &who);
    memcpy(key, who.key.data, MMI_KEY_SIZE);
    return there;
}

int64_t
mm_codec_curve_seal(mm_codec_curve *c, const uint8_t *plain, size_t *size, uint8_t *out)
{
    return mmi_mechanism_curve.seal(c->shield, plain, size, out);
}

int
mm_codec_curve_open(mm_codec_curve *c, const uint8_t *in, size_t size, uint8_t *out, size_t cap,
                    size_t *given)
{
    uint8_t *copy = mmi_alloc(size + 1);   /* it is opened where it lies */
    *given = 0;
    if (copy == NULL) {
        return MM_ENOMEM;
    }
    memcpy(copy, in, size);
    int rc = mmi_mechanism_curve.open(c->shield, copy, size, out, cap, given, &c->why);
    mmi_free(copy);
    return rc;
}

void
mm_codec_curve_number(mm_codec_curve *c, uint64_t sealed, uint64_t opened)
{
    c->shield->sealed = sealed;
    c->shield->opened = opened;
}

void
mm_codec_curve_later(mm_codec_curve *c, uint64_t ms)
{
    c->now_ns += ms * CURVE_NS_PER_MS;
}

uint64_t
mm_codec_curve_held(const mm_codec_curve *c, int *idle)
{
    const mmi_curve *s = c->shield;
    *idle = mmi_mechanism_curve.idle(s);
    return s->in.cap + s->half.cap + s->came.cap;
}
