/*
 * test_marks.c: numbers that are marked out of order, against a plain array of flags.
 * Not here: what they are of (test_unacked.c).
 */
#include "base/marks.h"
#include "check.h"

enum { NUMBERS = 300000, WINDOW = 2000 };

static bool flags[NUMBERS + 1];

static uint64_t
floor_of(uint64_t from)
{
    while (from < NUMBERS && flags[from + 1]) {
        from++;
    }
    return from;
}

static void
test_marks_are_those_that_were_made_in_whatever_order(void)
{
    static mmi_marks m;
    uint32_t seed = 7;
    uint64_t count = 0, floor = 0;
    while (floor < NUMBERS) {
        uint64_t most = floor + WINDOW < NUMBERS ? floor + WINDOW : NUMBERS;
        uint64_t number = floor + 1 + check_random(&seed) % (most - floor);
        CHECK(mmi_marks_has(&m, number) == flags[number]);
        CHECK(mmi_marks_add(&m, number) == !flags[number]);
        count += !flags[number];
        flags[number] = true;
        floor = floor_of(floor);
        CHECK_INT(m.floor, floor);
        CHECK_INT(m.count, count);
        if (check_random(&seed) % 4096 == 0) {
            mmi_marks_invariants(&m);
        }
    }
    CHECK_INT(mmi_marks_bitmap_size(&m), 0);
}

static void
test_all_up_to_a_number_count_once(void)
{
    static mmi_marks m;
    CHECK_INT(mmi_marks_add_to(&m, 5), 5);
    CHECK_INT(mmi_marks_add_to(&m, 5), 0);
    CHECK_INT(mmi_marks_add_to(&m, 3), 0);
    CHECK(mmi_marks_add(&m, 9));
    CHECK_INT(mmi_marks_add_to(&m, 8), 3);   /* 9 is behind them, so the floor is there */
    CHECK_INT(m.floor, 9);
    CHECK_INT(m.count, 9);
    mmi_marks_invariants(&m);
}

static void
test_a_window_may_be_as_long_as_it_is(void)
{
    static mmi_marks m;
    CHECK(mmi_marks_add(&m, MMI_UNACKED_MAX));
    CHECK_INT(mmi_marks_bitmap_size(&m), MMI_UNACKED_MAX / 8);
    CHECK(!mmi_marks_has(&m, 1) && mmi_marks_has(&m, MMI_UNACKED_MAX));
    CHECK_INT(mmi_marks_add_to(&m, MMI_UNACKED_MAX - 1), MMI_UNACKED_MAX - 1);
    CHECK_INT(m.floor, MMI_UNACKED_MAX);
    mmi_marks_invariants(&m);
}

static void
test_a_bitmap_has_a_bit_for_each_above_the_floor(void)
{
    static mmi_marks m;
    uint8_t out[2];
    CHECK_INT(mmi_marks_add_to(&m, 100), 100);
    CHECK(mmi_marks_add(&m, 102) && mmi_marks_add(&m, 110));
    CHECK_INT(mmi_marks_bitmap_size(&m), 2);
    mmi_marks_bitmap(&m, out);
    CHECK_INT(out[0], 2);      /* 101 is bit 0 */
    CHECK_INT(out[1], 2);      /* 109 is bit 8 */
}

int
main(void)
{
    RUN(test_marks_are_those_that_were_made_in_whatever_order);
    RUN(test_all_up_to_a_number_count_once);
    RUN(test_a_window_may_be_as_long_as_it_is);
    RUN(test_a_bitmap_has_a_bit_for_each_above_the_floor);
    return 0;
}
