/*
 * sim_rig.h: a simulated world with two engines, a and b, and one stream between them.
 * Not here: tests.
 * Law: a dials, b listens and has accepted; the engines have no step, the test moves the world.
 */
#ifndef SIM_RIG_H
#define SIM_RIG_H

#include "places.h"
#include "plat/sim/world.h"

typedef struct sim_rig {
    mm_handle world;
    mmi_plat a, b;
    mmi_addr at;
    int listener, near_end, far_end;
} sim_rig;

/* The options hold from before the connection on; chances of refusal are for mm_sim_faults. */
static inline sim_rig
rig_open(const mm_sim_opts *opts)
{
    sim_rig r = { .at = addr_tcp4(0) };
    mmi_addr peer;
    CHECK_INT(mm_sim_open(1, opts, &r.world), MM_OK);
    CHECK_INT(mmi_sim_plat(mmi_sim_find(r.world), &r.a), MM_OK);
    CHECK_INT(mmi_sim_plat(mmi_sim_find(r.world), &r.b), MM_OK);
    CHECK_INT(r.b.listen(r.b.self, &r.at, &r.listener), MM_OK);
    CHECK_INT(r.b.watch(r.b.self, r.listener, MMI_WATCH_READ, 1), MM_OK);
    CHECK_INT(r.a.connect(r.a.self, &r.at, &r.near_end), MM_EAGAIN);
    CHECK_INT(r.a.connected(r.a.self, r.near_end), MM_EAGAIN);
    CHECK_INT(mm_sim_run(r.world, opts->latency_max_ns + 1), MM_OK);
    CHECK_INT(r.a.connected(r.a.self, r.near_end), MM_OK);
    CHECK_INT(r.b.accept(r.b.self, r.listener, &r.far_end, &peer), MM_OK);
    return r;
}

static inline void
rig_close(sim_rig *r)
{
    r->a.free(r->a.self);
    r->b.free(r->b.self);
    CHECK_INT(mm_sim_close(r->world), MM_OK);
}

#endif
