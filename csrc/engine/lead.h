/*
 * lead.h: who polls, as one state machine (leader and followers, see docs/words.md).  Normally the
 * runner does, the engine's own thread.  A lone caller that waits again and again for little each
 * time polls in its place, so that a message wakes the thread that wants it; the runner is parked
 * meanwhile.
 *
 * owner   who polls in the runner's place: RUNNER nobody; THREAD one in a call; LOOP an event loop.
 * runner  ACTIVE it polls; PARKED it sleeps, a period at most, and then looks whether somebody led;
 *         PARKED_LONG it sleeps until the one that leads has left.
 * in_poll whoever polls is there, and nobody interrupted it yet.
 * wake    why somebody is to come: TAKE_BACK the runner is to poll again; HELP it is to write beside
 *         a caller, and stays parked; POLL_NOW the next poll does not sleep, as the thread that
 *         leads was rung outside it; MAY_PARK the runner may leave polling to who waits.
 *
 * event          where                     what then
 * enter          RUNNER, PARKED            THREAD or LOOP; a lead more
 * leave          THREAD or LOOP            RUNNER; no POLL_NOW; PARKED_LONG: PARKED, rings the runner
 * poll_begin     who polls                 in_poll, and no POLL_NOW
 * poll_end       the same                  not in_poll
 * kick TAKE_BACK PARKED, PARKED_LONG       TAKE_BACK; rings the runner, the first time
 * kick HELP      the same, no TAKE_BACK    HELP; rings the runner, the first time
 * kick POLL_NOW  in_poll                   not in_poll; interrupts the poll
 * kick POLL_NOW  THREAD or LOOP            POLL_NOW
 * kick MAY_PARK  ACTIVE                    MAY_PARK
 * runner_to      as decide says            ACTIVE: no TAKE_BACK; no MAY_PARK in any case
 * An event elsewhere changes nothing; enter, leave and runner_to happen nowhere else.
 *
 * Not here: what depends on polling (wake/depends.c), how the runner sleeps (sched/runner.c) and
 * callers wait (sched/wait.c, sched/waker.c), whether they spin (wake/spin.h).
 * Law: nobody else writes mmi_lead; all calls with the engine's lock held, and none drops it; time
 * is an argument of decide.
 */
#ifndef MMI_LEAD_H
#define MMI_LEAD_H

#include <stdbool.h>
#include <stdint.h>

struct mmi_engine;
struct mmi_waker;

typedef enum mmi_lead_owner { MMI_OWNER_RUNNER, MMI_OWNER_THREAD, MMI_OWNER_LOOP } mmi_lead_owner;
typedef enum mmi_lead_runner { MMI_RUNNER_ACTIVE, MMI_RUNNER_PARKED, MMI_RUNNER_PARKED_LONG } mmi_lead_runner;

enum { MMI_TAKE_BACK = 1, MMI_HELP = 2, MMI_POLL_NOW = 4, MMI_MAY_PARK = 8 };

typedef struct mmi_lead {
    mmi_lead_owner owner;
    mmi_lead_runner runner;
    bool in_poll;
    bool paced;                /* that poll, or in simulation the time until the next, ends within MMI_PACE_US */
    uint32_t wake;             /* MMI_TAKE_BACK and so on  */
    uint32_t quiet;            /* waits of a lone caller in a row that brought little each */
    uint64_t leads;            /* times that somebody entered */
    uint64_t deadline_ns;      /* of the last poll */
    struct mmi_waker *loop;    /* whose descriptor tells of what poll would find, while parked; or NULL */
} mmi_lead;

/* What a parked runner, or one that is to park, goes by. */
typedef struct mmi_lead_inputs {
    mmi_lead_owner owner;
    bool take_back;
    bool led;                  /* somebody entered since it looked last */
    bool left;                 /* the one has left for whom it was PARKED_LONG */
    bool needed;               /* something depends on polling, and nobody leads */
    uint64_t now_ns, timer_ns; /* timer_ns: the next that is due */
} mmi_lead_inputs;

typedef struct mmi_lead_next {
    mmi_lead_runner runner;
    uint64_t until_ns;         /* it sleeps; of ACTIVE: 0 */
} mmi_lead_next;

mmi_lead_next mmi_lead_decide(mmi_lead_inputs in);

/* The runner is parked, is not to take polling back, and nobody leads. */
bool mmi_lead_vacant(const mmi_lead *p);
void mmi_lead_enter(struct mmi_engine *e, mmi_lead_owner who);
void mmi_lead_leave(struct mmi_engine *e);
void mmi_lead_kick(struct mmi_engine *e, uint32_t reason);   /* one of the mask */
void mmi_lead_interrupt(struct mmi_engine *e);               /* whoever sleeps in poll, once until it polls again */
void mmi_lead_poll_begin(struct mmi_engine *e, uint64_t deadline_ns, bool paced);
void mmi_lead_poll_end(struct mmi_engine *e);
void mmi_lead_runner_to(struct mmi_engine *e, mmi_lead_runner runner);
void mmi_lead_helped(struct mmi_engine *e);                  /* what HELP asked for is done */
void mmi_lead_join(struct mmi_engine *e, struct mmi_waker *loop);   /* NULL: none any more */
/* A wait has ended, in which so many messages came.  alone: nobody else depended on polling; led: it polled itself. */
void mmi_lead_waited(struct mmi_engine *e, bool alone, bool led, uint64_t messages);
void mmi_lead_busy(struct mmi_engine *e);                    /* there is much to read */
/* What is never so; looked at after each change in checked builds (MMI_CHECKED, base/base.h). */
void mmi_lead_invariants(const struct mmi_engine *e);

#endif
