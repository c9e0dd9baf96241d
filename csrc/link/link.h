/*
 * link.h: one connection: stream, handshake, reader, heartbeat, and the pipe the protocol sees; and
 * what the rooms above ask of it.
 *
 * Not here: what the files of this room ask of each other (link/inside.h), several links at once
 * (link/small.h).
 * All calls with the engine lock held; reading and writing drop it around their system calls, one
 * thread at a time each.  Law: the pipe is known to the protocol exactly while state is
 * MMI_LINK_ACTIVE; what ends an active link while it is written is left to who writes, who alone
 * knows what went; a closed link stays in memory, its stream open, until the engine settles and no
 * thread reads or writes it, so nobody holds a freed one.
 */
#ifndef MMI_LINK_H
#define MMI_LINK_H

#include "link/life.h"
#include "link/tx.h"
#include "socket/resume.h"
#include "socket/endpoint.h"
#include "wire/handshake.h"
#include "wire/parser.h"

/* What a link's heartbeat has seen of its peer's silence. */
typedef struct mmi_silence {
    uint64_t owed_ns;                    /* since when its system owes an answer; 0: it does not */
    uint64_t gone_ns;                    /* without one, when it is given up; UINT64_MAX: not    */
    uint64_t untaken, written;              /* at the last look                                     */
    uint64_t moved_ns;                   /* when it last took something, as far as we know       */
    uint64_t stalled_ns;                 /* when it was told that it is stalled; 0: it is not */
} mmi_silence;

/* Messages that carry the numbers they have in a spool. */
typedef struct mmi_numbering {
    bool on;
    uint64_t epoch, next;                /* next: of the next message, if nothing else is said; 0: nothing was yet */
} mmi_numbering;

/* What the answer that let it in says of it. */
typedef struct mmi_admitted {
    char user_id[MM_USER_ID_MAX + 1];
    size_t metadata_size;
    uint8_t metadata[];
} mmi_admitted;

typedef struct mmi_link {
    mmi_list node;                       /* socket->links; engine->dead */
    mmi_half_open_place half_open;       /* in listener->half_open */
    mmi_list parted;                     /* engine->parting */
    uint64_t parted_ns;                  /* when it was put there */
    mmi_engine *engine;
    mmi_socket *socket;                  /* in memory as long as it is; closed, once the state is DEAD */
    mmi_dialer *dialer;                  /* or NULL */
    mmi_listener *listener;              /* or NULL: dialed, or the listener was closed */
    mmi_link_state state;                /* link/life.h */
    int stream;
    uint64_t tag;
    uint32_t watched;
    mmi_handshake *handshake;                /* until the handshake is done */
    const mmi_wire *wire;                /* from then on */
    mmi_parser parser;                   /* likewise */
    struct mmi_link_ask *ask;            /* link/ask.h: its peer waits for an answer; or NULL */
    struct mmi_link_shield *shield;      /* link/shield.h; NULL: its octets are not protected */
    size_t sealed_left;                  /* octets that are sealed, and not taken yet */
    bool cut;                            /* some were thrown away: nothing more can be written */
    uint64_t skipped;                    /* messages it dropped and we have counted */
    mmi_pipe pipe;
    bool marks;                          /* MMI_TRAN_MARKS of its transport */
    uint8_t *identity;
    char features[MMI_FEATURES_MAX + 1];
    char *group;                         /* that its peer is to be a member of; NULL: of none */
    mmi_admitted *admitted;              /* the answer that let it in; or NULL */
    char address[128];                   /* the peer's, as text */
    char endpoint[MM_ENDPOINT_MAX + 1];  /* ours */

    uint8_t *commands;                   /* waiting, whole frames */
    size_t command_size, command_cap;
    size_t folded_size;                  /* of them, when they were summed up last; 0: not yet */
    bool cancels_wait;                   /* there is a cancellation among them */
    uint8_t *command_out;                /* being written */
    size_t command_out_size, command_sent;
    uint64_t msg_offset; /* octets of the outbox's front message that were written */
    /* Of one that was begun and stands alone: all its octets; the frame that goes on, and the
     * octets in front of it. */
    uint64_t msg_size, msg_frame_at;
    uint32_t msg_frame;
    mmi_tx tx;                           /* who writes it, and when */
    bool reading;                        /* a thread does, without the lock */
    bool shared;                         /* the stream takes and gives pieces by reference */
    bool pong_due;
    uint8_t pong_size, pong[MMI_PING_CONTEXT_MAX];

    uint8_t *tail;                       /* the beginning of a message, read before the rest */
    size_t tail_size;
    mmi_msg *unqueued;                   /* whole, but the inbox is full: reading is paused */
    uint8_t *unread;                     /* and what came behind it */
    mmi_arena *unread_arena;             /* that it is in; NULL: a block of its own */
    size_t unread_size, unread_used;

    mmi_timer timer, overdue_timer;      /* overdue: link/overdue.c */
    uint64_t started_ns, active_ns, wall_ns, last_in_ns, ping_ns;
    uint64_t leave_ns;                   /* not 0: it is left, and its linger is over then */
    struct mmi_retiring *retiring;       /* link/retiring.c; NULL: it is not left so */
    uint64_t written, confirmed, parsed; /* messages */
    uint64_t answered;                   /* of a peer that acknowledges: those in front of a PING that it answered */
    uint64_t ping_count;                 /* the context of the latest PING */
    uint32_t pings_out;                  /* PINGs that are unanswered; ping_ns: since when */
    uint64_t asked, asked_pinged, asked_confirmed;   /* subscriptions and cancellations that were
                                            queued; in front of the latest PING; of an answered one */
    mmi_silence silence;
    int64_t rtt_ns;
    uint32_t peer_ttl_ms;                /* what the peer's PING asked for; 0: nothing */
    bool pinged;                         /* the peer has sent a PING */
    bool reads_little;                   /* there were less than MMI_SMALL_READ the last time */
    bool hung; /* the stream hung up while reading was paused: poll is not asked */
    bool fin_sent;
    bool stopped_due;                    /* STOPPED goes behind the last message */
    bool halted;                         /* nothing more is read: the socket stops receiving, or who
                                            asks to come in has said enough */
    uint8_t stopping;                    /* MM_STOP_: of what we asked the peer for */
    bool silent;                         /* it was told that the handshake takes long */
    bool deaf;                           /* its octets make no sense to us any more */
    uint8_t *early;                      /* link/ack.c: what the peer says of what is written at this moment */
    size_t early_size, early_last, early_cap;   /* last: where the latest of it begins */
    mmi_origin again;                    /* AGAIN came: of the next message */
    mmi_meta *meta;                      /* META came: likewise; or NULL */
    bool meta_told;                      /* that the peer takes none */
    struct mmi_replaying *replaying;     /* link/replay.c; NULL: no end asked for a replay */
    mmi_end_out end_out;                 /* link/finish.c: END is for it, or it was told */
    bool end_came;                       /* it said END, and has sent its last message */
    bool surplus;                        /* over the limit of connections: is only told so */
} mmi_link;

/* What is asked of its sending: it is to end; a thread writes it; the runner writes it, every so
 * often; poll is to tell when its stream has room. */
static inline bool mmi_tx_ends(const mmi_link *link)
{
    return (link->tx.then & (MMI_TX_PART | MMI_TX_CLOSE)) != 0;
}
static inline bool mmi_tx_is_writing(const mmi_link *link)
{
    return link->tx.state == MMI_TX_WRITING;
}
static inline bool mmi_tx_is_paced(const mmi_link *link)
{
    return mmi_list_linked(&link->tx.paced);
}
static inline mmi_link *mmi_tx_of_due(mmi_list *node)
{
    return MMI_CONTAINER_OF(node, mmi_link, tx.due);
}
static inline mmi_link *mmi_tx_of_paced(mmi_list *node)
{
    return MMI_CONTAINER_OF(node, mmi_link, tx.paced);
}
static inline bool mmi_link_polled_for_room(const mmi_link *link)
{
    return (link->watched & MMI_WATCH_WRITE) != 0;
}

/* link/link.c.  A new link over a stream (connected, or connecting when pending); owns it, also on
 * failure. */
int mmi_link_open(mmi_socket *s, mmi_dialer *d, mmi_listener *l, int stream, bool pending,
                  const mmi_addr *peer, const char *address) MMI_WARN_UNUSED;
/* Its dialer goes, or that listener, and it stays. */
void mmi_link_forget_dialer(mmi_link *link);
void mmi_link_forget_listener(mmi_link *link, const mmi_listener *l);
void mmi_link_free(mmi_link *link);                     /* settle only, and not a busy one */
static inline bool mmi_link_busy(const mmi_link *link)
{
    return mmi_tx_is_writing(link) || link->reading;
}
void mmi_link_event(mmi_link *link, uint32_t events);   /* poll's */
/* It is left: it ends when what is queued was written. */
static inline bool mmi_link_leaves(const mmi_link *link) { return link->leave_ns != 0; }
/* It is no peer any more, and its stream is open yet. */
static inline bool mmi_link_finishes(const mmi_link *link)
{
    return link->state == MMI_LINK_REFUSED || link->state == MMI_LINK_PARTING;
}
/* Its handshake has steps that take long. */
static inline bool mmi_link_steps(const mmi_link *link)
{
    return link->state == MMI_LINK_HELLO &&
           (link->socket->mechanism != NULL || link->socket->outer != NULL);
}
void mmi_link_timer(mmi_link *link);

/* link/tx.c; its events are in link/tx.h */
bool mmi_link_flush_worth(const mmi_link *link);        /* there is a good deal to write */
/* A caller should write now, not leave it to the runner. */
bool mmi_link_flush_due(const mmi_link *link, uint64_t now_ns);
/* The runner should in this round.  Where the peer is given pieces by reference it costs little to
 * come too often, but wakes the peer. */
bool mmi_link_round_due(const mmi_link *link, uint64_t now_ns);

/* link/watch.c */
bool mmi_link_pending(const mmi_link *link);            /* anything left to write */
/* Nothing more is written: its socket is about to be closed, or was, and what waits is kept by a source.  That would
 * not hear that a peer has it that acknowledges nothing. */
bool mmi_link_stilled(const mmi_link *link);
/* It waits for the runner's next round, and has what may be written before. */
bool mmi_link_awaits_round(const mmi_link *link);
void mmi_link_flush_now(mmi_link *link);                /* then: in the next settle */
/* Something to write, and nobody is to write it: never so when the lock is released. */
bool mmi_link_stranded(const mmi_link *link);

/* link/write.c */
void mmi_link_flush(mmi_link *link);

/* Ends, from the gentlest on.  link/leave.c: what is queued is written, within linger, and nothing
 * more: disconnect.  What was not begun is handed on by roles that share out. */
void mmi_link_leave(mmi_link *link);
/* link/retire.c: likewise, but once it owes nothing either, however long that takes. */
typedef struct mmi_retiring mmi_retiring;
void mmi_link_retire(mmi_link *link);
void mmi_retire_due(mmi_timer *timer);   /* its timer */
void mmi_link_finish(mmi_link *link);  /* the socket was closed: flush, FIN, wait for the peer */
/* link/part.c.  As mmi_link_close, but what was written can still be read: see there. */
void mmi_link_part(mmi_link *link, int reason, const char *detail);
/* The oldest of them is given up, at the next settle: there are too many, or no descriptors. */
void mmi_part_yield(mmi_engine *e);
/* link/end.c.  At once, but for an active link that is written at this moment: its writer closes
 * it.  Whoever goes on with it looks whether it still lives. */
void mmi_link_close(mmi_link *link, int reason, const char *detail);
static inline bool mmi_link_lives(const mmi_link *link)
{
    return link->state == MMI_LINK_ACTIVE && !mmi_tx_ends(link);
}

/* Over ipc the user at the other side; -1: not known. */
static inline int64_t mmi_link_uid(const mmi_link *link)
{
    const mmi_plat *p = &link->engine->plat;
    mmi_credentials who;
    bool known = link->marks && p->peer_credentials(p->self, link->stream, &who) == MM_OK;
    return known ? (int64_t)who.uid : -1;
}
/* link/revoke.c: its socket's list has it no more; all those end. */
bool mmi_link_revoked(const mmi_link *link);
void mmi_socket_revoke(mmi_socket *s);
/* All who were let in as that user end, and those that are about to be; how many. */
int mmi_socket_revoke_user(mmi_socket *s, const char *user_id);

/* link/ack.c.  A message that came from it is given back, for after so many ms, or is still worked on:
 * 1; 0: it was done, or not given out; or MM_ENOMEM. */
int mmi_link_nack(mmi_link *link, uint64_t number, uint32_t delay_ms);
int mmi_link_extend(mmi_link *link, uint64_t number);
void mmi_overdue_due(mmi_link *link);   /* link/overdue.c: its timer */

/* link/replay.c.  From now on the connections of a socket say that it publishes from a spool. */
void mmi_replay_say(mmi_socket *s);
/* What a peer gets begins with that number.  MM_ENOMEM. */
int mmi_replay_place_at(mmi_link *link, uint64_t epoch, uint64_t number) MMI_WARN_UNUSED;
/* So many of those that it asked for are gone; and nothing more comes, as that is harmed. */
void mmi_replay_tell_lost(mmi_link *link, const mmi_lost *lost);
void mmi_replay_left_out(mmi_link *link);   /* one more of them is more than it takes */
void mmi_replay_end_harmed(mmi_link *link, uint64_t first, uint64_t last);
/* link/told.c.  A peer whose connection is about to end hears why; false: that cannot be said now. */
bool mmi_link_say_why(mmi_link *link, const char *detail);
static inline mmi_link *mmi_link_of_pipe(mmi_pipe *p) { return MMI_CONTAINER_OF(p, mmi_link, pipe); }

/* link/finish.c: of a socket that sends nothing more.  Is all done that it accepted?  Then its peers
 * are to be told. */
void mmi_finish_look(mmi_socket *s);
bool mmi_finish_told_all(const mmi_socket *s);   /* every peer that can hear it */
/* link/finished.c.  Of one that receives: every peer it has, and each that it dials, has sent its last message, and one
 * at least, also if it is gone since. */
bool mmi_socket_ended(const mmi_socket *s);

/* link/stop.c: of a socket that stops receiving.  A peer is asked to send nothing more, and who has
 * heard nothing of us becomes none. */
void mmi_stop_begin(mmi_link *link);
void mmi_stop_late(mmi_link *link);    /* its socket waits no longer for its answer */
/* link/stopped.c */
bool mmi_socket_stopped(const mmi_socket *s);      /* all that comes has come */
/* Fills an array of mm_peer: what became of all that were asked, those that ended since first;
 * count of all. */
uint32_t mmi_stop_inspect(mmi_socket *s, void *out, uint32_t cap);
void mmi_stop_fini(mmi_socket *s);

/* link/inspect.c: what is told of one that is a peer, or of an attempt to have one; the last three
 * add to what is told of others, and may ask for a receipt. */
static inline bool mmi_link_is_peer(const mmi_link *link) { return link->state == MMI_LINK_ACTIVE; }
static inline bool mmi_link_is_attempt(const mmi_link *link)
{
    return link->state == MMI_LINK_CONNECTING || link->state == MMI_LINK_HELLO;
}
void mmi_link_inspect(const mmi_link *link, mm_peer *out);
/* What has no room there: the link's, while it is a peer. */
void mmi_link_inspect_more(const mmi_link *link, mmi_octets *metadata, mmi_octets *certificate);
void mmi_link_inspect_attempt(const mmi_link *link, mm_attempt *out);
void mmi_link_inspect_queues(const mmi_link *link, mm_stats *out);
void mmi_link_inspect_drain(mmi_link *link, mm_drain_info *info);
void mmi_link_inspect_subscribed(mmi_link *link, mm_subscribed_info *info);

/* What is known of the peer.  link/silence.c, link/ping.c */
bool mmi_silence_stalled(const mmi_link *link);         /* now, as far as that is known */
bool mmi_heartbeat_counts(const mmi_link *link); /* the peer is one that wants signs of life of us */
void mmi_heartbeat_ping(mmi_link *link); /* now, unless one is out or its wire has none */

#endif
