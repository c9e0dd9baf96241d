/*
 * test_pub.c: PUB and XPUB: who gets what, and the overflow policies.
 * Not here: what XPUB tells its user (test_xpub.c), limits of subscriptions (test_limits.c), the
 * tree itself (test_radix.c).
 * Law: a subscriber gets a message at most once, and every copy that is lost is counted.
 */
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
test_one_cancel_ends_a_subscription_that_was_made_twice(void)
{
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_DROP_NEWEST, 10);
    s->opts.subscriptions_max = 1;
    fake_pipe *a = fake_connect(s);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    CHECK(a->pipe.subscriptions == 1 && a->pipe.subscription_bytes == 1);
    CHECK_INT(pub_tell(a, true, "u"), MM_EPROTO);
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
    const char *bodies[] = { "0", "1", "2", "3" };
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
    const char *bodies[] = { "1", "2", "3" };
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
        fake_sock *s = fake_open(MM_PUB, block ? MM_OVERFLOW_BLOCK : MM_OVERFLOW_DROP_NEWEST, 10);
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

int
main(void)
{
    RUN(test_a_message_goes_once_to_each_peer_with_a_matching_prefix);
    RUN(test_fan_out_copies_no_body);
    RUN(test_a_message_nobody_wants_is_no_loss);
    RUN(test_one_cancel_ends_a_subscription_that_was_made_twice);
    RUN(test_a_slow_subscriber_loses_the_newest_and_others_nothing);
    RUN(test_drop_oldest_keeps_the_newest_and_what_is_being_written);
    RUN(test_block_queues_on_all_matching_peers_or_on_none);
    RUN(test_block_may_pass_when_the_full_peer_cancels_or_goes);
    RUN(test_no_memory_queues_nothing_or_counts_the_copy);
    RUN(test_pub_discards_what_is_no_subscription);
    return 0;
}
