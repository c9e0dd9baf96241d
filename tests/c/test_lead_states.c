/*
 * test_lead_states.c: who polls, as a table: every state, every event, and what follows; and every
 * look of a parked runner, and what it decides.
 * Not here: threads (test_lead.c, test_loop_lead.c), how a runner sleeps (sched/runner.c).
 * Law: an event for which there is no row changes nothing.
 */
#include "check.h"
#include "engine/engine.h"

enum { MANY_CPUS = 8, PARK_NS = 10 * 1000 * 1000, QUIET_WAITS = 3, QUIET_MESSAGES = 16 };
enum { WAKES = 16, ALL_WAKES = WAKES - 1, IDLE = 3, PARK = 4 };   /* IDLE, PARK: descriptors */

static mmi_engine engine;
static int runner_rung, idle_rung, interrupted;

static void
count_ring(void *self, int notifier)
{
    (void)self;
    runner_rung += notifier == PARK;
    idle_rung += notifier == IDLE;
}

static void
count_interrupt(void *self)
{
    (void)self;
    interrupted++;
}

typedef enum event {
    ENTER_THREAD,
    ENTER_LOOP,
    LEAVE,
    POLL_BEGIN,
    POLL_END,
    KICK_TAKE_BACK,
    KICK_HELP,
    KICK_POLL_NOW,
    KICK_MAY_PARK,
    HELPED,
    INTERRUPT,
    EVENTS
} event;

static void
happen(mmi_engine *e, event event)
{
    switch (event) {
    case ENTER_THREAD: mmi_lead_enter(e, MMI_OWNER_THREAD); break;
    case ENTER_LOOP: mmi_lead_enter(e, MMI_OWNER_LOOP); break;
    case LEAVE: mmi_lead_leave(e); break;
    case POLL_BEGIN: mmi_lead_poll_begin(e, 7, true); break;
    case POLL_END: mmi_lead_poll_end(e); break;
    case KICK_TAKE_BACK: mmi_lead_kick(e, MMI_TAKE_BACK); break;
    case KICK_HELP: mmi_lead_kick(e, MMI_HELP); break;
    case KICK_POLL_NOW: mmi_lead_kick(e, MMI_POLL_NOW); break;
    case KICK_MAY_PARK: mmi_lead_kick(e, MMI_MAY_PARK); break;
    case HELPED: mmi_lead_helped(e); break;
    default: mmi_lead_interrupt(e); break;
    }
}

enum { R = 1, T = 2, L = 4, ANY = 7 };   /* owners */
enum { A = 1, P = 2, PL = 4 };           /* runners */
enum { OUT = 1, IN = 2, BOTH = 3 };      /* of poll */
enum { SAME = -1 };

typedef struct row {
    event event;
    int owners, runners, polls;
    uint32_t with, without;              /* in the mask */
    int owner, runner, in_poll;          /* then */
    uint32_t sets, clears;
    int rings, interrupts;
} row;

static const row ROWS[] = {
    { ENTER_THREAD, R, P, OUT, 0, MMI_TAKE_BACK, MMI_OWNER_THREAD, SAME, SAME, 0, 0, 0, 0 },
    { ENTER_LOOP, R, P, OUT, 0, MMI_TAKE_BACK, MMI_OWNER_LOOP, SAME, SAME, 0, 0, 0, 0 },
    { LEAVE, T | L, P, OUT, 0, 0, MMI_OWNER_RUNNER, SAME, SAME, 0, MMI_POLL_NOW, 0, 0 },
    { LEAVE, T | L, PL, OUT, 0, 0, MMI_OWNER_RUNNER, MMI_RUNNER_PARKED, SAME, 0, MMI_POLL_NOW, 1,
      0 },
    { POLL_BEGIN, ANY, ANY, OUT, 0, 0, SAME, SAME, true, 0, MMI_POLL_NOW, 0, 0 },
    { POLL_END, ANY, ANY, BOTH, 0, 0, SAME, SAME, false, 0, 0, 0, 0 },
    { KICK_TAKE_BACK, ANY, P | PL, BOTH, 0, MMI_TAKE_BACK, SAME, SAME, SAME, MMI_TAKE_BACK, 0, 1,
      0 },
    { KICK_HELP, ANY, P | PL, BOTH, 0, MMI_TAKE_BACK | MMI_HELP, SAME, SAME, SAME, MMI_HELP, 0, 1,
      0 },
    { KICK_POLL_NOW, ANY, ANY, IN, 0, 0, SAME, SAME, false, 0, 0, 0, 1 },
    { KICK_POLL_NOW, T | L, ANY, OUT, 0, 0, SAME, SAME, SAME, MMI_POLL_NOW, 0, 0, 0 },
    { KICK_MAY_PARK, ANY, A, BOTH, 0, 0, SAME, SAME, SAME, MMI_MAY_PARK, 0, 0, 0 },
    { HELPED, ANY, ANY, BOTH, 0, 0, SAME, SAME, SAME, 0, MMI_HELP, 0, 0 },
    { INTERRUPT, ANY, ANY, BOTH, 0, 0, SAME, SAME, false, 0, 0, 0, 1 },
};

static bool
fits(const row *row, const mmi_lead *p)
{
    return (row->owners & 1 << p->owner) != 0 && (row->runners & 1 << p->runner) != 0 &&
           (row->polls & (p->in_poll ? IN : OUT)) != 0 && (p->wake & row->with) == row->with &&
           (p->wake & row->without) == 0;
}

/* The row for that; NULL: nothing changes. */
static const row *
row_of(event event, const mmi_lead *p)
{
    for (size_t i = 0; i < MMI_COUNT_OF(ROWS); i++) {
        if (ROWS[i].event == event && fits(&ROWS[i], p)) {
            return &ROWS[i];
        }
    }
    return NULL;
}

/* As the law has it, said once more. */
static bool
possible(const mmi_lead *p)
{
    if (p->runner == MMI_RUNNER_ACTIVE) {
        return p->owner == MMI_OWNER_RUNNER && (p->wake & ~(uint32_t)MMI_MAY_PARK) == 0;
    }
    if (p->owner == MMI_OWNER_RUNNER) {
        return p->runner == MMI_RUNNER_PARKED && !p->in_poll &&
               (p->wake & (MMI_POLL_NOW | MMI_MAY_PARK)) == 0;
    }
    return (p->wake & MMI_MAY_PARK) == 0;
}

static mmi_engine *
engine_in(mmi_lead lead)
{
    static const mmi_engine none;
    engine = none;
    engine.plat.cpus = MANY_CPUS;
    engine.plat.notifier_ring = count_ring;
    engine.plat.interrupt = count_interrupt;
    engine.idle_notifier = IDLE;
    engine.park_notifier = PARK;
    engine.lead = lead;
    engine.outside = lead.owner != MMI_OWNER_RUNNER;
    runner_rung = idle_rung = interrupted = 0;
    return &engine;
}

/* Whether an event may come at all: nobody enters, leaves or polls but in its row. */
static bool
may_come(event event, const row *row)
{
    return row != NULL ||
           (event != ENTER_THREAD && event != ENTER_LOOP && event != LEAVE && event != POLL_BEGIN);
}

static void
check_event(mmi_lead before, event event)
{
    const row *row = row_of(event, &before);
    bool parked_poll = event == POLL_BEGIN && before.owner == MMI_OWNER_RUNNER &&
                       before.runner != MMI_RUNNER_ACTIVE;
    if (!may_come(event, row) || parked_poll) {
        return;
    }
    mmi_engine *e = engine_in(before);
    happen(e, event);
    mmi_lead_invariants(e);
    CHECK(possible(&e->lead));
    CHECK_INT(e->lead.owner, row != NULL && row->owner != SAME ? row->owner : (int)before.owner);
    CHECK_INT(e->lead.runner,
              row != NULL && row->runner != SAME ? row->runner : (int)before.runner);
    CHECK_INT(e->lead.in_poll, row != NULL && row->in_poll != SAME ? row->in_poll : before.in_poll);
    CHECK_INT(e->lead.wake, row != NULL ? (before.wake & ~row->clears) | row->sets : before.wake);
    CHECK_INT(runner_rung, row != NULL ? row->rings : 0);
    CHECK_INT(interrupted, row != NULL ? row->interrupts : 0);
    CHECK_INT(e->lead.leads - before.leads, event == ENTER_THREAD || event == ENTER_LOOP);
    CHECK_INT(e->outside, e->lead.owner != MMI_OWNER_RUNNER);
}

static void
test_every_event_in_every_state_does_what_its_row_says(void)
{
    int states = 0;
    for (int i = 0; i < 3 * 3 * 2 * WAKES; i++) {
        mmi_lead p = { .owner = (mmi_lead_owner)(i % 3),
                       .runner = (mmi_lead_runner)(i / 3 % 3),
                       .in_poll = i / 9 % 2 != 0,
                       .wake = (uint32_t)(i / 18),
                       .leads = 5 };
        if (!possible(&p)) {
            continue;
        }
        states++;
        for (int event = 0; event < EVENTS; event++) {
            check_event(p, (enum event)event);
        }
    }
    CHECK_INT(states, 4 + 4 + 2 * 2 * 2 * 8);
}

static void
test_who_leaves_while_the_engine_closes_tells_so(void)
{
    mmi_engine *e = engine_in((mmi_lead){ .owner = MMI_OWNER_THREAD, .runner = MMI_RUNNER_PARKED });
    e->closing = true;
    mmi_lead_leave(e);
    CHECK_INT(idle_rung, 1);
}

static void
test_nobody_is_woken_to_help_where_there_are_few_processors(void)
{
    mmi_engine *e = engine_in((mmi_lead){ .runner = MMI_RUNNER_PARKED });
    e->plat.cpus = 2;
    mmi_lead_kick(e, MMI_HELP);
    CHECK_INT(runner_rung, 0);
    CHECK_INT(e->lead.wake, 0);
}

static void
test_the_runner_may_park_after_quiet_waits_in_a_row(void)
{
    mmi_engine *e = engine_in((mmi_lead){ 0 });
    for (int i = 0; i < QUIET_WAITS; i++) {
        mmi_lead_waited(e, true, false, QUIET_MESSAGES);
        CHECK_INT(e->lead.wake, 0);
    }
    mmi_lead_waited(e, true, false, QUIET_MESSAGES);
    CHECK_INT(e->lead.wake, MMI_MAY_PARK);
    mmi_lead_runner_to(e, MMI_RUNNER_PARKED);
    CHECK_INT(e->lead.wake, 0);
    mmi_lead_waited(e, true, true, QUIET_MESSAGES);
    CHECK_INT(e->lead.wake, 0);
    mmi_lead_waited(e, true, true, QUIET_MESSAGES + 1);   /* much: the runner reads beside it */
    CHECK_INT(e->lead.wake, MMI_TAKE_BACK);
    mmi_lead_runner_to(e, MMI_RUNNER_ACTIVE);
    CHECK_INT(e->lead.wake, 0);
    CHECK_INT(e->lead.quiet, 0);
}

static void
test_a_wait_beside_another_takes_polling_back_only_from_who_led(void)
{
    mmi_engine *e = engine_in((mmi_lead){ .runner = MMI_RUNNER_PARKED, .quiet = QUIET_WAITS });
    mmi_lead_waited(e, false, false, 0);
    CHECK_INT(e->lead.wake, 0);
    CHECK_INT(e->lead.quiet, 0);
    mmi_lead_waited(e, false, true, 0);
    CHECK_INT(e->lead.wake, MMI_TAKE_BACK);
    CHECK_INT(runner_rung, 1);
}

/* What the runner becomes, for each look; - is either. */
static const struct {
    char leads, led, left, take_back, needed;
    mmi_lead_runner runner;
} LOOKS[] = {
    { 'y', 'n', '-', '-', '-', MMI_RUNNER_PARKED_LONG },   /* the same one, a whole period */
    { 'y', 'y', '-', 'n', '-', MMI_RUNNER_PARKED },        /* another */
    { 'y', '-', '-', 'y', '-', MMI_RUNNER_PARKED_LONG },   /* until it may take polling back */
    { 'n', '-', '-', 'y', '-', MMI_RUNNER_ACTIVE },        /* is asked to */
    { 'n', '-', '-', '-', 'y', MMI_RUNNER_ACTIVE },        /* somebody depends on it */
    { 'n', 'n', 'n', '-', '-', MMI_RUNNER_ACTIVE },        /* nobody came in a whole period */
    { 'n', 'y', '-', 'n', 'n', MMI_RUNNER_PARKED },        /* somebody did */
    { 'n', 'n', 'y', 'n', 'n', MMI_RUNNER_PARKED },        /* it has just left */
};

static bool
is(char wanted, bool so)
{
    return wanted == '-' || (wanted == 'y') == so;
}

static void
test_every_look_decides_as_its_row_says(void)
{
    const uint64_t now = 1000, timers[] = { now + 1, now + PARK_NS + 1, UINT64_MAX };
    for (int i = 0; i < 3 * 16 * 3; i++) {
        int yes = i / 3 % 16, found = 0;
        mmi_lead_inputs look = { .owner = (mmi_lead_owner)(i % 3),
                                 .take_back = (yes & 1) != 0,
                                 .led = (yes & 2) != 0,
                                 .left = (yes & 4) != 0,
                                 .needed = (yes & 8) != 0,
                                 .now_ns = now,
                                 .timer_ns = timers[i / 48] };
        bool leads = look.owner != MMI_OWNER_RUNNER;
        mmi_lead_next next = mmi_lead_decide(look);
        for (size_t j = 0; j < MMI_COUNT_OF(LOOKS); j++) {
            if (is(LOOKS[j].leads, leads) && is(LOOKS[j].led, look.led) &&
                is(LOOKS[j].left, look.left) && is(LOOKS[j].take_back, look.take_back) &&
                is(LOOKS[j].needed, look.needed)) {
                CHECK_INT(next.runner, LOOKS[j].runner);
                found++;
            }
        }
        CHECK(found > 0);
        uint64_t period = now + PARK_NS, timer = look.timer_ns;
        uint64_t until = next.runner == MMI_RUNNER_PARKED_LONG || timer < period ? timer : period;
        CHECK_INT(next.until_ns, next.runner == MMI_RUNNER_ACTIVE ? 0 : until);
    }
}

int
main(void)
{
    RUN(test_every_event_in_every_state_does_what_its_row_says);
    RUN(test_who_leaves_while_the_engine_closes_tells_so);
    RUN(test_nobody_is_woken_to_help_where_there_are_few_processors);
    RUN(test_the_runner_may_park_after_quiet_waits_in_a_row);
    RUN(test_a_wait_beside_another_takes_polling_back_only_from_who_led);
    RUN(test_every_look_decides_as_its_row_says);
    return 0;
}
