/*
 * link/inside.h: what the files of this room ask of each other.  Private to link/.
 *
 * The lowest first: each file calls only those that stand above it here, and link/link.c all.
 * Not here: what the rooms above ask of a link (link/link.h).
 */
#ifndef MMI_LINK_INSIDE_H
#define MMI_LINK_INSIDE_H

#include "link/link.h"
#include "link/small.h"
#include "queue/acks.h"
#include "queue/drop.h"
#include "queue/unacked.h"

enum {
    MMI_LINK_WORTH_BYTES = 128 * 1024   /* queued: worth a write by the caller even in a burst */
};

/* link/event.c.  Whose it is: as it was let in, also where no step followed the answer yet; "":
 * nobody was asked. */
const char *mmi_link_user_id(const mmi_link *link);
void mmi_link_tell(const mmi_link *link, int kind, int reason, const char *detail);
void mmi_link_tell_count(const mmi_link *link, int kind, int reason, uint64_t count,
                         const char *detail);

/* link/watch.c */
bool mmi_link_paused(const mmi_link *link);             /* reading waits for room in the inbox */
void mmi_link_watch(mmi_link *link);                    /* recomputes what poll is to report */
void mmi_link_unwatch(mmi_link *link);                  /* nothing more */
/* Dooms (link/tx.h) one that is written at this moment: what that takes is to be counted as written,
 * not as dropped, so who made it ends the link when it is back. */
void mmi_link_doom_written(mmi_link *link, uint32_t how, int reason, const char *detail);

/* link/command.c */
int mmi_link_control(mmi_link *link, const uint8_t *frame, size_t size) MMI_WARN_UNUSED;
/* MM_ENOMEM */
void mmi_link_commands_begin(mmi_link *link);           /* what waits is to be written */
void mmi_link_commands_end(mmi_link *link);             /* it was */

/* link/fold.c: after a subscription (add) or cancellation was queued.  MM_ENOMEM: they stay as
 * they are. */
int mmi_link_fold(mmi_link *link, bool add) MMI_WARN_UNUSED;

/* link/queue.c */
extern const mmi_pipe_ops mmi_link_pipe_ops;

/* link/stopped.c */
bool mmi_stop_waits(const mmi_link *link);         /* it was asked, or will be, and may say so yet */
void mmi_stop_ended(mmi_link *link, mmi_link_state was);   /* from that state; its socket may be stopping */

/* link/retiring.c: of one that is left once nothing is under way. */
struct mmi_retiring {
    mmi_timer timer;
    mmi_link *link;
    uint64_t messages, moved_ns; /* written and read at the last look; since when it is so many */
};
bool mmi_retire_unread(const mmi_link *link);      /* it has not read, as far as it said, all that was written */
bool mmi_retire_waits(const mmi_link *link);       /* something is under way, and its end waits for it */
void mmi_retire_end(mmi_link *link);               /* it waits for nothing any more */

/* link/end.c */
/* From any state to FINISHING or DEAD: leaves the protocol or the half-open list, and tells. */
void mmi_link_end(mmi_link *link, mmi_link_state state, int reason, const char *detail);
void mmi_link_leave_place(mmi_link *link);   /* of connections_max; once: as it parts, or is closed */
void mmi_link_release_dialer(mmi_link *link, int reason);   /* which dials again */
void mmi_link_leave_half_open(mmi_link *link);          /* its handshake is over */
void mmi_link_discard(mmi_link *link, mmi_ring *ring, mmi_drop_why why);   /* counted as dropped */
void mmi_link_discard_unqueued(mmi_link *link, mmi_drop_why why);   /* what found no room, if any */
void mmi_link_unpin(mmi_link *link);   /* the front entry of the outbox is what was begun, alone */
void mmi_part_end(mmi_link *link);     /* off the list of those that part, if it is there */
/* Ends the handshake or the peer, with an ERROR command (if any) on its way out. */
void mmi_link_refuse(mmi_link *link, int reason, const char *detail);

/* link/keep.c */
/* What came behind a message that found no room.  Much of it stays where it is. */
void mmi_link_keep_unread(mmi_link *link, uint8_t *buf, size_t size, mmi_arena *arena);
void mmi_link_unread_drop(mmi_link *link);
/* The end of what was read is the beginning of a small message: it is kept for the next read, which
 * puts the rest behind it, and so is not parsed twice nor by itself.  false: it is to be parsed. */
bool mmi_link_keep_tail(mmi_link *link, const uint8_t *buf, size_t size);

/* link/told.c.  An active peer broke a rule: it is told which, if it is of our kind and can be. */
void mmi_link_breach(mmi_link *link, int reason, const char *detail);
/* Until when the handshake may take; or, the first time, until it is told that it takes long. */
uint64_t mmi_link_patience_ns(const mmi_link *link);
bool mmi_link_tell_silent(mmi_link *link);              /* false: there is nothing to wait for */
/* The stream is reset: closes it, and says what of ours that cut, and what may be why. */
void mmi_link_reset(mmi_link *link);
/* A read gave 0 or an error.  discard: nobody was to have what still came. */
void mmi_link_read_ended(mmi_link *link, int64_t n, bool discard);
/* In words: how long it was silent, or that its machine is, and what limit that is over: the ttl of
 * the peer's PING, or our time-out. */
void mmi_told_hung(const mmi_link *link, bool by_ttl, char *out, size_t cap);
void mmi_told_gone(const mmi_link *link, bool by_ttl, char *out, size_t cap);

/* link/left.c. */
enum { MMI_LEFT_CAP = sizeof(((mm_event *)NULL)->detail) };   /* octets, with the 0 */
/* As an active peer ends the connection, before its pipe leaves the protocol: the detail (NULL: that
 * of the reason), and behind it how much of what it was sent may be lost, and what was not sent; cut
 * in front of that where it is too long.  It is in `out`, or `detail` itself. */
const char *mmi_left_told(const mmi_link *link, int reason, const char *detail,
                          char out[MMI_LEFT_CAP]);

/* link/require.c.  As the peer is known, and before anything of ours is queued for it: true, and in
 * words for us and for it, if it cannot do what the socket requires of its peers. */
bool mmi_require_lacks(const mmi_link *link, char detail[MM_DETAIL_MAX + 1],
                       char told[MM_DETAIL_MAX + 1]);

/* link/ack.c.  Can the peer acknowledge?  As it is known: messages to it are acknowledged, if the
 * socket wants that and the peer can.  MM_ENOMEM.  Then, once it is a peer: that it cannot is told. */
bool mmi_ack_can(const mmi_link *link);
int mmi_ack_begin(mmi_link *link) MMI_WARN_UNUSED;
void mmi_ack_began(mmi_link *link);
/* COUNT, AGAIN, ACK, NACK and EXTEND of the peer. */
void mmi_ack_counted(mmi_link *link, const mmi_command *command);
void mmi_ack_again(mmi_link *link, const mmi_command *command);
void mmi_ack_came(mmi_link *link, const mmi_command *command);   /* ACK, NACK, EXTEND */
/* So many messages come.  true: over its credit; the connection ends for it, and they are nobody's. */
bool mmi_ack_breached(mmi_link *link, uint32_t count);
/* What was written and is not acknowledged goes to somebody else, not before due_ns.  late: remembers
 * it, for an ACK that comes yet; or NULL.  MM_OK; MM_EAGAIN it is done; MM_EPROTO it was not written;
 * MM_ENOMEM. */
int mmi_ack_take_back(mmi_link *link, uint64_t number, uint64_t due_ns,
                      mmi_late *late) MMI_WARN_UNUSED;
void mmi_ack_early(mmi_link *link);    /* a write is back: what was said of it meanwhile */
static inline bool mmi_ack_due(const mmi_link *link)   /* an ACK is owed */
{
    return link->pipe.acks != NULL && link->pipe.acks->due;
}
void mmi_ack_answer(mmi_link *link);
/* Some of what was written is not acknowledged. */
static inline bool mmi_ack_awaited(const mmi_link *link)
{
    return link->pipe.unacked != NULL && mmi_unacked_count(link->pipe.unacked) > 0;
}
/* Its end waits: it leaves, and has what is not acknowledged; or its socket is closed, and has what
 * waits for credit. */
bool mmi_ack_waits(const mmi_link *link);
void mmi_ack_last(mmi_link *link);     /* its socket is closed: what is not done was not tried */

/* link/member.c.  Does the peer keep groups?  Once it is a peer: that it does not is told. */
bool mmi_member_can(const mmi_link *link);
void mmi_member_asked(mmi_link *link);
/* It has given credit.  false: it may not be in its group, and its connection ends. */
bool mmi_member_begins(mmi_link *link);
void mmi_member_changed(mmi_link *link);   /* its topics: its connection ends */

/* link/overdue.c: it is a peer. */
void mmi_overdue_start(mmi_link *link);

/* link/meta.c */
enum { MMI_META_HEAD_MAX = 16 };       /* octets of META in front of its data */
void mmi_meta_begin(mmi_link *link);   /* what the peer takes is known */
size_t mmi_meta_before(const mmi_link *link, const mmi_msg *m);   /* octets of META in front of it */
void mmi_meta_wrote(mmi_link *link, const mmi_msg *m);
void mmi_meta_came(mmi_link *link, const mmi_command *command);
void mmi_meta_take(mmi_link *link, mmi_msg *m);   /* of the next message, which is this */

/* link/replay.c.  Does the peer publish from a spool?  It is asked for a replay, before anything else.  MM_ENOMEM.
 * Then, once it is a peer: that it cannot is told; and as it leaves, its place is for others. */
bool mmi_replay_can(const mmi_link *link);
int mmi_replay_ask(mmi_link *link) MMI_WARN_UNUSED;
int mmi_replay_begin(mmi_link *link) MMI_WARN_UNUSED;   /* all it wants was said; MM_ENOMEM */
void mmi_replay_asked(mmi_link *link);
void mmi_replay_left(mmi_link *link);
/* REPLAY, COUNT, AT and LOST of the peer. */
void mmi_replay_came(mmi_link *link, const mmi_command *command);
void mmi_replay_counted(mmi_link *link, const mmi_command *command);
void mmi_replay_at(mmi_link *link, const mmi_command *command);
void mmi_replay_lost(mmi_link *link, const mmi_command *command);
/* A message that comes, or a segment of so many: gets its number. */
void mmi_replay_number(mmi_link *link, mmi_msg *m, uint32_t count);
/* What stands in front of a message, behind what was passed: octets; as the next one to be written. */
size_t mmi_replay_put_before(const mmi_link *link, const mmi_numbering *at, const mmi_msg *m,
                             uint8_t out[MMI_NUMBERED_MAX]);
size_t mmi_replay_before(const mmi_link *link, const mmi_msg *m);
void mmi_replay_passed(mmi_numbering *at, const mmi_msg *m);
mmi_numbering mmi_replay_wrote_last(const mmi_link *link);   /* where what was written has come to */
void mmi_replay_wrote(mmi_link *link, const mmi_msg *m);

/* link/finish.c.  What the peer can hear is known; it is a peer. */
void mmi_finish_begin(mmi_link *link);
void mmi_finish_began(mmi_link *link);
static inline bool mmi_finish_due(const mmi_link *link)   /* END is owed to it */
{
    return link->end_out == MMI_END_HEARD && link->socket->host.ended &&
           link->state == MMI_LINK_ACTIVE;
}
void mmi_finish_tell(mmi_link *link);
/* link/finished.c */
void mmi_finish_told(mmi_link *link);   /* END came */
/* A message comes.  true: behind END; the connection ends for it, and the message is nobody's. */
bool mmi_finish_breached(mmi_link *link);

/* link/silence.c */
typedef enum mmi_verdict {
    MMI_VERDICT_NONE,                    /* too early to say, or it is only slow                 */
    MMI_VERDICT_HUNG,                    /* its system answers, and it should have               */
    MMI_VERDICT_GONE                     /* not even its system answers                          */
} mmi_verdict;
/* At a beat. patience: how long the peer may be silent. */
mmi_verdict mmi_silence_judge(mmi_link *link, uint64_t patience_ns, uint64_t interval_ns);

/* link/ping.c */
enum { MMI_MS_PER_DS = 100 };            /* a PING tells its ttl in tenths of a second */
void mmi_heartbeat_send(mmi_link *link);
void mmi_heartbeat_last(mmi_link *link); /* one that asks for all that was written, if need be */
void mmi_heartbeat_pong(mmi_link *link, const mmi_command *command);

/* link/part.c */
void mmi_link_end_doomed(mmi_link *link);               /* in the way that was asked for */
void mmi_part_begin(mmi_link *link);                    /* the state is FINISHING */
/* What came for who takes nothing any more: it is closing, or ended.  Nothing else may be done with
 * such octets, as the parser is not to miss any. */
void mmi_part_read(mmi_link *link, const uint8_t *buf, size_t size);
void mmi_part_rest(mmi_link *link);                     /* the same, of what came before */
void mmi_part_due(mmi_link *link);

/* link/heartbeat.c */
void mmi_heartbeat_start(mmi_link *link);
void mmi_heartbeat_due(mmi_link *link);
void mmi_heartbeat_command(mmi_link *link, const mmi_command *command);   /* PING or PONG */

/* link/leave.c.  The peer gets nothing more: what was not begun is handed on by roles that share
 * out. */
void mmi_link_stop(mmi_link *link);
void mmi_link_flushed(mmi_link *link); /* nothing left to write: FIN if that was waited for */

/* link/stop.c: what the peer says about an end of messages, and the answer it waits for. */
void mmi_stop_ask(mmi_link *link);     /* an active one */
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

/* link/rx.c */
mmi_reader_room mmi_link_room(const mmi_link *link);    /* of segments; for a role that takes them */
void mmi_link_segment(mmi_link *link, mmi_segment_in *segment);  /* one that was made to fit there */
/* What is there becomes messages and commands, until the inbox is full: then some is left. */
void mmi_link_eat(mmi_link *link, const uint8_t **buf, size_t *size, mmi_arena *arena);
/* arena: that the octets are in, and which may be kept with what they become; or NULL. */
void mmi_link_feed(mmi_link *link, uint8_t *buf, size_t size, mmi_arena *arena);
void mmi_link_resume(mmi_link *link);                   /* the inbox has room again */

/* link/read.c */
void mmi_link_readable(mmi_link *link);
/* A block to read into that no segment refers to.  NULL: no memory. */
mmi_arena *mmi_link_arena(mmi_engine *e);

/* link/write.c */
/* For who makes a link's first write in its own way: begins, false: not now; notes what that write
 * took, while the state was that; goes on with what else there is, and ends. */
bool mmi_link_write_begin(mmi_link *link);
int64_t mmi_link_write_took(mmi_link *link, mmi_link_state state, int64_t n);
void mmi_link_write_on(mmi_link *link, mmi_link_write last, uint64_t written_before);

/* link/become.c */
mmi_wire_limits mmi_link_limits(const mm_socket_opts *o);
void mmi_link_become_peer(mmi_link *link);   /* both sides have said who they are */

/* link/handshake.c.  polled: by who polls; these drop the lock, and the link may be closed then. */
void mmi_link_hello_start(mmi_link *link, bool polled);
void mmi_link_hello_readable(mmi_link *link);
void mmi_link_hello_writable(mmi_link *link);
/* One that asks: its peer said something, or left; there is an answer, or it is late. */
void mmi_link_hello_ahead(mmi_link *link, uint32_t events);
void mmi_link_hello_answered(mmi_link *link);

#endif
