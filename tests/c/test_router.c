/*
 * test_router.c: ROUTER: names given and taken, routing, full and unknown peers.
 * Not here: the handshake that reads identities.
 * Law: a name leads to at most one peer, and a message goes to that peer or nowhere.
 */
#include "fake.h"

static uint64_t
router_find(fake_sock *s, const char *identity)
{
    uint64_t id = 0;
    int rc = s->ops->find(s->state, (const uint8_t *)identity, strlen(identity), &id);
    CHECK((rc == MM_OK) == (id != 0) && (rc == MM_OK || rc == MM_EHOSTUNREACH));
    return id;
}

static void
test_a_received_message_begins_with_the_senders_identity(void)
{
    fake_sock *s = fake_open(MM_ROUTER, MM_OVERFLOW_ERROR, 10);
    CHECK_INT(s->ops->ready(s->state), 0);
    fake_pipe *a = fake_connect_as(s, "alice"), *b = fake_connect_as(s, "bob");
    CHECK_INT(fake_deliver(a, FRAMES("", "hi")), MM_OK);
    CHECK_INT(fake_deliver(b, fake_text("ho")), MM_OK);
    mmi_msg *m = NULL;
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    CHECK_INT(m->pipe_id, a->pipe.id);
    fake_is(m, "alice||hi");
    fake_recv_is(s, "bob|ho");
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

static void
test_a_peer_without_a_name_gets_a_number_of_five_octets(void)
{
    fake_sock *s = fake_open(MM_ROUTER, MM_OVERFLOW_ERROR, 10);
    uint32_t numbers[3];
    for (int i = 0; i < 3; i++) {
        fake_pipe *p = fake_connect(s);
        mmi_msg *m = NULL;
        uint64_t id;
        CHECK_INT(fake_deliver(p, fake_text("x")), MM_OK);
        CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
        const uint8_t *at = m->frames[0].data;
        CHECK(m->frame_count == 2 && m->frames[0].size == 5 && at[0] == 0);
        numbers[i] = (uint32_t)at[1] << 24 | at[2] << 16 | at[3] << 8 | at[4];
        CHECK_INT(s->ops->find(s->state, at, 5, &id), MM_OK);
        CHECK_INT(id, p->pipe.id);
        mmi_msg_unref(m);
    }
    CHECK(numbers[0] != 0 && numbers[1] == numbers[0] + 1 && numbers[2] == numbers[1] + 1);
    fake_close(s);
}

static void
test_a_message_goes_to_the_peer_that_frame_0_names(void)
{
    fake_sock *s = fake_open(MM_ROUTER, MM_OVERFLOW_ERROR, 10);
    fake_pipe *a = fake_connect_as(s, "alice"), *b = fake_connect_as(s, "bob");
    CHECK_INT(fake_send_msg(s, FRAMES("bob", "", "x")), MM_OK);
    CHECK_INT(fake_send_msg(s, FRAMES("bo", "x")), MM_EHOSTUNREACH);
    CHECK_INT(fake_send_msg(s, FRAMES("bobb", "x")), MM_EHOSTUNREACH);
    CHECK_INT(fake_send_msg(s, FRAMES("", "x")), MM_EHOSTUNREACH);
    CHECK_INT(fake_send_msg(s, fake_text("bob")), MM_EINVAL);
    CHECK_INT(fake_send_msg(s, fake_frames(0, NULL)), MM_EINVAL);
    CHECK(fake_take(a) == NULL);
    fake_is(fake_take(b), "|x");
    CHECK_INT(fake_dropped(s), 0);
    fake_close(s);
}

static void
test_a_message_with_a_peer_id_goes_there_whole(void)
{
    fake_sock *s = fake_open(MM_ROUTER, MM_OVERFLOW_ERROR, 10);
    fake_pipe *a = fake_connect(s);
    mmi_msg *m = fake_text("x");
    m->pipe_id = a->pipe.id;
    CHECK_INT(fake_send_msg(s, m), MM_OK);
    fake_is(fake_take(a), "x");
    m = fake_text("x");
    m->pipe_id = a->pipe.id + 1000;
    CHECK_INT(fake_send_msg(s, m), MM_EHOSTUNREACH);
    fake_close(s);
}

static void
test_unroutable_messages_may_be_dropped_instead(void)
{
    fake_sock *s = fake_open(MM_ROUTER, MM_OVERFLOW_ERROR, 10);
    s->opts.flags = MM_OPT_DROP_UNROUTABLE;
    CHECK_INT(fake_send_msg(s, FRAMES("nobody", "x")), MM_OK);
    CHECK_INT(s->stats.dropped_no_peer, 1);
    fake_close(s);
}

static void
test_a_taken_name_is_refused_and_its_owner_keeps_it(void)
{
    fake_sock *s = fake_open(MM_ROUTER, MM_OVERFLOW_ERROR, 10);
    fake_pipe *a = fake_connect_as(s, "name");
    CHECK(fake_connect_as(s, "name") == NULL);
    CHECK_INT(s->add_rc, MM_EADDRINUSE);
    CHECK_INT(router_find(s, "name"), a->pipe.id);
    CHECK_INT(a->closed_reason, 0);
    fake_cut(a);
    CHECK_INT(router_find(s, "name"), 0);
    a = fake_connect_as(s, "name");
    CHECK_INT(router_find(s, "name"), a->pipe.id);
    fake_close(s);
}

static void
test_handover_gives_the_name_to_the_newcomer_and_closes_the_old_peer(void)
{
    fake_sock *s = fake_open(MM_ROUTER, MM_OVERFLOW_ERROR, 10);
    s->opts.flags = MM_OPT_HANDOVER;
    fake_pipe *old = fake_connect_as(s, "name");
    CHECK_INT(fake_deliver(old, fake_text("before")), MM_OK);
    fake_pipe *new = fake_connect_as(s, "name");
    CHECK_INT(old->closed_reason, MM_REASON_IDENTITY);
    CHECK(new->closed_reason == 0);
    CHECK_INT(router_find(s, "name"), new->pipe.id);
    CHECK_INT(fake_send_msg(s, FRAMES("name", "x")), MM_OK);
    fake_is(fake_take(new), "x");
    fake_cut(old);
    CHECK_INT(router_find(s, "name"), new->pipe.id);
    fake_recv_is(s, "name|before");
    fake_close(s);
}

static void
test_a_full_peer_says_again_and_writable_comes_back_with_its_room(void)
{
    fake_sock *s = fake_open(MM_ROUTER, MM_OVERFLOW_BLOCK, 2);
    fake_pipe *a = fake_connect_as(s, "a"), *b = fake_connect_as(s, "b");
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(fake_send_msg(s, FRAMES("a", "0")), MM_OK);
    CHECK_INT(fake_send_msg(s, FRAMES("a", "1")), MM_OK);
    CHECK_INT(fake_send_msg(s, FRAMES("a", "2")), MM_EAGAIN);
    CHECK_INT(s->ops->ready(s->state), 0);
    CHECK_INT(fake_send_msg(s, FRAMES("b", "x")), MM_OK);
    mmi_msg_unref(fake_take(b));
    CHECK_INT(s->ops->ready(s->state), 0);
    mmi_msg_unref(fake_take(a));
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(fake_send_msg(s, FRAMES("a", "2")), MM_OK);
    CHECK_INT(fake_send_msg(s, FRAMES("a", "3")), MM_EAGAIN);
    fake_cut(a);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(s->stats.dropped_peer_gone, 2);
    fake_close(s);
}

static void
test_overflow_policies_drop_for_the_named_peer_only(void)
{
    for (uint32_t overflow = MM_OVERFLOW_DROP_NEWEST; overflow <= MM_OVERFLOW_DROP_OLDEST;
         overflow++) {
        fake_sock *s = fake_open(MM_ROUTER, overflow, 2);
        fake_pipe *a = fake_connect_as(s, "a");
        const char *bodies[] = { "0", "1", "2" };
        for (int i = 0; i < 3; i++) {
            CHECK_INT(fake_send_msg(s, FRAMES("a", bodies[i])), MM_OK);
            a->pipe.pinned = true;
        }
        CHECK_INT(s->stats.dropped_overflow, 1);
        CHECK_INT(a->pipe.dropped, 1);
        fake_is(fake_take(a), "0");
        fake_is(fake_take(a), overflow == MM_OVERFLOW_DROP_NEWEST ? "1" : "2");
        fake_close(s);
    }
}

static void
test_what_a_lost_peer_had_delivered_keeps_its_identity(void)
{
    fake_sock *s = fake_open(MM_ROUTER, MM_OVERFLOW_ERROR, 10);
    fake_pipe *a = fake_connect_as(s, "gone");
    CHECK_INT(fake_deliver(a, fake_text("1")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("2")), MM_OK);
    fake_cut(a);
    fake_recv_is(s, "gone|1");
    fake_recv_is(s, "gone|2");
    a = fake_connect_as(s, "gone");
    CHECK_INT(fake_deliver(a, fake_text("3")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("4")), MM_OK);
    mm_test_alloc_fail(2);             /* memory for the identity of 3, none for that of 4 */
    fake_cut(a);
    mm_test_alloc_fail(0);
    CHECK_INT(s->stats.dropped_peer_gone, 1);
    fake_recv_is(s, "gone|3");
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

static void
test_no_memory_takes_no_message_and_loses_none(void)
{
    fake_sock *s = fake_open(MM_ROUTER, MM_OVERFLOW_ERROR, 10);
    for (int n = 1; n <= 2; n++) {
        mm_test_alloc_fail(n);
        CHECK(fake_connect_as(s, "a") == NULL);
        mm_test_alloc_fail(0);
        CHECK_INT(s->add_rc, MM_ENOMEM);
        CHECK_INT(router_find(s, "a"), 0);
    }
    fake_pipe *a = fake_connect_as(s, "a");
    CHECK_INT(fake_deliver(a, fake_text("x")), MM_OK);
    mm_test_alloc_fail(1);
    CHECK_INT(fake_recv_rc(s), MM_ENOMEM);
    mm_test_alloc_fail(0);
    fake_recv_is(s, "a|x");
    mmi_msg *m = FRAMES("a", "x");
    mm_test_alloc_fail(1);
    CHECK_INT(fake_send_msg(s, m), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK_INT(fake_send_msg(s, FRAMES("a", "to make room for one more")), MM_OK);
    mmi_msg_unref(fake_take(a));
    m = FRAMES("a", "shared");
    mm_test_alloc_fail(1);
    CHECK_INT(fake_send_msg(s, mmi_msg_ref(mmi_msg_ref(m))), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK_INT(fake_send_msg(s, m), MM_OK);
    fake_is(m, "a|shared");
    fake_is(fake_take(a), "shared");
    fake_close(s);
}

/* These three have one hash under the fake's first random numbers (they were searched for). */
static void
test_names_of_one_hash_are_still_three_peers(void)
{
    static const char *const names[] = { "n1379899", "n1602755", "n4252388" };
    for (int first = 0; first < 3; first++) {
        fake_sock *s = fake_open(MM_ROUTER, MM_OVERFLOW_ERROR, 10);
        fake_pipe *pipes[3];
        for (int i = 0; i < 3; i++) {
            pipes[i] = fake_connect_as(s, names[i]);
        }
        for (int i = 0; i < 3; i++) {
            CHECK_INT(router_find(s, names[i]), pipes[i]->pipe.id);
        }
        for (int gone = 0; gone < 3; gone++) {
            fake_cut(pipes[(first + gone) % 3]);
            for (int i = 0; i < 3; i++) {
                int place = (i + 3 - first) % 3;
                CHECK_INT(router_find(s, names[i]), place <= gone ? 0 : pipes[i]->pipe.id);
            }
        }
        fake_close(s);
    }
}

static void
test_many_names_come_and_go(void)
{
    fake_sock *s = fake_open(MM_ROUTER, MM_OVERFLOW_ERROR, 2);
    fake_pipe *pipes[FAKE_PIPES_MAX] = { NULL };
    uint32_t seed = 99;
    for (int step = 0; step < 20000; step++) {
        uint32_t i = check_random(&seed) % FAKE_PIPES_MAX;
        char name[16];
        snprintf(name, sizeof(name), "peer-%u", i);
        CHECK_INT(router_find(s, name), pipes[i] == NULL ? 0 : pipes[i]->pipe.id);
        if (pipes[i] == NULL) {
            pipes[i] = fake_connect_as(s, name);
        } else if (check_random(&seed) % 4 == 0) {
            CHECK(fake_connect_as(s, name) == NULL);
        } else {
            fake_cut(pipes[i]);
            pipes[i] = NULL;
        }
    }
    fake_close(s);
}

int
main(void)
{
    RUN(test_a_received_message_begins_with_the_senders_identity);
    RUN(test_a_peer_without_a_name_gets_a_number_of_five_octets);
    RUN(test_a_message_goes_to_the_peer_that_frame_0_names);
    RUN(test_a_message_with_a_peer_id_goes_there_whole);
    RUN(test_unroutable_messages_may_be_dropped_instead);
    RUN(test_a_taken_name_is_refused_and_its_owner_keeps_it);
    RUN(test_handover_gives_the_name_to_the_newcomer_and_closes_the_old_peer);
    RUN(test_a_full_peer_says_again_and_writable_comes_back_with_its_room);
    RUN(test_overflow_policies_drop_for_the_named_peer_only);
    RUN(test_what_a_lost_peer_had_delivered_keeps_its_identity);
    RUN(test_no_memory_takes_no_message_and_loses_none);
    RUN(test_names_of_one_hash_are_still_three_peers);
    RUN(test_many_names_come_and_go);
    return 0;
}
