/*
 * wake/runner.c: the runner as others see it: whether it may leave polling to them, and how it is
 * told to take it back, to help, or to look.
 *
 * Not here: what it does then (sched/poller.c).
 * Law: it is parked only while nobody but the caller that leads depends on polling.
 */
#include "wake/wake.h"

enum {
    PARK_QUIET_WAITS = 3,     /* in a row, before the runner leaves polling to the caller   */
    PARK_QUIET_MESSAGES = 16, /* read during a wait: more, and the runner reads beside it   */
    PARK_HELP_CPUS = 2        /* with no more, it takes the core of who is to answer        */
};

mmi_waker *
mmi_runner_loop(const mmi_engine *e)
{
    if (mmi_list_empty(&e->wakers) || e->wakers.next != e->wakers.prev) {
        return NULL;
    }
    mmi_waker *w = MMI_CONTAINER_OF(e->wakers.next, mmi_waker, node);
    return w->outlook >= 0 ? w : NULL;
}

/* An event loop is there that does not poll itself. */
static bool
runner_loops(const mmi_engine *e)
{
    const mmi_waker *loop = mmi_runner_loop(e);
    return !mmi_list_empty(&e->wakers) && (loop == NULL || (e->parked && e->joined != loop));
}

bool
mmi_runner_needed(const mmi_engine *e)
{
    return !e->leading &&
           (e->waiters > 0 || e->filenos > 0 || e->closing || runner_loops(e) ||
            (e->write_watches > 0 && e->joined == NULL) || !mmi_list_empty(&e->bursts) ||
            !mmi_list_empty(&e->dirty) || mmi_timers_next(&e->timers) <= e->now_ns);
}

/* The caller that led goes away, and may not come back: the runner is to look soon. */
void
mmi_runner_rouse(mmi_engine *e)
{
    if (e->resting) {
        e->resting = false;
        e->plat.notifier_ring(e->plat.self, e->park_notifier);
    }
}

void
mmi_runner_help(mmi_engine *e)
{
    if (e->parked && !e->unpark && !e->helping && e->plat.cpus > PARK_HELP_CPUS) {
        e->helping = true;
        e->plat.notifier_ring(e->plat.self, e->park_notifier);
    }
}

void
mmi_runner_unpark(mmi_engine *e)
{
    if (e->parked && !e->unpark) {
        e->unpark = true;
        e->plat.notifier_ring(e->plat.self, e->park_notifier);
    }
}

void
mmi_waited(mmi_engine *e, bool alone, bool led, uint64_t messages)
{
    if (!alone || messages > PARK_QUIET_MESSAGES) {
        e->quiet = 0;
        if (led) {
            mmi_runner_unpark(e);
        }
        return;
    }
    if (e->quiet < PARK_QUIET_WAITS) {
        e->quiet++;
    } else if (!e->parked) {
        e->park_wanted = true;
    }
}

void
mmi_loop_took(mmi_engine *e, mmi_waker *w, bool led, uint64_t messages)
{
    mmi_waited(e, mmi_runner_loop(e) == w && e->waiters == 0 && e->filenos == 0, led, messages);
}
