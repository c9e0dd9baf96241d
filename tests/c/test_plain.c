/*
 * test_plain.c: sockets whose peers say a user and a password: messages arrive over every stream,
 * however that cuts them or ends, and without memory; who is not let in never was a peer.
 * Not here: octets of PLAIN (tests/unit/test_plain_handshake.py), other peers (tests/interop).
 * Law: once its handshake is done a connection is as one without a mechanism.
 */
#include "asked.h"
#include "crypto/secret.h"
#include "wire/zmtp/plain.h"

enum { COUNT = 300, SEEDS = 12, FAILURES = 100 };

static mm_plain_opts
client_opts(void)
{
    return (mm_plain_opts){
        .user = "alice", .user_size = 5, .password = "correct horse", .password_size = 13
    };
}

/* asked: who may come in. */
static void
plain(mm_handle client, mm_handle server, bool asked)
{
    mm_plain_opts ours = client_opts(), theirs = { .serves = 1, .asks = asked };
    CHECK_INT(mm_socket_plain(client, &ours), MM_OK);
    CHECK_INT(mm_socket_plain(server, &theirs), MM_OK);
}

static bool
is(mmi_octets given, const char *text)
{
    return given.size == strlen(text) && mmi_secret_equal(given.data, text, given.size);
}

static bool
knows_alice(const void *config, const mmi_applicant *who, mmi_answer *out)
{
    (void)config;
    bool known = is(who->user, "alice") && is(who->password, "correct horse");
    CHECK_INT(who->properties.size, 0);
    *out = known ? (mmi_answer){ .kind = MM_ALLOW, .user_id = "alice" }
                 : (mmi_answer){ .kind = MM_DENY,
                                 .reason = MM_REASON_NOT_ALLOWED,
                                 .why = "another password" };
    return true;
}

/* serves: who pulls, and binds, is the server. */
static void
flow_over(const char *url, bool world, bool serves, bool asked)
{
    sides s = sides_open(1, world ? &(mm_sim_opts){ .latency_max_ns = 100000 } : NULL);
    plain(serves ? s.push : s.pull, serves ? s.pull : s.push, asked);
    guard(serves ? s.pull : s.push, knows_alice);
    join(s.pull, s.push, url);
    flow(&s, COUNT, 50, size_of);
    sides_close(&s);
}

static void
test_messages_of_all_sizes_arrive(void)
{
    for (int i = 0; i < 8; i++) {
        flow_over(TCP, (i & 1) != 0, (i & 2) != 0, (i & 4) != 0);
    }
}

static void
test_an_engine_may_talk_to_itself(void)
{
    mm_handle engine = open_engine();
    sides s = { .engine = { engine, engine },
                .push = open_socket(engine, MM_PUSH),
                .pull = open_socket(engine, MM_PULL) };
    plain(s.push, s.pull, false);
    join(s.pull, s.push, "inproc://plains");
    flow(&s, COUNT, 20, size_of);
    close_engine(engine, 0);
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
            bool serves = seed % 2 == 0;
            plain(serves ? s.push : s.pull, serves ? s.pull : s.push, seed % 4 < 2);
            guard(serves ? s.pull : s.push, knows_alice);
            join(s.pull, s.push, TCP);
            flow(&s, 60, 10, small_size);
            sides_close(&s);
        }
    }
}

/* At each octet of the handshake, of either side. */
static void
test_a_handshake_that_is_cut_is_tried_again(void)
{
    for (uint32_t cut = 1; cut < 260; cut++) {
        const mm_sim_opts faults = { .latency_max_ns = 1000, .reset_after_bytes = cut };
        sides s = sides_open(cut, &faults);
        char endpoint[MM_ENDPOINT_MAX + 1];
        bool serves = cut % 2 == 0;
        plain(serves ? s.push : s.pull, serves ? s.pull : s.push, true);
        guard(serves ? s.pull : s.push, knows_alice);
        CHECK_INT(mm_bind(s.pull, TCP, endpoint, sizeof endpoint), MM_OK);
        CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
        CHECK_INT(mm_sim_run(s.world, 100000000), MM_OK);
        CHECK_INT(mm_sim_heal(s.world), MM_OK);
        CHECK_INT(mm_wait_peers(s.push, 1, PATIENCE_MS, 0), MM_OK);
        sides_close(&s);
    }
}

static void
test_without_memory_a_connection_ends_and_the_next_one_carries_on(void)
{
    for (int64_t n = 1; n <= FAILURES; n++) {
        sides s = sides_open(1, &(mm_sim_opts){ .buffer_size = 5000 });
        char endpoint[MM_ENDPOINT_MAX + 1];
        plain(s.push, s.pull, true);
        guard(s.pull, knows_alice);
        CHECK_INT(mm_bind(s.pull, TCP, endpoint, sizeof endpoint), MM_OK);
        CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
        mm_test_alloc_fail(n);
        (void)mm_sim_run(s.world, 100000000);
        mm_test_alloc_fail(0);
        CHECK_INT(mm_wait_peers(s.push, 1, PATIENCE_MS, 0), MM_OK);
        CHECK_INT(mm_send(s.push, "x", 1, PATIENCE_MS, 0), MM_OK);
        take_all(s.pull, 1, PATIENCE_MS);
        sides_close(&s);
    }
}

/* Somebody is asked of the user and the password, before anything is known of the peer's role. */
static void
test_who_is_asked_about_is_a_peer_when_it_was_let_in(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    char endpoint[MM_ENDPOINT_MAX + 1];
    mm_peer peer;
    uint32_t count;
    plain(s.push, s.pull, true);
    CHECK_INT(mm_bind(s.pull, TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
    mm_question q = asked(s.world, s.engine[1]);
    CHECK(strcmp(q.mechanism, "PLAIN") == 0);
    CHECK(q.user_size == 5 && q.password_size == 13);
    CHECK(memcmp(data, "alicecorrect horse", 18) == 0);
    CHECK_INT(q.key_size + q.certificate_size + q.properties_size, 0);
    CHECK_INT(stats_of(s.pull).peers, 0);
    CHECK_INT(mm_question_answer(s.engine[1], q.id, MM_ALLOW, "Alice"), MM_OK);
    CHECK_INT(mm_wait_peers(s.push, 1, PATIENCE_MS, 0), MM_OK);
    CHECK_INT(mm_wait_peers(s.pull, 1, PATIENCE_MS, 0), MM_OK);
    CHECK_INT(mm_socket_peers(s.pull, &peer, 1, &count), MM_OK);
    CHECK(strcmp(peer.mechanism, "PLAIN") == 0 && strcmp(peer.user_id, "Alice") == 0);
    CHECK(peer.key[0] == '\0');
    CHECK_INT(mm_socket_peers(s.push, &peer, 1, &count), MM_OK);
    CHECK(strcmp(peer.mechanism, "PLAIN") == 0 && peer.user_id[0] == '\0');
    flow(&s, 20, 5, small_size);
    sides_close(&s);
}

/* A peer that says all it has to say at once, and 100 messages of one octet. */
static raw
eager(const mm_plain_opts *server)
{
    static const char hello[] = "\x04\x16\x05HELLO\x05%s\x09%s", user[] = "alice";
    static const char initiate[] = "\x04\x1d\x08INITIATE\x0bSocket-Type\0\0\0\x04PUSH";
    mm_socket_opts opts = opts_of(MM_PULL);
    raw r = raw_open(MM_PULL, &(mm_sim_opts){ .latency_max_ns = 0 }, &opts);
    char endpoint[MM_ENDPOINT_MAX + 1], greeting[sizeof RAW_GREETING], said[64];
    unsigned port;
    CHECK_INT(mm_socket_plain(r.ours, server), MM_OK);
    CHECK_INT(mm_bind(r.ours, TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(sscanf(endpoint, "tcp://127.0.0.1:%u", &port), 1);
    const mmi_addr at = addr_tcp4((uint16_t)port);
    CHECK_INT(r.plat.connect(r.plat.self, &at, &r.stream), MM_EAGAIN);
    CHECK_INT(mm_sim_run(r.world, MS), MM_OK);
    memcpy(greeting, RAW_GREETING, sizeof greeting);
    memcpy(greeting + 12, "PLAIN", 5);
    raw_put(&r, greeting, sizeof greeting);
    raw_put(&r, said, (size_t)snprintf(said, sizeof said, hello, user, "swordfish"));
    raw_put(&r, initiate, sizeof initiate - 1);
    for (uint8_t i = 0; i < 100; i++) {
        raw_put(&r, (uint8_t[]){ 0, 1, i }, 3);
    }
    return r;
}

static void
test_who_does_not_wait_for_our_commands_gets_them_all_the_same(void)
{
    for (uint32_t asks = 0; asks < 2; asks++) {
        raw r = eager(&(mm_plain_opts){ .serves = 1, .asks = asks });
        if (asks != 0) {
            mm_question q = asked(r.world, r.engine);
            CHECK(q.user_size == 5 && memcmp(data, "aliceswordfish", 14) == 0);
            CHECK_INT(mm_sim_run(r.world, 1000 * MS), MM_OK);
            CHECK_INT(stats_of(r.ours).parsed_messages, 0);
            CHECK_INT(mm_question_answer(r.engine, q.id, MM_ALLOW, "alice"), MM_OK);
        }
        take_all(r.ours, 100, PATIENCE_MS);
        size_t size = raw_take(&r);
        CHECK(size > 64 + 10 + 8);
        CHECK(memcmp(raw_taken + 64, "\x04\x08\x07WELCOME\x04", 11) == 0);
        CHECK(memcmp(raw_taken + 64 + 12, "\x05READY", 6) == 0);
        raw_close(&r);
    }
}

static void
test_who_has_another_password_is_denied_and_told(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    mm_plain_opts ours = client_opts(), theirs = { .serves = 1, .asks = 1 };
    ours.password_size--;
    CHECK_INT(mm_socket_plain(s.push, &ours), MM_OK);
    CHECK_INT(mm_socket_plain(s.pull, &theirs), MM_OK);
    guard(s.pull, knows_alice);
    refused(&s, "");
    const int kind = MM_EVENT_HANDSHAKE_FAILED;
    CHECK(told(s.pull, kind, MM_REASON_NOT_ALLOWED, "another password") > 0);
    CHECK(told(s.push, kind, MM_REASON_ERROR_COMMAND, "does not let us in: '400'") > 0);
    CHECK_INT(told(s.pull, kind, MM_REASON_NOT_ALLOWED, "horse"), 0);
    sides_close(&s);
}

/* Each step of it: answered, welcomed, a peer; other users stay. */
static void
test_who_was_let_in_as_a_user_that_is_revoked_ends(void)
{
    for (uint64_t ms = 0; ms < 9; ms++) {
        sides s = sides_open(1, &(mm_sim_opts){ .latency_min_ns = MS, .latency_max_ns = MS });
        char endpoint[MM_ENDPOINT_MAX + 1];
        plain(s.push, s.pull, true);
        CHECK_INT(mm_bind(s.pull, TCP, endpoint, sizeof endpoint), MM_OK);
        CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
        mm_question q = asked(s.world, s.engine[1]);
        CHECK_INT(mm_socket_revoke(s.pull, "alice"), 0);
        CHECK_INT(mm_question_answer(s.engine[1], q.id, MM_ALLOW, "alice"), MM_OK);
        CHECK_INT(mm_sim_run(s.world, 1 + ms * MS), MM_OK);
        CHECK_INT(mm_socket_revoke(s.pull, "bob"), 0);
        CHECK_INT(mm_socket_revoke(s.pull, "alice"), 1);
        CHECK_INT(mm_sim_run(s.world, 20 * MS), MM_OK);
        CHECK_INT(stats_of(s.pull).closed[MM_REASON_REVOKED], 1);
        CHECK_INT(stats_of(s.pull).peers, 0);
        CHECK_INT(mm_socket_revoke(s.pull, "alice"), 0);
        CHECK_INT(mm_socket_revoke(s.pull, ""), MM_EINVAL);
        sides_close(&s);
    }
}

static void
test_two_servers_and_two_clients_are_told_that_they_are(void)
{
    for (uint32_t serve = 0; serve < 2; serve++) {
        sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
        mm_plain_opts opts = client_opts();
        opts.serves = serve;
        CHECK_INT(mm_socket_plain(s.push, &opts), MM_OK);
        CHECK_INT(mm_socket_plain(s.pull, &opts), MM_OK);
        refused(&s, "");
        CHECK_INT(mm_sim_run(s.world, 11000 * MS), MM_OK);
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
    plain(s.push, s.pull, true);
    guard(s.pull, knows_alice);
    refused(&s, "");
    const int kind = MM_EVENT_HANDSHAKE_FAILED;
    CHECK(told(s.pull, kind, MM_REASON_SOCKET_TYPE, "REP cannot talk to") > 0);
    CHECK(told(s.push, kind, MM_REASON_SOCKET_TYPE, "PUSH cannot talk to") > 0);
    sides_close(&s);
}

static void
test_it_does_not_meet_a_socket_without_it_nor_one_of_sp(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    mm_plain_opts ours = client_opts();
    CHECK_INT(mm_socket_plain(s.push, &ours), MM_OK);
    refused(&s, "");
    CHECK(told(s.pull, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_MECHANISM, "'PLAIN', ours NULL") > 0);
    sides_close(&s);
    s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    CHECK_INT(mm_socket_plain(s.push, &ours), MM_OK);
    refused(&s, "sp+");
    CHECK_INT(stats_of(s.push).peers, 0);
    sides_close(&s);
}

static void
test_a_policy_that_cannot_be_is_refused(void)
{
    static const uint8_t name[256] = { 'x' };
    mm_handle engine = open_engine(), socket = open_socket(engine, MM_DEALER);
    mm_plain_opts opts = { .user = name, .user_size = 256, .password = name };
    CHECK_INT(mm_socket_plain(socket, &opts), MM_EINVAL);
    opts.user_size = 255;
    opts.password_size = 256;
    CHECK_INT(mm_socket_plain(socket, &opts), MM_EINVAL);
    opts.password_size = 255;
    CHECK_INT(mm_socket_plain(socket, &opts), MM_OK);
    CHECK_INT(mm_bind(socket, TCP, NULL, 0), MM_OK);
    CHECK_INT(mm_socket_plain(socket, &opts), MM_ESTATE);
    CHECK_INT(mm_socket_plain(engine, &opts), MM_EINVAL);
    close_engine(engine, 0);
}

/* Nothing is hidden by it, so it makes no address safe. */
static void
test_outside_loopback_it_is_as_no_mechanism(void)
{
    mm_handle engine = open_engine(), socket = open_socket(engine, MM_PULL);
    mm_plain_opts opts = { .serves = 1 };
    CHECK_INT(mm_socket_plain(socket, &opts), MM_OK);
    CHECK_INT(mm_bind(socket, "tcp://0.0.0.0:0", NULL, 0), MM_EINSECURE);
    close_engine(engine, 0);
}

/* Policies of sockets that come and go are kept once. */
static void
test_sockets_that_come_and_go_leave_nothing(void)
{
    mm_handle engine = open_engine();
    int64_t before = 0, now, bytes;
    for (int i = 0; i < 40; i++) {
        mm_handle client = open_socket(engine, MM_PUSH), server = open_socket(engine, MM_PULL);
        plain(client, server, true);
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
    RUN(test_messages_of_all_sizes_arrive);
    RUN(test_an_engine_may_talk_to_itself);
    RUN(test_reads_and_writes_may_be_cut_at_every_octet);
    RUN(test_a_handshake_that_is_cut_is_tried_again);
    RUN(test_without_memory_a_connection_ends_and_the_next_one_carries_on);
    RUN(test_who_is_asked_about_is_a_peer_when_it_was_let_in);
    RUN(test_who_does_not_wait_for_our_commands_gets_them_all_the_same);
    RUN(test_who_has_another_password_is_denied_and_told);
    RUN(test_who_was_let_in_as_a_user_that_is_revoked_ends);
    RUN(test_two_servers_and_two_clients_are_told_that_they_are);
    RUN(test_who_is_refused_for_its_role_never_was_a_peer);
    RUN(test_it_does_not_meet_a_socket_without_it_nor_one_of_sp);
    RUN(test_a_policy_that_cannot_be_is_refused);
    RUN(test_outside_loopback_it_is_as_no_mechanism);
    RUN(test_sockets_that_come_and_go_leave_nothing);
    return 0;
}
