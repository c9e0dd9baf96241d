/*
 * engine.h: the engine owns sockets, links, endpoints and timers, and steps them.
 *
 * One mutex an engine covers everything in it; it is dropped only around poll and wait.  Work under
 * it is bounded: MMI_LINK_STEP_BYTES a link and step.  Changes are noted while the lock is held
 * (dirty links, touched sockets, dead links) and settled once, by mmi_engine_settle, before it is
 * released: flush, wake, free.  So nothing is freed or woken in the middle of a change.
 * Law: an engine struct is static memory and its lock is always valid.
 */
#ifndef MMI_ENGINE_H
#define MMI_ENGINE_H

#include "base/limits.h"
#include "base/list.h"
#include "base/timer.h"
#include "engine/handle.h"
#include "plat/plat.h"

/* What a poll event's tag or a timer leads to. */
typedef enum mmi_tag_kind { MMI_TAG_LINK = 1, MMI_TAG_LISTENER, MMI_TAG_DIALER } mmi_tag_kind;
typedef enum mmi_timer_kind {
    MMI_TIMER_LINK = 1,      /* handshake deadline, then heartbeat, then finishing */
    MMI_TIMER_DIALER,        /* next attempt                                       */
    MMI_TIMER_LISTENER,      /* accept again                                       */
    MMI_TIMER_LINGER,        /* a closed socket's end                              */
    MMI_TIMER_TICK,          /* the role has something to do                       */
    MMI_TIMER_DROPS          /* tell of the drops since the last event             */
} mmi_timer_kind;

typedef struct mmi_tag_entry {
    void *object;
    uint32_t generation, next_free, kind;
} mmi_tag_entry;

typedef struct mmi_engine {
    mmi_mutex lock;
    bool open, closing, stop, polling;
    mm_handle handle;
    mmi_plat plat;
    void *thread;                  /* NULL: stepped by the simulated world */
    uint64_t now_ns;               /* of this step or call                 */
    uint64_t poll_deadline_ns;     /* until when the runner sleeps         */
    mmi_timers timers;
    mmi_list sockets;              /* open, and closed but lingering       */
    mmi_list dirty, touched, dead; /* links, sockets, links: to be settled */
    mmi_list inproc;               /* listeners that poll cannot watch     */
    mmi_list wakers;
    mmi_tag_entry *tags;
    uint32_t tag_count, tag_cap, tag_first_free;
    int *notifiers;                /* a stack of idle ones                 */
    uint32_t notifier_count, notifier_cap;
    int idle_notifier;             /* rung when closing and nothing is left, or nobody is outside */
    uint32_t outside;              /* callers that wait without the lock   */
    uint64_t abandoned_messages;
    uint8_t *in_buf, *out_buf;     /* MMI_IO_BUFFER_SIZE each              */
} mmi_engine;

/* Opens an engine over a platform, which it then owns (also on failure). */
int mmi_engine_open(mmi_plat *plat, mm_handle *out) MMI_WARN_UNUSED;
/* Lock held on entry, released on return. */
int mmi_engine_close(mmi_engine *e, int64_t timeout_ms, uint64_t *abandoned);
/* One poll, then each ready link, then timers.  wait: until something happens, else at once. */
void mmi_engine_step(mmi_engine *e, bool wait);
void mmi_engine_step_now(void *engine);              /* for the simulated world */
/* Flush what is due, tell who waits, free what is dead.  runner: flush everything. */
void mmi_engine_settle(mmi_engine *e, bool runner);
void mmi_engine_leave(mmi_engine *e);                /* settle as a caller, then unlock */
void mmi_engine_refresh(mmi_engine *e);              /* now_ns from the clock */
uint32_t mmi_engine_random(mmi_engine *e);

int mmi_tag_new(mmi_engine *e, mmi_tag_kind kind, void *object, uint64_t *tag) MMI_WARN_UNUSED;
void mmi_tag_free(mmi_engine *e, uint64_t tag);      /* 0 is fine */
void *mmi_tag_find(const mmi_engine *e, uint64_t tag, mmi_tag_kind *kind);   /* NULL: gone */

int mmi_notifier_take(mmi_engine *e, int *notifier) MMI_WARN_UNUSED;   /* MM_EMFILE */
void mmi_notifier_give(mmi_engine *e, int notifier);                    /* cleared */
/* Waits without the lock; it is held again on return. */
int mmi_engine_wait(mmi_engine *e, int notifier, uint64_t deadline_ns);

/* now + ms, saturating; ms < 0: never. */
uint64_t mmi_deadline(uint64_t now_ns, int64_t ms);

/* For fork.c: every engine's lock, in order; and what a child does. */
void mmi_engines_lock(void);
void mmi_engines_unlock(void);
void mmi_engines_after_fork(void);

#endif
