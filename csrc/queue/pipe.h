/*
 * pipe.h: one peer as a protocol sees it: two bounded queues of encoded messages and a
 * few facts.  No I/O.
 *
 * The engine's link feeds the inbox and empties the outbox; the protocol does the reverse.  All
 * calls with the engine lock held.  Law: count and bytes of both rings stay within their limits;
 * every message that leaves a pipe without being delivered is counted by whoever takes it out.
 */
#ifndef MMI_PIPE_H
#define MMI_PIPE_H

#include "base/list.h"
#include "base/segment.h"
#include "base/ring.h"
#include "wire/framing.h"

typedef struct mmi_pipe mmi_pipe;

/* What a pipe asks of the engine; the engine fills it in.  None of them calls back into the
 * protocol. */
typedef struct mmi_pipe_ops {
    void (*wrote)(mmi_pipe *p);      /* the outbox is no longer empty: have it flushed           */
    void (*room)(mmi_pipe *p);       /* the inbox has room again: read on if reading was paused  */
    int (*subscription)(mmi_pipe *p, bool add, const uint8_t *topic, size_t size);
    /* tell the peer; not subject to queue limits. MM_OK, MM_ENOMEM */
    void (*close)(mmi_pipe *p, int reason, const char *detail);  /* soon, not inside this call */
    /* How many messages (and bytes) more the outbox may get without anybody being told (wrote), as
     * whoever is to flush it comes by anyway, and materializes what is deferred. NULL: 0. */
    uint32_t (*slack)(const mmi_pipe *p, size_t *bytes);
    /* The peer, which has all that its publisher stored, is told that it gets one of them not, as it is
     * more than it takes.  NULL: nobody is. */
    void (*left_out)(mmi_pipe *p);
} mmi_pipe_ops;

struct mmi_pipe {
    uint64_t id;                     /* unique in the process, never 0          */
    int peer_role;                   /* mm_role */
    bool outgoing;                   /* we dialed                               */
    const uint8_t *identity; /* the peer's, as it said it, or as ROUTER named it; may be empty */
    size_t identity_size;
    mmi_known *known;                /* whom the peer is known as; NULL: nothing protects it */
    mmi_ring inbox, outbox;
    void *state;                     /* the protocol's, pipe_size bytes, zeroed */
    const mmi_pipe_ops *ops;
    const mmi_framing *framing; /* of the wire its peer speaks; NULL: one that has words for all */
    bool segments;                      /* small messages are encoded into segments   */
    uint32_t swept;                  /* where the next sweep of the outbox begins (queue/expiry.h) */
    uint64_t takes_size;             /* octets of a message that the peer says it takes at most */
    uint32_t takes_frames;           /* and its frames; 0: it says neither */
    bool apart;      /* it takes so little that no segment that was made for others may go to it */
    bool takes_meta;                 /* the peer knows META (base/meta.h) */
    bool hears_refusals;             /* the peer asks, and knows them (refusal.h) */
    uint32_t pinned; /* entries at the front of the outbox that are being written: not to be dropped
                        nor moved */
    bool stalled;    /* a sender has waited in vain for the outbox to drain             */
    bool overdue;    /* it had a message for too long, and acknowledged none since */
    bool stopped;    /* nothing more is queued: the peer is being left, or asked for that */
    bool in_blocked; /* the link stopped reading: the inbox was full                    */
    uint64_t accepted, handed, dropped; /* messages: into outbox, out of inbox, dropped           */
    uint64_t answered;               /* answers that came, each to another message of the outbox */
    int ended;                       /* mm_reason; set before it leaves the protocol */
    uint64_t subscriptions, subscription_bytes;   /* of the peer, counted by the publisher */
    struct mmi_unacked *unacked;     /* what it has and did not acknowledge; NULL: it does not */
    struct mmi_acks *acks;           /* what came from it is acknowledged; NULL: it is not */
};

/* Small messages stand encoded at the end of a queue, many in one segment.  MM_OK: took the reference;
 * MM_EAGAIN full; MM_ENOMEM. */
int mmi_queue_encode(mmi_ring *r, const mmi_framing *f, mmi_msg *m) MMI_WARN_UNUSED;

/* For protocols. */

/* Does its peer take a message of that size? */
static inline bool
mmi_pipe_takes(const mmi_pipe *p, size_t size, uint32_t frames)
{
    return p->takes_frames == 0 || (size <= p->takes_size && frames <= p->takes_frames);
}
/* Its peer says that it takes no more than that. */
static inline void
mmi_pipe_limit(mmi_pipe *p, uint64_t size, uint32_t frames)
{
    const uint32_t of_segment = MMI_SEGMENT_BODY_MAX / MMI_FRAME_OVERHEAD;   /* frames, at most */
    p->takes_size = size;
    p->takes_frames = frames;
    p->apart = size < (uint64_t)MMI_SEGMENT_BODY_MAX || frames < of_segment;
}
/* Can it have that message?  MM_OK; MM_EMSGSIZE: it is more than the peer takes; MM_ENOTSUP, MM_EINVAL:
 * its wire has no words for it, as its framing says.  Segments are only for pipes of their own framing,
 * and those of others for none that is apart. */
static inline int
mmi_pipe_check(const mmi_pipe *p, const mmi_msg *m)
{
    if (m->kind != MMI_MSG_ONE) {
        return MM_OK;
    }
    if (!mmi_pipe_takes(p, m->size, m->frame_count)) {
        return MM_EMSGSIZE;
    }
    bool any = p->framing == NULL || p->framing->check == NULL;
    return any ? MM_OK : p->framing->check(p->framing, m);
}
/* Of what mmi_pipe_check says: none of those that are there can have it, but who comes later may. */
static inline bool
mmi_unsendable(int rc)
{
    return rc == MM_ENOTSUP || rc == MM_EMSGSIZE;
}
/* For a small message, up to MMI_READY_BYTES in one frame. */
bool mmi_pipe_has_room(const mmi_pipe *p);
/* MM_OK: took the reference; MM_EAGAIN full; MM_ENOMEM; or as mmi_pipe_check. */
int mmi_pipe_send(mmi_pipe *p, mmi_msg *m) MMI_WARN_UNUSED;
/* Takes as many messages as fit, at least the first must, from the segment of this framing at the front
 * of a ring.  MM_OK; MM_ENOMEM: nothing has changed. */
int mmi_pipe_send_fitting(mmi_pipe *p, mmi_ring *from) MMI_WARN_UNUSED;
/* Messages that stand encoded, in this pipe's words, end to end in a segment. */
typedef struct mmi_pipe_part {
    mmi_segment_out *segment;
    size_t at, size;           /* octets */
    uint32_t count;            /* messages */
    size_t cost;
} mmi_pipe_part;
/* The same for what goes to many, who hold it together as far as they get the same: a part that
 * fits, maybe behind the last octet of the segment, which its user makes longer once all have it. */
int mmi_pipe_share(mmi_pipe *p, const mmi_pipe_part *part) MMI_WARN_UNUSED;
/* NULL: empty, or, when the inbox is not, no memory.  Calls ops->room when reading was paused and
 * may go on. */
mmi_msg *mmi_pipe_recv(mmi_pipe *p);
/* The same without a copy: some messages of the front entry, up to max_messages and, after the
 * first, max_bytes.  false: empty. */
bool mmi_pipe_take(mmi_pipe *p, uint32_t max_messages, size_t max_bytes, mmi_span *out);
/* From the outbox, no pinned one; NULL: none.  The caller counts and unrefs. */
mmi_msg *mmi_pipe_drop_oldest(mmi_pipe *p);
/* Would that cost fit if all that may be dropped were? */
bool mmi_pipe_droppable(const mmi_pipe *p, size_t cost);

/* For the engine. */

/* m has one reference and pipe_id set.  MM_OK: took it; MM_EAGAIN: full, the link keeps it and
 * stops reading; MM_ENOMEM: close the link (an empty inbox would never ask it to read on). */
int mmi_pipe_push_in(mmi_pipe *p, mmi_msg *m) MMI_WARN_UNUSED;
/* The same for the last message of a peer that is gone, which the inbox takes whatever its limits.
 * MM_ENOMEM. */
int mmi_pipe_push_last(mmi_pipe *p, mmi_msg *m) MMI_WARN_UNUSED;
mmi_msg *mmi_pipe_pop_out(mmi_pipe *p);       /* the front entry was written in full */
/* Divides the i-th entry of the outbox, a segment, behind the octet end: what stands behind becomes an
 * entry of its own.  MM_ENOMEM: nothing has changed. */
int mmi_pipe_split_out(mmi_pipe *p, uint32_t i, size_t end) MMI_WARN_UNUSED;
void mmi_pipe_invariants(const mmi_pipe *p);

#endif
