/*
 * link/write.c: from a pipe's outbox and waiting commands to bytes on the stream.
 *
 * Segments and large frames go by reference, all in one writev, which is made without the engine's
 * lock: meanwhile others queue more, and who writes looks again before it stops.  What the kernel
 * did not take stays in the outbox; only the octets of its front message that went are noted.
 * Not here: who writes when (link/tx.h), several links at once (link/small.h).
 * Law: one thread at a time writes a link; commands go between messages, never inside one; a
 * message counts as written when its last octet was taken.
 */
#include <string.h>

#include "link/inside.h"
#include "link/plan.h"
#include "link/shield.h"
#include "queue/backlog.h"

enum { OUT_ROUNDS_MAX = 16 };            /* writes a flush makes before others get their turn */
/* Finds the frame that goes on at msg_offset, from the one that was found last: so a message of
 * many frames is walked through once, not at each write. */
static void
out_find_frame(mmi_link *link, mmi_msg *m)
{
    const mmi_framing *f = link->pipe.framing;
    uint8_t own[MMI_FRAMING_HEAD_MAX];
    while (link->msg_frame < m->frame_count) {
        size_t size;
        (void)f->head(f, m, link->msg_frame, own, &size);
        if (link->msg_frame == 0) {
            size += mmi_replay_before(link, m) + mmi_meta_before(link, m);
        }
        uint64_t end = link->msg_frame_at + size + m->frames[link->msg_frame].size;
        if (link->msg_offset < end) {
            break;   /* it goes on there */
        }
        link->msg_frame++;
        link->msg_frame_at = end;
    }
}

/* The entry at the front was written: it is kept where the peer acknowledges. */
static void
out_pop(mmi_link *link)
{
    mmi_msg *m = mmi_pipe_pop_out(&link->pipe);
    mmi_back *back = link->socket->host.back;
    if (link->pipe.unacked != NULL) {
        mmi_unacked_wrote(link->pipe.unacked, m);
        return;
    }
    if (back != NULL && mmi_receipts_awaited(&back->receipts)) {
        mmi_receipts_settle(&back->receipts, m, MM_RECEIPT_UNKNOWN);
    }
    mmi_msg_unref(m);
}

/* Notes n octets of the front entry, a message of its own; returns how many it did not need. */
static uint64_t
out_one_written(mmi_link *link, mmi_msg *m, uint64_t n)
{
    const mmi_framing *f = link->pipe.framing;
    size_t cost;
    if (link->msg_offset == 0) {
        link->msg_size =
            f->size(f, m, &cost) + mmi_replay_before(link, m) + mmi_meta_before(link, m);
        link->msg_frame = 0;
        link->msg_frame_at = 0;
    }
    uint64_t left = link->msg_size - link->msg_offset;
    if (n < left) {
        link->msg_offset += n;
        out_find_frame(link, m);
        return 0;
    }
    link->msg_offset = 0;
    mmi_meta_wrote(link, m);
    mmi_replay_wrote(link, m);
    out_pop(link);
    link->written++;
    return n - left;
}

/* The same for messages of the segment at the front: one, if only_first. */
static uint64_t
out_segment_written(mmi_link *link, mmi_segment_out *segment, uint64_t n, bool only_first)
{
    const mmi_framing *f = link->pipe.framing;
    uint32_t count = 0;
    size_t cost = 0, one;
    uint64_t left = segment->used - segment->first - link->msg_offset;
    if (n >= left && !only_first) {   /* all of them, as mostly: they need no look at each */
        link->msg_offset = 0;
        link->written += segment->msg.count;
        out_pop(link);
        return n - left;
    }
    size_t from = segment->first;
    while (n > 0 && segment->first < segment->used && !(only_first && count > 0)) {
        size_t size = f->next(f, segment->data + segment->first, &one);
        if (n < size - link->msg_offset) {
            link->msg_offset += n;
            n = 0;
            break;
        }
        n -= size - link->msg_offset;
        link->msg_offset = 0;
        segment->first += size;
        cost += one;
        count++;
    }
    link->written += count;
    mmi_ring_shrank(&link->pipe.outbox, &segment->msg, count, cost);
    if (count > 0 && link->pipe.unacked != NULL) {
        mmi_unacked_wrote_part(link->pipe.unacked, segment, from, segment->first, count, cost);
    }
    if (segment->msg.count == 0) {
        mmi_msg_unref(mmi_pipe_pop_out(&link->pipe));
    }
    return n;
}

static uint64_t
out_front_written(mmi_link *link, uint64_t n, bool only_first)
{
    mmi_msg *m = mmi_ring_at(&link->pipe.outbox, 0);
    mmi_segment_out *segment = mmi_segment_out_of(m);
    return segment == NULL ? out_one_written(link, m, n)
                           : out_segment_written(link, segment, n, only_first);
}

static void
out_written(mmi_link *link, uint64_t n)
{
    uint64_t before = link->written;
    if (link->msg_offset > 0) {
        n = out_front_written(link, n, true);
    }
    uint64_t commands = link->command_out_size - link->command_sent;
    uint64_t part = n < commands ? n : commands;
    link->command_sent += (size_t)part;
    n -= part;
    if (link->command_sent == link->command_out_size) {
        mmi_link_commands_end(link);
    }
    while (n > 0) {
        n = out_front_written(link, n, false);
    }
    link->socket->stats.written_messages += link->written - before;
}

/* Answers to the peer are made when the commands before them are written: else a peer that asks on
 * and on and never reads would have them pile up here. */
static void
out_prepare(mmi_link *link)
{
    if (link->command_size > 0 || link->command_out_size > 0) {
        return;
    }
    if (link->pong_due) {
        uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_PING_CONTEXT_MAX];
        size_t size = link->wire->put_pong(frame, link->pong, link->pong_size);
        if (mmi_link_control(link, frame, size) == MM_OK) {
            link->pong_due = false;
        }
    }
    if (mmi_stop_answer_due(link)) {
        mmi_stop_answer(link);
    }
    if (mmi_ack_due(link)) {
        mmi_ack_answer(link);
    }
    if (mmi_finish_due(link)) {
        mmi_finish_tell(link);
    }
}

/* So that all that is written now can be kept until it is acknowledged.  false: no memory, and the
 * connection ends: what is queued is for others. */
static bool
out_reserve(mmi_link *link, uint32_t entries)
{
    mmi_unacked *u = link->pipe.unacked;
    bool has = u == NULL || mmi_unacked_reserve(u, entries) == MM_OK;
    if (!has && !mmi_tx_ends(link)) {
        mmi_link_doom(link, MMI_TX_CLOSE, MM_REASON_MEMORY, NULL);
    }
    return has;
}

int64_t
mmi_link_write_took(mmi_link *link, mmi_link_state state, int64_t n)
{
    if (link->state != state) {
        return MM_ECLOSED;
    }
    if (n > 0) {
        out_written(link, (uint64_t)n);
    }
    if (link->sealed_left == 0) {   /* else it is as if it were still being written */
        link->pipe.pinned = link->msg_offset > 0 ? 1 : 0;
    }
    if (link->early_size > 0) {
        mmi_ack_early(link);
    }
    return n;
}

/* The same where octets are protected: a batch that was sealed goes first, and what it is of stays
 * in the outbox until its records were taken. */
static mmi_link_write
out_write_sealed(mmi_link *link)
{
    mmi_engine *e = link->engine;
    mmi_link_state state = link->state;
    mmi_link_plan plan = { .iov_count = 0 };
    mmi_link_write w = { .at_ns = e->now_ns };
    if (link->cut) {
        return w;
    }
    if (link->sealed_left == 0) {
        out_prepare(link);
        mmi_socket_expire_front(link->socket, &link->pipe);
        mmi_link_plan_gather(link, &plan);
        link->shield->farewell_now = plan.total == 0 && link->shield->farewell_due;
        if (plan.total == 0 && !link->shield->farewell_now) {
            return w;
        }
        link->shield->farewell_due &= !link->shield->farewell_now;
        w.full = plan.full;
        link->pipe.pinned = (uint32_t)plan.kept_count;
    }
    if (!out_reserve(link, link->pipe.pinned)) {
        mmi_link_plan_release(&plan);
        return (mmi_link_write){ .at_ns = e->now_ns };
    }
    mmi_engine_unlock(e);
    w.n = mmi_link_shield_write(link, plan.iov, plan.iov_count, &w.total);
    mmi_engine_relock(e);
    link->sealed_left = link->shield->out_left;
    mmi_link_plan_release(&plan);
    if ((w.n == MM_ENOMEM || w.n == MM_EPROTO) && !mmi_tx_ends(link)) {
        int reason = w.n == MM_ENOMEM ? MM_REASON_MEMORY : MM_REASON_MECHANISM;
        mmi_link_doom(link, MMI_TX_CLOSE, reason, NULL);
    }
    w.n = mmi_link_write_took(link, state, w.n);
    w.at_ns = e->now_ns;
    return w;
}

/* One write, without the lock. */
static mmi_link_write
out_write(mmi_link *link)
{
    if (link->shield != NULL) {
        return out_write_sealed(link);
    }
    mmi_engine *e = link->engine;
    mmi_link_state state = link->state;
    mmi_link_plan plan;
    out_prepare(link);
    mmi_socket_expire_front(link->socket, &link->pipe);
    mmi_link_plan_gather(link, &plan);
    mmi_link_write w = { .total = plan.total, .at_ns = e->now_ns, .full = plan.full };
    if (plan.total == 0) {
        return w;
    }
    if (!out_reserve(link, (uint32_t)plan.kept_count)) {
        mmi_link_plan_release(&plan);
        return (mmi_link_write){ .at_ns = e->now_ns };
    }
    link->pipe.pinned = (uint32_t)plan.kept_count;
    const mmi_plat *p = &e->plat;
    if (link->shared) {
        w.n = p->lend(p->self, link->stream, plan.iov, plan.owner, plan.iov_count);
    } else {
        mmi_engine_unlock(e);
        w.n = p->writev(p->self, link->stream, plan.iov, plan.iov_count);
        mmi_engine_relock(e);
    }
    mmi_link_plan_release(&plan);
    w.n = mmi_link_write_took(link, state, w.n);
    w.at_ns = e->now_ns;
    return w;
}

/* After a write: room is news, if there is much.  false: nothing was written. */
static bool
out_note_room(mmi_link *link, uint64_t written_before)
{
    mmi_socket *s = link->socket;
    if (link->written == written_before || link->state != MMI_LINK_ACTIVE) {
        return false;
    }
    if (s->ops->out != NULL) {
        s->ops->out(s->state, &link->pipe);
    }
    bool shared = (s->opts.flags & MM_OPT_AT_LEAST_ONCE) != 0; /* it is the socket's queue */
    if (shared ? mmi_back_low(s->host.back) : mmi_ring_low(&link->pipe.outbox)) {
        mmi_socket_note(s, MMI_ROOM);   /* who waits is woken for many messages, not for one */
    }
    return true;
}

/* After the writes of a flush.  Who lets a long queue drain is told no sooner: it is to be refilled
 * in the caches, not beside what is still in it. */
static void
out_note(mmi_link *link, uint64_t written_before)
{
    if (out_note_room(link, written_before) &&
        link->pipe.outbox.bytes <= (size_t)MMI_THROTTLE_BYTES / 2) {
        link->pipe.stalled = false;
        mmi_socket_note(link->socket, MMI_UNTHROTTLED);
    }
}

/* The next round will come, even if the runner sleeps because all bursts waited for the kernel. */
static void
out_next_round(mmi_engine *e)
{
    if (!e->lead.paced && e->lead.in_poll) {
        mmi_lead_interrupt(e);
    }
}

bool
mmi_link_write_begin(mmi_link *link)
{
    if (mmi_tx_is_writing(link)) {
        return false;
    }
    if (mmi_tx_ends(link)) {
        mmi_link_end_doomed(link);
        return false;
    }
    if (mmi_tx_take(link, MMI_TX_RESUME)) {
        mmi_link_resume(link);
        mmi_link_shield_resume(link);   /* drops the lock */
    }
    bool up = link->state == MMI_LINK_ACTIVE || mmi_link_finishes(link);
    return up && mmi_tx_begin(link);
}

/* Is the outcome of a message known, as its peer cannot acknowledge it?  Who waits hears of it. */
static bool
out_told(const mmi_link *link)
{
    mmi_back *back = link->socket->host.back;
    return back != NULL && mmi_receipts_news(&back->receipts);
}

/* next: why no more is written now. */
static void
out_end(mmi_link *link, mmi_link_write last, uint64_t written_before, mmi_tx_next next)
{
    mmi_tx_end(link);
    if (link->early_size > 0) {
        mmi_ack_early(link);
    }
    if (link->state == MMI_LINK_DEAD || last.n == MM_ECLOSED) {
        mmi_link_reset(link);   /* what was in flight is cut */
        return;
    }
    mmi_tx_flushed(link, last.at_ns);
    if (mmi_tx_ends(link)) {   /* somebody gave it up meanwhile */
        mmi_link_end_doomed(link);
        return;
    }
    if (last.n < 0 && last.n != MM_EAGAIN) {
        mmi_link_reset(link);
        return;
    }
    if (mmi_tx_take(link, MMI_TX_STOP)) {
        mmi_link_stop(link);
    }
    if ((link->tx.then & MMI_TX_RESUME) != 0) {
        mmi_link_dirty(link);   /* who said so meanwhile left it to us */
    }
    out_note(link, written_before);
    if (!mmi_link_pending(link)) {
        mmi_link_flushed(link);
    }
    if (mmi_tx_is_paced(link) || !mmi_list_empty(&link->engine->deferring)) {
        out_next_round(link->engine);
    }
    bool told = link->written != written_before && (link->pipe.outbox.count == 0 || out_told(link));
    if (told || mmi_link_stilled(link)) { /* who closes it waits for this write */
        mmi_socket_note(link->socket, MM_DRAINED);
        mmi_finish_look(link->socket);
    }
    if (next != MMI_TX_NEXT_ROUND && mmi_link_pending(link)) {
        mmi_tx_block(link);
    }
    mmi_link_watch(link);
}

/* Between two writes: who waits for room fills the queue beside the next one, unless the lock is
 * kept for that. */
static void
out_wake(mmi_link *link, uint64_t written_before)
{
    if (!link->shared) {
        (void)out_note_room(link, written_before);
        mmi_socket_update_early(link->socket);
    }
}

static mmi_tx_look
out_look(const mmi_link *link, const mmi_link_write *last, int round)
{
    return (mmi_tx_look){
        .whole = last->n >= 0 && (size_t)last->n == last->total,
        .full = last->full,
        .ends = mmi_tx_ends(link),
        .finishes = link->state != MMI_LINK_ACTIVE || link->socket->closing,
        .paced = mmi_tx_is_paced(link),
        .worth = mmi_link_flush_worth(link),
        .pending = mmi_link_pending(link),
        .rounds = round < OUT_ROUNDS_MAX,
    };
}

void
mmi_link_write_on(mmi_link *link, mmi_link_write last, uint64_t written_before)
{
    int round = 1;
    mmi_tx_next next;
    while ((next = mmi_tx_decide(out_look(link, &last, round))) == MMI_TX_NEXT_WRITE) {
        out_wake(link, written_before);
        last = out_write(link);
        round++;
    }
    if (next == MMI_TX_NEXT_ROUND) {
        out_next_round(link->engine);
    }
    out_end(link, last, written_before, next);
}

void
mmi_link_flush(mmi_link *link)
{
    if (!mmi_link_write_begin(link)) {
        return;
    }
    uint64_t written = link->written;
    if (mmi_link_pending(link)) {
        mmi_link_write_on(link, out_write(link), written);
    } else {
        mmi_link_write none = { .at_ns = link->engine->now_ns };
        out_end(link, none, written, MMI_TX_NEXT_END);
    }
}
