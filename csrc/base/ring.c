/*
 * ring.c: a bounded queue of messages over a growing power-of-two array.
 * Not here: any policy of what to do when it is full.
 * Law: as in ring.h; bytes is always the sum of the costs of what is in it.
 */
#include "base/ring.h"

#include <string.h>

enum {
    RING_CAP_MIN = 16,     /* slots, at the first push           */
    RING_CAP_IDLE = 256    /* slots an empty ring keeps at most  */
};

static uint32_t
ring_slot(const mmi_ring *r, uint32_t i)
{
    return (r->head + i) & (r->cap - 1);
}

void
mmi_ring_init(mmi_ring *r, uint32_t count_max, size_t bytes_max)
{
    memset(r, 0, sizeof(*r));
    r->count_max = count_max;
    r->bytes_max = bytes_max;
}

void
mmi_ring_fini(mmi_ring *r)
{
    for (uint32_t i = 0; i < r->count; i++) {
        mmi_msg_unref(r->slots[ring_slot(r, i)]);
    }
    mmi_free(r->slots);
    mmi_ring_init(r, r->count_max, r->bytes_max);
}

bool
mmi_ring_fits(const mmi_ring *r, size_t cost)
{
    if (r->count >= r->count_max) {
        return false;
    }
    return r->count == 0 || (r->bytes <= r->bytes_max && cost <= r->bytes_max - r->bytes);
}

bool
mmi_ring_low(const mmi_ring *r)
{
    return r->count == 0 || (r->count <= r->count_max / 2 && r->bytes <= r->bytes_max / 2);
}

int
mmi_ring_reserve(mmi_ring *r)
{
    if (r->count < r->cap) {
        return MM_OK;
    }
    if (r->cap > UINT32_MAX / 2) {
        return MM_ENOMEM;
    }
    uint32_t cap = r->cap == 0 ? (uint32_t)RING_CAP_MIN : r->cap * 2;
    mmi_msg **slots = mmi_realloc(NULL, (size_t)cap * sizeof(*slots));
    if (slots == NULL) {
        return MM_ENOMEM;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        slots[i] = r->slots[ring_slot(r, i)];
    }
    mmi_free(r->slots);
    r->slots = slots;
    r->cap = cap;
    r->head = 0;
    return MM_OK;
}

int
mmi_ring_push(mmi_ring *r, mmi_msg *m)
{
    size_t cost = mmi_msg_cost(m);
    if (!mmi_ring_fits(r, cost)) {
        return MM_EAGAIN;
    }
    if (mmi_ring_reserve(r) != MM_OK) {
        return MM_ENOMEM;
    }
    r->slots[ring_slot(r, r->count)] = m;
    r->count++;
    r->bytes += cost;
    return MM_OK;
}

mmi_msg *
mmi_ring_pop(mmi_ring *r)
{
    if (r->count == 0) {
        return NULL;
    }
    mmi_msg *m = r->slots[r->head];
    r->head = ring_slot(r, 1);
    r->count--;
    r->bytes -= mmi_msg_cost(m);
    if (r->count == 0 && r->cap > RING_CAP_IDLE) {
        mmi_free(r->slots);
        r->slots = NULL;
        r->cap = r->head = 0;
    }
    return m;
}

mmi_msg *
mmi_ring_at(const mmi_ring *r, uint32_t i)
{
    MMI_ASSERT(i < r->count);
    return r->slots[ring_slot(r, i)];
}

mmi_msg *
mmi_ring_remove_at(mmi_ring *r, uint32_t i)
{
    mmi_msg *m = mmi_ring_at(r, i);
    if (i < r->count / 2) {
        for (uint32_t k = i; k > 0; k--) {
            r->slots[ring_slot(r, k)] = r->slots[ring_slot(r, k - 1)];
        }
        r->head = ring_slot(r, 1);
    } else {
        for (uint32_t k = i; k + 1 < r->count; k++) {
            r->slots[ring_slot(r, k)] = r->slots[ring_slot(r, k + 1)];
        }
    }
    r->count--;
    r->bytes -= mmi_msg_cost(m);
    return m;
}
