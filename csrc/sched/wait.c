/*
 * sched/wait.c: how a thread blocks in a call.  It sleeps on a notifier, outside the engine's
 * lock; or, while the runner is parked, it polls itself, spinning a little first where that pays.
 *
 * Not here: who is woken when (socket/ready.c), who polls when (engine/lead.h).
 * Law: a waiter lives on its caller's stack, and is off every list before the call returns; one
 * that was woken and did not need it passes the wake on.
 */
#include "sched/sched.h"

static const uint64_t WAIT_STALL_NS = 100 * 1000;   /* of one look: it was interrupted */
enum {
    WAIT_SPIN_CPUS = 2   /* with no more, who spins takes the core of who is to answer */
};

/* Polls in the runner's place until it is woken or too late. */
static void
wait_lead(mmi_engine *e, mmi_waiter *w, uint64_t deadline_ns)
{
    uint64_t start = e->now_ns;
    uint64_t spin_end = start + w->spin_ns;
    mmi_lead_enter(e, MMI_OWNER_THREAD);
    mmi_waiter_lead(e, w);
    while (mmi_waiter_waits(w) && e->now_ns < deadline_ns) {
        uint64_t before = e->now_ns;
        bool spins = before < spin_end;
        mmi_engine_turn(e, spins ? 0 : deadline_ns);
        if (spins && mmi_waiter_waits(w) && e->now_ns - before > WAIT_STALL_NS && w->learns) {
            /* Others want this core: better to sleep, and to be woken in turn. */
            w->stall_ns = e->now_ns - before;
            spin_end = 0;
        }
    }
    mmi_lead_leave(e);
    w->waited_ns = e->now_ns - start;
}

/* Sleeps until it is woken or too late. MM_EMFILE, MM_ENOMEM: it cannot. */
static int
wait_sleep(mmi_engine *e, mmi_waiter *w, uint64_t deadline_ns)
{
    int notifier;
    int rc = mmi_notifier_take(e, &notifier);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_waiter_sleep(e, w, notifier);
    mmi_engine_settle(e, false);   /* the runner knows of new timers, and that somebody waits */
    rc = mmi_engine_wait(e, notifier, deadline_ns);
    mmi_notifier_give(e, notifier);
    return rc;
}

/* It settles before it sleeps: what this thread queued must be on its way. */
int
mmi_waiter_wait(mmi_engine *e, mmi_waiter *w, uint64_t deadline_ns, int64_t slice_ms)
{
    mmi_waiter_queue(e, w);
    mmi_engine_settle(e, true);
    w->alone = w->receives && e->waiters == 1 && e->filenos == 0 && mmi_list_empty(&e->wakers) &&
               e->plat.callers_poll;
    w->led = mmi_waiter_waits(w) && w->alone && mmi_lead_vacant(&e->lead);
    uint64_t slice = slice_ms > 0 ? mmi_deadline(e->now_ns, slice_ms) : UINT64_MAX;
    uint64_t end = slice < deadline_ns ? slice : deadline_ns;
    int rc = MM_ETIMEDOUT;
    if (w->led) {
        wait_lead(e, w, end);
    } else if (mmi_waiter_waits(w)) {
        rc = wait_sleep(e, w, end);
    }
    mmi_waiter_end(e, w);
    w->alone = w->alone && e->waiters == 0;
    switch (w->state) {
    case MMI_WAITER_CLOSED: return MM_ECLOSED;
    case MMI_WAITER_INTERRUPTED: return MM_EINTR;
    case MMI_WAITER_LATE: return rc == MM_ETIMEDOUT && slice < deadline_ns ? MM_EINTR : rc;
    default: return MM_OK;
    }
}

void
mmi_waiter_spin(const mmi_engine *e, mmi_waiter *w, uint32_t spin_us, const mmi_spin *spin)
{
    const uint64_t ns_per_us = 1000;
    w->learns = spin_us == MM_SPIN_AUTO && e->plat.cpus > WAIT_SPIN_CPUS;
    w->spin_ns = w->learns ? mmi_spin_ns(spin, e->now_ns) : 0;
    if (spin_us != MM_SPIN_AUTO) {
        w->spin_ns = spin_us * ns_per_us;
    }
}

void
mmi_waiter_learn(const mmi_engine *e, const mmi_waiter *w, mmi_spin *spin, uint64_t messages)
{
    if (w->learns && w->led) {
        mmi_spin_wait wait = { .waited_ns = w->waited_ns,
                               .stall_ns = w->stall_ns,
                               .messages = messages,
                               .spun = w->spin_ns > 0 };
        mmi_spin_waited(spin, e->now_ns, wait);
    } else if (w->learns) {
        mmi_spin_skip(spin, messages);
    }
}

/* What peers have said that somebody may wait for: messages, and acknowledgements. */
static uint64_t
wait_came(const mmi_socket *s)
{
    return s->stats.parsed_messages + s->stats.acked_messages;
}

int
mmi_socket_wait(mmi_socket *s, uint32_t events, uint64_t key, uint64_t deadline_ns,
                int64_t slice_ms)
{
    mmi_engine *e = s->engine;
    mmi_waiter w = { .events = events,
                     .key = key,
                     .receives = (events & (MM_READABLE | MMI_RECEIPTS)) != 0 || key != 0 };
    mmi_waiter_spin(e, &w, s->opts.spin_us, &s->spin);
    uint64_t before = wait_came(s);
    mmi_list_push_back(&s->waiters, &w.node);
    mmi_socket_flush_now(s);
    int rc = mmi_waiter_wait(e, &w, deadline_ns, slice_ms);
    if (rc == MM_ECLOSED) {
        return rc;
    }
    mmi_list_rm(&w.node);
    if (w.receives) {
        mmi_waiter_learn(e, &w, &s->spin, wait_came(s));
        /* Whoever waits for answers waits for all of them, and wants them as they come. */
        uint64_t messages = key != 0 ? 0 : wait_came(s) - before;
        mmi_lead_waited(e, w.alone, w.led, messages);
    }
    if (w.state != MMI_WAITER_LATE) {
        mmi_socket_touch(s);   /* if this thread does not use it up, the next one is due */
    }
    return rc;
}
