/*
 * test_link_ack.c: a message that is there, and done, before the thread that writes it knows that
 * it was written.
 * Not here: what is kept until it is done (test_unacked.c), worlds
 * (tests/sim/test_delivery_worlds.py).
 */
#include <stdatomic.h>

#include "meshmsg_binding.h"
#include "sched/sched.h"
#include "sockets.h"

enum { WAIT_MS = 60000, LOOKS = 1000 };

static int64_t (*plain_writev)(void *self, int s, const mmi_iov *iov, int n);
static int64_t (*plain_readv)(void *self, int s, const mmi_iov *iov, int n);
static atomic_bool armed;
static atomic_int reads;
static mm_handle push, pull;
static mm_batch *batch;
static bool gives_back;

static int64_t
counted_readv(void *self, int s, const mmi_iov *iov, int n)
{
    int64_t got = plain_readv(self, s, iov, n);
    atomic_fetch_add(&reads, got > 0);
    return got;
}

/* It is received and settled; then what the peer says of that is read. */
static void
settle(void)
{
    mm_lease lease;
    mm_stats stats;
    CHECK_INT(mm_recv(pull, batch, 1, 1 << 20, WAIT_MS, 0), 1);
    CHECK_INT(mm_batch_lease(batch, 0, &lease), 1);
    int before = atomic_load(&reads);
    CHECK_INT(gives_back ? mm_nack(pull, lease.peer, lease.number, 0)
                         : mm_ack(pull, lease.peer, lease.number),
              1);
    AWAIT(atomic_load(&reads) > before);
    for (int i = 0; i < LOOKS; i++) {   /* whoever read it has the lock in between */
        CHECK_INT(mm_socket_stats(push, &stats), MM_OK);
    }
}

static int64_t
late_writev(void *self, int s, const mmi_iov *iov, int n)
{
    int64_t wrote = plain_writev(self, s, iov, n);
    if (atomic_exchange(&armed, false)) {
        settle();
    }
    return wrote;
}

static mm_handle
open_late(void)
{
    mmi_plat plat;
    mm_handle engine;
    CHECK_INT(mmi_plat_posix(false, &plat), MM_OK);
    plain_writev = plat.writev;
    plain_readv = plat.readv;
    plat.writev = late_writev;
    plat.readv = counted_readv;
    plat.cpus = 4;
    CHECK_INT(mmi_engine_open(&plat, &engine), MM_OK);
    return engine;
}

static mm_handle
open_flagged(mm_handle engine, int role, uint32_t flags)
{
    mm_socket_opts opts;
    mm_handle socket;
    CHECK_INT(mm_socket_defaults(role, &opts), MM_OK);
    opts.flags = flags;
    opts.heartbeat_interval_ms = 0;
    CHECK_INT(mm_socket_open(engine, role, &opts, &socket), MM_OK);
    return socket;
}

static void
take_and_ack(uint32_t attempt)
{
    mm_lease lease;
    CHECK_INT(mm_recv(pull, batch, 1, 1 << 20, WAIT_MS, 0), 1);
    CHECK_INT(mm_batch_lease(batch, 0, &lease), 1);
    CHECK_INT(lease.attempt, attempt);
    CHECK_INT(mm_ack(pull, lease.peer, lease.number), 1);
}

static void
send_one_that_is_settled_first(bool back, size_t size)
{
    static const uint8_t body[60000];
    char endpoint[MM_ENDPOINT_MAX + 1];
    mm_handle here = open_late(), there = open_engine();
    mm_stats stats;
    mm_drain_info info;
    gives_back = back;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    push = open_flagged(here, MM_PUSH, MM_OPT_AT_LEAST_ONCE);
    pull = open_flagged(there, MM_PULL, MM_OPT_ACK_MANUAL);
    CHECK_INT(mm_bind(push, TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(pull, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(push, 1, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_send(push, body, size, WAIT_MS, 0), MM_OK);
    take_and_ack(1);   /* so there is credit, and its caller writes the next one */
    CHECK_INT(mm_drain(push, WAIT_MS, 0, &info), MM_OK);
    await_no_burst();
    atomic_store(&armed, true);
    CHECK_INT(mm_send(push, body, size, WAIT_MS, 0), MM_OK);
    if (back) {
        take_and_ack(2);
    }
    CHECK_INT(mm_drain(push, WAIT_MS, 0, &info), MM_OK);
    CHECK_INT(mm_socket_stats(push, &stats), MM_OK);
    CHECK(stats.disconnects == 0 && stats.unacked_messages == 0);
    CHECK_INT(stats.acked_messages, 2);
    mm_batch_free(batch);
    close_engine(here, 0);
    close_engine(there, 0);
    atomic_store(&reads, 0);
    CHECK_INT(mm_live_handles(), 0);
}

static void
test_it_may_be_done_before_its_writer_knows_that_it_was_written(void)
{
    send_one_that_is_settled_first(false, 10);
    send_one_that_is_settled_first(false, 60000);
}

static void
test_it_may_be_given_back_before_its_writer_knows_that_it_was_written(void)
{
    send_one_that_is_settled_first(true, 10);
    send_one_that_is_settled_first(true, 60000);
}

int
main(void)
{
    RUN(test_it_may_be_done_before_its_writer_knows_that_it_was_written);
    RUN(test_it_may_be_given_back_before_its_writer_knows_that_it_was_written);
    return 0;
}
