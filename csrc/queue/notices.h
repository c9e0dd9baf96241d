/*
 * notices.h: what an XPUB has to tell its user of its peers' subscriptions: topics that changed, not
 * a message of each change.  A topic is told of as subscribed when its first peer comes to it, and
 * as cancelled when the last one leaves it; or (each) the same of every peer by itself.
 *
 * Not here: the tree of topics (base/radix.h), which says what is so now.
 * Law: once the queue is empty, what was told last of a topic (each: of a topic and a peer) is what
 * the tree says.  Of one at most two changes wait; a third undoes the second.  So what waits is
 * bounded by the topics that peers have, those the user was told of, and topics that came and went
 * untold, which are kept up to MMI_NOTICES_MAX and MMI_SUBSCRIPTION_BYTES_MAX, and then forgotten,
 * the oldest first.
 */
#ifndef MMI_NOTICES_H
#define MMI_NOTICES_H

#include "base/list.h"
#include "base/radix.h"
#include "queue/pipe.h"

typedef struct mmi_notices {
    mmi_radix *topics;
    mmi_list queue;            /* mmi_notice: those with changes to tell */
    mmi_list passing;          /* those of them whose topic came and went */
    uint32_t passing_count;
    size_t passing_bytes;
    bool each;
} mmi_notices;

/* What one subscriber did, each by itself; all zeroes at first.  Found by the node of the topic, also
 * once it has cancelled, as it may come back to the topic before its user was told. */
typedef struct mmi_notices_own {
    mmi_map by_node;           /* mmi_notice */
} mmi_notices_own;

void mmi_notices_init(mmi_notices *n, mmi_radix *topics, bool each);
void mmi_notices_fini(mmi_notices *n); /* nobody is subscribed to anything any more */
/* The subscriber was added to the topic of this node, whose first one it is.  MM_ENOMEM. */
int mmi_notices_added(mmi_notices *n, mmi_radix_node *node, mmi_notices_own *own, bool first,
                      const mmi_pipe *pipe) MMI_WARN_UNUSED;
/* It was taken off; node is kept or about to be pruned. */
void mmi_notices_removed(mmi_notices *n, mmi_radix_node *node, mmi_notices_own *own, bool last,
                         const mmi_pipe *pipe);
/* It has no topics any more, and never comes back. */
void mmi_notices_left(mmi_notices_own *own);
static inline bool mmi_notices_ready(const mmi_notices *n) { return !mmi_list_empty(&n->queue); }
/* The next one as a message: 01 or 00, and the topic.  MM_EAGAIN: none; MM_ENOMEM: none taken. */
int mmi_notices_take(mmi_notices *n, mmi_msg **m) MMI_WARN_UNUSED;

#endif
