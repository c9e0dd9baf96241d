/*
 * api/recv.c: receiving, by the batch; each call waits here, if asked to.
 *
 * Not here: what a batch is (batch/batch.h).  Law: try now, wait separately: a call that fails has
 * taken nothing.
 */
#include "api/api.h"

#include "batch/batch.h"
#include "queue/drop.h"

static const uint64_t IO_BATCH_BYTES_MAX = 1u << 30;   /* offsets have 32 bits */

enum { IO_JOIN_BYTES = 64 * 1024 };   /* that are copied together without being asked to gather */

/* What a receive takes at most, for how long it gathers after the first message, and whether the
 * batch will be kept. */
typedef struct io_limits {
    uint32_t messages;
    uint64_t bytes, gather_ns;
    bool lasting;
} io_limits;

/* Is this entry alone worth more than a copy of it and of those behind it? */
static bool
io_whole(const mmi_batch *b, const mmi_span *span)
{
    return (span->count >= MMI_BATCH_WHOLE_MIN || span->bytes >= (size_t)IO_JOIN_BYTES) &&
           !mmi_batch_pins(b, span);
}

/* One span, or one message as a span. */
static int
io_take_one(mmi_socket *s, uint32_t max_messages, uint64_t max_bytes, mmi_span *span)
{
    if (s->ops->take != NULL) {
        return s->ops->take(s->state, max_messages, max_bytes, span);
    }
    mmi_msg *m;
    int rc = s->ops->recv(s->state, &m);
    if (rc == MM_OK) {
        *span = (mmi_span){ .msg = m, .count = 1, .bytes = m->size };
    }
    return rc;
}

/* Whoever asks for the next is done with what it got before, unless it says so itself. */
static void
io_asked(mmi_socket *s)
{
    if ((s->opts.flags & MM_OPT_ACK_MANUAL) == 0) {
        mmi_acks_done_all(&s->host);
    }
}

/* Takes what is there, up to the limits; but no more than is worth a copy, should that be up to us.
 * MM_OK: some; MM_EAGAIN: nothing there; MM_ENOMEM: nothing taken. */
static int
io_take(mmi_socket *s, mmi_batch *b, uint32_t max_messages, uint64_t max_bytes, bool gathers)
{
    int rc = MM_OK;
    uint32_t before = b->message_count;
    uint64_t bytes_before = b->bytes;
    while (b->message_count < max_messages && b->taken_count < MMI_BATCH_SPANS_MAX &&
           (b->message_count == 0 || b->bytes < max_bytes)) {
        mmi_span span;
        bool bounded = !gathers && b->taken_count > 0 && max_bytes > (uint64_t)IO_JOIN_BYTES;
        uint64_t most = bounded ? (uint64_t)IO_JOIN_BYTES : max_bytes;
        if (b->taken_count > 0 && b->bytes >= most) {
            break;
        }
        rc = mmi_batch_reserve(b);
        if (rc == MM_OK) {
            rc = io_take_one(s, max_messages - b->message_count, most - b->bytes, &span);
        }
        if (rc != MM_OK) {
            break;
        }
        mmi_batch_add(b, &span);
        if (span.bytes > MMI_BATCH_INLINE_MAX || (b->taken_count == 1 && io_whole(b, &span))) {
            break;   /* the last one: a large message, or a segment that needs no copy if alone */
        }
    }
    if (rc == MM_EAGAIN) {
        mmi_acks_idle(&s->host); /* it is done with all it had */
    }
    s->stats.received_messages += b->message_count - before;
    s->stats.received_bytes += b->bytes - bytes_before;
    mmi_socket_touch(s);
    return b->message_count > before ? MM_OK : rc;
}

/* After the copy: no memory for it is a loss, and is counted as one. */
int
mmi_api_fill(mm_handle socket, mmi_batch *b)
{
    uint32_t lost;
    int rc = mmi_batch_fill(b, &lost);
    mmi_socket *s;
    if (rc != MM_OK && mmi_api_enter(socket, &s) == MM_OK) {
        s->stats.received_messages -= lost;
        mmi_acks_lost(&s->host); /* nobody will be done with them */
        mmi_drop_count(&s->host, MMI_DROP_MEMORY, 0, lost);
        mmi_engine_leave(s->engine);
    }
    return rc == MM_OK ? (int)b->pub.message_count : rc;
}

/* Takes on until the limits or the time are reached: MM_OK; or a slice is over: MM_EINTR.
 * Leaves the engine locked; what was taken is there whatever happens. */
static int
io_gather(mmi_socket *s, mmi_batch *b, const io_limits *limits, uint64_t max_bytes,
          int64_t slice_ms)
{
    int rc = MM_OK;
    while (rc == MM_OK && b->message_count < limits->messages && b->bytes < max_bytes) {
        rc = io_take(s, b, limits->messages, max_bytes, true);
        if (rc == MM_EAGAIN && s->engine->now_ns < b->gather_end_ns) {
            rc = mmi_socket_wait(s, MM_READABLE, 0, b->gather_end_ns, slice_ms);
        }
    }
    return rc == MM_EINTR ? rc : MM_OK;
}

/* There is nothing: MM_EAGAIN; or nothing more comes, by what was done here or by who sends. */
static int
io_over(const mmi_socket *s)
{
    if (s->host.stopping && mmi_socket_stopped(s)) {
        return MM_ECLOSED;
    }
    return s->ends_came > 0 && mmi_socket_ended(s) ? MM_EFINISHED : MM_EAGAIN;
}

/* Waits for the first message and takes what is there with it. */
static int
io_first(mmi_socket *s, mmi_batch *b, const io_limits *limits, uint64_t max_bytes, mmi_api_wait *w)
{
    for (;;) {
        int rc = s->ops->recv == NULL
                     ? MM_ENOTSUP
                     : io_take(s, b, limits->messages, max_bytes, limits->gather_ns > 0);
        if (rc != MM_EAGAIN) {
            return rc;
        }
        rc = io_over(s);
        if (rc != MM_EAGAIN) {
            return rc;
        }
        rc = mmi_api_wait_for(s, w, MM_READABLE, 0);
        if (rc != MM_OK) {
            return rc;
        }
    }
}

/* Waits for the first message, then takes what there is. The count, or an error; 0: it gathers, and
 * goes on when called again. */
static int
io_recv(mm_handle socket, mmi_batch *b, const io_limits *limits, mmi_api_wait *w)
{
    bool goes_on = limits->gather_ns > 0 && b->taken_count > 0;   /* it has returned 0 */
    if (!goes_on) {
        mmi_batch_reset(b);
        b->lasting = limits->lasting;
    }
    if (limits->messages == 0) {
        return MM_EINVAL;
    }
    uint64_t bytes = limits->bytes < IO_BATCH_BYTES_MAX ? limits->bytes : IO_BATCH_BYTES_MAX;
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return goes_on ? mmi_api_fill(socket, b) : rc;   /* closed meanwhile: what it has */
    }
    mmi_engine *e = s->engine;
    if (!goes_on) {
        io_asked(s);
        rc = io_first(s, b, limits, bytes, w);
        bool far = limits->gather_ns > UINT64_MAX - e->now_ns;
        b->gather_end_ns = far ? UINT64_MAX : e->now_ns + limits->gather_ns;
    }
    bool gathers = rc == MM_OK && limits->gather_ns > 0 &&
                   io_gather(s, b, limits, bytes, w->slice_ms) == MM_EINTR;
    mmi_engine_leave(e);
    return gathers ? 0 : rc == MM_OK ? mmi_api_fill(socket, b) : rc;
}

int
mm_recv(mm_handle socket, mm_batch *batch, uint32_t max_messages, uint64_t max_bytes,
        int64_t timeout_ms, int64_t slice_ms)
{
    io_limits limits = { .messages = max_messages, .bytes = max_bytes };
    mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
    return io_recv(socket, (mmi_batch *)batch, &limits, &w);
}

/* Has anybody to be told that there is less to be received now? */
static bool
io_watched(const mmi_socket *s)
{
    bool watched = s->fileno >= 0 || s->news != 0 || !mmi_list_empty(&s->waiters);
    MMI_LIST_EACH (&s->watches, node, after) {
        watched |= MMI_CONTAINER_OF(node, mmi_watch, socket_node)->wanted != 0;
    }
    return watched;
}

int
mm_recv_nowait(mm_handle socket, mm_batch *batch, int *more)
{
    mmi_batch *b = (mmi_batch *)batch;
    *more = 0;
    mmi_batch_reset(b);
    void *object;
    mmi_engine *e;
    int rc = mmi_batch_reserve_lent(b);
    if (rc != MM_OK || (rc = mmi_handle_trylock(socket, MMI_HANDLE_SOCKET, &object, &e)) != MM_OK) {
        return rc;
    }
    mmi_socket *s = object;
    io_asked(s);
    mmi_msg *m;
    rc = s->ops->recv == NULL ? MM_ENOTSUP : s->ops->recv(s->state, &m);
    if (rc == MM_OK) {
        s->stats.received_messages++;
        s->stats.received_bytes += m->size;
        mmi_batch_lend(b, m);
        if (io_watched(s)) {
            mmi_socket_touch(s);
        }
    }
    *more = mmi_engine_leaves_quick(e) ? 0 : MM_MORE_SETTLE;   /* also for what was dropped */
    pthread_mutex_unlock(&e->lock);
    return rc == MM_OK ? 1 : rc;
}

int
mm_recv_batch(mm_handle socket, mm_batch *batch, uint32_t max_messages, uint64_t max_bytes,
              uint64_t gather_ns, int64_t timeout_ms, int64_t slice_ms)
{
    io_limits limits = {
        .messages = max_messages, .bytes = max_bytes, .gather_ns = gather_ns, .lasting = true
    };
    mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
    int count = io_recv(socket, (mmi_batch *)batch, &limits, &w);
    int rc = count > 0 ? mmi_batch_bodies((mmi_batch *)batch) : MM_OK;
    return rc == MM_OK ? count : rc;
}

int
mm_batch_take(mm_handle socket, mm_batch *batch, uint32_t max_messages, uint64_t max_bytes)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    mmi_batch *b = (mmi_batch *)batch;
    b->lasting = true;
    if (b->message_count == 0) {
        io_asked(s);
    }
    if (s->ops->recv == NULL) {
        rc = MM_ENOTSUP;
    } else if (b->message_count < max_messages && b->bytes < max_bytes) {
        rc = io_take(s, b, max_messages, max_bytes, b->message_count > 0);
        rc = rc == MM_EAGAIN && b->message_count == 0 ? io_over(s) : rc;
        rc = rc == MM_OK ? (int)b->message_count : rc;
    }
    return mmi_api_end(e, rc);
}

int
mm_batch_finish(mm_handle socket, mm_batch *batch)
{
    mmi_batch *b = (mmi_batch *)batch;
    if (b->taken_count == 0) {
        return (int)batch->message_count;   /* nothing was taken, or it was finished before */
    }
    int count = mmi_api_fill(socket, b);
    int rc = count > 0 ? mmi_batch_bodies(b) : MM_OK;
    return rc == MM_OK ? count : rc;
}

int
mm_stop_receiving(mm_handle socket, int64_t timeout_ms)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    uint64_t deadline_ns = mmi_deadline(s->engine->now_ns, timeout_ms);
    return mmi_api_leave(s, s->ops->recv == NULL ? MM_ENOTSUP : mmi_socket_stop(s, deadline_ns));
}
