/*
 * test_spool_sweep.c: what goes from a spool by itself: files that all are done with for whom they
 * were kept, and files that are too old; what holds them; and that few go at once.
 *
 * Not here: which files are too old (test_spool_keep.c), cursors alone (test_spool_cursors.c).
 */
#include <stdatomic.h>

#include "cursor_steps.h"

static const uint64_t HOUR_US = UINT64_C(3600) * 1000 * 1000;
static const char *const both[] = { "one", "two" };
static _Atomic uint64_t wall_us;

static uint64_t
wall_now(void *arg)
{
    (void)arg;
    return atomic_load(&wall_us);
}

/* The wall clock is the test's from now on. */
static void
clock_taken(threads_rig *r)
{
    atomic_store(&wall_us, mmi_thread_wall_us(NULL));
    threads_stop(&r->spool);
    r->spool.spool.opts.now_us = wall_now;
    threads_go_on(&r->spool);
}

/* An hour goes by, or more, by no jump: the other clock is told of it as well. */
static void
hours_pass(threads_rig *r, uint64_t hours)
{
    threads_stop(&r->spool);
    atomic_fetch_add(&wall_us, hours * HOUR_US);
    r->spool.keep.wall_us += hours * HOUR_US;
    threads_go_on(&r->spool);
}

static void
acked_new(threads_rig *r, uint32_t names)
{
    threads_prepare(r, MMI_SPOOL_DISK);
    r->opts.acked_by = both;
    r->opts.acked_by_count = names;
    threads_open(r);
}

static void
test_files_go_once_all_are_done_with_them_and_saved(void)
{
    threads_rig r;
    acked_new(&r, 2);
    put_files(&r, 5);
    uint64_t second = base_of(&r, 1), third = base_of(&r, 2), last = last_of(&r);
    sweep_now(&r);
    CHECK_INT(first_of(&r), 1); /* neither is there yet */
    mmi_spool_cursor *one = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    cursor_did(&r, one, 1, last);
    cursor_saved(&r, one);
    sweep_now(&r);
    CHECK_INT(first_of(&r), 1);
    mmi_spool_cursor *two = cursor_of(&r, "two", MMI_SPOOL_EARLIEST);
    cursor_did(&r, two, 1, third - 1);
    CHECK_INT(first_of(&r), 1); /* not saved yet */
    cursor_saved(&r, two);
    sweep_now(&r);
    CHECK_INT(first_of(&r), third);
    CHECK_INT(counts_of(&r).acked_files, 2);
    CHECK_INT(counts_of(&r).acked_messages, third - 1);
    CHECK_INT(counts_of(&r).expired_files, 0);
    CHECK(second < third);
    cursor_did(&r, two, third, last);
    cursor_closed(&r, two); /* which saves it, and it is told of */
    AWAIT(files_of(&r) == 1);
    CHECK_INT(cursor_info(&r, one).missed, 0);
    cursor_closed(&r, one);
    threads_free(&r);
}

/* Those that nobody has open hold, too, also when the spool is opened again. */
static void
test_a_cursor_that_nobody_has_open_holds_what_it_is_not_done_with(void)
{
    threads_rig r;
    acked_new(&r, 2);
    put_files(&r, 5);
    uint64_t second = base_of(&r, 1), last = last_of(&r);
    for (uint32_t i = 0; i < 2; i++) {
        mmi_spool_cursor *c = cursor_of(&r, both[i], MMI_SPOOL_EARLIEST);
        cursor_did(&r, c, 1, i == 0 ? last : second - 1);
        cursor_closed(&r, c);
    }
    AWAIT(first_of(&r) == second);
    CHECK_INT(mmi_spool_shared_close(&r.spool), MM_OK);
    threads_open(&r);
    sweep_now(&r);
    CHECK_INT(first_of(&r), second);
    CHECK_INT(mmi_spool_shared_cursor_delete(&r.spool, "two"), MM_OK); /* then it holds all */
    sweep_now(&r);
    CHECK_INT(first_of(&r), second);
    cursor_closed(&r, cursor_of(&r, "two", MMI_SPOOL_LATEST));
    AWAIT(files_of(&r) == 1);
    threads_free(&r);
}

static void
test_one_that_went_back_holds_at_once(void)
{
    threads_rig r;
    acked_new(&r, 1);
    put_files(&r, 5);
    mmi_spool_cursor *c = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    CHECK_INT(mmi_spool_shared_lease(&r.spool, "hold", 1, UINT64_MAX), MM_OK);
    cursor_did(&r, c, 1, last_of(&r));
    cursor_saved(&r, c);
    sweep_now(&r);
    CHECK_INT(first_of(&r), 1);
    CHECK_INT(mmi_spool_shared_cursor_seek(&r.spool, c, base_of(&r, 1)), MM_OK);
    CHECK_INT(mmi_spool_shared_release(&r.spool, "hold"), MM_OK);
    sweep_now(&r);
    CHECK_INT(first_of(&r), cursor_info(&r, c).floor + 1);
    CHECK_INT(files_of(&r), 4);
    cursor_closed(&r, c);
    threads_free(&r);
}

/* Of one name: what is held no longer goes at once. */
static void
test_a_lease_that_is_replaced_lets_go_of_what_was_below(void)
{
    threads_rig r;
    acked_new(&r, 1);
    put_files(&r, 3);
    CHECK_INT(mmi_spool_shared_lease(&r.spool, "hold", 1, UINT64_MAX), MM_OK);
    mmi_spool_cursor *c = cursor_of(&r, "one", MMI_SPOOL_LATEST);
    sweep_now(&r);
    CHECK_INT(first_of(&r), 1);
    uint64_t second = base_of(&r, 1);
    CHECK_INT(mmi_spool_shared_lease(&r.spool, "hold", second, UINT64_MAX), MM_OK);
    AWAIT(first_of(&r) == second);
    cursor_closed(&r, c);
    threads_free(&r);
}

static void
test_a_lease_that_is_over_lets_go_by_itself(void)
{
    threads_rig r;
    acked_new(&r, 1);
    put_files(&r, 3);
    CHECK_INT(mmi_spool_shared_lease(&r.spool, "short", 1, 300000000), MM_OK);
    mmi_spool_cursor *c = cursor_of(&r, "one", MMI_SPOOL_LATEST);
    AWAIT(files_of(&r) == 1); /* though nothing is put, or done */
    cursor_closed(&r, c);
    threads_free(&r);
}

/* Whoever finds it full has what is done saved at once, and need not wait until it is by itself. */
static void
test_what_is_done_makes_room_for_who_waits_for_it(void)
{
    threads_rig r;
    threads_prepare(&r, MMI_SPOOL_DISK);
    r.opts.acked_by = both;
    r.opts.acked_by_count = 1;
    r.opts.spool.max_bytes = 3 * (uint64_t)MMI_SPOOL_FILE_MIN;
    r.opts.overflow = MMI_SPOOL_BLOCK;
    threads_open(&r);
    mmi_spool_cursor *c = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    for (int i = 0; i < 60; i++) {
        threads_stop(&r.spool);
        c->saved_ns = UINT64_MAX / 2; /* it is not saved by itself */
        threads_go_on(&r.spool);
        put_some(&r, 1, true);
        cursor_did(&r, c, last_of(&r), last_of(&r));
    }
    CHECK(counts_of(&r).acked_files > 2);
    CHECK_INT(cursor_info(&r, c).missed, 0);
    cursor_closed(&r, c);
    threads_free(&r);
}

static int
put_one(threads_rig *r)
{
    static const uint8_t body[CURSOR_BODY];
    uint64_t size = sizeof body;
    mmi_spool_did did;
    const mmi_spool_record record = { .frames = 1, .sizes = &size, .data = body, .size = size };
    return mmi_spool_shared_put(&r->spool, &record, 1, true, &PATIENTLY, &did);
}

/* A cursor is saved early only if a file can go for it; and room is wanted until one went, however
 * often it is looked at meanwhile. */
static void
test_room_is_wanted_until_a_file_went_and_nothing_is_saved_for_less(void)
{
    const uint64_t never = UINT64_MAX / 2;
    threads_rig r;
    threads_prepare(&r, MMI_SPOOL_DISK);
    r.opts.acked_by = both;
    r.opts.acked_by_count = 1;
    r.opts.spool.max_bytes = 3 * (uint64_t)MMI_SPOOL_FILE_MIN;
    threads_open(&r);
    mmi_spool_cursor *c = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    threads_stop(&r.spool);
    c->saved_ns = never; /* it is not saved by itself */
    threads_go_on(&r.spool);
    while (put_one(&r) == MM_OK) {
    }
    uint64_t second = base_of(&r, 1);
    cursor_did(&r, c, 1, second - 2);
    CHECK_INT(put_one(&r), MM_ENOSPC);
    sweep_now(&r);
    threads_stop(&r.spool);
    CHECK(c->saved_ns == never);
    CHECK(r.spool.room_wanted);
    threads_go_on(&r.spool);
    cursor_did(&r, c, second - 1, second - 1);
    AWAIT(first_of(&r) == second);
    CHECK_INT(put_one(&r), MM_OK);
    threads_stop(&r.spool);
    CHECK(!r.spool.room_wanted);
    threads_go_on(&r.spool);
    cursor_closed(&r, c);
    threads_free(&r);
}

static mmi_spool *watched;
static uint32_t files_before, most_at_once;

/* A look at the clock, as each sweep begins with one: so many files went since the one before. */
static uint64_t
wall_counts(void *arg)
{
    uint32_t now = watched->file_count, went = files_before > now ? files_before - now : 0;
    files_before = now;
    most_at_once = went > most_at_once ? went : most_at_once;
    return wall_now(arg);
}

static void
sweeps_counted(threads_rig *r)
{
    clock_taken(r);
    threads_stop(&r->spool);
    watched = &r->spool.spool;
    files_before = most_at_once = 0;
    r->spool.spool.opts.now_us = wall_counts;
    threads_go_on(&r->spool);
}

/* So many in one sweep, for whatever they go, and the others go on in between. */
static void
test_few_files_go_at_once_and_all_in_the_end(void)
{
    for (int aged = 0; aged < 2; aged++) {
        threads_rig r;
        threads_prepare(&r, MMI_SPOOL_DISK);
        r.opts.acked_by = both;
        r.opts.acked_by_count = 1;
        r.opts.max_age_us = aged == 1 ? HOUR_US : 0;
        threads_open(&r);
        sweeps_counted(&r);
        put_files(&r, 2 * MMI_SPOOL_SWEEP_FILES + 3);
        uint64_t start = aged == 1 ? base_of(&r, MMI_SPOOL_SWEEP_FILES / 2) : MMI_SPOOL_LATEST;
        CHECK_INT(mmi_spool_shared_lease(&r.spool, "hold", 1, UINT64_MAX), MM_OK);
        mmi_spool_cursor *c = cursor_of(&r, "one", start);
        if (aged == 1) {
            hours_pass(&r, 2);
        }
        CHECK_INT(mmi_spool_shared_release(&r.spool, "hold"), MM_OK);
        AWAIT(files_of(&r) == 1);
        mmi_spool_counts counts = counts_of(&r);
        CHECK_INT(counts.acked_files + counts.expired_files, 2 * MMI_SPOOL_SWEEP_FILES + 2);
        CHECK_INT(counts.expired_files > 0, aged);
        threads_stop(&r.spool);
        (void)wall_counts(NULL); /* of the last sweep */
        threads_go_on(&r.spool);
        CHECK_INT(most_at_once, MMI_SPOOL_SWEEP_FILES);
        cursor_closed(&r, c);
        threads_free(&r);
    }
}

static void
test_files_that_are_too_old_go_though_nothing_is_put(void)
{
    threads_rig r;
    threads_prepare(&r, MMI_SPOOL_DISK);
    r.opts.max_age_us = 2 * HOUR_US;
    threads_open(&r);
    clock_taken(&r);
    mmi_spool_cursor *c = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    put_files(&r, 3);
    hours_pass(&r, 1);
    put_files(&r, 5);
    sweep_now(&r);
    CHECK_INT(files_of(&r), 5);
    hours_pass(&r, 1);
    atomic_fetch_add(&wall_us, 1000000);
    uint64_t third = base_of(&r, 2);
    sweep_now(&r);
    CHECK_INT(first_of(&r), third);
    CHECK_INT(counts_of(&r).expired_files, 2);
    CHECK_INT(counts_of(&r).expired_messages, third - 1);
    CHECK_INT(cursor_info(&r, c).missed, third - 1);
    CHECK_INT(cursor_info(&r, c).floor, third - 1);
    cursor_closed(&r, c);
    CHECK_INT(mmi_spool_shared_close(&r.spool), MM_OK);
    threads_open(&r); /* it finds when they were begun in their heads */
    clock_taken(&r);
    hours_pass(&r, 5);
    AWAIT(files_of(&r) == 1); /* within a second or so, by itself */
    threads_free(&r);
}

static void
test_a_clock_that_jumps_is_told_of_and_half_is_kept(void)
{
    threads_rig r;
    threads_prepare(&r, MMI_SPOOL_DISK);
    r.opts.max_age_us = HOUR_US;
    threads_open(&r);
    clock_taken(&r);
    put_files(&r, 7);
    sweep_now(&r);
    CHECK_INT(files_of(&r), 7);
    uint64_t middle = base_of(&r, 3);
    atomic_fetch_add(&wall_us, 365 * 24 * HOUR_US);
    sweep_now(&r);
    sweep_now(&r);
    CHECK_INT(first_of(&r), middle);
    CHECK_INT(r.spool.keep.jumps, 1);
    threads_free(&r);
}

static void
test_what_is_leased_is_not_too_old(void)
{
    threads_rig r;
    threads_prepare(&r, MMI_SPOOL_DISK);
    r.opts.max_age_us = HOUR_US;
    threads_open(&r);
    clock_taken(&r);
    put_files(&r, 4);
    CHECK_INT(mmi_spool_shared_lease(&r.spool, "range", base_of(&r, 1), UINT64_MAX), MM_OK);
    hours_pass(&r, 2);
    sweep_now(&r);
    CHECK_INT(files_of(&r), 3);
    CHECK_INT(mmi_spool_shared_release(&r.spool, "range"), MM_OK);
    sweep_now(&r);
    CHECK_INT(files_of(&r), 1);
    threads_free(&r);
}

static void
test_names_to_wait_for_are_checked(void)
{
    static const char *const wrong[] = { "one", "a/b" };
    mmi_spool_report report;
    threads_rig r;
    threads_prepare(&r, MMI_SPOOL_DISK);
    r.opts.acked_by = wrong;
    r.opts.acked_by_count = 2;
    CHECK_INT(mmi_spool_shared_open(&r.spool, r.path, &r.opts, &report), MM_EINVAL);
    r.opts.acked_by_count = MMI_SPOOL_ACKED_BY_MAX + 1;
    CHECK_INT(mmi_spool_shared_open(&r.spool, r.path, &r.opts, &report), MM_EINVAL);
    r.opts.acked_by_count = 1;
    threads_open(&r);
    threads_free(&r);
}

/* Each that there is not enough memory for says so, and leaves nothing behind: the next one
 * opens it. */
static void
test_without_memory_none_of_it_is_opened(void)
{
    enum { TIMES = 100 };
    mmi_spool_report report;
    threads_rig r;
    int failed = 0;
    acked_new(&r, 2);
    put_files(&r, 3);
    cursor_closed(&r, cursor_of(&r, "one", MMI_SPOOL_EARLIEST));
    cursor_closed(&r, cursor_of(&r, "two", MMI_SPOOL_EARLIEST));
    CHECK_INT(mmi_spool_shared_close(&r.spool), MM_OK);
    for (int64_t nth = 1; nth < TIMES; nth++) {
        mm_test_alloc_fail(nth);
        int rc = mmi_spool_shared_open(&r.spool, r.path, &r.opts, &report);
        mm_test_alloc_fail(0);
        CHECK(rc == MM_OK || rc == MM_ENOMEM);
        failed += rc != MM_OK;
        if (rc == MM_OK) {
            CHECK_INT(mmi_spool_shared_close(&r.spool), MM_OK);
        }
    }
    CHECK(failed > 10 && failed < TIMES);
    threads_open(&r);
    CHECK_INT(files_of(&r), 3);
    threads_free(&r);
}

/* One that is harmed holds everything; whoever opens it is told. */
static void
test_a_harmed_cursor_holds_everything(void)
{
    char path[sizeof((threads_rig *)0)->path + 16];
    mmi_spool_cursor *c;
    threads_rig r;
    acked_new(&r, 1);
    put_files(&r, 3);
    c = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    cursor_closed(&r, c);
    CHECK_INT(mmi_spool_shared_close(&r.spool), MM_OK);
    snprintf(path, sizeof path, "%s/cursors/one", r.path);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(fputs("nothing of the kind", file) >= 0);
    CHECK_INT(fclose(file), 0);
    threads_open(&r);
    sweep_now(&r);
    CHECK_INT(files_of(&r), 3);
    CHECK_INT(mmi_spool_shared_cursor_open(&r.spool, "one", true, 0, &c), MM_EPROTO);
    CHECK_INT(mmi_spool_shared_cursor_delete(&r.spool, "one"), MM_OK);
    cursor_closed(&r, cursor_of(&r, "one", MMI_SPOOL_LATEST));
    AWAIT(files_of(&r) == 1);
    threads_free(&r);
}

int
main(void)
{
    RUN(test_files_go_once_all_are_done_with_them_and_saved);
    RUN(test_a_cursor_that_nobody_has_open_holds_what_it_is_not_done_with);
    RUN(test_one_that_went_back_holds_at_once);
    RUN(test_a_lease_that_is_replaced_lets_go_of_what_was_below);
    RUN(test_a_lease_that_is_over_lets_go_by_itself);
    RUN(test_what_is_done_makes_room_for_who_waits_for_it);
    RUN(test_room_is_wanted_until_a_file_went_and_nothing_is_saved_for_less);
    RUN(test_few_files_go_at_once_and_all_in_the_end);
    RUN(test_files_that_are_too_old_go_though_nothing_is_put);
    RUN(test_a_clock_that_jumps_is_told_of_and_half_is_kept);
    RUN(test_what_is_leased_is_not_too_old);
    RUN(test_names_to_wait_for_are_checked);
    RUN(test_without_memory_none_of_it_is_opened);
    RUN(test_a_harmed_cursor_holds_everything);
    return 0;
}
