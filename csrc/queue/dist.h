/*
 * dist.h: fan-out: one message to every pipe that wants it, once each, encoded once for all.
 *
 * While message after message goes to the same pipes, which all have room and are flushed every so
 * often, it is encoded and counted only: the fan-out is deferred, and materialized before anybody looks.
 *
 * Law: a pipe gets a message at most once, however many of its topics match.  With a policy that
 * blocks, a message is queued on all matching pipes or on none.  quiet: a send was refused, and
 * nothing that could let it pass has happened since.
 */
#ifndef MMI_DIST_H
#define MMI_DIST_H

#include "base/radix.h"
#include "queue/drop.h"

typedef struct mmi_dist_node {
    mmi_list node;
    mmi_pipe *pipe;
    uint64_t stamp;            /* of the last walk that saw it            */
    struct mmi_dist_node *seen_next;   /* the one that walk saw after it   */
    bool refused;              /* a blocking send finds no room here      */
    bool behind;               /* it takes no part: somebody else gives it what it gets */
    struct mmi_replay_node *replay;   /* without room it falls behind; NULL: it loses the message */
} mmi_dist_node;

/* What was sent and is in no outbox yet. */
typedef struct mmi_dist_deferred {
    const void *place;         /* in the tree of topics: whom it goes to    */
    mmi_dist_node *first;      /* and who that is, by seen_next             */
    uint32_t node_count;
    mmi_pipe_part part;        /* of the shared segment, up to its last octet  */
    uint32_t room_count;       /* messages that every one of them still has room for; 0: none */
    size_t room_bytes;
} mmi_dist_deferred;

typedef struct mmi_dist {
    mmi_proto_host *host;
    mmi_radix topics;          /* subscribers are mmi_dist_node           */
    mmi_list nodes;
    uint32_t node_count;
    uint32_t refused_count;    /* of the nodes                            */
    uint64_t stamp;
    mmi_segment_out *shared;      /* what goes to many is encoded here; NULL: nothing was yet */
    bool quiet;
    mmi_dist_deferred deferred;
    /* Told what a pipe does not get, or loses again to a newer message.  May be NULL. */
    void (*dropped)(struct mmi_dist *dist, mmi_pipe *p, uint64_t key);
    struct mmi_replays *replays;   /* queue/replays.h, of who publishes from a spool; or NULL */
} mmi_dist;

void mmi_dist_init(mmi_dist *dist, mmi_proto_host *host);
void mmi_dist_fini(mmi_dist *dist);
void mmi_dist_add(mmi_dist *dist, mmi_dist_node *node, mmi_pipe *pipe);
void mmi_dist_rm(mmi_dist *dist,
                 mmi_dist_node *node); /* its topics must have been removed before */
void mmi_dist_out(mmi_dist *dist, mmi_dist_node *node);   /* the pipe may have room again */
void mmi_dist_changed(mmi_dist *dist); /* who gets what has changed: a refused send may pass */

/* To the pipes whose topics are a prefix of frame 0, or to all.  MM_OK: took m; MM_EAGAIN,
 * MM_EINVAL, MM_ENOMEM. */
int mmi_dist_send(mmi_dist *dist, mmi_msg *m) MMI_WARN_UNUSED;
int mmi_dist_send_all(mmi_dist *dist, mmi_msg *m) MMI_WARN_UNUSED;
/* The outboxes get what was deferred.  Before a topic comes or goes, and see role/role.h. */
void mmi_dist_materialize(mmi_dist *dist);
bool mmi_dist_ready(const mmi_dist *dist);
bool mmi_dist_ready_all(const mmi_dist *dist);   /* of who sends to all: each has room */
/* How many pipes a message of this topic goes to. */
uint32_t mmi_dist_reach(mmi_dist *dist, const uint8_t *topic, size_t size);

/* For dist.c alone (dist_deferred.c). */

/* Deferring begins at the end of the shared segment, for so many messages and bytes. */
void mmi_dist_deferred_open(mmi_dist *dist, const mmi_dist_deferred *deferred);
/* true: it took m, for all who get it.  false: it is to be sent as any. */
bool mmi_dist_deferred_send(mmi_dist *dist, mmi_msg *m);

#endif
