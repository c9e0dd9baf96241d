/*
 * test_timer.c: the heap of deadlines against a plain search for the smallest.
 * Not here: clocks.
 * Law: a timer comes out once, when due, and never after it was cleared.
 */
#include "base/timer.h"
#include "check.h"

enum { TIMERS = 200 };

static void
test_the_earliest_is_next_and_comes_out_when_due(void)
{
    mmi_timers t = { 0 };
    mmi_timer a = { .kind = 1 }, b = { .kind = 2 };
    CHECK(mmi_timers_next(&t) == UINT64_MAX);
    CHECK(mmi_timers_pop_due(&t, UINT64_MAX) == NULL);
    CHECK_INT(mmi_timer_set(&t, &a, 20), MM_OK);
    CHECK_INT(mmi_timer_set(&t, &b, 10), MM_OK);
    CHECK_INT(mmi_timers_next(&t), 10);
    CHECK(mmi_timers_pop_due(&t, 9) == NULL);
    CHECK(mmi_timers_pop_due(&t, 10) == &b);
    CHECK_INT(b.index, 0);
    CHECK(mmi_timers_pop_due(&t, 10) == NULL);
    CHECK(mmi_timers_pop_due(&t, 100) == &a);
    mmi_timers_fini(&t);
}

static void
test_setting_a_set_timer_moves_it_and_needs_no_memory(void)
{
    mmi_timers t = { 0 };
    mmi_timer a = { 0 }, b = { 0 };
    CHECK_INT(mmi_timer_set(&t, &a, 20), MM_OK);
    CHECK_INT(mmi_timer_set(&t, &b, 30), MM_OK);
    mm_test_alloc_fail(1);
    CHECK_INT(mmi_timer_set(&t, &b, 10), MM_OK);
    CHECK_INT(mmi_timers_next(&t), 10);
    CHECK_INT(mmi_timer_set(&t, &b, 40), MM_OK);
    mm_test_alloc_fail(0);
    CHECK_INT(mmi_timers_next(&t), 20);
    CHECK_INT(t.count, 2);
    mmi_timer_clear(&t, &a);
    mmi_timer_clear(&t, &a);
    CHECK_INT(mmi_timers_next(&t), 40);
    mmi_timers_fini(&t);
    CHECK_INT(b.index, 0);
}

static void
test_no_memory_sets_nothing(void)
{
    mmi_timers t = { 0 };
    mmi_timer a = { 0 };
    mm_test_alloc_fail(1);
    CHECK_INT(mmi_timer_set(&t, &a, 20), MM_ENOMEM);
    CHECK(a.index == 0 && t.count == 0);
    CHECK_INT(mmi_timer_set(&t, &a, 20), MM_OK);
    mmi_timers_fini(&t);
}

static uint64_t
model_next(const mmi_timer *timers)
{
    uint64_t next = UINT64_MAX;
    for (int i = 0; i < TIMERS; i++) {
        if (timers[i].index != 0 && timers[i].deadline_ns < next) {
            next = timers[i].deadline_ns;
        }
    }
    return next;
}

static void
test_random_sets_and_clears_keep_the_order(void)
{
    for (uint32_t seed = 1; seed <= 10; seed++) {
        uint32_t state = seed;
        mmi_timers t = { 0 };
        mmi_timer timers[TIMERS];
        memset(timers, 0, sizeof(timers));
        for (int step = 0; step < 5000; step++) {
            mmi_timer *timer = &timers[check_random(&state) % TIMERS];
            uint32_t what = check_random(&state) % 4;
            if (what == 0) {
                mmi_timer_clear(&t, timer);
                CHECK_INT(timer->index, 0);
            } else if (what == 1) {
                uint64_t next = model_next(timers);
                mmi_timer *due = mmi_timers_pop_due(&t, UINT64_MAX - 1);
                CHECK(due == NULL ? next == UINT64_MAX : due->deadline_ns == next);
            } else {
                CHECK_INT(mmi_timer_set(&t, timer, check_random(&state) % 1000), MM_OK);
            }
            CHECK(mmi_timers_next(&t) == model_next(timers));
        }
        mmi_timers_fini(&t);
    }
}

int
main(void)
{
    RUN(test_the_earliest_is_next_and_comes_out_when_due);
    RUN(test_setting_a_set_timer_moves_it_and_needs_no_memory);
    RUN(test_no_memory_sets_nothing);
    RUN(test_random_sets_and_clears_keep_the_order);
    return 0;
}
