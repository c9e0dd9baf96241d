/*
 * queue/retained.h: the last message of each topic that a publisher sent, for who subscribes later.
 *
 * A subscriber is owed the value of each topic that begins as what it newly subscribed to, unless an older topic of it
 * is a prefix of that, too: that one brought it.  It gets them while its outbox is at most half full: the other half is
 * for what is sent meanwhile.  What it newly subscribed to is looked at before the next message, or in a moment: so who
 * subscribes and cancels again and again costs no walk each time.
 * Not here: from a spool, before anybody gets any (api/replay_fill.c); what the other end keeps (queue/conflate.h).
 * Law: of a topic there is one value at most.  What was sent of it goes to a subscriber that is owed the value behind
 * that, or in its place, and nothing goes to it twice.  Memory: within the two limits; a bit for each place of a value,
 * of a subscriber that is owed some.
 */
#ifndef MMI_RETAINED_H
#define MMI_RETAINED_H

#include "queue/dist.h"
#include "queue/expiry.h"

typedef struct mmi_retained_node {
    mmi_list fresh, owing;       /* of the lists of those names */
    mmi_dist_node *dist;
    uint64_t *owed;              /* a bit for each place; NULL: nothing */
    uint32_t words, owed_count;
    uint32_t at;                 /* the place that is looked at next */
    uint64_t looked, walked;     /* the last tick in which it cancelled something; values that were looked at since */
    bool known;                  /* some of its topics were looked at before */
    uint64_t accepted;           /* of its pipe, before the message that is being sent */
} mmi_retained_node;

typedef struct mmi_retained {
    mmi_dist *dist;
    mmi_radix topics;            /* the mark of one is its place, and 1 more */
    struct mmi_retained_value *values;
    uint32_t place_count, place_cap, free;   /* free: the first place that is, and 1 more */
    uint32_t count, expiring;    /* values; of those, that have an end */
    size_t bytes;                /* as mmi_msg_cost charges them, and topics once more */
    uint32_t swept;              /* where the next sweep begins */
    uint64_t ticks;
    bool filling;                /* values come from a spool, and nobody gets any yet */
    mmi_list fresh, owing;       /* mmi_retained_node: with new topics; that are owed values */
} mmi_retained;

void mmi_retained_init(mmi_retained *r, mmi_dist *dist);
void mmi_retained_fini(mmi_retained *r);   /* after all subscribers */

/* A subscriber comes, goes, has that topic now, has room again. */
void mmi_retained_add(mmi_retained_node *node, mmi_dist_node *dist);
void mmi_retained_rm(mmi_retained_node *node);
void mmi_retained_subscribed(mmi_retained *r, mmi_retained_node *node, const uint8_t *topic, size_t size);
/* It is about to lose that topic, which it has: what is new is looked at while that is there.  In a tick so often as
 * there are values, and a last time: who does more of this at once may get a value a second time. */
void mmi_retained_cancels(mmi_retained *r, mmi_retained_node *node, const uint8_t *topic, size_t size);
void mmi_retained_out(mmi_retained *r, mmi_retained_node *node);
void mmi_retained_tick(mmi_retained *r);   /* who is to get values gets them */

/* As mmi_dist_send, and what was sent is the value of its topic. */
int mmi_retained_send(mmi_retained *r, mmi_msg *m) MMI_WARN_UNUSED;
/* The value of a topic; NULL: there is none. */
mmi_msg *mmi_retained_find(mmi_retained *r, const uint8_t *topic, size_t size);
/* Values that somebody is owed, and subscribers of whom that is not known yet. */
uint64_t mmi_retained_owed(const mmi_retained *r);
void mmi_retained_sweep(mmi_retained *r, mmi_expiry *x);   /* those whose time is over */

/* As a message that was sent, but to nobody; takes m.  MM_ENOMEM: the caller keeps it. */
int mmi_retained_fill(mmi_retained *r, mmi_msg *m) MMI_WARN_UNUSED;
void mmi_retained_filled(mmi_retained *r);

#endif
