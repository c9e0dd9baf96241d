/*
 * test_finish.c: a PUSH that sends nothing more, and the PULL that learns it, in a simulated world;
 * also where the n-th allocation fails, for every n there is.
 * Not here: what users call (tests/unit/test_finishing.py), the octets (test_command.c).
 * Law: the end is told when all is done and not before, whatever fails meanwhile.
 */
#include <stdbool.h>

#include "base/base.h"
#include "meshmsg_binding.h"
#include "meshmsg_testing.h"
#include "sockets.h"

enum { MESSAGES = 4, WAIT_MS = 60000, SHORT_MS = 1000, TRIES = 300, POINTS_MAX = 500 };

typedef struct stage {
    mm_handle world, engines[2], push, pull;
    mm_batch *batch;
} stage;

static mm_handle
stage_socket(mm_handle engine, int role, uint32_t flags)
{
    mm_socket_opts opts;
    mm_handle socket;
    CHECK_INT(mm_socket_defaults(role, &opts), MM_OK);
    opts.flags = flags;
    CHECK_INT(mm_socket_open(engine, role, &opts, &socket), MM_OK);
    return socket;
}

static void
stage_open(stage *s, uint32_t flags)
{
    mm_sim_opts opts = { .latency_min_ns = 1000, .latency_max_ns = 100000 };
    char endpoint[MM_ENDPOINT_MAX + 1];
    CHECK_INT(mm_sim_open(1, &opts, &s->world), MM_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(mm_sim_engine_open(s->world, &s->engines[i]), MM_OK);
    }
    CHECK_INT(mm_batch_new(&s->batch), MM_OK);
    s->push = stage_socket(s->engines[0], MM_PUSH, flags);
    s->pull = stage_socket(s->engines[1], MM_PULL, 0);
    CHECK_INT(mm_bind(s->push, TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(s->pull, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(s->pull, 1, WAIT_MS, 0), MM_OK);
}

static void
stage_close(stage *s)
{
    mm_batch_free(s->batch);
    for (int i = 0; i < 2; i++) {
        close_engine(s->engines[i], 1000);
    }
    CHECK_INT(mm_sim_close(s->world), MM_OK);
}

static uint64_t
finished_peers(mm_handle socket)
{
    mm_stats stats;
    CHECK_INT(mm_socket_stats(socket, &stats), MM_OK);
    return stats.finished_peers;
}

/* Which of the messages came, one at a time, until there are no more: as bits. */
static unsigned
until_end(stage *s)
{
    unsigned seen = 0;
    for (int tries = 0; tries < TRIES; tries++) {
        int rc = mm_recv(s->pull, s->batch, 1, 1 << 20, SHORT_MS, 0);
        if (rc == MM_EFINISHED) {
            return seen;
        }
        CHECK(rc == 1 || rc == MM_ENOMEM || rc == MM_ETIMEDOUT);
        size_t size;
        const uint8_t *data = rc == 1 ? mm_batch_frame(s->batch, 0, 0, &size) : NULL;
        seen |= data != NULL ? 1u << data[0] : 0;
    }
    CHECK(false);
    return 0;
}

static void
send_all(const stage *s)
{
    for (uint8_t i = 0; i < MESSAGES; i++) {
        CHECK_INT(mm_send(s->push, &i, 1, WAIT_MS, 0), MM_OK);
    }
}

static void
finish_with_flags(uint32_t flags)
{
    stage s;
    stage_open(&s, flags);
    CHECK_INT(mm_wait_finished(s.push, 0, 0, 0), MM_ESTATE);
    send_all(&s);
    CHECK_INT(mm_finish(s.push), MM_OK);
    CHECK_INT(mm_finish(s.push), MM_OK);
    CHECK(until_end(&s) == (1u << MESSAGES) - 1);
    CHECK_INT(mm_recv(s.pull, s.batch, 1, 1 << 20, WAIT_MS, 0), MM_EFINISHED);
    CHECK_INT(mm_recv(s.pull, s.batch, 1, 1 << 20, 0, 0), MM_EFINISHED);
    CHECK_INT(mm_wait_finished(s.push, 1, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_wait_finished(s.push, 2, SHORT_MS, 0), MM_ETIMEDOUT);
    CHECK(finished_peers(s.push) == 1 && finished_peers(s.pull) == 1);
    stage_close(&s);
}

static void
test_the_end_is_told_once_all_is_done(void)
{
    finish_with_flags(0);
    finish_with_flags(MM_OPT_AT_LEAST_ONCE);
}

static void
test_nothing_is_sent_behind_it_by_any_call(void)
{
    static const uint8_t many[32];
    mm_body bodies[32];
    size_t sent;
    int more;
    uint64_t size = 1;
    stage s;
    stage_open(&s, 0);
    CHECK_INT(mm_finish(s.push), MM_OK);
    for (size_t i = 0; i < MMI_COUNT_OF(bodies); i++) {
        bodies[i] = (mm_body){ .data = many, .size = sizeof many };
    }
    CHECK_INT(mm_send(s.push, many, 1, WAIT_MS, 0), MM_ESTATE);
    CHECK_INT(mm_send_frames(s.push, 0, bodies, 2, WAIT_MS, 0), MM_ESTATE);
    CHECK_INT(mm_send_many(s.push, bodies, MMI_COUNT_OF(bodies), WAIT_MS, 0, &sent), MM_ESTATE);
    CHECK(sent == 0);
    CHECK_INT(mm_send_packed(s.push, 0, many, &size, 1, NULL, 0, WAIT_MS, 0), MM_ESTATE);
    CHECK_INT(mm_send_queue(s.push, bodies, 1, &more), MM_OK);
    CHECK(more == MM_MORE_SEND);
    CHECK_INT(mm_wait_finished(s.push, 1, WAIT_MS, 0), MM_OK);
    stage_close(&s);
}

static void
test_only_who_sends_to_one_of_its_peers_can_finish(void)
{
    stage s;
    stage_open(&s, 0);
    for (int role = MM_PULL; role < MM_ROLE_COUNT; role++) {
        mm_handle socket = stage_socket(s.engines[0], role, 0);
        CHECK_INT(mm_finish(socket), MM_ENOTSUP);
        CHECK_INT(mm_wait_finished(socket, 0, WAIT_MS, 0), MM_ESTATE);
        CHECK_INT(mm_socket_close(socket), MM_OK);
    }
    CHECK_INT(mm_finish(0), MM_ECLOSED);
    CHECK_INT(mm_wait_finished(0, 0, 0, 0), MM_ECLOSED);
    stage_close(&s);
}

/* A connection that is lost for it comes again, and is told then. */
static void
test_without_memory_at_any_point_all_is_received_and_the_end_is_told(void)
{
    bool failed = true;
    int point = 1;
    for (; failed; point++) {
        stage s;
        CHECK(point < POINTS_MAX);
        stage_open(&s, MM_OPT_AT_LEAST_ONCE);
        send_all(&s);
        (void)mm_test_alloc_fail(point);
        CHECK_INT(mm_finish(s.push), MM_OK);
        CHECK(until_end(&s) == (1u << MESSAGES) - 1);
        failed = mm_test_alloc_fail(0) <= 0;
        CHECK_INT(mm_wait_finished(s.push, 1, WAIT_MS, 0), MM_OK);
        stage_close(&s);
    }
    CHECK(point > 3);   /* there was something to fail */
}

int
main(void)
{
    RUN(test_the_end_is_told_once_all_is_done);
    RUN(test_nothing_is_sent_behind_it_by_any_call);
    RUN(test_only_who_sends_to_one_of_its_peers_can_finish);
    RUN(test_without_memory_at_any_point_all_is_received_and_the_end_is_told);
    return 0;
}
