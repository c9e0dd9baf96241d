/*
 * test_cursor_spool.c: a spool and a cursor of it, on the simulated disk, stopped at each step of
 * their lives: nothing that was not done is left out, nothing is removed before it was done, and no
 * cursor has come further than its spool.
 *
 * Not here: either alone (test_spool_crash.c, test_cursor_crash.c).  Law: files go up to what was
 * saved, and what is saved was durable, as the thread of a spool does it.
 */
#include "spool/cursor.h"
#include "spool_rig.h"

enum {
    LIVES = 4,          /* each but the last is cut off */
    STEPS_A_LIFE = 160, /* puts, marks, saves, trims */
    CRASH_WITHIN = 350, /* operations of the disk */
    TRIES = 40,         /* to open on a disk with faults */
    WORLDS = 150,       /* MESHMSG_SPOOL_SEEDS: others */
    WIDE = 30           /* numbers above the floor that are marked */
};

typedef struct world {
    spool_rig r;
    mmi_cursor c;
    bool done[SPOOL_MESSAGES_MAX]; /* at any time, in the life that the number is of now */
    bool saved[SPOOL_MESSAGES_MAX];   /* by a save that said OK */
} world;

typedef struct tally {
    uint64_t removed, behind, kept, reused;
} tally;

static int
world_cursor(world *w)
{
    mmi_spool *s = &w->r.spool;
    const mmi_cursor_spool of = { s->uuid, mmi_spool_first(s), s->last_seq };
    int rc = mmi_cursor_open(&w->c, &w->r.disk.files, w->r.disk.dir, "one", true, &of);
    return rc;
}

/* Both are opened, though the disk may fail; nothing was lost, and nothing is ahead. */
static void
world_open(world *w, tally *t)
{
    for (uint32_t tries = 0;; tries++) {
        if (spool_rig_open(&w->r) == MM_OK && world_cursor(w) == MM_OK) {
            break;
        }
        CHECK(tries < TRIES);
        spool_rig_stop(&w->r, false);
        if (tries > TRIES / 2) {
            mmi_disk_faults(w->r.disk.disk, &(mmi_disk_opts){ .capacity = 0 });
        }
    }
    uint64_t last = w->r.spool.last_seq, next;
    CHECK(last >= w->r.durable);
    CHECK_INT(w->c.ahead, 0);
    CHECK_INT(w->c.missed, 0);
    for (uint64_t seq = 1; seq < SPOOL_MESSAGES_MAX; seq++) {
        bool is = mmi_cursor_is_done(&w->c, seq);
        CHECK(!is || (w->done[seq] && seq <= last));
        CHECK(is || !w->saved[seq]); /* what was said to be saved is */
        t->behind += w->done[seq] && !is;
        t->kept += is;
        t->reused += seq > last && w->r.lives[seq] > 0;
        w->done[seq] = w->saved[seq] = is;
    }
    CHECK_INT(spool_rig_read(&w->r, mmi_spool_first(&w->r.spool), &next), 0);
    CHECK_INT(next, last + 1); /* so all that is not done is there */
    w->r.durable = last;
}

static void
world_mark(world *w)
{
    uint64_t visible = mmi_spool_visible(&w->r.spool), first = w->c.floor + 1;
    if (first > visible) {
        return;
    }
    first += check_random(&w->r.seed) % 2 == 0 ? 0 : check_random(&w->r.seed) % WIDE;
    uint64_t last = first + check_random(&w->r.seed) % 4;
    last = last < visible ? last : visible;
    if (first <= last) {
        CHECK_INT(mmi_cursor_done(&w->c, first, last), MM_OK);
        for (uint64_t seq = first; seq <= last; seq++) {
            w->done[seq] = true;
        }
    }
}

static int
world_save(world *w)
{
    uint64_t limit = w->r.spool.durable_seq;
    int rc = mmi_cursor_save(&w->c, limit);
    for (uint64_t seq = 1; rc == MM_OK && seq <= limit; seq++) {
        w->saved[seq] = mmi_cursor_is_done(&w->c, seq);
    }
    return rc;
}

static void
world_live(world *w, tally *t)
{
    int rc = MM_OK;
    for (uint32_t i = 0; i < STEPS_A_LIFE && rc == MM_OK; i++) {
        switch (check_random(&w->r.seed) % 8) {
        case 0: rc = world_save(w); break;
        case 1: t->removed += spool_trim(&w->r.spool, w->c.saved_floor, 8); break;
        case 2: rc = spool_rig_commit(&w->r, check_random(&w->r.seed) % 4 == 0); break;
        case 3:
        case 4: world_mark(w); break;
        default: rc = spool_rig_put(&w->r); break;
        }
        rc = w->r.spool.failed ? MM_EIO : rc;
    }
    mmi_cursor_close(&w->c);
}

static void
world_of(uint64_t seed, mmi_spool_level level, const mmi_disk_opts *faults, bool machine, tally *t)
{
    static world w; /* it is large */
    w = (world){ .r = { .seed = 0 } };
    spool_rig_new(&w.r, seed, faults);
    w.r.opts.level = level;
    for (uint32_t life = 0; life < LIVES; life++) {
        world_open(&w, t);
        if (machine) {
            mmi_disk_crash_in(w.r.disk.disk, 1 + check_random(&w.r.seed) % CRASH_WITHIN);
        }
        world_live(&w, t);
        spool_rig_stop(&w.r, machine);
        mmi_disk_crash_in(w.r.disk.disk, 0);
    }
    mmi_disk_faults(w.r.disk.disk, &(mmi_disk_opts){ .capacity = 0 });
    world_open(&w, t);
    mmi_cursor_close(&w.c);
    spool_rig_free(&w.r);
}

static tally
worlds_of(mmi_spool_level level, const mmi_disk_opts *faults, bool machine)
{
    tally t = { 0 };
    const char *told = getenv("MESHMSG_SPOOL_SEEDS");
    uint64_t seeds = told != NULL ? strtoull(told, NULL, 10) : WORLDS;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        world_of(seed, level, faults, machine, &t);
    }
    printf("%" PRIu64 " files removed; done and not known: %" PRIu64 ", and known: %" PRIu64
           "; numbers given again: %" PRIu64 "\n",
           t.removed, t.behind, t.kept, t.reused);
    return t;
}

static void
test_a_machine_that_stops_leaves_no_cursor_ahead(void)
{
    const mmi_disk_opts disk = { .writeback_ppm = 200000 };
    tally t = worlds_of(MMI_SPOOL_DISK, &disk, true);
    CHECK(t.removed > 50 && t.behind > 100 && t.kept > 1000 && t.reused > 0);
}

/* What is read may not be on the disk: its number is given again, and is not done then. */
static void
test_nor_does_one_whose_spool_syncs_now_and_then(void)
{
    const mmi_disk_opts disk = { .writeback_ppm = 200000 };
    tally t = worlds_of(MMI_SPOOL_OS, &disk, true);
    CHECK(t.removed > 20 && t.behind > 100 && t.kept > 1000 && t.reused > 100);
}

static void
test_nor_does_a_process_that_stops(void)
{
    const mmi_disk_opts disk = { .capacity = 0 };
    tally t = worlds_of(MMI_SPOOL_OS, &disk, false);
    CHECK(t.removed > 20 && t.behind > 100 && t.kept > 1000);
}

static void
test_nor_does_a_disk_that_fails(void)
{
    const mmi_disk_opts disk = { .write_eio_ppm = 5000,
                                 .short_write_ppm = 20000,
                                 .sync_eio_ppm = 10000,
                                 .writeback_ppm = 100000 };
    tally t = worlds_of(MMI_SPOOL_DISK, &disk, true);
    CHECK(t.removed > 20 && t.behind > 100 && t.kept > 1000);
}

int
main(void)
{
    RUN(test_a_machine_that_stops_leaves_no_cursor_ahead);
    RUN(test_nor_does_one_whose_spool_syncs_now_and_then);
    RUN(test_nor_does_a_process_that_stops);
    RUN(test_nor_does_a_disk_that_fails);
    return 0;
}
