/*
 * test_spool_keep.c: what may go from a spool: leases, ages, and clocks that jump; time is an
 * argument.
 *
 * Not here: removing anything (test_spool_sweep.c).
 */
#include "check.h"
#include "spool/keep.h"

static const uint64_t HOUR_US = UINT64_C(3600) * 1000 * 1000, SECOND_NS = 1000000000;

static void
test_leases_hold_the_lowest_until_they_are_over(void)
{
    mmi_spool_keep k = { .max_age_us = 0 };
    CHECK_INT(mmi_spool_keep_leased(&k), UINT64_MAX);
    CHECK_INT(mmi_spool_keep_lease_end(&k), UINT64_MAX);
    CHECK_INT(mmi_spool_keep_lease(&k, "one", 50, 1000), MM_OK);
    CHECK_INT(mmi_spool_keep_lease(&k, "two", 30, 500), MM_OK);
    CHECK_INT(mmi_spool_keep_lease(&k, "three", 70, 2000), MM_OK);
    CHECK_INT(mmi_spool_keep_leased(&k), 30);
    CHECK_INT(mmi_spool_keep_lease_end(&k), 500);
    CHECK(!mmi_spool_keep_end(&k, 499));
    CHECK_INT(mmi_spool_keep_leased(&k), 30);
    CHECK(mmi_spool_keep_end(&k, 500));
    CHECK_INT(mmi_spool_keep_leased(&k), 50);
    CHECK_INT(mmi_spool_keep_lease(&k, "one", 60, 3000), MM_OK); /* renewed */
    CHECK_INT(k.lease_count, 2);
    CHECK_INT(mmi_spool_keep_leased(&k), 60);
    CHECK_INT(mmi_spool_keep_release(&k, "two"), MM_ENOENT);
    CHECK_INT(mmi_spool_keep_release(&k, "one"), MM_OK);
    CHECK_INT(mmi_spool_keep_leased(&k), 70);
    CHECK(mmi_spool_keep_end(&k, 2000));
    CHECK_INT(mmi_spool_keep_leased(&k), UINT64_MAX);
    mmi_spool_keep_free(&k);
}

static void
test_so_many_leases_and_no_more(void)
{
    char name[32];
    mmi_spool_keep k = { .max_age_us = 0 };
    CHECK_INT(mmi_spool_keep_lease(&k, ".", 1, 9), MM_EINVAL);
    mm_test_alloc_fail(1);
    CHECK_INT(mmi_spool_keep_lease(&k, "x", 1, 9), MM_ENOMEM);
    mm_test_alloc_fail(0);
    for (int i = 0; i < MMI_SPOOL_LEASES_MAX; i++) {
        snprintf(name, sizeof name, "lease-%d", i);
        CHECK_INT(mmi_spool_keep_lease(&k, name, (uint64_t)i + 1, 9), MM_OK);
    }
    CHECK_INT(mmi_spool_keep_lease(&k, "more", 1, 9), MM_EAGAIN);
    CHECK_INT(mmi_spool_keep_lease(&k, name, 1, 9), MM_OK);
    CHECK_INT(mmi_spool_keep_release(&k, name), MM_OK);
    CHECK_INT(mmi_spool_keep_lease(&k, "more", 1, 9), MM_OK);
    CHECK(mmi_spool_keep_end(&k, 9));
    CHECK_INT(k.lease_count, 0);
    mmi_spool_keep_free(&k);
}

/* Four files follow the first; each was begun an hour after the one before. */
static const uint64_t bases[] = { 11, 21, 31, 41 };

static uint64_t
old_at(mmi_spool_keep *k, uint64_t wall_us, uint64_t now_ns, const uint64_t *made_us)
{
    mmi_spool_keep_clock(k, wall_us, now_ns, bases[1]);
    return mmi_spool_keep_old(k, bases, made_us, MMI_COUNT_OF(bases));
}

static void
test_what_is_in_a_file_is_as_old_as_the_next(void)
{
    const uint64_t then = 1000 * HOUR_US;
    const uint64_t made_us[] = { then, then + HOUR_US, then + 2 * HOUR_US, then + 3 * HOUR_US };
    mmi_spool_keep k = { .max_age_us = HOUR_US };
    CHECK_INT(old_at(&k, then + HOUR_US, 0, made_us), 0);
    CHECK_INT(old_at(&k, then + HOUR_US + 1, 1000, made_us), 10);
    CHECK_INT(old_at(&k, then + 2 * HOUR_US, 3600 * SECOND_NS, made_us), 10);
    CHECK_INT(old_at(&k, then + 2 * HOUR_US + 1, 3600 * SECOND_NS + 1000, made_us), 20);
    CHECK_INT(k.jumps, 0);
    CHECK_INT(old_at(&k, then - HOUR_US, 3600 * SECOND_NS + 2000, made_us), 0); /* it went back */
    CHECK_INT(k.jumps, 1);
    k = (mmi_spool_keep){ .max_age_us = 0 };
    CHECK_INT(old_at(&k, then + 100 * HOUR_US, 0, made_us), 0);
}

/* One whose head cannot be read is as old as the one behind it. */
static void
test_a_head_that_cannot_be_read_holds_nothing_and_removes_nothing(void)
{
    const uint64_t then = 1000 * HOUR_US;
    const uint64_t made_us[] = { 0, then, 0, 0 };
    mmi_spool_keep k = { .max_age_us = HOUR_US };
    CHECK_INT(old_at(&k, then + 9 * HOUR_US, 0, made_us), 20);
    CHECK_INT(old_at(&k, then, 1, made_us), 0);
}

/* More than an hour off, forth: half may go at once, the rest when its age is true by the other
 * clock. */
static void
test_a_clock_that_jumps_does_not_empty_it(void)
{
    const uint64_t then = 1000 * HOUR_US, year = 365 * 24 * HOUR_US;
    const uint64_t made_us[] = { then, then, then, then };
    mmi_spool_keep k = { .max_age_us = 5 * HOUR_US };
    CHECK_INT(old_at(&k, then, 0, made_us), 0);
    CHECK_INT(old_at(&k, then + HOUR_US, 1, made_us), 0);
    CHECK_INT(k.jumps, 0); /* an hour and no more */
    CHECK_INT(old_at(&k, then + year, SECOND_NS, made_us), 20);
    CHECK_INT(k.jumps, 1);
    CHECK_INT(old_at(&k, then + year + HOUR_US, 3601 * SECOND_NS, made_us), 20);
    CHECK_INT(old_at(&k, then + 2 * year, 3602 * SECOND_NS, made_us), 20); /* and again */
    CHECK_INT(k.jumps, 2);
    uint64_t wall = then + 2 * year + 5 * HOUR_US;
    CHECK_INT(old_at(&k, wall - 1000000, (3602 + 5 * 3600 - 1) * SECOND_NS, made_us), 20);
    CHECK_INT(old_at(&k, wall, (3602 + 5 * 3600) * SECOND_NS, made_us), 40);
    CHECK_INT(k.jumps, 2);
}

int
main(void)
{
    RUN(test_leases_hold_the_lowest_until_they_are_over);
    RUN(test_so_many_leases_and_no_more);
    RUN(test_what_is_in_a_file_is_as_old_as_the_next);
    RUN(test_a_head_that_cannot_be_read_holds_nothing_and_removes_nothing);
    RUN(test_a_clock_that_jumps_does_not_empty_it);
    return 0;
}
