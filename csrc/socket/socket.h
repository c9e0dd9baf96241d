/*
 * socket.h: what a user opens: a protocol role over links, with endpoints, waiters, counters,
 * events.
 *
 * Not here: its life and where its peers are (ends), bytes (link), waiting (sched).  All calls with
 * the engine lock held.
 * Law: a closed socket has no handle, takes and gives no message, and lives on only until its links
 * have flushed or its linger is over.
 */
#ifndef MMI_SOCKET_H
#define MMI_SOCKET_H

#include "base/limits.h"
#include "role/role.h"
#include "wake/wake.h"
#include "wire/applicant.h"

enum {
    /* Internal, news rather than a level: some outbox was emptied a little; one that a sender lets
     * drain is down to a little. */
    MMI_ROOM = 16,
    MMI_UNTHROTTLED = 32,
    /* No news, but with MM_DRAINED in a wait: it is for receipts, which come as messages do, so that
     * who waits may poll itself. */
    MMI_RECEIPTS = 64,
    MMI_SOCKET_EVENTS_MAX = 256, /* events remembered */
    MMI_SOCKET_REPEATS_MAX = 8,  /* events that may repeat and are remembered */
    MMI_SOCKET_DROPS_MAX = 4     /* causes of drops that wait to be told; one more: all are, now */
};

/* An event that was told, and how often it has happened since. */
typedef struct mmi_socket_repeat {
    uint64_t seq, told_ns, count;
} mmi_socket_repeat;

/* Messages dropped for one cause, that no event has told of yet. */
typedef struct mmi_socket_drops {
    int kind;              /* MM_EVENT_DROPPED, MM_EVENT_NOT_RETAINED, MM_EVENT_SPOOL_REMOVED, MM_EVENT_UNSENDABLE */
    const char *why;
    uint64_t count, peer;  /* peer: of the last one */
} mmi_socket_drops;

/* Why a closed socket did not write what was queued. */
typedef enum mmi_end_why {
    MMI_END_NO_PEER,     /* there was none when it was closed            */
    MMI_END_PEER_GONE,   /* the last one went while it lingered          */
    MMI_END_LINGER,      /* the linger was over                          */
    MMI_END_ENGINE,      /* its engine was closed, and its time was over */
    MMI_END_WHYS
} mmi_end_why;

typedef struct mmi_socket_end_drops {
    mm_handle handle;              /* that it had */
    mmi_end_why why;               /* of what is dropped from now on */
    bool told;                     /* nothing more is dropped, and what was is in engine->ended */
    char *endpoint;                /* its first; NULL: none, or no memory */
    uint64_t messages[MMI_END_WHYS], bytes[MMI_END_WHYS];
} mmi_socket_end_drops;

struct mmi_socket;
struct mmi_dialer;

/* What the rooms below need at once of those above; ends/socket.c sets it. */
typedef struct mmi_socket_ends {
    bool (*stopped)(const struct mmi_socket *s);   /* it stops receiving: all that comes has come */
    bool (*ended)(const struct mmi_socket *s);     /* those who send to it have sent all */
    void (*link_ended)(struct mmi_dialer *d, uint64_t lived_ns, int reason);   /* dial again */
} mmi_socket_ends;

typedef struct mmi_socket {
    mmi_list node, touched, deferring;
    mmi_list told;                 /* engine->told */
    mmi_engine *engine;
    mm_handle handle;              /* 0 once closed */
    const mmi_proto_ops *ops;
    void *state;                   /* of the role */
    mmi_proto_host host;
    const mmi_socket_ends *ends;
    mm_socket_opts opts;
    mm_stats stats;                /* counters; what is "now" is computed when asked */
    uint64_t unconfirmable_gone;   /* messages written to peers that cannot confirm, and are gone */
    mmi_list dialers, listeners, links;
    uint32_t peer_count, half_open, accepted;
    mmi_list stop_ended;           /* asked to stop, and ended since: link/stopped.c */
    uint32_t stop_ended_count;
    uint64_t ends_came;            /* peers that said END */
    uint64_t stop_unlisted;        /* of those that had not answered, the ones there was no room for */
    uint32_t refusing;             /* accepted over the limit, to be told so; not in accepted */
    mmi_list waiters, watches;
    uint64_t last_flush_ns;        /* of any of its links */
    mmi_spin spin;                 /* of receives */
    uint32_t pins;                 /* calls that dropped the lock and come back to it */
    uint32_t news;                 /* bits since the last update */
    bool closing;
    bool ended;                    /* closed, and its linger is over: it waits for its links */
    mmi_socket_end_drops end;      /* what it dropped since it was closed: socket/ended.h */
    const struct mmi_mechanism *mechanism;   /* of its greetings; NULL: none */
    const void *mechanism_config;            /* the mechanism's; outlives the engine */
    const struct mmi_mechanism *outer;       /* that comes before its wire's hello; NULL: none does */
    const void *outer_config;                /* likewise */
    mmi_allow allow;                         /* the lists of who may come in; NULL: there are none */
    const void *allow_config;                /* theirs; outlives the links */
    struct mmi_allowed *allowed;             /* socket/allowed.h; NULL: it never had a list */
    const struct mmi_users *users;           /* ends/user.c; NULL: our own; outlives the socket */
    uint32_t asked;                          /* questions that were taken and have no answer */
    uint32_t allow_timeout_ms;               /* for an answer of who is asked, where lists have none */
    uint8_t producer[MMI_PRODUCER_SIZE];   /* what it is called where its messages are acknowledged, or numbered */
    char features[MMI_FEATURES_MAX + 1];   /* that its connections say; "": those of its engine */
    struct mmi_resume *resume;       /* SUB that wants a replay: socket/resume.h; or NULL */
    char member_of[MMI_GROUP_NAME_MAX + 1];   /* SUB: its group at each publisher; "": none */
    struct mmi_group *group;         /* it is one at a PUB: socket/group.h; else NULL */
    /* PUB that keeps groups, else NULL: the one of that name, which is made if need be.  MM_ENOTSUP: it is closed;
     * MM_ESTATE: there are too many; MM_ENOMEM. */
    int (*find_group)(struct mmi_socket *home, const char *name, struct mmi_socket **out);
    mmi_list groups;                 /* PUB: its groups */
    uint64_t dead_before;            /* PUB: dead letters of groups that were closed */
    uint32_t behind;                 /* PUB: sockets of its groups that are in memory, also closed ones */
    bool segments;                    /* what is sent is encoded at once, see mmi_proto_ops.segments */
    int fileno;                    /* -1: nobody asked */
    bool fileno_rung;
    bool unclaimed;                /* the caller has received messages that it did not give out */
    mm_event *events;
    uint32_t event_cap;
    uint64_t event_seq;            /* of the newest; 0: none yet */
    mmi_socket_drops drops[MMI_SOCKET_DROPS_MAX];   /* not told yet, from the first place on */
    uint64_t drops_event_ns;
    mmi_socket_repeat repeats[MMI_SOCKET_REPEATS_MAX];
    mmi_timer linger_timer, drops_timer, tick_timer, stop_timer, expire_timer;
    bool expiring;                 /* expire_timer is set: there may be messages that expire */
} mmi_socket;

/* What comes is acknowledged, where its sender asks for it. */
static inline bool
mmi_socket_acks(const mmi_socket *s)
{
    return s->ops->acks && (s->ops->subscribe == NULL || s->member_of[0] != '\0');
}

/* socket/expire.c */
void mmi_socket_expiring(mmi_socket *s);   /* a message that expires was accepted */
/* So many were taken out of what that pipe has (NULL: of what the socket has): there is room now. */
void mmi_socket_expired(mmi_socket *s, mmi_pipe *p, uint32_t count);
void mmi_socket_expire_front(mmi_socket *s, mmi_pipe *p);   /* before a write of what that pipe has */

/* socket/ready.c */
void mmi_socket_touch(mmi_socket *s);              /* readiness may have changed: settle looks */
void mmi_socket_update(mmi_socket *s);             /* settle: wakes who is due */
/* The same before the settle, in the midst of much to read or write, for threads that wait in a call
 * on the socket. */
void mmi_socket_update_early(mmi_socket *s);
void mmi_socket_interrupt(mmi_socket *s);          /* who waits to receive ends its wait */
void mmi_socket_note(mmi_socket *s, uint32_t news);
uint32_t mmi_socket_ready(const mmi_socket *s);
static inline bool                                 /* only news tell whether a send can succeed */
mmi_socket_keyed(const mmi_socket *s)
{
    return s->ops->keyed_send || s->host.keyed;
}
void mmi_socket_fire(mmi_socket *s, uint32_t ready);   /* watches and fileno */
void mmi_socket_unwatch(mmi_socket *s);                /* at close: every watch says closed */
int mmi_socket_fileno(mmi_socket *s, int *fd) MMI_WARN_UNUSED;
/* What a watch looks for and is so: to a pollset, what its caller holds is to be received too. */
static inline uint32_t
mmi_watch_due(const mmi_watch *watch, const mmi_socket *s, uint32_t ready)
{
    bool unclaimed = watch->waker->pollset != NULL && s->unclaimed;
    return watch->wanted & (ready | (unclaimed ? (uint32_t)MM_READABLE : 0));
}

/* socket/events.c.  endpoint (ours), address (the peer's) and detail may be NULL. */
void mmi_socket_event(mmi_socket *s, int kind, int reason, uint64_t peer, uint64_t count,
                      const char *endpoint, const char *address, const char *detail);
/* The same machine (address, whatever its port is) did this before, in the same words (detail), and may
 * do it again and again.  0: it was told less than MMI_EVENT_REPEATS_MS ago, and is counted; else it is
 * to be told now, with that count. */
uint64_t mmi_socket_event_repeats(mmi_socket *s, int reason, const char *endpoint,
                                  const char *address, const char *detail);
/* One descriptor an engine for who is told of new events.  MM_ESTATE: it is open. */
int mmi_events_open(mmi_engine *e, int *fd) MMI_WARN_UNUSED;
int mmi_events_take(mmi_engine *e, mm_handle *out, uint32_t cap);
void mmi_events_close(mmi_engine *e);              /* rings it first */
/* The event of that number, if it is still there, was the end of an attempt: when the next one is. */
void mmi_socket_event_retry(mmi_socket *s, uint64_t seq, uint64_t delay_ns);
void mmi_socket_event_user(mmi_socket *s, const char *user_id);   /* whose the newest event is */
void mmi_socket_tell_drops(mmi_socket *s);         /* the pending DROPPED events */
void mmi_proto_event(mmi_proto_host *host, int kind, int reason, uint64_t peer, uint64_t count,
                     const char *detail);
uint32_t mmi_socket_events(mmi_socket *s, uint64_t from_seq, mm_event *out, uint32_t cap,
                           uint64_t *next_seq);

/* socket/host.c */
void mmi_socket_host(mmi_socket *s);               /* what its role may ask of it */
/* Sockets that sent what is in no outbox yet put it there.  After the lock was taken, by whoever
 * looks at outboxes; who only writes one need not. */
void mmi_engine_materialize(mmi_engine *e);

#endif
