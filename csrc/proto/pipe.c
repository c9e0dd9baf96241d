/*
 * pipe.c: the two queues of a peer and their counters.
 * Not here: which peer a message goes to or comes from, and what is dropped when.
 * Law: a pinned front is partly on the wire: it is never dropped, nor given to another peer.
 */
#include "proto/pipe.h"

/* A pack at the end of the outbox with room for size octets: the last one, or a new one. */
static mmi_pack_out *
pipe_open_pack(mmi_pipe *p, size_t size)
{
    mmi_ring *out = &p->outbox;
    if (out->slot_count > 0) {
        mmi_pack_out *last = mmi_pack_out_of(mmi_ring_at(out, out->slot_count - 1));
        if (last != NULL && last->cap - last->used >= size) {
            return last;
        }
    }
    size_t cap = out->count == 0 ? (size_t)MMI_PACK_FIRST_CAP : (size_t)MMI_PACK_CAP;
    mmi_pack_out *pack = mmi_pack_out_new(size > cap ? size : cap);
    if (pack != NULL && mmi_ring_push(out, &pack->msg) != MM_OK) {
        mmi_msg_unref(&pack->msg);
        pack = NULL;
    }
    return pack;
}

/* MM_OK: m is encoded at the end of the outbox; MM_EAGAIN full; MM_ENOMEM. */
static int
pipe_pack(mmi_pipe *p, mmi_msg *m)
{
    size_t cost = mmi_msg_cost(m);
    if (!mmi_ring_fits(&p->outbox, cost)) {
        return MM_EAGAIN;
    }
    size_t size = p->framing->size(m);
    mmi_pack_out *pack = pipe_open_pack(p, size);
    if (pack == NULL) {
        return MM_ENOMEM;
    }
    p->framing->put(m, pack->data + pack->used);
    pack->used += size;
    mmi_ring_grew(&p->outbox, &pack->msg, 1, cost);
    mmi_msg_unref(m);
    return MM_OK;
}

static bool
pipe_packs(const mmi_pipe *p, const mmi_msg *m)
{
    return p->framing != NULL && m->kind == MMI_MSG_ONE &&
           mmi_msg_cost(m) <= (size_t)MMI_PACK_BODY_MAX;
}

int
mmi_pipe_send(mmi_pipe *p, mmi_msg *m)
{
    uint32_t count = m->count;
    int rc = pipe_packs(p, m) ? pipe_pack(p, m) : mmi_ring_push(&p->outbox, m);
    if (rc == MM_OK) {
        p->accepted += count;
        p->ops->wrote(p);
    }
    return rc;
}

int
mmi_pipe_share(mmi_pipe *p, mmi_msg *m)
{
    int rc = mmi_ring_push(&p->outbox, m);
    if (rc == MM_OK) {
        p->accepted++;
        p->ops->wrote(p);
    }
    return rc;
}

static void
pipe_took(mmi_pipe *p, uint32_t count)
{
    p->handed += count;
    if (p->in_blocked && mmi_ring_low(&p->inbox)) {
        p->ops->room(p);
    }
}

mmi_msg *
mmi_pipe_recv(mmi_pipe *p)
{
    mmi_msg *m = mmi_ring_pop_one(&p->inbox);
    if (m != NULL) {
        pipe_took(p, 1);
    }
    return m;
}

bool
mmi_pipe_take(mmi_pipe *p, uint32_t max_messages, size_t max_bytes, mmi_span *out)
{
    if (!mmi_ring_take(&p->inbox, max_messages, max_bytes, out)) {
        return false;
    }
    pipe_took(p, out->count);
    return true;
}

mmi_msg *
mmi_pipe_drop_oldest(mmi_pipe *p)
{
    if (p->outbox.slot_count <= p->pinned) {
        return NULL;
    }
    p->dropped++;
    return mmi_ring_remove_at(&p->outbox, p->pinned);
}

bool
mmi_pipe_droppable(const mmi_pipe *p, size_t cost)
{
    const mmi_ring *r = &p->outbox;
    size_t pinned_cost = 0;
    for (uint32_t i = 0; i < p->pinned && i < r->slot_count; i++) {
        pinned_cost += mmi_msg_cost(mmi_ring_at(r, i));
    }
    if (pinned_cost == 0) {
        return r->count_max > 0;
    }
    return r->count_max > p->pinned && pinned_cost <= r->bytes_max &&
           cost <= r->bytes_max - pinned_cost;
}

int
mmi_pipe_push_in(mmi_pipe *p, mmi_msg *m)
{
    return mmi_ring_push(&p->inbox, m);
}

mmi_msg *
mmi_pipe_pop_out(mmi_pipe *p)
{
    p->pinned -= p->pinned > 0;
    return mmi_ring_pop(&p->outbox);
}

int
mmi_pipe_split_out(mmi_pipe *p, uint32_t i, size_t end)
{
    mmi_ring *out = &p->outbox;
    mmi_pack_out *pack = mmi_pack_out_of(mmi_ring_at(out, i));
    if (pack == NULL || end >= pack->used) {
        return MM_OK;
    }
    uint32_t count = 0;
    size_t cost = 0, one;
    for (size_t at = end; at < pack->used; count++, cost += one) {
        at += p->framing->next(pack->data + at, &one);
    }
    mmi_pack_out *rest =
        mmi_ring_reserve(out) == MM_OK ? mmi_pack_out_split(pack, end, count, cost) : NULL;
    if (rest == NULL) {
        return MM_ENOMEM;
    }
    out->count -= count;   /* where they stand anew they are counted again */
    out->bytes -= cost;
    int rc = mmi_ring_insert_after(out, i, &rest->msg);
    MMI_ASSERT(rc == MM_OK);   /* a slot was reserved */
    return rc;
}

static void
pipe_ring_invariants(const mmi_ring *r)
{
    size_t bytes = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->slot_count; i++) {
        bytes += mmi_msg_cost(mmi_ring_at(r, i));
        count += mmi_ring_at(r, i)->count;
    }
    MMI_ASSERT(bytes == r->bytes && count == r->count);
    MMI_ASSERT(r->count <= r->count_max && r->slot_count <= r->cap);
    MMI_ASSERT(r->bytes <= r->bytes_max || r->count == 1);
}

void
mmi_pipe_invariants(const mmi_pipe *p)
{
    MMI_ASSERT(p->id != 0 && p->ops != NULL);
    MMI_ASSERT(p->pinned <= p->outbox.slot_count);
    pipe_ring_invariants(&p->inbox);
    pipe_ring_invariants(&p->outbox);
}
