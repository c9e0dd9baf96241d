/*
 * test_bus.c: BUS: to every peer once, from all in turn, and what a full queue misses.
 * Not here: fan-out by topic (test_pub.c).
 * Law: a message reaches each peer of the moment, or is counted for it.
 */
#include "fake.h"

static void
bus_got(fake_pipe *p, const char *joined)
{
    fake_is(fake_take(p), joined);
}

static void
test_a_message_goes_to_every_peer_and_is_not_copied(void)
{
    fake_sock *s = fake_open(MM_BUS, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s), *c = fake_connect(s);
    CHECK_INT(fake_send_msg(s, FRAMES("one", "two")), MM_OK);
    const mmi_msg *m = mmi_ring_at(&a->pipe.outbox, 0);
    CHECK(mmi_ring_at(&b->pipe.outbox, 0) == m && mmi_ring_at(&c->pipe.outbox, 0) == m);
    CHECK_INT(m->refs, 3);
    bus_got(a, "one|two");
    bus_got(b, "one|two");
    bus_got(c, "one|two");
    CHECK_INT(fake_send_msg(s, fake_frames(0, NULL)), MM_EINVAL);
    fake_close(s);
}

static void
test_what_comes_in_goes_to_the_user_and_nowhere_else(void)
{
    fake_sock *s = fake_open(MM_BUS, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(fake_deliver(a, fake_text("a1")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("a2")), MM_OK);
    CHECK_INT(fake_deliver(b, fake_text("b1")), MM_OK);
    fake_recv_is(s, "a1");
    fake_recv_is(s, "b1");
    fake_recv_is(s, "a2");
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    CHECK(a->pipe.outbox.count == 0 && b->pipe.outbox.count == 0);
    fake_close(s);
}

static void
test_with_nobody_there_a_message_is_counted(void)
{
    for (uint32_t overflow = MM_OVERFLOW_BLOCK; overflow <= MM_OVERFLOW_DROP_OLDEST; overflow++) {
        fake_sock *s = fake_open(MM_BUS, overflow, 10);
        CHECK_INT(fake_send(s, "x"), MM_OK);
        CHECK_INT(s->stats.dropped_no_peer, 1);
        CHECK_INT(s->event_counts[MM_EVENT_DROPPED], 1);
        fake_close(s);
    }
}

static void
test_a_full_queue_misses_the_newest_or_loses_the_oldest(void)
{
    for (uint32_t overflow = MM_OVERFLOW_DROP_NEWEST; overflow <= MM_OVERFLOW_DROP_OLDEST;
         overflow++) {
        fake_sock *s = fake_open(MM_BUS, overflow, 1);
        fake_pipe *full = fake_connect(s), *free_one = fake_connect(s);
        CHECK_INT(fake_send(s, "1"), MM_OK);
        bus_got(free_one, "1");
        CHECK_INT(fake_send(s, "2"), MM_OK);
        bus_got(free_one, "2");
        bus_got(full, overflow == MM_OVERFLOW_DROP_NEWEST ? "1" : "2");
        CHECK_INT(s->stats.dropped_overflow, 1);
        CHECK_INT(full->pipe.dropped, 1);
        CHECK_INT(free_one->pipe.dropped, 0);
        CHECK_INT(s->last_event_peer, full->pipe.id);
        fake_close(s);
    }
}

static void
test_a_bus_that_blocks_sends_to_all_or_to_nobody(void)
{
    fake_sock *s = fake_open(MM_BUS, MM_OVERFLOW_BLOCK, 1);
    fake_pipe *full = fake_connect(s), *free_one = fake_connect(s);
    CHECK_INT(fake_send(s, "1"), MM_OK);
    bus_got(free_one, "1");
    CHECK_INT(fake_send(s, "2"), MM_EAGAIN);
    CHECK_INT(free_one->pipe.outbox.count, 0);
    CHECK_INT(s->ops->ready(s->state), 0);
    bus_got(full, "1");
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(fake_send(s, "2"), MM_OK);
    bus_got(free_one, "2");
    fake_close(s);
}

static void
test_what_a_lost_peer_had_sent_is_still_given_out(void)
{
    fake_sock *s = fake_open(MM_BUS, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s);
    uint64_t bytes;
    CHECK_INT(fake_deliver(a, fake_text("last")), MM_OK);
    CHECK_INT(fake_send(s, "unsent"), MM_OK);
    fake_cut(a);
    CHECK_INT(s->stats.dropped_peer_gone, 1);
    CHECK_INT(s->ops->unclaimed(s->state, &bytes), 1);
    fake_recv_is(s, "last");
    CHECK_INT(s->ops->unclaimed(s->state, &bytes), 0);
    fake_close(s);
}

int
main(void)
{
    RUN(test_a_message_goes_to_every_peer_and_is_not_copied);
    RUN(test_what_comes_in_goes_to_the_user_and_nowhere_else);
    RUN(test_with_nobody_there_a_message_is_counted);
    RUN(test_a_full_queue_misses_the_newest_or_loses_the_oldest);
    RUN(test_a_bus_that_blocks_sends_to_all_or_to_nobody);
    RUN(test_what_a_lost_peer_had_sent_is_still_given_out);
    return 0;
}
