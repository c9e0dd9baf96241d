/*
 * queue/enough.c: peers that wait until enough are there.  Law: as in queue/enough.h.
 */
#include "queue/enough.h"

void
mmi_enough_add(mmi_back *back, mmi_enough_node *one, mmi_lb_node *lb, mmi_pipe *pipe)
{
    *one = (mmi_enough_node){ .lb = lb, .pipe = pipe, .waits = mmi_back_missing(back) > 1 };
    if (one->waits) {
        mmi_list_push_back(&back->early, &one->node);
        back->early_count++;
        return;
    }
    back->enough = true;
    mmi_list *node;
    while ((node = mmi_list_pop_front(&back->early)) != NULL) {
        mmi_enough_node *other = MMI_CONTAINER_OF(node, mmi_enough_node, node);
        other->waits = false;
        mmi_back_join(back, other->lb, other->pipe);
    }
    back->early_count = 0;
    mmi_back_add(back, lb, pipe);
}

bool
mmi_enough_rm(mmi_back *back, mmi_enough_node *one)
{
    if (one->waits) {
        mmi_list_rm(&one->node);
        back->early_count--;
        one->waits = false;
    }
    return one->lb->pipe == NULL;
}
