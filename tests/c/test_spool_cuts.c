/*
 * test_spool_cuts.c: the power goes, enumerated.  A life of forty operations, which puts, writes,
 * rolls, trims and saves a cursor, is cut at each operation of the disk.  Of the pieces that were
 * not synced by then, sectors, sizes and names, each subset is lost where they are few: so writes
 * are torn at sectors, and kept in any order.  Where they are many, it is none, all, one, two, all
 * but one or two, the first and the last of them.
 *
 * Not here: what a seed draws (test_spool_crash.c).  MESHMSG_SPOOL_STRIDE=1 tries every outcome,
 * and MESHMSG_SPOOL_SEEDS=15 those of lives with other messages, some 100,000; the suite tries a
 * third of one life's.  Law: whatever is lost, what was durable is there, what is trimmed is not, a
 * cursor is not ahead, and the spool goes on from there, for good.
 */
#include "spool/cursor.h"
#include "spool_steps.h"

enum {
    OPERATIONS = 40,
    ALL_SUBSETS = 12,  /* pieces: of more only some subsets are tried */
    STRIDE = 3,        /* outcomes */
    SEEDS_APART = 1000 /* more than a life has cuts: each has other messages */
};

/* p: a message is put; w: what waits is written, and synced as the level says; s: it is synced;
 * r: another file is begun; t: the first file goes, and its room is the next one's; c: a cursor is
 * done with what is durable, and saved. */
static const char operations[] = "pwpwcpprwpwtppwsrpwpwpcwtpwprpwcsppwtrpw";

typedef struct life {
    spool_rig r;
    mmi_cursor cursor;
    uint64_t saved, tried;    /* floors: that a save said it kept; that one wrote */
    uint32_t again;           /* messages that went into the room of a file that went */
    uint64_t first, lowest;   /* number of the first message: as was trimmed; as may be by then */
} life;

static bool
life_cursor_open(life *l, bool create)
{
    const mmi_cursor_spool spool = { l->r.spool.uuid, mmi_spool_first(&l->r.spool),
                                     l->r.spool.last_seq };
    return mmi_cursor_open(&l->cursor, &l->r.disk.files, l->r.disk.dir, "one", create, &spool) ==
           MM_OK;
}

/* A file whose room is worth it, another one behind it, and a cursor; all of it durable. */
static void
life_begin(life *l, uint64_t seed, mmi_spool_level level)
{
    *l = (life){ .first = 1, .lowest = 1 };
    spool_rig_started(&l->r, seed, level);
    while (l->r.spool.file.end < MMI_SPOOL_FILE_MIN / 2) {
        spool_rig_batches(&l->r, 1, 8);
    }
    l->r.spool.wants_roll = true;
    CHECK_INT(spool_rig_commit(&l->r, true), MM_OK);
    CHECK_INT(l->r.spool.file_count, 2);
    CHECK(life_cursor_open(l, true));
    CHECK_INT(mmi_cursor_save(&l->cursor, 0), MM_OK);
}

static int
life_trim(life *l)
{
    mmi_spool *s = &l->r.spool;
    l->lowest = s->file_count > 1 && s->bases[1] <= s->durable_seq + 1 ? s->bases[1] : l->lowest;
    l->first = spool_trim(s, s->durable_seq, 1) > 0 ? mmi_spool_first(s) : l->first;
    return s->failed ? MM_EIO : MM_OK;
}

static int
life_save(life *l)
{
    uint64_t upto = l->r.spool.durable_seq;
    CHECK_INT(mmi_cursor_done(&l->cursor, 1, upto), MM_OK);
    l->tried = upto;
    int rc = mmi_cursor_save(&l->cursor, upto);
    l->saved = rc == MM_OK ? upto : l->saved;
    return rc;
}

static int
life_step(life *l, char what)
{
    switch (what) {
    case 'p': return spool_rig_put(&l->r);
    case 'w': return spool_rig_commit(&l->r, false);
    case 's': return spool_rig_commit(&l->r, true);
    case 'r': l->r.spool.wants_roll = true; return spool_rig_commit(&l->r, false);
    case 't': return life_trim(l);
    default: CHECK_INT(what, 'c'); return life_save(l);
    }
}

/* Up to that operation of the disk.  true: it came to its end before. */
static bool
life_until(life *l, uint64_t cut)
{
    mmi_disk_crash_in(l->r.disk.disk, cut);
    int rc = MM_OK;
    for (const char *what = operations; *what != '\0' && rc == MM_OK; what++) {
        rc = life_step(l, *what);
        l->again += *what == 'p' && l->r.spool.file.head.version == MMI_SPOOL_AGAIN;
    }
    return rc == MM_OK;
}

/* What a crash keeps of the pieces that were not synced. */
typedef struct outcome {
    enum { SUBSET, ONE, TWO, BUT_ONE, BUT_TWO, FRONT, BACK, HOWS } how;
    uint64_t mask, a, b;
    uint64_t pieces;          /* that it was asked about */
} outcome;

static bool
outcome_keeps(void *arg, uint64_t piece)
{
    outcome *o = arg;
    bool named = piece == o->a || piece == o->b;
    o->pieces = piece + 1;
    switch (o->how) {
    case SUBSET: return piece < 64 && (o->mask >> piece & 1) != 0;
    case ONE:
    case TWO: return named;
    case BUT_ONE:
    case BUT_TWO: return !named;
    case FRONT: return piece < o->a;
    default: return piece >= o->a;
    }
}

/* The next one, of so many pieces; false: that was the last. */
static bool
outcome_next(outcome *o, uint64_t pieces)
{
    if (o->how == SUBSET) {
        if (pieces <= ALL_SUBSETS) {
            return ++o->mask < UINT64_C(1) << pieces;
        }
        *o = (outcome){ .how = ONE };   /* of the subsets it was none */
        return true;
    }
    bool two = o->how == TWO || o->how == BUT_TWO;
    if (two && ++o->b < pieces) {
        return true;
    }
    o->a++;
    o->b = two ? o->a + 1 : o->a;
    if (o->a < pieces && o->b < pieces) {
        return true;
    }
    o->how++;
    o->a = 0;
    o->b = o->how == TWO || o->how == BUT_TWO ? 1 : 0;
    return o->how < HOWS;
}

/* All that is there is right, and what was durable is there. */
static void
check_there(life *l)
{
    uint64_t next, first = mmi_spool_first(&l->r.spool);
    CHECK(l->r.spool.last_seq >= l->r.durable);
    CHECK_INT(l->r.report.lost_first, 0);
    CHECK(first >= l->first && first <= l->lowest);
    CHECK_INT(spool_rig_read(&l->r, first, &next), 0);
    CHECK_INT(next, l->r.spool.last_seq + 1);
    l->r.durable = l->r.spool.last_seq;
    CHECK(life_cursor_open(l, false));
    CHECK_INT(l->cursor.ahead, 0);
    CHECK(l->cursor.floor >= l->saved);
    CHECK(l->cursor.floor <= (l->tried > first - 1 ? l->tried : first - 1));
    mmi_cursor_close(&l->cursor);
}

/* The machine stops, loses what it is to lose, and is opened: what is there stays, whatever is lost
 * then, and more is put. */
static void
check_outcome(life *l, outcome *o)
{
    outcome none = { .how = SUBSET };
    mmi_cursor_close(&l->cursor);
    mmi_disk_choose(l->r.disk.disk, outcome_keeps, o);
    spool_rig_stop(&l->r, true);
    mmi_disk_choose(l->r.disk.disk, outcome_keeps, &none);
    mmi_disk_crash_in(l->r.disk.disk, 0);
    CHECK_INT(spool_rig_open(&l->r), MM_OK);
    check_there(l);
    CHECK_INT(spool_rig_put(&l->r), MM_OK);
    CHECK_INT(spool_rig_commit(&l->r, true), MM_OK);
    spool_rig_stop(&l->r, true);
    CHECK_INT(spool_rig_open(&l->r), MM_OK);
    check_there(l);
    mmi_disk_choose(l->r.disk.disk, NULL, NULL);
    spool_rig_free(&l->r);
}

typedef struct tally {
    uint64_t cuts, outcomes, tried, pieces_most;
} tally;

/* Each outcome of one cut, or each so many-th.  true: the life was over before. */
static bool
check_cut(mmi_spool_level level, uint64_t seed, uint64_t cut, uint64_t stride, tally *t)
{
    life l;
    outcome o = { .how = SUBSET };
    life_begin(&l, seed + cut, level);
    bool over = life_until(&l, cut);
    check_outcome(&l, &o);
    const uint64_t pieces = o.pieces;
    t->tried++;
    t->pieces_most = pieces > t->pieces_most ? pieces : t->pieces_most;
    do {
        if (t->outcomes++ % stride == 0) {
            life_begin(&l, seed + cut, level);
            CHECK_INT(life_until(&l, cut), over);
            check_outcome(&l, &o);
            CHECK_INT(o.pieces, pieces);
            t->tried++;
        }
    } while (outcome_next(&o, pieces));
    t->cuts++;
    return over;
}

static void
check_cuts(mmi_spool_level level)
{
    const char *told = getenv("MESHMSG_SPOOL_STRIDE"), *lives = getenv("MESHMSG_SPOOL_SEEDS");
    const uint64_t stride = told != NULL ? strtoull(told, NULL, 10) : STRIDE;
    const uint64_t seeds = lives != NULL ? strtoull(lives, NULL, 10) : 1;
    tally t = { 0 };
    CHECK_INT(strlen(operations), OPERATIONS);
    for (uint64_t seed = 0; seed < seeds; seed++) {
        uint64_t cut = 1;
        while (!check_cut(level, seed * SEEDS_APART, cut, stride, &t)) {
            cut++;
        }
        CHECK(cut < SEEDS_APART);
    }
    printf("  %" PRIu64 " cuts, %" PRIu64 " outcomes of %" PRIu64 " tried, up to %" PRIu64
           " pieces\n",
           t.cuts, t.tried, t.outcomes, t.pieces_most);
    CHECK(t.cuts > OPERATIONS && t.pieces_most > ALL_SUBSETS && t.tried > t.cuts);
}

static void
test_whatever_a_power_cut_loses_what_was_durable_is_there(void)
{
    check_cuts(MMI_SPOOL_DISK);
}

/* Much more is not synced there, and so there is more to lose. */
static void
test_so_it_is_where_few_writes_are_synced(void)
{
    check_cuts(MMI_SPOOL_OS);
}

/* The process is killed behind each operation in turn.  The machine stops once the next one has
 * opened the spool, and loses all it may: what was shown by then, from the cache perhaps, stays. */
static void
test_what_is_shown_after_a_kill_survives_a_power_cut(void)
{
    static const mmi_spool_level levels[] = { MMI_SPOOL_DISK, MMI_SPOOL_OS };
    uint64_t copied = 0;
    for (size_t i = 0; i < MMI_COUNT_OF(levels); i++) {
        for (size_t upto = 0; upto <= OPERATIONS; upto++) {
            life l;
            outcome none = { .how = SUBSET };
            life_begin(&l, upto + 1, levels[i]);
            for (size_t at = 0; at < upto; at++) {
                CHECK_INT(life_step(&l, operations[at]), MM_OK);
            }
            l.r.durable = l.r.spool.written_seq; /* the system has it */
            mmi_cursor_close(&l.cursor);
            spool_rig_stop(&l.r, false);
            CHECK_INT(spool_rig_open(&l.r), MM_OK);
            check_there(&l);
            copied += l.r.report.copied;
            mmi_disk_choose(l.r.disk.disk, outcome_keeps, &none);
            spool_rig_stop(&l.r, true);
            CHECK_INT(spool_rig_open(&l.r), MM_OK);
            check_there(&l);
            mmi_disk_choose(l.r.disk.disk, NULL, NULL);
            spool_rig_free(&l.r);
        }
    }
    CHECK(copied > 0);
}

/* The life has all that it is said to have, and comes to its end. */
static void
test_the_life_rolls_trims_and_uses_room_again(void)
{
    static const mmi_spool_level levels[] = { MMI_SPOOL_DISK, MMI_SPOOL_OS };
    for (size_t i = 0; i < MMI_COUNT_OF(levels); i++) {
        life l;
        life_begin(&l, 1, levels[i]);
        uint64_t base = l.r.spool.file.head.base_seq;
        CHECK(life_until(&l, 0));
        CHECK(l.r.spool.file.head.base_seq > base);
        CHECK(l.again > 3);
        CHECK(l.first > 1 && l.saved > l.first);
        mmi_cursor_close(&l.cursor);
        spool_rig_free(&l.r);
    }
}

/* The subsets of a few pieces are all of them, each once; of many each kind. */
static void
test_the_outcomes_are_all_there_are(void)
{
    outcome o = { .how = SUBSET };
    uint64_t count = 1, kinds[HOWS] = { 1 };
    while (outcome_next(&o, ALL_SUBSETS)) {
        count++;
    }
    CHECK_INT(count, 1 << ALL_SUBSETS);
    const uint64_t many = ALL_SUBSETS + 1, pairs = many * (many - 1) / 2;
    o = (outcome){ .how = SUBSET };
    while (outcome_next(&o, many)) {
        CHECK(o.a < many && o.b < many);
        kinds[o.how]++;
    }
    CHECK_INT(kinds[SUBSET], 1);
    CHECK_INT(kinds[ONE], many);
    CHECK_INT(kinds[TWO], pairs);
    CHECK_INT(kinds[BUT_ONE], many);
    CHECK_INT(kinds[BUT_TWO], pairs);
    CHECK_INT(kinds[FRONT], many);
    CHECK_INT(kinds[BACK], many);
    o = (outcome){ .how = BACK };   /* from the first on: all of them */
    CHECK(outcome_keeps(&o, 0) && outcome_keeps(&o, many));
}

int
main(void)
{
    RUN(test_the_outcomes_are_all_there_are);
    RUN(test_the_life_rolls_trims_and_uses_room_again);
    RUN(test_whatever_a_power_cut_loses_what_was_durable_is_there);
    RUN(test_so_it_is_where_few_writes_are_synced);
    RUN(test_what_is_shown_after_a_kill_survives_a_power_cut);
    return 0;
}
