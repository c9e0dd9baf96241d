/*
 * test_posix.c: the real platform's clocks, deadlines, notifiers, threads, fork and memory.
 * Not here: what it shares with the simulated one (test_plat_*.c), pollers (test_pollers.c).
 * Law: what cannot be opened leaves nothing open; a fork closes only what the platform opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "places.h"
#include "plat/posix/posix.h"

static void
test_a_deadline_becomes_a_timeout_rounded_up(void)
{
    uint64_t now = mmi_posix_now_ns();
    CHECK_INT(mmi_posix_timeout_ms(UINT64_MAX), -1);
    CHECK_INT(mmi_posix_timeout_ms(0), 0);
    CHECK_INT(mmi_posix_timeout_ms(now), 0);
    CHECK_INT(mmi_posix_timeout_ms(UINT64_MAX - 1), INT32_MAX);
    int ms = mmi_posix_timeout_ms(now + 3600 * PLACE_SECOND_NS);
    CHECK(ms > 3500000 && ms <= 3600000);
    ms = mmi_posix_timeout_ms(mmi_posix_now_ns() + PLACE_SECOND_NS / 2 + 1);
    CHECK(ms >= 0 && ms <= 501);   /* a part of a millisecond counts as a whole one */
}

static void
test_system_errors_become_ours(void)
{
    static const struct {
        int error, wanted;
    } table[] = {
        { EAGAIN, MM_EAGAIN },
        { EINPROGRESS, MM_EAGAIN },
        { ECONNREFUSED, MM_ECONNREFUSED },
        { ENOENT, MM_ECONNREFUSED },
        { EADDRINUSE, MM_EADDRINUSE },
        { EADDRNOTAVAIL, MM_EADDRNOTAVAIL },
        { EAFNOSUPPORT, MM_EADDRNOTAVAIL },
        { ENOTDIR, MM_ENOTDIR },
        { ENAMETOOLONG, MM_ENAMETOOLONG },
        { EINVAL, MM_EADDRINVAL },
        { EACCES, MM_EPERM },
        { EPERM, MM_EPERM },
        { EROFS, MM_EROFS },
        { EMFILE, MM_EMFILE },
        { ENFILE, MM_EMFILE },
        { ENOMEM, MM_ENOMEM },
        { ENOBUFS, MM_ENOMEM },
        { ENOSPC, MM_ENOSPC },
        { EDQUOT, MM_ENOSPC },
        { ENETUNREACH, MM_ENOROUTE },
        { EHOSTUNREACH, MM_ENOROUTE },
        { ELOOP, MM_ELOOP },
        { EIO, MM_ECONNRESET },
        { ETIMEDOUT, MM_ENOROUTE },
        { ECONNRESET, MM_ECONNRESET },
        { EPIPE, MM_ECONNRESET },
        { ECONNABORTED, MM_ECONNRESET },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        CHECK_INT(mmi_posix_error(table[i].error), table[i].wanted);
    }
}

static void
test_engines_of_one_process_can_pass_streams_to_each_other(void)
{
    mmi_plat a = open_plat(), b;
    CHECK_INT(mmi_plat_posix(true, &b), MM_OK);
    CHECK(a.domain == b.domain && a.self != b.self);
    int ends[2];
    char buf[4];
    CHECK_INT(a.pair(a.self, ends), MM_OK);
    CHECK_INT(b.watch(b.self, ends[1], MMI_WATCH_READ, 3), MM_OK);
    CHECK_INT(plat_put(&a, ends[0], "hi", 2), 2);
    mmi_event event;
    CHECK_INT(b.poll(b.self, &event, 1, UINT64_MAX), 1);
    CHECK_INT(plat_get(&b, ends[1], buf, sizeof buf), 2);
    b.close(b.self, ends[1]);
    CHECK_INT(plat_get(&a, ends[0], buf, sizeof buf), 0);
    a.free(a.self);   /* closes the end that was left */
    b.free(b.self);
}

static void
test_a_notifier_is_a_descriptor_to_select_on(void)
{
    mmi_plat p = open_plat();
    int n;
    CHECK_INT(p.notifier_open(p.self, &n), MM_OK);
    struct pollfd fd = { .fd = n, .events = POLLIN };
    CHECK_INT(poll(&fd, 1, 0), 0);
    CHECK((fcntl(n, F_GETFL) & O_NONBLOCK) != 0 && fcntl(n, F_GETFD) == FD_CLOEXEC);
    p.notifier_ring(p.self, n);
    CHECK_INT(poll(&fd, 1, 0), 1);
    p.notifier_clear(p.self, n);
    CHECK_INT(poll(&fd, 1, 0), 0);
    uint64_t almost = UINT64_MAX - 1;
    CHECK_INT(write(n, &almost, sizeof almost), sizeof almost);
    p.notifier_ring(p.self, n);   /* the counter is full: rung is rung, and nobody blocks */
    CHECK_INT(p.wait(p.self, n, 0), MM_OK);
    p.free(p.self);
}

static void
on_signal(int number)
{
    (void)number;
}

static void
test_a_signal_ends_a_wait(void)
{
    mmi_plat p = open_plat();
    int n;
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, before;
    CHECK_INT(p.notifier_open(p.self, &n), MM_OK);
    sigaction(SIGALRM, &action, &before);
    ualarm(20000, 20000);
    CHECK_INT(p.wait(p.self, n, UINT64_MAX), MM_EINTR);
    ualarm(0, 0);
    sigaction(SIGALRM, &before, NULL);
    p.free(p.self);
}

typedef struct seen {
    atomic_int runs;
    bool blocked[65];
} seen;

static void
look_at_signals(void *arg)
{
    seen *s = arg;
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    for (int number = 1; number <= 31; number++) {
        s->blocked[number] = sigismember(&set, number) == 1;
    }
    atomic_fetch_add(&s->runs, 1);
}

static void
test_a_thread_has_every_signal_blocked_and_its_starter_none_more(void)
{
    mmi_plat p = open_plat();
    seen s = { 0 };
    void *thread = NULL;
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    CHECK_INT(p.thread_start(p.self, look_at_signals, &s, &thread), MM_OK);
    CHECK(thread != NULL);
    p.thread_join(p.self, thread);
    CHECK_INT(s.runs, 1);
    for (int number = 1; number <= 31; number++) {
        CHECK(s.blocked[number] || number == SIGKILL || number == SIGSTOP);
    }
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int number = 1; number <= 31; number++) {
        CHECK_INT(sigismember(&after, number), sigismember(&before, number));
    }
    mm_test_alloc_fail(1);
    CHECK_INT(p.thread_start(p.self, look_at_signals, &s, &thread), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK_INT(s.runs, 1);
    p.free(p.self);
}

static void
test_no_memory_at_any_point_opens_no_platform(void)
{
    for (int use_poll = 0; use_poll < 2; use_poll++) {
        bool opened = false;
        for (int64_t n = 1; !opened; n++) {
            mmi_plat p;
            int before = fds_open();
            CHECK(n < 10);
            mm_test_alloc_fail(n);
            int rc = mmi_plat_posix(use_poll == 1, &p);
            mm_test_alloc_fail(0);
            opened = rc == MM_OK;
            CHECK(opened || rc == MM_ENOMEM);
            if (opened) {
                CHECK(n > 3);
                p.free(p.self);
            }
            fds_are(before);
        }
    }
}

static void
test_no_descriptors_open_no_platform_and_no_notifier(void)
{
    mmi_plat p;
    int n = -7;
    for (int use_poll = 0; use_poll < 2; use_poll++) {
        rlim_t limit = fds_limit(0);
        int rc = mmi_plat_posix(use_poll == 1, &p);
        fds_restore(limit);
        CHECK_INT(rc, MM_EMFILE);
    }
    p = open_plat();
    rlim_t limit = fds_limit(0);
    CHECK_INT(p.notifier_open(p.self, &n), MM_EMFILE);
    fds_restore(limit);
    CHECK_INT(n, -7);
    p.free(p.self);
}

static void
test_free_closes_what_is_left_and_removes_its_socket_file(void)
{
    char folder[PLACE_SIZE];
    place_open(folder);
    int before = fds_open(), l, n, ends[2];
    mmi_plat p = open_plat();
    mmi_addr at = addr_unix(folder, "left"), tcp = addr_tcp4(0);
    CHECK_INT(p.listen(p.self, &at, &l), MM_OK);
    CHECK_INT(p.listen(p.self, &tcp, &l), MM_OK);
    CHECK_INT(p.notifier_open(p.self, &n), MM_OK);
    CHECK_INT(p.pair(p.self, ends), MM_OK);
    CHECK_INT(p.watch(p.self, ends[1], MMI_WATCH_READ, 1), MM_OK);
    CHECK(place_has(at.path));
    p.free(p.self);
    fds_are(before);
    CHECK(!place_has(at.path));
    place_close(folder);
}

static void
test_a_forked_child_closes_what_the_platform_opened_and_nothing_else(void)
{
    char folder[PLACE_SIZE];
    place_open(folder);
    int other = dup(0), before = fds_open(), l, ends[2], status;
    mmi_plat p = open_plat();
    mmi_addr at = addr_unix(folder, "kept");
    char buf[4];
    CHECK_INT(p.listen(p.self, &at, &l), MM_OK);
    CHECK_INT(p.pair(p.self, ends), MM_OK);
    CHECK_INT(p.watch(p.self, ends[1], MMI_WATCH_READ, 9), MM_OK);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        p.after_fork(p.self);
        bool right = fds_open() == before && fcntl(other, F_GETFD) >= 0 && place_has(at.path);
        _exit(right ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_INT(plat_put(&p, ends[0], "on", 2), 2);   /* nothing was shut down or unwatched */
    mmi_event event;
    CHECK_INT(p.poll(p.self, &event, 1, UINT64_MAX), 1);
    CHECK_INT(event.tag, 9);
    CHECK_INT(plat_get(&p, ends[1], buf, sizeof buf), 2);
    p.free(p.self);
    close(other);
    place_close(folder);
}

/* A descriptor beyond what the table of open ones has room for at first. */
static void
high_pair(int ends[2])
{
    int low[2];
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, low), 0);
    ends[0] = fcntl(low[0], F_DUPFD, 500);
    ends[1] = fcntl(low[1], F_DUPFD, 500);
    CHECK(ends[0] >= 500 && ends[1] >= 500);
    close(low[0]);
    close(low[1]);
}

static void
test_a_watch_without_memory_leaves_the_stream_its_owners(void)
{
    mmi_plat p = open_plat();
    int ends[2];
    high_pair(ends);
    mm_test_alloc_fail(1);
    CHECK_INT(p.watch(p.self, ends[0], MMI_WATCH_READ, 1), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK(fcntl(ends[0], F_GETFD) >= 0);   /* who owns it closes it, and once */
    CHECK_INT(p.watch(p.self, ends[0], MMI_WATCH_READ, 1), MM_OK);
    p.close(p.self, ends[0]);
    CHECK_INT(fcntl(ends[0], F_GETFD), -1);
    p.close(p.self, ends[1]);   /* never noted: closed all the same */
    CHECK_INT(fcntl(ends[1], F_GETFD), -1);
    p.free(p.self);
}

static void
test_a_descriptor_that_cannot_be_noted_is_closed(void)
{
    mmi_posix p = { .open = NULL };
    int ends[2];
    pthread_mutex_init(&p.lock, NULL);
    high_pair(ends);
    mm_test_alloc_fail(1);
    CHECK_INT(mmi_posix_note(&p, ends[0]), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK_INT(fcntl(ends[0], F_GETFD), -1);
    CHECK_INT(mmi_posix_note(&p, ends[1]), ends[1]);
    CHECK_INT(mmi_posix_note(&p, ends[1]), ends[1]);
    CHECK((p.open[ends[1] / 64] >> (ends[1] % 64) & 1) == 1);
    mmi_posix_shut(&p, ends[1]);
    CHECK_INT(p.open[ends[1] / 64], 0);
    CHECK_INT(fcntl(ends[1], F_GETFD), -1);
    mmi_free(p.open);
    pthread_mutex_destroy(&p.lock);
}

/* For event loops of others: what it shows is there until it was dealt with. */
static bool
shows(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    return poll(&one, 1, 0) == 1;
}

static void
test_an_outlook_shows_its_notifier_and_while_joined_what_poll_would_find(void)
{
    mmi_plat p = open_plat();
    mmi_event event;
    int notifier, fd;
    CHECK_INT(p.notifier_open(p.self, &notifier), MM_OK);
    CHECK_INT(p.outlook_open(p.self, notifier, &fd), MM_OK);
    CHECK(!shows(fd));
    p.notifier_ring(p.self, notifier);
    CHECK(shows(fd));
    p.notifier_clear(p.self, notifier);
    p.interrupt(p.self);
    CHECK(!shows(fd));
    CHECK_INT(p.outlook_join(p.self, fd, true), MM_OK);
    CHECK(shows(fd));
    CHECK_INT(p.poll(p.self, &event, 1, 0), 0);
    CHECK(!shows(fd));
    int ends[2];   /* streams within the process are in no set of the system's */
    CHECK_INT(p.pair(p.self, ends), MM_OK);
    CHECK_INT(p.watch(p.self, ends[0], MMI_WATCH_READ, 7), MM_OK);
    CHECK(!shows(fd));
    CHECK_INT(plat_put(&p, ends[1], "x", 1), 1);
    CHECK(shows(fd));
    CHECK_INT(p.poll(p.self, &event, 1, 0), 1);
    CHECK(event.tag == 7);
    p.close(p.self, ends[0]);
    p.close(p.self, ends[1]);
    CHECK_INT(p.poll(p.self, &event, 1, 0), 0);
    CHECK(!shows(fd));
    CHECK_INT(p.outlook_join(p.self, fd, false), MM_OK);
    p.interrupt(p.self);
    CHECK(!shows(fd));
    CHECK(p.outlook_join(p.self, notifier, true) < 0);   /* that is no outlook */
    CHECK(p.outlook_open(p.self, -1, &fd) < 0);
    p.free(p.self);
    CHECK_INT(mmi_plat_posix(true, &p), MM_OK);
    CHECK(p.outlook_open == NULL && !p.callers_poll);
    p.free(p.self);
}

/* One after the other they are given descriptor 0, which was standard input. */
static void
test_descriptor_0_is_as_good_as_any(void)
{
    int saved = dup(0), n;
    for (int who = 0; who < 3; who++) {
        mmi_plat p;
        mmi_addr at = addr_tcp4(0);
        bool known = who > 0 && mmi_plat_posix(who == 1, &p) == MM_OK;
        (void)close(0);
        CHECK_INT(known ? MM_OK : mmi_plat_posix(false, &p), MM_OK);
        CHECK(who != 1 || (p.notifier_open(p.self, &n) == MM_OK && n == 0));
        CHECK(who != 2 || (p.listen(p.self, &at, &n) == MM_OK && n == 0));
        CHECK(fcntl(0, F_GETFD) == FD_CLOEXEC);
        p.free(p.self);
        CHECK_INT(fcntl(0, F_GETFD), -1);
    }
    CHECK(saved < 0 || (dup2(saved, 0) == 0 && close(saved) == 0));
}

int
main(void)
{
    int before = fds_open();
    RUN(test_a_deadline_becomes_a_timeout_rounded_up);
    RUN(test_system_errors_become_ours);
    RUN(test_engines_of_one_process_can_pass_streams_to_each_other);
    RUN(test_a_notifier_is_a_descriptor_to_select_on);
    RUN(test_a_signal_ends_a_wait);
    RUN(test_a_thread_has_every_signal_blocked_and_its_starter_none_more);
    RUN(test_no_memory_at_any_point_opens_no_platform);
    RUN(test_no_descriptors_open_no_platform_and_no_notifier);
    RUN(test_free_closes_what_is_left_and_removes_its_socket_file);
    RUN(test_a_forked_child_closes_what_the_platform_opened_and_nothing_else);
    RUN(test_a_watch_without_memory_leaves_the_stream_its_owners);
    RUN(test_a_descriptor_that_cannot_be_noted_is_closed);
    RUN(test_an_outlook_shows_its_notifier_and_while_joined_what_poll_would_find);
    RUN(test_descriptor_0_is_as_good_as_any);
    fds_are(before);
    return 0;
}
