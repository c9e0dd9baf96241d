/*
 * test_redial.c: a peer that lets itself be connected to, promises signs of life, and hangs, again
 * and again, or while it is being left.
 * Not here: peers that cannot be reached (test_sim_engine.c).
 * Law: it is dialed less and less often, as one that cannot be reached, and what it is left with
 * ends by itself.
 */
#include "raw.h"

enum {
    TTL_DS = 20,                       /* tenths of a second: what it promises */
    HANGS = 12,
    LEAST_MS = 50,
    MOST_MS = 10000,
    EVENTS = 256,
    PART_S = 300,                      /* MMI_PART_MS */
    BUFFER_SIZE = 4096,
    BODIES = 8,
    BODY_SIZE = 1000,
    LINGER_S = 3600
};

/* A peer of the other side that is found there, has said that it lives, and falls silent. */
static void
hang_once(raw *r, int listener)
{
    uint8_t ping[MMI_COMMAND_OVERHEAD];
    mmi_addr peer;
    while (r->plat.accept(r->plat.self, listener, &r->stream, &peer) != MM_OK) {
        CHECK_INT(mm_sim_run(r->world, MS), MM_OK);
    }
    raw_shake(r);
    raw_put(r, ping, mmi_command_put_ping(ping, TTL_DS, NULL, 0));
    for (uint32_t count = 1; count > 0;) {
        CHECK_INT(mm_sim_run(r->world, MS), MM_OK);
        CHECK_INT(mm_peer_count(r->ours, &count), MM_OK);
    }
}

/* The longest time until the next attempt that was told with the last few ends of peers. */
static int64_t
longest_wait(mm_handle push)
{
    static mm_event events[EVENTS];
    uint64_t next;
    int64_t longest = 0;
    int ends = 0, count = mm_socket_events(push, 1, events, EVENTS, &next);
    for (int i = 0; i < count; i++) {
        if (events[i].kind == MM_EVENT_PEER_DOWN) {
            CHECK_INT(events[i].reason, MM_REASON_HEARTBEAT);
            longest = events[i].retry_ns > longest ? events[i].retry_ns : longest;
            ends++;
        }
    }
    CHECK_INT(ends, HANGS);
    return longest;
}

static void
test_a_peer_that_hangs_again_and_again_is_dialed_less_and_less(void)
{
    const mm_sim_opts sim = { .latency_max_ns = 1000 };
    mm_socket_opts opts = opts_of(MM_PUSH);
    opts.reconnect_min_ms = LEAST_MS;
    opts.reconnect_max_ms = MOST_MS;
    raw r = raw_open(MM_PUSH, &sim, &opts);
    mmi_addr at = addr_tcp4(0);
    char endpoint[MM_ENDPOINT_MAX + 1];
    int listener;
    mm_sim_state before, after;
    CHECK_INT(r.plat.listen(r.plat.self, &at, &listener), MM_OK);
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", (unsigned)at.port);
    CHECK_INT(mm_sim_inspect(r.world, &before), MM_OK);
    CHECK_INT(mm_connect(r.ours, endpoint), MM_OK);
    for (int i = 0; i < HANGS; i++) {
        hang_once(&r, listener);
    }
    CHECK(longest_wait(r.ours) > MOST_MS / 4 * (int64_t)MS);
    CHECK_INT(mm_disconnect(r.ours, endpoint), MM_OK);
    CHECK_INT(mm_sim_run(r.world, (PART_S + 10) * 1000 * MS), MM_OK);
    CHECK_INT(mm_sim_inspect(r.world, &after), MM_OK);
    CHECK_INT(after.open_streams, before.open_streams + HANGS);   /* the peer's ends of them */
    raw_close(&r);
}

/* Its system answers, and it reads nothing more of what it is still to get. */
static void
test_a_peer_that_hangs_while_it_is_being_left_is_given_up_before_linger_is_over(void)
{
    static const uint8_t body[BODY_SIZE];
    static mm_event events[EVENTS];
    const mm_sim_opts sim = { .buffer_size = BUFFER_SIZE };
    mm_socket_opts opts = opts_of(MM_PUSH);
    opts.linger_ms = LINGER_S * 1000;
    raw r = raw_open(MM_PUSH, &sim, &opts);
    mmi_addr at = addr_tcp4(0), peer;
    char endpoint[MM_ENDPOINT_MAX + 1];
    uint8_t ping[MMI_COMMAND_OVERHEAD];
    int listener;
    uint64_t next;
    uint32_t peers;
    CHECK_INT(r.plat.listen(r.plat.self, &at, &listener), MM_OK);
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", (unsigned)at.port);
    CHECK_INT(mm_connect(r.ours, endpoint), MM_OK);
    CHECK_INT(mm_sim_run(r.world, MS), MM_OK);
    CHECK_INT(r.plat.accept(r.plat.self, listener, &r.stream, &peer), MM_OK);
    raw_shake(&r);
    raw_put(&r, ping, mmi_command_put_ping(ping, TTL_DS, NULL, 0));
    for (int i = 0; i < BODIES; i++) {
        CHECK_INT(mm_send(r.ours, body, sizeof body, 0, 0), MM_OK);
    }
    CHECK_INT(mm_sim_run(r.world, MS), MM_OK);
    CHECK_INT(mm_disconnect(r.ours, endpoint), MM_OK);
    CHECK_INT(mm_peer_count(r.ours, &peers), MM_OK);
    CHECK_INT(peers, 1);               /* a message was begun */
    CHECK_INT(mm_sim_run(r.world, TTL_DS * 3 * 100 * MS), MM_OK);
    CHECK_INT(mm_peer_count(r.ours, &peers), MM_OK);
    CHECK_INT(peers, 0);
    int count = mm_socket_events(r.ours, 1, events, EVENTS, &next);
    CHECK(count > 0 && events[count - 1].kind == MM_EVENT_PEER_DOWN);
    CHECK_INT(events[count - 1].reason, MM_REASON_HEARTBEAT);
    raw_close(&r);
}

int
main(void)
{
    RUN(test_a_peer_that_hangs_while_it_is_being_left_is_given_up_before_linger_is_over);
    RUN(test_a_peer_that_hangs_again_and_again_is_dialed_less_and_less);
    return 0;
}
