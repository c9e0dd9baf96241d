/*
 * plat_world.h: one of the three platforms (posix with epoll, posix with poll, the simulated world)
 * with a connection in it, for tests that must hold on each.
 * Not here: the tests (test_plat_contract.c, test_plat_streams.c).
 * Law: a test knows its platform only through the table of plat.h; it leaves no descriptor open.
 */
#ifndef PLAT_WORLD_H
#define PLAT_WORLD_H

#include "places.h"
#include "plat/sim/sim.h"

enum { TAG_LISTENER = 7, TAG_NEAR, TAG_FAR, TAG_OTHER, EVENTS_MAX = 8 };

static const char *const world_kinds[] = { "epoll", "poll", "sim" };

typedef struct world {
    mmi_plat plat;
    mm_handle sim;       /* 0: the real one */
} world;

static inline world
world_open(const char *kind)
{
    world w = { .sim = 0 };
    if (strcmp(kind, "sim") == 0) {
        mm_sim_opts opts = { .latency_min_ns = 1000, .latency_max_ns = 50000, .buffer_size = 8192 };
        CHECK_INT(mm_sim_open(1, &opts, &w.sim), MM_OK);
        CHECK_INT(mmi_sim_plat(mmi_sim_find(w.sim), &w.plat), MM_OK);
    } else {
        CHECK_INT(mmi_plat_posix(strcmp(kind, "poll") == 0, &w.plat), MM_OK);
    }
    CHECK(strcmp(w.plat.name, kind) == 0);
    return w;
}

static inline void
world_close(world *w)
{
    w->plat.free(w->plat.self);
    if (w->sim != 0) {
        CHECK_INT(mm_sim_close(w->sim), MM_OK);
    }
}

/* One poll that gives the world some time; how many events. */
static inline int
world_poll(world *w, mmi_event *out, uint64_t for_ns)
{
    if (w->sim != 0) {
        CHECK_INT(mm_sim_run(w->sim, for_ns), MM_OK);
    }
    return w->plat.poll(w->plat.self, out, EVENTS_MAX, w->plat.now_ns(w->plat.self) + for_ns);
}

/* Polls until the tag has these bits, for ten seconds at most. */
static inline void
world_await(world *w, uint64_t tag, uint32_t bits)
{
    uint64_t end = w->plat.now_ns(w->plat.self) + 10 * PLACE_SECOND_NS;
    mmi_event events[EVENTS_MAX];
    while (w->plat.now_ns(w->plat.self) < end) {
        int count = world_poll(w, events, PLACE_SECOND_NS / 10);
        for (int i = 0; i < count; i++) {
            if (events[i].tag == tag && (events[i].events & bits) == bits) {
                return;
            }
        }
    }
    CHECK(false);
}

typedef struct joined {
    int listener, near_end, far_end;
    mmi_addr at;
} joined;

static inline void
world_watch(world *w, int s, uint32_t events, uint64_t tag)
{
    CHECK_INT(w->plat.watch(w->plat.self, s, events, tag), MM_OK);
}

/* A listener, and a connection accepted by it; nothing is watched but the listener. */
static inline joined
world_join(world *w)
{
    const mmi_plat *p = &w->plat;
    joined j = { .at = addr_tcp4(0) };
    mmi_addr peer;
    CHECK_INT(p->listen(p->self, &j.at, &j.listener), MM_OK);
    CHECK(j.at.port != 0);
    world_watch(w, j.listener, MMI_WATCH_READ, TAG_LISTENER);
    CHECK_INT(p->accept(p->self, j.listener, &j.far_end, &peer), MM_EAGAIN);
    int rc = p->connect(p->self, &j.at, &j.near_end);
    CHECK(rc == MM_OK || rc == MM_EAGAIN);
    world_watch(w, j.near_end, MMI_WATCH_WRITE, TAG_NEAR);
    world_await(w, TAG_NEAR, MMI_WATCH_WRITE);
    CHECK_INT(p->connected(p->self, j.near_end), MM_OK);
    world_watch(w, j.near_end, 0, TAG_NEAR);
    world_await(w, TAG_LISTENER, MMI_WATCH_READ);
    CHECK_INT(p->accept(p->self, j.listener, &j.far_end, &peer), MM_OK);
    CHECK_INT(peer.kind, MMI_ADDR_TCP4);
    CHECK_INT(p->accept(p->self, j.listener, &rc, &peer), MM_EAGAIN);
    return j;
}

static inline void
world_part(world *w, const joined *j)
{
    w->plat.close(w->plat.self, j->near_end);
    w->plat.close(w->plat.self, j->far_end);
    w->plat.close(w->plat.self, j->listener);
}

typedef void world_test(const char *kind);

/* Every test on every platform. */
static inline void
world_run(world_test *const *tests, size_t count)
{
    for (size_t k = 0; k < MMI_COUNT_OF(world_kinds); k++) {
        for (size_t i = 0; i < count; i++) {
            int before = fds_open();
            printf("%s: test %zu\n", world_kinds[k], i);
            fflush(stdout);
            tests[i](world_kinds[k]);
            fds_are(before);
        }
    }
}

#endif
