/*
 * link/link.c: a connection from outside: opened, told by poll or a timer what there is to do,
 * freed.
 *
 * Not here: what it does then: handshake (link/handshake.c), bytes in (link/rx.c), bytes out
 * (link/write.c), heartbeats (link/heartbeat.c), its end (link/end.c).
 * Law: a closed link is freed by a settle, once no thread reads or writes it.
 */
#include "link/ask.h"
#include "link/inside.h"
#include "link/shield.h"

static _Atomic uint64_t link_last_id;   /* pipe ids are unique in the process */

static void
link_init(mmi_link *link, mmi_socket *s, int stream, const char *address)
{
    const mm_socket_opts *o = &s->opts;
    mmi_list_init(&link->node);
    mmi_tx_init(link);
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
    mmi_text_copy(link->address, sizeof link->address, address);
}

int
mmi_link_open(mmi_socket *s, mmi_dialer *d, mmi_listener *l, int stream, bool pending,
              const mmi_addr *peer, const char *address)
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
    mmi_half_open *all = l != NULL && !link->surplus ? &l->half_open : NULL;
    if (link->pipe.state == NULL ||
        (all != NULL && mmi_half_open_enter(all, &link->half_open, peer) != MM_OK) ||
        mmi_tag_new(e, MMI_TAG_LINK, link, &link->tag) != MM_OK ||
        mmi_timer_set(&e->timers, &link->timer, deadline) != MM_OK) {
        if (all != NULL) {
            mmi_half_open_leave(all, &link->half_open);
        }
        mmi_tag_free(e, link->tag);
        e->plat.close(e->plat.self, stream);
        mmi_free(link->pipe.state);
        mmi_free(link);
        return MM_ENOMEM;
    }
    const mmi_tran *tran = d != NULL ? d->tran : l->tran;
    link->marks = (tran->flags & MMI_TRAN_MARKS) != 0;
    link->shared = (tran->flags & MMI_TRAN_LENDS) != 0 && e->plat.lend != NULL;
    mmi_text_copy(link->endpoint, sizeof link->endpoint, d != NULL ? d->text : l->text);
    link->dialer = d;
    link->listener = l;
    mmi_list_push_back(&s->links, &link->node);
    s->half_open++;
    if (d != NULL) {
        d->link = link;
    } else if (link->surplus) {
        s->refusing++;
    } else {
        s->accepted++;
        s->stats.accepts++;
    }
    mmi_life_to(link, MMI_LINK_CONNECTING);
    if (pending) {
        mmi_link_watch(link);
    } else {
        mmi_link_hello_start(link, false);
    }
    return MM_OK;
}

void
mmi_link_forget_dialer(mmi_link *link)
{
    link->dialer->link = NULL;
    link->dialer = NULL;
}

void
mmi_link_forget_listener(mmi_link *link, const mmi_listener *l)
{
    if (link->listener == l) {
        link->listener = NULL;
    }
}

void
mmi_link_free(mmi_link *link)
{
    link->engine->plat.close(link->engine->plat.self, link->stream);
    if (link->handshake != NULL) {
        mmi_handshake_fini(link->handshake);
        mmi_free(link->handshake);
    }
    mmi_replay_left(link);
    mmi_free(link->group);
    mmi_parser_fini(&link->parser);
    mmi_link_shield_free(link);
    mmi_ring_fini(&link->pipe.inbox);
    mmi_ring_fini(&link->pipe.outbox);
    mmi_unacked_free(link->pipe.unacked);
    mmi_free(link->early);
    mmi_meta_unref(link->meta);
    mmi_free(link->pipe.state);
    mmi_free(link->identity);
    mmi_known_unref(link->pipe.known);
    mmi_free(link->ask);
    mmi_free(link->admitted);
    mmi_free(link->commands);
    mmi_free(link->command_out);
    mmi_link_unread_drop(link);
    mmi_free(link->tail);
    mmi_tx_fini(link);
    mmi_free(link);
}

void
mmi_link_event(mmi_link *link, uint32_t events)
{
    mmi_engine *e = link->engine;
    if (link->state == MMI_LINK_CONNECTING) {
        /* The stream is the platform's, as for reading and writing; its transport has no part in it
         * any more. */
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
        bool later = mmi_link_steps(link) && !mmi_share_may(&e->share);   /* poll tells again */
        if (link->state != MMI_LINK_HELLO || (events & MMI_WATCH_READ) == 0) {
            return;
        }
        if (link->ask != NULL) {
            mmi_link_hello_ahead(link, events);
        } else if (!later) {
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
    if (link->state == MMI_LINK_PARTING) {
        mmi_part_due(link);
    } else if (mmi_link_leaves(link) && link->engine->now_ns >= link->leave_ns) {
        mmi_link_part(link, MM_REASON_LOCAL, NULL);   /* its linger is over */
    } else if (link->state == MMI_LINK_ACTIVE) {
        mmi_heartbeat_due(link);
    } else if (link->ask != NULL) {
        mmi_link_hello_answered(link);
    } else if (mmi_link_tell_silent(link)) {
        return;
    } else if (link->handshake == NULL) {
        mmi_link_close(link, MM_REASON_HANDSHAKE_TIMEOUT, "no answer to the attempt to connect");
    } else {
        mmi_handshake_ended(link->handshake, "the handshake took too long,");
        mmi_link_close(link, MM_REASON_HANDSHAKE_TIMEOUT, link->handshake->detail);
    }
}
