/*
 * radix.h: which subscribers have a topic that is a prefix of this message?  A compressed prefix
 * tree of topics; each topic counts how often each subscriber asked for it.
 *
 * Law: nothing recurses, so a topic of any length is safe; memory is proportional to the topics
 * held. Not thread-safe.  A subscriber is an opaque pointer (a pipe), not NULL.  No callback may
 * change the tree.
 */
#ifndef MMI_RADIX_H
#define MMI_RADIX_H

#include "base/map.h"

typedef struct mmi_radix_node mmi_radix_node;
typedef struct mmi_radix {
    mmi_radix_node *root;
    size_t topic_count;        /* distinct (topic, subscriber) pairs        */
    mmi_map holders;           /* subscriber -> the nodes it is found at    */
    uint8_t *path;             /* scratch, as long as the longest topic yet */
    size_t path_cap;
} mmi_radix;

void mmi_radix_init(mmi_radix *r);
void mmi_radix_fini(mmi_radix *r);
/* Returns the new count of this pair (1: it is new to this subscriber), or MM_ENOMEM (nothing
 * changed). *first (may be NULL): no subscriber at all had this topic before. */
int mmi_radix_add(mmi_radix *r, const uint8_t *topic, size_t size, void *subscriber, bool *first);
/* Returns the count left (0: gone), or MM_EINVAL when the pair was not there.  *last: now nobody
 * has this topic. */
int mmi_radix_rm(mmi_radix *r, const uint8_t *topic, size_t size, void *subscriber, bool *last);
/* Forgets a subscriber; for each topic it held, however often, calls gone (may be NULL): its node,
 * which gone may keep, and whether nobody has this topic now. */
void mmi_radix_rm_all(mmi_radix *r, void *subscriber,
                      void (*gone)(void *arg, mmi_radix_node *node, bool last), void *arg);
/* Calls match once for each (topic, subscriber) pair whose topic is a prefix: a subscriber with
 * several matching topics is reported several times.  match returns false to stop early. */
void mmi_radix_match(const mmi_radix *r, const uint8_t *text, size_t size,
                     bool (*match)(void *arg, void *subscriber), void *arg);
/* The longest topic that matches such a text: two texts that get the same match the same
 * subscribers, as long as no topic comes or goes.  NULL: nobody. */
const mmi_radix_node *mmi_radix_place(const mmi_radix *r, const uint8_t *text, size_t size);
/* Calls each for every topic held by a subscriber (NULL: any), once, in byte order. */
void mmi_radix_each(const mmi_radix *r, void *subscriber,
                    void (*each)(void *arg, const uint8_t *topic, size_t size, uint32_t count),
                    void *arg);

/* The node of this very topic; NULL: nobody has it, and nobody keeps it. */
mmi_radix_node *mmi_radix_find(const mmi_radix *r, const uint8_t *topic, size_t size);
bool mmi_radix_has(const mmi_radix_node *node, const void *subscriber);
/* A number of the caller's, 0 at first, of a subscriber and a topic that it has. */
uint32_t *mmi_radix_tag(mmi_radix_node *node, const void *subscriber);
/* How many topics of that subscriber are a prefix of such a text: those with tag 0, and the others. */
typedef struct mmi_radix_tags { uint32_t zero, other; } mmi_radix_tags;
mmi_radix_tags mmi_radix_count_tags(const mmi_radix *r, const uint8_t *text, size_t size,
                                    const void *subscriber);
/* Calls each for every topic that a subscriber has, in no order. */
void mmi_radix_each_of(const mmi_radix *r, const void *subscriber,
                       void (*each)(void *arg, mmi_radix_node *node), void *arg);
/* Calls each for every topic that somebody has or keeps and that begins so, in byte order. */
void mmi_radix_each_under(const mmi_radix *r, const uint8_t *prefix, size_t size,
                          void (*each)(void *arg, mmi_radix_node *node), void *arg);
/* A pointer of the caller's, NULL at first, of a topic that somebody has or keeps. */
void **mmi_radix_mark(mmi_radix_node *node);
/* The node, of a topic that somebody has or keeps, stays until it was released as often as kept. */
void mmi_radix_keep(mmi_radix_node *node);
/* The node of this topic, kept once more, whether anybody has it or not.  NULL: no memory. */
mmi_radix_node *mmi_radix_hold(mmi_radix *r, const uint8_t *topic, size_t size) MMI_WARN_UNUSED;
void mmi_radix_release(mmi_radix_node *node);
/* The topic of a node, in scratch memory of the tree. */
size_t mmi_radix_topic_size(const mmi_radix_node *node);
const uint8_t *mmi_radix_topic(mmi_radix *r, const mmi_radix_node *node, size_t *size);

#endif
