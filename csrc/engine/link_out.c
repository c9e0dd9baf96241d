/*
 * link_out.c: from a pipe's outbox and waiting commands to bytes on the stream.
 *
 * Small frames are copied into the engine's buffer, large ones go by reference, all in one writev.
 * What the kernel did not take stays in the outbox; only the octets of its front that went are
 * noted. Law: commands go between messages, never inside one; a message counts as written when its
 * last octet was taken.
 */
#include <string.h>

#include "engine/link.h"

enum {
    OUT_IOV_MAX = 64,
    OUT_ROUNDS_MAX = 16,                 /* writes a flush makes before others get their turn */
    OUT_INLINE_BYTES = 64 * 1024         /* queued: worth a write by the caller even in a burst */
};
static const uint64_t OUT_BURST_NS = 20000;   /* sends closer than this to a write are a burst */

typedef struct out_plan {
    mmi_iov iov[OUT_IOV_MAX];
    int iov_count;
    uint8_t *buf;
    size_t buf_used, total;
} out_plan;

static bool
out_full(const out_plan *plan)
{
    return plan->iov_count >= OUT_IOV_MAX - 2 || plan->buf_used >= MMI_IO_BUFFER_SIZE;
}

/* Adds what fits; false: no more room, and the plan ends inside this piece. */
static bool
out_put(out_plan *plan, const uint8_t *data, size_t size)
{
    size_t room = MMI_IO_BUFFER_SIZE - plan->buf_used;
    size_t part = size < room ? size : room;
    uint8_t *at = plan->buf + plan->buf_used;
    if (part == 0) {
        return size == 0;
    }
    memcpy(at, data, part);
    mmi_iov *last = plan->iov_count > 0 ? &plan->iov[plan->iov_count - 1] : NULL;
    if (last != NULL && (uint8_t *)last->data + last->size == at) {
        last->size += part;
    } else {
        plan->iov[plan->iov_count++] = (mmi_iov){ .data = at, .size = part };
    }
    plan->buf_used += part;
    plan->total += part;
    return part == size;
}

static bool
out_refer(out_plan *plan, const uint8_t *data, size_t size)
{
    if (out_full(plan)) {
        return false;
    }
    plan->iov[plan->iov_count++] = (mmi_iov){ .data = (void *)data, .size = size };
    plan->total += size;
    return true;
}

/* One message, without its first skip octets; false: the plan is full. */
static bool
out_message(out_plan *plan, mmi_msg *m, uint64_t skip)
{
    mmi_msg_seal(m);
    for (uint32_t i = 0; i < m->frame_count; i++) {
        const mmi_frame *f = &m->frames[i];
        if (skip < f->head_size) {
            if (out_full(plan) || !out_put(plan, f->head + skip, f->head_size - (size_t)skip)) {
                return false;
            }
            skip = 0;
        } else {
            skip -= f->head_size;
        }
        if (skip >= f->size) {
            skip -= f->size;
            continue;
        }
        const uint8_t *data = f->data + skip;
        size_t size = f->size - (size_t)skip;
        skip = 0;
        bool fits = size <= MMI_INLINE_FRAME_MAX ? out_put(plan, data, size)
                                                 : out_refer(plan, data, size);
        if (!fits) {
            return false;
        }
    }
    return true;
}

static uint64_t
out_message_size(const mmi_msg *m)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < m->frame_count; i++) {
        size += m->frames[i].head_size + m->frames[i].size;
    }
    return size;
}

/* The rest of a begun message, then commands, then as many messages as fit. */
static void
out_gather(mmi_link *link, out_plan *plan)
{
    mmi_ring *outbox = &link->pipe.outbox;
    bool active = link->state == MMI_LINK_ACTIVE;
    uint32_t next = 0;
    if (active && link->msg_offset > 0) {
        if (!out_message(plan, mmi_ring_at(outbox, next++), link->msg_offset)) {
            return;
        }
    }
    size_t control = link->control_size - link->control_sent;
    if (control > 0 && !out_put(plan, link->control + link->control_sent, control)) {
        return;
    }
    while (active && next < outbox->count && !out_full(plan)) {
        if (!out_message(plan, mmi_ring_at(outbox, next++), 0)) {
            return;
        }
    }
}

/* Notes n octets of the front message as written; returns how many of them it did not need. */
static uint64_t
out_front_written(mmi_link *link, uint64_t n)
{
    mmi_msg *m = mmi_ring_at(&link->pipe.outbox, 0);
    uint64_t left = out_message_size(m) - link->msg_offset;
    if (n < left) {
        link->msg_offset += n;
        link->pipe.pinned = true;
        return 0;
    }
    link->msg_offset = 0;
    link->pipe.pinned = false;
    mmi_msg_unref(mmi_pipe_pop_out(&link->pipe));
    link->written++;
    link->socket->stats.written_messages++;
    return n - left;
}

static void
out_written(mmi_link *link, uint64_t n)
{
    if (link->msg_offset > 0) {
        n = out_front_written(link, n);
    }
    uint64_t control = link->control_size - link->control_sent;
    uint64_t part = n < control ? n : control;
    if (link->msg_offset == 0) {
        link->control_sent += (size_t)part;
        n -= part;
        if (link->control_sent == link->control_size) {
            link->control_size = link->control_sent = 0;
        }
    }
    while (n > 0) {
        n = out_front_written(link, n);
    }
}

static void
out_prepare(mmi_link *link)
{
    if (link->pong_due) {
        uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_PING_CONTEXT_MAX];
        size_t size = mmi_command_put_pong(frame, link->pong, link->pong_size);
        if (mmi_link_control(link, frame, size) == MM_OK) {
            link->pong_due = false;
        }
    }
}

bool
mmi_link_pending(const mmi_link *link)
{
    if (link->state == MMI_LINK_HELLO) {
        const uint8_t *out;
        return link->hello != NULL && mmi_hello_output(link->hello, &out) > 0;
    }
    bool messages = link->state == MMI_LINK_ACTIVE && link->pipe.outbox.count > 0;
    return messages || link->control_size > link->control_sent || link->pong_due;
}

bool
mmi_link_flush_due(const mmi_link *link, uint64_t now_ns)
{
    return link->doomed != 0 || link->resume || link->socket->closing ||
           now_ns - link->last_flush_ns >= OUT_BURST_NS ||
           link->pipe.outbox.bytes >= OUT_INLINE_BYTES ||
           link->pipe.outbox.count >= link->pipe.outbox.count_max / 2;
}

/* One write. Returns octets written or a negative mm_err; *total is what was offered. */
static int64_t
out_write(mmi_link *link, size_t *total)
{
    mmi_engine *e = link->socket->engine;
    out_plan plan;
    plan.iov_count = 0;
    plan.buf_used = plan.total = 0;
    plan.buf = e->out_buf;
    out_prepare(link);
    out_gather(link, &plan);
    *total = plan.total;
    if (plan.total == 0) {
        return 0;
    }
    return e->plat.writev(e->plat.self, link->stream, plan.iov, plan.iov_count);
}

void
mmi_link_flush(mmi_link *link)
{
    mmi_socket *s = link->socket;
    if (link->doomed != 0) {
        mmi_link_close(link, link->doomed, NULL);
        return;
    }
    if (link->resume) {
        mmi_link_resume(link);
    }
    if (link->state != MMI_LINK_ACTIVE && link->state != MMI_LINK_FINISHING) {
        return;
    }
    uint64_t written = link->written;
    int64_t n = 0;
    for (int round = 0; round < OUT_ROUNDS_MAX && mmi_link_pending(link); round++) {
        size_t total;
        n = out_write(link, &total);
        if (n < 0) {
            break;
        }
        out_written(link, (uint64_t)n);
        if ((size_t)n < total) {
            break;
        }
    }
    link->last_flush_ns = s->engine->now_ns;
    if (n < 0 && n != MM_EAGAIN) {
        mmi_link_close(link, MM_REASON_RESET, NULL);
        return;
    }
    if (link->written != written && link->state == MMI_LINK_ACTIVE) {
        if (s->ops->out != NULL) {
            s->ops->out(s->state, &link->pipe);
        }
        mmi_socket_note(s, MMI_ROOM);
    }
    if (!mmi_link_pending(link)) {
        mmi_link_flushed(link);
    }
    if (link->written != written && link->pipe.outbox.count == 0) {
        mmi_socket_note(s, MM_DRAINED);
    }
    mmi_link_watch(link);
}

int
mmi_link_control(mmi_link *link, const uint8_t *frame, size_t size)
{
    if (link->control_size + size > link->control_cap) {
        size_t cap = (link->control_size + size) * 2;
        uint8_t *grown = mmi_realloc(link->control, cap);
        if (grown == NULL) {
            return MM_ENOMEM;
        }
        link->control = grown;
        link->control_cap = cap;
    }
    memcpy(link->control + link->control_size, frame, size);
    link->control_size += size;
    mmi_link_dirty(link);
    return MM_OK;
}

static mmi_link *
pipe_link(mmi_pipe *p)
{
    return MMI_CONTAINER_OF(p, mmi_link, pipe);
}

static void
pipe_wrote(mmi_pipe *p)
{
    mmi_link_dirty(pipe_link(p));
}

static void
pipe_room(mmi_pipe *p)
{
    pipe_link(p)->resume = true;
    mmi_link_dirty(pipe_link(p));
}

static int
pipe_subscription(mmi_pipe *p, bool add, const uint8_t *topic, size_t size)
{
    mmi_link *link = pipe_link(p);
    uint8_t *frame = mmi_alloc(size + MMI_COMMAND_OVERHEAD);
    if (frame == NULL) {
        return MM_ENOMEM;
    }
    size_t total = mmi_command_put_subscription(frame, link->minor, add, topic, size);
    int rc = mmi_link_control(link, frame, total);
    mmi_free(frame);
    return rc;
}

static void
pipe_close(mmi_pipe *p, int reason, const char *detail)
{
    (void)detail;
    pipe_link(p)->doomed = reason;
    mmi_link_dirty(pipe_link(p));
}

const mmi_pipe_ops mmi_link_pipe_ops = {
    .wrote = pipe_wrote,
    .room = pipe_room,
    .subscription = pipe_subscription,
    .close = pipe_close,
};
