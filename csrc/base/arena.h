/*
 * arena.h: a block that a read fills.  A segment of received messages may be a part of one, and then
 * keeps it: the messages are used where the kernel has put them.
 *
 * Law: whoever reads into an arena is its only holder; what a segment refers to is never changed.
 */
#ifndef MMI_ARENA_H
#define MMI_ARENA_H

#include <stdatomic.h>

#include "base/limits.h"
#include "base/spare.h"

typedef struct mmi_arena {
    atomic_uint refs;
    uint8_t data[MMI_IO_BUFFER_SIZE];
} mmi_arena;

mmi_arena *mmi_arena_new(void) MMI_WARN_UNUSED;    /* not zeroed; NULL: no memory */
mmi_arena *mmi_arena_ref(mmi_arena *a);
void mmi_arena_unref(mmi_arena *a);                 /* NULL is fine */
static inline bool
mmi_arena_shared(const mmi_arena *a)
{
    return atomic_load_explicit(&a->refs, memory_order_acquire) != 1;
}

#endif
