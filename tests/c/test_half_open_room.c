/*
 * test_half_open_room.c: who holds one of connections_max places with an unfinished handshake, in a
 * simulated world.
 * Not here: half_open_max (test_half_open.c, test_sim_engine.c).
 * Law: no real time.
 */
#include "base/limits.h"
#include "plat/sim/sim.h"
#include "sockets.h"
#include "strangers.h"

enum { PLACES = 2 };

static const uint64_t MS = 1000000;

/* Who says nothing keeps nobody out for longer than a second; its successor is kept as long. */
static void
test_an_unfinished_handshake_gives_its_place_to_who_comes(void)
{
    const mm_sim_opts opts = { .latency_min_ns = MS, .latency_max_ns = MS };
    mm_handle world, a, b;
    mmi_plat third;
    mm_stats stats;
    char endpoint[MM_ENDPOINT_MAX + 1];
    CHECK_INT(mm_sim_open(1, &opts, &world), MM_OK);
    CHECK_INT(mm_sim_engine_open(world, &a), MM_OK);
    CHECK_INT(mm_sim_engine_open(world, &b), MM_OK);
    CHECK_INT(mmi_sim_plat(mmi_sim_find(world), &third), MM_OK);
    mm_socket_opts own = opts_of(MM_PULL);
    own.connections_max = PLACES;
    own.handshake_timeout_ms = 60 * 1000;
    mm_handle pull = open_with(a, MM_PULL, &own);
    CHECK_INT(mm_bind(pull, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), MM_OK);
    strangers(&third, endpoint, PLACES);
    own = opts_of(MM_PUSH);
    own.reconnect_min_ms = own.reconnect_max_ms = 100;
    mm_handle push = open_with(b, MM_PUSH, &own);
    CHECK_INT(mm_connect(push, endpoint), MM_OK);
    CHECK_INT(mm_sim_run(world, MMI_HALF_OPEN_SURE_MS * MS - MS), MM_OK);
    CHECK_INT(mm_socket_stats(pull, &stats), MM_OK);
    CHECK(stats.peers == 0 && stats.closed[MM_REASON_CONNECTIONS] > 0);
    CHECK_INT(stats.closed[MM_REASON_EVICTED], 0);
    CHECK_INT(mm_wait_peers(pull, 1, 1000, 0), MM_OK);
    CHECK_INT(mm_socket_stats(pull, &stats), MM_OK);
    CHECK_INT(stats.closed[MM_REASON_EVICTED], 1);
    CHECK_INT(mm_sim_run(world, 1000 * MS), MM_OK);
    CHECK_INT(mm_socket_stats(pull, &stats), MM_OK);
    CHECK(stats.half_open == PLACES - 1 && stats.peers == 1);
    third.free(third.self);
    close_engine(a, 1000);
    close_engine(b, 1000);
    CHECK_INT(mm_sim_close(world), MM_OK);
}

int
main(void)
{
    RUN(test_an_unfinished_handshake_gives_its_place_to_who_comes);
    return 0;
}
