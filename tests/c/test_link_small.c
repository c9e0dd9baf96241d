/*
 * test_link_small.c: little that is written or read for several links at once: each peer gets its
 * message once and whole, whatever becomes of the others' meanwhile.
 * Not here: which thread does it when (test_lead.c); one link (test_engine_outside.c).
 * Law: what a write or a read of one link comes to is no other link's business.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "engine/link_small.h"
#include "sockets.h"

enum { WAIT_MS = 60000, PEERS = 20, MANY = 40, SMALL = 60, NO_BURST_NS = 1000000 };

typedef enum fate { WHOLE, SHORT, NOTHING, RESET, FATES } fate;

static int64_t (*plain_writev)(void *self, int s, const mmi_iov *iov, int n);
static int64_t (*plain_readv)(void *self, int s, const mmi_iov *iov, int n);
static int (*plain_poll)(void *self, mmi_event *out, int cap, uint64_t deadline_ns);
static uint64_t (*plain_now)(void *self);
static int (*plain_wait)(void *self, int notifier, uint64_t deadline_ns);

static pthread_t caller;
static atomic_bool armed;              /* the writes and reads from now on are counted */
static atomic_int writes, reads, looks;   /* looks: of the caller, at the clock */
static fate fates[MANY];               /* of the writes or reads, in their order */
static _Atomic(mm_handle) closes, sends;
static atomic_int closes_at;
static atomic_bool closed;
static atomic_bool gate;               /* poll finds nothing while it is closed */
static atomic_bool held;               /* who sleeps is not woken by time, but the caller */
static atomic_bool another;            /* a thread that is not the caller has written */
static atomic_bool wait_for_another;

static void
close_in(int turn)
{
    mm_handle due = turn == atomic_load(&closes_at) ? atomic_exchange(&closes, 0) : 0;
    if (due != 0) {
        CHECK_INT(mm_socket_close(due), MM_OK);
        atomic_store(&closed, true);
    }
}

static void
await_closed(void)
{
    while (!atomic_load(&closed)) {
        (void)sched_yield();
    }
}

static void
send_once(void)
{
    static const uint8_t second[] = "second";
    mm_handle due = atomic_exchange(&sends, 0);
    if (due != 0) {
        CHECK_INT(mm_send(due, second, sizeof second, 0, 0), MM_OK);
    }
}

/* Whoever asks writes no more until another thread has: it was called to help. */
static void
await_another(void)
{
    if (!pthread_equal(pthread_self(), caller)) {
        atomic_store(&another, true);
    }
    while (atomic_load(&wait_for_another) && !atomic_load(&another)) {
        (void)sched_yield();
    }
}

static int64_t
fated_writev(void *self, int s, const mmi_iov *iov, int n)
{
    const mmi_iov first = { .data = iov->data, .size = 1 };
    if (!atomic_load(&armed)) {
        return plain_writev(self, s, iov, n);
    }
    int turn = atomic_fetch_add(&writes, 1);
    await_another();
    close_in(turn);
    send_once();
    switch (turn < MANY ? fates[turn] : WHOLE) {
    case SHORT:
        return plain_writev(self, s, &first, 1);
    case NOTHING:
        return MM_EAGAIN;
    case RESET:
        return MM_ECONNRESET;
    default:
        return plain_writev(self, s, iov, n);
    }
}

static int64_t
fated_readv(void *self, int s, const mmi_iov *iov, int n)
{
    const mmi_iov first = { .data = iov->data, .size = 1 };
    if (!atomic_load(&armed)) {
        return plain_readv(self, s, iov, n);
    }
    int turn = atomic_fetch_add(&reads, 1);
    close_in(turn);
    switch (turn < MANY ? fates[turn] : WHOLE) {
    case SHORT:
        return plain_readv(self, s, &first, 1);
    case NOTHING:
        return MM_EAGAIN;
    case RESET:
        return MM_ECONNRESET;
    default:
        return plain_readv(self, s, iov, n);
    }
}

/* A parked runner does not look by itself whether somebody still polls. */
static int
held_wait(void *self, int notifier, uint64_t deadline_ns)
{
    bool hold = atomic_load(&held) && !pthread_equal(pthread_self(), caller);
    return plain_wait(self, notifier, hold ? UINT64_MAX : deadline_ns);
}

static int
gated_poll(void *self, mmi_event *out, int cap, uint64_t deadline_ns)
{
    if (atomic_load(&gate)) {
        (void)sched_yield();
        return 0;
    }
    return plain_poll(self, out, cap, deadline_ns);
}

static uint64_t
counted_now(void *self)
{
    if (atomic_load(&armed) && pthread_equal(pthread_self(), caller)) {
        atomic_fetch_add(&looks, 1);
    }
    return plain_now(self);
}

static mm_handle
open_fated(void)
{
    mmi_plat plat;
    mm_handle engine;
    CHECK_INT(mmi_plat_posix(false, &plat), MM_OK);
    plain_writev = plat.writev;
    plain_readv = plat.readv;
    plain_poll = plat.poll;
    plain_now = plat.now_ns;
    plain_wait = plat.wait;
    plat.writev = fated_writev;
    plat.readv = fated_readv;
    plat.poll = gated_poll;
    plat.now_ns = counted_now;
    plat.wait = held_wait;
    plat.cpus = 4;
    caller = pthread_self();
    memset(fates, 0, sizeof fates);
    atomic_store(&armed, false);
    atomic_store(&closes, 0);
    atomic_store(&closed, false);
    atomic_store(&sends, 0);
    atomic_store(&gate, false);
    atomic_store(&wait_for_another, false);
    atomic_store(&held, false);
    CHECK_INT(mmi_engine_open(&plat, &engine), MM_OK);
    return engine;
}

static void
arm(void)
{
    atomic_store(&writes, 0);
    atomic_store(&reads, 0);
    atomic_store(&looks, 0);
    atomic_store(&another, false);
    atomic_store(&armed, true);
}

static uint64_t
clock_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Lets the handshakes be no part of a burst, whose messages the runner would write. */
static void
await_no_burst(void)
{
    uint64_t start = clock_ns();
    while (clock_ns() - start < NO_BURST_NS) {
        (void)sched_yield();
    }
}

/* One that others of another engine have dialed, each by a socket of its own. */
typedef struct hub {
    mm_handle here, there, center, peers[MANY];
    int count;
    mm_batch *batch;
} hub;

static void
hub_open(hub *h, int center, int peers, int count)
{
    char endpoint[MM_ENDPOINT_MAX + 1];
    h->here = open_fated();
    h->there = open_engine();
    h->count = count;
    h->center = open_quiet(h->here, center);
    CHECK_INT(mm_batch_new(&h->batch), MM_OK);
    CHECK_INT(mm_bind(h->center, TCP, endpoint, sizeof endpoint), MM_OK);
    for (int i = 0; i < count; i++) {
        h->peers[i] = open_quiet(h->there, peers);
        CHECK_INT(mm_connect(h->peers[i], endpoint), MM_OK);
        if (peers == MM_SUB) {
            CHECK_INT(mm_subscribe(h->peers[i], (const uint8_t *)"", 0), MM_OK);
        }
    }
    CHECK_INT(mm_wait_peers(h->center, (uint32_t)count, WAIT_MS, 0), MM_OK);
    await_no_burst();
}

static void
hub_close(hub *h)
{
    atomic_store(&armed, false);
    atomic_store(&gate, false);
    mm_batch_free(h->batch);
    close_engine(h->here, 0);
    close_engine(h->there, 0);
    CHECK_INT(mm_live_handles(), 0);
}

static void
expect(hub *h, mm_handle socket, const void *body, size_t size)
{
    CHECK_INT(mm_recv(socket, h->batch, 1, 1 << 20, WAIT_MS, 0), 1);
    CHECK_INT(h->batch->offset[1] - h->batch->offset[0], size);
    CHECK(memcmp(h->batch->data + h->batch->offset[0], body, size) == 0);
}

static uint64_t
written_of(const hub *h)
{
    mm_stats stats;
    CHECK_INT(mm_socket_stats(h->center, &stats), MM_OK);
    return stats.written_messages;
}

/* A publisher's is encoded in a pack that they share; and what is left after the first write is a
 * burst, and the runner's. */
static void
test_what_goes_to_all_is_written_for_several_at_once(void)
{
    static const uint8_t body[SMALL] = "a question";
    static const int roles[][2] = { { MM_BUS, MM_BUS }, { MM_PUB, MM_SUB } };
    for (size_t r = 0; r < sizeof roles / sizeof *roles; r++) {
        hub h;
        hub_open(&h, roles[r][0], roles[r][1], PEERS);
        arm();
        CHECK_INT(mm_send(h.center, body, sizeof body, WAIT_MS, 0), MM_OK);
        if (roles[r][0] == MM_BUS) {
            CHECK_INT(atomic_load(&writes), PEERS);
            CHECK(atomic_load(&looks) < PEERS);   /* the lock was taken again for several at once */
        }
        for (int i = 0; i < PEERS; i++) {
            expect(&h, h.peers[i], body, sizeof body);
        }
        CHECK_INT(written_of(&h), PEERS);
        hub_close(&h);
    }
}

/* With every fate in every place of a batch. */
static void
test_what_becomes_of_one_write_is_no_other_links_business(void)
{
    static const uint8_t body[SMALL] = "a question";
    for (int shift = 0; shift < FATES; shift++) {
        int reset = 0, got = 0;
        hub h;
        hub_open(&h, MM_BUS, MM_BUS, PEERS);
        for (int i = 0; i < PEERS; i++) {
            fates[i] = (fate)((i + shift) % FATES);
            reset += fates[i] == RESET;
        }
        arm();
        CHECK_INT(mm_send(h.center, body, sizeof body, WAIT_MS, 0), MM_OK);
        while (written_of(&h) < (uint64_t)(PEERS - reset)) {
            (void)sched_yield();   /* the runner writes the rest when the kernel has room */
        }
        bool has[PEERS] = { false };
        for (int i = 0; got < PEERS - reset; i = (i + 1) % PEERS) {
            int rc = mm_recv(h.peers[i], h.batch, 1, 1 << 20, 0, 0);
            if (rc == 1) {
                CHECK(!has[i] && memcmp(h.batch->data, body, sizeof body) == 0);
                has[i] = true;
                got++;
            }
        }
        hub_close(&h);
    }
}

static void
test_a_socket_closed_while_several_are_written_is_not_touched_again(void)
{
    static const uint8_t body[SMALL] = "a question";
    for (int turn = 0; turn < 2 * MMI_SMALL_LINKS; turn += 5) {
        hub h;
        hub_open(&h, MM_PUB, MM_SUB, PEERS);
        atomic_store(&closes_at, turn);
        atomic_store(&closes, h.center);
        arm();
        CHECK_INT(mm_send(h.center, body, sizeof body, WAIT_MS, 0), MM_OK);
        await_closed();
        CHECK_INT(mm_wait_peers(h.center, PEERS, WAIT_MS, 0), MM_ECLOSED);
        hub_close(&h);
    }
}

static void
test_what_is_queued_while_several_are_written_comes_behind(void)
{
    static const uint8_t body[SMALL] = "a question", second[] = "second";
    hub h;
    hub_open(&h, MM_BUS, MM_BUS, PEERS);
    atomic_store(&sends, h.center);
    arm();
    CHECK_INT(mm_send(h.center, body, sizeof body, WAIT_MS, 0), MM_OK);
    for (int i = 0; i < PEERS; i++) {
        expect(&h, h.peers[i], body, sizeof body);
        expect(&h, h.peers[i], second, sizeof second);
    }
    CHECK_INT(written_of(&h), 2 * PEERS);
    hub_close(&h);
}

/* All have sent before the center looks, a little first so that it reads them together. */
static void
hub_send_all(hub *h, const void *body, size_t size)
{
    static const uint8_t little = 0;
    mm_stats stats;
    for (int i = 0; i < h->count; i++) {
        CHECK_INT(mm_send(h->peers[i], &little, sizeof little, WAIT_MS, 0), MM_OK);
        expect(h, h->center, &little, sizeof little);
    }
    atomic_store(&gate, true);
    for (int i = 0; i < h->count; i++) {
        CHECK_INT(mm_send(h->peers[i], body, size, WAIT_MS, 0), MM_OK);
        do {
            CHECK_INT(mm_socket_stats(h->peers[i], &stats), MM_OK);
        } while (stats.written_messages < 2);
    }
    arm();
    atomic_store(&gate, false);
}

static void
test_what_becomes_of_one_read_is_no_other_links_business(void)
{
    static const uint8_t body[SMALL] = "an answer";
    for (int shift = 0; shift < FATES; shift++) {
        int reset = 0;
        hub h;
        hub_open(&h, MM_PULL, MM_PUSH, PEERS);
        for (int i = 0; i < PEERS; i++) {
            fates[i] = (fate)((i + shift) % FATES);
            reset += fates[i] == RESET;
        }
        hub_send_all(&h, body, sizeof body);
        for (int i = 0; i < PEERS - reset; i++) {
            expect(&h, h.center, body, sizeof body);
        }
        CHECK_INT(mm_recv(h.center, h.batch, 1, 1 << 20, 0, 0), MM_EAGAIN);
        hub_close(&h);
    }
}

/* Some of it comes with the first read, the rest by the way of those that bring much. */
static void
test_what_is_more_than_a_little_is_read_on(void)
{
    static uint8_t body[3 * MMI_SMALL_READ];
    hub h;
    for (size_t i = 0; i < sizeof body; i++) {
        body[i] = (uint8_t)(i % 251);
    }
    hub_open(&h, MM_PULL, MM_PUSH, PEERS);
    hub_send_all(&h, body, sizeof body);
    for (int i = 0; i < PEERS; i++) {
        expect(&h, h.center, body, sizeof body);
    }
    hub_close(&h);
}

static void
test_a_socket_closed_while_several_are_read_is_not_touched_again(void)
{
    static const uint8_t body[SMALL] = "an answer";
    for (int turn = 0; turn < 2 * MMI_SMALL_LINKS; turn += 5) {
        hub h;
        hub_open(&h, MM_PULL, MM_PUSH, PEERS);
        atomic_store(&closes_at, turn);
        atomic_store(&closes, h.center);
        hub_send_all(&h, body, sizeof body);
        await_closed();
        CHECK_INT(mm_wait_peers(h.center, 1, WAIT_MS, 0), MM_ECLOSED);
        hub_close(&h);
    }
}

static bool
parked(mm_handle engine)
{
    void *object;
    mmi_engine *e;
    CHECK_INT(mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e), MM_OK);
    bool is = e->parked;
    pthread_mutex_unlock(&e->lock);
    return is;
}

/* A lone caller, for whom the runner is parked: what goes to many is written by the two of them,
 * and the runner stays where it was. */
static void
test_a_parked_runner_helps_to_write_to_many(void)
{
    static const uint8_t body[SMALL] = "a question";
    hub h;
    hub_open(&h, MM_BUS, MM_BUS, MANY);
    atomic_store(&held, true);
    while (!parked(h.here)) {
        CHECK_INT(mm_send(h.peers[0], body, sizeof body, WAIT_MS, 0), MM_OK);
        expect(&h, h.center, body, sizeof body);
    }
    atomic_store(&wait_for_another, true);
    for (int round = 0; round < 3; round++) {
        await_no_burst();
        arm();
        CHECK_INT(mm_send(h.center, body, sizeof body, WAIT_MS, 0), MM_OK);
        CHECK(atomic_load(&another));
        for (int i = 0; i < MANY; i++) {
            expect(&h, h.peers[i], body, sizeof body);
        }
        CHECK_INT(atomic_load(&writes), MANY);
        CHECK(parked(h.here));
    }
    CHECK_INT(written_of(&h), 3 * MANY);
    hub_close(&h);
}

int
main(void)
{
    RUN(test_what_goes_to_all_is_written_for_several_at_once);
    RUN(test_what_becomes_of_one_write_is_no_other_links_business);
    RUN(test_a_socket_closed_while_several_are_written_is_not_touched_again);
    RUN(test_what_is_queued_while_several_are_written_comes_behind);
    RUN(test_what_becomes_of_one_read_is_no_other_links_business);
    RUN(test_what_is_more_than_a_little_is_read_on);
    RUN(test_a_socket_closed_while_several_are_read_is_not_touched_again);
    RUN(test_a_parked_runner_helps_to_write_to_many);
    return 0;
}
