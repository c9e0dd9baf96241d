/*
 * queue/expiry.c: see queue/expiry.h.
 */
#include "queue/expiry.h"

enum { EXPIRY_MOVES = 64 };   /* entries that are moved for the cost of a look at one */

/* Taking out an entry moves those on the shorter side of it. */
static uint32_t
expiry_cost(const mmi_ring *r, uint32_t i)
{
    uint32_t moved = i < r->slot_count / 2 ? i : r->slot_count - i;
    return 1 + moved / EXPIRY_MOVES;
}

void
mmi_expiry_sweep(mmi_expiry *x, mmi_ring *r, uint32_t first, mmi_pipe *p, uint32_t *at)
{
    uint32_t i = *at > first && *at < r->slot_count ? *at : first;
    x->more |= i > first;
    while (i < r->slot_count && x->budget > 0) {
        const mmi_msg *m = mmi_ring_at(r, i);
        if (!mmi_expires(m)) {
            x->budget--;
            i++;
        } else if (m->meta->expires_ns > x->wall_ns) {
            x->budget--;
            x->more = true;
            i++;
        } else {
            uint32_t cost = expiry_cost(r, i);
            x->budget -= cost < x->budget ? cost : x->budget;
            x->expired++;
            x->host->expired(x->host, p, mmi_ring_remove_at(r, i));
        }
    }
    x->more |= i < r->slot_count;
    *at = i < r->slot_count ? i : first;
}
