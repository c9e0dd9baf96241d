/*
 * test_spool_full.c: a spool on a disk without a free octet: it opens after whatever stopped it, is
 * read and trimmed, and goes on when there is room again.
 *
 * Not here: limits of a spool's own (test_spool_log.c), what its slots do (test_slots.c).
 */
#include <errno.h>

#include "spool_steps.h"

enum {
    CAPACITY = 10 * MMI_SPOOL_FILE_MIN, /* octets of the disk */
    MANY = 2000,                        /* messages: more than fit */
    STEPS = 60                          /* of an opening, any of which may be its last */
};

/* Takes all that is free, as another program may. */
static void
take_the_rest(spool_rig *r, const char *name)
{
    static const uint8_t octets[4096] = { 1 };
    int file = file_made(&r->disk.files, r->disk.dir, name);
    uint64_t at = 0;
    CHECK_INT(CALL(&r->disk, size, file, &at), MM_OK);
    at = (at + sizeof octets - 1) / sizeof octets * sizeof octets;
    while (file_put(&r->disk.files, file, at, octets, sizeof octets) == (int64_t)sizeof octets) {
        at += sizeof octets;
    }
    CHECK_INT(CALL(&r->disk, sync, file), MM_OK);
    CHECK_INT(CALL(&r->disk, sync_folder, r->disk.dir), MM_OK);
    CALL(&r->disk, close, file);
    mmi_space space;
    CHECK_INT(CALL(&r->disk, space, r->disk.dir, &space), MM_OK);
    CHECK_INT(space.free, 0);
}

/* Puts until there is no room. */
static void
fill(spool_rig *r)
{
    int rc = MM_OK;
    for (int i = 0; i < MANY && rc == MM_OK; i++) {
        rc = spool_rig_put(r);
        if (rc == MM_OK && i % 3 == 0) {
            CHECK_INT(spool_rig_commit(r, false), MM_OK);
        }
    }
    CHECK_INT(rc, MM_ENOSPC);
    CHECK_INT(spool_rig_commit(r, false), MM_OK);
    CHECK(!r->spool.failed);
}

/* A spool that is full, on a disk that is. */
static void
full(spool_rig *r, uint64_t seed, mmi_spool_level level)
{
    spool_rig_new(r, seed, &(mmi_disk_opts){ .capacity = CAPACITY });
    r->opts.level = level;
    CHECK_INT(spool_rig_open(r), MM_OK);
    fill(r);
    take_the_rest(r, "hog");
}

static void
check_all(spool_rig *r)
{
    uint64_t next;
    CHECK_INT(spool_rig_read(r, mmi_spool_first(&r->spool), &next), 0);
    CHECK_INT(next, r->spool.last_seq + 1);
}

/* Again and again: what trimming frees is filled, and taken. */
static void
test_a_spool_that_was_killed_on_a_full_disk_opens(void)
{
    for (int level = MMI_SPOOL_OS; level <= MMI_SPOOL_DISK; level++) {
        spool_rig r;
        full(&r, 1, (mmi_spool_level)level);
        for (int life = 0; life < 4; life++) {
            uint64_t last = r.spool.last_seq;
            spool_rig_stop(&r, false);
            CHECK_INT(spool_rig_open(&r), MM_OK);
            CHECK_INT(r.spool.last_seq, last);
            check_all(&r);
            CHECK_INT(spool_rig_put(&r), MM_ENOSPC);
            CHECK_INT(spool_trim(&r.spool, last, 2), 2);
            check_all(&r);
            r.spool.wants_spare = true; /* as who trims for others says */
            CHECK_INT(spool_rig_commit(&r, false), MM_OK);
            fill(&r);
            CHECK(r.spool.last_seq > last);
            take_the_rest(&r, "hog");
        }
        spool_rig_free(&r);
    }
}

/* Any call of the opening fails, or the machine stops there. */
static void
test_an_opening_on_a_full_disk_may_be_cut_off_anywhere(void)
{
    static const mmi_disk_op kinds[] = { MMI_DISK_WRITE, MMI_DISK_SYNC, MMI_DISK_SYNC_FOLDER,
                                         MMI_DISK_NAME, MMI_DISK_OPS };
    uint32_t cut = 0, torn = 0;
    for (size_t kind = 0; kind < MMI_COUNT_OF(kinds); kind++) {
        for (uint64_t step = 1; step <= STEPS; step++) {
            spool_rig r;
            full(&r, step, step % 2 == 0 ? MMI_SPOOL_DISK : MMI_SPOOL_OS);
            uint64_t last = r.spool.last_seq;
            bool machine = kinds[kind] == MMI_DISK_OPS, tears = step % 3 == 0;
            spool_rig_stop(&r, tears); /* what was not synced is torn, perhaps */
            for (int again = 0; again < 3; again++) {
                if (machine) {
                    mmi_disk_crash_in(r.disk.disk, step);
                } else {
                    mmi_disk_fail(r.disk.disk, kinds[kind], step, EIO);
                }
                cut += spool_rig_open(&r) != MM_OK;
                torn += r.report.torn_bytes > 0;
                spool_rig_stop(&r, machine);
                mmi_disk_crash_in(r.disk.disk, 0);
            }
            mmi_disk_fail(r.disk.disk, kinds[kind] % MMI_DISK_OPS, 0, 0);
            CHECK_INT(spool_rig_open(&r), MM_OK);
            CHECK(r.spool.last_seq >= r.durable);
            CHECK(machine || tears || r.spool.last_seq == last);
            check_all(&r);
            CHECK(spool_trim(&r.spool, last, 1) > 0);
            spool_rig_free(&r);
        }
    }
    CHECK(cut > STEPS && torn > 0);
}

/* Then nothing is served, and nothing lost: with room it opens. */
static void
test_without_room_for_the_mending_it_is_told(void)
{
    spool_rig r;
    full(&r, 1, MMI_SPOOL_OS);
    uint64_t last = r.spool.last_seq;
    CHECK(mmi_spool_reserve_give(&r.spool));
    take_the_rest(&r, "hog");
    spool_rig_stop(&r, false);
    for (int again = 0; again < 3; again++) {
        CHECK_INT(spool_rig_open(&r), MM_ENOSPC);
    }
    CHECK_INT(CALL(&r.disk, unlink, r.disk.dir, "hog"), MM_OK);
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK_INT(r.spool.last_seq, last);
    check_all(&r);
    CHECK(spool_trim(&r.spool, last, UINT32_MAX) > 1);
    r.spool.wants_spare = true;
    CHECK_INT(spool_rig_commit(&r, false), MM_OK);
    CHECK(r.spool.reserved);
    spool_rig_free(&r);
}

/* Its state is made anew, which takes room, too. */
static void
test_a_state_that_is_harmed_is_made_again_on_a_full_disk(void)
{
    spool_rig r;
    full(&r, 1, MMI_SPOOL_DISK);
    static uint8_t harm[2 * MMI_SLOT];
    memset(harm, 9, sizeof harm);
    CHECK_INT(file_put(&r.disk.files, r.spool.state.file, 0, harm, sizeof harm), sizeof harm);
    spool_rig_stop(&r, false);
    CHECK_INT(spool_rig_open(&r), MM_OK);
    check_all(&r);
    spool_rig_free(&r);
}

/* It is made as the spool is, stays when that is closed, and is small beside large files. */
static void
test_the_reserve_is_there_from_the_beginning(void)
{
    spool_rig r;
    int file;
    uint64_t size;
    spool_rig_new(&r, 1, &(mmi_disk_opts){ .capacity = 0 });
    r.opts.file_bytes = MMI_SPOOL_FILE_DEFAULT;
    for (int life = 0; life < 2; life++) {
        CHECK_INT(spool_rig_open(&r), MM_OK);
        CHECK(r.spool.reserved);
        spool_rig_close(&r);
        spool_rig_stop(&r, true);
        CHECK_INT(CALL(&r.disk, open, r.disk.dir, mmi_spool_reserve_name, 0, &file), MM_OK);
        CHECK_INT(CALL(&r.disk, size, file, &size), MM_OK);
        CHECK_INT(size, MMI_SPOOL_RESERVE);
        CALL(&r.disk, close, file);
    }
    r.opts.file_bytes = MMI_SPOOL_FILE_MIN;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK(r.spool.reserved);
    CHECK_INT(CALL(&r.disk, open, r.disk.dir, mmi_spool_reserve_name, 0, &file), MM_OK);
    CHECK_INT(CALL(&r.disk, size, file, &size), MM_OK);
    CHECK(size < MMI_SPOOL_RESERVE && size > 2 * MMI_SPOOL_FILE_MIN);
    spool_rig_free(&r);
}

int
main(void)
{
    RUN(test_a_spool_that_was_killed_on_a_full_disk_opens);
    RUN(test_an_opening_on_a_full_disk_may_be_cut_off_anywhere);
    RUN(test_without_room_for_the_mending_it_is_told);
    RUN(test_a_state_that_is_harmed_is_made_again_on_a_full_disk);
    RUN(test_the_reserve_is_there_from_the_beginning);
    return 0;
}
