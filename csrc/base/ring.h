/*
 * ring.h: a queue of messages, bounded in messages and in bytes.  It grows as it fills, so an
 * idle queue costs nothing.
 * Law: count <= count_max; bytes <= bytes_max, except that an empty ring takes any one message.
 * Not thread-safe: the engine lock covers it.
 */
#ifndef MMI_RING_H
#define MMI_RING_H

#include "base/msg.h"

typedef struct mmi_ring {
    mmi_msg **slots;
    uint32_t cap, head, count, count_max;
    size_t bytes, bytes_max;   /* as mmi_msg_cost charges them */
} mmi_ring;

void mmi_ring_init(mmi_ring *r, uint32_t count_max, size_t bytes_max);
void mmi_ring_fini(mmi_ring *r);                                     /* unrefs what is left */
bool mmi_ring_fits(const mmi_ring *r, size_t cost);
bool mmi_ring_low(const mmi_ring *r); /* at least half empty: time to wake who waits */
/* MM_OK: the next push cannot say MM_ENOMEM, unless a pop comes first; MM_ENOMEM. */
int mmi_ring_reserve(mmi_ring *r) MMI_WARN_UNUSED;
/* MM_OK: took the reference; MM_EAGAIN full; MM_ENOMEM. */
int mmi_ring_push(mmi_ring *r, mmi_msg *m) MMI_WARN_UNUSED;
mmi_msg *mmi_ring_pop(mmi_ring *r);                                  /* NULL: empty */
mmi_msg *mmi_ring_at(const mmi_ring *r, uint32_t i);  /* i-th from the front, i < count */
mmi_msg *mmi_ring_remove_at(mmi_ring *r, uint32_t i); /* takes the i-th out, order kept */

#endif
