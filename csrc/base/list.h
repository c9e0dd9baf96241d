/*
 * list.h: an intrusive doubly linked circular list.  A node knows whether it is on a list.
 * Law: a node is on at most one list; mmi_list_rm of a node that is on none does nothing.
 */
#ifndef MMI_LIST_H
#define MMI_LIST_H

#include "base/base.h"

typedef struct mmi_list {
    struct mmi_list *next, *prev;
} mmi_list;

static inline void mmi_list_init(mmi_list *node) { node->next = node->prev = node; }
static inline bool mmi_list_empty(const mmi_list *list) { return list->next == list; }
static inline bool
mmi_list_linked(const mmi_list *node)
{
    return node->next != NULL && node->next != node;
}

static inline void
mmi_list_push_back(mmi_list *list, mmi_list *node)
{
    node->prev = list->prev;
    node->next = list;
    list->prev->next = node;
    list->prev = node;
}

static inline void
mmi_list_push_front(mmi_list *list, mmi_list *node)
{
    mmi_list_push_back(list->next, node);
}

static inline void
mmi_list_rm(mmi_list *node)
{
    if (node->next == NULL) {
        return;
    }
    node->prev->next = node->next;
    node->next->prev = node->prev;
    mmi_list_init(node);
}

/* The node, off the list; NULL: the list is empty, as the node is the list itself. */
static inline mmi_list *
mmi_list_pop(mmi_list *list, mmi_list *node)
{
    if (node == list) {
        return NULL;
    }
    mmi_list_rm(node);
    return node;
}

static inline mmi_list *
mmi_list_pop_front(mmi_list *list)
{
    return mmi_list_pop(list, list->next);
}

static inline mmi_list *
mmi_list_pop_back(mmi_list *list)
{
    return mmi_list_pop(list, list->prev);
}

/* Safe against removal of the current node. */
#define MMI_LIST_EACH(list, node, after)                                                           \
    for (mmi_list *node = (list)->next, *after = node->next; node != (list);                       \
         node = after, after = node->next)

#endif
