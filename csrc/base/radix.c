/*
 * radix.c: the prefix tree.  A node's topic is the labels from the root down to it, joined.
 * Each subscriber's nodes are also listed under it, so that forgetting one costs what it held.
 * Not here: the shape of the tree (radix_node.c).
 * Law: subs[i].place is the index of the node in the list of that subscriber; path has room for the
 * longest topic ever added.
 */
#include "base/radix_node.h"

#include <string.h>

typedef struct radix_holder {
    mmi_radix_node **nodes;
    uint32_t count, cap;
} radix_holder;

/* ---- holders: the nodes of each subscriber ---- */

static radix_holder *
radix_holder_find(const mmi_radix *r, const void *subscriber)
{
    return mmi_map_find(&r->holders, (uint64_t)(uintptr_t)subscriber);
}

static void
radix_holder_rm(mmi_radix *r, const void *subscriber)
{
    radix_holder *holder = mmi_map_rm(&r->holders, (uint64_t)(uintptr_t)subscriber);
    if (holder != NULL) {
        mmi_free(holder->nodes);
        mmi_free(holder);
    }
}

/* The holder with room for one more node; NULL: no memory. */
static radix_holder *
radix_holder_reserve(mmi_radix *r, const void *subscriber)
{
    radix_holder *holder = radix_holder_find(r, subscriber);
    if (holder == NULL) {
        holder = mmi_alloc(sizeof(*holder));
        if (holder == NULL) {
            return NULL;
        }
        if (mmi_map_put(&r->holders, (uint64_t)(uintptr_t)subscriber, holder) != MM_OK) {
            mmi_free(holder);
            return NULL;
        }
    }
    mmi_radix_node **nodes =
        mmi_radix_grow(holder->nodes, &holder->cap, holder->count, sizeof(*nodes));
    if (nodes == NULL) {
        if (holder->count == 0) {
            radix_holder_rm(r, subscriber);
        }
        return NULL;
    }
    holder->nodes = nodes;
    return holder;
}

/* Takes the node out of the list of its holder, whose last node takes its place. */
static void
radix_holder_take(mmi_radix *r, const void *subscriber, uint32_t place)
{
    radix_holder *holder = radix_holder_find(r, subscriber);
    mmi_radix_node *last = holder->nodes[--holder->count];
    holder->nodes[place] = last;
    mmi_radix_sub_find(last, subscriber)->place = place;
    if (holder->count == 0) {
        radix_holder_rm(r, subscriber);
    }
}

static void
radix_sub_rm(mmi_radix *r, mmi_radix_node *node, const void *subscriber)
{
    uint32_t i = mmi_radix_sub_index(node, subscriber);
    node->sub_count--;
    memmove(node->subs + i, node->subs + i + 1, (node->sub_count - i) * sizeof(*node->subs));
    r->topic_count--;
    if (node->sub_count < node->sub_cap / 4) {
        mmi_radix_sub *smaller = mmi_realloc(node->subs, node->sub_cap / 2 * sizeof(*smaller));
        if (smaller != NULL) {
            node->subs = smaller;
            node->sub_cap /= 2;
        }
    }
}

/* ---- the public functions ---- */

void
mmi_radix_init(mmi_radix *r)
{
    memset(r, 0, sizeof(*r));
}

void
mmi_radix_fini(mmi_radix *r)
{
    mmi_radix_node *node = r->root;
    while (node != NULL) {
        if (node->child_count > 0) {
            node = node->children[--node->child_count];
            continue;
        }
        mmi_radix_node *parent = node->parent;
        mmi_radix_node_free(node);
        node = parent;
    }
    for (uint32_t i = 0; i < r->holders.cap; i++) {
        radix_holder *holder = r->holders.slots[i].value;
        if (holder != NULL) {
            mmi_free(holder->nodes);
            mmi_free(holder);
        }
    }
    mmi_map_fini(&r->holders);
    mmi_free(r->path);
    mmi_radix_init(r);
}

static int
radix_path_reserve(mmi_radix *r, size_t size)
{
    if (size < r->path_cap) {
        return MM_OK;
    }
    uint8_t *path = mmi_realloc(r->path, size + 1);
    if (path == NULL) {
        return MM_ENOMEM;
    }
    r->path = path;
    r->path_cap = size + 1;
    return MM_OK;
}

int
mmi_radix_add(mmi_radix *r, const uint8_t *topic, size_t size, void *subscriber, bool *first)
{
    mmi_radix_node *node = mmi_radix_node_find(r, topic, size);
    mmi_radix_sub *sub = node == NULL ? NULL : mmi_radix_sub_find(node, subscriber);
    if (first != NULL) {
        *first = node == NULL || node->sub_count == 0;
    }
    if (sub != NULL) {
        return sub->count == INT32_MAX ? MM_ENOMEM : (int)++sub->count;
    }
    if (radix_path_reserve(r, size) != MM_OK) {
        return MM_ENOMEM;
    }
    radix_holder *holder = radix_holder_reserve(r, subscriber);
    if (holder == NULL) {
        return MM_ENOMEM;
    }
    node = mmi_radix_node_make(r, topic, size);
    mmi_radix_sub *subs = NULL;
    if (node != NULL) {
        subs = mmi_radix_grow(node->subs, &node->sub_cap, node->sub_count, sizeof(*subs));
    }
    if (subs == NULL) {
        if (node != NULL) {
            mmi_radix_prune(node);
        }
        if (holder->count == 0) {
            radix_holder_rm(r, subscriber);
        }
        return MM_ENOMEM;
    }
    node->subs = subs;
    uint32_t i = mmi_radix_sub_index(node, subscriber);
    memmove(node->subs + i + 1, node->subs + i, (node->sub_count - i) * sizeof(*node->subs));
    node->subs[i] = (mmi_radix_sub){ .subscriber = subscriber, .count = 1, .place = holder->count };
    node->sub_count++;
    holder->nodes[holder->count++] = node;
    r->topic_count++;
    return 1;
}

int
mmi_radix_rm(mmi_radix *r, const uint8_t *topic, size_t size, void *subscriber, bool *last)
{
    mmi_radix_node *node = mmi_radix_node_find(r, topic, size);
    mmi_radix_sub *sub = node == NULL ? NULL : mmi_radix_sub_find(node, subscriber);
    if (last != NULL) {
        *last = sub != NULL && sub->count == 1 && node->sub_count == 1;
    }
    if (sub == NULL) {
        return MM_EINVAL;
    }
    if (--sub->count > 0) {
        return (int)sub->count;
    }
    radix_holder_take(r, subscriber, sub->place);
    radix_sub_rm(r, node, subscriber);
    mmi_radix_prune(node);
    return 0;
}

void
mmi_radix_rm_all(mmi_radix *r, void *subscriber,
                 void (*gone)(void *arg, mmi_radix_node *node, bool last), void *arg)
{
    radix_holder *holder = radix_holder_find(r, subscriber);
    for (uint32_t i = 0; holder != NULL && i < holder->count; i++) {
        mmi_radix_node *node = holder->nodes[i];
        radix_sub_rm(r, node, subscriber);
        if (gone != NULL) {
            gone(arg, node, node->sub_count == 0);
        }
        mmi_radix_prune(node);
    }
    radix_holder_rm(r, subscriber);
}

/* The next node on the way of a text, which loses what it went; NULL: there is none. */
static const mmi_radix_node *
radix_down(const mmi_radix_node *node, const uint8_t **text, size_t *size)
{
    if (*size == 0 || node->child_count == 0) {
        return NULL;
    }
    node = mmi_radix_child_at(node, mmi_radix_child_index(node, **text), **text);
    if (node == NULL || node->label_size > *size ||
        memcmp(node->label, *text, node->label_size) != 0) {
        return NULL;
    }
    *text += node->label_size;
    *size -= node->label_size;
    return node;
}

void
mmi_radix_match(const mmi_radix *r, const uint8_t *text, size_t size,
                bool (*match)(void *arg, void *subscriber), void *arg)
{
    const mmi_radix_node *node = r->root;
    for (; node != NULL; node = radix_down(node, &text, &size)) {
        for (uint32_t i = 0; i < node->sub_count; i++) {
            if (!match(arg, node->subs[i].subscriber)) {
                return;
            }
        }
    }
}

const mmi_radix_node *
mmi_radix_place(const mmi_radix *r, const uint8_t *text, size_t size)
{
    const mmi_radix_node *node = r->root, *last = NULL;
    for (; node != NULL; node = radix_down(node, &text, &size)) {
        last = node->sub_count > 0 ? node : last;
    }
    return last;
}

/* The node after this one in byte order, its topic in r->path; *size goes along.  NULL: no more. */
static const mmi_radix_node *
radix_after(const mmi_radix *r, const mmi_radix_node *node, size_t *size)
{
    uint32_t index = 0;
    while (index >= node->child_count) {
        if (node->parent == NULL) {
            return NULL;
        }
        *size -= node->label_size;
        index = mmi_radix_child_index(node->parent, node->label[0]) + 1;
        node = node->parent;
    }
    node = node->children[index];
    memcpy(r->path + *size, node->label, node->label_size);
    *size += node->label_size;
    return node;
}

void
mmi_radix_each(const mmi_radix *r, void *subscriber,
               void (*each)(void *arg, const uint8_t *topic, size_t size, uint32_t count),
               void *arg)
{
    size_t size = 0;
    const mmi_radix_node *node = r->root;
    for (; node != NULL; node = radix_after(r, node, &size)) {
        uint32_t count = 0;
        for (uint32_t i = 0; subscriber == NULL && i < node->sub_count; i++) {
            count += node->subs[i].count;
        }
        if (subscriber != NULL) {
            const mmi_radix_sub *sub = mmi_radix_sub_find(node, subscriber);
            count = sub == NULL ? 0 : sub->count;
        }
        if (count > 0) {
            each(arg, r->path, size, count);
        }
    }
}

mmi_radix_node *
mmi_radix_find(const mmi_radix *r, const uint8_t *topic, size_t size)
{
    mmi_radix_node *node = mmi_radix_node_find(r, topic, size);
    return node != NULL && (node->sub_count > 0 || node->keeps > 0) ? node : NULL;
}

bool
mmi_radix_has(const mmi_radix_node *node, const void *subscriber)
{
    return mmi_radix_sub_find(node, subscriber) != NULL;
}

uint32_t *
mmi_radix_tag(mmi_radix_node *node, const void *subscriber)
{
    return &mmi_radix_sub_find(node, subscriber)->tag;
}

mmi_radix_tags
mmi_radix_count_tags(const mmi_radix *r, const uint8_t *text, size_t size, const void *subscriber)
{
    mmi_radix_tags tags = { 0, 0 };
    const mmi_radix_node *node = r->root;
    for (; node != NULL; node = radix_down(node, &text, &size)) {
        const mmi_radix_sub *sub = mmi_radix_sub_find(node, subscriber);
        tags.zero += sub != NULL && sub->tag == 0;
        tags.other += sub != NULL && sub->tag != 0;
    }
    return tags;
}

void
mmi_radix_each_of(const mmi_radix *r, const void *subscriber,
                  void (*each)(void *arg, mmi_radix_node *node), void *arg)
{
    const radix_holder *holder = radix_holder_find(r, subscriber);
    for (uint32_t i = 0; holder != NULL && i < holder->count; i++) {
        each(arg, holder->nodes[i]);
    }
}

/* The highest node whose topic begins so; NULL: there is none. */
static mmi_radix_node *
radix_under(const mmi_radix *r, const uint8_t *prefix, size_t size)
{
    mmi_radix_node *node = r->root;
    while (node != NULL && size > 0) {
        node = mmi_radix_child_at(node, mmi_radix_child_index(node, *prefix), *prefix);
        size_t common = node == NULL || node->label_size > size ? size : node->label_size;
        if (node == NULL || memcmp(node->label, prefix, common) != 0) {
            return NULL;
        }
        prefix += common;
        size -= common;
    }
    return node;
}

void
mmi_radix_each_under(const mmi_radix *r, const uint8_t *prefix, size_t size,
                     void (*each)(void *arg, mmi_radix_node *node), void *arg)
{
    mmi_radix_node *top = radix_under(r, prefix, size), *node = top;
    while (node != NULL) {
        if (node->sub_count > 0 || node->keeps > 0) {
            each(arg, node);
        }
        uint32_t index = 0;
        while (index >= node->child_count && node != top) {
            index = mmi_radix_child_index(node->parent, node->label[0]) + 1;
            node = node->parent;
        }
        node = index < node->child_count ? node->children[index] : NULL;
    }
}

void **
mmi_radix_mark(mmi_radix_node *node)
{
    return &node->mark;
}

void
mmi_radix_keep(mmi_radix_node *node)
{
    node->keeps++;
}

mmi_radix_node *
mmi_radix_hold(mmi_radix *r, const uint8_t *topic, size_t size)
{
    if (radix_path_reserve(r, size) != MM_OK) {
        return NULL;
    }
    mmi_radix_node *node = mmi_radix_node_make(r, topic, size);
    if (node != NULL) {
        node->keeps++;
    }
    return node;
}

void
mmi_radix_release(mmi_radix_node *node)
{
    node->keeps--;
    mmi_radix_prune(node);
}

size_t
mmi_radix_topic_size(const mmi_radix_node *node)
{
    size_t size = 0;
    for (; node->parent != NULL; node = node->parent) {
        size += node->label_size;
    }
    return size;
}

const uint8_t *
mmi_radix_topic(mmi_radix *r, const mmi_radix_node *node, size_t *size)
{
    uint8_t *begin = r->path + r->path_cap;
    for (const mmi_radix_node *at = node; at->parent != NULL; at = at->parent) {
        begin -= at->label_size;
        memcpy(begin, at->label, at->label_size);
    }
    *size = (size_t)(r->path + r->path_cap - begin);
    return begin;
}
