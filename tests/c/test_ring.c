/*
 * test_ring.c: the bounded queue, at its limits and against a plain array.
 * Not here: who waits for room.
 * Law: every step compares count, bytes and order with the model.
 */
#include "base/limits.h"
#include "fake.h"

static mmi_msg *
ring_msg(size_t size)
{
    uint64_t frame_size = size;
    mmi_msg *m = mmi_msg_new(&frame_size, 1);
    CHECK(m != NULL);
    return m;
}

static void
test_count_limit_minus_one_limit_and_one_more(void)
{
    mmi_ring r;
    mmi_ring_init(&r, 3, SIZE_MAX);
    mmi_msg *m = ring_msg(1);
    for (int i = 0; i < 3; i++) {
        CHECK(mmi_ring_fits(&r, 65));
        CHECK_INT(mmi_ring_push(&r, mmi_msg_ref(m)), MM_OK);
    }
    CHECK(!mmi_ring_fits(&r, 65));
    CHECK_INT(mmi_ring_push(&r, m), MM_EAGAIN);
    CHECK_INT(r.count, 3);
    mmi_msg_unref(mmi_ring_pop(&r));
    CHECK_INT(mmi_ring_push(&r, m), MM_OK);
    mmi_ring_fini(&r);
}

static void
test_byte_limit_minus_one_limit_and_one_more(void)
{
    for (int over = -1; over <= 1; over++) {
        mmi_ring r;
        mmi_ring_init(&r, 100, 1000);
        CHECK_INT(mmi_ring_push(&r, ring_msg(400 - MMI_FRAME_OVERHEAD)), MM_OK);
        mmi_msg *m = ring_msg((size_t)(600 + over - MMI_FRAME_OVERHEAD));
        int rc = mmi_ring_push(&r, m);
        CHECK_INT(rc, over > 0 ? MM_EAGAIN : MM_OK);
        CHECK_INT(r.bytes, rc == MM_OK ? 1000 + over : 400);
        if (rc != MM_OK) {
            mmi_msg_unref(m);
        }
        mmi_ring_fini(&r);
    }
}

static void
test_an_empty_ring_takes_one_message_of_any_size(void)
{
    mmi_ring r;
    mmi_ring_init(&r, 10, 100);
    CHECK_INT(mmi_ring_push(&r, ring_msg(5000)), MM_OK);
    CHECK(!mmi_ring_fits(&r, 0));
    CHECK(!mmi_ring_low(&r));
    mmi_msg_unref(mmi_ring_pop(&r));
    CHECK_INT(r.bytes, 0);
    CHECK(mmi_ring_low(&r));
    CHECK(mmi_ring_pop(&r) == NULL);
    mmi_ring_fini(&r);
}

static void
test_low_is_half_of_both_limits(void)
{
    mmi_ring r;
    mmi_ring_init(&r, 4, 1000);
    CHECK_INT(mmi_ring_push(&r, ring_msg(0)), MM_OK);
    CHECK_INT(mmi_ring_push(&r, ring_msg(0)), MM_OK);
    CHECK(mmi_ring_low(&r));
    CHECK_INT(mmi_ring_push(&r, ring_msg(0)), MM_OK);
    CHECK(!mmi_ring_low(&r));
    mmi_msg_unref(mmi_ring_pop(&r));
    mmi_msg_unref(mmi_ring_pop(&r));
    CHECK_INT(mmi_ring_push(&r, ring_msg(500)), MM_OK);
    CHECK(!mmi_ring_low(&r));
    mmi_ring_fini(&r);
}

static void
test_no_memory_leaves_the_ring_as_it_was(void)
{
    mmi_ring r;
    mmi_ring_init(&r, 1000, SIZE_MAX);
    mmi_msg *m = ring_msg(1);
    for (uint32_t i = 0; i < 100; i++) {
        mm_test_alloc_fail(1);
        int rc = mmi_ring_push(&r, m);
        mm_test_alloc_fail(0);
        CHECK(rc == MM_OK || rc == MM_ENOMEM);
        if (rc == MM_ENOMEM) {
            CHECK_INT(r.count, i);
            CHECK_INT(mmi_ring_reserve(&r), MM_OK);
            mm_test_alloc_fail(1);
            CHECK_INT(mmi_ring_push(&r, m), MM_OK);
            mm_test_alloc_fail(0);
        }
        mmi_msg_ref(m);
    }
    mmi_ring_fini(&r);
    mmi_msg_unref(m);
}

static void
test_a_ring_that_was_long_costs_nothing_when_it_is_empty(void)
{
    mmi_ring r;
    mmi_ring_init(&r, 1000, SIZE_MAX);
    mmi_msg *m = ring_msg(1);
    for (int i = 0; i < 1000; i++) {
        CHECK_INT(mmi_ring_push(&r, mmi_msg_ref(m)), MM_OK);
    }
    for (int i = 0; i < 1000; i++) {
        CHECK(r.cap == 1024);
        mmi_msg_unref(mmi_ring_pop(&r));
    }
    CHECK(r.cap == 0 && r.slots == NULL);
    CHECK_INT(mmi_ring_push(&r, m), MM_OK);
    CHECK(mmi_ring_pop(&r) == m);
    mmi_ring_fini(&r);
    mmi_msg_unref(m);
}

static void
model_step(mmi_ring *r, mmi_msg **model, uint32_t *count, uint32_t *seed)
{
    uint32_t what = check_random(seed) % 8;
    mmi_msg *m = NULL, *wanted = NULL;
    if (what < 4) {
        m = ring_msg(check_random(seed) % 200);
        if (mmi_ring_push(r, m) == MM_OK) {
            model[(*count)++] = m;
        } else {
            CHECK(*count >= 50 || r->bytes + mmi_msg_cost(m) > 6000);
            mmi_msg_unref(m);
        }
        return;
    }
    if (*count == 0) {
        CHECK(mmi_ring_pop(r) == NULL);
        return;
    }
    uint32_t i = what == 4 ? check_random(seed) % *count : 0;
    wanted = model[i];
    CHECK(mmi_ring_at(r, i) == wanted);
    m = what == 4 ? mmi_ring_remove_at(r, i) : mmi_ring_pop(r);
    CHECK(m == wanted);
    memmove(model + i, model + i + 1, (*count - i - 1) * sizeof(*model));
    (*count)--;
    mmi_msg_unref(m);
}

static void
test_a_ring_behaves_like_a_list(void)
{
    for (uint32_t seed = 1; seed <= 20; seed++) {
        uint32_t state = seed, count = 0;
        mmi_msg *model[64];
        mmi_ring r;
        mmi_ring_init(&r, 50, 6000);
        for (int step = 0; step < 2000; step++) {
            model_step(&r, model, &count, &state);
            size_t bytes = 0;
            for (uint32_t i = 0; i < count; i++) {
                CHECK(mmi_ring_at(&r, i) == model[i]);
                bytes += mmi_msg_cost(model[i]);
            }
            CHECK(r.count == count && r.bytes == bytes);
        }
        mmi_ring_fini(&r);
    }
}

int
main(void)
{
    RUN(test_count_limit_minus_one_limit_and_one_more);
    RUN(test_byte_limit_minus_one_limit_and_one_more);
    RUN(test_an_empty_ring_takes_one_message_of_any_size);
    RUN(test_low_is_half_of_both_limits);
    RUN(test_no_memory_leaves_the_ring_as_it_was);
    RUN(test_a_ring_that_was_long_costs_nothing_when_it_is_empty);
    RUN(test_a_ring_behaves_like_a_list);
    return 0;
}
