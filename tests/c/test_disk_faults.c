/*
 * test_disk_faults.c: the simulated disk's faults: by plan, by chance, for want of room, handles
 * and time.
 * Not here: crashes of a healthy disk (test_disk_crash.c, test_disk_names.c).
 * Law: a fault is told as file.h says, and what it may leave behind is seen in some seed.
 */
#include "disk_rig.h"

enum { PAGE = 4096, CALLS = 2000, HALF_PPM = 500000 };

/* One call of each kind, on a disk with a folder and a file. */
static int64_t
call_of(disk_rig *r, mmi_disk_op op, int file)
{
    char buf[8];
    int fd, count = 0;
    switch (op) {
    case MMI_DISK_OPEN: return CALL(r, open, r->dir, "f", 0, &fd);
    case MMI_DISK_READ: return CALL(r, read, file, 0, buf, sizeof buf);
    case MMI_DISK_WRITE: return file_put(&r->files, file, 0, "abcdef", 6);
    case MMI_DISK_SYNC: return CALL(r, sync_data, file);
    case MMI_DISK_SYNC_FOLDER: return CALL(r, sync_folder, r->dir);
    case MMI_DISK_RESERVE: return CALL(r, reserve, file, 6);
    case MMI_DISK_TRUNCATE: return CALL(r, truncate, file, 6);
    case MMI_DISK_NAME: return CALL(r, rename, r->dir, "f", r->dir, "f");
    case MMI_DISK_LIST:
        return CALL(r, list, r->dir, (void (*)(void *, const mmi_entry *))NULL, &count);
    case MMI_DISK_LOCK: return CALL(r, lock, file);
    default: return MM_EINVAL;
    }
}

static void
test_the_nth_call_of_a_kind_fails_once_as_it_was_planned(void)
{
    static const int errors[] = { EIO, ENOSPC, EDQUOT, EMFILE, ENOMEM, EROFS, EACCES, EINTR };
    for (int op = 0; op < MMI_DISK_OPS; op++) {
        for (size_t i = 0; i < MMI_COUNT_OF(errors) && op != MMI_DISK_LIST; i++) {
            disk_rig r = rig_plain(op);
            int file = rig_durable(&r, "f", "abcdef");
            mmi_disk_fail(r.disk, (mmi_disk_op)op, 2, errors[i]);
            CHECK(call_of(&r, (mmi_disk_op)op, file) >= 0);
            int wanted = mmi_file_error(errors[i]);
            CHECK_ERROR(call_of(&r, (mmi_disk_op)op, file), wanted, errors[i]);
            CHECK(call_of(&r, (mmi_disk_op)op, file) >= 0);
            rig_close(&r);
        }
    }
    disk_rig r = rig_plain(1);
    mmi_disk_fail(r.disk, MMI_DISK_LIST, 1, EIO);
    CHECK_ERROR(call_of(&r, MMI_DISK_LIST, 0), MM_EIO, EIO);
    CHECK_INT(call_of(&r, MMI_DISK_LIST, 0), 0);
    rig_close(&r);
}

static void
test_a_short_write_takes_the_front_and_says_how_much(void)
{
    int sizes[7] = { 0 };
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        int file = file_made(&r.files, r.dir, "f");
        const mmi_iov pieces[] = { { "ab", 2 }, { "cd", 2 }, { "ef", 2 } };
        char wanted[] = "abcdef";
        mmi_disk_fail(r.disk, MMI_DISK_WRITE, 1, 0);
        int64_t n = CALL(&r, write, file, 0, pieces, 3);
        CHECK(n >= 1 && n <= 5);
        sizes[n]++;
        wanted[n] = '\0';
        CHECK(file_holds(&r.files, file, wanted));
        CHECK_INT(CALL(&r, write, file, 0, pieces, 3), 6);
        rig_close(&r);
    }
    CHECK(sizes[1] > 0 && sizes[2] > 0 && sizes[3] > 0 && sizes[4] > 0 && sizes[5] > 0);
}

static void
test_a_failed_write_may_have_left_any_part_of_it(void)
{
    int sizes[7] = { 0 };
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        int file = file_made(&r.files, r.dir, "f");
        mmi_disk_fail(r.disk, MMI_DISK_WRITE, 1, EIO);
        CHECK_ERROR(file_put(&r.files, file, 0, "abcdef", 6), MM_EIO, EIO);
        uint64_t size = file_size(&r.files, file);
        CHECK(size <= 6);
        sizes[size]++;
        rig_close(&r);
    }
    CHECK(sizes[0] > 0 && sizes[3] > 0 && sizes[5] > 0);
}

static void
test_a_full_disk_takes_what_fits_and_room_comes_back(void)
{
    static char data[5 * PAGE];
    disk_rig r = rig_open(1, &(mmi_disk_opts){ .capacity = 4 * PAGE });
    int file = file_made(&r.files, r.dir, "f"), other = file_made(&r.files, r.dir, "g");
    mmi_space space;
    CHECK_INT(file_put(&r.files, file, 100, data, sizeof data), 4 * PAGE - 100);
    CHECK_ERROR(file_put(&r.files, file, 4 * PAGE, data, 1), MM_ENOSPC, ENOSPC);
    CHECK_ERROR(file_put(&r.files, other, 0, data, 1), MM_ENOSPC, ENOSPC);
    CHECK_INT(file_put(&r.files, file, 0, data, PAGE), PAGE);
    CHECK_INT(CALL(&r, space, r.dir, &space), MM_OK);
    CHECK_INT(space.free, 0);
    CHECK_INT(CALL(&r, truncate, file, 2 * PAGE + 1), MM_OK);
    CHECK_INT(CALL(&r, space, r.dir, &space), MM_OK);
    CHECK_INT(space.free, PAGE);
    CHECK_INT(file_put(&r.files, other, 0, data, 2 * PAGE), PAGE);
    CHECK_INT(CALL(&r, unlink, r.dir, "f"), MM_OK);
    CHECK_ERROR(file_put(&r.files, other, PAGE, data, 1), MM_ENOSPC, ENOSPC);
    CALL(&r, close, file);
    CHECK_INT(file_put(&r.files, other, PAGE, data, 3 * PAGE), 3 * PAGE);
    CHECK_INT(rig_space(&r).used, 4 * PAGE);
    rig_close(&r);
}

static void
test_room_that_was_reserved_never_lacks(void)
{
    static char data[6 * PAGE];
    disk_rig r = rig_open(1, &(mmi_disk_opts){ .capacity = 8 * PAGE });
    int file = file_made(&r.files, r.dir, "f"), other = file_made(&r.files, r.dir, "g");
    CHECK_INT(file_put(&r.files, file, PAGE, data, 1), 1);
    CHECK_INT(CALL(&r, reserve, file, 6 * PAGE), MM_OK);
    CHECK_INT(rig_space(&r).used, 6 * PAGE);
    CHECK_INT(file_put(&r.files, other, 0, data, 3 * PAGE), 2 * PAGE);
    CHECK_INT(file_put(&r.files, file, 0, data, 6 * PAGE), 6 * PAGE);
    CHECK_INT(rig_space(&r).used, 8 * PAGE);
    CHECK_ERROR(CALL(&r, reserve, file, 7 * PAGE), MM_ENOSPC, ENOSPC);
    uint64_t size = file_size(&r.files, file);
    CHECK(size >= 6 * PAGE && size <= 7 * PAGE);
    CHECK_INT(CALL(&r, sync, file), MM_OK);
    CHECK_INT(CALL(&r, sync_folder, r.dir), MM_OK);
    rig_crash(&r);
    CHECK_INT(CALL(&r, open, r.dir, "f", MMI_FILE_WRITE, &file), MM_OK);
    uint64_t used = rig_space(&r).used;
    CHECK(used >= 6 * PAGE && used <= 8 * PAGE);
    CHECK_INT(CALL(&r, truncate, file, 0), MM_OK);
    CHECK_INT(CALL(&r, unlink, r.dir, "g"), MM_OK);
    CHECK_INT(rig_space(&r).used, 0);
    rig_close(&r);
}

static void
test_after_a_failed_sync_the_next_says_ok_and_it_may_all_be_gone(void)
{
    int lost = 0, kept = 0, seen_and_lost = 0, reverted = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        int file = rig_durable(&r, "f", "old");
        CHECK_INT(file_put(&r.files, file, 0, "new", 3), 3);
        mmi_disk_fail(r.disk, MMI_DISK_SYNC, 1, EIO);
        CHECK_ERROR(CALL(&r, sync_data, file), MM_EIO, EIO);
        CHECK_INT(CALL(&r, sync_data, file), MM_OK);
        bool seen = file_holds(&r.files, file, "new");
        CHECK(seen || file_holds(&r.files, file, "old"));
        rig_crash(&r);
        bool there = file_is(&r.files, r.dir, "f", "new");
        CHECK(there ? seen : file_is(&r.files, r.dir, "f", "old"));
        kept += there;
        lost += !there;
        seen_and_lost += seen && !there;
        reverted += !seen;
        rig_close(&r);
    }
    CHECK(kept > 0 && lost > 0 && seen_and_lost > 0 && reverted > 0);
}

static void
test_what_is_written_again_after_a_failed_sync_is_synced_by_the_next(void)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        int file = rig_durable(&r, "f", "old");
        CHECK_INT(file_put(&r.files, file, 0, "new", 3), 3);
        mmi_disk_fail(r.disk, MMI_DISK_SYNC, 1, EIO);
        CHECK_ERROR(CALL(&r, sync, file), MM_EIO, EIO);
        CHECK_INT(file_put(&r.files, file, 0, "new", 3), 3);
        CHECK_INT(CALL(&r, sync, file), MM_OK);
        rig_crash(&r);
        CHECK(file_is(&r.files, r.dir, "f", "new"));
        rig_close(&r);
    }
}

static void
test_after_a_failed_sync_of_a_folder_its_names_may_be_gone(void)
{
    int lost = 0, kept = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        rig_synced(&r, "f", "abc");
        mmi_disk_fail(r.disk, MMI_DISK_SYNC_FOLDER, 1, EIO);
        CHECK_ERROR(CALL(&r, sync_folder, r.dir), MM_EIO, EIO);
        CHECK_INT(CALL(&r, sync_folder, r.dir), MM_OK);
        CHECK(file_is(&r.files, r.dir, "f", "abc"));
        rig_crash(&r);
        bool there = file_there(&r.files, r.dir, "f");
        kept += there;
        lost += !there;
        rig_close(&r);
    }
    CHECK(kept > 0 && lost > 0);
}

static void
test_too_many_open_at_once_are_refused_until_one_is_closed(void)
{
    disk_rig r = rig_open(1, &(mmi_disk_opts){ .handles_max = 3 });
    int file = file_made(&r.files, r.dir, "f"), other = file_made(&r.files, r.dir, "f"), more;
    CHECK_ERROR(CALL(&r, open, r.dir, "f", 0, &more), MM_EMFILE, EMFILE);
    CHECK_ERROR(CALL(&r, root, "/", &more), MM_EMFILE, EMFILE);
    CALL(&r, close, other);
    CHECK_INT(CALL(&r, open, r.dir, "f", 0, &more), MM_OK);
    CHECK(more != other);
    CALL(&r, close, other);   /* again: of nobody */
    CHECK_INT(rig_space(&r).handles, 3);
    CALL(&r, close, file);
    rig_close(&r);
}

static int
bits_wrong(disk_rig *r, int file, uint8_t wanted, int from, int to)
{
    uint8_t buf[2 * PAGE];
    int wrong = 0;
    CHECK_INT(CALL(r, read, file, 0, buf, sizeof buf), sizeof buf);
    for (int i = from; i < to; i++) {
        wrong += __builtin_popcount(buf[i] ^ wanted);
    }
    return wrong;
}

static void
test_rot_turns_one_bit_of_the_sector_and_stays(void)
{
    static char data[2 * PAGE];
    for (uint64_t seed = 0; seed < 100; seed++) {
        disk_rig r = rig_plain(seed);
        int file = rig_durable(&r, "f", "");
        memset(data, 'a', sizeof data);
        CHECK_INT(file_put(&r.files, file, 0, data, sizeof data), sizeof data);
        CHECK_INT(CALL(&r, sync, file), MM_OK);
        CHECK_INT(mmi_disk_rot(r.disk, file, PAGE + 700), MM_OK);
        CHECK_INT(mmi_disk_rot(r.disk, file, 2 * PAGE), MM_EINVAL);
        CHECK_INT(mmi_disk_rot(r.disk, 1000, 0), MM_EINVAL);
        for (int round = 0; round < 2; round++) {
            CHECK_INT(bits_wrong(&r, file, 'a', 0, sizeof data), 1);
            CHECK_INT(bits_wrong(&r, file, 'a', PAGE + 512, PAGE + 1024), 1);
            rig_crash(&r);
            CHECK_INT(CALL(&r, open, r.dir, "f", 0, &file), MM_OK);
        }
        rig_close(&r);
    }
}

static void
test_rot_by_chance_comes_with_a_crash(void)
{
    static char data[2 * PAGE];
    int rotten = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        disk_rig r = rig_open(seed, &(mmi_disk_opts){ .rot_ppm = 100000 });
        int file = rig_durable(&r, "f", "");
        CHECK_INT(file_put(&r.files, file, 0, data, sizeof data), sizeof data);
        CHECK_INT(CALL(&r, sync, file), MM_OK);
        CHECK_INT(bits_wrong(&r, file, 0, 0, sizeof data), 0);
        rig_crash(&r);
        CHECK_INT(CALL(&r, open, r.dir, "f", 0, &file), MM_OK);
        rotten += bits_wrong(&r, file, 0, 0, sizeof data);
        rig_close(&r);
    }
    CHECK(rotten > 50 && rotten < 400);   /* of 1,600 sectors, a tenth */
}

static void
run_world(void *arg, uint64_t ns)
{
    CHECK_INT(mm_sim_run(*(mm_handle *)arg, ns), MM_OK);
}

static void
test_a_slow_disk_takes_the_time_of_a_simulated_world(void)
{
    mm_handle world;
    mm_sim_state before, after;
    mm_sim_opts sim = { .latency_min_ns = 1000, .latency_max_ns = 50000, .buffer_size = 8192 };
    CHECK_INT(mm_sim_open(1, &sim, &world), MM_OK);
    disk_rig r = rig_open(1, &(mmi_disk_opts){ .slow_ppm = HALF_PPM,
                                               .slow_min_ns = 1000,
                                               .slow_max_ns = 2000000000,
                                               .pass = run_world,
                                               .arg = &world });
    CHECK_INT(mm_sim_inspect(world, &before), MM_OK);
    uint64_t slow = rig_space(&r).slow_ns;
    int file = file_made(&r.files, r.dir, "f");
    for (int i = 0; i < 20; i++) {
        CHECK_INT(CALL(&r, sync, file), MM_OK);
    }
    CHECK_INT(mm_sim_inspect(world, &after), MM_OK);
    CHECK(rig_space(&r).slow_ns - slow > 1000000000);
    CHECK_INT(after.now_ns - before.now_ns, rig_space(&r).slow_ns - slow);
    rig_close(&r);
    CHECK_INT(mm_sim_close(world), MM_OK);
}

static int
failures_of(const mmi_disk_opts *opts, mmi_disk_op op)
{
    int failed = 0;
    disk_rig r = rig_plain(1);
    int file = rig_durable(&r, "f", "abcdef");
    mmi_disk_faults(r.disk, opts);
    for (int i = 0; i < CALLS; i++) {
        int64_t rc = call_of(&r, op, file);
        CHECK(rc >= 0 || rc == MM_EIO);
        failed += rc < 0 || (op == MMI_DISK_WRITE && rc < 6);
    }
    rig_close(&r);
    return failed;
}

static void
test_each_chance_strikes_its_own_kind_of_call(void)
{
    static const struct {
        mmi_disk_opts opts;
        uint32_t ops; /* a bit each */
    } cases[] = {
        { { .read_eio_ppm = HALF_PPM }, 1 << MMI_DISK_READ },
        { { .write_eio_ppm = HALF_PPM }, 1 << MMI_DISK_WRITE },
        { { .short_write_ppm = HALF_PPM }, 1 << MMI_DISK_WRITE },
        { { .sync_eio_ppm = HALF_PPM }, 1 << MMI_DISK_SYNC | 1 << MMI_DISK_SYNC_FOLDER },
        { { .capacity = 0 }, 0 },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cases); i++) {
        for (int op = MMI_DISK_READ; op < MMI_DISK_LIST; op++) {
            int failed = failures_of(&cases[i].opts, (mmi_disk_op)op);
            bool struck = (cases[i].ops >> op & 1) != 0;
            CHECK(struck ? failed > CALLS / 3 && failed < CALLS * 2 / 3 : failed == 0);
        }
    }
}

int
main(void)
{
    RUN(test_the_nth_call_of_a_kind_fails_once_as_it_was_planned);
    RUN(test_a_short_write_takes_the_front_and_says_how_much);
    RUN(test_a_failed_write_may_have_left_any_part_of_it);
    RUN(test_a_full_disk_takes_what_fits_and_room_comes_back);
    RUN(test_room_that_was_reserved_never_lacks);
    RUN(test_after_a_failed_sync_the_next_says_ok_and_it_may_all_be_gone);
    RUN(test_what_is_written_again_after_a_failed_sync_is_synced_by_the_next);
    RUN(test_after_a_failed_sync_of_a_folder_its_names_may_be_gone);
    RUN(test_too_many_open_at_once_are_refused_until_one_is_closed);
    RUN(test_rot_turns_one_bit_of_the_sector_and_stays);
    RUN(test_rot_by_chance_comes_with_a_crash);
    RUN(test_a_slow_disk_takes_the_time_of_a_simulated_world);
    RUN(test_each_chance_strikes_its_own_kind_of_call);
    return 0;
}
