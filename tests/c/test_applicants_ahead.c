/*
 * test_applicants_ahead.c: what a peer says while somebody is asked whether it may come in: it is
 * kept, read no further than that, and taken once the peer is let in.
 * Not here: the question and its answer (test_applicants.c).
 * Law: nothing of it is a message before the answer.
 */
#include "asked.h"
#include "toy_mechanism.h"

enum { AHEAD = 20000 };

static const mmi_mechanism toyxor = TOY("TOYXOR", 1000);
static const toy_config toy_key = { .key = 0x42 }, toy_asks = { .key = 0x42, .asks = true },
                        toy_confirms = { .key = 0x42, .asks = true, .confirms = true };

/* A bare peer that proves who it is, and says this and so many messages of one octet right behind
 * that. */
static raw
eager(const toy_config *config, toy *self, const char *behind, uint32_t count)
{
    mm_socket_opts opts = opts_of(MM_PULL);
    raw r = raw_open(MM_PULL, &(mm_sim_opts){ .latency_max_ns = 0 }, &opts);
    char endpoint[MM_ENDPOINT_MAX + 1], greeting[sizeof RAW_GREETING];
    protect(r.ours, &toyxor, config);
    CHECK_INT(mm_bind(r.ours, TCP, endpoint, sizeof endpoint), MM_OK);
    unsigned port;
    CHECK_INT(sscanf(endpoint, "tcp://127.0.0.1:%u", &port), 1);
    const mmi_addr at = addr_tcp4((uint16_t)port);
    CHECK_INT(r.plat.connect(r.plat.self, &at, &r.stream), MM_EAGAIN);
    CHECK_INT(mm_sim_run(r.world, MS), MM_OK);
    memcpy(greeting, RAW_GREETING, sizeof greeting);
    memcpy(greeting + 12, "TOYXOR", 6);
    raw_put(&r, greeting, sizeof greeting);
    raw_put(&r, self->out, self->out_size);
    raw_put(&r, behind, strlen(behind));
    for (uint32_t i = 0; i < count; i++) {
        uint8_t frame[] = { 0, 1, (uint8_t)i }, record[TOY_HEAD + sizeof frame];
        raw_put(&r, record, toy_record(self, frame, sizeof frame, record));
    }
    return r;
}

static void
test_what_comes_behind_the_proof_waits_for_the_answer(void)
{
    static const uint32_t counts[] = { 0, 1, 100, MMI_ASK_AHEAD_MAX / 8, AHEAD };
    for (size_t i = 0; i < MMI_COUNT_OF(counts); i++) {
        for (int kind = MM_LATER; kind <= MM_DENY; kind++) {
            toy *self = toy_begin(&toy_key, true, (const uint8_t *)TYPE, sizeof TYPE - 1, 1 << 20);
            raw r = eager(&toy_asks, self, "", counts[i]);
            mm_question q = asked(r.world, r.engine);
            CHECK_INT(mm_sim_run(r.world, 100 * MS), MM_OK);
            mm_stats stats = stats_of(r.ours);
            CHECK(stats.half_open == 1 && stats.parsed_messages == 0);
            CHECK_INT(mm_question_answer(r.engine, q.id, kind, ""), MM_OK);
            if (kind == MM_ALLOW) {
                take_all(r.ours, counts[i], PATIENCE_MS);
            }
            CHECK_INT(mm_sim_run(r.world, 100 * MS), MM_OK);
            stats = stats_of(r.ours);
            CHECK_INT(stats.parsed_messages, kind == MM_ALLOW ? counts[i] : 0);
            CHECK_INT(stats.closed[MM_REASON_NOT_ALLOWED], kind != MM_ALLOW);
            CHECK_INT(stats.half_open, 0);
            raw_close(&r);
            toy_end(self);
        }
    }
}

/* Whoever said so much that it is not read any more may leave unseen: the time is over then. */
static void
test_who_leaves_unseen_waits_no_longer_than_the_time(void)
{
    toy *self = toy_begin(&toy_key, true, (const uint8_t *)TYPE, sizeof TYPE - 1, 1 << 20);
    raw r = eager(&toy_asks, self, "", AHEAD);
    mm_question q = asked(r.world, r.engine);
    r.plat.close(r.plat.self, r.stream);
    CHECK_INT(mm_sim_run(r.world, 5100 * MS), MM_OK);
    mm_stats stats = stats_of(r.ours);
    CHECK(stats.half_open == 0 && stats.handshakes_failed == 1);
    CHECK_INT(mm_question_answer(r.engine, q.id, MM_ALLOW, ""), MM_ESTATE);
    raw_close(&r);
    toy_end(self);
}

/* The handshake goes on behind the answer, with what is there already, or what comes. */
static void
test_steps_behind_the_answer_take_what_is_there_first(void)
{
    static const char *const behind[] = { "YES", "YE", "" };
    for (size_t i = 0; i < MMI_COUNT_OF(behind); i++) {
        toy *self = toy_begin(&toy_key, true, (const uint8_t *)TYPE, sizeof TYPE - 1, 1 << 20);
        raw r = eager(&toy_confirms, self, behind[i], i == 0 ? 10 : 0);
        mm_question q = asked(r.world, r.engine);
        CHECK_INT(mm_question_answer(r.engine, q.id, MM_ALLOW, ""), MM_OK);
        CHECK_INT(mm_sim_run(r.world, 10 * MS), MM_OK);
        CHECK_INT(stats_of(r.ours).peers, i == 0);
        raw_put(&r, "YES" + strlen(behind[i]), 3 - strlen(behind[i]));
        CHECK_INT(mm_wait_peers(r.ours, 1, PATIENCE_MS, 0), MM_OK);
        take_all(r.ours, i == 0 ? 10 : 0, PATIENCE_MS);
        raw_close(&r);
        toy_end(self);
    }
}

static void
test_who_was_let_in_and_says_no_more_has_the_time_of_a_handshake(void)
{
    toy *self = toy_begin(&toy_key, true, (const uint8_t *)TYPE, sizeof TYPE - 1, 1 << 20);
    raw r = eager(&toy_confirms, self, "Y", 0);
    mm_question q = asked(r.world, r.engine);
    CHECK_INT(mm_sim_run(r.world, 4000 * MS), MM_OK);
    CHECK_INT(mm_question_answer(r.engine, q.id, MM_ALLOW, ""), MM_OK);
    CHECK_INT(mm_sim_run(r.world, 9900 * MS), MM_OK);
    CHECK_INT(stats_of(r.ours).half_open, 1);
    CHECK_INT(mm_sim_run(r.world, 200 * MS), MM_OK);
    CHECK_INT(stats_of(r.ours).closed[MM_REASON_HANDSHAKE_TIMEOUT], 1);
    CHECK_INT(stats_of(r.ours).half_open, 0);
    raw_close(&r);
    toy_end(self);
}

int
main(void)
{
    RUN(test_what_comes_behind_the_proof_waits_for_the_answer);
    RUN(test_who_leaves_unseen_waits_no_longer_than_the_time);
    RUN(test_steps_behind_the_answer_take_what_is_there_first);
    RUN(test_who_was_let_in_and_says_no_more_has_the_time_of_a_handshake);
    return 0;
}
