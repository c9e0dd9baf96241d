/*
 * queue/backlog.c: load-balanced sending with a backlog and the overflow policies.
 * Not here: the order of the peers (lb.c), who has a key (route.c).
 * Law: as in queue/backlog.h; a send that fails has changed nothing.
 */
#include "queue/backlog.h"

#include "queue/unacked.h"

static void
back_note(mmi_back *back, uint64_t key, mmi_back_where where, mmi_pipe *p)
{
    if (back->note != NULL) {
        back->note(back, key, where, p);
    }
}

static void
back_drop(mmi_back *back, mmi_drop_why why, mmi_pipe *p, mmi_msg *m)
{
    uint64_t key = m->key;
    mmi_receipts_settle(&back->receipts, m, MM_RECEIPT_DROPPED);
    mmi_drop_of(back->host, why, p, m);
    back_note(back, key, MMI_BACK_DROPPED, NULL);
}

/* It will not be delivered any more: why is expired, or attempts. */
static void
back_bury(mmi_back *back, mmi_drop_why why, mmi_pipe *p, mmi_msg *m)
{
    uint64_t key = m->key;
    bool late = why == MMI_DROP_EXPIRED;
    mmi_receipts_settle(&back->receipts, m, late ? MM_RECEIPT_EXPIRED : MM_RECEIPT_ATTEMPTS);
    mmi_dead_add(&back->dead, why, p, m);
    back_note(back, key, late ? MMI_BACK_EXPIRED : MMI_BACK_DROPPED, NULL);
}

static void
back_expired(mmi_proto_host *host, mmi_pipe *p, mmi_msg *m)
{
    back_bury(host->back, MMI_DROP_EXPIRED, p, m);
}

void
mmi_back_init(mmi_back *back, mmi_proto_host *host)
{
    back->host = host;
    back->note = NULL;
    back->route = NULL;
    host->alone = true;
    host->back = back;
    host->expired = back_expired;
    mmi_dead_init(&back->dead, host);
    back->receipts = (mmi_receipts){ .last = 0 };
    back->swept = 0;
    mmi_lb_init(&back->lb);
    /* No limits of its own: it holds only what was within the limits of the pipes it came from. */
    mmi_ring_init(&back->kept, UINT32_MAX, SIZE_MAX);
}

void
mmi_back_fini(mmi_back *back)
{
    mmi_drop_ring(back->host, &back->kept);
    mmi_dead_fini(&back->dead);
    mmi_receipts_fini(&back->receipts);
    back->host->back = NULL;
}

/* Where a message is to go by its key; NULL: it goes by the turns, or to nobody. */
static mmi_lane *
back_lane(const mmi_back *back, const mmi_msg *m)
{
    bool keyed = back->route != NULL && mmi_route_keyed(m);
    return keyed ? mmi_route_owner(back->route, m) : NULL;
}

/* Somebody has lost it: it goes before what is sent later.  MM_OK: took it; MM_ENOMEM. */
static int
back_put(mmi_back *back, mmi_msg *m)
{
    mmi_lane *lane = back_lane(back, m);
    return lane != NULL ? mmi_lane_again(lane, m) : mmi_ring_push(&back->kept, m);
}

/* MM_OK: queued; MM_EAGAIN: no pipe has room; MM_ENOTSUP; MM_ENOMEM. */
static int
back_queue(mmi_back *back, mmi_msg *m)
{
    mmi_lane *lane = back_lane(back, m);
    if (lane != NULL) {
        return mmi_lane_again(lane, m);
    }
    uint64_t key = m->key;
    mmi_pipe *p = NULL;
    int rc = mmi_lb_send(&back->lb, m, &p);
    if (rc == MM_OK) {
        back_note(back, key, MMI_BACK_QUEUED, p);
    }
    return rc;
}

/* The message at the front of what is kept.  MM_OK: it is gone; MM_EAGAIN; MM_ENOMEM. */
static int
back_flush_one(mmi_back *back)
{
    mmi_msg *m = mmi_msg_ref(mmi_ring_at(&back->kept, 0));
    int rc = back_queue(back, m);
    if (rc == MM_OK || rc == MM_ENOTSUP) {
        (void)mmi_ring_pop(&back->kept);
    }
    if (rc == MM_ENOTSUP) {
        back_drop(back, MMI_DROP_UNENCODABLE, NULL, m);
        rc = MM_OK;
    }
    mmi_msg_unref(m);
    return rc;
}

/* The same for messages of the segment there: as many as the next peer has room for; one, if it
 * speaks another wire. */
static int
back_flush_segment(mmi_back *back, mmi_segment_out *segment)
{
    const mmi_framing *f = segment->framing;
    const uint8_t *at = segment->data + segment->first;
    size_t cost;
    (void)f->next(f, at, &cost);
    if (mmi_lb_full_for(&back->lb, f, cost)) {
        return MM_EAGAIN;
    }
    mmi_msg *m = back->lb.pipe_count > 0 ? f->open(f, at) : NULL;
    if (m == NULL) {
        return back->lb.pipe_count > 0 ? MM_ENOMEM : MM_EAGAIN;
    }
    mmi_pipe *p = NULL;
    mmi_origin *first = &segment->msg.origin; /* where its first message was, if anywhere */
    m->origin = m->origin.attempt == 0 ? *first : m->origin;
    int rc = mmi_lb_next(&back->lb, m, &p);
    if (rc == MM_OK && p->framing == f && first->attempt == 0) {
        mmi_msg_unref(m);
        return mmi_pipe_send_fitting(p, &back->kept);
    }
    rc = rc == MM_OK ? mmi_pipe_send(p, m) : rc;
    if (rc == MM_ENOTSUP) {
        back_drop(back, MMI_DROP_UNENCODABLE, NULL, m);
    } else if (rc != MM_OK) {
        mmi_msg_unref(m);
        return rc;
    }
    segment->first += f->next(f, at, &cost);
    first->number++;
    mmi_ring_shrank(&back->kept, &segment->msg, 1, cost);
    if (segment->msg.count == 0) {
        mmi_msg_unref(mmi_ring_pop(&back->kept));
    }
    return MM_OK;
}

/* Sends what is kept, but for what was for a peer of another wire and has no words in that of those
 * who are left. MM_OK: nothing is left; MM_EAGAIN; MM_ENOMEM. */
static int
back_flush(mmi_back *back)
{
    int rc = MM_OK;
    while (rc == MM_OK && back->kept.slot_count > 0) {
        mmi_segment_out *segment = mmi_segment_out_of(mmi_ring_at(&back->kept, 0));
        rc = segment != NULL ? back_flush_segment(back, segment) : back_flush_one(back);
    }
    return rc;
}

void
mmi_back_add(mmi_back *back, mmi_lb_node *node, mmi_pipe *pipe)
{
    mmi_lb_add(&back->lb, node, pipe);
    if (back->route != NULL) {
        mmi_route_add(back->route, MMI_CONTAINER_OF(node, mmi_lane, lb));
        mmi_route_sort(back->route, &back->kept);
    }
    back->framing = pipe->unacked != NULL ? pipe->framing : back->framing;
    back->host->alone = false;
    (void)back_flush(back); /* what does not go now goes at the next out or send */
}

/* What somebody had goes out before anything else; where messages have lanes, behind what waits in
 * its own.  MM_OK: took it; MM_ENOMEM. */
static int
back_return(mmi_back *back, mmi_msg *m)
{
    return back->route != NULL ? back_put(back, m) : mmi_ring_push_front(&back->kept, m);
}

/* The next of what is returned, in the order that keeps theirs: entries of a queue from first. */
static uint32_t
back_next(const mmi_back *back, const mmi_ring *r, uint32_t first)
{
    return back->route != NULL ? first : r->slot_count - 1;
}

/* What is not pinned of a peer's queue is for others. */
static void
back_hand_on(mmi_back *back, mmi_pipe *p)
{
    while (p->outbox.slot_count > p->pinned) {
        uint32_t i = back_next(back, &p->outbox, p->pinned);
        mmi_msg *m = mmi_ring_at(&p->outbox, i);
        if (back_return(back, m) != MM_OK) {
            break; /* the engine counts what stays */
        }
        (void)mmi_ring_remove_at(&p->outbox, i);
        back_note(back, m->key, MMI_BACK_KEPT, NULL);
    }
}

/* Somebody had it, and others are to have it now. */
static void
back_keep(mmi_back *back, mmi_msg *m)
{
    uint32_t most = back->host->opts->max_attempts;
    if (most > 0 && m->origin.attempt > most) {
        back_bury(back, MMI_DROP_ATTEMPTS, NULL, m);
    } else if (back_return(back, m) != MM_OK) {
        back_drop(back, MMI_DROP_MEMORY, NULL, m);
    }
}

/* Its keys are others' from now on, who get what waits for it: behind what it had itself. */
static void
back_end_lane(mmi_back *back, mmi_lane *lane)
{
    mmi_msg *m;
    while ((m = mmi_lane_take(lane)) != NULL) {
        back_keep(back, m);
    }
    mmi_lane_fini(lane);
}

/* It takes no turns any more, and what was not begun of it is for others. */
static void
back_leave(mmi_back *back, mmi_lb_node *node)
{
    mmi_lane *lane = back->route != NULL ? MMI_CONTAINER_OF(node, mmi_lane, lb) : NULL;
    mmi_lb_rm(&back->lb, node);
    back->host->alone = back->lb.pipe_count == 0;
    if (lane != NULL) {
        mmi_route_rm(back->route, lane);
    }
    back_hand_on(back, node->pipe);
    if (lane != NULL) {
        back_end_lane(back, lane);
    }
}

void
mmi_back_stop(mmi_back *back, mmi_lb_node *node)
{
    back_leave(back, node);
    (void)back_flush(back);
}

/* What a peer that is gone did not acknowledge is for the others. */
static void
back_take_back(mmi_back *back, mmi_unacked *u)
{
    mmi_ring all;
    mmi_msg *m;
    mmi_ring_init(&all, UINT32_MAX, SIZE_MAX);
    while ((m = mmi_unacked_take_back(u)) != NULL) {
        if (mmi_ring_push(&all, m) != MM_OK) {
            back_drop(back, MMI_DROP_MEMORY, NULL, m);
        }
    }
    while (all.slot_count > 0) {
        back_keep(back, mmi_ring_remove_at(&all, back_next(back, &all, 0)));
    }
    mmi_ring_fini(&all);
}

void
mmi_back_again(mmi_back *back, mmi_msg *m)
{
    back_keep(back, m);
    (void)back_flush(back);
}

void
mmi_back_rm(mmi_back *back, mmi_lb_node *node)
{
    mmi_pipe *p = node->pipe;
    bool again = p->unacked != NULL && !back->host->closing;
    bool lanes = back->route != NULL;
    if (lanes) {
        mmi_route_rm(back->route, MMI_CONTAINER_OF(node, mmi_lane, lb));
    }
    if (again && lanes) {
        back_take_back(back, p->unacked);
    }
    if (!p->stopped) {
        back_leave(back, node);
    } else if (again) {
        back_hand_on(back, p); /* also what was begun as it was stopped */
    }
    if (again && !lanes) {
        back_take_back(back, p->unacked);
    }
    (void)back_flush(back);
}

/* Its own messages and those without a key take turns to have the room first. */
static void
back_out_lane(mmi_back *back, mmi_lane *lane)
{
    if (lane->owes && back->kept.slot_count > 0) {
        lane->owes = false;
        lane->lb.held = false;
        (void)back_flush(back);
    }
    mmi_lane_flush(lane);
}

void
mmi_back_out(mmi_back *back, mmi_lb_node *node)
{
    if (!node->pipe->stopped) {
        if (back->route != NULL) {
            back_out_lane(back, MMI_CONTAINER_OF(node, mmi_lane, lb));
        }
        mmi_lb_out(&back->lb, node);
    }
    (void)back_flush(back);
}

/* The oldest of its outbox go until m fits.  m is queued or dropped. */
static void
back_send_in_place(mmi_back *back, mmi_pipe *p, mmi_msg *m)
{
    size_t cost = mmi_msg_cost(m);
    if (!mmi_pipe_droppable(p, cost)) {
        back_drop(back, MMI_DROP_OVERFLOW, p, m);
        return;
    }
    while (!mmi_ring_fits(&p->outbox, cost)) {
        back_drop(back, MMI_DROP_OVERFLOW, p, mmi_pipe_drop_oldest(p));
    }
    uint64_t key = m->key;
    int rc = mmi_pipe_send(p, m);
    MMI_ASSERT(rc == MM_OK); /* what was dropped has left a slot */
    back_note(back, key, MMI_BACK_QUEUED, p);
}

/* Nothing has room, and the oldest is to go.  MM_OK: m is queued, kept or dropped; MM_ENOMEM. */
static int
back_send_dropping_oldest(mmi_back *back, mmi_msg *m)
{
    if (back->kept.count > 0) {
        uint64_t key = m->key;
        if (mmi_ring_push(&back->kept, m) != MM_OK) {
            return MM_ENOMEM;
        }
        back_note(back, key, MMI_BACK_KEPT, NULL);
        back_drop(back, MMI_DROP_OVERFLOW, NULL, mmi_ring_pop(&back->kept));
        return MM_OK;
    }
    /* There is one: else the send was refused. */
    back_send_in_place(back, mmi_lb_turn(&back->lb, m), m);
    return MM_OK;
}

/* Is what finds no room, or nobody, dropped? */
static bool
back_drops(const mmi_back *back)
{
    const mmi_proto_host *host = back->host;
    bool own = host->alone && host->opts->no_peer != MM_NO_PEER_AS_FULL;
    return own ? host->opts->no_peer == MM_NO_PEER_DROP : mmi_drop_overflows(host);
}

/* Does what finds no room wait here?  Where it is acknowledged: a peer is then given no more than
 * it takes, so the queue is the socket's. */
static bool
back_keeps(const mmi_back *back, const mmi_ring *kept, size_t cost)
{
    const mm_socket_opts *o = back->host->opts;
    bool own = back->host->alone && o->no_peer != MM_NO_PEER_AS_FULL;
    bool fits = kept->count < o->send_queue_messages &&
                (kept->count == 0 ||
                 (kept->bytes <= o->send_queue_bytes && cost <= o->send_queue_bytes - kept->bytes));
    return (o->flags & MM_OPT_AT_LEAST_ONCE) != 0 && !own && fits;
}

/* It waits here: small ones as they will go on the wire, many in one block. */
static int
back_queue_here(mmi_back *back, mmi_msg *m)
{
    const mmi_framing *f = back->framing;
    bool alone = back->host->opts->overflow == MM_OVERFLOW_DROP_OLDEST; /* it may be dropped so */
    if (f == NULL || alone || m->alone || mmi_msg_cost(m) > (size_t)MMI_SEGMENT_BODY_MAX) {
        return mmi_ring_push(&back->kept, m);
    }
    return mmi_queue_encode(&back->kept, f, m);
}

/* Whatever room others have, it goes to the peer that has its key, or waits for it. */
static int
back_send_keyed(mmi_back *back, mmi_lane *lane, mmi_msg *m)
{
    int rc = mmi_lane_send(lane, m);
    if (rc == MM_EAGAIN && back_keeps(back, &lane->waits, mmi_msg_cost(m))) {
        return mmi_lane_wait(lane, m);
    }
    if (rc != MM_EAGAIN || !mmi_drop_overflows(back->host)) {
        return rc;
    }
    if (back->host->opts->overflow != MM_OVERFLOW_DROP_OLDEST) {
        back_drop(back, MMI_DROP_OVERFLOW, lane->lb.pipe, m);
    } else if (!lane->lb.held) {
        back_send_in_place(back, lane->lb.pipe, m);
    } else if ((rc = mmi_lane_wait(lane, m)) == MM_OK) {
        back_drop(back, MMI_DROP_OVERFLOW, lane->lb.pipe, mmi_lane_take(lane));
    } else {
        return rc;
    }
    return MM_OK;
}

int
mmi_back_send(mmi_back *back, mmi_msg *m)
{
    if (m->frame_count == 0) {
        return MM_EINVAL;
    }
    mmi_lane *lane = back_lane(back, m);
    if (lane != NULL) {
        return back_send_keyed(back, lane, m);
    }
    int rc = back_flush(back);
    if (rc == MM_OK) {
        rc = back_queue(back, m);
    }
    if (rc == MM_EAGAIN && back_keeps(back, &back->kept, mmi_msg_cost(m))) {
        return back_queue_here(back, m);
    }
    if (rc != MM_EAGAIN || !back_drops(back)) {
        return rc;
    }
    bool waits = (back->host->opts->flags & MM_OPT_AT_LEAST_ONCE) != 0 && back->kept.count > 0;
    bool oldest = back->host->opts->overflow == MM_OVERFLOW_DROP_OLDEST;
    if (back->host->alone && !(waits && oldest)) {
        back_drop(back, MMI_DROP_NO_PEER, NULL, m);
        return MM_OK;
    }
    if (oldest) {
        return back_send_dropping_oldest(back, m);
    }
    back_drop(back, MMI_DROP_OVERFLOW, NULL, m);
    return MM_OK;
}

mmi_pipe *
mmi_back_sole(const mmi_back *back)
{
    const mmi_lb *lb = &back->lb;
    bool sole = lb->pipe_count == 1 && !mmi_list_empty(&lb->open) && back->kept.count == 0;
    const mmi_lb_node *one = MMI_CONTAINER_OF(lb->open.next, mmi_lb_node, node);
    return sole && !one->held ? one->pipe : NULL;
}

bool
mmi_back_ready(const mmi_back *back)
{
    bool refuses = back->host->alone && back->host->opts->no_peer == MM_NO_PEER_ERROR;
    /* What is kept goes first.  It waits for room, or, beside an empty outbox, for memory. */
    bool room = back->kept.slot_count == 0 ? mmi_lb_ready(&back->lb) : mmi_lb_idle(&back->lb);
    bool keeps = back_keeps(back, &back->kept, (size_t)MMI_READY_BYTES + MMI_FRAME_OVERHEAD);
    return room || keeps || back_drops(back) || refuses;
}

uint32_t
mmi_back_count(const mmi_back *back, uint64_t *bytes)
{
    uint32_t count = back->route != NULL ? mmi_route_count(back->route, bytes) : 0;
    *bytes = back->kept.bytes + (back->route != NULL ? *bytes : 0);
    return back->kept.count + count;
}

bool
mmi_back_low(const mmi_back *back)
{
    const mm_socket_opts *o = back->host->opts;
    const mmi_ring *kept = &back->kept;
    bool low = kept->count <= o->send_queue_messages / 2 && kept->bytes <= o->send_queue_bytes / 2;
    return back->route != NULL || kept->count == 0 || low; /* any lane may have room */
}
