/*
 * test_overdue.c: which messages a peer has had for too long, beside a table that remembers when
 * each was written or extended.
 * Not here: what becomes of them (tests/sim/test_ack_timeouts.py).
 */
#include "queue/overdue.h"

#include "check.h"

enum { TIMEOUT = 800, LOOK = TIMEOUT / MMI_OVERDUE_PART, NUMBERS = 4000, STEPS = 20000 };

static uint32_t seed;

static uint32_t
drawn(uint32_t below)
{
    seed = seed * 1664525U + 1013904223U;
    return (seed >> 8) % below;
}

static void
test_what_was_written_is_overdue_once_and_never_early(void)
{
    mmi_overdue *o = mmi_overdue_new(TIMEOUT);
    mmi_marks done = { .floor = 0 };
    CHECK(o != NULL);
    mmi_overdue_look(o, 3, 1000);
    CHECK_INT(mmi_overdue_take(o, &done, 1000 + TIMEOUT - 1), 0);
    mmi_overdue_look(o, 5, 1000 + TIMEOUT);
    for (uint64_t number = 1; number <= 3; number++) {
        CHECK_INT(mmi_overdue_take(o, &done, 1000 + TIMEOUT), number);
    }
    CHECK_INT(mmi_overdue_take(o, &done, 1000 + TIMEOUT), 0);
    CHECK_INT(mmi_marks_add_to(&done, 4), 4);
    mmi_overdue_look(o, 5, 1000 + 2 * TIMEOUT);
    CHECK_INT(mmi_overdue_take(o, &done, 1000 + 2 * TIMEOUT), 5);
    mmi_overdue_free(o);
    mmi_overdue_free(NULL);
}

static void
test_what_is_extended_has_its_time_anew(void)
{
    mmi_overdue *o = mmi_overdue_new(TIMEOUT);
    mmi_marks done = { .floor = 0 };
    mmi_overdue_look(o, 2, 0);
    CHECK_INT(mmi_overdue_extend(o, &done, 1, TIMEOUT / 2), MM_OK);
    mmi_overdue_look(o, 2, TIMEOUT);
    CHECK_INT(mmi_overdue_take(o, &done, TIMEOUT), 2);
    CHECK_INT(mmi_overdue_take(o, &done, TIMEOUT), 0);
    CHECK_INT(mmi_overdue_extend(o, &done, 1, TIMEOUT), MM_OK);   /* and once more */
    CHECK_INT(mmi_overdue_take(o, &done, TIMEOUT + TIMEOUT / 2), 0);
    CHECK_INT(mmi_overdue_take(o, &done, 2 * TIMEOUT), 1);
    CHECK_INT(mmi_overdue_take(o, &done, 9 * TIMEOUT), 0);
    mmi_overdue_free(o);
}

static void
test_more_looks_than_are_remembered_make_it_late_and_not_early(void)
{
    mmi_overdue *o = mmi_overdue_new(TIMEOUT);
    mmi_marks done = { .floor = 0 };
    for (uint64_t i = 1; i <= 100; i++) {
        mmi_overdue_look(o, i, i);
    }
    mmi_overdue_look(o, 100, TIMEOUT + 99);
    uint64_t number, last = 0;
    while ((number = mmi_overdue_take(o, &done, TIMEOUT + 99)) != 0) {
        CHECK_INT(number, ++last);
    }
    CHECK(last >= MMI_OVERDUE_MARKS - 1 && last < 100);
    mmi_overdue_look(o, 100, TIMEOUT + 100);
    while ((number = mmi_overdue_take(o, &done, TIMEOUT + 100)) != 0) {
        CHECK_INT(number, ++last);
    }
    CHECK_INT(last, 100);
    mmi_overdue_free(o);
}

static void
test_those_that_are_done_are_forgotten(void)
{
    mmi_overdue *o = mmi_overdue_new(TIMEOUT);
    static mmi_marks done;
    for (uint64_t i = 1; i <= 1000000; i++) {
        CHECK_INT(mmi_overdue_extend(o, &done, i, 1), MM_OK);
        CHECK_INT(mmi_marks_add_to(&done, i), 1);
    }
    CHECK(o->by_number.count <= 2 * MMI_UNACKED_MAX);
    mmi_overdue_free(o);
}

typedef struct table {
    uint64_t at[NUMBERS + 1];    /* written or extended last */
    bool given[NUMBERS + 1];     /* it was overdue */
} table;

static void
take_all(mmi_overdue *o, const mmi_marks *done, table *t, uint64_t now)
{
    uint64_t number;
    while ((number = mmi_overdue_take(o, done, now)) != 0) {
        CHECK(!mmi_marks_has(done, number) && !t->given[number]);
        CHECK(now - t->at[number] >= TIMEOUT);
        t->given[number] = true;
    }
}

/* The caller of take marks what it gets as done, as link/ack.c does. */
static void
test_beside_a_table(void)
{
    static table t;
    static mmi_marks done;
    mmi_overdue *o = mmi_overdue_new(TIMEOUT);
    uint64_t written = 0, now = 5, looked = 0;
    seed = 3;
    for (int i = 0; i < STEPS; i++, now += drawn(20)) {
        if (drawn(3) == 0 && written < NUMBERS) {
            t.at[++written] = now;
        }
        uint64_t number = written > 0 ? 1 + drawn((uint32_t)written) : 0;
        if (number > 0 && drawn(4) == 0 && !mmi_marks_has(&done, number)) {
            CHECK(mmi_marks_add(&done, number));
        } else if (number > 0 && drawn(2) == 0 && !mmi_marks_has(&done, number)) {
            CHECK_INT(mmi_overdue_extend(o, &done, number, now), MM_OK);
            t.at[number] = now;
        }
        if (now - looked >= LOOK) {
            looked = now;
            mmi_overdue_look(o, written, now);
            take_all(o, &done, &t, now);
            for (uint64_t n = 1; n <= written; n++) {
                bool late = now - t.at[n] >= TIMEOUT + 2 * (LOOK + 20);
                CHECK(!late || t.given[n] || mmi_marks_has(&done, n));
                if (t.given[n] && !mmi_marks_has(&done, n)) {
                    CHECK(mmi_marks_add(&done, n));
                }
            }
        }
    }
    CHECK_INT(written, NUMBERS);
    mmi_overdue_free(o);
}

int
main(void)
{
    RUN(test_what_was_written_is_overdue_once_and_never_early);
    RUN(test_what_is_extended_has_its_time_anew);
    RUN(test_more_looks_than_are_remembered_make_it_late_and_not_early);
    RUN(test_those_that_are_done_are_forgotten);
    RUN(test_beside_a_table);
    return 0;
}
