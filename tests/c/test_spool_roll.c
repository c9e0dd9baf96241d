/*
 * test_spool_roll.c: files that are begun before the last one is full, so that few or small
 * messages can go; on the simulated disk, and for threads on the system's.
 *
 * Not here: what goes from files that are full (test_spool_log.c).
 */
#include <errno.h>

#include "spool_steps.h"
#include "spool_threads.h"

enum { SMALL_MAX = 20, ROUNDS = 10, STEPS = 40 };

/* As who trims for others does it (spool/shared.c). */
static uint32_t
trim(spool_rig *r, uint64_t seq)
{
    mmi_spool *s = &r->spool;
    if (mmi_spool_roll(s, seq)) {
        for (int i = 0; i < 3 && s->wants_roll; i++) {
            (void)spool_rig_commit(r, false);
        }
    }
    return s->failed ? 0 : spool_trim(s, seq, UINT32_MAX);
}

static void
check_all(spool_rig *r)
{
    uint64_t next, first = mmi_spool_first(&r->spool);
    CHECK_INT(spool_rig_read(r, first, &next), 0);
    CHECK_INT(next, r->spool.last_seq + 1);
}

/* With max_messages a file has a part of them. */
static void
test_max_messages_is_shared_by_some_files(void)
{
    static const uint64_t limits[] = { 1, 2, 3, 4, 5, 7, 8, 20, 100 };
    for (size_t i = 0; i < MMI_COUNT_OF(limits); i++) {
        spool_rig r;
        spool_rig_new(&r, i, &(mmi_disk_opts){ .capacity = 0 });
        r.opts.max_messages = limits[i];
        r.opts.file_bytes = MMI_SPOOL_FILE_DEFAULT;
        CHECK_INT(spool_rig_open(&r), MM_OK);
        for (uint64_t put = 0; put < 3 * limits[i] + 10;) {
            int rc = spool_rig_put(&r);
            if (rc == MM_ENOSPC) {
                CHECK_INT(r.spool.last_seq + 1 - mmi_spool_first(&r.spool), limits[i]);
                CHECK_INT(spool_rig_commit(&r, false), MM_OK);
                uint64_t first = mmi_spool_first(&r.spool);
                if (spool_trim(&r.spool, r.spool.last_seq, 1) == 0) {
                    CHECK(trim(&r, r.spool.last_seq) > 0);
                }
                uint64_t gone = mmi_spool_first(&r.spool) - first;
                CHECK(gone > 0 && (gone <= limits[i] / 2 + 1));
                continue;
            }
            CHECK_INT(rc, MM_OK);
            put++;
            if (put % 3 == 0) {
                CHECK_INT(spool_rig_commit(&r, false), MM_OK);
            }
        }
        CHECK_INT(spool_rig_commit(&r, false), MM_OK);
        check_all(&r);
        CHECK(r.spool.file_count <= 2 * MMI_SPOOL_FILES_A_LIMIT);
        spool_rig_free(&r);
    }
}

/* What is said to be there is, at whatever call the machine stops, or the disk fails. */
static void
test_a_roll_may_be_cut_off_anywhere(void)
{
    static const mmi_disk_op kinds[] = { MMI_DISK_WRITE, MMI_DISK_SYNC,     MMI_DISK_SYNC_FOLDER,
                                         MMI_DISK_NAME,  MMI_DISK_TRUNCATE, MMI_DISK_RESERVE,
                                         MMI_DISK_OPS };
    uint32_t rolled = 0;
    for (size_t kind = 0; kind < MMI_COUNT_OF(kinds); kind++) {
        for (uint64_t step = 1; step <= STEPS; step++) {
            spool_rig r;
            spool_rig_started(&r, step, step % 2 == 0 ? MMI_SPOOL_DISK : MMI_SPOOL_OS);
            spool_rig_batches(&r, 40, 2);
            r.spool.opts.max_messages = 4; /* so that a few are worth it */
            if (kinds[kind] == MMI_DISK_OPS) {
                mmi_disk_crash_in(r.disk.disk, step);
            } else {
                mmi_disk_fail(r.disk.disk, kinds[kind], step, EIO);
            }
            uint64_t goes = r.spool.written_seq;
            bool all = trim(&r, goes) > 0 && mmi_spool_first(&r.spool) == goes + 1;
            rolled += all;
            r.spool.opts.max_messages = 0;
            int rc = r.spool.failed ? MM_EIO : MM_OK;
            for (int i = 0; i < 4 && rc == MM_OK; i++) {
                rc = spool_rig_put(&r);
                rc = rc == MM_OK ? spool_rig_commit(&r, i % 2 == 0) : rc;
            }
            spool_rig_stop(&r, true);
            mmi_disk_crash_in(r.disk.disk, 0);
            if (kinds[kind] != MMI_DISK_OPS) {
                mmi_disk_fail(r.disk.disk, kinds[kind], 0, 0);
            }
            CHECK_INT(spool_rig_open(&r), MM_OK);
            r.life = 1;
            CHECK_INT(r.report.lost_first, 0);
            CHECK(r.spool.last_seq >= r.durable);
            CHECK(!all || mmi_spool_first(&r.spool) == goes + 1);
            CHECK(!all || r.spool.last_seq >= goes);
            check_all(&r);
            spool_rig_free(&r);
        }
    }
    CHECK(rolled > STEPS);
}

/* All of it goes, again and again, and no number is given twice, whoever opens it meanwhile. */
static void
test_all_that_is_there_goes_and_numbers_go_on(void)
{
    spool_rig r;
    uint64_t last = 0;
    spool_rig_new(&r, 1, &(mmi_disk_opts){ .capacity = 0 });
    r.opts.max_messages = SMALL_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_INT(spool_rig_open(&r), MM_OK);
        CHECK_INT(r.spool.last_seq, last);
        CHECK_INT(mmi_spool_first(&r.spool), last + 1);
        spool_rig_batches(&r, 1, SMALL_MAX);
        last += SMALL_MAX;
        CHECK_INT(spool_rig_put(&r), MM_ENOSPC);
        CHECK(trim(&r, last) > 0);
        CHECK_INT(mmi_spool_first(&r.spool), last + 1);
        CHECK_INT(r.spool.file_count, 1);
        CHECK(mmi_spool_bytes(&r.spool) <= MMI_SPOOL_FILE_HEAD);
        CHECK_INT(trim(&r, last), 0); /* of nothing there is no new file */
        if (round % 3 == 0) {
            spool_rig_close(&r);
        }
        spool_rig_stop(&r, round % 2 == 0);
    }
    spool_rig_free(&r);
}

/* Little in a large file is not worth one: who trims after each message makes no file for each. */
static void
test_little_is_not_worth_a_file(void)
{
    spool_rig r;
    spool_rig_started(&r, 1, MMI_SPOOL_DISK);
    while (r.spool.file.end <= r.spool.opts.file_bytes / MMI_SPOOL_FILES_A_LIMIT) {
        CHECK_INT(trim(&r, r.spool.last_seq), 0);
        spool_rig_batches(&r, 1, 1);
    }
    CHECK(r.spool.last_seq > 10);
    CHECK_INT(trim(&r, r.spool.last_seq - 1), 0);
    CHECK_INT(trim(&r, r.spool.last_seq), 1);
    spool_rig_free(&r);
}

/* A file without a message, that has no room, and the next one have one name: trimming takes
 * neither for the other. */
static void
test_a_file_in_place_of_an_empty_one_is_not_taken_for_it(void)
{
    spool_rig r;
    spool_rig_new(&r, 1, &(mmi_disk_opts){ .capacity = 0 });
    mmi_disk_fail(r.disk.disk, MMI_DISK_RESERVE, 1, ENOSPC);
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK(r.spool.cramped);
    CHECK_INT(spool_rig_put(&r), MM_OK);
    CHECK_INT(spool_rig_commit(&r, false), MM_OK);
    CHECK_INT(r.spool.file_count, 1);
    CHECK_INT(spool_trim(&r.spool, 0, UINT32_MAX), 0);
    check_all(&r);
    spool_rig_stop(&r, false);
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK_INT(r.spool.last_seq, 1);
    r.life = 1;
    check_all(&r);
    spool_rig_free(&r);
}

static int
put_small(threads_rig *r, const mmi_spool_wait *wait)
{
    static const uint8_t body[] = "small";
    const uint64_t size = sizeof body;
    mmi_spool_did did;
    const mmi_spool_record record = { .frames = 1, .sizes = &size, .data = body, .size = size };
    return mmi_spool_shared_put(&r->spool, &record, 1, true, wait, &did);
}

static void *
trim_last(void *arg)
{
    threads_rig *r = arg;
    mmi_spool_where where;
    CHECK_INT(mmi_spool_shared_wait(&r->spool, UINT64_MAX, MMI_SPOOL_OS, &PATIENTLY), MM_OK);
    mmi_spool_shared_locate(&r->spool, 1, &where);
    CHECK(mmi_spool_shared_trim(&r->spool, where.visible) > 0);
    return NULL;
}

static void
test_threads_find_room_for_small_messages(void)
{
    static const mmi_spool_level levels[] = { MMI_SPOOL_BUFFERED, MMI_SPOOL_OS, MMI_SPOOL_DISK };
    for (size_t i = 0; i < MMI_COUNT_OF(levels); i++) {
        for (uint64_t most = 1; most <= SMALL_MAX; most += 3) {
            threads_rig r;
            pthread_t thread;
            threads_prepare(&r, levels[i]);
            r.opts.spool.file_bytes = 0;
            r.opts.spool.max_messages = most;
            r.opts.overflow = MMI_SPOOL_DROP_OLDEST;
            threads_open(&r);
            for (uint64_t put = 0; put < 3 * most; put++) {
                CHECK_INT(put_small(&r, &PATIENTLY), MM_OK);
            }
            const mmi_spool *s = &r.spool.spool;
            CHECK(r.spool.counts.dropped_oldest > 0);
            CHECK(s->last_seq - r.spool.counts.dropped_oldest <= most);
            r.spool.overflow = MMI_SPOOL_ERROR;
            while (put_small(&r, &PATIENTLY) == MM_OK) {
            }
            r.spool.overflow = MMI_SPOOL_BLOCK;
            CHECK_INT(pthread_create(&thread, NULL, trim_last, &r), 0);
            CHECK_INT(put_small(&r, &PATIENTLY), MM_OK);
            pthread_join(thread, NULL);
            threads_free(&r);
        }
    }
}

int
main(void)
{
    RUN(test_max_messages_is_shared_by_some_files);
    RUN(test_a_roll_may_be_cut_off_anywhere);
    RUN(test_all_that_is_there_goes_and_numbers_go_on);
    RUN(test_little_is_not_worth_a_file);
    RUN(test_a_file_in_place_of_an_empty_one_is_not_taken_for_it);
    RUN(test_threads_find_room_for_small_messages);
    return 0;
}
