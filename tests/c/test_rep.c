/*
 * test_rep.c: REP: envelopes, replies to the right peer, and what happens when it is gone or full.
 * Not here: REQ's side (test_req.c).
 * Law: a reply is queued on the asker's pipe or counted as lost; REP never waits.
 */
#include "fake.h"

static void
test_the_envelope_is_everything_up_to_the_first_empty_frame(void)
{
    fake_sock *s = fake_open(MM_REP, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    mmi_msg *m = NULL;
    CHECK_INT(fake_deliver(a, FRAMES("hop", "id", "", "body", "", "more")), MM_OK);
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    CHECK(m->envelope_count == 3 && m->pipe_id == a->pipe.id);
    fake_is(m, "hop|id||body||more");
    CHECK_INT(fake_deliver(a, FRAMES("", "")), MM_OK);
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    CHECK_INT(m->envelope_count, 1);
    fake_is(m, "|");
    fake_close(s);
}

static void
test_a_request_without_a_delimiter_or_a_body_is_malformed(void)
{
    fake_sock *s = fake_open(MM_REP, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_deliver(a, fake_text("body")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("a", "b")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("id", "")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("", "good")), MM_OK);
    fake_recv_is(s, "|good");
    CHECK_INT(s->stats.dropped_malformed, 4);
    CHECK_INT(fake_deliver(a, fake_text("bad")), MM_OK);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    CHECK_INT(s->stats.dropped_malformed, 5);
    fake_close(s);
}

static mmi_msg *
rep_reply(uint64_t to)
{
    mmi_msg *m = FRAMES("id", "", "answer");
    m->pipe_id = to;
    m->envelope_count = 2;
    return m;
}

static void
test_a_reply_goes_to_the_peer_it_names(void)
{
    fake_sock *s = fake_open(MM_REP, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(fake_send_msg(s, rep_reply(b->pipe.id)), MM_OK);
    CHECK_INT(a->pipe.outbox.count, 0);
    fake_is(fake_take(b), "id||answer");
    CHECK_INT(fake_send_msg(s, rep_reply(0)), MM_EINVAL);
    CHECK_INT(fake_dropped(s), 0);
    fake_close(s);
}

static void
test_a_reply_to_a_peer_that_is_gone_is_counted(void)
{
    fake_sock *s = fake_open(MM_REP, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    uint64_t id = a->pipe.id;
    fake_cut(a);
    CHECK_INT(fake_send_msg(s, rep_reply(id)), MM_EHOSTUNREACH);
    CHECK_INT(s->stats.dropped_peer_gone, 1);
    CHECK_INT(s->event_counts[MM_EVENT_DROPPED], 1);
    fake_close(s);
}

static void
test_a_reply_that_finds_a_full_queue_is_lost_and_reported(void)
{
    fake_sock *s = fake_open(MM_REP, MM_OVERFLOW_BLOCK, 1);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_send_msg(s, rep_reply(a->pipe.id)), MM_OK);
    CHECK_INT(fake_send_msg(s, rep_reply(a->pipe.id)), MM_EHOSTUNREACH);
    CHECK_INT(s->stats.dropped_overflow, 1);
    CHECK_INT(a->pipe.dropped, 1);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    fake_close(s);
}

static void
test_no_memory_for_a_reply_leaves_it_with_the_caller(void)
{
    fake_sock *s = fake_open(MM_REP, MM_OVERFLOW_BLOCK, 1);
    mm_test_alloc_fail(1);
    fake_pipe *a = fake_connect(s);
    mm_test_alloc_fail(0);
    CHECK(a == NULL);
    CHECK_INT(s->add_rc, MM_ENOMEM);
    a = fake_connect(s);
    mmi_msg *m = rep_reply(a->pipe.id);
    mm_test_alloc_fail(1);
    CHECK_INT(fake_send_msg(s, m), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK_INT(fake_dropped(s), 0);
    fake_close(s);
}

static void
test_requests_of_a_peer_that_is_gone_are_not_received(void)
{
    fake_sock *s = fake_open(MM_REP, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_deliver(a, FRAMES("", "x")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("", "y")), MM_OK);
    CHECK_INT(fake_send_msg(s, rep_reply(a->pipe.id)), MM_OK);
    fake_cut(a);
    CHECK_INT(s->stats.dropped_peer_gone, 3);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

int
main(void)
{
    RUN(test_the_envelope_is_everything_up_to_the_first_empty_frame);
    RUN(test_a_request_without_a_delimiter_or_a_body_is_malformed);
    RUN(test_a_reply_goes_to_the_peer_it_names);
    RUN(test_a_reply_to_a_peer_that_is_gone_is_counted);
    RUN(test_a_reply_that_finds_a_full_queue_is_lost_and_reported);
    RUN(test_no_memory_for_a_reply_leaves_it_with_the_caller);
    RUN(test_requests_of_a_peer_that_is_gone_are_not_received);
    return 0;
}
