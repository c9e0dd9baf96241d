/*
 * test_spool_gaps.c: heads and batches that are harmed, on the simulated disk: what a spool and its
 * readers tell of them; and what is kept of what is torn.
 *
 * Not here: what harm does to a spool that is not asked for gaps (test_spool_harm.c).
 */
#include <errno.h>

#include "spool_steps.h"

/* Asked again without a seek, a reader says the same of what is harmed. */
static void
test_a_reader_that_is_asked_again_tells_of_the_same_harm(void)
{
    spool_rig r;
    mmi_spool_reader reader;
    mmi_spool_where where;
    spool_rig_started(&r, 1, MMI_SPOOL_DISK);
    spool_rig_batches(&r, 1, 2);
    uint64_t at = r.spool.file.end;
    spool_rig_batches(&r, 4, 2);
    CHECK_INT(mmi_disk_rot(r.disk.disk, r.spool.file.file, at), MM_OK);
    mmi_spool_reader_open(&reader, &r.disk.files, r.disk.dir, 3);
    mmi_spool_locate(&r.spool, 3, &where);
    CHECK_INT(mmi_spool_reader_load(&reader, &where), MMI_SPOOL_HARMED);
    uint64_t last = reader.lost_last;
    CHECK(last < 10);
    CHECK_INT(mmi_spool_reader_load(&reader, &where), MMI_SPOOL_HARMED);
    CHECK_INT(reader.lost_last, last);
    mmi_spool_reader_close(&reader);
    spool_rig_free(&r);
}

/* A head that is harmed takes the file's messages; their numbers are told, and not given again. */
static void
test_numbers_of_a_file_whose_head_is_harmed_are_not_given_again(void)
{
    spool_rig r;
    spool_rig_started(&r, 1, MMI_SPOOL_DISK);
    spool_rig_batches(&r, 10, 3);
    CHECK_INT(r.durable, 30);
    CHECK_INT(mmi_disk_rot(r.disk.disk, r.spool.file.file, 20), MM_OK);
    spool_rig_stop(&r, false);
    CHECK_INT(spool_rig_open(&r), MMI_SPOOL_HARMED);
    r.opts.gaps = true;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK(!r.report.made);
    CHECK(r.report.lost_first <= r.report.lost_last);
    CHECK(r.spool.last_seq >= 30);
    spool_rig_free(&r);
}

/* Files before the last are there: the report says what is lost, and not they. */
static void
test_a_report_of_a_last_head_that_is_harmed_says_nothing_of_files_before(void)
{
    spool_rig r;
    spool_rig_started(&r, 1, MMI_SPOOL_DISK);
    spool_rig_files(&r, 2);
    uint64_t base = r.spool.bases[1];
    CHECK_INT(mmi_disk_rot(r.disk.disk, r.spool.file.file, 20), MM_OK);
    spool_rig_stop(&r, false);
    r.opts.gaps = true;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK_INT(r.report.lost_first, base);
    CHECK(r.spool.last_seq >= r.durable);
    spool_rig_free(&r);
}

/* It is read, sought over back and forth, and survives a crash. */
static void
test_a_gap_at_the_beginning_of_a_file_stays(void)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        spool_rig r;
        mmi_spool_reader reader;
        mmi_spool_where where;
        spool_rig_started(&r, seed, MMI_SPOOL_DISK);
        spool_rig_batches(&r, 1, 3);
        uint64_t at = MMI_SPOOL_FILE_HEAD;
        spool_rig_batches(&r, 3, 2);
        static const uint8_t harm[4] = { 9 };
        CHECK_INT(file_put(&r.disk.files, r.spool.file.file, at, harm, sizeof harm), 4);
        CHECK_INT(CALL(&r.disk, sync, r.spool.file.file), MM_OK);
        spool_rig_stop(&r, seed % 2 == 0);
        CHECK_INT(spool_rig_open(&r), MMI_SPOOL_HARMED);
        r.opts.gaps = true;
        mmi_disk_crash_in(r.disk.disk, seed % 3 == 0 ? 0 : 1 + check_random(&r.seed) % 30);
        if (spool_rig_open(&r) == MM_OK) {
            mmi_disk_crash_in(r.disk.disk, 0);
        }
        spool_rig_stop(&r, true);
        mmi_disk_crash_in(r.disk.disk, 0);
        CHECK_INT(spool_rig_open(&r), MM_OK);
        r.life = 1;
        CHECK_INT(r.spool.last_seq, 9);
        mmi_spool_reader_open(&reader, &r.disk.files, r.disk.dir, 1);
        for (int round = 0; round < 3; round++) {
            mmi_spool_reader_seek(&reader, 2);
            mmi_spool_locate(&r.spool, 2, &where);
            CHECK_INT(mmi_spool_reader_load(&reader, &where), MMI_SPOOL_HARMED);
            CHECK_INT(reader.lost_last, 3);
            mmi_spool_reader_seek(&reader, 4 + (uint64_t)round);
            mmi_spool_locate(&r.spool, reader.next_seq, &where);
            CHECK_INT(mmi_spool_reader_load(&reader, &where), 1);
        }
        mmi_spool_reader_close(&reader);
        spool_rig_free(&r);
    }
}

enum { TORN = 1000, KEPT_MAX = 8 };

/* What is in quarantine: how many files, and the octets of the last that was looked at. */
typedef struct kept {
    int count;
    char name[KEPT_MAX][MMI_FILE_NAME_MAX + 1];
    uint64_t size;
    uint8_t data[2 * TORN];
} kept;

static void
kept_each(void *arg, const mmi_entry *entry)
{
    kept *k = arg;
    CHECK(k->count < KEPT_MAX);
    strcpy(k->name[k->count++], entry->name);
}

static kept
kept_now(spool_rig *r)
{
    kept k = { .count = 0 };
    int dir, file;
    CHECK_INT(CALL(&r->disk, folder, r->disk.dir, "quarantine", &dir), MM_OK);
    CHECK(CALL(&r->disk, list, dir, kept_each, &k) >= 0);
    for (int i = 0; i < k.count; i++) {
        CHECK_INT(CALL(&r->disk, open, dir, k.name[i], 0, &file), MM_OK);
        CHECK_INT(CALL(&r->disk, size, file, &k.size), MM_OK);
        CHECK(k.size <= sizeof k.data);
        CHECK_INT(CALL(&r->disk, read, file, 0, k.data, k.size), k.size);
        CALL(&r->disk, close, file);
    }
    CALL(&r->disk, close, dir);
    return k;
}

static void
tear(spool_rig *r, uint8_t octet, uint8_t torn[TORN])
{
    memset(torn, octet, TORN);
    CHECK_INT(file_put(&r->disk.files, r->spool.file.file, r->spool.file.end, torn, TORN), TORN);
    CHECK_INT(CALL(&r->disk, sync, r->spool.file.file), MM_OK);
    spool_rig_stop(r, false);
}

/* However often its mending fails, and wherever. */
static void
test_what_is_torn_is_kept_once(void)
{
    static const mmi_disk_op kinds[] = { MMI_DISK_WRITE, MMI_DISK_SYNC, MMI_DISK_SYNC_FOLDER,
                                         MMI_DISK_NAME };
    uint32_t failed = 0;
    for (size_t kind = 0; kind < MMI_COUNT_OF(kinds); kind++) {
        for (uint64_t step = 1; step <= 8; step++) {
            spool_rig r;
            uint8_t torn[TORN];
            spool_rig_started(&r, step, MMI_SPOOL_DISK);
            spool_rig_batches(&r, 5, 3);
            tear(&r, 7, torn);
            for (int again = 0; again < 4; again++) {
                mmi_disk_fail(r.disk.disk, kinds[kind], step, EIO);
                failed += spool_rig_open(&r) != MM_OK;
                spool_rig_stop(&r, false);
            }
            mmi_disk_fail(r.disk.disk, kinds[kind], 0, 0);
            CHECK_INT(spool_rig_open(&r), MM_OK);
            kept k = kept_now(&r);
            CHECK_INT(k.count, 1);
            CHECK_INT(k.size, TORN);
            CHECK(memcmp(k.data, torn, TORN) == 0);
            spool_rig_free(&r);
        }
    }
    CHECK(failed > 40);
}

/* A mending that fails says nothing of what was there before. */
static void
test_other_octets_that_are_torn_at_a_place_are_kept_beside(void)
{
    spool_rig r;
    uint8_t torn[TORN];
    spool_rig_started(&r, 1, MMI_SPOOL_DISK);
    spool_rig_batches(&r, 5, 3);
    uint64_t end = r.spool.file.end;
    for (uint8_t octet = 1; octet <= 3; octet++) {
        tear(&r, octet, torn);
        /* quarantine's sync is the second of the opening; what follows fails */
        mmi_disk_fail(r.disk.disk, MMI_DISK_SYNC, 3, EIO);
        CHECK(spool_rig_open(&r) != MM_OK);
        spool_rig_stop(&r, false);
        kept k = kept_now(&r);
        CHECK_INT(k.count, octet);
        CHECK_INT(k.size, TORN);
        char name[MMI_SPOOL_NAME];
        int file;
        mmi_spool_name(1, name);
        CHECK_INT(CALL(&r.disk, open, r.disk.dir, name, MMI_FILE_WRITE, &file), MM_OK);
        r.spool.file = (mmi_spool_file){ .file = file, .end = end };
    }
    spool_rig_free(&r);
}

/* Also if the sync of its folder's name failed when the spool was made: a later one that says OK
 * says nothing of it. */
static void
test_what_is_kept_survives_the_machine(void)
{
    uint32_t failed = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        spool_rig r;
        uint8_t torn[TORN];
        spool_rig_new(&r, seed, &(mmi_disk_opts){ .capacity = 0 });
        for (uint64_t nth = 1; nth <= 5; nth++) {
            mmi_disk_fail(r.disk.disk, MMI_DISK_SYNC_FOLDER, seed % 5 + 1, EIO);
            failed += spool_rig_open(&r) != MM_OK;
            spool_rig_stop(&r, false);
        }
        mmi_disk_fail(r.disk.disk, MMI_DISK_SYNC_FOLDER, 0, 0);
        CHECK_INT(spool_rig_open(&r), MM_OK);
        spool_rig_batches(&r, 5, 3);
        tear(&r, 7, torn);
        CHECK_INT(spool_rig_open(&r), MM_OK);
        spool_rig_stop(&r, true);
        kept k = kept_now(&r);
        CHECK_INT(k.count, 1);
        CHECK_INT(k.size, TORN);
        CHECK(memcmp(k.data, torn, TORN) == 0);
        spool_rig_free(&r);
    }
    CHECK(failed > 100);
}

int
main(void)
{
    RUN(test_a_reader_that_is_asked_again_tells_of_the_same_harm);
    RUN(test_numbers_of_a_file_whose_head_is_harmed_are_not_given_again);
    RUN(test_a_report_of_a_last_head_that_is_harmed_says_nothing_of_files_before);
    RUN(test_a_gap_at_the_beginning_of_a_file_stays);
    RUN(test_what_is_torn_is_kept_once);
    RUN(test_other_octets_that_are_torn_at_a_place_are_kept_beside);
    RUN(test_what_is_kept_survives_the_machine);
    return 0;
}
