/*
 * test_lead.c: lone callers that poll for themselves while the runner is parked: that they get what
 * is theirs, and that whatever else depends on polling still happens.
 *
 * Meant to run under TSan as well.  Law: nobody is left waiting, whoever polls.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "check.h"
#include "meshmsg.h"

enum { TRIPS = 3000, WAIT_MS = 60000, BURST = 5000, RESPONDENTS = 40, SURVEYS = 200 };

static mm_handle
open_socket(mm_handle engine, int role, uint32_t spin_us)
{
    mm_socket_opts opts;
    mm_handle s;
    CHECK_INT(mm_socket_defaults(role, &opts), MM_OK);
    opts.spin_us = spin_us;
    CHECK_INT(mm_socket_open(engine, role, &opts, &s), MM_OK);
    return s;
}

static mm_handle
open_engine(void)
{
    mm_handle engine;
    CHECK_INT(mm_engine_open(0, &engine), MM_OK);
    return engine;
}

static void
close_engine(mm_handle engine)
{
    uint64_t abandoned;
    CHECK_INT(mm_engine_close(engine, WAIT_MS, &abandoned), MM_OK);
}

static void
join(mm_handle listening, mm_handle dialing)
{
    char endpoint[256];
    CHECK_INT(mm_bind(listening, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(dialing, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(listening, 1, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_wait_peers(dialing, 1, WAIT_MS, 0), MM_OK);
}

/* Gives back what it receives, until its socket is closed. */
static void *
echo_run(void *arg)
{
    mm_handle pair = *(mm_handle *)arg;
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    int rc;
    while ((rc = mm_recv(pair, batch, 1, 1 << 20, -1, 0)) == 1) {
        const uint8_t *body = batch->data + batch->offset[0];
        CHECK_INT(mm_send(pair, body, batch->offset[1] - batch->offset[0], WAIT_MS, 0), MM_OK);
    }
    CHECK_INT(rc, MM_ECLOSED);
    mm_batch_free(batch);
    return NULL;
}

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
round_trips(uint32_t spin_us)
{
    mm_handle one = open_engine(), two = open_engine();
    mm_handle asks = open_socket(one, MM_PAIR, spin_us),
              echoes = open_socket(two, MM_PAIR, spin_us);
    mm_batch *batch;
    pthread_t echo;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    join(echoes, asks);
    CHECK_INT(pthread_create(&echo, NULL, echo_run, &echoes), 0);
    for (uint32_t i = 0; i < TRIPS; i++) {
        trip(asks, batch, i);
    }
    CHECK_INT(mm_socket_close(echoes), MM_OK);   /* while it polls */
    pthread_join(echo, NULL);
    mm_batch_free(batch);
    close_engine(one);
    close_engine(two);
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
    mm_batch *batch;
    uint32_t received = 0;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    while (received < BURST) {
        int count = mm_recv(*(mm_handle *)arg, batch, 100, 1 << 20, WAIT_MS, 0);
        CHECK(count > 0);
        received += (uint32_t)count;
    }
    mm_batch_free(batch);
    return NULL;
}

/* The engine whose caller polls also has a socket that another thread sends on. */
static void
test_bursts_of_others_are_written_whoever_polls(void)
{
    mm_handle one = open_engine(), two = open_engine();
    mm_handle asks = open_socket(one, MM_PAIR, 0), echoes = open_socket(two, MM_PAIR, 0);
    mm_handle push = open_socket(one, MM_PUSH, 0), pull = open_socket(two, MM_PULL, 0);
    mm_batch *batch;
    pthread_t echo, pulling;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    join(echoes, asks);
    join(pull, push);
    CHECK_INT(pthread_create(&echo, NULL, echo_run, &echoes), 0);
    for (uint32_t i = 0; i < 100; i++) {
        trip(asks, batch, i);
    }
    CHECK_INT(pthread_create(&pulling, NULL, pull_run, &pull), 0);
    for (uint32_t i = 0; i < BURST; i++) {
        CHECK_INT(mm_send(push, (uint8_t *)&i, sizeof i, WAIT_MS, 0), MM_OK);
        if (i % 50 == 0) {
            trip(asks, batch, i);
        }
    }
    pthread_join(pulling, NULL);   /* the last ones too, though nobody asks any more */
    CHECK_INT(mm_socket_close(echoes), MM_OK);
    pthread_join(echo, NULL);
    mm_batch_free(batch);
    close_engine(one);
    close_engine(two);
}

static void *
late_run(void *arg)
{
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    CHECK_INT(mm_recv(*(mm_handle *)arg, batch, 1, 1 << 20, WAIT_MS, 0), 1);
    mm_batch_free(batch);
    return NULL;
}

/* A second thread that waits on the same engine ends the time of lone callers. */
static void
test_a_second_waiter_gets_its_message_though_another_polls(void)
{
    mm_handle one = open_engine(), two = open_engine();
    mm_handle asks = open_socket(one, MM_PAIR, 0), echoes = open_socket(two, MM_PAIR, 0);
    mm_handle push = open_socket(two, MM_PUSH, 0), pull = open_socket(one, MM_PULL, 0);
    mm_batch *batch;
    pthread_t echo, late;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    join(echoes, asks);
    join(pull, push);
    CHECK_INT(pthread_create(&echo, NULL, echo_run, &echoes), 0);
    for (uint32_t round = 0; round < 50; round++) {
        for (uint32_t i = 0; i < 20; i++) {
            trip(asks, batch, i);
        }
        CHECK_INT(pthread_create(&late, NULL, late_run, &pull), 0);
        for (uint32_t i = 0; i < round % 5; i++) {
            trip(asks, batch, i);
        }
        CHECK_INT(mm_send(push, (const uint8_t *)"x", 1, WAIT_MS, 0), MM_OK);
        pthread_join(late, NULL);
    }
    CHECK_INT(mm_socket_close(echoes), MM_OK);
    pthread_join(echo, NULL);
    mm_batch_free(batch);
    close_engine(one);
    close_engine(two);
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
        mm_handle one = open_engine(), two = open_engine();
        mm_handle asks = open_socket(one, MM_PAIR, 0), echoes = open_socket(two, MM_PAIR, 0);
        mm_batch *batch;
        pthread_t echo, polls;
        CHECK_INT(mm_batch_new(&batch), MM_OK);
        join(echoes, asks);
        CHECK_INT(pthread_create(&echo, NULL, echo_run, &echoes), 0);
        for (uint32_t i = 0; i < 30; i++) {
            trip(asks, batch, i);
        }
        CHECK_INT(pthread_create(&polls, NULL, closed_run, &asks), 0);
        close_engine(one);
        pthread_join(polls, NULL);
        CHECK_INT(mm_socket_close(echoes), MM_OK);
        pthread_join(echo, NULL);
        mm_batch_free(batch);
        close_engine(two);
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
        CHECK_INT(mm_send_frames(s, batch->peer[0], batch->data, sizes, 3, 0, 0), MM_OK);
    }
    mm_batch_free(batch);
    return NULL;
}

/* More answers than a lone caller reads of what streams to it: it goes on polling all the same. */
static void
test_a_lone_surveyor_gets_every_answer(void)
{
    mm_handle one = open_engine(), two = open_engine(), respondents[RESPONDENTS];
    mm_handle asks = open_socket(one, MM_SURVEYOR, MM_SPIN_AUTO);
    mm_batch *batch;
    pthread_t answering;
    char endpoint[256];
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    CHECK_INT(mm_bind(asks, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), MM_OK);
    for (uint32_t i = 0; i < RESPONDENTS; i++) {
        respondents[i] = open_socket(two, MM_RESPONDENT, 0);
        CHECK_INT(mm_connect(respondents[i], endpoint), MM_OK);
    }
    CHECK_INT(mm_wait_peers(asks, RESPONDENTS, WAIT_MS, 0), MM_OK);
    CHECK_INT(pthread_create(&answering, NULL, answers_run, respondents), 0);
    for (uint32_t i = 0; i < SURVEYS; i++) {
        uint64_t id, size = sizeof i;
        uint32_t back, count = 0;
        CHECK_INT(mm_survey(asks, (const uint8_t *)&i, &size, 1, 0, WAIT_MS, 0, 0, &id), MM_OK);
        for (; mm_reply(asks, id, batch, WAIT_MS, 0) == 1; count++) {
            memcpy(&back, batch->data + batch->offset[0], sizeof back);
            CHECK_INT(back, i);
        }
        CHECK_INT(count, RESPONDENTS);
        CHECK_INT(mm_request_cancel(asks, id), MM_OK);
    }
    pthread_join(answering, NULL);
    mm_batch_free(batch);
    close_engine(one);
    close_engine(two);
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
    return 0;
}
