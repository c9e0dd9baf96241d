/*
 * test_curve.c: sockets that CURVE protects: messages arrive over every stream, however that cuts
 * them or ends, and without memory; policies that cannot be are refused; nothing goes plain.
 * Not here: octets of CURVE (tests/unit/test_curve_*.py), other peers (tests/interop).
 * Law: with CURVE a connection promises what it promises without.
 */
#include "plat/library.h"
#include "protected.h"

enum { COUNT = 300, SEEDS = 12, FAILURES = 150 };

static const uint8_t server_secret[MMI_KEY_SIZE] = { 1 }, client_secret[MMI_KEY_SIZE] = { 2 };

static mm_curve_opts
server_opts(void)
{
    mm_curve_opts opts = { .serves = 1, .secret_count = 1 };
    memcpy(opts.secrets, server_secret, MMI_KEY_SIZE);
    return opts;
}

static mm_curve_opts
client_opts(void)
{
    mm_curve_opts opts = { .secret_count = 1 };
    memcpy(opts.secrets, client_secret, MMI_KEY_SIZE);
    CHECK_INT(mmi_sodium_get()->scalarmult_base(opts.server, server_secret), 0);
    return opts;
}

static void
curve(mm_handle client, mm_handle server)
{
    mm_curve_opts ours = client_opts(), theirs = server_opts();
    CHECK_INT(mm_socket_curve(client, &ours), MM_OK);
    CHECK_INT(mm_socket_curve(server, &theirs), MM_OK);
}

/* serves: who pulls, and binds, is the server. */
static void
flow_over(const char *url, bool world, bool serves)
{
    sides s = sides_open(1, world ? &(mm_sim_opts){ .latency_max_ns = 100000 } : NULL);
    curve(serves ? s.push : s.pull, serves ? s.pull : s.push);
    join(s.pull, s.push, url);
    flow(&s, COUNT, 50, size_of);
    sides_close(&s);
}

static void
test_messages_of_all_sizes_arrive(void)
{
    flow_over(TCP, false, true);
    flow_over(TCP, false, false);
    flow_over(TCP, true, true);
    flow_over(TCP, true, false);
}

static void
test_an_engine_may_talk_to_itself(void)
{
    mm_handle engine = open_engine();
    sides s = { .engine = { engine, engine },
                .push = open_socket(engine, MM_PUSH),
                .pull = open_socket(engine, MM_PULL) };
    curve(s.push, s.pull);
    join(s.pull, s.push, "inproc://curves");
    flow(&s, COUNT, 20, size_of);
    close_engine(engine, 0);
}

/* One thread seals while another opens, on the same connection. */
static void
test_messages_go_both_ways_at_once(void)
{
    enum { ECHOES = 2000, AHEAD = 50 };
    mm_handle engine[2] = { open_engine(), open_engine() };
    mm_handle asking = open_socket(engine[0], MM_PAIR), echoing = open_socket(engine[1], MM_PAIR);
    pthread_t thread;
    curve(asking, echoing);
    join(echoing, asking, TCP);
    CHECK_INT(pthread_create(&thread, NULL, echo_run, &echoing), 0);
    for (uint32_t sent = 0; sent < ECHOES; sent++) {
        CHECK_INT(mm_send(asking, message_body, sent % 5000, PATIENCE_MS, 0), MM_OK);
        if (sent >= AHEAD) {
            take_all(asking, 1, PATIENCE_MS);
        }
    }
    take_all(asking, AHEAD, PATIENCE_MS);
    CHECK_INT(mm_socket_close(echoing), MM_OK);
    CHECK_INT(pthread_join(thread, NULL), 0);
    close_engine(engine[0], 0);
    close_engine(engine[1], 0);
}

static size_t
small_size(uint32_t i)
{
    return i % 10 == 0 ? 300 : i % 17;
}

static void
test_reads_and_writes_may_be_cut_at_every_octet(void)
{
    const mm_sim_opts cuts[] = {
        { .buffer_size = 1 },                                         /* each octet by itself */
        { .split_ppm = 1000000, .short_write_ppm = 1000000 },
        { .buffer_size = 5000, .split_ppm = 500000, .eagain_ppm = 300000, .latency_max_ns = 5000 },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cuts); i++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            sides s = sides_open(seed, &cuts[i]);
            curve(seed % 2 == 0 ? s.pull : s.push, seed % 2 == 0 ? s.push : s.pull);
            join(s.pull, s.push, TCP);
            flow(&s, 60, 10, small_size);
            sides_close(&s);
        }
    }
}

static size_t
middle_size(uint32_t i)
{
    return 1000 + i % 7;
}

/* Connections that are reset after so many octets, in a frame or between two: what comes is whole,
 * in order and not twice. */
static void
test_connections_that_are_cut_lose_what_was_begun_and_give_nothing_twice(void)
{
    enum { SENT = 120 };
    for (uint64_t seed = 1; seed <= SEEDS * 3; seed++) {
        const mm_sim_opts faults = { .buffer_size = 3000,
                                     .latency_max_ns = 20000,
                                     .reset_after_bytes = 1100 + seed * 317 };
        sides s = sides_open(seed, &faults);
        char endpoint[MM_ENDPOINT_MAX + 1];
        curve(s.push, s.pull);
        CHECK_INT(mm_bind(s.pull, TCP, endpoint, sizeof endpoint), MM_OK);
        CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
        for (uint32_t i = 0; i < SENT; i++) {
            send_one(s.push, i, middle_size(i));
        }
        CHECK_INT(mm_sim_run(s.world, 500000000), MM_OK);
        CHECK_INT(mm_sim_heal(s.world), MM_OK);
        send_one(s.push, SENT, middle_size(SENT));
        mm_batch *batch;
        CHECK_INT(mm_batch_new(&batch), MM_OK);
        uint32_t next = 0, got = 0;
        while (next <= SENT) {
            uint32_t i = take_one(s.pull, batch, middle_size);
            CHECK(i >= next);
            next = i + 1;
            got++;
        }
        mm_stats stats;
        CHECK_INT(mm_socket_stats(s.push, &stats), MM_OK);
        CHECK(got + stats.in_doubt_messages + stats.dropped_peer_gone >= SENT + 1);
        mm_batch_free(batch);
        sides_close(&s);
    }
}

/* At each octet of the handshake, of either side. */
static void
test_a_handshake_that_is_cut_is_tried_again(void)
{
    for (uint32_t cut = 1; cut < 620; cut++) {
        const mm_sim_opts faults = { .latency_max_ns = 1000, .reset_after_bytes = cut };
        sides s = sides_open(cut, &faults);
        char endpoint[MM_ENDPOINT_MAX + 1];
        curve(cut % 2 == 0 ? s.push : s.pull, cut % 2 == 0 ? s.pull : s.push);
        CHECK_INT(mm_bind(s.pull, TCP, endpoint, sizeof endpoint), MM_OK);
        CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
        CHECK_INT(mm_sim_run(s.world, 100000000), MM_OK);
        CHECK_INT(mm_sim_heal(s.world), MM_OK);
        CHECK_INT(mm_wait_peers(s.push, 1, PATIENCE_MS, 0), MM_OK);
        sides_close(&s);
    }
}

/* Receives until a message of that size comes. */
static void
take_until(mm_handle pull, size_t wanted)
{
    mm_batch *batch;
    size_t size = 0;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    while (size != wanted) {
        CHECK_INT(mm_recv(pull, batch, 1, 1 << 20, PATIENCE_MS, 0), 1);
        (void)mm_batch_frame(batch, 0, 0, &size);
    }
    mm_batch_free(batch);
}

static void
test_without_memory_a_connection_ends_and_the_next_one_carries_on(void)
{
    for (int64_t n = 1; n <= FAILURES; n++) {
        sides s = sides_open(1, &(mm_sim_opts){ .buffer_size = 5000 });
        char endpoint[MM_ENDPOINT_MAX + 1];
        curve(s.push, s.pull);
        CHECK_INT(mm_bind(s.pull, TCP, endpoint, sizeof endpoint), MM_OK);
        CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
        mm_test_alloc_fail(n);
        for (uint32_t i = 0; i < 20; i++) {
            int rc = mm_send(s.push, message_body, 7000, PATIENCE_MS, 0);
            CHECK(rc == MM_OK || rc == MM_ENOMEM);
        }
        (void)mm_sim_run(s.world, 100000000);
        mm_test_alloc_fail(0);
        CHECK_INT(mm_wait_peers(s.push, 1, PATIENCE_MS, 0), MM_OK);
        CHECK_INT(mm_send(s.push, "the last", 8, PATIENCE_MS, 0), MM_OK);
        take_until(s.pull, 8);
        sides_close(&s);
    }
}

/* Who knows another server's key, or has none, is refused, and both know at which check. */
static void
test_who_does_not_know_the_key_is_refused(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    mm_curve_opts ours = client_opts(), theirs = server_opts();
    theirs.secrets[5] = 1;
    CHECK_INT(mm_socket_curve(s.push, &ours), MM_OK);
    CHECK_INT(mm_socket_curve(s.pull, &theirs), MM_OK);
    refused(&s, "");
    CHECK(told(s.pull, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_CRYPTO, "server= is not our key") > 0);
    const char *guess = "our server= is most likely not its key";
    CHECK(told(s.push, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_HANDSHAKE_EOF, guess) > 0);
    sides_close(&s);
    s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    CHECK_INT(mm_socket_curve(s.push, &ours), MM_OK);
    refused(&s, "");
    CHECK(told(s.pull, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_MECHANISM, "'CURVE', ours NULL") > 0);
    sides_close(&s);
}

static void
test_two_servers_and_two_clients_are_told_that_they_are(void)
{
    for (int serve = 0; serve < 2; serve++) {
        sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
        mm_curve_opts opts = serve ? server_opts() : client_opts();
        CHECK_INT(mm_socket_curve(s.push, &opts), MM_OK);
        CHECK_INT(mm_socket_curve(s.pull, &opts), MM_OK);
        refused(&s, "");
        CHECK_INT(mm_sim_run(s.world, 11000000000u), MM_OK);
        const int kind = MM_EVENT_HANDSHAKE_FAILED, late = MM_REASON_HANDSHAKE_TIMEOUT;
        const char *why = serve ? "it is a server, as we are" : "a client, too";
        CHECK(told(s.pull, kind, serve ? late : MM_REASON_HANDSHAKE, why) +
                  told(s.push, kind, serve ? late : MM_REASON_HANDSHAKE, why) >
              0);
        sides_close(&s);
    }
}

/* Both sides know the other's role by then, and say so. */
static void
test_who_is_refused_for_its_role_never_was_a_peer(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    s.pull = open_socket(s.engine[1], MM_REP);
    curve(s.push, s.pull);
    refused(&s, "");
    CHECK(told(s.pull, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_SOCKET_TYPE, "REP cannot talk to") > 0);
    CHECK(told(s.push, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_SOCKET_TYPE, "PUSH cannot talk to") >
          0);
    sides_close(&s);
}

static bool
denies(const void *config, const mmi_applicant *who, mmi_answer *out)
{
    (void)config;
    CHECK_INT(who->key.size, MMI_KEY_SIZE);
    *out = (mmi_answer){ .kind = MM_DENY, .reason = MM_REASON_NOT_ALLOWED, .why = "not on a list" };
    return true;
}

/* ERROR is final for libzmq; we try again, but as late as we do. */
static void
test_who_is_denied_is_told_and_comes_back_late(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    mm_socket_opts patient = opts_of(MM_PUSH);
    mm_curve_opts ours = client_opts(), theirs = server_opts();
    mm_event events[64];
    uint64_t next = 0;
    theirs.asks = 1;
    s.push = open_with(s.engine[0], MM_PUSH, &patient);
    CHECK_INT(mm_socket_curve(s.push, &ours), MM_OK);
    CHECK_INT(mm_socket_curve(s.pull, &theirs), MM_OK);
    guard(s.pull, denies);
    refused(&s, "");
    CHECK_INT(told(s.pull, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_NOT_ALLOWED, "not on a list"), 1);
    int count = mm_socket_events(s.push, 0, events, 64, &next);
    CHECK(count > 0);
    CHECK_INT(told(s.push, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_ERROR_COMMAND, "'400'"), 1);
    for (int i = 0; i < count; i++) {
        CHECK(events[i].kind != MM_EVENT_HANDSHAKE_FAILED ||
              events[i].retry_ns >= (int64_t)patient.reconnect_max_ms * 500000);
    }
    sides_close(&s);
}

static void
test_a_policy_that_cannot_be_is_refused(void)
{
    mm_handle engine = open_engine();
    mm_handle socket = open_socket(engine, MM_DEALER);
    mm_curve_opts opts = server_opts();
    opts.secret_count = 0;
    CHECK_INT(mm_socket_curve(socket, &opts), MM_EINVAL);
    opts.secret_count = 4;
    CHECK_INT(mm_socket_curve(socket, &opts), MM_EINVAL);
    opts = client_opts();
    opts.secret_count = 2;
    CHECK_INT(mm_socket_curve(socket, &opts), MM_EINVAL);
    memset(opts.server, 0, sizeof opts.server);   /* of low order */
    opts.secret_count = 0;
    CHECK_INT(mm_socket_curve(socket, &opts), MM_EINVAL);
    opts = server_opts();
    CHECK_INT(mm_bind(socket, TCP, NULL, 0), MM_OK);
    CHECK_INT(mm_socket_curve(socket, &opts), MM_ESTATE);
    CHECK_INT(mm_socket_curve(engine, &opts), MM_EINVAL);
    mm_socket_opts named = opts_of(MM_DEALER);
    named.identity_size = 221;
    memset(named.identity, 'x', sizeof named.identity);
    CHECK_INT(mm_socket_curve(open_with(engine, MM_DEALER, &named), &opts), MM_EINVAL);
    CHECK_INT(strlen(mm_curve_missing()), 0);
    close_engine(engine, 0);
}

/* JeroMQ has room for 256 octets of properties, so the longest identity leaves X-Meshmsg out. */
static void
test_the_longest_identity_is_told_and_our_features_only_where_there_is_room(void)
{
    for (uint32_t size = 185; size <= 220; size += 35) {
        sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
        mm_socket_opts named = opts_of(MM_DEALER);
        named.identity_size = size;
        memset(named.identity, 'x', sizeof named.identity);
        s.push = open_with(s.engine[0], MM_DEALER, &named);
        s.pull = open_socket(s.engine[1], MM_ROUTER);
        curve(s.push, s.pull);
        join(s.pull, s.push, TCP);
        mm_peer peer;
        uint32_t count;
        CHECK_INT(mm_socket_peers(s.pull, &peer, 1, &count), MM_OK);
        CHECK_INT(peer.identity_size, size);
        CHECK_INT(peer.meshmsg, size == 185);
        sides_close(&s);
    }
}

/* A server with several keys, and a client that has none. */
static void
test_keys_may_be_several_or_none(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    mm_curve_opts ours = client_opts(), theirs = { .serves = 1, .secret_count = 3 };
    memset(theirs.secrets, 7, sizeof theirs.secrets);
    memcpy(theirs.secrets + 64, server_secret, MMI_KEY_SIZE);
    ours.secret_count = 0;
    CHECK_INT(mm_socket_curve(s.push, &ours), MM_OK);
    CHECK_INT(mm_socket_curve(s.pull, &theirs), MM_OK);
    join(s.pull, s.push, TCP);
    flow(&s, 20, 5, small_size);
    sides_close(&s);
}

/* A message over the limit, of who was not told it, ends the connection by the head of its box. */
static void
test_a_message_over_the_limit_is_refused_by_the_head_of_its_box(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    mm_socket_opts narrow = opts_of(MM_PULL);
    narrow.message_size_max = 100000;
    CHECK_INT(mm_test_features(s.engine[1], "1 stop"), MM_OK);
    s.pull = open_with(s.engine[1], MM_PULL, &narrow);
    curve(s.push, s.pull);
    join(s.pull, s.push, TCP);
    CHECK_INT(mm_send(s.push, message_body, 100001, PATIENCE_MS, 0), MM_OK);
    CHECK_INT(mm_sim_run(s.world, 1000000), MM_OK);
    CHECK(told(s.pull, MM_EVENT_PEER_DOWN, MM_REASON_MESSAGE_SIZE, "a MESSAGE of 100034") > 0);
    sides_close(&s);
}

/* Policies of sockets that come and go are kept once. */
static void
test_sockets_that_come_and_go_leave_nothing(void)
{
    mm_handle engine = open_engine();
    int64_t before = 0, now, bytes;
    for (int i = 0; i < 40; i++) {
        mm_handle client = open_socket(engine, MM_PUSH), server = open_socket(engine, MM_PULL);
        curve(client, server);
        CHECK_INT(mm_socket_close(client), MM_OK);
        CHECK_INT(mm_socket_close(server), MM_OK);
        now = mm_test_alloc_live(&bytes);
        before = i < 20 ? now : before;
        CHECK(now <= before);
    }
    close_engine(engine, 0);
}

int
main(void)
{
    if (mmi_sodium_get() == NULL) {
        printf("no libsodium: %s\n", mm_curve_missing());
        return 0;
    }
    RUN(test_messages_of_all_sizes_arrive);
    RUN(test_an_engine_may_talk_to_itself);
    RUN(test_messages_go_both_ways_at_once);
    RUN(test_reads_and_writes_may_be_cut_at_every_octet);
    RUN(test_connections_that_are_cut_lose_what_was_begun_and_give_nothing_twice);
    RUN(test_a_handshake_that_is_cut_is_tried_again);
    RUN(test_without_memory_a_connection_ends_and_the_next_one_carries_on);
    RUN(test_who_does_not_know_the_key_is_refused);
    RUN(test_two_servers_and_two_clients_are_told_that_they_are);
    RUN(test_who_is_refused_for_its_role_never_was_a_peer);
    RUN(test_who_is_denied_is_told_and_comes_back_late);
    RUN(test_a_policy_that_cannot_be_is_refused);
    RUN(test_the_longest_identity_is_told_and_our_features_only_where_there_is_room);
    RUN(test_keys_may_be_several_or_none);
    RUN(test_a_message_over_the_limit_is_refused_by_the_head_of_its_box);
    RUN(test_sockets_that_come_and_go_leave_nothing);
    return 0;
}
