/*
 * test_unix_file.c: the file of a unix listener: private, replaced when stale, removed when ours.
 * Not here: streams over it (test_plat_streams.c).
 * Law: no file is touched that is not a dead listener's; nothing is left behind.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "places.h"
#include "plat/posix/posix.h"

static char folder[PLACE_SIZE];

static int
listen_rc(const mmi_plat *p, const mmi_addr *a, int *l)
{
    mmi_addr at = *a;
    return p->listen(p->self, &at, l);
}

/* A socket file whose process died: bound, and closed without removing it. */
static void
leave_stale(const mmi_addr *a)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(un.sun_path, sizeof un.sun_path, "%s", a->path);
    CHECK_INT(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
    close(fd);
    CHECK(place_has(a->path));
}

static ino_t
inode_of(const char *path)
{
    struct stat st;
    CHECK_INT(lstat(path, &st), 0);
    return st.st_ino;
}

static void
test_the_file_is_its_owners_alone_whatever_the_umask(void)
{
    mmi_plat p = open_plat();
    mmi_addr a = addr_unix(folder, "s");
    const mode_t masks[] = { 0, 022, 077, 0777 };
    for (size_t i = 0; i < MMI_COUNT_OF(masks); i++) {
        int l;
        struct stat st;
        mode_t before = umask(masks[i]);
        CHECK_INT(listen_rc(&p, &a, &l), MM_OK);
        umask(before);
        CHECK_INT(lstat(a.path, &st), 0);
        CHECK(S_ISSOCK(st.st_mode));
        CHECK_INT(st.st_mode & 0777 & ~0600, 0);
        CHECK(masks[i] == 0777 || (st.st_mode & 0777) == 0600);
        p.close(p.self, l);
        CHECK(!place_has(a.path));
    }
    p.free(p.self);
}

static void
test_a_stale_socket_file_is_replaced(void)
{
    mmi_plat p = open_plat();
    mmi_addr a = addr_unix(folder, "stale");
    int l, s;
    leave_stale(&a);
    CHECK_INT(p.connect(p.self, &a, &s), MM_ECONNREFUSED);
    CHECK_INT(listen_rc(&p, &a, &l), MM_OK);
    CHECK_INT(p.connect(p.self, &a, &s), MM_OK);
    p.close(p.self, s);
    p.close(p.self, l);
    CHECK(!place_has(a.path));
    p.free(p.self);
}

/* Whoever binds in a folder holds a lock on it until it listens: before that it looks stale. */
static void
test_a_stale_file_is_not_replaced_while_another_binds_there(void)
{
    mmi_plat p = open_plat();
    mmi_addr a = addr_unix(folder, "stale"), fresh = addr_unix(folder, "fresh");
    int l, before = fds_open(), other = open(folder, O_RDONLY | O_DIRECTORY);
    leave_stale(&a);
    ino_t inode = inode_of(a.path);
    CHECK_INT(flock(other, LOCK_EX), 0);
    CHECK_INT(listen_rc(&p, &a, &l), MM_EADDRINUSE);
    CHECK(inode_of(a.path) == inode);
    CHECK_INT(listen_rc(&p, &fresh, &l), MM_OK);   /* but nobody keeps us from a new one */
    p.close(p.self, l);
    CHECK_INT(flock(other, LOCK_UN), 0);
    CHECK_INT(listen_rc(&p, &a, &l), MM_OK);
    CHECK_INT(flock(other, LOCK_EX | LOCK_NB), 0);   /* it was given back */
    p.close(p.self, l);
    close(other);
    fds_are(before);
    p.free(p.self);
}

/* A process that binds when the pipe is closed; whether it got the address.  It then holds it until
 * its other pipe is closed, too. */
static void
race_run(const mmi_addr *a, int start, int result, int end)
{
    char c;
    mmi_plat p = open_plat();
    int l;
    CHECK_INT(read(start, &c, 1), 0);
    int rc = listen_rc(&p, a, &l);
    CHECK(rc == MM_OK || rc == MM_EADDRINUSE);
    c = rc == MM_OK;
    CHECK_INT(write(result, &c, 1), 1);
    CHECK_INT(read(end, &c, 1), 0);
    _exit(0);   /* its file stays, and is stale */
}

static void
test_of_processes_that_find_the_same_stale_file_one_gets_it(void)
{
    enum { ROUNDS = 25, RACERS = 6 };
    mmi_addr a = addr_unix(folder, "race");
    leave_stale(&a);
    for (int round = 0; round < ROUNDS; round++) {
        int start[2], result[2], end[2], winners = 0, status, s;
        CHECK(pipe(start) == 0 && pipe(result) == 0 && pipe(end) == 0);
        for (int i = 0; i < RACERS; i++) {
            if (fork() == 0) {
                close(start[1]);
                close(end[1]);
                race_run(&a, start[0], result[1], end[0]);
            }
        }
        close(start[1]);
        for (int i = 0; i < RACERS; i++) {
            char won;
            CHECK_INT(read(result[0], &won, 1), 1);
            winners += won;
        }
        CHECK_INT(winners, 1);
        mmi_plat p = open_plat();
        CHECK_INT(p.connect(p.self, &a, &s), MM_OK);
        p.close(p.self, s);
        p.free(p.self);
        close(end[1]);
        for (int i = 0; i < RACERS; i++) {
            CHECK(wait(&status) > 0 && status == 0);
        }
        const int left[] = { start[0], result[0], result[1], end[0] };
        for (size_t i = 0; i < MMI_COUNT_OF(left); i++) {
            close(left[i]);
        }
    }
    CHECK_INT(unlink(a.path), 0);
}

static void
test_a_file_somebody_answers_on_is_in_use_and_stays(void)
{
    mmi_plat p = open_plat(), other = open_plat();
    mmi_addr a = addr_unix(folder, "live");
    int l, more, s;
    CHECK_INT(listen_rc(&other, &a, &l), MM_OK);
    ino_t inode = inode_of(a.path);
    CHECK_INT(listen_rc(&p, &a, &more), MM_EADDRINUSE);
    CHECK(inode_of(a.path) == inode);
    CHECK_INT(p.connect(p.self, &a, &s), MM_OK);
    other.close(other.self, l);
    p.free(p.self);
    other.free(other.self);
}

static void
test_a_listener_too_busy_to_answer_is_not_stale(void)
{
    mmi_plat p = open_plat();
    mmi_addr a = addr_unix(folder, "busy");
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), s, l, rc;
    snprintf(un.sun_path, sizeof un.sun_path, "%s", a.path);
    CHECK_INT(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
    CHECK_INT(listen(fd, 0), 0);
    int count = 0;
    do {
        rc = p.connect(p.self, &a, &s);
    } while (rc == MM_OK && ++count < 100);
    CHECK_INT(rc, MM_ECONNREFUSED);   /* nobody takes us now: tried again later, not waited for */
    CHECK_INT(listen_rc(&p, &a, &l), MM_EADDRINUSE);
    CHECK(place_has(a.path));
    close(fd);
    unlink(a.path);
    p.free(p.self);
}

static void
test_what_is_no_stream_socket_is_never_touched(void)
{
    mmi_plat p = open_plat();
    mmi_addr file = addr_unix(folder, "file"), dir = addr_unix(folder, "dir");
    mmi_addr soft = addr_unix(folder, "link"), dgram = addr_unix(folder, "dgram");
    mmi_addr dead = addr_unix(folder, "dead");
    const mmi_addr *all[] = { &file, &dir, &soft, &dgram };
    int l, fd = open(file.path, O_CREAT | O_WRONLY, 0644);
    CHECK_INT(write(fd, "data", 4), 4);
    close(fd);
    CHECK_INT(mkdir(dir.path, 0700), 0);
    leave_stale(&dead);
    CHECK_INT(symlink(dead.path, soft.path), 0);   /* not even a link to a stale one */
    int live = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    snprintf(un.sun_path, sizeof un.sun_path, "%s", dgram.path);
    CHECK_INT(bind(live, (struct sockaddr *)&un, sizeof un), 0);
    for (size_t i = 0; i < MMI_COUNT_OF(all); i++) {
        ino_t inode = inode_of(all[i]->path);
        CHECK_INT(listen_rc(&p, all[i], &l), i < 3 ? MM_EEXIST : MM_EADDRINUSE);
        CHECK(inode_of(all[i]->path) == inode);
    }
    struct stat st;
    CHECK(stat(file.path, &st) == 0 && st.st_size == 4);
    close(live);
    CHECK(rmdir(dir.path) == 0 && unlink(file.path) == 0 && unlink(soft.path) == 0);
    CHECK(unlink(dgram.path) == 0 && unlink(dead.path) == 0);
    p.free(p.self);
}

static void
test_a_file_that_is_no_longer_ours_is_not_removed(void)
{
    mmi_plat p = open_plat(), other = open_plat();
    mmi_addr a = addr_unix(folder, "moved");
    int l, theirs, s;
    CHECK_INT(listen_rc(&p, &a, &l), MM_OK);
    CHECK_INT(unlink(a.path), 0);
    CHECK_INT(listen_rc(&other, &a, &theirs), MM_OK);
    p.close(p.self, l);
    CHECK(place_has(a.path));
    CHECK_INT(p.connect(p.self, &a, &s), MM_OK);
    other.close(other.self, theirs);
    CHECK(!place_has(a.path));
    CHECK_INT(listen_rc(&p, &a, &l), MM_OK);
    CHECK_INT(unlink(a.path), 0);
    p.close(p.self, l);   /* already gone is fine */
    p.free(p.self);
    other.free(other.self);
}

static void
test_closing_a_stream_removes_no_file(void)
{
    mmi_plat p = open_plat();
    mmi_addr a = addr_unix(folder, "one"), b = addr_unix(folder, "two"), peer;
    int first, second, s, t;
    CHECK_INT(listen_rc(&p, &a, &first), MM_OK);
    CHECK_INT(listen_rc(&p, &b, &second), MM_OK);
    CHECK_INT(p.connect(p.self, &a, &s), MM_OK);
    CHECK_INT(p.accept(p.self, first, &t, &peer), MM_OK);
    p.close(p.self, s);
    p.close(p.self, t);
    CHECK(place_has(a.path) && place_has(b.path));
    p.close(p.self, first);
    CHECK(!place_has(a.path) && place_has(b.path));
    p.close(p.self, second);
    p.free(p.self);
}

static void
test_a_path_that_cannot_be_is_a_bad_address(void)
{
    mmi_plat p = open_plat();
    int l, before = fds_open();
    mmi_addr a = addr_unix(folder, "no/such/folder");
    CHECK_INT(listen_rc(&p, &a, &l), MM_ENOENT);
    CHECK_INT(p.connect(p.self, &a, &l), MM_ECONNREFUSED);   /* a dialer goes on trying */
    a = addr_unix("/dev/null", "x");
    CHECK_INT(listen_rc(&p, &a, &l), MM_ENOTDIR);
    fds_are(before);
    p.free(p.self);
}

static void
test_the_longest_path_is_whole(void)
{
    mmi_plat p = open_plat();
    mmi_addr a = { .kind = MMI_ADDR_UNIX };
    int l, s;
    size_t have = (size_t)snprintf(a.path, sizeof a.path, "%s/", folder);
    memset(a.path + have, 'x', sizeof a.path - 1 - have);
    CHECK_INT(strlen(a.path), 107);
    CHECK_INT(listen_rc(&p, &a, &l), MM_OK);
    CHECK(place_has(a.path));
    CHECK_INT(p.connect(p.self, &a, &s), MM_OK);
    p.close(p.self, l);
    CHECK(!place_has(a.path));
    p.free(p.self);
}

static void
test_no_memory_and_no_descriptors_leave_no_file(void)
{
    mmi_plat p = open_plat();
    mmi_addr a = addr_unix(folder, "none");
    int l, before = fds_open();
    bool listening = false;
    for (int64_t n = 1; !listening; n++) {
        mm_test_alloc_fail(n);
        int rc = listen_rc(&p, &a, &l);
        mm_test_alloc_fail(0);
        listening = rc == MM_OK;
        CHECK(listening || (rc == MM_ENOMEM && !place_has(a.path)));
        CHECK(n < 5);
    }
    p.close(p.self, l);
    rlim_t limit = fds_limit(0);
    CHECK_INT(listen_rc(&p, &a, &l), MM_EMFILE);
    fds_restore(limit);
    leave_stale(&a);
    limit = fds_limit(1);   /* one for the listener, none to ask whether the file is stale */
    CHECK_INT(listen_rc(&p, &a, &l), MM_EADDRINUSE);
    fds_restore(limit);
    CHECK(place_has(a.path));
    unlink(a.path);
    fds_are(before);
    p.free(p.self);
}

static int
fresh_rc(const mmi_plat *p, mmi_addr *a, int *l)
{
    *a = (mmi_addr){ .kind = MMI_ADDR_UNIX, .any = true };
    return p->listen(p->self, a, l);
}

static void
folder_of(const mmi_addr *a, char out[sizeof a->path])
{
    strcpy(out, a->path);
    *strrchr(out, '/') = '\0';
}

static void
test_a_fresh_path_is_in_a_folder_of_its_own_that_goes_with_it(void)
{
    mmi_plat p = open_plat();
    mmi_addr one, two;
    char first[sizeof one.path], second[sizeof two.path];
    struct stat st;
    int l, m, s, before = fds_open();
    mode_t mask = umask(0777);   /* takes nothing away, as it would of a folder made naively */
    CHECK_INT(fresh_rc(&p, &one, &l), MM_OK);
    umask(0);                    /* and adds nothing */
    CHECK_INT(fresh_rc(&p, &two, &m), MM_OK);
    umask(mask);
    folder_of(&one, first);
    folder_of(&two, second);
    CHECK(strcmp(first, second) != 0 && strncmp(first, folder, strlen(folder)) == 0);
    CHECK(stat(first, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0700);
    CHECK(stat(second, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0700);
    CHECK_INT(p.connect(p.self, &two, &s), MM_OK);
    p.close(p.self, s);
    p.close(p.self, l);
    CHECK(!place_has(first) && place_has(two.path));
    p.close(p.self, m);
    CHECK(!place_has(second));
    CHECK_INT(fresh_rc(&p, &one, &l), MM_OK); /* the end of the platform is the end of it, too */
    fds_are(before + 1);
    p.free(p.self);
    CHECK(!place_has(one.path));
}

static void
test_a_fresh_path_that_cannot_be_made_says_why_and_leaves_nothing(void)
{
    mmi_plat p = open_plat();
    mmi_addr a;
    char wrong[sizeof a.path * 2];
    int l, before = fds_open();
    snprintf(wrong, sizeof wrong, "%s/no", folder);
    setenv("TMPDIR", wrong, 1);
    CHECK_INT(fresh_rc(&p, &a, &l), MM_ENOENT);
    memset(wrong, 'x', sizeof wrong);
    wrong[0] = '/';
    wrong[sizeof wrong - 1] = '\0';
    setenv("TMPDIR", wrong, 1);
    CHECK_INT(fresh_rc(&p, &a, &l), MM_ENAMETOOLONG);
    setenv("TMPDIR", folder, 1);
    bool listening = false;
    for (int64_t n = 1; !listening; n++) {
        mm_test_alloc_fail(n);
        listening = fresh_rc(&p, &a, &l) == MM_OK;
        mm_test_alloc_fail(0);
        CHECK(n < 5);
    }
    p.close(p.self, l);
    fds_are(before); /* and the folder is empty, or it could not be removed at the end */
    p.free(p.self);
}

int
main(void)
{
    int before = fds_open();
    place_open(folder);
    setenv("TMPDIR", folder, 1);
    RUN(test_the_file_is_its_owners_alone_whatever_the_umask);
    RUN(test_a_stale_socket_file_is_replaced);
    RUN(test_a_stale_file_is_not_replaced_while_another_binds_there);
    RUN(test_of_processes_that_find_the_same_stale_file_one_gets_it);
    RUN(test_a_file_somebody_answers_on_is_in_use_and_stays);
    RUN(test_a_listener_too_busy_to_answer_is_not_stale);
    RUN(test_what_is_no_stream_socket_is_never_touched);
    RUN(test_a_file_that_is_no_longer_ours_is_not_removed);
    RUN(test_closing_a_stream_removes_no_file);
    RUN(test_a_path_that_cannot_be_is_a_bad_address);
    RUN(test_the_longest_path_is_whole);
    RUN(test_no_memory_and_no_descriptors_leave_no_file);
    RUN(test_a_fresh_path_is_in_a_folder_of_its_own_that_goes_with_it);
    RUN(test_a_fresh_path_that_cannot_be_made_says_why_and_leaves_nothing);
    place_close(folder);
    fds_are(before);
    return 0;
}
