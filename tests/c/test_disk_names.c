/*
 * test_disk_names.c: what a crash of the simulated disk leaves of names that were made, changed and
 * removed, over many seeds.
 * Not here: what is in the files (test_disk_crash.c).
 * Law: what file.h allows is seen in some seed, and what it forbids in none.
 */
#include "disk_rig.h"

static bool
has(disk_rig *r, const char *name)
{
    return file_there(&r->files, r->dir, name);
}

static int
folder_again(disk_rig *r, const char *name)
{
    int sub;
    CHECK_INT(CALL(r, folder, r->dir, name, &sub), MM_OK);
    return sub;
}

static void
test_a_new_name_is_certain_once_its_folder_is_synced(void)
{
    int there = 0, lost = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        bool synced = seed % 2 == 0;
        rig_synced(&r, "f", "abc");
        CHECK_INT(synced ? CALL(&r, sync_folder, r.dir) : MM_OK, MM_OK);
        rig_crash(&r);
        CHECK(has(&r, "f") || !synced);
        CHECK(!has(&r, "f") || file_is(&r.files, r.dir, "f", "abc"));
        there += !synced && has(&r, "f");
        lost += !synced && !has(&r, "f");
        rig_close(&r);
    }
    CHECK(there > 0 && lost > 0);
}

static void
test_a_file_whose_name_was_synced_and_nothing_else_may_be_empty(void)
{
    int empty = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        file_of(&r.files, r.dir, "f", "abc");
        CHECK_INT(CALL(&r, sync_folder, r.dir), MM_OK);
        rig_crash(&r);
        CHECK(has(&r, "f"));
        empty += file_is(&r.files, r.dir, "f", "");
        rig_close(&r);
    }
    CHECK(empty > 0 && empty < SEEDS);
}

static void
test_a_removed_name_may_come_back_until_its_folder_is_synced(void)
{
    int back = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        bool synced = seed % 2 == 0;
        rig_durable(&r, "f", "abc");
        CHECK_INT(CALL(&r, unlink, r.dir, "f"), MM_OK);
        CHECK_INT(synced ? CALL(&r, sync_folder, r.dir) : MM_OK, MM_OK);
        rig_crash(&r);
        CHECK(!synced || !has(&r, "f"));
        CHECK(!has(&r, "f") || file_is(&r.files, r.dir, "f", "abc"));
        back += has(&r, "f");
        rig_close(&r);
    }
    CHECK(back > 0 && back < SEEDS / 2);
}

static void
test_a_rename_in_a_folder_is_whole_or_not_at_all(void)
{
    int old = 0, new = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        rig_durable(&r, "f", "old");
        rig_durable(&r, "tmp", "new");
        CHECK_INT(CALL(&r, rename, r.dir, "tmp", r.dir, "f"), MM_OK);
        rig_crash(&r);
        bool done = file_is(&r.files, r.dir, "f", "new");
        CHECK(done || file_is(&r.files, r.dir, "f", "old"));
        CHECK(done != has(&r, "tmp"));
        old += !done;
        new += done;
        rig_close(&r);
    }
    CHECK(old > 0 && new > 0);
}

static void
test_a_rename_between_folders_never_leaves_a_file_without_a_name(void)
{
    int both = 0, one = 0, other = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        rig_durable(&r, "f", "abc");
        int sub = rig_folder(&r, "d");
        CHECK_INT(CALL(&r, rename, r.dir, "f", sub, "g"), MM_OK);
        int synced = (int)(seed % 4); /* of a bit each: the folder it went to, the one it left */
        CHECK_INT((synced & 1) != 0 ? CALL(&r, sync_folder, sub) : MM_OK, MM_OK);
        CHECK_INT((synced & 2) != 0 ? CALL(&r, sync_folder, r.dir) : MM_OK, MM_OK);
        rig_crash(&r);
        sub = folder_again(&r, "d");
        bool here = file_is(&r.files, r.dir, "f", "abc");
        bool there = file_is(&r.files, sub, "g", "abc");
        CHECK(here || there);
        CHECK(there || synced == 0);
        CHECK(!here || synced < 2);
        both += here && there;
        one += here && !there;
        other += !here && there && synced == 0;
        rig_close(&r);
    }
    CHECK(both > 0 && one > 0 && other > 0);
}

static void
test_changes_of_one_name_come_in_their_order_and_of_several_in_any(void)
{
    int states[4] = { 0 }, later_alone = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        rig_synced(&r, "f", "1");
        rig_synced(&r, "other", "x");
        rig_synced(&r, "t2", "2");
        CHECK_INT(CALL(&r, rename, r.dir, "t2", r.dir, "f"), MM_OK);
        rig_synced(&r, "t3", "3");
        CHECK_INT(CALL(&r, rename, r.dir, "t3", r.dir, "f"), MM_OK);
        rig_crash(&r);
        int state = !has(&r, "f")                        ? 0
                    : file_is(&r.files, r.dir, "f", "1") ? 1
                    : file_is(&r.files, r.dir, "f", "2") ? 2
                                                         : 3;
        states[state]++;
        CHECK(state != 3 || (!has(&r, "t2") && !has(&r, "t3")));
        CHECK(state != 2 || !has(&r, "t2"));
        later_alone += state == 0 && has(&r, "other");
        rig_close(&r);
    }
    CHECK(states[0] > 0 && states[1] > 0 && states[2] > 0 && states[3] > 0 && later_alone > 0);
}

static void
test_a_folder_that_is_not_synced_in_its_parent_takes_all_with_it(void)
{
    int lost = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        int sub, file;
        CHECK_INT(CALL(&r, mkdir, r.dir, "d"), MM_OK);
        CHECK_INT(CALL(&r, folder, r.dir, "d", &sub), MM_OK);
        file = file_of(&r.files, sub, "f", "abc");
        CHECK_INT(CALL(&r, sync, file), MM_OK);
        CHECK_INT(CALL(&r, sync_folder, sub), MM_OK);
        rig_crash(&r);
        int rc = CALL(&r, folder, r.dir, "d", &sub);
        CHECK(rc == MM_ENOENT || file_is(&r.files, sub, "f", "abc"));
        lost += rc == MM_ENOENT;
        rig_close(&r);
    }
    CHECK(lost > 0 && lost < SEEDS);
}

static void
test_a_sync_of_a_folder_says_nothing_of_another(void)
{
    int lost = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        disk_rig r = rig_plain(seed);
        int sub = rig_folder(&r, "d");
        CALL(&r, close, file_of(&r.files, sub, "f", "abc"));
        rig_durable(&r, "g", "abc");
        rig_crash(&r);
        CHECK(has(&r, "g"));
        lost += !file_there(&r.files, folder_again(&r, "d"), "f");
        rig_close(&r);
    }
    CHECK(lost > 0);
}

static void
test_a_folder_that_was_replaced_takes_no_more_names(void)
{
    disk_rig r = rig_plain(1);
    int old = rig_folder(&r, "d"), file;
    (void)rig_folder(&r, "e");
    CHECK_INT(CALL(&r, rename, r.dir, "e", r.dir, "d"), MM_OK);
    CHECK_ERROR(CALL(&r, open, old, "f", MMI_FILE_WRITE | MMI_FILE_CREATE, &file), MM_ENOENT,
                ENOENT);
    CHECK_ERROR(CALL(&r, mkdir, old, "f"), MM_ENOENT, ENOENT);
    rig_close(&r);
}

int
main(void)
{
    RUN(test_a_new_name_is_certain_once_its_folder_is_synced);
    RUN(test_a_file_whose_name_was_synced_and_nothing_else_may_be_empty);
    RUN(test_a_removed_name_may_come_back_until_its_folder_is_synced);
    RUN(test_a_rename_in_a_folder_is_whole_or_not_at_all);
    RUN(test_a_rename_between_folders_never_leaves_a_file_without_a_name);
    RUN(test_changes_of_one_name_come_in_their_order_and_of_several_in_any);
    RUN(test_a_folder_that_is_not_synced_in_its_parent_takes_all_with_it);
    RUN(test_a_sync_of_a_folder_says_nothing_of_another);
    RUN(test_a_folder_that_was_replaced_takes_no_more_names);
    return 0;
}
