/*
 * queue/route.h: which peer a message with a key goes to, and where it waits for it.
 *
 * Each peer has a lane: what is for it alone, as its key says so, and finds no room in its outbox.
 * The lane whose weight for a key is the highest has the key (Thaler and Ravishankar, Using
 * Name-Based Mappings to Increase Hit Rates, 1998).  So a peer that comes takes some keys of each
 * other one, a peer that goes leaves its own to all others, and no other key moves.
 * Not here: messages without a key, what is dropped (queue/backlog.c).
 * Law: a message waits in the lane that has its key; what waits in a lane goes before what is newer.
 * A lane in which something waits is held: nothing else takes the room of its outbox.
 */
#ifndef MMI_ROUTE_H
#define MMI_ROUTE_H

#include "queue/expiry.h"
#include "queue/lb.h"

typedef struct mmi_lane {
    mmi_lb_node lb;            /* its peer; held: see above */
    mmi_list node;             /* route->lanes */
    uint64_t name;             /* of its peer, hashed: its identity, or the number of its lane */
    mmi_ring again; /* somebody else had it, or was to have it: goes first, has no limits */
    mmi_ring waits; /* was never anybody's; limits are looked at by who sends */
    uint32_t swept_again, swept_waits; /* where the next sweep begins (queue/expiry.h) */
    bool owes; /* it has sent since others last had a turn to */
} mmi_lane;

typedef struct mmi_route {
    mmi_list lanes;
    uint32_t lane_count;
    uint64_t added;            /* lanes, ever */
    bool by_topic;             /* the key of a message without one is its first frame */
} mmi_route;

static inline bool
mmi_route_keyed(const mmi_route *route, const mmi_msg *m)
{
    return (m->meta != NULL && m->meta->key_size > 0) ||
           (route->by_topic && m->kind == MMI_MSG_ONE && m->frame_count > 0);
}

void mmi_route_init(mmi_route *route);
/* Its peer is lane->lb.pipe.  It gets what waits elsewhere and has a key of its own. */
void mmi_route_add(mmi_route *route, mmi_lane *lane);
void mmi_route_rm(mmi_route *route, mmi_lane *lane); /* keeps what waits in it; twice is harmless */
mmi_lane *mmi_route_of(const mmi_route *route, const mmi_pipe *p);   /* that peer's lane; NULL: it has none */
/* The lane that has the key of m, of those whose wire has words for it; NULL: none. */
mmi_lane *mmi_route_owner(const mmi_route *route, const mmi_msg *m);
/* Messages with keys go from a queue to their lanes, but for those that have none. */
void mmi_route_sort(mmi_route *route, mmi_ring *from);
/* Messages and bytes that wait in all lanes. */
uint32_t mmi_route_count(const mmi_route *route, uint64_t *bytes);
void mmi_route_sweep(mmi_route *route, mmi_expiry *x); /* of what is of no use any more */

/* Queues m for the lane's peer.  MM_OK: took the reference; MM_EAGAIN; MM_ENOMEM. */
int mmi_lane_send(mmi_lane *lane, mmi_msg *m) MMI_WARN_UNUSED;
/* It waits here.  MM_OK: took the reference; MM_ENOMEM. */
int mmi_lane_wait(mmi_lane *lane, mmi_msg *m) MMI_WARN_UNUSED;
/* The same of what goes first; what there is room for goes at once. */
int mmi_lane_again(mmi_lane *lane, mmi_msg *m) MMI_WARN_UNUSED;
/* Sends what there is room for.  MM_OK: nothing is left; MM_EAGAIN; MM_ENOMEM. */
int mmi_lane_flush(mmi_lane *lane);
int mmi_route_flush(mmi_route *route); /* of all lanes.  MM_OK; MM_ENOMEM: for one of them */
mmi_msg *mmi_lane_take(mmi_lane *lane); /* what would go next; NULL: nothing waits */
void mmi_lane_fini(mmi_lane *lane); /* nothing waits in it */

/* A number of a key or an identity, and how high a lane of that name stands for a key.  The same on
 * every machine and in every version: senders that never met choose the same peer. */
uint64_t mmi_route_hash(const uint8_t *data, size_t size);
/* What receivers know a life of a spool by, of its uuid and its epoch: they may have messages of several spools, each
 * of which counts its lives from 1 on. */
uint64_t mmi_route_life(const uint8_t uuid[16], uint32_t epoch);
uint64_t mmi_route_weight(uint64_t key, uint64_t name);

#endif
