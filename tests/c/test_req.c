/*
 * test_req.c: REQ: ids, replies of every wrong kind, lost peers, the backlog, forgetting.
 * Not here: waiting for a reply, retries.
 * Law: every request ends in one reply, one "peer gone", or is forgotten.
 */
#include "base/limits.h"
#include "fake.h"

enum { ID_SIZE = 4 };

/* Sends body and returns its id; 0: refused, as *rc says. */
static uint64_t
req_ask(fake_sock *s, const char *body, int *rc)
{
    mmi_msg *m = fake_text(body);
    mmi_msg_ref(m);
    *rc = s->ops->send(s->state, m);
    uint64_t key = m->key;
    mmi_msg_unref(m);
    if (*rc != MM_OK) {
        CHECK_INT(m->refs, 1);
        mmi_msg_unref(m);
    }
    return key;
}

static uint64_t
req_ask_ok(fake_sock *s, const char *body)
{
    int rc;
    uint64_t key = req_ask(s, body, &rc);
    CHECK_INT(rc, MM_OK);
    CHECK(key > 0 && key <= UINT32_MAX);
    return key;
}

/* A reply with that id, that delimiter ("" is right) and that body (NULL: no such frame). */
static mmi_msg *
req_answer(uint64_t id, const char *delimiter, const char *body)
{
    const uint64_t sizes[] = { ID_SIZE, strlen(delimiter), body == NULL ? 0 : strlen(body) };
    mmi_msg *m = mmi_msg_new(sizes, body == NULL ? 2 : 3);
    for (int i = 0; i < ID_SIZE; i++) {
        mmi_msg_data(m, 0)[i] = (uint8_t)(id >> (8 * (3 - i)));
    }
    memcpy(mmi_msg_data(m, 1), delimiter, sizes[1]);
    if (body != NULL) {
        memcpy(mmi_msg_data(m, 2), body, sizes[2]);
    }
    return m;
}

static int
req_reply_rc(fake_sock *s, uint64_t id)
{
    mmi_msg *m = NULL;
    int rc = s->ops->reply(s->state, id, &m);
    CHECK((rc == MM_OK) == (m != NULL));
    mmi_msg_unref(m);
    return rc;
}

/* The size of the reason. */
static size_t
req_reply_rc_refused(fake_sock *s, uint64_t id)
{
    mmi_msg *m = NULL;
    CHECK_INT(s->ops->reply(s->state, id, &m), MM_EREFUSED);
    size_t size = m->size;
    mmi_msg_unref(m);
    return size;
}

static void
req_reply_is(fake_sock *s, uint64_t id, const char *joined)
{
    mmi_msg *m = NULL;
    CHECK_INT(s->ops->reply(s->state, id, &m), MM_OK);
    CHECK_INT(m->key, id);
    fake_is(m, joined);
    CHECK_INT(req_reply_rc(s, id), MM_EINVAL);
}

static void
test_a_request_has_its_id_and_an_empty_frame_in_front(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    uint64_t id = req_ask_ok(s, "question");
    mmi_msg *m = fake_take(a);
    CHECK_INT(m->frame_count, 3);
    CHECK(m->frames[0].size == ID_SIZE && m->frames[1].size == 0);
    const uint8_t *at = m->frames[0].data;
    CHECK(((uint64_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3]) == id);
    CHECK(m->frames[2].size == 8 && memcmp(m->frames[2].data, "question", 8) == 0);
    mmi_msg_unref(m);
    CHECK_INT(req_ask_ok(s, "next"), id + 1);
    CHECK(s->ops->recv == NULL);
    fake_close(s);
}

static void
test_ids_start_anywhere_with_their_top_bit_and_count_on(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 100);
    s->ops->fini(s->state);
    memset(s->state, 0, s->ops->sock_size);
    s->random_seed = 1;
    CHECK_INT(s->ops->init(s->state, &s->host), MM_OK);
    fake_connect(s);
    uint64_t first = req_ask_ok(s, "x");
    CHECK((first & 0x7fffffff) > 1 && first >> 31 == 1);
    CHECK_INT(req_ask_ok(s, "x"), first + 1);
    fake_close(s);
}

static void
test_replies_come_back_by_id_in_any_order_stripped(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    uint64_t keys[4], bytes;
    uint64_t first = req_ask_ok(s, "1"), second = req_ask_ok(s, "2"), third = req_ask_ok(s, "3");
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(req_reply_rc(s, first), MM_EAGAIN);
    CHECK(!s->ops->replied(s->state, third) && s->ops->replied(s->state, third + 1));
    CHECK_INT(fake_deliver(a, req_answer(third, "", "three")), MM_OK);
    CHECK_INT(fake_deliver(b, req_answer(second, "", "two")), MM_OK);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE | MM_READABLE);
    CHECK_INT(s->ops->replies(s->state, keys, 4), 2);
    CHECK(keys[0] == third && keys[1] == second);
    CHECK_INT(s->ops->replies(s->state, keys, 1), 1);
    CHECK(s->ops->replied(s->state, third) && !s->ops->replied(s->state, first));
    CHECK_INT(s->ops->unclaimed(s->state, &bytes), 2);
    CHECK_INT(bytes, 2 * ID_SIZE + 8 + 6 * MMI_FRAME_OVERHEAD);
    req_reply_is(s, second, "two");
    req_reply_is(s, third, "three");
    CHECK_INT(s->ops->unclaimed(s->state, &bytes), 0);
    CHECK_INT(bytes, 0);
    CHECK_INT(req_reply_rc(s, first), MM_EAGAIN);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    fake_close(s);
}

/* Nobody shares a received message; should that ever change, the reply must not get lost. */
static void
test_a_shared_reply_that_cannot_be_stripped_can_be_asked_for_again(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    uint64_t id = req_ask_ok(s, "1");
    mmi_msg *m = req_answer(id, "", "x");
    CHECK_INT(fake_deliver(a, mmi_msg_ref(m)), MM_OK);
    mm_test_alloc_fail(1);
    CHECK_INT(req_reply_rc(s, id), MM_ENOMEM);
    mm_test_alloc_fail(0);
    req_reply_is(s, id, "x");
    CHECK_INT(m->refs, 1);
    mmi_msg_unref(m);
    fake_close(s);
}

static void
test_malformed_replies_are_counted_and_change_nothing(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    uint64_t id = req_ask_ok(s, "x");
    CHECK_INT(fake_deliver(a, fake_text("x")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("", "body")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("12345", "", "body")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("123", "", "body")), MM_OK);
    CHECK_INT(fake_deliver(a, req_answer(id, "not empty", "body")), MM_OK);
    CHECK_INT(fake_deliver(a, req_answer(id, "", NULL)), MM_OK);
    CHECK_INT(s->stats.dropped_malformed, 6);
    CHECK_INT(fake_deliver(b, req_answer(id, "", "from another peer")), MM_OK);
    CHECK_INT(s->stats.dropped_malformed, 7);
    CHECK(a->pipe.dropped == 6 && b->pipe.dropped == 1);
    CHECK_INT(fake_deliver(a, req_answer(id, "", "right")), MM_OK);
    req_reply_is(s, id, "right");
    CHECK_INT(s->stats.dropped_late, 0);
    fake_close(s);
}

/* Whoever asked gets the reason, once; the books say received by then. */
static void
test_a_refusal_ends_its_request_and_brings_the_reason(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    uint64_t id = req_ask_ok(s, "x"), other = req_ask_ok(s, "y");
    fake_take_all(a);
    fake_take_all(b);
    CHECK_INT(fake_deliver(b, req_answer(id, "REFUSED", "not my request")), MM_OK);
    CHECK_INT(s->stats.dropped_malformed, 1);
    CHECK_INT(fake_deliver(a, req_answer(id, "REFUSED", "busy")), MM_OK);
    CHECK(s->ops->replied(s->state, id));
    mmi_msg *m = NULL;
    CHECK_INT(s->ops->reply(s->state, id, &m), MM_EREFUSED);
    fake_is(m, "busy");
    CHECK_INT(req_reply_rc(s, id), MM_EINVAL);
    CHECK_INT(fake_deliver(a, req_answer(id, "REFUSED", "again")), MM_OK);
    CHECK_INT(s->stats.dropped_late, 1);
    CHECK_INT(fake_deliver(b, req_answer(other, "REFUSED", "")), MM_OK);
    s->ops->forget(s->state, other);
    CHECK_INT(s->stats.dropped_late, 2);
    CHECK_INT(fake_queued(s), 0);
    fake_close(s);
}

static void
test_what_is_no_refusal_is_malformed(void)
{
    static const char *const words[] = { "REFUSE", "REFUSEDX", "refused", "\1" };
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    uint64_t id = req_ask_ok(s, "x");
    fake_take_all(a);
    for (size_t i = 0; i < MMI_COUNT_OF(words); i++) {
        CHECK_INT(fake_deliver(a, req_answer(id, words[i], "why")), MM_OK);
    }
    CHECK_INT(fake_deliver(a, req_answer(id, "REFUSED", NULL)), MM_OK);
    char reason[MMI_REFUSAL_REASON_MAX + 2];
    memset(reason, 'r', sizeof reason);
    reason[MMI_REFUSAL_REASON_MAX + 1] = '\0';
    CHECK_INT(fake_deliver(a, req_answer(id, "REFUSED", reason)), MM_OK);
    CHECK_INT(s->stats.dropped_malformed, MMI_COUNT_OF(words) + 2);
    CHECK(!s->ops->replied(s->state, id));
    reason[MMI_REFUSAL_REASON_MAX] = '\0';
    CHECK_INT(fake_deliver(a, req_answer(id, "REFUSED", reason)), MM_OK);
    CHECK_INT(req_reply_rc_refused(s, id), MMI_REFUSAL_REASON_MAX);
    fake_close(s);
}

static void
test_unknown_duplicate_and_forgotten_replies_are_late(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    uint64_t first = req_ask_ok(s, "1"), second = req_ask_ok(s, "2");
    CHECK_INT(fake_deliver(a, req_answer(first + 1000, "", "x")), MM_OK);
    CHECK_INT(s->stats.dropped_late, 1);
    CHECK_INT(fake_deliver(a, req_answer(first, "", "x")), MM_OK);
    CHECK_INT(fake_deliver(a, req_answer(first, "", "again")), MM_OK);
    CHECK_INT(s->stats.dropped_late, 2);
    req_reply_is(s, first, "x");
    CHECK_INT(fake_deliver(a, req_answer(first, "", "again")), MM_OK);
    CHECK_INT(s->stats.dropped_late, 3);
    s->ops->forget(s->state, second);
    s->ops->forget(s->state, second);
    CHECK_INT(req_reply_rc(s, second), MM_EINVAL);
    CHECK_INT(fake_deliver(a, req_answer(second, "", "x")), MM_OK);
    CHECK_INT(s->stats.dropped_late, 4);
    CHECK_INT(s->event_counts[MM_EVENT_LATE_REPLY], 4);
    CHECK_INT(s->last_event_peer, a->pipe.id);
    fake_close(s);
}

static void
test_forgetting_a_request_drops_the_reply_that_is_there(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    uint64_t id = req_ask_ok(s, "1");
    CHECK_INT(fake_deliver(a, req_answer(id, "", "x")), MM_OK);
    s->ops->forget(s->state, id);
    CHECK_INT(s->stats.dropped_late, 1);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(fake_queued(s), 1);                  /* the request itself */
    fake_close(s);
}

static void
test_a_lost_peer_ends_what_was_sent_and_hands_on_what_was_not(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    uint64_t sent = req_ask_ok(s, "sent"), begun = req_ask_ok(s, "begun");
    uint64_t waiting = req_ask_ok(s, "waiting"), keys[4];
    mmi_msg_unref(fake_take(a));
    a->pipe.pinned = true;
    fake_cut(a);
    CHECK_INT(s->stats.dropped_peer_gone, 1);
    CHECK_INT(s->ops->replies(s->state, keys, 4), 2);
    CHECK(keys[0] == sent && keys[1] == begun);
    CHECK_INT(req_reply_rc(s, sent), MM_ECONNRESET);
    CHECK_INT(req_reply_rc(s, sent), MM_EINVAL);
    CHECK_INT(req_reply_rc(s, begun), MM_ECONNRESET);
    CHECK_INT(req_reply_rc(s, waiting), MM_EAGAIN);
    fake_pipe *b = fake_connect(s);
    CHECK_INT(b->pipe.outbox.count, 1);
    CHECK_INT(fake_deliver(b, req_answer(waiting, "", "done")), MM_OK);
    req_reply_is(s, waiting, "done");
    fake_close(s);
}

/* Which of them had the answer that was refused cannot be told. */
static void
test_an_answer_over_a_limit_ends_what_was_sent_in_words_of_its_own(void)
{
    const int reasons[] = { MM_REASON_MESSAGE_SIZE, MM_REASON_FRAME_COUNT, MM_REASON_EOF };
    const int codes[] = { MM_EMSGSIZE, MM_EMSGSIZE, MM_ECONNRESET };
    for (int i = 0; i < 3; i++) {
        fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 10);
        fake_pipe *p = fake_connect(s);
        uint64_t one = req_ask_ok(s, "one"), two = req_ask_ok(s, "two");
        uint64_t waiting = req_ask_ok(s, "waiting");
        mmi_msg_unref(fake_take(p));
        mmi_msg_unref(fake_take(p));
        p->pipe.ended = reasons[i];
        fake_cut(p);
        CHECK_INT(req_reply_rc(s, one), codes[i]);
        CHECK_INT(req_reply_rc(s, two), codes[i]);
        CHECK_INT(req_reply_rc(s, waiting), MM_EAGAIN);
        fake_close(s);
    }
}

static void
test_a_kept_request_is_answered_by_nobody_until_it_is_sent(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 1);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    int rc;
    uint64_t first = req_ask_ok(s, "1"), second = req_ask_ok(s, "2");
    fake_cut(a);                                   /* 1 is kept: b is full */
    CHECK_INT(fake_deliver(b, req_answer(first, "", "x")), MM_OK);
    CHECK_INT(s->stats.dropped_malformed, 1);
    req_ask(s, "3", &rc);
    CHECK_INT(rc, MM_EAGAIN);
    mmi_msg_unref(fake_take(b));
    CHECK_INT(b->pipe.outbox.count, 1);
    CHECK_INT(fake_deliver(b, req_answer(first, "", "one")), MM_OK);
    req_reply_is(s, first, "one");
    CHECK_INT(req_reply_rc(s, second), MM_EAGAIN);
    fake_close(s);
}

static void
test_a_forgotten_request_in_the_backlog_is_harmless(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 4);
    fake_pipe *a = fake_connect(s);
    uint64_t id = req_ask_ok(s, "1");
    fake_cut(a);
    s->ops->forget(s->state, id);
    fake_pipe *b = fake_connect(s);
    CHECK_INT(b->pipe.outbox.count, 1);
    CHECK_INT(fake_deliver(b, req_answer(id, "", "x")), MM_OK);
    CHECK_INT(s->stats.dropped_late, 1);
    fake_close(s);
}

/* Ids can be guessed.  The reply counts; the request, still unsent, must not disturb it. */
static void
test_a_reply_before_the_request_was_written_is_kept_when_the_peer_goes(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 4);
    uint64_t keys[4];
    fake_pipe *a = fake_connect(s);
    uint64_t id = req_ask_ok(s, "1");
    CHECK_INT(fake_deliver(a, req_answer(id, "", "early")), MM_OK);
    fake_cut(a);
    a = fake_connect(s);
    CHECK_INT(a->pipe.outbox.count, 1);
    fake_cut(a);
    CHECK_INT(s->ops->replies(s->state, keys, 4), 1);
    req_reply_is(s, id, "early");
    fake_close(s);
}

static void
test_a_dropped_request_ends_as_if_its_peer_had_gone(void)
{
    for (uint32_t overflow = MM_OVERFLOW_DROP_NEWEST; overflow <= MM_OVERFLOW_DROP_OLDEST;
         overflow++) {
        fake_sock *s = fake_open(MM_REQ, overflow, 1);
        uint64_t nobody = req_ask_ok(s, "nobody");
        CHECK_INT(s->stats.dropped_no_peer, 1);
        CHECK_INT(req_reply_rc(s, nobody), MM_ECONNRESET);
        fake_connect(s);
        uint64_t first = req_ask_ok(s, "1"), second = req_ask_ok(s, "2");
        CHECK_INT(s->stats.dropped_overflow, 1);
        bool newest = overflow == MM_OVERFLOW_DROP_NEWEST;
        CHECK_INT(req_reply_rc(s, first), newest ? MM_EAGAIN : MM_ECONNRESET);
        CHECK_INT(req_reply_rc(s, second), newest ? MM_ECONNRESET : MM_EAGAIN);
        fake_close(s);
    }
}

static void
test_a_refused_request_leaves_nothing_behind(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 1);
    int rc;
    CHECK_INT(req_ask(s, "x", &rc), 0);
    CHECK_INT(rc, MM_EAGAIN);
    CHECK_INT(fake_send_msg(s, fake_frames(0, NULL)), MM_EINVAL);
    fake_connect(s);
    for (int n = 1;; n++) {
        mmi_msg *m = fake_text("x");
        mm_test_alloc_fail(n);
        rc = fake_send_msg(s, m);
        mm_test_alloc_fail(0);
        if (rc == MM_OK) {
            CHECK(n > 2);
            break;
        }
        CHECK_INT(rc, MM_ENOMEM);
        CHECK_INT(fake_queued(s), 0);
    }
    CHECK_INT(fake_queued(s), 1);
    fake_close(s);
}

/* The peer counts the id and the empty frame, and would end the connection over them. */
static void
test_the_envelope_counts_within_the_limits(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 10);
    fake_connect(s);
    int rc;
    s->opts.message_size_max = ID_SIZE + 2;
    (void)req_ask(s, "xyz", &rc);
    CHECK_INT(rc, MM_EMSGSIZE);
    req_ask_ok(s, "xy");
    s->opts.frames_max = 2;
    (void)req_ask(s, "x", &rc);
    CHECK_INT(rc, MM_EMSGSIZE);
    s->opts.frames_max = 3;
    req_ask_ok(s, "x");
    fake_close(s);
}

static void
test_requests_in_flight_are_bounded(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, MMI_REQUESTS_MAX * 2);
    s->opts.send_queue_bytes = 1 << 30;
    fake_pipe *a = fake_connect(s);
    uint64_t last = 0;
    int rc;
    for (int i = 0; i < MMI_REQUESTS_MAX; i++) {
        last = req_ask_ok(s, "x");
    }
    CHECK_INT(s->ops->ready(s->state), 0);
    req_ask(s, "x", &rc);
    CHECK_INT(rc, MM_EAGAIN);
    s->ops->forget(s->state, last);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    req_ask_ok(s, "x");
    CHECK_INT(a->pipe.outbox.count, MMI_REQUESTS_MAX + 1);
    fake_close(s);
}

static void
test_closing_counts_replies_nobody_took(void)
{
    fake_sock *s = fake_open(MM_REQ, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    uint64_t id = req_ask_ok(s, "x");
    req_ask_ok(s, "kept");
    CHECK_INT(fake_deliver(a, req_answer(id, "", "reply")), MM_OK);
    mmi_msg_unref(fake_take(a));
    fake_cut(a);
    s->ops->fini(s->state);
    CHECK_INT(s->stats.dropped_closed, 2);
    memset(s->state, 0, s->ops->sock_size);
    CHECK_INT(s->ops->init(s->state, &s->host), MM_OK);
    fake_close(s);
}

int
main(void)
{
    RUN(test_a_request_has_its_id_and_an_empty_frame_in_front);
    RUN(test_ids_start_anywhere_with_their_top_bit_and_count_on);
    RUN(test_replies_come_back_by_id_in_any_order_stripped);
    RUN(test_a_shared_reply_that_cannot_be_stripped_can_be_asked_for_again);
    RUN(test_malformed_replies_are_counted_and_change_nothing);
    RUN(test_a_refusal_ends_its_request_and_brings_the_reason);
    RUN(test_what_is_no_refusal_is_malformed);
    RUN(test_unknown_duplicate_and_forgotten_replies_are_late);
    RUN(test_forgetting_a_request_drops_the_reply_that_is_there);
    RUN(test_a_lost_peer_ends_what_was_sent_and_hands_on_what_was_not);
    RUN(test_an_answer_over_a_limit_ends_what_was_sent_in_words_of_its_own);
    RUN(test_a_kept_request_is_answered_by_nobody_until_it_is_sent);
    RUN(test_a_forgotten_request_in_the_backlog_is_harmless);
    RUN(test_a_reply_before_the_request_was_written_is_kept_when_the_peer_goes);
    RUN(test_a_dropped_request_ends_as_if_its_peer_had_gone);
    RUN(test_a_refused_request_leaves_nothing_behind);
    RUN(test_the_envelope_counts_within_the_limits);
    RUN(test_requests_in_flight_are_bounded);
    RUN(test_closing_counts_replies_nobody_took);
    return 0;
}
