/*
 * api_io.c: sending, receiving, requests and replies; each waits here, if asked to.
 *
 * Law: try now, wait separately: a call that fails has sent nothing and taken nothing (send_many
 * says how many it sent).
 */
#include "api.h"

#include "engine/batch.h"

/* What a socket refuses to send, before anything is copied. */
static int
io_check(const mmi_socket *s, uint64_t size, uint32_t frames)
{
    if (s->ops->send == NULL) {
        return MM_ENOTSUP;
    }
    return size > s->opts.message_size_max || frames > s->opts.frames_max ? MM_EMSGSIZE : MM_OK;
}

/* One try. MM_OK: the message is no longer the caller's. */
static int
io_try_send(mmi_socket *s, mmi_msg *m)
{
    size_t size = m->size;
    int rc = s->ops->send(s->state, m);
    if (rc == MM_EAGAIN && !mmi_list_empty(&s->engine->dirty)) {
        mmi_engine_settle(s->engine, true); /* a burst that was not written yet: make room first */
        rc = s->ops->send(s->state, m);
    }
    if (rc == MM_OK) {
        s->stats.sent_messages++;
        s->stats.sent_bytes += size;
    }
    return rc;
}

/* Until it is sent, refused or too late. MM_OK: the message is gone. Leaves the engine locked. */
static int
io_send(mmi_socket *s, mmi_msg *m, mmi_api_wait *w)
{
    for (;;) {
        int rc = io_try_send(s, m);
        if (rc != MM_EAGAIN || s->opts.overflow == MM_OVERFLOW_ERROR) {
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

/* Sends a message that was just made (NULL: there was no memory); *key gets its request id. */
static int
io_send_new(mm_handle socket, mmi_msg *m, int64_t timeout_ms, int64_t slice_ms, uint64_t *key)
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
        rc = io_check(s, m->size, m->frame_count);
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

int
mm_send(mm_handle socket, const uint8_t *body, size_t size, int64_t timeout_ms, int64_t slice_ms)
{
    return io_send_new(socket, mmi_msg_copy(body, size), timeout_ms, slice_ms, NULL);
}

int
mm_send_frames(mm_handle socket, uint64_t to, const uint8_t *bodies, const uint64_t *sizes,
               uint32_t count, int64_t timeout_ms, int64_t slice_ms)
{
    if (count == 0) {
        return MM_EINVAL;
    }
    mmi_msg *m = mmi_msg_copy_frames(bodies, sizes, count);
    if (m != NULL) {
        m->pipe_id = to;
    }
    return io_send_new(socket, m, timeout_ms, slice_ms, NULL);
}

/* As many as go without waiting; *sent counts on. */
static int
io_send_run(mmi_socket *s, const uint8_t **bodies, const uint64_t *sizes, size_t count,
            size_t *sent)
{
    while (*sent < count) {
        int rc = io_check(s, sizes[*sent], 1);
        if (rc != MM_OK) {
            return rc;
        }
        mmi_msg *m = mmi_msg_copy(*bodies, sizes[*sent]);
        rc = m == NULL ? MM_ENOMEM : io_try_send(s, m);
        if (rc != MM_OK) {
            mmi_msg_unref(m);
            return rc;
        }
        *bodies += sizes[*sent];
        (*sent)++;
    }
    return MM_OK;
}

int
mm_send_many(mm_handle socket, const uint8_t *bodies, const uint64_t *sizes, size_t count,
             int64_t timeout_ms, int64_t slice_ms, size_t *sent)
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
        rc = io_send_run(s, &bodies, sizes, count, sent);
        if (rc != MM_EAGAIN || s->opts.overflow == MM_OVERFLOW_ERROR) {
            break;
        }
        rc = mmi_api_wait_for(s, &w, MMI_ROOM | MM_PEERS, 0);
        if (rc != MM_OK) {
            break;
        }
    }
    return mmi_api_end(e, rc);
}

/* Takes what is there, up to the limits. MM_OK: some; MM_EAGAIN: nothing there; MM_ENOMEM: nothing
 * taken. */
static int
io_take(mmi_socket *s, mmi_batch *b, uint32_t max_messages, uint64_t max_bytes)
{
    uint64_t bytes = 0;
    int rc = MM_OK;
    while (b->taken_count < max_messages && (b->taken_count == 0 || bytes < max_bytes)) {
        mmi_msg *m;
        rc = s->ops->recv(s->state, &m);
        if (rc != MM_OK) {
            break;
        }
        bytes += m->size;
        b->taken[b->taken_count++] = m;
        if (m->size > MM_BATCH_INLINE_MAX) {
            break;   /* the last one: what follows a large message is copied by the next call */
        }
    }
    s->stats.received_messages += b->taken_count;
    s->stats.received_bytes += bytes;
    mmi_socket_touch(s);
    return b->taken_count > 0 ? MM_OK : rc;
}

/* After the copy: no memory for it is a loss, and is counted as one. */
static int
io_fill(mm_handle socket, mmi_batch *b)
{
    uint32_t lost;
    int rc = mmi_batch_fill(b, &lost);
    mmi_socket *s;
    if (rc != MM_OK && mmi_api_enter(socket, &s) == MM_OK) {
        s->stats.received_messages -= lost;
        s->stats.dropped_overflow += lost;
        mmi_proto_event(&s->host, MM_EVENT_DROPPED, MM_REASON_MEMORY, 0, lost, "out of memory");
        mmi_engine_leave(s->engine);
    }
    return rc == MM_OK ? (int)b->pub.message_count : rc;
}

int
mm_recv(mm_handle socket, mm_batch *batch, uint32_t max_messages, uint64_t max_bytes,
        int64_t timeout_ms, int64_t slice_ms)
{
    mmi_batch *b = (mmi_batch *)batch;
    if (max_messages == 0) {
        return MM_EINVAL;
    }
    max_messages = max_messages < MMI_BATCH_MESSAGES_MAX ? max_messages : MMI_BATCH_MESSAGES_MAX;
    int rc = mmi_batch_reserve(b, max_messages);
    mmi_socket *s;
    if (rc != MM_OK || (rc = mmi_api_enter(socket, &s)) != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
    for (;;) {
        rc = s->ops->recv == NULL ? MM_ENOTSUP : io_take(s, b, max_messages, max_bytes);
        if (rc != MM_EAGAIN) {
            break;
        }
        rc = mmi_api_wait_for(s, &w, MM_READABLE, 0);
        if (rc != MM_OK) {
            break;
        }
    }
    mmi_engine_leave(e);
    return rc == MM_OK ? io_fill(socket, b) : rc;
}

int
mm_request(mm_handle socket, const uint8_t *bodies, const uint64_t *sizes, uint32_t count,
           int64_t timeout_ms, int64_t slice_ms, uint64_t *id)
{
    if (count == 0) {
        return MM_EINVAL;
    }
    return io_send_new(socket, mmi_msg_copy_frames(bodies, sizes, count), timeout_ms, slice_ms, id);
}

int
mm_reply(mm_handle socket, uint64_t id, mm_batch *batch, int64_t timeout_ms, int64_t slice_ms)
{
    mmi_batch *b = (mmi_batch *)batch;
    int rc = mmi_batch_reserve(b, 1);
    mmi_socket *s;
    if (rc != MM_OK || (rc = mmi_api_enter(socket, &s)) != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    if (s->ops->reply == NULL) {
        return mmi_api_end(e, MM_ENOTSUP);
    }
    mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
    mmi_msg *m = NULL;
    for (;;) {
        rc = s->ops->reply(s->state, id, &m);
        if (rc == MM_OK) {
            b->taken[b->taken_count++] = m;
            s->stats.received_messages++;
            s->stats.received_bytes += m->size;
        }
        if (rc != MM_EAGAIN) {
            break;
        }
        rc = mmi_api_wait_for(s, &w, 0, id);
        if (rc != MM_OK) {
            break;
        }
    }
    mmi_engine_leave(e);
    return rc == MM_OK ? io_fill(socket, b) : rc;
}

int
mm_replies_ready(mm_handle socket, uint64_t *ids, uint32_t cap)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    return mmi_api_leave(s, s->ops->replies == NULL ? MM_ENOTSUP
                                                    : (int)s->ops->replies(s->state, ids, cap));
}

int
mm_request_cancel(mm_handle socket, uint64_t id)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    if (s->ops->forget == NULL) {
        return mmi_api_leave(s, MM_ENOTSUP);
    }
    s->ops->forget(s->state, id);
    mmi_socket_touch(s);
    return mmi_api_leave(s, MM_OK);
}
