/*
 * test_pull.c: PULL: fairness, what a lost peer had delivered, and letting a paused link read on.
 * Not here: filtering (test_sub.c).
 * Law: every message delivered is received once, in its peer's order.
 */
#include "base/limits.h"
#include "fake.h"

static void
test_pull_takes_one_message_a_turn_from_each_peer(void)
{
    fake_sock *s = fake_open(MM_PULL, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(s->ops->ready(s->state), 0);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    CHECK(s->ops->send == NULL);
    const char *bodies[] = { "a0", "a1", "a2" };
    for (int i = 0; i < 3; i++) {
        CHECK_INT(fake_deliver(a, fake_text(bodies[i])), MM_OK);
    }
    CHECK_INT(fake_deliver(b, fake_text("b0")), MM_OK);
    fake_recv_is(s, "a0");
    fake_recv_is(s, "b0");
    CHECK_INT(fake_deliver(b, fake_text("b1")), MM_OK);
    fake_recv_is(s, "a1");
    fake_recv_is(s, "b1");
    fake_recv_is(s, "a2");
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    CHECK_INT(s->ops->ready(s->state), 0);
    CHECK(a->pipe.handed == 3 && b->pipe.handed == 2);
    fake_close(s);
}

static void
test_pull_says_whom_a_message_is_from(void)
{
    fake_sock *s = fake_open(MM_PULL, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    mmi_msg *m = NULL;
    CHECK_INT(fake_deliver(a, fake_text("x")), MM_OK);
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    CHECK_INT(m->pipe_id, a->pipe.id);
    mmi_msg_unref(m);
    fake_close(s);
}

static void
test_what_a_lost_peer_had_delivered_is_still_received_first(void)
{
    fake_sock *s = fake_open(MM_PULL, MM_OVERFLOW_BLOCK, 10);
    uint64_t bytes;
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(fake_deliver(b, fake_text("b0")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("a0")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("a1")), MM_OK);
    fake_cut(a);
    CHECK_INT(s->stats.dropped_peer_gone, 0);
    CHECK_INT(s->ops->unclaimed(s->state, &bytes), 2);
    fake_recv_is(s, "a0");
    fake_recv_is(s, "a1");
    fake_recv_is(s, "b0");
    CHECK_INT(s->ops->unclaimed(s->state, &bytes), 0);
    CHECK_INT(bytes, 0);
    fake_close(s);
}

static void
test_no_memory_to_keep_the_inbox_of_a_lost_peer_is_counted(void)
{
    fake_sock *s = fake_open(MM_PULL, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_deliver(a, fake_text("a0")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("a1")), MM_OK);
    mm_test_alloc_fail(1);
    fake_cut(a);
    mm_test_alloc_fail(0);
    CHECK_INT(s->stats.dropped_peer_gone, 2);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

static void
test_what_lost_peers_had_delivered_is_kept_up_to_a_limit(void)
{
    fake_sock *s = fake_open(MM_PULL, MM_OVERFLOW_BLOCK, MMI_LEFT_MESSAGES_MAX + 1);
    s->opts.recv_queue_bytes = (uint64_t)MMI_LEFT_BYTES_MAX + 1000;
    s->ops->fini(s->state);
    CHECK_INT(s->ops->init(s->state, &s->host), MM_OK);
    uint64_t bytes;
    for (int i = 0; i < 2; i++) {
        fake_pipe *a = fake_connect(s);
        mmi_msg *m = fake_text("x");
        CHECK_INT(fake_deliver(a, m), MM_OK);
        for (int k = 1; i == 0 && k < MMI_LEFT_MESSAGES_MAX + 1; k++) {
            CHECK_INT(mmi_pipe_push_in(&a->pipe, mmi_msg_ref(m)), MM_OK);
        }
        fake_cut(a);
        CHECK_INT(s->ops->unclaimed(s->state, &bytes), MMI_LEFT_MESSAGES_MAX + 1);
        CHECK_INT(s->stats.dropped_peer_gone, i);
    }
    fake_close(s);
}

static void
test_a_full_inbox_refuses_and_the_link_may_read_on_when_half_is_taken(void)
{
    fake_sock *s = fake_open(MM_PULL, MM_OVERFLOW_BLOCK, 4);
    fake_pipe *a = fake_connect(s);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(fake_deliver(a, fake_text("x")), MM_OK);
    }
    mmi_msg *m = fake_text("held");
    CHECK_INT(fake_deliver(a, m), MM_EAGAIN);
    a->pipe.in_blocked = true;
    fake_recv_is(s, "x");
    CHECK_INT(a->room_count, 0);
    fake_recv_is(s, "x");
    CHECK_INT(a->room_count, 1);
    a->pipe.in_blocked = false;
    CHECK_INT(fake_deliver(a, m), MM_OK);
    fake_recv_is(s, "x");
    CHECK_INT(a->room_count, 1);
    fake_recv_is(s, "x");
    fake_recv_is(s, "held");
    fake_close(s);
}

static void
test_a_link_paused_by_one_large_message_reads_on_when_it_is_taken(void)
{
    fake_sock *s = fake_open(MM_PULL, MM_OVERFLOW_BLOCK, 4);
    s->opts.recv_queue_bytes = 10;
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_deliver(a, fake_text("larger than the queue")), MM_OK);
    a->pipe.in_blocked = true;
    fake_recv_is(s, "larger than the queue");
    CHECK_INT(a->room_count, 1);
    fake_close(s);
}

static void
test_closing_counts_what_was_never_received(void)
{
    fake_sock *s = fake_open(MM_PULL, MM_OVERFLOW_BLOCK, 4);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_deliver(a, fake_text("x")), MM_OK);
    fake_cut(a);
    s->ops->fini(s->state);
    CHECK_INT(s->stats.dropped_closed, 1);
    CHECK_INT(s->ops->init(s->state, &s->host), MM_OK);
    fake_close(s);
}

int
main(void)
{
    RUN(test_pull_takes_one_message_a_turn_from_each_peer);
    RUN(test_pull_says_whom_a_message_is_from);
    RUN(test_what_a_lost_peer_had_delivered_is_still_received_first);
    RUN(test_no_memory_to_keep_the_inbox_of_a_lost_peer_is_counted);
    RUN(test_what_lost_peers_had_delivered_is_kept_up_to_a_limit);
    RUN(test_a_full_inbox_refuses_and_the_link_may_read_on_when_half_is_taken);
    RUN(test_a_link_paused_by_one_large_message_reads_on_when_it_is_taken);
    RUN(test_closing_counts_what_was_never_received);
    return 0;
}
