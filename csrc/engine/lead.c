/*
 * lead.c: who polls: the states and events of lead.h, and what decides.
 *
 * Not here: who calls it when (sched), the inputs of the decision (wake/depends.c).
 * Law: as in lead.h; a ring or an interrupt is all that others see of it.
 */
#include "engine/lead.h"

#include "engine/engine.h"

static const uint64_t PARK_NS = 10 * 1000 * 1000;   /* the runner looks as often */
enum {
    PARK_QUIET_WAITS = 3,     /* in a row, before the runner leaves polling to the caller   */
    PARK_QUIET_MESSAGES = 16, /* read during a wait: more, and the runner reads beside it   */
    PARK_HELP_CPUS = 2        /* with no more, it takes the core of who is to answer        */
};

#ifdef MMI_CHECKED
#define LEAD_CHANGED(e) mmi_lead_invariants(e)
#else
#define LEAD_CHANGED(e) ((void)0)
#endif

mmi_lead_next
mmi_lead_decide(mmi_lead_inputs in)
{
    uint64_t check_ns = in.now_ns + PARK_NS;
    uint64_t soon_ns = in.timer_ns < check_ns ? in.timer_ns : check_ns;
    bool leads = in.owner != MMI_OWNER_RUNNER;
    /* One that leads for a whole period may do so for long; and for the runner that is to take
     * polling back there is nothing to see before that one leaves. */
    if (leads && (!in.led || in.take_back)) {
        return (mmi_lead_next){ MMI_RUNNER_PARKED_LONG, in.timer_ns };
    }
    bool more = (in.led || in.left) && !in.take_back && !in.needed;
    if (leads || more) {
        return (mmi_lead_next){ MMI_RUNNER_PARKED, soon_ns };
    }
    return (mmi_lead_next){ MMI_RUNNER_ACTIVE, 0 };
}

bool
mmi_lead_vacant(const mmi_lead *p)
{
    return p->runner != MMI_RUNNER_ACTIVE && (p->wake & MMI_TAKE_BACK) == 0 &&
           p->owner == MMI_OWNER_RUNNER;
}

static void
lead_ring_runner(mmi_engine *e)
{
    e->plat.notifier_ring(e->plat.self, e->park_notifier);
}

void
mmi_lead_enter(mmi_engine *e, mmi_lead_owner who)
{
    e->lead.owner = who;
    e->lead.leads++;
    e->outside++;
    LEAD_CHANGED(e);
}

/* It may not come back: the runner is to in soon. */
void
mmi_lead_leave(mmi_engine *e)
{
    mmi_lead *p = &e->lead;
    p->owner = MMI_OWNER_RUNNER;
    p->wake &= ~(uint32_t)MMI_POLL_NOW;
    if (p->runner == MMI_RUNNER_PARKED_LONG) {
        p->runner = MMI_RUNNER_PARKED;
        lead_ring_runner(e);
    }
    e->outside--;
    if (e->closing) {
        e->plat.notifier_ring(e->plat.self, e->idle_notifier);
    }
    LEAD_CHANGED(e);
}

void
mmi_lead_interrupt(mmi_engine *e)
{
    e->lead.in_poll = false;   /* one interrupt is enough until it polls again */
    e->plat.interrupt(e->plat.self);
}

static void
lead_kick_runner(mmi_engine *e, uint32_t reason)
{
    mmi_lead *p = &e->lead;
    if (p->runner != MMI_RUNNER_ACTIVE && (p->wake & (reason | MMI_TAKE_BACK)) == 0) {
        p->wake |= reason;
        lead_ring_runner(e);
    }
}

void
mmi_lead_kick(mmi_engine *e, uint32_t reason)
{
    mmi_lead *p = &e->lead;
    if (reason == MMI_TAKE_BACK || (reason == MMI_HELP && e->plat.cpus > PARK_HELP_CPUS)) {
        lead_kick_runner(e, reason);
    } else if (reason == MMI_POLL_NOW && p->in_poll) {
        mmi_lead_interrupt(e);
    } else if (reason == MMI_POLL_NOW && p->owner != MMI_OWNER_RUNNER) {
        p->wake |= MMI_POLL_NOW;
    } else if (reason == MMI_MAY_PARK && p->runner == MMI_RUNNER_ACTIVE) {
        p->wake |= MMI_MAY_PARK;
    }
    LEAD_CHANGED(e);
}

void
mmi_lead_poll_begin(mmi_engine *e, uint64_t deadline_ns, bool paced)
{
    e->lead.wake &= ~(uint32_t)MMI_POLL_NOW;
    e->lead.in_poll = true;
    e->lead.paced = paced;
    e->lead.deadline_ns = deadline_ns;
    LEAD_CHANGED(e);
}

void
mmi_lead_poll_end(mmi_engine *e)
{
    e->lead.in_poll = false;
    LEAD_CHANGED(e);
}

void
mmi_lead_runner_to(mmi_engine *e, mmi_lead_runner runner)
{
    mmi_lead *p = &e->lead;
    p->runner = runner;
    p->wake &= ~(uint32_t)MMI_MAY_PARK;
    if (runner == MMI_RUNNER_ACTIVE) {
        p->wake &= ~(uint32_t)MMI_TAKE_BACK;
    }
    LEAD_CHANGED(e);
}

void
mmi_lead_helped(mmi_engine *e)
{
    e->lead.wake &= ~(uint32_t)MMI_HELP;
    LEAD_CHANGED(e);
}

void
mmi_lead_join(mmi_engine *e, struct mmi_waker *loop)
{
    e->lead.loop = loop;
    LEAD_CHANGED(e);
}

void
mmi_lead_waited(mmi_engine *e, bool alone, bool led, uint64_t messages)
{
    mmi_lead *p = &e->lead;
    if (!alone || messages > PARK_QUIET_MESSAGES) {
        p->quiet = 0;
        if (led) {
            mmi_lead_kick(e, MMI_TAKE_BACK);
        }
    } else if (p->quiet < PARK_QUIET_WAITS) {
        p->quiet++;
    } else {
        mmi_lead_kick(e, MMI_MAY_PARK);
    }
}

void
mmi_lead_busy(mmi_engine *e)
{
    e->lead.quiet = 0;
}

void
mmi_lead_invariants(const mmi_engine *e)
{
    const mmi_lead *p = &e->lead;
    bool parked = p->runner != MMI_RUNNER_ACTIVE, leads = p->owner != MMI_OWNER_RUNNER;
    MMI_ASSERT(parked || !leads);
    MMI_ASSERT(leads || p->runner != MMI_RUNNER_PARKED_LONG);   /* else it would sleep on */
    MMI_ASSERT(!p->in_poll || leads || !parked);   /* one thread at a time polls */
    MMI_ASSERT(parked || (p->wake & (MMI_TAKE_BACK | MMI_HELP)) == 0);
    MMI_ASSERT(!parked || (p->wake & MMI_MAY_PARK) == 0);
    MMI_ASSERT(leads || (p->wake & MMI_POLL_NOW) == 0);
    MMI_ASSERT(parked || p->loop == NULL);
    MMI_ASSERT(p->owner != MMI_OWNER_THREAD || p->loop == NULL);
}
