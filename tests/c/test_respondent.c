/*
 * test_respondent.c: RESPONDENT: what is a survey, and the way back of an answer.
 * Not here: what it does as REP does (test_rep.c).
 * Law: what is no survey is counted; an answer goes to who asked, or is counted.
 */
#include "fake.h"

static void
test_a_respondent_answers_whoever_asked_along_the_whole_way_back(void)
{
    fake_sock *s = fake_open(MM_RESPONDENT, MM_OVERFLOW_ERROR, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    mmi_msg *one = NULL, *two = NULL;
    CHECK_INT(fake_deliver(a, FRAMES("\x80yes", "", "1")), MM_OK);
    CHECK_INT(fake_deliver(b, FRAMES("hop1hop2\xffyes", "", "2")), MM_OK);
    CHECK_INT(s->ops->recv(s->state, &one), MM_OK);
    CHECK_INT(s->ops->recv(s->state, &two), MM_OK);
    CHECK_INT(one->envelope_count, 2);
    CHECK_INT(two->envelope_count, 2);
    CHECK(one->pipe_id == a->pipe.id && two->pipe_id == b->pipe.id);
    CHECK_INT(s->ops->send(s->state, two), MM_OK);
    CHECK_INT(s->ops->send(s->state, one), MM_OK);
    fake_is(fake_take(a), "\x80yes||1");
    fake_is(fake_take(b), "hop1hop2\xffyes||2");
    fake_close(s);
}

static void
test_a_respondent_drops_what_is_no_survey(void)
{
    fake_sock *s = fake_open(MM_RESPONDENT, MM_OVERFLOW_ERROR, 20);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_deliver(a, fake_text("body")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("", "body")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("\x80yes", "")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("noid", "", "body")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("\x80long", "", "body")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("\x81two\x80ids", "", "body")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("\x80ids", "hops", "", "body")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("hop1", "\x80ids", "", "body")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("\x80yes", "body")), MM_OK);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    CHECK_INT(s->stats.dropped_malformed, 9);
    fake_close(s);
}

static void
test_an_answer_to_who_is_gone_is_refused_and_counted(void)
{
    fake_sock *s = fake_open(MM_RESPONDENT, MM_OVERFLOW_ERROR, 10);
    fake_pipe *a = fake_connect(s);
    mmi_msg *m = NULL;
    CHECK_INT(fake_deliver(a, FRAMES("\x80yes", "", "1")), MM_OK);
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    fake_cut(a);
    CHECK_INT(fake_send_msg(s, m), MM_EHOSTUNREACH);
    CHECK_INT(s->stats.dropped_peer_gone, 1);
    fake_close(s);
}

int
main(void)
{
    RUN(test_a_respondent_answers_whoever_asked_along_the_whole_way_back);
    RUN(test_a_respondent_drops_what_is_no_survey);
    RUN(test_an_answer_to_who_is_gone_is_refused_and_counted);
    return 0;
}
