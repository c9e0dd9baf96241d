/*
 * fuzz_curve.c: libFuzzer harness of CURVE, both roles, from the first command to messages: whole
 * and in pieces they end the same, and what is opened are frames.
 *
 * The cipher is a stand-in that hides nothing and takes any box whose tag is zeros, so that what is
 * in boxes is fuzzed as well.  The first octet says how the rest is cut, the second which role we
 * are, whether somebody is asked, and what the answer is.
 */
#include <string.h>

#include "wire/zmtp/curve.h"
#include "wire/zmtp/frame.h"

enum { FUZZ_FRAME_MAX = 2000, FUZZ_ROOM = 300, FUZZ_SERVES = 1, FUZZ_ASKS = 2, FUZZ_DENIES = 4 };

typedef struct fuzz_end {
    int rc, reason;
    uint64_t frames, sum;
} fuzz_end;

typedef struct fuzz_side {
    void *shield;
    fuzz_end end;
    mmi_refusal why;
    bool denies;
    uint8_t frame[FUZZ_FRAME_MAX + MMI_FRAMING_HEAD_MAX];   /* of what was opened, so far */
    size_t frame_size;
} fuzz_side;

static int
stand_in_base(uint8_t *q, const uint8_t *n)
{
    memcpy(q, n, MMI_KEY_SIZE);
    return 0;
}

static int
stand_in_share(uint8_t *k, const uint8_t *pk, const uint8_t *sk)
{
    (void)sk;
    memcpy(k, pk, MMI_KEY_SIZE);
    return pk[0] == 0 ? -1 : 0;
}

static int
stand_in_seal(uint8_t *c, const uint8_t *m, unsigned long long size, const uint8_t *n,
              const uint8_t *k)
{
    (void)n, (void)k;
    memmove(c, m, (size_t)size);
    return 0;
}

static int
stand_in_open(uint8_t *m, const uint8_t *c, unsigned long long size, const uint8_t *n,
              const uint8_t *k)
{
    static const uint8_t zeros[MMI_BOX_PLAIN_PAD];
    (void)n, (void)k;
    MMI_ASSERT(size >= MMI_BOX_PLAIN_PAD);
    memmove(m, c, (size_t)size);
    return memcmp(m, zeros, sizeof zeros) == 0 ? 0 : -1;
}

static const mmi_sodium stand_in = { stand_in_base,       stand_in_share, stand_in_seal,
                                     stand_in_open,       stand_in_seal,  stand_in_open,
                                     { NULL, NULL, NULL } };

static void
fuzz_random(void *self, void *buf, size_t size)
{
    (void)self;
    memset(buf, 1, size);
}

static uint64_t
fuzz_now(void *self)
{
    (void)self;
    return 0;
}

/* What was opened must be frames, each whole in the end. */
static void
fuzz_plain(fuzz_side *s, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        mmi_frame_head head;
        s->end.sum = s->end.sum * 31 + data[i] + 1;
        MMI_ASSERT(s->frame_size < sizeof s->frame);
        s->frame[s->frame_size++] = data[i];
        int n = mmi_frame_head_parse(s->frame, s->frame_size, &head);
        MMI_ASSERT(n >= 0);
        if (n > 0 && head.size == s->frame_size - (size_t)n) {
            s->end.frames++;
            s->frame_size = 0;
        }
    }
}

static void
fuzz_open(fuzz_side *s, uint8_t *data, size_t size, size_t room)
{
    uint8_t *out = mmi_alloc(room);
    size_t given;
    int rc;
    do {
        rc = mmi_mechanism_curve.open(s->shield, data, size, out, room, &given, &s->why);
        MMI_ASSERT(given <= room);
        fuzz_plain(s, out, given);
        size = 0;
    } while (rc == MM_OK && given == room);
    mmi_free(out);
    s->end.rc = rc < 0 ? rc : s->end.rc;
    MMI_ASSERT(rc < 0 || !mmi_mechanism_curve.idle(s->shield) || s->frame_size == 0);
}

static void
fuzz_feed(fuzz_side *s, uint8_t *data, size_t size, size_t room)
{
    const mmi_mechanism *m = &mmi_mechanism_curve;
    const uint8_t *out;
    size_t used = 0;
    if (s->end.rc == MMI_STEP_MORE) {
        s->end.rc = m->feed(s->shield, data, size, &used, &s->why);
        MMI_ASSERT(used <= size);
        if (s->end.rc == MMI_STEP_ASK) {
            const mmi_answer answer = { .kind = s->denies ? MM_DENY : MM_ALLOW };
            s->end.rc = m->answer(s->shield, &answer, &s->why);
            MMI_ASSERT((s->end.rc == MMI_STEP_DONE) == !s->denies);
        } else if (s->end.rc < 0) {
            MMI_ASSERT(m->output(s->shield, &out) == 0);
        }
        m->sent(s->shield, m->output(s->shield, &out));
    }
    if (s->end.rc == MMI_STEP_DONE && used < size) {
        fuzz_open(s, data + used, size - used, room);
    }
}

static fuzz_end
fuzz_run(const uint8_t *data, size_t size, size_t piece, size_t room, int kind)
{
    mmi_curve_config config = { .sodium = &stand_in,
                                .random = fuzz_random,
                                .now_ns = fuzz_now,
                                .serves = (kind & FUZZ_SERVES) != 0,
                                .asks = (kind & FUZZ_ASKS) != 0,
                                .pair_count = 1,
                                .pairs = { { .secret = { 3 } } },
                                .server = { 3 } };
    fuzz_side s = { .denies = (kind & FUZZ_DENIES) != 0 };
    MMI_ASSERT(mmi_curve_config_check(&config) == MM_OK);
    s.shield = mmi_mechanism_curve.begin(&config, false, (const uint8_t *)"xy", 2, FUZZ_FRAME_MAX);
    MMI_ASSERT(s.shield != NULL);
    while (size > 0) {
        size_t part = piece < size ? piece : size;
        uint8_t *copy = mmi_alloc(part);
        memcpy(copy, data, part);
        fuzz_feed(&s, copy, part, room);
        mmi_free(copy);
        data += part;
        size -= part;
    }
    s.end.reason = s.end.rc < 0 ? s.why.reason : 0;
    MMI_ASSERT(s.end.rc >= 0 || (s.end.reason != 0 && s.why.detail[0] != '\0'));
    mmi_mechanism_curve.end(s.shield);
    return s.end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) {
        return 0;
    }
    fuzz_end whole = fuzz_run(data + 2, size - 2, size, 1 << 20, data[1]);
    fuzz_end cut = fuzz_run(data + 2, size - 2, 1 + data[0] % 64, 1 + data[0] % FUZZ_ROOM, data[1]);
    MMI_ASSERT(whole.rc == cut.rc && whole.reason == cut.reason);
    MMI_ASSERT(whole.frames == cut.frames && whole.sum == cut.sum);
    return 0;
}
