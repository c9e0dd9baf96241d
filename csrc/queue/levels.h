/*
 * queue/levels.h: which of several queues the next message comes from, by its priority: the higher
 * first, but each that waits has its turns.
 *
 * Not here: limits (queue/accept.c), what is sent to whom (queue/lb.h).
 * Law: with MMI_LEVELS_RUN messages of the highest level that has any goes one of those below, which
 * take turns for that.  So who waits at the front of a level goes out after at most
 * (MMI_LEVELS_RUN + 1) * (MMI_LEVELS - 1) others.
 */
#ifndef MMI_LEVELS_H
#define MMI_LEVELS_H

#include "base/ring.h"

enum {
    MMI_LEVELS = 10,             /* priorities from 0 to 9 */
    MMI_LEVELS_RUN = 16          /* messages of a level, while lower ones wait */
};

typedef struct mmi_levels {
    mmi_ring at[MMI_LEVELS];
    uint32_t swept[MMI_LEVELS];  /* where the next sweep begins (queue/expiry.h) */
    uint32_t used;               /* levels in use: those from 0 to it - 1 */
    uint32_t run;                /* that went out while lower ones waited */
    uint32_t turn;               /* the level below that had such a turn last */
} mmi_levels;

/* So many levels, from 1 on; without limits: what comes in was within those of others. */
void mmi_levels_init(mmi_levels *l, uint32_t used);
/* The queue that is next; NULL: all are empty. */
mmi_ring *mmi_levels_next(mmi_levels *l);
/* It was the next, and a message of it went out. */
void mmi_levels_took(mmi_levels *l, const mmi_ring *from);
/* The oldest of the lowest level that has any; NULL: all are empty. */
mmi_msg *mmi_levels_take_lowest(mmi_levels *l);
uint32_t mmi_levels_count(const mmi_levels *l, uint64_t *bytes);
static inline bool
mmi_levels_empty(const mmi_levels *l)
{
    for (uint32_t i = 0; i < l->used; i++) {
        if (l->at[i].slot_count > 0) {
            return false;
        }
    }
    return true;
}
/* The queue of a message. */
static inline mmi_ring *
mmi_levels_of(mmi_levels *l, const mmi_msg *m)
{
    return &l->at[m->priority < l->used ? m->priority : l->used - 1];
}

#endif
