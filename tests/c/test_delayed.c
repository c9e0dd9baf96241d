/*
 * test_delayed.c: messages that are handed out later come out in the order of their times, and
 * what is counted of them.
 * Not here: when a Push asks (tests/sim/test_delayed.py).
 */
#include "queue/delayed.h"

#include "base/limits.h"
#include "check.h"

enum { MANY = 3000, SPAN = 500 };

static mmi_msg *
numbered(uint64_t number, uint32_t attempt)
{
    mmi_msg *m = mmi_msg_copy((const uint8_t *)&number, sizeof number);
    CHECK(m != NULL);
    m->number = number;
    m->origin.attempt = attempt;
    return m;
}

static void
test_they_come_out_by_time_and_then_as_they_came_in(void)
{
    mmi_delayed d = { .count = 0 };
    uint64_t due[MANY], last_due = 0, last_number = 0;
    uint32_t random = 7, taken = 0;
    CHECK_INT(mmi_delayed_next(&d), UINT64_MAX);
    CHECK(mmi_delayed_take(&d, UINT64_MAX) == NULL);
    for (uint64_t i = 0; i < MANY; i++) {
        random = random * 1664525U + 1013904223U;
        due[i] = (random >> 8) % SPAN;
        CHECK_INT(mmi_delayed_add(&d, numbered(i, 0), due[i]), MM_OK);
    }
    for (uint64_t now = 0; now <= SPAN; now++) {
        mmi_msg *m;
        while ((m = mmi_delayed_take(&d, now)) != NULL) {
            CHECK_INT(due[m->number], now);
            CHECK(taken == 0 || due[m->number] > last_due || m->number > last_number);
            last_due = due[m->number];
            last_number = m->number;
            mmi_msg_unref(m);
            taken++;
        }
        CHECK(mmi_delayed_next(&d) > now);
    }
    CHECK_INT(taken, MANY);
    CHECK(d.heap == NULL && d.bytes == 0);   /* the memory was given back */
    mmi_delayed_fini(&d);
}

static void
test_what_came_back_is_counted_apart(void)
{
    mmi_delayed d = { .count = 0 };
    const size_t cost = sizeof(uint64_t) + MMI_FRAME_OVERHEAD;
    for (uint32_t i = 0; i < 6; i++) {
        CHECK_INT(mmi_delayed_add(&d, numbered(i, i % 3), i), MM_OK);   /* 0, 3 were nobody's */
    }
    CHECK(d.count == 6 && d.returned == 4);
    CHECK(d.bytes == 6 * cost && d.returned_bytes == 4 * cost);
    for (uint32_t left = 6; left > 0; left--) {
        mmi_msg *m = mmi_delayed_take(&d, 5);
        CHECK_INT(m->number, 6 - left);
        mmi_msg_unref(m);
        CHECK_INT(d.count, left - 1);
        CHECK_INT(d.bytes, d.count * cost);
        CHECK_INT(d.returned_bytes, d.returned * cost);
    }
    CHECK_INT(d.returned, 0);
}

int
main(void)
{
    RUN(test_they_come_out_by_time_and_then_as_they_came_in);
    RUN(test_what_came_back_is_counted_apart);
    return 0;
}
