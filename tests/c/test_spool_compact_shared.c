/*
 * test_spool_compact_shared.c: compaction of a spool that threads share: what holds it, when it
 * begins by itself, cursors before what it took; files that are too old for more; and which files a
 * look for young messages reads.
 *
 * Not here: what a pass takes (test_spool_compact.c), crashes (test_spool_compact_crash.c).
 */
#include <stdatomic.h>

#include "cursor_steps.h"
#include "spool/shared_compact.h"

enum { BODIES = 7, /* messages that have room in a file */ KEYS = 3 };

static _Atomic uint64_t wall_us;
static _Atomic uint64_t opens, reads;
static mmi_files real;
static mmi_spool_shared *watched;

static uint64_t
wall_now(void *arg)
{
    (void)arg;
    return atomic_load(&wall_us);
}

/* Of the same few keys, until there are so many files. */
static void
put_keyed_files(threads_rig *r, uint32_t files)
{
    for (int i = 0; files_of(r) < files; i++) {
        put_keyed(r, i % KEYS);
    }
}

static mmi_spool_compacted
compacted(threads_rig *r)
{
    mmi_spool_compacted did;
    uint64_t until = 0;
    CHECK_INT(mmi_spool_shared_compact(&r->spool, &PATIENTLY, &until, &did), MM_OK);
    return did;
}

/* How many can be read, from the first on. */
static uint64_t
left_of(threads_rig *r)
{
    mmi_spool_reader reader;
    mmi_spool_where where;
    mmi_spool_record got;
    uint64_t seq, count = 0;
    int rc;
    mmi_spool_reader_open(&reader, &r->spool.files, r->spool.dir, 1);
    while ((rc = mmi_spool_shared_load(&r->spool, &reader, &where)) == 1) {
        while (mmi_spool_reader_next(&reader, &got, &seq) == 1) {
            count++;
        }
    }
    CHECK_INT(rc, 0);
    mmi_spool_reader_close(&reader);
    return count;
}

static void
keyed_new(threads_rig *r, uint32_t files)
{
    threads_prepare(r, MMI_SPOOL_DISK);
    r->opts.tombstone_us = UINT64_MAX / 4;
    threads_open(r);
    put_keyed_files(r, files);
}

static void
again(threads_rig *r)
{
    CHECK_INT(mmi_spool_shared_close(&r->spool), MM_OK);
    threads_open(r);
}

static void
test_a_lease_holds_what_is_there_from_its_number_on(void)
{
    threads_rig r;
    keyed_new(&r, 5);
    uint64_t second = base_of(&r, 1), last = last_of(&r), end = base_of(&r, 4);
    CHECK_INT(mmi_spool_shared_lease(&r.spool, "hold", second + 1, UINT64_MAX), MM_OK);
    mmi_spool_compacted did = compacted(&r);
    CHECK_INT(did.held, 3);
    CHECK_INT(did.messages, second - 1 - KEYS);
    CHECK_INT(left_of(&r), last - did.messages);
    CHECK_INT(mmi_spool_shared_release(&r.spool, "hold"), MM_OK);
    did = compacted(&r);
    CHECK_INT(did.held, 0);
    CHECK_INT(left_of(&r), last - end + 1 + KEYS);
    threads_free(&r);
}

/* Whether it is open, closed, or in a later life. */
static void
test_a_socket_s_cursor_holds_what_it_is_not_done_with(void)
{
    threads_rig r;
    keyed_new(&r, 5);
    uint64_t third = base_of(&r, 2), last = last_of(&r);
    mmi_spool_cursor *c = cursor_of(&r, "push", MMI_SPOOL_EARLIEST);
    CHECK_INT(mmi_spool_shared_cursor_await(&r.spool, c), MM_OK);
    CHECK_INT(mmi_spool_shared_lease(&r.spool, "files", 1, UINT64_MAX), MM_OK);
    CHECK_INT(mmi_spool_shared_release(&r.spool, "files"), MM_OK);
    CHECK_INT(compacted(&r).held, 4);
    CHECK_INT(left_of(&r), last);
    cursor_closed(&r, c);
    CHECK_INT(compacted(&r).held, 4);
    again(&r);
    CHECK_INT(compacted(&r).held, 4);
    c = cursor_of(&r, "push", MMI_SPOOL_EARLIEST); /* by nobody who sends */
    cursor_did(&r, c, 1, third);
    CHECK_INT(compacted(&r).held, 4); /* a crash would take it back */
    cursor_saved(&r, c);
    mmi_spool_compacted did = compacted(&r);
    CHECK_INT(did.held, 2);
    CHECK_INT(did.messages, third - 1 - KEYS);
    cursor_closed(&r, c);
    CHECK_INT(mmi_spool_shared_cursor_delete(&r.spool, "push"), MM_OK);
    CHECK_INT(compacted(&r).held, 0);
    threads_free(&r);
}

static void
test_another_s_cursor_holds_nothing_and_passes_what_went(void)
{
    threads_rig r;
    keyed_new(&r, 4);
    uint64_t last = last_of(&r), end = base_of(&r, 3);
    mmi_spool_cursor *c = cursor_of(&r, "reads", MMI_SPOOL_EARLIEST);
    CHECK_INT(compacted(&r).held, 0);
    AWAIT(cursor_info(&r, c).floor == end - 1 - KEYS);
    CHECK_INT(cursor_info(&r, c).missed, 0);
    cursor_did(&r, c, end - KEYS, last);
    CHECK_INT(cursor_info(&r, c).left, 0);
    cursor_closed(&r, c);
    threads_free(&r);
}

/* What is between some that stay is passed as well. */
static void
test_a_cursor_passes_what_went_between_what_stays(void)
{
    threads_rig r;
    threads_prepare(&r, MMI_SPOOL_DISK);
    threads_open(&r);
    for (int i = 0; i < 20; i++) { /* every second is of a key */
        put_keyed(&r, 1);
        put_some(&r, 1, true);
    }
    uint64_t end = base_of(&r, files_of(&r) - 1);
    mmi_spool_cursor *c = cursor_of(&r, "reads", MMI_SPOOL_EARLIEST);
    for (uint64_t seq = 2; seq < end; seq += 2) {
        cursor_did(&r, c, seq, seq);
    }
    (void)compacted(&r);
    AWAIT(cursor_info(&r, c).floor + 2 >= end - 1);
    cursor_closed(&r, c);
    threads_free(&r);
}

static uint64_t
passes_of(threads_rig *r)
{
    pthread_mutex_lock(&r->spool.lock);
    uint64_t passes = r->spool.compaction.ended;
    pthread_mutex_unlock(&r->spool.lock);
    return passes;
}

static void
test_it_begins_by_itself_when_so_much_is_new(void)
{
    threads_rig r;
    threads_prepare(&r, MMI_SPOOL_DISK);
    r.opts.compact_ppm = 600000;
    threads_open(&r);
    put_files(&r, 2);
    AWAIT(passes_of(&r) == 1); /* all of it is new */
    put_files(&r, 3);
    threads_stop(&r.spool);
    CHECK_INT(mmi_spool_compact_at(&r.spool, 1), UINT64_MAX); /* half of it is */
    CHECK_INT(r.spool.compaction.ended, 1);
    threads_go_on(&r.spool);
    put_files(&r, 4);
    AWAIT(passes_of(&r) == 2);
    put_keyed_files(&r, 12);
    AWAIT(counts_of(&r).compacted_messages > 4 * BODIES);
    threads_free(&r);
}

static int
lease_in_sync(void *self, int file)
{
    (void)self;
    int rc = real.sync(real.self, file);
    mmi_spool_shared *h = watched;
    watched = NULL;
    if (h != NULL) { /* behind what is copied, and before it takes its place */
        CHECK_INT(mmi_spool_shared_lease(h, "late", 1, UINT64_MAX), MM_OK);
    }
    return rc;
}

static void
test_a_lease_that_comes_as_it_goes_on_holds(void)
{
    threads_rig r;
    keyed_new(&r, 3);
    uint64_t last = last_of(&r);
    threads_stop(&r.spool);
    real = r.spool.files;
    r.spool.files.sync = lease_in_sync;
    watched = &r.spool;
    threads_go_on(&r.spool);
    CHECK_INT(compacted(&r).messages, 0);
    CHECK(watched == NULL);
    CHECK_INT(left_of(&r), last);
    threads_free(&r);
}

static int
never_renamed(void *self, int from_dir, const char *from, int to_dir, const char *to)
{
    bool mine = strcmp(from, mmi_compact_name) == 0;
    return mine ? MM_EIO : real.rename(self, from_dir, from, to_dir, to);
}

static void
test_a_disk_that_fails_ends_it_and_not_the_spool(void)
{
    threads_rig r;
    mmi_spool_compacted did;
    keyed_new(&r, 3);
    uint64_t last = last_of(&r), until = 0;
    threads_stop(&r.spool);
    real = r.spool.files;
    r.spool.files.rename = never_renamed;
    threads_go_on(&r.spool);
    CHECK_INT(mmi_spool_shared_compact(&r.spool, &PATIENTLY, &until, &did), MM_EIO);
    until = 0;
    CHECK_INT(mmi_spool_shared_compact(&r.spool, &PATIENTLY, &until, &did), MM_EIO);
    CHECK_INT(left_of(&r), last);
    put_keyed(&r, 1);
    again(&r);
    CHECK(compacted(&r).messages > 0);
    threads_free(&r);
}

static void
test_who_waits_no_longer_has_it_done_all_the_same(void)
{
    threads_rig r;
    mmi_spool_compacted did;
    keyed_new(&r, 4);
    const mmi_spool_wait never = { .deadline_ns = 1 };
    uint64_t until = 0;
    int rc = mmi_spool_shared_compact(&r.spool, &never, &until, &did);
    CHECK(rc == MM_ETIMEDOUT);
    AWAIT(counts_of(&r).compacted_messages > BODIES);
    CHECK_INT(mmi_spool_shared_compact(&r.spool, &never, &until, &did), MM_OK);
    CHECK(did.messages > BODIES);
    threads_free(&r);
}

/* The wall clock is the test's. */
static void
clock_taken(threads_rig *r)
{
    threads_stop(&r->spool);
    r->spool.spool.opts.now_us = wall_now;
    threads_go_on(&r->spool);
}

static void
test_a_file_whose_first_message_is_too_old_is_sealed(void)
{
    threads_rig r;
    const uint64_t hour_us = UINT64_C(3600) * 1000 * 1000;
    atomic_store(&wall_us, 1000 * hour_us);
    threads_prepare(&r, MMI_SPOOL_DISK);
    r.opts.spool.segment_age_us = hour_us;
    threads_open(&r);
    clock_taken(&r);
    atomic_fetch_add(&wall_us, 2 * hour_us);
    put_some(&r, 1, true); /* before it there was none, however old the file is */
    put_some(&r, 1, true);
    threads_stop(&r.spool);
    CHECK_INT(r.spool.spool.file_count, 1);
    CHECK_INT(mmi_spool_ages(&r.spool.spool, wall_now(NULL)), hour_us);
    atomic_fetch_add(&wall_us, hour_us - 1);
    CHECK_INT(mmi_spool_ages(&r.spool.spool, wall_now(NULL)), 1);
    threads_go_on(&r.spool);
    CHECK_INT(files_of(&r), 1);
    atomic_fetch_add(&wall_us, 1);
    threads_stop(&r.spool);
    pthread_cond_signal(&r.spool.work);
    threads_go_on(&r.spool);
    AWAIT(files_of(&r) == 2);
    CHECK_INT(base_of(&r, 1), 3);
    atomic_fetch_add(&wall_us, 2 * hour_us); /* the new one has nothing */
    threads_stop(&r.spool);
    CHECK_INT(mmi_spool_ages(&r.spool.spool, wall_now(NULL)), UINT64_MAX);
    threads_go_on(&r.spool);
    put_some(&r, 1, true);
    r.opts.spool.segment_age_us = 0;
    again(&r); /* and it is known again */
    threads_stop(&r.spool);
    uint64_t begun = r.spool.spool.begun_us;
    threads_go_on(&r.spool);
    CHECK_INT(begun, wall_now(NULL));
    threads_free(&r);
}

static int
counted_open(void *self, int dir, const char *name, uint32_t flags, int *file)
{
    atomic_fetch_add(&opens, 1);
    return real.open(self, dir, name, flags, file);
}

static int64_t
counted_read(void *self, int file, uint64_t at, void *buf, size_t size)
{
    atomic_fetch_add(&reads, 1);
    return real.read(self, file, at, buf, size);
}

/* A minute for each file: from the last one back, and none that is older than what is asked for. */
static void
test_a_look_for_young_messages_reads_few_heads(void)
{
    enum { FILES = 20 };
    threads_rig r;
    const uint64_t minute_us = 60000000;
    uint64_t begun[FILES + 1];
    atomic_store(&wall_us, 1000 * minute_us);
    threads_prepare(&r, MMI_SPOOL_DISK);
    threads_open(&r);
    clock_taken(&r);
    for (uint32_t files = 1; files <= FILES; files++) {
        put_keyed_files(&r, files);
        begun[files] = wall_now(NULL);
        atomic_fetch_add(&wall_us, minute_us);
    }
    threads_stop(&r.spool);
    real = r.spool.files;
    r.spool.files.open = counted_open;
    r.spool.files.read = counted_read;
    threads_go_on(&r.spool);
    for (uint32_t back = 0; back < FILES - 1; back++) {
        uint64_t base = base_of(&r, FILES - 1 - back);
        atomic_store(&opens, 0);
        atomic_store(&reads, 0);
        CHECK_INT(mmi_spool_shared_since(&r.spool, begun[FILES - back] + 1), base);
        CHECK_INT(atomic_load(&opens), back); /* that of the last one is known */
        CHECK_INT(atomic_load(&reads), back);
    }
    CHECK_INT(mmi_spool_shared_since(&r.spool, 1), 1);
    CHECK_INT(mmi_spool_shared_since(&r.spool, UINT64_MAX), base_of(&r, FILES - 1));
    /* One whose head cannot be read says nothing, and the one before it is asked. */
    char name[MMI_SPOOL_NAME];
    mmi_spool_name(base_of(&r, FILES - 2), name);
    CHECK_INT(r.spool.files.unlink(r.spool.files.self, r.spool.dir, name), MM_OK);
    CHECK_INT(mmi_spool_shared_since(&r.spool, begun[FILES - 1] + 1), base_of(&r, FILES - 3));
    CHECK_INT(mmi_spool_shared_close(&r.spool), MM_OK);
    threads_remove(r.place);
}

/* Readers, writers and passes at once: each reads each number once at most, in order. */
static void
test_it_goes_on_beside_who_writes_and_reads(void)
{
    threads_rig r;
    threads_prepare(&r, MMI_SPOOL_OS);
    r.opts.compact_ppm = 1;
    threads_open(&r);
    mmi_spool_reader reader;
    mmi_spool_where where;
    mmi_spool_record got;
    uint64_t seq, before = 0;
    mmi_spool_reader_open(&reader, &r.spool.files, r.spool.dir, 1);
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 5; i++) {
            put_keyed(&r, i % KEYS);
        }
        int rc = mmi_spool_shared_load(&r.spool, &reader, &where);
        while (rc == 1 && mmi_spool_reader_next(&reader, &got, &seq) == 1) {
            CHECK(seq > before && got.size == CURSOR_BODY);
            before = seq;
        }
        CHECK_INT(rc == 1 ? 0 : rc, 0);
    }
    int rc;
    while ((rc = mmi_spool_shared_load(&r.spool, &reader, &where)) == 1) {
        while (mmi_spool_reader_next(&reader, &got, &seq) == 1) {
            before = seq;
        }
    }
    CHECK_INT(rc, 0);
    CHECK_INT(before, 1000);
    AWAIT(left_of(&r) < 3 * BODIES);
    mmi_spool_reader_close(&reader);
    threads_free(&r);
}

int
main(void)
{
    RUN(test_a_lease_holds_what_is_there_from_its_number_on);
    RUN(test_a_socket_s_cursor_holds_what_it_is_not_done_with);
    RUN(test_another_s_cursor_holds_nothing_and_passes_what_went);
    RUN(test_a_cursor_passes_what_went_between_what_stays);
    RUN(test_it_begins_by_itself_when_so_much_is_new);
    RUN(test_a_lease_that_comes_as_it_goes_on_holds);
    RUN(test_a_disk_that_fails_ends_it_and_not_the_spool);
    RUN(test_who_waits_no_longer_has_it_done_all_the_same);
    RUN(test_a_file_whose_first_message_is_too_old_is_sealed);
    RUN(test_a_look_for_young_messages_reads_few_heads);
    RUN(test_it_goes_on_beside_who_writes_and_reads);
    return 0;
}
