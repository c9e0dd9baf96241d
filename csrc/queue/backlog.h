/*
 * queue/backlog.h: sending that survives the loss of a peer: what was not begun on the wire of a peer that
 * went away is kept, and goes to the next one, before anything new.  Used by push, dealer, req and
 * pair.
 *
 * Law: kept is empty unless no pipe has room (or memory ran out).  An accepted message is in one
 * outbox, in kept, in a lane, or dropped and counted.  With a route messages with keys are in kept
 * only while there is no peer.
 */
#ifndef MMI_BACK_H
#define MMI_BACK_H

#include "queue/dead.h"
#include "queue/lb.h"
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
    mmi_ring kept;
    uint32_t swept;               /* where the next sweep of it begins (queue/expiry.h) */
    mmi_dead dead;
    mmi_receipts receipts;
    const mmi_framing *framing;   /* of the last peer that acknowledges; NULL: there was none */
    /* Told where each message goes, by its key; p only when queued.  May be NULL. */
    void (*note)(struct mmi_back *back, uint64_t key, mmi_back_where where, mmi_pipe *p);
} mmi_back;

void mmi_back_init(mmi_back *back, mmi_proto_host *host);
void mmi_back_fini(mmi_back *back);
void mmi_back_add(mmi_back *back, mmi_lb_node *node, mmi_pipe *pipe);   /* sends it what was kept */
/* Takes the pipe out of the turns, keeps what was not begun, and passes it on. */
void mmi_back_stop(mmi_back *back, mmi_lb_node *node);
/* and what it did not acknowledge goes to somebody else first */
void mmi_back_rm(mmi_back *back, mmi_lb_node *node); /* the same, unless it was stopped before */
/* A message that a peer gave back goes to whoever is next, unless it was handed out often enough; takes it. */
void mmi_back_again(mmi_back *back, mmi_msg *m);
void mmi_back_out(mmi_back *back, mmi_lb_node *node);

/* Sends as the socket's overflow says and, when there is no peer, as its no_peer does.  MM_OK: took
 * m; MM_EAGAIN, MM_EINVAL (no frames), MM_ENOTSUP (no peer's wire has words for it), MM_ENOMEM. */
int mmi_back_send(mmi_back *back, mmi_msg *m) MMI_WARN_UNUSED;
mmi_pipe *mmi_back_sole(const mmi_back *back); /* see mmi_proto_ops */
bool mmi_back_ready(const mmi_back *back);   /* would a send not wait */
/* What waits here is little enough that who waits to send is to go on. */
bool mmi_back_low(const mmi_back *back);
/* Messages and bytes that are still to be sent, and in no outbox. */
uint32_t mmi_back_count(const mmi_back *back, uint64_t *bytes);

#endif
