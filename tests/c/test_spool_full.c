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
    CHECK_INT(r->spool.refused.why, MMI_SPOOL_FULL_DISK);
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
    spool_rig_hog(r, "hog", 0);
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
            spool_rig_hog(&r, "hog", 0);
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
    spool_rig_hog(&r, "hog", 0);
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

/* Nothing more goes into a last file that has no room of its own: it is made in a life that mends
 * on a full disk, and is found so by the next, closed in order or not. */
static void
test_a_last_file_without_its_room_is_found_to_be_full(void)
{
    for (int closed = 0; closed < 2; closed++) {
        spool_rig r;
        spool_rig_new(&r, 1, &(mmi_disk_opts){ .capacity = CAPACITY });
        r.opts.level = MMI_SPOOL_OS;
        CHECK_INT(spool_rig_open(&r), MM_OK);
        spool_rig_batches(&r, 4, 3);
        uint64_t last = r.spool.last_seq;
        spool_rig_stop(&r, false);
        spool_rig_hog(&r, "hog", 0);
        for (int life = 0; life < 3; life++) {
            CHECK_INT(spool_rig_open(&r), MM_OK);
            CHECK(r.spool.cramped);
            CHECK_INT(spool_rig_put(&r), MM_ENOSPC);
            CHECK_INT(spool_rig_commit(&r, true), MM_OK);
            CHECK(!r.spool.failed);
            CHECK_INT(r.spool.last_seq, last);
            if (closed == 1) {
                spool_rig_close(&r);
            }
            spool_rig_stop(&r, false);
            spool_rig_hog(&r, "hog", 0);
        }
        CHECK_INT(CALL(&r.disk, unlink, r.disk.dir, "hog"), MM_OK);
        CHECK_INT(spool_rig_open(&r), MM_OK);
        CHECK(!r.spool.cramped);
        spool_rig_batches(&r, 3, 3);
        check_all(&r);
        spool_rig_free(&r);
    }
}

/* The last file of a spool that was closed in order, as a copy without its room has it: sparse, or
 * cut to where it ends. */
static void
make_sparse(spool_rig *r, bool cut)
{
    char name[MMI_SPOOL_NAME];
    int file;
    uint64_t size, end = r->spool.file.end;
    mmi_spool_name(r->spool.file.head.base_seq, name);
    spool_rig_close(r);
    end += mmi_spool_batch_size(0); /* its CLOSE */
    CHECK_INT(CALL(&r->disk, open, r->disk.dir, name, MMI_FILE_WRITE, &file), MM_OK);
    CHECK_INT(CALL(&r->disk, size, file, &size), MM_OK);
    CHECK_INT(CALL(&r->disk, truncate, file, end), MM_OK);
    CHECK_INT(CALL(&r->disk, truncate, file, cut ? end : size), MM_OK);
    CHECK_INT(CALL(&r->disk, sync, file), MM_OK);
    CALL(&r->disk, close, file);
}

static void
test_so_is_one_that_was_copied_without_its_room(void)
{
    for (int cut = 0; cut < 2; cut++) {
        for (int room = 0; room < 2; room++) {
            spool_rig r;
            spool_rig_new(&r, 1, &(mmi_disk_opts){ .capacity = CAPACITY });
            CHECK_INT(spool_rig_open(&r), MM_OK);
            spool_rig_batches(&r, 4, 3);
            make_sparse(&r, cut == 1);
            spool_rig_hog(&r, "hog", room == 1 ? MMI_SPOOL_FILE_MIN : 0);
            CHECK_INT(spool_rig_open(&r), MM_OK);
            CHECK_INT(r.report.unclean, 0);
            CHECK_INT(r.spool.cramped, room == 0);
            CHECK_INT(spool_rig_put(&r), room == 1 ? MM_OK : MM_ENOSPC);
            CHECK_INT(spool_rig_commit(&r, true), MM_OK);
            check_all(&r);
            spool_rig_close(&r);
            CHECK_INT(spool_rig_open(&r), MM_OK);
            CHECK_INT(r.report.unclean, 0);
            check_all(&r);
            spool_rig_free(&r);
        }
    }
}

/* A disk that has a part of what is asked for, as a system may give it before it says so. */
static mmi_files whole;

static int
reserve_a_part(void *self, int file, uint64_t size)
{
    uint64_t was;
    CHECK_INT(whole.size(self, file, &was), MM_OK);
    if (was < size) {
        CHECK_INT(whole.truncate(self, file, was + (size - was) / 2), MM_OK);
    }
    return was < size ? MM_ENOSPC : MM_OK;
}

static void
test_a_part_of_its_room_is_given_back(void)
{
    spool_rig r;
    uint64_t size;
    spool_rig_new(&r, 1, &(mmi_disk_opts){ .capacity = CAPACITY });
    CHECK_INT(spool_rig_open(&r), MM_OK);
    spool_rig_batches(&r, 4, 3);
    make_sparse(&r, true);
    whole = r.disk.files;
    r.disk.files.reserve = reserve_a_part;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK(r.spool.cramped);
    CHECK_INT(CALL(&r.disk, size, r.spool.file.file, &size), MM_OK);
    CHECK_INT(size, r.spool.file.end + mmi_spool_batch_size(0));
    check_all(&r);
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
    RUN(test_a_last_file_without_its_room_is_found_to_be_full);
    RUN(test_so_is_one_that_was_copied_without_its_room);
    RUN(test_a_part_of_its_room_is_given_back);
    RUN(test_a_state_that_is_harmed_is_made_again_on_a_full_disk);
    RUN(test_the_reserve_is_there_from_the_beginning);
    return 0;
}
