/*
 * sched.h: who does what when: a turn, writing and waking at its end, waiting, and the runner.
 *
 * Not here: who is rung, and how (wake), what is done (link, ends).
 * Law: all calls with the engine lock held; those that drop it say so.
 */
#ifndef MMI_SCHED_H
#define MMI_SCHED_H

#include "socket/socket.h"

/* sched/life.c */
/* Opens an engine over a platform, which it then owns (also on failure). */
int mmi_engine_open(mmi_plat *plat, mm_handle *out) MMI_WARN_UNUSED;
/* Lock held on entry, released on return. */
/* What closed sockets dropped and nobody was told of: the messages, and as many of the entries as
 * there is room for. */
struct mm_ended;
typedef struct mmi_engine_lost {
    uint64_t messages;
    struct mm_ended *ended;
    uint32_t cap, count;
} mmi_engine_lost;
int mmi_engine_close(mmi_engine *e, int64_t timeout_ms, mmi_engine_lost *lost);

/* sched/turn.c */
/* One poll, no longer than until_ns, then each ready link, then timers.  The lock is held, and
 * dropped for the poll.  One thread at a time: the runner, or who leads. */
void mmi_engine_turn(mmi_engine *e, uint64_t until_ns);
void mmi_engine_step_now(void *engine);              /* for the simulated world */

/* sched/flush.c */
/* Flush what is due, tell who waits, free what is dead.  runner: flush everything. */
void mmi_engine_settle(mmi_engine *e, bool runner);
void mmi_settle_beside(mmi_engine *e);               /* as one that helps who settles */
void mmi_engine_flush_now(mmi_engine *e);                /* the next settle writes what is in a burst */
/* The runner's round through the links in a burst. */
void mmi_settle_bursts(mmi_engine *e);
/* Some links wait for the next round, not for the kernel; or sockets with a deferred fan-out for the next turn. */
bool mmi_settle_paced(const mmi_engine *e);
void mmi_engine_leave(mmi_engine *e);                /* settle as a caller, then unlock */
bool mmi_engine_leaves_quick(const mmi_engine *e);   /* there is nothing to settle */
void mmi_engine_leave_quick(mmi_engine *e);          /* nothing was noted: unlock.  Else the same */
bool mmi_engine_done(const mmi_engine *e);           /* no socket, or their lingers are over */
/* What waits for the runner's next round is to be written by the next settle. */
void mmi_socket_flush_now(mmi_socket *s);

/* sched/runner.c */
/* The runner leaves polling to who waits, with the lock dropped; returns when it is to poll again. */
void mmi_runner_park(mmi_engine *e);
void mmi_runner_part(mmi_engine *e);                 /* no loop's descriptor tells for it any more */

/* sched/wait.c */
/* Settles, and waits with the lock dropped until it is rung, closed or too late; gives what
 * mmi_socket_wait gives.  MM_ECLOSED: what it waited for is gone, else its caller takes it off. */
int mmi_waiter_wait(mmi_engine *e, mmi_waiter *w, uint64_t deadline_ns,
                    int64_t slice_ms) MMI_WARN_UNUSED;
/* How long a wait spins; and, when it is over, what is learned from it: messages came so far. */
void mmi_waiter_spin(const mmi_engine *e, mmi_waiter *w, uint32_t spin_us, const mmi_spin *spin);
void mmi_waiter_learn(const mmi_engine *e, const mmi_waiter *w, mmi_spin *spin, uint64_t messages);
/* Waits for events with the lock dropped.  MM_OK: look again; MM_ECLOSED: s is gone, do not touch
 * it; MM_ETIMEDOUT; MM_EINTR (signal, or slice over).  MM_EMFILE: no notifier.  deadline_ns
 * absolute. */
int mmi_socket_wait(mmi_socket *s, uint32_t events, uint64_t key, uint64_t deadline_ns,
                    int64_t slice_ms) MMI_WARN_UNUSED;

/* sched/waker.c */
int mmi_waker_open(mmi_engine *e, mmi_waker **out) MMI_WARN_UNUSED;
void mmi_waker_close(mmi_engine *e, mmi_waker *w);
/* Which of the events are so already, and told at once; MM_ENOMEM. */
int mmi_waker_watch(mmi_waker *w, mmi_socket *s, uint32_t events) MMI_WARN_UNUSED;
/* Polls first, in the runner's place, if that is parked for this loop.  The lock is dropped for it.
 * Count, or MM_ECLOSED: the waker was closed meanwhile. */
int mmi_waker_take(mmi_engine *e, mmi_waker *w, mm_ready *out, uint32_t cap);

/* sched/pollset.c */
int mmi_pollset_open(mmi_engine *e, mmi_pollset **out) MMI_WARN_UNUSED;
void mmi_pollset_close(mmi_engine *e, mmi_pollset *g);
/* In place of what was asked of it before. MM_EINVAL, MM_ENOTSUP, MM_ENOMEM */
int mmi_pollset_add(mmi_pollset *g, mmi_socket *s, uint32_t events) MMI_WARN_UNUSED;
int mmi_pollset_fileno(mmi_engine *e, mmi_pollset *g, int *fd) MMI_WARN_UNUSED;   /* MM_EMFILE */
void mmi_pollset_rm(mmi_engine *e, mmi_pollset *g, mm_handle socket);
/* How many can be received from, or were closed; waits for one with the lock dropped.  MM_ESTATE:
 * another thread waits here; MM_ECLOSED: g is gone; MM_EAGAIN, MM_ETIMEDOUT, MM_EINTR, MM_EMFILE.
 */
int mmi_pollset_poll(mmi_engine *e, mmi_pollset *g, mm_ready *out, uint32_t cap, int64_t timeout_ms,
                   int64_t slice_ms);

#endif
