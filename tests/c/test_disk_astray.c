/*
 * test_disk_astray.c: what a test may ask of the simulated disk: a crash that keeps just these
 * pieces of what was not synced, and a write that says that it went and is nowhere, or elsewhere.
 *
 * Not here: crashes and faults by a seed (test_disk_crash.c, test_disk_faults.c); what a spool
 * makes of it (test_spool_cuts.c, test_spool_astray.c).
 */
#include "disk_rig.h"

enum { SECTOR = MMI_FILE_SECTOR, SECTORS = 4 };

/* Which pieces are kept, a bit for each; how many were asked about. */
typedef struct asked_pieces {
    uint64_t mask, count;
} asked_pieces;

static bool
keeps(void *arg, uint64_t piece)
{
    asked_pieces *a = arg;
    CHECK_INT(piece, a->count);
    a->count++;
    return (a->mask >> piece & 1) != 0;
}

/* So many sectors from at on have this octet. */
static void
fill(disk_rig *r, int file, uint64_t at, size_t size, char with)
{
    static char data[SECTORS * SECTOR];
    CHECK(size <= sizeof data);
    memset(data, with, size);
    CHECK_INT(file_put(&r->files, file, at, data, size), (int64_t)size);
}

static int
reopened(disk_rig *r, const char *name)
{
    int file;
    CHECK_INT(CALL(r, open, r->dir, name, MMI_FILE_WRITE, &file), MM_OK);
    return file;
}

/* What the sector has: each octet of it the same. */
static char
sector_of(disk_rig *r, int file, uint64_t sector)
{
    char buf[SECTOR];
    CHECK_INT(CALL(r, read, file, sector * SECTOR, buf, SECTOR), SECTOR);
    for (int i = 1; i < SECTOR; i++) {
        CHECK_INT(buf[i], buf[0]);
    }
    return buf[0];
}

/* A file whose name and first sectors are on the platter. */
static int
filled(disk_rig *r, const char *name, char with)
{
    int file = file_made(&r->files, r->dir, name);
    fill(r, file, 0, (size_t)SECTORS * SECTOR, with);
    CHECK_INT(CALL(r, sync, file), MM_OK);
    CHECK_INT(CALL(r, sync_folder, r->dir), MM_OK);
    return file;
}

static void
test_a_crash_keeps_just_the_sectors_that_were_chosen(void)
{
    for (uint64_t mask = 0; mask < 1u << SECTORS; mask++) {
        disk_rig r = rig_plain(mask);
        asked_pieces asked = { .mask = mask };
        int file = filled(&r, "f", 'a');
        fill(&r, file, 0, (size_t)SECTORS * SECTOR, 'b');
        mmi_disk_choose(r.disk, keeps, &asked);
        rig_crash(&r);
        CHECK_INT(asked.count, SECTORS);
        file = reopened(&r, "f");
        for (uint64_t s = 0; s < SECTORS; s++) {
            CHECK_INT(sector_of(&r, file, s), (mask >> s & 1) != 0 ? 'b' : 'a');
        }
        rig_close(&r);
    }
}

/* Sectors that would be the same are no pieces; the size is one, and each change of names. */
static void
test_what_the_pieces_are(void)
{
    for (uint64_t mask = 0; mask < 8; mask++) {
        disk_rig r = rig_plain(mask);
        asked_pieces asked = { .mask = mask };
        uint64_t size;
        int file = filled(&r, "f", 'a');
        fill(&r, file, 0, (size_t)SECTORS * SECTOR, 'a');
        fill(&r, file, (uint64_t)SECTORS * SECTOR, SECTOR, 'b');
        CHECK_INT(CALL(&r, rename, r.dir, "f", r.dir, "g"), MM_OK);
        mmi_disk_choose(r.disk, keeps, &asked);
        rig_crash(&r);
        CHECK_INT(asked.count, 3);
        bool renamed = (mask & 1) != 0, sector = (mask & 2) != 0, longer = (mask & 4) != 0;
        file = reopened(&r, renamed ? "g" : "f");
        CHECK_INT(CALL(&r, size, file, &size), MM_OK);
        CHECK_INT(size, (longer ? SECTORS + 1 : SECTORS) * SECTOR);
        if (longer) {
            CHECK_INT(sector_of(&r, file, SECTORS), sector ? 'b' : '\0');
        }
        mmi_disk_choose(r.disk, NULL, NULL); /* the seed draws again, and nobody is asked */
        fill(&r, file, 0, SECTOR, 'c');
        rig_crash(&r);
        CHECK_INT(asked.count, 3);
        rig_close(&r);
    }
}

/* A name that was made and changed again: without the first change there is no second. */
static void
test_a_change_needs_those_before_it(void)
{
    disk_rig r = rig_plain(1);
    asked_pieces asked = { .mask = 2 };
    int file;
    (void)rig_synced(&r, "f", "text");
    CHECK_INT(CALL(&r, rename, r.dir, "f", r.dir, "g"), MM_OK);
    mmi_disk_choose(r.disk, keeps, &asked);
    rig_crash(&r);
    CHECK_INT(asked.count, 2);
    CHECK_INT(CALL(&r, open, r.dir, "f", 0, &file), MM_ENOENT);
    CHECK_INT(CALL(&r, open, r.dir, "g", 0, &file), MM_ENOENT);
    rig_close(&r);
}

/* The second write goes astray, though a sync says OK; the cache has it until it forgets. */
static void
stray(disk_rig *r, int file, mmi_disk_way way, bool crashes)
{
    mmi_disk_stray(r->disk, way, 2);
    fill(r, file, 0, SECTOR, 'b');
    CHECK_INT(CALL(r, sync, file), MM_OK); /* or it would be written again, over the other */
    CHECK_INT(rig_space(r).struck, 0);
    fill(r, file, SECTOR, SECTOR, 'c');
    CHECK_INT(rig_space(r).struck, 1);
    CHECK_INT(CALL(r, sync, file), MM_OK);
    CHECK_INT(sector_of(r, file, 1), 'c');
    if (crashes) {
        rig_crash(r);
    } else {
        mmi_disk_forget(r->disk);
    }
}

static void
test_a_write_that_is_lost_is_found_when_the_cache_forgets(void)
{
    for (int crashes = 0; crashes < 2; crashes++) {
        disk_rig r = rig_plain(1);
        int file = filled(&r, "f", 'a');
        stray(&r, file, MMI_DISK_LOST, crashes == 1);
        file = crashes == 1 ? reopened(&r, "f") : file;
        CHECK_INT(sector_of(&r, file, 0), 'b');
        for (uint64_t s = 1; s < SECTORS; s++) {
            CHECK_INT(sector_of(&r, file, s), 'a');
        }
        fill(&r, file, SECTOR, SECTOR, 'd'); /* only the one went astray */
        CHECK_INT(CALL(&r, sync, file), MM_OK);
        mmi_disk_forget(r.disk);
        CHECK_INT(sector_of(&r, file, 1), 'd');
        rig_close(&r);
    }
}

static void
test_a_write_that_is_moved_is_in_another_place_of_its_file(void)
{
    int seen[SECTORS] = { 0 };
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        int file = filled(&r, "f", 'a'), found = 0;
        stray(&r, file, MMI_DISK_MOVED, seed % 2 == 0);
        file = seed % 2 == 0 ? reopened(&r, "f") : file;
        for (uint64_t s = 0; s < SECTORS; s++) {
            char is = sector_of(&r, file, s);
            CHECK(is == 'c' || is == (s == 0 ? 'b' : 'a'));
            found += is == 'c';
            seen[s] += is == 'c';
        }
        CHECK_INT(found, 1);
        rig_close(&r);
    }
    CHECK(seen[0] > 0 && seen[1] == 0 && seen[2] > 0 && seen[3] > 0);
}

/* Into another file that has a name; without one it is lost. */
static void
test_a_write_may_go_into_another_file(void)
{
    for (uint64_t seed = 0; seed < SEEDS / 10; seed++) {
        disk_rig r = rig_plain(seed);
        int file = filled(&r, "f", 'a'), found = 0;
        bool alone = seed % 2 == 0;
        if (!alone) {
            (void)filled(&r, "other", 'x');
        }
        stray(&r, file, MMI_DISK_OTHER, true);
        file = reopened(&r, "f");
        CHECK_INT(sector_of(&r, file, 0), 'b');
        CHECK_INT(sector_of(&r, file, 1), 'a');
        file = alone ? -1 : reopened(&r, "other");
        for (uint64_t s = 0; !alone && s < SECTORS; s++) {
            found += sector_of(&r, file, s) == 'c';
        }
        CHECK_INT(found, alone ? 0 : 1);
        rig_close(&r);
    }
}

/* What waits for a sync is not forgotten. */
static void
test_what_is_forgotten_needed_no_sync(void)
{
    disk_rig r = rig_plain(1);
    int file = filled(&r, "f", 'a');
    fill(&r, file, 0, SECTOR, 'b');
    mmi_disk_forget(r.disk);
    CHECK_INT(sector_of(&r, file, 0), 'b');
    CHECK_INT(CALL(&r, sync, file), MM_OK);
    rig_crash(&r);
    file = reopened(&r, "f");
    CHECK_INT(sector_of(&r, file, 0), 'b');
    rig_close(&r);
}

/* Each plan counts once, and when it came. */
static void
test_a_plan_tells_whether_it_came(void)
{
    disk_rig r = rig_plain(1);
    int file = filled(&r, "f", 'a');
    mmi_disk_fail(r.disk, MMI_DISK_SYNC, 2, EIO);
    CHECK_INT(CALL(&r, sync, file), MM_OK);
    CHECK_INT(rig_space(&r).struck, 0);
    CHECK_INT(CALL(&r, sync, file), MM_EIO);
    CHECK_INT(CALL(&r, sync, file), MM_OK);
    CHECK_INT(rig_space(&r).struck, 1);
    rig_close(&r);
}

int
main(void)
{
    RUN(test_a_crash_keeps_just_the_sectors_that_were_chosen);
    RUN(test_what_the_pieces_are);
    RUN(test_a_change_needs_those_before_it);
    RUN(test_a_write_that_is_lost_is_found_when_the_cache_forgets);
    RUN(test_a_write_that_is_moved_is_in_another_place_of_its_file);
    RUN(test_a_write_may_go_into_another_file);
    RUN(test_what_is_forgotten_needed_no_sync);
    RUN(test_a_plan_tells_whether_it_came);
    return 0;
}
