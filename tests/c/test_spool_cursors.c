/*
 * test_spool_cursors.c: cursors that threads share, on the system's files: by name, saved by
 * themselves, with their last close, and when asked; and leases.
 *
 * Not here: what goes by itself (test_spool_sweep.c), the numbers (test_cursor.c).  Meant to run
 * under TSan as well.
 */
#include "cursor_steps.h"

static void
test_two_of_one_name_are_one(void)
{
    threads_rig r;
    threads_new(&r, MMI_SPOOL_DISK);
    put_some(&r, 10, true);
    mmi_spool_cursor *one = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    mmi_spool_cursor *same = cursor_of(&r, "one", MMI_SPOOL_LATEST);
    mmi_spool_cursor *other = cursor_of(&r, "other", MMI_SPOOL_LATEST);
    CHECK(one == same && one != other);
    cursor_did(&r, one, 1, 3);
    cursor_did(&r, same, 5, 5);
    CHECK_INT(cursor_info(&r, same).floor, 3);
    CHECK_INT(cursor_info(&r, one).left, 6);
    CHECK_INT(cursor_info(&r, one).above, 1);
    CHECK_INT(mmi_spool_shared_cursor_next(&r.spool, one, 1), 4);
    CHECK_INT(mmi_spool_shared_cursor_next(&r.spool, one, 5), 6);
    CHECK_INT(cursor_info(&r, other).floor, 10);
    CHECK_INT(cursor_info(&r, other).left, 0);
    cursor_closed(&r, same);
    cursor_did(&r, one, 4, 4);
    cursor_closed(&r, one);
    CHECK_INT(mmi_spool_shared_close(&r.spool), MM_OK); /* and `other`, which is open */
    threads_open(&r);
    one = cursor_of(&r, "one", MMI_SPOOL_LATEST);
    CHECK_INT(cursor_info(&r, one).floor, 5);
    cursor_closed(&r, one);
    threads_free(&r);
}

static void
test_where_one_begins_that_is_new(void)
{
    threads_rig r;
    mmi_spool_cursor *c;
    threads_new(&r, MMI_SPOOL_DISK);
    put_files(&r, 4);
    mmi_spool_shared_trim(&r.spool, base_of(&r, 2) - 1);
    uint64_t first = first_of(&r), last = last_of(&r);
    CHECK_INT(mmi_spool_shared_cursor_open(&r.spool, "a", false, 0, &c), MM_ENOENT);
    CHECK_INT(mmi_spool_shared_cursor_open(&r.spool, "a/b", true, 0, &c), MM_EINVAL);
    CHECK_INT(mmi_spool_shared_cursor_open(&r.spool, "a", true, first - 1, &c), MM_ENOENT);
    CHECK_INT(mmi_spool_shared_cursor_open(&r.spool, "a", true, last + 2, &c), MM_EINVAL);
    CHECK_INT(mmi_spool_shared_cursor_open(&r.spool, "a", false, 0, &c), MM_ENOENT);
    static const char *const names[] = { "a", "b", "c", "d" };
    const uint64_t starts[] = { MMI_SPOOL_EARLIEST, MMI_SPOOL_LATEST, first + 1, last + 1 };
    const uint64_t floors[] = { first - 1, last, first, last };
    for (size_t i = 0; i < MMI_COUNT_OF(starts); i++) {
        c = cursor_of(&r, names[i], starts[i]);
        CHECK_INT(cursor_info(&r, c).floor, floors[i]);
        CHECK_INT(cursor_info(&r, c).saved_floor, floors[i]);
        cursor_closed(&r, c);
    }
    threads_free(&r);
}

static void
test_only_what_can_be_seen_can_be_done_or_sought(void)
{
    threads_rig r;
    threads_new(&r, MMI_SPOOL_DISK);
    put_files(&r, 3);
    uint64_t last = last_of(&r);
    mmi_spool_cursor *c = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    CHECK_INT(mmi_spool_shared_cursor_done(&r.spool, c, 1, last + 1), MM_EINVAL);
    CHECK_INT(mmi_spool_shared_cursor_done(&r.spool, c, 0, 1), MM_EINVAL);
    CHECK_INT(mmi_spool_shared_cursor_seek(&r.spool, c, last + 2), MM_EINVAL);
    CHECK_INT(mmi_spool_shared_cursor_seek(&r.spool, c, last + 1), MM_OK);
    CHECK_INT(cursor_info(&r, c).left, 0);
    CHECK_INT(mmi_spool_shared_cursor_seek(&r.spool, c, 1), MM_OK);
    CHECK_INT(cursor_info(&r, c).left, last);
    mmi_spool_shared_trim(&r.spool, last);
    uint64_t first = first_of(&r);
    CHECK(first > 1);
    CHECK_INT(cursor_info(&r, c).missed, first - 1);
    CHECK_INT(cursor_info(&r, c).floor, first - 1);
    CHECK_INT(mmi_spool_shared_cursor_seek(&r.spool, c, first - 1), MM_ENOENT);
    cursor_closed(&r, c);
    threads_free(&r);
}

static bool
is_saved(threads_rig *r, mmi_spool_cursor *c, uint64_t floor)
{
    return cursor_info(r, c).saved_floor == floor;
}

static bool
is_clean(threads_rig *r, mmi_spool_cursor *c, uint64_t limit)
{
    pthread_mutex_lock(&r->spool.lock);
    bool clean = !mmi_cursor_dirty(&c->cursor, limit);
    pthread_mutex_unlock(&r->spool.lock);
    return clean;
}

/* Within about a second, by its own thread; a second change waits for as long again. */
static void
test_what_is_done_is_saved_by_itself(void)
{
    threads_rig r;
    threads_new(&r, MMI_SPOOL_DISK);
    put_some(&r, 5, true);
    mmi_spool_cursor *c = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    cursor_did(&r, c, 1, 2);
    CHECK_INT(cursor_info(&r, c).saved_floor, 0);
    AWAIT(is_saved(&r, c, 2));
    cursor_did(&r, c, 3, 3);
    CHECK_INT(cursor_info(&r, c).saved_floor, 2);
    cursor_saved(&r, c);
    CHECK_INT(cursor_info(&r, c).saved_floor, 3);
    cursor_closed(&r, c);
    threads_free(&r);
}

/* At the level "os" what can be read may not be on the disk: a save waits for it, or leaves it
 * out. */
static void
test_a_save_by_itself_is_never_ahead_of_the_disk(void)
{
    threads_rig r;
    threads_prepare(&r, MMI_SPOOL_OS);
    r.opts.sync_every_ns = UINT64_C(1) << 60;
    threads_open(&r);
    put_some(&r, 5, true);
    mmi_spool_cursor *c = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    cursor_did(&r, c, 1, 5);
    CHECK_INT(cursor_info(&r, c).floor, 5);
    AWAIT(is_clean(&r, c, 0)); /* until more is durable there is nothing to save */
    CHECK_INT(r.spool.spool.durable_seq, 0);
    CHECK_INT(cursor_info(&r, c).saved_floor, 0);
    CHECK_INT(mmi_spool_shared_wait(&r.spool, 3, MMI_SPOOL_DISK, &PATIENTLY), MM_OK);
    AWAIT(is_saved(&r, c, 5));
    put_some(&r, 5, true);
    cursor_did(&r, c, 6, 9);
    cursor_saved(&r, c);
    CHECK(r.spool.spool.durable_seq >= 9);
    CHECK_INT(cursor_info(&r, c).saved_floor, 9);
    put_some(&r, 1, true);
    cursor_did(&r, c, 10, 11);
    cursor_closed(&r, c);
    CHECK_INT(r.spool.spool.durable_seq, 11);
    threads_free(&r);
}

/* Else a life that ends before the next sync would have it begin with the first one. */
static void
test_where_a_new_one_begins_is_on_the_disk_at_once(void)
{
    const uint64_t starts[] = { MMI_SPOOL_LATEST, 4 };
    for (size_t i = 0; i < MMI_COUNT_OF(starts); i++) {
        threads_rig r;
        threads_prepare(&r, MMI_SPOOL_OS);
        r.opts.sync_every_ns = UINT64_C(1) << 60;
        threads_open(&r);
        put_some(&r, 5, true);
        CHECK_INT(r.spool.spool.durable_seq, 0);
        mmi_spool_cursor *c = cursor_of(&r, "one", starts[i]);
        CHECK(r.spool.spool.durable_seq >= cursor_info(&r, c).floor);
        CHECK_INT(cursor_info(&r, c).floor, i == 0 ? 5 : 3);
        CHECK_INT(cursor_info(&r, c).saved_floor, i == 0 ? 5 : 3);
        CHECK(is_clean(&r, c, 5));
        cursor_closed(&r, c);
        threads_free(&r);
    }
}

static void
test_one_that_is_open_is_not_deleted(void)
{
    threads_rig r;
    threads_new(&r, MMI_SPOOL_DISK);
    put_some(&r, 5, true);
    mmi_spool_cursor *c = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    CHECK_INT(mmi_spool_shared_cursor_delete(&r.spool, "one"), MM_ESTATE);
    cursor_did(&r, c, 1, 2);
    cursor_closed(&r, c);
    CHECK_INT(mmi_spool_shared_cursor_delete(&r.spool, "two"), MM_ENOENT);
    CHECK_INT(mmi_spool_shared_cursor_delete(&r.spool, "."), MM_EINVAL);
    CHECK_INT(mmi_spool_shared_cursor_delete(&r.spool, "one"), MM_OK);
    CHECK_INT(mmi_spool_shared_cursor_delete(&r.spool, "one"), MM_ENOENT);
    c = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    CHECK_INT(cursor_info(&r, c).floor, 0);
    cursor_closed(&r, c);
    threads_free(&r);
}

static int
fails(void *self, int file, uint64_t at, const mmi_iov *pieces, int n)
{
    (void)self, (void)file, (void)at, (void)pieces, (void)n;
    return MM_EIO;
}

static int64_t
write_fails(void *self, int file, uint64_t at, const mmi_iov *pieces, int n)
{
    return fails(self, file, at, pieces, n);
}

/* Then it says so, until all who have it closed it; and comes back as it was saved. */
static void
test_one_that_could_not_be_saved_is_done_for(void)
{
    threads_rig r;
    threads_new(&r, MMI_SPOOL_DISK);
    put_some(&r, 5, true);
    mmi_spool_cursor *c = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    mmi_spool_cursor *same = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    cursor_did(&r, c, 1, 2);
    cursor_saved(&r, c);
    mmi_files sound = r.spool.files, broken = sound;
    broken.write = write_fails;
    threads_stop(&r.spool);
    c->cursor.slots.files = &broken;
    threads_go_on(&r.spool);
    cursor_did(&r, c, 3, 3);
    CHECK_INT(mmi_spool_shared_cursor_save(&r.spool, c, &PATIENTLY), MM_EIO);
    threads_stop(&r.spool);
    c->cursor.slots.files = &r.spool.files;
    threads_go_on(&r.spool);
    CHECK_INT(mmi_spool_shared_cursor_save(&r.spool, c, &PATIENTLY), MM_EIO);
    CHECK_INT(mmi_spool_shared_cursor_done(&r.spool, same, 4, 4), MM_EIO);
    CHECK_INT(mmi_spool_shared_cursor_seek(&r.spool, same, 4), MM_EIO);
    CHECK_INT(cursor_info(&r, c).failed, MM_EIO);
    CHECK_INT(mmi_spool_shared_cursor_close(&r.spool, same), MM_OK);
    CHECK_INT(mmi_spool_shared_cursor_close(&r.spool, c), MM_EIO);
    c = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    CHECK_INT(cursor_info(&r, c).floor, 2);
    cursor_did(&r, c, 3, 3);
    cursor_closed(&r, c);
    threads_free(&r);
}

/* Several at once: what is done is told of, what was removed ends it, and only what was taken is
 * somebody's to be done with. */
static void
test_those_that_are_taken_end_in_front_of_what_was_removed(void)
{
    bool done[4];
    threads_rig r;
    threads_new(&r, MMI_SPOOL_DISK);
    put_files(&r, 3);
    const uint64_t second = base_of(&r, 1), third = base_of(&r, 2);
    mmi_spool_cursor *c = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    cursor_did(&r, c, 2, 2);
    const uint64_t some[] = { 1, 2, 3 }, gone[] = { second - 1, second, second + 1 };
    const uint64_t mixed[] = { second, 1, second + 1 };
    CHECK_INT(mmi_spool_shared_cursor_take(&r.spool, c, some, 3, done), 3);
    CHECK(!done[0] && done[1] && !done[2]);
    CHECK_INT(c->cursor.taken, 4);
    CHECK(mmi_spool_shared_trim(&r.spool, second - 1) == 1);
    CHECK_INT(mmi_spool_shared_cursor_take(&r.spool, c, gone, 3, done), 0);
    CHECK_INT(c->cursor.taken, 4);
    CHECK_INT(cursor_info(&r, c).missed, second - 4);
    CHECK_INT(mmi_spool_shared_cursor_take(&r.spool, c, mixed, 3, done), 1);
    CHECK(!done[0]);
    CHECK_INT(c->cursor.taken, second + 1);
    cursor_did(&r, c, 1, third - 1);
    CHECK_INT(cursor_info(&r, c).floor, third - 1);
    cursor_closed(&r, c);
    threads_free(&r);
}

static void
test_a_lease_holds_what_would_be_trimmed_but_not_what_has_no_room(void)
{
    threads_rig r;
    threads_prepare(&r, MMI_SPOOL_DISK);
    r.opts.spool.max_bytes = 6 * (uint64_t)MMI_SPOOL_FILE_MIN;
    r.opts.overflow = MMI_SPOOL_DROP_OLDEST;
    threads_open(&r);
    put_files(&r, 4);
    uint64_t last = last_of(&r), second = base_of(&r, 1);
    CHECK_INT(mmi_spool_shared_lease(&r.spool, "range", second, UINT64_MAX), MM_OK);
    CHECK_INT(mmi_spool_shared_trim(&r.spool, last), 1);
    CHECK_INT(first_of(&r), second);
    CHECK_INT(mmi_spool_shared_lease(&r.spool, "other", second - 1, UINT64_MAX), MM_ENOENT);
    CHECK_INT(mmi_spool_shared_lease(&r.spool, "a/b", second, UINT64_MAX), MM_EINVAL);
    CHECK_INT(mmi_spool_shared_trim(&r.spool, last), 0);
    CHECK_INT(mmi_spool_shared_lease(&r.spool, "short", second, 0), MM_OK); /* over at once */
    CHECK_INT(mmi_spool_shared_release(&r.spool, "short"), MM_ENOENT);
    CHECK_INT(mmi_spool_shared_release(&r.spool, "range"), MM_OK);
    CHECK_INT(mmi_spool_shared_release(&r.spool, "range"), MM_ENOENT);
    CHECK_INT(mmi_spool_shared_trim(&r.spool, last), 2);
    CHECK_INT(mmi_spool_shared_lease(&r.spool, "all", first_of(&r), UINT64_MAX), MM_OK);
    for (uint64_t first = first_of(&r); first_of(&r) == first;) {
        put_some(&r, 1, true);
    }
    CHECK(counts_of(&r).dropped_oldest > 0);
    threads_free(&r);
}

/* Each that there is not enough memory for says so, and leaves nothing behind. */
static void
test_without_memory_none_is_opened(void)
{
    mmi_spool_cursor *c;
    threads_rig r;
    int rc = MM_ENOMEM;
    threads_new(&r, MMI_SPOOL_DISK);
    put_some(&r, 3, true);
    for (int64_t nth = 1; rc == MM_ENOMEM; nth++) {
        threads_stop(&r.spool); /* its thread takes no memory meanwhile */
        threads_go_on(&r.spool);
        mm_test_alloc_fail(nth);
        rc = mmi_spool_shared_cursor_open(&r.spool, "one", true, MMI_SPOOL_EARLIEST, &c);
        mm_test_alloc_fail(0);
        CHECK(nth < 20);
        CHECK(rc == MM_OK || r.spool.cursors == NULL);
    }
    CHECK_INT(rc, MM_OK);
    cursor_did(&r, c, 1, 3);
    cursor_closed(&r, c);
    mm_test_alloc_fail(1);
    CHECK_INT(mmi_spool_shared_cursor_delete(&r.spool, "one"), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK_INT(mmi_spool_shared_cursor_delete(&r.spool, "one"), MM_OK);
    threads_free(&r);
}

enum { MARKERS = 4, MARKED = 200 };

typedef struct marker {
    threads_rig *r;
    uint64_t number;
} marker;

/* Each opens it again and again, and marks its own numbers. */
static void *
mark_run(void *arg)
{
    const marker *m = arg;
    for (uint64_t seq = 1 + m->number; seq <= MARKED; seq += MARKERS) {
        mmi_spool_cursor *c = cursor_of(m->r, "one", MMI_SPOOL_EARLIEST);
        cursor_did(m->r, c, seq, seq);
        if (seq % 7 == 0) {
            cursor_saved(m->r, c);
        }
        CHECK(mmi_spool_shared_cursor_next(&m->r->spool, c, seq) > seq);
        cursor_closed(m->r, c);
    }
    return NULL;
}

static void
test_threads_that_open_and_close_one_lose_nothing(void)
{
    threads_rig r;
    pthread_t threads[MARKERS];
    marker markers[MARKERS];
    threads_new(&r, MMI_SPOOL_OS);
    put_some(&r, MARKED, false);
    CHECK_INT(mmi_spool_shared_wait(&r.spool, MARKED, MMI_SPOOL_OS, &PATIENTLY), MM_OK);
    for (uint64_t i = 0; i < MARKERS; i++) {
        markers[i] = (marker){ .r = &r, .number = i };
        CHECK_INT(pthread_create(&threads[i], NULL, mark_run, &markers[i]), 0);
    }
    for (uint32_t i = 0; i < MARKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(r.spool.cursors == NULL);
    mmi_spool_cursor *c = cursor_of(&r, "one", MMI_SPOOL_EARLIEST);
    CHECK_INT(cursor_info(&r, c).floor, MARKED);
    cursor_closed(&r, c);
    threads_free(&r);
}

int
main(void)
{
    RUN(test_two_of_one_name_are_one);
    RUN(test_where_one_begins_that_is_new);
    RUN(test_only_what_can_be_seen_can_be_done_or_sought);
    RUN(test_what_is_done_is_saved_by_itself);
    RUN(test_a_save_by_itself_is_never_ahead_of_the_disk);
    RUN(test_where_a_new_one_begins_is_on_the_disk_at_once);
    RUN(test_one_that_is_open_is_not_deleted);
    RUN(test_one_that_could_not_be_saved_is_done_for);
    RUN(test_those_that_are_taken_end_in_front_of_what_was_removed);
    RUN(test_a_lease_holds_what_would_be_trimmed_but_not_what_has_no_room);
    RUN(test_without_memory_none_is_opened);
    RUN(test_threads_that_open_and_close_one_lose_nothing);
    return 0;
}
