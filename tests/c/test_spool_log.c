/*
 * test_spool_log.c: a spool on a disk that does what it is asked: what is put is read again, over
 * many files and many lives, and goes when it may.
 *
 * Not here: crashes and faults (test_spool_crash.c), harmed files (test_spool_harm.c).
 */
#include "spool_rig.h"

enum { MANY = 1500 };

static void
put_many(spool_rig *r, uint32_t count, uint32_t each)
{
    for (uint32_t i = 1; i <= count; i++) {
        CHECK_INT(spool_rig_put(r), MM_OK);
        if (i % each == 0) {
            CHECK_INT(spool_rig_commit(r, false), MM_OK);
        }
    }
    CHECK_INT(spool_rig_commit(r, true), MM_OK);
}

static void
check_all(spool_rig *r, uint64_t from)
{
    uint64_t next;
    CHECK_INT(spool_rig_read(r, from, &next), 0);
    CHECK_INT(next, r->spool.last_seq + 1);
    CHECK_INT(r->spool.durable_seq, r->spool.last_seq);
}

static void
test_what_is_put_is_read_again_in_every_life(void)
{
    spool_rig r;
    uint32_t epoch = 0;
    spool_rig_new(&r, 1, &(mmi_disk_opts){ .capacity = 0 });
    for (uint32_t life = 0; life < 5; life++) {
        CHECK_INT(spool_rig_open(&r), MM_OK);
        CHECK_INT(r.report.made, life == 0);
        CHECK(!r.report.unclean);
        CHECK(life == 0 ? r.spool.epoch == 1 : r.spool.epoch > epoch);
        epoch = r.spool.epoch;
        CHECK_INT(r.spool.last_seq, (uint64_t)life * MANY / 5);
        check_all(&r, 1);
        put_many(&r, MANY / 5, 1 + life * 7);
        check_all(&r, 1);
        CHECK_INT(mmi_spool_close(&r.spool), MM_OK);
        r.open = false;
    }
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK(r.spool.file_count > 5);
    for (uint64_t from = 1; from <= MANY; from += 37) {
        check_all(&r, from);
    }
    spool_rig_free(&r);
}

static void
test_nothing_is_seen_before_it_is_durable(void)
{
    spool_rig r;
    uint64_t next;
    spool_rig_new(&r, 2, &(mmi_disk_opts){ .capacity = 0 });
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK_INT(spool_rig_put(&r), MM_OK);
    CHECK_INT(spool_rig_read(&r, 1, &next), 0);
    CHECK_INT(next, 1);
    mmi_spool_job job;
    CHECK(mmi_spool_take(&r.spool, false, &job));
    mmi_spool_write(&r.spool, &job);
    CHECK_INT(spool_rig_read(&r, 1, &next), 0);
    CHECK_INT(next, 1);
    CHECK_INT(mmi_spool_wrote(&r.spool, &job), MM_OK);
    CHECK_INT(spool_rig_read(&r, 1, &next), 0);
    CHECK_INT(next, 2);
    spool_rig_free(&r);
}

/* So many octets wait at least, and no batch is full. */
static void
put_octets(spool_rig *r, uint32_t octets)
{
    CHECK_INT(r->spool.pending.size, 0);
    while (r->spool.pending.size < octets) {
        CHECK_INT(spool_rig_put(r), MM_OK);
    }
}

/* A batch that is small, or behind which nothing comes, is synced by its own job, or the next. */
static void
test_the_sync_of_a_large_batch_waits_for_what_is_next(void)
{
    spool_rig r;
    uint64_t next;
    spool_rig_new(&r, 4, &(mmi_disk_opts){ .capacity = 0 });
    CHECK_INT(spool_rig_open(&r), MM_OK);
    const uint32_t large = r.spool.opts.batch_bytes / MMI_SPOOL_LARGE_PART;
    for (uint32_t small = 0; small < 2; small++) {
        uint64_t before = r.spool.durable_seq;
        put_octets(&r, large);
        CHECK_INT(spool_rig_job(&r, false), MM_OK);
        CHECK_INT(r.spool.written_seq, r.spool.last_seq);
        CHECK_INT(r.spool.durable_seq, before);
        CHECK_INT(spool_rig_read(&r, before + 1, &next), 0);
        CHECK_INT(next, before + 1);   /* nobody sees it yet */
        if (small == 1) {
            CHECK_INT(spool_rig_put(&r), MM_OK);
        }
        CHECK_INT(spool_rig_job(&r, false), MM_OK);
        check_all(&r, 1);
        mmi_spool_job job;
        CHECK(!mmi_spool_take(&r.spool, false, &job));
    }
    put_octets(&r, large);
    CHECK_INT(spool_rig_job(&r, true), MM_OK);   /* somebody waits for it */
    check_all(&r, 1);
    spool_rig_free(&r);
}

static void
test_the_syncs_of_many_large_batches_wait_for_so_much_at_most(void)
{
    enum { BATCH = MMI_SPOOL_FILE_MIN / 16 };
    spool_rig r;
    uint32_t deferred = 0, syncs = 0;
    spool_rig_new(&r, 5, &(mmi_disk_opts){ .capacity = 0 });
    r.opts.batch_bytes = BATCH;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    for (uint32_t i = 0; i < 100; i++) {
        put_octets(&r, BATCH / MMI_SPOOL_LARGE_PART);
        CHECK_INT(spool_rig_job(&r, false), MM_OK);
        CHECK(r.spool.file.end - r.spool.synced_end < BATCH * MMI_SPOOL_BATCHES_A_SYNC);
        bool waits = r.spool.durable_seq < r.spool.written_seq;
        deferred += waits;
        syncs += !waits;
    }
    CHECK(deferred > 3 * syncs && syncs > 1);
    CHECK(r.spool.file_count > 1);
    CHECK_INT(spool_rig_commit(&r, false), MM_OK);
    check_all(&r, 1);
    spool_rig_free(&r);
}

static void
test_a_batch_is_smaller_where_nothing_waits_for_the_disk(void)
{
    spool_rig r;
    spool_rig_new(&r, 6, &(mmi_disk_opts){ .capacity = 0 });
    r.opts.file_bytes = MMI_SPOOL_FILE_DEFAULT;
    for (mmi_spool_level level = MMI_SPOOL_BUFFERED; level <= MMI_SPOOL_DISK; level++) {
        r.opts.level = level;
        CHECK_INT(spool_rig_open(&r), MM_OK);
        CHECK_INT(r.spool.opts.batch_bytes, level == MMI_SPOOL_OS
                                                ? (uint64_t)MMI_SPOOL_BATCH_OS
                                                : (uint64_t)MMI_SPOOL_BATCH_DEFAULT);
        CHECK_INT(mmi_spool_close(&r.spool), MM_OK);
        r.open = false;
    }
    spool_rig_free(&r);
}

/* A batch, its file's head and the state's note are of one moment. */
static void
test_the_clock_is_read_once_a_job(void)
{
    spool_rig r;
    uint64_t per_read, before;
    spool_rig_new(&r, 2, &(mmi_disk_opts){ .capacity = 0 });
    CHECK_INT(spool_rig_open(&r), MM_OK);
    before = r.clock_us;
    per_read = spool_now(&r) - before;
    for (int i = 0; i < MANY / 5 && r.spool.file_count < 2; i++) {
        mmi_spool_job job;
        r.clock_us += MMI_SPOOL_NOTE_US;
        CHECK_INT(spool_rig_put(&r), MM_OK);
        before = r.clock_us;
        CHECK(mmi_spool_take(&r.spool, true, &job));
        CHECK(job.notes);
        CHECK_INT(r.clock_us - before, per_read);
        mmi_spool_write(&r.spool, &job);
        CHECK_INT(mmi_spool_wrote(&r.spool, &job), MM_OK);
        CHECK_INT(r.clock_us - before, per_read);
    }
    CHECK_INT(r.spool.file_count, 2);
    spool_rig_free(&r);
}

/* Ten years and an hour, forth and back, between what is put and written, and between lives. */
static void
test_a_clock_that_jumps_as_it_is_written_changes_no_number(void)
{
    const uint64_t hour = 3600000000, years = 87600 * hour;
    spool_rig r;
    spool_rig_new(&r, 3, &(mmi_disk_opts){ .capacity = 0 });
    r.clock_us = 2 * years;
    for (uint32_t life = 0; life < 4; life++) {
        CHECK_INT(spool_rig_open(&r), MM_OK);
        CHECK_INT(r.spool.last_seq, (uint64_t)life * MANY / 5);
        for (uint32_t i = 1; i <= MANY / 5; i++) {
            r.clock_us = i % 4 == 1   ? r.clock_us - years
                         : i % 4 == 2 ? r.clock_us + hour
                         : i % 4 == 3 ? r.clock_us - hour
                                      : r.clock_us + years;
            CHECK_INT(spool_rig_put(&r), MM_OK);
            if (i % 3 == 0) {
                CHECK_INT(spool_rig_commit(&r, false), MM_OK);
            }
        }
        CHECK_INT(spool_rig_commit(&r, true), MM_OK);
        check_all(&r, 1);
        r.clock_us -= hour;
        spool_rig_stop(&r, true);
    }
    CHECK(r.spool.file_count > 2);
    spool_rig_free(&r);
}

static void
test_a_second_one_is_told_who_has_it(void)
{
    spool_rig r;
    mmi_spool other;
    mmi_spool_report report;
    spool_rig_new(&r, 3, &(mmi_disk_opts){ .capacity = 0 });
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK_INT(mmi_spool_open(&other, &r.disk.files, r.disk.dir, &r.opts, &report), MM_EAGAIN);
    CHECK(strcmp(report.owner, "a test") == 0);
    spool_rig_free(&r);
}

static void
test_files_go_that_have_nothing_above_a_number(void)
{
    spool_rig r;
    uint64_t next;
    spool_rig_new(&r, 4, &(mmi_disk_opts){ .capacity = 0 });
    CHECK_INT(spool_rig_open(&r), MM_OK);
    put_many(&r, MANY, 11);
    uint64_t bytes = mmi_spool_bytes(&r.spool), third = r.spool.bases[2];
    CHECK_INT(spool_trim(&r.spool, third - 2, 100), 1);   /* one is left in the second */
    CHECK_INT(spool_trim(&r.spool, third - 1, 100), 1);
    CHECK_INT(mmi_spool_first(&r.spool), third);
    CHECK(mmi_spool_bytes(&r.spool) < bytes);
    CHECK_INT(spool_rig_read(&r, 1, &next), MM_ENOENT);
    check_all(&r, third);
    CHECK_INT(spool_trim(&r.spool, UINT64_MAX - 1, 2), 2);
    (void)spool_trim(&r.spool, UINT64_MAX - 1, 1000);
    CHECK_INT(r.spool.file_count, 1);
    check_all(&r, mmi_spool_first(&r.spool));
    spool_rig_free(&r);
}

static void
test_limits_are_kept(void)
{
    spool_rig r;
    spool_rig_new(&r, 5, &(mmi_disk_opts){ .capacity = 0 });
    r.opts.max_messages = 100;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    put_many(&r, 100, 10);
    CHECK_INT(spool_rig_put(&r), MM_ENOSPC);
    CHECK_INT(mmi_spool_close(&r.spool), MM_OK);
    r.opts.max_messages = 0;
    r.opts.max_bytes = mmi_spool_bytes(&r.spool) + 3000;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    int rc = MM_OK;
    for (uint32_t i = 0; i < 1000 && rc == MM_OK; i++) {
        rc = spool_rig_put(&r);
    }
    CHECK_INT(rc, MM_ENOSPC);
    CHECK_INT(spool_rig_commit(&r, true), MM_OK);
    CHECK(mmi_spool_bytes(&r.spool) <= r.opts.max_bytes);
    check_all(&r, 1);
    spool_rig_free(&r);
}

/* What is too large for any batch is refused, and changes nothing. */
static void
test_a_message_over_the_limit_is_refused(void)
{
    spool_rig r;
    spool_rig_new(&r, 6, &(mmi_disk_opts){ .capacity = 0 });
    CHECK_INT(spool_rig_open(&r), MM_OK);
    uint8_t *body = calloc(1, MMI_SPOOL_FILE_MIN);
    uint64_t size = MMI_SPOOL_FILE_MIN - MMI_SPOOL_FILE_HEAD, seq;
    mmi_spool_record record = { .frames = 1, .sizes = &size, .data = body, .size = size };
    CHECK_INT(mmi_spool_put(&r.spool, &record, &seq), MM_EMSGSIZE);
    CHECK_INT(r.spool.last_seq, 0);
    record.size = size -= 200;
    CHECK_INT(mmi_spool_put(&r.spool, &record, &seq), MM_OK);
    CHECK_INT(spool_rig_commit(&r, false), MM_OK);
    CHECK_INT(mmi_spool_put(&r.spool, &record, &seq), MM_OK);
    CHECK_INT(spool_rig_commit(&r, false), MM_OK);
    CHECK_INT(r.spool.file_count, 2);
    free(body);
    spool_rig_free(&r);
}

/* On a full disk nothing fails but what is put; when there is room again it goes on. */
static void
test_a_full_disk_refuses_and_then_goes_on(void)
{
    spool_rig r;
    mmi_disk_opts small = { .capacity = 6 * (uint64_t)MMI_SPOOL_FILE_MIN };
    spool_rig_new(&r, 7, &small);
    CHECK_INT(spool_rig_open(&r), MM_OK);
    int rc = MM_OK;
    for (uint32_t i = 0; i < MANY && rc == MM_OK; i++) {
        rc = spool_rig_put(&r);
    }
    CHECK_INT(rc, MM_ENOSPC);
    CHECK(!r.spool.failed);
    CHECK_INT(spool_rig_commit(&r, true), MM_OK);
    check_all(&r, 1);
    CHECK_INT(spool_rig_put(&r), MM_ENOSPC);
    CHECK(spool_trim(&r.spool, r.spool.last_seq, 2) > 0);
    CHECK_INT(spool_rig_commit(&r, false), MM_OK);   /* which finds room for the next file */
    CHECK_INT(spool_rig_put(&r), MM_OK);
    CHECK_INT(spool_rig_commit(&r, false), MM_OK);
    check_all(&r, mmi_spool_first(&r.spool));
    spool_rig_free(&r);
}

int
main(void)
{
    RUN(test_what_is_put_is_read_again_in_every_life);
    RUN(test_nothing_is_seen_before_it_is_durable);
    RUN(test_the_sync_of_a_large_batch_waits_for_what_is_next);
    RUN(test_the_syncs_of_many_large_batches_wait_for_so_much_at_most);
    RUN(test_a_batch_is_smaller_where_nothing_waits_for_the_disk);
    RUN(test_the_clock_is_read_once_a_job);
    RUN(test_a_clock_that_jumps_as_it_is_written_changes_no_number);
    RUN(test_a_second_one_is_told_who_has_it);
    RUN(test_files_go_that_have_nothing_above_a_number);
    RUN(test_limits_are_kept);
    RUN(test_a_message_over_the_limit_is_refused);
    RUN(test_a_full_disk_refuses_and_then_goes_on);
    return 0;
}
