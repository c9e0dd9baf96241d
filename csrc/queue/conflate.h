/*
 * conflate.h: keeps the newest message: of all, or of each topic.  For a SUB whose user wants how
 * things stand, not how they came about.
 *
 * Not here: what is subscribed to (sub.c).
 * Law: of a topic one message is kept at most, the one that came last; a newer one takes its place
 * in the queue, so a topic that changes often keeps no other waiting.  Kept are as many, and as many
 * bytes, as a receive queue takes; over that the one that waited longest goes.
 */
#ifndef MMI_CONFLATE_H
#define MMI_CONFLATE_H

#include "base/radix.h"
#include "queue/drop.h"

typedef struct mmi_conflate {
    mmi_proto_host *host;
    mmi_radix *topics;         /* what is subscribed to                          */
    bool on, by_topic;
    mmi_list queue;            /* in the order in which their topics have waited */
    mmi_radix kept[2];         /* by topic; messages of one frame apart          */
    uintptr_t number;          /* of the last message kept                       */
    uint32_t count;
    size_t bytes;              /* as mmi_msg_cost charges them                   */
} mmi_conflate;

void mmi_conflate_init(mmi_conflate *c, mmi_proto_host *host, mmi_radix *topics);
void mmi_conflate_fini(mmi_conflate *c);    /* counts what is left as dropped_closed */
/* All that was received, which is wanted as it is subscribed to, or is dropped. */
void mmi_conflate_take_in(mmi_conflate *c, mmi_pipe *p);
int mmi_conflate_recv(mmi_conflate *c, mmi_msg **m);   /* as the recv of a role */
/* This topic came, or is gone: what begins with it is kept under another one, or not at all. */
void mmi_conflate_turned(mmi_conflate *c, bool add, const uint8_t *topic, size_t size);

#endif
