/*
 * test_route.c: who has a key, what waits for its owner, and where it goes as peers come and go.
 * Not here: drops, memory, expiry (test_route_ends.c), worlds (tests/sim/test_routing.py).
 * Law: a key has one owner, and its messages keep their order.
 */
#include "keyed.h"

enum { KEYS = 1000 };

/* Senders of other versions and machines choose the same peer by these. */
static void
test_numbers_of_names_never_change(void)
{
    const uint8_t name[] = "customer-4711";
    CHECK(mmi_route_hash(name, 0) == UINT64_C(0xa706dd2f4d197e6f));
    CHECK(mmi_route_hash(name, 1) == UINT64_C(0x2027070546298a6f));
    CHECK(mmi_route_hash(name, 8) == UINT64_C(0xf20d780d20a28396));
    CHECK(mmi_route_hash(name, 13) == UINT64_C(0x61dffe8702e24ee2));
    CHECK(mmi_route_weight(1, 2) == UINT64_C(0xe06dd043328bd285));
    CHECK(mmi_route_hash((const uint8_t *)"a\0", 1) != mmi_route_hash((const uint8_t *)"a\0", 2));
}

/* The peers of all keys. */
static void
owners(fake_sock *s, uint64_t ids[KEYS])
{
    char name[KEYED_NAME_SIZE];
    for (int i = 0; i < KEYS; i++) {
        snprintf(name, sizeof name, "key %d", i);
        const mmi_pipe *p = owner_of(s, name);
        ids[i] = p != NULL ? p->id : 0;
    }
}

static void
test_keys_are_spread_evenly_and_move_only_when_they_must(void)
{
    enum { PEERS = 10 };
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 4, 0);
    fake_pipe *peers[PEERS];
    uint64_t before[KEYS], after[KEYS];
    for (int i = 0; i < PEERS; i++) {
        peers[i] = fake_connect(s);
    }
    owners(s, before);
    for (int i = 0; i < PEERS; i++) {
        int count = 0;
        for (int k = 0; k < KEYS; k++) {
            count += before[k] == peers[i]->pipe.id;
        }
        CHECK(count > KEYS / PEERS / 2 && count < KEYS / PEERS * 2);
    }
    uint64_t lost = peers[3]->pipe.id;
    fake_cut(peers[3]);
    owners(s, after);
    for (int k = 0; k < KEYS; k++) {
        CHECK(before[k] == lost ? after[k] != lost : after[k] == before[k]);
    }
    uint64_t fresh = fake_connect(s)->pipe.id;
    owners(s, before);
    for (int k = 0; k < KEYS; k++) {
        CHECK(before[k] == fresh || before[k] == after[k]);
    }
    fake_close(s);
}

static void
test_a_peer_of_the_same_identity_gets_its_keys_back(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 4, 0);
    fake_pipe *a = fake_connect_as(s, "a");
    (void)fake_connect_as(s, "b");
    (void)fake_connect_as(s, "c");
    char name[KEYED_NAME_SIZE];
    key_of(s, a, 0, name);
    fake_pipe *twin = fake_connect_as(s, "a");
    CHECK(owner_of(s, name) == &a->pipe);   /* who came first has it */
    fake_cut(a);
    CHECK(owner_of(s, name) == &twin->pipe);
    fake_cut(twin);
    CHECK(owner_of(s, name) != NULL);
    a = fake_connect_as(s, "a");
    CHECK(owner_of(s, name) == &a->pipe);
    fake_close(s);
}

static void
test_what_has_no_key_goes_in_turn(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 4, 0);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(i % 2 ? send_keyed(s, "", "x") : fake_send(s, "x"), MM_OK);
    }
    CHECK(a->pipe.outbox.count == 2 && b->pipe.outbox.count == 2);
    fake_close(s);
}

static void
test_a_full_peer_stops_its_own_keys_only(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 2, 0);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    char of_a[KEYED_NAME_SIZE], of_b[KEYED_NAME_SIZE];
    key_of(s, a, 0, of_a);
    key_of(s, b, 0, of_b);
    CHECK_INT(send_keyed(s, of_a, "1"), MM_OK);
    CHECK_INT(send_keyed(s, of_a, "2"), MM_OK);
    CHECK_INT(send_keyed(s, of_a, "3"), MM_EAGAIN);
    CHECK_INT(send_keyed(s, of_b, "4"), MM_OK);
    CHECK_INT(fake_send(s, "5"), MM_OK);
    CHECK_INT(b->pipe.outbox.count, 2);
    fake_is(fake_take(a), "1");
    CHECK_INT(send_keyed(s, of_a, "3"), MM_OK);
    fake_is(fake_take(a), "2");
    fake_is(fake_take(a), "3");
    fake_close(s);
}

/* Where it is acknowledged, as credit is little: up to the limits of a queue for each peer. */
static void
test_what_is_acknowledged_waits_for_its_peer_in_order(void)
{
    enum { ROOM = 3 };
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, ROOM, MM_OPT_AT_LEAST_ONCE);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    char of_a[KEYED_NAME_SIZE], of_b[KEYED_NAME_SIZE], body[KEYED_NAME_SIZE];
    key_of(s, a, 0, of_a);
    key_of(s, b, 0, of_b);
    for (int i = 0; i < 2 * ROOM; i++) {
        snprintf(body, sizeof body, "%d", i);
        CHECK_INT(send_keyed(s, of_a, body), MM_OK);
    }
    CHECK_INT(send_keyed(s, of_a, "no"), MM_EAGAIN);
    uint64_t bytes;
    CHECK_INT(mmi_back_count(s->host.back, &bytes), ROOM);
    CHECK_INT(bytes, ROOM * cost_of(of_a));
    for (int i = 0; i < 2 * ROOM; i++) {
        CHECK_INT(send_keyed(s, of_b, "x"), MM_OK);
    }
    CHECK_INT(send_keyed(s, of_b, "no"), MM_EAGAIN);
    for (int i = 0; i < 2 * ROOM; i++) {
        snprintf(body, sizeof body, "%d", i);
        fake_is(fake_take(a), body);
    }
    CHECK(fake_take(a) == NULL);
    CHECK_INT(send_keyed(s, of_a, "yes"), MM_OK);
    CHECK_INT(mmi_back_count(s->host.back, &bytes), ROOM);
    fake_close(s);
}

static void
test_by_bytes_a_lane_takes_what_a_queue_does(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 100, MM_OPT_AT_LEAST_ONCE);
    s->opts.send_queue_bytes = 2 * cost_of("k");
    (void)fake_connect(s);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(send_keyed(s, "k", "x"), MM_OK);
    }
    CHECK_INT(send_keyed(s, "k", "x"), MM_EAGAIN);
    fake_close(s);
}

static void
test_what_a_lost_peer_had_goes_before_what_is_newer(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 2, MM_OPT_AT_LEAST_ONCE);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    char of_a[KEYED_NAME_SIZE], of_b[KEYED_NAME_SIZE];
    key_of(s, a, 0, of_a);
    key_of(s, b, 0, of_b);
    const char *bodies[] = { "1", "2", "3", "4" };
    for (int i = 0; i < 4; i++) {
        CHECK_INT(send_keyed(s, of_a, bodies[i]), MM_OK);   /* 3 and 4 wait */
        CHECK_INT(send_keyed(s, of_b, "b"), MM_OK);
    }
    CHECK_INT(fake_send(s, "none"), MM_OK);                 /* waits for anybody */
    fake_cut(a);
    CHECK_INT(fake_queued(s), 9);
    CHECK_INT(send_keyed(s, of_a, "5"), MM_EAGAIN);         /* two of b's own wait */
    const char *wanted[] = { "b", "b", "1", "none", "2", "3", "4", "b", "b" };
    for (int i = 0; i < 9; i++) {
        fake_is(fake_take(b), wanted[i]);
    }
    CHECK(fake_take(b) == NULL);
    CHECK_INT(send_keyed(s, of_a, "5"), MM_OK);
    fake_close(s);
}

static void
test_what_waits_goes_with_its_key_to_a_peer_that_comes(void)
{
    enum { MESSAGES = 60 };
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, MESSAGES, MM_OPT_AT_LEAST_ONCE);
    fake_pipe *a = fake_connect(s);
    for (int i = 0; i < MESSAGES; i++) {
        CHECK_INT(send_keyed(s, "fill", "x"), MM_OK);
    }
    char name[KEYED_NAME_SIZE];
    for (int i = 0; i < MESSAGES; i++) {
        snprintf(name, sizeof name, "key %d", i % 6);
        CHECK_INT(send_keyed(s, name, name), MM_OK);
    }
    fake_pipe *b = fake_connect(s);
    uint32_t moved = b->pipe.outbox.count;
    CHECK(moved > 0 && moved < MESSAGES && moved % (MESSAGES / 6) == 0);
    CHECK_INT(fake_queued(s), 2 * MESSAGES);
    for (mmi_msg *m = fake_take(b); m != NULL; m = fake_take(b)) {
        snprintf(name, sizeof name, "%.*s", (int)m->size, (const char *)m->frames[0].data);
        CHECK(owner_of(s, name) == &b->pipe);
        mmi_msg_unref(m);
    }
    CHECK_INT(fake_take_all(a), 2 * MESSAGES - moved);
    fake_close(s);
}

static void
test_what_was_sent_to_nobody_goes_to_its_peers_and_in_order(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 3, MM_OPT_AT_LEAST_ONCE);
    CHECK_INT(send_keyed(s, "k", "1"), MM_OK);
    CHECK_INT(fake_send(s, "none"), MM_OK);
    CHECK_INT(send_keyed(s, "k", "2"), MM_OK);
    CHECK_INT(send_keyed(s, "k", "3"), MM_EAGAIN);
    s->opts.send_queue_messages = 1;
    fake_pipe *a = fake_connect(s);
    CHECK_INT(send_keyed(s, "k", "3"), MM_EAGAIN);
    fake_is(fake_take(a), "1");
    fake_is(fake_take(a), "none");   /* they take turns */
    fake_is(fake_take(a), "2");
    CHECK_INT(send_keyed(s, "k", "3"), MM_OK);
    fake_cut(a);
    CHECK_INT(fake_queued(s), 1);
    fake_close(s);
}

/* A large message waits for an empty queue, and small ones without a key do not keep it filled. */
/* What was written counts until it is acknowledged; what a peer has no room for goes to another. */
int
main(void)
{
    RUN(test_numbers_of_names_never_change);
    RUN(test_keys_are_spread_evenly_and_move_only_when_they_must);
    RUN(test_a_peer_of_the_same_identity_gets_its_keys_back);
    RUN(test_what_has_no_key_goes_in_turn);
    RUN(test_a_full_peer_stops_its_own_keys_only);
    RUN(test_what_is_acknowledged_waits_for_its_peer_in_order);
    RUN(test_by_bytes_a_lane_takes_what_a_queue_does);
    RUN(test_what_a_lost_peer_had_goes_before_what_is_newer);
    RUN(test_what_waits_goes_with_its_key_to_a_peer_that_comes);
    RUN(test_what_was_sent_to_nobody_goes_to_its_peers_and_in_order);
    return 0;
}
