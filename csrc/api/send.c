/*
 * api/send.c: sending; each call waits here, if asked to.
 *
 * Not here: receiving (api/recv.c), requests (api/request.c), replies (api/reply.c).  Law: try now,
 * wait separately: a call that fails has sent nothing (send_many says how many it sent).
 */
#include "api/api.h"

#include "batch/batch.h"
#include "queue/backlog.h"
#include "queue/expiry.h"
#include "queue/replays.h"

enum {
    IO_BORROW_MAX = MMI_SEGMENT_BODY_MAX - MMI_FRAME_OVERHEAD,   /* bytes; larger: copied first */
    IO_SEGMENT_MIN = 16 /* messages worth a segment that is filled without the lock */
};

_Static_assert((int)MM_PARTS_MAX == (int)MMI_BORROW_FRAMES_MAX,
               "what is sent as it lies is borrowed");

int
mmi_api_sizes(const mmi_socket *s, uint64_t size, uint32_t frames)
{
    return size > s->opts.message_size_max || frames > s->opts.frames_max ? MM_EMSGSIZE : MM_OK;
}

/* What a socket refuses to send, before anything is copied. */
static int
io_check(const mmi_socket *s, uint64_t size, uint32_t frames)
{
    if (s->ops->send == NULL || mmi_back_sourced(s->host.back) || mmi_replays_on(s->host.replays)) {
        return MM_ENOTSUP; /* what is kept elsewhere is put there */
    }
    return mmi_api_sizes(s, size, frames);
}

/* What was queued and not written yet is written now: MM_OK, or MM_ECLOSED: s is gone, do not touch
 * it. */
static int
io_make_room(mmi_socket *s)
{
    mmi_engine *e = s->engine;
    mmi_engine_refresh(e);
    mmi_socket_flush_now(s);
    s->pins++;
    mmi_engine_settle(e, true);
    s->pins--;
    if (s->closing) {
        mmi_socket_touch(s); /* its end waited for us */
        return MM_ECLOSED;
    }
    return MM_OK;
}

/* One try. MM_OK: the message is no longer the caller's. */
static int
io_try_send(mmi_socket *s, mmi_msg *m)
{
    size_t size = m->size;
    bool expires = mmi_expires(m);
    int rc = s->ops->send(s->state, m);
    if (rc == MM_EAGAIN) {
        rc = io_make_room(s);
        rc = rc == MM_OK ? s->ops->send(s->state, m) : rc;
    }
    if (rc == MM_OK) {
        s->stats.sent_messages++;
        s->stats.sent_bytes += size;
        if (expires) {
            mmi_socket_expiring(s);
        }
    }
    return rc;
}

/* Is a send that got MM_EAGAIN to wait? */
static bool
io_waits(const mmi_socket *s)
{
    if (s->host.alone && s->opts.no_peer == MM_NO_PEER_BLOCK) {
        return true;
    }
    bool refuses = s->host.alone && s->opts.no_peer == MM_NO_PEER_ERROR;
    return !refuses && s->opts.overflow != MM_OVERFLOW_ERROR;
}

int
mm_send_waits(mm_handle socket)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    bool waits = io_waits(s);
    mmi_engine_leave_quick(s->engine);
    return waits ? 1 : 0;
}

/* Until it is sent, refused or too late. MM_OK: the message is gone. Leaves the engine locked. */
static int
io_send(mmi_socket *s, mmi_msg *m, mmi_api_wait *w)
{
    for (;;) {
        int rc = io_try_send(s, m);
        if (rc != MM_EAGAIN || !io_waits(s)) {
            return rc;
        }
        rc = mmi_api_wait_for(s, w, MMI_ROOM | MM_PEERS, 0);
        if (rc != MM_OK) {
            return rc;
        }
    }
}

int
mmi_api_send_locked(mmi_socket *s, mmi_msg *m, mmi_api_wait *w)
{
    int rc = io_check(s, m->size, m->frame_count);
    return rc == MM_OK ? io_send(s, m, w) : rc;
}

int
mmi_api_feed_locked(mmi_socket *s, mmi_msg *m, mmi_api_wait *w)
{
    int rc = mmi_api_sizes(s, m->size, m->frame_count);
    return rc == MM_OK ? io_send(s, m, w) : rc;
}

/* Sends a message that was just made (NULL: there was no memory); *key gets its request id. */
int
mmi_api_send(mm_handle socket, mmi_msg *m, int64_t timeout_ms, int64_t slice_ms, uint64_t *key)
{
    if (m == NULL) {
        return MM_ENOMEM;
    }
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc == MM_OK) {
        mmi_engine *e = s->engine;
        mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
        mmi_msg *kept = key != NULL ? mmi_msg_ref(m) : NULL;
        bool asks = s->ops->reply != NULL && s->ops->bound == NULL; /* surveys: api/survey.c */
        rc = key != NULL && !asks ? MM_ENOTSUP : io_check(s, m->size, m->frame_count);
        if (rc == MM_OK) {
            rc = io_send(s, m, &w);
        }
        if (kept != NULL) {
            *key = kept->key;
            mmi_msg_unref(kept);
        }
        mmi_engine_leave(e);
    }
    if (rc != MM_OK) {
        mmi_msg_unref(m);
    }
    return rc;
}

static size_t
io_size(const mm_body *frames, uint32_t count)
{
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        size += frames[i].size;
    }
    return size;
}

/* Does it go into a segment?  So it need not be copied before. */
static bool
io_is_small(const mmi_socket *s, size_t size, uint32_t count)
{
    return s->segments && size <= (size_t)MMI_SEGMENT_BODY_MAX - count * (size_t)MMI_FRAME_OVERHEAD;
}

/* A message over the caller's memory, for a role that encodes what it queues: so it is copied once,
 * into the segment it goes out with. */
static void
io_borrow(mmi_msg *m, mmi_frame *room, const mm_body *frames, uint32_t count)
{
    mmi_msg_borrow(m, room, frames[0].data, frames[0].size);
    for (uint32_t i = 1; i < count; i++) {
        mmi_msg_borrow_more(m, frames[i].data, frames[i].size);
    }
}

/* NULL: no memory. */
static mmi_msg *
io_copy(const mm_body *frames, uint32_t count)
{
    mmi_msg borrowed;
    mmi_frame room[MM_PARTS_MAX];
    io_borrow(&borrowed, room, frames, count);
    return mmi_msg_own(&borrowed);
}

static int
io_send_parts(mm_handle socket, const mm_body *frames, uint32_t count, mmi_api_wait w)
{
    mmi_socket *s;
    size_t size = io_size(frames, count);
    int rc = mmi_api_enter_quick(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    rc = io_check(s, size, count);
    bool small = io_is_small(s, size, count);
    if (rc == MM_OK && small) {
        mmi_msg m;
        mmi_frame room[MM_PARTS_MAX];
        io_borrow(&m, room, frames, count);
        rc = io_send(s, &m, &w);
    }
    mmi_engine_leave_quick(e);
    if (rc != MM_OK || small) {
        return rc;
    }
    /* A large body is copied without the lock. */
    return mmi_api_send(socket, io_copy(frames, count), w.timeout_ms, w.slice_ms, NULL);
}

int
mm_send(mm_handle socket, const void *body, size_t size, int64_t timeout_ms, int64_t slice_ms)
{
    const mm_body frame = { .data = body, .size = size };
    return io_send_parts(socket, &frame, 1, mmi_api_wait_of(timeout_ms, slice_ms));
}

int
mm_send_now(mm_handle socket, const void *body, size_t size)
{
    return mm_send(socket, body, size, 0, 0);
}

int
mm_send_frames(mm_handle socket, uint64_t to, const mm_body *frames, uint32_t count,
               int64_t timeout_ms, int64_t slice_ms)
{
    if (count == 0) {
        return MM_EINVAL;
    }
    if (to == 0 && count <= MM_PARTS_MAX) {
        return io_send_parts(socket, frames, count, mmi_api_wait_of(timeout_ms, slice_ms));
    }
    mmi_msg *m = mmi_msg_gather(frames, count);
    if (m != NULL) {
        m->pipe_id = to;
    }
    return mmi_api_send(socket, m, timeout_ms, slice_ms, NULL);
}

_Static_assert((int)MM_META_SIZE_MAX == (int)MMI_META_SIZE_MAX, "users know it");

int
mmi_api_packed(const uint8_t *bodies, const uint64_t *sizes, uint32_t count, const uint8_t *meta,
               size_t meta_size, mmi_msg **out)
{
    if (count == 0 || !mmi_api_meta_valid(meta, meta_size)) {
        return MM_EINVAL;
    }
    if (meta_size > (size_t)MMI_META_SIZE_MAX) {
        return MM_EMSGSIZE;
    }
    mmi_msg *m = mmi_msg_copy_frames(bodies, sizes, count);
    if (m != NULL && meta_size > 0 && (m->meta = mmi_meta_new(meta, meta_size)) == NULL) {
        mmi_msg_unref(m);
        m = NULL;
    }
    if (m != NULL) {
        m->alone = meta_size > 0;
    }
    *out = m;
    return m != NULL ? MM_OK : MM_ENOMEM;
}

int
mm_send_packed(mm_handle socket, uint64_t to, const uint8_t *bodies, const uint64_t *sizes,
               uint32_t count, const uint8_t *meta, size_t meta_size, int64_t timeout_ms,
               int64_t slice_ms)
{
    mmi_msg *m;
    int rc = mmi_api_packed(bodies, sizes, count, meta, meta_size, &m);
    if (rc != MM_OK) {
        return rc;
    }
    m->pipe_id = to;
    return mmi_api_send(socket, m, timeout_ms, slice_ms, NULL);
}

int
mm_send_queue(mm_handle socket, const mm_body *frames, uint32_t count, int *more)
{
    mmi_socket *s;
    size_t size = io_size(frames, count);
    *more = MM_MORE_SEND;
    if (count == 0 || count > MM_PARTS_MAX) {
        return MM_OK;
    }
    mmi_engine *e;
    void *object;
    int rc = mmi_handle_trylock(socket, MMI_HANDLE_SOCKET, &object, &e);
    if (rc != MM_OK) {
        *more = rc == MM_EAGAIN ? MM_MORE_SEND : 0;
        return rc;
    }
    s = object;
    if (io_is_small(s, size, count) && io_check(s, size, count) == MM_OK) {
        mmi_msg m;
        mmi_frame room[MM_PARTS_MAX];
        io_borrow(&m, room, frames, count);
        rc = s->ops->send(s->state, &m);
        if (rc == MM_OK) {
            s->stats.sent_messages++;
            s->stats.sent_bytes += size;
            *more = mmi_engine_leaves_quick(e) ? 0 : MM_MORE_SETTLE;
        }
    }
    pthread_mutex_unlock(&e->lock);
    return MM_OK;
}

int
mm_settle(mm_handle socket)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc == MM_OK) {
        mmi_engine_leave(s->engine);
    }
    return rc == MM_ECLOSED ? MM_OK : rc; /* closing flushes what was queued */
}

/* What fits into a segment, and into a queue with that room. NULL: no memory. */
static mmi_segment_out *
io_encode(const mmi_framing *f, const mm_body *bodies, size_t count, size_t size_max,
          size_t cost_max)
{
    mmi_segment_out *segment = mmi_segment_out_new(f, MMI_SEGMENT_CAP);
    for (size_t i = 0; segment != NULL && i < count && bodies[i].size <= size_max; i++) {
        size_t cost = bodies[i].size + MMI_FRAME_OVERHEAD; /* as mmi_msg_cost of one frame */
        if (cost > cost_max - segment->msg.cost) {
            break;
        }
        size_t size = f->put_body(bodies[i].data, bodies[i].size, segment->data + segment->used,
                                  segment->cap - segment->used);
        if (size == 0) {
            break;
        }
        segment->used += size;
        segment->msg.count++;
        segment->msg.cost += cost;
    }
    return segment;
}

/* Those of a segment are sent, if they still can be. */
static int
io_send_segment(mmi_socket *s, uint64_t pipe_id, mmi_segment_out *segment)
{
    mmi_pipe *p = s->ops->sole(s->state);
    bool same = p != NULL && p->id == pipe_id && p->framing == segment->framing;
    return same && mmi_ring_fits_entry(&p->outbox, &segment->msg) ? mmi_pipe_send(p, &segment->msg)
                                                                  : MM_EAGAIN;
}

/* A run for an only peer is encoded without the lock, which others then find free. MM_OK;
 * MM_EAGAIN: it is to be sent one by one; MM_ECLOSED: s is gone. */
static int
io_send_apart(mmi_socket *s, const mm_body *bodies, size_t count, size_t *sent)
{
    mmi_engine *e = s->engine;
    mmi_pipe *p = s->segments && s->ops->sole != NULL ? s->ops->sole(s->state) : NULL;
    const mmi_ring *out = p != NULL ? &p->outbox : NULL;
    if (out == NULL || mmi_back_sourced(s->host.back) || !p->segments || p->apart ||
        p->framing->put_body == NULL || out->bytes >= out->bytes_max) {
        return MM_EAGAIN;
    }
    size_t left = count - *sent, room = out->count_max - out->count;
    size_t cost_max = out->bytes_max - out->bytes;
    size_t size_max =
        s->opts.message_size_max < IO_BORROW_MAX ? s->opts.message_size_max : (size_t)IO_BORROW_MAX;
    if (left < IO_SEGMENT_MIN || room < IO_SEGMENT_MIN || bodies[*sent].size > size_max) {
        return MM_EAGAIN;
    }
    const mmi_framing *framing = p->framing;
    uint64_t pipe_id = p->id;
    s->pins++;
    mmi_engine_unlock(e);
    mmi_segment_out *segment =
        io_encode(framing, bodies + *sent, left < room ? left : room, size_max, cost_max);
    mmi_engine_relock(e);
    s->pins--;
    int rc = segment == NULL || segment->msg.count == 0 ? MM_EAGAIN : MM_OK;
    if (s->closing) {
        mmi_socket_touch(s); /* its end waited for us */
        rc = MM_ECLOSED;
    }
    uint32_t messages = segment != NULL ? segment->msg.count : 0;
    /* Each is of one frame. */
    size_t bytes = segment != NULL ? segment->msg.cost - messages * (size_t)MMI_FRAME_OVERHEAD : 0;
    rc = rc == MM_OK ? io_send_segment(s, pipe_id, segment) : rc;
    if (rc != MM_OK) {
        mmi_msg_unref(segment != NULL ? &segment->msg : NULL);
        return rc;
    }
    s->stats.sent_messages += messages;
    s->stats.sent_bytes += bytes;
    *sent += messages;
    return mmi_list_empty(&e->dirty) ? MM_OK : io_make_room(s);
}

/* A queue that has outgrown the caches is slow for both ends.  So who sends many and may wait lets
 * it drain first; but as long as it does drain: a peer that is stalled costs one such wait.
 * MM_ECLOSED: s is gone; MM_EINTR. */
static int
io_throttle(mmi_socket *s, mmi_api_wait *w)
{
    mmi_pipe *p = s->ops->sole(s->state);
    bool may_wait = w->timeout_ms != 0 && s->opts.overflow == MM_OVERFLOW_BLOCK;
    if (!may_wait || p == NULL || p->stalled || p->outbox.bytes < (size_t)MMI_THROTTLE_BYTES) {
        return MM_OK;
    }
    uint64_t id = p->id, deadline_ns = mmi_api_deadline(s, w);
    uint64_t end = mmi_deadline(s->engine->now_ns, MMI_THROTTLE_MS);
    bool whole = end <= deadline_ns;
    int rc = mmi_socket_wait(s, MMI_UNTHROTTLED | MM_PEERS, 0, whole ? end : deadline_ns, 0);
    if (rc == MM_ECLOSED) {
        return rc;
    }
    p = s->ops->sole(s->state);
    if (rc == MM_ETIMEDOUT && whole && p != NULL && p->id == id) {
        p->stalled = true;
    }
    return rc == MM_EINTR ? rc : MM_OK;
}

/* As many as go without waiting for room; *sent counts on. */
static int
io_send_run(mmi_socket *s, const mm_body *bodies, size_t count, mmi_api_wait *w, size_t *sent)
{
    while (*sent < count) {
        int rc = io_send_apart(s, bodies, count, sent);
        if (rc == MM_OK) {
            rc = io_throttle(s, w);
        }
        if (rc == MM_OK) {
            continue;
        }
        if (rc == MM_ECLOSED || rc == MM_EINTR) {
            return rc;
        }
        const mm_body *b = &bodies[*sent];
        rc = io_check(s, b->size, 1);
        if (rc != MM_OK) {
            return rc;
        }
        mmi_msg borrowed, *m = &borrowed;
        mmi_frame frame;
        if (io_is_small(s, b->size, 1)) {
            mmi_msg_borrow(m, &frame, b->data, b->size);
        } else {
            m = mmi_msg_copy(b->data, b->size);
        }
        rc = m == NULL ? MM_ENOMEM : io_try_send(s, m);
        if (rc != MM_OK) {
            mmi_msg_unref(m);
            return rc;
        }
        (*sent)++;
    }
    return MM_OK;
}

int
mm_send_many(mm_handle socket, const mm_body *bodies, size_t count, int64_t timeout_ms,
             int64_t slice_ms, size_t *sent)
{
    mmi_socket *s;
    *sent = 0;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
    for (;;) {
        rc = io_send_run(s, bodies, count, &w, sent);
        if (rc != MM_EAGAIN || !io_waits(s)) {
            break;
        }
        rc = mmi_api_wait_for(s, &w, MMI_ROOM | MM_PEERS, 0);
        if (rc != MM_OK) {
            break;
        }
    }
    return mmi_api_end(e, rc);
}
