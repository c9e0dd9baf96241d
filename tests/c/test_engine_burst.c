/*
 * test_engine_burst.c: messages that are queued while their link is being written: in a burst they
 * wait for the runner's next round, else who writes looks again; all of them go.
 * Not here: what else may happen during a write (test_engine_outside.c).
 * Law: no message waits for another to be sent.
 */
#include <stdatomic.h>

#include "link/link.h"
#include "sched/sched.h"
#include "sockets.h"

enum {
    WAIT_MS = 20000,
    CHAIN = 5000,
    TOGETHER_MAX = 3,
    RECEIVERS_MAX = 3,
    STALL_MS = 500,
    LARGE = 4096
};

static int64_t (*plain_writev)(void *self, int s, const mmi_iov *iov, int n);
static _Atomic(mm_handle) sender;   /* 0: writes are only writes */
static atomic_uint next_number;

static void
send_next(mm_handle socket)
{
    uint32_t number = atomic_fetch_add(&next_number, 1);
    CHECK_INT(mm_send(socket, (const uint8_t *)&number, sizeof number, 0, 0), MM_OK);
}

/* Each write of the sender has others queue more meanwhile, until the chain is over. */
static int64_t
chaining_writev(void *self, int s, const mmi_iov *iov, int n)
{
    int64_t size = plain_writev(self, s, iov, n);
    mm_handle socket = atomic_load(&sender);
    if (socket != 0 && size > 0 && atomic_load(&next_number) < CHAIN) {
        for (uint32_t i = 0; i <= atomic_load(&next_number) % TOGETHER_MAX; i++) {
            send_next(socket);
        }
    }
    return size;
}

static mm_handle
open_with_writev(int64_t (*writev)(void *self, int s, const mmi_iov *iov, int n))
{
    mmi_plat plat;
    mm_handle engine;
    CHECK_INT(mmi_plat_posix(false, &plat), MM_OK);
    plain_writev = plat.writev;
    plat.writev = writev;
    CHECK_INT(mmi_engine_open(&plat, &engine), MM_OK);
    return engine;
}

/* Receives until the chain is over: every number once, as the sum tells. */
static void
take_chain(mm_handle socket)
{
    uint64_t sum = 0, count = 0;
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    while (count < CHAIN || count < atomic_load(&next_number)) {
        int taken = mm_recv(socket, batch, 1000, 1 << 20, WAIT_MS, 0);
        CHECK(taken > 0);
        for (int i = 0; i < taken; i++) {
            uint32_t number;
            memcpy(&number, batch->data + batch->offset[i], sizeof number);
            sum += number;
        }
        count += (uint64_t)taken;
    }
    mm_batch_free(batch);
    CHECK_INT(count, atomic_load(&next_number));
    CHECK_INT(sum, count * (count - 1) / 2);
}

/* With room for all of it, as nobody reads the one while the other is read. */
static mm_handle
open_roomy(mm_handle engine, int role)
{
    mm_socket_opts opts = opts_of(role);
    opts.heartbeat_interval_ms = 0;
    opts.send_queue_messages = opts.recv_queue_messages = 2 * CHAIN;
    return open_with(engine, role, &opts);
}

static void
chain_over(int from, int to, uint32_t receivers)
{
    char endpoint[MM_ENDPOINT_MAX + 1];
    mm_handle there = open_engine(), here = open_with_writev(chaining_writev);
    mm_handle s = open_roomy(here, from), r[RECEIVERS_MAX];
    atomic_store(&next_number, 0);
    CHECK_INT(mm_bind(s, TCP, endpoint, sizeof endpoint), MM_OK);
    for (uint32_t i = 0; i < receivers; i++) {
        r[i] = open_roomy(there, to);
        if (to == MM_SUB) {
            CHECK_INT(mm_subscribe(r[i], NULL, 0), MM_OK);
        }
        CHECK_INT(mm_connect(r[i], endpoint), MM_OK);
    }
    CHECK_INT(mm_wait_peers(s, receivers, WAIT_MS, 0), MM_OK);
    if (to == MM_SUB) {
        CHECK_INT(mm_wait_subscribers(s, NULL, 0, receivers, WAIT_MS, 0), MM_OK);
    }
    atomic_store(&sender, s);
    send_next(s);
    for (uint32_t i = 0; i < receivers; i++) {
        take_chain(r[i]);
    }
    atomic_store(&sender, 0);
    close_engine(here, WAIT_MS);
    close_engine(there, WAIT_MS);
}

static void
test_what_is_queued_during_a_write_goes_without_another_send(void)
{
    chain_over(MM_PUSH, MM_PULL, 1);
}

static void
test_nor_does_a_publisher_have_to_publish_again(void)
{
    chain_over(MM_PUB, MM_SUB, 1);
}

/* Their fan-out may be deferred (queue/dist_deferred.c). */
static void
test_nor_one_with_several_subscribers(void)
{
    chain_over(MM_PUB, MM_SUB, RECEIVERS_MAX);
}

/* As after sends that came close upon each other: the only link of the socket is in a burst. */
static void
mark_burst(mm_handle socket)
{
    void *object;
    mmi_engine *e;
    CHECK_INT(mmi_handle_lock(socket, MMI_HANDLE_SOCKET, &object, &e), MM_OK);
    mmi_link *link = MMI_CONTAINER_OF(((mmi_socket *)object)->links.next, mmi_link, node);
    mmi_tx_pace(link);
    pthread_mutex_unlock(&e->lock);
}

static atomic_bool armed; /* the kernel has no room for the next write, and one sends meanwhile */

static int64_t
stalling_writev(void *self, int s, const mmi_iov *iov, int n)
{
    if (!atomic_exchange(&armed, false)) {
        return plain_writev(self, s, iov, n);
    }
    mark_burst(atomic_load(&sender));
    send_next(atomic_load(&sender));
    return MM_EAGAIN;
}

/* The only link that was in a burst waits for the kernel, so the runner is about to sleep long. */
static void
test_a_burst_that_begins_during_a_round_is_not_overslept(void)
{
    static uint8_t body[LARGE];
    mm_socket_opts least = opts_of(MM_PULL);
    least.heartbeat_interval_ms = 0;
    least.recv_queue_messages = 1;
    mm_handle there = open_engine(), here = open_with_writev(stalling_writev);
    mm_handle stalled = open_quiet(here, MM_PUSH), silent = open_with(there, MM_PULL, &least);
    mm_handle s = open_quiet(here, MM_PUSH), r = open_quiet(there, MM_PULL);
    mm_handle inward = open_quiet(here, MM_PULL), prod = open_quiet(there, MM_PUSH);
    join(inward, prod, TCP);
    join(stalled, silent, TCP);
    join(s, r, TCP);
    while (mm_send(stalled, body, sizeof body, STALL_MS, 0) == MM_OK) {
    }
    atomic_store(&sender, s);
    atomic_store(&armed, true);
    mark_burst(stalled);
    CHECK_INT(mm_send(prod, body, 1, WAIT_MS, 0), MM_OK); /* gives the runner a turn */
    take_all(r, 1, WAIT_MS);
    CHECK(!atomic_load(&armed));
    atomic_store(&sender, 0);
    close_engine(here, 0);
    close_engine(there, 0);
}

int
main(void)
{
    RUN(test_what_is_queued_during_a_write_goes_without_another_send);
    RUN(test_nor_does_a_publisher_have_to_publish_again);
    RUN(test_nor_one_with_several_subscribers);
    RUN(test_a_burst_that_begins_during_a_round_is_not_overslept);
    return 0;
}
