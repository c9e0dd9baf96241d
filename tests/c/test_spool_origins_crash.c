/*
 * test_spool_origins_crash.c: producers number what they put, and the machine stops, or the
 * process, or the disk fails, at any step, over many seeds.  What is there when it is opened again
 * is a repeat, and what is lost is none.  So it is when the messages were trimmed, and when there
 * are more producers than are known.
 *
 * Not here: files that are harmed (test_spool_origins.c), what survives (test_spool_crash.c).
 * Law: what must be seen at least once is tallied.
 */
#include "origins_rig.h"

enum {
    LIVES = 5,            /* each but the last is cut off */
    PUTS_A_LIFE = 250,
    CRASH_WITHIN = 400,   /* operations of the disk */
    SEEDS_OF = 200,       /* MESHMSG_SPOOL_SEEDS: others */
    FEW = 5               /* producers that are known, where there may be more */
};

typedef struct tally {
    uint64_t repeated, lost, kept, rolled, trimmed, failed, forgotten, read;
} tally;

typedef struct world_of {
    mmi_spool_level level;
    mmi_disk_opts faults;
    bool machine, trims;
    uint32_t most;
} world_of;

/* The next number of one of them, or one that it put; now and then a message is nobody's. */
static int
live_put(origins_rig *o, tally *t)
{
    spool_rig *r = &o->rig;
    uint32_t who = check_random(&r->seed) % (ORIGINS_WHO + 1);
    uint64_t seq, at, last, number;
    who = who < ORIGINS_WHO ? who : (uint32_t)ORIGINS_NONE;
    last = who != ORIGINS_NONE ? origins_last(o, who) : 0;
    bool known = last > 0 && (r->spool.producers.most == 0 ||
                              origins_behind(o, last) < r->spool.producers.most);
    at = last > 0 ? o->numbers[last] : 0;
    bool again = known && check_random(&r->seed) % 4 == 0;
    number =
        again ? at - check_random(&r->seed) % 3 % (at + 1) : at + 1 + check_random(&r->seed) % 2;
    int rc = origins_put(o, who, number, &seq);
    if (rc == MM_EIO) {
        return rc;
    }
    CHECK_INT(rc, again ? MMI_SPOOL_REPEATED : MM_OK);
    CHECK(!again || number < at || seq == last);
    t->repeated += again;
    return MM_OK;
}

static void
live(origins_rig *o, const world_of *w, tally *t)
{
    spool_rig *r = &o->rig;
    uint32_t puts = check_random(&r->seed) % PUTS_A_LIFE, files = r->spool.file_count;
    int rc = MM_OK;
    for (uint32_t i = 0; i < puts && rc == MM_OK; i++) {
        rc = live_put(o, t);
        bool syncs = check_random(&r->seed) % 8 == 0;
        if (rc == MM_OK && check_random(&r->seed) % 3 == 0) {
            rc = spool_rig_commit(r, syncs);
        } else if (rc == MM_OK && check_random(&r->seed) % 16 == 0) {
            rc = spool_rig_job(r, false);
        } else if (rc == MM_OK && w->trims && check_random(&r->seed) % 8 == 0) {
            t->trimmed += spool_trim(&r->spool, r->spool.durable_seq, 2);
        }
    }
    t->rolled += r->spool.file_count > files;
    t->failed += r->spool.failed;
    t->forgotten += r->spool.producers.forgotten;
}

static void
check_opened(origins_rig *o, const world_of *w, uint64_t had, tally *t)
{
    spool_rig *r = &o->rig;
    const uint64_t last = r->spool.last_seq;
    CHECK(last >= r->durable);
    t->lost += last < had;
    t->kept += last > r->durable;
    origins_forget(o);
    r->durable = last;
    origins_check(o, w->most);
    if (w->most == 0) {
        origins_check_each(o);
    }
}

static void
lives_of(uint64_t seed, const world_of *w, tally *t)
{
    static origins_rig o;
    spool_rig *r = &o.rig;
    uint64_t had = 0;
    origins_new(&o, seed, &w->faults);
    r->opts.level = w->level;
    r->opts.producers_max = w->most;
    for (uint32_t life = 0; life < LIVES; life++) {
        spool_rig_open_somehow(r);
        check_opened(&o, w, had, t);
        if (w->machine) {
            mmi_disk_crash_in(r->disk.disk, 1 + check_random(&r->seed) % CRASH_WITHIN);
        }
        live(&o, w, t);
        uint64_t written = r->spool.failed ? 0 : r->spool.written_seq;
        had = r->spool.last_seq;
        spool_rig_stop(r, w->machine);
        if (!w->machine && written > r->durable) {
            r->durable = written; /* the system has it, whatever happens to the process */
        }
        mmi_disk_crash_in(r->disk.disk, 0);
        if (w->machine && check_random(&r->seed) % 2 == 0) { /* again while it is mended */
            mmi_disk_crash_in(r->disk.disk, 1 + check_random(&r->seed) % 40);
            (void)spool_rig_open(r);
            spool_rig_stop(r, true);
            mmi_disk_crash_in(r->disk.disk, 0);
        }
    }
    mmi_disk_faults(r->disk.disk, &(mmi_disk_opts){ .capacity = 0 });
    spool_rig_open_somehow(r);
    check_opened(&o, w, had, t);
    spool_rig_close(r);
    CHECK_INT(spool_rig_open(r), MM_OK);
    check_opened(&o, w, 0, t);
    spool_rig_free(r);
}

static tally
many(const world_of *w)
{
    tally t = { 0 };
    const char *told = getenv("MESHMSG_SPOOL_SEEDS");
    uint64_t seeds = told != NULL ? strtoull(told, NULL, 10) : SEEDS_OF;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        lives_of(seed, w, &t);
    }
    CHECK(t.repeated > 0 && t.rolled > 0 && t.lost > 0);
    CHECK((t.trimmed > 0) == w->trims && (t.forgotten > 0) == (w->most > 0));
    return t;
}

static void
test_a_repeat_is_known_after_the_machine_stopped(void)
{
    world_of w = { .level = MMI_SPOOL_DISK,
                   .faults = { .writeback_ppm = 200000 },
                   .machine = true };
    CHECK(many(&w).kept > 0);
    w.level = MMI_SPOOL_OS;
    (void)many(&w);
}

static void
test_a_repeat_is_known_after_the_process_was_killed(void)
{
    (void)many(&(world_of){ .level = MMI_SPOOL_OS });
    (void)many(&(world_of){ .level = MMI_SPOOL_DISK });
}

static void
test_a_repeat_is_known_when_its_message_was_trimmed(void)
{
    world_of w = { .level = MMI_SPOOL_DISK,
                   .faults = { .writeback_ppm = 200000 },
                   .machine = true,
                   .trims = true };
    (void)many(&w);
    w.level = MMI_SPOOL_OS;
    (void)many(&w);
    w.machine = false;
    (void)many(&w);
}

static void
test_a_repeat_is_known_on_a_disk_that_fails_now_and_then(void)
{
    const world_of w = { .level = MMI_SPOOL_DISK,
                         .faults = { .write_eio_ppm = 3000,
                                     .short_write_ppm = 30000,
                                     .sync_eio_ppm = 5000,
                                     .writeback_ppm = 100000 },
                         .machine = true,
                         .trims = true };
    CHECK(many(&w).failed > 0);
}

static void
test_those_that_put_last_are_known_where_there_are_too_many(void)
{
    world_of w = { .level = MMI_SPOOL_DISK,
                   .faults = { .writeback_ppm = 200000 },
                   .machine = true,
                   .trims = true,
                   .most = FEW };
    (void)many(&w);
    w.machine = false;
    (void)many(&w);
}

/* Every operation of one life is the last one, in turn. */
static void
test_every_step_of_a_life_may_be_its_last(void)
{
    enum { STEPS = 400 };
    const world_of w = { .level = MMI_SPOOL_DISK };
    for (uint64_t step = 1; step <= STEPS; step++) {
        static origins_rig o;
        tally t = { 0 };
        origins_new(&o, step, &w.faults);
        mmi_disk_crash_in(o.rig.disk.disk, step);
        if (spool_rig_open(&o.rig) == MM_OK) {
            for (int rc = MM_OK, i = 0; i < 200 && rc == MM_OK; i++) {
                rc = live_put(&o, &t);
                rc = rc == MM_OK && i % 2 == 0 ? spool_rig_commit(&o.rig, false) : rc;
                if (rc == MM_OK && i % 40 == 39) {
                    (void)spool_trim(&o.rig.spool, o.rig.spool.durable_seq, 1);
                }
            }
        }
        spool_rig_stop(&o.rig, true);
        mmi_disk_crash_in(o.rig.disk.disk, 0);
        CHECK_INT(spool_rig_open(&o.rig), MM_OK);
        check_opened(&o, &w, 0, &t);
        spool_rig_free(&o.rig);
    }
}

int
main(void)
{
    RUN(test_every_step_of_a_life_may_be_its_last);
    RUN(test_a_repeat_is_known_after_the_process_was_killed);
    RUN(test_a_repeat_is_known_after_the_machine_stopped);
    RUN(test_a_repeat_is_known_when_its_message_was_trimmed);
    RUN(test_a_repeat_is_known_on_a_disk_that_fails_now_and_then);
    RUN(test_those_that_put_last_are_known_where_there_are_too_many);
    return 0;
}
