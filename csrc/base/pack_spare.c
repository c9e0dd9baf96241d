/*
 * base/pack_spare.c: what becomes of a pack that nobody holds any more: some are kept, so that a
 * burst finds its blocks.
 *
 * Not here: what is in them (base/pack.c).
 */
#include "base/pack.h"
#include "base/spare.h"

enum { PACK_SPARES_MAX = 32 };   /* 4 MiB a process */
static mmi_spares pack_spares = MMI_SPARES_INIT;

void *
mmi_pack_spare(void)
{
    return mmi_spare_take(&pack_spares);
}

bool
mmi_pack_unused(mmi_msg *m)
{
    mmi_pack_in *in = mmi_pack_in_of(m);
    if (in != NULL) {
        mmi_arena_unref(in->arena);
        return false;
    }
    mmi_pack_out *out = mmi_pack_out_of(m);
    return out != NULL && out->room == MMI_PACK_CAP &&
           mmi_spare_keep(&pack_spares, out, PACK_SPARES_MAX);
}
