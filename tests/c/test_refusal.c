/*
 * test_refusal.c: what a REP or RESPONDENT refuses, and what a SURVEYOR makes of it.
 * Not here: REQ's side (test_req.c), who is said to understand it (test_hello.c).
 * Law: a refusal settles a debt and is no answer; it is sent only to who asks and knows it.
 */
#include "fake.h"

enum { ID_SIZE = 4 };

static mmi_msg *
refusal_of(uint64_t id, const char *word, const char *reason)
{
    const uint64_t sizes[] = { ID_SIZE, strlen(word), strlen(reason) };
    mmi_msg *m = mmi_msg_new(sizes, 3);
    for (int i = 0; i < ID_SIZE; i++) {
        mmi_msg_data(m, 0)[i] = (uint8_t)(id >> (8 * (3 - i)));
    }
    memcpy(mmi_msg_data(m, 1), word, sizes[1]);
    memcpy(mmi_msg_data(m, 2), reason, sizes[2]);
    return m;
}

static uint64_t
refusal_ask(fake_sock *s)
{
    mmi_msg *m = mmi_msg_ref(fake_text("who?"));
    CHECK_INT(s->ops->send(s->state, m), MM_OK);
    uint64_t key = m->key;
    mmi_msg_unref(m);
    return key;
}

static int
refusal_rc(fake_sock *s, uint64_t id)
{
    mmi_msg *m = NULL;
    int rc = s->ops->refusal(s->state, id, &m);
    CHECK((rc == MM_OK) == (m != NULL));
    mmi_msg_unref(m);
    return rc;
}

static void
test_a_refusal_is_no_answer_but_ends_what_is_owed(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    uint64_t id = refusal_ask(s);
    mmi_msg *m = NULL;
    CHECK_INT(refusal_rc(s, id), MM_EAGAIN);
    CHECK_INT(fake_deliver(a, refusal_of(id, "REFUSED", "busy")), MM_OK);
    CHECK(!s->ops->replied(s->state, id));
    CHECK_INT(s->ops->reply(s->state, id, &m), MM_EAGAIN);
    CHECK_INT(fake_deliver(a, refusal_of(id, "", "an answer after all")), MM_OK);
    CHECK_INT(s->stats.dropped_late, 1);
    CHECK_INT(fake_deliver(b, refusal_of(id, "REFUSED", "")), MM_OK);
    CHECK(s->ops->replied(s->state, id));
    CHECK_INT(s->ops->reply(s->state, id, &m), MM_ESTATE);
    CHECK_INT(s->ops->refusal(s->state, id, &m), MM_OK);
    CHECK_INT(m->pipe_id, a->pipe.id);
    fake_is(m, "busy");
    CHECK_INT(s->ops->refusal(s->state, id, &m), MM_OK);
    CHECK_INT(m->pipe_id, b->pipe.id);
    fake_is(m, "");
    CHECK_INT(refusal_rc(s, id), MM_EAGAIN);
    CHECK_INT(refusal_rc(s, id + 1), MM_EINVAL);
    CHECK_INT(fake_queued(s), 2);   /* the two questions */
    fake_close(s);
}

static void
test_refusals_are_not_among_the_answers_that_were_wanted(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s), *c = fake_connect(s);
    uint64_t id = refusal_ask(s);
    s->ops->bound(s->state, id, UINT64_MAX, 1);
    CHECK_INT(fake_deliver(a, refusal_of(id, "REFUSED", "no")), MM_OK);
    CHECK(!s->ops->replied(s->state, id));
    CHECK_INT(fake_deliver(b, refusal_of(id, "", "yes")), MM_OK);
    CHECK_INT(fake_deliver(c, refusal_of(id, "REFUSED", "late")), MM_OK);
    CHECK_INT(s->stats.dropped_late, 1);
    mmi_msg *m = NULL;
    CHECK_INT(s->ops->reply(s->state, id, &m), MM_OK);
    fake_is(m, "yes");
    CHECK_INT(s->ops->reply(s->state, id, &m), MM_ESTATE);
    fake_close(s);
}

static void
test_refusals_nobody_took_are_counted(void)
{
    fake_sock *s = fake_open(MM_SURVEYOR, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s);
    uint64_t one = refusal_ask(s), two = refusal_ask(s), three = refusal_ask(s);
    fake_take_all(a);
    CHECK_INT(fake_deliver(a, refusal_of(one, "REFUSED", "1")), MM_OK);
    CHECK_INT(fake_deliver(a, refusal_of(two, "REFUSED", "2")), MM_OK);
    CHECK_INT(fake_deliver(a, refusal_of(three, "REFUSE", "no such word")), MM_OK);
    CHECK_INT(s->stats.dropped_malformed, 1);
    CHECK_INT(fake_queued(s), 2);
    s->ops->forget(s->state, one);
    CHECK_INT(s->stats.dropped_late, 1);
    fake_close(s);
}

/* As rep and respondent have it from the envelope. */
static void
refuses_who_knows_it(int role)
{
    fake_sock *s = fake_open(role, MM_OVERFLOW_BLOCK, 1);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    a->pipe.hears_refusals = true;
    mmi_msg *m = refusal_of(7, "REFUSED", "no");
    m->pipe_id = b->pipe.id;
    CHECK_INT(s->ops->refuse(s->state, m), MM_ENOTSUP);
    m->pipe_id = a->pipe.id;
    CHECK_INT(s->ops->refuse(s->state, mmi_msg_ref(m)), MM_OK);
    CHECK_INT(s->ops->refuse(s->state, m), MM_EAGAIN);
    m->pipe_id = UINT64_MAX;
    CHECK_INT(s->ops->refuse(s->state, m), MM_EHOSTUNREACH);
    mmi_msg_unref(m);
    CHECK_INT(fake_take_all(a), 1);
    CHECK_INT(fake_dropped(s), 0);
    CHECK_INT(s->stats.sent_messages, 0);   /* what was sent is counted by the caller */
    fake_close(s);
}

static void
test_only_who_knows_refusals_is_refused(void)
{
    refuses_who_knows_it(MM_REP);
    refuses_who_knows_it(MM_RESPONDENT);
}

int
main(void)
{
    RUN(test_a_refusal_is_no_answer_but_ends_what_is_owed);
    RUN(test_refusals_are_not_among_the_answers_that_were_wanted);
    RUN(test_refusals_nobody_took_are_counted);
    RUN(test_only_who_knows_refusals_is_refused);
    return 0;
}
