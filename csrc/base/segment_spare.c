/*
 * base/segment_spare.c: what becomes of a segment that nobody holds any more: some are kept, so
 * that a burst finds its blocks.
 *
 * Not here: what is in them (base/segment.c).
 */
#include "base/segment.h"
#include "base/spare.h"

enum {
    SEGMENT_SPARES_MAX = 32,   /* 4 MiB a process */
    SEGMENT_IN_SPARES_MAX = 16 /* 2 MiB a process */
};
static mmi_spares segment_spares = MMI_SPARES_INIT;
static mmi_spares segment_in_spares = MMI_SPARES_INIT;

void *
mmi_segment_spare(void)
{
    return mmi_spare_take(&segment_spares);
}

void *
mmi_segment_in_spare(void)
{
    void *block = mmi_spare_take(&segment_in_spares);
    if (block != NULL) {
        MMI_SPARE_SHOW(block, MMI_SEGMENT_IN_BLOCK);
    }
    return block;
}

/* Received by one thread and given up by another, so the heap would go up and down with them. */
static bool
segment_in_unused(mmi_segment_in *in)
{
    if (in->arena != NULL) {
        mmi_arena_unref(in->arena);
        return false;
    }
    if (in->pinned != (size_t)MMI_SEGMENT_IN_BLOCK) {
        return false;
    }
    MMI_SPARE_HIDE(in, MMI_SEGMENT_IN_BLOCK); /* before it is there for others */
    bool kept = mmi_spare_keep(&segment_in_spares, in, SEGMENT_IN_SPARES_MAX);
    if (!kept) {
        MMI_SPARE_SHOW(in, MMI_SEGMENT_IN_BLOCK);
    }
    return kept;
}

bool
mmi_segment_unused(mmi_msg *m)
{
    mmi_segment_in *in = mmi_segment_in_of(m);
    if (in != NULL) {
        return segment_in_unused(in);
    }
    mmi_segment_out *out = mmi_segment_out_of(m);
    return out != NULL && out->room == MMI_SEGMENT_CAP &&
           mmi_spare_keep(&segment_spares, out, SEGMENT_SPARES_MAX);
}
