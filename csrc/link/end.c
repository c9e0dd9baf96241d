/*
 * link/end.c: the end of a connection: the pipe leaves the protocol, what is left is counted, and
 * it is told.
 *
 * Not here: an end of which the peer may still read all that was written (link/part.c), what is
 * told of one that breaks a rule (link/told.c), the memory (link/link.c).
 * Law: closing takes the pipe from the protocol first; memory goes at the next settle.
 */
#include "link/ask.h"
#include "link/inside.h"
#include "queue/backlog.h"
#include "socket/ended.h"
#include "socket/group.h"

void
mmi_link_leave_half_open(mmi_link *link)
{
    link->socket->half_open--;
    if (link->listener != NULL) {
        mmi_half_open_leave(&link->listener->half_open, &link->half_open);
    }
}

/* What was not begun on the wire is no part of an entry that was, so the role may keep it. */
void
mmi_link_unpin(mmi_link *link)
{
    mmi_pipe *p = &link->pipe;
    mmi_segment_out *front = p->pinned > 0 ? mmi_segment_out_of(mmi_ring_at(&p->outbox, 0)) : NULL;
    if (front == NULL) {
        return;
    }
    size_t cost;
    size_t end = front->first + p->framing->next(p->framing, front->data + front->first, &cost);
    /* No memory: the engine counts the rest with what was begun. */
    (void)(mmi_pipe_split_out(p, 0, end) == MM_OK);
}

/* What the protocol left in a ring goes, and is counted. */
void
mmi_link_discard(mmi_link *link, mmi_ring *ring, mmi_drop_why why)
{
    mmi_msg *m;
    uint64_t count = ring->count;
    bool returned = ring == &link->pipe.inbox && link->pipe.acks != NULL;
    mmi_back *back = link->socket->host.back;
    while ((m = mmi_ring_pop(ring)) != NULL) {
        if (back != NULL) {
            mmi_receipts_settle(&back->receipts, m, MM_RECEIPT_DROPPED);
        }
        mmi_msg_unref(m);
    }
    link->pipe.pinned = ring == &link->pipe.outbox ? 0 : link->pipe.pinned;
    if (count > 0 && !returned &&
        !mmi_back_sourced(back)) { /* else its sender has them, and gives them to somebody else */
        mmi_drop_count_of(&link->socket->host, why, &link->pipe, count);
    }
}

void
mmi_link_discard_unqueued(mmi_link *link, mmi_drop_why why)
{
    mmi_msg *m = link->unqueued;
    link->unqueued = NULL;
    if (link->pipe.acks != NULL) {
        mmi_msg_unref(m); /* its sender has it */
    } else if (m != NULL) {
        mmi_drop_of(&link->socket->host, why, &link->pipe, m);
    }
}

/* An answer is a receipt: who asks little, and ends between two beats, gets no PONG any more. */
static void
link_count_answers(mmi_link *link)
{
    uint64_t known = link->pipe.answered < link->written ? link->pipe.answered : link->written;
    if (known > link->confirmed) {
        link->socket->stats.confirmed_messages += known - link->confirmed;
        link->confirmed = known;
    }
}

/* The peer is no longer one: the pipe leaves the protocol. */
static void
link_deactivate(mmi_link *link, int reason)
{
    mmi_socket *s = link->socket;
    mm_stats *st = &s->stats;
    MMI_ASSERT(!mmi_tx_is_writing(link));
    if (link->unqueued != NULL && !s->closing) {
        int rc = mmi_pipe_push_last(&link->pipe, link->unqueued);
        if (rc == MM_OK) {
            link->unqueued = NULL;
        }
    }
    if (link->sealed_left > 0) {   /* of what was not taken the peer can open nothing */
        link->cut = true;
        link->sealed_left = 0;
        link->pipe.pinned = link->msg_offset > 0 ? 1 : 0;
    }
    mmi_link_unpin(link);
    mmi_timer_clear(&link->engine->timers, &link->overdue_timer);
    mmi_retire_end(link);
    link->pipe.ended = reason;
    mmi_unacked *u = link->pipe.unacked;
    if ((u != NULL || (s->opts.flags & MM_OPT_AT_LEAST_ONCE) != 0) && !s->closing) {
        link->pipe.pinned = 0; /* what was begun nobody has; it goes to somebody else, whole */
    }
    if (u != NULL && !s->closing) {
        st->redelivered_messages += mmi_unacked_count(u);
        link->confirmed = link->written;
    }
    s->ops->rm(s->state, &link->pipe);
    if (s->closing) {
        mmi_ended_note(s, link->pipe.outbox.count, link->pipe.outbox.bytes);
    }
    mmi_drop_why why = s->closing ? MMI_DROP_CLOSED : MMI_DROP_PEER_GONE;
    mmi_link_discard(link, &link->pipe.outbox, why);
    mmi_link_discard(link, &link->pipe.inbox, why);
    mmi_link_discard_unqueued(link, why);
    mmi_acks_free(link->pipe.acks);
    link->pipe.acks = NULL;
    if (link->wire->beats) {
        link_count_answers(link);
        st->in_doubt_messages += link->written - link->confirmed;
    } else {
        s->unconfirmable_gone += link->written;
    }
    s->peer_count--;
    if (s->group != NULL) {
        s->group->home->peer_count--;
    }
    mmi_socket_home(s)->stats.disconnects++;
    mmi_socket_note(s, MM_PEERS);
    mmi_socket_note(s, MM_DRAINED);
}

static void
link_tell_end(mmi_link *link, mmi_link_state was, int reason, const char *detail)
{
    mmi_socket *s = mmi_socket_home(link->socket);
    if (was == MMI_LINK_REFUSED || was == MMI_LINK_PARTING || link->surplus) {
        return;   /* told when it began to finish, or when it came */
    }
    s->stats.closed[reason]++;
    int kind = was == MMI_LINK_ACTIVE       ? MM_EVENT_PEER_DOWN
               : was == MMI_LINK_CONNECTING ? MM_EVENT_CONNECT_FAILED
                                            : MM_EVENT_HANDSHAKE_FAILED;
    s->stats.handshakes_failed += was == MMI_LINK_HELLO;
    detail = detail != NULL ? detail : mm_reason_text(reason);
    /* Who is refused may not understand that, and comes again. */
    bool comes_again = reason == MM_REASON_FEATURE || reason == MM_REASON_ROLE_REFUSED;
    uint64_t count = 1;
    if (comes_again && !link->pipe.outgoing) {
        count = mmi_socket_event_repeats(s, reason, link->endpoint, link->address, detail);
    }
    if (count > 0) {
        mmi_link_tell_count(link, kind, reason, count, detail);
    }
    if (link->dialer != NULL) {
        link->dialer->told = s->event_seq;
    }
}

void
mmi_link_end(mmi_link *link, mmi_link_state state, int reason, const char *detail)
{
    mmi_link_state was = link->state;
    char words[MMI_LEFT_CAP];
    if (was == MMI_LINK_ACTIVE) {
        detail = mmi_left_told(link, reason, detail, words);
        link_deactivate(link, reason);
    } else if (was == MMI_LINK_CONNECTING || was == MMI_LINK_HELLO) {
        mmi_link_leave_half_open(link);
        mmi_ask_end(link);
    }
    mmi_life_to(link, state);
    mmi_stop_ended(link, was);
    mmi_finish_look(link->socket);
    link_tell_end(link, was, reason, detail);
}

void
mmi_link_leave_place(mmi_link *link)
{
    mmi_socket *s = mmi_socket_home(link->socket);
    if (!link->pipe.outgoing) {
        *(link->surplus ? &s->refusing : &s->accepted) -= 1;
    }
}

void
mmi_link_release_dialer(mmi_link *link, int reason)
{
    mmi_dialer *d = link->dialer;
    if (d != NULL) {
        uint64_t lived = link->active_ns != 0 ? link->engine->now_ns - link->active_ns : 0;
        link->dialer = NULL;
        d->link = NULL;
        if (link->handshake != NULL && link->handshake->reason != MM_REASON_NONE) {
            reason = link->handshake->reason;   /* whatever came after that */
        }
        d->socket->ends->link_ended(d, lived, reason);
    }
}

void
mmi_part_end(mmi_link *link)
{
    link->engine->parting_count -= mmi_list_linked(&link->parted);
    mmi_list_rm(&link->parted);
}

void
mmi_link_close(mmi_link *link, int reason, const char *detail)
{
    if (link->state == MMI_LINK_DEAD) {
        return;   /* its socket may be gone: a link that reads outlives it */
    }
    if (link->state == MMI_LINK_ACTIVE && mmi_tx_is_writing(link)) {
        /* Even if it was to part: its stream, or the engine, is gone. */
        mmi_link_doom_written(link, MMI_TX_CLOSE, reason, detail);
        return;
    }
    mmi_socket *s = link->socket;
    mmi_engine *e = s->engine;
    bool placed = link->state != MMI_LINK_PARTING;   /* else it has left its place */
    mmi_part_end(link);
    mmi_link_end(link, MMI_LINK_DEAD, reason, detail);
    mmi_tag_free(e, link->tag);
    mmi_timer_clear(&e->timers, &link->timer);
    mmi_link_unwatch(link);
    if (placed) {
        mmi_link_leave_place(link);
    }
    mmi_tx_close(link);
    mmi_list_rm(&link->node);
    mmi_list_push_back(&e->dead, &link->node);
    mmi_socket_touch(s);
    mmi_link_release_dialer(link, reason);
}

void
mmi_link_refuse(mmi_link *link, int reason, const char *detail)
{
    mmi_link_end(link, MMI_LINK_REFUSED, reason, detail);
    mmi_link_dirty(link);
}
