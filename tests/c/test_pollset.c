/*
 * test_pollset.c: a thread that waits for several sockets: that it polls itself when it is alone,
 * and that whatever else depends on polling still happens.
 *
 * Meant to run under TSan as well.  Law: nobody is left waiting, whoever polls.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "sockets.h"
#include "sched/sched.h"

enum { MANY = 20, ROUNDS = 300, WARM = 50, WAIT_MS = 60000, CAP = 64 };

/* Pairs of one engine that a thread serves by a pollset, and those of another that it answers. */
typedef struct rig {
    mm_handle one, two, pollset;
    mm_handle here[MANY], there[MANY];
    uint32_t answered;
    pthread_t serving;
} rig;

/* How often somebody polled in the runner's place. */
static uint64_t
leads(mm_handle engine)
{
    void *object;
    mmi_engine *e;
    CHECK_INT(mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e), MM_OK);
    uint64_t count = e->lead.leads;
    mmi_engine_leave(e);
    return count;
}

/* Echoes until the pollset or a socket is closed. */
static void *
serve_run(void *arg)
{
    rig *r = arg;
    mm_batch *batch;
    mm_ready ready[CAP];
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    for (;;) {
        int count = mm_pollset_poll(r->pollset, ready, CAP, -1, 50);
        if (count == MM_EINTR) {
            continue;
        }
        if (count < 0) {
            CHECK_INT(count, MM_ECLOSED);
            break;
        }
        CHECK(count > 0 && count <= MANY);
        for (int i = 0; i < count; i++) {
            mm_handle s = ready[i].socket;
            int rc = mm_recv(s, batch, 1, 1 << 20, 0, 0);
            if (rc == MM_ECLOSED) {
                continue;
            }
            CHECK_INT(rc, 1);
            rc = mm_send(s, batch->data + batch->offset[0], 4, WAIT_MS, 0);
            CHECK(rc == MM_OK || rc == MM_ECLOSED);
            r->answered++;
        }
    }
    mm_batch_free(batch);
    return NULL;
}

static void
rig_open(rig *r, uint32_t spin_us)
{
    *r = (rig){ .one = open_engine(), .two = open_engine() };
    CHECK_INT(mm_pollset_open(r->one, &r->pollset), MM_OK);
    for (int i = 0; i < MANY; i++) {
        r->here[i] = open_spinning(r->one, MM_PAIR, spin_us);
        r->there[i] = open_spinning(r->two, MM_PAIR, 0);
        join(r->there[i], r->here[i], TCP);
        CHECK_INT(mm_pollset_watch(r->pollset, r->here[i], MM_READABLE), MM_OK);
    }
    CHECK_INT(pthread_create(&r->serving, NULL, serve_run, r), 0);
}

/* Asks them all, then takes all answers. */
static void
rig_round(rig *r, uint32_t number)
{
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(mm_send(r->there[i], (uint8_t *)&number, sizeof number, WAIT_MS, 0), MM_OK);
    }
    for (int i = 0; i < MANY; i++) {
        uint32_t back;
        CHECK_INT(mm_recv(r->there[i], batch, 1, 1 << 20, WAIT_MS, 0), 1);
        memcpy(&back, batch->data + batch->offset[0], sizeof back);
        CHECK_INT(back, number);
    }
    mm_batch_free(batch);
}

static void
rig_end(rig *r)
{
    close_engine(r->two, WAIT_MS);
    close_engine(r->one, WAIT_MS);
}

static void
rig_close(rig *r)
{
    CHECK_INT(mm_pollset_close(r->pollset), MM_OK);
    pthread_join(r->serving, NULL);
    rig_end(r);
}

static void
test_a_lone_pollset_polls_itself_and_misses_nothing(void)
{
    static const uint32_t spins[] = { 0, 100, MM_SPIN_AUTO };
    for (int i = 0; i < 3; i++) {
        rig r;
        rig_open(&r, spins[i]);
        for (uint32_t round = 0; round < WARM || leads(r.one) == 0; round++) {
            rig_round(&r, round);
        }
        uint64_t before = leads(r.one);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            rig_round(&r, round);
        }
        CHECK(leads(r.one) - before > ROUNDS / 2);
        rig_close(&r);
        CHECK(r.answered >= ROUNDS * MANY);
    }
}

static void *
recv_run(void *arg)
{
    take_all(*(mm_handle *)arg, 1, WAIT_MS);
    return NULL;
}

static void
test_a_thread_beside_a_pollset_gets_its_message(void)
{
    rig r;
    rig_open(&r, MM_SPIN_AUTO);
    mm_handle push = open_spinning(r.two, MM_PUSH, 0), pull = open_spinning(r.one, MM_PULL, 0);
    pthread_t waiting;
    join(pull, push, TCP);
    for (uint32_t round = 0; round < 30; round++) {
        rig_round(&r, round);
        CHECK_INT(pthread_create(&waiting, NULL, recv_run, &pull), 0);
        CHECK_INT(mm_send(push, (const uint8_t *)"x", 1, WAIT_MS, 0), MM_OK);
        pthread_join(waiting, NULL);
    }
    rig_close(&r);
}

/* What is sent to its engine is read, though nobody polls for ever. */
static void
test_a_pollset_that_is_polled_no_more_is_relieved(void)
{
    rig r;
    rig_open(&r, 0);
    for (uint32_t round = 0; round < WARM; round++) {
        rig_round(&r, round);
    }
    CHECK_INT(mm_pollset_close(r.pollset), MM_OK);
    pthread_join(r.serving, NULL);
    for (int i = 0; i < MANY; i++) {
        mm_drain_info info;
        CHECK_INT(mm_send(r.there[i], (const uint8_t *)"x", 1, WAIT_MS, 0), MM_OK);
        CHECK_INT(mm_drain(r.there[i], WAIT_MS, 0, &info), MM_OK);
    }
    rig_end(&r);
}

static void
test_an_engine_and_sockets_close_under_who_polls(void)
{
    for (uint32_t round = 0; round < 20; round++) {
        rig r;
        pthread_t closing;
        rig_open(&r, round % 2 == 0 ? 0 : MM_SPIN_AUTO);
        for (uint32_t i = 0; i < round; i++) {
            rig_round(&r, i);
        }
        for (uint32_t i = 0; i < round % MANY; i++) {
            CHECK_INT(mm_socket_close(r.here[i]), MM_OK);
        }
        CHECK_INT(pthread_create(&closing, NULL, close_run, &r.one), 0);
        pthread_join(r.serving, NULL);
        pthread_join(closing, NULL);
        close_engine(r.two, WAIT_MS);
    }
}

/* Added, removed and closed beside who polls. */
static void
test_membership_changes_under_who_polls(void)
{
    rig r;
    rig_open(&r, MM_SPIN_AUTO);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        mm_handle s = r.here[round % MANY], other = open_socket(r.one, MM_PULL);
        CHECK_INT(mm_pollset_watch(r.pollset, other, MM_READABLE), MM_OK);
        CHECK_INT(mm_pollset_remove(r.pollset, s), MM_OK);
        CHECK_INT(mm_pollset_remove(r.pollset, s), MM_OK);
        CHECK_INT(mm_pollset_watch(r.pollset, s, MM_READABLE), MM_OK);
        CHECK_INT(mm_pollset_watch(r.pollset, s, MM_READABLE), MM_OK);
        rig_round(&r, round);
        CHECK_INT(mm_socket_close(other), MM_OK);
        CHECK_INT(mm_pollset_remove(r.pollset, other), MM_OK);
    }
    rig_close(&r);
}

static void
test_what_is_told_of_is_so_and_all_have_their_turn(void)
{
    mm_handle engine = open_engine(), pollset, push = open_quiet(engine, MM_PUSH), pulls[MANY];
    mm_ready ready[MANY];
    uint32_t seen[MANY] = { 0 };
    CHECK_INT(mm_pollset_open(engine, &pollset), MM_OK);
    CHECK_INT(mm_bind(push, "inproc://turns", NULL, 0), MM_OK);
    for (int i = 0; i < MANY; i++) {
        pulls[i] = open_quiet(engine, MM_PULL);
        CHECK_INT(mm_connect(pulls[i], "inproc://turns"), MM_OK);
        CHECK_INT(mm_pollset_watch(pollset, pulls[i], MM_READABLE), MM_OK);
    }
    CHECK_INT(mm_wait_peers(push, MANY, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_pollset_poll(pollset, ready, 0, 0, 0), MM_EINVAL);
    CHECK_INT(mm_pollset_poll(pollset, ready, MANY, 0, 0), MM_EAGAIN);
    CHECK_INT(mm_pollset_poll(pollset, ready, MANY, 1, 0), MM_ETIMEDOUT);
    CHECK_INT(mm_pollset_poll(pollset, ready, MANY, WAIT_MS, 1), MM_EINTR);
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(mm_send(push, (const uint8_t *)"x", 1, WAIT_MS, 0), MM_OK);
    }
    for (int all = 0; all < MANY;) {
        all = mm_pollset_poll(pollset, ready, MANY, WAIT_MS, 0);
    }
    for (int round = 0; round < MANY; round++) {
        CHECK_INT(mm_pollset_poll(pollset, ready, MANY - 1, 0, 0), MANY - 1);
        for (int i = 0; i < MANY; i++) {
            for (int j = 0; j < MANY - 1; j++) {
                seen[i] += ready[j].socket == pulls[i];
            }
        }
    }
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(seen[i], MANY - 1);
        take_all(pulls[i], 1, 0);
        CHECK_INT(mm_pollset_poll(pollset, ready, MANY, 0, 0),
                  i < MANY - 1 ? MANY - 1 - i : MM_EAGAIN);
    }
    CHECK_INT(mm_mark_unclaimed(pulls[3], 1), MM_OK);
    CHECK_INT(mm_pollset_poll(pollset, ready, MANY, WAIT_MS, 0), 1);
    CHECK_INT(ready[0].events, MM_READABLE);
    CHECK_INT(mm_mark_unclaimed(pulls[3], 0), MM_OK);
    CHECK_INT(mm_pollset_poll(pollset, ready, MANY, 0, 0), MM_EAGAIN);
    CHECK_INT(mm_socket_close(pulls[3]), MM_OK);
    CHECK_INT(mm_pollset_poll(pollset, ready, MANY, WAIT_MS, 0), 1);
    CHECK_INT(ready[0].events, 0);
    CHECK(ready[0].socket == pulls[3]);
    CHECK_INT(mm_pollset_poll(pollset, ready, MANY, 0, 0), MM_EAGAIN);
    close_engine(engine, WAIT_MS);
    CHECK_INT(mm_pollset_poll(pollset, ready, MANY, 0, 0), MM_ECLOSED);
    CHECK_INT(mm_pollset_close(pollset), MM_ECLOSED);
}

/* Whether the descriptor of a pollset is readable now. */
static bool
rung(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    return poll(&one, 1, 0) == 1;
}

static void
test_a_pollset_tells_what_was_asked_and_its_descriptor_that_there_is_news(void)
{
    mm_handle engine = open_engine(), pollset;
    mm_handle here = open_socket(engine, MM_PAIR), there = open_socket(engine, MM_PAIR);
    mm_ready ready;
    int fd, same;
    CHECK_INT(mm_pollset_open(engine, &pollset), MM_OK);
    CHECK_INT(mm_pollset_watch(pollset, here, MM_WRITABLE), MM_OK);
    CHECK_INT(mm_pollset_poll(pollset, &ready, 1, 0, 0), MM_EAGAIN);   /* it has no peer */
    CHECK_INT(mm_pollset_fileno(pollset, &fd), MM_OK);
    CHECK_INT(mm_pollset_fileno(pollset, &same), MM_OK);
    CHECK_INT(fd, same);
    CHECK(rung(fd));   /* there may have been news before it was asked for */
    CHECK_INT(mm_pollset_poll(pollset, &ready, 1, 0, 0), MM_EAGAIN);
    CHECK(!rung(fd));
    join(there, here, TCP);
    while (!rung(fd)) {
        sched_yield();
    }
    CHECK_INT(mm_pollset_poll(pollset, &ready, 1, 0, 0), 1);
    CHECK_INT(ready.events, MM_WRITABLE);
    CHECK_INT(mm_send(there, (const uint8_t *)"x", 1, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_pollset_watch(pollset, here, MM_READABLE | MM_WRITABLE), MM_OK);
    do {
        CHECK_INT(mm_pollset_poll(pollset, &ready, 1, WAIT_MS, 0), 1);
    } while (ready.events != (MM_READABLE | MM_WRITABLE));
    CHECK_INT(mm_pollset_watch(pollset, here, MM_READABLE), MM_OK);
    CHECK_INT(mm_pollset_poll(pollset, &ready, 1, 0, 0), 1);
    CHECK_INT(ready.events, MM_READABLE);
    take_all(here, 1, 0);
    CHECK_INT(mm_pollset_poll(pollset, &ready, 1, 0, 0), MM_EAGAIN);
    CHECK(!rung(fd));
    int copy = dup(fd);
    CHECK_INT(mm_pollset_close(pollset), MM_OK);
    CHECK(rung(copy));
    close(copy);
    close_engine(engine, 0);
    CHECK_INT(mm_live_handles(), 0);
}

static void
test_what_a_socket_cannot_do_is_not_waited_for(void)
{
    mm_handle engine = open_engine(), pollset;
    static const struct {
        int role;
        uint32_t events;
        int rc;
    } asked[] = {
        { MM_PULL, MM_WRITABLE, MM_ENOTSUP },
        { MM_PUSH, MM_READABLE, MM_ENOTSUP },
        { MM_ROUTER, MM_WRITABLE, MM_ENOTSUP },
        { MM_PUB, MM_WRITABLE, MM_ENOTSUP },
        { MM_PAIR, 0, MM_EINVAL },
        { MM_PAIR, MM_PEERS, MM_EINVAL },
        { MM_PUSH, MM_WRITABLE, MM_OK },
        { MM_ROUTER, MM_READABLE, MM_OK },
    };
    CHECK_INT(mm_pollset_open(engine, &pollset), MM_OK);
    for (size_t i = 0; i < MMI_COUNT_OF(asked); i++) {
        mm_handle s = open_socket(engine, asked[i].role);
        CHECK_INT(mm_pollset_watch(pollset, s, asked[i].events), asked[i].rc);
    }
    CHECK_INT(mm_pollset_watch(pollset, 0, MM_READABLE), MM_ECLOSED);
    CHECK_INT(mm_pollset_close(pollset), MM_OK);
    int fd;
    CHECK_INT(mm_pollset_fileno(pollset, &fd), MM_ECLOSED);
    close_engine(engine, 0);
    CHECK_INT(mm_live_handles(), 0);
}

static void
test_what_is_no_member_is_refused(void)
{
    mm_handle one = open_engine(), two = open_engine(), pollset, other;
    mm_ready ready;
    CHECK_INT(mm_pollset_open(one, &pollset), MM_OK);
    CHECK_INT(mm_pollset_watch(pollset, open_socket(two, MM_PULL), MM_READABLE), MM_EINVAL);
    CHECK_INT(mm_pollset_watch(pollset, open_socket(one, MM_PUSH), MM_READABLE), MM_ENOTSUP);
    CHECK_INT(mm_pollset_watch(pollset, pollset, MM_READABLE), MM_EINVAL);
    CHECK_INT(mm_pollset_watch(open_socket(one, MM_PULL), open_socket(one, MM_PULL), MM_READABLE),
              MM_EINVAL);
    CHECK_INT(mm_pollset_open(pollset, &other), MM_EINVAL);
    CHECK_INT(mm_pollset_poll(one, &ready, 1, 0, 0), MM_EINVAL);
    CHECK_INT(mm_pollset_remove(one, 0), MM_EINVAL);
    CHECK_INT(mm_pollset_close(one), MM_EINVAL);
    CHECK_INT(mm_pollset_close(pollset), MM_OK);
    CHECK_INT(mm_pollset_remove(pollset, 0), MM_ECLOSED);
    close_engine(one, 0);
    close_engine(two, 0);
    CHECK_INT(mm_live_handles(), 0);
}

int
main(void)
{
    RUN(test_what_is_told_of_is_so_and_all_have_their_turn);
    RUN(test_what_is_no_member_is_refused);
    RUN(test_a_pollset_tells_what_was_asked_and_its_descriptor_that_there_is_news);
    RUN(test_what_a_socket_cannot_do_is_not_waited_for);
    RUN(test_a_lone_pollset_polls_itself_and_misses_nothing);
    RUN(test_a_thread_beside_a_pollset_gets_its_message);
    RUN(test_a_pollset_that_is_polled_no_more_is_relieved);
    RUN(test_an_engine_and_sockets_close_under_who_polls);
    RUN(test_membership_changes_under_who_polls);
    return 0;
}
