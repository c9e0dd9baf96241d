/*
 * test_cursor_crash.c: a cursor whose machine stops at any step, on a disk that fails or rots:
 * what it says is done was done, and is what a save said it kept, or what one that did not say so
 * tried to.
 *
 * Not here: slots alone (test_slots_crash.c).  Law: whatever is lost is delivered again, and
 * nothing that was not done is ever left out.
 */
#include "cursor_rig.h"

enum {
    LIVES = 4,         /* each but the last ends in a crash */
    SAVES_A_LIFE = 6,
    MARKS_A_SAVE = 8,
    CRASH_WITHIN = 40, /* operations of the disk */
    STEPS = 40,        /* of the first life, at each of which it is crashed */
    TRIES = 20         /* to open on a disk with faults */
};

/* What was done at times of saves: said to be kept; tried since, of which any may be there. */
typedef struct world {
    disk_rig r;
    uint32_t seed;
    uint64_t limit; /* durable in the spool */
    done_model done, kept, tried;
    bool trying, rots, named;
    const mmi_disk_opts *opts;
} world;

typedef struct tally {
    int kept, tried, older, harmed, failed;
} tally;

static bool
is_model(const mmi_cursor *c, const done_model *m)
{
    for (uint64_t at = 1; at <= NUMBERS; at++) {
        if (mmi_cursor_is_done(c, at) != m->done[at]) {
            return false;
        }
    }
    return true;
}

/* All that is done in it was done once. */
static void
check_never_ahead(const world *w, const mmi_cursor *c)
{
    mmi_cursor_invariants(c);
    for (uint64_t at = 1; at <= NUMBERS; at++) {
        CHECK(!mmi_cursor_is_done(c, at) || w->done.done[at]);
    }
}

static int
world_open(world *w, mmi_cursor *c, tally *t)
{
    int rc = cursor_open_of(&w->r, c, "one", true, 1, NUMBERS);
    if (rc == MM_EPROTO) {
        CHECK(w->rots);
        t->harmed++;
        return rc;
    }
    if (rc != MM_OK) {
        t->failed++;
        return rc;
    }
    check_never_ahead(w, c);
    bool kept = is_model(c, &w->kept), tried = w->trying && is_model(c, &w->tried);
    CHECK(kept || tried || (w->rots && c->slots.older));
    t->kept += kept;
    t->tried += tried && !kept;
    t->older += !kept && !tried;
    for (uint64_t at = 1; at <= NUMBERS; at++) {
        w->kept.done[at] = mmi_cursor_is_done(c, at);
    }
    w->trying = false;
    if (!w->named) { /* from here on there is something to lose */
        w->named = true;
        mmi_disk_faults(w->r.disk, w->opts);
    }
    return rc;
}

/* What would be there of it: nothing above the limit. */
static void
world_cut(const world *w, const mmi_cursor *c, done_model *out)
{
    for (uint64_t at = 1; at <= NUMBERS; at++) {
        out->done[at] = mmi_cursor_is_done(c, at) && at <= w->limit;
    }
}

static int
world_save(world *w, mmi_cursor *c)
{
    for (int i = 0; i < MARKS_A_SAVE; i++) {
        uint64_t first, last;
        model_range(&w->seed, c->floor, &first, &last);
        CHECK_INT(mmi_cursor_done(c, first, last), MM_OK);
        model_mark(&w->done, first, last);
    }
    w->limit = check_random(&w->seed) % 3 == 0 ? c->floor : (uint64_t)NUMBERS;
    world_cut(w, c, &w->tried);
    w->trying = true;
    int rc = mmi_cursor_save(c, w->limit);
    if (rc == MM_OK) {
        w->kept = w->tried;
        w->trying = false;
    }
    return rc;
}

static void
world_live(world *w, tally *t)
{
    for (int tries = 0, saves = 0; tries < TRIES && saves < SAVES_A_LIFE; tries++) {
        mmi_cursor c;
        int rc = world_open(w, &c, t);
        for (; rc == MM_OK && saves < SAVES_A_LIFE; saves++) {
            rc = world_save(w, &c);
            if (rc != MM_OK) { /* it is not to be trusted: nothing more is saved in it */
                uint64_t floor = c.saved_floor;
                CHECK_INT(mmi_cursor_save(&c, NUMBERS), MM_EIO);
                CHECK_INT(c.saved_floor, floor);
                t->failed++;
            }
        }
        mmi_cursor_close(&c);
        if (rc == MM_EPROTO) {
            return;
        }
        mmi_disk_kill(w->r.disk); /* another process begins anew */
        if (CALL(&w->r, root, "/", &w->r.dir) != MM_OK) {
            return;
        }
    }
}

static void
world_of(uint64_t seed, uint64_t crash_at, const mmi_disk_opts *opts, tally *t)
{
    world w = { .r = rig_plain(seed), .seed = (uint32_t)(seed * 2 + 1), .opts = opts };
    w.rots = opts->rot_ppm > 0;
    w.kept.done[0] = w.done.done[0] = true;
    for (int life = 0; life < LIVES; life++) {
        mmi_disk_crash_in(w.r.disk,
                          life == 0 ? crash_at : 1 + check_random(&w.seed) % CRASH_WITHIN);
        world_live(&w, t);
        mmi_disk_crash_in(w.r.disk, 0);
        rig_crash(&w.r);
    }
    w.opts = &(mmi_disk_opts){ .capacity = 0 };
    mmi_disk_faults(w.r.disk, w.opts);
    world_live(&w, t);
    rig_close(&w.r);
}

static tally
worlds_of(const mmi_disk_opts *opts)
{
    tally t = { 0 };
    for (uint64_t seed = 0; seed < SEEDS / 2; seed++) {
        world_of(seed, 1 + seed % STEPS, opts, &t);
    }
    printf("%d as kept, %d as tried, %d older, %d harmed, %d failed\n", t.kept, t.tried, t.older,
           t.harmed, t.failed);
    return t;
}

static void
test_whenever_the_machine_stops_it_says_what_was_saved(void)
{
    tally t = worlds_of(&(mmi_disk_opts){ .writeback_ppm = 100000 });
    CHECK(t.kept > 500 && t.tried > 20);
}

static void
test_so_it_does_on_a_disk_that_fails(void)
{
    tally t = worlds_of(&(mmi_disk_opts){ .writeback_ppm = 100000,
                                          .read_eio_ppm = 20000,
                                          .write_eio_ppm = 50000,
                                          .short_write_ppm = 50000,
                                          .sync_eio_ppm = 100000 });
    CHECK(t.kept > 500 && t.tried > 20 && t.failed > 100);
}

static void
test_bits_that_turn_make_it_older_or_none_and_never_ahead(void)
{
    tally t = worlds_of(&(mmi_disk_opts){ .writeback_ppm = 100000, .rot_ppm = 200000 });
    CHECK(t.kept > 500 && t.older > 10 && t.harmed > 3);
}

static void
count_each(void *arg, const mmi_entry *entry)
{
    *(uint32_t *)arg += entry->kind == MMI_ENTRY_FILE;
}

/* The room of its file was taken when it was made; of one that had no room nothing is left. */
static void
test_a_full_disk_stops_no_cursor(void)
{
    disk_rig r = rig_plain(1);
    mmi_cursor c;
    cursor_made(&r, &c);
    mmi_disk_faults(r.disk, &(mmi_disk_opts){ .capacity = 1 });
    for (uint64_t i = 1; i < 400; i += 2) {
        CHECK_INT(mmi_cursor_done(&c, i * 2, i * 2), MM_OK);
        CHECK_INT(mmi_cursor_save(&c, NUMBERS), MM_OK);
    }
    mmi_cursor other;
    uint32_t count = 0;
    CHECK_INT(cursor_open_of(&r, &other, "two", true, 1, NUMBERS), MM_ENOSPC);
    mmi_cursor_close(&other);
    CHECK_INT(mmi_cursor_list(&r.files, r.dir, count_each, &count), 1);
    CHECK_INT(count, 1);
    cursor_again(&r, &c);
    CHECK_INT(c.above, 200);
    mmi_cursor_close(&c);
    rig_close(&r);
}

static void
test_without_memory_nothing_is_marked(void)
{
    disk_rig r = rig_plain(1);
    mmi_cursor c;
    cursor_made(&r, &c);
    mm_test_alloc_fail(1);
    CHECK_INT(mmi_cursor_done(&c, 5, 5), MM_ENOMEM);
    CHECK_INT(c.above, 0);
    CHECK(!mmi_cursor_is_done(&c, 5));
    CHECK_INT(mmi_cursor_done(&c, 5, 5), MM_OK);
    mm_test_alloc_fail(1);
    CHECK_INT(mmi_cursor_done(&c, 2000, 2000), MM_ENOMEM);
    CHECK_INT(c.top, 5);
    mm_test_alloc_fail(0);
    mmi_cursor_close(&c);
    mm_test_alloc_fail(1);
    CHECK_INT(cursor_open_of(&r, &c, "one", true, 1, NUMBERS), MM_ENOMEM);
    mm_test_alloc_fail(0);
    mmi_cursor_close(&c);
    rig_close(&r);
}

int
main(void)
{
    RUN(test_whenever_the_machine_stops_it_says_what_was_saved);
    RUN(test_so_it_does_on_a_disk_that_fails);
    RUN(test_bits_that_turn_make_it_older_or_none_and_never_ahead);
    RUN(test_a_full_disk_stops_no_cursor);
    RUN(test_without_memory_nothing_is_marked);
    return 0;
}
