/*
 * test_spool_compact_crash.c: a pass of compaction is cut off at each of its steps, by the machine,
 * the process, a call that fails, or for want of memory: what was to stay is there, no key that was
 * deleted comes back, and the next pass does the rest.
 *
 * Not here: what a pass takes (test_spool_compact.c).
 */
#include "compact_rig.h"
#include "meshmsg_testing.h"

enum { MOST = SPOOL_MESSAGES_MAX, CUT_KEYS = 12, CUT_FILES = 4, CUT_BATCH = 60, STEPS_MAX = 5000 };

static bool there[MOST];

/* A third are tombstones, and some keys are used only at the beginning. */
static keyed
cut(uint64_t seq)
{
    uint32_t seed = (uint32_t)seq * 2654435761u + 29;
    uint32_t drawn = check_random(&seed) % CUT_KEYS;
    int key = seq % 7 == 0 ? NO_KEY : (int)(drawn + (seq < 200 ? 100 : 0));
    bool empty = check_random(&seed) % 3 == 0;
    return (keyed){ .key = key, .size = empty ? 0 : 1 + seq % KEYED_BODY };
}

/* Of the numbers below end: nothing that is to stay is missing, and of no key the last that is
 * there is one that was deleted or replaced. */
static void
check_cut(spool_rig *r, uint64_t end)
{
    uint64_t last[256] = { 0 }, is[256] = { 0 };
    CHECK_INT(keyed_read(r, cut, there, MOST), 0);
    for (uint64_t seq = 1; seq <= r->spool.last_seq; seq++) {
        int key = cut(seq).key;
        CHECK(there[seq] || (seq < end && key != NO_KEY));
        if (key != NO_KEY && seq < end) {
            last[key] = seq;
            is[key] = there[seq] ? seq : is[key];
        }
    }
    for (int key = 0; key < 256; key++) {
        bool dead = last[key] > 0 && cut(last[key]).size == 0;
        CHECK(is[key] == last[key] || (dead && (is[key] == 0 || cut(is[key]).size == 0)));
    }
}

/* Everything that may go has gone. */
static void
check_whole(spool_rig *r, uint64_t end)
{
    check_cut(r, end);
    for (uint64_t seq = 1; seq < end; seq++) {
        for (uint64_t later = seq + 1; there[seq] && cut(seq).key != NO_KEY && later < end;
             later++) {
            CHECK(cut(later).key != cut(seq).key);
        }
    }
}

static mmi_compact_plan
plan_of(uint64_t step)
{
    return (mmi_compact_plan){ .merge_bytes = step % 2 * MMI_SPOOL_FILE_MIN / 4,
                               .tombstone_us = step % 3 == 0   ? 0
                                               : step % 3 == 1 ? 10
                                                               : UINT64_MAX,
                               .keys_max = step % 5 == 0 ? 5 : 0 };
}

/* A spool of which a part was compacted before. */
static uint64_t
cut_started(spool_rig *r, uint64_t seed)
{
    mmi_compact c;
    spool_rig_started(r, seed, MMI_SPOOL_DISK);
    keyed_files(r, cut, 3, CUT_BATCH);
    CHECK_INT(keyed_pass(r, plan_of(seed), &c), MM_OK);
    keyed_files(r, cut, CUT_FILES, CUT_BATCH);
    return r->spool.bases[r->spool.file_count - 1];
}

static void
cut_ends(spool_rig *r, uint64_t step, uint64_t end)
{
    mmi_compact c;
    CHECK_INT(spool_rig_open(r), MM_OK);
    CHECK_INT(r->report.lost_first, 0);
    check_cut(r, end);
    end = r->spool.bases[r->spool.file_count - 1]; /* what was not proved is in a file of its own */
    CHECK_INT(keyed_pass(r, plan_of(step), &c), MM_OK);
    check_whole(r, end);
    spool_rig_close(r);
    CHECK_INT(spool_rig_open(r), MM_OK);
    check_whole(r, end);
    spool_rig_free(r);
}

/* Every operation of a pass is the last one, in turn. */
static void
cut_each(bool machine, uint64_t stride)
{
    for (uint64_t step = 1;; step += stride) {
        spool_rig r;
        mmi_compact c;
        CHECK(step < STEPS_MAX);
        uint64_t end = cut_started(&r, step);
        mmi_disk_crash_in(r.disk.disk, step);
        const mmi_files *f = &r.disk.files;
        bool whole = keyed_pass(&r, plan_of(step), &c) == MM_OK;
        mmi_disk_crash_in(r.disk.disk, 0);
        /* What cannot be read it leaves, so it ends well of a machine that stopped as it read. */
        whole = whole && f->sync_folder(f->self, r.disk.dir) == MM_OK;
        if (whole) {
            CHECK(step > 50);
            check_whole(&r, end);
            spool_rig_free(&r);
            return;
        }
        if (machine) {
            spool_rig_stop(&r, true);
        } else { /* what the machine did not get to write is there all the same */
            mmi_disk_reboot(r.disk.disk);
            r.open = false;
            mmi_spool_abandon(&r.spool);
            CHECK_INT(r.disk.files.root(r.disk.files.self, "/", &r.disk.dir), MM_OK);
        }
        cut_ends(&r, step, end);
    }
}

static void
test_a_machine_that_stops_in_a_pass_leaves_the_old_or_the_new(void)
{
    cut_each(true, 1);
    cut_each(false, 7);
}

/* Whatever a crash leaves of the names that a merge changes: no number is without a file. */
static void
test_names_that_a_merge_changes_may_survive_in_any_order(void)
{
    enum { NAMES_SEEDS = 24, NAMES_STEPS = 6 };
    for (uint64_t seed = 1; seed <= NAMES_SEEDS; seed++) {
        for (uint64_t step = 1; step <= NAMES_STEPS; step++) {
            spool_rig r;
            mmi_compact c;
            mmi_compact_names names;
            spool_rig_started(&r, seed * 100 + step, MMI_SPOOL_DISK);
            keyed_files(&r, cut, CUT_FILES, CUT_BATCH);
            uint64_t end = r.spool.bases[CUT_FILES - 1];
            const mmi_compact_plan plan = { .bases = r.spool.bases,
                                            .count = CUT_FILES - 1,
                                            .end = end,
                                            .merge_bytes = UINT64_MAX / 2,
                                            .now_us = 1,
                                            .tombstone_us = UINT64_MAX };
            CHECK_INT(mmi_compact_begin(&c, &r.spool, &plan), MM_OK);
            while (c.state != MMI_COMPACT_COMMIT) {
                CHECK(mmi_compact_step(&c) >= 0);
            }
            CHECK_INT(c.group.count, CUT_FILES - 1);
            mmi_disk_crash_in(r.disk.disk, step);
            (void)mmi_compact_commit_run(&c, &names);
            mmi_disk_crash_in(r.disk.disk, 0);
            mmi_compact_end(&c);
            spool_rig_stop(&r, true);
            cut_ends(&r, 1, end);
        }
    }
}

/* The n-th call fails: the pass ends, and the spool goes on. */
static void
test_a_call_that_fails_ends_the_pass_and_not_the_spool(void)
{
    static const mmi_disk_op kinds[] = { MMI_DISK_OPEN,        MMI_DISK_WRITE, MMI_DISK_SYNC,
                                         MMI_DISK_SYNC_FOLDER, MMI_DISK_NAME,  MMI_DISK_TRUNCATE };
    for (size_t kind = 0; kind < MMI_COUNT_OF(kinds); kind++) {
        for (uint64_t nth = 1; nth < 25; nth++) {
            spool_rig r;
            mmi_compact c;
            uint64_t end = cut_started(&r, nth);
            mmi_disk_fail(r.disk.disk, kinds[kind], nth, EIO);
            (void)keyed_pass(&r, plan_of(nth), &c);
            mmi_disk_faults(r.disk.disk, &(mmi_disk_opts){ .capacity = 0 });
            mmi_disk_fail(r.disk.disk, kinds[kind], UINT64_MAX, EIO);
            CHECK(!r.spool.failed);
            check_cut(&r, end);
            CHECK_INT(keyed_put(&r, cut), MM_OK);
            CHECK_INT(spool_rig_commit(&r, true), MM_OK);
            spool_rig_stop(&r, nth % 2 == 0);
            cut_ends(&r, nth, end);
        }
    }
}

/* On a full disk a pass ends, gives back what it took, and changes nothing. */
static void
test_a_full_disk_ends_the_pass(void)
{
    spool_rig r;
    mmi_compact c;
    uint64_t end = cut_started(&r, 1);
    uint64_t used = rig_space(&r.disk).used;
    mmi_disk_faults(r.disk.disk, &(mmi_disk_opts){ .capacity = used + 8192 });
    CHECK_INT(keyed_pass(&r, plan_of(1), &c), MM_ENOSPC);
    CHECK_INT(rig_space(&r.disk).used, used);
    check_cut(&r, end);
    mmi_disk_faults(r.disk.disk, &(mmi_disk_opts){ .capacity = 0 });
    CHECK_INT(keyed_pass(&r, plan_of(1), &c), MM_OK);
    check_whole(&r, end);
    spool_rig_free(&r);
}

static void
test_without_memory_a_pass_ends_or_is_done_in_parts(void)
{
    for (uint64_t nth = 1;; nth++) {
        spool_rig r;
        mmi_compact c;
        uint64_t end = cut_started(&r, 7);
        mm_test_alloc_fail(nth);
        int rc = keyed_pass(&r, plan_of(7), &c);
        mm_test_alloc_fail(0);
        CHECK(rc == MM_OK || rc == MM_ENOMEM);
        check_cut(&r, end);
        if (rc == MM_OK) {
            check_whole(&r, end);
        }
        spool_rig_free(&r);
        if (rc == MM_OK) {
            CHECK(nth > 3);
            return;
        }
    }
}

int
main(void)
{
    RUN(test_a_machine_that_stops_in_a_pass_leaves_the_old_or_the_new);
    RUN(test_names_that_a_merge_changes_may_survive_in_any_order);
    RUN(test_a_call_that_fails_ends_the_pass_and_not_the_spool);
    RUN(test_a_full_disk_ends_the_pass);
    RUN(test_without_memory_a_pass_ends_or_is_done_in_parts);
    return 0;
}
