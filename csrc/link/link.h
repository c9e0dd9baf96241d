/*
 * link.h: one connection: stream, handshake, reader, heartbeat, and the pipe the protocol sees.
 *
 * All calls with the engine lock held; reading and writing drop it around their system calls, one
 * thread at a time each.  Law: the pipe is known to the protocol exactly while state is
 * MMI_LINK_ACTIVE; what ends an active link while it is written is left to who writes, who alone
 * knows what went; a closed link stays in memory, its stream open, until the engine settles and no
 * thread reads or writes it, so nobody holds a freed one.
 */
#ifndef MMI_LINK_H
#define MMI_LINK_H

#include "queue/drop.h"
#include "wire/handshake.h"
#include "wire/parser.h"
#include "socket/endpoint.h"

enum { MMI_MS_PER_DS = 100 };            /* a PING tells its ttl in tenths of a second */

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
    uint8_t stopping;                    /* mm_stop: of what we asked the peer for */
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

/* A new link over a stream (connected, or connecting when pending); owns it, also on failure. */
int mmi_link_open(mmi_socket *s, mmi_dialer *d, mmi_listener *l, int stream, bool pending,
                  const char *address) MMI_WARN_UNUSED;
void mmi_link_free(mmi_link *link);                     /* settle only, and not a busy one */
void mmi_link_event(mmi_link *link, uint32_t events);   /* poll's */
void mmi_link_timer(mmi_link *link);
static inline bool mmi_link_busy(const mmi_link *link) { return link->writing || link->reading; }

/* link/note.c */
void mmi_link_dirty(mmi_link *link);                    /* has something to write */
bool mmi_link_paused(const mmi_link *link);             /* reading waits for room in the inbox */
bool mmi_link_pending(const mmi_link *link);            /* anything left to write */
bool mmi_link_flush_worth(const mmi_link *link);        /* there is a good deal to write */
void mmi_link_watch(mmi_link *link);                    /* recomputes what poll is to report */
void mmi_link_unwatch(mmi_link *link);                  /* nothing more */
/* It is to be closed by who writes it next, for the first reason it was given. */
void mmi_link_doom(mmi_link *link, int reason, const char *detail);
/* The same of one that is written at this moment: what that takes is to be counted as written, not
 * as dropped, so who made it closes the link when it is back. */
void mmi_link_doom_written(mmi_link *link, int reason, const char *detail);

/* link/end.c */
/* At once, but for an active link that is written at this moment: its writer closes it.  Whoever
 * goes on with it looks whether it still lives. */
void mmi_link_close(mmi_link *link, int reason, const char *detail);
static inline bool mmi_link_lives(const mmi_link *link)
{
    return link->state == MMI_LINK_ACTIVE && link->doomed == 0;
}
/* From any state to FINISHING or DEAD: leaves the protocol or the half-open list, and tells. */
void mmi_link_end(mmi_link *link, int state, int reason, const char *detail);
void mmi_link_leave_place(mmi_link *link);   /* of connections_max; once: as it parts, or is closed */
void mmi_link_release_dialer(mmi_link *link, int reason);   /* which dials again */
void mmi_link_leave_half_open(mmi_link *link);          /* its handshake is over */
void mmi_link_discard(mmi_link *link, mmi_ring *ring, mmi_drop_why why);   /* counted as dropped */
void mmi_link_unpin(mmi_link *link);   /* the front entry of the outbox is what was begun, alone */
void mmi_part_end(mmi_link *link);     /* off the list of those that part, if it is there */
/* Ends the handshake or the peer, with an ERROR command (if any) on its way out. */
void mmi_link_refuse(mmi_link *link, int reason, const char *detail);

/* link/stop.c: what the peer says about an end of messages, and the answer it waits for. */
void mmi_stop_ask(mmi_link *link);     /* of an active link whose socket stops */
void mmi_stop_asked(mmi_link *link);
void mmi_stop_told(mmi_link *link);
void mmi_stop_pong(mmi_link *link, const mmi_command *command);
void mmi_stop_read(mmi_link *link);    /* what was being read was read: perhaps that was all */
/* A message comes.  true: behind STOPPED; the connection ends for it, and the message is nobody's. */
bool mmi_stop_breached(mmi_link *link);
static inline bool mmi_stop_answer_due(const mmi_link *link)   /* nothing is left in front of it */
{
    return link->stopped_due && link->pipe.stopped && link->pipe.outbox.count == 0;
}
void mmi_stop_answer(mmi_link *link);
void mmi_stop_late(mmi_link *link);    /* its socket waits no longer for its answer */
/* link/stopped.c */
bool mmi_stop_waits(const mmi_link *link);         /* it was asked, or will be, and may say so yet */
void mmi_stop_ended(mmi_link *link, int was);   /* from that state; its socket may be stopping */
bool mmi_socket_stopped(const mmi_socket *s);      /* all that comes has come */
/* What became of all that were asked, those that ended since first; count of all. */
uint32_t mmi_stop_look(const mmi_socket *s, mm_peer *out, uint32_t cap);
void mmi_stop_fini(mmi_socket *s);
/* link/leave.c.  The peer gets nothing more: what was not begun is handed on by roles that share
 * out. */
void mmi_link_stop(mmi_link *link);
/* The same, and the link ends when what is left was written, within linger: disconnect. */
void mmi_link_leave(mmi_link *link);
void mmi_link_flushed(mmi_link *link); /* nothing left to write: FIN if that was waited for */
void mmi_link_finish(mmi_link *link);  /* the socket was closed: flush, FIN, wait for the peer */

/* link/told.c.  An active peer broke a rule: it is told which, if it is of our kind and can be. */
void mmi_link_breach(mmi_link *link, int reason, const char *detail);
/* Until when the handshake may take; or, the first time, until it is told that it takes long. */
uint64_t mmi_link_patience_ns(const mmi_link *link);
bool mmi_link_tell_silent(mmi_link *link);              /* false: there is nothing to wait for */
/* The stream is reset: closes it, and says what of ours that cut, and what may be why. */
void mmi_link_reset(mmi_link *link);
/* In words: how long it was silent, or that its machine is, and what limit that is over: the ttl of
 * the peer's PING, or our time-out. */
void mmi_told_hung(const mmi_link *link, bool by_ttl, char *out, size_t cap);
void mmi_told_gone(const mmi_link *link, bool by_ttl, char *out, size_t cap);

/* link/handshake.c.  polled: by who polls; these drop the lock, and the link may be closed then. */
void mmi_link_hello_start(mmi_link *link, bool polled);
void mmi_link_hello_readable(mmi_link *link);
void mmi_link_hello_writable(mmi_link *link);

/* link/read.c */
enum { MMI_SMALL_READ = 4 * 1024 };      /* bytes; a link that had no more may be read with others */
void mmi_link_readable(mmi_link *link);
/* A block to read into that no pack refers to.  NULL: no memory. */
mmi_arena *mmi_link_arena(mmi_engine *e);
/* A read gave 0 or an error.  discard: nobody was to have what still came. */
void mmi_link_read_ended(mmi_link *link, int64_t n, bool discard);

/* link/rx.c */
mmi_reader_room mmi_link_room(const mmi_link *link);    /* of packs; for a role that takes them */
void mmi_link_pack(mmi_link *link, mmi_pack_in *pack);  /* one that was made to fit there */
/* What is there becomes messages and commands, until the inbox is full: then some is left. */
void mmi_link_eat(mmi_link *link, const uint8_t **buf, size_t *size, mmi_arena *arena);
/* arena: that the octets are in, and which may be kept with what they become; or NULL. */
void mmi_link_feed(mmi_link *link, uint8_t *buf, size_t size, mmi_arena *arena);
void mmi_link_resume(mmi_link *link);                   /* the inbox has room again */

/* link/keep.c */
/* What came behind a message that found no room.  Much of it stays where it is. */
void mmi_link_keep_unread(mmi_link *link, uint8_t *buf, size_t size, mmi_arena *arena);
void mmi_link_unread_drop(mmi_link *link);
/* The end of what was read is the beginning of a small message: it is kept for the next read, which
 * puts the rest behind it, and so is not parsed twice nor by itself.  false: it is to be parsed. */
bool mmi_link_keep_tail(mmi_link *link, const uint8_t *buf, size_t size);

/* link/tx.c */
enum {
    MMI_LINK_WORTH_BYTES = 128 * 1024   /* queued: worth a write by the caller even in a burst */
};
void mmi_link_flush(mmi_link *link);
/* A caller should write now, not leave it to the runner. */
bool mmi_link_flush_due(const mmi_link *link, uint64_t now_ns);
/* For who makes a link's first write in its own way: begins, false: not now; notes what that write
 * took, while the state was that; goes on with what else there is, and ends. */
typedef struct mmi_link_write {
    int64_t n;                           /* octets; a negative mm_err; MM_ECLOSED also: the link
                                            is no longer what it was */
    size_t total;                        /* that were offered */
    uint64_t at_ns;                      /* what comes from then on answers it */
    bool full;                           /* as much as a write takes */
} mmi_link_write;
bool mmi_link_write_begin(mmi_link *link);
int64_t mmi_link_write_took(mmi_link *link, int state, int64_t n);
void mmi_link_write_on(mmi_link *link, mmi_link_write last, uint64_t written_before);

/* link/queue.c */
extern const mmi_pipe_ops mmi_link_pipe_ops;

/* link/command.c */
int mmi_link_control(mmi_link *link, const uint8_t *frame, size_t size) MMI_WARN_UNUSED;
/* MM_ENOMEM */
void mmi_link_commands_begin(mmi_link *link);           /* what waits is to be written */
void mmi_link_commands_end(mmi_link *link);             /* it was */

/* link/fold.c: after a subscription (add) or cancellation was queued.  MM_ENOMEM: they stay as
 * they are. */
int mmi_link_fold(mmi_link *link, bool add) MMI_WARN_UNUSED;

/* link/part.c */
/* As mmi_link_close, but what was written can still be read: see there. */
void mmi_link_part(mmi_link *link, int reason, const char *detail);
void mmi_link_end_doomed(mmi_link *link);               /* in the way that was asked for */
void mmi_part_begin(mmi_link *link);                    /* the state is FINISHING */
/* The oldest of them is given up, at the next settle: there are too many, or no descriptors. */
void mmi_part_yield(mmi_engine *e);
/* What came for who takes nothing any more: it is closing, or ended.  Nothing else may be done with
 * such octets, as the parser is not to miss any. */
void mmi_part_read(mmi_link *link, const uint8_t *buf, size_t size);
void mmi_part_rest(mmi_link *link);                     /* the same, of what came before */
void mmi_part_due(mmi_link *link);

/* link/silence.c */
typedef enum mmi_verdict {
    MMI_VERDICT_NONE,                    /* too early to say, or it is only slow                 */
    MMI_VERDICT_HUNG,                    /* its system answers, and it should have               */
    MMI_VERDICT_GONE                     /* not even its system answers                          */
} mmi_verdict;
/* At a beat. patience: how long the peer may be silent. */
mmi_verdict mmi_silence_judge(mmi_link *link, uint64_t patience_ns, uint64_t interval_ns);
bool mmi_silence_stalled(const mmi_link *link);         /* now, as far as that is known */

/* link/ping.c */
void mmi_heartbeat_send(mmi_link *link);
void mmi_heartbeat_last(mmi_link *link); /* one that asks for all that was written, if need be */
void mmi_heartbeat_ping(mmi_link *link); /* now, unless one is out or its wire has none */
void mmi_heartbeat_pong(mmi_link *link, const mmi_command *command);

/* link/heartbeat.c */
void mmi_heartbeat_start(mmi_link *link);
void mmi_heartbeat_due(mmi_link *link);
void mmi_heartbeat_command(mmi_link *link, const mmi_command *command);   /* PING or PONG */

#endif
