/*
 * api_req.c: requests and their replies.
 *
 * Not here: which reply is whose (proto/req.c).  Law: as in api_io.c and api_recv.c.
 */
#include "api.h"

#include "engine/batch.h"

enum { REQ_JOIN_BYTES = 64 * 1024 };   /* of answers that are copied together */

int
mm_request(mm_handle socket, const uint8_t *bodies, const uint64_t *sizes, uint32_t count,
           int64_t timeout_ms, int64_t slice_ms, uint64_t *id)
{
    if (count == 0) {
        return MM_EINVAL;
    }
    mmi_msg *m = mmi_msg_copy_frames(bodies, sizes, count);
    return mmi_api_send(socket, m, timeout_ms, slice_ms, id);
}

/* Locked.  The reply, or up to max of the answers that are there, as long as they are worth a copy:
 * MM_OK: one at least. */
static int
req_take(mmi_socket *s, uint64_t id, mmi_batch *b, uint32_t max)
{
    int rc = MM_OK;
    while (b->message_count < max && b->bytes < (size_t)REQ_JOIN_BYTES) {
        mmi_msg *m = NULL;
        rc = mmi_batch_reserve(b);
        rc = rc == MM_OK ? s->ops->reply(s->state, id, &m) : rc;
        if (rc != MM_OK) {
            break;
        }
        mmi_batch_add(b, &(mmi_span){ .msg = m, .count = 1, .bytes = m->size });
        s->stats.received_messages++;
        s->stats.received_bytes += m->size;
    }
    return b->message_count > 0 ? MM_OK : rc;
}

/* Waits for one, and takes up to max of those that are there then. */
static int
req_wait(mm_handle socket, uint64_t id, mm_batch *batch, uint32_t max, int64_t timeout_ms,
         int64_t slice_ms)
{
    mmi_batch *b = (mmi_batch *)batch;
    mmi_batch_reset(b);
    mmi_socket *s;
    int rc = mmi_api_enter_quick(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    rc = s->ops->reply == NULL ? MM_ENOTSUP : req_take(s, id, b, max);
    if (rc != MM_EAGAIN) {
        mmi_engine_leave_quick(e);
        return rc == MM_OK ? mmi_api_fill(socket, b) : rc;
    }
    mmi_engine_refresh(e);
    mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
    while (rc == MM_EAGAIN) {
        rc = mmi_api_wait_for(s, &w, 0, id);
        if (rc != MM_OK) {
            break;
        }
        rc = req_take(s, id, b, max);
    }
    mmi_engine_leave(e);
    return rc == MM_OK ? mmi_api_fill(socket, b) : rc;
}

int
mm_reply(mm_handle socket, uint64_t id, mm_batch *batch, int64_t timeout_ms, int64_t slice_ms)
{
    return req_wait(socket, id, batch, 1, timeout_ms, slice_ms);
}

int
mm_answers(mm_handle socket, uint64_t id, mm_batch *batch, uint32_t max, int64_t timeout_ms,
           int64_t slice_ms)
{
    return max == 0 ? MM_EINVAL : req_wait(socket, id, batch, max, timeout_ms, slice_ms);
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
