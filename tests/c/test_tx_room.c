/*
 * test_tx_room.c: who asks poll to tell when a stream has room: only a write that found too little.
 * Not here: the states behind that (test_tx_states.c), what else happens during a write
 * (test_engine_outside.c, test_engine_burst.c).
 * Law: a read that ends beside a write, before a round or before an answer goes out asks for none:
 * the kernel has room, so poll would only come back at once, again and again.
 */
#include <stdatomic.h>

#include "link/link.h"
#include "sched/sched.h"
#include "sockets.h"

enum { WAIT_MS = 20000 };

static int64_t (*plain_writev)(void *self, int s, const mmi_iov *iov, int n);
static int64_t (*plain_readv)(void *self, int s, const mmi_iov *iov, int n);
static int (*plain_watch)(void *self, int s, uint32_t events, uint64_t tag);
static atomic_bool counting, in_write, in_read; /* the next write, or read, has something happen */
static atomic_uint asked; /* for room */
static _Atomic(mm_handle) near_end, far_end;
static const uint8_t octet = 1;

static void
send_one(mm_handle socket)
{
    CHECK_INT(mm_send(socket, &octet, sizeof octet, WAIT_MS, 0), MM_OK);
}

/* What the peer sends is read before the write has returned. */
static int64_t
reading_writev(void *self, int s, const mmi_iov *iov, int n)
{
    int64_t size = plain_writev(self, s, iov, n);
    if (atomic_exchange(&in_write, false)) {
        mm_stats stats;
        send_one(atomic_load(&far_end));
        do {
            CHECK_INT(mm_socket_stats(atomic_load(&near_end), &stats), MM_OK);
        } while (stats.queued_in_messages == 0);
    }
    return size;
}

/* As after sends that came close upon each other: the only link of the socket is in a burst. */
static void
begin_burst(mm_handle socket)
{
    void *object;
    mmi_engine *e;
    CHECK_INT(mmi_handle_lock(socket, MMI_HANDLE_SOCKET, &object, &e), MM_OK);
    mmi_link *link = MMI_CONTAINER_OF(((mmi_socket *)object)->links.next, mmi_link, node);
    mmi_tx_pace(link);
    pthread_mutex_unlock(&e->lock);
}

/* A burst begins, of which the first message is queued, before the read has returned. */
static int64_t
sending_readv(void *self, int s, const mmi_iov *iov, int n)
{
    int64_t size = plain_readv(self, s, iov, n);
    if (size > 0 && atomic_exchange(&in_read, false)) {
        begin_burst(atomic_load(&near_end));
        send_one(atomic_load(&near_end));
    }
    return size;
}

static int
counting_watch(void *self, int s, uint32_t events, uint64_t tag)
{
    if (atomic_load(&counting) && (events & MMI_WATCH_WRITE) != 0) {
        atomic_fetch_add(&asked, 1);
    }
    return plain_watch(self, s, events, tag);
}

static mm_handle
open_counting(void)
{
    mmi_plat plat;
    mm_handle engine;
    CHECK_INT(mmi_plat_posix(false, &plat), MM_OK);
    plain_writev = plat.writev;
    plain_readv = plat.readv;
    plain_watch = plat.watch;
    plat.writev = reading_writev;
    plat.readv = sending_readv;
    plat.watch = counting_watch;
    CHECK_INT(mmi_engine_open(&plat, &engine), MM_OK);
    return engine;
}

static void
take_one(mm_handle socket)
{
    take_all(socket, 1, WAIT_MS);
}

static void
happens(void (*what)(void))
{
    mm_handle here = open_counting(), there = open_engine();
    mm_handle s = open_quiet(here, MM_PAIR), r = open_quiet(there, MM_PAIR);
    join(s, r, TCP);
    atomic_store(&near_end, s);
    atomic_store(&far_end, r);
    atomic_store(&asked, 0);
    atomic_store(&counting, true);
    what();
    atomic_store(&counting, false);
    CHECK_INT(atomic_load(&asked), 0);
    close_engine(here, WAIT_MS);
    close_engine(there, WAIT_MS);
}

static void
read_during_a_write(void)
{
    await_no_burst();
    atomic_store(&in_write, true);
    send_one(atomic_load(&near_end));
    CHECK(!atomic_load(&in_write));
    take_one(atomic_load(&near_end));
    take_one(atomic_load(&far_end));
}

static void
read_before_a_round(void)
{
    atomic_store(&in_read, true);
    send_one(atomic_load(&far_end));
    take_one(atomic_load(&far_end));
    CHECK(!atomic_load(&in_read));
    take_one(atomic_load(&near_end));
}

/* It is confirmed by an answer, which is noted as it is read, and written as the turn ends. */
static void
read_before_an_answer(void)
{
    mm_drain_info info;
    send_one(atomic_load(&far_end));
    CHECK_INT(mm_drain(atomic_load(&far_end), WAIT_MS, 0, &info), MM_OK);
    CHECK_INT(info.confirmed_messages, 1);
    take_one(atomic_load(&near_end));
}

static void
test_a_read_beside_a_write_asks_for_no_room(void)
{
    happens(read_during_a_write);
}

static void
test_nor_does_one_while_messages_wait_for_a_round(void)
{
    happens(read_before_a_round);
}

static void
test_nor_one_that_is_to_be_answered(void)
{
    happens(read_before_an_answer);
}

int
main(void)
{
    RUN(test_a_read_beside_a_write_asks_for_no_room);
    RUN(test_nor_does_one_while_messages_wait_for_a_round);
    RUN(test_nor_one_that_is_to_be_answered);
    return 0;
}
