/*
 * base/segment_spare.c: what becomes of a segment that nobody holds any more: some are kept, so
 * that a burst finds its blocks.
 *
 * Not here: what is in them (base/segment.c).
 */
#include "base/segment.h"
#include "base/spare.h"

enum { SEGMENT_SPARES_MAX = 32 };   /* 4 MiB a process */
static mmi_spares segment_spares = MMI_SPARES_INIT;

void *
mmi_segment_spare(void)
{
    return mmi_spare_take(&segment_spares);
}

bool
mmi_segment_unused(mmi_msg *m)
{
    mmi_segment_in *in = mmi_segment_in_of(m);
    if (in != NULL) {
        mmi_arena_unref(in->arena);
        return false;
    }
    mmi_segment_out *out = mmi_segment_out_of(m);
    return out != NULL && out->room == MMI_SEGMENT_CAP &&
           mmi_spare_keep(&segment_spares, out, SEGMENT_SPARES_MAX);
}
