/*
 * radix_node.c: nodes are split where topics part, and merged again where they no longer do.
 * Not here: the subscribers' view of the tree.
 * Law: as in radix_node.h; no function recurses; a failed allocation leaves every topic as it was.
 */
#include "base/radix_node.h"

#include <string.h>

/* ---- small arrays ---- */

void *
mmi_radix_grow(void *array, uint32_t *cap, uint32_t count, size_t item_size)
{
    if (count < *cap) {
        return array;
    }
    if (*cap > UINT32_MAX / 2) {
        return NULL;
    }
    uint32_t wanted = *cap == 0 ? 1 : *cap * 2;   /* most topics have one subscriber */
    void *bigger = mmi_realloc(array, wanted * item_size);
    if (bigger != NULL) {
        *cap = wanted;
    }
    return bigger;
}

uint32_t
mmi_radix_child_index(const mmi_radix_node *node, uint8_t byte)
{
    uint32_t low = 0, high = node->child_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (node->children[middle]->label[0] < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

mmi_radix_node *
mmi_radix_child_at(const mmi_radix_node *node, uint32_t index, uint8_t byte)
{
    if (index < node->child_count && node->children[index]->label[0] == byte) {
        return node->children[index];
    }
    return NULL;
}

uint32_t
mmi_radix_sub_index(const mmi_radix_node *node, const void *subscriber)
{
    uint32_t low = 0, high = node->sub_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((uintptr_t)node->subs[middle].subscriber < (uintptr_t)subscriber) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

mmi_radix_sub *
mmi_radix_sub_find(const mmi_radix_node *node, const void *subscriber)
{
    uint32_t i = mmi_radix_sub_index(node, subscriber);
    if (i < node->sub_count && node->subs[i].subscriber == subscriber) {
        return &node->subs[i];
    }
    return NULL;
}

/* ---- nodes ---- */

void
mmi_radix_node_free(mmi_radix_node *node)
{
    mmi_free(node->label);
    mmi_free(node->children);
    mmi_free(node->subs);
    mmi_free(node);
}

static mmi_radix_node *
radix_node_new(mmi_radix_node *parent, const uint8_t *label, size_t size)
{
    mmi_radix_node *node = mmi_alloc(sizeof(*node));
    if (node == NULL) {
        return NULL;
    }
    node->parent = parent;
    node->label_size = size;
    if (size > 0) {
        node->label = mmi_realloc(NULL, size);
        if (node->label == NULL) {
            mmi_free(node);
            return NULL;
        }
        memcpy(node->label, label, size);
    }
    return node;
}

/* A new child of node at index; NULL: no memory. */
static mmi_radix_node *
radix_leaf_add(mmi_radix_node *node, uint32_t index, const uint8_t *label, size_t size)
{
    mmi_radix_node **children =
        mmi_radix_grow(node->children, &node->child_cap, node->child_count, sizeof(*children));
    if (children == NULL) {
        return NULL;
    }
    node->children = children;
    mmi_radix_node *leaf = radix_node_new(node, label, size);
    if (leaf == NULL) {
        return NULL;
    }
    memmove(node->children + index + 1, node->children + index,
            (node->child_count - index) * sizeof(*node->children));
    node->children[index] = leaf;
    node->child_count++;
    return leaf;
}

/* Puts a new node above the child at index, with the first size bytes of its label; NULL: no
 * memory. */
static mmi_radix_node *
radix_split(mmi_radix_node *node, uint32_t index, size_t size)
{
    mmi_radix_node *lower = node->children[index];
    mmi_radix_node *upper = radix_node_new(node, lower->label, size);
    if (upper == NULL) {
        return NULL;
    }
    upper->children = mmi_radix_grow(NULL, &upper->child_cap, 0, sizeof(*upper->children));
    if (upper->children == NULL) {
        mmi_radix_node_free(upper);
        return NULL;
    }
    upper->children[0] = lower;
    upper->child_count = 1;
    node->children[index] = upper;
    lower->parent = upper;
    lower->label_size -= size;
    memmove(lower->label, lower->label + size, lower->label_size);
    return upper;
}

/* Joins a node that only leads on to one child with that child, which keeps its address. */
static void
radix_merge(mmi_radix_node *node)
{
    mmi_radix_node *child = node->children[0];
    uint8_t *label = mmi_realloc(child->label, node->label_size + child->label_size);
    if (label == NULL) {
        return;   /* the tree is right as it is, only less compact */
    }
    memmove(label + node->label_size, label, child->label_size);
    memcpy(label, node->label, node->label_size);
    child->label = label;
    child->label_size += node->label_size;
    child->parent = node->parent;
    node->parent->children[mmi_radix_child_index(node->parent, label[0])] = child;
    mmi_radix_node_free(node);
}

void
mmi_radix_prune(mmi_radix_node *node)
{
    while (node->parent != NULL && node->sub_count == 0 && node->keeps == 0) {
        mmi_radix_node *parent = node->parent;
        if (node->child_count == 1) {
            radix_merge(node);
            return;
        }
        if (node->child_count > 1) {
            return;
        }
        uint32_t index = mmi_radix_child_index(parent, node->label[0]);
        parent->child_count--;
        memmove(parent->children + index, parent->children + index + 1,
                (parent->child_count - index) * sizeof(*parent->children));
        mmi_radix_node_free(node);
        node = parent;
    }
}

static size_t
radix_common(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
    size_t most = a_size < b_size ? a_size : b_size, i = 0;
    while (i < most && a[i] == b[i]) {
        i++;
    }
    return i;
}

mmi_radix_node *
mmi_radix_node_find(const mmi_radix *r, const uint8_t *topic, size_t size)
{
    mmi_radix_node *node = r->root;
    while (node != NULL && size > 0) {
        node = mmi_radix_child_at(node, mmi_radix_child_index(node, topic[0]), topic[0]);
        if (node == NULL || node->label_size > size ||
            memcmp(node->label, topic, node->label_size) != 0) {
            return NULL;
        }
        topic += node->label_size;
        size -= node->label_size;
    }
    return node;
}

mmi_radix_node *
mmi_radix_node_make(mmi_radix *r, const uint8_t *topic, size_t size)
{
    if (r->root == NULL) {
        r->root = radix_node_new(NULL, NULL, 0);
    }
    mmi_radix_node *node = r->root;
    while (node != NULL && size > 0) {
        uint32_t index = mmi_radix_child_index(node, topic[0]);
        mmi_radix_node *child = mmi_radix_child_at(node, index, topic[0]);
        if (child == NULL) {
            mmi_radix_node *leaf = radix_leaf_add(node, index, topic, size);
            if (leaf == NULL) {
                mmi_radix_prune(node);
            }
            return leaf;
        }
        size_t common = radix_common(child->label, child->label_size, topic, size);
        node = common < child->label_size ? radix_split(node, index, common) : child;
        topic += common;
        size -= common;
    }
    return node;
}
