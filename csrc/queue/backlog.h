/*
 * queue/backlog.h: sending that survives the loss of a peer: what was not begun on the wire of a peer that
 * went away is kept, and goes to the next one, before anything new.  Used by push, dealer, req and
 * pair.
 *
 * Law: kept is empty unless no pipe has room (or memory ran out).  An accepted message is in one
 * outbox, in kept, in a lane, in delayed, in wordless, or dropped and counted.  With a route messages with keys are
 * in kept only while no peer has keys.
 */
#ifndef MMI_BACK_H
#define MMI_BACK_H

#include "queue/dead.h"
#include "queue/delayed.h"
#include "queue/lb.h"
#include "queue/levels.h"
#include "queue/receipts.h"
#include "queue/route.h"

typedef enum mmi_back_where {
    MMI_BACK_QUEUED,
    MMI_BACK_KEPT,
    MMI_BACK_DROPPED,
    MMI_BACK_EXPIRED
} mmi_back_where;

typedef struct mmi_back {
    mmi_proto_host *host;
    mmi_lb lb;
    mmi_route *route;             /* of a role whose messages go by their keys, its nodes are those of
                                     lanes; else NULL */
    mmi_levels kept;
    mmi_ring wordless;            /* where it is acknowledged: what no peer that is there can have */
    uint32_t wordless_swept;      /* where the next sweep begins (queue/expiry.h) */
    char wordless_why[sizeof((mm_event *)0)->detail];   /* of the last one that is more than they take */
    mmi_delayed delayed;
    mmi_dead dead;
    mmi_list early;               /* peers that wait for others (queue/enough.h) */
    uint32_t early_count;
    bool enough;                  /* as many were there as are to be */
    uint64_t spent;               /* given back for the last time: nobody else gets them */
    mmi_receipts receipts;
    const mmi_framing *framing;   /* of the last peer that acknowledges; NULL: there was none */
    /* Told where each message goes, by its key; p only when queued.  May be NULL. */
    void (*note)(struct mmi_back *back, uint64_t key, mmi_back_where where, mmi_pipe *p);
} mmi_back;

void mmi_back_init(mmi_back *back, mmi_proto_host *host);
void mmi_back_fini(mmi_back *back);
/* What waits here, with no peer there, is given back to its source; without one it is dropped. */
void mmi_back_empty(mmi_back *back);
void mmi_back_add(mmi_back *back, mmi_lb_node *node, mmi_pipe *pipe);   /* sends it what was kept */
/* The same of one behind which others are added at once: it gets nothing before the last of them. */
void mmi_back_join(mmi_back *back, mmi_lb_node *node, mmi_pipe *pipe);
/* Takes the pipe out of the turns, keeps what was not begun, and passes it on. */
void mmi_back_stop(mmi_back *back, mmi_lb_node *node);
/* and what it did not acknowledge goes to somebody else first */
void mmi_back_rm(mmi_back *back, mmi_lb_node *node); /* the same, unless it was stopped before */
/* A peer has had a message for too long.  Where messages go by keys, others have its keys until it acknowledges
 * one.  Its lane, to be handed over behind what is taken back from it; NULL: there is nothing to hand over. */
mmi_lane *mmi_back_overdue(mmi_back *back, mmi_pipe *p);
/* The same where they do not: what is queued for it and not begun goes to others, if one of them is not late. */
void mmi_back_pass_on(mmi_back *back, mmi_pipe *p);
void mmi_back_hand_over(mmi_back *back, mmi_lane *lane);   /* what waits for its peer goes to others */
/* A message that a peer gave back goes to whoever is next, unless it was handed out often enough; takes it. */
void mmi_back_again(mmi_back *back, mmi_msg *m);
void mmi_back_out(mmi_back *back, mmi_lb_node *node);
/* Somebody has the letter of a message that a source has: it is done.  MM_ESTATE: there is no source. */
int mmi_back_letter_done(mmi_back *back, uint64_t number, int outcome);

/* What was to be handed out later, and is due now, waits like what was sent now.  When there is more to
 * do: UINT64_MAX: never. */
uint64_t mmi_back_due(mmi_back *back, uint64_t now_ns);

/* queue/accept.c */
/* Sends as the socket's overflow says and, when there is no peer, as its no_peer does.  MM_OK: took
 * m; MM_EAGAIN, MM_EINVAL (no frames), MM_ESTATE (it is finished), MM_ENOTSUP (no peer's wire has
 * words for it), MM_EMSGSIZE (none takes so much), MM_ENOMEM. */
int mmi_back_send(mmi_back *back, mmi_msg *m) MMI_WARN_UNUSED;
/* How messages may be encoded that are sent many at once; NULL: each is to go by itself. */
const mmi_framing *mmi_back_segments(const mmi_back *back);
/* Sends a segment of a source.  MM_OK: took it; MM_EAGAIN; MM_ENOTSUP: its messages are to go by themselves;
 * MM_ENOMEM. */
int mmi_back_send_segment(mmi_back *back, mmi_segment_out *segment) MMI_WARN_UNUSED;
mmi_pipe *mmi_back_sole(const mmi_back *back); /* see mmi_proto_ops */
void mmi_back_tell_later(const mmi_back *back, mm_later *out);   /* what waits to go later, and its limits */
bool mmi_back_ready(const mmi_back *back);   /* would a send not wait */
/* What waits here is little enough that who waits to send is to go on. */
bool mmi_back_low(const mmi_back *back);
/* Messages and bytes that are still to be sent, and in no outbox. */
uint32_t mmi_back_count(const mmi_back *back, uint64_t *bytes);

/* Is what it has also elsewhere, so that nothing of it can be lost here? */
static inline bool
mmi_back_sourced(const mmi_back *back)
{
    return back != NULL && back->receipts.source.arg != NULL;
}

/* MM_OK, or why nothing more comes from where its messages are kept. */
static inline int
mmi_back_failed(const mmi_back *back)
{
    const mmi_source *source = &back->receipts.source;
    return source->arg != NULL ? source->failed(source->arg) : MM_OK;
}

/* Messages that wait for their time where its messages are kept; *due_us: in microseconds since 1970, when
 * the first of them, if that is before what is there. */
static inline uint64_t
mmi_back_elsewhere(const mmi_back *back, uint64_t *due_us)
{
    const mmi_source *source = &back->receipts.source;
    return source->arg != NULL ? source->later(source->arg, due_us) : 0;
}

/* How many peers are to come before anything is handed out (opts->peers_min). */
static inline uint32_t
mmi_back_missing(const mmi_back *back)
{
    uint32_t least = back->host->opts->peers_min;
    return back->enough || least <= back->early_count ? 0 : least - back->early_count;
}

/* Could somebody be given a message that comes back now, or soon: who has room, or another peer than the
 * only one? */
static inline bool
mmi_back_others(const mmi_back *back)
{
    return back->lb.pipe_count > 1 || mmi_lb_ready(&back->lb);
}

/* What accept.c asks of backlog.c. */
/* Where a message is to go by its key; NULL: it goes by the turns, or to nobody. */
mmi_lane *mmi_back_lane(const mmi_back *back, const mmi_msg *m);
/* MM_OK: queued; MM_EAGAIN: no pipe has room; MM_ENOTSUP; MM_EMSGSIZE; MM_ENOMEM. */
int mmi_back_queue(mmi_back *back, mmi_msg *m) MMI_WARN_UNUSED;
/* Sends what is kept, but for what was for a peer of another wire and has no words in that of those
 * who are left. MM_OK: nothing is left; MM_EAGAIN; MM_ENOMEM. */
int mmi_back_flush(mmi_back *back);
/* Sends what is kept, and what waits in lanes; what found no memory is tried again. */
void mmi_back_go_on(mmi_back *back);
/* It is for later (due_ns).  MM_OK: took it; MM_ENOMEM. */
int mmi_back_later(mmi_back *back, mmi_msg *m) MMI_WARN_UNUSED;
void mmi_back_drop(mmi_back *back, mmi_drop_why why, mmi_pipe *p, mmi_msg *m);
void mmi_back_note(mmi_back *back, uint64_t key, mmi_back_where where, mmi_pipe *p);
/* queue/undelivered.c */
/* It will not be delivered any more: why is expired, or attempts.  What a source has is done once somebody has its
 * letter. */
void mmi_back_bury(mmi_back *back, mmi_drop_why why, mmi_pipe *p, mmi_msg *m);
void mmi_back_expired(mmi_proto_host *host, mmi_pipe *p, mmi_msg *m);   /* of mmi_proto_host */
/* No peer can have it, as mmi_unsendable: it waits for one that can, if it is to be acknowledged; else it is
 * dropped.  Takes it. */
void mmi_back_wordless(mmi_back *back, mmi_msg *m, int why);

#endif
