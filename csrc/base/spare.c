/*
 * spare.c: a small stack of unused blocks.  See spare.h.
 * Not here: how large they are, and whose.
 * Law: the flag is held for a few instructions, and nobody waits for it.
 */
#include "base/spare.h"

void *
mmi_spare_take(mmi_spares *s)
{
    void *block = NULL;
    if (mmi_spare_enter(&s->busy)) {
        block = s->count > 0 ? s->blocks[--s->count] : NULL;
        mmi_spare_leave(&s->busy);
    }
    return block;
}

bool
mmi_spare_keep(mmi_spares *s, void *block, uint32_t most)
{
    bool kept = false;
    if (mmi_spare_enter(&s->busy)) {
        kept = s->count < most && s->count < (uint32_t)MMI_SPARES_MAX;
        if (kept) {
            s->blocks[s->count++] = block;
        }
        mmi_spare_leave(&s->busy);
    }
    return kept;
}
