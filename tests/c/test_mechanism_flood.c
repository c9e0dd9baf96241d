/*
 * test_mechanism_flood.c: many handshakes at once, whose steps take their time, and a connection
 * that wants to be served meanwhile: it waits for few of them, and all of them are done in the end.
 * Not here: how the time is shared (test_share.c).
 * Law: steps take time of the world's clock, and nothing else does.
 */
#include "protected.h"
#include "toy_mechanism.h"

enum { FLOOD = 200, STEP_NS = 100 * 1000, SENDS = 10 };

static const mmi_mechanism toyxor = TOY("TOYXOR", 1000), toytls = TOY_OUTER("TOYTLS", 1000);
static const toy_config toy_key = { .key = 0x42 };

typedef struct scene {
    sides s;
    mm_handle flood[FLOOD];
    uint32_t steps, sent;
    bool floods;
    uint64_t sent_ns;
} scene;

static uint64_t
now_of(const scene *c)
{
    mm_sim_state state;
    CHECK_INT(mm_sim_inspect(c->s.world, &state), MM_OK);
    return state.now_ns;
}

/* A step of the listening side; in the midst of the flood, somebody who is a peer sends. */
static void
step(void *arg)
{
    scene *c = arg;
    CHECK_INT(mm_sim_suspend(c->s.world, STEP_NS), MM_OK);
    if (c->floods && ++c->steps % (FLOOD / SENDS) == 5 && c->sent_ns == 0 && c->sent < SENDS) {
        CHECK_INT(mm_send(c->s.push, &c->sent, sizeof c->sent, 0, 0), MM_OK);
        c->sent++;
        c->sent_ns = now_of(c);
    }
}

/* outside: the mechanism comes before the wire. */
static void
cover(mm_handle socket, const toy_config *config, bool outside)
{
    if (outside) {
        enclose(socket, &toytls, config);
    } else {
        protect(socket, &toyxor, config);
    }
}

static void
flood_with(bool outside)
{
    scene c = { .s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 }) };
    toy_config slow = { .key = toy_key.key, .step = step, .arg = &c };
    char endpoint[MM_ENDPOINT_MAX + 1];
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    cover(c.s.push, &toy_key, outside);
    cover(c.s.pull, &slow, outside);
    CHECK_INT(mm_bind(c.s.pull, outside ? "tls+tcp://127.0.0.1:0" : TCP, endpoint, sizeof endpoint),
              MM_OK);
    CHECK_INT(mm_connect(c.s.push, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(c.s.push, 1, PATIENCE_MS, 0), MM_OK);
    CHECK_INT(mm_wait_peers(c.s.pull, 1, PATIENCE_MS, 0), MM_OK);
    for (int i = 0; i < FLOOD; i++) {
        c.flood[i] = open_socket(c.s.engine[0], MM_PUSH);
        cover(c.flood[i], &toy_key, outside);
        CHECK_INT(mm_connect(c.flood[i], endpoint), MM_OK);
    }
    c.floods = true;
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; i < SENDS; i++) {
        CHECK_INT(mm_recv(c.s.pull, batch, 1, 1 << 20, PATIENCE_MS, 0), 1);
        uint64_t took_ns = now_of(&c) - c.sent_ns;
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
        c.sent_ns = 0;
    }
    CHECK(longest_ns < 2 * MMI_SHARE_SLICE_NS + 2 * STEP_NS);
    CHECK_INT(mm_wait_peers(c.s.pull, FLOOD + 1, PATIENCE_MS, 0), MM_OK);
    CHECK(c.steps >= 2 * FLOOD);
    mm_batch_free(batch);
    sides_close(&c.s);
}

static void
test_who_is_a_peer_waits_for_few_steps_of_a_flood(void)
{
    flood_with(false);
    flood_with(true);
}

int
main(void)
{
    RUN(test_who_is_a_peer_waits_for_few_steps_of_a_flood);
    return 0;
}
