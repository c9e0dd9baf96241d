/*
 * test_flood.c: a peer that asks and asks and never reads the answers, in a simulated world.
 * Not here: what the commands mean (codec/command.h), peers that are too slow (tests/sim).
 * Law: what we keep for a peer that does not read is bounded, whatever it sends; one that then
 * reads has its answers.
 */
#include "codec/command.h"
#include "plat/sim.h"
#include "places.h"
#include "sockets.h"

enum {
    BUFFER_SIZE = 4096,                /* octets the simulated kernel holds, each way */
    ROUNDS = 2000,
    OURS_MAX = BUFFER_SIZE + 3 * (2 + MMI_COMMAND_OVERHEAD)   /* octets that may wait for it */
};

static const uint64_t MS = 1000000;

typedef struct raw {
    mm_handle world, engine, push;
    mmi_plat plat;
    int stream;
} raw;

static uint8_t taken[1 << 20];

/* Everything that comes; how many octets. */
static size_t
raw_take(raw *r)
{
    size_t size = 0;
    for (int quiet = 0; quiet < 3;) {
        CHECK_INT(mm_sim_run(r->world, MS), MM_OK);
        int64_t n = plat_get(&r->plat, r->stream, taken + size, sizeof taken - size);
        quiet = n > 0 ? 0 : quiet + 1;
        size += n > 0 ? (size_t)n : 0;
    }
    return size;
}

/* A bare PULL that has shaken hands with a PUSH of ours. */
static raw
raw_open(void)
{
    static const char greeting[64] = "\xff\0\0\0\0\0\0\0\0\x7f\x03\x01NULL";
    static const char ready[] = "\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PULL";
    const mm_sim_opts opts = { .buffer_size = BUFFER_SIZE };
    raw r;
    unsigned port;
    char endpoint[MM_ENDPOINT_MAX + 1];
    CHECK_INT(mm_sim_open(1, &opts, &r.world), MM_OK);
    CHECK_INT(mm_sim_engine_open(r.world, &r.engine), MM_OK);
    CHECK_INT(mmi_sim_plat(mmi_sim_find(r.world), &r.plat), MM_OK);
    r.push = open_quiet(r.engine, MM_PUSH);
    CHECK_INT(mm_bind(r.push, TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(sscanf(endpoint, "tcp://127.0.0.1:%u", &port), 1);
    const mmi_addr at = addr_tcp4((uint16_t)port);
    CHECK_INT(r.plat.connect(r.plat.self, &at, &r.stream), MM_EAGAIN);
    CHECK_INT(mm_sim_run(r.world, MS), MM_OK);
    CHECK_INT(plat_put(&r.plat, r.stream, greeting, sizeof greeting), sizeof greeting);
    CHECK_INT(plat_put(&r.plat, r.stream, ready, sizeof ready - 1), sizeof ready - 1);
    CHECK_INT(mm_wait_peers(r.push, 1, PATIENCE_MS, 0), MM_OK);
    (void)raw_take(&r);
    return r;
}

static void
raw_close(raw *r)
{
    close_engine(r->engine, 0);
    r->plat.free(r->plat.self);
    CHECK_INT(mm_sim_close(r->world), MM_OK);
}

/* The same command again and again, and nothing is read meanwhile. */
static void
raw_flood(raw *r, const uint8_t *frame, size_t size)
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_INT(plat_put(&r->plat, r->stream, frame, size), size);
        CHECK_INT(mm_sim_run(r->world, MS), MM_OK);
    }
}

static size_t
put_ping(uint8_t *frame, const char *context)
{
    return mmi_command_put_ping(frame, 0, (const uint8_t *)context, strlen(context));
}

static void
test_pings_of_a_peer_that_never_reads_cost_no_more_than_a_few(void)
{
    raw r = raw_open();
    uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_PING_CONTEXT_MAX];
    size_t size = put_ping(frame, "sixteen octets..");
    raw_flood(&r, frame, size);
    CHECK((size_t)ROUNDS * size > (size_t)OURS_MAX);
    CHECK(raw_take(&r) <= (size_t)OURS_MAX);
    raw_close(&r);
}

static void
test_stops_of_a_peer_that_never_reads_cost_no_more_than_a_few(void)
{
    raw r = raw_open();
    uint8_t frame[MMI_COMMAND_OVERHEAD];
    size_t size = mmi_command_put_stop(frame);
    raw_flood(&r, frame, size);
    CHECK((size_t)ROUNDS * size > (size_t)OURS_MAX);
    CHECK(raw_take(&r) <= (size_t)OURS_MAX);
    raw_close(&r);
}

static void
test_a_peer_that_reads_again_has_the_answer_to_its_latest_ping(void)
{
    raw r = raw_open();
    uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_PING_CONTEXT_MAX], answer[sizeof frame];
    size_t size = put_ping(frame, "sixteen octets..");
    raw_flood(&r, frame, size);
    for (int i = 0; i < 3; i++) {
        char context[] = "latest 0";
        context[7] += (char)i;
        size = put_ping(frame, context);
        CHECK_INT(plat_put(&r.plat, r.stream, frame, size), size);
        size_t wanted = mmi_command_put_pong(answer, (const uint8_t *)context, sizeof context - 1);
        size_t got = raw_take(&r);
        CHECK(got >= wanted && (i == 0 || got == wanted));
        CHECK(memcmp(taken + got - wanted, answer, wanted) == 0);
    }
    raw_close(&r);
}

int
main(void)
{
    RUN(test_pings_of_a_peer_that_never_reads_cost_no_more_than_a_few);
    RUN(test_stops_of_a_peer_that_never_reads_cost_no_more_than_a_few);
    RUN(test_a_peer_that_reads_again_has_the_answer_to_its_latest_ping);
    return 0;
}
