/*
 * link/plan.h: what one write of a link takes: the rest of a begun message, then commands, then as
 * many messages as fit.
 *
 * Not here: the write, and what it took (link/write.c), sealing it (link/shield.h).
 * Law: a plan refers to octets, and copies none but heads; it changes nothing in the outbox, and
 * keeps what it refers to alive until it is released.
 */
#ifndef MMI_LINK_PLAN_H
#define MMI_LINK_PLAN_H

#include "link/inside.h"

enum {
    MMI_LINK_PLAN_PIECES = 256,
    MMI_LINK_PLAN_SEALED = 64 * 1024     /* octets, where they are sealed: that much is pinned until
                                            the stream took it */
};

/* One write: what goes, and the entries of the outbox it keeps alive. */
typedef struct mmi_link_plan {
    const mmi_framing *framing;
    size_t (*put_meta)(uint8_t *out, size_t size);   /* of the wire; NULL: the peer takes none */
    const mmi_link *link;
    mmi_numbering numbers;               /* as they will stand behind what is in the plan */
    uint8_t befores[MMI_LINK_PLAN_PIECES][MMI_NUMBERED_MAX];   /* of messages with numbers */
    uint8_t metas[MMI_LINK_PLAN_PIECES][MMI_META_HEAD_MAX];    /* of what goes with messages */
    uint8_t heads[MMI_LINK_PLAN_PIECES][MMI_FRAMING_HEAD_MAX]; /* of messages that do not keep theirs */
    mmi_iov iov[MMI_LINK_PLAN_PIECES];
    mmi_msg *owner[MMI_LINK_PLAN_PIECES];         /* of the octets; NULL: the plan's or the link's */
    mmi_msg *kept[MMI_LINK_PLAN_PIECES];
    int iov_count, kept_count;
    size_t total, limit;                 /* octets; it is full with so many */
    bool full;
} mmi_link_plan;

/* With the lock kept. */
void mmi_link_plan_gather(mmi_link *link, mmi_link_plan *plan);
void mmi_link_plan_release(mmi_link_plan *plan);

#endif
