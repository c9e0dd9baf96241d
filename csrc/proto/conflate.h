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
#include "proto/drop.h"

typedef struct mmi_conflate {
    mmi_proto_host *host;
    bool on, by_topic;
    mmi_list queue;            /* in the order in which their topics have waited */
    mmi_radix kept[2];         /* by topic; messages of one frame apart          */
    uint32_t count;
    size_t bytes;              /* as mmi_msg_cost charges them                   */
} mmi_conflate;

void mmi_conflate_init(mmi_conflate *c, mmi_proto_host *host);
void mmi_conflate_fini(mmi_conflate *c);    /* counts what is left as dropped_closed */
/* All that was received, which is wanted as it is subscribed to these topics, or is dropped. */
void mmi_conflate_take_in(mmi_conflate *c, mmi_pipe *p, const mmi_radix *topics);
int mmi_conflate_recv(mmi_conflate *c, mmi_msg **m);   /* as the recv of a role */
void mmi_conflate_sift(mmi_conflate *c, const mmi_radix *topics); /* some topic was cancelled */

#endif
