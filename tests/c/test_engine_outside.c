/*
 * test_engine_outside.c: what others may do while a link writes or reads without the lock.
 * Not here: threads that race (test_engine_threads.c): here the platform itself closes the socket,
 * at the one moment that counts.
 * Law: a socket closed then is gone at once for its users; whoever writes or reads for it touches
 * it no more.  What a write took is counted as written, however its connection ends meanwhile.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sockets.h"
#include "sched/sched.h"

enum { WAIT_MS = 60000, BODY_SIZE = 100 };

static int64_t (*plain_writev)(void *self, int s, const mmi_iov *iov, int n);
static int64_t (*plain_readv)(void *self, int s, const mmi_iov *iov, int n);
static _Atomic(mm_handle) close_in_write, close_in_read;   /* 0: nothing */
static _Atomic(mm_handle) peer;                            /* leaves when it has the message */
static int (*plain_watch)(void *self, int s, uint32_t events, uint64_t tag);
static int (*plain_resolve)(void *self, const char *host, uint16_t port, mmi_addr *out, int cap);
static _Atomic(mm_handle) stop_in_read, stop_in_resolve;   /* 0: nothing */
static atomic_int raw_peer = -1;   /* a bare connection, whose link ends while it is written */
static atomic_bool raw_armed, given_up;
static _Atomic(mm_handle) drain_in_write;
static int drained;   /* messages, then */
static const char *raw_says;       /* what ends it; NULL: we end it ourselves */
static size_t raw_says_size;
static mm_handle raw_writer;
static const char *raw_endpoint;

static void
close_once(_Atomic(mm_handle) *socket)
{
    mm_handle due = atomic_exchange(socket, 0);
    if (due != 0) {
        CHECK_INT(mm_socket_close(due), MM_OK);
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
    atomic_store(&given_up, false);
    CHECK_INT(mm_socket_close(due), MM_OK);
    while (!atomic_load(&given_up)) {
        (void)sched_yield();
    }
}

static void
raw_read(void *data, size_t size)
{
    for (size_t got = 0; got < size;) {
        ssize_t n = recv(atomic_load(&raw_peer), (char *)data + got, size - got, 0);
        CHECK(n > 0);
        got += (size_t)n;
    }
}

/* The peer has the message, and the link is given up, before the write has returned. */
static void
end_raw_once(void)
{
    uint8_t message[2 + BODY_SIZE];
    if (!atomic_exchange(&raw_armed, false)) {
        return;
    }
    raw_read(message, sizeof message);
    atomic_store(&given_up, false);
    if (raw_says != NULL) {
        CHECK(send(atomic_load(&raw_peer), raw_says, raw_says_size, 0) == (ssize_t)raw_says_size);
    } else {
        CHECK_INT(mm_disconnect(raw_writer, raw_endpoint), MM_OK);
    }
    while (!atomic_load(&given_up)) {
        (void)sched_yield();
    }
}

/* Takes what the inbox has, and no more. */
static void
drain_once(void)
{
    mm_handle due = atomic_exchange(&drain_in_write, 0);
    mm_batch *batch;
    if (due == 0) {
        return;
    }
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    for (int n; (n = mm_recv(due, batch, 1000, 1 << 20, 0, 0)) > 0;) {
        drained += n;
    }
    mm_batch_free(batch);
}

/* Its time is up before what is read at this moment was given out. */
static void
stop_once(_Atomic(mm_handle) *socket)
{
    mm_handle due = atomic_exchange(socket, 0);
    mm_batch *batch;
    if (due == 0) {
        return;
    }
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    CHECK_INT(mm_stop_receiving(due, 0), MM_OK);
    int rc = mm_recv(due, batch, 1, BODY_SIZE, 0, 0);
    CHECK_INT(rc, socket == &stop_in_resolve ? MM_ECLOSED : MM_EAGAIN);
    mm_batch_free(batch);
}

static int
stopping_resolve(void *self, const char *host, uint16_t port, mmi_addr *out, int cap)
{
    stop_once(&stop_in_resolve);
    return plain_resolve(self, host, port, out, cap);
}

static int64_t
closing_writev(void *self, int s, const mmi_iov *iov, int n)
{
    close_once(&close_in_write);
    drain_once();
    int64_t size = plain_writev(self, s, iov, n);
    lose_peer_once();
    end_raw_once();
    return size;
}

/* A link that is given up is not polled any more. */
static int
noting_watch(void *self, int s, uint32_t events, uint64_t tag)
{
    if (events == 0) {
        atomic_store(&given_up, true);
    }
    return plain_watch(self, s, events, tag);
}

static int64_t
closing_readv(void *self, int s, const mmi_iov *iov, int n)
{
    int64_t size = plain_readv(self, s, iov, n);
    close_once(&close_in_read);
    if (size > 0) {
        stop_once(&stop_in_read);
    }
    return size;
}

static mm_handle
open_hooked(void)
{
    mmi_plat plat;
    mm_handle engine;
    CHECK_INT(mmi_plat_posix(false, &plat), MM_OK);
    plain_writev = plat.writev;
    plain_readv = plat.readv;
    plain_watch = plat.watch;
    plain_resolve = plat.resolve_wait;
    plat.resolve_wait = stopping_resolve;
    plat.watch = noting_watch;
    plat.writev = closing_writev;
    plat.readv = closing_readv;
    CHECK_INT(mmi_engine_open(&plat, &engine), MM_OK);
    return engine;
}

/* Quiet (sockets.h), and it does not linger. */
static mm_handle
open_brief(mm_handle engine, int role)
{
    mm_socket_opts opts = opts_of(role);
    opts.linger_ms = 0;
    opts.heartbeat_interval_ms = 0;
    return open_with(engine, role, &opts);
}

static void
open_pair(mm_handle engine, mm_handle *push, mm_handle *pull)
{
    *push = open_brief(engine, MM_PUSH);
    *pull = open_brief(engine, MM_PULL);
    join(*push, *pull, TCP);
}

static void
test_a_socket_closed_while_its_link_writes_is_not_touched_again(void)
{
    static const uint8_t body[BODY_SIZE];
    mm_handle engine = open_hooked(), push, pull;
    open_pair(engine, &push, &pull);
    atomic_store(&close_in_write, push);
    CHECK_INT(mm_send(push, body, sizeof body, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_wait_peers(push, 2, WAIT_MS, 0), MM_ECLOSED);
    close_engine(engine, 1000);
    CHECK_INT(atomic_load(&close_in_write), 0);
    CHECK_INT(mm_live_handles(), 0);
}

static void
test_what_is_read_while_its_socket_stops_is_still_given_out(void)
{
    static const uint8_t body[BODY_SIZE];
    mm_handle engine = open_hooked(), push, pull;
    mm_batch *batch;
    open_pair(engine, &push, &pull);
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    atomic_store(&stop_in_read, pull);
    CHECK_INT(mm_send(push, body, sizeof body, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_recv(pull, batch, 1, BODY_SIZE, WAIT_MS, 0), 1);
    CHECK_INT(atomic_load(&stop_in_read), 0);
    CHECK_INT(mm_recv(pull, batch, 1, BODY_SIZE, WAIT_MS, 0), MM_ECLOSED);
    mm_batch_free(batch);
    close_engine(engine, 1000);
    CHECK_INT(mm_live_handles(), 0);
}

static void
test_a_socket_that_stops_while_a_name_is_looked_up_does_not_listen(void)
{
    mm_handle engine = open_hooked(), pull = open_brief(engine, MM_PULL);
    char endpoint[MM_ENDPOINT_MAX + 1];
    atomic_store(&stop_in_resolve, pull);
    CHECK_INT(mm_bind(pull, "tcp://localhost:0", endpoint, sizeof endpoint), MM_ESTATE);
    CHECK_INT(atomic_load(&stop_in_resolve), 0);
    close_engine(engine, 1000);
    CHECK_INT(mm_live_handles(), 0);
}

static void
test_a_socket_closed_while_its_link_reads_is_not_touched_again(void)
{
    static const uint8_t body[BODY_SIZE];
    mm_handle engine = open_hooked(), push, pull;
    mm_batch *batch;
    open_pair(engine, &push, &pull);
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    atomic_store(&close_in_read, pull);
    CHECK_INT(mm_send(push, body, sizeof body, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_recv(pull, batch, 1, BODY_SIZE, WAIT_MS, 0), MM_ECLOSED);
    mm_batch_free(batch);
    close_engine(engine, 1000);
    CHECK_INT(atomic_load(&close_in_read), 0);
    CHECK_INT(mm_live_handles(), 0);
}

/* The one that dials says the first word of a handshake, and the one that listens reads it. */
static void
close_in_handshake(bool dialer, _Atomic(mm_handle) *moment)
{
    mm_handle engine = open_hooked(), other = open_engine(), near_end, far_end;
    char endpoint[MM_ENDPOINT_MAX + 1];
    uint64_t abandoned;
    near_end = open_brief(engine, MM_PUSH);
    far_end = open_brief(other, MM_PULL);
    atomic_store(moment, near_end);
    mm_handle binds = dialer ? far_end : near_end, dials = dialer ? near_end : far_end;
    CHECK_INT(mm_bind(binds, TCP, endpoint, sizeof endpoint), MM_OK);
    (void)mm_connect(dials, endpoint);
    while (atomic_load(moment) != 0) {
        (void)sched_yield();
    }
    CHECK_INT(mm_wait_peers(near_end, 1, WAIT_MS, 0), MM_ECLOSED);
    CHECK_INT(mm_engine_close(engine, 1000, &abandoned), MM_OK);
    CHECK_INT(abandoned, 0);
    close_engine(other, 1000);
    CHECK_INT(mm_live_handles(), 0);
}

static void
test_a_socket_closed_in_the_middle_of_a_handshake_is_not_touched_again(void)
{
    close_in_handshake(true, &close_in_write);
    close_in_handshake(true, &close_in_read);
    close_in_handshake(false, &close_in_write);
    close_in_handshake(false, &close_in_read);
}

static void
test_what_arrived_before_its_write_returned_is_not_counted_as_dropped(void)
{
    static const uint8_t body[BODY_SIZE];
    mm_handle engine = open_hooked(), other = open_engine(), push, pull;
    mm_stats stats;
    char endpoint[MM_ENDPOINT_MAX + 1];
    uint64_t abandoned;
    push = open_brief(engine, MM_PUSH);
    pull = open_brief(other, MM_PULL);
    CHECK_INT(mm_bind(push, TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(pull, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(push, 1, WAIT_MS, 0), MM_OK);
    await_no_burst();   /* so the runner, which is to notice the rest, does not write */
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
    close_engine(other, 1000);
}

/* A PUSH that dials a bare listener, with which it has shaken hands. */
static mm_handle
open_raw(mm_handle engine, char *endpoint, size_t size)
{
    static const char hello[] = "\xff\0\0\0\0\0\0\0\0\x7f\x03\x01NULL";
    static const char ready[] = "\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PULL";
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t at_size = sizeof at;
    char greeting[64] = { 0 }, theirs[64], head[2];
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_INT(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    CHECK_INT(listen(listener, 1), 0);
    CHECK_INT(getsockname(listener, (struct sockaddr *)&at, &at_size), 0);
    snprintf(endpoint, size, "tcp://127.0.0.1:%u", ntohs(at.sin_port));
    mm_handle push = open_brief(engine, MM_PUSH);
    CHECK_INT(mm_connect(push, endpoint), MM_OK);
    atomic_store(&raw_peer, accept(listener, NULL, NULL));
    CHECK(atomic_load(&raw_peer) >= 0);
    close(listener);
    memcpy(greeting, hello, sizeof hello - 1);
    CHECK(send(atomic_load(&raw_peer), greeting, sizeof greeting, 0) == sizeof greeting);
    CHECK(send(atomic_load(&raw_peer), ready, sizeof ready - 1, 0) == sizeof ready - 1);
    raw_read(theirs, sizeof theirs);
    raw_read(head, sizeof head);
    uint8_t rest[256];
    raw_read(rest, (uint8_t)head[1]);
    CHECK_INT(mm_wait_peers(push, 1, WAIT_MS, 0), MM_OK);
    return push;
}

/* What the peer has is in doubt, not dropped, and the end has its own reason. */
static void
raw_ends_for(int reason, const char *says, size_t size)
{
    static const uint8_t body[BODY_SIZE];
    char endpoint[MM_ENDPOINT_MAX + 1];
    uint64_t abandoned;
    mm_stats stats;
    mm_handle engine = open_hooked(), push = open_raw(engine, endpoint, sizeof endpoint);
    raw_says = says;
    raw_says_size = size;
    raw_writer = push;
    raw_endpoint = endpoint;
    await_no_burst();
    atomic_store(&raw_armed, true);
    CHECK_INT(mm_send(push, body, sizeof body, WAIT_MS, 0), MM_OK);
    CHECK_INT(atomic_load(&raw_armed), false);
    CHECK_INT(mm_socket_stats(push, &stats), MM_OK);
    CHECK_INT(peers_of(push), 0);
    CHECK_INT(stats.closed[reason], 1);
    CHECK_INT(stats.dropped_peer_gone, 0);
    CHECK_INT(stats.queued_out_messages, 0);
    CHECK_INT(stats.written_messages, 1);
    CHECK_INT(stats.in_doubt_messages, 1);
    close(atomic_load(&raw_peer));
    CHECK_INT(mm_engine_close(engine, 1000, &abandoned), MM_OK);
    CHECK_INT(abandoned, 0);
}

static void
test_what_arrived_is_in_doubt_when_the_peer_then_breaks_the_protocol(void)
{
    raw_ends_for(MM_REASON_FRAME_FLAGS, "\xf0\0", 2);
}

static void
test_what_arrived_is_in_doubt_when_the_peer_then_says_goodbye_with_an_error(void)
{
    raw_ends_for(MM_REASON_ERROR_COMMAND, "\x04\x0a\005ERROR\003bye", 12);
}

/* It promises a sign of life within 100 ms, and gives none. */
static void
test_what_arrived_is_in_doubt_when_the_peer_then_falls_silent(void)
{
    raw_ends_for(MM_REASON_HEARTBEAT, "\x04\x07\x04PING\0\x01", 9);
}

static void
test_what_arrived_is_in_doubt_when_we_then_disconnect(void)
{
    raw_ends_for(MM_REASON_LOCAL, NULL, 0);
}

/* What was queued is written by the wait of a lone caller, who would poll next; but there is no
 * socket any more. */
static void
test_a_caller_whose_socket_is_closed_before_it_polls_does_not(void)
{
    enum { QUIET_WAITS = 20 };
    static const uint8_t body[BODY_SIZE];
    mm_handle engine = open_hooked(), other = open_engine(), ask, echo;
    char endpoint[MM_ENDPOINT_MAX + 1];
    mm_batch *batch;
    const mm_body frame = { .data = body, .size = sizeof body };
    int more;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    ask = open_brief(engine, MM_PAIR);
    echo = open_brief(other, MM_PAIR);
    CHECK_INT(mm_bind(echo, TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(ask, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(ask, 1, WAIT_MS, 0), MM_OK);
    for (int i = 0; i < QUIET_WAITS; i++) {
        CHECK_INT(mm_recv(ask, batch, 1, BODY_SIZE, 1, 0), MM_ETIMEDOUT);
    }
    CHECK_INT(mm_send_queue(ask, &frame, 1, &more), MM_OK);
    atomic_store(&close_in_write, ask);
    CHECK_INT(mm_recv(ask, batch, 1, BODY_SIZE, WAIT_MS, 0), MM_ECLOSED);
    mm_batch_free(batch);
    close_engine(engine, 1000);
    close_engine(other, 1000);
    CHECK_INT(atomic_load(&close_in_write), 0);
    CHECK_INT(mm_live_handles(), 0);
}

static void
test_an_inbox_that_is_emptied_during_a_write_is_read_on(void)
{
    enum { MANY = 40, ROOM = 4 };
    static const uint8_t body[BODY_SIZE];
    mm_handle engine = open_hooked(), other = open_engine(), left, right;
    mm_socket_opts opts = opts_of(MM_PAIR);
    mm_batch *batch;
    char endpoint[MM_ENDPOINT_MAX + 1];
    opts.heartbeat_interval_ms = 0;
    opts.recv_queue_messages = ROOM;
    left = open_with(engine, MM_PAIR, &opts);
    right = open_brief(other, MM_PAIR);
    CHECK_INT(mm_bind(left, TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(right, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(left, 1, WAIT_MS, 0), MM_OK);
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(mm_send(right, body, sizeof body, WAIT_MS, 0), MM_OK);
    }
    mm_stats stats;
    do {   /* until its inbox is full and it reads no more */
        await_no_burst();
        CHECK_INT(mm_socket_stats(left, &stats), MM_OK);
    } while (stats.queued_in_messages < ROOM);
    atomic_store(&drain_in_write, left);
    CHECK_INT(mm_send(left, body, sizeof body, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    for (int got = drained; got < MANY;) {
        int n = mm_recv(left, batch, MANY, 1 << 20, WAIT_MS, 0);
        CHECK(n > 0);
        got += n;
    }
    CHECK_INT(drained, ROOM);
    mm_batch_free(batch);
    close_engine(engine, 1000);
    close_engine(other, 1000);
}

int
main(void)
{
    RUN(test_a_socket_closed_while_its_link_writes_is_not_touched_again);
    RUN(test_what_is_read_while_its_socket_stops_is_still_given_out);
    RUN(test_a_socket_that_stops_while_a_name_is_looked_up_does_not_listen);
    RUN(test_a_socket_closed_while_its_link_reads_is_not_touched_again);
    RUN(test_a_socket_closed_in_the_middle_of_a_handshake_is_not_touched_again);
    RUN(test_what_arrived_before_its_write_returned_is_not_counted_as_dropped);
    RUN(test_what_arrived_is_in_doubt_when_the_peer_then_breaks_the_protocol);
    RUN(test_what_arrived_is_in_doubt_when_the_peer_then_says_goodbye_with_an_error);
    RUN(test_what_arrived_is_in_doubt_when_the_peer_then_falls_silent);
    RUN(test_what_arrived_is_in_doubt_when_we_then_disconnect);
    RUN(test_a_caller_whose_socket_is_closed_before_it_polls_does_not);
    RUN(test_an_inbox_that_is_emptied_during_a_write_is_read_on);
    return 0;
}
