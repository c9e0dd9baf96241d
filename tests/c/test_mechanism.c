/*
 * test_mechanism.c: connections that a mechanism protects: all messages arrive, whatever their size
 * and however the stream cuts them; who has another mechanism, another key, or none is refused, and
 * both sides know why; what was changed on the way ends the connection.
 * Not here: what a mechanism is (wire/mechanism.h), the one that is used (toy_mechanism.h), its
 * handshake (test_mechanism_steps.c).
 * Law: with a mechanism a connection promises what it promises without.
 */
#include "meshmsg_binding.h"
#include "protected.h"
#include "toy_mechanism.h"

enum { COUNT = 300, CUT_SEEDS = 6, FAILURES = 120 };

static const mmi_mechanism toy_small = TOY("TOYXOR", 100), toy_large = TOY("TOYXOR", 16 * 1024),
                           toy_other = TOY("TOYOTHER", 1024);
static const toy_config toy_key = { .key = 0x42 }, toy_wrong = { .key = 0x43 },
                        toy_frames = { .key = 0x42, .whole_frames = true };

static void
flow_over(const mmi_mechanism *mechanism, const toy_config *config, const char *url, bool world)
{
    sides s = sides_open(1, world ? &(mm_sim_opts){ .latency_max_ns = 100000 } : NULL);
    protect(s.push, mechanism, config);
    protect(s.pull, mechanism, config);
    join(s.pull, s.push, url);
    flow(&s, COUNT, 50, size_of);
    sides_close(&s);
}

static void
test_messages_of_all_sizes_arrive_over_tcp(void)
{
    flow_over(&toy_small, &toy_key, TCP, false);
    flow_over(&toy_large, &toy_key, TCP, false);
    flow_over(&toy_large, &toy_frames, TCP, false);
}

static void
test_messages_of_all_sizes_arrive_in_the_simulator(void)
{
    flow_over(&toy_small, &toy_key, TCP, true);
    flow_over(&toy_large, &toy_frames, TCP, true);
}

/* Streams within the process are lent octets where nobody protects them. */
static void
test_an_engine_may_talk_to_itself(void)
{
    mm_handle engine = open_engine();
    sides s = { .engine = { engine, engine },
                .push = open_socket(engine, MM_PUSH),
                .pull = open_socket(engine, MM_PULL) };
    protect(s.push, &toy_large, &toy_key);
    protect(s.pull, &toy_large, &toy_key);
    join(s.pull, s.push, "inproc://toys");
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
        { .buffer_size = 3 },
        { .split_ppm = 1000000, .short_write_ppm = 1000000 },
        { .buffer_size = 5000, .split_ppm = 500000, .eagain_ppm = 300000, .latency_max_ns = 5000 },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cuts); i++) {
        for (uint64_t seed = 1; seed <= CUT_SEEDS; seed++) {
            const toy_config *config = seed % 2 == 0 ? &toy_frames : &toy_key;
            sides s = sides_open(seed, &cuts[i]);
            protect(s.push, &toy_small, config);
            protect(s.pull, &toy_small, config);
            join(s.pull, s.push, TCP);
            flow(&s, 100, 10, small_size);
            sides_close(&s);
        }
    }
}

static void
test_who_has_another_mechanism_is_refused_and_both_say_which(void)
{
    const struct {
        const mmi_mechanism *push, *pull;
        const char *to_push, *to_pull;
    } cases[] = {
        { &toy_large, NULL, "'NULL', ours TOYXOR", "'TOYXOR', ours NULL" },
        { NULL, &toy_large, "'TOYXOR', ours NULL", "'NULL', ours TOYXOR" },
        { &toy_large, &toy_other, "'TOYOTHER', ours TOYXOR", "'TOYXOR', ours TOYOTHER" },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cases); i++) {
        sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
        protect(s.push, cases[i].push, &toy_key);
        protect(s.pull, cases[i].pull, &toy_key);
        refused(&s, "");
        int kind = MM_EVENT_HANDSHAKE_FAILED;
        CHECK(told(s.push, kind, MM_REASON_MECHANISM, cases[i].to_push) > 0);
        CHECK(told(s.pull, kind, MM_REASON_MECHANISM, cases[i].to_pull) > 0);
        sides_close(&s);
    }
}

static void
test_who_has_another_key_is_refused_by_the_mechanism(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    protect(s.push, &toy_large, &toy_key);
    protect(s.pull, &toy_large, &toy_wrong);
    refused(&s, "");
    CHECK(told(s.push, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_CRYPTO, "TOYXOR: another key") +
              told(s.pull, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_CRYPTO, "TOYXOR: another key") >
          0);
    sides_close(&s);
}

static void
test_a_peer_of_sp_is_refused_where_a_mechanism_is_asked_for(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    protect(s.pull, &toy_large, &toy_key);
    refused(&s, "sp+");
    CHECK(told(s.pull, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_MECHANISM, "SP has no mechanism") > 0);
    sides_close(&s);
}

static void
test_a_role_that_does_not_fit_is_refused_by_its_properties(void)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    mm_handle rep = open_socket(s.engine[1], MM_REP);
    s.pull = rep;
    protect(s.push, &toy_large, &toy_key);
    protect(s.pull, &toy_large, &toy_key);
    refused(&s, "");
    const char *why = "REP cannot talk to PUSH";
    CHECK(told(s.pull, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_SOCKET_TYPE, why) > 0);
    sides_close(&s);
}

static size_t
middle_size(uint32_t i)
{
    return 1000 + i % 7;
}

static void
ends_at_a_record(const toy_config *spoils, int reason, const char *words)
{
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    protect(s.push, &toy_small, spoils);
    protect(s.pull, &toy_small, &toy_key);
    join(s.pull, s.push, TCP);
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    for (uint32_t i = 0; i < 60; i++) {
        send_one(s.push, i, small_size(i));
        CHECK_INT(mm_sim_run(s.world, 1000000), MM_OK);
    }
    CHECK(told(s.pull, MM_EVENT_PEER_DOWN, reason, words) > 0);
    for (uint32_t i = 0; i < 20; i++) {   /* what came before is whole */
        CHECK_INT(take_one(s.pull, batch, small_size), i);
    }
    mm_batch_free(batch);
    sides_close(&s);
}

static void
test_a_record_that_was_changed_or_left_out_ends_the_connection(void)
{
    const toy_config spoils = { .key = toy_key.key, .spoils = 40 },
                     skips = { .key = toy_key.key, .spoils = 40, .skips = true };
    ends_at_a_record(&spoils, MM_REASON_CRYPTO, "changed");
    ends_at_a_record(&skips, MM_REASON_SEQUENCE, "left out");
}

/* Many lie in one read, the first ones right: also those for which the inbox has no room yet. */
static void
test_what_came_before_a_wrong_record_in_the_same_read_is_received(void)
{
    enum { SENT = 60, SPOILT = 40, WHOLE = (SPOILT - 1) / 2 };   /* of two frames each */
    const toy_config spoils = { .key = toy_key.key, .whole_frames = true, .spoils = SPOILT };
    for (uint32_t room = 1; room < 1000; room *= 10) {
        sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0, .buffer_size = 4 << 20 });
        mm_socket_opts narrow = opts_of(MM_PULL);
        narrow.recv_queue_messages = room;
        CHECK_INT(mm_socket_close(s.pull), MM_OK);
        s.pull = open_with(s.engine[1], MM_PULL, &narrow);
        protect(s.push, &toy_large, &spoils);
        protect(s.pull, &toy_large, &toy_frames);
        join(s.pull, s.push, TCP);
        mm_batch *batch;
        CHECK_INT(mm_batch_new(&batch), MM_OK);
        for (uint32_t i = 0; i < SENT; i++) {
            send_one(s.push, i, middle_size(i));
        }
        CHECK_INT(mm_sim_run(s.world, 1000000), MM_OK);
        CHECK_INT(told(s.pull, MM_EVENT_PEER_DOWN, MM_REASON_CRYPTO, ""), room >= WHOLE);
        for (uint32_t i = 0; i < WHOLE; i++) {
            CHECK_INT(take_one(s.pull, batch, middle_size), i);
        }
        CHECK_INT(mm_sim_run(s.world, 1000000), MM_OK);
        CHECK_INT(told(s.pull, MM_EVENT_PEER_DOWN, MM_REASON_CRYPTO, ""), 1);
        mm_batch_free(batch);
        sides_close(&s);
    }
}

static size_t
large_size(uint32_t i)
{
    return i % 3 == 0 ? 700000 : 100 + i;
}

static void
check_known(const mm_batch *batch)
{
    mm_known known;
    CHECK(batch->known != 0);
    CHECK_INT(mm_batch_known(batch, mm_batch_peer(batch, 0), &known), 1);
    CHECK(strcmp(known.mechanism, "TOYXOR") == 0 && strcmp(known.user_id, "") == 0);
    CHECK(known.properties_size > 0 && memcmp(known.properties, "\x0bSocket-Type", 12) == 0);
    CHECK_INT(known.metadata_size, 0);
}

/* However it is received: by reference, by copy, in a segment; without protection nothing is. */
static void
test_whom_a_peer_is_known_as_goes_with_its_messages_also_once_it_left(void)
{
    for (int protects = 0; protects < 2; protects++) {
        sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0, .buffer_size = 4 << 20 });
        if (protects) {
            protect(s.push, &toy_large, &toy_key);
            protect(s.pull, &toy_large, &toy_key);
        }
        join(s.pull, s.push, TCP);
        mm_batch *batch;
        CHECK_INT(mm_batch_new(&batch), MM_OK);
        for (uint32_t i = 0; i < 60; i++) {
            send_one(s.push, i, i < 20 ? large_size(i) : 4);
        }
        CHECK_INT(mm_sim_run(s.world, 100000000), MM_OK);
        CHECK_INT(mm_socket_close(s.push), MM_OK);
        CHECK_INT(mm_sim_run(s.world, 100000000), MM_OK);
        int more, left = 60;
        for (uint32_t most = 1; left > 0; most = most % 7 + 1) {
            int n = most == 5 ? mm_recv_nowait(s.pull, batch, &more)
                              : mm_recv(s.pull, batch, most, 1 << 20, PATIENCE_MS, 0);
            CHECK(n > 0);
            left -= n;
            if (protects) {
                check_known(batch);
            } else {
                CHECK_INT(batch->known, 0);
                CHECK_INT(mm_batch_known(batch, mm_batch_peer(batch, 0), &(mm_known){ 0 }), 0);
            }
        }
        mm_batch_free(batch);
        sides_close(&s);
    }
}

/* Large records lie in the mechanism, and small messages behind one another, while the inbox is
 * full: they come when there is room, and only then. */
static void
test_a_full_inbox_holds_back_what_was_opened(void)
{
    const mmi_mechanism *mechanisms[] = { &toy_small, &toy_large };
    for (size_t i = 0; i < 2 * MMI_COUNT_OF(mechanisms); i++) {
        const toy_config *config = i % 2 == 0 ? &toy_key : &toy_frames;
        sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0, .buffer_size = 4 << 20 });
        mm_socket_opts narrow = opts_of(MM_PULL);
        narrow.recv_queue_messages = 1;
        CHECK_INT(mm_socket_close(s.pull), MM_OK);
        s.pull = open_with(s.engine[1], MM_PULL, &narrow);
        protect(s.push, mechanisms[i / 2], config);
        protect(s.pull, mechanisms[i / 2], config);
        join(s.pull, s.push, TCP);
        mm_batch *batch;
        CHECK_INT(mm_batch_new(&batch), MM_OK);
        for (uint32_t n = 0; n < 30; n++) {
            send_one(s.push, n, large_size(n));
        }
        for (uint32_t n = 0; n < 30; n++) {
            CHECK_INT(mm_sim_run(s.world, 10000000), MM_OK);
            mm_stats stats;
            CHECK_INT(mm_socket_stats(s.pull, &stats), MM_OK);
            CHECK(stats.parsed_messages <= n + 3);
            CHECK_INT(take_one(s.pull, batch, large_size), n);
        }
        mm_batch_free(batch);
        sides_close(&s);
    }
}

/* A peer that takes nothing more goes away in the middle of a batch: what was not taken goes to the
 * next one.  No message is at both, and all that were not written to the first are at the second,
 * but for one that was begun. */
static void
test_what_was_sealed_and_not_taken_goes_to_the_next_peer(void)
{
    enum { SENT = 400, TAKEN = 20 };
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0, .buffer_size = 20000 });
    mm_socket_opts narrow = opts_of(MM_PULL);
    narrow.recv_queue_messages = 5;
    mm_handle first = open_with(s.engine[1], MM_PULL, &narrow);
    protect(s.push, &toy_small, &toy_key);
    protect(s.pull, &toy_small, &toy_key);
    protect(first, &toy_small, &toy_key);
    join(first, s.push, TCP);
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    for (uint32_t i = 0; i < SENT; i++) {
        send_one(s.push, i, middle_size(i));
    }
    for (uint32_t i = 0; i < TAKEN; i++) {
        CHECK_INT(take_one(first, batch, middle_size), i);
    }
    CHECK_INT(mm_sim_run(s.world, 1000000), MM_OK);
    mm_stats stats;
    CHECK_INT(mm_socket_stats(s.push, &stats), MM_OK);
    uint64_t written = stats.written_messages;
    /* What the peer has read, its inbox, and what the stream holds: no batch beyond that. */
    CHECK(written > TAKEN && written < TAKEN + 5 + 3 * 20);
    CHECK_INT(mm_socket_close(first), MM_OK);
    join(s.pull, s.push, TCP);
    uint32_t least = SENT, got = 0;
    for (int rounds = 0; rounds < 100; rounds++) {
        CHECK_INT(mm_sim_run(s.world, 10000000), MM_OK);
        CHECK_INT(mm_socket_stats(s.pull, &stats), MM_OK);
        for (uint64_t n = stats.queued_in_messages; n > 0; n--, got++) {
            uint32_t i = take_one(s.pull, batch, middle_size);
            least = got == 0 ? i : least;
            CHECK_INT(i, least + got);   /* in order: so none comes twice */
        }
    }
    CHECK_INT(mm_socket_stats(s.push, &stats), MM_OK);
    CHECK_INT(least + got, SENT);
    CHECK(least >= written && least <= written + 1);
    CHECK_INT(stats.dropped_peer_gone, least - written);
    mm_batch_free(batch);
    sides_close(&s);
}

/* A stream that takes little at once is cut in the midst of what was sealed together: frames that
 * went whole are written, and nobody else gets them. */
static void
test_frames_that_were_taken_whole_do_not_go_to_the_next_peer(void)
{
    enum { SENT = 400, CUT = 50500 };
    sides s = sides_open(1, &(mm_sim_opts){ .buffer_size = 3000, .reset_after_bytes = CUT });
    mm_handle first = open_socket(s.engine[1], MM_PULL);
    protect(s.push, &toy_large, &toy_frames);
    protect(s.pull, &toy_large, &toy_frames);
    protect(first, &toy_large, &toy_frames);
    join(first, s.push, TCP);
    for (uint32_t i = 0; i < SENT; i++) {
        send_one(s.push, i, middle_size(i));
    }
    mm_stats stats;
    CHECK_INT(mm_sim_run(s.world, 100000), MM_OK);
    CHECK_INT(mm_sim_heal(s.world), MM_OK);
    CHECK_INT(mm_socket_stats(first, &stats), MM_OK);
    uint64_t parsed = stats.parsed_messages;
    CHECK(parsed > CUT / 1100 - 5 && parsed < SENT / 2);
    CHECK_INT(mm_socket_close(first), MM_OK);
    join(s.pull, s.push, TCP);
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    uint32_t next = take_one(s.pull, batch, middle_size);
    CHECK(next >= parsed && next <= parsed + 4);
    while (++next < SENT) {
        CHECK_INT(take_one(s.pull, batch, middle_size), next);
    }
    mm_batch_free(batch);
    sides_close(&s);
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

/* Whatever allocation fails, nothing worse happens than that a connection ends, and the next one
 * carries on. */
static void
test_without_memory_a_connection_ends_and_the_next_one_carries_on(void)
{
    for (int64_t n = 1; n <= FAILURES; n++) {
        const toy_config *config = n % 2 == 0 ? &toy_key : &toy_frames;
        sides s = sides_open(1, &(mm_sim_opts){ .buffer_size = 5000 });
        char endpoint[MM_ENDPOINT_MAX + 1];
        protect(s.push, &toy_small, config);
        protect(s.pull, &toy_small, config);
        CHECK_INT(mm_bind(s.pull, TCP, endpoint, sizeof endpoint), MM_OK);
        CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
        mm_test_alloc_fail(n);
        for (uint32_t i = 0; i < 20; i++) {
            int rc = mm_send(s.push, message_body, 1000, PATIENCE_MS, 0);
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

int
main(void)
{
    RUN(test_messages_of_all_sizes_arrive_over_tcp);
    RUN(test_messages_of_all_sizes_arrive_in_the_simulator);
    RUN(test_an_engine_may_talk_to_itself);
    RUN(test_reads_and_writes_may_be_cut_at_every_octet);
    RUN(test_who_has_another_mechanism_is_refused_and_both_say_which);
    RUN(test_who_has_another_key_is_refused_by_the_mechanism);
    RUN(test_a_peer_of_sp_is_refused_where_a_mechanism_is_asked_for);
    RUN(test_a_role_that_does_not_fit_is_refused_by_its_properties);
    RUN(test_a_record_that_was_changed_or_left_out_ends_the_connection);
    RUN(test_what_came_before_a_wrong_record_in_the_same_read_is_received);
    RUN(test_whom_a_peer_is_known_as_goes_with_its_messages_also_once_it_left);
    RUN(test_a_full_inbox_holds_back_what_was_opened);
    RUN(test_what_was_sealed_and_not_taken_goes_to_the_next_peer);
    RUN(test_frames_that_were_taken_whole_do_not_go_to_the_next_peer);
    RUN(test_without_memory_a_connection_ends_and_the_next_one_carries_on);
    return 0;
}
