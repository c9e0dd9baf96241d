/*
 * test_outer_asks.c: who may come in where a mechanism comes before the wire: asked once, before
 * any octet of the wire is believed; or, where PLAIN is inside, there, with what both know.
 * Not here: questions as such (test_applicants.c), steps (test_mechanism_steps.c).
 * Law: who was not let in never was a peer, and its messages are nobody's.
 */
#include "asked.h"
#include "toy_mechanism.h"

static const char TLS[] = "tls+tcp://127.0.0.1:0";
static const mmi_mechanism toytls = TOY_OUTER("TOYTLS", 1000);
static const toy_config toy_key = { .key = 0x42 }, toy_asks = { .key = 0x42, .asks = true },
                        toy_confirms = { .key = 0x42, .asks = true, .confirms = true },
                        toy_twice = {
                            .key = 0x42, .asks = true, .confirms = true, .asks_twice = true
                        };

typedef struct scene {
    sides s;
    char endpoint[MM_ENDPOINT_MAX + 1];
} scene;

static scene
scene_with(const toy_config *listens, const mm_plain_opts *client, const mm_plain_opts *server)
{
    scene c = { .s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0, .buffer_size = 700 }) };
    enclose(c.s.push, &toytls, &toy_key);
    enclose(c.s.pull, &toytls, listens);
    if (client != NULL) {
        CHECK_INT(mm_socket_plain(c.s.push, client), MM_OK);
        CHECK_INT(mm_socket_plain(c.s.pull, server), MM_OK);
    }
    CHECK_INT(mm_bind(c.s.pull, TLS, c.endpoint, sizeof c.endpoint), MM_OK);
    CHECK_INT(mm_connect(c.s.push, c.endpoint), MM_OK);
    return c;
}

/* They are peers now; it is known by that name, and what it says arrives. */
static void
came_in(scene *c, const char *user_id, const char *mechanism)
{
    mm_peer peer;
    uint32_t count;
    CHECK_INT(mm_wait_peers(c->s.push, 1, PATIENCE_MS, 0), MM_OK);
    CHECK_INT(mm_wait_peers(c->s.pull, 1, PATIENCE_MS, 0), MM_OK);
    CHECK_INT(mm_socket_peers(c->s.pull, &peer, 1, &count), MM_OK);
    CHECK(count == 1 && strcmp(peer.user_id, user_id) == 0);
    CHECK(strcmp(peer.mechanism, mechanism) == 0);
    for (int i = 0; i < 20; i++) {
        CHECK_INT(mm_send(c->s.push, message_body, 300, PATIENCE_MS, 0), MM_OK);
    }
    take_all(c->s.pull, 20, PATIENCE_MS);
    CHECK_INT(stats_of(c->s.pull).half_open, 0);
}

static void
test_it_is_asked_before_anything_of_the_wire_was_said(void)
{
    const toy_config *configs[] = { &toy_asks, &toy_confirms };
    for (size_t i = 0; i < MMI_COUNT_OF(configs); i++) {
        for (int kind = MM_LATER; kind <= MM_DENY; kind++) {
            scene c = scene_with(configs[i], NULL, NULL);
            mm_question q = asked(c.s.world, c.s.engine[1]);
            CHECK(strcmp(q.mechanism, "TOYTLS") == 0 && strcmp(q.endpoint, c.endpoint) == 0);
            CHECK(q.key_size == 1 && data[0] == toy_key.key);
            CHECK_INT(q.properties_size + q.user_size + q.password_size, 0);
            CHECK_INT(mm_sim_run(c.s.world, 500 * MS), MM_OK);
            mm_stats stats = stats_of(c.s.pull);
            CHECK(stats.half_open == 1 && stats.peers == 0 && stats.handshakes == 0);
            CHECK_INT(mm_question_answer(c.s.engine[1], q.id, kind, "alice"), MM_OK);
            if (kind == MM_ALLOW && configs[i] == &toy_asks) {
                came_in(&c, "alice", "TOYTLS");
            } else if (kind != MM_ALLOW) {
                CHECK_INT(mm_wait_peers(c.s.push, 1, 200, 0), MM_ETIMEDOUT);
                CHECK(told(c.s.pull, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_NOT_ALLOWED, "") > 0);
                CHECK_INT(stats_of(c.s.pull).handshakes, 0);
            }
            sides_close(&c.s);
        }
    }
}

static void
test_a_question_that_nobody_answers_ends_it(void)
{
    scene c = scene_with(&toy_asks, NULL, NULL);
    (void)asked(c.s.world, c.s.engine[1]);
    CHECK_INT(mm_sim_run(c.s.world, 5100 * MS), MM_OK);
    CHECK(told(c.s.pull, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_ALLOW_TIMEOUT, "") > 0);
    sides_close(&c.s);
}

/* A bare peer: the toy's words, then this inside. */
static void
raw_says(raw *r, toy *self, const void *plain, size_t size)
{
    uint8_t record[TOY_HEAD + 200];
    raw_put(r, record, toy_record(self, plain, size, record));
}

static raw
raw_inside(const toy_config *config, toy *self)
{
    mm_socket_opts opts = opts_of(MM_PUSH);
    raw r = raw_open(MM_PUSH, &(mm_sim_opts){ .latency_max_ns = 0 }, &opts);
    char endpoint[MM_ENDPOINT_MAX + 1];
    unsigned port;
    enclose(r.ours, &toytls, config);
    CHECK_INT(mm_bind(r.ours, TLS, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(sscanf(endpoint, "tls+tcp://127.0.0.1:%u", &port), 1);
    const mmi_addr at = addr_tcp4((uint16_t)port);
    CHECK_INT(r.plat.connect(r.plat.self, &at, &r.stream), MM_EAGAIN);
    CHECK_INT(mm_sim_run(r.world, MS), MM_OK);
    raw_put(&r, self->out, self->out_size);
    return r;
}

/* What came with its proof is kept as it is, and is opened once it may come in. */
static void
test_what_comes_behind_the_proof_waits_for_the_answer(void)
{
    for (int denied = 0; denied < 2; denied++) {
        toy *self = toy_begin(&toy_key, true, NULL, 0, 1 << 20);
        raw r = raw_inside(&toy_asks, self);
        raw_says(&r, self, RAW_GREETING, sizeof RAW_GREETING);
        raw_says(&r, self, RAW_READY, sizeof RAW_READY - 1);
        mm_question q = asked(r.world, r.engine);
        CHECK_INT(mm_sim_run(r.world, 100 * MS), MM_OK);
        CHECK_INT(stats_of(r.ours).peers, 0);
        CHECK_INT(raw_take(&r), 0);      /* nothing was said, not even that it is a toy */
        CHECK_INT(mm_question_answer(r.engine, q.id, denied ? MM_DENY : MM_ALLOW, ""), MM_OK);
        if (denied) {
            CHECK_INT(mm_sim_run(r.world, 100 * MS), MM_OK);
            CHECK_INT(stats_of(r.ours).handshakes, 0);
        } else {
            CHECK_INT(mm_wait_peers(r.ours, 1, PATIENCE_MS, 0), MM_OK);
        }
        toy_end(self);
        raw_close(&r);
    }
}

static void
test_it_asks_once(void)
{
    toy *self = toy_begin(&toy_key, true, NULL, 0, 1 << 20);
    raw r = raw_inside(&toy_twice, self);
    mm_question q = asked(r.world, r.engine);
    CHECK_INT(mm_question_answer(r.engine, q.id, MM_ALLOW, ""), MM_OK);
    raw_put(&r, "YES", 3);
    CHECK_INT(mm_sim_run(r.world, 100 * MS), MM_OK);
    CHECK_INT(mm_question_take(r.engine, &q, data), 0);
    CHECK_INT(told(r.ours, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_MECHANISM, "asks twice"), 1);
    toy_end(self);
    raw_close(&r);
}

static const mm_plain_opts alice = {
    .user = "alice", .user_size = 5, .password = "correct horse", .password_size = 13
};

/* The key of one and the password of the other, in one question. */
static void
test_plain_inside_is_asked_about_once_with_what_both_know(void)
{
    const mm_plain_opts server = { .serves = 1, .asks = 1 };
    const toy_config *configs[] = { &toy_key };
    for (int kind = MM_LATER; kind <= MM_DENY; kind++) {
        scene c = scene_with(configs[0], &alice, &server);
        mm_question q = asked(c.s.world, c.s.engine[1]);
        CHECK(strcmp(q.mechanism, "TOYTLS+PLAIN") == 0);
        CHECK(q.key_size == 1 && data[0] == toy_key.key);
        CHECK(q.user_size == 5 && memcmp(data + 1, "alice", 5) == 0);
        CHECK(q.password_size == 13 && memcmp(data + 6, "correct horse", 13) == 0);
        CHECK_INT(mm_sim_run(c.s.world, 100 * MS), MM_OK);
        CHECK_INT(mm_question_answer(c.s.engine[1], q.id, kind, "Alice"), MM_OK);
        if (kind == MM_ALLOW) {
            came_in(&c, "Alice", "TOYTLS+PLAIN");
            CHECK_INT(mm_question_take(c.s.engine[1], &q, data), 0);
        } else {
            CHECK_INT(mm_wait_peers(c.s.push, 1, 200, 0), MM_ETIMEDOUT);
            CHECK(told(c.s.pull, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_NOT_ALLOWED, "") > 0);
        }
        sides_close(&c.s);
    }
}

/* The outer one is to ask, and leaves it to the one inside: which must. */
static void
test_one_question_is_for_both_and_none_is_a_refusal(void)
{
    const mm_plain_opts asks = { .serves = 1, .asks = 1 }, never = { .serves = 1 };
    scene c = scene_with(&toy_asks, &alice, &asks);
    mm_question q = asked(c.s.world, c.s.engine[1]);
    CHECK(q.user_size == 5 && q.key_size == 1);
    CHECK_INT(mm_question_answer(c.s.engine[1], q.id, MM_ALLOW, "Alice"), MM_OK);
    came_in(&c, "Alice", "TOYTLS+PLAIN");
    sides_close(&c.s);
    c = scene_with(&toy_asks, &alice, &never);
    CHECK_INT(mm_sim_run(c.s.world, 500 * MS), MM_OK);
    CHECK_INT(mm_question_take(c.s.engine[1], &q, data), 0);
    CHECK_INT(stats_of(c.s.pull).handshakes, 0);
    CHECK(told(c.s.pull, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_MECHANISM, "does not ask") > 0);
    sides_close(&c.s);
}

/* Roles of PLAIN come from the policy: who listens may be its client, and then TLS asks itself. */
static void
test_who_listens_asks_though_it_says_the_password(void)
{
    const mm_plain_opts server = { .serves = 1 };
    scene c = scene_with(&toy_asks, &server, &alice);
    mm_question q = asked(c.s.world, c.s.engine[1]);
    CHECK(q.user_size == 0 && q.key_size == 1);
    CHECK_INT(mm_question_answer(c.s.engine[1], q.id, MM_ALLOW, "Bob"), MM_OK);
    came_in(&c, "Bob", "TOYTLS+PLAIN");
    sides_close(&c.s);
}

int
main(void)
{
    RUN(test_it_is_asked_before_anything_of_the_wire_was_said);
    RUN(test_a_question_that_nobody_answers_ends_it);
    RUN(test_what_comes_behind_the_proof_waits_for_the_answer);
    RUN(test_it_asks_once);
    RUN(test_plain_inside_is_asked_about_once_with_what_both_know);
    RUN(test_one_question_is_for_both_and_none_is_a_refusal);
    RUN(test_who_listens_asks_though_it_says_the_password);
    return 0;
}
