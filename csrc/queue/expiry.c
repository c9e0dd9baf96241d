/*
 * queue/expiry.c: see queue/expiry.h.
 */
#include "queue/expiry.h"

enum {
    EXPIRY_PART = 256,   /* entries that are looked at before those that expired are taken out */
    EXPIRY_MOVES = 64    /* entries that are moved for the cost of a look at one */
};

static bool
expiry_over(const void *arg, const mmi_msg *m)
{
    const mmi_expiry *x = arg;
    return mmi_expires(m) && m->meta->expires_ns <= x->wall_ns;
}

/* Is there one that will expire among those? */
static bool
expiry_waits(const mmi_ring *r, uint32_t i, uint32_t end)
{
    while (i < end && !mmi_expires(mmi_ring_at(r, i))) {
        i++;
    }
    return i < end;
}

/* Looks at a few entries; how many of them are left. */
static uint32_t
expiry_part(mmi_expiry *x, mmi_ring *r, uint32_t i, uint32_t count, mmi_pipe *p)
{
    mmi_msg *over[EXPIRY_PART];
    uint32_t taken = mmi_ring_sift(r, i, count, expiry_over, x, over);
    uint32_t moved = i < r->slot_count / 2 ? i : r->slot_count - i;   /* on the shorter side */
    uint32_t cost = count + (taken > 0 ? moved / EXPIRY_MOVES : 0);
    x->budget -= cost < x->budget ? cost : x->budget;
    x->expired += taken;
    for (uint32_t k = 0; k < taken; k++) {
        x->host->expired(x->host, p, over[k]);
    }
    return count - taken;
}

void
mmi_expiry_sweep(mmi_expiry *x, mmi_ring *r, uint32_t first, mmi_pipe *p, uint32_t *at)
{
    uint32_t i = *at > first && *at < r->slot_count ? *at : first;
    x->more |= i > first || expiry_waits(r, 0, first < r->slot_count ? first : r->slot_count);
    while (i < r->slot_count && x->budget > 0) {
        uint32_t count = r->slot_count - i;
        count = count < (uint32_t)EXPIRY_PART ? count : (uint32_t)EXPIRY_PART;
        uint32_t left = expiry_part(x, r, i, count < x->budget ? count : x->budget, p);
        x->more |= expiry_waits(r, i, i + left);
        i += left;
    }
    x->more |= i < r->slot_count;
    *at = i < r->slot_count ? i : first;
}
