/*
 * test_applicants.c: of a peer that proved who it is somebody is asked whether it may come in:
 * until there is an answer it is no peer, and whatever comes of it is told, counted, and leaves
 * nothing.
 * Not here: lists, which answer at once (test_mechanism_steps.c), what a peer says meanwhile
 * (test_applicants_ahead.c).
 * Law: an answer is for one question: who answers late, twice, or of who is gone, is told so.
 */
#include <poll.h>
#include <unistd.h>

#include "asked.h"
#include "plat/library.h"
#include "toy_mechanism.h"

enum { SEEDS = 30, COMERS = 12 };

static const mmi_mechanism toyxor = TOY("TOYXOR", 1000);
static const toy_config toy_key = { .key = 0x42 }, toy_asks = { .key = 0x42, .asks = true };

typedef struct scene {
    sides s;
    char endpoint[MM_ENDPOINT_MAX + 1];
} scene;

static scene
scene_with(uint64_t seed, const mm_sim_opts *faults, uint32_t half_open_max)
{
    scene c = { .s = sides_open(seed, faults) };
    mm_socket_opts opts = opts_of(MM_PULL);
    opts.half_open_max = half_open_max;
    CHECK_INT(mm_socket_close(c.s.pull), MM_OK);
    c.s.pull = open_with(c.s.engine[1], MM_PULL, &opts);
    protect(c.s.push, &toyxor, &toy_key);
    protect(c.s.pull, &toyxor, &toy_asks);
    CHECK_INT(mm_bind(c.s.pull, TCP, c.endpoint, sizeof c.endpoint), MM_OK);
    CHECK_INT(mm_connect(c.s.push, c.endpoint), MM_OK);
    return c;
}

static scene
scene_open(void)
{
    return scene_with(1, &(mm_sim_opts){ .latency_max_ns = 0 }, 100);
}

static void
test_who_is_let_in_is_a_peer_then_and_is_known_by_that_name(void)
{
    scene c = scene_open();
    mm_handle engine = c.s.engine[1];
    mm_question q = asked(c.s.world, engine);
    CHECK_INT(q.socket, c.s.pull);
    CHECK(strcmp(q.mechanism, "TOYXOR") == 0 && strcmp(q.endpoint, c.endpoint) == 0);
    CHECK(strncmp(q.address, "tcp://127.0.0.1:", 16) == 0);
    CHECK(q.left_ns > 4900 * MS && q.left_ns <= 5000 * MS);
    CHECK(q.key_size == 1 && data[0] == toy_key.key);
    CHECK_INT(q.user_size + q.password_size + q.certificate_size, 0);
    CHECK(q.properties_size > sizeof TYPE - 1 && memcmp(data + 1, TYPE, sizeof TYPE - 1) == 0);
    CHECK_INT(mm_question_take(engine, &q, data), 0);
    CHECK_INT(mm_sim_run(c.s.world, 1000 * MS), MM_OK);
    mm_stats stats = stats_of(c.s.pull);
    CHECK(stats.half_open == 1 && stats.peers == 0 && stats.handshakes == 0);
    CHECK_INT(stats_of(c.s.push).peers, 0);
    CHECK_INT(mm_question_answer(engine, q.id, 77, ""), MM_EINVAL);
    CHECK_INT(mm_question_answer(c.s.engine[0], q.id, MM_ALLOW, "alice"), MM_ESTATE);
    CHECK_INT(mm_question_answer(engine, q.id, MM_ALLOW, "alice"), MM_OK);
    CHECK_INT(mm_question_answer(engine, q.id, MM_DENY, "too late"), MM_ESTATE);
    CHECK_INT(mm_wait_peers(c.s.push, 1, PATIENCE_MS, 0), MM_OK);
    CHECK_INT(mm_wait_peers(c.s.pull, 1, PATIENCE_MS, 0), MM_OK);
    mm_peer peer;
    uint32_t count;
    CHECK_INT(mm_socket_peers(c.s.pull, &peer, 1, &count), MM_OK);
    CHECK(count == 1 && peer.id == q.peer && strcmp(peer.user_id, "alice") == 0);
    CHECK_INT(mm_send(c.s.push, "hi", 2, PATIENCE_MS, 0), MM_OK);
    take_all(c.s.pull, 1, PATIENCE_MS);
    CHECK_INT(mm_question_answer(engine, q.id, MM_ALLOW, "mallory"), MM_ESTATE);
    CHECK_INT(stats_of(c.s.pull).half_open, 0);
    sides_close(&c.s);
}

/* What who lets it in says is as large as it may be, and apart from what it says itself. */
static void
test_what_is_said_of_who_is_let_in_goes_with_its_messages(void)
{
    static uint8_t said[MM_ALLOW_METADATA_MAX + 1];
    char long_id[MM_USER_ID_MAX + 2] = "";
    memset(said, 'm', sizeof said);
    memset(long_id, 'x', sizeof long_id - 1);
    const size_t sizes[] = { 0, 1, MM_ALLOW_METADATA_MAX };
    for (size_t i = 0; i < MMI_COUNT_OF(sizes); i++) {
        scene c = scene_open();
        mm_handle engine = c.s.engine[1];
        mm_question q = asked(c.s.world, engine);
        CHECK_INT(mm_question_allow(engine, q.id, "a", said, sizeof said), MM_EMSGSIZE);
        CHECK_INT(mm_question_allow(engine, q.id, long_id, said, 1), MM_EINVAL);
        CHECK_INT(mm_question_allow(engine, q.id, "alice", said, sizes[i]), MM_OK);
        CHECK_INT(mm_question_allow(engine, q.id, "mallory", said, 1), MM_ESTATE);
        CHECK_INT(mm_wait_peers(c.s.push, 1, PATIENCE_MS, 0), MM_OK);
        CHECK_INT(mm_send(c.s.push, "hi", 2, PATIENCE_MS, 0), MM_OK);
        mm_batch *batch;
        mm_known known;
        CHECK_INT(mm_batch_new(&batch), MM_OK);
        CHECK_INT(mm_recv(c.s.pull, batch, 1, 100, PATIENCE_MS, 0), 1);
        CHECK_INT(mm_batch_known(batch, mm_batch_peer(batch, 0), &known), 1);
        CHECK(strcmp(known.user_id, "alice") == 0 && known.metadata_size == sizes[i]);
        CHECK(memcmp(known.metadata, said, sizes[i]) == 0);
        CHECK(memcmp(known.properties, TYPE, sizeof TYPE - 1) == 0);
        mm_batch_free(batch);
        sides_close(&c.s);
    }
}

/* It ends, is told and counted so, and there is nobody any more whom an answer is for. */
static void
ends(scene *c, const mm_question *q, int reason, const char *words)
{
    CHECK_INT(mm_sim_run(c->s.world, 10 * MS), MM_OK);
    mm_stats stats = stats_of(c->s.pull);
    CHECK_INT(stats.closed[reason], 1);
    CHECK_INT(stats.handshakes_failed, 1);
    CHECK_INT(stats.handshakes, 0);
    CHECK_INT(told(c->s.pull, MM_EVENT_HANDSHAKE_FAILED, reason, words), 1);
    CHECK_INT(mm_question_answer(c->s.engine[1], q->id, MM_ALLOW, ""), MM_ESTATE);
}

static void
test_who_is_turned_away_hears_so_only_if_it_is_for_good(void)
{
    scene c = scene_open();
    mm_question q = asked(c.s.world, c.s.engine[1]);
    CHECK_INT(mm_question_answer(c.s.engine[1], q.id, MM_DENY, "not after midnight"), MM_OK);
    ends(&c, &q, MM_REASON_NOT_ALLOWED, "not after midnight");
    CHECK(told(c.s.push, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_NOT_ALLOWED, "says no") > 0);
    sides_close(&c.s);
    c = scene_open();
    q = asked(c.s.world, c.s.engine[1]);
    CHECK_INT(mm_question_answer(c.s.engine[1], q.id, MM_LATER, "the database is away"), MM_OK);
    ends(&c, &q, MM_REASON_NOT_ALLOWED, "later: the database is away");
    CHECK_INT(stats_of(c.s.push).closed[MM_REASON_NOT_ALLOWED], 0);
    sides_close(&c.s);
}

static void
test_who_gets_no_answer_in_time_may_try_again(void)
{
    scene c = scene_open();
    mm_question first = asked(c.s.world, c.s.engine[1]);
    CHECK_INT(mm_sim_run(c.s.world, 4900 * MS), MM_OK);
    CHECK_INT(stats_of(c.s.pull).half_open, 1);
    CHECK_INT(mm_sim_run(c.s.world, 100 * MS), MM_OK);
    ends(&c, &first, MM_REASON_ALLOW_TIMEOUT, "nobody said within 5000 ms");
    mm_question second = asked(c.s.world, c.s.engine[1]);
    CHECK(second.id != first.id && second.peer != first.peer);
    CHECK_INT(mm_question_answer(c.s.engine[1], first.id, MM_ALLOW, ""), MM_ESTATE);
    CHECK_INT(mm_question_answer(c.s.engine[1], second.id, MM_ALLOW, ""), MM_OK);
    CHECK_INT(mm_wait_peers(c.s.pull, 1, PATIENCE_MS, 0), MM_OK);
    sides_close(&c.s);
}

static void
leaves(scene *c)
{
    CHECK_INT(mm_socket_close(c->s.push), MM_OK);
}

static void
disconnects(scene *c)
{
    CHECK_INT(mm_disconnect(c->s.push, c->endpoint), MM_OK);
}

static void
resets(scene *c)
{
    CHECK_INT(mm_sim_reset_all(c->s.world), MM_OK);
}

static void
is_evicted(scene *c)
{
    mm_handle other = open_socket(c->s.engine[0], MM_PUSH);
    protect(other, &toyxor, &toy_key);
    CHECK_INT(mm_connect(other, c->endpoint), MM_OK);
}

static void
test_whatever_ends_it_while_it_waits_ends_the_question_too(void)
{
    static const struct {
        void (*happens)(scene *c);
        int reason;
    } cases[] = {
        { leaves, MM_REASON_HANDSHAKE_EOF },
        { disconnects, MM_REASON_HANDSHAKE_EOF },
        { resets, MM_REASON_RESET },
        { is_evicted, MM_REASON_EVICTED },
    };
    for (size_t i = 0; i < 2 * MMI_COUNT_OF(cases); i++) {
        const bool taken = i % 2 == 0;
        scene c = scene_with(1, &(mm_sim_opts){ .latency_max_ns = 0 }, 1);
        mm_question q = { .id = 0 };
        if (taken) {
            q = asked(c.s.world, c.s.engine[1]);
        } else {
            CHECK_INT(mm_sim_run(c.s.world, 10 * MS), MM_OK);
            CHECK_INT(stats_of(c.s.pull).half_open, 1);
        }
        cases[i / 2].happens(&c);
        ends(&c, &q, cases[i / 2].reason, "");
        sides_close(&c.s);
    }
}

/* An endpoint that is given up is no matter to who came by it. */
static void
test_it_may_still_come_in_when_the_endpoint_is_gone(void)
{
    scene c = scene_open();
    mm_question q = asked(c.s.world, c.s.engine[1]);
    CHECK_INT(mm_unbind(c.s.pull, c.endpoint), MM_OK);
    CHECK_INT(mm_question_answer(c.s.engine[1], q.id, MM_ALLOW, ""), MM_OK);
    CHECK_INT(mm_wait_peers(c.s.pull, 1, PATIENCE_MS, 0), MM_OK);
    sides_close(&c.s);
}

static void
test_a_socket_that_is_closed_has_no_questions_any_more(void)
{
    for (int taken = 0; taken < 2; taken++) {
        scene c = scene_open();
        mm_question q = asked(c.s.world, c.s.engine[1]);
        mm_handle other = open_socket(c.s.engine[0], MM_PUSH);
        protect(other, &toyxor, &toy_key);
        CHECK_INT(mm_connect(other, c.endpoint), MM_OK);
        if (taken) {
            (void)asked(c.s.world, c.s.engine[1]);
        } else {
            CHECK_INT(mm_sim_run(c.s.world, 10 * MS), MM_OK);
        }
        CHECK_INT(mm_socket_close(c.s.pull), MM_OK);
        CHECK_INT(mm_question_answer(c.s.engine[1], q.id, MM_ALLOW, ""), MM_ESTATE);
        CHECK_INT(mm_question_take(c.s.engine[1], &q, data), 0);
        sides_close(&c.s);
        CHECK_INT(mm_question_take(c.s.engine[1], &q, data), MM_ECLOSED);
        CHECK_INT(mm_question_answer(c.s.engine[1], q.id, MM_ALLOW, ""), MM_ECLOSED);
    }
}

/* A thread that is told by the descriptor, and lets everybody in, until the engine is closed. */
static void *
answers(void *arg)
{
    mm_handle engine = *(mm_handle *)arg;
    int fd, rc;
    static uint8_t own[MM_QUESTION_DATA_MAX];
    mm_question q;
    CHECK_INT(mm_questions_open(engine, &fd), MM_OK);
    CHECK_INT(mm_questions_open(engine, &fd), MM_ESTATE);
    fd = dup(fd);   /* it is closed with the engine */
    CHECK(fd >= 0);
    CHECK_INT(mm_questions_close(engine), MM_OK);   /* rings, and may be opened again */
    struct pollfd rung = { .fd = fd, .events = POLLIN };
    CHECK(poll(&rung, 1, PATIENCE_MS) == 1);
    close(fd);
    CHECK_INT(mm_questions_open(engine, &fd), MM_OK);
    fd = dup(fd);
    CHECK(fd >= 0);
    do {
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        CHECK(poll(&ready, 1, PATIENCE_MS) == 1);
        while ((rc = mm_question_take(engine, &q, own)) == 1) {
            int said = mm_question_answer(engine, q.id, MM_ALLOW, "somebody");
            CHECK(said == MM_OK || said == MM_ESTATE || said == MM_ECLOSED);
        }
    } while (rc == 0);
    CHECK_INT(rc, MM_ECLOSED);
    close(fd);
    return NULL;
}

static void
test_another_thread_answers_and_ends_with_the_engine(void)
{
    enum { PUSHES = 20 };
    scene c = scene_with(1, NULL, 100);
    mm_handle pushes[PUSHES];
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, answers, &c.s.engine[1]), 0);
    for (int i = 0; i < PUSHES; i++) {
        pushes[i] = open_socket(c.s.engine[0], MM_PUSH);
        protect(pushes[i], &toyxor, &toy_key);
        CHECK_INT(mm_connect(pushes[i], c.endpoint), MM_OK);
    }
    CHECK_INT(mm_wait_peers(c.s.pull, PUSHES + 1, PATIENCE_MS, 0), MM_OK);
    CHECK_INT(stats_of(c.s.pull).handshakes, PUSHES + 1);
    sides_close(&c.s);
    CHECK_INT(pthread_join(thread, NULL), 0);
}

/* Steps of who asks and of who answers take their time, streams are reset, and answers are of all
 * kinds, or none: in the end everybody was counted once, and nobody is left. */
static void
play(uint64_t seed)
{
    scene c = scene_with(seed,
                         &(mm_sim_opts){ .latency_max_ns = 3 * MS,
                                         .reset_ppm = 20000,
                                         .split_ppm = 300000,
                                         .short_write_ppm = 300000 },
                         8);
    mm_handle comers[COMERS];
    mm_question q;
    uint64_t dice = seed * 7919;
    for (int i = 0; i < COMERS; i++) {
        comers[i] = open_socket(c.s.engine[0], MM_PUSH);
        protect(comers[i], &toyxor, &toy_key);
        CHECK_INT(mm_connect(comers[i], c.endpoint), MM_OK);
    }
    for (int i = 0; i < 400; i++) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        CHECK_INT(mm_sim_run(c.s.world, (dice >> 60) * 10 * MS), MM_OK);
        if (mm_question_take(c.s.engine[1], &q, data) == 1 && (dice >> 40) % 5 != 0) {
            int rc = mm_question_answer(c.s.engine[1], q.id, (int)((dice >> 50) % 3), "someone");
            CHECK(rc == MM_OK || rc == MM_ESTATE);
        }
        if (i == 200) {
            CHECK_INT(mm_socket_close(comers[dice % COMERS]), MM_OK);
        }
    }
    CHECK_INT(mm_sim_heal(c.s.world), MM_OK);
    for (int i = 0; i < ROUNDS_MAX && stats_of(c.s.pull).peers < COMERS; i++) {
        CHECK_INT(mm_sim_run(c.s.world, 10 * MS), MM_OK);
        while (mm_question_take(c.s.engine[1], &q, data) == 1) {
            CHECK_INT(mm_question_answer(c.s.engine[1], q.id, MM_ALLOW, "at last"), MM_OK);
        }
    }
    mm_stats stats = stats_of(c.s.pull);
    CHECK_INT(stats.peers, COMERS);   /* one of COMERS was closed, and there is the first */
    CHECK_INT(stats.half_open, 0);
    CHECK_INT(stats.accepts, stats.handshakes + stats.handshakes_failed);
    CHECK_INT(stats.handshakes, stats.peers + stats.disconnects);
    CHECK_INT(mm_question_take(c.s.engine[1], &q, data), 0);
    sides_close(&c.s);
}

static void
test_everybody_is_counted_once_in_worlds_of_all_kinds(void)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(seed);
    }
}

/* Whatever allocation fails, the question is nobody's, or is answered. */
static void
test_without_memory_it_tries_again(void)
{
    for (int64_t n = 1; n <= 40; n++) {
        scene c = scene_open();
        mm_test_alloc_fail(n);
        (void)mm_sim_run(c.s.world, 10 * MS);
        mm_test_alloc_fail(0);
        mm_question q = asked(c.s.world, c.s.engine[1]);
        mm_test_alloc_fail(n);
        CHECK_INT(mm_question_answer(c.s.engine[1], q.id, MM_ALLOW, "alice"), MM_OK);
        (void)mm_sim_run(c.s.world, 10 * MS);
        mm_test_alloc_fail(0);
        while (stats_of(c.s.pull).peers == 0) {
            CHECK_INT(mm_sim_run(c.s.world, 100 * MS), MM_OK);
            if (mm_question_take(c.s.engine[1], &q, data) == 1) {
                CHECK_INT(mm_question_answer(c.s.engine[1], q.id, MM_ALLOW, "alice"), MM_OK);
            }
        }
        sides_close(&c.s);
    }
}

/* Who asks is known by the public key it proved to have. */
static void
test_of_curve_the_question_has_the_key(void)
{
    if (mmi_sodium_get() == NULL) {
        return;   /* mm_curve_missing says what is */
    }
    sides s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
    mm_curve_opts server = { .serves = 1, .asks = 1, .secret_count = 1, .secrets = { 1 } },
                  client = { .secret_count = 1, .secrets = { 2 } };
    uint8_t public[MMI_KEY_SIZE];
    CHECK_INT(mmi_sodium_get()->scalarmult_base(client.server, server.secrets), 0);
    CHECK_INT(mmi_sodium_get()->scalarmult_base(public, client.secrets), 0);
    CHECK_INT(mm_socket_curve(s.pull, &server), MM_OK);
    CHECK_INT(mm_socket_curve(s.push, &client), MM_OK);
    char endpoint[MM_ENDPOINT_MAX + 1];
    CHECK_INT(mm_bind(s.pull, TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(s.push, endpoint), MM_OK);
    mm_question q = asked(s.world, s.engine[1]);
    CHECK(strcmp(q.mechanism, "CURVE") == 0 && q.key_size == MMI_KEY_SIZE);
    CHECK(memcmp(data, public, MMI_KEY_SIZE) == 0);
    CHECK_INT(stats_of(s.push).peers + stats_of(s.pull).peers, 0);
    CHECK_INT(mm_question_answer(s.engine[1], q.id, MM_DENY, "not today"), MM_OK);
    CHECK_INT(mm_sim_run(s.world, 10 * MS), MM_OK);
    CHECK_INT(stats_of(s.pull).closed[MM_REASON_NOT_ALLOWED], 1);
    CHECK_INT(stats_of(s.push).closed[MM_REASON_ERROR_COMMAND], 1);
    q = asked(s.world, s.engine[1]);
    CHECK_INT(mm_question_answer(s.engine[1], q.id, MM_ALLOW, "alice"), MM_OK);
    CHECK_INT(mm_wait_peers(s.push, 1, PATIENCE_MS, 0), MM_OK);
    CHECK_INT(mm_send(s.push, "hi", 2, PATIENCE_MS, 0), MM_OK);
    take_all(s.pull, 1, PATIENCE_MS);
    sides_close(&s);
}

int
main(void)
{
    RUN(test_who_is_let_in_is_a_peer_then_and_is_known_by_that_name);
    RUN(test_what_is_said_of_who_is_let_in_goes_with_its_messages);
    RUN(test_who_is_turned_away_hears_so_only_if_it_is_for_good);
    RUN(test_who_gets_no_answer_in_time_may_try_again);
    RUN(test_whatever_ends_it_while_it_waits_ends_the_question_too);
    RUN(test_it_may_still_come_in_when_the_endpoint_is_gone);
    RUN(test_a_socket_that_is_closed_has_no_questions_any_more);
    RUN(test_another_thread_answers_and_ends_with_the_engine);
    RUN(test_everybody_is_counted_once_in_worlds_of_all_kinds);
    RUN(test_without_memory_it_tries_again);
    RUN(test_of_curve_the_question_has_the_key);
    return 0;
}
