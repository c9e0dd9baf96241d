/*
 * timer.h: a min-heap of deadlines, intrusive.  No clock here: the caller passes the time.
 * Law: a timer is in at most one heap; setting one that is set moves it and cannot fail.  An
 * mmi_timers of all zeroes is empty.
 */
#ifndef MMI_TIMER_H
#define MMI_TIMER_H

#include "base/base.h"

typedef struct mmi_timer {
    uint64_t deadline_ns;
    uint32_t index;      /* place in the heap + 1; 0: not set */
    uint32_t kind;       /* the owner's: which of its timers this is */
} mmi_timer;

typedef struct mmi_timers {
    mmi_timer **heap;
    uint32_t count, cap;
} mmi_timers;

void mmi_timers_fini(mmi_timers *t);
/* MM_ENOMEM only when it was not set before. */
int mmi_timer_set(mmi_timers *t, mmi_timer *timer, uint64_t deadline_ns) MMI_WARN_UNUSED;
void mmi_timer_clear(mmi_timers *t, mmi_timer *timer);                 /* fine when not set */
uint64_t mmi_timers_next(const mmi_timers *t);                         /* UINT64_MAX: none */
mmi_timer *mmi_timers_pop_due(mmi_timers *t, uint64_t now_ns);         /* NULL: none due */

#endif
