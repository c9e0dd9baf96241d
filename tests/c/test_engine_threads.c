/*
 * test_engine_threads.c: engines under threads: many senders and receivers on shared sockets, close
 * while others wait, requests from many threads, fork while busy.
 *
 * Meant to run under TSan as well.  Law: every message arrives once; nobody is left waiting.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sockets.h"

enum {
    SENDERS = 3,
    RECEIVERS = 3,
    EACH = 20000,
    REQUESTERS = 4,
    REQUESTS = 500,
    WAIT_MS = 60000,
    RUN = 100,
    RUN_WORDS = 100,
    GOINGS = 30
};

typedef struct flow {
    mm_handle push, pull;
    atomic_uint next_sender, received;
    atomic_uchar seen[SENDERS * EACH];
} flow;

static flow shared;

static void *
flow_sender(void *arg)
{
    (void)arg;
    uint32_t id = atomic_fetch_add(&shared.next_sender, 1);
    static uint32_t bodies[SENDERS][RUN][RUN_WORDS];
    mm_body run[RUN];
    for (uint32_t i = 0; i < RUN; i++) {
        run[i] = (mm_body){ bodies[id][i], sizeof bodies[id][i] };
    }
    for (uint32_t i = 0; i < EACH; i++) {   /* one by one, and in runs, in turn */
        uint32_t body = id * EACH + i;
        size_t sent;
        if (i / RUN % 2 == 0) {
            CHECK(mm_send(shared.push, (uint8_t *)&body, sizeof body, WAIT_MS, 0) == MM_OK);
            continue;
        }
        bodies[id][i % RUN][0] = body;
        CHECK(i % RUN < RUN - 1 || mm_send_many(shared.push, run, RUN, WAIT_MS, 0, &sent) == MM_OK);
    }
    return NULL;
}

static void *
flow_receiver(void *arg)
{
    (void)arg;
    mm_batch *batch;
    CHECK(mm_batch_new(&batch) == MM_OK);
    for (;;) {
        int count = mm_recv(shared.pull, batch, 100, 1 << 20, WAIT_MS, 0);
        if (count == MM_ECLOSED) {
            break;
        }
        CHECK(count > 0);
        for (int i = 0; i < count; i++) {
            uint32_t body;
            memcpy(&body, batch->data + batch->offset[i], sizeof body);
            CHECK(body < SENDERS * EACH);
            CHECK(atomic_fetch_add(&shared.seen[body], 1) == 0);
        }
        if (atomic_fetch_add(&shared.received, (unsigned)count) + (unsigned)count ==
            SENDERS * EACH) {
            CHECK(mm_socket_close(shared.pull) == MM_OK);   /* the others are inside recv */
        }
    }
    mm_batch_free(batch);
    return NULL;
}

static void
test_every_message_arrives_once_and_close_wakes_every_receiver(mm_handle engine, mm_handle other,
                                                               const char *url)
{
    pthread_t threads[SENDERS + RECEIVERS];
    memset(&shared, 0, sizeof shared);
    shared.push = open_socket(engine, MM_PUSH);
    shared.pull = open_socket(other, MM_PULL);
    join(shared.push, shared.pull, url);
    for (int i = 0; i < SENDERS + RECEIVERS; i++) {
        CHECK(pthread_create(&threads[i], NULL, i < SENDERS ? flow_sender : flow_receiver, NULL) ==
              0);
    }
    for (int i = 0; i < SENDERS + RECEIVERS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(atomic_load(&shared.received) == SENDERS * EACH);
    CHECK(mm_socket_close(shared.push) == MM_OK);
    CHECK(mm_send(shared.push, (const uint8_t *)"x", 1, 0, 0) == MM_ECLOSED);
}

static atomic_bool going_over;

static void *
going_sender(void *arg)
{
    mm_handle push = *(mm_handle *)arg;
    static uint8_t bodies[RUN * RUN_WORDS];
    mm_body run[RUN];
    for (uint32_t i = 0; i < RUN; i++) {
        run[i] = (mm_body){ bodies + i * RUN_WORDS, RUN_WORDS };
    }
    while (!atomic_load(&going_over)) {
        size_t sent;
        int rc = mm_send_many(push, run, RUN, 1, 0, &sent);
        CHECK(rc == MM_OK || rc == MM_ETIMEDOUT || rc == MM_EAGAIN);
    }
    return NULL;
}

static void
test_a_receiver_may_go_while_runs_are_on_their_way_to_it(mm_handle engine, mm_handle other)
{
    mm_socket_opts soon = opts_of(MM_PUSH);   /* else it waits longer each time that one goes */
    soon.reconnect_min_ms = soon.reconnect_max_ms = 1;
    mm_handle push = open_with(engine, MM_PUSH, &soon);
    mm_batch *batch;
    pthread_t thread;
    char endpoint[256];
    atomic_store(&going_over, false);
    CHECK(mm_batch_new(&batch) == MM_OK);
    CHECK(mm_connect(push, "inproc://going") == MM_OK);
    CHECK(pthread_create(&thread, NULL, going_sender, &push) == 0);
    for (int i = 0; i < GOINGS; i++) {
        mm_handle pull = open_socket(i % 2 == 0 ? engine : other, MM_PULL);
        CHECK(mm_bind(pull, "inproc://going", endpoint, sizeof endpoint) == MM_OK);
        CHECK(mm_recv(pull, batch, 100, 1 << 20, WAIT_MS, 0) > 0);
        CHECK(mm_socket_close(pull) == MM_OK);
    }
    atomic_store(&going_over, true);
    CHECK(pthread_join(thread, NULL) == 0);
    mm_batch_free(batch);
    CHECK(mm_socket_close(push) == MM_OK);
}

static mm_handle req_socket;

static void *
requester(void *arg)
{
    mm_batch *batch;
    CHECK(mm_batch_new(&batch) == MM_OK);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        uint32_t body[2] = { (uint32_t)(uintptr_t)arg, i };
        uint64_t size = sizeof body, id;
        CHECK(mm_request_packed(req_socket, (uint8_t *)body, &size, 1, NULL, 0, WAIT_MS, 0, &id) ==
              MM_OK);
        CHECK(mm_recv_reply(req_socket, id, batch, WAIT_MS, 0) == 1);
        CHECK(batch->offset[1] - batch->offset[0] == sizeof body);
        CHECK(memcmp(batch->data, body, sizeof body) == 0);   /* its own reply, nobody else's */
    }
    mm_batch_free(batch);
    return NULL;
}

static void *
replier(void *arg)
{
    mm_handle rep = *(mm_handle *)arg;
    mm_batch *batch;
    uint64_t sizes[8];
    CHECK(mm_batch_new(&batch) == MM_OK);
    for (;;) {
        int rc = mm_recv(rep, batch, 1, 1 << 20, -1, 0);
        if (rc == MM_ECLOSED) {
            break;
        }
        CHECK(rc == 1 && batch->frame_count <= 8);
        for (uint32_t j = 0; j < batch->frame_count; j++) {
            sizes[j] = batch->offset[j + 1] - batch->offset[j];
        }
        CHECK(mm_send_packed(rep, batch->peer[0], batch->data, sizes, batch->frame_count, NULL, 0,
                             0, 0) == MM_OK);
    }
    mm_batch_free(batch);
    return NULL;
}

static void
test_requests_of_many_threads_each_get_their_own_reply(mm_handle engine, mm_handle other)
{
    pthread_t threads[REQUESTERS], server;
    req_socket = open_socket(engine, MM_REQ);
    mm_handle rep = open_socket(other, MM_REP);
    join(rep, req_socket, "tcp://127.0.0.1:0");
    CHECK(pthread_create(&server, NULL, replier, &rep) == 0);
    for (uintptr_t i = 0; i < REQUESTERS; i++) {
        CHECK(pthread_create(&threads[i], NULL, requester, (void *)i) == 0);
    }
    for (int i = 0; i < REQUESTERS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(mm_socket_close(rep) == MM_OK);
    CHECK(pthread_join(server, NULL) == 0);
    CHECK(mm_socket_close(req_socket) == MM_OK);
}

static void *
wait_for_ever(void *arg)
{
    mm_batch *batch;
    CHECK(mm_batch_new(&batch) == MM_OK);
    CHECK(mm_recv(*(mm_handle *)arg, batch, 1, 1, -1, 0) == MM_ECLOSED);
    mm_batch_free(batch);
    return NULL;
}

static void
test_closing_an_engine_ends_every_wait(void)
{
    mm_handle engine;
    pthread_t threads[RECEIVERS];
    uint64_t abandoned;
    CHECK(mm_engine_open(0, &engine) == MM_OK);
    mm_handle pull = open_socket(engine, MM_PULL);
    for (int i = 0; i < RECEIVERS; i++) {
        CHECK(pthread_create(&threads[i], NULL, wait_for_ever, &pull) == 0);
    }
    CHECK(mm_engine_close(engine, 1000, &abandoned) == MM_OK && abandoned == 0);
    for (int i = 0; i < RECEIVERS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(mm_engine_close(engine, 0, &abandoned) == MM_ECLOSED);
}

static void
test_a_forked_child_is_told_and_can_open_its_own(mm_handle engine)
{
    mm_handle push = open_socket(engine, MM_PUSH);
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            mm_handle own;
            uint64_t abandoned;
            bool ok = mm_send(push, (const uint8_t *)"x", 1, 0, 0) == MM_EFORKED &&
                      mm_engine_open(0, &own) == MM_OK &&
                      mm_engine_close(own, 0, &abandoned) == MM_OK;
            _exit(ok ? 0 : 1);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK(mm_send(push, (const uint8_t *)"x", 1, 0, 0) == MM_EAGAIN);
    CHECK(mm_socket_close(push) == MM_OK);
}

int
main(void)
{
    mm_handle engine, other;
    uint64_t abandoned;
    CHECK(mm_engine_open(0, &engine) == MM_OK);
    CHECK(mm_engine_open(MM_ENGINE_POLL, &other) == MM_OK);
    static const char *const urls[] = { "tcp://127.0.0.1:0", "inproc://threads" };
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        test_every_message_arrives_once_and_close_wakes_every_receiver(engine, other, urls[i]);
        test_every_message_arrives_once_and_close_wakes_every_receiver(engine, engine, urls[i]);
    }
    test_a_receiver_may_go_while_runs_are_on_their_way_to_it(engine, other);
    test_requests_of_many_threads_each_get_their_own_reply(engine, other);
    test_closing_an_engine_ends_every_wait();
#ifndef __SANITIZE_THREAD__   /* TSan knows no threads in the child of a fork with threads */
    test_a_forked_child_is_told_and_can_open_its_own(engine);
#else
    (void)test_a_forked_child_is_told_and_can_open_its_own;
#endif
    CHECK(mm_engine_close(engine, 1000, &abandoned) == MM_OK);
    CHECK(mm_engine_close(other, 1000, &abandoned) == MM_OK);
    CHECK(mm_live_handles() == 0);
    return 0;
}
