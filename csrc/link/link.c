/*
 * link.c: the life of a connection: opened, active, finishing, dead; and what poll is asked about
 * it.
 *
 * Not here: handshake (link/handshake.c), bytes in (link/rx.c), bytes out (link/tx.c), heartbeat.c.
 * Law: closing takes the pipe from the protocol first; memory goes at the next settle.
 */
#include "link/link.h"

#include <stdio.h>
#include <string.h>

#include "queue/drop.h"

static _Atomic uint64_t link_last_id;   /* pipe ids are unique in the process */

static void
link_init(mmi_link *link, mmi_socket *s, int stream, const char *address)
{
    const mm_socket_opts *o = &s->opts;
    mmi_list_init(&link->node);
    mmi_list_init(&link->dirty);
    mmi_list_init(&link->half_open);
    mmi_list_init(&link->bursts);
    mmi_list_init(&link->parted);
    link->engine = s->engine;
    link->socket = s;
    link->stream = stream;
    link->timer.kind = MMI_TIMER_LINK;
    link->started_ns = s->engine->now_ns;
    link->rtt_ns = -1;
    link->pipe.id = ++link_last_id;
    link->pipe.ops = &mmi_link_pipe_ops;
    mmi_ring_init(&link->pipe.inbox, o->recv_queue_messages, o->recv_queue_bytes);
    mmi_ring_init(&link->pipe.outbox, o->send_queue_messages, o->send_queue_bytes);
    snprintf(link->address, sizeof link->address, "%s", address);
}

int
mmi_link_open(mmi_socket *s, mmi_dialer *d, mmi_listener *l, int stream, bool pending,
              const char *address)
{
    mmi_engine *e = s->engine;
    mmi_link *link = mmi_alloc(sizeof *link);
    if (link == NULL) {
        e->plat.close(e->plat.self, stream);
        return MM_ENOMEM;
    }
    link_init(link, s, stream, address);
    link->pipe.state = mmi_alloc(s->ops->pipe_size > 0 ? s->ops->pipe_size : 1);
    link->surplus = l != NULL && s->accepted >= s->opts.connections_max;
    link->pipe.outgoing = d != NULL;
    uint64_t deadline = mmi_link_patience_ns(link);
    if (link->pipe.state == NULL || mmi_tag_new(e, MMI_TAG_LINK, link, &link->tag) != MM_OK ||
        mmi_timer_set(&e->timers, &link->timer, deadline) != MM_OK) {
        mmi_tag_free(e, link->tag);
        e->plat.close(e->plat.self, stream);
        mmi_free(link->pipe.state);
        mmi_free(link);
        return MM_ENOMEM;
    }
    const mmi_tran *tran = d != NULL ? d->tran : l->tran;
    link->mapping = tran->sp_mapping;
    link->shared = (tran->flags & MMI_TRAN_LENDS) != 0 && e->plat.lend != NULL;
    snprintf(link->endpoint, sizeof link->endpoint, "%s", d != NULL ? d->text : l->text);
    link->dialer = d;
    link->listener = l;
    mmi_list_push_back(&s->links, &link->node);
    s->half_open++;
    if (d != NULL) {
        d->link = link;
    } else if (link->surplus) {
        s->refusing++;
    } else {
        mmi_list_push_back(&l->half_open, &link->half_open);
        l->half_open_count++;
        s->accepted++;
        s->stats.accepts++;
    }
    link->state = MMI_LINK_CONNECTING;
    if (pending) {
        mmi_link_watch(link);
    } else {
        mmi_link_hello_start(link, false);
    }
    return MM_OK;
}

bool
mmi_link_paused(const mmi_link *link)
{
    return link->halted || link->held != NULL || link->unread_used < link->unread_size;
}

static void
link_count_write_watch(mmi_link *link, uint32_t events)
{
    bool before = (link->watched & MMI_WATCH_WRITE) != 0, after = (events & MMI_WATCH_WRITE) != 0;
    link->engine->write_watches += (uint32_t)after - (uint32_t)before;
}

void
mmi_link_watch(mmi_link *link)
{
    mmi_engine *e = link->engine;
    uint32_t events = 0;
    switch (link->state) {
    case MMI_LINK_CONNECTING:
        events = MMI_WATCH_WRITE;
        break;
    case MMI_LINK_DEAD:
        return;
    default:
        events = mmi_link_paused(link) ? 0 : MMI_WATCH_READ;
        events |= mmi_link_pending(link) && !link->rested ? MMI_WATCH_WRITE : 0;
        break;
    }
    if (link->hung) {
        events &= (uint32_t)~MMI_WATCH_READ;
    }
    events = link->doomed != 0 ? 0 : events;   /* nothing of its is waited for any more */
    if (events != link->watched || link->hung) {
        int rc = e->plat.watch(e->plat.self, link->stream, events, link->tag);
        link_count_write_watch(link, events);
        link->watched = events;
        if (rc != MM_OK && link->doomed == 0) {
            link->doomed = MM_REASON_MEMORY;
            mmi_link_dirty(link);
        }
    }
}

static void
link_leave_half_open(mmi_link *link)
{
    link->socket->half_open--;
    if (link->listener != NULL && mmi_list_linked(&link->half_open)) {
        link->listener->half_open_count--;
    }
    mmi_list_rm(&link->half_open);
}

void
mmi_link_activated(mmi_link *link)
{
    mmi_socket *s = link->socket;
    link_leave_half_open(link);
    link->state = MMI_LINK_ACTIVE;
    link->active_ns = link->last_in_ns = s->engine->now_ns;
    link->wall_ns = s->engine->plat.wall_ns(s->engine->plat.self);
    s->peer_count++;
    s->stats.handshakes++;
    mmi_heartbeat_start(link);
    if (s->host.stopping) {
        mmi_stop_ask(link);
    }
    mmi_socket_event(s, MM_EVENT_PEER_UP, MM_REASON_NONE, link->pipe.id, 1, link->endpoint,
                     link->address, mm_role_name(link->pipe.peer_role));
    mmi_socket_note(s, MM_PEERS);
}

/* What the protocol left in a ring goes, and is counted. */
static void
link_discard(mmi_link *link, mmi_ring *ring, mmi_drop_why why)
{
    mmi_msg *m;
    uint64_t count = ring->count;
    while ((m = mmi_ring_pop(ring)) != NULL) {
        mmi_msg_unref(m);
    }
    link->pipe.pinned = ring == &link->pipe.outbox ? 0 : link->pipe.pinned;
    link->pipe.dropped += count;
    if (count > 0) {
        mmi_drop_count(&link->socket->host, why, link->pipe.id, (uint32_t)count);
    }
}

/* What was not begun on the wire is no part of an entry that was, so the role may keep it. */
void
mmi_link_unpin(mmi_link *link)
{
    mmi_pipe *p = &link->pipe;
    mmi_pack_out *front = p->pinned > 0 ? mmi_pack_out_of(mmi_ring_at(&p->outbox, 0)) : NULL;
    if (front == NULL) {
        return;
    }
    size_t cost;
    size_t end = front->first + p->framing->next(p->framing, front->data + front->first, &cost);
    /* No memory: the engine counts the rest with what was begun. */
    (void)(mmi_pipe_split_out(p, 0, end) == MM_OK);
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
    MMI_ASSERT(!link->writing);
    if (link->held != NULL && !s->closing) {
        int rc = mmi_pipe_push_last(&link->pipe, link->held);
        if (rc == MM_OK) {
            link->held = NULL;
        }
    }
    mmi_link_unpin(link);
    link->pipe.ended = reason;
    s->ops->rm(s->state, &link->pipe);
    uint64_t left = link->pipe.outbox.count;
    if (s->closing) {
        s->engine->abandoned_messages += left;
    }
    mmi_drop_why why = s->closing ? MMI_DROP_CLOSED : MMI_DROP_PEER_GONE;
    link_discard(link, &link->pipe.outbox, why);
    link_discard(link, &link->pipe.inbox, why);
    if (link->held != NULL) {
        mmi_drop(&s->host, why, link->pipe.id, link->held);
        link->held = NULL;
    }
    if (link->minor > 0) {
        link_count_answers(link);
        st->in_doubt_messages += link->written - link->confirmed;
    } else {
        s->unconfirmable_gone += link->written;
    }
    s->peer_count--;
    st->disconnects++;
    mmi_socket_note(s, MM_PEERS);
    mmi_socket_note(s, MM_DRAINED);
}

static void
link_tell_end(mmi_link *link, int was, int reason, const char *detail)
{
    mmi_socket *s = link->socket;
    if (was == MMI_LINK_FINISHING || link->surplus) {
        return;   /* told when it began to finish, or when it came */
    }
    s->stats.closed[reason]++;
    int kind = was == MMI_LINK_ACTIVE       ? MM_EVENT_PEER_DOWN
               : was == MMI_LINK_CONNECTING ? MM_EVENT_CONNECT_FAILED
                                            : MM_EVENT_HANDSHAKE_FAILED;
    s->stats.handshakes_failed += was == MMI_LINK_HELLO;
    mmi_socket_event(s, kind, reason, link->pipe.id, 1, link->endpoint, link->address,
                     detail != NULL ? detail : mm_reason_text(reason));
    if (link->dialer != NULL) {
        link->dialer->told = s->event_seq;
    }
}

void
mmi_link_end(mmi_link *link, int state, int reason, const char *detail)
{
    int was = link->state;
    if (was == MMI_LINK_ACTIVE) {
        link_deactivate(link, reason);
    } else if (was == MMI_LINK_CONNECTING || was == MMI_LINK_HELLO) {
        link_leave_half_open(link);
    }
    link->state = state;
    mmi_stop_ended(link, was);
    link_tell_end(link, was, reason, detail);
}

void
mmi_link_doom(mmi_link *link, int reason, const char *detail)
{
    if (link->doomed == 0) {
        size_t size = detail != NULL ? strlen(detail) + 1 : 0;
        link->doomed = reason;
        link->doomed_detail = size > 0 ? mmi_alloc(size) : NULL;
        if (link->doomed_detail != NULL) {
            memcpy(link->doomed_detail, detail, size);
        }
    }
}

void
mmi_link_doom_written(mmi_link *link, int reason, const char *detail)
{
    mmi_link_doom(link, reason, detail);
    mmi_timer_clear(&link->engine->timers, &link->timer);
    mmi_link_watch(link);
}

void
mmi_link_leave_place(mmi_link *link)
{
    mmi_socket *s = link->socket;
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
        mmi_dialer_link_ended(d, lived, reason == MM_REASON_HEARTBEAT);
    }
}

void
mmi_link_close(mmi_link *link, int reason, const char *detail)
{
    if (link->state == MMI_LINK_DEAD) {
        return;   /* its socket may be gone: a link that reads outlives it */
    }
    if (link->state == MMI_LINK_ACTIVE && link->writing) {
        link->parts = false;   /* even if that was asked for: its stream, or the engine, is gone */
        mmi_link_doom_written(link, reason, detail);
        return;
    }
    mmi_socket *s = link->socket;
    mmi_engine *e = s->engine;
    mmi_link_end(link, MMI_LINK_DEAD, reason, detail);
    mmi_tag_free(e, link->tag);
    mmi_timer_clear(&e->timers, &link->timer);
    (void)e->plat.watch(e->plat.self, link->stream, 0, 0);
    link_count_write_watch(link, 0);
    link->watched = 0;
    if (!link->parting) {
        mmi_link_leave_place(link);
    }
    mmi_list_rm(&link->node);
    mmi_list_rm(&link->dirty);
    mmi_list_rm(&link->bursts);
    mmi_part_end(link);
    mmi_list_push_back(&e->dead, &link->dirty);
    mmi_socket_touch(s);
    mmi_link_release_dialer(link, reason);
}

void
mmi_link_free(mmi_link *link)
{
    link->engine->plat.close(link->engine->plat.self, link->stream);
    if (link->opening != NULL) {
        mmi_opening_fini(link->opening);
        mmi_free(link->opening);
    }
    mmi_parser_fini(&link->parser);
    mmi_ring_fini(&link->pipe.inbox);
    mmi_ring_fini(&link->pipe.outbox);
    mmi_free(link->pipe.state);
    mmi_free(link->identity);
    mmi_free(link->commands);
    mmi_free(link->command_out);
    mmi_link_unread_drop(link);
    mmi_free(link->tail);
    mmi_free(link->doomed_detail);
    mmi_free(link);
}

void
mmi_link_refuse(mmi_link *link, int reason, const char *detail)
{
    mmi_link_end(link, MMI_LINK_FINISHING, reason, detail);
    mmi_link_dirty(link);
}

void
mmi_link_finish(mmi_link *link)
{
    if (link->state != MMI_LINK_ACTIVE) {
        mmi_link_part(link, MM_REASON_LOCAL, NULL);
        return;
    }
    link_discard(link, &link->pipe.inbox, MMI_DROP_CLOSED);
    mmi_msg_unref(link->held);
    link->held = NULL;
    link->halted = false;   /* its end is read, too */
    mmi_part_rest(link);
    mmi_link_dirty(link);
}

void
mmi_link_flushed(mmi_link *link)
{
    mmi_engine *e = link->engine;
    if (link->state == MMI_LINK_ACTIVE && link->leaving && !link->socket->closing) {
        mmi_heartbeat_last(link);
    }
    if (link->state == MMI_LINK_ACTIVE && !mmi_link_pending(link) &&
        (link->socket->closing || link->leaving)) {
        mmi_link_end(link, MMI_LINK_FINISHING, MM_REASON_LOCAL, NULL);
        mmi_part_begin(link);
    }
    if (link->state == MMI_LINK_FINISHING && !link->fin_sent) {
        link->fin_sent = true;
        e->plat.finish(e->plat.self, link->stream);
    }
}

void
mmi_link_dirty(mmi_link *link)
{
    if (link->state != MMI_LINK_DEAD && !mmi_list_linked(&link->dirty)) {
        mmi_list_push_back(&link->engine->dirty, &link->dirty);
    }
}

void
mmi_link_event(mmi_link *link, uint32_t events)
{
    mmi_engine *e = link->engine;
    if (link->state == MMI_LINK_CONNECTING) {
        int rc = e->plat.connected(e->plat.self, link->stream);
        if (rc == MM_OK) {
            mmi_link_hello_start(link, true);
        } else if (rc != MM_EAGAIN) {
            mmi_link_close(link, rc == MM_ECONNREFUSED ? MM_REASON_REFUSED : MM_REASON_UNREACHABLE,
                           NULL);
        }
        return;
    }
    if (link->state == MMI_LINK_HELLO) {
        if ((events & MMI_WATCH_WRITE) != 0) {
            mmi_link_hello_writable(link);
        }
        if (link->state == MMI_LINK_HELLO && (events & MMI_WATCH_READ) != 0) {
            mmi_link_hello_readable(link);
        }
        return;
    }
    if ((events & MMI_WATCH_WRITE) != 0) {
        mmi_link_flush(link);
    }
    if (link->state != MMI_LINK_DEAD && (events & MMI_WATCH_READ) != 0) {
        if (mmi_link_paused(link)) {
            link->hung = (events & MMI_WATCH_HANGUP) != 0;
            mmi_link_watch(link);
        } else {
            mmi_link_readable(link);
        }
    }
}

void
mmi_link_timer(mmi_link *link)
{
    if (link->parting) {
        mmi_part_due(link);
    } else if (link->leaving && link->engine->now_ns >= link->leave_ns) {
        mmi_link_part(link, MM_REASON_LOCAL, NULL);   /* its linger is over */
    } else if (link->state == MMI_LINK_ACTIVE) {
        mmi_heartbeat_due(link);
    } else if (mmi_link_tell_silent(link)) {
        return;
    } else if (link->opening == NULL) {
        mmi_link_close(link, MM_REASON_HANDSHAKE_TIMEOUT, "no answer to the attempt to connect");
    } else {
        mmi_opening_ended(link->opening, "the handshake took too long,");
        mmi_link_close(link, MM_REASON_HANDSHAKE_TIMEOUT, link->opening->detail);
    }
}
