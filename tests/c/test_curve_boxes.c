/*
 * test_curve_boxes.c: messages of CURVE are the same whether the library gives out the pieces of a
 * box or not.
 * Not here: the octets (tests/unit/test_curve_*.py), pieces (test_sodium.c).
 * Law: a side knows nothing of how the other one makes its boxes.
 */
#include "check.h"
#include "plat/library.h"
#include "wire/zmtp/curve.h"

enum { SIZES = 700, ROOM = 2000 };

static uint8_t drawn;
static const uint8_t no_properties[1];

static void
draw(void *plat, void *buf, size_t size)
{
    (void)plat;
    for (size_t i = 0; i < size; i++) {
        ((uint8_t *)buf)[i] = ++drawn;
    }
}

static uint64_t
now(void *plat)
{
    (void)plat;
    return 1;
}

/* What one has to say, to the other. */
static int
say(void *from, void *to)
{
    const mmi_mechanism *m = &mmi_mechanism_curve;
    const uint8_t *out;
    mmi_refusal why = { .reason = 0 };
    size_t size = m->output(from, &out), used = 0;
    int rc = m->feed(to, out, size, &used, &why);
    CHECK_INT(used, size);
    m->sent(from, size);
    return rc;
}

static void
pass(void *from, void *to, size_t size)
{
    const mmi_mechanism *m = &mmi_mechanism_curve;
    uint8_t frame[ROOM] = { 0 }, sealed[ROOM], opened[ROOM];
    size_t head = size > 255 ? 9 : 2, all = head + size;
    frame[0] = size > 255 ? 2 : 0;
    for (size_t i = 0; i < head - 1; i++) {
        frame[head - 1 - i] = (uint8_t)(i < 8 ? size >> (8 * i) : 0);
    }
    memset(frame + head, (int)size, size);
    mmi_refusal why = { .reason = 0 };
    int64_t n = m->seal(from, frame, &all, sealed);
    CHECK(n > 0 && all == head + size);
    size_t given = 0;
    CHECK_INT(m->open(to, sealed, (size_t)n, opened, sizeof opened, &given, &why), MM_OK);
    CHECK_INT(given, head + size);
    CHECK(memcmp(opened, frame, head + size) == 0);
}

static void
both_ways(const mmi_sodium *one, const mmi_sodium *other)
{
    const mmi_mechanism *m = &mmi_mechanism_curve;
    mmi_curve_config served = { .sodium = one,
                                .random = draw,
                                .now_ns = now,
                                .serves = 1,
                                .pair_count = 1,
                                .pairs = { { .secret = { 1 } } } };
    CHECK_INT(mmi_curve_config_check(&served), MM_OK);
    mmi_curve_config called = { .sodium = other, .random = draw, .now_ns = now };
    memcpy(called.server, served.pairs[0].public, MMI_KEY_SIZE);
    CHECK_INT(mmi_curve_config_check(&called), MM_OK);
    void *server = m->begin(&served, false, no_properties, 0, SIZES);
    void *client = m->begin(&called, true, no_properties, 0, SIZES);
    CHECK_INT(say(client, server), MMI_STEP_MORE);
    CHECK_INT(say(server, client), MMI_STEP_MORE);
    CHECK_INT(say(client, server), MMI_STEP_DONE);
    CHECK_INT(say(server, client), MMI_STEP_DONE);
    for (size_t size = 0; size <= SIZES; size++) {
        pass(client, server, size);
        pass(server, client, size);
    }
    m->end(server);
    m->end(client);
}

static void
test_sides_with_pieces_and_without_them_understand_each_other(void)
{
    mmi_sodium whole = *mmi_sodium_get(), boxes = whole;
    boxes.pieces = (mmi_sodium_pieces){ .hsalsa20 = NULL };
    both_ways(&whole, &whole);
    both_ways(&whole, &boxes);
    both_ways(&boxes, &whole);
    both_ways(&boxes, &boxes);
}

int
main(void)
{
    if (mmi_sodium_get() == NULL) {
        printf("no libsodium: %s\n", mmi_sodium_missing());
        return 0;
    }
    RUN(test_sides_with_pieces_and_without_them_understand_each_other);
    return 0;
}
