/*
 * test_slots_crash.c: two slots, crashed at every operation on the simulated disk, over more than a
 * thousand seeds, with syncs that fail and with rot.
 *
 * Law: what is there is what was written last with MM_OK, or what a write that did not say so tried
 * to write; for rot, what was written before, and it says so.
 */
#include "slots_rig.h"

enum {
    STEPS = 24,        /* of the first life, at each of which it is crashed */
    CRASH_WITHIN = 30, /* operations, of the lives in between */
    LIVES = 4,         /* each ends in a crash, and one more does not */
    WRITES_A_LIFE = 4,
    TRIES = 20 /* to open on a disk with faults */
};

/* A world: what was said to be written, and what else may be there. */
typedef struct world {
    disk_rig r;
    uint32_t acked, before, tried, next; /* tried, before: 0: none */
    const mmi_disk_opts *opts; /* once its name is durable, which is for the caller to see to */
    bool named, rots, over;    /* its name is; bits turn; both slots are harmed */
} world;

typedef struct tally {
    int opened, acked, tried, older, harmed, rotten, crashes;
} tally;

static int
world_open(world *w, mmi_slots *s, tally *t)
{
    uint32_t id;
    int rc = open_in(s, &w->r.files, w->r.dir, true, &id);
    rc = rc == MM_OK && !w->named ? CALL(&w->r, sync_folder, w->r.dir) : rc;
    if (rc == MM_EPROTO) {
        CHECK(w->rots);
        t->harmed++;
        w->over = true;
    }
    if (s->file >= 0 && id != w->acked) {
        bool rotten = w->rots && s->older && id == w->before;
        CHECK(rotten || (id == w->tried && id > 0));
        t->rotten += rotten;
        t->tried += !rotten;
    }
    if (s->file >= 0) {
        t->opened++;
        t->older += s->older;
        w->before = id == w->acked ? w->before : w->acked;
        w->acked = id;
        w->tried = 0;
    }
    if (rc == MM_OK && !w->named) {
        w->named = true;
        mmi_disk_faults(w->r.disk, w->opts);
    }
    return rc;
}

/* Opens and writes until the life is over, or the disk is off. */
static void
world_live(world *w, tally *t)
{
    for (int tries = 0, done = 0; tries < TRIES && done < WRITES_A_LIFE && !w->over; tries++) {
        mmi_slots s;
        int rc = world_open(w, &s, t);
        while (rc == MM_OK && done < WRITES_A_LIFE) {
            w->tried = w->next++;
            rc = write_id(&s, w->tried);
            if (rc == MM_OK) {
                w->before = w->acked;
                w->acked = w->tried;
                w->tried = 0;
                t->acked++;
                done++;
            } else {
                CHECK_INT(write_id(&s, w->next), MM_EIO);
            }
        }
        mmi_slots_close(&s);
        mmi_disk_kill(w->r.disk); /* whatever it was, another process begins anew */
        if (CALL(&w->r, root, "/", &w->r.dir) != MM_OK) {
            return;
        }
    }
}

static void
world_of(uint64_t seed, uint64_t crash_at, const mmi_disk_opts *opts, tally *t)
{
    world w = { .r = rig_plain(seed), .opts = opts, .next = 1, .rots = opts->rot_ppm > 0 };
    uint32_t chance = (uint32_t)(seed * 2 + 1);
    for (int life = 0; life < LIVES && !w.over; life++) {
        mmi_disk_crash_in(w.r.disk,
                          life == 0 ? crash_at : 1 + check_random(&chance) % CRASH_WITHIN);
        world_live(&w, t);
        mmi_disk_crash_in(w.r.disk, 0);
        rig_crash(&w.r);
        t->crashes++;
    }
    static const mmi_disk_opts sound = { .capacity = 0 };
    mmi_disk_faults(w.r.disk, &sound);
    w.opts = &sound;
    int acked = t->acked;
    world_live(&w, t);
    CHECK(w.over || t->acked == acked + WRITES_A_LIFE);
    rig_close(&w.r);
}

static tally
worlds_of(const mmi_disk_opts *opts)
{
    tally t = { 0 };
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        world_of(seed, 1 + seed % STEPS, opts, &t);
    }
    for (uint64_t step = 1; step <= STEPS; step++) {
        for (uint64_t seed = 0; seed < 20; seed++) {
            world_of(SEEDS + seed * STEPS + step, step, opts, &t);
        }
    }
    printf("%d opened: %d of a write that did not say OK, %d with a harmed slot, %d older for rot, "
           "%d harmed; %d written, %d crashes\n",
           t.opened, t.tried, t.older, t.rotten, t.harmed, t.acked, t.crashes);
    return t;
}

static void
test_whenever_it_is_crashed_it_holds_what_was_written_last(void)
{
    tally t = worlds_of(&(mmi_disk_opts){ .writeback_ppm = 100000 });
    CHECK(t.tried > 100 && t.older > 100 && t.acked > 10000);
}

static void
test_on_a_disk_that_fails_as_well(void)
{
    tally t = worlds_of(&(mmi_disk_opts){
        .writeback_ppm = 100000,
        .read_eio_ppm = 20000,
        .write_eio_ppm = 50000,
        .short_write_ppm = 50000,
        .sync_eio_ppm = 150000,
    });
    CHECK(t.tried > 100 && t.older > 100 && t.acked > 10000);
}

static void
test_on_a_disk_that_rots_it_is_the_older_or_none(void)
{
    tally t = worlds_of(&(mmi_disk_opts){ .writeback_ppm = 100000, .rot_ppm = 20000 });
    CHECK(t.rotten > 100 && t.harmed > 100 && t.acked > 5000);
}

int
main(void)
{
    RUN(test_whenever_it_is_crashed_it_holds_what_was_written_last);
    RUN(test_on_a_disk_that_fails_as_well);
    RUN(test_on_a_disk_that_rots_it_is_the_older_or_none);
    return 0;
}
