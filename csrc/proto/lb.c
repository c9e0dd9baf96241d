/*
 * lb.c: round robin over the pipes with room.
 * Not here: what to do when there is none (back.c).
 * Law: the front of a list is the next in turn; who was chosen goes to the back.
 */
#include "proto/lb.h"

void
mmi_lb_init(mmi_lb *lb)
{
    mmi_list_init(&lb->open);
    mmi_list_init(&lb->full);
    lb->pipe_count = 0;
}

static void
lb_move(mmi_lb *lb, mmi_lb_node *node, bool full)
{
    mmi_list_rm(&node->node);
    mmi_list_push_back(full ? &lb->full : &lb->open, &node->node);
    node->full = full;
}

void
mmi_lb_add(mmi_lb *lb, mmi_lb_node *node, mmi_pipe *pipe)
{
    mmi_list_init(&node->node);
    node->pipe = pipe;
    lb->pipe_count++;
    lb_move(lb, node, false);
}

void
mmi_lb_rm(mmi_lb *lb, mmi_lb_node *node)
{
    mmi_list_rm(&node->node);
    lb->pipe_count--;
}

void
mmi_lb_out(mmi_lb *lb, mmi_lb_node *node)
{
    if (node->full && mmi_ring_low(&node->pipe->outbox)) {
        lb_move(lb, node, false);
    }
}

bool
mmi_lb_ready(const mmi_lb *lb)
{
    return !mmi_list_empty(&lb->open);
}

static mmi_lb_node *
lb_node(mmi_list *node)
{
    return MMI_CONTAINER_OF(node, mmi_lb_node, node);
}

/* The first of a list that has room. */
static mmi_lb_node *
lb_find(mmi_lb *lb, mmi_list *list, const mmi_msg *m)
{
    MMI_LIST_EACH(list, node, after) {
        if (mmi_ring_fits_entry(&lb_node(node)->pipe->outbox, m)) {
            return lb_node(node);
        }
        if (!lb_node(node)->full) {
            lb_move(lb, lb_node(node), true);
        }
    }
    return NULL;
}

mmi_pipe *
mmi_lb_next(mmi_lb *lb, const mmi_msg *m)
{
    mmi_lb_node *node = lb_find(lb, &lb->open, m);
    if (node == NULL) {
        node = lb_find(lb, &lb->full, m);
    }
    if (node == NULL) {
        return NULL;
    }
    lb_move(lb, node, node->full);
    return node->pipe;
}

mmi_pipe *
mmi_lb_turn(mmi_lb *lb)
{
    mmi_list *list = mmi_list_empty(&lb->open) ? &lb->full : &lb->open;
    if (mmi_list_empty(list)) {
        return NULL;
    }
    mmi_lb_node *node = lb_node(list->next);
    lb_move(lb, node, node->full);
    return node->pipe;
}

int
mmi_lb_send(mmi_lb *lb, mmi_msg *m, mmi_pipe **to)
{
    mmi_pipe *p = mmi_lb_next(lb, m);
    if (p == NULL) {
        return MM_EAGAIN;
    }
    *to = p;
    return mmi_pipe_send(p, m);
}
