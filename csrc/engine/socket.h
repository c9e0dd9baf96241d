/*
 * socket.h: what a user opens: a protocol role over links, with endpoints, waiters, counters,
 * events.
 *
 * Not here: bytes (link), where peers are (endpoint).  All calls with the engine lock held.
 * Law: a closed socket has no handle, takes and gives no message, and lives on only until its links
 * have flushed or its linger is over.
 */
#ifndef MMI_SOCKET_H
#define MMI_SOCKET_H

#include "engine/engine.h"
#include "sched/spin.h"
#include "role/role.h"

enum {
    /* Internal, news rather than a level: some outbox was emptied a little; one that a sender lets
     * drain is down to a little. */
    MMI_ROOM = 16,
    MMI_EASED = 32,
    MMI_SOCKET_EVENTS_MAX = 256, /* events remembered */
    MMI_SOCKET_DROPS_MAX = 4     /* causes of drops that wait to be told; one more: all are, now */
};

/* Messages dropped for one cause, that no event has told of yet. */
typedef struct mmi_socket_drops {
    const char *why;
    uint64_t count, peer;  /* peer: of the last one */
} mmi_socket_drops;

/* A thread blocked in a call, for a socket or for those of a group; lives on its stack. */
typedef struct mmi_waiter {
    mmi_list node;
    uint32_t events; /* MM_READABLE: one is woken; news (MM_PEERS, MM_DRAINED, MMI_ROOM): all are */
    uint64_t key;          /* waits for the reply to this request; 0: for no reply */
    bool rung, closed;
    bool interrupted;      /* rung so that its caller looks at what it holds itself */
    bool counted;          /* in engine->waiters: not woken yet */
    bool leading;          /* it polls, and does not sleep on its notifier */
    bool receives;         /* only then it may poll */
    bool alone, led;       /* nobody else depended on polling; it polled */
    int notifier;
    bool learns;           /* how long it spins is left to us */
    uint64_t spin_ns;
    uint64_t waited_ns;    /* if it polled */
    uint64_t stall_ns;     /* for so long it was kept from that: others want the core */
} mmi_waiter;

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
    struct mmi_group *group;   /* whose this is: then there are no descriptors; NULL: a loop's */
} mmi_waker;

/* Several sockets that one thread at a time waits for, in a call. */
typedef struct mmi_group {
    mmi_waker waker;
    mmi_list given;        /* watches told of last time: looked at again by the next call */
    mmi_waiter *waiter;    /* who waits now; NULL: nobody */
    uint32_t spin_us;      /* the least of its sockets' */
    int fileno;            /* rung when one becomes ready after a poll; -1: nobody asked for it */
    bool fileno_rung;
    mmi_spin spin;
} mmi_group;

typedef struct mmi_watch {
    mmi_list socket_node, waker_node, ready_node;
    mmi_waker *waker;
    mm_handle socket;
    uint32_t wanted, fired;
    uint32_t asked;                /* of a group: what is wanted again by each poll */
    bool closed;
} mmi_watch;

typedef struct mmi_socket {
    mmi_list node, touched, lagging;
    mmi_list told;                 /* engine->told */
    mmi_engine *engine;
    mm_handle handle;              /* 0 once closed */
    const mmi_proto_ops *ops;
    void *state;                   /* of the role */
    mmi_proto_host host;
    mm_socket_opts opts;
    mm_stats stats;                /* counters; what is "now" is computed when asked */
    uint64_t unconfirmable_gone;   /* messages written to peers that cannot confirm, and are gone */
    mmi_list dialers, listeners, links;
    uint32_t peer_count, half_open, accepted;
    mmi_list stop_ended;           /* asked to stop, and ended since: stop.c */
    uint32_t stop_ended_count;
    uint64_t stop_unlisted;        /* of those that had not answered, the ones there was no room for */
    uint32_t refusing;             /* accepted over the limit, to be told so; not in accepted */
    mmi_list waiters, watches;
    uint64_t last_flush_ns;        /* of any of its links */
    mmi_spin spin;                 /* of receives */
    uint32_t pins;                 /* calls that dropped the lock and come back to it */
    uint32_t news;                 /* bits since the last update */
    bool closing;
    bool ended;                    /* closed, and its linger is over: it waits for its links */
    bool packs;                    /* what is sent is encoded at once, see mmi_proto_ops.packs */
    int fileno;                    /* -1: nobody asked */
    bool fileno_rung;
    bool held;                     /* the caller has received messages that it did not give out */
    mm_event *events;
    uint32_t event_cap;
    uint64_t event_seq;            /* of the newest; 0: none yet */
    mmi_socket_drops drops[MMI_SOCKET_DROPS_MAX];   /* not told yet, from the first place on */
    uint64_t drops_event_ns;
    mmi_timer linger_timer, drops_timer, tick_timer, stop_timer;
} mmi_socket;

int mmi_socket_open(mmi_engine *e, int role, const mm_socket_opts *opts,
                    mmi_socket **out) MMI_WARN_UNUSED;
void mmi_socket_close(mmi_socket *s);              /* starts the linger */
/* stop.c.  Takes no new peers, and asks those it has to send nothing more, until then.  MM_ENOMEM:
 * there is no timer, it waits for nobody. */
int mmi_socket_stop(mmi_socket *s, uint64_t deadline_ns) MMI_WARN_UNUSED;
void mmi_socket_stop_late(mmi_socket *s);
bool mmi_socket_stopped(const mmi_socket *s);      /* all that comes has come */
/* What became of all that were asked, those that ended since first; count of all. */
uint32_t mmi_stop_look(const mmi_socket *s, mm_peer *out, uint32_t cap);
void mmi_stop_fini(mmi_socket *s);
void mmi_socket_reap(mmi_socket *s);               /* frees a closed socket whose links are gone */
void mmi_socket_tick(mmi_socket *s); /* the role does what is due, and says when next */
void mmi_socket_end(mmi_socket *s); /* the linger is over: what is not written is abandoned */
void mmi_socket_cut(mmi_socket *s); /* and what the peer has not read, too: the engine goes */
void mmi_socket_touch(mmi_socket *s);              /* readiness may have changed: settle looks */
void mmi_socket_update(mmi_socket *s);             /* settle: wakes who is due */
/* The same before the settle, in the midst of much to read or write, for threads that wait in a call
 * on the socket. */
void mmi_socket_update_early(mmi_socket *s);
void mmi_socket_interrupt(mmi_socket *s);          /* who waits to receive ends its wait */
void mmi_socket_note(mmi_socket *s, uint32_t news);
/* What waits for the runner's next round is to be written by the next settle. */
void mmi_socket_hurry(mmi_socket *s);
uint32_t mmi_socket_ready(const mmi_socket *s);

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

void mmi_waiter_ring(mmi_engine *e, mmi_waiter *w);

/* Events.  endpoint (ours), address (the peer's) and detail may be NULL. */
void mmi_socket_event(mmi_socket *s, int kind, int reason, uint64_t peer, uint64_t count,
                      const char *endpoint, const char *address, const char *detail);
/* events.c: one descriptor an engine for who is told of new events.  MM_ESTATE: it is open. */
int mmi_events_open(mmi_engine *e, int *fd) MMI_WARN_UNUSED;
int mmi_events_take(mmi_engine *e, mm_handle *out, uint32_t cap);
void mmi_events_close(mmi_engine *e);              /* rings it first */
/* The event of that number, if it is still there, was the end of an attempt: when the next one is. */
void mmi_socket_event_retry(mmi_socket *s, uint64_t seq, uint64_t delay_ns);
void mmi_socket_tell_drops(mmi_socket *s);         /* the pending DROPPED events */
void mmi_proto_event(mmi_proto_host *host, int kind, int reason, uint64_t peer, uint64_t count,
                     const char *detail);

/* sched/waker.c */
int mmi_waker_open(mmi_engine *e, mmi_waker **out) MMI_WARN_UNUSED;
void mmi_waker_close(mmi_engine *e, mmi_waker *w);
/* Which of the events are so already, and told at once; MM_ENOMEM. */
int mmi_waker_watch(mmi_waker *w, mmi_socket *s, uint32_t events) MMI_WARN_UNUSED;
/* Polls first, in the runner's place, if that is parked for this loop.  The lock is dropped for it.
 * Count, or MM_ECLOSED: the waker was closed meanwhile. */
int mmi_waker_take(mmi_engine *e, mmi_waker *w, mm_ready *out, uint32_t cap);
void mmi_socket_fire(mmi_socket *s, uint32_t ready);   /* watches and fileno */
void mmi_socket_unwatch(mmi_socket *s);                /* at close: every watch says closed */
int mmi_socket_fileno(mmi_socket *s, int *fd) MMI_WARN_UNUSED;

/* What else sched/waker.c and sched/pollset.c share: a watch is over; the news are passed on. */
void mmi_watch_free(mmi_watch *watch);
void mmi_group_ring(mmi_engine *e, mmi_group *g);

/* sched/pollset.c */
int mmi_group_open(mmi_engine *e, mmi_group **out) MMI_WARN_UNUSED;
void mmi_group_close(mmi_engine *e, mmi_group *g);
/* In place of what was asked of it before. MM_EINVAL, MM_ENOTSUP, MM_ENOMEM */
int mmi_group_add(mmi_group *g, mmi_socket *s, uint32_t events) MMI_WARN_UNUSED;
int mmi_group_fileno(mmi_engine *e, mmi_group *g, int *fd) MMI_WARN_UNUSED;   /* MM_EMFILE */
void mmi_group_rm(mmi_engine *e, mmi_group *g, mm_handle socket);
/* How many can be received from, or were closed; waits for one with the lock dropped.  MM_ESTATE:
 * another thread waits here; MM_ECLOSED: g is gone; MM_EAGAIN, MM_ETIMEDOUT, MM_EINTR, MM_EMFILE.
 */
int mmi_group_poll(mmi_engine *e, mmi_group *g, mm_ready *out, uint32_t cap, int64_t timeout_ms,
                   int64_t slice_ms);

/* engine/inspect.c */
void mmi_socket_stats_now(mmi_socket *s, mm_stats *out);
uint32_t mmi_socket_peers(mmi_socket *s, mm_peer *out, uint32_t cap);
uint32_t mmi_socket_attempts(mmi_socket *s, mm_attempt *out, uint32_t cap);   /* count of all */
uint32_t mmi_socket_events(mmi_socket *s, uint64_t from_seq, mm_event *out, uint32_t cap,
                           uint64_t *next_seq);
bool mmi_socket_drain_look(mmi_socket *s, mm_drain_info *info); /* true: nothing left to wait for */
bool mmi_socket_subscribed_look(mmi_socket *s, mm_subscribed_info *info);   /* the same */

#endif
