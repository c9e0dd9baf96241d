/*
 * api/request.c: requests, and receiving their replies.
 *
 * Not here: which reply is whose (role/req.c), sending one (api/reply.c).
 * Law: as in api/send.c and api/recv.c.
 */
#include "api/api.h"

#include "batch/batch.h"

enum { REQ_JOIN_BYTES = 64 * 1024 };   /* of answers that are copied together */

int
mm_request(mm_handle socket, const mm_body *frames, uint32_t count, int64_t timeout_ms,
           int64_t slice_ms, uint64_t *id)
{
    return count == 0
               ? MM_EINVAL
               : mmi_api_send(socket, mmi_msg_gather(frames, count), timeout_ms, slice_ms, id);
}

int
mm_request_packed(mm_handle socket, const uint8_t *bodies, const uint64_t *sizes, uint32_t count,
                  const uint8_t *meta, size_t meta_size, int64_t timeout_ms, int64_t slice_ms,
                  uint64_t *id)
{
    mmi_msg *m;
    int rc = mmi_api_packed(bodies, sizes, count, meta, meta_size, &m);
    return rc != MM_OK ? rc : mmi_api_send(socket, m, timeout_ms, slice_ms, id);
}

/* What is asked for, of a role: a reply, an answer or a refusal. */
typedef int (*req_source)(void *ps, uint64_t key, mmi_msg **m);

/* Locked.  The reply, or up to max of the answers that are there, as long as they are worth a copy:
 * MM_OK: one at least; MM_EREFUSED: a reason. */
static int
req_take(mmi_socket *s, req_source from, uint64_t id, mmi_batch *b, uint32_t max)
{
    int rc = MM_OK;
    while (rc == MM_OK && b->message_count < max && b->bytes < (size_t)REQ_JOIN_BYTES) {
        mmi_msg *m = NULL;
        rc = mmi_batch_reserve(b);
        rc = rc == MM_OK ? from(s->state, id, &m) : rc;
        if (rc != MM_OK && rc != MM_EREFUSED) {
            break;
        }
        mmi_batch_add(b, &(mmi_span){ .msg = m, .count = 1, .bytes = m->size });
        s->stats.received_messages++;
        s->stats.received_bytes += m->size;
    }
    return b->message_count > 0 && rc != MM_EREFUSED ? MM_OK : rc;
}

/* After a take, unlocked: the count of what was taken, or the code. */
static int
req_filled(mm_handle socket, mmi_batch *b, int rc)
{
    if (rc != MM_OK && rc != MM_EREFUSED) {
        return rc;
    }
    int count = mmi_api_fill(socket, b);
    return count < 0 || rc == MM_OK ? count : rc;
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
    rc = s->ops->reply == NULL ? MM_ENOTSUP : req_take(s, s->ops->reply, id, b, max);
    if (rc != MM_EAGAIN) {
        mmi_engine_leave_quick(e);
        return req_filled(socket, b, rc);
    }
    mmi_engine_refresh(e);
    mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
    while (rc == MM_EAGAIN) {
        rc = mmi_api_wait_for(s, &w, 0, id);
        if (rc != MM_OK) {
            break;
        }
        rc = req_take(s, s->ops->reply, id, b, max);
    }
    mmi_engine_leave(e);
    return req_filled(socket, b, rc);
}

int
mm_recv_reply(mm_handle socket, uint64_t id, mm_batch *batch, int64_t timeout_ms, int64_t slice_ms)
{
    return req_wait(socket, id, batch, 1, timeout_ms, slice_ms);
}

int
mm_recv_answers(mm_handle socket, uint64_t id, mm_batch *batch, uint32_t max, int64_t timeout_ms,
                int64_t slice_ms)
{
    return max == 0 ? MM_EINVAL : req_wait(socket, id, batch, max, timeout_ms, slice_ms);
}

int
mm_recv_refusals(mm_handle socket, uint64_t id, mm_batch *batch, uint32_t max)
{
    mmi_batch *b = (mmi_batch *)batch;
    mmi_batch_reset(b);
    mmi_socket *s;
    int rc = max == 0 ? MM_EINVAL : mmi_api_enter_quick(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    rc = s->ops->refusal == NULL ? MM_ENOTSUP : req_take(s, s->ops->refusal, id, b, max);
    mmi_engine_leave_quick(s->engine);
    return req_filled(socket, b, rc);
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
