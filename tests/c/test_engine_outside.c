/*
 * test_engine_outside.c: what others may do while a link writes or reads without the lock.
 * Not here: threads that race (test_engine_threads.c): here the platform itself closes the socket,
 * at the one moment that counts.
 * Law: a socket closed then is gone at once; whoever writes or reads for it touches it no more.
 * What a write took is counted as written, also when the connection ends before it returns.
 */
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "check.h"
#include "engine/engine.h"
#include "meshmsg.h"

enum { WAIT_MS = 20000, BODY_SIZE = 100, NO_BURST_NS = 1000000 };

static int64_t (*plain_writev)(void *self, int s, const mmi_iov *iov, int n);
static int64_t (*plain_readv)(void *self, int s, const mmi_iov *iov, int n);
static _Atomic(mm_handle) close_in_write, close_in_read;   /* 0: nothing */
static _Atomic(mm_handle) writer, peer;                    /* peer leaves when it has the message */
static atomic_uint ends_seen;

static void
close_once(_Atomic(mm_handle) *socket)
{
    mm_handle due = atomic_exchange(socket, 0);
    if (due != 0) {
        CHECK_INT(mm_socket_close(due), MM_OK);
    }
}

static uint64_t
now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Lets the handshake be no part of a burst: so the caller of a send writes, and the runner, which
 * is to notice what others do meanwhile, does not. */
static void
await_no_burst(void)
{
    uint64_t start = now_ns();
    while (now_ns() - start < NO_BURST_NS) {
        (void)sched_yield();
    }
}

static uint32_t
peers_of(mm_handle socket)
{
    uint32_t count;
    CHECK_INT(mm_peer_count(socket, &count), MM_OK);
    return count;
}

/* The peer takes what was written and goes, and that is noticed, before the write has returned. */
static void
lose_peer_once(void)
{
    mm_handle due = atomic_exchange(&peer, 0);
    mm_batch *batch;
    if (due == 0) {
        return;
    }
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    CHECK_INT(mm_recv(due, batch, 1, BODY_SIZE, WAIT_MS, 0), 1);
    mm_batch_free(batch);
    CHECK_INT(mm_socket_close(due), MM_OK);
    while (atomic_load(&ends_seen) < 2 && peers_of(atomic_load(&writer)) > 0) {
        (void)sched_yield();
    }
}

static int64_t
closing_writev(void *self, int s, const mmi_iov *iov, int n)
{
    close_once(&close_in_write);
    int64_t size = plain_writev(self, s, iov, n);
    lose_peer_once();
    return size;
}

static int64_t
closing_readv(void *self, int s, const mmi_iov *iov, int n)
{
    int64_t size = plain_readv(self, s, iov, n);
    ends_seen += size == 0;
    close_once(&close_in_read);
    return size;
}

static mm_handle
open_engine(void)
{
    mmi_plat plat;
    mm_handle engine;
    CHECK_INT(mmi_plat_posix(false, &plat), MM_OK);
    plain_writev = plat.writev;
    plain_readv = plat.readv;
    plat.writev = closing_writev;
    plat.readv = closing_readv;
    CHECK_INT(mmi_engine_open(&plat, &engine), MM_OK);
    return engine;
}

/* It does not linger, and nothing but messages is written or read on its connections. */
static mm_handle
open_socket(mm_handle engine, int role)
{
    mm_socket_opts opts;
    mm_handle s;
    CHECK_INT(mm_socket_defaults(role, &opts), MM_OK);
    opts.linger_ms = 0;
    opts.heartbeat_interval_ms = 0;
    CHECK_INT(mm_socket_open(engine, role, &opts, &s), MM_OK);
    return s;
}

static void
open_pair(mm_handle engine, mm_handle *push, mm_handle *pull)
{
    char endpoint[MM_ENDPOINT_MAX + 1];
    *push = open_socket(engine, MM_PUSH);
    *pull = open_socket(engine, MM_PULL);
    CHECK_INT(mm_bind(*push, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(*pull, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(*push, 1, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_wait_peers(*pull, 1, WAIT_MS, 0), MM_OK);
}

static void
test_a_socket_closed_while_its_link_writes_is_not_touched_again(void)
{
    static const uint8_t body[BODY_SIZE];
    mm_handle engine = open_engine(), push, pull;
    uint64_t abandoned;
    open_pair(engine, &push, &pull);
    atomic_store(&close_in_write, push);
    CHECK_INT(mm_send(push, body, sizeof body, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_wait_peers(push, 2, WAIT_MS, 0), MM_ECLOSED);
    CHECK_INT(mm_engine_close(engine, 1000, &abandoned), MM_OK);
    CHECK_INT(atomic_load(&close_in_write), 0);
    CHECK_INT(mm_live_handles(), 0);
}

static void
test_a_socket_closed_while_its_link_reads_is_not_touched_again(void)
{
    static const uint8_t body[BODY_SIZE];
    mm_handle engine = open_engine(), push, pull;
    uint64_t abandoned;
    mm_batch *batch;
    open_pair(engine, &push, &pull);
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    atomic_store(&close_in_read, pull);
    CHECK_INT(mm_send(push, body, sizeof body, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_recv(pull, batch, 1, BODY_SIZE, WAIT_MS, 0), MM_ECLOSED);
    mm_batch_free(batch);
    CHECK_INT(mm_engine_close(engine, 1000, &abandoned), MM_OK);
    CHECK_INT(atomic_load(&close_in_read), 0);
    CHECK_INT(mm_live_handles(), 0);
}

static void
test_what_arrived_before_its_write_returned_is_not_counted_as_dropped(void)
{
    static const uint8_t body[BODY_SIZE];
    mm_handle engine = open_engine(), other, push, pull;
    mm_stats stats;
    char endpoint[MM_ENDPOINT_MAX + 1];
    uint64_t abandoned;
    CHECK_INT(mm_engine_open(0, &other), MM_OK);
    push = open_socket(engine, MM_PUSH);
    pull = open_socket(other, MM_PULL);
    CHECK_INT(mm_bind(push, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(pull, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(push, 1, WAIT_MS, 0), MM_OK);
    await_no_burst();
    atomic_store(&ends_seen, 0);
    atomic_store(&writer, push);
    atomic_store(&peer, pull);
    CHECK_INT(mm_send(push, body, sizeof body, WAIT_MS, 0), MM_OK);
    while (peers_of(push) > 0) {
        (void)sched_yield();
    }
    CHECK_INT(mm_socket_stats(push, &stats), MM_OK);
    CHECK_INT(stats.dropped_peer_gone, 0);
    CHECK_INT(stats.written_messages, 1);
    CHECK_INT(stats.in_doubt_messages, 1);
    CHECK_INT(mm_engine_close(engine, 1000, &abandoned), MM_OK);
    CHECK_INT(abandoned, 0);
    CHECK_INT(mm_engine_close(other, 1000, &abandoned), MM_OK);
}

int
main(void)
{
    RUN(test_a_socket_closed_while_its_link_writes_is_not_touched_again);
    RUN(test_a_socket_closed_while_its_link_reads_is_not_touched_again);
    RUN(test_what_arrived_before_its_write_returned_is_not_counted_as_dropped);
    return 0;
}
