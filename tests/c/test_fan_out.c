/*
 * test_fan_out.c: what goes to many peers is encoded once, in a segment that all their queues refer
 * to: who shares what, who gets copies, and that nobody sees what was for others.
 * Not here: who gets what (test_pub.c), deferred fan-out (test_fan_out_deferred.c), connections
 * (tests/unit).
 * Law: however the octets are shared, each queue holds its own messages, whole and in order;
 * whether the fan-out may be deferred or not.
 */
#include "base/limits.h"
#include "wire/sp/reader.h"
#include "fake.h"

enum { TEXT_MAX = 4096, PEERS = 3, LARGE = 10000 };

static uint32_t fan_slack;

static fake_sock *
fan_open(uint32_t overflow, uint32_t queue_messages)
{
    fake_sock *s = fake_open(MM_PUB, overflow, queue_messages);
    s->framing = &mmi_framing_zmtp;
    s->segments = true;
    s->slack = fan_slack;
    return s;
}

static fake_pipe *
fan_connect(fake_sock *s, const char *topic)
{
    fake_pipe *p = fake_connect(s);
    CHECK_INT(s->ops->subscription(s->state, &p->pipe, true, (const uint8_t *)topic, strlen(topic)),
              MM_OK);
    return p;
}

static mmi_segment_out *
fan_segment(const fake_pipe *p, uint32_t i)
{
    fake_materialize(p->sock);
    mmi_segment_out *segment = mmi_segment_out_of(mmi_ring_at(&p->pipe.outbox, i));
    CHECK(segment != NULL);
    return segment;
}

/* The beginnings (one octet) of the messages queued, in order. */
static void
fan_is(const fake_pipe *p, const char *wanted)
{
    char text[TEXT_MAX] = "";
    size_t used = 0, cost;
    const mmi_framing *f = p->pipe.framing;
    fake_materialize(p->sock);
    mmi_pipe_invariants(&p->pipe);
    for (uint32_t i = 0; i < p->pipe.outbox.slot_count; i++) {
        const mmi_segment_out *segment = fan_segment(p, i);
        for (size_t at = segment->first; at < segment->used;
             at += f->next(f, segment->data + at, &cost)) {
            mmi_msg *m = f->open(f, segment->data + at);
            CHECK(m != NULL && m->frame_count == 1 && m->size > 0 && used + 1 < sizeof text);
            text[used++] = (char)m->frames[0].data[0];
            CHECK(m->frames[0].data[m->size - 1] == m->frames[0].data[0] || m->size == 2);
            mmi_msg_unref(m);
        }
    }
    CHECK_INT(strlen(text), p->pipe.outbox.count);
    if (strcmp(text, wanted) != 0) {
        fprintf(stderr, "the queue has \"%s\", wanted \"%s\"\n", text, wanted);
        exit(1);
    }
}

static int
fan_send_large(fake_sock *s, char letter)
{
    static char body[LARGE + 1];
    memset(body, letter, LARGE);
    return fake_send(s, body);
}

static void
test_what_goes_to_all_stands_in_memory_once(void)
{
    fake_sock *s = fan_open(MM_OVERFLOW_BLOCK, 100);
    fake_pipe *peers[PEERS];
    for (int i = 0; i < PEERS; i++) {
        peers[i] = fan_connect(s, "");
    }
    CHECK(fake_send(s, "a1") == MM_OK && fake_send(s, "b2") == MM_OK);
    fake_materialize(s);
    for (int i = 0; i < PEERS; i++) {
        CHECK_INT(peers[i]->pipe.outbox.slot_count, 1);
        CHECK(fan_segment(peers[i], 0)->data == fan_segment(peers[0], 0)->data);
        CHECK(fan_segment(peers[i], 0)->owner != NULL);
        fan_is(peers[i], "ab");
    }
    CHECK(fan_segment(peers[0], 0) != fan_segment(peers[1], 0)); /* each with a place of its own */
    fake_close(s);
}

static void
test_a_lone_subscriber_has_segments_of_its_own_unless_it_may_be_deferred(void)
{
    fake_sock *s = fan_open(MM_OVERFLOW_BLOCK, 100);
    fake_pipe *a = fan_connect(s, "");
    CHECK(fake_send(s, "a1") == MM_OK && fake_send(s, "b2") == MM_OK);
    CHECK_INT(fan_segment(a, 0)->owner != NULL, fan_slack > 0);
    fan_is(a, "ab");
    fake_close(s);
}

static void
test_nobody_sees_what_was_for_others(void)
{
    fake_sock *s = fan_open(MM_OVERFLOW_BLOCK, 1000);
    fake_pipe *all = fan_connect(s, ""), *a = fan_connect(s, "a"), *b = fan_connect(s, "b");
    const char *sent = "abababaabbbab";
    for (const char *at = sent; *at != '\0'; at++) {
        const char text[] = { *at, '.', '\0' };
        CHECK_INT(fake_send(s, text), MM_OK);
    }
    fan_is(all, sent);
    fan_is(a, "aaaaaa");
    fan_is(b, "bbbbbbb");
    fake_close(s);
}

/* A view keeps a whole segment in memory, so there are few that hold little. */
static void
test_one_that_gets_little_of_it_keeps_copies(void)
{
    fake_sock *s = fan_open(MM_OVERFLOW_DROP_NEWEST, 2000);
    fake_pipe *all = fan_connect(s, "y"), *few = fan_connect(s, "x");
    (void)fan_connect(s, "z");
    uint32_t views = 0;
    for (int i = 0; i < 400; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
        for (int k = 0; k < 4; k++) {
            CHECK_INT(fan_send_large(s, 'y'), MM_OK);
        }
        (void)fake_take_all(all);
    }
    fake_materialize(s);
    for (uint32_t i = 0; i < few->pipe.outbox.slot_count; i++) {
        views += fan_segment(few, i)->owner != NULL;
    }
    CHECK_INT(few->pipe.outbox.count, 400);
    CHECK(views >= 1 && views <= 2);
    CHECK_INT(fake_dropped(s), 0);
    fake_close(s);
}

static void
test_a_refused_message_leaves_no_trace(void)
{
    fake_sock *s = fan_open(MM_OVERFLOW_BLOCK, 2);
    fake_pipe *a = fan_connect(s, ""), *b = fan_connect(s, "");
    CHECK(fake_send(s, "a1") == MM_OK && fake_send(s, "b2") == MM_OK);
    CHECK_INT(fake_send(s, "c3"), MM_EAGAIN);
    CHECK_INT(fake_take_all(a), 1);
    CHECK_INT(fake_send(s, "d4"), MM_EAGAIN);
    fan_is(b, "ab");
    CHECK_INT(fake_take_all(b), 1);
    CHECK_INT(fake_send(s, "e5"), MM_OK);
    fan_is(a, "e");
    fan_is(b, "e");
    fake_close(s);
}

static void
test_one_that_lost_some_goes_on_with_what_it_has_room_for(void)
{
    fake_sock *s = fan_open(MM_OVERFLOW_DROP_NEWEST, 3);
    fake_pipe *slow = fan_connect(s, ""), *fast = fan_connect(s, "");
    for (const char *at = "abcde"; *at != '\0'; at++) {
        const char text[] = { *at, '.', '\0' };
        CHECK_INT(fake_send(s, text), MM_OK);
        (void)(*at == 'b' ? fake_take_all(fast) : 0);
    }
    fan_is(slow, "abc");
    fan_is(fast, "cde");
    CHECK_INT(slow->pipe.dropped, 2);
    CHECK_INT(fake_take_all(slow), 1);
    CHECK_INT(fake_send(s, "f."), MM_OK);
    fan_is(slow, "f");
    CHECK_INT(fake_dropped(s), 3); /* and one more of the fast one, which was full */
    fake_close(s);
}

static void
test_more_than_a_segment_is_several_and_each_is_shared(void)
{
    fake_sock *s = fan_open(MM_OVERFLOW_BLOCK, 100);
    fake_pipe *a = fan_connect(s, ""), *b = fan_connect(s, "");
    for (char letter = 'a'; letter < 'u'; letter++) {
        CHECK_INT(fan_send_large(s, letter), MM_OK);
    }
    fan_is(a, "abcdefghijklmnopqrst");
    fan_is(b, "abcdefghijklmnopqrst");
    CHECK_INT(a->pipe.outbox.slot_count, 2); /* twelve of them fit into MMI_SEGMENT_CAP */
    for (uint32_t i = 0; i < a->pipe.outbox.slot_count; i++) {
        CHECK(fan_segment(a, i)->owner != NULL &&
              fan_segment(a, i)->data == fan_segment(b, i)->data);
    }
    fake_close(s);
}

/* As when a link ends: what was not begun is divided from what was. */
static void
test_a_view_is_divided_without_touching_the_others(void)
{
    fake_sock *s = fan_open(MM_OVERFLOW_BLOCK, 100);
    fake_pipe *a = fan_connect(s, ""), *b = fan_connect(s, "");
    CHECK(fake_send(s, "a1") == MM_OK && fake_send(s, "b2") == MM_OK);
    size_t cost, one = a->pipe.framing->next(a->pipe.framing, fan_segment(a, 0)->data, &cost);
    CHECK_INT(mmi_pipe_split_out(&a->pipe, 0, one), MM_OK);
    CHECK_INT(a->pipe.outbox.slot_count, 2);
    CHECK_INT(fake_send(s, "c3"), MM_OK);
    fan_is(a, "abc");
    fan_is(b, "abc");
    fake_close(s);
}

static void
test_what_is_being_written_outlives_socket_and_peers(void)
{
    fake_sock *s = fan_open(MM_OVERFLOW_BLOCK, 100);
    fake_pipe *a = fan_connect(s, "");
    (void)fan_connect(s, "");
    CHECK_INT(fake_send(s, "a1"), MM_OK);
    mmi_msg *held = mmi_msg_ref(mmi_ring_at(&a->pipe.outbox, 0));
    fake_close(s);
    mmi_segment_out *segment = mmi_segment_out_of(held);
    mmi_msg *m = mmi_framing_zmtp.open(&mmi_framing_zmtp, segment->data + segment->first);
    fake_is(m, "a1");
    mmi_msg_unref(held);
}

static void
test_peers_of_two_wires_get_it_in_their_own_words(void)
{
    fake_sock *s = fan_open(MM_OVERFLOW_BLOCK, 100);
    fake_pipe *a = fan_connect(s, ""), *b = fan_connect(s, "");
    s->framing = mmi_framing_sp(MMI_SP_PLAIN, mmi_sp_of_role(MM_PUB));
    fake_pipe *c = fan_connect(s, "");
    CHECK(fake_send(s, "a1") == MM_OK && fake_send(s, "b2") == MM_OK);
    fan_is(a, "ab");
    fan_is(b, "ab");
    fan_is(c, "ab");
    CHECK(fan_segment(a, 0)->framing != fan_segment(c, 0)->framing);
    CHECK(fan_segment(a, 0)->data == fan_segment(b, 0)->data);
    fake_close(s);
}

int
main(void)
{
    const uint32_t slacks[] = { 0, 1, UINT32_MAX };
    for (size_t i = 0; i < MMI_COUNT_OF(slacks); i++) {
        fan_slack = slacks[i];
        RUN(test_what_goes_to_all_stands_in_memory_once);
        RUN(test_a_lone_subscriber_has_segments_of_its_own_unless_it_may_be_deferred);
        RUN(test_nobody_sees_what_was_for_others);
        RUN(test_one_that_gets_little_of_it_keeps_copies);
        RUN(test_a_refused_message_leaves_no_trace);
        RUN(test_one_that_lost_some_goes_on_with_what_it_has_room_for);
        RUN(test_more_than_a_segment_is_several_and_each_is_shared);
        RUN(test_a_view_is_divided_without_touching_the_others);
        RUN(test_what_is_being_written_outlives_socket_and_peers);
        RUN(test_peers_of_two_wires_get_it_in_their_own_words);
    }
    return 0;
}
