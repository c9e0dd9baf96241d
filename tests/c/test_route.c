/* Where a Push's messages go: by their keys, or to who has the fewest; by queues alone. */
#include "base/limits.h"
#include "fake.h"
#include "queue/backlog.h"
#include "queue/unacked.h"

enum { KEYS = 1000, NAME_SIZE = 32 };

static mmi_msg *
keyed_until(const char *key, const char *body, uint64_t expires_ns)
{
    uint8_t data[64];
    size_t size = strlen(key), at = 3 + size;
    data[0] = MMI_META_KEY;
    data[1] = 0;
    data[2] = (uint8_t)size;
    memcpy(data + 3, key, size);
    if (expires_ns > 0) {
        data[at] = MMI_META_EXPIRES;
        data[at + 1] = 0;
        data[at + 2] = 8;
        for (int i = 0; i < 8; i++) {
            data[at + 3 + (size_t)i] = (uint8_t)(expires_ns >> (56 - 8 * i));
        }
        at += 11;
    }
    CHECK(mmi_meta_check(data, at));
    mmi_msg *m = fake_text(body);
    m->meta = mmi_meta_new(data, at);
    m->alone = true;
    CHECK(m->meta != NULL);
    return m;
}

static mmi_msg *
keyed(const char *key, const char *body)
{
    return keyed_until(key, body, 0);
}

static int
send_keyed(fake_sock *s, const char *key, const char *body)
{
    return fake_send_msg(s, keyed(key, body));
}

/* What a queue charges for a body of one octet with that key. */
static size_t
cost_of(const char *key)
{
    mmi_msg *m = keyed(key, "x");
    size_t cost = mmi_msg_cost(m);
    mmi_msg_unref(m);
    return cost;
}

static fake_sock *
open_hash(uint32_t overflow, uint32_t queue_messages, uint32_t flags)
{
    fake_sock *s = fake_open_with(MM_PUSH, overflow, queue_messages, flags | MM_OPT_HASH);
    s->opts.max_attempts = 0;
    return s;
}

static mmi_pipe *
owner_of(fake_sock *s, const char *key)
{
    mmi_msg *m = keyed(key, "");
    const mmi_lane *lane = mmi_route_owner(s->host.back->route, m);
    mmi_msg_unref(m);
    return lane != NULL ? lane->lb.pipe : NULL;
}

/* The number-th key of that peer. */
static void
key_of(fake_sock *s, const fake_pipe *p, int number, char name[NAME_SIZE])
{
    for (int i = 0;; i++) {
        snprintf(name, NAME_SIZE, "key %d", i);
        if (owner_of(s, name) == &p->pipe && number-- == 0) {
            return;
        }
    }
}

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
    char name[NAME_SIZE];
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
    char name[NAME_SIZE];
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
    char of_a[NAME_SIZE], of_b[NAME_SIZE];
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
    char of_a[NAME_SIZE], of_b[NAME_SIZE], body[NAME_SIZE];
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
    char of_a[NAME_SIZE], of_b[NAME_SIZE];
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
    char name[NAME_SIZE];
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
    char of_a[NAME_SIZE];
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
    char of_a[NAME_SIZE];
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
    char of_a[NAME_SIZE];
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
    char of_a[NAME_SIZE];
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
    char name[NAME_SIZE];
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
    char of_a[NAME_SIZE];
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

static void
test_least_loaded_goes_to_who_has_the_fewest_and_in_turn_among_those(void)
{
    fake_sock *s = fake_open_with(MM_PUSH, MM_OVERFLOW_BLOCK, 4, MM_OPT_LEAST_LOADED);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s), *c = fake_connect(s);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    CHECK(a->pipe.outbox.count == 2 && b->pipe.outbox.count == 2 && c->pipe.outbox.count == 2);
    CHECK_INT(fake_take_all(b), 2);
    CHECK_INT(fake_send(s, "1"), MM_OK);
    CHECK_INT(fake_send(s, "2"), MM_OK);
    CHECK_INT(b->pipe.outbox.count, 2);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    CHECK_INT(fake_send(s, "x"), MM_EAGAIN);
    mmi_msg_unref(fake_take(c));
    CHECK_INT(fake_send(s, "x"), MM_OK);
    CHECK_INT(c->pipe.outbox.count, 4);
    fake_close(s);
}

/* What was written counts until it is acknowledged; what a peer has no room for goes to another. */
static void
test_least_loaded_counts_what_is_not_acknowledged(void)
{
    const uint32_t flags = MM_OPT_LEAST_LOADED | MM_OPT_AT_LEAST_ONCE;
    fake_sock *s = fake_open_with(MM_PUSH, MM_OVERFLOW_BLOCK, 100, flags);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    mmi_unacked *u = mmi_unacked_new(&a->pipe.outbox, NULL, 1);
    const mmi_ack credit = { .limit = 10 };
    uint64_t newly;
    a->pipe.unacked = u;
    CHECK_INT(mmi_unacked_ack(u, &credit, &newly), MM_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(mmi_unacked_reserve(u, 1), MM_OK);
        mmi_unacked_wrote(u, fake_text("w"));
    }
    for (int i = 0; i < 3; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    CHECK(a->pipe.outbox.count == 0 && b->pipe.outbox.count == 3);
    for (int i = 0; i < 30; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    CHECK_INT(a->pipe.outbox.count, 7);   /* all its credit */
    CHECK_INT(b->pipe.outbox.count, 26);
    s->host.closing = true;
    a->pipe.unacked = NULL;
    mmi_unacked_free(u);
    fake_close(s);
}

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
    RUN(test_nothing_without_a_key_takes_the_room_that_a_key_waits_for);
    RUN(test_drop_oldest_drops_of_the_peer_that_has_the_key);
    RUN(test_drop_newest_drops_what_finds_no_room_with_its_peer);
    RUN(test_a_peer_that_is_left_keeps_what_was_begun_and_no_key);
    RUN(test_a_key_goes_to_a_peer_whose_wire_has_words_for_it);
    RUN(test_without_memory_nothing_is_lost_but_counted);
    RUN(test_what_expires_in_a_lane_makes_room);
    RUN(test_a_message_that_was_given_back_goes_to_its_peer_first);
    RUN(test_least_loaded_goes_to_who_has_the_fewest_and_in_turn_among_those);
    RUN(test_least_loaded_counts_what_is_not_acknowledged);
    return 0;
}
