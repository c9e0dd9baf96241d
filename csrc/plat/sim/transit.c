/*
 * plat/sim/transit.c: what a simulated system knows of the octets on their way to a peer, and of
 * whose user that is.
 *
 * Law: the peer's system answers at once, whatever the peer does, unless a partition lies between
 * the two engines, in either direction; from then on it owes what is not yet with it.
 */
#include "plat/sim/world.h"

enum { SIM_USER = 1000 };   /* as the first one of most systems */

/* Since when it cannot be heard; UINT64_MAX: it can. */
static uint64_t
sim_unheard_since(const mmi_sim *w, const sim_end *end)
{
    const sim_engine *peer = end->peer != NULL ? end->peer->owner : end->peer_was;
    if (end->black_hole) {
        return end->connected_ns;
    }
    if (end->owner == NULL || peer == NULL) {
        return UINT64_MAX;
    }
    const sim_partition *ways[] = { &w->cut[peer->index][end->owner->index],
                                    &w->cut[end->owner->index][peer->index] };
    uint64_t since = UINT64_MAX;
    for (size_t i = 0; i < MMI_COUNT_OF(ways); i++) {
        if (ways[i]->until_ns > w->now_ns && ways[i]->since_ns < since) {
            since = ways[i]->since_ns;
        }
    }
    return since;
}

/* All engines of a world are one user's. */
int
mmi_sim_credentials(void *self, int s, mmi_credentials *out)
{
    sim_engine *e = self;
    if (mmi_sim_end(e->world, s) == NULL) {
        return MM_ENOTSUP;
    }
    *out = (mmi_credentials){ .pid = 1, .uid = SIM_USER, .gid = SIM_USER };
    return MM_OK;
}

int
mmi_sim_of_group(void *self, int s, const uint32_t *gids, uint32_t count)
{
    mmi_credentials who;
    int rc = mmi_sim_credentials(self, s, &who);
    for (uint32_t i = 0; rc == MM_OK && i < count; i++) {
        if (gids[i] == who.gid) {
            return MM_OK;
        }
    }
    return rc == MM_OK ? MM_EPERM : rc;
}

uint32_t
mmi_sim_user(void *self)
{
    (void)self;
    return SIM_USER;
}

void
mmi_sim_transit(void *self, int s, uint32_t probe_ms, mmi_transit *out)
{
    (void)probe_ms;   /* it asks all the time */
    sim_engine *e = self;
    const mmi_sim *w = e->world;
    const sim_end *end = mmi_sim_end(e->world, s);
    *out = (mmi_transit){ .untaken = 0 };
    if (end == NULL || end->reset) {
        return;
    }
    out->untaken = end->peer != NULL ? end->peer->data_size : 0;
    uint64_t since = sim_unheard_since(w, end);
    if (since == UINT64_MAX) {
        return;
    }
    out->heard_ns = w->now_ns - since;
    out->owed = end->last_due_ns > since || (out->untaken > 0 && mmi_sim_room(w, end) == 0);
}
