/*
 * test_survey.c: SURVEYOR: who is asked, whose answer counts, when a survey is over.
 * Not here: waiting for an answer; the clock (the tests pass the time); test_respondent.c.
 * Law: every peer asked answers once, is gone, missed the question, or is late; and each of these
 * brings the survey nearer to its end.
 */
#include "base/limits.h"
#include "fake.h"

enum { ID_SIZE = 4, PEERS = 3 };

/* Sends body and returns the survey's id; *rc: as send said. */
static uint64_t
survey_try(fake_sock *s, const char *body, int *rc)
{
    mmi_msg *m = fake_text(body);
    mmi_msg_ref(m);
    *rc = s->ops->send(s->state, m);
    uint64_t key = m->key;
    mmi_msg_unref(m);
    if (*rc != MM_OK) {
        CHECK_INT(m->refs, 1);
        CHECK_INT(key, 0);
        mmi_msg_unref(m);
    }
    return key;
}

static uint64_t
survey_ask(fake_sock *s, const char *body)
{
    int rc;
    uint64_t key = survey_try(s, body, &rc);
    CHECK_INT(rc, MM_OK);
    CHECK(key >= 0x80000000u && key <= UINT32_MAX);
    return key;
}

static mmi_msg *
survey_answer(uint64_t id, const char *body)
{
    const uint64_t sizes[] = { ID_SIZE, 0, strlen(body) };
    mmi_msg *m = mmi_msg_new(sizes, 3);
    for (int i = 0; i < ID_SIZE; i++) {
        mmi_msg_data(m, 0)[i] = (uint8_t)(id >> (8 * (3 - i)));
    }
    memcpy(mmi_msg_data(m, 2), body, sizes[2]);
    return m;
}

/* What reply says when there is no answer. */
static int
survey_next(fake_sock *s, uint64_t id)
{
    mmi_msg *m = NULL;
    int rc = s->ops->reply(s->state, id, &m);
    CHECK(rc != MM_OK && m == NULL);
    CHECK_INT(s->ops->replied(s->state, id), rc != MM_EAGAIN);
    return rc;
}

static void
survey_next_is(fake_sock *s, uint64_t id, const fake_pipe *from, const char *joined)
{
    mmi_msg *m = NULL;
    CHECK(s->ops->replied(s->state, id));
    CHECK_INT(s->ops->reply(s->state, id, &m), MM_OK);
    CHECK_INT(m->key, id);
    CHECK_INT(m->pipe_id, from->pipe.id);
    fake_is(m, joined);
}

static bool
survey_due(fake_sock *s, uint64_t id)
{
    return s->ops->replied(s->state, id);
}

static bool
survey_readable(fake_sock *s)
{
    return (s->ops->ready(s->state) & MM_READABLE) != 0;
}

static void
test_every_peer_is_asked_with_one_message_that_has_its_id_in_front(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    uint64_t id = survey_ask(s, "who?"), peers[4];
    CHECK(mmi_ring_at(&a->pipe.outbox, 0) == mmi_ring_at(&b->pipe.outbox, 0));
    mmi_msg *m = fake_take(a);
    CHECK_INT(m->frame_count, 3);
    CHECK(m->frames[0].size == ID_SIZE && m->frames[1].size == 0);
    const uint8_t *at = m->frames[0].data;
    CHECK(((uint64_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3]) == id);
    CHECK(m->frames[2].size == 4 && memcmp(m->frames[2].data, "who?", 4) == 0);
    mmi_msg_unref(m);
    CHECK_INT(s->ops->asked(s->state, id, peers, 4), 2);
    CHECK(peers[0] == a->pipe.id && peers[1] == b->pipe.id);
    CHECK_INT(s->ops->asked(s->state, id, peers, 0), 2);
    CHECK_INT(s->ops->asked(s->state, id + 1, peers, 4), 0);
    CHECK_INT(survey_ask(s, "next"), id == UINT32_MAX ? 0x80000000u : id + 1);
    CHECK(s->ops->recv == NULL);
    fake_close(s);
}

/* As of connections that took turns to get ready. */
static void
test_each_peer_owes_its_own_answer_in_whatever_order_they_came(void)
{
    static const uint64_t places[][PEERS] = { { 1, 2, 3 }, { 3, 2, 1 }, { 2, 3, 1 }, { 1, 3, 2 } };
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 10);
        fake_pipe *p[PEERS];
        for (int j = 0; j < PEERS; j++) {
            p[j] = fake_connect(s);
            p[j]->pipe.id = places[i][j];
        }
        uint64_t id = survey_ask(s, "q"), peers[PEERS];
        CHECK_INT(s->ops->asked(s->state, id, peers, PEERS), PEERS);
        for (int j = 0; j < PEERS; j++) {
            CHECK_INT(peers[j], j + 1);
            CHECK_INT(fake_deliver(p[j], survey_answer(id, "a")), MM_OK);
            survey_next_is(s, id, p[j], "a");
        }
        CHECK_INT(survey_next(s, id), MM_ESTATE);
        CHECK_INT(fake_dropped(s), 0);
        fake_close(s);
    }
}

static void
test_ids_wrap_within_their_31_bits(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 100);
    uint64_t first = 0, id = 0;
    for (uint32_t seed = 1; seed <= 1000; seed++) {
        s->ops->fini(s->state);
        memset(s->state, 0, s->ops->sock_size);
        s->random_seed = seed * 2654435761u;
        CHECK_INT(s->ops->init(s->state, &s->host), MM_OK);
        first = survey_ask(s, "x");
        id = survey_ask(s, "x");
        CHECK(id == first + 1 || (first == UINT32_MAX && id == 0x80000000u));
    }
    fake_close(s);
}

static void
test_answers_come_in_their_order_and_all_of_them_end_the_survey(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    uint64_t id = survey_ask(s, "q"), bytes;
    CHECK(!survey_due(s, id));
    CHECK_INT(survey_next(s, id), MM_EAGAIN);
    CHECK_INT(fake_deliver(b, survey_answer(id, "from b")), MM_OK);
    CHECK(survey_due(s, id));
    CHECK_INT(s->ops->unclaimed(s->state, &bytes), 1);
    CHECK_INT(bytes, ID_SIZE + 6 + 3 * MMI_FRAME_OVERHEAD);
    survey_next_is(s, id, b, "from b");
    CHECK(!survey_due(s, id));
    CHECK_INT(s->ops->unclaimed(s->state, &bytes), 0);
    CHECK_INT(bytes, 0);
    CHECK_INT(fake_deliver(a, survey_answer(id, "from a")), MM_OK);
    CHECK(survey_due(s, id));
    survey_next_is(s, id, a, "from a");
    CHECK(survey_due(s, id));
    CHECK_INT(survey_next(s, id), MM_ESTATE);
    s->ops->forget(s->state, id);
    CHECK_INT(survey_next(s, id), MM_EINVAL);
    CHECK_INT(fake_dropped(s), 0);
    fake_close(s);
}

static void
test_many_surveys_at_once_do_not_disturb_each_other(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 100);
    fake_pipe *p[PEERS] = { fake_connect(s), fake_connect(s), fake_connect(s) };
    uint64_t ids[10];
    for (int i = 0; i < 10; i++) {
        ids[i] = survey_ask(s, "q");
    }
    for (int i = 9; i >= 0; i--) {
        CHECK_INT(fake_deliver(p[i % PEERS], survey_answer(ids[i], "x")), MM_OK);
        for (int j = 0; j < 10; j++) {
            CHECK_INT(survey_due(s, ids[j]), j == i);
        }
        survey_next_is(s, ids[i], p[i % PEERS], "x");
    }
    fake_close(s);
}

static void
test_what_is_new_is_told_once(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 100);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    uint64_t keys[4], first = survey_ask(s, "1"), second = survey_ask(s, "2");
    CHECK_INT(s->ops->replies(s->state, keys, 4), 0);
    CHECK(!survey_readable(s));
    CHECK_INT(fake_deliver(a, survey_answer(second, "x")), MM_OK);
    CHECK_INT(fake_deliver(a, survey_answer(first, "x")), MM_OK);
    CHECK_INT(fake_deliver(b, survey_answer(second, "x")), MM_OK);
    CHECK(survey_readable(s));
    CHECK_INT(s->ops->replies(s->state, keys, 1), 1);
    CHECK_INT(keys[0], second);
    CHECK(survey_readable(s));
    CHECK_INT(s->ops->replies(s->state, keys, 4), 1);
    CHECK_INT(keys[0], first);
    CHECK(!survey_readable(s) && survey_due(s, first) && survey_due(s, second));
    survey_next_is(s, first, a, "x");
    CHECK_INT(fake_deliver(b, survey_answer(first, "x")), MM_OK);
    CHECK(survey_readable(s));
    survey_next_is(s, first, b, "x");
    CHECK(survey_readable(s));                      /* that it is over */
    s->ops->forget(s->state, first);
    CHECK(!survey_readable(s));
    uint64_t third = survey_ask(s, "3");
    CHECK_INT(fake_deliver(a, survey_answer(third, "x")), MM_OK);
    survey_next_is(s, third, a, "x");
    CHECK(!survey_readable(s));                     /* it was taken before it was told */
    fake_close(s);
}

static void
test_an_answer_too_many_or_too_late_is_dropped_and_counted(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s);
    fake_connect(s);
    uint64_t id = survey_ask(s, "q");
    CHECK_INT(fake_deliver(a, survey_answer(id, "one")), MM_OK);
    CHECK_INT(fake_deliver(a, survey_answer(id, "two")), MM_OK);
    CHECK_INT(s->stats.dropped_late, 1);
    CHECK_INT(fake_deliver(a, survey_answer(id + 1, "unknown")), MM_OK);
    CHECK_INT(s->stats.dropped_late, 2);
    s->ops->forget(s->state, id);
    CHECK_INT(s->stats.dropped_late, 3);            /* "one", which nobody took */
    CHECK_INT(fake_deliver(a, survey_answer(id, "forgotten")), MM_OK);
    CHECK_INT(s->stats.dropped_late, 4);
    CHECK_INT(s->event_counts[MM_EVENT_LATE_REPLY], 4);
    CHECK_INT(s->last_event_peer, a->pipe.id);
    s->ops->forget(s->state, id);
    fake_close(s);
}

static void
test_malformed_answers_are_counted_and_change_nothing(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s);
    uint64_t id = survey_ask(s, "q");
    fake_pipe *later = fake_connect(s);
    CHECK_INT(fake_deliver(a, fake_text("x")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("", "body")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("12345", "", "body")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("1234", "")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("1234", "x", "body")), MM_OK);
    CHECK_INT(fake_deliver(later, survey_answer(id, "nobody asked me")), MM_OK);
    CHECK_INT(s->stats.dropped_malformed, 6);
    CHECK(a->pipe.dropped == 5 && later->pipe.dropped == 1);
    CHECK_INT(survey_next(s, id), MM_EAGAIN);
    CHECK_INT(fake_deliver(a, survey_answer(id, "right")), MM_OK);
    survey_next_is(s, id, a, "right");
    fake_close(s);
}

static void
test_a_peer_that_leaves_will_not_answer_but_what_it_said_counts(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s), *c = fake_connect(s);
    const fake_pipe was_b = *b;
    uint64_t id = survey_ask(s, "q"), other = survey_ask(s, "other"), peers[4];
    fake_take_all(a);
    fake_cut(a);
    CHECK(!survey_due(s, id));
    CHECK_INT(fake_deliver(b, survey_answer(id, "bye")), MM_OK);
    fake_cut(b);
    CHECK(!survey_due(s, other));
    fake_cut(c);
    CHECK(survey_due(s, other));
    CHECK_INT(survey_next(s, other), MM_ESTATE);
    survey_next_is(s, id, &was_b, "bye");
    CHECK_INT(survey_next(s, id), MM_ESTATE);
    CHECK_INT(s->ops->asked(s->state, id, peers, 4), 3);
    CHECK_INT(s->stats.dropped_peer_gone, 4);       /* both questions to b and to c */
    fake_close(s);
}

static void
test_with_nobody_there_a_survey_is_over_at_once(void)
{
    for (uint32_t overflow = MM_OVERFLOW_BLOCK; overflow <= MM_OVERFLOW_DROP_OLDEST; overflow++) {
        fake_sock *s = fake_open(MM_SURVEYOR, overflow, 10);
        uint64_t id = survey_ask(s, "anybody?"), peers[1];
        CHECK_INT(s->stats.dropped_no_peer, 1);
        CHECK(survey_due(s, id));
        CHECK_INT(survey_next(s, id), MM_ESTATE);
        CHECK_INT(s->ops->asked(s->state, id, peers, 1), 0);
        fake_pipe *late = fake_connect(s);
        CHECK_INT(late->pipe.outbox.count, 0);
        fake_close(s);
    }
}

static void
test_who_misses_the_question_will_not_answer(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 1);
    fake_pipe *full = fake_connect(s), *free_one = fake_connect(s);
    uint64_t first = survey_ask(s, "1"), peers[4];
    fake_take_all(free_one);
    uint64_t second = survey_ask(s, "2");
    CHECK_INT(s->stats.dropped_overflow, 1);
    CHECK_INT(full->pipe.dropped, 1);
    CHECK_INT(s->ops->asked(s->state, second, peers, 4), 2);
    CHECK_INT(fake_deliver(free_one, survey_answer(second, "x")), MM_OK);
    survey_next_is(s, second, free_one, "x");
    CHECK_INT(survey_next(s, second), MM_ESTATE);
    CHECK_INT(fake_deliver(full, survey_answer(second, "guessed")), MM_OK);
    CHECK_INT(s->stats.dropped_late, 1);
    CHECK_INT(survey_next(s, first), MM_EAGAIN);
    fake_close(s);
}

static void
test_a_question_pushed_out_by_a_newer_one_is_not_waited_for(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_OLDEST, 1);
    fake_connect(s);
    uint64_t first = survey_ask(s, "1");
    CHECK(!survey_due(s, first));
    uint64_t second = survey_ask(s, "2");
    CHECK_INT(survey_next(s, first), MM_ESTATE);
    CHECK_INT(survey_next(s, second), MM_EAGAIN);
    fake_close(s);
}

static void
test_a_survey_that_blocks_asks_all_or_nobody(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_BLOCK, 1);
    fake_pipe *full = fake_connect(s), *free_one = fake_connect(s);
    int rc;
    survey_ask(s, "1");
    fake_take_all(free_one);
    survey_try(s, "2", &rc);
    CHECK_INT(rc, MM_EAGAIN);
    CHECK_INT(free_one->pipe.outbox.count, 0);
    CHECK_INT(s->ops->ready(s->state), 0);
    fake_take_all(full);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    survey_ask(s, "2");
    fake_close(s);
}

static void
test_a_survey_ends_at_its_deadline_and_keeps_what_came_in_time(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    uint64_t late = survey_ask(s, "late"), soon = survey_ask(s, "soon");
    CHECK_INT(s->ops->tick(s->state, 1) == UINT64_MAX, 1);
    s->ops->bound(s->state, late, 200, 0);
    s->ops->bound(s->state, soon, 100, 0);
    s->ops->bound(s->state, soon + 1, 50, 0);       /* no such survey */
    CHECK_INT(s->ops->tick(s->state, 99), 100);
    CHECK_INT(fake_deliver(a, survey_answer(soon, "in time")), MM_OK);
    CHECK_INT(s->ops->tick(s->state, 100), 200);
    CHECK_INT(fake_deliver(b, survey_answer(soon, "too late")), MM_OK);
    CHECK_INT(s->stats.dropped_late, 1);
    survey_next_is(s, soon, a, "in time");
    CHECK_INT(survey_next(s, soon), MM_ESTATE);
    CHECK_INT(survey_next(s, late), MM_EAGAIN);
    s->ops->forget(s->state, late);
    CHECK(s->ops->tick(s->state, 150) == UINT64_MAX);
    fake_close(s);
}

static void
test_a_survey_ends_with_as_many_answers_as_were_wanted(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *p[PEERS] = { fake_connect(s), fake_connect(s), fake_connect(s) };
    uint64_t two = survey_ask(s, "two"), nine = survey_ask(s, "nine");
    s->ops->bound(s->state, two, 100, 2);
    s->ops->bound(s->state, nine, 100, 9);
    for (int i = 0; i < PEERS; i++) {
        CHECK_INT(fake_deliver(p[i], survey_answer(two, "x")), MM_OK);
        CHECK_INT(fake_deliver(p[i], survey_answer(nine, "x")), MM_OK);
    }
    CHECK_INT(s->stats.dropped_late, 1);
    survey_next_is(s, two, p[0], "x");
    survey_next_is(s, two, p[1], "x");
    CHECK_INT(survey_next(s, two), MM_ESTATE);
    for (int i = 0; i < PEERS; i++) {
        survey_next_is(s, nine, p[i], "x");
    }
    CHECK_INT(survey_next(s, nine), MM_ESTATE);
    fake_close(s);
}

static void
test_a_refused_survey_leaves_nothing_behind(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_BLOCK, 10);
    fake_connect(s);
    fake_connect(s);
    CHECK_INT(fake_send_msg(s, fake_frames(0, NULL)), MM_EINVAL);
    for (int n = 1;; n++) {
        mmi_msg *m = fake_text("x");
        mm_test_alloc_fail(n);
        int rc = fake_send_msg(s, m);
        mm_test_alloc_fail(0);
        if (rc == MM_OK) {
            CHECK(n > 4);
            break;
        }
        CHECK_INT(rc, MM_ENOMEM);
        CHECK_INT(fake_queued(s), 0);
        CHECK(s->ops->ready(s->state) == MM_WRITABLE);
    }
    CHECK_INT(fake_queued(s), 2);
    fake_close(s);
}

static void
test_surveys_are_bounded(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 1);
    uint64_t last = 0;
    int rc;
    for (int i = 0; i < MMI_SURVEYS_MAX; i++) {
        last = survey_ask(s, "x");
    }
    survey_try(s, "x", &rc);
    CHECK_INT(rc, MM_EAGAIN);
    CHECK((s->ops->ready(s->state) & MM_WRITABLE) == 0);
    s->ops->forget(s->state, last);
    survey_ask(s, "x");
    fake_close(s);
}

static void
test_closing_counts_answers_nobody_took(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s);
    uint64_t id = survey_ask(s, "x");
    CHECK_INT(fake_deliver(a, survey_answer(id, "untaken")), MM_OK);
    fake_take_all(a);
    fake_cut(a);
    s->ops->fini(s->state);
    CHECK_INT(s->stats.dropped_closed, 1);
    memset(s->state, 0, s->ops->sock_size);
    CHECK_INT(s->ops->init(s->state, &s->host), MM_OK);
    fake_close(s);
}

int
main(void)
{
    RUN(test_every_peer_is_asked_with_one_message_that_has_its_id_in_front);
    RUN(test_each_peer_owes_its_own_answer_in_whatever_order_they_came);
    RUN(test_ids_wrap_within_their_31_bits);
    RUN(test_answers_come_in_their_order_and_all_of_them_end_the_survey);
    RUN(test_many_surveys_at_once_do_not_disturb_each_other);
    RUN(test_what_is_new_is_told_once);
    RUN(test_an_answer_too_many_or_too_late_is_dropped_and_counted);
    RUN(test_malformed_answers_are_counted_and_change_nothing);
    RUN(test_a_peer_that_leaves_will_not_answer_but_what_it_said_counts);
    RUN(test_with_nobody_there_a_survey_is_over_at_once);
    RUN(test_who_misses_the_question_will_not_answer);
    RUN(test_a_question_pushed_out_by_a_newer_one_is_not_waited_for);
    RUN(test_a_survey_that_blocks_asks_all_or_nobody);
    RUN(test_a_survey_ends_at_its_deadline_and_keeps_what_came_in_time);
    RUN(test_a_survey_ends_with_as_many_answers_as_were_wanted);
    RUN(test_a_refused_survey_leaves_nothing_behind);
    RUN(test_surveys_are_bounded);
    RUN(test_closing_counts_answers_nobody_took);
    return 0;
}
