/*
 * test_flood.c: a peer that asks and asks and never reads the answers, in a simulated world.
 * Not here: what the commands mean (wire/zmtp/command.h), peers that are too slow (tests/sim).
 * Law: what we keep for a peer that does not read is bounded, whatever it sends; one that then
 * reads has its answers.
 */
#include "raw.h"

enum {
    BUFFER_SIZE = 4096,                /* octets the simulated kernel holds, each way */
    ROUNDS = 2000,
    OURS_MAX = BUFFER_SIZE + 3 * (2 + MMI_COMMAND_OVERHEAD)   /* octets that may wait for it */
};

/* Connected to a PUSH of ours, and shaken hands with. */
static raw
flood_open(void)
{
    const mm_sim_opts sim = { .buffer_size = BUFFER_SIZE };
    mm_socket_opts opts = opts_of(MM_PUSH);
    opts.heartbeat_interval_ms = 0;
    raw r = raw_open(MM_PUSH, &sim, &opts);
    unsigned port;
    char endpoint[MM_ENDPOINT_MAX + 1];
    CHECK_INT(mm_bind(r.ours, TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(sscanf(endpoint, "tcp://127.0.0.1:%u", &port), 1);
    const mmi_addr at = addr_tcp4((uint16_t)port);
    CHECK_INT(r.plat.connect(r.plat.self, &at, &r.stream), MM_EAGAIN);
    CHECK_INT(mm_sim_run(r.world, MS), MM_OK);
    raw_shake(&r);
    (void)raw_take(&r);
    return r;
}

/* The same command again and again, and nothing is read meanwhile. */
static void
flood(raw *r, const uint8_t *frame, size_t size)
{
    for (int i = 0; i < ROUNDS; i++) {
        raw_put(r, frame, size);
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
    raw r = flood_open();
    uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_PING_CONTEXT_MAX];
    size_t size = put_ping(frame, "sixteen octets..");
    flood(&r, frame, size);
    CHECK((size_t)ROUNDS * size > (size_t)OURS_MAX);
    CHECK(raw_take(&r) <= (size_t)OURS_MAX);
    raw_close(&r);
}

static void
test_stops_of_a_peer_that_never_reads_cost_no_more_than_a_few(void)
{
    raw r = flood_open();
    uint8_t frame[MMI_COMMAND_OVERHEAD];
    size_t size = mmi_command_put_stop(frame);
    flood(&r, frame, size);
    CHECK((size_t)ROUNDS * size > (size_t)OURS_MAX);
    CHECK(raw_take(&r) <= (size_t)OURS_MAX);
    raw_close(&r);
}

static void
test_a_peer_that_reads_again_has_the_answer_to_its_latest_ping(void)
{
    raw r = flood_open();
    uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_PING_CONTEXT_MAX], answer[sizeof frame];
    size_t size = put_ping(frame, "sixteen octets..");
    flood(&r, frame, size);
    for (int i = 0; i < 3; i++) {
        char context[] = "latest 0";
        context[7] += (char)i;
        size = put_ping(frame, context);
        raw_put(&r, frame, size);
        size_t wanted = mmi_command_put_pong(answer, (const uint8_t *)context, sizeof context - 1);
        size_t got = raw_take(&r);
        CHECK(got >= wanted && (i == 0 || got == wanted));
        CHECK(memcmp(raw_taken + got - wanted, answer, wanted) == 0);
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
