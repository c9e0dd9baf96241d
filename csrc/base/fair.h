/*
 * fair.h: a queue in which those who come from one place take turns with all others: who has many
 * in it waits behind the first of each.
 *
 * Rounds: of each place one is in a round.  Who comes is in the round behind the one that is served,
 * or behind its own last one; rounds are served in order, and each in the order of coming.  So at
 * most two of each other place are served before the first of a place that had none.
 * Not here: who is in it, and what a place is.
 * Law: nobody is passed by who comes later into the same or a later round; leaving is
 * mmi_list_rm of the node.
 */
#ifndef MMI_FAIR_H
#define MMI_FAIR_H

#include "base/list.h"

typedef struct mmi_fair {
    mmi_list queue;                      /* mmi_fair_node.node, by round */
    uint64_t served;                     /* the round of who was taken last */
} mmi_fair;

typedef struct mmi_fair_node {
    mmi_list node;
    uint64_t from, round;
} mmi_fair_node;

static inline void
mmi_fair_init(mmi_fair *fair)
{
    mmi_list_init(&fair->queue);
    fair->served = 0;
}

static inline mmi_fair_node *
mmi_fair_node_of(mmi_list *node)
{
    return MMI_CONTAINER_OF(node, mmi_fair_node, node);
}

/* from: where it comes from. */
static inline void
mmi_fair_enter(mmi_fair *fair, mmi_fair_node *who, uint64_t from)
{
    who->from = from;
    who->round = fair->served + 1;
    mmi_list *at = fair->queue.prev;
    while (at != &fair->queue && mmi_fair_node_of(at)->from != from) {
        at = at->prev;
    }
    if (at != &fair->queue && mmi_fair_node_of(at)->round >= who->round) {
        who->round = mmi_fair_node_of(at)->round + 1;
    }
    at = fair->queue.prev;
    while (at != &fair->queue && mmi_fair_node_of(at)->round > who->round) {
        at = at->prev;
    }
    mmi_list_push_front(at, &who->node);
}

/* It is served, off the queue: mostly the first. */
static inline void
mmi_fair_serve(mmi_fair *fair, mmi_fair_node *who)
{
    mmi_list_rm(&who->node);
    fair->served = who->round > fair->served ? who->round : fair->served;
}

#endif
