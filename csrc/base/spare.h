/*
 * spare.h: blocks of one size that nobody uses at the moment, kept for the next who needs one.
 *
 * Large blocks come and go thousands of times a second; the heap would give their pages back to the
 * system and fault them in again each time (a third of a sender's time at 1 KiB a message).
 * Law: thread-safe and never waits, so a fork in the middle of it leaves nothing locked: who finds
 * it in use does without.
 */
#ifndef MMI_SPARE_H
#define MMI_SPARE_H

#include <stdatomic.h>

#include "base/base.h"

#ifdef __SANITIZE_ADDRESS__ /* a block that is used after it was given up is to be found all the same */
#include <sanitizer/asan_interface.h>
#define MMI_SPARE_HIDE(block, size) ASAN_POISON_MEMORY_REGION(block, size)
#define MMI_SPARE_SHOW(block, size) ASAN_UNPOISON_MEMORY_REGION(block, size)
#else
#define MMI_SPARE_HIDE(block, size) ((void)(block), (void)(size))
#define MMI_SPARE_SHOW(block, size) ((void)(block), (void)(size))
#endif

enum { MMI_SPARES_MAX = 32 };   /* blocks of a kind */

typedef struct mmi_spares {
    atomic_flag busy;
    uint32_t count;
    void *blocks[MMI_SPARES_MAX];
} mmi_spares;

#define MMI_SPARES_INIT { .busy = ATOMIC_FLAG_INIT, .count = 0 }

/* A flag held for a few instructions; false: somebody has it, and is not waited for. */
static inline bool
mmi_spare_enter(atomic_flag *busy)
{
    return !atomic_flag_test_and_set_explicit(busy, memory_order_acquire);
}

static inline void
mmi_spare_leave(atomic_flag *busy)
{
    atomic_flag_clear_explicit(busy, memory_order_release);
}

void *mmi_spare_take(mmi_spares *s);               /* NULL: there is none */
bool mmi_spare_keep(mmi_spares *s, void *block, uint32_t most);
/* false: there are most of them: free it */

#endif
