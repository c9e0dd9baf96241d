/*
 * test_sim_engine.c: endpoints over time, in a simulated world: when a dialer tries again, when a
 * silent peer is given up, when a listener pauses.
 * Not here: what roles do with messages (test_push.c ...), real sockets (tests/fault).
 * Law: no real time; each bound is checked to the nanosecond of the virtual clock.
 */
#include "engine/handle.h"
#include "plat/sim/sim.h"
#include "sockets.h"
#include "strangers.h"
#include "sched/sched.h"

enum { EVENTS = 256 };

static const uint64_t MS = 1000000, SECOND = 1000000000;

typedef struct stage {
    mm_handle world, a, b;
} stage;

static stage
stage_open(uint64_t seed)
{
    mm_sim_opts opts = { .latency_min_ns = MS, .latency_max_ns = MS };
    stage s;
    CHECK_INT(mm_sim_open(seed, &opts, &s.world), MM_OK);
    CHECK_INT(mm_sim_engine_open(s.world, &s.a), MM_OK);
    CHECK_INT(mm_sim_engine_open(s.world, &s.b), MM_OK);
    return s;
}

static void
stage_close(stage *s)
{
    close_engine(s->a, 1000);
    close_engine(s->b, 1000);
    CHECK_INT(mm_sim_close(s->world), MM_OK);
}

/* How often something happened for a reason; when, in at (may be NULL). */
static uint32_t
happened(mm_handle socket, int kind, int reason, uint64_t *at)
{
    static mm_event events[EVENTS];
    uint64_t next;
    uint32_t times = 0;
    int count = mm_socket_events(socket, 1, events, EVENTS, &next);
    CHECK(count >= 0);
    for (int i = 0; i < count; i++) {
        if ((int)events[i].kind == kind && events[i].reason == reason) {
            if (at != NULL) {
                at[times] = events[i].time_ns;
            }
            times++;
        }
    }
    return times;
}

static void
test_attempts_lie_a_random_time_apart_up_to_the_whole_cap(void)
{
    static const uint32_t caps_ms[] = { 50, 10000, 60000, 3600000 };
    for (size_t i = 0; i < sizeof caps_ms / sizeof caps_ms[0]; i++) {
        stage s = stage_open(i + 1);
        mm_socket_opts opts = opts_of(MM_PUSH);
        opts.reconnect_min_ms = opts.reconnect_max_ms = caps_ms[i];
        mm_handle push = open_with(s.a, MM_PUSH, &opts);
        uint64_t at[EVENTS], cap_ns = caps_ms[i] * MS, longest = 0;
        CHECK_INT(mm_connect(push, "tcp://127.0.0.1:9"), MM_OK);
        CHECK_INT(mm_sim_run(s.world, 110 * cap_ns), MM_OK);
        uint32_t count = happened(push, MM_EVENT_CONNECT_FAILED, MM_REASON_REFUSED, at);
        CHECK(count >= 120);   /* 220 are to be expected */
        for (uint32_t k = 1; k < count; k++) {
            uint64_t gap = at[k] - at[k - 1];
            CHECK(gap <= cap_ns);
            longest = gap > longest ? gap : longest;
        }
        CHECK(longest > cap_ns / 10 * 9);
        uint64_t mean = (at[count - 1] - at[0]) / (count - 1);
        CHECK(mean > cap_ns / 10 * 4 && mean < cap_ns / 10 * 6);
        stage_close(&s);
    }
}

static void
test_the_cap_doubles_from_the_least_to_the_most(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        stage s = stage_open(seed);
        mm_socket_opts opts = opts_of(MM_PUSH);
        opts.reconnect_min_ms = 10;
        opts.reconnect_max_ms = 80;
        mm_handle push = open_with(s.a, MM_PUSH, &opts);
        uint64_t at[EVENTS], cap_ns = 10 * MS;
        CHECK_INT(mm_connect(push, "tcp://127.0.0.1:9"), MM_OK);
        CHECK_INT(mm_sim_run(s.world, SECOND), MM_OK);
        uint32_t count = happened(push, MM_EVENT_CONNECT_FAILED, MM_REASON_REFUSED, at);
        CHECK(count > 8);
        for (uint32_t k = 1; k < count; k++) {
            CHECK(at[k] - at[k - 1] <= cap_ns);
            cap_ns = cap_ns < 80 * MS ? cap_ns * 2 : cap_ns;
        }
        stage_close(&s);
    }
}

static void
test_a_name_is_looked_up_and_an_unknown_one_again_and_again(void)
{
    stage s = stage_open(1);
    mm_socket_opts opts = opts_of(MM_PULL);
    mm_handle pull = open_with(s.a, MM_PULL, &opts), push, lost;
    char endpoint[256], url[300];
    opts = opts_of(MM_PUSH);
    opts.reconnect_max_ms = opts.reconnect_min_ms;
    push = open_with(s.b, MM_PUSH, &opts);
    lost = open_with(s.b, MM_PUSH, &opts);
    CHECK_INT(mm_bind(pull, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), MM_OK);
    snprintf(url, sizeof url, "tcp://somewhere:%s", strrchr(endpoint, ':') + 1);
    CHECK_INT(mm_connect(push, url), MM_OK);
    CHECK_INT(mm_wait_peers(push, 1, 1000, 0), MM_OK);
    CHECK_INT(mm_connect(lost, "tcp://nowhere.invalid:1"), MM_OK);
    CHECK_INT(mm_sim_run(s.world, SECOND), MM_OK);
    CHECK(happened(lost, MM_EVENT_CONNECT_FAILED, MM_REASON_UNREACHABLE, NULL) > 10);
    CHECK_INT(mm_disconnect(lost, "tcp://nowhere.invalid:1"), MM_OK);
    uint32_t before = happened(lost, MM_EVENT_CONNECT_FAILED, MM_REASON_UNREACHABLE, NULL);
    CHECK_INT(mm_sim_run(s.world, SECOND), MM_OK);
    CHECK_INT(happened(lost, MM_EVENT_CONNECT_FAILED, MM_REASON_UNREACHABLE, NULL), before);
    stage_close(&s);
}

/* Nobody knows what the peer of a DEALER has yet to say: silence is what ends it. */
static void
test_a_dealer_leaves_another_one_after_a_minute_of_silence(void)
{
    stage s = stage_open(1);
    mm_socket_opts opts = opts_of(MM_DEALER);
    mm_handle other = open_with(s.a, MM_DEALER, &opts), dealer = open_with(s.b, MM_DEALER, &opts);
    char endpoint[256];
    uint32_t count;
    CHECK_INT(mm_bind(other, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(dealer, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(dealer, 1, 1000, 0), MM_OK);
    CHECK_INT(mm_leave(dealer, endpoint, 2 * MM_LEAVE_LATER), MM_EINVAL);
    CHECK_INT(mm_leave(dealer, endpoint, MM_LEAVE_LATER), MM_OK);
    CHECK_INT(mm_leave(dealer, endpoint, MM_LEAVE_LATER), MM_ENOENT);
    CHECK_INT(mm_sim_run(s.world, 59 * SECOND), MM_OK);
    CHECK_INT(mm_send(other, "late", 4, 0, 0), MM_OK);
    CHECK_INT(mm_sim_run(s.world, 59 * SECOND), MM_OK);
    CHECK_INT(mm_peer_count(dealer, &count), MM_OK);
    CHECK_INT(count, 1);
    take_all(dealer, 1, 0);
    CHECK_INT(mm_sim_run(s.world, 2 * SECOND), MM_OK);
    CHECK_INT(mm_peer_count(dealer, &count), MM_OK);
    CHECK_INT(count, 0);
    stage_close(&s);
}

typedef struct pair {
    mm_handle push, pull;
} pair;

/* A listens with PULL, b dials with PUSH; the heartbeats of each as given. */
static pair
joined(stage *s, uint32_t interval_ms, uint32_t timeout_ms)
{
    pair p;
    char endpoint[256];
    mm_socket_opts opts = opts_of(MM_PULL);
    opts.heartbeat_interval_ms = interval_ms;
    opts.heartbeat_timeout_ms = timeout_ms;
    p.pull = open_with(s->a, MM_PULL, &opts);
    p.push = open_with(s->b, MM_PUSH, &opts);
    CHECK_INT(mm_bind(p.pull, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(p.push, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(p.push, 1, 1000, 0), MM_OK);
    CHECK_INT(mm_wait_peers(p.pull, 1, 1000, 0), MM_OK);
    return p;
}

static void
test_a_silent_peer_is_given_up_in_time_and_a_quiet_one_is_not(void)
{
    stage s = stage_open(1);
    pair p = joined(&s, 1000, 3000);
    CHECK_INT(mm_sim_run(s.world, 3600 * SECOND), MM_OK);   /* nothing to say, but alive */
    CHECK_INT(happened(p.push, MM_EVENT_PEER_DOWN, MM_REASON_HEARTBEAT, NULL), 0);
    CHECK_INT(mm_sim_partition(s.world, 0, 1, 3600 * SECOND), MM_OK);   /* a is not heard */
    CHECK_INT(mm_sim_run(s.world, 1900 * MS), MM_OK);
    CHECK_INT(happened(p.push, MM_EVENT_PEER_DOWN, MM_REASON_HEARTBEAT, NULL), 0);
    CHECK_INT(mm_sim_run(s.world, 1200 * MS), MM_OK);
    CHECK_INT(happened(p.push, MM_EVENT_PEER_DOWN, MM_REASON_HEARTBEAT, NULL), 1);
    CHECK_INT(mm_sim_heal(s.world), MM_OK);
    CHECK_INT(mm_wait_peers(p.push, 1, 30000, 0), MM_OK);
    stage_close(&s);
}

static void
test_without_heartbeats_a_silent_peer_is_kept(void)
{
    stage s = stage_open(1);
    pair p = joined(&s, 0, 0);
    CHECK_INT(mm_sim_partition(s.world, 0, 1, UINT64_MAX), MM_OK);
    CHECK_INT(mm_sim_run(s.world, 3600 * SECOND), MM_OK);
    uint32_t peers;
    CHECK_INT(mm_peer_count(p.push, &peers), MM_OK);
    CHECK_INT(peers, 1);
    stage_close(&s);
}

static void
test_a_drain_ends_when_the_peer_has_confirmed_and_times_the_way(void)
{
    stage s = stage_open(1);
    pair p = joined(&s, 1000, 3000);
    mm_drain_info info;
    mm_peer peer;
    uint32_t count;
    for (int i = 0; i < 10; i++) {
        CHECK_INT(mm_send(p.push, (const uint8_t *)"x", 1, 0, 0), MM_OK);
    }
    CHECK_INT(mm_drain(p.push, 10000, 0, &info), MM_OK);
    CHECK(info.confirmed_messages == 10 && info.queued_messages == 0);
    CHECK(info.unconfirmed_messages == 0 && info.in_doubt_messages == 0);
    CHECK_INT(mm_socket_peers(p.push, &peer, 1, &count), MM_OK);
    CHECK(count == 1 && peer.confirmed_messages == 10 && peer.outgoing == 1);
    CHECK(peer.rtt_ns >= (int64_t)(2 * MS) && peer.rtt_ns < (int64_t)(4 * MS));
    CHECK_INT(mm_sim_partition(s.world, 0, 1, UINT64_MAX), MM_OK);
    CHECK_INT(mm_send(p.push, (const uint8_t *)"x", 1, 0, 0), MM_OK);
    CHECK_INT(mm_drain(p.push, 500, 0, &info), MM_ETIMEDOUT);
    CHECK_INT(info.unconfirmed_messages, 1);
    stage_close(&s);
}

static void
test_those_that_say_nothing_are_evicted_or_time_out(void)
{
    stage s = stage_open(1);
    mmi_plat third;
    mm_socket_opts opts = opts_of(MM_PULL);
    mm_stats stats;
    char endpoint[256];
    opts.half_open_max = 4;
    opts.handshake_timeout_ms = 2000;
    mm_handle pull = open_with(s.a, MM_PULL, &opts);
    CHECK_INT(mm_bind(pull, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mmi_sim_plat(mmi_sim_find(s.world), &third), MM_OK);
    strangers(&third, endpoint, 10);
    CHECK_INT(mm_sim_run(s.world, 1999 * MS), MM_OK);
    CHECK_INT(mm_socket_stats(pull, &stats), MM_OK);
    CHECK(stats.half_open == 4 && stats.closed[MM_REASON_EVICTED] == 6 && stats.accepts == 10);
    CHECK_INT(mm_sim_run(s.world, 10 * MS), MM_OK);
    CHECK_INT(mm_socket_stats(pull, &stats), MM_OK);
    CHECK(stats.half_open == 0 && stats.closed[MM_REASON_HANDSHAKE_TIMEOUT] == 4);
    CHECK(stats.peers == 0 && stats.handshakes_failed == 10);
    third.free(third.self);
    stage_close(&s);
}

static void
test_connections_over_the_limit_are_closed_and_counted(void)
{
    stage s = stage_open(1);
    mm_socket_opts opts = opts_of(MM_PULL);
    mm_stats stats;
    char endpoint[256];
    opts.connections_max = 2;
    mm_handle pull = open_with(s.a, MM_PULL, &opts);
    CHECK_INT(mm_bind(pull, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), MM_OK);
    opts = opts_of(MM_PUSH);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(mm_connect(open_with(s.b, MM_PUSH, &opts), endpoint), MM_OK);
    }
    CHECK_INT(mm_sim_run(s.world, SECOND), MM_OK);
    CHECK_INT(mm_socket_stats(pull, &stats), MM_OK);
    CHECK(stats.peers == 2 && stats.closed[MM_REASON_CONNECTIONS] > 0);
    stage_close(&s);
}

static void
test_out_of_descriptors_a_listener_pauses_and_comes_back(void)
{
    stage s = stage_open(1);
    mm_socket_opts opts = opts_of(MM_PULL);
    char endpoint[256];
    mm_handle pull = open_with(s.a, MM_PULL, &opts);
    opts = opts_of(MM_PUSH);
    mm_handle push = open_with(s.b, MM_PUSH, &opts);
    mm_sim_opts faults = { .latency_max_ns = MS, .accept_emfile_ppm = 1000000 };
    CHECK_INT(mm_bind(pull, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_sim_faults(s.world, &faults), MM_OK);
    CHECK_INT(mm_connect(push, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(pull, 1, 5000, 0), MM_ETIMEDOUT);
    CHECK_INT(happened(pull, MM_EVENT_ACCEPT_PAUSED, MM_REASON_NONE, NULL), 1);
    CHECK_INT(mm_sim_heal(s.world), MM_OK);
    CHECK_INT(mm_wait_peers(pull, 1, 5000, 0), MM_OK);
    CHECK_INT(happened(pull, MM_EVENT_ACCEPT_RESUMED, MM_REASON_NONE, NULL), 1);
    stage_close(&s);
}

static void
test_an_end_that_loses_nothing_tells_of_no_loss(void)
{
    stage s = stage_open(1);
    pair p = joined(&s, 1000, 3000);
    CHECK_INT(mm_sim_reset_all(s.world), MM_OK);
    CHECK_INT(mm_sim_run(s.world, 5 * SECOND), MM_OK);
    CHECK_INT(happened(p.push, MM_EVENT_PEER_DOWN, MM_REASON_RESET, NULL), 1);
    CHECK_INT(happened(p.push, MM_EVENT_DROPPED, MM_REASON_NONE, NULL), 0);
    CHECK_INT(happened(p.pull, MM_EVENT_DROPPED, MM_REASON_NONE, NULL), 0);
    stage_close(&s);
}

static uint16_t two_ports[2];

/* In place of the platform's: every name has two addresses. */
static int
resolve_two(void *self, const char *host, uint16_t port, uint64_t tag, mmi_addr *out, int cap)
{
    (void)self, (void)host, (void)port, (void)tag;
    for (int i = 0; i < 2 && i < cap; i++) {
        out[i] = (mmi_addr){ .kind = MMI_ADDR_TCP4, .port = two_ports[i], .ip = { 127, 0, 0, 1 } };
    }
    return 2;
}

static uint16_t
bound_port(mm_handle socket)
{
    char endpoint[256];
    CHECK_INT(mm_bind(socket, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), MM_OK);
    return (uint16_t)atoi(strrchr(endpoint, ':') + 1);
}

static mmi_engine *
entered(mm_handle engine)
{
    void *object;
    mmi_engine *e;
    CHECK_INT(mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e), MM_OK);
    return e;
}

static uint32_t
unencodable(mm_handle socket)
{
    return happened(socket, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_SOCKET_TYPE, NULL);
}

/* The first address is that of a role it cannot talk to; or the second is. */
static void
test_only_who_was_no_peer_makes_a_dialer_try_the_next_address_at_once(void)
{
    for (int wrong = 0; wrong < 2; wrong++) {
        stage s = stage_open(1);
        mm_handle pull = open_socket(s.a, MM_PULL), pub = open_socket(s.a, MM_PUB);
        mm_socket_opts opts = opts_of(MM_PUSH);
        opts.reconnect_min_ms = opts.reconnect_max_ms = 3600000;
        mm_handle push = open_with(s.b, MM_PUSH, &opts);
        two_ports[wrong] = bound_port(pub);
        two_ports[1 - wrong] = bound_port(pull);
        mmi_engine *e = entered(s.b);
        e->plat.resolve = resolve_two;
        mmi_engine_leave(e);
        CHECK_INT(mm_connect(push, "tcp://twice:1"), MM_OK);
        CHECK_INT(mm_wait_peers(push, 1, 1000, 0), MM_OK);
        CHECK_INT(unencodable(push), wrong == 0);
        CHECK_INT(mm_sim_run(s.world, SECOND), MM_OK);
        CHECK_INT(mm_sim_reset_all(s.world), MM_OK);
        CHECK_INT(mm_sim_run(s.world, SECOND), MM_OK);   /* of an hour, at random */
        CHECK_INT(unencodable(push), wrong == 0);
        stage_close(&s);
    }
}

static void
test_only_an_engine_with_nothing_to_settle_is_left_quickly(void)
{
    stage s = stage_open(1);
    (void)joined(&s, 0, 0);
    CHECK_INT(mm_sim_run(s.world, SECOND), MM_OK);
    mmi_engine *e = entered(s.b);
    mmi_timer timer = { 0 };
    CHECK(mmi_engine_leaves_quick(e));
    CHECK_INT(mmi_timer_set(&e->timers, &timer, e->lead.deadline_ns - 1), MM_OK);
    CHECK(!mmi_engine_leaves_quick(e));
    mmi_timer_clear(&e->timers, &timer);
    CHECK(mmi_engine_leaves_quick(e));
    e->closing = true;
    CHECK(!mmi_engine_leaves_quick(e));
    e->closing = false;
    mmi_engine_leave(e);
    stage_close(&s);
}

static uint32_t probe_ms_asked;

/* In place of the platform's: nothing is owed. */
static void
transit_noted(void *self, int stream, uint32_t probe_ms, mmi_transit *out)
{
    (void)self, (void)stream;
    probe_ms_asked = probe_ms;
    *out = (mmi_transit){ .untaken = 0 };
}

static void
test_the_system_is_to_ask_after_a_silent_peer_twice_an_interval(void)
{
    stage s = stage_open(1);
    (void)joined(&s, 1000, 3000);
    mmi_engine *e = entered(s.b);
    e->plat.transit = transit_noted;
    mmi_engine_leave(e);
    CHECK_INT(mm_sim_partition(s.world, 0, 1, SECOND * 2), MM_OK);
    CHECK_INT(mm_sim_run(s.world, SECOND * 2), MM_OK);
    CHECK_INT(probe_ms_asked, 500);
    stage_close(&s);
}

/* One that is dialed and is not there yet; or that dialed and has said nothing. */
static void
test_receiving_ends_at_once_though_a_peer_may_be_about_to_come(void)
{
    for (int dialed = 0; dialed < 2; dialed++) {
        stage s = stage_open(1);
        mm_handle push = open_socket(s.a, MM_PUSH), pull = open_socket(s.b, MM_PULL);
        uint64_t latency_ns = dialed ? SECOND : MS;
        mm_sim_opts faults = { .latency_min_ns = latency_ns,
                               .latency_max_ns = latency_ns,
                               .half_open_ppm = 1000000 };
        mm_batch *batch;
        char url[64];
        snprintf(url, sizeof url, "tcp://127.0.0.1:%u", bound_port(dialed ? push : pull));
        CHECK_INT(mm_sim_faults(s.world, &faults), MM_OK);
        CHECK_INT(mm_connect(dialed ? pull : push, url), MM_OK);
        CHECK_INT(mm_sim_run(s.world, 100 * MS), MM_OK);
        CHECK_INT(mm_batch_new(&batch), MM_OK);
        CHECK_INT(mm_recv(pull, batch, 1, 1, 0, 0), MM_EAGAIN);
        CHECK_INT(mm_stop_receiving(pull, 3600000), MM_OK);
        CHECK_INT(mm_recv(pull, batch, 1, 1, 0, 0), MM_ECLOSED);
        mm_batch_free(batch);
        stage_close(&s);
    }
}

static uint64_t
now_ns(const stage *s)
{
    mm_sim_state state;
    CHECK_INT(mm_sim_inspect(s->world, &state), MM_OK);
    return state.now_ns;
}

static void
test_closing_an_engine_takes_the_time_it_was_given(void)
{
    static const int64_t given_ms[] = { 0, 1, 700, -1 }, taken_ms[] = { 0, 1, 700, 1000 };
    static const uint8_t body[60000];
    for (int i = 0; i < 4; i++) {
        stage s = stage_open(1);
        pair p = joined(&s, 0, 0);
        uint64_t abandoned;
        CHECK_INT(mm_sim_partition(s.world, 1, 0, UINT64_MAX), MM_OK);   /* nothing arrives */
        while (mm_send(p.push, body, sizeof body, 0, 0) == MM_OK) {
        }
        uint64_t before = now_ns(&s);
        CHECK_INT(mm_engine_close(s.b, given_ms[i], &abandoned), MM_OK);
        CHECK_INT((now_ns(&s) - before) / MS, taken_ms[i]);
        CHECK(abandoned > 0);
        close_engine(s.a, 1000);
        CHECK_INT(mm_sim_close(s.world), MM_OK);
    }
}

int
main(void)
{
    RUN(test_attempts_lie_a_random_time_apart_up_to_the_whole_cap);
    RUN(test_the_cap_doubles_from_the_least_to_the_most);
    RUN(test_a_name_is_looked_up_and_an_unknown_one_again_and_again);
    RUN(test_a_dealer_leaves_another_one_after_a_minute_of_silence);
    RUN(test_a_silent_peer_is_given_up_in_time_and_a_quiet_one_is_not);
    RUN(test_without_heartbeats_a_silent_peer_is_kept);
    RUN(test_a_drain_ends_when_the_peer_has_confirmed_and_times_the_way);
    RUN(test_those_that_say_nothing_are_evicted_or_time_out);
    RUN(test_connections_over_the_limit_are_closed_and_counted);
    RUN(test_out_of_descriptors_a_listener_pauses_and_comes_back);
    RUN(test_an_end_that_loses_nothing_tells_of_no_loss);
    RUN(test_only_who_was_no_peer_makes_a_dialer_try_the_next_address_at_once);
    RUN(test_only_an_engine_with_nothing_to_settle_is_left_quickly);
    RUN(test_the_system_is_to_ask_after_a_silent_peer_twice_an_interval);
    RUN(test_receiving_ends_at_once_though_a_peer_may_be_about_to_come);
    RUN(test_closing_an_engine_takes_the_time_it_was_given);
    return 0;
}
