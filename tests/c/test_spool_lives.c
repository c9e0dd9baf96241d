/*
 * test_spool_lives.c: spools that live several times, on the simulated disk, with options that
 * change, disks that fail, and lives that are cut off: nothing that was durable is lost.
 *
 * Not here: one life and its crash (test_spool_crash.c).
 */
#include "spool_steps.h"

enum { MANY = 900 /* messages, more than are put */ };
enum { OPTIONS_SEEDS = 300, FAULTS_SEEDS = 300, MENDED_SEEDS = 300, SEEN_SEEDS = 100 };
static const mmi_disk_opts NO_FAULTS = { .capacity = 0 };

static bool
one_of(spool_rig *r, uint32_t n)
{
    return check_random(&r->seed) % n == 0;
}

static uint64_t
any_file_bytes(spool_rig *r)
{
    return MMI_SPOOL_FILE_MIN * (uint64_t)(1 + check_random(&r->seed) % 3);
}

/* Messages, some of them committed, until something fails.  As mmi_spool_put. */
static int
put_some(spool_rig *r, uint32_t puts)
{
    int rc = MM_OK;
    for (uint32_t i = 0; i < puts && rc == MM_OK; i++) {
        r->clock_us += check_random(&r->seed) % 100000;
        rc = spool_rig_put(r);
        if (rc == MM_OK && one_of(r, 3)) {
            rc = spool_rig_commit(r, one_of(r, 4));
        }
    }
    return rc;
}

/* All is there that was durable; and what can be read now is so from here on. */
static void
check_nothing_lost(spool_rig *r)
{
    uint64_t next;
    CHECK(r->spool.last_seq >= r->durable);
    CHECK_INT(r->report.lost_first, 0);
    CHECK_INT(spool_rig_read(r, 1, &next), 0);
    CHECK_INT(next, r->spool.last_seq + 1);
    r->durable = r->spool.last_seq;
}

/* Its machine may stop as it is opened, and does so later on, if it was not closed before. */
static void
live_with_other_options(spool_rig *r)
{
    r->opts.level = one_of(r, 2) ? MMI_SPOOL_DISK : MMI_SPOOL_OS;
    r->opts.gaps = one_of(r, 2);
    r->opts.file_bytes = any_file_bytes(r);
    r->opts.batch_bytes = one_of(r, 2) ? 0 : 2000;
    r->opts.max_messages = one_of(r, 2) ? 0 : MANY; /* files have a part of them */
    mmi_disk_crash_in(r->disk.disk, one_of(r, 3) ? 1 + check_random(&r->seed) % 40 : 0);
    int rc = spool_rig_open(r);
    CHECK(rc != MMI_SPOOL_HARMED);
    if (rc == MM_OK) {
        mmi_disk_crash_in(r->disk.disk, 0);
        check_nothing_lost(r);
        mmi_disk_crash_in(r->disk.disk, 1 + check_random(&r->seed) % 200);
        rc = put_some(r, 120);
        if (rc == MM_OK && one_of(r, 3) && spool_rig_commit(r, true) == MM_OK) {
            (void)mmi_spool_close(&r->spool);   /* the machine may stop meanwhile */
            r->open = false;
        }
    }
    spool_rig_stop(r, true);
    mmi_disk_crash_in(r->disk.disk, 0);
}

static void
test_lives_with_other_options_lose_nothing(void)
{
    for (uint64_t seed = 1; seed <= OPTIONS_SEEDS; seed++) {
        spool_rig r;
        spool_rig_new(&r, seed, &(mmi_disk_opts){ .writeback_ppm = 200000 });
        for (int life = 0; life < 7; life++) {
            live_with_other_options(&r);
        }
        spool_rig_free(&r);
    }
}

/* The disk fails now and then; processes stop as well as machines, and some close it first. */
static bool
live_with_faults(spool_rig *r, const mmi_disk_opts *opening)
{
    static const mmi_disk_opts none = { .writeback_ppm = 100000 };
    static const mmi_disk_opts faults = { .write_eio_ppm = 3000,
                                          .short_write_ppm = 30000,
                                          .sync_eio_ppm = 30000,
                                          .writeback_ppm = 100000 };
    bool closed = false;
    r->opts.level = one_of(r, 2) ? MMI_SPOOL_DISK : MMI_SPOOL_OS;
    r->opts.file_bytes = any_file_bytes(r);
    mmi_disk_faults(r->disk.disk, opening != NULL ? opening : one_of(r, 3) ? &none : &faults);
    int rc = spool_rig_open(r);
    CHECK(rc != MMI_SPOOL_HARMED);
    if (rc == MM_OK) {
        mmi_disk_faults(r->disk.disk, &none);
        check_nothing_lost(r);
        mmi_disk_faults(r->disk.disk, &faults);
        rc = put_some(r, check_random(&r->seed) % 120);
        closed = one_of(r, 2);
        if (closed) {
            if (rc == MM_OK) {
                (void)spool_rig_commit(r, true);
            }
            (void)mmi_spool_close(&r->spool);
            r->open = false;
        }
    }
    spool_rig_stop(r, one_of(r, 2));
    return closed;
}

static void
test_lives_with_faults_and_ends_of_every_kind_lose_nothing(void)
{
    uint32_t closed = 0;
    for (uint64_t seed = 1; seed <= FAULTS_SEEDS; seed++) {
        spool_rig r;
        spool_rig_new(&r, seed, &NO_FAULTS);
        for (int life = 0; life < 8; life++) {
            closed += live_with_faults(&r, NULL);
        }
        closed += live_with_faults(&r, &NO_FAULTS);
        CHECK(r.life > 0);
        spool_rig_free(&r);
    }
    CHECK(closed > FAULTS_SEEDS);
}

enum { BATCHES = 30, EACH = 2, MENDED = BATCHES * EACH };

/* One or two batches are harmed, in their heads or behind them; `gone` says which messages. */
static void
harm_batches(spool_rig *r, const uint64_t at[BATCHES], bool gone[MENDED + 1])
{
    static const uint8_t harm[4] = { 9 };
    for (uint32_t n = 1 + check_random(&r->seed) % 2; n > 0; n--) {
        uint32_t b = check_random(&r->seed) % (BATCHES - 1);
        uint64_t where = at[b] + (one_of(r, 2) ? 0 : MMI_SPOOL_BATCH_HEAD + 2);
        CHECK_INT(file_put(&r->disk.files, r->spool.file.file, where, harm, sizeof harm), 4);
        gone[b * EACH + 1] = gone[b * EACH + 2] = true;
    }
    CHECK_INT(CALL(&r->disk, sync, r->spool.file.file), MM_OK);
}

static void
mending_is_cut_off(spool_rig *r)
{
    static const mmi_disk_opts faults = { .sync_eio_ppm = 100000,
                                          .write_eio_ppm = 20000,
                                          .writeback_ppm = 100000 };
    spool_rig_stop(r, one_of(r, 2));
    mmi_disk_faults(r->disk.disk, one_of(r, 2) ? &faults : &NO_FAULTS);
    mmi_disk_crash_in(r->disk.disk, one_of(r, 2) ? 0 : 1 + check_random(&r->seed) % 40);
    (void)spool_rig_open(r);
    mmi_disk_crash_in(r->disk.disk, 0);
}

/* It is told as harmed, or is what was put. */
static void
check_message(spool_rig *r, uint64_t seq, bool gone)
{
    mmi_spool_reader reader;
    mmi_spool_where where;
    mmi_spool_record got;
    uint8_t wanted[SPOOL_BODY_MAX];
    uint64_t number;
    mmi_spool_reader_open(&reader, &r->disk.files, r->disk.dir, seq);
    mmi_spool_locate(&r->spool, seq, &where);
    CHECK_INT(mmi_spool_reader_load(&reader, &where), gone ? MMI_SPOOL_HARMED : 1);
    if (!gone) {
        CHECK_INT(mmi_spool_reader_next(&reader, &got, &number), 1);
        CHECK_INT(got.size, spool_body(seq, 1, wanted));
        CHECK(memcmp(got.data, wanted, got.size) == 0);
    }
    mmi_spool_reader_close(&reader);
}

static void
test_what_is_sound_stays_however_often_the_mending_is_cut_off(void)
{
    for (uint64_t seed = 1; seed <= MENDED_SEEDS; seed++) {
        spool_rig r;
        uint64_t at[BATCHES];
        bool gone[MENDED + 1] = { false };
        spool_rig_started(&r, seed, MMI_SPOOL_DISK);
        if (one_of(&r, 2)) {
            r.clock_us += 2000000;   /* its state is written in between */
        }
        for (int b = 0; b < BATCHES; b++) {
            at[b] = r.spool.file.end;
            spool_rig_batches(&r, 1, EACH);
        }
        CHECK_INT(r.spool.file_count, 1);
        harm_batches(&r, at, gone);
        r.opts.gaps = true;
        for (int cut = 0; cut < 6; cut++) {
            mending_is_cut_off(&r);
        }
        spool_rig_stop(&r, true);
        mmi_disk_faults(r.disk.disk, &NO_FAULTS);
        CHECK_INT(spool_rig_open(&r), MM_OK);
        CHECK_INT(r.spool.last_seq, MENDED);
        for (uint64_t seq = 1; seq <= MENDED; seq++) {
            check_message(&r, seq, gone[seq]);
        }
        spool_rig_free(&r);
    }
}

/* Also between a write and the note of it: what is read then would be left by a crash. */
static void
test_what_a_reader_sees_at_level_disk_survives_the_machine(void)
{
    for (uint64_t seed = 1; seed <= SEEN_SEEDS; seed++) {
        spool_rig r;
        mmi_spool_job job;
        bool stops = false;
        uint64_t next = 1;
        spool_rig_started(&r, seed, MMI_SPOOL_DISK);
        for (int i = 0; i < 150 && !stops; i++) {
            CHECK_INT(spool_rig_put(&r), MM_OK);
            if (i % 3 == 0 && mmi_spool_take(&r.spool, false, &job)) {
                mmi_spool_write(&r.spool, &job);
                CHECK_INT(spool_rig_read(&r, 1, &next), 0);
                stops = seed % 3 == 0 && one_of(&r, 50);
                if (!stops) {
                    CHECK_INT(mmi_spool_wrote(&r.spool, &job), MM_OK);
                }
            }
        }
        spool_rig_stop(&r, true);
        CHECK_INT(spool_rig_open(&r), MM_OK);
        CHECK(r.spool.last_seq + 1 >= next);
        spool_rig_free(&r);
    }
}

int
main(void)
{
    RUN(test_lives_with_other_options_lose_nothing);
    RUN(test_lives_with_faults_and_ends_of_every_kind_lose_nothing);
    RUN(test_what_is_sound_stays_however_often_the_mending_is_cut_off);
    RUN(test_what_a_reader_sees_at_level_disk_survives_the_machine);
    return 0;
}
