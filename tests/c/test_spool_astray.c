/*
 * test_spool_astray.c: a disk that says of a write that it has it, also when it is synced, and has
 * not: it is nowhere, elsewhere in the file, or in another file.  What is read is never another
 * message; what is gone is told, but for the last batch of a spool that was not closed.
 *
 * Not here: bits that turn, files that are cut, gone or swapped (test_spool_harm.c).
 */
#include "spool_steps.h"

enum {
    BATCHES = 48,
    A_BATCH = 3,       /* messages */
    ROLLS_EACH = 16,   /* batches: another file is begun */
    ASTRAY_SEEDS = 6   /* of each write: where it goes is drawn; MESHMSG_SPOOL_SEEDS: others */
};

static const char *const way_names[] = { "lost", "moved", "in another file" };

typedef struct tally {
    uint64_t writes, harmless, refused, told, silent;
} tally;

static void
roll(spool_rig *r)
{
    r->spool.wants_roll = true;
    CHECK_INT(spool_rig_commit(r, false), MM_OK);
}

/* A spool whose next file is to have the room of one that went. */
static void
begin(spool_rig *r, uint64_t seed)
{
    spool_rig_started(r, seed, MMI_SPOOL_DISK);
    while (r->spool.file.end < MMI_SPOOL_FILE_MIN / 2) {
        spool_rig_batches(r, 1, A_BATCH);
    }
    roll(r);
    CHECK_INT(spool_trim(&r->spool, r->spool.durable_seq, 1), 1);
    CHECK(r->spool.spare_stale > 0);
}

/* Several files, the second of which has that room. */
static void
live(spool_rig *r)
{
    uint32_t again = 0;
    for (int i = 0; i < BATCHES; i++) {
        if (i % ROLLS_EACH == ROLLS_EACH - 1) {
            roll(r);
        }
        spool_rig_batches(r, 1, A_BATCH);
        again += r->spool.file.head.version == MMI_SPOOL_AGAIN;
    }
    CHECK_INT(again, ROLLS_EACH);
}

/* Reads all from that number on, over what is harmed: what is read is right.  The number behind the
 * last; *lost: those that it was told of. */
static uint64_t
read_over(spool_rig *r, uint64_t next, uint64_t *lost)
{
    int rc;
    while ((rc = spool_rig_read(r, next, &next)) != 0) {
        mmi_spool_where where;
        mmi_spool_reader reader;
        CHECK(rc == MMI_SPOOL_HARMED || rc == MM_ENOENT);
        mmi_spool_locate(&r->spool, next, &where);
        uint64_t behind = where.first;
        if (rc == MMI_SPOOL_HARMED) {
            mmi_spool_reader_open(&reader, &r->disk.files, r->disk.dir, next);
            CHECK_INT(mmi_spool_reader_load(&reader, &where), MMI_SPOOL_HARMED);
            behind = reader.lost_last + 1;
            mmi_spool_reader_close(&reader);
        }
        CHECK(behind > next);
        *lost += behind - next;
        next = behind;
    }
    return next;
}

/* After the life: what the next one finds. */
static void
check_found(spool_rig *r, uint64_t first, uint64_t last, bool closed, tally *t)
{
    uint64_t lost = 0;
    int rc = spool_rig_open(r);
    if (rc != MM_OK) {
        CHECK(rc == MMI_SPOOL_HARMED || rc == MM_EPROTO || rc == MM_ENOTSUP);
        t->refused++;
        spool_rig_stop(r, false);
        r->opts.gaps = true;
        CHECK_INT(spool_rig_open(r), MM_OK);
        CHECK(r->report.lost_first > 0);
    }
    uint64_t from = mmi_spool_first(&r->spool);
    CHECK(from <= first || r->report.lost_first > 0);
    uint64_t next = read_over(r, from > first ? from : first, &lost);
    CHECK_INT(next, r->spool.last_seq + 1);
    uint64_t known = next - 1 > r->report.lost_last ? next - 1 : r->report.lost_last;
    bool silent = known < last;
    t->told += lost > 0;
    t->silent += silent;
    t->harmless += rc == MM_OK && lost == 0 && !silent;
    CHECK(!silent || (!closed && last - known <= A_BATCH));
    uint64_t last_now = r->spool.last_seq;
    spool_rig_batches(r, 2, 1); /* and it goes on */
    next = read_over(r, last_now + 1, &lost);
    CHECK_INT(next, last_now + 3);
}

/* The n-th write goes astray.  false: there is no n-th one. */
static bool
astray(mmi_disk_way way, uint64_t nth, uint64_t seed, bool closes, tally *t)
{
    spool_rig r;
    uint64_t lost = 0;
    begin(&r, seed);
    mmi_disk_stray(r.disk.disk, way, nth);
    live(&r);
    uint64_t first = mmi_spool_first(&r.spool), last = r.spool.last_seq;
    if (closes) {
        spool_rig_close(&r);
        spool_rig_stop(&r, true);
    } else {
        mmi_disk_forget(r.disk.disk);
        CHECK_INT(read_over(&r, first, &lost), last + 1); /* as it lives */
        spool_rig_stop(&r, true);
    }
    bool came = rig_space(&r.disk).struck > 0;
    t->writes += came;
    mmi_disk_stray(r.disk.disk, way, 0);
    check_found(&r, first, last, closes, t);
    spool_rig_free(&r);
    return came;
}

static tally
check_way(mmi_disk_way way, bool closes)
{
    const char *told = getenv("MESHMSG_SPOOL_SEEDS");
    uint64_t seeds = told != NULL ? strtoull(told, NULL, 10) : ASTRAY_SEEDS, n;
    tally t = { 0 };
    for (uint64_t seed = 1; seed <= (way == MMI_DISK_LOST ? 1 : seeds); seed++) {
        for (n = 1; astray(way, n, seed, closes, &t); n++) {
        }
        CHECK(n > BATCHES);
    }
    printf("  %s: %" PRIu64 " writes; %" PRIu64 " harmless, %" PRIu64 " refused, %" PRIu64
           " told when read, %" PRIu64 " not told\n",
           way_names[way], t.writes, t.harmless, t.refused, t.told, t.silent);
    CHECK(t.harmless > 0 && t.refused > 0 && t.told > 0);
    return t;
}

static void
test_a_write_that_is_lost_is_told_of(void)
{
    CHECK_INT(check_way(MMI_DISK_LOST, true).silent, 0);
    tally cut = check_way(MMI_DISK_LOST, false);
    CHECK(cut.silent > 0 && cut.silent <= 2); /* nothing can be told of the last one */
}

static void
test_so_is_one_that_is_elsewhere_in_its_file(void)
{
    CHECK_INT(check_way(MMI_DISK_MOVED, true).silent, 0);
    (void)check_way(MMI_DISK_MOVED, false);
}

static void
test_so_is_one_that_is_in_another_file(void)
{
    CHECK_INT(check_way(MMI_DISK_OTHER, true).silent, 0);
    (void)check_way(MMI_DISK_OTHER, false);
}

int
main(void)
{
    RUN(test_a_write_that_is_lost_is_told_of);
    RUN(test_so_is_one_that_is_elsewhere_in_its_file);
    RUN(test_so_is_one_that_is_in_another_file);
    return 0;
}
