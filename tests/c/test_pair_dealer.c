/*
 * test_pair_dealer.c: PAIR and DEALER: both ways at once, over the policies that push and pull use.
 * Not here: the policies one by one (test_push.c, test_pull.c).
 * Law: frames go and come as they are.
 */
#include "queue/backlog.h"
#include "fake.h"
#include "queue/backlog.h"

static void
test_pair_takes_one_peer_at_a_time(void)
{
    fake_sock *s = fake_open(MM_PAIR, MM_OVERFLOW_BLOCK, 10);
    fake_pipe *a = fake_connect(s);
    CHECK(fake_connect(s) == NULL);
    CHECK_INT(s->add_rc, MM_ESTATE);
    CHECK_INT(fake_send_msg(s, FRAMES("x", "", "y")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("", "z")), MM_OK);
    CHECK_INT(s->ops->ready(s->state), MM_READABLE | MM_WRITABLE);
    fake_is(fake_take(a), "x||y");
    fake_recv_is(s, "|z");
    fake_cut(a);
    CHECK(fake_connect(s) != NULL);
    fake_close(s);
}

static void
test_pair_keeps_for_the_next_peer_what_the_last_did_not_get(void)
{
    fake_sock *s = fake_open(MM_PAIR, MM_OVERFLOW_BLOCK, 2);
    CHECK_INT(fake_send(s, "x"), MM_EAGAIN);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_send(s, "1"), MM_OK);
    CHECK_INT(fake_send(s, "2"), MM_OK);
    CHECK_INT(fake_send(s, "3"), MM_EAGAIN);
    CHECK_INT(fake_deliver(a, fake_text("last words")), MM_OK);
    fake_cut(a);
    fake_recv_is(s, "last words");
    fake_pipe *b = fake_connect(s);
    CHECK_INT(fake_send(s, "3"), MM_EAGAIN);
    fake_is(fake_take(b), "1");
    CHECK_INT(fake_send(s, "3"), MM_OK);
    fake_is(fake_take(b), "2");
    fake_is(fake_take(b), "3");
    CHECK_INT(fake_dropped(s), 0);
    fake_close(s);
}

static void
test_dealer_sends_in_turn_and_receives_fairly(void)
{
    fake_sock *s = fake_open(MM_DEALER, MM_OVERFLOW_BLOCK, 10);
    CHECK_INT(s->ops->ready(s->state), 0);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(fake_send_msg(s, FRAMES("", "1")), MM_OK);
    CHECK_INT(fake_send_msg(s, FRAMES("", "2")), MM_OK);
    fake_is(fake_take(a), "|1");
    fake_is(fake_take(b), "|2");
    CHECK_INT(fake_deliver(b, fake_text("b0")), MM_OK);
    CHECK_INT(fake_deliver(b, fake_text("b1")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("a0")), MM_OK);
    fake_recv_is(s, "b0");
    fake_recv_is(s, "a0");
    fake_recv_is(s, "b1");
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

static void
test_dealer_hands_the_unsent_of_a_lost_peer_to_another(void)
{
    fake_sock *s = fake_open(MM_DEALER, MM_OVERFLOW_BLOCK, 10);
    uint64_t bytes;
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(fake_send(s, "1"), MM_OK);
    CHECK_INT(fake_send(s, "2"), MM_OK);
    CHECK_INT(fake_send(s, "3"), MM_OK);
    fake_cut(a);
    CHECK_INT(mmi_back_count(s->host.back, &bytes), 0);
    fake_is(fake_take(b), "2");
    fake_is(fake_take(b), "1");
    fake_is(fake_take(b), "3");
    fake_close(s);
}

static void
test_every_role_has_its_table(void)
{
    for (int role = 1; role < MM_ROLE_COUNT; role++) {
        const mmi_proto_ops *ops = mmi_proto_find(role);
        CHECK(ops != NULL && ops->is.number == role && ops->sock_size > 0 && ops->pipe_size > 0);
        CHECK(ops->init && ops->fini && ops->add && ops->rm && ops->in && ops->out && ops->ready);
        CHECK(ops->send != NULL || ops->recv != NULL);
        CHECK((ops->subscription != NULL) == (ops->reach != NULL));
    }
    CHECK(mmi_proto_find(0) == NULL && mmi_proto_find(-1) == NULL);
    CHECK(mmi_proto_find(MM_ROLE_COUNT) == NULL);
}

/* What overflow says is for full queues; no_peer is for nobody: none came yet, or all left. */
static void
test_no_peer_says_what_a_send_to_nobody_does(void)
{
    static const int roles[] = { MM_PUSH, MM_DEALER, MM_PAIR };
    for (size_t i = 0; i < 3 * 4 * 3; i++) {
        uint32_t overflow = MM_OVERFLOW_BLOCK + (uint32_t)(i / 3 % 4);
        uint32_t no_peer = MM_NO_PEER_BLOCK + (uint32_t)(i / 12);
        bool drops = no_peer == MM_NO_PEER_DROP, waits = no_peer == MM_NO_PEER_BLOCK;
        bool spills = overflow >= MM_OVERFLOW_DROP_NEWEST;
        fake_sock *s = fake_open(roles[i % 3], overflow, 1);
        s->opts.no_peer = no_peer;
        for (uint32_t turn = 1; turn <= 2; turn++) {
            CHECK(s->host.alone);
            CHECK_INT(s->ops->ready(s->state) & MM_WRITABLE, waits ? 0 : MM_WRITABLE);
            CHECK_INT(fake_send(s, "nobody"), drops ? MM_OK : MM_EAGAIN);
            CHECK_INT(s->stats.dropped_no_peer, drops ? turn : 0);
            fake_pipe *a = fake_connect(s);
            CHECK(!s->host.alone);
            CHECK_INT(fake_send(s, "first"), MM_OK);
            CHECK_INT(fake_send(s, "full"), spills ? MM_OK : MM_EAGAIN);
            CHECK_INT(s->stats.dropped_overflow, spills ? turn : 0);
            CHECK_INT(s->ops->ready(s->state) & MM_WRITABLE, spills ? MM_WRITABLE : 0);
            mmi_msg_unref(fake_take(a));
            fake_cut(a);
        }
        fake_close(s);
    }
}

int
main(void)
{
    RUN(test_no_peer_says_what_a_send_to_nobody_does);
    RUN(test_pair_takes_one_peer_at_a_time);
    RUN(test_pair_keeps_for_the_next_peer_what_the_last_did_not_get);
    RUN(test_dealer_sends_in_turn_and_receives_fairly);
    RUN(test_dealer_hands_the_unsent_of_a_lost_peer_to_another);
    RUN(test_every_role_has_its_table);
    return 0;
}
