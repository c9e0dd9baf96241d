/*
 * lb.h: load balance: which pipe the next message goes to, of those that have room: in turn, or the
 * one that has the fewest messages.
 *
 * Law: each pipe is on exactly one of the lists.  A pipe that was found full counts as ready
 * only when it has become half empty, so a blocked sender is woken for a batch and not for a slot;
 * a send looks at the full ones too, so what fits is never refused.  A pipe that has room, but
 * whose wire has no words for the message that was refused last, is on a third list until the next
 * send: whoever waits to send that message is not told of its room.  A pipe that is held has no room
 * here; nor has one that is overdue, while another one is not: it would get again what it did not do.
 */
#ifndef MMI_LB_H
#define MMI_LB_H

#include "queue/pipe.h"

typedef struct mmi_lb_node {
    mmi_list node;
    mmi_pipe *pipe;
    bool full;                 /* which list it is on */
    bool held;                 /* the room it has is for others (queue/route.h) */
} mmi_lb_node;

typedef struct mmi_lb {
    mmi_list open, full, passed;
    uint32_t pipe_count;
    bool least;                /* not in turn: to who has the fewest, in turn among those */
} mmi_lb;

void mmi_lb_init(mmi_lb *lb);
void mmi_lb_add(mmi_lb *lb, mmi_lb_node *node, mmi_pipe *pipe);
void mmi_lb_rm(mmi_lb *lb, mmi_lb_node *node);
void mmi_lb_out(mmi_lb *lb, mmi_lb_node *node);           /* the pipe may have room again */

/* Is it overdue, while another one is not?  Then it is passed over. */
bool mmi_lb_late(const mmi_lb *lb, const mmi_pipe *p);
bool mmi_lb_ready(const mmi_lb *lb);                      /* one has room for a small message */
bool mmi_lb_idle(const mmi_lb *lb);                       /* one has nothing to write */
/* Has nobody room for that cost, while somebody speaks that framing?  Then it waits, whatever it is. */
bool mmi_lb_full_for(const mmi_lb *lb, const mmi_framing *f, size_t cost);
/* The next pipe with room for m, not a segment.  MM_OK: it is *to; MM_EAGAIN; MM_ENOTSUP: there
 * are pipes, and none has words for it; MM_EMSGSIZE: nor takes one so much. */
int mmi_lb_next(mmi_lb *lb, const mmi_msg *m, mmi_pipe **to) MMI_WARN_UNUSED;
/* The next pipe of that framing with room for that cost, for what is encoded already; none that is apart.
 * NULL: there is none. */
mmi_pipe *mmi_lb_next_of(mmi_lb *lb, const mmi_framing *f, size_t cost);
/* The next in turn that has words for it, with room or not; NULL: none. */
mmi_pipe *mmi_lb_turn(mmi_lb *lb, const mmi_msg *m);
/* Can one that is there have it, with room or not?  MM_OK, also if nobody is there; MM_ENOTSUP, MM_EMSGSIZE: as of
 * mmi_lb_next. */
int mmi_lb_can(const mmi_lb *lb, const mmi_msg *m);
/* The most of what the peers say they take: octets of a message, and frames, each by itself. */
void mmi_lb_takes(const mmi_lb *lb, uint64_t *size, uint32_t *frames);
/* Queues m on the next pipe, which *to then names.  MM_OK: took the reference; else as mmi_lb_next,
 * or MM_ENOMEM. */
int mmi_lb_send(mmi_lb *lb, mmi_msg *m, mmi_pipe **to) MMI_WARN_UNUSED;

#endif
