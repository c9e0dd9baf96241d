/*
 * test_retained.c: a PUB that retains: who subscribes gets the last of each topic, then what is
 * sent.
 * Not here: random steps (test_retained_model.c), connections (tests/unit/test_retained.py), a
 * spool (tests/unit/test_retained_spool.py).
 * Law: of a topic that it subscribed to a peer gets the last value and then each message, once and
 * in order.
 */
#include "kept.h"

static fake_pipe *
kept_join(fake_sock *s, const char *topic)
{
    fake_pipe *p = fake_connect(s);
    CHECK_INT(kept_tell(p, true, topic), MM_OK);
    fake_tick(s);
    return p;
}

static void
kept_send(fake_sock *s, const char *topic, const char *body)
{
    CHECK_INT(fake_send_msg(s, FRAMES(topic, body)), MM_OK);
}

static void
test_who_subscribes_gets_the_last_of_each_topic_and_then_what_comes(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 10);
    kept_send(s, "a1", "old");
    kept_send(s, "a1", "x");
    kept_send(s, "a2", "y");
    kept_send(s, "b", "z");
    fake_pipe *p = kept_join(s, "a");
    kept_send(s, "a1", "new");
    fake_is(fake_take(p), "a1|x");
    fake_is(fake_take(p), "a2|y");
    fake_is(fake_take(p), "a1|new");
    CHECK(fake_take(p) == NULL);
    CHECK_INT(s->stats.retained_sent, 2);
    fake_close(s);
}

static void
test_a_message_at_the_moment_of_the_subscription_comes_once(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 10);
    kept_send(s, "a", "1");
    fake_pipe *p = fake_connect(s);
    CHECK_INT(kept_tell(p, true, "a"), MM_OK);   /* and its turn has not come yet */
    kept_send(s, "a", "2");
    kept_send(s, "a3", "3");
    fake_tick(s);
    fake_is(fake_take(p), "a|1");
    fake_is(fake_take(p), "a|2");
    fake_is(fake_take(p), "a3|3");
    CHECK(fake_take(p) == NULL);
    fake_close(s);
}

static void
test_what_is_deferred_comes_before_a_value(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 100);
    s->framing = &mmi_framing_zmtp;
    s->segments = true;
    s->slack = 50;
    kept_send(s, "b", "value");
    fake_pipe *p = kept_join(s, "a");
    kept_join(s, "a");
    for (int i = 0; i < 4; i++) {
        kept_send(s, "a", "live");
    }
    CHECK_INT(kept_tell(p, true, "b"), MM_OK);
    fake_tick(s);
    fake_materialize(s);
    CHECK_INT(p->pipe.outbox.count, 5);
    fake_close(s);
}

static void
test_overlapping_topics_give_a_value_once(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 20);
    kept_send(s, "ab", "1");
    kept_send(s, "abc", "2");
    kept_send(s, "x", "3");
    fake_pipe *p = fake_connect(s);
    CHECK_INT(kept_tell(p, true, "ab"), MM_OK);
    CHECK_INT(kept_tell(p, true, "a"), MM_OK);
    fake_tick(s);
    CHECK_INT(fake_take_all(p), 2);
    CHECK_INT(kept_tell(p, true, ""), MM_OK);    /* wider: only what is new */
    CHECK_INT(kept_tell(p, true, "abc"), MM_OK); /* narrower: nothing */
    fake_tick(s);
    fake_is(fake_take(p), "x|3");
    CHECK(fake_take(p) == NULL);
    CHECK_INT(kept_tell(p, true, ""), MM_OK);    /* it has that */
    fake_close(s);
}

static void
test_who_cancels_and_subscribes_again_gets_it_again(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 10);
    kept_send(s, "a", "1");
    fake_pipe *p = kept_join(s, "a");
    fake_is(fake_take(p), "a|1");
    for (int i = 0; i < 1000; i++) {             /* looked at once, however often */
        CHECK_INT(kept_tell(p, false, "a"), MM_OK);
        CHECK_INT(kept_tell(p, true, "a"), MM_OK);
    }
    fake_tick(s);
    fake_is(fake_take(p), "a|1");
    CHECK(fake_take(p) == NULL);
    CHECK_INT(kept_tell(p, false, "a"), MM_OK);
    CHECK_INT(kept_tell(p, true, "a"), MM_OK);
    CHECK_INT(kept_tell(p, false, "a"), MM_OK);
    fake_tick(s);
    CHECK(fake_take(p) == NULL);
    fake_close(s);
}

static void
test_who_changes_topics_again_and_again_has_few_values_looked_at(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 10);
    char topic[16];
    for (int i = 0; i < 50; i++) {
        snprintf(topic, sizeof topic, "a%d", i);
        kept_send(s, topic, "v");
    }
    fake_pipe *p = fake_connect(s);
    for (int i = 0; i < 1000; i++) {
        CHECK_INT(kept_tell(p, true, ""), MM_OK);
        CHECK_INT(kept_tell(p, false, ""), MM_OK);
    }
    CHECK_INT(kept_tell(p, true, "a"), MM_OK);
    mmi_retained *r = s->host.retained;
    const mmi_retained_node *node = MMI_CONTAINER_OF(r->fresh.next, mmi_retained_node, fresh);
    CHECK_INT(node->walked, 0);
    fake_tick(s);
    CHECK_INT(node->walked, 50);
    for (int i = 0; i < 1000; i++) { /* each time a wider one comes, and one goes that was known */
        CHECK_INT(kept_tell(p, true, ""), MM_OK);
        CHECK_INT(kept_tell(p, false, "a"), MM_OK);
        CHECK_INT(kept_tell(p, true, "a"), MM_OK);
        CHECK_INT(kept_tell(p, false, ""), MM_OK);
    }
    CHECK(node->walked <= 150);
    CHECK_INT(fake_take_all(p), 50);
    fake_close(s);
}

static void
test_a_closed_socket_gives_out_no_more_values(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 2);
    kept_send(s, "a", "1");
    kept_send(s, "b", "1");
    kept_send(s, "c", "1");
    fake_pipe *p = kept_join(s, "");
    CHECK_INT(mmi_retained_owed(s->host.retained), 1);
    s->host.closing = true;
    CHECK_INT(fake_take_all(p), 2);
    fake_close(s);
}

static void
test_without_memory_a_message_of_a_spool_is_tried_again(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 10);
    mmi_retained *r = s->host.retained;
    r->filling = true;
    fake_pipe *p = fake_connect(s);
    CHECK_INT(kept_tell(p, true, ""), MM_OK);
    mmi_msg *m = FRAMES("a", "1");
    for (int n = 1, rc = MM_ENOMEM; rc == MM_ENOMEM; n++) {
        mm_test_alloc_fail(n);
        rc = mmi_retained_fill(r, m);
        mm_test_alloc_fail(0);
        CHECK_INT(r->count, rc == MM_OK);
    }
    fake_tick(s);
    CHECK(fake_take(p) == NULL);
    mmi_retained_filled(r);
    fake_is(fake_take(p), "a|1");
    fake_close(s);
}

static void
test_many_topics_go_out_as_there_is_room_and_leave_half_of_it(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 4);
    char topic[16];
    for (int i = 0; i < 100; i++) {
        snprintf(topic, sizeof topic, "t%02d", i);
        kept_send(s, topic, "v");
    }
    fake_pipe *p = kept_join(s, "t");
    CHECK_INT(p->pipe.outbox.count, 3);
    kept_send(s, "t", "live");
    CHECK_INT(p->pipe.outbox.count, 4);
    CHECK_INT(s->stats.unwanted_messages, 100);
    for (int i = 0; i < 3; i++) {
        snprintf(topic, sizeof topic, "t%02d|v", i);
        fake_is(fake_take(p), topic);
    }
    fake_is(fake_take(p), "t|live");
    CHECK_INT(fake_take_all(p), 97);
    CHECK_INT(fake_dropped(s), 0);
    CHECK_INT(s->stats.retained_sent, 100);
    fake_close(s);
}

static void
test_a_value_goes_before_what_replaces_it_or_not_at_all(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 4);
    const char *topics[] = { "a", "b", "c", "d", "e", "f" };
    for (int i = 0; i < 6; i++) {
        kept_send(s, topics[i], "0");
    }
    fake_pipe *p = kept_join(s, "");
    CHECK_INT(p->pipe.outbox.count, 3);
    kept_send(s, "f", "1"); /* room for it, but not for both */
    CHECK_INT(p->pipe.outbox.count, 4);
    kept_send(s, "e", "1"); /* for none: it goes out as the value */
    CHECK_INT(s->stats.dropped_overflow, 1);
    CHECK_INT(fake_take_all(p), 6);
    CHECK_INT(s->stats.retained_sent, 5);
    fake_cut(p);
    p = kept_join(s, "e");
    fake_is(fake_take(p), "e|1");
    fake_close(s);

    s = kept_open(MM_OVERFLOW_DROP_NEWEST, 10);
    for (int i = 0; i < 6; i++) {
        kept_send(s, topics[i], "0");
    }
    s->opts.send_queue_messages = 10;
    p = fake_connect(s);
    p->pipe.outbox.count_max = 5;
    CHECK_INT(kept_tell(p, true, ""), MM_OK);
    fake_tick(s);
    CHECK_INT(p->pipe.outbox.count, 3);
    kept_send(s, "f", "1"); /* both */
    CHECK_INT(p->pipe.outbox.count, 5);
    for (int i = 0; i < 3; i++) {
        mmi_msg_unref(fake_take(p));
    }
    fake_is(fake_take(p), "f|0");
    fake_is(fake_take(p), "f|1");
    CHECK_INT(fake_take_all(p), 2);
    fake_close(s);
}

static void
test_an_empty_body_goes_out_and_nothing_is_retained(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 10);
    kept_send(s, "a", "1");
    kept_send(s, "b", "2");
    fake_pipe *live = kept_join(s, "");
    CHECK_INT(fake_take_all(live), 2);
    kept_send(s, "a", "");
    kept_send(s, "never", "");
    CHECK_INT(fake_send_msg(s, FRAMES("b", "", "")), MM_OK);
    fake_is(fake_take(live), "a|");
    fake_is(fake_take(live), "never|");
    fake_is(fake_take(live), "b||");
    CHECK_INT(s->host.retained->count, 0);
    CHECK_INT(s->host.retained->bytes, 0);
    fake_pipe *late = kept_join(s, "");
    CHECK(fake_take(late) == NULL);
    kept_send(s, "a", "again");
    fake_is(fake_take(late), "a|again");
    CHECK_INT(s->host.retained->count, 1);
    fake_close(s);
}

static void
test_what_was_cleared_is_owed_to_nobody(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 2);
    kept_send(s, "a", "1");
    kept_send(s, "b", "1");
    kept_send(s, "c", "1");
    fake_pipe *p = kept_join(s, "");
    CHECK_INT(p->pipe.outbox.count, 2);
    kept_send(s, "c", ""); /* no room: it is lost to p */
    kept_send(s, "d", "");
    kept_send(s, "e", "1"); /* in the place of c, and p has no room */
    CHECK_INT(s->stats.dropped_overflow, 3);
    CHECK_INT(fake_take_all(p), 2);
    fake_close(s);
}

static void
test_one_frame_has_no_topic(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 10);
    CHECK_INT(fake_send(s, "apple"), MM_OK);
    CHECK_INT(fake_send(s, "berry"), MM_OK);
    CHECK_INT(s->host.retained->count, 1);
    fake_pipe *a = kept_join(s, "app"), *b = kept_join(s, "ber"), *all = kept_join(s, "");
    CHECK(fake_take(a) == NULL);
    fake_is(fake_take(b), "berry");
    fake_is(fake_take(all), "berry");
    CHECK_INT(kept_tell(b, true, "be"), MM_OK);
    fake_tick(s);
    CHECK(fake_take(b) == NULL);
    CHECK_INT(fake_send(s, ""), MM_OK);
    CHECK_INT(s->host.retained->count, 0);
    fake_close(s);
}

static void
test_what_finds_no_room_is_sent_counted_and_told(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 10);
    s->opts.retain_topics_max = 2;
    kept_send(s, "a", "1");
    kept_send(s, "b", "1");
    kept_send(s, "c", "1"); /* those that are there stay */
    kept_send(s, "b", "2");
    CHECK_INT(s->stats.unretained_messages, 1);
    CHECK_INT(s->event_counts[MM_EVENT_NOT_RETAINED], 1);
    fake_pipe *p = kept_join(s, "");
    fake_is(fake_take(p), "a|1");
    fake_is(fake_take(p), "b|2");
    CHECK(fake_take(p) == NULL);
    s->opts.retain_bytes_max = s->host.retained->bytes;
    kept_send(s, "b", "3"); /* of that size still */
    fake_is(fake_take(p), "b|3");
    kept_send(s, "b", "too long"); /* and no old value stays in its place */
    fake_is(fake_take(p), "b|too long");
    CHECK_INT(s->stats.unretained_messages, 2);
    CHECK_INT(s->host.retained->count, 1);
    fake_pipe *late = kept_join(s, "");
    fake_is(fake_take(late), "a|1");
    CHECK(fake_take(late) == NULL);
    CHECK_INT(fake_dropped(s), 0);
    fake_close(s);
}

static void
test_a_refused_message_is_not_retained(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_ERROR, 1);
    fake_pipe *p = kept_join(s, "");
    kept_send(s, "a", "1");
    CHECK_INT(fake_send_msg(s, FRAMES("a", "2")), MM_EAGAIN);
    CHECK_INT(fake_send_msg(s, FRAMES("b", "2")), MM_EAGAIN);
    CHECK_INT(s->host.retained->count, 1);
    fake_is(fake_take(p), "a|1");
    fake_pipe *late = kept_join(s, "");
    fake_is(fake_take(late), "a|1");
    CHECK_INT(fake_send_msg(s, fake_frames(0, NULL)), MM_EINVAL);
    fake_close(s);
}

static mmi_msg *
kept_expiring(const char *topic, const char *body, uint64_t expires_ns)
{
    mmi_msg *m = FRAMES(topic, body);
    m->meta = mmi_alloc(sizeof *m->meta);
    CHECK(m->meta != NULL);
    atomic_init(&m->meta->refs, 1);
    m->meta->expires_ns = expires_ns;
    m->alone = true;
    return m;
}

static void
test_what_has_an_end_is_retained_until_then(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 10);
    mmi_retained *r = s->host.retained;
    CHECK_INT(fake_send_msg(s, kept_expiring("a", "1", 100)), MM_OK);
    CHECK_INT(fake_send_msg(s, kept_expiring("b", "1", 200)), MM_OK);
    kept_send(s, "c", "1");
    fake_pipe *p = kept_join(s, "");
    CHECK_INT(fake_take_all(p), 3);
    s->now_ns = 100;
    p = kept_join(s, "");
    fake_is(fake_take(p), "b|1");
    fake_is(fake_take(p), "c|1");
    CHECK(mmi_retained_find(r, (const uint8_t *)"a", 1) == NULL);
    CHECK_INT(r->count, 2);
    mmi_expiry x = { .host = &s->host, .wall_ns = s->now_ns, .budget = 1 };
    mmi_retained_sweep(r, &x);
    CHECK(x.more && x.budget == 0 && x.expired == 0);
    s->now_ns = 200;
    x = (mmi_expiry){ .host = &s->host, .wall_ns = s->now_ns, .budget = 10 };
    mmi_retained_sweep(r, &x);
    CHECK(!x.more && x.expired == 1);
    CHECK(r->count == 1 && r->expiring == 0);
    fake_close(s);
}

static void
test_one_that_asked_for_a_replay_gets_no_value(void)
{
    fake_sock *s = kept_open(MM_OVERFLOW_DROP_NEWEST, 10);
    kept_send(s, "a", "1");
    fake_pipe *p = fake_connect(s);
    mmi_replay_node replay;
    MMI_CONTAINER_OF(s->host.retained->dist->nodes.prev, mmi_dist_node, node)->replay = &replay;
    CHECK_INT(kept_tell(p, true, ""), MM_OK);
    CHECK_INT(s->due_ns, 0);
    CHECK(fake_take(p) == NULL);
    fake_close(s);
}

static void
test_without_memory_a_send_fails_whole_or_a_peer_is_to_come_again(void)
{
    for (int n = 1; n < 12; n++) {
        fake_sock *s = kept_open(MM_OVERFLOW_BLOCK, 10);
        kept_send(s, "a", "1");
        fake_pipe *p = fake_connect(s);
        CHECK_INT(kept_tell(p, true, ""), MM_OK);
        mmi_msg *m = FRAMES("b", "2");
        mm_test_alloc_fail(n);
        int rc = fake_send_msg(s, m);
        mm_test_alloc_fail(0);
        CHECK(rc == MM_OK || rc == MM_ENOMEM);
        CHECK_INT(s->host.retained->count, rc == MM_OK ? 2 : 1);
        if (p->closed_reason == 0) {
            fake_is(fake_take(p), "a|1");
            mmi_msg *next = fake_take(p);
            CHECK((next != NULL) == (rc == MM_OK));
            mmi_msg_unref(next);
        }
        CHECK(p->closed_reason == 0 || p->closed_reason == MM_REASON_MEMORY);
        fake_close(s);
    }
}

int
main(void)
{
    RUN(test_who_subscribes_gets_the_last_of_each_topic_and_then_what_comes);
    RUN(test_a_message_at_the_moment_of_the_subscription_comes_once);
    RUN(test_what_is_deferred_comes_before_a_value);
    RUN(test_overlapping_topics_give_a_value_once);
    RUN(test_who_cancels_and_subscribes_again_gets_it_again);
    RUN(test_who_changes_topics_again_and_again_has_few_values_looked_at);
    RUN(test_a_closed_socket_gives_out_no_more_values);
    RUN(test_without_memory_a_message_of_a_spool_is_tried_again);
    RUN(test_many_topics_go_out_as_there_is_room_and_leave_half_of_it);
    RUN(test_a_value_goes_before_what_replaces_it_or_not_at_all);
    RUN(test_an_empty_body_goes_out_and_nothing_is_retained);
    RUN(test_what_was_cleared_is_owed_to_nobody);
    RUN(test_one_frame_has_no_topic);
    RUN(test_what_finds_no_room_is_sent_counted_and_told);
    RUN(test_a_refused_message_is_not_retained);
    RUN(test_what_has_an_end_is_retained_until_then);
    RUN(test_one_that_asked_for_a_replay_gets_no_value);
    RUN(test_without_memory_a_send_fails_whole_or_a_peer_is_to_come_again);
    return 0;
}
