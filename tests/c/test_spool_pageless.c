/*
 * test_spool_pageless.c: a spool on a disk that has not one page left, and no reserve either: what
 * is to be read is read; what needs room is told when something is put, or where something was
 * harmed and has to be written.
 *
 * Not here: full disks with a reserve (test_spool_full.c), what is kept of what is torn
 * (test_spool_torn.c).
 */
#include "spool_steps.h"

enum {
    CAPACITY = 14 * MMI_SPOOL_FILE_MIN, /* octets of the disk */
    LIVES = 3,
    STEPS = 40,                         /* of an opening, any of which may be its last */
    GUESSED = 7                         /* messages that a file without a head had */
};

/* How the last file was left. */
typedef enum leaving { EMPTY, EMPTY_TORN, ENDS_TORN, LEAVINGS } leaving;

/* Nothing is free, and nothing can be given back. */
static void
take_all(spool_rig *r)
{
    (void)CALL(&r->disk, unlink, r->disk.dir, mmi_spool_reserve_name);
    (void)CALL(&r->disk, unlink, r->disk.dir, mmi_spool_spare_name);
    spool_rig_hog(r, "hog", 0);
}

static void
give_back(spool_rig *r)
{
    CHECK_INT(CALL(&r->disk, unlink, r->disk.dir, "hog"), MM_OK);
}

/* Another file is begun, with nothing in it. */
static void
begin_file(spool_rig *r)
{
    uint32_t files = r->spool.file_count;
    r->spool.wants_spare = true;
    CHECK_INT(spool_rig_commit(r, true), MM_OK);
    r->spool.wants_roll = true;
    CHECK_INT(spool_rig_commit(r, true), MM_OK);
    CHECK_INT(r->spool.file_count, files + 1);
    CHECK_INT(r->spool.file.end, MMI_SPOOL_FILE_HEAD);
}

/* A spool with some messages that are proved to be durable; it is open. */
static void
filled(spool_rig *r, uint64_t seed, mmi_spool_level level)
{
    spool_rig_new(r, seed, &(mmi_disk_opts){ .capacity = CAPACITY });
    r->opts.level = level;
    CHECK_INT(spool_rig_open(r), MM_OK);
    spool_rig_files(r, 6);
    CHECK_INT(spool_rig_commit(r, true), MM_OK);
}

/* Left so, on a disk that is full then; the number of the last message. */
static uint64_t
left(spool_rig *r, uint64_t seed, mmi_spool_level level, leaving how)
{
    filled(r, seed, level);
    if (how == ENDS_TORN) { /* what proves it stands in the state */
        CHECK_INT(mmi_spool_note(&r->spool, r->spool.durable_seq), MM_OK);
    } else {
        begin_file(r);
    }
    if (how != EMPTY) {
        spool_rig_tear_head(r);
    }
    uint64_t last = r->spool.last_seq;
    spool_rig_stop(r, false);
    take_all(r);
    return last;
}

static void
check_all(spool_rig *r, uint64_t last)
{
    uint64_t next;
    CHECK_INT(r->spool.last_seq, last);
    CHECK_INT(spool_rig_read(r, mmi_spool_first(&r->spool), &next), 0);
    CHECK_INT(next, last + 1);
}

/* Life after life; what is put meanwhile finds the room that its file has, or is told. */
static void
lives(spool_rig *r, uint64_t last, leaving how, bool closed)
{
    for (int life = 0; life < LIVES; life++) {
        CHECK_INT(spool_rig_open(r), MM_OK);
        CHECK_INT(r->report.lost_first, 0);
        CHECK_INT(r->report.torn_left, r->report.torn_bytes);
        CHECK_INT(r->report.torn_bytes > 0, how != EMPTY);
        CHECK_INT(r->spool.cramped, how != EMPTY);
        check_all(r, last);
        int rc = spool_rig_put(r);
        CHECK_INT(rc, how == EMPTY ? MM_OK : MM_ENOSPC);
        CHECK_INT(spool_rig_commit(r, true), MM_OK);
        CHECK(!r->spool.failed);
        if (how == EMPTY) { /* with that its file is not empty, and is mended as any */
            last = r->spool.last_seq;
            CHECK_INT(mmi_spool_note(&r->spool, last), MM_OK);
            spool_rig_close(r);
        } else if (closed) {
            spool_rig_close(r);
        }
        spool_rig_stop(r, life % 2 == 1);
        take_all(r);
    }
}

static void
test_with_nothing_to_copy_it_opens_without_a_page(void)
{
    for (int level = MMI_SPOOL_BUFFERED; level <= MMI_SPOOL_DISK; level++) {
        for (int how = 0; how < LEAVINGS; how++) {
            for (int closed = 0; closed < 2; closed++) {
                spool_rig r;
                uint64_t last = left(&r, 1, (mmi_spool_level)level, (leaving)how);
                lives(&r, last, (leaving)how, closed == 1);
                give_back(&r);
                CHECK_INT(spool_rig_open(&r), MM_OK);
                CHECK(!r.spool.cramped);
                last = r.spool.last_seq;
                spool_rig_batches(&r, 3, 3);
                check_all(&r, last + 9);
                spool_rig_free(&r);
            }
        }
    }
}

/* What was removed makes room for more, also in the same life. */
static void
test_trimming_makes_room_for_what_is_put(void)
{
    for (int how = 0; how < LEAVINGS; how++) {
        spool_rig r;
        uint64_t last = left(&r, 2, MMI_SPOOL_OS, (leaving)how), next;
        CHECK_INT(spool_rig_open(&r), MM_OK);
        CHECK(spool_trim(&r.spool, last, 5) > 3);
        CHECK_INT(spool_rig_put(&r), MM_OK);
        CHECK_INT(spool_rig_commit(&r, true), MM_OK);
        last = r.spool.last_seq;
        for (int life = 0; life < 2; life++) {
            CHECK_INT(spool_rig_read(&r, mmi_spool_first(&r.spool), &next), 0);
            CHECK_INT(next, last + 1);
            spool_rig_stop(&r, true);
            CHECK_INT(spool_rig_open(&r), MM_OK);
            CHECK_INT(r.spool.last_seq, last);
        }
        spool_rig_free(&r);
    }
}

/* The machine stops there, or the call fails; then it opens, with all that there was. */
static void
test_such_an_opening_may_be_cut_off_anywhere(void)
{
    static const mmi_disk_op kinds[] = { MMI_DISK_WRITE, MMI_DISK_SYNC, MMI_DISK_SYNC_FOLDER,
                                         MMI_DISK_NAME, MMI_DISK_OPS };
    uint32_t cut = 0;
    for (int how = 0; how < LEAVINGS; how++) {
        for (size_t kind = 0; kind < MMI_COUNT_OF(kinds); kind++) {
            for (uint64_t step = 1; step <= STEPS; step++) {
                spool_rig r;
                uint64_t last =
                    left(&r, step, step % 2 == 0 ? MMI_SPOOL_DISK : MMI_SPOOL_OS, (leaving)how);
                bool machine = kinds[kind] == MMI_DISK_OPS;
                for (int again = 0; again < 3; again++) {
                    if (machine) {
                        mmi_disk_crash_in(r.disk.disk, step);
                    } else {
                        mmi_disk_fail(r.disk.disk, kinds[kind], step, EIO);
                    }
                    cut += spool_rig_open(&r) != MM_OK;
                    spool_rig_stop(&r, machine || step % 3 == 0);
                    mmi_disk_crash_in(r.disk.disk, 0);
                }
                mmi_disk_fail(r.disk.disk, kinds[kind] % MMI_DISK_OPS, 0, 0);
                CHECK_INT(spool_rig_open(&r), MM_OK);
                CHECK_INT(r.report.lost_first, 0);
                check_all(&r, last);
                spool_rig_free(&r);
            }
        }
    }
    CHECK(cut > STEPS);
}

/* The last file is there and has nothing, not even its head: of no size, or with room of zeros. */
static void
blank(spool_rig *r, bool room)
{
    char name[MMI_SPOOL_NAME];
    int file;
    mmi_spool_name(r->spool.file.head.base_seq, name);
    CHECK_INT(CALL(&r->disk, open, r->disk.dir, name, MMI_FILE_WRITE, &file), MM_OK);
    CHECK_INT(CALL(&r->disk, truncate, file, 0), MM_OK);
    if (room) {
        CHECK_INT(CALL(&r->disk, reserve, file, MMI_SPOOL_FILE_MIN), MM_OK);
    }
    CHECK_INT(CALL(&r->disk, sync, file), MM_OK);
    CALL(&r->disk, close, file);
}

/* That it may have had something is told; with gaps it opens, also without a page. */
static void
test_a_last_file_of_zeros_is_told_and_goes(void)
{
    for (int room = 0; room < 2; room++) {
        for (int full = 0; full < 2; full++) {
            spool_rig r;
            filled(&r, 3, MMI_SPOOL_DISK);
            begin_file(&r);
            CHECK_INT(mmi_spool_note(&r.spool, r.spool.durable_seq), MM_OK);
            uint64_t last = r.spool.last_seq, base = r.spool.file.head.base_seq;
            uint32_t files = r.spool.file_count;
            blank(&r, room == 1);
            spool_rig_stop(&r, false);
            if (full == 1) {
                take_all(&r);
            }
            CHECK_INT(spool_rig_open(&r), MMI_SPOOL_HARMED);
            CHECK_INT(r.report.lost_first, base);
            r.opts.gaps = true;
            CHECK_INT(spool_rig_open(&r), MM_OK);
            CHECK(r.report.unclean);
            CHECK_INT(r.report.lost_first, base);
            CHECK_INT(r.report.lost_last, base - 1);
            CHECK_INT(r.spool.file_count, files - 1);
            CHECK_INT(r.spool.cramped, full == 1 && room == 0);
            check_all(&r, last);
            CHECK_INT(mmi_spool_bytes(&r.spool), r.spool.sealed_bytes + r.spool.file.end);
            r.opts.gaps = false;
            spool_rig_close(&r);
            CHECK_INT(spool_rig_open(&r), MM_OK);
            check_all(&r, last);
            spool_rig_free(&r);
        }
    }
}

/* What a file without a head had, as its batches seem to say, is not given again, wherever the
 * mending is cut off. */
static void
test_numbers_of_a_file_without_a_head_are_not_given_again(void)
{
    static const uint8_t harm[MMI_SPOOL_FILE_HEAD] = { 1 };
    uint32_t cut = 0;
    for (uint64_t step = 1; step <= STEPS; step++) {
        spool_rig r;
        filled(&r, step, MMI_SPOOL_DISK);
        begin_file(&r);
        spool_rig_batches(&r, 1, GUESSED);
        uint64_t last = r.spool.last_seq;
        CHECK_INT(file_put(&r.disk.files, r.spool.file.file, 0, harm, sizeof harm), sizeof harm);
        CHECK_INT(CALL(&r.disk, sync, r.spool.file.file), MM_OK);
        spool_rig_stop(&r, false);
        r.opts.gaps = true;
        mmi_disk_crash_in(r.disk.disk, step);
        cut += spool_rig_open(&r) != MM_OK;
        spool_rig_stop(&r, true);
        mmi_disk_crash_in(r.disk.disk, 0);
        CHECK_INT(spool_rig_open(&r), MM_OK);
        CHECK_INT(r.spool.last_seq, last);
        spool_rig_free(&r);
    }
    CHECK(cut > 0);
}

/* The same where the state is lost as well: the files before say what it is called. */
static void
test_without_a_state_the_files_before_say_what_it_is_called(void)
{
    static const uint8_t harm[MMI_SPOOL_FILE_HEAD] = { 1 };
    spool_rig r;
    uint8_t uuid[MMI_SPOOL_UUID];
    filled(&r, 4, MMI_SPOOL_DISK);
    memcpy(uuid, r.spool.uuid, sizeof uuid);
    uint64_t base = r.spool.file.head.base_seq, next;
    CHECK_INT(file_put(&r.disk.files, r.spool.file.file, 0, harm, sizeof harm), sizeof harm);
    spool_rig_stop(&r, false);
    CHECK_INT(CALL(&r.disk, unlink, r.disk.dir, "META"), MM_OK);
    r.opts.gaps = true;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK(memcmp(uuid, r.spool.uuid, sizeof uuid) == 0);
    CHECK_INT(spool_rig_read(&r, 1, &next), MMI_SPOOL_HARMED); /* those are sound */
    CHECK_INT(next, base);
    spool_rig_free(&r);
}

/* The folder for what is set aside may be removed at any time; there is no room for another. */
static int
never_made(void *self, int dir, const char *name)
{
    (void)self, (void)dir, (void)name;
    return mmi_file_error(ENOSPC);
}

static void
test_a_missing_quarantine_keeps_no_full_spool_from_opening(void)
{
    for (int how = 0; how < LEAVINGS; how++) {
        spool_rig r;
        uint64_t last = left(&r, 5, MMI_SPOOL_DISK, (leaving)how);
        CHECK_INT(CALL(&r.disk, rename, r.disk.dir, "quarantine", r.disk.dir, "away"), MM_OK);
        int (*mkdir)(void *, int, const char *) = r.disk.files.mkdir;
        r.disk.files.mkdir = never_made;
        CHECK_INT(spool_rig_open(&r), MM_OK);
        check_all(&r, last);
        CHECK_INT(r.report.torn_left, r.report.torn_bytes);
        spool_rig_stop(&r, false);
        r.disk.files.mkdir = mkdir;
        give_back(&r);
        CHECK_INT(spool_rig_open(&r), MM_OK);
        CHECK(r.spool.quarantine >= 0);
        check_all(&r, last);
        spool_rig_free(&r);
    }
}

/* The first look at a file fails by the disk, the second for want of something else. */
static mmi_files plain;
static int tries;

static int64_t
read_fails_once(void *self, int file, uint64_t at, void *buf, size_t size)
{
    if (at == 0 && size == MMI_SPOOL_FILE_HEAD && tries++ == 0) {
        return mmi_file_error(EIO);
    }
    return plain.read(self, file, at, buf, size);
}

static int
open_fails_then(void *self, int dir, const char *name, uint32_t flags, int *file)
{
    uint64_t base;
    bool segment = mmi_spool_name_get(name, &base);
    return segment && tries == 1 ? mmi_file_error(EMFILE)
                                 : plain.open(self, dir, name, flags, file);
}

static void
test_what_cannot_be_looked_at_for_want_of_memory_is_not_harmed(void)
{
    spool_rig r;
    filled(&r, 6, MMI_SPOOL_DISK);
    uint64_t last = r.spool.last_seq;
    spool_rig_stop(&r, false);
    plain = r.disk.files;
    r.disk.files.read = read_fails_once;
    r.disk.files.open = open_fails_then;
    r.opts.gaps = true;
    CHECK_INT(spool_rig_open(&r), MM_EMFILE);
    CHECK_INT(tries, 1);
    r.disk.files = plain;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK_INT(r.report.lost_first, 0);
    check_all(&r, last);
    spool_rig_free(&r);
}

int
main(void)
{
    RUN(test_with_nothing_to_copy_it_opens_without_a_page);
    RUN(test_trimming_makes_room_for_what_is_put);
    RUN(test_such_an_opening_may_be_cut_off_anywhere);
    RUN(test_a_last_file_of_zeros_is_told_and_goes);
    RUN(test_numbers_of_a_file_without_a_head_are_not_given_again);
    RUN(test_without_a_state_the_files_before_say_what_it_is_called);
    RUN(test_a_missing_quarantine_keeps_no_full_spool_from_opening);
    RUN(test_what_cannot_be_looked_at_for_want_of_memory_is_not_harmed);
    return 0;
}
