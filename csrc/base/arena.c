/*
 * arena.c: blocks that reads fill.  See arena.h.
 * Not here: what is read, and where it ends.
 * Law: as in arena.h.
 */
#include "base/arena.h"

enum { ARENA_SPARES_MAX = 16 };   /* 4 MiB a process */
static mmi_spares arena_spares = MMI_SPARES_INIT;

mmi_arena *
mmi_arena_new(void)
{
    mmi_arena *a = mmi_spare_take(&arena_spares);
    if (a == NULL) {
        a = mmi_realloc(NULL, sizeof *a);
    }
    if (a != NULL) {
        atomic_init(&a->refs, 1);
    }
    return a;
}

mmi_arena *
mmi_arena_ref(mmi_arena *a)
{
    atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
    return a;
}

void
mmi_arena_unref(mmi_arena *a)
{
    if (a != NULL && atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) == 1 &&
        !mmi_spare_keep(&arena_spares, a, ARENA_SPARES_MAX)) {
        mmi_free(a);
    }
}
