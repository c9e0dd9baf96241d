/*
 * test_sub.c: SUB and XSUB: what peers are told, what is filtered, what goes upstream.
 * Not here: matching at the publisher (test_pub.c).
 * Law: a peer has been told exactly the topics that are subscribed now.
 */
#include "fake.h"

static int
sub_tell(fake_sock *s, bool add, const char *topic)
{
    return s->ops->subscribe(s->state, add, (const uint8_t *)topic, strlen(topic));
}

static void
test_peers_hear_of_the_first_subscription_and_of_the_last_cancel(void)
{
    fake_sock *s = fake_open(MM_SUB, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(sub_tell(s, true, "t"), MM_OK);
    CHECK_INT(sub_tell(s, true, "t"), MM_OK);
    CHECK_INT(sub_tell(s, true, ""), MM_OK);
    CHECK_INT(sub_tell(s, false, "t"), MM_OK);
    CHECK(strcmp(a->log, "+t + ") == 0);
    CHECK_INT(sub_tell(s, false, "t"), MM_OK);
    CHECK(strcmp(a->log, "+t + -t ") == 0);
    CHECK_INT(sub_tell(s, false, "t"), MM_EINVAL);
    CHECK(s->ops->send == NULL);
    fake_close(s);
}

static void
test_a_new_peer_hears_all_topics_in_order_whatever_the_queue_limit(void)
{
    fake_sock *s = fake_open(MM_SUB, MM_OVERFLOW_BLOCK, 1);
    const char *topics[] = { "b", "a", "abc", "", "ab" };
    for (int i = 0; i < 5; i++) {
        CHECK_INT(sub_tell(s, true, topics[i]), MM_OK);
    }
    CHECK_INT(sub_tell(s, true, "gone"), MM_OK);
    CHECK_INT(sub_tell(s, false, "gone"), MM_OK);
    fake_pipe *a = fake_connect(s);
    CHECK(strcmp(a->log, "+ +a +ab +abc +b ") == 0);
    fake_cut(a);
    a = fake_connect(s);
    CHECK_INT(a->told_count, 5);
    fake_close(s);
}

static void
test_a_peer_that_cannot_be_told_is_closed_so_that_it_hears_all_again(void)
{
    fake_sock *s = fake_open(MM_SUB, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    a->fail_subscription = true;
    CHECK_INT(sub_tell(s, true, "t"), MM_OK);
    CHECK_INT(a->closed_reason, MM_REASON_MEMORY);
    CHECK(b->closed_reason == 0 && strcmp(b->log, "+t ") == 0);
    fake_close(s);
}

static void
test_a_new_peer_that_cannot_be_told_is_refused(void)
{
    fake_sock *s = fake_open(MM_SUB, MM_OVERFLOW_BLOCK, 10);
    s->fail_subscription = true;
    CHECK(fake_connect(s) != NULL);
    CHECK_INT(sub_tell(s, true, "t"), MM_OK);
    CHECK(fake_connect(s) == NULL);
    CHECK_INT(s->add_rc, MM_ENOMEM);
    s->fail_subscription = false;
    CHECK(fake_connect(s) != NULL);
    fake_close(s);
}

static void
test_what_is_not_subscribed_any_more_is_dropped_and_counted(void)
{
    fake_sock *s = fake_open(MM_SUB, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(sub_tell(s, true, "a"), MM_OK);
    CHECK_INT(sub_tell(s, true, "b"), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("a1", "x")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("b1", "x")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("c1", "x")), MM_OK);
    CHECK_INT(sub_tell(s, false, "a"), MM_OK);
    CHECK_INT(s->stats.dropped_filtered, 1);
    fake_recv_is(s, "b1|x");
    CHECK_INT(s->stats.dropped_filtered, 2);
    CHECK_INT(s->ops->ready(s->state), 0);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

/* Whatever comes and goes, of two peers, one of whom leaves: ready tells what recv will say. */
static void
test_ready_says_what_recv_will_say(void)
{
    for (uint32_t seed = 1; seed <= 60; seed++) {
        uint32_t state = seed;
        fake_sock *s = fake_open(MM_SUB, MM_OVERFLOW_BLOCK, 10);
        fake_pipe *peers[] = { fake_connect(s), fake_connect(s) };
        bool wanted[2] = { false, false };
        for (int step = 0; step < 300; step++) {
            uint32_t what = check_random(&state) % 20, i = check_random(&state) % 2;
            const char *topic = i == 0 ? "a" : "b";
            if (what == 0) {
                fake_cut(peers[i]);
                peers[i] = fake_connect(s);
            } else if (what < 5) {
                wanted[i] = !wanted[i];
                CHECK_INT(sub_tell(s, wanted[i], topic), MM_OK);
            } else if (what < 14) {
                mmi_msg *m = what < 10 ? fake_text(topic) : FRAMES(topic, "x");
                if (fake_deliver(peers[check_random(&state) % 2], m) != MM_OK) {
                    mmi_msg_unref(m);
                }
            } else {
                bool ready = s->ops->ready(s->state) == MM_READABLE;
                mmi_msg *m;
                int rc = s->ops->recv(s->state, &m);
                CHECK_INT(rc, ready ? MM_OK : MM_EAGAIN);
                CHECK(!ready || wanted[m->frames[0].data[0] - 'a']);
                mmi_msg_unref(ready ? m : NULL);
            }
            CHECK(wanted[0] || wanted[1] || s->ops->ready(s->state) == 0);
        }
        fake_close(s);
    }
}

static void
test_what_a_lost_publisher_had_delivered_is_received(void)
{
    fake_sock *s = fake_open(MM_SUB, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(sub_tell(s, true, ""), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("x")), MM_OK);
    fake_cut(a);
    fake_recv_is(s, "x");
    fake_close(s);
}

/* A socket that closes: what is in the inboxes is dropped, and then its peers go one by one. */
static void
test_peers_go_whose_messages_were_dropped_before(void)
{
    fake_sock *s = fake_open(MM_SUB, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(sub_tell(s, true, ""), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("x")), MM_OK);
    CHECK_INT(fake_deliver(b, fake_text("y")), MM_OK);
    mmi_msg_unref(mmi_ring_pop(&a->pipe.inbox));
    mmi_msg_unref(mmi_ring_pop(&b->pipe.inbox));
    fake_cut(a);
    mmi_msg *m;
    CHECK_INT(s->ops->recv(s->state, &m), MM_EAGAIN);
    fake_cut(b);
    fake_close(s);
}

static void
test_xsub_subscribes_by_messages_and_does_not_filter(void)
{
    fake_sock *s = fake_open(MM_XSUB, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_send(s, "\x01topic"), MM_OK);
    CHECK_INT(fake_send(s, "\x01topic"), MM_OK);
    CHECK(strcmp(a->log, "+topic ") == 0);
    CHECK_INT(fake_deliver(a, fake_text("anything")), MM_OK);
    fake_recv_is(s, "anything");
    mmi_msg *m = mmi_msg_copy((const uint8_t *)"\0topic", 6);
    CHECK_INT(fake_send_msg(s, mmi_msg_ref(m)), MM_OK);
    CHECK_INT(fake_send_msg(s, mmi_msg_ref(m)), MM_OK);
    CHECK(strcmp(a->log, "+topic -topic ") == 0);
    CHECK_INT(fake_send_msg(s, m), MM_OK);      /* of what was not subscribed: nothing */
    CHECK(strcmp(a->log, "+topic -topic ") == 0);
    CHECK_INT(sub_tell(s, false, "topic"), MM_EINVAL);
    CHECK_INT(a->pipe.outbox.count, 0);
    CHECK_INT(s->stats.written_messages, 5);    /* none of them is a message in a queue */
    fake_close(s);
}

static void
test_xsub_passes_other_messages_to_all_publishers(void)
{
    fake_sock *s = fake_open(MM_XSUB, MM_OVERFLOW_BLOCK, 1);
    CHECK_INT(fake_send(s, "nobody"), MM_OK);
    CHECK_INT(s->stats.dropped_no_peer, 1);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(fake_send_msg(s, FRAMES("\x01t", "two frames")), MM_OK);
    CHECK_INT(fake_send(s, "more"), MM_EAGAIN);
    CHECK_INT(s->ops->ready(s->state), 0);
    CHECK_INT(fake_send(s, "\x01t"), MM_OK);    /* a subscription needs no room */
    fake_is(fake_take(a), "\x01t|two frames");
    fake_is(fake_take(b), "\x01t|two frames");
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(fake_send(s, ""), MM_OK);
    fake_is(fake_take(a), "");
    fake_close(s);
}

static void
test_no_memory_leaves_the_topics_as_they_were(void)
{
    fake_sock *s = fake_open(MM_SUB, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    for (int n = 1; n < 12; n++) {
        mm_test_alloc_fail(n);
        int rc = sub_tell(s, true, "t");
        mm_test_alloc_fail(0);
        CHECK_INT(strlen(a->log), rc == MM_OK ? 3 : 0);
        if (rc == MM_OK) {
            break;
        }
        CHECK_INT(rc, MM_ENOMEM);
        CHECK_INT(sub_tell(s, false, "t"), MM_EINVAL);
    }
    CHECK_INT(sub_tell(s, false, "t"), MM_OK);
    fake_close(s);
}

int
main(void)
{
    RUN(test_peers_hear_of_the_first_subscription_and_of_the_last_cancel);
    RUN(test_a_new_peer_hears_all_topics_in_order_whatever_the_queue_limit);
    RUN(test_a_peer_that_cannot_be_told_is_closed_so_that_it_hears_all_again);
    RUN(test_a_new_peer_that_cannot_be_told_is_refused);
    RUN(test_what_is_not_subscribed_any_more_is_dropped_and_counted);
    RUN(test_ready_says_what_recv_will_say);
    RUN(test_what_a_lost_publisher_had_delivered_is_received);
    RUN(test_peers_go_whose_messages_were_dropped_before);
    RUN(test_xsub_subscribes_by_messages_and_does_not_filter);
    RUN(test_xsub_passes_other_messages_to_all_publishers);
    RUN(test_no_memory_leaves_the_topics_as_they_were);
    return 0;
}
