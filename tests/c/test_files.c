/*
 * test_files.c: what file.h promises of octets, sizes and locks of an open file, kept by each
 * implementation.
 * Not here: names and folders (test_files_names.c); what only the system does (test_files_posix.c),
 * or only the simulated disk (test_disk*.c).
 * Law: one suite, many implementations.
 */
#include "files_world.h"

static void
test_what_is_written_in_pieces_is_read_as_one(files_world *w)
{
    int file = file_made(&w->files, w->dir, "f");
    const mmi_iov pieces[] = { { "ab", 2 }, { "", 0 }, { "cde", 3 }, { "f", 1 } };
    char buf[16];
    CHECK_INT(CALL(w, write, file, 0, pieces, 4), 6);
    CHECK_INT(CALL(w, read, file, 0, buf, 6), 6);
    CHECK(memcmp(buf, "abcdef", 6) == 0);
    CHECK_INT(CALL(w, read, file, 2, buf, 3), 3);
    CHECK(memcmp(buf, "cde", 3) == 0);
    CHECK_INT(CALL(w, write, file, 4, pieces, 1), 2);
    CHECK(file_holds(&w->files, file, "abcdab"));
    CALL(w, close, file);
}

static void
test_a_read_gives_less_only_where_the_file_ends(files_world *w)
{
    int file = file_of(&w->files, w->dir, "f", "abc");
    char buf[16];
    CHECK_INT(CALL(w, read, file, 1, buf, sizeof buf), 2);
    CHECK_INT(CALL(w, read, file, 3, buf, sizeof buf), 0);
    CHECK_INT(CALL(w, read, file, 1000000, buf, sizeof buf), 0);
    CHECK_INT(CALL(w, read, file, 0, buf, 0), 0);
    CALL(w, close, file);
}

static void
test_what_was_never_written_reads_as_zeros(files_world *w)
{
    int file = file_made(&w->files, w->dir, "f");
    uint8_t *buf = malloc(20000);
    memset(buf, 0xff, 20000);
    CHECK_INT(file_put(&w->files, file, 10001, "x", 1), 1);
    CHECK_INT(file_size(&w->files, file), 10002);
    CHECK_INT(CALL(w, read, file, 0, buf, 20000), 10002);
    for (int i = 0; i < 10001; i++) {
        CHECK_INT(buf[i], 0);
    }
    CHECK_INT(buf[10001], 'x');
    free(buf);
    CALL(w, close, file);
}

/* Octets of every size around sectors and pages, against a copy kept in memory. */
static void
test_any_writes_reads_and_cuts_give_what_a_plain_array_would(files_world *w)
{
    enum { ROOM = 40000, STEPS = 2000, LONGEST = 9000 };
    static uint8_t is[ROOM], wanted[ROOM], data[LONGEST];
    uint32_t seed = 7;
    uint64_t size = 0;
    int file = file_made(&w->files, w->dir, "f");
    memset(wanted, 0, sizeof wanted);
    for (int step = 0; step < STEPS; step++) {
        uint64_t at = check_random(&seed) % (ROOM - LONGEST);
        uint64_t more = check_random(&seed) % 8 == 0 ? 0 : check_random(&seed) % LONGEST;
        memset(data, (int)(check_random(&seed) % 255) + 1, more);
        if (check_random(&seed) % 10 == 0) {
            CHECK_INT(CALL(w, truncate, file, at), MM_OK);
            memset(wanted + at, 0, ROOM - at);
            size = at;
        } else {
            CHECK_INT(file_put(&w->files, file, at, data, more), (int64_t)more);
            memcpy(wanted + at, data, more);
            size = more > 0 && at + more > size ? at + more : size;
        }
        if (check_random(&seed) % 50 == 0) {
            CHECK_INT(CALL(w, sync_data, file), MM_OK);
        }
        CHECK_INT(file_size(&w->files, file), (int64_t)size);
        CHECK_INT(CALL(w, read, file, 0, is, ROOM), (int64_t)size);
        CHECK(memcmp(is, wanted, size) == 0);
    }
    CALL(w, close, file);
}

static void
test_a_place_or_size_past_the_limit_is_refused(files_world *w)
{
    int file = file_of(&w->files, w->dir, "f", "abc");
    static const uint64_t bad[] = { MMI_FILE_SIZE_MAX, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX };
    char buf[4];
    for (size_t i = 0; i < MMI_COUNT_OF(bad); i++) {
        CHECK_ERROR(CALL(w, read, file, bad[i], buf, 1), MM_EINVAL, EINVAL);
        CHECK_ERROR(file_put(&w->files, file, bad[i], "x", 1), MM_EINVAL, EINVAL);
    }
    CHECK_INT(CALL(w, read, file, MMI_FILE_SIZE_MAX - 1, buf, 1), 0);
    CHECK_ERROR(CALL(w, truncate, file, MMI_FILE_SIZE_MAX + 1), MM_EINVAL, EINVAL);
    CHECK_ERROR(CALL(w, reserve, file, MMI_FILE_SIZE_MAX + 1), MM_EINVAL, EINVAL);
    CHECK_ERROR(CALL(w, read, file, 0, buf, SIZE_MAX), MM_EINVAL, EINVAL);
    CHECK(file_holds(&w->files, file, "abc"));
    CALL(w, close, file);
}

static void
test_a_write_takes_so_many_pieces_and_no_more(files_world *w)
{
    static mmi_iov pieces[MMI_FILE_PIECES_MAX + 1];
    int file = file_made(&w->files, w->dir, "f");
    for (int i = 0; i <= MMI_FILE_PIECES_MAX; i++) {
        pieces[i] = (mmi_iov){ .data = "x", .size = 1 };
    }
    CHECK_INT(CALL(w, write, file, 0, pieces, 0), 0);
    CHECK_INT(file_size(&w->files, file), 0);
    CHECK_ERROR(CALL(w, write, file, 0, pieces, -1), MM_EINVAL, EINVAL);
    CHECK_ERROR(CALL(w, write, file, 0, pieces, MMI_FILE_PIECES_MAX + 1), MM_EINVAL, EINVAL);
    CHECK_INT(file_size(&w->files, file), 0);
    CHECK_INT(CALL(w, write, file, 0, pieces, MMI_FILE_PIECES_MAX), MMI_FILE_PIECES_MAX);
    pieces[0].size = pieces[1].size = SIZE_MAX / 2 + 1;
    CHECK_ERROR(CALL(w, write, file, 0, pieces, 2), MM_EINVAL, EINVAL);
    CHECK_INT(file_size(&w->files, file), MMI_FILE_PIECES_MAX);
    CALL(w, close, file);
}

static void
test_a_file_opened_to_be_read_is_not_changed(files_world *w)
{
    int file = file_of(&w->files, w->dir, "f", "abc"), reader;
    CHECK_INT(CALL(w, open, w->dir, "f", 0, &reader), MM_OK);
    CHECK_INT(file_put(&w->files, reader, 0, "x", 1), MM_EINVAL);
    CHECK_INT(CALL(w, truncate, reader, 0), MM_EINVAL);
    CHECK_INT(CALL(w, reserve, reader, 100), MM_EINVAL);
    CHECK_INT(CALL(w, lock, reader), MM_EINVAL);
    CHECK_INT(CALL(w, sync_data, reader), MM_OK);
    CHECK(file_holds(&w->files, reader, "abc"));
    CALL(w, close, reader);
    CALL(w, close, file);
}

static void
test_all_who_opened_a_file_read_what_one_wrote(files_world *w)
{
    int file = file_of(&w->files, w->dir, "f", "abc"), reader, other;
    CHECK_INT(CALL(w, open, w->dir, "f", 0, &reader), MM_OK);
    CHECK_INT(CALL(w, open, w->dir, "f", MMI_FILE_WRITE, &other), MM_OK);
    CHECK_INT(file_put(&w->files, other, 3, "d", 1), 1);
    CHECK_INT(file_put(&w->files, file, 4, "e", 1), 1);
    CHECK(file_holds(&w->files, reader, "abcde"));
    CHECK_INT(CALL(w, truncate, file, 1), MM_OK);
    CHECK(file_holds(&w->files, reader, "a"));
    CALL(w, close, reader);
    CALL(w, close, other);
    CALL(w, close, file);
}

static void
test_what_was_cut_is_zeros_when_the_file_grows_again(files_world *w)
{
    int file = file_of(&w->files, w->dir, "f", "abcdef");
    CHECK_INT(CALL(w, truncate, file, 2), MM_OK);
    CHECK_INT(CALL(w, truncate, file, 4), MM_OK);
    CHECK_INT(file_put(&w->files, file, 5, "x", 1), 1);
    char buf[8];
    CHECK_INT(CALL(w, read, file, 0, buf, sizeof buf), 6);
    CHECK(memcmp(buf, "ab\0\0\0x", 6) == 0);
    CALL(w, close, file);
}

static void
test_room_that_is_reserved_is_zeros_and_nothing_is_cut(files_world *w)
{
    int file = file_of(&w->files, w->dir, "f", "abc");
    int rc = CALL(w, reserve, file, 10000);
    if (rc != MM_ENOTSUP) {     /* there are such file systems */
        char buf[16];
        CHECK_INT(rc, MM_OK);
        CHECK_INT(file_size(&w->files, file), 10000);
        CHECK_INT(CALL(w, reserve, file, 50), MM_OK);
        CHECK_INT(CALL(w, reserve, file, 0), MM_OK);
        CHECK_INT(file_size(&w->files, file), 10000);
        CHECK_INT(CALL(w, read, file, 0, buf, 5), 5);
        CHECK(memcmp(buf, "abc\0\0", 5) == 0);
        CHECK_INT(CALL(w, read, file, 9990, buf, 16), 10);
        CHECK(memcmp(buf, (char[10]){ 0 }, 10) == 0);
    }
    CALL(w, close, file);
}

static void
test_every_sync_says_so_of_a_file_and_of_a_folder(files_world *w)
{
    int file = file_of(&w->files, w->dir, "f", "abc");
    CHECK_INT(CALL(w, sync_data, file), MM_OK);
    CHECK_INT(CALL(w, sync_data, file), MM_OK);
    CHECK_INT(CALL(w, sync, file), MM_OK);
    CHECK_INT(CALL(w, sync_folder, w->dir), MM_OK);
    CHECK(file_holds(&w->files, file, "abc"));
    CALL(w, close, file);
}

static void
test_a_second_opener_sees_the_lock_until_it_is_given_back(files_world *w)
{
    int file = file_made(&w->files, w->dir, "LOCK"), other = file_made(&w->files, w->dir, "LOCK");
    int third = file_made(&w->files, w->dir, "LOCK");
    CHECK_INT(CALL(w, lock, file), MM_OK);
    CHECK_INT(CALL(w, lock, file), MM_OK);
    CHECK_INT(CALL(w, lock, other), MM_EAGAIN);
    CHECK_INT(CALL(w, unlock, other), MM_OK);    /* which has none */
    CALL(w, close, third);                       /* of the file, but not who has the lock */
    CHECK_INT(CALL(w, lock, other), MM_EAGAIN);
    CHECK_INT(CALL(w, unlock, file), MM_OK);
    CHECK_INT(CALL(w, lock, other), MM_OK);
    CHECK_INT(CALL(w, lock, file), MM_EAGAIN);
    CALL(w, close, other);
    CHECK_INT(CALL(w, lock, file), MM_OK);
    CALL(w, close, file);
}

static void
test_a_folder_is_locked_like_a_file(files_world *w)
{
    int file = file_made(&w->files, w->dir, "LOCK"), one, other;
    CHECK_INT(CALL(w, mkdir, w->dir, "sub"), MM_OK);
    CHECK_INT(CALL(w, folder, w->dir, "sub", &one), MM_OK);
    CHECK_INT(CALL(w, folder, w->dir, "sub", &other), MM_OK);
    CHECK_INT(CALL(w, lock, one), MM_OK);
    CHECK_INT(CALL(w, lock, one), MM_OK);
    CHECK_INT(CALL(w, lock, other), MM_EAGAIN);
    CHECK_INT(CALL(w, unlock, other), MM_OK); /* which has none */
    CHECK_INT(CALL(w, lock, other), MM_EAGAIN);
    CHECK_INT(CALL(w, lock, file), MM_OK);
    CHECK_INT(CALL(w, unlock, one), MM_OK);
    CHECK_INT(CALL(w, lock, other), MM_OK);
    CALL(w, close, other);
    CHECK_INT(CALL(w, lock, one), MM_OK);
    CALL(w, close, one);
    CALL(w, close, file);
}

static void
test_what_is_closed_is_refused(files_world *w)
{
    int file = file_of(&w->files, w->dir, "f", "abc");
    uint64_t size;
    char buf[4];
    CALL(w, close, file);
    CHECK_ERROR(CALL(w, read, file, 0, buf, 1), MM_EINVAL, EBADF);
    CHECK_ERROR(file_put(&w->files, file, 0, "x", 1), MM_EINVAL, EBADF);
    CHECK_ERROR(CALL(w, size, file, &size), MM_EINVAL, EBADF);
    CHECK_ERROR(CALL(w, sync, file), MM_EINVAL, EBADF);
    CHECK_ERROR(CALL(w, sync_data, file), MM_EINVAL, EBADF);
    CHECK_ERROR(CALL(w, lock, file), MM_EINVAL, EBADF);
    CHECK_ERROR(CALL(w, open, file, "g", 0, &file), MM_EINVAL, EBADF);
}

static void
test_there_is_room_and_it_is_ours_alone(files_world *w)
{
    mmi_space space;
    CHECK_INT(CALL(w, space, w->dir, &space), MM_OK);
    CHECK(space.free > 0 && !space.shared);
}

int
main(void)
{
    static files_test *const tests[] = {
        test_what_is_written_in_pieces_is_read_as_one,
        test_a_read_gives_less_only_where_the_file_ends,
        test_what_was_never_written_reads_as_zeros,
        test_any_writes_reads_and_cuts_give_what_a_plain_array_would,
        test_a_place_or_size_past_the_limit_is_refused,
        test_a_write_takes_so_many_pieces_and_no_more,
        test_a_file_opened_to_be_read_is_not_changed,
        test_all_who_opened_a_file_read_what_one_wrote,
        test_what_was_cut_is_zeros_when_the_file_grows_again,
        test_room_that_is_reserved_is_zeros_and_nothing_is_cut,
        test_every_sync_says_so_of_a_file_and_of_a_folder,
        test_a_second_opener_sees_the_lock_until_it_is_given_back,
        test_a_folder_is_locked_like_a_file,
        test_what_is_closed_is_refused,
        test_there_is_room_and_it_is_ours_alone,
    };
    files_run(tests, MMI_COUNT_OF(tests));
    return 0;
}
