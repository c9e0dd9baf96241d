/*
 * test_applicants_many.c: how many questions of a socket are out at a time, and what makes room for
 * the next.
 * Not here: whose turn it is (test_fair.c), what answers do (test_applicants.c).
 * Law: a question that is answered, late, or of who is gone is not counted.
 */
#include "asked.h"
#include "toy_mechanism.h"

enum { COMERS = MMI_ASKED_MAX + 6 };

static const mmi_mechanism toyxor = TOY("TOYXOR", 1000);
static const toy_config toy_key = { .key = 0x42 }, toy_asks = { .key = 0x42, .asks = true };

typedef struct crowd {
    sides s;
    mm_handle comers[COMERS];
    uint64_t taken[COMERS];
    int count;
} crowd;

static crowd
crowd_open(void)
{
    crowd c = { .s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 }) };
    char endpoint[MM_ENDPOINT_MAX + 1];
    mm_socket_opts opts = opts_of(MM_PUSH);
    opts.reconnect_min_ms = opts.reconnect_max_ms = 3600 * 1000;
    protect(c.s.pull, &toyxor, &toy_asks);
    CHECK_INT(mm_bind(c.s.pull, TCP, endpoint, sizeof endpoint), MM_OK);
    for (int i = 0; i < COMERS; i++) {
        c.comers[i] = open_with(c.s.engine[0], MM_PUSH, &opts);
        protect(c.comers[i], &toyxor, &toy_key);
        CHECK_INT(mm_connect(c.comers[i], endpoint), MM_OK);
    }
    CHECK_INT(mm_sim_run(c.s.world, 1000 * MS), MM_OK);
    CHECK_INT(stats_of(c.s.pull).half_open, COMERS);
    return c;
}

/* Takes what there is; returns how many that were. */
static int
take(crowd *c)
{
    mm_question q;
    int count = 0;
    while (mm_question_take(c->s.engine[1], &q, data) == 1) {
        CHECK_INT(mm_question_waits(c->s.engine[1], q.id), MM_OK);
        c->taken[c->count++] = q.id;
        count++;
    }
    return count;
}

static void
test_so_many_are_out_and_an_answer_makes_room_for_one(void)
{
    crowd c = crowd_open();
    CHECK_INT(take(&c), MMI_ASKED_MAX);
    CHECK_INT(take(&c), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(mm_question_answer(c.s.engine[1], c.taken[i], MM_LATER + i, "x"), MM_OK);
        CHECK_INT(mm_question_waits(c.s.engine[1], c.taken[i]), MM_ESTATE);
        CHECK_INT(take(&c), 1);
    }
    CHECK_INT(mm_question_waits(c.s.engine[1], 0), MM_ESTATE);
    CHECK_INT(mm_question_waits(c.s.engine[0], c.taken[5]), MM_ESTATE);
    sides_close(&c.s);
}

static void
test_who_leaves_makes_room_whether_its_question_was_taken_or_not(void)
{
    crowd c = crowd_open();
    CHECK_INT(take(&c), MMI_ASKED_MAX);
    for (int i = 0; i < COMERS; i++) {
        CHECK_INT(mm_socket_close(c.comers[i]), MM_OK);
    }
    CHECK_INT(mm_sim_run(c.s.world, 100 * MS), MM_OK);
    CHECK_INT(take(&c), 0);
    for (int i = 0; i < c.count; i++) {
        CHECK_INT(mm_question_waits(c.s.engine[1], c.taken[i]), MM_ESTATE);
    }
    mm_question q;
    mm_peer peer;
    uint32_t peers;
    CHECK_INT(mm_socket_peers(c.s.pull, &peer, 1, &peers), MM_OK);
    CHECK_INT(peers, 0);
    CHECK_INT(mm_question_take(c.s.engine[1], &q, data), 0);
    sides_close(&c.s);
}

static void
test_those_of_another_socket_are_taken_meanwhile(void)
{
    crowd c = crowd_open();
    char endpoint[MM_ENDPOINT_MAX + 1];
    mm_question q;
    CHECK_INT(take(&c), MMI_ASKED_MAX);
    mm_handle other = open_socket(c.s.engine[1], MM_PULL);
    protect(other, &toyxor, &toy_asks);
    CHECK_INT(mm_bind(other, TCP, endpoint, sizeof endpoint), MM_OK);
    mm_handle push = open_socket(c.s.engine[0], MM_PUSH);
    protect(push, &toyxor, &toy_key);
    CHECK_INT(mm_connect(push, endpoint), MM_OK);
    CHECK_INT(mm_sim_run(c.s.world, 100 * MS), MM_OK);
    CHECK_INT(mm_question_take(c.s.engine[1], &q, data), 1);
    CHECK_INT(q.socket, other);
    CHECK_INT(mm_question_take(c.s.engine[1], &q, data), 0);
    sides_close(&c.s);
}

static void
test_those_that_nobody_answers_in_time_are_out_no_more(void)
{
    crowd c = crowd_open();
    CHECK_INT(take(&c), MMI_ASKED_MAX);
    CHECK_INT(mm_sim_run(c.s.world, MMI_ALLOW_TIMEOUT_MS * MS), MM_OK);
    CHECK_INT(take(&c), 0);              /* they waited as long */
    CHECK_INT(mm_question_waits(c.s.engine[1], c.taken[0]), MM_ESTATE);
    CHECK_INT(stats_of(c.s.pull).closed[MM_REASON_ALLOW_TIMEOUT], COMERS);
    sides_close(&c.s);
}

int
main(void)
{
    RUN(test_so_many_are_out_and_an_answer_makes_room_for_one);
    RUN(test_who_leaves_makes_room_whether_its_question_was_taken_or_not);
    RUN(test_those_of_another_socket_are_taken_meanwhile);
    RUN(test_those_that_nobody_answers_in_time_are_out_no_more);
    return 0;
}
