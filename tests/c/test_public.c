/*
 * test_public.c: what a C program does that Python does not: it reads batches frame by frame, sends
 * frames from where they lie, and answers what stands in a batch.
 * Not here: what is refused (test_api.c); the packed forms, which carry the same (test_engine_*.c).
 * Law: only meshmsg.h is used here, but for the hooks.
 */
#include <stdbool.h>

#include "sockets.h"

enum { WAIT_MS = 60000, LARGE = 1 << 20, MANY = 40, ANY = 1 << 30 };

static mm_body
text(const char *words)
{
    return (mm_body){ words, strlen(words) };
}

static bool
frame_is(const mm_batch *batch, uint32_t i, uint32_t j, const char *words)
{
    size_t size;
    const void *frame = mm_batch_frame(batch, i, j, &size);
    return frame != NULL && size == strlen(words) && memcmp(frame, words, size) == 0;
}

static bool
frame_is_none(const mm_batch *batch, uint32_t i, uint32_t j)
{
    size_t size = 1;
    return mm_batch_frame(batch, i, j, &size) == NULL && size == 0;
}

typedef struct scene {
    mm_handle engine, one, two;
    mm_batch *batch, *reply;
} scene;

static scene
scene_open(int one, int two)
{
    scene c = { .engine = open_engine() };
    CHECK_INT(mm_socket_open(c.engine, one, NULL, &c.one), MM_OK);
    CHECK_INT(mm_socket_open(c.engine, two, NULL, &c.two), MM_OK);
    CHECK_INT(mm_batch_new(&c.batch), MM_OK);
    CHECK_INT(mm_batch_new(&c.reply), MM_OK);
    join(c.two, c.one, TCP);
    return c;
}

static void
scene_close(scene *c)
{
    mm_batch_free(c->batch);
    mm_batch_free(c->reply);
    close_engine(c->engine, WAIT_MS);
    CHECK_INT(mm_live_handles(), 0);
}

static void
scene_request(const scene *c, const mm_body *frames, uint32_t count, uint64_t *id)
{
    CHECK_INT(mm_request(c->one, frames, count, WAIT_MS, 0, id), MM_OK);
    CHECK_INT(mm_recv(c->two, c->batch, 1, ANY, WAIT_MS, 0), 1);
}

static void
test_a_batch_is_read_frame_by_frame(void)
{
    scene c = scene_open(MM_PUSH, MM_PULL);
    const mm_body several[] = { text("a"), text(""), text("ccc") };
    mm_body run[MANY];
    for (uint32_t i = 0; i < MANY; i++) {
        run[i] = text(i % 2 == 0 ? "even" : "odd");
    }
    size_t sent;
    uint64_t peer = 0;
    CHECK_INT(mm_send_many(c.one, run, MANY, WAIT_MS, 0, &sent), MM_OK);
    CHECK_INT(sent, MANY);
    for (uint32_t seen = 0; seen < MANY;) {
        int count = mm_recv(c.two, c.batch, MANY - seen, ANY, WAIT_MS, 0);
        CHECK(count > 0);
        for (int i = 0; i < count; i++, seen++) {
            CHECK_INT(mm_batch_frame_count(c.batch, (uint32_t)i), 1);
            CHECK(frame_is(c.batch, (uint32_t)i, 0, seen % 2 == 0 ? "even" : "odd"));
            CHECK(frame_is_none(c.batch, (uint32_t)i, 1));
            peer = mm_batch_peer(c.batch, (uint32_t)i);
            CHECK(peer != 0);
        }
        CHECK_INT(mm_batch_frame_count(c.batch, (uint32_t)count), 0);
        CHECK(frame_is_none(c.batch, (uint32_t)count, 0));
        CHECK(mm_batch_peer(c.batch, (uint32_t)count) == 0);
    }
    for (uint32_t count = 1; count <= 3; count++) {   /* from where they lie, and copied first */
        CHECK_INT(mm_send_frames(c.one, 0, several, count, WAIT_MS, 0), MM_OK);
        CHECK_INT(mm_recv(c.two, c.batch, 1, ANY, WAIT_MS, 0), 1);
        CHECK_INT(mm_batch_frame_count(c.batch, 0), count);
        CHECK(frame_is(c.batch, 0, 0, "a") && (count < 2 || frame_is(c.batch, 0, 1, "")));
        CHECK(count < 3 || frame_is(c.batch, 0, 2, "ccc"));
        CHECK(mm_batch_peer(c.batch, 0) == peer);
    }
    CHECK_INT(mm_send_frames(c.one, 0, several, 0, WAIT_MS, 0), MM_EINVAL);
    mm_batch_drop(c.batch);
    CHECK_INT(mm_batch_frame_count(c.batch, 0), 0);
    scene_close(&c);
}

static void
test_a_large_message_is_read_likewise(void)
{
    scene c = scene_open(MM_PUSH, MM_PULL);
    static uint8_t large[LARGE];
    memset(large, 'x', sizeof large);
    const mm_body frames[] = { text("head"), { large, sizeof large } };
    CHECK_INT(mm_send_frames(c.one, 0, frames, 2, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_recv(c.two, c.batch, 1, ANY, WAIT_MS, 0), 1);
    CHECK_INT(mm_batch_frame_count(c.batch, 0), 2);
    size_t size;
    CHECK(frame_is(c.batch, 0, 0, "head"));
    CHECK(memcmp(mm_batch_frame(c.batch, 0, 1, &size), large, sizeof large) == 0);
    CHECK_INT(size, sizeof large);
    CHECK(frame_is_none(c.batch, 0, 2) && frame_is_none(c.batch, 1, 0));
    CHECK(mm_batch_peer(c.batch, 0) != 0);
    scene_close(&c);
}

static void
test_a_request_is_answered_from_the_batch_it_stands_in(void)
{
    scene c = scene_open(MM_REQ, MM_REP);
    static uint8_t large[LARGE];
    const mm_body asked[] = { text("what"), text("now"), { large, sizeof large } };
    const mm_body answer[] = { text("this"), text(""), text("that") };
    for (uint32_t count = 1; count <= 3; count++) {   /* the last is handed over by reference */
        uint64_t id;
        scene_request(&c, asked, count, &id);
        CHECK_INT(mm_batch_frame_count(c.batch, 0), count);
        CHECK(frame_is(c.batch, 0, 0, "what") && (count < 2 || frame_is(c.batch, 0, 1, "now")));
        CHECK(frame_is_none(c.batch, 0, count));
        CHECK_INT(mm_send_reply(c.two, c.batch, 1, answer, 3), MM_EINVAL);
        CHECK_INT(mm_send_reply(c.two, c.batch, 0, answer, 0), MM_EINVAL);
        mm_test_alloc_fail(1);
        CHECK_INT(mm_send_reply(c.two, c.batch, 0, answer, 3), MM_ENOMEM);
        mm_test_alloc_fail(0);
        CHECK_INT(mm_send_reply(c.two, c.batch, 0, answer, 3), MM_OK);
        CHECK_INT(mm_recv_reply(c.one, id, c.reply, WAIT_MS, 0), 1);
        CHECK_INT(mm_batch_frame_count(c.reply, 0), 3);
        CHECK(frame_is(c.reply, 0, 0, "this") && frame_is(c.reply, 0, 1, ""));
        CHECK(frame_is(c.reply, 0, 2, "that"));
    }
    CHECK_INT(mm_send_reply(c.one, c.reply, 0, answer, 1), MM_ENOTSUP);
    mm_batch_drop(c.batch);
    CHECK_INT(mm_send_reply(c.two, c.batch, 0, answer, 1), MM_EINVAL);
    CHECK_INT(mm_send_refusal(c.two, c.batch, 0, "no", 2), MM_EINVAL);
    scene_close(&c);
}

static void
test_a_request_is_refused_from_the_batch_it_stands_in(void)
{
    scene c = scene_open(MM_REQ, MM_REP);
    static const uint8_t long_reason[1025];
    const mm_body asked = text("may I");
    uint64_t id;
    scene_request(&c, &asked, 1, &id);
    CHECK_INT(mm_send_refusal(c.two, c.batch, 0, long_reason, sizeof long_reason), MM_EMSGSIZE);
    CHECK_INT(mm_send_refusal(c.two, c.batch, 0, "no", 2), MM_OK);
    CHECK_INT(mm_recv_reply(c.one, id, c.reply, WAIT_MS, 0), MM_EREFUSED);
    CHECK(frame_is(c.reply, 0, 0, "no"));
    scene_close(&c);
}

static void
test_an_answer_goes_all_the_way_back_and_a_refusal_only_one_step(void)
{
    scene c = scene_open(MM_DEALER, MM_REP);
    const mm_body asked[] = { text("far"), text("near"), text(""), text("who") };
    const mm_body answer[] = { text("I") };
    CHECK_INT(mm_send_frames(c.one, 0, asked, 4, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_recv(c.two, c.batch, 1, ANY, WAIT_MS, 0), 1);
    CHECK_INT(mm_batch_frame_count(c.batch, 0), 1);
    CHECK(frame_is(c.batch, 0, 0, "who"));
    CHECK_INT(mm_send_refusal(c.two, c.batch, 0, "no", 2), MM_ENOTSUP);
    CHECK_INT(mm_send_reply(c.two, c.batch, 0, answer, 1), MM_OK);
    CHECK_INT(mm_recv(c.one, c.reply, 1, ANY, WAIT_MS, 0), 1);
    CHECK_INT(mm_batch_frame_count(c.reply, 0), 4);
    CHECK(frame_is(c.reply, 0, 0, "far") && frame_is(c.reply, 0, 2, ""));
    CHECK(frame_is(c.reply, 0, 3, "I"));
    scene_close(&c);
}

static void
test_all_who_are_asked_answer_and_a_router_writes_to_one(void)
{
    scene c = scene_open(MM_SURVEYOR, MM_RESPONDENT);
    const mm_body asked = text("load"), answer[] = { text("0"), text("3") };
    uint64_t id;
    CHECK_INT(mm_survey(c.one, &asked, 1, 0, WAIT_MS, WAIT_MS, 0, &id), MM_OK);
    CHECK_INT(mm_recv(c.two, c.batch, 1, ANY, WAIT_MS, 0), 1);
    CHECK(frame_is(c.batch, 0, 0, "load"));
    CHECK_INT(mm_send_reply(c.two, c.batch, 0, answer, 2), MM_OK);
    CHECK_INT(mm_recv_answers(c.one, id, c.reply, 1, WAIT_MS, 0), 1);
    CHECK(frame_is(c.reply, 0, 0, "0") && frame_is(c.reply, 0, 1, "3"));
    CHECK_INT(mm_recv_answers(c.one, id, c.reply, 1, WAIT_MS, 0), MM_ESTATE);
    scene_close(&c);
    c = scene_open(MM_DEALER, MM_ROUTER);
    CHECK_INT(mm_send(c.one, "hello", 5, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_recv(c.two, c.batch, 1, ANY, WAIT_MS, 0), 1);
    CHECK(frame_is(c.batch, 0, 1, "hello"));
    CHECK_INT(mm_send_reply(c.two, c.batch, 0, answer, 2), MM_ENOTSUP);
    CHECK_INT(mm_send_frames(c.two, mm_batch_peer(c.batch, 0), answer, 2, WAIT_MS, 0), MM_OK);
    CHECK_INT(mm_recv(c.one, c.reply, 1, ANY, WAIT_MS, 0), 1);
    CHECK(frame_is(c.reply, 0, 0, "0") && frame_is(c.reply, 0, 1, "3"));
    scene_close(&c);
}

int
main(void)
{
    RUN(test_a_batch_is_read_frame_by_frame);
    RUN(test_a_large_message_is_read_likewise);
    RUN(test_a_request_is_answered_from_the_batch_it_stands_in);
    RUN(test_a_request_is_refused_from_the_batch_it_stands_in);
    RUN(test_an_answer_goes_all_the_way_back_and_a_refusal_only_one_step);
    RUN(test_all_who_are_asked_answer_and_a_router_writes_to_one);
    return 0;
}
