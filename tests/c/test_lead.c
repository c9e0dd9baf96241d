/*
 * test_lead.c: lone callers that poll for themselves while the runner is parked: that they get what
 * is theirs, and that whatever else depends on polling still happens.
 *
 * Meant to run under TSan as well.  Law: nobody is left waiting, whoever polls.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "engine/handle.h"
#include "sockets.h"
#include "sched/sched.h"

enum { TRIPS = 3000, WAIT_MS = 60000, BURST = 5000, RESPONDENTS = 40, SURVEYS = 200 };
enum { QUIET_WAITS = 3, QUIET_MESSAGES = 16 };   /* as in engine/lead.c */

/* A lone caller that asks, and somebody who answers it. */
typedef struct rig {
    mm_handle one, two, asks, echoes;
    mm_batch *batch;
    pthread_t echo;
} rig;

static void
trip(mm_handle pair, mm_batch *batch, uint32_t number)
{
    uint32_t back;
    CHECK_INT(mm_send(pair, (uint8_t *)&number, sizeof number, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_recv(pair, batch, 1, 1 << 20, WAIT_MS, 0), 1);
    memcpy(&back, batch->data + batch->offset[0], sizeof back);
    CHECK_INT(back, number);
}

static void
trips(rig *r, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        trip(r->asks, r->batch, i);
    }
}

static void
rig_open(rig *r, uint32_t spin_us)
{
    r->one = open_engine();
    r->two = open_engine();
    r->asks = open_spinning(r->one, MM_PAIR, spin_us);
    r->echoes = open_spinning(r->two, MM_PAIR, spin_us);
    CHECK_INT(mm_batch_new(&r->batch), MM_OK);
    join(r->echoes, r->asks, TCP);
    CHECK_INT(pthread_create(&r->echo, NULL, echo_run, &r->echoes), 0);
}

/* Ends who echoes, while it polls; the engines live on. */
static void
rig_end_echo(rig *r)
{
    CHECK_INT(mm_socket_close(r->echoes), MM_OK);
    pthread_join(r->echo, NULL);
    mm_batch_free(r->batch);
}

static void
rig_close(rig *r)
{
    rig_end_echo(r);
    close_engine(r->one, WAIT_MS);
    close_engine(r->two, WAIT_MS);
}

static void
round_trips(uint32_t spin_us)
{
    rig r;
    rig_open(&r, spin_us);
    trips(&r, TRIPS);
    rig_close(&r);
}

static void
test_a_lone_caller_that_sleeps_gets_every_answer(void)
{
    round_trips(0);
}

static void
test_a_lone_caller_that_spins_gets_every_answer(void)
{
    round_trips(200);
    round_trips(MM_SPIN_AUTO);
}

static void *
pull_run(void *arg)
{
    take_all(*(mm_handle *)arg, BURST, WAIT_MS);
    return NULL;
}

/* The engine whose caller polls also has a socket that another thread sends on. */
static void
test_bursts_of_others_are_written_whoever_polls(void)
{
    rig r;
    rig_open(&r, 0);
    mm_handle push = open_spinning(r.one, MM_PUSH, 0), pull = open_spinning(r.two, MM_PULL, 0);
    pthread_t pulling;
    join(pull, push, TCP);
    trips(&r, 100);
    CHECK_INT(pthread_create(&pulling, NULL, pull_run, &pull), 0);
    for (uint32_t i = 0; i < BURST; i++) {
        CHECK_INT(mm_send(push, (uint8_t *)&i, sizeof i, WAIT_MS, 0), MM_OK);
        if (i % 50 == 0) {
            trip(r.asks, r.batch, i);
        }
    }
    pthread_join(pulling, NULL);   /* the last ones too, though nobody asks any more */
    rig_close(&r);
}

static void *
late_run(void *arg)
{
    take_all(*(mm_handle *)arg, 1, WAIT_MS);
    return NULL;
}

/* A second thread that waits on the same engine ends the time of lone callers. */
static void
test_a_second_waiter_gets_its_message_though_another_polls(void)
{
    rig r;
    rig_open(&r, 0);
    mm_handle push = open_spinning(r.two, MM_PUSH, 0), pull = open_spinning(r.one, MM_PULL, 0);
    pthread_t late;
    join(pull, push, TCP);
    for (uint32_t round = 0; round < 50; round++) {
        trips(&r, 20);
        CHECK_INT(pthread_create(&late, NULL, late_run, &pull), 0);
        trips(&r, round % 5);
        CHECK_INT(mm_send(push, (const uint8_t *)"x", 1, WAIT_MS, 0), MM_OK);
        pthread_join(late, NULL);
    }
    rig_close(&r);
}

static void *
closed_run(void *arg)
{
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    int rc = mm_recv(*(mm_handle *)arg, batch, 1, 1 << 20, -1, 0);
    CHECK(rc == MM_ECLOSED);
    mm_batch_free(batch);
    return NULL;
}

static void
test_an_engine_closes_under_who_polls(void)
{
    for (int round = 0; round < 20; round++) {
        rig r;
        pthread_t polls;
        rig_open(&r, 0);
        trips(&r, 30);
        CHECK_INT(pthread_create(&polls, NULL, closed_run, &r.asks), 0);
        close_engine(r.one, WAIT_MS);
        pthread_join(polls, NULL);
        rig_end_echo(&r);
        close_engine(r.two, WAIT_MS);
    }
}

/* Answers every survey of each of these sockets in turn. */
static void *
answers_run(void *arg)
{
    const mm_handle *respondents = arg;
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    for (uint32_t i = 0; i < SURVEYS * RESPONDENTS; i++) {
        mm_handle s = respondents[i % RESPONDENTS];
        uint64_t sizes[3];
        CHECK_INT(mm_recv(s, batch, 1, 1 << 20, WAIT_MS, 0), 1);
        CHECK_INT(batch->frame_count, 3);
        for (uint32_t j = 0; j < 3; j++) {
            sizes[j] = batch->offset[j + 1] - batch->offset[j];
        }
        CHECK_INT(mm_send_packed(s, batch->peer[0], batch->data, sizes, 3, NULL, 0, 0, 0), MM_OK);
    }
    mm_batch_free(batch);
    return NULL;
}

/* More answers than a lone caller reads of what streams to it: it goes on polling all the same. */
static void
test_a_lone_surveyor_gets_every_answer(void)
{
    mm_handle one = open_engine(), two = open_engine(), respondents[RESPONDENTS];
    mm_handle asks = open_spinning(one, MM_SURVEYOR, MM_SPIN_AUTO);
    mm_batch *batch;
    pthread_t answering;
    char endpoint[256];
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    CHECK_INT(mm_bind(asks, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), MM_OK);
    for (uint32_t i = 0; i < RESPONDENTS; i++) {
        respondents[i] = open_spinning(two, MM_RESPONDENT, 0);
        CHECK_INT(mm_connect(respondents[i], endpoint), MM_OK);
    }
    CHECK_INT(mm_wait_peers(asks, RESPONDENTS, WAIT_MS, 0), MM_OK);
    CHECK_INT(pthread_create(&answering, NULL, answers_run, respondents), 0);
    for (uint32_t i = 0; i < SURVEYS; i++) {
        const mm_body asked = { &i, sizeof i };
        uint64_t id;
        uint32_t back, count = 0;
        CHECK_INT(mm_survey(asks, &asked, 1, 0, WAIT_MS, 0, 0, &id), MM_OK);
        for (; mm_recv_reply(asks, id, batch, WAIT_MS, 0) == 1; count++) {
            memcpy(&back, batch->data + batch->offset[0], sizeof back);
            CHECK_INT(back, i);
        }
        CHECK_INT(count, RESPONDENTS);
        CHECK_INT(mm_request_cancel(asks, id), MM_OK);
    }
    pthread_join(answering, NULL);
    mm_batch_free(batch);
    close_engine(one, WAIT_MS);
    close_engine(two, WAIT_MS);
}

/* Is the runner asked to park after so many waits of a lone caller, each of few messages? */
static bool
parks_after(mmi_engine *e, int waits, int busy)
{
    e->lead.quiet = 0;
    e->lead.wake = 0;
    for (int i = 0; i < waits; i++) {
        mmi_lead_waited(e, true, false, i == busy ? QUIET_MESSAGES + 1 : QUIET_MESSAGES);
    }
    return (e->lead.wake & MMI_MAY_PARK) != 0;
}

static void
test_the_runner_is_to_park_after_some_quiet_waits_in_a_row(void)
{
    mm_handle engine = open_engine();
    void *object;
    mmi_engine *e;
    CHECK_INT(mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e), MM_OK);
    CHECK(!parks_after(e, QUIET_WAITS, -1));
    CHECK(parks_after(e, QUIET_WAITS + 1, -1));
    CHECK(!parks_after(e, QUIET_WAITS + 2, 1));   /* the row begins anew */
    CHECK(parks_after(e, QUIET_WAITS + 3, 1));
    e->lead.quiet = 0;
    e->lead.wake = 0;
    mmi_engine_leave(e);
    close_engine(engine, WAIT_MS);
}

int
main(void)
{
    RUN(test_a_lone_surveyor_gets_every_answer);
    RUN(test_a_lone_caller_that_sleeps_gets_every_answer);
    RUN(test_a_lone_caller_that_spins_gets_every_answer);
    RUN(test_bursts_of_others_are_written_whoever_polls);
    RUN(test_a_second_waiter_gets_its_message_though_another_polls);
    RUN(test_an_engine_closes_under_who_polls);
    RUN(test_the_runner_is_to_park_after_some_quiet_waits_in_a_row);
    return 0;
}
