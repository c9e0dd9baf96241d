/*
 * engine.h: the engine's state, and what everybody needs of it: its lock, clock, tags, notifiers.
 *
 * Not here: what it owns (socket, link, ends), and who does what when (sched).
 *
 * One mutex an engine covers everything in it; it is dropped around poll, wait, and the reads and
 * writes of links (ADR 8).  Work under it is bounded: MMI_LINK_STEP_BYTES a link and
 * step. Changes are noted while the lock is held (dirty links, touched sockets, dead links) and
 * settled once, by mmi_engine_settle, before it is released: flush, wake, free.  So nothing is
 * freed in the middle of a change, and nobody woken but between the reads or writes of much
 * (mmi_socket_update_early). Law: an engine struct is static memory and its lock is always valid.
 */
#ifndef MMI_ENGINE_H
#define MMI_ENGINE_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/limits.h"
#include "base/fair.h"
#include "base/list.h"
#include "base/arena.h"
#include "base/timer.h"
#include "engine/handle.h"
#include "engine/lead.h"
#include "engine/share.h"
#include "plat/plat.h"

/* What a poll event's tag or a timer leads to. */
typedef enum mmi_tag_kind { MMI_TAG_LINK = 1, MMI_TAG_LISTENER, MMI_TAG_DIALER } mmi_tag_kind;
typedef enum mmi_timer_kind {
    MMI_TIMER_LINK = 1,      /* handshake deadline, then heartbeat, then finishing */
    MMI_TIMER_DIALER,        /* next attempt                                       */
    MMI_TIMER_LISTENER,      /* accept again                                       */
    MMI_TIMER_LINGER,        /* a closed socket's end                              */
    MMI_TIMER_TICK,          /* the role has something to do                       */
    MMI_TIMER_EXPIRE,        /* messages may be of no use any more                 */
    MMI_TIMER_OVERDUE,       /* a peer may have had messages for too long          */
    MMI_TIMER_RETIRE,        /* a peer may have no more to say                     */
    MMI_TIMER_STOP,          /* it waits no longer for the last messages           */
    MMI_TIMER_DROPS          /* tell of the drops since the last event             */
} mmi_timer_kind;

typedef struct mmi_tag_entry {
    void *object;
    uint32_t generation, next_free, kind;
} mmi_tag_entry;

typedef struct mmi_engine {
    mmi_mutex lock;
    atomic_uint wanted;          /* threads that wait for the lock */
    atomic_uint handed;          /* times that one of them got it */
    bool open, closing, stop;    /* the first of what mmi_engine_take clears */
    mmi_lead lead;               /* who polls */
    mmi_share share;             /* of its time, for steps of handshakes */
    uint32_t burst_count;          /* links the last round wrote */
    uint32_t waiters, filenos;     /* calls that sleep; descriptors that users select on */
    uint32_t write_watches;        /* links that wait for room in the kernel */
    uint64_t parsed_messages;      /* by all links */
    int park_notifier;             /* a parked runner sleeps on it */
    mm_handle handle;
    mmi_plat plat;
    void *thread;                  /* NULL: stepped by the simulated world */
    uint64_t now_ns;               /* of this step or call                 */
    mmi_timers timers;
    mmi_list sockets;              /* open, and closed but lingering       */
    mmi_list dirty, touched, dead; /* links, sockets, links: to be settled */
    mmi_list deferring;              /* deferred fan-outs to materialize, see role/role.h */
    mmi_list bursts;               /* links that the runner writes every MMI_PACE_US */
    mmi_list parting;              /* links that are kept for their peers to read on, oldest first */
    uint32_t parting_count;
    mmi_list rung;                 /* listeners that poll cannot watch     */
    mmi_list wakers;               /* of event loops                       */
    mmi_list pollsets;               /* wakers that threads wait in          */
    mmi_list policies;             /* of its sockets: engine/policy.c      */
    struct mmi_vault *vault;       /* of its connections' keys: engine/policy.c; NULL: nobody asked */
    uint32_t secrets_lack;         /* MMI_LACKS_ bits, of policies */
    mmi_list told;                 /* sockets with events that nobody asked for yet */
    int events_notifier;           /* rung while there are some; -1: nobody wants to know */
    mmi_list ended;                /* what closed sockets dropped and nobody was told of: socket/ended.h */
    uint32_t ended_count;
    bool ended_awaited;            /* who looked wants to know when nothing is left to wait for */
    uint64_t ended_unlisted;       /* messages of drops that there was no room for in that list */
    uint32_t lingering;            /* closed sockets that may still drop something */
    mmi_fair questions;            /* links that ask, and whose question nobody took yet; by address */
    int questions_notifier;        /* rung while there are some; -1: nobody wants to know */
    mmi_tag_entry *tags;
    uint32_t tag_count, tag_cap, tag_first_free;
    int *notifiers;                /* a stack of idle ones                 */
    uint32_t notifier_count, notifier_cap;
    int idle_notifier;             /* rung when closing and nothing is left, or nobody is outside */
    uint32_t outside;              /* callers that wait without the lock   */
    uint64_t abandoned_messages;   /* that closed sockets dropped, and nobody was told of */
    mmi_arena *arena;              /* that the next read fills             */
    char features[MMI_FEATURES_MAX + 1];   /* that its connections say; "": none, as who is not of meshmsg */
    bool mute_limits;              /* they say nothing of what they take, but as features do */
} mmi_engine;

/* A free engine, locked and marked open, all else 0; NULL: too many. */
mmi_engine *mmi_engine_take(void);
/* Takes its lock.  For who takes it over and over: whoever waits for it now gets it first, once; a thread that lets go
 * of a lock and takes it at once would else keep it from one that has yet to wake up. */
void mmi_engine_lock(mmi_engine *e);
void mmi_engine_lock_last(mmi_engine *e);
/* Around a system call that needs nothing of the engine but its platform. */
void mmi_engine_unlock(mmi_engine *e);
void mmi_engine_relock(mmi_engine *e);               /* and the clock is read */
void mmi_engine_refresh(mmi_engine *e);              /* now_ns from the clock */
uint32_t mmi_engine_random(mmi_engine *e);

int mmi_tag_new(mmi_engine *e, mmi_tag_kind kind, void *object, uint64_t *tag) MMI_WARN_UNUSED;
void mmi_tag_free(mmi_engine *e, uint64_t tag);      /* 0 is fine */
void *mmi_tag_find(const mmi_engine *e, uint64_t tag, mmi_tag_kind *kind);   /* NULL: gone */

int mmi_notifier_take(mmi_engine *e, int *notifier) MMI_WARN_UNUSED;   /* MM_EMFILE */
void mmi_notifier_give(mmi_engine *e, int notifier);                    /* cleared */
/* Waits without the lock; it is held again on return. */
int mmi_engine_wait(mmi_engine *e, int notifier, uint64_t deadline_ns);

/* A copy of such a policy, the same for the same octets, until the engine is gone, where secrets are kept.  NULL: no
 * memory. */
const void *mmi_engine_policy(mmi_engine *e, const void *data, size_t size);
void mmi_engine_forget_policies(mmi_engine *e);      /* and the vault, and wipes them */
/* Where keys of its connections are kept, until the engine is gone.  NULL: no memory. */
struct mmi_vault *mmi_engine_vault(mmi_engine *e) MMI_WARN_UNUSED;
uint32_t mmi_engine_secrets_lack(const mmi_engine *e);   /* of all that */

/* now + ms, saturating; ms < 0: never. */
uint64_t mmi_deadline(uint64_t now_ns, int64_t ms);

/* For fork.c: every engine's lock, in order; and what a child does. */
void mmi_engines_lock(void);
void mmi_engines_unlock(void);
void mmi_engines_after_fork(void);

#endif
