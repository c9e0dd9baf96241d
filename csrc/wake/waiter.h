/*
 * waiter.h: a thread that is blocked in a call, for a socket or for those of a pollset, as a state
 * machine.  It lives on that thread's stack.
 *
 * state        what it does                       wake, interrupt or close then
 * QUEUED       it is about to sleep or to lead    no ring: it looks before it does
 * SLEEPING     it sleeps on its notifier          rings that
 * LEADING      it polls in the runner's place     kick POLL_NOW (engine/lead.h)
 * WOKEN        what it waits for may be there     only close: no ring, as it comes anyway
 * INTERRUPTED  its caller is to look at what it   the same
 *              holds itself
 * CLOSED       what it waited for is gone         nothing comes any more
 * LATE         nobody woke it: its time is over   nothing comes any more
 * From QUEUED it goes to SLEEPING or LEADING; from those three, by others, to WOKEN, INTERRUPTED or
 * CLOSED; by mmi_waiter_end, when none of these came, to LATE.
 *
 * Not here: who is due (socket/ready.c), how it sleeps and leads (sched/wait.c).
 * Law: in the first three states it is counted in engine->waiters, in the others it is not; nobody
 * but waiter.c writes the state.
 */
#ifndef MMI_WAITER_H
#define MMI_WAITER_H

#include "engine/engine.h"

typedef enum mmi_waiter_state {
    MMI_WAITER_QUEUED, MMI_WAITER_SLEEPING, MMI_WAITER_LEADING,   /* it waits */
    MMI_WAITER_WOKEN, MMI_WAITER_INTERRUPTED, MMI_WAITER_CLOSED, MMI_WAITER_LATE
} mmi_waiter_state;

typedef struct mmi_waiter {
    mmi_list node;
    mmi_waiter_state state;
    uint32_t events;       /* MM_READABLE: one is woken; news (MM_PEERS, MM_DRAINED, MMI_ROOM): all are */
    uint64_t key;          /* waits for the reply to this request; 0: for no reply */
    bool receives;         /* only then it may poll */
    bool alone, led;       /* nobody else depended on polling; it polled */
    int notifier;          /* that it sleeps on */
    bool learns;           /* how long it spins is left to us */
    uint64_t spin_ns;
    uint64_t waited_ns;    /* if it polled */
    uint64_t stall_ns;     /* for so long it was kept from that: others want the core */
} mmi_waiter;

bool mmi_waiter_waits(const mmi_waiter *w);                /* nobody has woken it yet */
void mmi_waiter_queue(mmi_engine *e, mmi_waiter *w);       /* a new one */
void mmi_waiter_sleep(mmi_engine *e, mmi_waiter *w, int notifier);
void mmi_waiter_lead(mmi_engine *e, mmi_waiter *w);        /* once it has entered (mmi_lead_enter) */
/* to: MMI_WAITER_WOKEN, MMI_WAITER_INTERRUPTED or MMI_WAITER_CLOSED. */
void mmi_waiter_wake(mmi_engine *e, mmi_waiter *w, mmi_waiter_state to);
void mmi_waiter_end(mmi_engine *e, mmi_waiter *w);         /* its wait is over */
/* What is never so; looked at after each change in checked builds (MMI_CHECKED, base/base.h). */
void mmi_waiter_invariants(const mmi_engine *e, const mmi_waiter *w);

#endif
