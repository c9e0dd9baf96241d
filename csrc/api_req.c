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

/* Locked.  One step: MM_OK: the reply, or the next answer, is in the batch. */
static int
req_take(mmi_socket *s, uint64_t id, mmi_batch *b)
{
    mmi_msg *m = NULL;
    int rc = s->ops->reply(s->state, id, &m);
    if (rc == MM_OK) {
        mmi_batch_add(b, &(mmi_span){ .msg = m, .count = 1, .bytes = m->size });
        s->stats.received_messages++;
        s->stats.received_bytes += m->size;
    }
    return rc;
}

/* Locked.  What is there besides the first, as long as it is worth a copy: it is no error that
 * there is no more. */
static void
req_take_more(mmi_socket *s, uint64_t id, mmi_batch *b, uint32_t more)
{
    while (more-- > 0 && b->bytes < (size_t)REQ_JOIN_BYTES && mmi_batch_reserve(b) == MM_OK &&
           req_take(s, id, b) == MM_OK) {
    }
}

/* Waits for one, and takes up to max of those that are there then. */
static int
req_wait(mm_handle socket, uint64_t id, mm_batch *batch, uint32_t max, int64_t timeout_ms,
         int64_t slice_ms)
{
    mmi_batch *b = (mmi_batch *)batch;
    mmi_batch_reset(b);
    int rc = mmi_batch_reserve(b);
    mmi_socket *s;
    if (rc != MM_OK || (rc = mmi_api_enter_quick(socket, &s)) != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    rc = s->ops->reply == NULL ? MM_ENOTSUP : req_take(s, id, b);
    if (rc != MM_EAGAIN) {
        req_take_more(s, id, b, rc == MM_OK ? max - 1 : 0);
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
        rc = req_take(s, id, b);
    }
    if (rc == MM_OK) {
        req_take_more(s, id, b, max - 1);
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
