/*
 * radix_node.h: the nodes of the prefix tree: finding, making and pruning them.
 * Not here: who holds which node (radix.c), and anything for other files than radix.c.
 * Law: a node other than the root has subscribers, is kept or has two children (or one, when there
 * was no memory to merge it); children are sorted by first byte, subscribers by address; a node that
 * has subscribers or is kept stays at its address when others are split or merged.
 */
#ifndef MMI_RADIX_NODE_H
#define MMI_RADIX_NODE_H

#include "base/radix.h"

typedef struct mmi_radix_sub {
    void *subscriber;
    uint32_t count;
    uint32_t place;            /* of this node in the holder's list */
    uint32_t tag;              /* the user's, of this pair          */
} mmi_radix_sub;

struct mmi_radix_node {
    mmi_radix_node *parent;
    uint8_t *label;            /* NULL for the root only */
    size_t label_size;
    mmi_radix_node **children;
    mmi_radix_sub *subs;
    uint32_t sub_count, sub_cap;
    uint32_t child_count, child_cap;
    uint32_t keeps;
    void *mark;                /* the user's */
};

/* The array, moved if need be, with room for one item more than count; NULL: no memory, array
 * unchanged. */
void *mmi_radix_grow(void *array, uint32_t *cap, uint32_t count, size_t item_size) MMI_WARN_UNUSED;

/* Index of the child that begins with byte, or where it would be inserted; and that child, or NULL.
 */
uint32_t mmi_radix_child_index(const mmi_radix_node *node, uint8_t byte);
mmi_radix_node *mmi_radix_child_at(const mmi_radix_node *node, uint32_t index, uint8_t byte);

/* Index of the subscriber at this node, or where it would be inserted; and the entry, or NULL. */
uint32_t mmi_radix_sub_index(const mmi_radix_node *node, const void *subscriber);
mmi_radix_sub *mmi_radix_sub_find(const mmi_radix_node *node, const void *subscriber);

/* The node of this very topic; NULL: there is none, or (make) no memory, and no topic came or went.
 */
mmi_radix_node *mmi_radix_node_find(const mmi_radix *r, const uint8_t *topic, size_t size);
mmi_radix_node *mmi_radix_node_make(mmi_radix *r, const uint8_t *topic, size_t size);

void mmi_radix_prune(
    mmi_radix_node *node); /* takes away node, and what it leaves, if without a purpose */
void mmi_radix_node_free(mmi_radix_node *node);

#endif
