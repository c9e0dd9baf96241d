/*
 * test_outer.c: connections over which a mechanism comes before the wire: both wires are inside,
 * all roles, however the stream cuts them; who speaks no such thing is refused, and both sides know
 * why; an end is told from a cut.
 * Not here: the steps (test_mechanism_steps.c), floods (test_mechanism_flood.c), who is asked
 * (test_outer_asks.c).
 * Law: nothing plain is ever sent or taken; with it a connection promises what it promises without.
 */
#include "protected.h"
#include "raw.h"
#include "toy_mechanism.h"

enum { COUNT = 200, CUT_SEEDS = 4, LEAVES = 400, FAILURES = 120 };

static const char TLS[] = "tls+tcp://127.0.0.1:0";
static const mmi_mechanism small = TOY_OUTER("TOYTLS", 100), large = TOY_OUTER("TOYTLS", 16 * 1024),
                           inner = TOY("TOYXOR", 1000);
static const toy_config toy_key = { .key = 0x42 }, toy_wrong = { .key = 0x43 };

/* Binds, connects over that wire, and waits for both. */
static void
join_over(mm_handle listening, mm_handle dialing, const char *prefix)
{
    char endpoint[MM_ENDPOINT_MAX + 1], url[MM_ENDPOINT_MAX + 8];
    CHECK_INT(mm_bind(listening, TLS, endpoint, sizeof endpoint), MM_OK);
    CHECK(strncmp(endpoint, "tls+tcp://127.0.0.1:", 20) == 0 && strcmp(endpoint, TLS) != 0);
    snprintf(url, sizeof url, "%s%s", prefix, endpoint);
    CHECK_INT(mm_connect(dialing, url), MM_OK);
    CHECK_INT(mm_wait_peers(listening, 1, PATIENCE_MS, 0), MM_OK);
    CHECK_INT(mm_wait_peers(dialing, 1, PATIENCE_MS, 0), MM_OK);
}

static sides
enclosed(uint64_t seed, const mm_sim_opts *faults, const mmi_mechanism *outer)
{
    sides s = sides_open(seed, faults);
    enclose(s.push, outer, &toy_key);
    enclose(s.pull, outer, &toy_key);
    return s;
}

static size_t
octets_of(uint32_t i)
{
    return 4 + (i % 40 == 7 ? 70000 : i % 97);
}

/* Messages of one frame, which both wires have. */
static void
flow_plainly(sides *s, uint32_t count, uint32_t run)
{
    mm_batch *batch;
    size_t size;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    for (uint32_t sent = 0, got = 0; got < count;) {
        for (uint32_t i = 0; i < run && sent < count; i++, sent++) {
            memset(message_body, (int)sent, octets_of(sent));
            memcpy(message_body, &sent, sizeof sent);
            CHECK_INT(mm_send(s->push, message_body, octets_of(sent), PATIENCE_MS, 0), MM_OK);
        }
        for (; got < sent; got++) {
            uint32_t i;
            CHECK_INT(mm_recv(s->pull, batch, 1, 1 << 20, PATIENCE_MS, 0), 1);
            const uint8_t *body = mm_batch_frame(batch, 0, 0, &size);
            memcpy(&i, body, sizeof i);
            CHECK_INT(i, got);
            CHECK_INT(size, octets_of(i));
            CHECK(size == 4 || body[size - 1] == (uint8_t)i);
        }
    }
    mm_batch_free(batch);
}

static mm_peer
peer_of(mm_handle socket)
{
    mm_peer peer;
    uint32_t count;
    CHECK_INT(mm_socket_peers(socket, &peer, 1, &count), MM_OK);
    CHECK_INT(count, 1);
    return peer;
}

static void
test_both_wires_are_inside_and_who_dials_says_whom_it_wants(void)
{
    for (int world = 0; world < 2; world++) {
        for (int sp = 0; sp < 2; sp++) {
            const mmi_mechanism *outer = sp ? &small : &large;
            sides s = enclosed(1, world ? &(mm_sim_opts){ .latency_max_ns = 100000 } : NULL, outer);
            join_over(s.pull, s.push, sp ? "sp+" : "");
            flow_plainly(&s, COUNT, 50);
            CHECK(strcmp(toy_aimed, sp ? "127.0.0.1 SP" : "127.0.0.1 ZMTP 3.1") == 0);
            CHECK(strcmp(peer_of(s.pull).mechanism, "TOYTLS") == 0);
            CHECK(strcmp(peer_of(s.push).mechanism, "TOYTLS") == 0);
            CHECK_INT(peer_of(s.pull).wire, sp ? 2 : 1);
            sides_close(&s);
        }
    }
}

static void
test_messages_of_all_sizes_arrive(void)
{
    sides s = enclosed(1, NULL, &large);
    join(s.pull, s.push, TLS);
    flow(&s, 300, 50, size_of);
    sides_close(&s);
}

static void
test_all_roles_connect_over_both_wires(void)
{
    static const struct {
        int one, other;
        bool sp;
    } pairs[] = { { MM_PUSH, MM_PULL, true },      { MM_PUB, MM_SUB, true },
                  { MM_REQ, MM_REP, true },        { MM_PAIR, MM_PAIR, true },
                  { MM_BUS, MM_BUS, true },        { MM_SURVEYOR, MM_RESPONDENT, true },
                  { MM_DEALER, MM_ROUTER, false }, { MM_XPUB, MM_XSUB, false },
                  { MM_ROUTER, MM_ROUTER, false } };
    for (size_t i = 0; i < 4 * MMI_COUNT_OF(pairs); i++) {
        bool sp = (i & 1) != 0, turned = (i & 2) != 0;
        if (sp && !pairs[i / 4].sp) {
            continue;
        }
        sides s = sides_open(i + 1, &(mm_sim_opts){ .latency_max_ns = 1000 });
        int one = pairs[i / 4].one, other = pairs[i / 4].other;
        mm_handle dials = open_socket(s.engine[0], turned ? other : one);
        mm_handle listens = open_socket(s.engine[1], turned ? one : other);
        enclose(dials, &small, &toy_key);
        enclose(listens, &small, &toy_key);
        join_over(listens, dials, sp ? "sp+" : "");
        sides_close(&s);
    }
}

static void
test_reads_and_writes_may_be_cut_at_every_octet(void)
{
    const mm_sim_opts cuts[] = {
        { .buffer_size = 1 },                                         /* each octet by itself */
        { .buffer_size = 3 },
        { .split_ppm = 1000000, .short_write_ppm = 1000000 },
        { .buffer_size = 5000, .split_ppm = 500000, .eagain_ppm = 300000, .latency_max_ns = 5000 },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cuts); i++) {
        for (uint64_t seed = 1; seed <= CUT_SEEDS; seed++) {
            sides s = enclosed(seed, &cuts[i], &small);
            join_over(s.pull, s.push, seed % 2 == 0 ? "" : "sp+");
            flow_plainly(&s, 39, 13);
            sides_close(&s);
        }
    }
}

/* After so many octets; the next connection carries on, and nothing half-open is left. */
static void
test_a_stream_may_break_at_every_octet(void)
{
    for (uint64_t octets = 1; octets < LEAVES; octets += 1 + octets / 50) {
        const mm_sim_opts faults = { .buffer_size = 100, .reset_after_bytes = octets };
        char endpoint[MM_ENDPOINT_MAX + 1];
        sides s = enclosed(octets, &faults, &small);
        CHECK_INT(mm_bind(s.pull, TLS, endpoint, sizeof endpoint), MM_OK);
        CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
        CHECK_INT(mm_sim_run(s.world, 20 * MS), MM_OK);
        CHECK_INT(mm_sim_heal(s.world), MM_OK);
        CHECK_INT(mm_wait_peers(s.push, 1, PATIENCE_MS, 0), MM_OK);
        CHECK_INT(mm_wait_peers(s.pull, 1, PATIENCE_MS, 0), MM_OK);
        CHECK_INT(mm_sim_run(s.world, 1000 * MS), MM_OK);
        flow_plainly(&s, 10, 5);
        mm_stats stats;
        CHECK_INT(mm_socket_stats(s.pull, &stats), MM_OK);
        CHECK_INT(stats.half_open, 0);
        sides_close(&s);
    }
}

static void
test_who_has_another_key_is_refused(void)
{
    sides s = enclosed(1, &(mm_sim_opts){ .latency_max_ns = 0 }, &small);
    char endpoint[MM_ENDPOINT_MAX + 1];
    enclose(s.push, &small, &toy_wrong);
    CHECK_INT(mm_bind(s.pull, TLS, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(s.push, 1, 1000, 0), MM_ETIMEDOUT);
    CHECK(told(s.pull, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_CRYPTO, "TOYTLS: another key") > 0);
    CHECK(told(s.push, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_CRYPTO, "TOYTLS: another key") > 0);
    sides_close(&s);
}

/* Refusals of the hello are heard through it. */
static void
test_what_the_hello_refuses_is_told_through_it(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    mm_handle rep = open_socket(s.engine[1], MM_REP);
    char endpoint[MM_ENDPOINT_MAX + 1];
    enclose(s.push, &small, &toy_key);
    enclose(rep, &small, &toy_key);
    CHECK_INT(mm_bind(rep, TLS, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(s.push, 1, 1000, 0), MM_ETIMEDOUT);
    const char *why = "REP cannot talk to PUSH";
    CHECK(told(rep, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_SOCKET_TYPE, why) > 0);
    CHECK(told(s.push, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_SOCKET_TYPE, "") +
              told(s.push, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_ERROR_COMMAND, why) >
          0);
    sides_close(&s);
}

/* One is refused by the socket, another by the role. */
static void
test_connections_over_the_limit_are_told_so_through_it(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    mm_socket_opts one = opts_of(MM_PULL);
    one.connections_max = 1;
    mm_handle pull = open_with(s.engine[1], MM_PULL, &one);
    mm_handle second = open_socket(s.engine[0], MM_PUSH);
    mm_handle pairs[3] = { open_socket(s.engine[1], MM_PAIR), open_socket(s.engine[0], MM_PAIR),
                           open_socket(s.engine[0], MM_PAIR) };
    mm_handle all[] = { s.push, pull, second, pairs[0], pairs[1], pairs[2] };
    for (size_t i = 0; i < MMI_COUNT_OF(all); i++) {
        enclose(all[i], &small, &toy_key);
    }
    join(pull, s.push, TLS);
    join(pairs[0], pairs[1], TLS);
    mm_peer at = peer_of(s.push), of_pair = peer_of(pairs[1]);
    CHECK_INT(mm_connect(second, at.endpoint), MM_OK);
    CHECK_INT(mm_connect(pairs[2], of_pair.endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(second, 1, 500, 0), MM_ETIMEDOUT);
    int kind = MM_EVENT_HANDSHAKE_FAILED, error = MM_REASON_ERROR_COMMAND;
    CHECK(told(second, kind, error, mm_reason_text(MM_REASON_CONNECTIONS)) > 0);
    CHECK_INT(mm_wait_peers(pairs[2], 1, 500, 0), MM_OK);   /* until it is told */
    sides_close(&s);
}

/* Both sides say so in a line; nothing of it is taken for a hello. */
static void
test_who_is_plain_on_one_side_only_is_no_peer(void)
{
    for (int plain_dials = 0; plain_dials < 2; plain_dials++) {
        sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
        char endpoint[MM_ENDPOINT_MAX + 1], url[MM_ENDPOINT_MAX + 8];
        enclose(plain_dials ? s.pull : s.push, &small, &toy_key);
        CHECK_INT(mm_bind(s.pull, plain_dials ? TLS : TCP, endpoint, sizeof endpoint), MM_OK);
        snprintf(url, sizeof url, "%s%s", plain_dials ? "" : "tls+",
                 plain_dials ? endpoint + strlen("tls+") : endpoint);
        CHECK_INT(mm_connect(s.push, url), MM_OK);
        CHECK_INT(mm_wait_peers(s.push, 1, 1000, 0), MM_ETIMEDOUT);
        CHECK_INT(mm_wait_peers(s.pull, 1, 1, 0), MM_ETIMEDOUT);
        int kind = MM_EVENT_HANDSHAKE_FAILED;
        if (plain_dials) {
            CHECK(told(s.pull, kind, MM_REASON_CRYPTO, "TOYTLS: not a toy") > 0);
            CHECK(told(s.push, kind, MM_REASON_NOT_ZMTP, "it said 'TOY") > 0);
        } else {
            CHECK(told(s.pull, kind, MM_REASON_NOT_ZMTP, "it said 'TOY") > 0);
            CHECK(told(s.push, kind, MM_REASON_HANDSHAKE_EOF, "not protect its connections so") >
                  0);
        }
        sides_close(&s);
    }
}

static void
test_endpoint_and_socket_have_to_agree(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    CHECK_INT(mm_bind(s.pull, TLS, NULL, 0), MM_EADDRINVAL);
    CHECK_INT(mm_connect(s.push, "tls+tcp://127.0.0.1:9"), MM_EADDRINVAL);
    CHECK_INT(mm_connect(s.push, "sp+tls+tcp://127.0.0.1:9"), MM_EADDRINVAL);
    enclose(s.pull, &small, &toy_key);
    enclose(s.push, &small, &toy_key);
    CHECK_INT(mm_bind(s.pull, TCP, NULL, 0), MM_EADDRINVAL);
    CHECK_INT(mm_bind(s.pull, "ipc://@x", NULL, 0), MM_EADDRINVAL);
    CHECK_INT(mm_connect(s.push, "inproc://x"), MM_EADDRINVAL);
    CHECK_INT(mm_bind(s.pull, "tls+tcp://*:0", NULL, 0), MM_OK);   /* needs no MM_OPT_INSECURE */
    protect(s.push, &inner, &toy_key);
    CHECK_INT(mm_connect(s.push, "tls+tcp://127.0.0.1:9"), MM_EINVAL);
    mm_stats stats;
    CHECK_INT(mm_socket_stats(s.push, &stats), MM_OK);
    CHECK_INT(stats.dialers, 0);
    sides_close(&s);
}

static void
test_whom_nobody_can_ask_for_is_told_so(void)
{
    sides s = enclosed(1, &(mm_sim_opts){ .latency_max_ns = 0 }, &small);
    char endpoint[MM_ENDPOINT_MAX + 1], url[MM_ENDPOINT_MAX + 1];
    CHECK_INT(mm_bind(s.pull, TLS, endpoint, sizeof endpoint), MM_OK);
    snprintf(url, sizeof url, "tls+tcp://localhost%s", strrchr(endpoint, ':'));
    CHECK_INT(mm_connect(s.push, url), MM_OK);
    CHECK_INT(mm_wait_peers(s.push, 1, 1000, 0), MM_ETIMEDOUT);
    CHECK(told(s.push, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_CRYPTO,
               "TOYTLS: there is no asking for localhost") > 0);
    sides_close(&s);
}

/* Linger and drain are as ever; then each is told that the other ended, and not that it was cut. */
static void
test_an_end_is_told_from_a_cut(void)
{
    for (int cut = 0; cut < 2; cut++) {
        for (int closes_pull = 0; closes_pull < 2; closes_pull++) {
            sides s = enclosed(1, &(mm_sim_opts){ .buffer_size = 3000 }, &small);
            join(s.pull, s.push, TLS);
            for (uint32_t i = 0; i < 100; i++) {
                CHECK_INT(mm_send(s.push, message_body, 500, PATIENCE_MS, 0), MM_OK);
            }
            if (!closes_pull) {
                take_all(s.pull, 100, PATIENCE_MS);
            }
            mm_handle ends = closes_pull ? s.pull : s.push, other = closes_pull ? s.push : s.pull;
            if (cut) {
                close_engine(s.engine[closes_pull], 0);
            } else {
                CHECK_INT(mm_socket_close(ends), MM_OK);
            }
            CHECK_INT(mm_sim_run(s.world, 1000 * MS), MM_OK);
            uint32_t said = told(other, MM_EVENT_PEER_DOWN, MM_REASON_EOF, "closed by the peer");
            uint32_t unsaid = told(other, MM_EVENT_PEER_DOWN, MM_REASON_EOF, "without a word");
            CHECK_INT(said + unsaid + told(other, MM_EVENT_PEER_DOWN, MM_REASON_RESET, ""), 1);
            CHECK(cut || said == 1);
            if (cut) {
                close_engine(s.engine[!closes_pull], 0);
                CHECK_INT(mm_sim_close(s.world), MM_OK);
            } else {
                sides_close(&s);
            }
        }
    }
}

static void
test_what_a_closed_socket_had_queued_arrives(void)
{
    sides s = enclosed(1, &(mm_sim_opts){ .buffer_size = 2000, .latency_max_ns = 100000 }, &small);
    join(s.pull, s.push, TLS);
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK_INT(mm_send(s.push, message_body, 900, PATIENCE_MS, 0), MM_OK);
    }
    CHECK_INT(mm_socket_close(s.push), MM_OK);
    take_all(s.pull, COUNT, PATIENCE_MS);
    CHECK_INT(mm_sim_run(s.world, 1000 * MS), MM_OK);
    CHECK_INT(told(s.pull, MM_EVENT_PEER_DOWN, MM_REASON_EOF, ""), 1);
    CHECK_INT(told(s.pull, MM_EVENT_PEER_DOWN, MM_REASON_EOF, "without a word"), 0);
    sides_close(&s);
}

/* The n-th record goes out wrong, from those of the hello on: the connection ends, and nothing that
 * was in it is taken. */
static void
test_a_record_that_was_changed_ends_the_connection(void)
{
    for (uint64_t n = 1; n < 12; n++) {
        const toy_config spoils = { .key = toy_key.key, .spoils = n };
        for (int pulls = 0; pulls < (n < 4 ? 2 : 1); pulls++) {   /* who pulls says little */
            sides s =
                enclosed(1, &(mm_sim_opts){ .latency_max_ns = 0, .buffer_size = 4 << 20 }, &small);
            char endpoint[MM_ENDPOINT_MAX + 1];
            enclose(pulls ? s.pull : s.push, &small, &spoils);
            CHECK_INT(mm_bind(s.pull, TLS, endpoint, sizeof endpoint), MM_OK);
            CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
            for (uint32_t i = 0; i < 30 && !pulls; i++) {
                int rc = mm_send(s.push, message_body, 90, 10, 0);
                CHECK(rc == MM_OK || rc == MM_ETIMEDOUT);
            }
            CHECK_INT(mm_sim_run(s.world, (uint64_t)15000 * MS), MM_OK);
            mm_handle finds = pulls ? s.push : s.pull;
            CHECK(told(finds, MM_EVENT_PEER_DOWN, MM_REASON_CRYPTO, "") +
                      told(finds, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_CRYPTO, "") >
                  0);
            sides_close(&s);
        }
    }
}

/* All of it comes in one read, and the inbox has room for one message at a time. */
static void
test_what_comes_with_the_hello_is_given_when_there_is_room(void)
{
    sides s = enclosed(1, &(mm_sim_opts){ .latency_max_ns = 0, .buffer_size = 4 << 20 }, &large);
    mm_socket_opts narrow = opts_of(MM_PULL);
    narrow.recv_queue_messages = 1;
    CHECK_INT(mm_socket_close(s.pull), MM_OK);
    s.pull = open_with(s.engine[1], MM_PULL, &narrow);
    enclose(s.pull, &large, &toy_key);
    char endpoint[MM_ENDPOINT_MAX + 1];
    CHECK_INT(mm_bind(s.pull, TLS, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(s.push, 1, PATIENCE_MS, 0), MM_OK);
    for (uint32_t i = 0; i < 100; i++) {
        CHECK_INT(mm_send(s.push, message_body, 1 + i * 37, PATIENCE_MS, 0), MM_OK);
    }
    CHECK_INT(mm_socket_close(s.push), MM_OK);
    for (uint32_t i = 0; i < 100; i++) {
        CHECK_INT(mm_sim_run(s.world, 10 * MS), MM_OK);
        CHECK_INT(told(s.pull, MM_EVENT_PEER_DOWN, MM_REASON_EOF, "without a word"), 0);
        take_all(s.pull, 1, PATIENCE_MS);
    }
    CHECK_INT(mm_sim_run(s.world, 10 * MS), MM_OK);
    CHECK_INT(told(s.pull, MM_EVENT_PEER_DOWN, MM_REASON_EOF, ""), 1);
    sides_close(&s);
}

static void
test_without_memory_a_connection_ends_and_the_next_one_carries_on(void)
{
    for (int64_t n = 1; n <= FAILURES; n++) {
        sides s = enclosed(1, &(mm_sim_opts){ .buffer_size = 5000 }, &small);
        char endpoint[MM_ENDPOINT_MAX + 1], url[MM_ENDPOINT_MAX + 8];
        CHECK_INT(mm_bind(s.pull, TLS, endpoint, sizeof endpoint), MM_OK);
        snprintf(url, sizeof url, "%s%s", n % 2 == 0 ? "" : "sp+", endpoint);
        CHECK_INT(mm_connect(s.push, url), MM_OK);
        mm_test_alloc_fail(n);
        for (uint32_t i = 0; i < 20; i++) {
            int rc = mm_send(s.push, message_body, 1000, PATIENCE_MS, 0);
            CHECK(rc == MM_OK || rc == MM_ENOMEM);
        }
        (void)mm_sim_run(s.world, 100000000);
        mm_test_alloc_fail(0);
        CHECK_INT(mm_wait_peers(s.push, 1, PATIENCE_MS, 0), MM_OK);
        CHECK_INT(mm_send(s.push, "the last", 8, PATIENCE_MS, 0), MM_OK);
        mm_batch *batch;
        CHECK_INT(mm_batch_new(&batch), MM_OK);
        for (size_t size = 0; size != 8;) {
            CHECK_INT(mm_recv(s.pull, batch, 1, 1 << 20, PATIENCE_MS, 0), 1);
            (void)mm_batch_frame(batch, 0, 0, &size);
        }
        mm_batch_free(batch);
        sides_close(&s);
    }
}

int
main(void)
{
    RUN(test_both_wires_are_inside_and_who_dials_says_whom_it_wants);
    RUN(test_messages_of_all_sizes_arrive);
    RUN(test_all_roles_connect_over_both_wires);
    RUN(test_reads_and_writes_may_be_cut_at_every_octet);
    RUN(test_a_stream_may_break_at_every_octet);
    RUN(test_who_has_another_key_is_refused);
    RUN(test_what_the_hello_refuses_is_told_through_it);
    RUN(test_connections_over_the_limit_are_told_so_through_it);
    RUN(test_who_is_plain_on_one_side_only_is_no_peer);
    RUN(test_endpoint_and_socket_have_to_agree);
    RUN(test_whom_nobody_can_ask_for_is_told_so);
    RUN(test_an_end_is_told_from_a_cut);
    RUN(test_what_a_closed_socket_had_queued_arrives);
    RUN(test_a_record_that_was_changed_ends_the_connection);
    RUN(test_what_comes_with_the_hello_is_given_when_there_is_room);
    RUN(test_without_memory_a_connection_ends_and_the_next_one_carries_on);
    return 0;
}
