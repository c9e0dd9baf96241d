/*
 * test_loop_lead.c: an event loop that polls in the runner's place: that it gets what is its own,
 * and that whatever else depends on polling still happens, also when the loop never looks again.
 *
 * Meant to run under TSan as well.  Law: nobody is left waiting, whoever polls.
 */
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "sockets.h"
#include "sched/sched.h"

enum { TRIPS = 2000, WARM = 50, WAIT_MS = 20000, BURST = 3000, MORE = 64 };

typedef struct loop {
    mm_handle engine, socket, waker;
    int fds[2];
    mm_batch *batch;
} loop;

static loop
open_loop(void)
{
    loop l = { .engine = open_engine() };
    l.socket = open_spinning(l.engine, MM_PAIR, 0);
    CHECK_INT(mm_waker_open(l.engine, &l.waker, l.fds), MM_OK);
    CHECK_INT(mm_batch_new(&l.batch), MM_OK);
    return l;
}

static void
close_loop(loop *l)
{
    mm_batch_free(l->batch);
    close_engine(l->engine, WAIT_MS);
}

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

static void
sleep_for_news(const loop *l)
{
    struct pollfd fd = { .fd = l->fds[0], .events = POLLIN };
    CHECK_INT(poll(&fd, 1, WAIT_MS), 1);
}

/* As a task of an event loop does it: tries, asks to be told, sleeps, tries again. */
static void
loop_recv(loop *l)
{
    mm_ready ready[4];
    int rc = mm_recv(l->socket, l->batch, 1, 1 << 20, 0, 0);
    while (rc == MM_EAGAIN) {
        int now = mm_watch(l->socket, l->waker, MM_READABLE);
        CHECK(now >= 0);
        if (now == 0) {
            sleep_for_news(l);
            CHECK(mm_waker_take(l->waker, ready, 4) >= 0);
        }
        rc = mm_recv(l->socket, l->batch, 1, 1 << 20, 0, 0);
    }
    CHECK_INT(rc, 1);
}

static void
loop_trips(loop *l, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t back;
        CHECK_INT(mm_send(l->socket, (uint8_t *)&i, sizeof i, WAIT_MS, 0), MM_OK);
        loop_recv(l);
        memcpy(&back, l->batch->data + l->batch->offset[0], sizeof back);
        CHECK_INT(back, i);
    }
}

/* A loop that leads, and somebody who answers it. */
typedef struct rig {
    loop l;
    mm_handle other, echoes;
    pthread_t echo;
} rig;

static void
rig_open(rig *r)
{
    r->l = open_loop();
    r->other = open_engine();
    r->echoes = open_spinning(r->other, MM_PAIR, 0);
    join(r->echoes, r->l.socket, TCP);
    CHECK_INT(pthread_create(&r->echo, NULL, echo_run, &r->echoes), 0);
    uint64_t before = leads(r->l.engine);
    for (int i = 0; i < 100 && leads(r->l.engine) == before; i++) {
        loop_trips(&r->l, WARM);
    }
    CHECK(leads(r->l.engine) > before);
}

static void
rig_close(rig *r)
{
    CHECK_INT(mm_socket_close(r->echoes), MM_OK);
    pthread_join(r->echo, NULL);
    close_loop(&r->l);
    close_engine(r->other, WAIT_MS);
}

static void
test_a_lone_loop_polls_itself_and_gets_every_answer(void)
{
    rig r;
    rig_open(&r);
    uint64_t before = leads(r.l.engine);
    loop_trips(&r.l, TRIPS);
    CHECK(leads(r.l.engine) - before > TRIPS / 2);
    rig_close(&r);
}

/* What is sent to its engine is read, though the loop is busy with something else for ever. */
static void
test_a_loop_that_never_looks_again_is_relieved(void)
{
    rig r;
    rig_open(&r);
    mm_handle push = open_spinning(r.other, MM_PUSH, 0);
    mm_handle pull = open_spinning(r.l.engine, MM_PULL, 0);
    mm_drain_info info;
    join(pull, push, TCP);
    for (uint32_t round = 0; round < 10; round++) {
        loop_trips(&r.l, WARM);
        CHECK_INT(mm_send(push, (const uint8_t *)"x", 1, WAIT_MS, 0), MM_OK);
        CHECK_INT(mm_drain(push, WAIT_MS, 0, &info), MM_OK); /* confirmed by the loop's engine */
    }
    rig_close(&r);
}

static mm_handle watched; /* the engine whose loop leads for long */
static int (*poll_of_plat)(void *, mmi_event *, int, uint64_t);
static int led_for_long;

static mmi_lead
lead_of(mm_handle engine)
{
    void *object;
    mmi_engine *e;
    CHECK_INT(mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e), MM_OK);
    mmi_lead lead = e->lead;
    pthread_mutex_unlock(&e->lock);
    return lead;
}

/* A loop that leads does so until the runner waits for it to leave. */
static int
poll_for_long(void *self, mmi_event *events, int cap, uint64_t deadline_ns)
{
    if (lead_of(watched).owner == MMI_OWNER_LOOP) {
        AWAIT(lead_of(watched).runner == MMI_RUNNER_PARKED_LONG);
        led_for_long = true;
    }
    return poll_of_plat(self, events, cap, deadline_ns);
}

/* If it is the loop that is to poll next: that takes long. */
static bool
lead_for_long(rig *r)
{
    void *object;
    mmi_engine *e;
    mm_ready ready[4];
    loop_trips(&r->l, 1);
    CHECK_INT(mmi_handle_lock(r->l.engine, MMI_HANDLE_ENGINE, &object, &e), MM_OK);
    bool leads = mmi_lead_vacant(&e->lead) && e->lead.loop != NULL;
    if (leads) {
        watched = r->l.engine;
        poll_of_plat = e->plat.poll;
        e->plat.poll = poll_for_long;
    }
    pthread_mutex_unlock(&e->lock);
    if (leads) {
        CHECK(mm_waker_take(r->l.waker, ready, 4) >= 0);
        CHECK_INT(mmi_handle_lock(r->l.engine, MMI_HANDLE_ENGINE, &object, &e), MM_OK);
        e->plat.poll = poll_of_plat;
        pthread_mutex_unlock(&e->lock);
    }
    return led_for_long;
}

/* It led for so long that the runner waits to be told that it has left; then it is busy for
 * ever. */
static void
test_a_loop_that_led_for_long_tells_the_runner_that_it_has_left(void)
{
    rig r;
    rig_open(&r);
    mm_handle push = open_spinning(r.other, MM_PUSH, 0);
    mm_handle pull = open_spinning(r.l.engine, MM_PULL, 0);
    mm_drain_info info;
    join(pull, push, TCP);
    led_for_long = false;
    AWAIT(lead_for_long(&r));
    CHECK(lead_of(r.l.engine).runner != MMI_RUNNER_PARKED_LONG);
    CHECK_INT(mm_send(push, (const uint8_t *)"x", 1, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_drain(push, WAIT_MS, 0, &info), MM_OK);
    rig_close(&r);
}

static void *
recv_run(void *arg)
{
    take_all(*(mm_handle *)arg, 1, WAIT_MS);
    return NULL;
}

/* A thread that waits on the loop's engine. */
static void
test_a_thread_beside_a_loop_gets_its_message(void)
{
    rig r;
    rig_open(&r);
    mm_handle push = open_spinning(r.other, MM_PUSH, 0);
    mm_handle pull = open_spinning(r.l.engine, MM_PULL, 0);
    pthread_t waiting;
    join(pull, push, TCP);
    for (uint32_t round = 0; round < 30; round++) {
        loop_trips(&r.l, 20);
        CHECK_INT(pthread_create(&waiting, NULL, recv_run, &pull), 0);
        loop_trips(&r.l, round % 5);
        CHECK_INT(mm_send(push, (const uint8_t *)"x", 1, WAIT_MS, 0), MM_OK);
        pthread_join(waiting, NULL);
    }
    rig_close(&r);
}

static void *
pull_run(void *arg)
{
    take_all(*(mm_handle *)arg, BURST, WAIT_MS);
    return NULL;
}

static void
test_bursts_beside_a_loop_are_written(void)
{
    rig r;
    rig_open(&r);
    mm_handle push = open_spinning(r.l.engine, MM_PUSH, 0);
    mm_handle pull = open_spinning(r.other, MM_PULL, 0);
    pthread_t pulling;
    join(pull, push, TCP);
    CHECK_INT(pthread_create(&pulling, NULL, pull_run, &pull), 0);
    for (uint32_t i = 0; i < BURST; i++) {
        CHECK_INT(mm_send(push, (uint8_t *)&i, sizeof i, WAIT_MS, 0), MM_OK);
        if (i % 100 == 0) {
            loop_trips(&r.l, 5);
        }
    }
    pthread_join(pulling, NULL); /* the last ones too, though the loop looks no more */
    rig_close(&r);
}

/* Two loops of one engine: neither may poll in the runner's place. */
static void
test_a_second_loop_is_told_of_its_messages(void)
{
    rig r;
    rig_open(&r);
    mm_handle push = open_spinning(r.other, MM_PUSH, 0);
    loop second = { .engine = r.l.engine, .socket = open_spinning(r.l.engine, MM_PULL, 0) };
    join(second.socket, push, TCP);
    for (uint32_t round = 0; round < 20; round++) {
        loop_trips(&r.l, WARM);
        CHECK_INT(mm_waker_open(second.engine, &second.waker, second.fds), MM_OK);
        CHECK_INT(mm_batch_new(&second.batch), MM_OK);
        CHECK_INT(mm_watch(second.socket, second.waker, MM_READABLE), 0);
        CHECK_INT(mm_send(push, (const uint8_t *)"x", 1, WAIT_MS, 0), MM_OK);
        loop_recv(&second);
        mm_batch_free(second.batch);
        CHECK_INT(mm_waker_close(second.waker), MM_OK);
    }
    rig_close(&r);
}

/* More sockets are ready than one call tells of: the rest is told by the next, after a ring. */
static void
test_what_did_not_fit_is_told_next_time(void)
{
    rig r;
    mm_handle pushes[MORE], pulls[MORE];
    mm_ready ready[4];
    rig_open(&r);
    for (int i = 0; i < MORE; i++) {
        pushes[i] = open_spinning(r.other, MM_PUSH, 0);
        pulls[i] = open_spinning(r.l.engine, MM_PULL, 0);
        join(pulls[i], pushes[i], TCP);
        CHECK_INT(mm_watch(pulls[i], r.l.waker, MM_READABLE), 0);
    }
    loop_trips(&r.l, WARM);
    for (int i = 0; i < MORE; i++) {
        CHECK_INT(mm_send(pushes[i], (const uint8_t *)"x", 1, WAIT_MS, 0), MM_OK);
    }
    for (int told = 0; told < MORE;) {
        sleep_for_news(&r.l);
        int count = mm_waker_take(r.l.waker, ready, 4);
        CHECK(count >= 0);
        told += count;
    }
    rig_close(&r);
}

/* Who watches copies of the descriptors is told, and then that the waker is gone. */
static void
test_an_engine_closes_under_a_loop_that_polls(void)
{
    for (int round = 0; round < 20; round++) {
        rig r;
        pthread_t closing;
        mm_ready ready[4];
        rig_open(&r);
        int news = dup(r.l.fds[0]), end = dup(r.l.fds[1]), rc = 0;
        CHECK_INT(pthread_create(&closing, NULL, close_run, &r.l.engine), 0);
        while (rc >= 0) {
            struct pollfd fd = { .fd = news, .events = POLLIN };
            CHECK_INT(poll(&fd, 1, WAIT_MS), 1);
            rc = mm_waker_take(r.l.waker, ready, 4);
        }
        CHECK_INT(rc, MM_ECLOSED);
        pthread_join(closing, NULL);
        close(news);
        close(end);
        mm_batch_free(r.l.batch);
        CHECK_INT(mm_socket_close(r.echoes), MM_OK);
        pthread_join(r.echo, NULL);
        close_engine(r.other, WAIT_MS);
    }
}

int
main(void)
{
    RUN(test_a_lone_loop_polls_itself_and_gets_every_answer);
    RUN(test_a_loop_that_never_looks_again_is_relieved);
    RUN(test_a_loop_that_led_for_long_tells_the_runner_that_it_has_left);
    RUN(test_a_thread_beside_a_loop_gets_its_message);
    RUN(test_bursts_beside_a_loop_are_written);
    RUN(test_a_second_loop_is_told_of_its_messages);
    RUN(test_what_did_not_fit_is_told_next_time);
    RUN(test_an_engine_closes_under_a_loop_that_polls);
    return 0;
}
