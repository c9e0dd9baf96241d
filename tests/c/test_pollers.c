/*
 * test_pollers.c: one suite for both pollers, epoll and poll: what is watched, tags, hang-ups,
 * interruption from other threads.
 * Not here: streams (test_stream.c); failing system calls (test_syscalls.c).
 * Law: every test runs against each poller and leaves no descriptor open.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "places.h"
#include "plat/posix/posix.h"

enum { MANY = 600, CAP = 1024 };

static const uint64_t ASYNC_NS = 10000000000;
static mmi_event events[CAP];

static mmi_poller *
poller_open(const mmi_poller_ops *ops)
{
    int error = 1;
    mmi_poller *p = ops->open(&error);
    CHECK(p != NULL && error == 1);
    return p;
}

static void
socket_pair(int ends[2])
{
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
}

/* How often a tag is among the events of one poll; its bits in *bits. */
static int
told(const mmi_poller_ops *ops, mmi_poller *p, uint64_t tag, uint32_t *bits)
{
    int count = ops->poll(p, events, CAP, 0), times = 0;
    for (int i = 0; i < count; i++) {
        if (events[i].tag == tag) {
            times++;
            *bits = events[i].events;
        }
    }
    return times;
}

static void
test_only_what_was_asked_for_is_told(const mmi_poller_ops *ops)
{
    mmi_poller *p = poller_open(ops);
    int ends[2];
    uint32_t bits = 0;
    socket_pair(ends);
    CHECK_INT(ops->poll(p, events, CAP, 0), 0);
    CHECK_INT(ops->watch(p, ends[0], MMI_WATCH_READ, 5), MM_OK);
    CHECK_INT(told(ops, p, 5, &bits), 0);
    CHECK_INT(write(ends[1], "x", 1), 1);
    CHECK_INT(told(ops, p, 5, &bits), 1);
    CHECK_INT(bits, MMI_WATCH_READ);
    CHECK_INT(ops->watch(p, ends[0], MMI_WATCH_WRITE, 5), MM_OK);
    CHECK_INT(told(ops, p, 5, &bits), 1);
    CHECK_INT(bits, MMI_WATCH_WRITE);
    CHECK_INT(ops->watch(p, ends[0], MMI_WATCH_READ | MMI_WATCH_WRITE, 6), MM_OK);
    CHECK_INT(told(ops, p, 5, &bits), 0);
    CHECK_INT(told(ops, p, 6, &bits), 1);
    CHECK_INT(bits, MMI_WATCH_READ | MMI_WATCH_WRITE);
    CHECK_INT(ops->watch(p, ends[0], 0, 6), MM_OK);
    CHECK_INT(ops->poll(p, events, CAP, 0), 0);
    CHECK_INT(ops->watch(p, ends[0], 0, 6), MM_OK);   /* twice is fine */
    close(ends[0]);
    close(ends[1]);
    ops->close(p);
}

static void
test_a_hang_up_is_told_to_readers_and_writers_and_not_to_who_watches_nothing(
    const mmi_poller_ops *ops)
{
    mmi_poller *p = poller_open(ops);
    int ends[2];
    uint32_t bits = 0;
    socket_pair(ends);
    close(ends[1]);
    CHECK_INT(ops->watch(p, ends[0], MMI_WATCH_READ, 1), MM_OK);
    CHECK_INT(told(ops, p, 1, &bits), 1);
    CHECK((bits & MMI_WATCH_READ) != 0 && (bits & MMI_WATCH_HANGUP) != 0);
    CHECK_INT(ops->watch(p, ends[0], 0, 1), MM_OK);
    CHECK_INT(ops->poll(p, events, CAP, 0), 0);   /* a mask of nothing would tell it for ever */
    CHECK_INT(ops->watch(p, ends[0], MMI_WATCH_WRITE, 2), MM_OK);
    CHECK_INT(told(ops, p, 2, &bits), 1);
    CHECK((bits & MMI_WATCH_READ) != 0 && (bits & MMI_WATCH_WRITE) != 0);
    close(ends[0]);
    ops->close(p);
}

static void
test_a_descriptor_closed_under_the_poller_is_not_told(const mmi_poller_ops *ops)
{
    mmi_poller *p = poller_open(ops);
    int ends[2];
    socket_pair(ends);
    CHECK_INT(ops->watch(p, ends[0], MMI_WATCH_READ | MMI_WATCH_WRITE, 1), MM_OK);
    close(ends[0]);
    CHECK_INT(ops->poll(p, events, CAP, 0), 0);
    close(ends[1]);
    ops->close(p);
}

static void
test_many_descriptors_each_with_its_own_tag(const mmi_poller_ops *ops)
{
    mmi_poller *p = poller_open(ops);
    int (*ends)[2] = calloc(MANY / 2, sizeof *ends);
    bool seen[MANY] = { false };
    CHECK(ends != NULL);
    for (int i = 0; i < MANY / 2; i++) {
        socket_pair(ends[i]);
        for (int k = 0; k < 2; k++) {
            CHECK_INT(ops->watch(p, ends[i][k], MMI_WATCH_WRITE, (uint64_t)(2 * i + k)), MM_OK);
        }
    }
    int total = 0;
    for (int turn = 0; turn < 10 && total < MANY; turn++) {   /* a poll may give a part of them */
        int count = ops->poll(p, events, CAP, 0);
        CHECK(count > 0 && count <= MANY);
        for (int i = 0; i < count; i++) {
            CHECK(events[i].tag < MANY);
            total += !seen[events[i].tag];
            seen[events[i].tag] = true;
        }
    }
    CHECK_INT(total, MANY);
    for (int i = 0; i < MANY / 2; i++) {   /* out of the middle, whatever the order */
        CHECK_INT(ops->watch(p, ends[(i * 7) % (MANY / 2)][0], 0, 0), MM_OK);
    }
    int count = ops->poll(p, events, CAP, 0);
    for (int i = 0; i < count; i++) {
        CHECK_INT(events[i].tag % 2, 1);
    }
    for (int i = 0; i < MANY / 2; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
    free(ends);
    ops->close(p);
}

static void
test_an_interrupt_is_kept_for_the_next_poll_and_ends_one_only(const mmi_poller_ops *ops)
{
    mmi_poller *p = poller_open(ops);
    for (int times = 1; times <= 3; times++) {
        for (int i = 0; i < times; i++) {
            ops->interrupt(p);
        }
        CHECK_INT(ops->poll(p, events, CAP, UINT64_MAX), 0);   /* or waits for ever */
        CHECK_INT(ops->poll(p, events, CAP, mmi_posix_now_ns() + 1000000), 0);
    }
    ops->close(p);
}

typedef struct poller_thread {
    const mmi_poller_ops *ops;
    mmi_poller *poller;
    int fd, count;
    pthread_barrier_t barrier;
} poller_thread;

static void *
poller_wait(void *arg)
{
    poller_thread *t = arg;
    pthread_barrier_wait(&t->barrier);
    t->count = t->ops->poll(t->poller, events, CAP, UINT64_MAX);
    return NULL;
}

static void
test_another_thread_interrupts_a_poll(const mmi_poller_ops *ops)
{
    poller_thread t = { .ops = ops, .poller = poller_open(ops), .count = -1 };
    pthread_t id;
    for (int i = 0; i < 50; i++) {
        pthread_barrier_init(&t.barrier, NULL, 2);
        CHECK_INT(pthread_create(&id, NULL, poller_wait, &t), 0);
        pthread_barrier_wait(&t.barrier);
        ops->interrupt(t.poller);
        CHECK_INT(pthread_join(id, NULL), 0);
        CHECK_INT(t.count, 0);
        pthread_barrier_destroy(&t.barrier);
    }
    ops->close(t.poller);
}

static void *
poller_wait_for_event(void *arg)
{
    poller_thread *t = arg;
    pthread_barrier_wait(&t->barrier);
    do {   /* a new watch may interrupt the poll, which then gives nothing */
        t->count = t->ops->poll(t->poller, events, CAP, mmi_posix_now_ns() + ASYNC_NS);
    } while (t->count == 0);
    return NULL;
}

static void
test_a_watch_set_while_another_thread_polls_counts(const mmi_poller_ops *ops)
{
    poller_thread t = { .ops = ops, .poller = poller_open(ops) };
    pthread_t id;
    for (int i = 0; i < 50; i++) {
        int ends[2];
        socket_pair(ends);
        pthread_barrier_init(&t.barrier, NULL, 2);
        CHECK_INT(pthread_create(&id, NULL, poller_wait_for_event, &t), 0);
        pthread_barrier_wait(&t.barrier);
        CHECK_INT(ops->watch(t.poller, ends[0], MMI_WATCH_WRITE, 42), MM_OK);
        CHECK_INT(pthread_join(id, NULL), 0);
        CHECK(t.count == 1 && events[0].tag == 42);
        pthread_barrier_destroy(&t.barrier);
        CHECK_INT(ops->watch(t.poller, ends[0], 0, 42), MM_OK);
        close(ends[0]);
        close(ends[1]);
    }
    ops->close(t.poller);
}

static void
on_signal(int number)
{
    (void)number;
}

static void
test_a_signal_ends_a_poll_with_nothing(const mmi_poller_ops *ops)
{
    mmi_poller *p = poller_open(ops);
    struct sigaction action = { .sa_handler = on_signal }, before;
    sigaction(SIGALRM, &action, &before);
    ualarm(20000, 20000);   /* again and again: one may come before the poll has begun */
    CHECK_INT(ops->poll(p, events, CAP, UINT64_MAX), 0);
    ualarm(0, 0);
    sigaction(SIGALRM, &before, NULL);
    ops->close(p);
}

static void
test_a_forked_child_closes_its_copies_and_the_parent_polls_on(const mmi_poller_ops *ops)
{
    mmi_poller *p = poller_open(ops);
    int ends[2], status;
    uint32_t bits;
    socket_pair(ends);
    CHECK_INT(ops->watch(p, ends[0], MMI_WATCH_WRITE, 1), MM_OK);
    int before = fds_open();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        ops->after_fork(p);
        _exit(fds_open() < before ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_INT(told(ops, p, 1, &bits), 1);
    ops->interrupt(p);
    CHECK_INT(ops->watch(p, ends[0], 0, 1), MM_OK);
    CHECK_INT(ops->poll(p, events, CAP, UINT64_MAX), 0);
    close(ends[0]);
    close(ends[1]);
    ops->close(p);
}

static void
test_no_memory_and_no_descriptors_open_no_poller(const mmi_poller_ops *ops)
{
    int error = 0;
    bool opened = false;
    for (int64_t n = 1; !opened; n++) {
        CHECK(n < 5);
        error = 0;
        mm_test_alloc_fail(n);
        mmi_poller *p = ops->open(&error);
        mm_test_alloc_fail(0);
        opened = p != NULL;
        CHECK_INT(error, opened ? 0 : MM_ENOMEM);
        if (opened) {
            ops->close(p);
        }
    }
    opened = false;
    for (int more = 0; !opened; more++) {
        CHECK(more < 4);
        rlim_t limit = fds_limit(more);
        mmi_poller *p = ops->open(&error);
        fds_restore(limit);
        opened = p != NULL;
        if (opened) {
            ops->close(p);
        } else {
            CHECK_INT(error, MM_EMFILE);
        }
    }
}

static void
test_no_memory_for_a_watch_or_a_poll_forgets_nothing(const mmi_poller_ops *ops)
{
    mmi_poller *p = poller_open(ops);
    enum { PAIRS = 40 };
    int ends[PAIRS][2];
    for (int i = 0; i < PAIRS; i++) {
        socket_pair(ends[i]);
        mm_test_alloc_fail(1);
        int rc = ops->watch(p, ends[i][0], MMI_WATCH_WRITE, (uint64_t)i + 1);
        mm_test_alloc_fail(0);
        CHECK(rc == MM_OK || rc == MM_ENOMEM);
        if (rc == MM_ENOMEM) {
            CHECK_INT(ops->watch(p, ends[i][0], MMI_WATCH_WRITE, (uint64_t)i + 1), MM_OK);
        }
        for (int64_t n = 1; n <= 2; n++) {
            mm_test_alloc_fail(n);
            int count = ops->poll(p, events, CAP, mmi_posix_now_ns() + ASYNC_NS);
            mm_test_alloc_fail(0);
            CHECK(count >= i / 2 && count <= i + 1);
        }
        CHECK_INT(ops->poll(p, events, CAP, 0), i + 1);
    }
    for (int i = 0; i < PAIRS; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
    ops->close(p);
}

static void
test_a_watch_that_found_no_room_in_a_poll_is_looked_at_soon(const mmi_poller_ops *ops)
{
    enum { IDLE = 100 };
    mmi_poller *p = poller_open(ops);
    int ends[IDLE + 1][2];
    for (int i = 0; i <= IDLE; i++) {
        socket_pair(ends[i]);
        uint32_t what = i < IDLE ? MMI_WATCH_READ : MMI_WATCH_WRITE;
        CHECK_INT(ops->watch(p, ends[i][0], what, (uint64_t)i), MM_OK);
    }
    mm_test_alloc_fail(1);   /* none of the first rows is ready, and it may wait for ever */
    int count = ops->poll(p, events, CAP, UINT64_MAX);
    mm_test_alloc_fail(0);
    CHECK(count == 0 || (count == 1 && events[0].tag == IDLE));
    CHECK_INT(ops->poll(p, events, CAP, UINT64_MAX), 1);
    CHECK_INT(events[0].tag, IDLE);
    for (int i = 0; i <= IDLE; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
    ops->close(p);
}

static void
test_no_memory_for_the_first_poll_still_lets_an_interrupt_through(const mmi_poller_ops *ops)
{
    for (int64_t n = 1; n <= 3; n++) {
        mmi_poller *p = poller_open(ops);
        ops->interrupt(p);
        mm_test_alloc_fail(n);
        CHECK_INT(ops->poll(p, events, CAP, UINT64_MAX), 0);   /* or hangs */
        mm_test_alloc_fail(0);
        ops->close(p);
    }
}

int
main(void)
{
    static const mmi_poller_ops *const pollers[] = { &mmi_poller_epoll, &mmi_poller_poll };
    static void (*const tests[])(const mmi_poller_ops *ops) = {
        test_only_what_was_asked_for_is_told,
        test_a_hang_up_is_told_to_readers_and_writers_and_not_to_who_watches_nothing,
        test_a_descriptor_closed_under_the_poller_is_not_told,
        test_many_descriptors_each_with_its_own_tag,
        test_an_interrupt_is_kept_for_the_next_poll_and_ends_one_only,
        test_another_thread_interrupts_a_poll,
        test_a_watch_set_while_another_thread_polls_counts,
        test_a_signal_ends_a_poll_with_nothing,
        test_a_forked_child_closes_its_copies_and_the_parent_polls_on,
        test_no_memory_and_no_descriptors_open_no_poller,
        test_no_memory_for_a_watch_or_a_poll_forgets_nothing,
        test_a_watch_that_found_no_room_in_a_poll_is_looked_at_soon,
        test_no_memory_for_the_first_poll_still_lets_an_interrupt_through,
    };
    for (size_t k = 0; k < MMI_COUNT_OF(pollers); k++) {
        for (size_t i = 0; i < MMI_COUNT_OF(tests); i++) {
            int before = fds_open();
            printf("%s: test %zu\n", pollers[k]->name, i);
            fflush(stdout);
            tests[i](pollers[k]);
            fds_are(before);
        }
    }
    return 0;
}
