/*
 * sched/poller.c: who polls.  Normally the runner does.  A lone caller that waits again and again
 * for little each time (requests and replies) polls itself: the message then wakes the thread that
 * wants it, and not the runner first.  The runner is parked meanwhile.
 *
 * Not here: how such a caller waits (sched/wait.c), how the runner is told to take it back
 * (wake/runner.c).
 * Law: the runner is parked only while nobody but the caller that leads depends on polling, and
 * looks every PARK_NS whether there still is one, or once that one has left polling, if it led for
 * longer; one thread at a time polls.
 */
#include "sched/sched.h"

static const uint64_t PARK_NS = 10 * 1000 * 1000;

/* The loop's descriptor tells of what poll would find, or no longer. */
static void
park_join(mmi_engine *e)
{
    mmi_waker *loop = mmi_runner_loop(e);
    if (loop != NULL && e->plat.outlook_join(e->plat.self, loop->outlook, true) == MM_OK) {
        e->joined = loop;
    }
}

static void
park_part(mmi_engine *e)
{
    if (e->joined != NULL) {
        (void)e->plat.outlook_join(e->plat.self, e->joined->outlook, false);
        e->joined = NULL;
    }
}

/* Sleeps until it is time to look, or it is rung for more than to write beside a caller. */
static void
park_sleep(mmi_engine *e, uint64_t until_ns)
{
    bool rests = e->resting, helped;
    do {
        (void)mmi_engine_wait(e, e->park_notifier, until_ns);
        helped = e->helping;
        if (helped) {
            mmi_settle_beside(e);
            e->helping = false;
        }
        e->plat.notifier_clear(e->plat.self, e->park_notifier);   /* flags say what it was for */
    } while (helped && !e->unpark && e->resting == rests && e->now_ns < until_ns &&
             !mmi_runner_needed(e));
}

void
mmi_runner_park(mmi_engine *e)
{
    e->park_wanted = false;
    e->parked = !mmi_runner_needed(e);
    if (e->parked) {
        park_join(e);
        e->parked = !mmi_runner_needed(e);
    }
    uint64_t before = e->leads - 1;
    while (e->parked) {
        uint64_t leads = e->leads, next = mmi_timers_next(&e->timers);
        uint64_t soon = e->now_ns + PARK_NS;
        bool rests = e->leading && leads == before;   /* for a whole period: it may be for long */
        e->resting = rests;
        park_sleep(e, rests || next < soon ? next : soon);
        bool roused = rests && !e->resting;
        e->resting = false;
        bool more = (leads != e->leads || roused) && !e->unpark && !mmi_runner_needed(e);
        e->parked = e->leading || more;
        before = leads;
    }
    park_part(e);
    e->unpark = false;
}
