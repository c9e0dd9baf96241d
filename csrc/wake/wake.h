/*
 * wake.h: who waits, and how it is rung: threads in calls, pollsets: sockets that a thread waits
 * in, event loops, and the runner.
 *
 * Not here: what they wait for (socket/ready.c), how they wait (sched).
 * Law: all calls with the engine lock held; to ring never waits.
 */
#ifndef MMI_WAKE_H
#define MMI_WAKE_H

#include "wake/spin.h"
#include "wake/waiter.h"

typedef struct mmi_waker {
    mmi_list node;         /* engine->wakers, or engine->groups */
    mm_handle handle;
    int notifier;
    int outlook;           /* what its loop watches; -1: the notifier */
    bool rung;             /* the notifier is */
    bool taking;           /* its loop polls at this moment, and then looks at ready by itself */
    uint64_t parsed;       /* engine->parsed_messages when ready was taken from last */
    mmi_list watches;      /* all of this waker's */
    mmi_list ready;        /* those that fired and were not taken */
    struct mmi_pollset *pollset;   /* whose this is: then there are no descriptors; NULL: a loop's */
} mmi_waker;

/* Several sockets that one thread at a time waits for, in a call. */
typedef struct mmi_pollset {
    mmi_waker waker;
    mmi_list given;        /* watches told of last time: looked at again by the next call */
    mmi_waiter *waiter;    /* who waits now; NULL: nobody */
    uint32_t spin_us;      /* the least of its sockets' */
    int fileno;            /* rung when one becomes ready after a poll; -1: nobody asked for it */
    bool fileno_rung;
    mmi_spin spin;
} mmi_pollset;

typedef struct mmi_watch {
    mmi_list socket_node, waker_node, ready_node;
    mmi_waker *waker;
    mm_handle socket;
    uint32_t wanted, fired;
    uint32_t asked;                /* of a pollset: what is wanted again by each poll */
    bool closed;
} mmi_watch;

/* wake/wake.c */
void mmi_watch_fire(mmi_engine *e, mmi_watch *watch, uint32_t fired);
void mmi_watch_free(mmi_watch *watch);                   /* it is over */
void mmi_waker_ring(mmi_engine *e, mmi_waker *w);        /* something is ready */
void mmi_pollset_ring(mmi_engine *e, mmi_pollset *g);

/* wake/depends.c */
bool mmi_runner_needed(const mmi_engine *e);         /* something depends on polling, nobody leads */
/* The one event loop there is, if it sees what poll would find; NULL: none, or several. */
mmi_waker *mmi_waker_alone(const mmi_engine *e);
bool mmi_waker_lone(const mmi_engine *e, const mmi_waker *w);   /* and nothing else waits */

#endif
