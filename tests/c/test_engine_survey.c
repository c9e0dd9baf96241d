/*
 * test_engine_survey.c: surveys through the public functions: what they refuse, how they end, many
 * threads at once.
 * Not here: what counts as an answer (test_survey.c).
 * Law: a wait for a survey ends with its answer, its end, or its socket's.
 */
#include <pthread.h>
#include <sched.h>

#include "sockets.h"

enum { WAIT_MS = 60000, SHORT_MS = 200, THREADS = 4, SURVEYS = 200 };

static const uint64_t one = 1;

typedef struct scene {
    mm_handle engine, asker, peer;
    mm_batch *batch;
    char endpoint[256];
} scene;

static scene
scene_open(void)
{
    scene c = { .engine = open_engine() };
    CHECK_INT(mm_batch_new(&c.batch), MM_OK);
    c.asker = open_socket(c.engine, MM_SURVEYOR);
    c.peer = open_socket(c.engine, MM_RESPONDENT);
    CHECK_INT(mm_bind(c.asker, "tcp://127.0.0.1:0", c.endpoint, sizeof(c.endpoint)), MM_OK);
    CHECK_INT(mm_connect(c.peer, c.endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(c.asker, 1, WAIT_MS, 0), MM_OK);
    return c;
}

static void
scene_close(scene *c)
{
    mm_batch_free(c->batch);
    close_engine(c->engine, 1000);
}

static uint64_t
scene_ask(const scene *c, const char *body, int64_t deadline_ms)
{
    uint64_t id;
    const mm_body asked = { body, 1 };
    CHECK_INT(mm_survey(c->asker, &asked, 1, 0, deadline_ms, WAIT_MS, 0, &id), MM_OK);
    return id;
}

/* Receives one survey and, if told to, answers it with itself.  MM_ECLOSED: the socket is gone. */
static int
serve(mm_handle peer, mm_batch *batch, int answer)
{
    uint64_t sizes[8];
    int rc = mm_recv(peer, batch, 1, 1000, WAIT_MS, 0);
    if (rc == MM_ECLOSED) {
        return rc;
    }
    CHECK_INT(rc, 1);
    CHECK_INT(batch->envelope[0], 2);
    for (uint32_t i = 0; i < batch->frame_count; i++) {
        sizes[i] = batch->offset[i + 1] - batch->offset[i];
    }
    if (answer) {
        CHECK_INT(mm_send_packed(peer, batch->peer[0], batch->data, sizes, batch->frame_count, NULL,
                                 0, WAIT_MS, 0),
                  MM_OK);
    }
    return MM_OK;
}

static void
test_what_is_no_survey_is_refused(void)
{
    scene c = scene_open();
    const uint8_t *body = (const uint8_t *)"x";
    uint64_t id = 0, peers[1];
    CHECK_INT(mm_survey_packed(c.asker, body, &one, 0, NULL, 0, 0, 1000, 0, 0, &id), MM_EINVAL);
    CHECK_INT(mm_survey_packed(c.asker, body, &one, 1, NULL, 0, 0, 0, 0, 0, &id), MM_EINVAL);
    CHECK_INT(mm_survey_packed(c.asker, body, &one, 1, NULL, 0, 0, -1, 0, 0, &id), MM_EINVAL);
    CHECK_INT(mm_survey_packed(c.peer, body, &one, 1, NULL, 0, 0, 1000, 0, 0, &id), MM_ENOTSUP);
    CHECK_INT(mm_survey_asked(c.peer, 1, peers, 1), MM_ENOTSUP);
    CHECK_INT(mm_survey_asked(c.asker, 1, peers, 1), 0);
    CHECK_INT(mm_recv_reply(c.asker, 1, c.batch, WAIT_MS, 0), MM_EINVAL);
    CHECK_INT(mm_recv(c.asker, c.batch, 1, 1000, 0, 0), MM_ENOTSUP);
    CHECK_INT(mm_request_cancel(c.asker, 1), MM_OK);
    mm_test_alloc_fail(1);
    CHECK_INT(mm_survey_packed(c.asker, body, &one, 1, NULL, 0, 0, 1000, 0, 0, &id), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK_INT(mm_socket_close(c.asker), MM_OK);
    CHECK_INT(mm_survey_packed(c.asker, body, &one, 1, NULL, 0, 0, 1000, 0, 0, &id), MM_ECLOSED);
    CHECK_INT(mm_survey_asked(c.asker, 1, peers, 1), MM_ECLOSED);
    CHECK_INT(id, 0);
    scene_close(&c);
}

static void
test_a_survey_ends_by_its_answers_or_by_its_deadline(void)
{
    scene c = scene_open();
    uint64_t answered = scene_ask(&c, "a", WAIT_MS), silent = scene_ask(&c, "b", SHORT_MS), ids[4];
    CHECK_INT(serve(c.peer, c.batch, 1), MM_OK);
    CHECK_INT(serve(c.peer, c.batch, 0), MM_OK);
    CHECK_INT(mm_recv_reply(c.asker, silent, c.batch, -1, 0), MM_ESTATE);
    for (int found = 0; found < 2;) {
        found += mm_replies_ready(c.asker, ids + found, 4 - (uint32_t)found);
        (void)sched_yield();   /* on a slow machine the answer is not there yet */
    }
    CHECK(ids[0] + ids[1] == answered + silent && ids[0] != ids[1]);
    CHECK_INT(mm_replies_ready(c.asker, ids, 4), 0);
    CHECK_INT(mm_recv_reply(c.asker, answered, c.batch, -1, 0), 1);
    CHECK(c.batch->frame_count == 1 && c.batch->data[0] == 'a');
    CHECK_INT(mm_survey_asked(c.asker, answered, ids, 4), 1);
    CHECK_INT(ids[0], c.batch->peer[0]);
    CHECK_INT(mm_recv_reply(c.asker, answered, c.batch, -1, 0), MM_ESTATE);
    CHECK_INT(mm_request_cancel(c.asker, answered), MM_OK);
    CHECK_INT(mm_recv_reply(c.asker, answered, c.batch, -1, 0), MM_EINVAL);
    scene_close(&c);
}

static void
test_a_wait_ends_at_its_own_time_and_the_survey_goes_on(void)
{
    scene c = scene_open();
    uint64_t id = scene_ask(&c, "a", WAIT_MS);
    CHECK_INT(mm_recv_reply(c.asker, id, c.batch, 1, 0), MM_ETIMEDOUT);
    CHECK_INT(mm_recv_reply(c.asker, id, c.batch, 0, 0), MM_EAGAIN);
    CHECK_INT(mm_recv_reply(c.asker, id, c.batch, -1, 1), MM_EINTR);
    CHECK_INT(serve(c.peer, c.batch, 1), MM_OK);
    CHECK_INT(mm_recv_reply(c.asker, id, c.batch, -1, 0), 1);
    scene_close(&c);
}

static void
test_answers_come_together_and_may_be_late_after_all(void)
{
    enum { PEERS = 3 };
    mm_stats stats;
    scene c = scene_open();
    mm_handle more[PEERS - 1];
    for (int i = 0; i < PEERS - 1; i++) {
        more[i] = open_socket(c.engine, MM_RESPONDENT);
        CHECK_INT(mm_connect(more[i], c.endpoint), MM_OK);
    }
    CHECK_INT(mm_wait_peers(c.asker, PEERS, WAIT_MS, 0), MM_OK);
    uint64_t id = scene_ask(&c, "a", WAIT_MS);
    CHECK_INT(serve(c.peer, c.batch, 1), MM_OK);
    for (int i = 0; i < PEERS - 1; i++) {
        CHECK_INT(serve(more[i], c.batch, 1), MM_OK);
    }
    CHECK_INT(mm_recv_answers(c.asker, id, c.batch, 0, 0, 0), MM_EINVAL);
    int count = 0;
    while (count < PEERS) {
        int rc = mm_recv_answers(c.asker, id, c.batch, 2, WAIT_MS, 0);
        CHECK(rc == 1 || rc == 2);
        CHECK(c.batch->peer[0] != 0 && c.batch->offset[rc] == (uint64_t)rc);
        count += rc;
    }
    CHECK_INT(mm_recv_answers(c.asker, id, c.batch, 2, WAIT_MS, 0), MM_ESTATE);
    CHECK_INT(mm_answers_late(c.asker, PEERS + 1, 1), MM_EINVAL);
    CHECK_INT(mm_answers_late(c.asker, 1, 100), MM_EINVAL);
    CHECK_INT(mm_answers_late(c.peer, 0, 0), MM_ENOTSUP);
    CHECK_INT(mm_answers_late(c.asker, 2, 2), MM_OK);
    CHECK_INT(mm_socket_stats(c.asker, &stats), MM_OK);
    CHECK(stats.received_messages == 1 && stats.received_bytes == 1 && stats.dropped_late == 2);
    CHECK_INT(mm_request_cancel(c.asker, id), MM_OK);
    scene_close(&c);
}

static void *
thread_serve(void *arg)
{
    scene *c = arg;
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    while (serve(c->peer, batch, 1) == MM_OK) {
    }
    mm_batch_free(batch);
    return NULL;
}

static void *
thread_ask(void *arg)
{
    scene *c = arg;
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    for (int i = 0; i < SURVEYS; i++) {
        const char body[2] = { (char)('a' + i % 26), 0 };
        uint64_t id = scene_ask(c, body, i % 10 == 9 ? 1 : WAIT_MS);
        int rc = mm_recv_reply(c->asker, id, batch, -1, 0);
        CHECK(rc == 1 || (i % 10 == 9 && rc == MM_ESTATE));
        CHECK(rc != 1 || (batch->frame_count == 1 && batch->data[0] == (uint8_t)body[0]));
        CHECK_INT(mm_request_cancel(c->asker, id), MM_OK);
    }
    mm_batch_free(batch);
    return NULL;
}

static void
test_many_threads_survey_at_once(void)
{
    scene c = scene_open();
    pthread_t server, askers[THREADS];
    mm_stats stats;
    CHECK_INT(pthread_create(&server, NULL, thread_serve, &c), 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK_INT(pthread_create(&askers[i], NULL, thread_ask, &c), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_INT(pthread_join(askers[i], NULL), 0);
    }
    CHECK_INT(mm_socket_stats(c.asker, &stats), MM_OK);
    CHECK_INT(stats.sent_messages, THREADS * SURVEYS);
    CHECK(stats.received_messages >= THREADS * SURVEYS * 9 / 10);
    CHECK_INT(stats.parsed_messages, stats.received_messages + stats.dropped_late);
    CHECK_INT(mm_socket_close(c.peer), MM_OK);
    CHECK_INT(pthread_join(server, NULL), 0);
    scene_close(&c);
}

static void *
thread_close(void *arg)
{
    scene *c = arg;
    CHECK_INT(serve(c->peer, c->batch, 0), MM_OK);
    CHECK_INT(mm_socket_close(c->asker), MM_OK);
    return NULL;
}

static void
test_closing_the_socket_ends_the_wait(void)
{
    scene c = scene_open();
    mm_batch *batch;
    pthread_t closer;
    uint64_t id = scene_ask(&c, "a", WAIT_MS);
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    CHECK_INT(pthread_create(&closer, NULL, thread_close, &c), 0);
    CHECK_INT(mm_recv_reply(c.asker, id, batch, -1, 0), MM_ECLOSED);
    CHECK_INT(pthread_join(closer, NULL), 0);
    mm_batch_free(batch);
    scene_close(&c);
}

static void
test_no_memory_for_the_timer_of_a_surveyor_opens_none(void)
{
    mm_handle engine, s = 0;
    mm_socket_opts opts;
    uint64_t abandoned;
    int live = mm_live_handles(), failed = 0;
    CHECK_INT(mm_engine_open(0, &engine), MM_OK);
    CHECK_INT(mm_socket_defaults(MM_SURVEYOR, &opts), MM_OK);
    for (int n = 1;; n++) {
        mm_test_alloc_fail(n);
        int rc = mm_socket_open(engine, MM_SURVEYOR, &opts, &s);
        mm_test_alloc_fail(0);
        if (rc == MM_OK) {
            break;
        }
        CHECK_INT(rc, MM_ENOMEM);
        failed++;
    }
    CHECK(failed >= 3);                            /* socket, role, timer */
    CHECK_INT(mm_engine_close(engine, 0, &abandoned), MM_OK);
    CHECK_INT(mm_live_handles(), live);
}

int
main(void)
{
    RUN(test_what_is_no_survey_is_refused);
    RUN(test_a_survey_ends_by_its_answers_or_by_its_deadline);
    RUN(test_a_wait_ends_at_its_own_time_and_the_survey_goes_on);
    RUN(test_answers_come_together_and_may_be_late_after_all);
    RUN(test_many_threads_survey_at_once);
    RUN(test_closing_the_socket_ends_the_wait);
    RUN(test_no_memory_for_the_timer_of_a_surveyor_opens_none);
    return 0;
}
