/*
 * test_no_memory.c: a whole conversation in a simulated world, again and again, with the n-th
 * allocation failing, for every n there is.
 * Not here: which call says so; that is each file's own test.
 * Law: nothing crashes, leaks or hangs; a call that failed said MM_ENOMEM; what was accepted
 * arrives in order and once, or its connection was lost and it is counted.
 */
#include <stdbool.h>

#include "check.h"

enum { MESSAGES = 30, WAIT_MS = 60000, SHORT_MS = 5000, TRIES = 200, POINTS = 150 };

/* The roles that are played: who listens, who dials, who of them sends. */
typedef struct play {
    int listens, dials;
    bool dialer_sends, subscribes, asks;
    const char *url;
} play;

typedef struct stage {
    mm_handle world, engines[2], listening, dialing, sending, receiving;
    mm_batch *batch;
    int failures;          /* calls that said MM_ENOMEM */
    uint32_t next, got;    /* the number the receiver waits for; how many came */
    bool lossy;            /* a connection may be lost for want of memory */
} stage;

/* Until it is done: what fails for want of memory is tried again. */
#define UNTIL_DONE(s, call)                                                                        \
    for (int tries_ = 0, rc_ = MM_ENOMEM; rc_ != MM_OK; tries_++) {                                \
        rc_ = (call);                                                                              \
        CHECK(rc_ == MM_OK || (rc_ == MM_ENOMEM && tries_ < 5));                                   \
        (s)->failures += rc_ != MM_OK;                                                             \
    }

static mm_handle
stage_socket(stage *s, mm_handle engine, int role)
{
    mm_socket_opts opts;
    mm_handle socket;
    CHECK_INT(mm_socket_defaults(role, &opts), MM_OK);
    opts.overflow = MM_OVERFLOW_BLOCK;
    UNTIL_DONE(s, mm_socket_open(engine, role, &opts, &socket));
    return socket;
}

static void
stage_open(stage *s, const play *p)
{
    mm_sim_opts opts = { .latency_min_ns = 1000, .latency_max_ns = 100000 };
    memset(s, 0, sizeof *s);
    UNTIL_DONE(s, mm_sim_open(1, &opts, &s->world));
    for (int i = 0; i < 2; i++) {
        UNTIL_DONE(s, mm_sim_engine_open(s->world, &s->engines[i]));
    }
    UNTIL_DONE(s, mm_batch_new(&s->batch));
    s->listening = stage_socket(s, s->engines[0], p->listens);
    s->dialing = stage_socket(s, s->engines[1], p->dials);
    s->sending = p->dialer_sends ? s->dialing : s->listening;
    s->receiving = p->dialer_sends ? s->listening : s->dialing;
    char endpoint[256];
    UNTIL_DONE(s, mm_bind(s->listening, p->url, endpoint, sizeof endpoint));
    UNTIL_DONE(s, mm_connect(s->dialing, endpoint));
    if (p->subscribes) {
        UNTIL_DONE(s, mm_subscribe(s->receiving, (const uint8_t *)"", 0));
    }
}

static void
stage_close(stage *s)
{
    uint64_t abandoned;
    mm_batch_free(s->batch);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(mm_engine_close(s->engines[i], 1000, &abandoned), MM_OK);
    }
    CHECK_INT(mm_sim_close(s->world), MM_OK);
}

/* Messages of many sizes: kept, referred to, in pieces. */
static uint32_t
body_size(uint32_t number)
{
    static const uint32_t sizes[] = { 4, 100, 300, 5000, 40000, 100000 };
    return sizes[number % 6];
}

static uint8_t body[100000];

static void
stage_check(stage *s, uint32_t size, const uint8_t *data)
{
    uint32_t number;
    memcpy(&number, data, sizeof number);
    if (number < s->next || number >= MESSAGES || size != body_size(number)) {
        fprintf(stderr, "got %u of %u octets, wanted %u\n", number, size, s->next);
        exit(1);
    }
    CHECK(s->lossy || number == s->next);
    s->next = number + 1;
    s->got++;
}

/* false: nothing came in time. */
static bool
stage_receive(stage *s)
{
    int count = mm_recv(s->receiving, s->batch, 10, 1 << 20, s->lossy ? SHORT_MS : WAIT_MS, 0);
    if (count == MM_ETIMEDOUT && s->lossy) {
        return false;
    }
    CHECK(count > 0 || count == MM_ENOMEM);
    s->failures += count == MM_ENOMEM;
    for (int i = 0; i < count; i++) {
        if (s->batch->big != NULL) {
            uint64_t size;
            const uint8_t *data = mm_msg_frame(s->batch->big, 0, &size);
            stage_check(s, (uint32_t)size, data);
            continue;
        }
        const mm_batch *b = s->batch;
        uint32_t frame = b->first_frame != NULL ? b->first_frame[i + 1] - 1 : (uint32_t)i;
        stage_check(s, (uint32_t)(b->offset[frame + 1] - b->offset[frame]),
                    b->data + b->offset[frame]);
    }
    return true;
}

static void
stage_flow(stage *s, const play *p)
{
    for (uint32_t number = 0; number < MESSAGES; number++) {
        memcpy(body, &number, sizeof number);
        UNTIL_DONE(s, mm_send(s->sending, body, body_size(number), WAIT_MS, 0));
        if (number % 5 == 4) {
            (void)stage_receive(s);
        }
    }
    for (int tries = 0; s->next < MESSAGES && stage_receive(s); tries++) {
        CHECK(tries < TRIES);
    }
    mm_stats sent, received;
    CHECK_INT(mm_socket_stats(s->sending, &sent), MM_OK);
    CHECK_INT(mm_socket_stats(s->receiving, &received), MM_OK);
    CHECK_INT(sent.sent_messages, MESSAGES);
    CHECK_INT(received.received_messages, s->got);
    uint64_t lost = sent.in_doubt_messages + sent.dropped_peer_gone + sent.dropped_no_peer;
    CHECK(lost == 0 || sent.disconnects > 0);
    /* What is published while nobody is subscribed, between two connections, is nobody's loss. */
    lost += sent.dropped_overflow + received.dropped_overflow;
    CHECK(s->got + lost >= MESSAGES || (p->subscribes && sent.disconnects > 0));
}

/* A request waits for its reply; the one that answers is asked first, as nothing runs by itself. */
static void
stage_ask(stage *s)
{
    for (uint32_t number = 0; number < 6; number++) {
        uint64_t size = body_size(number), id = 0, sizes[4];
        memcpy(body, &number, sizeof number);
        UNTIL_DONE(s, mm_request_packed(s->sending, body, &size, 1, NULL, 0, WAIT_MS, 0, &id));
        int rc = MM_ENOMEM;
        for (int tries = 0; rc == MM_ENOMEM && tries < 5; tries++) {
            rc = mm_recv(s->receiving, s->batch, 1, 1 << 20, WAIT_MS, 0);
            s->failures += rc == MM_ENOMEM;
        }
        CHECK_INT(rc, 1);
        CHECK(s->batch->frame_count <= 4 && s->batch->big == NULL);
        for (uint32_t i = 0; i < s->batch->frame_count; i++) {
            sizes[i] = s->batch->offset[i + 1] - s->batch->offset[i];
        }
        uint64_t peer = s->batch->peer != NULL ? s->batch->peer[0] : s->batch->one_peer;
        UNTIL_DONE(s, mm_send_packed(s->receiving, peer, s->batch->data, sizes,
                                     s->batch->frame_count, NULL, 0, WAIT_MS, 0));
        rc = MM_ENOMEM;
        for (int tries = 0; rc == MM_ENOMEM && tries < 5; tries++) {
            rc = mm_recv_reply(s->sending, id, s->batch, WAIT_MS, 0);
            s->failures += rc == MM_ENOMEM;
        }
        CHECK_INT(rc, 1);
        CHECK(memcmp(s->batch->data, body, body_size(number)) == 0);
    }
}

/* A round that may fail for want of memory, and then ends; the one after it must not. */
static bool
stage_try_to_ask(stage *s)
{
    uint64_t size = body_size(3), id = 0, sizes[4];
    int rc = mm_request_packed(s->sending, body, &size, 1, NULL, 0, SHORT_MS, 0, &id);
    if (rc != MM_OK) {
        CHECK_INT(rc, MM_ENOMEM);
        return false;
    }
    rc = mm_recv(s->receiving, s->batch, 1, 1 << 20, SHORT_MS, 0);
    if (rc == 1) {
        for (uint32_t i = 0; i < s->batch->frame_count; i++) {
            sizes[i] = s->batch->offset[i + 1] - s->batch->offset[i];
        }
        uint64_t peer = s->batch->peer != NULL ? s->batch->peer[0] : s->batch->one_peer;
        rc = mm_send_packed(s->receiving, peer, s->batch->data, sizes, s->batch->frame_count, NULL,
                            0, SHORT_MS, 0);
        CHECK(rc == MM_OK || rc == MM_ENOMEM || rc == MM_EHOSTUNREACH);
    } else {
        CHECK(rc == MM_ENOMEM || rc == MM_ETIMEDOUT);
    }
    rc = mm_recv_reply(s->sending, id, s->batch, SHORT_MS, 0);
    CHECK(rc == 1 || rc == MM_ENOMEM || rc == MM_ETIMEDOUT || rc == MM_ECONNRESET);
    CHECK(rc != 1 || memcmp(s->batch->data, body, size) == 0);
    if (rc != 1) {
        (void)mm_request_cancel(s->sending, id);
    }
    return rc == 1;
}

static void
stage_join(const stage *s, const play *p)
{
    for (int tries = 0, rc = MM_ENOMEM; rc != MM_OK; tries++) {
        rc = mm_wait_peers(s->sending, 1, WAIT_MS, 0);
        rc = rc == MM_OK ? mm_wait_peers(s->receiving, 1, WAIT_MS, 0) : rc;
        if (rc == MM_OK && p->subscribes) {
            rc = mm_wait_subscribers(s->sending, (const uint8_t *)"x", 1, 1, WAIT_MS, 0);
        }
        CHECK(rc == MM_OK || (rc == MM_ENOMEM && tries < 5));
    }
}

/* Once, with the n-th allocation failing while it connects, or else while it talks. */
static void
play_point(const play *p, int64_t connecting, int64_t talking)
{
    stage s;
    mm_test_alloc_fail(connecting);
    stage_open(&s, p);
    stage_join(&s, p);
    mm_test_alloc_fail(talking);
    s.lossy = talking != 0;
    if (p->asks) {
        stage_ask(&s);
    } else {
        stage_flow(&s, p);
    }
    mm_test_alloc_fail(0);
    CHECK(s.failures <= 1 && (connecting + talking != 0 || s.failures == 0));
    stage_close(&s);
    CHECK_INT(mm_live_handles(), 0);
}

static const play plays[] = {
    { MM_PULL, MM_PUSH, true, false, false, "tcp://127.0.0.1:0" },
    { MM_PUSH, MM_PULL, false, false, false, "inproc://a" },
    { MM_PUB, MM_SUB, false, true, false, "ipc:///a" },
    { MM_PAIR, MM_PAIR, true, false, false, "tcp://127.0.0.1:0" },
    { MM_REP, MM_REQ, true, false, true, "tcp://127.0.0.1:0" },
};

static void
test_the_conversations_work_with_all_the_memory_there_is(void)
{
    for (size_t i = 0; i < sizeof plays / sizeof plays[0]; i++) {
        play_point(&plays[i], 0, 0);
    }
}

static void
test_no_memory_at_any_point_of_getting_connected(void)
{
    for (size_t i = 0; i < sizeof plays / sizeof plays[0]; i++) {
        for (int64_t n = 1; n <= POINTS; n++) {
            play_point(&plays[i], n, 0);
        }
    }
}

static void
test_no_memory_at_any_point_of_a_flow_loses_nothing_uncounted(void)
{
    for (size_t i = 0; i < sizeof plays / sizeof plays[0]; i++) {
        for (int64_t n = 1; n <= POINTS && !plays[i].asks; n++) {
            play_point(&plays[i], 0, n);
        }
    }
}

static void
test_a_request_that_found_no_memory_does_not_spoil_the_next(void)
{
    const play *p = &plays[4];
    for (int64_t n = 1; n <= POINTS; n++) {
        stage s;
        stage_open(&s, p);
        stage_join(&s, p);
        mm_test_alloc_fail(n);
        bool answered = stage_try_to_ask(&s);
        mm_test_alloc_fail(0);
        CHECK(answered || n < POINTS / 2);
        CHECK_INT(mm_sim_run(s.world, 20ull * 1000000000), MM_OK);   /* connected again */
        while (mm_recv(s.receiving, s.batch, 1, 1 << 20, 0, 0) == 1) {
            continue;   /* a request that nobody waits for any more */
        }
        CHECK(stage_try_to_ask(&s));
        stage_close(&s);
    }
}

int
main(void)
{
    RUN(test_the_conversations_work_with_all_the_memory_there_is);
    RUN(test_no_memory_at_any_point_of_getting_connected);
    RUN(test_no_memory_at_any_point_of_a_flow_loses_nothing_uncounted);
    RUN(test_a_request_that_found_no_memory_does_not_spoil_the_next);
    return 0;
}
