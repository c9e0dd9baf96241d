/*
 * fated.h: an engine whose reads and writes fare as the test says, and one socket of it that others
 * have dialed, each by a socket of its own.
 * Not here: tests.
 * Law: until the test arms it, everything is as on the plain platform.
 */
#ifndef FATED_H
#define FATED_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "link/small.h"
#include "sched/sched.h"
#include "sockets.h"

enum { WAIT_MS = 60000, PEERS = 20, MANY = 40, SMALL = 60 };

typedef enum fate { WHOLE, SHORT, NOTHING, RESET, FATES } fate;

static int64_t (*plain_writev)(void *self, int s, const mmi_iov *iov, int n);
static int64_t (*plain_readv)(void *self, int s, const mmi_iov *iov, int n);
static int (*plain_poll)(void *self, mmi_event *out, int cap, uint64_t deadline_ns);
static uint64_t (*plain_now)(void *self);
static int (*plain_wait)(void *self, int notifier, uint64_t deadline_ns);

static const int fans[][2] = { { MM_BUS, MM_BUS }, { MM_PUB, MM_SUB } };   /* who, to whom */
enum { FANS = sizeof fans / sizeof *fans };

static pthread_t caller;
static atomic_bool armed;              /* the writes and reads from now on are counted */
static atomic_int writes, reads, together;   /* together: with no look at the clock in between */
static _Thread_local int looks, looks_before;
static fate fates[MANY];               /* of the writes or reads, in their order */
static _Atomic(mm_handle) closes, sends;
static atomic_int closes_at;
static atomic_bool closed;
static atomic_bool gate;               /* poll finds nothing while it is closed */
static _Atomic(uint64_t) looks_at;     /* when a parked runner is to look who polls */
static atomic_int periods;             /* how often that was another time */
static atomic_bool held;               /* who sleeps is not woken by time, but the caller */
static atomic_int slow_us, slowed_us;  /* that each write takes, and all took, by the clock */
static atomic_bool another;            /* a thread that is not the caller has written */
static atomic_bool wait_for_another;
static struct { int count, stream[MANY]; } wrote[2];   /* by the caller; by another */

/* Who has the lock back looks at the clock. */
static inline void
count_together(void)
{
    atomic_fetch_add(&together, looks == looks_before);
    looks_before = looks;
}

static inline void
close_in(int turn)
{
    mm_handle due = turn == atomic_load(&closes_at) ? atomic_exchange(&closes, 0) : 0;
    if (due != 0) {
        CHECK_INT(mm_socket_close(due), MM_OK);
        atomic_store(&closed, true);
    }
}

static inline void
await_closed(void)
{
    AWAIT(atomic_load(&closed));
}

static inline void
send_once(void)
{
    static const uint8_t second[] = "second";
    mm_handle due = atomic_exchange(&sends, 0);
    if (due != 0) {
        CHECK_INT(mm_send(due, second, sizeof second, 0, 0), MM_OK);
    }
}

/* Whoever asks writes no more until another thread has: it was called to help. */
static inline void
await_another(void)
{
    if (!pthread_equal(pthread_self(), caller)) {
        atomic_store(&another, true);
    }
    AWAIT(!atomic_load(&wait_for_another) || atomic_load(&another));
}

static inline void
note_writer(int s)
{
    int who = pthread_equal(pthread_self(), caller) ? 0 : 1;
    if (wrote[who].count < MANY) {
        wrote[who].stream[wrote[who].count++] = s;
    }
}

/* As that turn is to fare. */
static inline int64_t
fare(int turn, int64_t (*plain)(void *self, int s, const mmi_iov *iov, int n), void *self, int s,
     const mmi_iov *iov, int n)
{
    const mmi_iov first = { .data = iov->data, .size = 1 };
    switch (turn < MANY ? fates[turn] : WHOLE) {
    case SHORT:
        return plain(self, s, &first, 1);
    case NOTHING:
        return MM_EAGAIN;
    case RESET:
        return MM_ECONNRESET;
    default:
        return plain(self, s, iov, n);
    }
}

static inline int64_t
fated_writev(void *self, int s, const mmi_iov *iov, int n)
{
    if (!atomic_load(&armed)) {
        return plain_writev(self, s, iov, n);
    }
    int turn = atomic_fetch_add(&writes, 1);
    atomic_fetch_add(&slowed_us, atomic_load(&slow_us));
    count_together();
    await_another();
    note_writer(s);
    close_in(turn);
    send_once();
    return fare(turn, plain_writev, self, s, iov, n);
}

static inline int64_t
fated_readv(void *self, int s, const mmi_iov *iov, int n)
{
    if (!atomic_load(&armed)) {
        return plain_readv(self, s, iov, n);
    }
    int turn = atomic_fetch_add(&reads, 1);
    count_together();
    close_in(turn);
    return fare(turn, plain_readv, self, s, iov, n);
}

/* A parked runner does not look by itself whether somebody still polls. */
static inline int
held_wait(void *self, int notifier, uint64_t deadline_ns)
{
    bool hold = atomic_load(&held) && !pthread_equal(pthread_self(), caller);
    if (!pthread_equal(pthread_self(), caller)) {
        atomic_fetch_add(&periods, atomic_exchange(&looks_at, deadline_ns) != deadline_ns);
    }
    return plain_wait(self, notifier, hold ? UINT64_MAX : deadline_ns);
}

static inline int
gated_poll(void *self, mmi_event *out, int cap, uint64_t deadline_ns)
{
    if (atomic_load(&gate)) {
        (void)sched_yield();
        return 0;
    }
    return plain_poll(self, out, cap, deadline_ns);
}

static inline uint64_t
counted_now(void *self)
{
    looks++;
    return plain_now(self) + (uint64_t)atomic_load(&slowed_us) * 1000;
}

static inline mm_handle
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
    atomic_store(&slow_us, 0);
    atomic_store(&slowed_us, 0);
    CHECK_INT(mmi_engine_open(&plat, &engine), MM_OK);
    return engine;
}

static inline void
arm(void)
{
    atomic_store(&writes, 0);
    atomic_store(&reads, 0);
    atomic_store(&together, 0);
    atomic_store(&another, false);
    wrote[0].count = wrote[1].count = 0;
    atomic_store(&armed, true);
}

/* One that others of another engine have dialed, each by a socket of its own. */
typedef struct hub {
    mm_handle here, there, center, peers[MANY];
    int count;
    mm_batch *batch;
} hub;

static inline void
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
    if (peers == MM_SUB) {
        CHECK_INT(mm_wait_subscribers(h->center, NULL, 0, (uint32_t)count, WAIT_MS, 0), MM_OK);
    }
    await_no_burst();
}

static inline void
hub_close(hub *h)
{
    atomic_store(&armed, false);
    atomic_store(&gate, false);
    mm_batch_free(h->batch);
    close_engine(h->here, 0);
    close_engine(h->there, 0);
    CHECK_INT(mm_live_handles(), 0);
}

static inline void
expect(hub *h, mm_handle socket, const void *body, size_t size)
{
    CHECK_INT(mm_recv(socket, h->batch, 1, 1 << 20, WAIT_MS, 0), 1);
    CHECK_INT(h->batch->offset[1] - h->batch->offset[0], size);
    CHECK(memcmp(h->batch->data + h->batch->offset[0], body, size) == 0);
}

/* How many that had nothing yet have it now; nobody has it twice. */
static inline int
take_once(hub *h, bool *has, const void *body, size_t size)
{
    int got = 0;
    for (int i = 0; i < h->count; i++) {
        if (mm_recv(h->peers[i], h->batch, 1, 1 << 20, 0, 0) == 1) {
            CHECK(!has[i] && memcmp(h->batch->data, body, size) == 0);
            has[i] = true;
            got++;
        }
    }
    return got;
}

static inline uint64_t
written_of(const hub *h)
{
    mm_stats stats;
    CHECK_INT(mm_socket_stats(h->center, &stats), MM_OK);
    return stats.written_messages;
}

#endif
