/*
 * wake/depends.c: what of the engine depends on polling while the runner is parked, and whether it
 * is an event loop alone that does.
 *
 * Not here: what follows from that (engine/lead.h, sched/runner.c).
 * Law: a look changes nothing.
 */
#include "wake/wake.h"

mmi_waker *
mmi_waker_alone(const mmi_engine *e)
{
    if (mmi_list_empty(&e->wakers) || e->wakers.next != e->wakers.prev) {
        return NULL;
    }
    mmi_waker *w = MMI_CONTAINER_OF(e->wakers.next, mmi_waker, node);
    return w->outlook >= 0 ? w : NULL;
}

/* An event loop is there that does not poll itself. */
static bool
depends_loops(const mmi_engine *e)
{
    const mmi_waker *loop = mmi_waker_alone(e);
    bool parked = e->lead.runner != MMI_RUNNER_ACTIVE;
    return !mmi_list_empty(&e->wakers) && (loop == NULL || (parked && e->lead.loop != loop));
}

bool
mmi_runner_needed(const mmi_engine *e)
{
    return e->lead.owner == MMI_OWNER_RUNNER &&
           (e->waiters > 0 || e->filenos > 0 || e->closing || depends_loops(e) ||
            (e->write_watches > 0 && e->lead.loop == NULL) || !mmi_list_empty(&e->bursts) ||
            !mmi_list_empty(&e->dirty) || mmi_timers_next(&e->timers) <= e->now_ns);
}

bool
mmi_waker_lone(const mmi_engine *e, const mmi_waker *w)
{
    return mmi_waker_alone(e) == w && e->waiters == 0 && e->filenos == 0;
}
