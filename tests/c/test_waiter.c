/*
 * test_waiter.c: a thread blocked in a call, as a table: every state, every event, and what
 * follows.
 * Not here: threads (test_lead.c, test_pollset.c), who is due (socket/ready.c).
 * Law: it is rung once at most, and counted while nobody has woken it.
 */
#include "check.h"
#include "wake/waiter.h"

enum { STATES = MMI_WAITER_LATE + 1, NOTIFIER = 5, OTHERS = 2 };

static mmi_engine engine;
static int rung, interrupted;

static void
count_ring(void *self, int notifier)
{
    (void)self;
    CHECK_INT(notifier, NOTIFIER);
    rung++;
}

static void
count_interrupt(void *self)
{
    (void)self;
    interrupted++;
}

static mmi_engine *
open_world(mmi_waiter *w)
{
    static const mmi_engine none;
    engine = none;
    engine.plat.notifier_ring = count_ring;
    engine.plat.interrupt = count_interrupt;
    engine.lead.runner = MMI_RUNNER_PARKED;
    engine.waiters = OTHERS;
    rung = interrupted = 0;
    *w = (mmi_waiter){ .events = MM_READABLE, .receives = true };
    mmi_waiter_queue(&engine, w);
    return &engine;
}

/* Brings a new one into a state. */
static mmi_engine *
waiter_in(mmi_waiter *w, mmi_waiter_state state)
{
    mmi_engine *e = open_world(w);
    if (state == MMI_WAITER_SLEEPING) {
        mmi_waiter_sleep(e, w, NOTIFIER);
    } else if (state == MMI_WAITER_LEADING) {
        mmi_lead_enter(e, MMI_OWNER_THREAD);
        mmi_waiter_lead(e, w);
    } else if (state == MMI_WAITER_LATE) {
        mmi_waiter_end(e, w);
    } else if (state != MMI_WAITER_QUEUED) {
        mmi_waiter_wake(e, w, state);
    }
    CHECK_INT(w->state, state);
    CHECK_INT(e->waiters, OTHERS + mmi_waiter_waits(w));
    return e;
}

/* Of each state: what it is after a wake (W), an interrupt (I), a close (C) and the end (E). */
static const struct {
    mmi_waiter_state from, w, i, c, e;
    bool rings;
} ROWS[STATES] = {
    { MMI_WAITER_QUEUED, MMI_WAITER_WOKEN, MMI_WAITER_INTERRUPTED, MMI_WAITER_CLOSED,
      MMI_WAITER_LATE, false },
    { MMI_WAITER_SLEEPING, MMI_WAITER_WOKEN, MMI_WAITER_INTERRUPTED, MMI_WAITER_CLOSED,
      MMI_WAITER_LATE, true },
    { MMI_WAITER_LEADING, MMI_WAITER_WOKEN, MMI_WAITER_INTERRUPTED, MMI_WAITER_CLOSED,
      MMI_WAITER_LATE, false },
    { MMI_WAITER_WOKEN, MMI_WAITER_WOKEN, MMI_WAITER_WOKEN, MMI_WAITER_CLOSED, MMI_WAITER_WOKEN,
      false },
    { MMI_WAITER_INTERRUPTED, MMI_WAITER_INTERRUPTED, MMI_WAITER_INTERRUPTED, MMI_WAITER_CLOSED,
      MMI_WAITER_INTERRUPTED, false },
    { MMI_WAITER_CLOSED, MMI_WAITER_CLOSED, MMI_WAITER_CLOSED, MMI_WAITER_CLOSED, MMI_WAITER_CLOSED,
      false },
    { MMI_WAITER_LATE, MMI_WAITER_LATE, MMI_WAITER_LATE, MMI_WAITER_CLOSED, MMI_WAITER_LATE,
      false },
};

static void
check_wake(mmi_waiter_state from, mmi_waiter_state to, mmi_waiter_state then, bool rings)
{
    mmi_waiter w;
    mmi_engine *e = waiter_in(&w, from);
    rung = 0;
    mmi_waiter_wake(e, &w, to);
    CHECK_INT(w.state, then);
    CHECK_INT(e->waiters, OTHERS);
    CHECK_INT(rung, rings);
    CHECK_INT(interrupted, 0);
    CHECK_INT(e->lead.wake, from == MMI_WAITER_LEADING ? MMI_POLL_NOW : 0);
    mmi_waiter_wake(e, &w, to);   /* once more brings nothing more */
    CHECK_INT(w.state, then);
    CHECK_INT(e->waiters, OTHERS);
    CHECK_INT(rung, rings);
}

static void
test_every_event_in_every_state_does_what_its_row_says(void)
{
    for (int i = 0; i < STATES; i++) {
        mmi_waiter w;
        CHECK_INT(ROWS[i].from, i);
        check_wake(ROWS[i].from, MMI_WAITER_WOKEN, ROWS[i].w, ROWS[i].rings);
        check_wake(ROWS[i].from, MMI_WAITER_INTERRUPTED, ROWS[i].i, ROWS[i].rings);
        check_wake(ROWS[i].from, MMI_WAITER_CLOSED, ROWS[i].c, ROWS[i].rings);
        mmi_engine *e = waiter_in(&w, ROWS[i].from);
        rung = 0;
        mmi_waiter_end(e, &w);
        CHECK_INT(w.state, ROWS[i].e);
        CHECK_INT(e->waiters, OTHERS);
        CHECK_INT(rung, 0);
    }
}

static void
test_one_that_sleeps_in_poll_is_interrupted(void)
{
    mmi_waiter w;
    mmi_engine *e = waiter_in(&w, MMI_WAITER_LEADING);
    mmi_lead_poll_begin(e, UINT64_MAX, false);
    mmi_waiter_wake(e, &w, MMI_WAITER_WOKEN);
    CHECK_INT(interrupted, 1);
    CHECK_INT(e->lead.wake, 0);
    mmi_waiter_wake(e, &w, MMI_WAITER_CLOSED);
    CHECK_INT(interrupted, 1);
}

int
main(void)
{
    RUN(test_every_event_in_every_state_does_what_its_row_says);
    RUN(test_one_that_sleeps_in_poll_is_interrupted);
    return 0;
}
