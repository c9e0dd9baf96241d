/*
 * test_engine_reply.c: waiting for one reply while others lie there that nobody fetches.
 * Not here: what a reply is (test_req.c).
 * Law: a wait ends with its reply or at its time (a wait that is woken for nothing never ends).
 */
#include <sched.h>

#include "sockets.h"

enum { WAIT_MS = 60000, SHORT_MS = 200 };

/* Receives one request and, if told to, answers it with itself. */
static void
serve(mm_handle rep, mm_batch *batch, int answer)
{
    uint64_t sizes[8];
    CHECK_INT(mm_recv(rep, batch, 1, 1000, WAIT_MS, 0), 1);
    CHECK(batch->frame_count <= 8);
    for (uint32_t i = 0; i < batch->frame_count; i++) {
        sizes[i] = batch->offset[i + 1] - batch->offset[i];
    }
    if (answer) {
        CHECK_INT(mm_send_frames(rep, batch->peer[0], batch->data, sizes, batch->frame_count,
                                 WAIT_MS, 0), MM_OK);
    }
}

static void
test_a_reply_nobody_fetches_neither_wakes_nor_detains_who_waits_for_another(void)
{
    mm_handle engine = open_engine();
    mm_batch *batch;
    char endpoint[256];
    const uint64_t size = 1;
    uint64_t first, second, id;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    mm_handle rep = open_socket(engine, MM_REP), req = open_socket(engine, MM_REQ);
    CHECK_INT(mm_bind(rep, "tcp://127.0.0.1:0", endpoint, sizeof(endpoint)), MM_OK);
    CHECK_INT(mm_connect(req, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(req, 1, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_request(req, (const uint8_t *)"a", &size, 1, WAIT_MS, 0, &first), MM_OK);
    CHECK_INT(mm_request(req, (const uint8_t *)"b", &size, 1, WAIT_MS, 0, &second), MM_OK);
    serve(rep, batch, 0);
    serve(rep, batch, 1);
    CHECK_INT(mm_reply(req, first, batch, SHORT_MS, 0), MM_ETIMEDOUT);
    while (mm_replies_ready(req, &id, 1) == 0) {
        (void)sched_yield();   /* on a slow machine it is not there yet */
    }
    CHECK(id == second);
    CHECK_INT(mm_reply(req, second, batch, WAIT_MS, 0), 1);
    mm_batch_free(batch);
    close_engine(engine, 1000);
}

int
main(void)
{
    RUN(test_a_reply_nobody_fetches_neither_wakes_nor_detains_who_waits_for_another);
    return 0;
}
