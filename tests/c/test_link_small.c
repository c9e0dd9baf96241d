/*
 * test_link_small.c: little that is written or read for several links at once: each peer gets its
 * message once and whole, whatever becomes of the others' meanwhile.
 * Not here: which thread does it when (test_lead.c); one link (test_engine_outside.c).
 * Law: what a write or a read of one link comes to is no other link's business.
 */
#include "fated.h"

enum { TURNS_MAX = 200 };

/* A publisher's is encoded in a segment that they share; and what is left after the first write is
 * a burst, and the runner's. */
static void
test_what_goes_to_all_is_written_for_several_at_once(void)
{
    static const uint8_t body[SMALL] = "a question";
    for (int r = 0; r < FANS; r++) {
        hub h;
        hub_open(&h, fans[r][0], fans[r][1], PEERS);
        arm();
        CHECK_INT(mm_send(h.center, body, sizeof body, WAIT_MS, 0), MM_OK);
        for (int i = 0; i < PEERS; i++) {
            expect(&h, h.peers[i], body, sizeof body);
        }
        AWAIT(written_of(&h) == PEERS);   /* it may be there before its writer knows */
        CHECK_INT(atomic_load(&writes), PEERS);
        CHECK(atomic_load(&together) >= MMI_SMALL_LINKS / 2);
        hub_close(&h);
    }
}

/* With every fate in every place of a batch. */
static void
test_what_becomes_of_one_write_is_no_other_links_business(void)
{
    static const uint8_t body[SMALL] = "a question";
    for (int shift = 0; shift < FATES; shift++) {
        int reset = 0, got = 0;
        hub h;
        hub_open(&h, MM_BUS, MM_BUS, PEERS);
        for (int i = 0; i < PEERS; i++) {
            fates[i] = (fate)((i + shift) % FATES);
            reset += fates[i] == RESET;
        }
        arm();
        CHECK_INT(mm_send(h.center, body, sizeof body, WAIT_MS, 0), MM_OK);
        AWAIT(written_of(&h) == (uint64_t)(PEERS - reset));   /* the rest, when there is room */
        bool has[PEERS];
        for (int i = 0; i < PEERS; i++) {
            has[i] = false;
        }
        AWAIT((got += take_once(&h, has, body, sizeof body)) == PEERS - reset);
        hub_close(&h);
    }
}

static void
test_a_socket_closed_while_several_are_written_is_not_touched_again(void)
{
    static const uint8_t body[SMALL] = "a question";
    for (int turn = 0; turn < 2 * MMI_SMALL_LINKS; turn += 5) {
        hub h;
        hub_open(&h, MM_BUS, MM_BUS, PEERS);
        atomic_store(&closes_at, turn);
        atomic_store(&closes, h.center);
        arm();
        CHECK_INT(mm_send(h.center, body, sizeof body, WAIT_MS, 0), MM_OK);
        await_closed();
        CHECK_INT(mm_wait_peers(h.center, PEERS, WAIT_MS, 0), MM_ECLOSED);
        hub_close(&h);
    }
}

/* To a publisher's peers: into the segment that is being written. */
static void
test_what_is_queued_while_several_are_written_comes_behind(void)
{
    static const uint8_t body[SMALL] = "a question", second[] = "second";
    for (int r = 0; r < FANS; r++) {
        hub h;
        hub_open(&h, fans[r][0], fans[r][1], PEERS);
        atomic_store(&sends, h.center);
        arm();
        CHECK_INT(mm_send(h.center, body, sizeof body, WAIT_MS, 0), MM_OK);
        for (int i = 0; i < PEERS; i++) {
            expect(&h, h.peers[i], body, sizeof body);
            expect(&h, h.peers[i], second, sizeof second);
        }
        AWAIT(written_of(&h) == 2 * PEERS);   /* it may be there before its writer knows */
        hub_close(&h);
    }
}

/* All have sent before the center looks, a little first so that it reads them together. */
static void
hub_send_all(hub *h, const void *body, size_t size)
{
    static const uint8_t little = 0;
    mm_stats stats;
    for (int i = 0; i < h->count; i++) {
        CHECK_INT(mm_send(h->peers[i], &little, sizeof little, WAIT_MS, 0), MM_OK);
        expect(h, h->center, &little, sizeof little);
    }
    atomic_store(&gate, true);
    for (int i = 0; i < h->count; i++) {
        CHECK_INT(mm_send(h->peers[i], body, size, WAIT_MS, 0), MM_OK);
        do {
            CHECK_INT(mm_socket_stats(h->peers[i], &stats), MM_OK);
        } while (stats.written_messages < 2);
    }
    arm();
    atomic_store(&gate, false);
}

static void
test_what_becomes_of_one_read_is_no_other_links_business(void)
{
    static const uint8_t body[SMALL] = "an answer";
    int most = 0;   /* the system may bring them one by one; not each time */
    for (int shift = 0; shift < FATES || (most < MMI_SMALL_LINKS / 2 && shift < TURNS_MAX);
         shift++) {
        int reset = 0;
        hub h;
        hub_open(&h, MM_PULL, MM_PUSH, PEERS);
        for (int i = 0; i < PEERS; i++) {
            fates[i] = (fate)((i + shift) % FATES);
            reset += fates[i] == RESET;
        }
        hub_send_all(&h, body, sizeof body);
        for (int i = 0; i < PEERS - reset; i++) {
            expect(&h, h.center, body, sizeof body);
        }
        CHECK_INT(mm_recv(h.center, h.batch, 1, 1 << 20, 0, 0), MM_EAGAIN);
        int now = atomic_load(&together);
        most = now > most ? now : most;
        hub_close(&h);
    }
    CHECK(most >= MMI_SMALL_LINKS / 2);
}

/* Some of it comes with the first read, the rest by the way of those that bring much. */
static void
test_what_is_more_than_a_little_is_read_on(void)
{
    static uint8_t body[3 * MMI_SMALL_READ];
    hub h;
    for (size_t i = 0; i < sizeof body; i++) {
        body[i] = (uint8_t)(i % 251);
    }
    hub_open(&h, MM_PULL, MM_PUSH, PEERS);
    hub_send_all(&h, body, sizeof body);
    for (int i = 0; i < PEERS; i++) {
        expect(&h, h.center, body, sizeof body);
    }
    hub_close(&h);
}

/* Whether it was closed in that read.  A poll that was under way as the gate was closed may have
 * read them all before they were counted. */
static bool
closed_in_read(int turn)
{
    static const uint8_t body[SMALL] = "an answer";
    mm_stats stats = { 0 };
    hub h;
    hub_open(&h, MM_PULL, MM_PUSH, PEERS);
    atomic_store(&closes_at, turn);
    atomic_store(&closes, h.center);
    hub_send_all(&h, body, sizeof body);
    AWAIT(atomic_load(&closed) ||
          (mm_socket_stats(h.center, &stats) == MM_OK && stats.parsed_messages == 2 * PEERS));
    bool was = atomic_load(&closed);
    if (was) {
        CHECK_INT(mm_wait_peers(h.center, 1, WAIT_MS, 0), MM_ECLOSED);
    }
    hub_close(&h);
    return was;
}

static void
test_a_socket_closed_while_several_are_read_is_not_touched_again(void)
{
    for (int turn = 0; turn < 2 * MMI_SMALL_LINKS; turn += 5) {
        int tries = 0;
        while (!closed_in_read(turn)) {
            CHECK(++tries < TURNS_MAX);
        }
    }
}

static bool
parked(mm_handle engine)
{
    void *object;
    mmi_engine *e;
    CHECK_INT(mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e), MM_OK);
    bool is = e->lead.runner != MMI_RUNNER_ACTIVE;
    pthread_mutex_unlock(&e->lock);
    return is;
}

/* Until the runner is parked, and stays it until it is rung. */
static void
have_it_parked(hub *h)
{
    static const uint8_t body[SMALL] = "a question";
    atomic_store(&held, true);
    while (!parked(h->here)) {
        CHECK_INT(mm_send(h->peers[0], body, sizeof body, WAIT_MS, 0), MM_OK);
        expect(h, h->center, body, sizeof body);
    }
}

/* One to all, which they then have. */
static void
send_to_all(hub *h)
{
    static const uint8_t body[SMALL] = "a question";
    await_no_burst();
    arm();
    CHECK_INT(mm_send(h->center, body, sizeof body, WAIT_MS, 0), MM_OK);
    for (int i = 0; i < h->count; i++) {
        expect(h, h->peers[i], body, sizeof body);
    }
    CHECK_INT(atomic_load(&writes), h->count);
    atomic_store(&armed, false);
}

/* A lone caller, for whom the runner is parked: what goes to many is written by the two of them,
 * from both ends of what the caller alone writes in order. */
static void
test_a_parked_runner_helps_to_write_to_many(void)
{
    int order[MANY];
    hub h;
    hub_open(&h, MM_BUS, MM_BUS, MANY);
    AWAIT((send_to_all(&h), wrote[0].count == MANY));   /* else the runner was about */
    memcpy(order, wrote[0].stream, sizeof order);
    for (int round = 0; round < 3; round++) {
        have_it_parked(&h);
        atomic_store(&wait_for_another, true);
        send_to_all(&h);
        atomic_store(&wait_for_another, false);
        CHECK(wrote[1].count > 0);
        CHECK_INT(wrote[0].count + wrote[1].count, MANY);
        for (int i = 0; i < wrote[0].count; i++) {
            CHECK_INT(wrote[0].stream[i], order[i]);
        }
        for (int i = 0; i < wrote[1].count; i++) {
            CHECK_INT(wrote[1].stream[i], order[MANY - 1 - i]);
        }
    }
    hub_close(&h);
}

/* A publisher's first writes begin a burst, and the rest is the runner's, however slow they are. */
static void
test_slow_writes_begin_a_burst_as_quick_ones_do(void)
{
    hub h;
    hub_open(&h, MM_PUB, MM_SUB, PEERS);
    send_to_all(&h);   /* the first answers the subscriptions, and is no burst */
    atomic_store(&slow_us, 10);
    send_to_all(&h);
    CHECK_INT(wrote[0].count, MMI_SMALL_LINKS);
    CHECK_INT(wrote[1].count, PEERS - MMI_SMALL_LINKS);
    hub_close(&h);
}

/* One more to all; what they have is taken, so that there is room. */
static int
send_and_look(hub *h, const void *body, size_t size)
{
    for (int i = 0; i < h->count; i++) {
        (void)mm_recv(h->peers[i], h->batch, 100, 1 << 20, 0, 0);
    }
    await_no_burst();
    CHECK_INT(mm_send(h->center, body, size, WAIT_MS, 0), MM_OK);
    return mm_recv(h->center, h->batch, 1, 1 << 20, 0, 0);
}

/* Who only sends does not poll, however often it is helped: the runner takes that back. */
static void
test_a_runner_that_helps_does_not_stay_parked_for_it(void)
{
    static const uint8_t body[SMALL] = "a question", from_peer[] = "from a peer";
    hub h;
    hub_open(&h, MM_BUS, MM_BUS, MANY);
    have_it_parked(&h);
    atomic_store(&held, false);
    CHECK_INT(mm_send(h.peers[1], from_peer, sizeof from_peer, WAIT_MS, 0), MM_OK);
    atomic_store(&periods, 0);
    AWAIT(send_and_look(&h, body, sizeof body) == 1);
    CHECK(memcmp(h.batch->data, from_peer, sizeof from_peer) == 0);
    CHECK(atomic_load(&periods) <= 2);   /* one in which somebody had polled, and one more */
    hub_close(&h);
}

int
main(void)
{
    RUN(test_what_goes_to_all_is_written_for_several_at_once);
    RUN(test_what_becomes_of_one_write_is_no_other_links_business);
    RUN(test_a_socket_closed_while_several_are_written_is_not_touched_again);
    RUN(test_what_is_queued_while_several_are_written_comes_behind);
    RUN(test_what_becomes_of_one_read_is_no_other_links_business);
    RUN(test_what_is_more_than_a_little_is_read_on);
    RUN(test_a_socket_closed_while_several_are_read_is_not_touched_again);
    RUN(test_a_parked_runner_helps_to_write_to_many);
    RUN(test_slow_writes_begin_a_burst_as_quick_ones_do);
    RUN(test_a_runner_that_helps_does_not_stay_parked_for_it);
    return 0;
}
