/*
 * sockets.h: engines and sockets as a program has them: opened, joined, closed, and threads that
 * take or echo what comes.
 * Not here: roles without an engine (fake.h); engines of the simulated world.
 * Law: every step is checked; who needs a socket to differ changes its options.
 */
#ifndef SOCKETS_H
#define SOCKETS_H

#include <sched.h>
#include <time.h>

#include "check.h"

enum { PATIENCE_MS = 60000 };   /* what no test times has so long: the machine may be busy */
static const char TCP[] = "tcp://127.0.0.1:0";

static inline uint64_t
clock_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Looks again and again until it is so; a test that hangs fails instead. */
#define AWAIT(cond)                                                                               \
    for (uint64_t await_start = clock_ns(); !(cond); (void)sched_yield())                         \
    CHECK((clock_ns() - await_start) / 1000000 < PATIENCE_MS)

/* Lets what was written before be no part of a burst: the caller of a send then writes itself. */
static inline void
await_no_burst(void)
{
    const uint64_t start = clock_ns();
    AWAIT(clock_ns() - start > 1000000);
}

static inline mm_handle
open_engine(void)
{
    mm_handle engine;
    CHECK_INT(mm_engine_open(0, &engine), MM_OK);
    return engine;
}

static inline void
close_engine(mm_handle engine, int64_t linger_ms)
{
    uint64_t abandoned;
    CHECK_INT(mm_engine_close(engine, linger_ms, &abandoned), MM_OK);
}

/* A thread that does. */
static inline void *
close_run(void *arg)
{
    close_engine(*(mm_handle *)arg, PATIENCE_MS);
    return NULL;
}

static inline mm_socket_opts
opts_of(int role)
{
    mm_socket_opts opts;
    CHECK_INT(mm_socket_defaults(role, &opts), MM_OK);
    return opts;
}

static inline mm_handle
open_with(mm_handle engine, int role, const mm_socket_opts *opts)
{
    mm_handle socket;
    CHECK_INT(mm_socket_open(engine, role, opts, &socket), MM_OK);
    return socket;
}

static inline mm_handle
open_socket(mm_handle engine, int role)
{
    mm_socket_opts opts = opts_of(role);
    return open_with(engine, role, &opts);
}

/* Nothing but messages is written or read on its connections. */
static inline mm_handle
open_quiet(mm_handle engine, int role)
{
    mm_socket_opts opts = opts_of(role);
    opts.heartbeat_interval_ms = 0;
    return open_with(engine, role, &opts);
}

/* Its callers spin so long before they sleep. */
static inline mm_handle
open_spinning(mm_handle engine, int role, uint32_t spin_us)
{
    mm_socket_opts opts = opts_of(role);
    opts.spin_us = spin_us;
    return open_with(engine, role, &opts);
}

/* Returns when both see each other. */
static inline void
join(mm_handle listening, mm_handle dialing, const char *url)
{
    char endpoint[MM_ENDPOINT_MAX + 1];
    CHECK_INT(mm_bind(listening, url, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(dialing, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(listening, 1, PATIENCE_MS, 0), MM_OK);
    CHECK_INT(mm_wait_peers(dialing, 1, PATIENCE_MS, 0), MM_OK);
}

/* Receives exactly so many messages, each within the time. */
static inline void
take_all(mm_handle socket, uint32_t wanted, int64_t wait_ms)
{
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    for (uint32_t received = 0; received < wanted;) {
        uint32_t rest = wanted - received;
        int count = mm_recv(socket, batch, rest < 100 ? rest : 100, 1 << 20, wait_ms, 0);
        CHECK(count > 0);
        received += (uint32_t)count;
    }
    mm_batch_free(batch);
}

/* A thread that gives back what its socket receives, until that is closed. */
static inline void *
echo_run(void *arg)
{
    mm_handle pair = *(mm_handle *)arg;
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    int rc;
    while ((rc = mm_recv(pair, batch, 1, 1 << 20, -1, 0)) == 1) {
        const uint8_t *body = batch->data + batch->offset[0];
        CHECK_INT(mm_send(pair, body, batch->offset[1] - batch->offset[0], PATIENCE_MS, 0), MM_OK);
    }
    CHECK_INT(rc, MM_ECLOSED);
    mm_batch_free(batch);
    return NULL;
}

#endif
