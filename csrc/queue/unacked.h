/*
 * queue/unacked.h: what was written to a peer that acknowledges, and was not acknowledged yet: it is
 * kept, in its order, so that it can be given to somebody else.
 *
 * Messages of a connection have numbers from 1 on, in the order in which they are written.  The peer
 * says up to which number it takes (its credit), and which it is done with: those up to a floor, and
 * single ones above it.
 * Not here: what the peer does (queue/acks.h), whom else it is given to (queue/backlog.c).
 * Law: written <= limit <= floor + MMI_UNACKED_MAX.  What is written or queued stays within the
 * limits that the outbox had, so the outbox has what is left of them: its limits are set here, and
 * nowhere else.
 */
#ifndef MMI_UNACKED_H
#define MMI_UNACKED_H

#include "base/marks.h"
#include "base/ring.h"
#include "queue/overdue.h"
#include "queue/receipts.h"
#include "wire/delivery.h"

typedef struct mmi_unacked {
    mmi_ring sent;               /* entries that were written; the first message is number first */
    mmi_ring *outbox;
    mmi_receipts *receipts;      /* of its socket: told of what is acknowledged; may be NULL */
    uint32_t count_max;          /* of the outbox, before */
    size_t bytes_max;
    uint64_t epoch;              /* which connection of its sender this is */
    uint64_t first, written, limit, told;   /* numbers; told: the floor that the peer said last */
    /* For parts of segments that were written: a write may end the one at its beginning, and begin the
     * one at its end. */
    mmi_segment_out *spares[2];
    mmi_msg *hole;               /* in place of what is acknowledged behind what is not */
    mmi_overdue *overdue;        /* who has them for too long; NULL: they have the time they need */
    bool ends;                   /* the peer ends, and has not tried what it did not acknowledge */
    mmi_marks acked;
} mmi_unacked;

mmi_unacked *mmi_unacked_new(mmi_ring *outbox, mmi_receipts *receipts,
                             uint64_t epoch) MMI_WARN_UNUSED;   /* NULL: no memory */
void mmi_unacked_free(mmi_unacked *u);                  /* NULL is fine; what it keeps goes */
/* So many entries may be written without asking for memory.  MM_ENOMEM. */
int mmi_unacked_reserve(mmi_unacked *u, uint32_t entries) MMI_WARN_UNUSED;
/* An entry was taken out of the outbox as it was written; takes it. */
void mmi_unacked_wrote(mmi_unacked *u, mmi_msg *m);
/* Of a segment at the front of the outbox: the octets from at to end, that many messages. */
void mmi_unacked_wrote_part(mmi_unacked *u, mmi_segment_out *segment, size_t at, size_t end,
                            uint32_t count, size_t cost);
/* Messages that are written and not acknowledged. */
static inline uint64_t
mmi_unacked_count(const mmi_unacked *u)
{
    return u->written - u->acked.count;
}
/* What the peer says.  MM_OK, *newly: messages that were acknowledged by it; MM_EPROTO: of what was
 * never written, or less than before. */
int mmi_unacked_ack(mmi_unacked *u, const mmi_ack *ack, uint64_t *newly) MMI_WARN_UNUSED;
/* The peer gives that message back: it counts as acknowledged, and *m is for somebody else; it is the
 * caller's.  MM_OK; MM_EPROTO: it was never written; MM_EAGAIN: it was acknowledged; MM_ENOMEM. */
int mmi_unacked_give_back(mmi_unacked *u, uint64_t number, mmi_msg **m) MMI_WARN_UNUSED;
/* The peer is gone: the next entry that somebody else is to have, with where it was first (origin);
 * NULL: there is none.  The caller has it.  Without memory it may have messages that were
 * acknowledged. */
mmi_msg *mmi_unacked_take_back(mmi_unacked *u);
void mmi_unacked_invariants(const mmi_unacked *u);

#endif
