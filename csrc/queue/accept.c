/*
 * queue/accept.c: what a send does: the message goes to a peer, waits here, or is dropped or
 * refused, as the socket's overflow and no_peer say.
 * Not here: what becomes of what waits (backlog.c).
 * Law: a send that fails has changed nothing.
 */
#include "queue/backlog.h"

enum { ACCEPT_NS_PER_MS = 1000000 };

/* The oldest of its outbox go until m fits.  m is queued or dropped. */
static void
accept_send_in_place(mmi_back *back, mmi_pipe *p, mmi_msg *m)
{
    size_t cost = mmi_msg_cost(m);
    if (!mmi_pipe_droppable(p, cost)) {
        mmi_back_drop(back, MMI_DROP_OVERFLOW, p, m);
        return;
    }
    while (!mmi_ring_fits(&p->outbox, cost)) {
        mmi_back_drop(back, MMI_DROP_OVERFLOW, p, mmi_pipe_drop_oldest(p));
    }
    uint64_t key = m->key;
    int rc = mmi_pipe_send(p, m);
    MMI_ASSERT(rc == MM_OK); /* what was dropped has left a slot */
    mmi_back_note(back, key, MMI_BACK_QUEUED, p);
}

/* Nothing has room, and the oldest is to go: of the lowest priority there is.  MM_OK: m is queued,
 * kept or dropped; MM_ENOMEM. */
static int
accept_send_dropping_oldest(mmi_back *back, mmi_msg *m)
{
    if (!mmi_levels_empty(&back->kept)) {
        uint64_t key = m->key;
        if (mmi_ring_push(mmi_levels_of(&back->kept, m), m) != MM_OK) {
            return MM_ENOMEM;
        }
        mmi_back_note(back, key, MMI_BACK_KEPT, NULL);
        mmi_back_drop(back, MMI_DROP_OVERFLOW, NULL, mmi_levels_take_lowest(&back->kept));
        return MM_OK;
    }
    /* There is one: else the send was refused. */
    accept_send_in_place(back, mmi_lb_turn(&back->lb, m), m);
    return MM_OK;
}

/* Is what finds no room, or nobody, dropped? */
static bool
accept_drops(const mmi_back *back)
{
    const mmi_proto_host *host = back->host;
    bool own = host->alone && host->opts->no_peer != MM_NO_PEER_AS_FULL;
    return own ? host->opts->no_peer == MM_NO_PEER_DROP : mmi_drop_overflows(host);
}

/* Does what finds no room wait here?  Where it is acknowledged: a peer is then given no more than
 * it takes, so the queue is the socket's. */
static bool
accept_keeps(const mmi_back *back, const mmi_ring *kept, size_t cost)
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
accept_queue_here(mmi_back *back, mmi_ring *kept, mmi_msg *m)
{
    const mmi_framing *f = back->framing;
    bool alone = back->host->opts->overflow == MM_OVERFLOW_DROP_OLDEST; /* it may be dropped so */
    if (f == NULL || alone || m->alone || mmi_msg_cost(m) > (size_t)MMI_SEGMENT_BODY_MAX) {
        return mmi_ring_push(kept, m);
    }
    return mmi_queue_encode(kept, f, m);
}

/* Whatever room others have, it goes to the peer that has its key, or waits for it. */
static int
accept_send_keyed(mmi_back *back, mmi_lane *lane, mmi_msg *m)
{
    int rc = mmi_lane_send(lane, m);
    if (rc == MM_EAGAIN && accept_keeps(back, &lane->waits, mmi_msg_cost(m))) {
        return mmi_lane_wait(lane, m);
    }
    if (rc != MM_EAGAIN || !mmi_drop_overflows(back->host)) {
        return rc;
    }
    if (back->host->opts->overflow != MM_OVERFLOW_DROP_OLDEST) {
        mmi_back_drop(back, MMI_DROP_OVERFLOW, lane->lb.pipe, m);
    } else if (!lane->lb.held) {
        accept_send_in_place(back, lane->lb.pipe, m);
    } else if ((rc = mmi_lane_wait(lane, m)) == MM_OK) {
        mmi_back_drop(back, MMI_DROP_OVERFLOW, lane->lb.pipe, mmi_lane_take(lane));
    } else {
        return rc;
    }
    return MM_OK;
}

typedef struct accept_limits {
    uint64_t messages, bytes;
} accept_limits;

/* Of what is sent to go later: those of one queue, as all that waits, if no others were given. */
static accept_limits
accept_later_limits(const mmi_back *back)
{
    const mm_socket_opts *o = back->host->opts;
    return (accept_limits){
        .messages = o->delayed_messages > 0 ? o->delayed_messages : o->send_queue_messages,
        .bytes = o->delayed_bytes > 0 ? o->delayed_bytes : o->send_queue_bytes,
    };
}

/* Of what is given back to go later: a queue of a few messages does not stop for a few of those. */
static accept_limits
accept_returned_limits(const mmi_back *back)
{
    accept_limits l = accept_later_limits(back);
    const uint64_t messages = MMI_QUEUE_MESSAGES, bytes = MMI_QUEUE_BYTES;
    l.messages = l.messages > messages ? l.messages : messages;
    l.bytes = l.bytes > bytes ? l.bytes : bytes;
    return l;
}

static int
accept_later(mmi_back *back, mmi_msg *m)
{
    const accept_limits l = accept_later_limits(back);
    const mmi_delayed *d = &back->delayed;
    uint32_t count = d->count - d->returned;
    uint64_t bytes = d->bytes - d->returned_bytes, cost = mmi_msg_cost(m);
    bool fits = count == 0 || (count < l.messages && bytes <= l.bytes && cost <= l.bytes - bytes);
    return fits ? mmi_back_later(back, m) : MM_EAGAIN;
}

/* Peers gave so much back for later that nothing new is taken: else there would be no end to it. */
static bool
accept_choked(const mmi_back *back)
{
    if (back->delayed.returned == 0) {
        return false;
    }
    const accept_limits l = accept_returned_limits(back);
    return back->delayed.returned >= l.messages || back->delayed.returned_bytes > l.bytes;
}

void
mmi_back_tell_later(const mmi_back *back, mm_later *out)
{
    const accept_limits sent = accept_later_limits(back), returned = accept_returned_limits(back);
    const mmi_delayed *d = &back->delayed;
    const uint64_t due = mmi_delayed_next(d), now = back->host->now_ns(back->host);
    *out = (mm_later){
        .sent = d->count - d->returned,
        .sent_max = sent.messages,
        .sent_bytes_max = sent.bytes,
        .returned = d->returned,
        .returned_max = returned.messages,
        .returned_bytes_max = returned.bytes,
        .next_ms = d->count == 0 ? -1 : (int64_t)((due > now ? due - now : 0) / ACCEPT_NS_PER_MS),
        .refuses = accept_choked(back) ? 1 : 0,
    };
}

/* Nobody has room for it, and none has to wait here: dropped, or refused. */
static int
accept_overflow(mmi_back *back, mmi_msg *m)
{
    if (!accept_drops(back)) {
        return MM_EAGAIN;
    }
    bool waits =
        (back->host->opts->flags & MM_OPT_AT_LEAST_ONCE) != 0 && !mmi_levels_empty(&back->kept);
    bool oldest = back->host->opts->overflow == MM_OVERFLOW_DROP_OLDEST;
    if (back->host->alone && !(waits && oldest)) {
        mmi_back_drop(back, MMI_DROP_NO_PEER, NULL, m);
        return MM_OK;
    }
    if (oldest) {
        return accept_send_dropping_oldest(back, m);
    }
    mmi_back_drop(back, MMI_DROP_OVERFLOW, NULL, m);
    return MM_OK;
}

/* Nobody who is there can have what its source has. */
static int
accept_wordless(mmi_back *back, mmi_msg *m, int why)
{
    if (back->wordless.count >= back->host->opts->send_queue_messages) {
        return MM_EAGAIN;
    }
    mmi_back_wordless(back, m, why);
    return MM_OK;
}

int
mmi_back_send(mmi_back *back, mmi_msg *m)
{
    if (m->frame_count == 0) {
        return MM_EINVAL;
    }
    if (back->host->finished &&
        !mmi_back_sourced(back)) { /* its source gives what was put before */
        return MM_ESTATE;
    }
    if (m->due_ns > 0) {
        return accept_later(back, m);
    }
    if (accept_choked(back)) {
        return MM_EAGAIN;
    }
    mmi_lane *lane = mmi_back_lane(back, m);
    if (lane != NULL) {
        return accept_send_keyed(back, lane, m);
    }
    mmi_ring *kept = mmi_levels_of(&back->kept, m);
    int rc = mmi_levels_empty(&back->kept) ? MM_OK : mmi_back_flush(back);
    if (rc == MM_OK) {
        rc = mmi_back_queue(back, m);
    } else if (rc == MM_EAGAIN) { /* it waits with others only if somebody can have it */
        int can = mmi_lb_can(&back->lb, m);
        rc = can == MM_OK ? rc : can;
    }
    if (mmi_unsendable(rc) && mmi_back_sourced(back)) {
        return accept_wordless(back, m, rc);
    }
    if (rc == MM_EAGAIN && accept_keeps(back, kept, mmi_msg_cost(m))) {
        return accept_queue_here(back, kept, m);
    }
    return rc == MM_EAGAIN ? accept_overflow(back, m) : rc;
}

/* Whether its segments may go to the only peer, as that acknowledges. */
static bool
accept_segments(const mmi_back *back, const mmi_framing *f)
{
    const mm_socket_opts *o = back->host->opts;
    const mmi_list *open = &back->lb.open, *full = &back->lb.full;
    if (back->lb.pipe_count != 1 || back->route != NULL || o->priorities > 1 ||
        o->overflow == MM_OVERFLOW_DROP_OLDEST) {
        return false;
    }
    const mmi_list *node = !mmi_list_empty(open) ? open->next : full->next;
    bool there = !mmi_list_empty(open) || !mmi_list_empty(full);
    const mmi_pipe *p = MMI_CONTAINER_OF(node, mmi_lb_node, node)->pipe;
    return there && p->framing == f && !p->apart;
}

const mmi_framing *
mmi_back_segments(const mmi_back *back)
{
    const mmi_framing *f = back->framing;
    return f != NULL && accept_segments(back, f) ? f : NULL;
}

int
mmi_back_send_segment(mmi_back *back, mmi_segment_out *segment)
{
    mmi_ring *kept = &back->kept.at[0];
    const mm_socket_opts *o = back->host->opts;
    if (!accept_segments(back, segment->framing)) {
        return MM_ENOTSUP;
    }
    if (accept_choked(back)) {
        return MM_EAGAIN;
    }
    bool fits = kept->count == 0 || (kept->count + segment->msg.count <= o->send_queue_messages &&
                                     kept->bytes + segment->msg.cost <= o->send_queue_bytes);
    int rc = fits ? mmi_ring_push(kept, &segment->msg) : MM_EAGAIN;
    if (rc == MM_OK) {
        mmi_back_go_on(back);
    }
    return rc;
}

mmi_pipe *
mmi_back_sole(const mmi_back *back)
{
    const mmi_lb *lb = &back->lb;
    bool sole = lb->pipe_count == 1 && !mmi_list_empty(&lb->open) &&
                mmi_levels_empty(&back->kept) && !accept_choked(back) && !back->host->finished;
    const mmi_lb_node *one = MMI_CONTAINER_OF(lb->open.next, mmi_lb_node, node);
    return sole && !one->held ? one->pipe : NULL;
}

bool
mmi_back_ready(const mmi_back *back)
{
    bool refuses = back->host->alone && back->host->opts->no_peer == MM_NO_PEER_ERROR;
    /* What is kept goes first.  It waits for room, or, beside an empty outbox, for memory. */
    bool room = mmi_levels_empty(&back->kept) ? mmi_lb_ready(&back->lb) : mmi_lb_idle(&back->lb);
    const mmi_ring *kept = &back->kept.at[0];
    bool keeps = accept_keeps(back, kept, (size_t)MMI_READY_BYTES + MMI_FRAME_OVERHEAD);
    bool takes = !accept_choked(back) && (room || keeps || accept_drops(back) || refuses);
    return takes || back->host->finished; /* it is refused at once */
}

uint32_t
mmi_back_count(const mmi_back *back, uint64_t *bytes)
{
    uint32_t count = back->route != NULL ? mmi_route_count(back->route, bytes) : 0;
    uint64_t more = back->route != NULL ? *bytes : 0;
    count += mmi_levels_count(&back->kept, bytes);
    *bytes += more + back->wordless.bytes;
    return count + back->wordless.count;
}

bool
mmi_back_low(const mmi_back *back)
{
    const mm_socket_opts *o = back->host->opts;
    const mmi_ring *kept = &back->kept.at[0];
    bool low = kept->count <= o->send_queue_messages / 2 && kept->bytes <= o->send_queue_bytes / 2;
    return back->host->keyed || kept->count == 0 || low; /* any lane or level may have room */
}
