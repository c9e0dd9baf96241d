/*
 * test_spool_origins.c: a message that its producer put before is not put again: what is told of
 * it, how far back that is known, and that it is known whatever became of the file that says so.
 *
 * Not here: crashes (test_spool_origins_crash.c), the table and its octets (test_producers.c).
 */
#include "origins_rig.h"

static const char FILE_OF[] = "producers";

static void
origins_started(origins_rig *o)
{
    origins_new(o, 1, &(mmi_disk_opts){ .capacity = 0 });
    CHECK_INT(spool_rig_open(&o->rig), MM_OK);
}

/* All of them in turn, so often, until there are so many files. */
static void
origins_files(origins_rig *o, uint32_t files)
{
    uint64_t seq;
    while (o->rig.spool.file_count < files) {
        for (uint32_t who = 0; who < ORIGINS_WHO; who++) {
            uint64_t last = origins_last(o, who);
            CHECK_INT(origins_put(o, who, last > 0 ? o->numbers[last] + 1 : 0, &seq), MM_OK);
        }
        CHECK_INT(spool_rig_commit(&o->rig, false), MM_OK);
    }
}

static void
origins_reopen(origins_rig *o, bool closes)
{
    if (closes) {
        spool_rig_close(&o->rig);
    } else {
        spool_rig_stop(&o->rig, false);
    }
    CHECK_INT(spool_rig_open(&o->rig), MM_OK);
    origins_forget(o);
}

/* Up to which message the file tells; 0: there is none. */
static uint64_t
origins_listed(const origins_rig *o)
{
    mmi_producers p = { .count = 0 };
    uint64_t seq = 0;
    bool some = mmi_spool_producers_load(&o->rig.spool.place, o->rig.spool.uuid, &p, &seq) == MM_OK;
    mmi_producers_fini(&p);
    return some ? seq : 0;
}

static bool
origins_file_there(const origins_rig *o)
{
    int file;
    int rc = CALL(&o->rig.disk, open, o->rig.disk.dir, FILE_OF, 0, &file);
    if (rc == MM_OK) {
        o->rig.disk.files.close(o->rig.disk.files.self, file);
    }
    return rc == MM_OK;
}

static void
test_a_number_that_is_not_above_the_last_is_a_repeat(void)
{
    origins_rig o;
    uint64_t seq;
    origins_started(&o);
    CHECK_INT(origins_put(&o, 1, 10, &seq), MM_OK);
    CHECK_INT(origins_put(&o, 1, 11, &seq), MM_OK);
    CHECK_INT(origins_put(&o, 1, 12, &seq), MM_OK);
    CHECK_INT(seq, 3);
    for (uint64_t number = 10; number <= 12; number++) {
        CHECK_INT(origins_put(&o, 1, number, &seq), MMI_SPOOL_REPEATED);
        CHECK_INT(seq, number - 9);
    }
    CHECK_INT(origins_put(&o, 1, 9, &seq), MMI_SPOOL_REPEATED);   /* below the first */
    CHECK_INT(seq, 0);
    CHECK_INT(origins_put(&o, 2, 12, &seq), MM_OK);   /* another's */
    CHECK_INT(origins_put(&o, 1, 14, &seq), MM_OK);   /* numbers may be left out */
    CHECK_INT(origins_put(&o, 1, 13, &seq), MMI_SPOOL_REPEATED);
    CHECK_INT(seq, 0);
    CHECK_INT(origins_put(&o, 1, 14, &seq), MMI_SPOOL_REPEATED);
    CHECK_INT(seq, 5);
    CHECK_INT(o.rig.spool.last_seq, 5);
    CHECK_INT(origins_put(&o, 3, UINT64_MAX, &seq), MM_OK);   /* the last that there is */
    CHECK_INT(origins_put(&o, 3, UINT64_MAX, &seq), MMI_SPOOL_REPEATED);
    CHECK_INT(origins_put(&o, 4, 0, &seq), MM_OK);   /* and the first */
    CHECK_INT(origins_put(&o, 4, 0, &seq), MMI_SPOOL_REPEATED);
    spool_rig_free(&o.rig);
}

static void
test_a_full_spool_tells_of_repeats_and_knows_nothing_of_what_it_refused(void)
{
    origins_rig o;
    uint64_t seq;
    origins_new(&o, 1, &(mmi_disk_opts){ .capacity = 0 });
    o.rig.opts.max_messages = 2;
    CHECK_INT(spool_rig_open(&o.rig), MM_OK);
    CHECK_INT(origins_put(&o, 1, 1, &seq), MM_OK);
    CHECK_INT(origins_put(&o, 1, 2, &seq), MM_OK);
    CHECK_INT(origins_put(&o, 1, 3, &seq), MM_ENOSPC);
    CHECK_INT(origins_put(&o, 1, 2, &seq), MMI_SPOOL_REPEATED);
    CHECK_INT(seq, 2);
    CHECK_INT(origins_put(&o, 1, 3, &seq), MM_ENOSPC);
    CHECK_INT(origins_put(&o, 2, 1, &seq), MM_ENOSPC);
    origins_check(&o, 0);
    spool_rig_free(&o.rig);
}

static void
test_a_spool_without_origins_has_no_file_of_them(void)
{
    origins_rig o;
    uint64_t seq;
    origins_started(&o);
    for (int i = 0; i < 300; i++) {
        CHECK_INT(origins_put(&o, ORIGINS_NONE, 0, &seq), MM_OK);
        CHECK_INT(spool_rig_commit(&o.rig, false), MM_OK);
    }
    CHECK(o.rig.spool.file_count > 1);
    origins_reopen(&o, true);
    CHECK_INT(o.rig.spool.origin_seq, 0);
    CHECK(!origins_file_there(&o));
    spool_rig_free(&o.rig);
}

static void
test_it_is_known_in_the_next_life(void)
{
    for (int closes = 0; closes < 2; closes++) {
        origins_rig o;
        origins_started(&o);
        origins_files(&o, 3);
        uint64_t seq, base = o.rig.spool.bases[2];
        CHECK_INT(origins_put(&o, 1, 1000, &seq), MM_OK);
        CHECK_INT(spool_rig_commit(&o.rig, false), MM_OK);
        CHECK(origins_listed(&o) >= base - 1 && origins_listed(&o) < seq);
        if (closes == 1) {
            spool_rig_close(&o.rig);
            CHECK_INT(origins_listed(&o), seq); /* so that nothing is read for it */
            CHECK_INT(spool_rig_open(&o.rig), MM_OK);
        }
        origins_reopen(&o, closes == 1);
        origins_check_each(&o);
        origins_check(&o, 0);
        CHECK_INT(o.rig.spool.listed_seq, o.rig.spool.last_seq);
        origins_files(&o, 4);
        origins_check(&o, 0);
        spool_rig_free(&o.rig);
    }
}

static void
test_it_is_known_when_all_its_messages_went(void)
{
    origins_rig o;
    uint64_t seq, first;
    origins_started(&o);
    origins_files(&o, 3);
    first = o.rig.spool.last_seq;
    while (o.rig.spool.file_count < 6) { /* and others come */
        CHECK_INT(origins_put(&o, ORIGINS_NONE, 0, &seq), MM_OK);
        CHECK_INT(spool_rig_commit(&o.rig, false), MM_OK);
    }
    CHECK(spool_trim(&o.rig.spool, UINT64_MAX, UINT32_MAX) > 0);
    CHECK(mmi_spool_first(&o.rig.spool) > first);
    origins_check(&o, 0);
    origins_reopen(&o, false);
    origins_check(&o, 0);
    origins_reopen(&o, true);
    origins_check(&o, 0);
    spool_rig_free(&o.rig);
}

/* The file could not be written when the last one was begun: so nothing goes, until it is. */
static void
test_nothing_goes_that_the_file_does_not_tell_of(void)
{
    origins_rig o;
    uint64_t seq;
    origins_started(&o);
    origins_files(&o, 3);
    CHECK(!mmi_spool_unlisted(&o.rig.spool));
    uint64_t one = o.rig.spool.bases[1] - 1;
    o.rig.spool.listed_seq = one - 1;
    CHECK(mmi_spool_unlisted(&o.rig.spool));
    CHECK_INT(mmi_spool_trim_plan(&o.rig.spool, UINT64_MAX, 9), 0);
    o.rig.spool.listed_seq = one;
    CHECK_INT(mmi_spool_trim_plan(&o.rig.spool, UINT64_MAX, 9), 1);
    CHECK_INT(spool_rig_commit(&o.rig, false), MM_OK); /* nothing is written, so it is not tried */
    CHECK_INT(o.rig.spool.listed_seq, one);
    o.rig.spool.wants_list = true;
    CHECK_INT(spool_rig_job(&o.rig, false), MM_OK);
    CHECK_INT(o.rig.spool.listed_seq, o.rig.spool.last_seq);
    CHECK_INT(mmi_spool_trim_plan(&o.rig.spool, UINT64_MAX, 9), 2);
    o.rig.spool.listed_seq = one;
    CHECK_INT(origins_put(&o, 1, 999999, &seq), MM_OK);
    CHECK_INT(spool_rig_commit(&o.rig, false), MM_OK);
    CHECK_INT(o.rig.spool.listed_seq, seq);
    spool_rig_free(&o.rig);
}

/* It tells of what is durable only: so where nothing would be synced, it is. */
static void
test_what_the_file_tells_of_is_synced_before(void)
{
    origins_rig o;
    uint64_t seq;
    mmi_spool_job job;
    origins_new(&o, 1, &(mmi_disk_opts){ .capacity = 0 });
    o.rig.opts.level = MMI_SPOOL_OS;
    CHECK_INT(spool_rig_open(&o.rig), MM_OK);
    origins_files(&o, 2);
    for (int behind = 0; behind < 2; behind++) {
        o.rig.spool.listed_seq = behind == 1 ? 0 : o.rig.spool.listed_seq;
        CHECK_INT(origins_put(&o, 1, 1000 + (uint64_t)behind, &seq), MM_OK);
        CHECK(mmi_spool_take(&o.rig.spool, false, &job));
        CHECK_INT(job.list != NULL, behind == 1);
        CHECK_INT(job.syncs, behind == 1);
        mmi_spool_write(&o.rig.spool, &job);
        CHECK_INT(mmi_spool_wrote(&o.rig.spool, &job), MM_OK);
    }
    CHECK_INT(o.rig.spool.durable_seq, seq);
    spool_rig_free(&o.rig);
}

/* Without the file, and without what says that there was one, the messages say it. */
static void
test_a_file_that_is_lost_is_made_anew_from_the_messages(void)
{
    for (int also_state = 0; also_state < 2; also_state++) {
        origins_rig o;
        origins_started(&o);
        origins_files(&o, 4);
        spool_rig_close(&o.rig);
        CHECK_INT(CALL(&o.rig.disk, unlink, o.rig.disk.dir, FILE_OF), MM_OK);
        if (also_state == 1) {
            CHECK_INT(CALL(&o.rig.disk, unlink, o.rig.disk.dir, "META"), MM_OK);
        }
        CHECK_INT(spool_rig_open(&o.rig), MM_OK);
        origins_check_each(&o);
        origins_check(&o, 0);
        CHECK(o.rig.spool.origin_seq > 0);
        CHECK(origins_file_there(&o));
        spool_rig_free(&o.rig);
    }
}

/* Each octet of it, in turn. */
static void
test_a_file_that_is_harmed_is_never_believed(void)
{
    origins_rig o;
    uint64_t size;
    int file;
    origins_started(&o);
    origins_files(&o, 2);
    spool_rig_close(&o.rig);
    for (uint64_t at = 0, octets = 1; at < octets; at++) {
        CHECK_INT(CALL(&o.rig.disk, open, o.rig.disk.dir, FILE_OF, MMI_FILE_WRITE, &file), MM_OK);
        CHECK_INT(CALL(&o.rig.disk, size, file, &size), MM_OK);
        octets = size;
        uint8_t was;
        CHECK_INT(CALL(&o.rig.disk, read, file, at, &was, 1), 1);
        was ^= (uint8_t)(1 << at % 8);
        CHECK_INT(file_put(&o.rig.disk.files, file, at, &was, 1), 1);
        o.rig.disk.files.close(o.rig.disk.files.self, file);
        CHECK_INT(spool_rig_open(&o.rig), MM_OK);
        origins_check(&o, 0);
        spool_rig_close(&o.rig);
    }
    CHECK_INT(CALL(&o.rig.disk, open, o.rig.disk.dir, FILE_OF, MMI_FILE_WRITE, &file), MM_OK);
    CHECK_INT(CALL(&o.rig.disk, truncate, file, 0), MM_OK);
    o.rig.disk.files.close(o.rig.disk.files.self, file);
    CHECK_INT(spool_rig_open(&o.rig), MM_OK);
    origins_check_each(&o);
    spool_rig_free(&o.rig);
}

/* Its messages are not there, and their numbers are given to others: what it told is forgotten. */
static void
test_a_file_that_tells_of_more_than_there_is_is_not_believed(void)
{
    origins_rig o;
    uint64_t seq, found;
    size_t size;
    bool saved;
    origins_started(&o);
    CHECK_INT(origins_put(&o, 1, 5, &seq), MM_OK);
    CHECK_INT(spool_rig_commit(&o.rig, true), MM_OK);
    CHECK_INT(origins_put(&o, 1, 6, &seq), MM_OK); /* which is lost */
    uint8_t *image = mmi_producers_image(&o.rig.spool.producers, o.rig.spool.uuid, seq, &size);
    CHECK(image != NULL);
    CHECK_INT(mmi_spool_producers_save(&o.rig.spool, image, size, &saved), MM_OK);
    CHECK(saved);
    mmi_free(image);
    origins_reopen(&o, false);
    origins_check(&o, 0);
    CHECK_INT(origins_put(&o, 2, 1, &seq), MM_OK);
    CHECK_INT(seq, 2);
    CHECK_INT(spool_rig_commit(&o.rig, true), MM_OK);
    origins_reopen(&o, false);
    origins_check(&o, 0);
    CHECK_INT(origins_put(&o, 1, 6, &found), MM_OK);
    spool_rig_free(&o.rig);
}

/* Its name may be that of the cache alone: it is written again before anything goes by it. */
static void
test_a_file_whose_name_was_not_synced_is_written_again(void)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        origins_rig o;
        size_t size;
        bool saved;
        origins_new(&o, seed, &(mmi_disk_opts){ .capacity = 0 });
        CHECK_INT(spool_rig_open(&o.rig), MM_OK);
        origins_files(&o, 2);
        mmi_spool *s = &o.rig.spool;
        uint8_t *image = mmi_producers_image(&s->producers, s->uuid, s->last_seq, &size);
        CHECK(image != NULL);
        origins_files(&o, 4);
        CHECK_INT(mmi_spool_producers_save(s, image, size, &saved), MM_OK);
        mmi_free(image);
        image = mmi_producers_image(&s->producers, s->uuid, s->last_seq, &size);
        CHECK(image != NULL);
        mmi_disk_fail(o.rig.disk.disk, MMI_DISK_SYNC_FOLDER, 1, EIO);
        CHECK_INT(mmi_spool_producers_save(s, image, size, &saved), MM_EIO);
        mmi_free(image);
        CHECK(!saved);
        origins_reopen(&o, false);
        CHECK_INT(spool_trim(s, UINT64_MAX, UINT32_MAX), 3);
        spool_rig_stop(&o.rig, true);
        CHECK_INT(spool_rig_open(&o.rig), MM_OK);
        origins_check(&o, 0);
        spool_rig_free(&o.rig);
    }
}

/* One of another spool, and one that is older than the messages. */
static void
test_what_the_file_does_not_tell_of_is_read(void)
{
    origins_rig o;
    uint8_t other[MMI_SPOOL_UUID] = { 9 };
    size_t size;
    bool saved;
    origins_started(&o);
    origins_files(&o, 2);
    uint8_t *old =
        mmi_producers_image(&o.rig.spool.producers, o.rig.spool.uuid, o.rig.spool.last_seq, &size);
    CHECK(old != NULL);
    origins_files(&o, 4);
    CHECK_INT(mmi_spool_producers_save(&o.rig.spool, old, size, &saved), MM_OK);
    origins_reopen(&o, false);
    origins_check_each(&o);
    memcpy(old + 16, other, sizeof other);
    CHECK_INT(mmi_spool_producers_save(&o.rig.spool, old, size, &saved), MM_OK);
    mmi_free(old);
    origins_reopen(&o, false);
    origins_check_each(&o);
    spool_rig_free(&o.rig);
}

static void
test_a_file_of_a_later_version_is_refused(void)
{
    origins_rig o;
    uint64_t seq;
    size_t size;
    bool saved;
    origins_started(&o);
    CHECK_INT(origins_put(&o, 1, 1, &seq), MM_OK);
    CHECK_INT(spool_rig_commit(&o.rig, true), MM_OK);
    uint8_t *image = mmi_producers_image(&o.rig.spool.producers, o.rig.spool.uuid, seq, &size);
    CHECK(image != NULL);
    image[12] = 2;
    CHECK_INT(mmi_spool_producers_save(&o.rig.spool, image, size, &saved), MM_OK);
    spool_rig_stop(&o.rig, false);
    CHECK_INT(spool_rig_open(&o.rig), MM_ENOTSUP);
    image[12] = 1;
    CHECK_INT(mmi_spool_producers_save(&o.rig.spool, image, size, &saved), MM_OK);
    mmi_free(image);
    CHECK_INT(spool_rig_open(&o.rig), MM_OK);
    origins_check(&o, 0);
    spool_rig_free(&o.rig);
}

/* The state says it before the first such message is written, so that no file is passed over. */
static void
test_the_first_origin_of_a_spool_is_noted_before_it_is_written(void)
{
    origins_rig o;
    uint64_t seq;
    mmi_spool_job job;
    origins_started(&o);
    CHECK_INT(origins_put(&o, ORIGINS_NONE, 0, &seq), MM_OK);
    CHECK_INT(spool_rig_commit(&o.rig, true), MM_OK);
    CHECK_INT(origins_put(&o, 1, 1, &seq), MM_OK);
    CHECK(mmi_spool_take(&o.rig.spool, true, &job));
    CHECK(job.marks);
    CHECK_INT(o.rig.spool.origin_seq, 2);
    mmi_spool_write(&o.rig.spool, &job);
    CHECK_INT(mmi_spool_wrote(&o.rig.spool, &job), MM_OK);
    CHECK_INT(origins_put(&o, 1, 2, &seq), MM_OK);
    CHECK(mmi_spool_take(&o.rig.spool, true, &job));
    CHECK(!job.marks);
    mmi_spool_write(&o.rig.spool, &job);
    CHECK_INT(mmi_spool_wrote(&o.rig.spool, &job), MM_OK);
    origins_reopen(&o, false);
    CHECK_INT(o.rig.spool.origin_seq, 2);
    spool_rig_free(&o.rig);
}

int
main(void)
{
    RUN(test_a_number_that_is_not_above_the_last_is_a_repeat);
    RUN(test_a_full_spool_tells_of_repeats_and_knows_nothing_of_what_it_refused);
    RUN(test_a_spool_without_origins_has_no_file_of_them);
    RUN(test_it_is_known_in_the_next_life);
    RUN(test_it_is_known_when_all_its_messages_went);
    RUN(test_nothing_goes_that_the_file_does_not_tell_of);
    RUN(test_what_the_file_tells_of_is_synced_before);
    RUN(test_a_file_that_is_lost_is_made_anew_from_the_messages);
    RUN(test_a_file_that_is_harmed_is_never_believed);
    RUN(test_a_file_that_tells_of_more_than_there_is_is_not_believed);
    RUN(test_a_file_whose_name_was_not_synced_is_written_again);
    RUN(test_what_the_file_does_not_tell_of_is_read);
    RUN(test_a_file_of_a_later_version_is_refused);
    RUN(test_the_first_origin_of_a_spool_is_noted_before_it_is_written);
    return 0;
}
