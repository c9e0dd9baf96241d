/*
 * wake/wake.c: how one that waits is rung: a pollset that a thread waits in, an event loop.
 *
 * Not here: a thread in a call (wake/waiter.c), who is due (socket/ready.c), how they wait
 * (sched/wait.c, sched/waker.c, sched/pollset.c).
 * Law: a watch fires once, then has to be asked for again; the notifier of a waker is rung when its
 * ready list goes from empty to non-empty, and stays rung until it is empty; it is not rung
 * for a loop that is polling at that moment (sched/waker.c), as it looks by itself.
 */
#include "wake/wake.h"

/* Some are ready: who waits is to look. */
void
mmi_pollset_ring(mmi_engine *e, mmi_pollset *g)
{
    if (g->waiter != NULL) {
        mmi_waiter_wake(e, g->waiter, MMI_WAITER_WOKEN);
    }
    if (g->fileno >= 0 && !g->fileno_rung) {
        g->fileno_rung = true;
        e->plat.notifier_ring(e->plat.self, g->fileno);
    }
}

/* Its loop is to come for it, unless it is there. */
void
mmi_waker_ring(mmi_engine *e, mmi_waker *w)
{
    if (w->pollset != NULL) {
        mmi_pollset_ring(e, w->pollset);
    } else if (!w->rung && !w->taking) {
        w->rung = true;
        e->plat.notifier_ring(e->plat.self, w->notifier);
    }
}

void
mmi_watch_fire(mmi_engine *e, mmi_watch *watch, uint32_t fired)
{
    mmi_waker *w = watch->waker;
    watch->fired |= fired;
    watch->wanted &= ~fired;
    if (mmi_list_linked(&watch->ready_node)) {
        return;
    }
    mmi_list_push_back(&w->ready, &watch->ready_node);
    mmi_waker_ring(e, w);
}

void
mmi_watch_free(mmi_watch *watch)
{
    mmi_list_rm(&watch->socket_node);
    mmi_list_rm(&watch->waker_node);
    mmi_list_rm(&watch->ready_node);
    mmi_free(watch);
}
