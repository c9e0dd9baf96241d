/*
 * test_pub.c: PUB and XPUB: who gets what, the overflow policies, and what XPUB tells its user.
 * Not here: limits of subscriptions (test_limits.c), the tree itself (test_radix.c).
 * Law: a subscriber gets a message at most once, and every copy that is lost is counted.
 */
#include "base/limits.h"
#include "fake.h"

static int
pub_tell(fake_pipe *p, bool add, const char *topic)
{
    return p->sock->ops->subscription(p->sock->state, &p->pipe, add, (const uint8_t *)topic,
                                      strlen(topic));
}

static uint32_t
pub_reach(fake_sock *s, const char *topic)
{
    return s->ops->reach(s->state, (const uint8_t *)topic, strlen(topic));
}

static void
test_a_message_goes_once_to_each_peer_with_a_matching_prefix(void)
{
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s), *c = fake_connect(s);
    CHECK_INT(pub_tell(a, true, "fx."), MM_OK);
    CHECK_INT(pub_tell(a, true, "fx.eur"), MM_OK);
    CHECK_INT(pub_tell(a, true, "fx.eur"), MM_OK);
    CHECK_INT(pub_tell(b, true, ""), MM_OK);
    CHECK_INT(pub_tell(c, true, "fx.eur.usd.x"), MM_OK);
    CHECK_INT(pub_reach(s, "fx.eur.usd"), 2);
    CHECK_INT(fake_send_msg(s, FRAMES("fx.eur.usd", "101.3")), MM_OK);
    fake_is(fake_take(a), "fx.eur.usd|101.3");
    fake_is(fake_take(b), "fx.eur.usd|101.3");
    CHECK(fake_take(a) == NULL && fake_take(b) == NULL && fake_take(c) == NULL);
    CHECK_INT(fake_dropped(s), 0);
    fake_close(s);
}

static void
test_fan_out_copies_no_body(void)
{
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(pub_tell(a, true, "x"), MM_OK);
    CHECK_INT(pub_tell(b, true, "x"), MM_OK);
    CHECK_INT(fake_send(s, "xyz"), MM_OK);
    mmi_msg *first = fake_take(a), *second = fake_take(b);
    CHECK(first == second && first->refs == 2);
    fake_is(first, "xyz");
    fake_is(second, "xyz");
    fake_close(s);
}

static void
test_a_message_nobody_wants_is_no_loss(void)
{
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_DROP_NEWEST, 10);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(fake_send(s, "x"), MM_OK);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(pub_tell(a, true, "y"), MM_OK);
    CHECK_INT(fake_send(s, "x"), MM_OK);
    CHECK_INT(fake_dropped(s), 0);
    CHECK_INT(fake_send_msg(s, fake_frames(0, NULL)), MM_EINVAL);
    CHECK(s->ops->recv == NULL);
    fake_close(s);
}

static void
test_each_subscription_needs_its_own_cancel(void)
{
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    CHECK(a->pipe.subscriptions == 2 && a->pipe.subscription_bytes == 2);
    CHECK_INT(pub_tell(a, false, "t"), MM_OK);
    CHECK_INT(pub_reach(s, "topic"), 1);
    CHECK_INT(pub_tell(a, false, "t"), MM_OK);
    CHECK_INT(pub_reach(s, "topic"), 0);
    CHECK_INT(pub_tell(a, false, "t"), MM_OK);
    CHECK_INT(pub_tell(a, false, "never"), MM_OK);
    CHECK(a->pipe.subscriptions == 0 && a->pipe.subscription_bytes == 0);
    fake_close(s);
}

static void
test_a_slow_subscriber_loses_the_newest_and_others_nothing(void)
{
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_DROP_NEWEST, 2);
    fake_pipe *slow = fake_connect(s), *fast = fake_connect(s);
    CHECK_INT(pub_tell(slow, true, ""), MM_OK);
    CHECK_INT(pub_tell(fast, true, ""), MM_OK);
    const char *bodies[] = {"0", "1", "2", "3"};
    for (int i = 0; i < 4; i++) {
        CHECK_INT(fake_send(s, bodies[i]), MM_OK);
        fake_is(fake_take(fast), bodies[i]);
    }
    CHECK_INT(s->stats.dropped_overflow, 2);
    CHECK(slow->pipe.dropped == 2 && fast->pipe.dropped == 0);
    CHECK_INT(s->event_counts[MM_EVENT_DROPPED], 2);
    CHECK_INT(s->last_event_peer, slow->pipe.id);
    fake_is(fake_take(slow), "0");
    fake_is(fake_take(slow), "1");
    fake_close(s);
}

static void
test_drop_oldest_keeps_the_newest_and_what_is_being_written(void)
{
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_DROP_OLDEST, 2);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(pub_tell(a, true, ""), MM_OK);
    CHECK_INT(pub_tell(b, true, ""), MM_OK);
    CHECK_INT(fake_send(s, "0"), MM_OK);
    b->pipe.pinned = true;
    const char *bodies[] = {"1", "2", "3"};
    for (int i = 0; i < 3; i++) {
        CHECK_INT(fake_send(s, bodies[i]), MM_OK);
    }
    CHECK_INT(s->stats.dropped_overflow, 4);
    fake_is(fake_take(a), "2");
    fake_is(fake_take(a), "3");
    fake_is(fake_take(b), "0");
    fake_is(fake_take(b), "3");
    fake_close(s);
}

static void
test_block_queues_on_all_matching_peers_or_on_none(void)
{
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_BLOCK, 2);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(pub_tell(a, true, "x"), MM_OK);
    CHECK_INT(pub_tell(b, true, ""), MM_OK);
    CHECK_INT(fake_send(s, "x0"), MM_OK);
    CHECK_INT(fake_send(s, "x1"), MM_OK);
    CHECK_INT(fake_take_all(b), 2);
    CHECK_INT(fake_send(s, "x2"), MM_EAGAIN);
    CHECK_INT(b->pipe.outbox.count, 0);
    CHECK_INT(s->ops->ready(s->state), 0);
    CHECK_INT(fake_send(s, "y"), MM_OK);            /* a has no part in this one */
    fake_is(fake_take(a), "x0");
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(fake_send(s, "x2"), MM_OK);
    fake_is(fake_take(b), "y");
    fake_is(fake_take(b), "x2");
    CHECK_INT(fake_dropped(s), 0);
    fake_close(s);
}

static void
test_block_may_pass_when_the_full_peer_cancels_or_goes(void)
{
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_ERROR, 1);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(pub_tell(a, true, ""), MM_OK);
    CHECK_INT(fake_send(s, "0"), MM_OK);
    CHECK_INT(fake_send(s, "1"), MM_EAGAIN);
    CHECK_INT(s->ops->ready(s->state), 0);
    CHECK_INT(pub_tell(a, false, ""), MM_OK);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(pub_tell(a, true, ""), MM_OK);
    CHECK_INT(fake_send(s, "1"), MM_EAGAIN);
    CHECK_INT(s->ops->ready(s->state), 0);
    fake_cut(a);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(s->stats.dropped_peer_gone, 1);
    fake_close(s);
}

static void
test_no_memory_queues_nothing_or_counts_the_copy(void)
{
    for (int block = 0; block < 2; block++) {
        fake_sock *s = fake_open(
            MM_PUB, block ? MM_OVERFLOW_BLOCK : MM_OVERFLOW_DROP_NEWEST, 10);
        fake_pipe *a = fake_connect(s), *b = fake_connect(s);
        CHECK_INT(pub_tell(a, true, ""), MM_OK);
        CHECK_INT(pub_tell(b, true, ""), MM_OK);
        mmi_msg *m = fake_text("x");
        mm_test_alloc_fail(2);                      /* the second queue cannot grow */
        CHECK_INT(fake_send_msg(s, m), block ? MM_ENOMEM : MM_OK);
        mm_test_alloc_fail(0);
        CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
        CHECK_INT(s->stats.dropped_overflow, block ? 0 : 1);
        CHECK_INT(a->pipe.outbox.count + b->pipe.outbox.count, block ? 0 : 1);
        fake_close(s);
    }
}

static void
test_pub_discards_what_is_no_subscription(void)
{
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_deliver(a, fake_text("hello")), MM_OK);
    CHECK_INT(s->stats.dropped_malformed, 1);
    fake_close(s);
}

static void
test_xpub_hears_the_first_subscription_and_the_last_cancellation(void)
{
    fake_sock *s = fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    CHECK_INT(pub_tell(b, true, "t"), MM_OK);
    CHECK_INT(pub_tell(b, true, "u"), MM_OK);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE | MM_READABLE);
    CHECK_INT(pub_tell(a, false, "t"), MM_OK);
    CHECK_INT(pub_tell(b, false, "t"), MM_OK);
    fake_recv_is(s, "\x01t");
    fake_recv_is(s, "\x01u");
    mmi_msg *m = NULL;
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    CHECK(m->size == 2 && memcmp(m->frames[0].data, "\0t", 2) == 0);
    CHECK_INT(m->pipe_id, b->pipe.id);
    mmi_msg_unref(m);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

static void
test_xpub_hears_the_cancellations_of_a_lost_peer(void)
{
    fake_sock *s = fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(pub_tell(a, true, "mine"), MM_OK);
    CHECK_INT(pub_tell(a, true, ""), MM_OK);
    CHECK_INT(pub_tell(a, true, "both"), MM_OK);
    CHECK_INT(pub_tell(b, true, "both"), MM_OK);
    fake_recv_is(s, "\x01mine");
    fake_recv_is(s, "\x01");
    fake_recv_is(s, "\x01""both");
    fake_cut(a);
    mmi_msg *m = NULL;
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    CHECK(m->size == 5 && memcmp(m->frames[0].data, "\0mine", 5) == 0);
    mmi_msg_unref(m);
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    CHECK(m->size == 1 && m->frames[0].data[0] == 0);
    mmi_msg_unref(m);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    CHECK_INT(pub_reach(s, "both"), 1);
    fake_close(s);
}

static void
test_verbose_xpub_hears_every_one(void)
{
    fake_sock *s = fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10);
    s->opts.flags = MM_OPT_XPUB_VERBOSE;
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    CHECK_INT(pub_tell(b, true, "t"), MM_OK);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    CHECK_INT(pub_tell(b, false, "t"), MM_OK);
    CHECK_INT(pub_tell(b, false, "t"), MM_OK);
    fake_cut(a);
    int heard[2] = {0, 0};
    mmi_msg *m = NULL;
    while (s->ops->recv(s->state, &m) == MM_OK) {
        CHECK_INT(m->size, 2);
        heard[m->frames[0].data[0]]++;
        mmi_msg_unref(m);
    }
    CHECK(heard[1] == 3 && heard[0] == 3);
    fake_close(s);
}

static void
test_xpub_receives_other_messages_as_they_are(void)
{
    fake_sock *s = fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_deliver(a, FRAMES("hello", "world")), MM_OK);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    fake_recv_is(s, "\x01t");
    fake_recv_is(s, "hello|world");
    CHECK_INT(fake_deliver(a, fake_text("last words")), MM_OK);
    fake_cut(a);
    mmi_msg *m = NULL;
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    mmi_msg_unref(m);
    fake_recv_is(s, "last words");
    fake_close(s);
}

static void
test_notices_nobody_reads_are_bounded_and_counted(void)
{
    fake_sock *s = fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s);
    for (int i = 0; i < MMI_NOTICES_MAX / 2 + 1; i++) {
        CHECK_INT(pub_tell(a, true, "t"), MM_OK);
        CHECK_INT(pub_tell(a, false, "t"), MM_OK);
    }
    CHECK_INT(s->stats.dropped_overflow, 2);
    fake_close(s);
}

int
main(void)
{
    RUN(test_a_message_goes_once_to_each_peer_with_a_matching_prefix);
    RUN(test_fan_out_copies_no_body);
    RUN(test_a_message_nobody_wants_is_no_loss);
    RUN(test_each_subscription_needs_its_own_cancel);
    RUN(test_a_slow_subscriber_loses_the_newest_and_others_nothing);
    RUN(test_drop_oldest_keeps_the_newest_and_what_is_being_written);
    RUN(test_block_queues_on_all_matching_peers_or_on_none);
    RUN(test_block_may_pass_when_the_full_peer_cancels_or_goes);
    RUN(test_no_memory_queues_nothing_or_counts_the_copy);
    RUN(test_pub_discards_what_is_no_subscription);
    RUN(test_xpub_hears_the_first_subscription_and_the_last_cancellation);
    RUN(test_xpub_hears_the_cancellations_of_a_lost_peer);
    RUN(test_verbose_xpub_hears_every_one);
    RUN(test_xpub_receives_other_messages_as_they_are);
    RUN(test_notices_nobody_reads_are_bounded_and_counted);
    return 0;
}
