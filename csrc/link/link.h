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

#include "socket/endpoint.h"
#include "wire/handshake.h"
#include "wire/parser.h"

typedef enum mmi_link_state {
    MMI_LINK_CONNECTING = 1, /* the stream is not there yet */
    MMI_LINK_HELLO,
    MMI_LINK_ACTIVE,
    MMI_LINK_FINISHING, /* control is flushed, FIN sent; what arrives is thrown away until the peer
                           closes */
    MMI_LINK_DEAD
} mmi_link_state;

/* What a link's heartbeat has seen of its peer's silence. */
typedef struct mmi_silence {
    uint64_t owed_ns;                    /* since when its system owes an answer; 0: it does not */
    uint64_t gone_ns;                    /* without one, when it is given up; UINT64_MAX: not    */
    uint64_t held, written;              /* at the last look                                     */
    uint64_t moved_ns;                   /* when it last took something, as far as we know       */
    uint64_t stalled_ns;                 /* when it was told that it stands still; 0: it does not */
} mmi_silence;

typedef struct mmi_link {
    mmi_list node, dirty,
        half_open; /* socket->links; engine->dirty or ->dead; listener->half_open */
    mmi_list bursts;                     /* engine->bursts */
    mmi_list parted;                     /* engine->parting */
    uint64_t parted_ns;                  /* when it was put there */
    mmi_engine *engine;
    mmi_socket *socket;                  /* not to be used once the state is DEAD */
    mmi_dialer *dialer;                  /* or NULL */
    mmi_listener *listener;              /* or NULL: dialed, or the listener was closed */
    int state;
    int stream;
    uint64_t tag;
    uint32_t watched;
    mmi_opening *opening;                /* until the handshake is done */
    const mmi_wire *wire;                /* from then on */
    mmi_parser parser;                   /* likewise */
    struct mmi_link_shield *shield;      /* link/shield.h; NULL: its octets are not protected */
    size_t sealed_left;                  /* octets that are sealed, and not taken yet */
    bool cut;                            /* some were thrown away: nothing more can be written */
    uint64_t skipped;                    /* messages it dropped and we have counted */
    mmi_pipe pipe;
    bool marks;                          /* MMI_TRAN_MARKS of its transport */
    uint8_t *identity;
    char features[64];
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
    bool writing, reading;               /* a thread does, without the lock */
    bool shared;                         /* the stream takes and gives pieces by reference */
    bool burst; /* sends come fast: the runner writes them, every so often */
    bool rested; /* in a burst: what came during the last write waits for the next round */
    bool pong_due;
    uint8_t pong_size, pong[MMI_PING_CONTEXT_MAX];

    uint8_t *tail;                       /* the beginning of a message, read before the rest */
    size_t tail_size;
    mmi_msg *held;                       /* parsed, but the inbox is full: reading is paused */
    uint8_t *unread;                     /* and what came behind it */
    mmi_arena *unread_arena;             /* that it is in; NULL: a block of its own */
    size_t unread_size, unread_used;

    mmi_timer timer;
    uint64_t started_ns, active_ns, wall_ns, last_in_ns, last_flush_ns, ping_ns;
    uint64_t leave_ns;                   /* leaving: its linger is over */
    uint64_t asked_ns;                   /* what comes later answers what was written last */
    uint64_t written, confirmed, parsed; /* messages */
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
    bool leaving;                        /* ends when what is queued was written */
    bool stopped_due;                    /* STOPPED goes behind the last message */
    bool halted;                         /* nothing more is read: the socket stops receiving */
    uint8_t stopping;                    /* MM_STOP_: of what we asked the peer for */
    bool stop_due;                       /* stops when the write that is on its way is back */
    bool silent;                         /* it was told that the handshake takes long */
    bool parts;                          /* doomed: it is to part */
    bool parting;                        /* link/part.c: FINISHING, and stays as long as it is of use */
    bool deaf;                           /* its octets make no sense to us any more */
    bool surplus;                        /* over the limit of connections: is only told so */
    bool resume;                         /* the inbox has room again: read on at the next settle */
    int doomed;          /* mm_reason: close at the next settle or after the write; 0: no */
    char *doomed_detail; /* or NULL */
} mmi_link;

/* link/link.c.  A new link over a stream (connected, or connecting when pending); owns it, also on
 * failure. */
int mmi_link_open(mmi_socket *s, mmi_dialer *d, mmi_listener *l, int stream, bool pending,
                  const char *address) MMI_WARN_UNUSED;
void mmi_link_free(mmi_link *link);                     /* settle only, and not a busy one */
static inline bool mmi_link_busy(const mmi_link *link) { return link->writing || link->reading; }
void mmi_link_event(mmi_link *link, uint32_t events);   /* poll's */
void mmi_link_timer(mmi_link *link);

/* link/note.c */
void mmi_link_dirty(mmi_link *link);                    /* has something to write */
bool mmi_link_pending(const mmi_link *link);            /* anything left to write */
bool mmi_link_flush_worth(const mmi_link *link);        /* there is a good deal to write */

/* link/tx.c */
void mmi_link_flush(mmi_link *link);
/* A caller should write now, not leave it to the runner. */
bool mmi_link_flush_due(const mmi_link *link, uint64_t now_ns);

/* Ends, from the gentlest on.  link/leave.c: what is queued is written, within linger, and nothing
 * more: disconnect.  What was not begun is handed on by roles that share out. */
void mmi_link_leave(mmi_link *link);
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
    return link->state == MMI_LINK_ACTIVE && link->doomed == 0;
}

/* link/stop.c: of a socket that stops receiving. */
void mmi_stop_ask(mmi_link *link);     /* an active one */
void mmi_stop_late(mmi_link *link);    /* its socket waits no longer for its answer */
/* link/stopped.c */
bool mmi_socket_stopped(const mmi_socket *s);      /* all that comes has come */
/* What became of all that were asked, those that ended since first; count of all. */
uint32_t mmi_stop_look(const mmi_socket *s, mm_peer *out, uint32_t cap);
void mmi_stop_fini(mmi_socket *s);

/* What is known of the peer.  link/silence.c, link/ping.c */
bool mmi_silence_stalled(const mmi_link *link);         /* now, as far as that is known */
void mmi_heartbeat_ping(mmi_link *link); /* now, unless one is out or its wire has none */

#endif
