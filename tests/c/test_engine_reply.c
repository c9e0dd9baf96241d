/*
 * test_engine_reply.c: waiting for one reply while others lie there that nobody fetches; requests
 * that are taken where they are, and replied to with their way back and a body apart.
 * Not here: what a reply is (test_req.c).
 * Law: a wait ends with its reply or at its time (a wait that is woken for nothing never ends).
 */
#include <poll.h>
#include <sched.h>
#include <string.h>

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
        CHECK_INT(mm_send_packed(rep, batch->peer[0], batch->data, sizes, batch->frame_count, NULL,
                                 0, WAIT_MS, 0),
                  MM_OK);
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
    CHECK_INT(mm_request_packed(req, (const uint8_t *)"a", &size, 1, NULL, 0, WAIT_MS, 0, &first),
              MM_OK);
    CHECK_INT(mm_request_packed(req, (const uint8_t *)"b", &size, 1, NULL, 0, WAIT_MS, 0, &second),
              MM_OK);
    serve(rep, batch, 0);
    serve(rep, batch, 1);
    CHECK_INT(mm_recv_reply(req, first, batch, SHORT_MS, 0), MM_ETIMEDOUT);
    while (mm_replies_ready(req, &id, 1) == 0) {
        (void)sched_yield();   /* on a slow machine it is not there yet */
    }
    CHECK(id == second);
    CHECK_INT(mm_recv_reply(req, second, batch, WAIT_MS, 0), 1);
    mm_batch_free(batch);
    close_engine(engine, 1000);
}

/* Asks so many times, and returns once all of it has arrived. */
static void
ask(mm_handle req, mm_handle rep, const char *body, uint32_t times, uint64_t *id)
{
    const uint64_t size = strlen(body);
    mm_stats stats = { 0 };
    for (uint32_t i = 0; i < times; i++) {
        CHECK_INT(mm_request_packed(req, (const uint8_t *)body, &size, 1, NULL, 0, WAIT_MS, 0, id),
                  MM_OK);
    }
    while (stats.queued_in_messages < times) {
        CHECK_INT(mm_socket_stats(rep, &stats), MM_OK);
        (void)sched_yield();
    }
}

/* Answers what the batch was lent with that body. */
static int
answer_lent(mm_handle rep, const mm_batch *batch, const uint8_t *body, size_t body_size)
{
    uint8_t route[64];
    uint64_t sizes[9], size;
    uint32_t count = batch->envelope[0];
    size_t used = 0;
    CHECK(count <= 8);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *frame = mm_msg_frame(batch->big, i, &size);
        CHECK(used + size <= sizeof route);
        memcpy(route + used, frame, size);
        used += size;
        sizes[i] = size;
    }
    sizes[count] = body_size;
    return mm_send_reply_along(rep, batch->peer[0], route, sizes, count, body);
}

/* The same, but it waits for the lock: the runner may have it at any moment. */
static int
recv_nowait(mm_handle rep, mm_batch *batch, int *more)
{
    int rc;
    AWAIT((rc = mm_recv_nowait(rep, batch, more)) != MM_EAGAIN);
    return rc;
}

static void
test_a_request_that_is_there_is_lent_and_answered(void)
{
    mm_handle engine = open_engine();
    mm_batch *batch;
    uint64_t id, size;
    int more;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    mm_socket_opts opts = opts_of(MM_REP);
    opts.message_size_max = 1000;
    mm_handle rep = open_with(engine, MM_REP, &opts), req = open_socket(engine, MM_REQ);
    join(rep, req, "tcp://127.0.0.1:0");
    CHECK_INT(mm_recv_nowait(rep, batch, &more), MM_EAGAIN);
    ask(req, rep, "question", 2, &id);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(recv_nowait(rep, batch, &more), 1);
        CHECK_INT(mm_settle(rep), MM_OK);   /* should there be more to it, or not */
        CHECK_INT(batch->message_count, 1);
        CHECK(batch->big != NULL && batch->envelope[0] > 0 && batch->peer[0] != 0);
        uint32_t last = mm_msg_frame_count(batch->big) - 1;
        CHECK_INT(last, batch->envelope[0]);
        const uint8_t *body = mm_msg_frame(batch->big, last, &size);
        CHECK(size == 8 && memcmp(body, "question", 8) == 0);
    }
    static const uint8_t large[1001];
    CHECK_INT(answer_lent(rep, batch, large, sizeof large), MM_EMSGSIZE);
    CHECK_INT(answer_lent(rep, batch, (const uint8_t *)"answer", 6), MM_OK);
    CHECK_INT(mm_recv_reply(req, id, batch, WAIT_MS, 0), 1);
    CHECK(batch->offset[1] - batch->offset[0] == 6 &&
          memcmp(batch->data + batch->offset[0], "answer", 6) == 0);
    CHECK_INT(mm_recv_nowait(rep, batch, &more), MM_EAGAIN);
    CHECK_INT(batch->message_count, 0);
    size = 0;
    CHECK_INT(mm_send_reply_along(rep, 12345, NULL, &size, 0, NULL), MM_EHOSTUNREACH);
    mm_stats stats;
    CHECK_INT(mm_socket_stats(rep, &stats), MM_OK);
    CHECK_INT(stats.received_messages, 2);
    CHECK_INT(mm_socket_close(rep), MM_OK);
    CHECK_INT(recv_nowait(rep, batch, &more), MM_ECLOSED);
    CHECK_INT(mm_send_reply_along(rep, 12345, NULL, &size, 0, NULL), MM_ECLOSED);
    mm_handle push = open_socket(engine, MM_PUSH);
    CHECK_INT(recv_nowait(push, batch, &more), MM_ENOTSUP);
    mm_batch_free(batch);
    close_engine(engine, 1000);
}

/* Nobody is there to be answered, so only the room is looked at: it is taken each time. */
static void
test_a_room_is_sent_as_far_as_it_is_written(void)
{
    mm_handle engine = open_engine(), rep = open_socket(engine, MM_REP);
    const uint64_t sizes[] = { 4, 0, 10 }, more[] = { 4, 0, 11 };
    const uint8_t route[] = "way";
    uint8_t *body = NULL;
    for (int i = 0; i < 3; i++) {
        mm_msg *room = mm_room_new(10, &body);
        CHECK(room != NULL && body != NULL);
        memset(body, i, 10);
        int rc = i == 0 ? MM_EHOSTUNREACH : i == 1 ? MM_EINVAL : MM_ECLOSED;
        if (i == 2) {
            CHECK_INT(mm_socket_close(rep), MM_OK);
        }
        CHECK_INT(mm_send_reply_room(rep, 12345, route, i == 1 ? more : sizes, 2, room), rc);
    }
    mm_room_free(mm_room_new(0, &body));
    mm_room_free(NULL);
    close_engine(engine, 1000);
}

static int
readable(int fd)
{
    struct pollfd look = { .fd = fd, .events = POLLIN };
    return poll(&look, 1, 0) == 1;
}

static void
test_who_watches_is_told_of_what_was_taken_where_it_was(void)
{
    mm_handle engine = open_engine();
    mm_batch *batch;
    uint64_t id;
    int more, fd;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    mm_handle rep = open_socket(engine, MM_REP), req = open_socket(engine, MM_REQ);
    join(rep, req, "tcp://127.0.0.1:0");
    CHECK_INT(mm_fileno(rep, &fd), MM_OK);
    ask(req, rep, "x", 2, &id);
    for (int left = 1; left >= 0; left--) {
        CHECK_INT(recv_nowait(rep, batch, &more), 1);
        CHECK_INT(more, MM_MORE_SETTLE);
        CHECK_INT(mm_settle(rep), MM_OK);
        CHECK_INT(readable(fd), left);
    }
    mm_batch_free(batch);
    close_engine(engine, 1000);
}

static uint64_t
malformed(mm_handle socket)
{
    mm_stats stats;
    CHECK_INT(mm_socket_stats(socket, &stats), MM_OK);
    return stats.dropped_malformed;
}

/* Nobody can answer a message without a way back: it is dropped by who looks for one, who settles
 * what that left; unless the runner does so at that moment. */
static void
test_what_is_dropped_on_the_way_is_settled_too(void)
{
    mm_handle engine = open_engine();
    mm_batch *batch;
    int more = 0;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    mm_handle rep = open_socket(engine, MM_REP), dealer = open_socket(engine, MM_DEALER);
    join(rep, dealer, "tcp://127.0.0.1:0");
    CHECK_INT(mm_send(dealer, (const uint8_t *)"x", 1, WAIT_MS, 0), MM_OK);
    AWAIT((mm_recv_nowait(rep, batch, &more) == MM_EAGAIN && more != 0) || malformed(rep) > 0);
    if (more != 0) {
        CHECK_INT(more, MM_MORE_SETTLE);
        CHECK_INT(mm_settle(rep), MM_OK);
    }
    CHECK_INT(malformed(rep), 1);
    mm_batch_free(batch);
    close_engine(engine, 1000);
}

int
main(void)
{
    RUN(test_a_request_that_is_there_is_lent_and_answered);
    RUN(test_a_room_is_sent_as_far_as_it_is_written);
    RUN(test_who_watches_is_told_of_what_was_taken_where_it_was);
    RUN(test_what_is_dropped_on_the_way_is_settled_too);
    RUN(test_a_reply_nobody_fetches_neither_wakes_nor_detains_who_waits_for_another);
    return 0;
}
