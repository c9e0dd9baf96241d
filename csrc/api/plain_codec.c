/*
 * api/plain_codec.c: PLAIN from outside, for tests and tools: only marshalling.
 *
 * Law: nothing here that wire/zmtp/plain.h does not do by itself.
 */
#include <string.h>

#include "crypto/secret.h"
#include "meshmsg_testing.h"
#include "wire/zmtp/plain.h"

struct mm_codec_plain {
    mmi_plain_config config;
    void *shield;
    mmi_refusal why;
};

mm_codec_plain *
mm_codec_plain_new(const uint8_t *user, size_t user_size, const uint8_t *password,
                   size_t password_size, int asks, const uint8_t *properties, size_t size)
{
    bool fits = user_size <= MMI_PLAIN_NAME_MAX && password_size <= MMI_PLAIN_NAME_MAX;
    mm_codec_plain *p = fits ? mmi_alloc(sizeof *p) : NULL;
    if (p == NULL) {
        return NULL;
    }
    p->config.serves = user == NULL;
    p->config.asks = user == NULL && asks != 0;
    if (user != NULL) {
        p->config.user_size = (uint32_t)user_size;
        p->config.password_size = (uint32_t)password_size;
        memcpy(p->config.user, user, user_size);
        memcpy(p->config.password, password, password_size);
    }
    p->shield = mmi_mechanism_plain.begin(&p->config, false, properties, size, 0);
    if (p->shield == NULL) {
        mmi_free(p);
        return NULL;
    }
    return p;
}

void
mm_codec_plain_free(mm_codec_plain *p)
{
    mmi_mechanism_plain.end(p->shield);
    mmi_wipe(p, sizeof *p);
    mmi_free(p);
}

int
mm_codec_plain_feed(mm_codec_plain *p, const uint8_t *buf, size_t size, size_t *used)
{
    *used = 0;
    return mmi_mechanism_plain.feed(p->shield, buf, size, used, &p->why);
}

int
mm_codec_plain_answer(mm_codec_plain *p, int kind)
{
    const mmi_answer answer = { .kind = kind };
    return mmi_mechanism_plain.answer(p->shield, &answer, &p->why);
}

int
mm_codec_plain_failure(const mm_codec_plain *p, char *detail, size_t size)
{
    size_t part = size < sizeof p->why.detail ? size : sizeof p->why.detail;
    memcpy(detail, p->why.detail, part);
    return p->why.reason;
}

size_t
mm_codec_plain_output(mm_codec_plain *p, uint8_t *out, size_t size)
{
    const uint8_t *from;
    size_t there = mmi_mechanism_plain.output(p->shield, &from);
    size_t part = there < size ? there : size;
    memcpy(out, from, part);
    mmi_mechanism_plain.sent(p->shield, part);
    return part;
}

size_t
mm_codec_plain_properties(const mm_codec_plain *p, uint8_t *out, size_t size)
{
    size_t there;
    const uint8_t *from = mmi_mechanism_plain.metadata(p->shield, &there);
    if (there > 0) {
        memcpy(out, from, there < size ? there : size);
    }
    return there;
}

void
mm_codec_plain_applicant(const mm_codec_plain *p, uint8_t *user, size_t *user_size,
                         uint8_t *password, size_t *password_size)
{
    mmi_applicant who = { .mechanism = NULL };
    mmi_mechanism_plain.applicant(p->shield, &who);
    *user_size = who.user.size;
    *password_size = who.password.size;
    if (who.user.size > 0) {
        memcpy(user, who.user.data, who.user.size);
    }
    if (who.password.size > 0) {
        memcpy(password, who.password.data, who.password.size);
    }
}
