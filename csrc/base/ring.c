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
    for (uint32_t i = 0; i < r->slot_count; i++) {
        mmi_msg_unref(r->slots[ring_slot(r, i)]);
    }
    mmi_free(r->slots);
    bool keeps = r->keeps;
    mmi_ring_init(r, r->count_max, r->bytes_max);
    r->keeps = keeps;
}

bool
mmi_ring_fits_entry(const mmi_ring *r, const mmi_msg *m)
{
    return mmi_ring_fits_count(r, m->count, mmi_msg_cost(m));
}

bool
mmi_ring_low(const mmi_ring *r)
{
    return r->count == 0 || (r->count <= r->count_max / 2 && r->bytes <= r->bytes_max / 2);
}

int
mmi_ring_reserve_for(mmi_ring *r, uint32_t entries)
{
    if (r->cap - r->slot_count >= entries) {
        return MM_OK;
    }
    if (r->slot_count > UINT32_MAX / 4 || entries > UINT32_MAX / 4) {
        return MM_ENOMEM;
    }
    uint32_t cap = r->cap == 0 ? (uint32_t)RING_CAP_MIN : r->cap * 2;
    while (cap - r->slot_count < entries) {
        cap *= 2;
    }
    mmi_msg **slots = mmi_realloc(NULL, (size_t)cap * sizeof(*slots));
    if (slots == NULL) {
        return MM_ENOMEM;
    }
    for (uint32_t i = 0; i < r->slot_count; i++) {
        slots[i] = r->slots[ring_slot(r, i)];
    }
    mmi_free(r->slots);
    r->slots = slots;
    r->cap = cap;
    r->head = 0;
    return MM_OK;
}

int
mmi_ring_reserve(mmi_ring *r)
{
    return mmi_ring_reserve_for(r, 1);
}

static void
ring_came(mmi_ring *r, const mmi_msg *m)
{
    r->slot_count++;
    r->count += m->count;
    r->bytes += mmi_msg_cost(m);
}

int
mmi_ring_push(mmi_ring *r, mmi_msg *m)
{
    if (!mmi_ring_fits_entry(r, m)) {
        return MM_EAGAIN;
    }
    mmi_msg *own = mmi_ring_reserve(r) == MM_OK ? mmi_msg_own(m) : NULL;
    if (own == NULL) {
        return MM_ENOMEM;
    }
    r->slots[ring_slot(r, r->slot_count)] = own;
    ring_came(r, own);
    return MM_OK;
}

int
mmi_ring_push_front(mmi_ring *r, mmi_msg *m)
{
    if (!mmi_ring_fits_entry(r, m)) {
        return MM_EAGAIN;
    }
    mmi_msg *own = mmi_ring_reserve(r) == MM_OK ? mmi_msg_own(m) : NULL;
    if (own == NULL) {
        return MM_ENOMEM;
    }
    r->head = (r->head - 1) & (r->cap - 1);
    r->slots[r->head] = own;
    ring_came(r, own);
    return MM_OK;
}

static void
ring_left(mmi_ring *r, const mmi_msg *m)
{
    r->slot_count--;
    r->count -= m->count;
    r->bytes -= mmi_msg_cost(m);
}

mmi_msg *
mmi_ring_pop(mmi_ring *r)
{
    if (r->slot_count == 0) {
        return NULL;
    }
    mmi_msg *m = r->slots[r->head];
    r->head = ring_slot(r, 1);
    ring_left(r, m);
    if (r->slot_count == 0 && r->cap > RING_CAP_IDLE && !r->keeps) {
        mmi_free(r->slots);
        r->slots = NULL;
        r->cap = r->head = 0;
    }
    return m;
}

/* The next count messages of the segment at the front are no longer there. */
static void
ring_advance(mmi_ring *r, mmi_segment_in *segment, uint32_t count)
{
    size_t cost = mmi_segment_in_cost(segment, segment->first, count);
    mmi_ring_shrank(r, &segment->msg, count, cost);
    segment->first += count;
    if (segment->msg.count == 0) {
        mmi_msg_unref(mmi_ring_pop(r));
    }
}

mmi_msg *
mmi_ring_pop_one(mmi_ring *r)
{
    if (r->slot_count == 0) {
        return NULL;
    }
    mmi_segment_in *segment = mmi_segment_in_of(mmi_ring_at(r, 0));
    if (segment == NULL) {
        return mmi_ring_pop(r);
    }
    mmi_msg *m = mmi_segment_in_copy(segment, segment->first);
    if (m != NULL) {
        ring_advance(r, segment, 1);
    }
    return m;
}

bool
mmi_ring_take(mmi_ring *r, uint32_t max_messages, size_t max_bytes, mmi_span *out)
{
    if (r->slot_count == 0) {
        return false;
    }
    mmi_segment_in *segment = mmi_segment_in_of(mmi_ring_at(r, 0));
    if (segment == NULL) {
        mmi_msg *m = mmi_ring_pop(r);
        *out = (mmi_span){ .msg = m, .count = 1, .bytes = m->size };
        return true;
    }
    uint32_t count = mmi_segment_in_within(segment, max_messages, max_bytes);
    *out = (mmi_span){ .msg = mmi_msg_ref(&segment->msg), .first = segment->first, .count = count };
    out->bytes = mmi_segment_in_bytes(segment, segment->first, count);
    ring_advance(r, segment, count);
    return true;
}

mmi_msg *
mmi_ring_at(const mmi_ring *r, uint32_t i)
{
    MMI_ASSERT(i < r->slot_count);
    return r->slots[ring_slot(r, i)];
}

void
mmi_ring_replace_at(mmi_ring *r, uint32_t i, mmi_msg *m)
{
    mmi_msg *before = mmi_ring_at(r, i);
    MMI_ASSERT(before->count == m->count);
    r->bytes += mmi_msg_cost(m) - mmi_msg_cost(before);
    r->slots[ring_slot(r, i)] = m;
    mmi_msg_unref(before);
}

mmi_msg *
mmi_ring_remove_at(mmi_ring *r, uint32_t i)
{
    mmi_msg *m = mmi_ring_at(r, i);
    if (i < r->slot_count / 2) {
        for (uint32_t k = i; k > 0; k--) {
            r->slots[ring_slot(r, k)] = r->slots[ring_slot(r, k - 1)];
        }
        r->head = ring_slot(r, 1);
    } else {
        for (uint32_t k = i; k + 1 < r->slot_count; k++) {
            r->slots[ring_slot(r, k)] = r->slots[ring_slot(r, k + 1)];
        }
    }
    ring_left(r, m);
    return m;
}

/* Closes a gap of that many slots in front of the i-th, from the shorter side. */
static void
ring_close_gap(mmi_ring *r, uint32_t i, uint32_t gap)
{
    uint32_t kept = r->slot_count - gap;   /* entries; those in front of the gap are i - gap */
    if (i - gap < kept / 2) {
        for (uint32_t k = i - gap; k > 0; k--) {
            r->slots[ring_slot(r, k - 1 + gap)] = r->slots[ring_slot(r, k - 1)];
        }
        r->head = ring_slot(r, gap);
    } else {
        for (uint32_t k = i; k < r->slot_count; k++) {
            r->slots[ring_slot(r, k - gap)] = r->slots[ring_slot(r, k)];
        }
    }
}

uint32_t
mmi_ring_sift(mmi_ring *r, uint32_t i, uint32_t count,
              bool (*takes)(const void *arg, const mmi_msg *m), const void *arg, mmi_msg **out)
{
    uint32_t taken = 0;
    for (uint32_t k = i; k < i + count; k++) {
        mmi_msg *m = mmi_ring_at(r, k);
        if (takes(arg, m)) {
            out[taken++] = m;
        } else {
            r->slots[ring_slot(r, k - taken)] = m;
        }
    }
    if (taken > 0) {
        ring_close_gap(r, i + count, taken);
    }
    for (uint32_t k = 0; k < taken; k++) {
        ring_left(r, out[k]);
    }
    return taken;
}

int
mmi_ring_insert_after(mmi_ring *r, uint32_t i, mmi_msg *m)
{
    if (mmi_ring_reserve(r) != MM_OK) {
        return MM_ENOMEM;
    }
    for (uint32_t k = r->slot_count; k > i + 1; k--) {
        r->slots[ring_slot(r, k)] = r->slots[ring_slot(r, k - 1)];
    }
    r->slots[ring_slot(r, i + 1)] = m;
    ring_came(r, m);
    return MM_OK;
}

void
mmi_ring_shrank(mmi_ring *r, mmi_msg *segment, uint32_t count, size_t cost)
{
    segment->count -= count;
    segment->cost -= cost;
    segment->key += segment->key > 0 ? count : 0;
    r->count -= count;
    r->bytes -= cost;
}
