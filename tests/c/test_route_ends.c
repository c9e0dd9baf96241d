/*
 * test_route_ends.c: messages with keys that find no room, no memory, no words or no time, or that
 * come back.
 * Not here: who has a key (test_route.c).
 * Law: every message sent is somewhere: taken, queued, or in one counter.
 */
#include "keyed.h"

static void
test_nothing_without_a_key_takes_the_room_that_a_key_waits_for(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 100, MM_OPT_AT_LEAST_ONCE);
    s->opts.send_queue_bytes = 300;
    fake_pipe *a = fake_connect(s);
    char large[1001];
    memset(large, 'x', sizeof large);
    large[1000] = 0;
    CHECK_INT(send_keyed(s, "k", "small"), MM_OK);
    CHECK_INT(send_keyed(s, "k", large), MM_OK);
    CHECK(s->ops->sole(s->state) == NULL);
    CHECK_INT(fake_send(s, "turn"), MM_OK);
    CHECK_INT(send_keyed(s, "k", "newer"), MM_EAGAIN);   /* it does not go first */
    CHECK_INT(a->pipe.outbox.count, 1);
    fake_is(fake_take(a), "small");
    CHECK_INT(a->pipe.outbox.count, 1);
    mmi_msg *m = fake_take(a);
    CHECK_INT(m->size, 1000);
    mmi_msg_unref(m);
    fake_is(fake_take(a), "turn");
    CHECK(s->ops->sole(s->state) == &a->pipe);
    fake_close(s);
}

static void
test_drop_oldest_drops_of_the_peer_that_has_the_key(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_DROP_OLDEST, 2, 0);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    char of_a[KEYED_NAME_SIZE];
    key_of(s, a, 0, of_a);
    CHECK_INT(send_keyed(s, of_a, "1"), MM_OK);
    CHECK_INT(send_keyed(s, of_a, "2"), MM_OK);
    CHECK_INT(send_keyed(s, of_a, "3"), MM_OK);
    CHECK(s->stats.dropped_overflow == 1 && a->pipe.dropped == 1 && b->pipe.accepted == 0);
    fake_is(fake_take(a), "2");
    fake_is(fake_take(a), "3");
    fake_close(s);
    s = open_hash(MM_OVERFLOW_DROP_OLDEST, 1, MM_OPT_AT_LEAST_ONCE);
    a = fake_connect(s);
    const char *bodies[] = { "1", "2", "3" };
    for (int i = 0; i < 3; i++) {
        CHECK_INT(send_keyed(s, "k", bodies[i]), MM_OK);
    }
    CHECK_INT(s->stats.dropped_overflow, 1);
    fake_is(fake_take(a), "1");
    fake_is(fake_take(a), "3");   /* 2 was the oldest that waited */
    fake_close(s);
}

static void
test_drop_newest_drops_what_finds_no_room_with_its_peer(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_DROP_NEWEST, 1, 0);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    char of_a[KEYED_NAME_SIZE];
    key_of(s, a, 0, of_a);
    CHECK_INT(send_keyed(s, of_a, "1"), MM_OK);
    CHECK_INT(send_keyed(s, of_a, "2"), MM_OK);
    CHECK(s->stats.dropped_overflow == 1 && a->pipe.dropped == 1 && b->pipe.outbox.count == 0);
    fake_close(s);
}

static void
test_a_peer_that_is_left_keeps_what_was_begun_and_no_key(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 2, MM_OPT_AT_LEAST_ONCE);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    char of_a[KEYED_NAME_SIZE];
    key_of(s, a, 0, of_a);
    const char *bodies[] = { "1", "2", "3" };
    for (int i = 0; i < 3; i++) {
        CHECK_INT(send_keyed(s, of_a, bodies[i]), MM_OK);
    }
    a->pipe.pinned = 1;
    a->pipe.stopped = true;
    s->ops->stop(s->state, &a->pipe);
    CHECK_INT(a->pipe.outbox.count, 1);
    CHECK(owner_of(s, of_a) == &b->pipe);
    fake_is(fake_take(b), "2");
    fake_is(fake_take(b), "3");
    fake_cut(a);
    CHECK_INT(s->stats.dropped_peer_gone, 1);
    fake_close(s);
}

static void
test_a_key_goes_to_a_peer_whose_wire_has_words_for_it(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 4, 0);
    s->framing = mmi_framing_sp(MMI_SP_PLAIN, mmi_sp_of_role(MM_PUSH));
    fake_pipe *a = fake_connect(s);
    char of_a[KEYED_NAME_SIZE];
    key_of(s, a, 0, of_a);
    mmi_msg *two = FRAMES("x", "y"), *from = keyed(of_a, "");
    two->meta = mmi_meta_ref(from->meta);
    two->alone = true;
    mmi_msg_unref(from);
    CHECK_INT(fake_send_msg(s, mmi_msg_ref(two)), MM_ENOTSUP);
    s->framing = &mmi_framing_zmtp;
    fake_pipe *b = fake_connect(s);
    CHECK_INT(fake_send_msg(s, two), MM_OK);
    CHECK_INT(b->pipe.outbox.count, 1);
    fake_close(s);
}

static void
test_without_memory_nothing_is_lost_but_counted(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 40, MM_OPT_AT_LEAST_ONCE);
    fake_pipe *a = fake_connect(s);
    char name[KEYED_NAME_SIZE];
    for (int i = 0; i < 40; i++) {
        CHECK_INT(send_keyed(s, "fill", "x"), MM_OK);
    }
    mmi_msg *m = keyed("k", "x");
    mm_test_alloc_fail(1);
    CHECK_INT(fake_send_msg(s, m), MM_ENOMEM);
    mm_test_alloc_fail(0);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "key %d", i);
        CHECK_INT(send_keyed(s, name, "x"), MM_OK);
    }
    uint32_t most = 0;
    for (int64_t failures = 1; failures < 4; failures++) {
        mm_test_alloc_fail(failures + 2);   /* behind what the test itself needs */
        fake_pipe *b = fake_connect(s);
        mm_test_alloc_fail(0);
        CHECK_INT(fake_queued(s), 80);
        most = b->pipe.outbox.count > most ? b->pipe.outbox.count : most;
        mm_test_alloc_fail(failures);
        fake_cut(b);
        mm_test_alloc_fail(0);
        CHECK_INT(fake_queued(s) + fake_dropped(s), 80);
        while (fake_queued(s) < 80) {
            s->stats.dropped_overflow = s->stats.dropped_peer_gone = 0;
            CHECK_INT(send_keyed(s, "fill", "x"), MM_OK);
        }
    }
    CHECK(most > 0);
    CHECK_INT(fake_take_all(a), 80);
    fake_close(s);
}

static void
test_what_expires_in_a_lane_makes_room(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 2, MM_OPT_AT_LEAST_ONCE);
    fake_pipe *a = fake_connect(s);
    const char *bodies[] = { "1", "2", "late", "3" };
    for (int i = 0; i < 4; i++) {
        CHECK_INT(fake_send_msg(s, keyed_until("k", bodies[i], i == 2 ? 5 : 0)), MM_OK);
    }
    CHECK_INT(send_keyed(s, "k", "4"), MM_EAGAIN);
    mmi_expiry x = { .host = &s->host, .wall_ns = 5, .budget = 100 };
    mmi_route_sweep(s->host.back->route, &x);
    CHECK(x.expired == 1 && !x.more);
    CHECK_INT(s->stats.dropped_expired, 1);
    CHECK_INT(send_keyed(s, "k", "4"), MM_OK);
    for (int i = 0; i < 4; i++) {
        const char *wanted[] = { "1", "2", "3", "4" };
        fake_is(fake_take(a), wanted[i]);
    }
    fake_close(s);
}

static void
test_a_message_that_was_given_back_goes_to_its_peer_first(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 1, MM_OPT_AT_LEAST_ONCE);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    char of_a[KEYED_NAME_SIZE];
    key_of(s, a, 0, of_a);
    CHECK_INT(send_keyed(s, of_a, "1"), MM_OK);
    CHECK_INT(send_keyed(s, of_a, "2"), MM_OK);
    s->ops->again(s->state, keyed(of_a, "again"));
    CHECK_INT(b->pipe.outbox.count, 0);
    fake_is(fake_take(a), "1");
    fake_is(fake_take(a), "again");
    fake_is(fake_take(a), "2");
    fake_close(s);
}

int
main(void)
{
    RUN(test_nothing_without_a_key_takes_the_room_that_a_key_waits_for);
    RUN(test_drop_oldest_drops_of_the_peer_that_has_the_key);
    RUN(test_drop_newest_drops_what_finds_no_room_with_its_peer);
    RUN(test_a_peer_that_is_left_keeps_what_was_begun_and_no_key);
    RUN(test_a_key_goes_to_a_peer_whose_wire_has_words_for_it);
    RUN(test_without_memory_nothing_is_lost_but_counted);
    RUN(test_what_expires_in_a_lane_makes_room);
    RUN(test_a_message_that_was_given_back_goes_to_its_peer_first);
    return 0;
}
