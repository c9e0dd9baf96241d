/*
 * ring.h: a queue of messages and segments, bounded in messages and in bytes.  It grows as it fills,
 * so an idle queue costs nothing.
 * Law: count <= count_max; bytes <= bytes_max, except that an empty ring takes any one message.
 * count is messages, those of a segment each by itself; slot_count is entries.
 * Not thread-safe: the engine lock covers it.
 */
#ifndef MMI_RING_H
#define MMI_RING_H

#include "base/segment.h"

typedef struct mmi_ring {
    mmi_msg **slots;
    uint32_t cap, head, slot_count;
    uint32_t count, count_max;
    size_t bytes, bytes_max;   /* as mmi_msg_cost charges them */
    bool keeps;                /* its slots, also while it is empty: what was reserved stays so */
} mmi_ring;

void mmi_ring_init(mmi_ring *r, uint32_t count_max, size_t bytes_max);
void mmi_ring_fini(mmi_ring *r);                                     /* unrefs what is left */
/* The one rule of what fits, whatever entries it comes in: that many messages, together of that
 * cost. */
static inline bool
mmi_ring_fits_count(const mmi_ring *r, uint32_t count, size_t cost)
{
    return count <= r->count_max - r->count &&
           ((r->bytes <= r->bytes_max && cost <= r->bytes_max - r->bytes) ||
            (r->count == 0 && count == 1));
}
static inline bool
mmi_ring_fits(const mmi_ring *r, size_t cost)   /* one message */
{
    return mmi_ring_fits_count(r, 1, cost);
}
bool mmi_ring_fits_entry(const mmi_ring *r, const mmi_msg *m);   /* a message, or all of a segment */
bool mmi_ring_low(const mmi_ring *r); /* at least half empty: time to wake who waits */
/* MM_OK: the next push cannot say MM_ENOMEM, unless a pop comes first; MM_ENOMEM. */
int mmi_ring_reserve(mmi_ring *r) MMI_WARN_UNUSED;
int mmi_ring_reserve_for(mmi_ring *r, uint32_t entries) MMI_WARN_UNUSED;   /* so many pushes */
/* MM_OK: took the reference (of a borrowed message, a copy of it); MM_EAGAIN full; MM_ENOMEM. */
int mmi_ring_push(mmi_ring *r, mmi_msg *m) MMI_WARN_UNUSED;
/* The same at the front. */
int mmi_ring_push_front(mmi_ring *r, mmi_msg *m) MMI_WARN_UNUSED;
mmi_msg *mmi_ring_pop(mmi_ring *r);                     /* an entry; NULL: empty */
/* The next message as one of its own; NULL: empty, or, when the ring is not, no memory. */
mmi_msg *mmi_ring_pop_one(mmi_ring *r);
/* Some messages of the front entry without a copy: up to max_messages and, after the first,
 * max_bytes.  false: empty. */
bool mmi_ring_take(mmi_ring *r, uint32_t max_messages, size_t max_bytes, mmi_span *out);
mmi_msg *mmi_ring_at(const mmi_ring *r, uint32_t i);    /* i-th entry, i < slot_count */
void mmi_ring_replace_at(mmi_ring *r, uint32_t i, mmi_msg *m);   /* by as many messages; takes m */
mmi_msg *mmi_ring_remove_at(mmi_ring *r, uint32_t i);   /* takes the i-th out, order kept */
/* Takes out those of count entries from the i-th on that arg is for; order kept: how many, into out. */
uint32_t mmi_ring_sift(mmi_ring *r, uint32_t i, uint32_t count,
                       bool (*takes)(const void *arg, const mmi_msg *m), const void *arg, mmi_msg **out);
/* Puts an entry behind the i-th, whatever the limits.  MM_OK: took it; MM_ENOMEM. */
int mmi_ring_insert_after(mmi_ring *r, uint32_t i, mmi_msg *m) MMI_WARN_UNUSED;
/* A segment in the ring grew, or lost messages at its front: count and cost are adjusted here. */
static inline void
mmi_ring_grew(mmi_ring *r, mmi_msg *segment, uint32_t count, size_t cost)
{
    segment->count += count;
    segment->cost += cost;
    r->count += count;
    r->bytes += cost;
}
void mmi_ring_shrank(mmi_ring *r, mmi_msg *segment, uint32_t count, size_t cost);

#endif
