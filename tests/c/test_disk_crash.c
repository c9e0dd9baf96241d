/*
 * test_disk_crash.c: what a crash of the simulated disk leaves of files: what was synced, and of
 * the rest anything, over many seeds.
 * Not here: names (test_disk_names.c), faults (test_disk_faults.c), a log on it (test_disk_log.c).
 * Law: what file.h allows is seen in some seed, and what it forbids in none.
 */
#include "disk_rig.h"

enum { SECTOR = MMI_FILE_SECTOR, PAGE = 4096 };

static void
fill(disk_rig *r, int file, uint64_t at, size_t size, char with)
{
    static char data[8 * PAGE];
    CHECK(size <= sizeof data);
    memset(data, with, size);
    CHECK_INT(file_put(&r->files, file, at, data, size), (int64_t)size);
}

static int
reopened(disk_rig *r)
{
    int file;
    CHECK_INT(CALL(r, open, r->dir, "f", MMI_FILE_WRITE, &file), MM_OK);
    return file;
}

/* What the sector has: each octet of it the same. */
static char
sector_of(disk_rig *r, int file, int sector)
{
    char buf[SECTOR];
    CHECK_INT(CALL(r, read, file, (uint64_t)sector * SECTOR, buf, SECTOR), SECTOR);
    for (int i = 1; i < SECTOR; i++) {
        CHECK_INT(buf[i], buf[0]);
    }
    return buf[0];
}

static void
test_what_was_synced_is_there_whatever_the_seed(void)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        int file = file_made(&r.files, r.dir, "f");
        CHECK_INT(CALL(&r, sync_folder, r.dir), MM_OK);
        fill(&r, file, 0, 3 * SECTOR, 'a');
        CHECK_INT(CALL(&r, sync_data, file), MM_OK);
        fill(&r, file, 3 * SECTOR, 5 * PAGE, 'b');
        rig_crash(&r);
        rig_crash(&r);
        file = reopened(&r);
        for (int s = 0; s < 3; s++) {
            CHECK_INT(sector_of(&r, file, s), 'a');
        }
        rig_close(&r);
    }
}

static void
test_what_was_not_synced_is_torn_at_any_sector_in_any_order(void)
{
    int seen[16] = { 0 };
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        int file = rig_durable(&r, "f", ""), mask = 0;
        fill(&r, file, 0, 4 * SECTOR, 'a');
        CHECK_INT(CALL(&r, sync, file), MM_OK);
        fill(&r, file, 0, 4 * SECTOR, 'b');
        rig_crash(&r);
        file = reopened(&r);
        for (int s = 0; s < 4; s++) {
            char is = sector_of(&r, file, s);
            CHECK(is == 'a' || is == 'b');
            mask |= (is == 'b') << s;
        }
        seen[mask]++;
        rig_close(&r);
    }
    for (int mask = 0; mask < 16; mask++) {
        CHECK(seen[mask] > 0);
    }
}

static void
test_a_file_that_grew_has_its_old_size_or_its_new_or_one_between(void)
{
    int old = 0, new = 0, between = 0, zeros = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        int file = rig_durable(&r, "f", "");
        fill(&r, file, 0, 1000, 'a');
        CHECK_INT(CALL(&r, sync_data, file), MM_OK);
        fill(&r, file, 1000, 9000, 'b');
        rig_crash(&r);
        file = reopened(&r);
        uint64_t size = file_size(&r.files, file);
        CHECK(size >= 1000 && size <= 10000);
        old += size == 1000;
        new += size == 10000;
        between += size > 1000 && size < 10000;
        char buf[10000];
        CHECK_INT(CALL(&r, read, file, 0, buf, sizeof buf), (int64_t)size);
        bool hole = false;
        for (uint64_t i = 0; i < size; i++) {
            CHECK(i < 1000 ? buf[i] == 'a' : buf[i] == 'b' || buf[i] == 0);
            hole = hole || buf[i] == 0;
        }
        zeros += hole && buf[size - 1] == 'b';
        rig_close(&r);
    }
    CHECK(old > 0 && new > 0 && between > 0 && zeros > 0);
}

static void
test_what_is_behind_the_end_that_a_crash_left_is_zeros(void)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        int file = rig_durable(&r, "f", "");
        fill(&r, file, 0, 1000, 'a');
        CHECK_INT(CALL(&r, sync_data, file), MM_OK);
        fill(&r, file, 1000, 9000, 'b');
        rig_crash(&r);
        file = reopened(&r);
        uint64_t end = file_size(&r.files, file);
        CHECK_INT(CALL(&r, truncate, file, 10000), MM_OK);
        char buf[10000];
        CHECK_INT(CALL(&r, read, file, 0, buf, sizeof buf), sizeof buf);
        for (uint64_t i = end; i < sizeof buf; i++) {
            CHECK_INT(buf[i], 0);
        }
        rig_close(&r);
    }
}

static void
test_a_cut_that_was_not_synced_may_never_have_been(void)
{
    int cut = 0, whole = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        int file = rig_durable(&r, "f", "abcdef");
        CHECK_INT(CALL(&r, truncate, file, 2), MM_OK);
        bool synced = seed % 2 == 0;
        CHECK_INT(synced ? CALL(&r, sync, file) : MM_OK, MM_OK);
        rig_crash(&r);
        bool short_now = file_is(&r.files, r.dir, "f", "ab");
        CHECK(short_now || !synced);
        cut += !synced && short_now;
        whole += !synced && file_is(&r.files, r.dir, "f", "abcdef");
        rig_close(&r);
    }
    CHECK(cut > 0 && whole > 0);
}

static void
test_a_sector_written_twice_may_be_as_it_was_in_between(void)
{
    int seen[3] = { 0 };
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_open(seed, &(mmi_disk_opts){ .writeback_ppm = 300000 });
        int file = rig_durable(&r, "f", "a");
        CHECK_INT(file_put(&r.files, file, 0, "b", 1), 1);
        CHECK_INT(file_put(&r.files, file, 0, "c", 1), 1);
        rig_crash(&r);
        char is;
        CHECK_INT(CALL(&r, read, reopened(&r), 0, &is, 1), 1);
        CHECK(is >= 'a' && is <= 'c');
        seen[is - 'a']++;
        rig_close(&r);
    }
    CHECK(seen[0] > 0 && seen[1] > 0 && seen[2] > 0);
}

static void
test_a_dead_process_leaves_everything_it_wrote_and_no_lock(void)
{
    disk_rig r = rig_plain(1);
    int file = file_of(&r.files, r.dir, "f", "abc");
    CHECK_INT(CALL(&r, lock, file), MM_OK);
    mmi_disk_kill(r.disk);
    CHECK_INT(rig_space(&r).handles, 0);
    CHECK_ERROR(CALL(&r, sync, file), MM_EINVAL, EBADF);
    CHECK_INT(CALL(&r, root, "/", &r.dir), MM_OK);
    CHECK(file_is(&r.files, r.dir, "f", "abc"));
    file = reopened(&r);
    CHECK_INT(CALL(&r, lock, file), MM_OK);
    rig_close(&r);
}

static void
test_a_machine_that_is_off_says_so_until_it_is_on_again(void)
{
    disk_rig r = rig_plain(1);
    int file = rig_durable(&r, "f", "abc"), other;
    CHECK_INT(CALL(&r, lock, file), MM_OK);
    mmi_disk_crash(r.disk);
    mmi_disk_crash(r.disk);
    CHECK_ERROR(CALL(&r, root, "/", &other), MM_EIO, EIO);
    CHECK_ERROR(file_put(&r.files, file, 0, "x", 1), MM_EIO, EIO);
    CHECK_ERROR(CALL(&r, sync, file), MM_EIO, EIO);
    CALL(&r, close, file);
    mmi_disk_reboot(r.disk);
    CHECK_ERROR(CALL(&r, sync, file), MM_EINVAL, EBADF);
    CHECK_INT(CALL(&r, root, "/", &r.dir), MM_OK);
    file = reopened(&r);
    CHECK_INT(CALL(&r, lock, file), MM_OK);
    CHECK(file_holds(&r.files, file, "abc"));
    rig_close(&r);
}

static void
test_the_crash_comes_in_the_operation_it_was_asked_for(void)
{
    int lost = 0, kept = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        int file = rig_durable(&r, "f", "abc");
        mmi_disk_crash_in(r.disk, 2);
        CHECK_INT(file_put(&r.files, file, 0, "xyz", 3), 3);
        CHECK_ERROR(CALL(&r, sync, file), MM_EIO, EIO);
        CHECK_ERROR(CALL(&r, sync, file), MM_EIO, EIO);
        mmi_disk_reboot(r.disk);
        CHECK_INT(CALL(&r, root, "/", &r.dir), MM_OK);
        lost += file_is(&r.files, r.dir, "f", "abc");
        kept += file_is(&r.files, r.dir, "f", "xyz");
        rig_close(&r);
    }
    CHECK(lost > 0 && kept > 0);
    CHECK_INT(lost + kept, SEEDS);
}

static uint64_t
hash_of(uint64_t seed)
{
    disk_rig r = rig_open(seed, &(mmi_disk_opts){ .write_eio_ppm = 200000,
                                                  .sync_eio_ppm = 200000,
                                                  .short_write_ppm = 200000 });
    for (int round = 0; round < 3; round++) {
        int file = file_made(&r.files, r.dir, "f");
        char buf[5000];
        for (uint64_t i = 0; i < 20; i++) {
            (void)file_put(&r.files, file, i * 700, "0123456789", 10);
            (void)CALL(&r, sync_data, file);
            (void)CALL(&r, read, file, 0, buf, sizeof buf);
        }
        rig_crash(&r);
    }
    uint64_t hash = rig_space(&r).hash;
    rig_close(&r);
    return hash;
}

static void
test_the_same_seed_gives_the_same_disk_and_another_gives_another(void)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        CHECK(hash_of(seed) == hash_of(seed));
        CHECK(hash_of(seed) != hash_of(seed + 1));
    }
}

static void
test_memory_grows_with_what_is_written_and_goes_when_it_is_removed(void)
{
    enum { LITTLE = 128 * 1024 };
    int64_t before, now;
    (void)mm_test_alloc_live(&before);
    disk_rig r = rig_plain(1);
    int file = rig_durable(&r, "f", "abc");
    CHECK_INT(CALL(&r, reserve, file, MMI_FILE_SIZE_MAX), MM_OK);
    CHECK_INT(file_put(&r.files, file, MMI_FILE_SIZE_MAX - 1, "z", 1), 1);
    CHECK_INT(CALL(&r, sync, file), MM_OK);
    (void)mm_test_alloc_live(&now);
    CHECK(now - before < LITTLE);
    for (int i = 0; i < 200; i++) {
        int other = file_made(&r.files, r.dir, "g");
        fill(&r, other, 0, 8 * PAGE, 'x');
        CHECK_INT(CALL(&r, sync, other), MM_OK);
        CHECK_INT(CALL(&r, sync_folder, r.dir), MM_OK);
        CHECK_INT(CALL(&r, unlink, r.dir, "g"), MM_OK);
        CHECK_INT(CALL(&r, sync_folder, r.dir), MM_OK);
        CALL(&r, close, other);
    }
    (void)mm_test_alloc_live(&now);
    CHECK(now - before < LITTLE);
    for (uint64_t i = 0; i < 20; i++) {
        fill(&r, file, i * 8 * PAGE, 8 * PAGE, 'x');
    }
    (void)mm_test_alloc_live(&now);
    CHECK(now - before > LITTLE);
    CHECK_INT(CALL(&r, truncate, file, 0), MM_OK);
    CHECK_INT(CALL(&r, sync, file), MM_OK);
    (void)mm_test_alloc_live(&now);
    CHECK(now - before < LITTLE);
    rig_close(&r);
    (void)mm_test_alloc_live(&now);
    CHECK_INT(now, before);
}

static void
test_a_want_of_memory_is_told_at_every_point(void)
{
    int failed = 0;
    for (int64_t nth = 1; nth <= 40; nth++) {
        disk_rig r = rig_plain(1);
        int file, rc;
        (void)mm_test_alloc_fail(nth);
        rc = CALL(&r, open, r.dir, "f", MMI_FILE_WRITE | MMI_FILE_CREATE, &file);
        for (uint64_t i = 0; rc == MM_OK && i < 10; i++) {
            int64_t n = file_put(&r.files, file, i * PAGE, "abc", 3);
            rc = n == 3 ? MM_OK : (int)n;
        }
        rc = rc == MM_OK ? CALL(&r, truncate, file, 1) : rc;
        rc = rc == MM_OK ? CALL(&r, mkdir, r.dir, "d") : rc;
        rc = rc == MM_OK ? CALL(&r, rename, r.dir, "f", r.dir, "g") : rc;
        bool was = mm_test_alloc_fail(0) <= 0;
        CHECK_INT(rc, was ? MM_ENOMEM : MM_OK);
        failed += was;
        rig_crash(&r);
        rig_close(&r);
    }
    CHECK(failed > 10 && failed < 40);
}

int
main(void)
{
    RUN(test_what_was_synced_is_there_whatever_the_seed);
    RUN(test_what_was_not_synced_is_torn_at_any_sector_in_any_order);
    RUN(test_a_file_that_grew_has_its_old_size_or_its_new_or_one_between);
    RUN(test_what_is_behind_the_end_that_a_crash_left_is_zeros);
    RUN(test_a_cut_that_was_not_synced_may_never_have_been);
    RUN(test_a_sector_written_twice_may_be_as_it_was_in_between);
    RUN(test_a_dead_process_leaves_everything_it_wrote_and_no_lock);
    RUN(test_a_machine_that_is_off_says_so_until_it_is_on_again);
    RUN(test_the_crash_comes_in_the_operation_it_was_asked_for);
    RUN(test_the_same_seed_gives_the_same_disk_and_another_gives_another);
    RUN(test_memory_grows_with_what_is_written_and_goes_when_it_is_removed);
    RUN(test_a_want_of_memory_is_told_at_every_point);
    return 0;
}
