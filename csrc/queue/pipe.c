/*
 * pipe.c: the two queues of a peer and their counters.
 * Not here: which peer a message goes to or comes from, and what is dropped when.
 * Law: a pinned front is partly on the wire: it is never dropped, nor given to another peer.
 */
#include "queue/pipe.h"

#include <string.h>

#include "queue/acks.h"

enum {
    PIPE_VIEW_MIN = MMI_SEGMENT_CAP / 2,   /* octets of the view before, for one more        */
    PIPE_PART_VIEW_MIN = 8 * 1024,         /* octets of a part that is a view of its segment */
    PIPE_APPEND_MAX = MMI_SEGMENT_CAP / 4  /* octets of a segment that goes into the one before */
};

/* A segment at the end of a queue with room for size octets of that framing: the last one, unless
 * it says of its messages where they were first, or which numbers they have; or a new one.  NULL:
 * no memory. */
static mmi_segment_out *
queue_open_segment(mmi_ring *r, const mmi_framing *f, size_t size)
{
    if (r->slot_count > 0) {
        mmi_segment_out *last = mmi_segment_out_of(mmi_ring_at(r, r->slot_count - 1));
        if (last != NULL && last->cap - last->used >= size && last->framing == f &&
            last->msg.origin.attempt == 0 && last->msg.key == 0) {
            return last;
        }
    }
    size_t cap = r->count == 0 ? (size_t)MMI_SEGMENT_FIRST_CAP : (size_t)MMI_SEGMENT_CAP;
    mmi_segment_out *segment = mmi_segment_out_new(f, size > cap ? size : cap);
    if (segment != NULL && mmi_ring_push(r, &segment->msg) != MM_OK) {
        mmi_msg_unref(&segment->msg);
        segment = NULL;
    }
    return segment;
}

int
mmi_queue_encode(mmi_ring *r, const mmi_framing *f, mmi_msg *m)
{
    size_t cost, size = f->size(f, m, &cost);
    if (!mmi_ring_fits(r, cost)) {
        return MM_EAGAIN;
    }
    mmi_segment_out *segment = queue_open_segment(r, f, size);
    if (segment == NULL) {
        return MM_ENOMEM;
    }
    f->put(f, m, segment->data + segment->used);
    segment->used += size;
    mmi_ring_grew(r, &segment->msg, 1, cost);
    mmi_msg_unref(m);
    return MM_OK;
}

static bool
pipe_segments(const mmi_pipe *p, const mmi_msg *m)
{
    return p->segments && m->kind == MMI_MSG_ONE && !m->alone &&
           mmi_msg_cost(m) <= (size_t)MMI_SEGMENT_BODY_MAX;
}

/* A small segment goes into the last one, if there is room: a block for every few messages would be
 * far more memory than they are charged for. */
static bool
pipe_append(mmi_pipe *p, mmi_segment_out *segment)
{
    mmi_ring *out = &p->outbox;
    if (out->slot_count == 0 || segment->first > 0 || segment->used > (size_t)PIPE_APPEND_MAX ||
        !mmi_ring_fits_entry(out, &segment->msg)) {
        return false;
    }
    mmi_segment_out *last = mmi_segment_out_of(mmi_ring_at(out, out->slot_count - 1));
    if (last == NULL || last->framing != segment->framing ||
        last->cap - last->used < segment->used ||
        !mmi_segment_out_follows(&last->msg, &segment->msg)) {
        return false;
    }
    memcpy(last->data + last->used, segment->data, segment->used);
    last->used += segment->used;
    mmi_ring_grew(out, &last->msg, segment->msg.count, segment->msg.cost);
    mmi_msg_unref(&segment->msg);
    return true;
}

static int
pipe_push(mmi_pipe *p, mmi_msg *m)
{
    mmi_segment_out *segment = mmi_segment_out_of(m);
    MMI_ASSERT(segment == NULL || p->framing == NULL || segment->framing == p->framing);
    if (segment != NULL && pipe_append(p, segment)) {
        return MM_OK;
    }
    return mmi_ring_push(&p->outbox, m);
}

bool
mmi_pipe_has_room(const mmi_pipe *p)
{
    return mmi_ring_fits(&p->outbox, (size_t)MMI_READY_BYTES + MMI_FRAME_OVERHEAD);
}

int
mmi_pipe_send(mmi_pipe *p, mmi_msg *m)
{
    uint32_t count = m->count;
    int rc = mmi_pipe_check(p, m);
    if (rc == MM_OK) {
        rc = pipe_segments(p, m) ? mmi_queue_encode(&p->outbox, p->framing, m) : pipe_push(p, m);
    }
    if (rc == MM_OK) {
        p->accepted += count;
        p->ops->wrote(p);
    }
    return rc;
}

/* How many messages of a segment, from its first on, the outbox has room for. */
static mmi_pipe_part
pipe_fitting(const mmi_pipe *p, mmi_segment_out *segment)
{
    mmi_pipe_part part = { .segment = segment, .at = segment->first };
    while (part.at + part.size < segment->used) {
        size_t cost,
            size = p->framing->next(p->framing, segment->data + part.at + part.size, &cost);
        if (!mmi_ring_fits_count(&p->outbox, part.count + 1, part.cost + cost)) {
            break;
        }
        part.size += size;
        part.cost += cost;
        part.count++;
    }
    return part;
}

/* A part of a segment by itself: a view if that is large, as the rest of it soon goes as well; else
 * a copy.  NULL: no memory. */
static mmi_segment_out *
pipe_take_part(const mmi_pipe_part *part)
{
    mmi_segment_out *segment = part->segment, *own;
    size_t end = part->at + part->size;
    if (part->size < (size_t)PIPE_PART_VIEW_MIN) {
        own = mmi_segment_out_copy(segment, part->at, end, part->count, part->cost);
    } else if ((own = mmi_segment_out_view(segment, part->at)) != NULL) {
        mmi_segment_out_follow(own, end);
        own->msg.count = part->count;
        own->msg.cost = part->cost;
    }
    if (own != NULL) {
        own->msg.key = segment->msg.key;
    }
    return own;
}

int
mmi_pipe_send_fitting(mmi_pipe *p, mmi_ring *from)
{
    mmi_segment_out *segment = mmi_segment_out_of(mmi_ring_at(from, 0));
    if (mmi_ring_reserve(&p->outbox) != MM_OK) {
        return MM_ENOMEM;
    }
    mmi_msg *m;
    if (mmi_ring_fits_entry(&p->outbox, &segment->msg)) {
        m = mmi_ring_pop(from);
    } else {
        mmi_pipe_part part = pipe_fitting(p, segment);
        mmi_segment_out *some = pipe_take_part(&part);
        if (some == NULL) {
            return MM_ENOMEM;
        }
        segment->first += part.size;
        mmi_ring_shrank(from, &segment->msg, part.count, part.cost);
        m = &some->msg;
    }
    int rc = mmi_pipe_send(p, m);
    MMI_ASSERT(rc == MM_OK);   /* it fits, and a slot was reserved */
    return rc;
}

/* A view costs little, but keeps all of the shared segment in memory: so a queue of many entries
 * has only views that are large, and copies of the rest. */
static bool
pipe_may_view(const mmi_ring *out, const mmi_segment_out *last)
{
    return out->slot_count <= 1 ||
           (last != NULL && last->owner != NULL && last->used - last->first >= PIPE_VIEW_MIN);
}

/* The segment at the end of the outbox that is to hold that part. */
static mmi_segment_out *
pipe_shared_segment(mmi_pipe *p, const mmi_pipe_part *part)
{
    mmi_ring *out = &p->outbox;
    mmi_segment_out *last = NULL;
    if (out->slot_count > 0) {
        last = mmi_segment_out_of(mmi_ring_at(out, out->slot_count - 1));
    }
    if (last != NULL && last->owner == &part->segment->msg && last->used == part->at) {
        return last;
    }
    if (!pipe_may_view(out, last)) {
        return queue_open_segment(out, p->framing, part->size);
    }
    mmi_segment_out *view = mmi_segment_out_view(part->segment, part->at);
    if (view != NULL && mmi_ring_push(out, &view->msg) != MM_OK) {
        mmi_msg_unref(&view->msg);
        view = NULL;
    }
    return view;
}

int
mmi_pipe_share(mmi_pipe *p, const mmi_pipe_part *part)
{
    mmi_segment_out *segment = pipe_shared_segment(p, part);
    if (segment == NULL) {
        return MM_ENOMEM;
    }
    if (segment->owner != NULL) {
        mmi_segment_out_follow(segment, part->at + part->size);
    } else {
        memcpy(segment->data + segment->used, part->segment->data + part->at, part->size);
        segment->used += part->size;
    }
    mmi_ring_grew(&p->outbox, &segment->msg, part->count, part->cost);
    p->accepted += part->count;
    p->ops->wrote(p);
    return MM_OK;
}

static void
pipe_took(mmi_pipe *p, uint32_t count)
{
    p->handed += count;
    if (p->acks != NULL) {
        mmi_acks_gave(p->acks, count);
    }
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

int
mmi_pipe_push_last(mmi_pipe *p, mmi_msg *m)
{
    mmi_ring *in = &p->inbox;
    return in->slot_count == 0 ? mmi_ring_push(in, m)
                               : mmi_ring_insert_after(in, in->slot_count - 1, m);
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
    mmi_segment_out *segment = mmi_segment_out_of(mmi_ring_at(out, i));
    if (segment == NULL || end >= segment->used) {
        return MM_OK;
    }
    uint32_t count = 0;
    size_t cost = 0, one;
    for (size_t at = end; at < segment->used; count++, cost += one) {
        at += p->framing->next(p->framing, segment->data + at, &one);
    }
    mmi_segment_out *rest =
        mmi_ring_reserve(out) == MM_OK ? mmi_segment_out_split(segment, end, count, cost) : NULL;
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
