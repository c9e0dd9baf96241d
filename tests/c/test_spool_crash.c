/*
 * test_spool_crash.c: the machine stops, or the process, or the disk fails, at any step of a
 * spool's life, over many seeds: what was said to be durable is there, in order and unharmed,
 * whatever else is lost; and a number that may have been seen is never given to another message.
 *
 * Not here: bits that turn (test_spool_harm.c).  Law: what must be seen at least once is tallied,
 * so that the test is known to reach it.
 */
#include "spool_rig.h"

enum {
    LIVES = 5,            /* each but the last is cut off */
    PUTS_A_LIFE = 300,
    CRASH_WITHIN = 400,   /* operations of the disk */
    SPOOL_SEEDS = 250     /* MESHMSG_SPOOL_SEEDS: others */
};

typedef struct tally {
    uint64_t torn, copied, rolled, failed, lost, unclean_made, kept, deferred, again;
} tally;

/* All that is durable may go, but the last file. */
static bool trims;

/* Puts and writes until it is over, or cut off. */
static void
live(spool_rig *r, tally *t)
{
    uint32_t puts = check_random(&r->seed) % PUTS_A_LIFE;
    uint32_t files = r->spool.file_count;
    int rc = MM_OK;
    for (uint32_t i = 0; i < puts && rc == MM_OK; i++) {
        rc = spool_rig_put(r);
        bool syncs = check_random(&r->seed) % 8 == 0;
        if (rc == MM_OK && check_random(&r->seed) % 3 == 0) {
            rc = spool_rig_commit(r, syncs);
        } else if (rc == MM_OK && check_random(&r->seed) % 16 == 0) {
            rc = spool_rig_job(r, false);
            t->deferred += rc == MM_OK && r->spool.durable_seq < r->spool.written_seq;
        } else if (rc == MM_OK && trims && check_random(&r->seed) % 8 == 0) {
            (void)spool_trim(&r->spool, r->spool.durable_seq, 1);
        }
        t->again += r->spool.file.head.version == MMI_SPOOL_AGAIN;
    }
    t->rolled += r->spool.file_count > files;
    t->failed += r->spool.failed;
}

/* What is there is what it must be, and from now on durable. */
static void
check_opened(spool_rig *r, tally *t, bool machine)
{
    uint64_t next, last = r->spool.last_seq;
    CHECK(trims || mmi_spool_first(&r->spool) == 1);
    CHECK(last >= r->durable);
    CHECK_INT(r->report.lost_first, 0);
    CHECK_INT(spool_rig_read(r, mmi_spool_first(&r->spool), &next), 0);
    CHECK_INT(next, last + 1);
    t->torn += r->report.torn_bytes > 0;
    t->copied += r->report.copied > 0;
    t->kept += machine && last > r->durable;
    r->durable = last;
}

/* lives of one seed; what went in last before a cut may be lost, if nobody said it was durable. */
static void
lives_of(uint64_t seed, mmi_spool_level level, const mmi_disk_opts *faults, bool machine, tally *t)
{
    spool_rig r;
    spool_rig_new(&r, seed, faults);
    r.opts.level = level;
    for (uint32_t life = 0; life < LIVES; life++) {
        spool_rig_open_somehow(&r);
        uint64_t before = r.durable;
        check_opened(&r, t, machine);
        CHECK(r.durable >= before);
        if (machine) {
            mmi_disk_crash_in(r.disk.disk, 1 + check_random(&r.seed) % CRASH_WITHIN);
        }
        live(&r, t);
        uint64_t last = r.spool.last_seq, written = r.spool.failed ? 0 : r.spool.written_seq;
        spool_rig_stop(&r, machine);
        if (!machine && written > r.durable) {
            r.durable = written;   /* the system has it, whatever happens to the process */
        }
        t->lost += last > r.durable;
        mmi_disk_crash_in(r.disk.disk, 0);
        if (machine && check_random(&r.seed) % 2 == 0) {   /* cut off again while it is mended */
            mmi_disk_crash_in(r.disk.disk, 1 + check_random(&r.seed) % 30);
            (void)spool_rig_open(&r);
            spool_rig_stop(&r, true);
            mmi_disk_crash_in(r.disk.disk, 0);
        }
    }
    mmi_disk_faults(r.disk.disk, &(mmi_disk_opts){ .capacity = 0 });
    spool_rig_open_somehow(&r);
    check_opened(&r, t, machine);
    spool_rig_free(&r);
}

static tally
many(mmi_spool_level level, const mmi_disk_opts *faults, bool machine)
{
    tally t = { 0 };
    const char *told = getenv("MESHMSG_SPOOL_SEEDS");
    uint64_t seeds = told != NULL ? strtoull(told, NULL, 10) : SPOOL_SEEDS;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        lives_of(seed, level, faults, machine, &t);
    }
    return t;
}

static void
test_a_machine_that_stops_loses_nothing_that_was_durable(void)
{
    tally t = many(MMI_SPOOL_DISK, &(mmi_disk_opts){ .writeback_ppm = 200000 }, true);
    CHECK(t.torn > 0 && t.copied > 0 && t.rolled > 0 && t.lost > 0 && t.kept > 0);
    CHECK(t.deferred > 0);
}

static void
test_so_does_one_whose_spool_syncs_now_and_then(void)
{
    tally t = many(MMI_SPOOL_OS, &(mmi_disk_opts){ .writeback_ppm = 200000 }, true);
    CHECK(t.torn > 0 && t.copied > 0 && t.rolled > 0 && t.lost > 0);
}

static void
test_a_process_that_stops_loses_nothing_that_was_written(void)
{
    tally t = many(MMI_SPOOL_OS, &(mmi_disk_opts){ .capacity = 0 }, false);
    CHECK(t.copied > 0 && t.rolled > 0 && t.lost > 0);
    CHECK_INT(t.torn, 0);
}

static void
test_a_disk_that_fails_now_and_then_loses_nothing_that_was_durable(void)
{
    const mmi_disk_opts faults = { .write_eio_ppm = 5000,
                                   .short_write_ppm = 50000,
                                   .sync_eio_ppm = 10000,
                                   .writeback_ppm = 100000 };
    tally t = many(MMI_SPOOL_DISK, &faults, true);
    CHECK(t.failed > 0 && t.torn > 0 && t.rolled > 0);
}

/* The same of a spool whose files go, so that others have their room. */
static void
test_so_does_one_whose_files_have_the_room_of_others(void)
{
    const mmi_disk_opts writes = { .writeback_ppm = 200000 }, faults = { .write_eio_ppm = 3000,
                                                                         .short_write_ppm = 30000,
                                                                         .sync_eio_ppm = 5000,
                                                                         .writeback_ppm = 100000 };
    trims = true;
    tally disk = many(MMI_SPOOL_DISK, &writes, true), os = many(MMI_SPOOL_OS, &writes, true);
    tally killed = many(MMI_SPOOL_OS, &(mmi_disk_opts){ .capacity = 0 }, false);
    tally failing = many(MMI_SPOOL_DISK, &faults, true);
    trims = false;
    CHECK(disk.again > 0 && os.again > 0 && killed.again > 0 && failing.again > 0);
    CHECK(disk.torn > 0 && os.torn > 0 && failing.failed > 0);
    CHECK(disk.lost > 0 && os.lost > 0 && killed.lost > 0);
    CHECK_INT(killed.torn, 0);
}

/* Every operation of one life is the last one, in turn. */
static void
test_every_step_of_a_life_may_be_its_last(void)
{
    enum { STEPS = 400 };
    for (uint64_t step = 1; step <= STEPS; step++) {
        spool_rig r;
        tally t = { 0 };
        spool_rig_new(&r, step, &(mmi_disk_opts){ .capacity = 0 });
        mmi_disk_crash_in(r.disk.disk, step);
        if (spool_rig_open(&r) == MM_OK) {
            for (int rc = MM_OK, i = 0; i < 200 && rc == MM_OK; i++) {
                rc = spool_rig_put(&r);
                rc = rc == MM_OK && i % 2 == 0 ? spool_rig_commit(&r, false) : rc;
            }
        }
        spool_rig_stop(&r, true);
        mmi_disk_crash_in(r.disk.disk, 0);
        CHECK_INT(spool_rig_open(&r), MM_OK);
        check_opened(&r, &t, true);
        spool_rig_free(&r);
    }
}

/* A life in which the n-th call of that kind fails; then nothing is said to be durable behind it.
 * Likewise, of the opening after it, if `opens`.  false: it has no n-th one. */
static bool
fails(mmi_disk_op kind, uint64_t nth, bool opens)
{
    spool_rig r;
    tally t = { 0 };
    spool_rig_new(&r, nth, &(mmi_disk_opts){ .capacity = 0 });
    mmi_disk_fail(r.disk.disk, kind, opens ? 0 : nth, EIO);
    int rc = spool_rig_open(&r);
    for (int i = 0; i < 150 && rc == MM_OK; i++) {
        rc = spool_rig_put(&r);
        rc = rc == MM_OK ? spool_rig_commit(&r, false) : rc;
        if (rc == MM_OK && i % 32 == 0) {
            (void)spool_trim(&r.spool, r.spool.durable_seq, 1);
        }
    }
    if (r.open && r.spool.failed) {
        CHECK_INT(spool_rig_put(&r), MM_EIO);
        CHECK_INT(spool_rig_commit(&r, true), MM_OK); /* there is nothing it would do */
    }
    mmi_disk_fail(r.disk.disk, kind, 0, EIO);
    spool_rig_stop(&r, true);
    if (opens) {
        mmi_disk_fail(r.disk.disk, kind, nth, EIO);
        (void)spool_rig_open(&r);
        mmi_disk_fail(r.disk.disk, kind, 0, EIO);
        spool_rig_stop(&r, true);
    }
    bool came = rig_space(&r.disk).struck > 0;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    check_opened(&r, &t, true);
    spool_rig_free(&r);
    return came;
}

/* The n-th write, sync, and so on, for all n that a life has. */
static void
check_fails(bool opens)
{
    static const struct {
        mmi_disk_op kind;
        const char *name;
        uint64_t least, least_open; /* so many are in a life; in an opening */
    } kinds[] = {
        { MMI_DISK_OPEN, "open", 5, 5 },
        { MMI_DISK_READ, "read", 1, 3 },
        { MMI_DISK_WRITE, "write", 150, 3 },
        { MMI_DISK_SYNC, "sync", 150, 3 },
        { MMI_DISK_SYNC_FOLDER, "sync of a folder", 4, 1 },
        { MMI_DISK_RESERVE, "reserve", 2, 1 },
        { MMI_DISK_TRUNCATE, "truncate", 2, 1 },
        { MMI_DISK_NAME, "name", 4, 1 },
        { MMI_DISK_LIST, "list", 1, 1 },
        { MMI_DISK_LOCK, "lock", 1, 1 },
    };
    trims = true;
    CHECK_INT(MMI_COUNT_OF(kinds), MMI_DISK_OPS);
    for (size_t i = 0; i < MMI_COUNT_OF(kinds); i++) {
        uint64_t n = 1;
        while (fails(kinds[i].kind, n, opens)) {
            n++;
        }
        printf("  %s: %" PRIu64 "\n", kinds[i].name, n - 1);
        CHECK(n - 1 >= (opens ? kinds[i].least_open : kinds[i].least));
    }
    trims = false;
}

static void
test_the_nth_call_that_fails_ends_it(void)
{
    check_fails(false);
}

static void
test_the_nth_call_of_an_opening_that_fails_costs_nothing(void)
{
    check_fails(true);
}

int
main(void)
{
    RUN(test_every_step_of_a_life_may_be_its_last);
    RUN(test_a_process_that_stops_loses_nothing_that_was_written);
    RUN(test_a_machine_that_stops_loses_nothing_that_was_durable);
    RUN(test_so_does_one_whose_spool_syncs_now_and_then);
    RUN(test_a_disk_that_fails_now_and_then_loses_nothing_that_was_durable);
    RUN(test_so_does_one_whose_files_have_the_room_of_others);
    RUN(test_the_nth_call_that_fails_ends_it);
    RUN(test_the_nth_call_of_an_opening_that_fails_costs_nothing);
    return 0;
}
