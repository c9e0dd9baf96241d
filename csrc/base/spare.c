/*
 * spare.c: a small stack of unused blocks.  See spare.h.
 * Not here: how large they are, and whose.
 * Law: the flag is held for a few instructions, and nobody waits for it.
 */
#include "base/spare.h"

static bool
spare_enter(mmi_spares *s)
{
    return !atomic_flag_test_and_set_explicit(&s->busy, memory_order_acquire);
}

static void
spare_leave(mmi_spares *s)
{
    atomic_flag_clear_explicit(&s->busy, memory_order_release);
}

void *
mmi_spare_take(mmi_spares *s)
{
    void *block = NULL;
    if (spare_enter(s)) {
        block = s->count > 0 ? s->blocks[--s->count] : NULL;
        spare_leave(s);
    }
    return block;
}

bool
mmi_spare_keep(mmi_spares *s, void *block, uint32_t most)
{
    bool kept = false;
    if (spare_enter(s)) {
        kept = s->count < most && s->count < (uint32_t)MMI_SPARES_MAX;
        if (kept) {
            s->blocks[s->count++] = block;
        }
        spare_leave(s);
    }
    return kept;
}
