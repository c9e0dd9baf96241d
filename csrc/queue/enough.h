/*
 * queue/enough.h: peers that get nothing before so many are there (opts->peers_min), so that the first one does not get
 * what is another one's by its key.
 *
 * Not here: who gets what (queue/route.h).
 * Law: once they were there it is over, however many go.  A peer that waits here is in no turn and has no lane: the
 * pipe of its mmi_lb_node is NULL, also if it is stopped before it ever had one.
 */
#ifndef MMI_ENOUGH_H
#define MMI_ENOUGH_H

#include "queue/backlog.h"

typedef struct mmi_enough_node {
    mmi_list node;
    mmi_lb_node *lb;
    mmi_pipe *pipe;
    bool waits;
} mmi_enough_node;

/* A peer comes: as mmi_back_add, at once, or once enough are there. */
void mmi_enough_add(mmi_back *back, mmi_enough_node *one, mmi_lb_node *lb, mmi_pipe *pipe);
/* It is stopped, or goes.  true: it never was in a turn, and there is nothing to take from it. */
bool mmi_enough_rm(mmi_back *back, mmi_enough_node *one);

#endif
