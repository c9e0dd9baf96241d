/*
 * test_conflate.c: a SUB that keeps the newest: what is kept, what is dropped, in which order.
 * Not here: real connections (tests/unit/test_conflate.py).
 * Law: what comes is given out, kept or counted; never an older one after a newer one of its topic.
 */
#include "fake.h"

static int
sub_tell(fake_sock *s, bool add, const char *topic)
{
    return s->ops->subscribe(s->state, add, (const uint8_t *)topic, strlen(topic));
}

static fake_sock *
conflating(uint32_t flags, uint32_t queue_messages, const char *topic)
{
    fake_sock *s = fake_open_with(MM_SUB, MM_OVERFLOW_BLOCK, queue_messages, flags);
    CHECK_INT(sub_tell(s, true, topic), MM_OK);
    return s;
}

static void
test_only_the_newest_of_all_is_kept(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE, 10, "");
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(s->ops->ready(s->state), 0);
    for (int i = 0; i < 100; i++) {
        CHECK_INT(fake_deliver(i % 2 ? a : b, FRAMES("t", "old", "frames")), MM_OK);
    }
    CHECK_INT(fake_deliver(b, FRAMES("u", "new", "", "frames")), MM_OK);
    CHECK_INT(fake_queued(s), 1);
    CHECK_INT(s->stats.dropped_conflated, 100);
    CHECK_INT(s->event_counts[MM_EVENT_DROPPED], 0);
    fake_cut(b);
    fake_recv_is(s, "u|new||frames");
    CHECK_INT(s->ops->ready(s->state), 0);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

static void
test_the_newest_of_each_topic_is_kept_where_its_topic_waited(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE_TOPIC, 10, "");
    fake_pipe *a = fake_connect(s);
    const char *topics[] = {"a", "b", "", "ab"};
    for (int round = 0; round < 3; round++) {
        for (int i = 3; i >= 0; i--) {
            char body[2] = {(char)('0' + round), 0};
            CHECK_INT(fake_deliver(a, FRAMES(topics[i], body)), MM_OK);
        }
    }
    CHECK_INT(s->stats.dropped_conflated, 8);
    fake_recv_is(s, "ab|2");
    CHECK_INT(fake_deliver(a, FRAMES("ab", "3")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("a", "3")), MM_OK);
    fake_recv_is(s, "|2");
    fake_recv_is(s, "b|2");
    fake_recv_is(s, "a|3");
    fake_recv_is(s, "ab|3");
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

static void
test_the_topic_of_one_frame_is_the_longest_subscription(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE_TOPIC, 10, "fx.");
    CHECK_INT(sub_tell(s, true, "fx.eur"), MM_OK);
    fake_pipe *a = fake_connect(s);
    const char *bodies[] = {"fx.eur 1", "fx.usd 1", "fx.eur 2", "fx.chf 1", "other"};
    for (int i = 0; i < 5; i++) {
        CHECK_INT(fake_deliver(a, fake_text(bodies[i])), MM_OK);
    }
    CHECK_INT(fake_deliver(a, FRAMES("fx.", "a topic of its own")), MM_OK);
    CHECK(s->stats.dropped_conflated == 2 && s->stats.dropped_filtered == 1);
    fake_recv_is(s, "fx.eur 2");
    fake_recv_is(s, "fx.chf 1");
    fake_recv_is(s, "fx.|a topic of its own");
    fake_close(s);
}

static void
test_over_the_queue_s_limits_the_topic_that_waited_longest_goes(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE_TOPIC, 3, "");
    s->opts.recv_queue_bytes = 1000;
    fake_pipe *a = fake_connect(s);
    const char *topics[] = {"1", "2", "3", "4"};
    for (int i = 0; i < 4; i++) {
        CHECK_INT(fake_deliver(a, FRAMES(topics[i], "x")), MM_OK);
    }
    CHECK(s->stats.dropped_overflow == 1 && s->event_counts[MM_EVENT_DROPPED] == 1);
    char large[2000];
    memset(large, 'l', sizeof large);
    large[sizeof large - 1] = 0;
    CHECK_INT(fake_deliver(a, FRAMES("2", large)), MM_OK);   /* the front itself: the others go */
    CHECK(s->stats.dropped_overflow == 3 && s->stats.dropped_conflated == 1);
    CHECK_INT(fake_queued(s), 1);
    CHECK_INT(fake_recv_rc(s), MM_OK);
    CHECK_INT(fake_queued(s), 0);
    fake_close(s);
}

static void
test_what_is_unsubscribed_is_not_ready_any_more(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE_TOPIC, 10, "a");
    CHECK_INT(sub_tell(s, true, "b"), MM_OK);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_deliver(a, FRAMES("a", "x")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("b", "x")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("ab", "x")), MM_OK);
    CHECK_INT(sub_tell(s, false, "a"), MM_OK);
    CHECK_INT(s->stats.dropped_filtered, 2);
    fake_recv_is(s, "b|x");
    CHECK_INT(s->ops->ready(s->state), 0);
    fake_close(s);
}

/* Whatever fails: each message is given out, kept or counted, and the next ones find their way. */
static void
test_without_memory_every_message_is_accounted_for(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE_TOPIC, 5, "");
    fake_pipe *a = fake_connect(s);
    uint32_t state = 7, came = 0, taken = 0;
    for (int i = 0; i < 3000; i++) {
        char topic[3] = {(char)('a' + check_random(&state) % 4),
                         (char)('a' + check_random(&state) % 4), 0};
        mmi_msg *m = FRAMES(topic, "x");
        mm_test_alloc_fail(check_random(&state) % 8);
        int rc = fake_deliver(a, m);
        mm_test_alloc_fail(0);
        came += rc == MM_OK;
        if (rc != MM_OK) {
            mmi_msg_unref(m);
        }
        taken += check_random(&state) % 3 == 0 && fake_recv_rc(s) == MM_OK;
        CHECK_INT(came, taken + fake_queued(s) + fake_dropped(s));
        CHECK((s->ops->ready(s->state) == MM_READABLE) == (fake_queued(s) > 0));
    }
    CHECK(s->stats.dropped_overflow > 0 && s->stats.dropped_conflated > 0);
    fake_close(s);
}

int
main(void)
{
    RUN(test_only_the_newest_of_all_is_kept);
    RUN(test_the_newest_of_each_topic_is_kept_where_its_topic_waited);
    RUN(test_the_topic_of_one_frame_is_the_longest_subscription);
    RUN(test_over_the_queue_s_limits_the_topic_that_waited_longest_goes);
    RUN(test_what_is_unsubscribed_is_not_ready_any_more);
    RUN(test_without_memory_every_message_is_accounted_for);
    return 0;
}
