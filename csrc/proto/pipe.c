/*
 * pipe.c: the two queues of a peer and their counters.
 * Not here: which peer a message goes to or comes from, and what is dropped when.
 * Law: a pinned front is partly on the wire: it is never dropped, nor given to another peer.
 */
#include "proto/pipe.h"

int
mmi_pipe_send(mmi_pipe *p, mmi_msg *m)
{
    int rc = mmi_ring_push(&p->outbox, m);
    if (rc == MM_OK) {
        p->accepted++;
        p->ops->wrote(p);
    }
    return rc;
}

mmi_msg *
mmi_pipe_recv(mmi_pipe *p)
{
    mmi_msg *m = mmi_ring_pop(&p->inbox);
    if (m == NULL) {
        return NULL;
    }
    p->handed++;
    if (p->in_blocked && mmi_ring_low(&p->inbox)) {
        p->ops->room(p);
    }
    return m;
}

mmi_msg *
mmi_pipe_drop_oldest(mmi_pipe *p)
{
    uint32_t first = p->pinned ? 1 : 0;
    if (p->outbox.count <= first) {
        return NULL;
    }
    p->dropped++;
    return mmi_ring_remove_at(&p->outbox, first);
}

bool
mmi_pipe_droppable(const mmi_pipe *p, size_t cost)
{
    const mmi_ring *r = &p->outbox;
    if (!p->pinned || r->count == 0) {
        return r->count_max > 0;
    }
    size_t pinned_cost = mmi_msg_cost(mmi_ring_at(r, 0));
    return r->count_max > 1 && pinned_cost <= r->bytes_max && cost <= r->bytes_max - pinned_cost;
}

int
mmi_pipe_push_in(mmi_pipe *p, mmi_msg *m)
{
    return mmi_ring_push(&p->inbox, m);
}

mmi_msg *
mmi_pipe_pop_out(mmi_pipe *p)
{
    p->pinned = false;
    return mmi_ring_pop(&p->outbox);
}

static void
pipe_ring_invariants(const mmi_ring *r)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        bytes += mmi_msg_cost(mmi_ring_at(r, i));
    }
    MMI_ASSERT(bytes == r->bytes);
    MMI_ASSERT(r->count <= r->count_max && r->count <= r->cap);
    MMI_ASSERT(r->bytes <= r->bytes_max || r->count == 1);
}

void
mmi_pipe_invariants(const mmi_pipe *p)
{
    MMI_ASSERT(p->id != 0 && p->ops != NULL);
    MMI_ASSERT(!p->pinned || p->outbox.count > 0);
    pipe_ring_invariants(&p->inbox);
    pipe_ring_invariants(&p->outbox);
}
