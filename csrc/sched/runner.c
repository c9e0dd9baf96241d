/*
 * sched/runner.c: the runner while it is parked: how it sleeps, helps, and takes polling back.
 *
 * Not here: the states, and what decides (engine/lead.h); what of the engine depends on polling
 * (wake/depends.c); how others wait (sched/wait.c, sched/waker.c).
 * Law: the runner is parked only while nobody but the caller that leads depends on polling, and
 * looks now and then whether there still is one, or once that one has left polling, if it led for
 * longer.
 */
#include "sched/sched.h"

/* The loop's descriptor tells of what poll would find, or no longer. */
static void
runner_join(mmi_engine *e)
{
    mmi_waker *loop = mmi_waker_alone(e);
    if (loop != NULL && e->plat.outlook_join(e->plat.self, loop->outlook, true) == MM_OK) {
        mmi_lead_join(e, loop);
    }
}

void
mmi_runner_part(mmi_engine *e)
{
    const mmi_waker *loop = e->lead.loop;
    if (loop != NULL) {
        (void)e->plat.outlook_join(e->plat.self, loop->outlook, false);
        mmi_lead_join(e, NULL);
    }
}

/* leads: how many there were when it looked last; and now. */
static mmi_lead_next
runner_decide(mmi_engine *e, bool left, uint64_t *leads)
{
    const mmi_lead *p = &e->lead;
    mmi_lead_inputs in = { .owner = p->owner,
                           .take_back = (p->wake & MMI_TAKE_BACK) != 0,
                           .led = p->leads != *leads,
                           .left = left,
                           .needed = mmi_runner_needed(e),
                           .now_ns = e->now_ns,
                           .timer_ns = mmi_timers_next(&e->timers) };
    mmi_lead_next next = mmi_lead_decide(in);
    *leads = p->leads;
    if (next.runner == MMI_RUNNER_ACTIVE) {
        mmi_runner_part(e);
    }
    mmi_lead_runner_to(e, next.runner);
    return next;
}

/* Sleeps until it is time to look, or it is rung for more than to write beside a caller. */
static void
runner_sleep(mmi_engine *e, mmi_lead_next next)
{
    const mmi_lead *p = &e->lead;
    bool helped;
    do {
        (void)mmi_engine_wait(e, e->park_notifier, next.until_ns);
        helped = (p->wake & MMI_HELP) != 0;
        if (helped) {
            mmi_settle_beside(e);
            mmi_lead_helped(e);
        }
        e->plat.notifier_clear(e->plat.self, e->park_notifier);   /* wake says what it was for */
    } while (helped && (p->wake & MMI_TAKE_BACK) == 0 && p->runner == next.runner &&
             e->now_ns < next.until_ns && !mmi_runner_needed(e));
}

void
mmi_runner_park(mmi_engine *e)
{
    uint64_t leads = e->lead.leads - 1;   /* whoever is to lead gets a period to begin */
    mmi_lead_next next = runner_decide(e, false, &leads);
    if (next.runner != MMI_RUNNER_ACTIVE) {
        runner_join(e);
        leads--;
        next = runner_decide(e, false, &leads); /* again: the loop now counts as joined, or not */
    }
    while (next.runner != MMI_RUNNER_ACTIVE) {
        runner_sleep(e, next);
        next = runner_decide(e, next.runner != e->lead.runner, &leads);
    }
}
