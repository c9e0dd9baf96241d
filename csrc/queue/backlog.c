/*
 * queue/backlog.c: what was accepted and waits: for a peer with room, or for its time.
 * Not here: what is accepted (accept.c), the order of the peers (lb.c), who has a key (route.c).
 * Law: as in queue/backlog.h.
 */
#include "queue/backlog.h"

#include "queue/expiry.h"
#include "queue/unacked.h"

enum { BACK_DUE_MAX = 1024 };   /* messages whose time has come that are taken in one step */
static const uint64_t BACK_RETRY_NS = 10000000;   /* until what found no memory is tried again */

void
mmi_back_init(mmi_back *back, mmi_proto_host *host)
{
    back->host = host;
    back->note = NULL;
    back->route = NULL;
    host->alone = true;
    host->back = back;
    host->expired = mmi_back_expired;
    mmi_dead_init(&back->dead, host);
    back->spent = 0;
    mmi_list_init(&back->early);
    back->early_count = 0;
    back->enough = false;
    back->receipts = (mmi_receipts){ .last = 0 };
    back->delayed = (mmi_delayed){ .count = 0 };
    mmi_lb_init(&back->lb);
    mmi_ring_init(&back->wordless, UINT32_MAX, SIZE_MAX);
    mmi_levels_init(&back->kept, host->opts->priorities > 1 ? host->opts->priorities : 1);
}

/* It was not sent, and the socket is gone. */
static void
back_end(mmi_back *back, mmi_msg *m)
{
    if (mmi_back_sourced(back)) {
        mmi_receipts_settle(&back->receipts, m, MM_RECEIPT_DROPPED);
        mmi_msg_unref(m);
    } else {
        mmi_drop(back->host, MMI_DROP_CLOSED, 0, m);
    }
}

void
mmi_back_empty(mmi_back *back)
{
    mmi_msg *m;
    while ((m = mmi_delayed_take(&back->delayed, UINT64_MAX)) != NULL) {
        back_end(back, m);
    }
    while ((m = mmi_ring_pop(&back->wordless)) != NULL) {
        back_end(back, m);
    }
    for (uint32_t i = 0; i < back->kept.used; i++) {
        while ((m = mmi_ring_pop(&back->kept.at[i])) != NULL) {
            back_end(back, m);
        }
    }
}

void
mmi_back_fini(mmi_back *back)
{
    mmi_back_empty(back);
    mmi_ring_fini(&back->wordless);
    for (uint32_t i = 0; i < back->kept.used; i++) {
        mmi_ring_fini(&back->kept.at[i]);
    }
    mmi_dead_fini(&back->dead);
    mmi_receipts_fini(&back->receipts);
    back->host->back = NULL;
}

mmi_lane *
mmi_back_lane(const mmi_back *back, const mmi_msg *m)
{
    bool keyed = back->route != NULL && mmi_route_keyed(back->route, m);
    return keyed ? mmi_route_owner(back->route, m) : NULL;
}

/* Somebody has lost it: it goes before what is sent later.  MM_OK: took it; MM_ENOMEM. */
static int
back_put(mmi_back *back, mmi_msg *m)
{
    mmi_lane *lane = mmi_back_lane(back, m);
    return lane != NULL ? mmi_lane_again(lane, m) : mmi_ring_push(mmi_levels_of(&back->kept, m), m);
}

int
mmi_back_queue(mmi_back *back, mmi_msg *m)
{
    mmi_lane *lane = mmi_back_lane(back, m);
    if (lane != NULL) {
        return mmi_lane_again(lane, m);
    }
    uint64_t key = m->key;
    mmi_pipe *p = NULL;
    int rc = mmi_lb_send(&back->lb, m, &p);
    if (rc == MM_OK) {
        mmi_back_note(back, key, MMI_BACK_QUEUED, p);
    }
    return rc;
}

/* The message at the front of a queue of what is kept.  MM_OK: it is gone; MM_EAGAIN; MM_ENOMEM. */
static int
back_flush_one(mmi_back *back, mmi_ring *from)
{
    mmi_msg *m = mmi_msg_ref(mmi_ring_at(from, 0));
    int rc = mmi_back_queue(back, m);
    if (rc == MM_OK || mmi_unsendable(rc)) {
        (void)mmi_ring_pop(from);
    }
    if (mmi_unsendable(rc)) {
        mmi_back_wordless(back, m, rc);
        rc = MM_OK;
    }
    mmi_msg_unref(m);
    return rc;
}

/* The same for messages of the segment there: as many as the next peer has room for; one, if it
 * speaks another wire, or is apart. */
static int
back_flush_segment(mmi_back *back, mmi_ring *from, mmi_segment_out *segment)
{
    const mmi_framing *f = segment->framing;
    const uint8_t *at = segment->data + segment->first;
    size_t cost;
    (void)f->next(f, at, &cost);
    if (mmi_lb_full_for(&back->lb, f, cost)) {
        return MM_EAGAIN;
    }
    mmi_pipe *p = segment->msg.origin.attempt == 0 ? mmi_lb_next_of(&back->lb, f, cost) : NULL;
    if (p != NULL) { /* mostly: it goes as it is */
        return mmi_pipe_send_fitting(p, from);
    }
    mmi_msg *m = back->lb.pipe_count > 0 ? f->open(f, at) : NULL;
    if (m == NULL) {
        return back->lb.pipe_count > 0 ? MM_ENOMEM : MM_EAGAIN;
    }
    mmi_segment_out_gave(segment, 0, m);
    mmi_origin *first = &segment->msg.origin; /* where its first message was, if anywhere */
    m->origin = m->origin.attempt == 0 ? *first : m->origin;
    int rc = mmi_lb_next(&back->lb, m, &p);
    if (rc == MM_OK && p->framing == f && !p->apart && first->attempt == 0) {
        mmi_msg_unref(m);
        return mmi_pipe_send_fitting(p, from);
    }
    rc = rc == MM_OK ? mmi_pipe_send(p, m) : rc;
    if (mmi_unsendable(rc)) {
        mmi_back_wordless(back, m, rc);
    } else if (rc != MM_OK) {
        mmi_msg_unref(m);
        return rc;
    }
    segment->first += f->next(f, at, &cost);
    first->number++;
    mmi_ring_shrank(from, &segment->msg, 1, cost);
    if (segment->msg.count == 0) {
        mmi_msg_unref(mmi_ring_pop(from));
    }
    return MM_OK;
}

int
mmi_back_flush(mmi_back *back)
{
    int rc = MM_OK;
    mmi_ring *from;
    while (rc == MM_OK && (from = mmi_levels_next(&back->kept)) != NULL) {
        mmi_segment_out *segment = mmi_segment_out_of(mmi_ring_at(from, 0));
        rc = segment != NULL ? back_flush_segment(back, from, segment) : back_flush_one(back, from);
        if (rc == MM_OK) {
            mmi_levels_took(&back->kept, from);
        }
    }
    return rc;
}

/* Sends what is kept.  What found no memory, here or in a lane, is tried again: perhaps nothing
 * else happens. */
static void
back_send_kept(mmi_back *back, int of_lanes)
{
    if (mmi_back_flush(back) == MM_ENOMEM || of_lanes == MM_ENOMEM) {
        back->host->due(back->host, back->host->now_ns(back->host) + BACK_RETRY_NS);
    }
}

/* And what waits in lanes. */
void
mmi_back_go_on(mmi_back *back)
{
    back_send_kept(back, back->route != NULL ? mmi_route_flush(back->route) : MM_OK);
}

/* It has its keys from now on, and what waits elsewhere with one of them. */
static void
back_begin_lane(mmi_back *back, mmi_lane *lane)
{
    mmi_route_add(back->route, lane);
    mmi_route_sort(back->route, &back->kept.at[0]);
}

/* Somebody comes who may have words for them: before all that was sent later. */
static void
back_worded(mmi_back *back)
{
    mmi_ring *w = &back->wordless;
    while (w->slot_count > 0) {
        mmi_msg *m = mmi_msg_ref(mmi_ring_at(w, w->slot_count - 1));
        if (mmi_ring_push_front(mmi_levels_of(&back->kept, m), m) != MM_OK) {
            mmi_msg_unref(m);
            return; /* no memory: with the next one who comes */
        }
        mmi_msg_unref(mmi_ring_remove_at(w, w->slot_count - 1));
    }
}

/* Where messages go by keys it has its own from now on. */
void
mmi_back_join(mmi_back *back, mmi_lb_node *node, mmi_pipe *pipe)
{
    mmi_lb_add(&back->lb, node, pipe);
    if (back->route != NULL) {
        mmi_route_add(back->route, MMI_CONTAINER_OF(node, mmi_lane, lb));
    }
    back->framing = pipe->unacked != NULL ? pipe->framing : back->framing;
    back->host->alone = false;
}

void
mmi_back_add(mmi_back *back, mmi_lb_node *node, mmi_pipe *pipe)
{
    mmi_back_join(back, node, pipe);
    back_worded(back);
    if (back->route != NULL) {
        mmi_route_sort(back->route, &back->kept.at[0]);
    }
    mmi_back_go_on(back); /* what does not go now goes at the next out or send */
}

/* What somebody had goes out before anything else; where messages have lanes, behind what waits in
 * its own.  MM_OK: took it; MM_ENOMEM. */
static int
back_return(mmi_back *back, mmi_msg *m)
{
    return back->route != NULL ? back_put(back, m)
                               : mmi_ring_push_front(mmi_levels_of(&back->kept, m), m);
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
        mmi_back_note(back, m->key, MMI_BACK_KEPT, NULL);
    }
}

int
mmi_back_later(mmi_back *back, mmi_msg *m)
{
    mmi_proto_host *host = back->host;
    uint64_t due = m->due_ns;
    if (mmi_expires(m)) {
        uint64_t wall = host->wall_ns(host), until = m->meta->expires_ns;
        uint64_t end = host->now_ns(host) + (until > wall ? until - wall : 0);
        due = end < due ? end : due;
    }
    int rc = mmi_delayed_add(&back->delayed, m, due);
    if (rc == MM_OK) {
        host->due(host, mmi_delayed_next(&back->delayed));
    }
    return rc;
}

uint64_t
mmi_back_due(mmi_back *back, uint64_t now_ns)
{
    uint64_t wall = back->host->wall_ns(back->host);
    mmi_msg *m;
    for (uint32_t left = BACK_DUE_MAX; left > 0; left--) {
        if ((m = mmi_delayed_take(&back->delayed, now_ns)) == NULL) {
            break;
        }
        m->due_ns = 0;
        if (mmi_expires(m) && m->meta->expires_ns <= wall) {
            mmi_back_bury(back, MMI_DROP_EXPIRED, NULL, m);
        } else if (back_put(back, m) != MM_OK) {
            mmi_back_drop(back, MMI_DROP_MEMORY, NULL, m);
        }
    }
    mmi_back_go_on(back);
    return mmi_delayed_next(&back->delayed);
}

/* Somebody had it, and others are to have it now, or later. */
static void
back_keep(mmi_back *back, mmi_msg *m)
{
    uint32_t most = back->host->opts->max_attempts;
    bool later = m->due_ns > 0 && !back->host->closing;
    if (most > 0 && m->origin.attempt > most) {
        mmi_back_bury(back, MMI_DROP_ATTEMPTS, NULL, m);
    } else if ((later ? mmi_back_later(back, m) : back_return(back, m)) != MM_OK) {
        mmi_back_drop(back, MMI_DROP_MEMORY, NULL, m);
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

mmi_lane *
mmi_back_overdue(mmi_back *back, mmi_pipe *p)
{
    bool others = back->route != NULL && back->route->lane_count > 1;
    mmi_lane *lane = others ? mmi_route_of(back->route, p) : NULL;
    p->overdue = true;
    if (lane != NULL) {
        mmi_route_rm(back->route, lane);
    }
    return lane;
}

void
mmi_back_pass_on(mmi_back *back, mmi_pipe *p)
{
    if (back->route == NULL && mmi_lb_late(&back->lb, p)) {
        back_hand_on(back, p); /* behind it goes what it had, which is put in front of it */
        mmi_back_go_on(back);
    }
}

void
mmi_back_hand_over(mmi_back *back, mmi_lane *lane)
{
    back_hand_on(back, lane->lb.pipe);
    back_end_lane(back, lane);
    lane->lb.held = false;
    mmi_back_go_on(back);
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
    mmi_back_go_on(back);
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
            mmi_back_drop(back, MMI_DROP_MEMORY, NULL, m);
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
    mmi_back_go_on(back);
}

void
mmi_back_rm(mmi_back *back, mmi_lb_node *node)
{
    mmi_pipe *p = node->pipe;
    bool again = p->unacked != NULL && !back->host->closing;
    bool whole = (back->host->opts->flags & MM_OPT_AT_LEAST_ONCE) != 0 && !back->host->closing;
    bool lanes = back->route != NULL;
    if (lanes) {
        mmi_route_rm(back->route, MMI_CONTAINER_OF(node, mmi_lane, lb));
    }
    if (again && lanes) {
        back_take_back(back, p->unacked);
    }
    if (!p->stopped) {
        back_leave(back, node);
    } else if (again || whole) {
        back_hand_on(back, p); /* also what was begun as it was stopped */
    }
    if (again && !lanes) {
        back_take_back(back, p->unacked);
    }
    mmi_back_go_on(back);
}

/* Its own messages and those without a key take turns to have the room first. */
static int
back_out_lane(mmi_back *back, mmi_lane *lane)
{
    if (lane->owes && !mmi_levels_empty(&back->kept)) {
        lane->owes = false;
        lane->lb.held = false;
        (void)mmi_back_flush(back);
    }
    return mmi_lane_flush(lane);
}

void
mmi_back_out(mmi_back *back, mmi_lb_node *node)
{
    int rc = MM_OK;
    if (!node->pipe->stopped) {
        mmi_lane *lane = back->route != NULL ? MMI_CONTAINER_OF(node, mmi_lane, lb) : NULL;
        if (lane != NULL && !mmi_list_linked(&lane->node) && !node->pipe->overdue) {
            back_begin_lane(back, lane);
        }
        if (lane != NULL && mmi_list_linked(&lane->node)) {
            rc = back_out_lane(back, lane);
        }
        mmi_lb_out(&back->lb, node);
    }
    back_send_kept(back, rc);
}
