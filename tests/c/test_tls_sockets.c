/*
 * test_tls_sockets.c: sockets that TLS protects: messages arrive over every stream, however that
 * cuts them or ends; who is not taken is told of, on both sides; a policy that is replaced ends who
 * it would not take.
 * Not here: who is taken by which policy (test_tls.c), other peers (tests/interop).
 * Law: with TLS a connection promises what it promises without.
 */
#include "plat/library.h"
#include "protected.h"
#include "tls_sides.h"

enum { COUNT = 200, SEEDS = 8, CUTS = 900, FAILURES = 120 };

#define TLS_TCP "tls+tcp://127.0.0.1:0"
static const uint8_t known[MMI_TLS_KEY_SIZE] = { 1, 2, 3 }, other[MMI_TLS_KEY_SIZE] = { 3, 2, 1 };

static void
share(mm_handle socket, const uint8_t *secret)
{
    mm_tls_opts opts = { .secrets = { secret, MMI_TLS_KEY_SIZE } };
    CHECK_INT(mm_socket_tls(socket, &opts, NULL, 0), MM_OK);
}

static void
certify(mm_handle socket, const char *name, const char *ca)
{
    tls_policy *p = tls_policy_of(name, ca);
    CHECK_INT(mm_socket_tls(socket, &p->opts, NULL, 0), MM_OK);
    free(p);
}

static void
test_messages_of_all_sizes_arrive(void)
{
    sides s = sides_open(1, NULL);
    certify(s.push, "client", "ca");
    certify(s.pull, "server", "ca");
    join(s.pull, s.push, TLS_TCP);
    flow(&s, COUNT, 50, size_of);
    mm_peer peer;
    uint32_t count;
    CHECK_INT(mm_socket_peers(s.pull, &peer, 1, &count), MM_OK);
    CHECK(strcmp(peer.mechanism, "TLS") == 0 && strlen(peer.key) > 0);
    sides_close(&s);
}

static void
test_a_secret_is_enough_in_any_world(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 100000 });
    share(s.push, known);
    share(s.pull, known);
    join(s.pull, s.push, TLS_TCP);
    flow(&s, COUNT, 50, size_of);
    sides_close(&s);
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
        { .buffer_size = 1 },
        { .split_ppm = 1000000, .short_write_ppm = 1000000 },
        { .buffer_size = 5000, .split_ppm = 500000, .eagain_ppm = 300000, .latency_max_ns = 5000 },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cuts); i++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            sides s = sides_open(seed, &cuts[i]);
            share(s.push, known);
            share(s.pull, known);
            join(s.pull, s.push, TLS_TCP);
            flow(&s, 60, 10, small_size);
            sides_close(&s);
        }
    }
}

/* At each octet of the handshake, of either side, and some behind it. */
static void
test_a_connection_that_is_cut_is_made_again(void)
{
    for (uint32_t cut = 1; cut < CUTS; cut += 3) {
        const mm_sim_opts faults = { .latency_max_ns = 1000, .reset_after_bytes = cut };
        sides s = sides_open(cut, &faults);
        char endpoint[MM_ENDPOINT_MAX + 1];
        share(s.push, known);
        share(s.pull, known);
        CHECK_INT(mm_bind(s.pull, TLS_TCP, endpoint, sizeof endpoint), MM_OK);
        CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
        CHECK_INT(mm_sim_run(s.world, 100000000), MM_OK);
        CHECK_INT(mm_sim_heal(s.world), MM_OK);
        CHECK_INT(mm_wait_peers(s.push, 1, PATIENCE_MS, 0), MM_OK);
        sides_close(&s);
    }
}

static void
test_who_has_another_secret_is_refused_and_both_are_told(void)
{
    const int kind = MM_EVENT_HANDSHAKE_FAILED;
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    char endpoint[MM_ENDPOINT_MAX + 1];
    share(s.push, known);
    share(s.pull, other);
    CHECK_INT(mm_bind(s.pull, TLS_TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(s.push, 1, 1000, 0), MM_ETIMEDOUT);
    CHECK(told(s.pull, kind, MM_REASON_CRYPTO, "its secret is none of ours") > 0);
    CHECK(told(s.push, kind, MM_REASON_TLS_ALERT, "it most likely has another secret") > 0);
    sides_close(&s);
}

static void
test_plain_and_protected_are_told_apart(void)
{
    for (int listens = 0; listens < 2; listens++) {
        sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
        char endpoint[MM_ENDPOINT_MAX + 1], there[MM_ENDPOINT_MAX + 8];
        share(listens ? s.pull : s.push, known);
        CHECK_INT(mm_bind(s.pull, listens ? TLS_TCP : TCP, endpoint, sizeof endpoint), MM_OK);
        snprintf(there, sizeof there, "%s%s", listens ? "" : "tls+", endpoint + (listens ? 4 : 0));
        CHECK_INT(mm_connect(s.push, there), MM_OK);
        CHECK_INT(mm_wait_peers(s.push, 1, 1000, 0), MM_ETIMEDOUT);
        const int reason = listens ? MM_REASON_TLS_EXPECTED : MM_REASON_PLAINTEXT;
        CHECK(told(s.pull, MM_EVENT_HANDSHAKE_FAILED, reason, "") > 0);
        sides_close(&s);
    }
}

static void
test_who_the_policy_of_now_would_not_take_is_closed(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    share(s.push, known);
    share(s.pull, known);
    join(s.pull, s.push, TLS_TCP);
    share(s.pull, known);   /* the same again: nobody leaves */
    flow(&s, 10, 5, small_size);
    share(s.pull, other);
    CHECK_INT(mm_sim_run(s.world, 1000000), MM_OK);
    CHECK_INT(told(s.pull, MM_EVENT_PEER_DOWN, MM_REASON_REVOKED, ""), 1);
    share(s.push, other);
    CHECK_INT(mm_wait_peers(s.push, 1, PATIENCE_MS, 0), MM_OK);
    sides_close(&s);
}

static void
pinned(mm_handle socket, const char *name, const char *peer)
{
    tls_policy *p = tls_policy_of(name, NULL);
    tls_pin(p, peer);
    CHECK_INT(mm_socket_tls(socket, &p->opts, NULL, 0), MM_OK);
    free(p);
}

/* Whoever dials; its certificate and its key are given no more. */
static void
test_other_pins_alone_end_who_has_none_of_them(void)
{
    tls_policy *p = tls_policy_of(NULL, NULL);
    tls_pin(p, "another");
    tls_pin(p, "server");
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    CHECK_INT(mm_socket_tls_pins(s.push, p->pins, 1), MM_ESTATE);
    pinned(s.push, "self", "another");
    pinned(s.pull, "another", "self");
    CHECK_INT(mm_socket_tls_pins(s.push, p->pins, 0), MM_EINVAL);
    join(s.pull, s.push, TLS_TCP);
    for (int i = 0; i < 2; i++) {   /* the second is of pins alone already */
        CHECK_INT(mm_socket_tls_pins(s.push, p->pins, 2), MM_OK);
    }
    flow(&s, 10, 5, small_size);
    CHECK_INT(mm_socket_tls_pins(s.push, p->pins + MMI_TLS_KEY_SIZE, 1), MM_OK);
    CHECK_INT(told(s.push, MM_EVENT_PEER_DOWN, MM_REASON_REVOKED, ""), 1);
    CHECK_INT(mm_wait_peers(s.push, 1, 1000, 0), MM_ETIMEDOUT);
    CHECK_INT(mm_socket_tls_pins(s.push, p->pins, 1), MM_OK);
    CHECK_INT(mm_wait_peers(s.push, 1, PATIENCE_MS, 0), MM_OK);
    CHECK_INT(mm_socket_close(s.push), MM_OK);
    CHECK_INT(mm_socket_tls_pins(s.push, p->pins, 1), MM_ECLOSED);
    free(p);
    sides_close(&s);
}

static void
test_no_others_than_pins_are_changed_so(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    share(s.push, known);
    certify(s.pull, "server", "ca");
    CHECK_INT(mm_socket_tls_pins(s.push, other, 1), MM_ESTATE);
    CHECK_INT(mm_socket_tls_pins(s.pull, other, 1), MM_ESTATE);
    sides_close(&s);
}

static void
test_without_memory_other_pins_are_taken_whole_or_not_at_all(void)
{
    int rc = MM_ENOMEM;
    for (int64_t n = 1; rc != MM_OK && n <= FAILURES; n++) {
        sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
        pinned(s.push, "self", "another");
        pinned(s.pull, "another", "self");
        join(s.pull, s.push, TLS_TCP);
        mm_test_alloc_fail(n);
        rc = mm_socket_tls_pins(s.push, other, 1);
        mm_test_alloc_fail(0);
        CHECK(rc == MM_OK || rc == MM_ENOMEM);
        CHECK_INT(told(s.push, MM_EVENT_PEER_DOWN, MM_REASON_REVOKED, ""), rc == MM_OK);
        sides_close(&s);
    }
    CHECK_INT(rc, MM_OK);
}

static void
test_what_was_proved_is_judged_also_when_the_socket_has_gone(void)
{
    tls_policy *ours = tls_policy_of("self", NULL), *theirs = tls_policy_of("another", NULL);
    tls_pin(ours, "another");
    tls_pin(theirs, "self");
    tls_sides s = tls_sides_open(ours, theirs);
    CHECK(tls_shake(&s, "whatever"));
    mmi_tls_config *kept = s.dialer.config;
    mmi_tls_proof *proof = mmi_tls_proof_of(s.dialer.shield);
    mmi_tls_config_keep(kept);
    tls_sides_close(&s);
    CHECK(mmi_tls_proof_stands(kept, proof));
    mmi_tls_proof_drop(proof);
    mmi_tls_config_drop(kept);
}

static void
test_without_memory_a_connection_ends_and_the_next_one_carries_on(void)
{
    for (int64_t n = 1; n <= FAILURES; n++) {
        sides s = sides_open(1, &(mm_sim_opts){ .buffer_size = 5000 });
        char endpoint[MM_ENDPOINT_MAX + 1];
        share(s.push, known);
        share(s.pull, known);
        CHECK_INT(mm_bind(s.pull, TLS_TCP, endpoint, sizeof endpoint), MM_OK);
        CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
        mm_test_alloc_fail(n);
        for (uint32_t i = 0; i < 20; i++) {
            int rc = mm_send(s.push, message_body, 7000, PATIENCE_MS, 0);
            CHECK(rc == MM_OK || rc == MM_ENOMEM);
        }
        (void)mm_sim_run(s.world, 100000000);
        mm_test_alloc_fail(0);
        CHECK_INT(mm_wait_peers(s.push, 1, PATIENCE_MS, 0), MM_OK);
        sides_close(&s);
    }
}

int
main(void)
{
    if (!tls_certificates_there()) {
        return 0;
    }
    RUN(test_messages_of_all_sizes_arrive);
    RUN(test_a_secret_is_enough_in_any_world);
    RUN(test_reads_and_writes_may_be_cut_at_every_octet);
    RUN(test_a_connection_that_is_cut_is_made_again);
    RUN(test_who_has_another_secret_is_refused_and_both_are_told);
    RUN(test_plain_and_protected_are_told_apart);
    RUN(test_who_the_policy_of_now_would_not_take_is_closed);
    RUN(test_other_pins_alone_end_who_has_none_of_them);
    RUN(test_no_others_than_pins_are_changed_so);
    RUN(test_without_memory_other_pins_are_taken_whole_or_not_at_all);
    RUN(test_what_was_proved_is_judged_also_when_the_socket_has_gone);
    RUN(test_without_memory_a_connection_ends_and_the_next_one_carries_on);
    return 0;
}
