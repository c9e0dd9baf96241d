/*
 * test_files_posix.c: what only the system's files can meet: links, other processes, its limits.
 * Not here: what both implementations promise (test_files.c, test_files_names.c).
 * Law: nothing that somebody planted is opened; a limit of the system is told as the header says.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "files_world.h"

static void
path_of(const files_world *w, const char *name, char out[PLACE_SIZE * 2])
{
    snprintf(out, PLACE_SIZE * 2, "%s/%s", w->path, name);
}

static void
test_a_link_or_pipe_in_place_of_a_file_is_not_opened(files_world *w)
{
    char from[PLACE_SIZE * 2], to[PLACE_SIZE * 2];
    int fd;
    CALL(w, close, file_of(&w->files, w->dir, "secret", "abc"));
    path_of(w, "secret", from);
    path_of(w, "soft", to);
    CHECK_INT(symlink(from, to), 0);
    CHECK_INT(CALL(w, open, w->dir, "soft", MMI_FILE_WRITE, &fd), MM_ELOOP);
    path_of(w, "nowhere", to);
    CHECK_INT(symlink("/tmp/never-made-by-this-test", to), 0);
    CHECK_INT(CALL(w, open, w->dir, "nowhere", MMI_FILE_WRITE | MMI_FILE_CREATE, &fd), MM_ELOOP);
    path_of(w, "elsewhere", to);
    CHECK_INT(symlink("/tmp", to), 0);
    int rc = CALL(w, folder, w->dir, "elsewhere", &fd);
    CHECK(rc == MM_ENOTDIR || rc == MM_ELOOP);
    path_of(w, "hard", to);
    CHECK_INT(link(from, to), 0);
    CHECK_ERROR(CALL(w, open, w->dir, "hard", MMI_FILE_WRITE, &fd), MM_EPERM, EMLINK);
    CHECK_INT(CALL(w, open, w->dir, "secret", 0, &fd), MM_OK);   /* to read it harms nobody */
    CALL(w, close, fd);
    CHECK_INT(CALL(w, unlink, w->dir, "hard"), MM_OK);
    CHECK(file_is(&w->files, w->dir, "secret", "abc"));
    path_of(w, "fifo", to);
    CHECK_INT(mkfifo(to, 0600), 0);
    CHECK_INT(CALL(w, open, w->dir, "fifo", 0, &fd), MM_ENOTSUP);   /* and did not wait */
    CHECK_INT(CALL(w, open, w->dir, "fifo", MMI_FILE_WRITE, &fd), MM_ENOTSUP);
}

static void
note_other(void *arg, const mmi_entry *entry)
{
    int *others = arg;
    *others += entry->kind == MMI_ENTRY_OTHER && strcmp(entry->name, "a link") == 0;
    *others += entry->kind == MMI_ENTRY_FILE && strcmp(entry->name, "caf\xc3\xa9") == 0;
}

static void
test_a_list_hides_nothing_that_others_put_there(files_world *w)
{
    char path[PLACE_SIZE * 2];
    int others = 0;
    path_of(w, "a link", path);
    CHECK_INT(symlink("/tmp", path), 0);
    path_of(w, "caf\xc3\xa9", path);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    CHECK_INT(CALL(w, list, w->dir, note_other, &others), 2);
    CHECK_INT(others, 2);
}

static void
test_files_and_folders_are_for_their_owner_alone(files_world *w)
{
    struct stat st;
    char path[PLACE_SIZE * 2];
    mode_t before = umask(0);
    CALL(w, close, file_made(&w->files, w->dir, "f"));
    CHECK_INT(CALL(w, mkdir, w->dir, "d"), MM_OK);
    umask(before);
    path_of(w, "f", path);
    CHECK_INT(lstat(path, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    path_of(w, "d", path);
    CHECK_INT(lstat(path, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0700);
}

static void
test_a_folder_that_all_may_write_to_is_called_shared(files_world *w)
{
    static const mode_t modes[] = { 0702, 0777, 01777 }, others[] = { 0755, 0770, 02775 };
    mmi_space space;
    for (size_t i = 0; i < MMI_COUNT_OF(modes); i++) {
        CHECK_INT(chmod(w->path, modes[i]), 0);
        CHECK_INT(CALL(w, space, w->dir, &space), MM_OK);
        CHECK(space.shared);
    }
    for (size_t i = 0; i < MMI_COUNT_OF(others); i++) {
        CHECK_INT(chmod(w->path, others[i]), 0);
        CHECK_INT(CALL(w, space, w->dir, &space), MM_OK);
        CHECK(!space.shared && !space.remote);
    }
    CHECK_INT(chmod(w->path, 0700), 0);
}

static void
test_another_process_sees_the_lock_and_has_it_when_ours_is_gone(files_world *w)
{
    int file = file_made(&w->files, w->dir, "LOCK"), status, asked[2], given[2];
    char go;
    CHECK_INT(CALL(w, lock, file), MM_OK);
    CHECK_INT(pipe(asked), 0);
    CHECK_INT(pipe(given), 0);
    pid_t child = fork();
    if (child == 0) {
        int own = file_made(&w->files, w->dir, "LOCK");
        bool first = CALL(w, lock, own) == MM_EAGAIN;
        CALL(w, close, file);      /* a copy: the parent keeps the lock */
        bool second = CALL(w, lock, own) == MM_EAGAIN;
        bool told = write(asked[1], "x", 1) == 1 && read(given[0], &go, 1) == 1;
        _exit(first && second && told && CALL(w, lock, own) == MM_OK ? 0 : 1);
    }
    CHECK_INT(read(asked[0], &go, 1), 1);
    CHECK_INT(CALL(w, unlock, file), MM_OK);
    CHECK_INT(write(given[1], "x", 1), 1);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    for (int i = 0; i < 2; i++) {
        close(asked[i]);
        close(given[i]);
    }
    CALL(w, close, file);
}

static void
test_a_write_over_the_limit_is_short_and_the_next_says_why(files_world *w)
{
    struct rlimit before, limit;
    int file = file_made(&w->files, w->dir, "f");
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 10;
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK_INT(file_put(&w->files, file, 6, "abcdefgh", 8), 4);
    CHECK_ERROR(file_put(&w->files, file, 10, "efgh", 4), MM_ENOSPC, EFBIG);
    CHECK_ERROR(CALL(w, truncate, file, 11), MM_ENOSPC, EFBIG);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), 0);
    CHECK_INT(file_size(&w->files, file), 10);
    CHECK(signal(SIGXFSZ, was) == SIG_IGN);
    CALL(w, close, file);
}

static void
test_a_process_without_descriptors_is_told_so(files_world *w)
{
    int fd, count = 0;
    CALL(w, close, file_made(&w->files, w->dir, "f"));
    CHECK_INT(CALL(w, mkdir, w->dir, "d"), MM_OK);
    rlim_t before = fds_limit(0);
    CHECK_ERROR(CALL(w, open, w->dir, "f", 0, &fd), MM_EMFILE, EMFILE);
    CHECK_ERROR(CALL(w, folder, w->dir, "d", &fd), MM_EMFILE, EMFILE);
    CHECK_ERROR(CALL(w, root, w->path, &fd), MM_EMFILE, EMFILE);
    CHECK_ERROR(CALL(w, list, w->dir, note_other, &count), MM_EMFILE, EMFILE);
    fds_restore(before);
    CHECK_INT(CALL(w, list, w->dir, note_other, &count), 2);
}

static void
test_a_full_disk_says_so_of_a_write(files_world *w)
{
    int dev;
    /* The one file of the system that is always full; no regular file, so opened past the table. */
    int full = open("/dev/full", O_RDWR | O_CLOEXEC);
    CHECK(full >= 0);
    CHECK_ERROR(file_put(&w->files, full, 0, "x", 1), MM_ENOSPC, ENOSPC);
    close(full);
    CHECK_INT(CALL(w, root, "/dev", &dev), MM_OK);
    CHECK_INT(CALL(w, open, dev, "full", MMI_FILE_WRITE, &full), MM_ENOTSUP);
    CALL(w, close, dev);
}

int
main(void)
{
    static files_test *const tests[] = {
        test_a_link_or_pipe_in_place_of_a_file_is_not_opened,
        test_a_list_hides_nothing_that_others_put_there,
        test_files_and_folders_are_for_their_owner_alone,
        test_a_folder_that_all_may_write_to_is_called_shared,
        test_another_process_sees_the_lock_and_has_it_when_ours_is_gone,
        test_a_write_over_the_limit_is_short_and_the_next_says_why,
        test_a_process_without_descriptors_is_told_so,
        test_a_full_disk_says_so_of_a_write,
    };
    files_run_on("posix", tests, MMI_COUNT_OF(tests));
    return 0;
}
