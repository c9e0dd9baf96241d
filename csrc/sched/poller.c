/*
 * sched/poller.c: who polls.  Normally the runner does.  A lone caller that waits again and again
 * for little each time (requests and replies) polls itself: the message then wakes the thread that
 * wants it, and not the runner first.  The runner is parked meanwhile.
 *
 * Not here: how such a caller waits (wait.c).
 * Law: the runner is parked only while nobody but the caller that leads depends on polling, and
 * looks every PARK_NS whether there still is one, or once that one has left polling, if it led for
 * longer; one thread at a time polls.
 */
#include "link/link.h"

static const uint64_t PARK_NS = 10 * 1000 * 1000;
enum {
    PARK_QUIET_WAITS = 3,     /* in a row, before the runner leaves polling to the caller   */
    PARK_QUIET_MESSAGES = 16, /* read during a wait: more, and the runner reads beside it   */
    PARK_HELP_CPUS = 2        /* with no more, it takes the core of who is to answer        */
};

/* The one event loop there is, if it sees what poll would find; NULL: none, or several. */
static mmi_waker *
park_loop(const mmi_engine *e)
{
    if (mmi_list_empty(&e->wakers) || e->wakers.next != e->wakers.prev) {
        return NULL;
    }
    mmi_waker *w = MMI_CONTAINER_OF(e->wakers.next, mmi_waker, node);
    return w->outlook >= 0 ? w : NULL;
}

/* An event loop is there that does not poll itself. */
static bool
park_loops(const mmi_engine *e)
{
    const mmi_waker *loop = park_loop(e);
    return !mmi_list_empty(&e->wakers) && (loop == NULL || (e->parked && e->joined != loop));
}

bool
mmi_runner_needed(const mmi_engine *e)
{
    return !e->leading &&
           (e->waiters > 0 || e->filenos > 0 || e->closing || park_loops(e) ||
            (e->write_watches > 0 && e->joined == NULL) || !mmi_list_empty(&e->bursts) ||
            !mmi_list_empty(&e->dirty) || mmi_timers_next(&e->timers) <= e->now_ns);
}

/* The loop's descriptor tells of what poll would find, or no longer. */
static void
park_join(mmi_engine *e)
{
    mmi_waker *loop = park_loop(e);
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
    mmi_waited(e, park_loop(e) == w && e->waiters == 0 && e->filenos == 0, led, messages);
}
