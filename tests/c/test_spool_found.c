/*
 * test_spool_found.c: what a spool finds as it is opened after a crash, on the simulated disk: its
 * state, a CLOSE, its epoch, files of another spool, and files that come back.
 *
 * Not here: batches and heads that are harmed (test_spool_gaps.c); lives (test_spool_lives.c).
 */
#include <errno.h>

#include "spool_steps.h"

/* A CLOSE whose sync failed may be gone from the disk though it reads: what is put behind it would
 * be lost with it. */
static void
test_what_is_durable_behind_a_close_that_was_not_synced_is_not_lost(void)
{
    uint32_t lost = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        spool_rig r;
        spool_rig_started(&r, seed, MMI_SPOOL_DISK);
        spool_rig_batches(&r, 3, 2);
        /* A CLOSE would lie in two sectors then: the next write brings but the second. */
        while (r.spool.file.end % MMI_FILE_SECTOR <= MMI_FILE_SECTOR - MMI_SPOOL_BATCH_HEAD) {
            spool_rig_batches(&r, 1, 1);
        }
        mmi_disk_fail(r.disk.disk, MMI_DISK_SYNC, 2, EIO);
        CHECK_INT(mmi_spool_close(&r.spool), MM_EIO);
        r.open = false;
        CHECK_INT(spool_rig_open(&r), MM_OK);
        spool_rig_batches(&r, 1, 2);
        spool_rig_stop(&r, true);
        int rc = spool_rig_open(&r);
        lost += rc != MM_OK || r.spool.last_seq < r.durable;
        spool_rig_free(&r);
    }
    CHECK_INT(lost, 0);
}

/* The files are closed once, when the state cannot be written after a new file was begun. */
enum { FILES_MAX = 4096 };
static mmi_files counted;
static int open_files[FILES_MAX];

static int
counted_open(void *self, int dir, const char *name, uint32_t flags, int *file)
{
    int rc = counted.open(self, dir, name, flags, file);
    if (rc == MM_OK) {
        CHECK(*file < FILES_MAX);
        open_files[*file]++;
    }
    return rc;
}

static int
counted_folder(void *self, int dir, const char *name, int *sub)
{
    int rc = counted.folder(self, dir, name, sub);
    if (rc == MM_OK) {
        CHECK(*sub < FILES_MAX);
        open_files[*sub]++;
    }
    return rc;
}

static void
counted_close(void *self, int file)
{
    CHECK(file < FILES_MAX);
    open_files[file]--;
    counted.close(self, file);
}

static void
test_no_file_is_closed_twice_when_its_state_fails_as_it_rolls(void)
{
    spool_rig r;
    spool_rig_new(&r, 1, &(mmi_disk_opts){ .capacity = 0 });
    counted = r.disk.files;
    r.disk.files.open = counted_open;
    r.disk.files.folder = counted_folder;
    r.disk.files.close = counted_close;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    spool_rig_batches(&r, 1, 1);
    int rc = MM_OK;
    while (rc == MM_OK) {
        CHECK_INT(spool_rig_put(&r), MM_OK);
        mmi_spool_job job;
        r.clock_us += 2000000;
        CHECK(mmi_spool_take(&r.spool, false, &job));
        if (job.rolls) {
            CHECK(job.notes);
            /* the old file, the new one, the state */
            mmi_disk_fail(r.disk.disk, MMI_DISK_SYNC, 3, EIO);
        }
        mmi_spool_write(&r.spool, &job);
        rc = mmi_spool_wrote(&r.spool, &job);
    }
    mmi_spool_abandon(&r.spool);
    r.open = false;
    for (int i = 0; i < FILES_MAX; i++) {
        CHECK_INT(open_files[i], 0);
    }
    spool_rig_free(&r);
}

/* A number that was seen and is given again differs in its epoch, also if an older CLOSE is the
 * last that is left. */
static void
test_a_number_that_is_given_again_has_another_epoch(void)
{
    spool_rig r;
    mmi_spool_reader reader;
    mmi_spool_where where;
    mmi_spool_record got;
    uint64_t seq;
    spool_rig_started(&r, 3, MMI_SPOOL_OS);
    spool_rig_batches(&r, 2, 2);
    spool_rig_close(&r);
    for (uint64_t tries = 0; tries < 50; tries++) {
        CHECK_INT(spool_rig_open(&r), MM_OK);
        uint64_t next = r.spool.last_seq + 1;
        spool_rig_batches(&r, 1, 1);
        mmi_spool_reader_open(&reader, &r.disk.files, r.disk.dir, next);
        mmi_spool_locate(&r.spool, next, &where);
        CHECK_INT(mmi_spool_reader_load(&reader, &where), 1);
        CHECK_INT(mmi_spool_reader_next(&reader, &got, &seq), 1);
        uint32_t epoch = reader.scan.batch.epoch;
        mmi_spool_reader_close(&reader);
        spool_rig_stop(&r, true);
        CHECK_INT(spool_rig_open(&r), MM_OK);
        if (r.spool.last_seq + 1 == next) { /* it is lost, which may be */
            CHECK(r.spool.epoch != epoch);
        }
        spool_rig_close(&r);
    }
    spool_rig_free(&r);
}

/* The same, when one slot of the state is harmed. */
static void
test_an_epoch_does_not_come_back_when_the_state_is_harmed(void)
{
    spool_rig r;
    spool_rig_started(&r, 1, MMI_SPOOL_OS);
    spool_rig_batches(&r, 1, 2);
    CHECK_INT(spool_rig_commit(&r, true), MM_OK);
    spool_rig_stop(&r, false);
    CHECK_INT(spool_rig_open(&r), MM_OK);
    uint32_t epoch = r.spool.epoch;
    spool_rig_batches(&r, 1, 1); /* seen, and lost with the machine */
    int file = r.spool.state.file;
    static const uint8_t harm[8] = { 1 };
    CHECK_INT(file_put(&r.disk.files, file, (r.spool.state.number % 2) * (uint64_t)MMI_SLOT, harm,
                       sizeof harm),
              8);
    CHECK_INT(CALL(&r.disk, sync, file), MM_OK);
    spool_rig_stop(&r, true);
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK(r.spool.epoch > epoch);
    spool_rig_free(&r);
}

static void
copy_file(const mmi_files *from, int from_dir, const mmi_files *to, int to_dir, const char *name)
{
    int a;
    uint64_t size;
    CHECK_INT(from->open(from->self, from_dir, name, 0, &a), MM_OK);
    CHECK_INT(from->size(from->self, a, &size), MM_OK);
    uint8_t *data = malloc(size);
    CHECK_INT(from->read(from->self, a, 0, data, size), size);
    int b = file_made(to, to_dir, name);
    CHECK_INT(to->truncate(to->self, b, 0), MM_OK);
    CHECK_INT(file_put(to, b, 0, data, size), size);
    to->close(to->self, b);
    from->close(from->self, a);
    free(data);
}

/* A file of another spool lies where one of this spool was, or behind all of them.  What opening it
 * says, or reading the file's first message. */
static int
foreign(uint32_t files, uint32_t which)
{
    spool_rig r, other;
    char name[MMI_SPOOL_NAME];
    spool_rig_started(&r, 1, MMI_SPOOL_DISK);
    spool_rig_started(&other, 2, MMI_SPOOL_DISK);
    spool_rig_files(&r, files);
    other.life = 77; /* other messages of the same sizes' law */
    spool_rig_files(&other, files + 1);
    uint64_t base = other.spool.bases[which];
    mmi_spool_name(base, name);
    spool_rig_close(&other);
    spool_rig_close(&r);
    uint8_t uuid[MMI_SPOOL_UUID];
    memcpy(uuid, r.spool.uuid, sizeof uuid);
    copy_file(&other.disk.files, other.disk.dir, &r.disk.files, r.disk.dir, name);
    int rc = spool_rig_open(&r);
    if (rc == MM_OK) {
        mmi_spool_reader reader;
        mmi_spool_where where;
        CHECK(memcmp(r.spool.uuid, uuid, sizeof uuid) == 0);
        mmi_spool_reader_open(&reader, &r.disk.files, r.disk.dir, base);
        mmi_spool_locate(&r.spool, base, &where);
        rc = mmi_spool_reader_load(&reader, &where);
        mmi_spool_reader_close(&reader);
    }
    spool_rig_free(&r);
    spool_rig_free(&other);
    return rc;
}

static void
test_the_last_file_of_another_spool_is_told(void)
{
    CHECK_INT(foreign(3, 3), MMI_SPOOL_HARMED);
}

static void
test_the_first_file_of_another_spool_is_told(void)
{
    CHECK_INT(foreign(3, 0), MMI_SPOOL_HARMED);
}

/* Names that come back after a trim are no harm. */
static void
test_a_file_that_comes_back_after_a_trim_is_no_harm(void)
{
    uint32_t harm = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        spool_rig r;
        spool_rig_started(&r, seed, MMI_SPOOL_DISK);
        spool_rig_files(&r, 5);
        uint64_t next, kept = r.spool.bases[3];
        CHECK_INT(spool_trim(&r.spool, kept - 1, UINT32_MAX), 3);
        spool_rig_stop(&r, true);
        CHECK_INT(spool_rig_open(&r), MM_OK);
        r.life = 1;
        int rc = spool_rig_read(&r, mmi_spool_first(&r.spool), &next);
        harm += rc != 0;
        spool_rig_free(&r);
    }
    CHECK_INT(harm, 0);
}

static void
test_all_is_trimmed_up_to_the_highest_number(void)
{
    spool_rig r;
    spool_rig_started(&r, 1, MMI_SPOOL_DISK);
    spool_rig_files(&r, 3);
    CHECK_INT(spool_trim(&r.spool, UINT64_MAX, UINT32_MAX), 2);
    spool_rig_free(&r);
}

/* The highest numbers are refused, and not asserted to be away. */
static void
test_the_last_number_is_refused(void)
{
    spool_rig r;
    spool_rig_new(&r, 1, &(mmi_disk_opts){ .capacity = 0 });
    r.opts.known_seq = UINT64_MAX - 2;
    r.opts.gaps = true;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    int rc = MM_OK;
    for (int i = 0; i < 3 && rc == MM_OK; i++) {
        uint8_t body[1] = { 1 };
        uint64_t size = 1, seq;
        const mmi_spool_record record = { .frames = 1, .sizes = &size, .data = body, .size = size };
        rc = mmi_spool_put(&r.spool, &record, &seq);
        if (rc == MM_OK) {
            rc = spool_rig_commit(&r, false);
        }
    }
    CHECK(rc != MM_OK);
    spool_rig_free(&r);
}

int
main(void)
{
    RUN(test_what_is_durable_behind_a_close_that_was_not_synced_is_not_lost);
    RUN(test_no_file_is_closed_twice_when_its_state_fails_as_it_rolls);
    RUN(test_a_number_that_is_given_again_has_another_epoch);
    RUN(test_an_epoch_does_not_come_back_when_the_state_is_harmed);
    RUN(test_the_last_file_of_another_spool_is_told);
    RUN(test_the_first_file_of_another_spool_is_told);
    RUN(test_a_file_that_comes_back_after_a_trim_is_no_harm);
    RUN(test_all_is_trimmed_up_to_the_highest_number);
    RUN(test_the_last_number_is_refused);
    return 0;
}
