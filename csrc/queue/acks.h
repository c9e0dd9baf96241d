/*
 * queue/acks.h: what came from a peer whose messages are acknowledged: which were given out, which
 * are done, and what it was told of that.
 *
 * Not here: what the peer makes of it (queue/unacked.h), when it is written (link/ack.c).
 * Law: floor <= given <= received; a message is acknowledged only after it was given out.  The peer is
 * given credit for prefetch messages beyond those that are done, and never less than before.
 */
#ifndef MMI_ACKS_H
#define MMI_ACKS_H

#include "base/list.h"
#include "base/marks.h"
#include "wire/delivery.h"

typedef struct mmi_acks {
    mmi_list given_node;         /* host->given: some were given out and are not done */
    mmi_list untold_node;        /* host->untold: some are done and the peer was not told */
    struct mmi_pipe *pipe;
    struct mmi_proto_host *host;
    mmi_count of;
    uint32_t prefetch;           /* messages */
    uint64_t received, given;    /* numbers */
    uint64_t limit;              /* the last number it was told that it may send */
    uint64_t told;               /* messages that were done when the peer was told last */
    uint64_t told_ns;            /* and when that was */
    bool due;                    /* it is to be told, with the next write */
    bool ends;                   /* it gets no credit any more, and is told so */
    mmi_marks done;
} mmi_acks;

/* Counts from now on.  NULL: no memory. */
mmi_acks *mmi_acks_new(struct mmi_pipe *p, struct mmi_proto_host *host,
                       const mmi_count *of) MMI_WARN_UNUSED;
void mmi_acks_free(mmi_acks *a);   /* NULL is fine */
/* May so many more come?  Not over what it was told: nobody could tell of them. */
static inline bool
mmi_acks_may(const mmi_acks *a, uint32_t count)
{
    return count <= a->limit - a->received;
}
/* The number of the first of so many messages that came. */
static inline uint64_t
mmi_acks_came(mmi_acks *a, uint32_t count)
{
    uint64_t first = a->received + 1;
    a->received += count;
    return first;
}
void mmi_acks_gave(mmi_acks *a, uint32_t count);   /* in the order they came */
/* That message is done.  false: it was, or was not given out. */
bool mmi_acks_done(mmi_acks *a, uint64_t number);
static inline bool
mmi_acks_untold(const mmi_acks *a)   /* some are done, and the peer was not told */
{
    return a->done.count > a->told;
}
void mmi_acks_tell(mmi_acks *a);   /* the peer, soon */
/* Of all peers: what was given out is done; and whoever was not told is to be. */
void mmi_acks_done_all(struct mmi_proto_host *host);
/* Some of what was given out was lost for want of memory: whoever sent of it loses its connection, and
 * gives it to somebody else. */
void mmi_acks_lost(struct mmi_proto_host *host);
/* Nothing more is there: perhaps peers wait to be told what is done.  Who need not be told now is by
 * the tick, which returns when it is wanted again. */
void mmi_acks_idle(struct mmi_proto_host *host);
uint64_t mmi_acks_tick(struct mmi_proto_host *host, uint64_t now_ns);
/* Octets of an ACK as it is now; and writes it: then the peer counts as told. */
static inline size_t
mmi_acks_size(const mmi_acks *a)
{
    return (size_t)MMI_ACK_SIZE + mmi_marks_bitmap_size(&a->done);
}
void mmi_acks_put(mmi_acks *a, uint8_t *out);
void mmi_acks_invariants(const mmi_acks *a);

#endif
