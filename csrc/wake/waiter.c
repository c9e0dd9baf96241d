/*
 * wake/waiter.c: the states of a thread that is blocked in a call, and how it is rung.
 *
 * Not here: pollsets and event loops (wake/wake.c), who is due (socket/ready.c).
 * Law: as in waiter.h; one ring brings it, however often it is woken.
 */
#include "wake/waiter.h"

#ifdef MMI_CHECKED
#define WAITER_CHANGED(e, w) mmi_waiter_invariants(e, w)
#else
#define WAITER_CHANGED(e, w) ((void)(e), (void)(w))
#endif

bool
mmi_waiter_waits(const mmi_waiter *w)
{
    return w->state <= MMI_WAITER_LEADING;
}

void
mmi_waiter_queue(mmi_engine *e, mmi_waiter *w)
{
    e->waiters++;
    WAITER_CHANGED(e, w);
}

void
mmi_waiter_sleep(mmi_engine *e, mmi_waiter *w, int notifier)
{
    w->notifier = notifier;
    w->state = MMI_WAITER_SLEEPING;
    WAITER_CHANGED(e, w);
}

void
mmi_waiter_lead(mmi_engine *e, mmi_waiter *w)
{
    w->state = MMI_WAITER_LEADING;
    WAITER_CHANGED(e, w);
}

void
mmi_waiter_wake(mmi_engine *e, mmi_waiter *w, mmi_waiter_state to)
{
    mmi_waiter_state from = w->state;
    if (from > MMI_WAITER_LEADING) {   /* it comes anyway, but is not to touch what is gone */
        w->state = to == MMI_WAITER_CLOSED ? to : from;
        return;
    }
    w->state = to;
    e->waiters--;
    if (from == MMI_WAITER_SLEEPING) {
        e->plat.notifier_ring(e->plat.self, w->notifier);
    } else if (from == MMI_WAITER_LEADING) {
        mmi_lead_kick(e, MMI_POLL_NOW);   /* it may write meanwhile, and poll before it looks */
    }
    WAITER_CHANGED(e, w);
}

void
mmi_waiter_end(mmi_engine *e, mmi_waiter *w)
{
    if (mmi_waiter_waits(w)) {
        w->state = MMI_WAITER_LATE;
        e->waiters--;
    }
    WAITER_CHANGED(e, w);
}

void
mmi_waiter_invariants(const mmi_engine *e, const mmi_waiter *w)
{
    MMI_ASSERT(!mmi_waiter_waits(w) || e->waiters > 0);
    MMI_ASSERT(w->state != MMI_WAITER_SLEEPING || w->notifier >= 0);
    MMI_ASSERT(w->state != MMI_WAITER_LEADING ||
               (w->receives && e->lead.owner == MMI_OWNER_THREAD));
}
