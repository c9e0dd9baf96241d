/*
 * test_sim_faults.c: every kind of fault the simulated world has, alone, with its chance at one.
 * Not here: faults together under real sockets (tests/sim); partitions (test_sim_partition.c).
 * Law: bytes arrive in order or not at all, whatever the faults; healing ends them.
 */
#include "sim_rig.h"

static void
test_bytes_are_seen_at_their_time_and_not_before(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_min_ns = 500, .latency_max_ns = 500 });
    char buf[8];
    CHECK_INT(plat_put(&r.a, r.near_end, "abc", 3), 3);
    CHECK_INT(mm_sim_run(r.world, 499), MM_OK);
    CHECK_INT(plat_get(&r.b, r.far_end, buf, sizeof buf), MM_EAGAIN);
    CHECK_INT(mm_sim_run(r.world, 1), MM_OK);
    CHECK_INT(plat_get(&r.b, r.far_end, buf, sizeof buf), 3);
    r.a.finish(r.a.self, r.near_end);
    CHECK_INT(mm_sim_run(r.world, 499), MM_OK);
    CHECK_INT(plat_get(&r.b, r.far_end, buf, sizeof buf), MM_EAGAIN);
    CHECK_INT(mm_sim_run(r.world, 1), MM_OK);
    CHECK_INT(plat_get(&r.b, r.far_end, buf, sizeof buf), 0);
    rig_close(&r);
}

/* Sends a numbered flow through whatever the world does to it, and checks what comes out. */
static void
faults_flow(sim_rig *r, uint32_t total, uint32_t *short_reads, uint32_t *refusals)
{
    uint8_t out[300], in[300];
    uint32_t written = 0, got = 0;
    *short_reads = *refusals = 0;
    for (int turn = 0; got < total && turn < 200000; turn++) {
        uint32_t size = total - written < sizeof out ? total - written : (uint32_t)sizeof out;
        for (uint32_t i = 0; i < size; i++) {
            out[i] = (uint8_t)((written + i) * 7);
        }
        int64_t rc = size > 0 ? plat_put(&r->a, r->near_end, out, size) : 0;
        CHECK(rc >= 0 || rc == MM_EAGAIN);
        *refusals += rc == MM_EAGAIN;
        *short_reads += rc > 0 && rc < size;
        written += rc > 0 ? (uint32_t)rc : 0;
        CHECK_INT(mm_sim_run(r->world, 1000), MM_OK);
        rc = plat_get(&r->b, r->far_end, in, sizeof in);
        CHECK(rc > 0 || rc == MM_EAGAIN);
        for (int64_t i = 0; i < rc; i++) {
            CHECK_INT(in[i], (uint8_t)((got + (uint32_t)i) * 7));
        }
        got += rc > 0 ? (uint32_t)rc : 0;
    }
    CHECK_INT(got, total);
}

static void
test_random_latency_keeps_the_order(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 1000000 });
    uint32_t pieces, refusals;
    faults_flow(&r, 100000, &pieces, &refusals);
    rig_close(&r);
}

static void
test_split_reads_and_short_writes_lose_nothing(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .split_ppm = 1000000, .short_write_ppm = 1000000 });
    uint32_t pieces, refusals;
    faults_flow(&r, 20000, &pieces, &refusals);
    CHECK(pieces > 10);
    rig_close(&r);
}

static void
test_again_is_said_without_reason_and_does_no_harm(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .eagain_ppm = 500000 });
    uint32_t pieces, refusals;
    faults_flow(&r, 20000, &pieces, &refusals);
    CHECK(refusals > 10);
    rig_close(&r);
}

static void
test_a_small_buffer_holds_so_much_and_no_more(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .buffer_size = 100 });
    uint8_t bytes[300] = { 1 };
    CHECK_INT(plat_put(&r.a, r.near_end, bytes, 99), 99);
    CHECK_INT(plat_put(&r.a, r.near_end, bytes, 300), 1);
    CHECK_INT(plat_put(&r.a, r.near_end, bytes, 1), MM_EAGAIN);
    CHECK_INT(plat_get(&r.b, r.far_end, bytes, 60), 60);
    CHECK_INT(plat_put(&r.a, r.near_end, bytes, 300), 60);
    CHECK_INT(mm_sim_faults(r.world, &(mm_sim_opts){ .buffer_size = 0 }), MM_OK);
    CHECK_INT(plat_put(&r.a, r.near_end, bytes, 1), MM_EAGAIN);   /* 0: as it was */
    CHECK_INT(mm_sim_faults(r.world, &(mm_sim_opts){ .buffer_size = 101 }), MM_OK);
    CHECK_INT(plat_put(&r.a, r.near_end, bytes, 2), 1);
    rig_close(&r);
}

static void
test_a_reset_takes_everything_from_both_ends(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    char buf[8];
    mmi_event event;
    CHECK_INT(plat_put(&r.a, r.near_end, "abc", 3), 3);
    CHECK_INT(plat_put(&r.b, r.far_end, "def", 3), 3);
    CHECK_INT(mm_sim_faults(r.world, &(mm_sim_opts){ .reset_ppm = 1000000 }), MM_OK);
    CHECK_INT(plat_put(&r.a, r.near_end, "x", 1), MM_ECONNRESET);
    CHECK_INT(mm_sim_heal(r.world), MM_OK);
    CHECK_INT(plat_get(&r.a, r.near_end, buf, sizeof buf), MM_ECONNRESET);
    CHECK_INT(plat_get(&r.b, r.far_end, buf, sizeof buf), MM_ECONNRESET);
    CHECK_INT(plat_put(&r.b, r.far_end, "x", 1), MM_ECONNRESET);
    CHECK_INT(r.a.connected(r.a.self, r.near_end), MM_ECONNREFUSED);
    CHECK_INT(r.b.watch(r.b.self, r.far_end, 7, 3), MM_OK);
    CHECK_INT(r.b.poll(r.b.self, &event, 1, 0), 1);
    CHECK_INT(event.events, MMI_WATCH_READ | MMI_WATCH_WRITE | MMI_WATCH_HANGUP);
    rig_close(&r);
}

static void
test_a_stream_is_reset_after_so_many_bytes(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .reset_after_bytes = 10 });
    CHECK_INT(plat_put(&r.b, r.far_end, "0123456789", 9), 9);
    CHECK_INT(plat_put(&r.a, r.near_end, "0123456789", 9), 9);
    CHECK_INT(plat_put(&r.a, r.near_end, "9", 1), 1);
    CHECK_INT(plat_put(&r.a, r.near_end, "x", 1), MM_ECONNRESET);
    CHECK_INT(plat_put(&r.b, r.far_end, "x", 1), MM_ECONNRESET);
    rig_close(&r);
}

static void
test_one_write_is_planned_to_find_its_stream_reset(void)
{
    for (uint64_t nth = 1; nth <= 4; nth++) {
        mm_sim_state state;
        sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
        CHECK_INT(mm_sim_reset_in(r.world, nth), MM_OK);
        for (uint64_t i = 1; i <= 3; i++) {
            mmi_plat *side = i % 2 == 0 ? &r.b : &r.a;
            int stream = i % 2 == 0 ? r.far_end : r.near_end;
            CHECK_INT(plat_put(side, stream, "x", 1), i < nth ? 1 : MM_ECONNRESET);
        }
        CHECK_INT(mm_sim_inspect(r.world, &state), MM_OK);
        CHECK_INT(state.writes, nth - 1);
        CHECK_INT(state.resets, nth <= 3);
        rig_close(&r);
    }
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    CHECK_INT(mm_sim_reset_in(r.world, 1), MM_OK);
    CHECK_INT(mm_sim_heal(r.world), MM_OK);
    CHECK_INT(plat_put(&r.a, r.near_end, "x", 1), 1);
    rig_close(&r);
}

/* How often it is written, in writes of so many octets; another stream is in between. */
static uint64_t
times_found(const char *sought, const char *written, size_t piece)
{
    mm_sim_state state;
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    CHECK_INT(mm_sim_seek(r.world, (const uint8_t *)sought, strlen(sought)), MM_OK);
    for (size_t at = 0, size = strlen(written); at < size; at += piece) {
        size_t part = size - at < piece ? size - at : piece;
        CHECK_INT(plat_put(&r.a, r.near_end, written + at, part), part);
        CHECK_INT(plat_put(&r.b, r.far_end, "other", 5), 5);
    }
    CHECK_INT(mm_sim_inspect(r.world, &state), MM_OK);
    rig_close(&r);
    return state.found;
}

static void
test_what_is_sought_is_found_however_it_is_written(void)
{
    static const struct {
        const char *sought, *written;
        uint64_t times;
    } cases[] = {
        { "x", "axbx", 2 },         { "abc", "ababcab", 1 },    { "aab", "aaab", 1 },
        { "aa", "aaaa", 3 },        { "abab", "abaabab", 1 },   { "aabaaab", "aabaabaaab", 1 },
        { "abcd", "abcabdabc", 0 }, { "marked", "marke d", 0 }, { "", "anything", 0 },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cases); i++) {
        for (size_t piece = 1; piece <= 10; piece++) {
            CHECK_INT(times_found(cases[i].sought, cases[i].written, piece), cases[i].times);
        }
    }
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    uint8_t long_one[SIM_SOUGHT_MAX + 1] = { 0 };
    CHECK_INT(mm_sim_seek(r.world, long_one, sizeof long_one), MM_EINVAL);
    CHECK_INT(mm_sim_seek(r.world, long_one, SIM_SOUGHT_MAX), MM_OK);
    rig_close(&r);
}

static void
test_reset_all_cuts_streams_and_spares_listeners(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    int s, t;
    mmi_addr peer;
    CHECK_INT(mm_sim_reset_all(r.world), MM_OK);
    CHECK_INT(mm_sim_reset_all(r.world), MM_OK);
    CHECK_INT(plat_put(&r.a, r.near_end, "x", 1), MM_ECONNRESET);
    CHECK_INT(plat_put(&r.b, r.far_end, "x", 1), MM_ECONNRESET);
    CHECK_INT(r.a.connect(r.a.self, &r.at, &s), MM_EAGAIN);
    CHECK_INT(r.b.accept(r.b.self, r.listener, &t, &peer), MM_OK);
    CHECK_INT(plat_put(&r.a, s, "x", 1), 1);
    rig_close(&r);
}

static void
test_a_connection_is_refused_by_chance_until_it_is_healed(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    int s;
    CHECK_INT(mm_sim_faults(r.world, &(mm_sim_opts){ .refuse_ppm = 1000000 }), MM_OK);
    for (int i = 0; i < 10; i++) {
        CHECK_INT(r.a.connect(r.a.self, &r.at, &s), MM_ECONNREFUSED);
    }
    CHECK_INT(plat_put(&r.a, r.near_end, "x", 1), 1);   /* who is connected stays so */
    CHECK_INT(mm_sim_heal(r.world), MM_OK);
    CHECK_INT(r.a.connect(r.a.self, &r.at, &s), MM_EAGAIN);
    rig_close(&r);
}

static void
test_out_of_descriptors_leaves_the_newcomer_waiting(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    int s, t;
    mmi_addr peer;
    mmi_event event;
    CHECK_INT(r.a.connect(r.a.self, &r.at, &s), MM_EAGAIN);
    CHECK_INT(mm_sim_faults(r.world, &(mm_sim_opts){ .accept_emfile_ppm = 1000000 }), MM_OK);
    for (int i = 0; i < 10; i++) {
        CHECK_INT(r.b.accept(r.b.self, r.listener, &t, &peer), MM_EMFILE);
    }
    CHECK_INT(r.b.watch(r.b.self, r.listener, MMI_WATCH_READ, 9), MM_OK);
    CHECK_INT(r.b.poll(r.b.self, &event, 1, 0), 1);
    CHECK_INT(mm_sim_heal(r.world), MM_OK);
    CHECK_INT(r.b.accept(r.b.self, r.listener, &t, &peer), MM_OK);
    CHECK_INT(r.b.accept(r.b.self, r.listener, &t, &peer), MM_EAGAIN);
    rig_close(&r);
}

static void
test_a_half_open_stream_swallows_everything_and_never_ends(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .half_open_ppm = 1000000, .buffer_size = 100 });
    char buf[8];
    mmi_event event;
    uint8_t bytes[64] = { 0 };
    CHECK_INT(r.b.watch(r.b.self, r.far_end, MMI_WATCH_READ, 9), MM_OK);
    CHECK_INT(plat_put(&r.a, r.near_end, bytes, 64), 64);
    CHECK_INT(plat_put(&r.a, r.near_end, bytes, 64), 36);
    CHECK_INT(plat_put(&r.a, r.near_end, bytes, 64), MM_EAGAIN);
    r.a.close(r.a.self, r.near_end);
    CHECK_INT(mm_sim_heal(r.world), MM_OK);   /* new streams are well, this one stays as it is */
    CHECK_INT(mm_sim_run(r.world, 3600ull * 1000000000), MM_OK);
    CHECK_INT(plat_get(&r.b, r.far_end, buf, sizeof buf), MM_EAGAIN);
    CHECK_INT(r.b.poll(r.b.self, &event, 1, 0), 0);
    rig_close(&r);
}

static void
test_a_queue_of_newcomers_is_bounded_and_reset_with_its_listener(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    int s[SIM_BACKLOG_MAX], more, t;
    mmi_addr peer;
    char buf[4];
    for (int i = 0; i < SIM_BACKLOG_MAX; i++) {
        CHECK_INT(r.a.connect(r.a.self, &r.at, &s[i]), MM_EAGAIN);
    }
    CHECK_INT(r.a.connect(r.a.self, &r.at, &more), MM_ECONNREFUSED);
    CHECK_INT(plat_put(&r.a, s[0], "hi", 2), 2);
    r.a.close(r.a.self, s[0]);
    CHECK_INT(r.b.accept(r.b.self, r.listener, &t, &peer), MM_OK);
    CHECK_INT(mm_sim_run(r.world, 10), MM_OK);
    CHECK_INT(plat_get(&r.b, t, buf, sizeof buf), 2);
    CHECK_INT(plat_get(&r.b, t, buf, sizeof buf), 0);
    r.b.close(r.b.self, r.listener);
    for (int i = 1; i < SIM_BACKLOG_MAX; i++) {
        CHECK_INT(r.a.connected(r.a.self, s[i]), MM_ECONNREFUSED);
        CHECK_INT(plat_put(&r.a, s[i], "x", 1), MM_ECONNRESET);
    }
    CHECK_INT(r.a.connect(r.a.self, &r.at, &more), MM_ECONNREFUSED);
    CHECK_INT(plat_put(&r.a, r.near_end, "x", 1), 1);   /* who was accepted stays */
    rig_close(&r);
}

static uint64_t
faults_play(uint64_t seed)
{
    mm_sim_opts opts = { .latency_max_ns = 5000,
                         .split_ppm = 300000,
                         .short_write_ppm = 300000,
                         .eagain_ppm = 300000,
                         .reset_ppm = 1000,
                         .refuse_ppm = 100000,
                         .accept_emfile_ppm = 100000,
                         .half_open_ppm = 10000 };
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 5000 });
    mmi_sim_find(r.world)->random_state = seed;
    CHECK_INT(mm_sim_faults(r.world, &opts), MM_OK);
    char buf[50] = "";
    mmi_addr peer;
    int t;
    for (int i = 0; i < 2000; i++) {
        (void)plat_put(&r.a, r.near_end, buf, sizeof buf);
        (void)plat_get(&r.b, r.far_end, buf, sizeof buf);
        if (r.a.connect(r.a.self, &r.at, &t) == MM_EAGAIN) {
            r.a.close(r.a.self, r.near_end);
            r.near_end = t;
        }
        if (r.b.accept(r.b.self, r.listener, &t, &peer) == MM_OK) {
            r.b.close(r.b.self, r.far_end);
            r.far_end = t;
        }
        CHECK_INT(mm_sim_run(r.world, 1000), MM_OK);
    }
    mm_sim_state state;
    CHECK_INT(mm_sim_inspect(r.world, &state), MM_OK);
    rig_close(&r);
    return state.trace_hash;
}

static void
test_all_faults_together_are_the_same_for_the_same_seed(void)
{
    for (uint64_t seed = 1; seed < 10; seed++) {
        CHECK(faults_play(seed) == faults_play(seed));
        CHECK(faults_play(seed) != faults_play(seed + 1));
    }
}

int
main(void)
{
    RUN(test_bytes_are_seen_at_their_time_and_not_before);
    RUN(test_random_latency_keeps_the_order);
    RUN(test_split_reads_and_short_writes_lose_nothing);
    RUN(test_again_is_said_without_reason_and_does_no_harm);
    RUN(test_a_small_buffer_holds_so_much_and_no_more);
    RUN(test_a_reset_takes_everything_from_both_ends);
    RUN(test_a_stream_is_reset_after_so_many_bytes);
    RUN(test_one_write_is_planned_to_find_its_stream_reset);
    RUN(test_what_is_sought_is_found_however_it_is_written);
    RUN(test_reset_all_cuts_streams_and_spares_listeners);
    RUN(test_a_connection_is_refused_by_chance_until_it_is_healed);
    RUN(test_out_of_descriptors_leaves_the_newcomer_waiting);
    RUN(test_a_half_open_stream_swallows_everything_and_never_ends);
    RUN(test_a_queue_of_newcomers_is_bounded_and_reset_with_its_listener);
    RUN(test_all_faults_together_are_the_same_for_the_same_seed);
    return 0;
}
