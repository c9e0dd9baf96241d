/*
 * test_spool_again.c: the room of a file that went is the next one's: what is read of it is never
 * what stood there before, whoever has it open is told that it went, and a call that fails on the
 * way costs nothing but the room.
 *
 * Not here: crashes (test_spool_crash.c), bits that turn (test_spool_harm.c).
 */
#include <errno.h>

#include "spool_steps.h"

static bool
again(const spool_rig *r)
{
    return r->spool.file.head.version == MMI_SPOOL_AGAIN;
}

/* All that is there can be read, and is what was put. */
static void
check_all(spool_rig *r)
{
    uint64_t next;
    CHECK_INT(spool_rig_read(r, mmi_spool_first(&r->spool), &next), 0);
    CHECK_INT(next, mmi_spool_visible(&r->spool) + 1);
}

/* Three files, of which the first goes; and on, until a file is begun in its room. */
static void
one_again(spool_rig *r, uint64_t seed, mmi_spool_level level)
{
    spool_rig_started(r, seed, level);
    spool_rig_files(r, 3);
    CHECK_INT(spool_trim(&r->spool, r->spool.last_seq, 1), 1);
    CHECK(r->spool.spare_stale > 0);
    spool_rig_files(r, 3);
    CHECK(again(r));
}

static void
test_the_next_file_has_the_room_of_one_that_went(void)
{
    spool_rig r;
    one_again(&r, 1, MMI_SPOOL_DISK);
    check_all(&r);
    for (int rounds = 0; rounds < 20; rounds++) {
        CHECK_INT(spool_trim(&r.spool, r.spool.last_seq, 1), 1);
        CHECK(r.spool.spare_stale >= MMI_SPOOL_FILE_MIN / 2);
        spool_rig_files(&r, 3);
        CHECK(again(&r));
        check_all(&r);
    }
    spool_rig_free(&r);
}

/* Several go: one of them is kept, as there was one spare before. */
static void
test_one_is_kept_of_several(void)
{
    spool_rig r;
    spool_rig_started(&r, 2, MMI_SPOOL_DISK);
    spool_rig_files(&r, 5);
    uint64_t before = rig_space(&r.disk).used;
    CHECK_INT(spool_trim(&r.spool, r.spool.last_seq, 4), 4);
    CHECK(rig_space(&r.disk).used < before - 2 * (uint64_t)MMI_SPOOL_FILE_MIN);
    CHECK(r.spool.spare_stale > 0);
    check_all(&r);
    spool_rig_free(&r);
}

/* Closed in order it is found so, and goes on in the same file; also after a kill. */
static void
test_it_is_opened_again_without_a_word(void)
{
    static const mmi_spool_level levels[] = { MMI_SPOOL_DISK, MMI_SPOOL_OS };
    for (int killed = 0; killed < 2; killed++) {
        for (size_t level = 0; level < MMI_COUNT_OF(levels); level++) {
            spool_rig r;
            one_again(&r, 3 + level, levels[level]);
            for (int lives = 0; lives < 4; lives++) {
                uint64_t last = r.spool.last_seq;
                if (killed == 0) {
                    spool_rig_close(&r);
                } else {
                    spool_rig_stop(&r, false);
                }
                CHECK_INT(spool_rig_open(&r), MM_OK);
                CHECK_INT(r.report.unclean, killed);
                CHECK_INT(r.report.torn_bytes, 0);
                CHECK_INT(r.report.lost_first, 0);
                CHECK_INT(r.spool.last_seq, last);
                check_all(&r);
                CHECK(killed == 1 || again(&r));
                spool_rig_batches(&r, 3, 2);
                check_all(&r);
            }
            spool_rig_free(&r);
        }
    }
}

/* What it had, and what is not yet written over, is right; true: it is told of the rest. */
static bool
read_to_the_end(spool_rig *r, mmi_spool_reader *reader, const mmi_spool_where *where)
{
    mmi_spool_record got;
    uint8_t wanted[SPOOL_BODY_MAX];
    uint64_t seq;
    int rc = 1;
    while (rc == 1 && reader->next_seq < where->bound) {
        while ((rc = mmi_spool_reader_next(reader, &got, &seq)) == 1) {
            CHECK_INT(got.size, spool_body(seq, r->lives[seq], wanted));
            CHECK(memcmp(got.data, wanted, got.size) == 0);
        }
        CHECK_INT(rc, 0);
        rc = reader->next_seq < where->bound ? mmi_spool_reader_load(reader, where) : 1;
    }
    CHECK(rc == MM_ENOENT || reader->next_seq >= where->bound);
    return rc == MM_ENOENT;
}

/* Who reads it finds it gone, wherever he is in it, as if it had been removed. */
static void
test_a_reader_of_a_file_that_went_is_told_so(void)
{
    uint64_t told = 0;
    for (uint64_t at = 1; at < 100; at += 9) {
        spool_rig r;
        mmi_spool_where where;
        mmi_spool_reader reader;
        spool_rig_started(&r, at, MMI_SPOOL_DISK);
        spool_rig_files(&r, 3);
        mmi_spool_reader_open(&reader, &r.disk.files, r.disk.dir, at);
        mmi_spool_locate(&r.spool, at, &where);
        CHECK_INT(where.base, 1);
        CHECK_INT(mmi_spool_reader_load(&reader, &where), 1);
        CHECK_INT(spool_trim(&r.spool, r.spool.last_seq, 1), 1);
        spool_rig_files(&r, 4); /* one of which has written it over, all of it */
        told += read_to_the_end(&r, &reader, &where);
        mmi_spool_reader_close(&reader);
        spool_rig_free(&r);
    }
    CHECK(told > 3);
}

/* Opened by its name, and given away before its head is read. */
static void
test_a_head_that_is_written_over_is_no_harm(void)
{
    spool_rig r;
    mmi_spool_file f;
    one_again(&r, 5, MMI_SPOOL_DISK);
    uint64_t first = mmi_spool_first(&r.spool);
    CHECK_INT(mmi_spool_file_open(&r.spool.place, first - 1, false, &f), MM_ENOENT);
    CHECK(mmi_spool_file_gone(&r.spool.place, first - 1));
    CHECK(!mmi_spool_file_gone(&r.spool.place, first));
    spool_rig_free(&r);
}

/* Each call on the way fails in turn: the file goes all the same, and nothing else does. */
static void
test_what_fails_on_the_way_costs_the_room_alone(void)
{
    static const mmi_disk_op kinds[] = { MMI_DISK_NAME, MMI_DISK_SYNC_FOLDER, MMI_DISK_OPEN,
                                         MMI_DISK_RESERVE };
    uint64_t given_up = 0;
    for (size_t kind = 0; kind < MMI_COUNT_OF(kinds); kind++) {
        for (uint64_t nth = 1; nth <= 4; nth++) {
            spool_rig r;
            spool_rig_started(&r, nth, MMI_SPOOL_DISK);
            spool_rig_files(&r, 3);
            uint64_t second = r.spool.bases[1];
            mmi_disk_fail(r.disk.disk, kinds[kind], nth, EIO);
            CHECK_INT(spool_trim(&r.spool, r.spool.last_seq, 1), !r.spool.failed);
            mmi_disk_fail(r.disk.disk, kinds[kind], 0, EIO); /* or a later call would */
            given_up += r.spool.spare_stale == 0;
            if (!r.spool.failed) {
                CHECK_INT(mmi_spool_first(&r.spool), second);
                spool_rig_files(&r, 4);
                check_all(&r);
            }
            spool_rig_stop(&r, true);
            CHECK_INT(spool_rig_open(&r), MM_OK);
            check_all(&r);
            spool_rig_free(&r);
        }
    }
    CHECK(given_up > 3);
}

/* A small one is not worth it, and its room is not kept where there is no reserve yet, or where
 * others may look at the folder. */
static void
test_what_is_not_kept(void)
{
    spool_rig r;
    spool_rig_started(&r, 6, MMI_SPOOL_DISK);
    spool_rig_files(&r, 3);
    r.spool.reserved = false;
    CHECK_INT(spool_trim(&r.spool, r.spool.last_seq, 1), 1);
    CHECK_INT(r.spool.spare_stale, 0);
    r.spool.reserved = true;
    spool_rig_files(&r, 3);
    r.spool.opts.remote = true;
    CHECK_INT(spool_trim(&r.spool, r.spool.last_seq, 1), 1);
    CHECK_INT(r.spool.spare_stale, 0);
    r.spool.opts.remote = false;
    spool_rig_batches(&r, 1, 3);
    r.spool.wants_roll = true;
    spool_rig_commit(&r, false);
    spool_rig_batches(&r, 1, 3);
    while (r.spool.file_count > 2) { /* up to the short one */
        r.spool.spare_stale = 1;
        CHECK_INT(spool_trim(&r.spool, r.spool.last_seq, 1), 1);
    }
    r.spool.spare_stale = 0;
    CHECK(r.spool.ends[0] < MMI_SPOOL_FILE_MIN / 2);
    CHECK_INT(spool_trim(&r.spool, r.spool.last_seq, 1), 1);
    CHECK_INT(r.spool.spare_stale, 0);
    check_all(&r);
    spool_rig_free(&r);
}

int
main(void)
{
    RUN(test_the_next_file_has_the_room_of_one_that_went);
    RUN(test_one_is_kept_of_several);
    RUN(test_it_is_opened_again_without_a_word);
    RUN(test_a_reader_of_a_file_that_went_is_told_so);
    RUN(test_a_head_that_is_written_over_is_no_harm);
    RUN(test_what_fails_on_the_way_costs_the_room_alone);
    RUN(test_what_is_not_kept);
    return 0;
}
