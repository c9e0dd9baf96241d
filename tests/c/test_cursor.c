/*
 * test_cursor.c: which numbers are done, in memory, against a plain array; and its file, as long as
 * nothing fails.
 *
 * Not here: crashes and faults (test_cursor_crash.c), octets (test_cursor_format.c).
 */
#include "cursor_rig.h"

static void
test_what_is_marked_is_done_whatever_the_order(void)
{
    for (uint32_t seed = 1; seed <= 60; seed++) {
        disk_rig r = rig_plain(seed);
        done_model m = { { true } };
        mmi_cursor c;
        uint32_t random = seed;
        cursor_made(&r, &c);
        for (int step = 0; step < 300; step++) {
            uint64_t first, last;
            model_range(&random, c.floor, &first, &last);
            model_mark(&m, first, last);
            CHECK_INT(mmi_cursor_done(&c, first, last), MM_OK);
            if (step % 20 == 0) {
                check_same(&c, &m);
            }
        }
        check_same(&c, &m);
        CHECK_INT(mmi_cursor_save(&c, UINT64_MAX), MM_OK);
        CHECK_INT(c.unsaved, 0);
        cursor_again(&r, &c);
        check_same(&c, &m);
        CHECK_INT(mmi_cursor_done(&c, 1, NUMBERS), MM_OK);
        CHECK_INT(c.floor, NUMBERS);
        CHECK_INT(c.above, 0);
        mmi_cursor_close(&c);
        rig_close(&r);
    }
}

/* From and to any bit of a word, below the floor, above what is done, and through the seam of the
 * ring. */
static void
test_those_of_a_range_that_are_done_are_counted(void)
{
    for (uint64_t floor = 0; floor < 2000; floor += 397) {
        disk_rig r = rig_plain(1);
        mmi_cursor c;
        uint32_t random = 1 + (uint32_t)floor;
        cursor_made(&r, &c);
        mmi_cursor_seek(&c, floor + 1);
        CHECK_INT(mmi_cursor_count(&c, 1, UINT64_MAX), floor);
        for (int i = 0; i < 60; i++) {
            uint64_t first = floor + 2 + check_random(&random) % 900;
            CHECK_INT(mmi_cursor_done(&c, first, first + check_random(&random) % 70), MM_OK);
        }
        for (int i = 0; i < 500; i++) {
            uint64_t first = 1 + check_random(&random) % (floor + 1100), count = 0;
            uint64_t last = first + check_random(&random) % (i % 2 == 0 ? 1100 : 70);
            for (uint64_t at = first; at <= last; at++) {
                count += mmi_cursor_is_done(&c, at);
            }
            CHECK_INT(mmi_cursor_count(&c, first, last), count);
            CHECK_INT(mmi_cursor_count(&c, first, first - 1), 0);
        }
        CHECK_INT(mmi_cursor_count(&c, 1, UINT64_MAX), c.floor + c.above);
        mmi_cursor_close(&c);
        rig_close(&r);
    }
}

static void
test_marking_again_changes_nothing(void)
{
    disk_rig r = rig_plain(1);
    mmi_cursor c;
    cursor_made(&r, &c);
    CHECK_INT(mmi_cursor_done(&c, 1, 4), MM_OK);
    CHECK_INT(mmi_cursor_done(&c, 7, 9), MM_OK);
    CHECK_INT(mmi_cursor_save(&c, UINT64_MAX), MM_OK);
    CHECK_INT(mmi_cursor_done(&c, 2, 3), MM_OK);
    CHECK_INT(mmi_cursor_done(&c, 8, 8), MM_OK);
    CHECK(!mmi_cursor_dirty(&c, UINT64_MAX));
    CHECK_INT(mmi_cursor_done(&c, 5, 5), MM_OK);
    CHECK(mmi_cursor_dirty(&c, UINT64_MAX));
    CHECK_INT(c.floor, 5);
    mmi_cursor_close(&c);
    rig_close(&r);
}

static void
test_numbers_that_are_none_are_refused(void)
{
    disk_rig r = rig_plain(1);
    mmi_cursor c;
    cursor_made(&r, &c);
    CHECK_INT(mmi_cursor_done(&c, 0, 4), MM_EINVAL);
    CHECK_INT(mmi_cursor_done(&c, 5, 4), MM_EINVAL);
    CHECK_INT(mmi_cursor_done(&c, 5, UINT64_MAX), MM_EINVAL);
    CHECK_INT(c.floor, 0);
    CHECK_INT(c.top, 0);
    mmi_cursor_close(&c);
    rig_close(&r);
}

/* At the limit, one above it; and the ring holds all of them whatever the floor is. */
static void
test_so_far_above_the_floor_and_no_further(void)
{
    static const uint64_t floors[] = { 0, 1, 62, 63, 64, 1000001 };
    disk_rig r = rig_plain(1);
    mmi_cursor c;
    cursor_made(&r, &c);
    for (size_t i = 0; i < MMI_COUNT_OF(floors); i++) {
        uint64_t floor = floors[i], last = floor + MMI_CURSOR_SPAN_MAX;
        mmi_cursor_seek(&c, floor + 1);
        CHECK_INT(mmi_cursor_done(&c, last + 1, last + 1), MM_EAGAIN);
        CHECK_INT(mmi_cursor_done(&c, floor + 2, last + 1), MM_EAGAIN);
        CHECK_INT(c.above, 0);
        CHECK_INT(mmi_cursor_done(&c, last, last), MM_OK);
        CHECK_INT(mmi_cursor_done(&c, floor + 2, floor + 2), MM_OK);
        CHECK_INT(c.above, 2);
        CHECK_INT(mmi_cursor_next(&c, floor + 2), floor + 3);
        CHECK(c.word_count * sizeof *c.words <= 16 * 1024 * 1024);
        CHECK_INT(mmi_cursor_done(&c, floor + 2, last), MM_OK);
        CHECK_INT(c.above, MMI_CURSOR_SPAN_MAX - 1);
        CHECK_INT(mmi_cursor_done(&c, floor + 1, floor + 1), MM_OK);
        CHECK_INT(c.floor, last);
        CHECK_INT(c.above, 0);
        CHECK_INT(c.word_count, 0); /* the room is given back */
        mmi_cursor_invariants(&c);
    }
    mmi_cursor_close(&c);
    rig_close(&r);
}

static void
test_one_may_go_back_and_forth(void)
{
    disk_rig r = rig_plain(1);
    mmi_cursor c;
    cursor_made(&r, &c);
    CHECK_INT(mmi_cursor_done(&c, 1, 100), MM_OK);
    CHECK_INT(mmi_cursor_done(&c, 200, 300), MM_OK);
    mmi_cursor_seek(&c, 50);
    CHECK_INT(c.floor, 49);
    CHECK_INT(c.above, 0);
    CHECK(!mmi_cursor_is_done(&c, 250));
    CHECK_INT(mmi_cursor_save(&c, UINT64_MAX), MM_OK);
    mmi_cursor_seek(&c, 500);
    cursor_again(&r, &c);
    CHECK_INT(c.floor, 49);
    mmi_cursor_seek(&c, 500);
    CHECK_INT(c.floor, 499);
    CHECK_INT(mmi_cursor_save(&c, UINT64_MAX), MM_OK);
    cursor_again(&r, &c);
    CHECK_INT(c.floor, 499);
    mmi_cursor_close(&c);
    rig_close(&r);
}

static void
test_what_was_removed_is_done_and_told_if_it_was_not(void)
{
    disk_rig r = rig_plain(1);
    mmi_cursor c;
    cursor_made(&r, &c);
    CHECK_INT(mmi_cursor_done(&c, 1, 10), MM_OK);
    CHECK_INT(mmi_cursor_done(&c, 15, 20), MM_OK);
    CHECK_INT(mmi_cursor_trimmed(&c, 11), 0);
    CHECK_INT(mmi_cursor_trimmed(&c, 18), 4); /* 11 to 14 */
    CHECK_INT(c.floor, 20);
    CHECK_INT(mmi_cursor_done(&c, 30, 30), MM_OK);
    CHECK_INT(mmi_cursor_save(&c, UINT64_MAX), MM_OK);
    mmi_cursor_close(&c);
    CHECK_INT(cursor_open_of(&r, &c, "one", false, 41, 50), MM_OK);
    CHECK_INT(c.missed, 19); /* 21 to 40 without 30 */
    CHECK_INT(c.floor, 40);
    mmi_cursor_close(&c);
    CHECK_INT(cursor_open_of(&r, &c, "new", true, 41, 50), MM_OK);
    CHECK_INT(c.missed, 0);
    CHECK_INT(c.floor, 40);
    mmi_cursor_close(&c);
    rig_close(&r);
}

/* Their files go while somebody works on them. */
static void
test_what_was_taken_is_done_when_who_took_it_says_so(void)
{
    disk_rig r = rig_plain(1);
    mmi_cursor c;
    cursor_made(&r, &c);
    c.taken = 11;
    CHECK_INT(mmi_cursor_done(&c, 3, 4), MM_OK);
    CHECK_INT(mmi_cursor_done(&c, 12, 12), MM_OK);
    CHECK_INT(mmi_cursor_trimmed(&c, 9), 0);
    CHECK_INT(mmi_cursor_trimmed(&c, 21), 9); /* 11 and 13 to 20 */
    CHECK_INT(c.floor, 0);
    CHECK(!mmi_cursor_is_done(&c, 10) && mmi_cursor_is_done(&c, 11));
    CHECK_INT(mmi_cursor_next(&c, 11), 21);
    CHECK_INT(mmi_cursor_done(&c, 1, 9), MM_OK);
    CHECK_INT(c.floor, 9);
    c.taken = 0; /* and is gone */
    CHECK_INT(mmi_cursor_trimmed(&c, 21), 1);
    CHECK_INT(c.floor, 20);
    CHECK_INT(c.missed, 10);
    mmi_cursor_close(&c);
    rig_close(&r);
}

/* What is not durable in the spool is not saved, and is once it is. */
static void
test_a_save_is_never_ahead_of_the_disk(void)
{
    disk_rig r = rig_plain(1);
    mmi_cursor c;
    cursor_made(&r, &c);
    CHECK_INT(mmi_cursor_done(&c, 1, 10), MM_OK);
    CHECK_INT(mmi_cursor_done(&c, 12, 20), MM_OK);
    CHECK_INT(mmi_cursor_save(&c, 15), MM_OK);
    CHECK(!mmi_cursor_dirty(&c, 15));
    CHECK(mmi_cursor_dirty(&c, 16));
    cursor_again(&r, &c);
    CHECK_INT(c.floor, 10);
    CHECK_INT(c.top, 15);
    CHECK_INT(mmi_cursor_save(&c, 7), MM_OK);
    CHECK_INT(c.saved_floor, 7);
    cursor_again(&r, &c);
    CHECK_INT(c.floor, 7);
    CHECK_INT(c.top, 7);
    mmi_cursor_close(&c);
    rig_close(&r);
}

/* The spool lost what the cursor said was done: what comes in its place is not. */
static void
test_what_the_spool_never_had_is_not_done(void)
{
    disk_rig r = rig_plain(1);
    mmi_cursor c;
    cursor_made(&r, &c);
    CHECK_INT(mmi_cursor_done(&c, 1, 10), MM_OK);
    CHECK_INT(mmi_cursor_done(&c, 12, 20), MM_OK);
    CHECK_INT(mmi_cursor_save(&c, UINT64_MAX), MM_OK);
    mmi_cursor_close(&c);
    CHECK_INT(cursor_open_of(&r, &c, "one", false, 1, 15), MM_OK);
    CHECK_INT(c.ahead, 20);
    CHECK_INT(c.floor, 10);
    CHECK_INT(c.top, 15);
    CHECK(mmi_cursor_dirty(&c, 15));
    mmi_cursor_close(&c);
    CHECK_INT(cursor_open_of(&r, &c, "one", false, 1, 5), MM_OK);
    CHECK_INT(c.ahead, 20);
    CHECK_INT(c.floor, 5);
    CHECK_INT(c.top, 5);
    mmi_cursor_close(&c);
    rig_close(&r);
}

/* Ranges for which the file has no room are not done when it is opened again; the lowest are. */
static void
test_ranges_that_find_no_room_come_again(void)
{
    enum { EACH = 400, RANGES = 20000 }; /* each takes 3 octets: a gap of two, a count of one */
    disk_rig r = rig_plain(1);
    mmi_cursor c;
    CHECK_INT(cursor_open_of(&r, &c, "one", true, 1, UINT64_MAX / 2), MM_OK);
    for (uint64_t i = 1; i <= RANGES; i++) {
        CHECK_INT(mmi_cursor_done(&c, i * EACH, i * EACH + 1), MM_OK);
    }
    CHECK_INT(c.above, 2 * RANGES);
    CHECK_INT(mmi_cursor_save(&c, UINT64_MAX), MM_OK);
    uint64_t unsaved = c.unsaved;
    CHECK(unsaved > 0 && unsaved < RANGES * 2);
    CHECK(!mmi_cursor_dirty(&c, UINT64_MAX));
    mmi_cursor_close(&c);
    CHECK_INT(cursor_open_of(&r, &c, "one", false, 1, UINT64_MAX / 2), MM_OK);
    CHECK_INT(c.above, 2 * RANGES - unsaved);
    CHECK_INT(c.top, c.above / 2 * EACH + 1);
    mmi_cursor_close(&c);
    rig_close(&r);
}

static void
test_names_are_checked(void)
{
    char name[MMI_CURSOR_NAME_MAX + 2] = { 0 };
    static const char *const wrong[] = { "", ".", "..", ".a", "a/b", "a b", "\xc3\xa9", "a\n" };
    disk_rig r = rig_plain(1);
    mmi_cursor c;
    for (size_t i = 0; i < MMI_COUNT_OF(wrong); i++) {
        CHECK_INT(cursor_open_of(&r, &c, wrong[i], true, 1, 9), MM_EINVAL);
        CHECK_INT(mmi_cursor_remove(&r.files, r.dir, wrong[i]), MM_EINVAL);
        mmi_cursor_close(&c);
    }
    memset(name, 'x', MMI_CURSOR_NAME_MAX + 1);
    CHECK_INT(cursor_open_of(&r, &c, name, true, 1, 9), MM_EINVAL);
    name[MMI_CURSOR_NAME_MAX] = '\0';
    CHECK_INT(cursor_open_of(&r, &c, name, true, 1, 9), MM_OK);
    mmi_cursor_close(&c);
    CHECK_INT(cursor_open_of(&r, &c, "-_.Az09", true, 1, 9), MM_OK);
    mmi_cursor_close(&c);
    rig_close(&r);
}

static void
count_each(void *arg, const mmi_entry *entry)
{
    *(int *)arg += entry->kind == MMI_ENTRY_FILE;
}

static void
test_one_is_there_until_it_is_removed(void)
{
    disk_rig r = rig_plain(1);
    mmi_cursor c;
    int count = 0;
    CHECK_INT(mmi_cursor_list(&r.files, r.dir, count_each, &count), 0);
    CHECK_INT(cursor_open_of(&r, &c, "one", false, 1, 9), MM_ENOENT);
    CHECK_INT(mmi_cursor_remove(&r.files, r.dir, "one"), MM_ENOENT);
    CHECK_INT(cursor_open_of(&r, &c, "one", true, 1, 9), MM_OK);
    mmi_cursor_close(&c);
    CHECK_INT(cursor_open_of(&r, &c, "two", false, 1, 9), MM_ENOENT);
    CHECK_INT(cursor_open_of(&r, &c, "two", true, 1, 9), MM_OK);
    mmi_cursor_close(&c);
    CHECK_INT(mmi_cursor_list(&r.files, r.dir, count_each, &count), 2);
    CHECK_INT(count, 2);
    CHECK_INT(mmi_cursor_remove(&r.files, r.dir, "one"), MM_OK);
    rig_crash(&r);
    CHECK_INT(cursor_open_of(&r, &c, "one", false, 1, 9), MM_ENOENT);
    CHECK_INT(cursor_open_of(&r, &c, "two", false, 1, 9), MM_OK);
    mmi_cursor_close(&c);
    rig_close(&r);
}

static void
test_another_spools_is_refused(void)
{
    static const uint8_t other[MMI_SPOOL_UUID] = { 9 };
    const mmi_cursor_spool spool = { other, 1, 9 };
    disk_rig r = rig_plain(1);
    mmi_cursor c;
    cursor_made(&r, &c);
    CHECK_INT(mmi_cursor_save(&c, UINT64_MAX), MM_OK);
    mmi_cursor_close(&c);
    CHECK_INT(mmi_cursor_open(&c, &r.files, r.dir, "one", true, &spool), MM_EPROTO);
    mmi_cursor_close(&c);
    rig_close(&r);
}

int
main(void)
{
    RUN(test_what_is_marked_is_done_whatever_the_order);
    RUN(test_those_of_a_range_that_are_done_are_counted);
    RUN(test_marking_again_changes_nothing);
    RUN(test_numbers_that_are_none_are_refused);
    RUN(test_so_far_above_the_floor_and_no_further);
    RUN(test_one_may_go_back_and_forth);
    RUN(test_what_was_removed_is_done_and_told_if_it_was_not);
    RUN(test_what_was_taken_is_done_when_who_took_it_says_so);
    RUN(test_a_save_is_never_ahead_of_the_disk);
    RUN(test_what_the_spool_never_had_is_not_done);
    RUN(test_ranges_that_find_no_room_come_again);
    RUN(test_names_are_checked);
    RUN(test_one_is_there_until_it_is_removed);
    RUN(test_another_spools_is_refused);
    return 0;
}
