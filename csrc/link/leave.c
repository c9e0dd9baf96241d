/*
 * link/leave.c: a peer that is to get nothing more, one that is left, and what follows when all was
 * written.
 *
 * Not here: the end of a connection (link/end.c, link/part.c), of a socket (ends/socket.c).
 * Law: what a role that shares out had not begun to write is handed on at once; what is written at
 * this moment, or is nobody else's, goes out.
 */
#include "link/inside.h"
#include "link/shield.h"

void
mmi_link_stop(mmi_link *link)
{
    if (link->state != MMI_LINK_ACTIVE || link->pipe.stopped) {
        return;
    }
    /* Only its writer knows what was begun; and what is sealed goes out. */
    if (mmi_tx_is_writing(link) || link->sealed_left > 0) {
        mmi_tx_then(link, MMI_TX_STOP);
        return;
    }
    mmi_socket *s = link->socket;
    mmi_engine_materialize(s->engine);
    mmi_link_unpin(link);
    link->pipe.stopped = true;
    if (s->ops->stop != NULL) {
        s->ops->stop(s->state, &link->pipe);
    }
    mmi_socket_touch(s);
    mmi_link_dirty(link);
}

void
mmi_link_leave(mmi_link *link)
{
    mmi_socket *s = link->socket;
    uint64_t end = mmi_deadline(s->engine->now_ns, s->opts.linger_ms);
    if (link->state != MMI_LINK_ACTIVE || s->opts.linger_ms == 0 ||
        mmi_timer_set(&s->engine->timers, &link->timer, end) != MM_OK) {
        mmi_link_part(link, MM_REASON_LOCAL, NULL);
        return;
    }
    if (link->pipe.acks != NULL && mmi_acks_untold(link->pipe.acks)) {
        mmi_acks_tell(link->pipe.acks);
    }
    link->leave_ns = end;
    mmi_heartbeat_start(link);   /* it is judged as ever meanwhile: it may hang, or be gone */
    mmi_link_stop(link);
    mmi_link_dirty(link);
    if (!mmi_tx_is_writing(link) && !mmi_link_pending(link)) {
        mmi_link_flushed(link);
    }
}

void
mmi_link_finish(mmi_link *link)
{
    if (link->state != MMI_LINK_ACTIVE) {
        mmi_link_part(link, MM_REASON_LOCAL, NULL);
        return;
    }
    mmi_link_discard(link, &link->pipe.inbox, MMI_DROP_CLOSED);
    mmi_link_discard_unqueued(link, MMI_DROP_CLOSED);
    mmi_ack_last(link);
    link->halted = false;   /* its end is read, too */
    mmi_part_rest(link);
    if (mmi_link_stilled(link)) {
        mmi_link_part(link, MM_REASON_LOCAL, NULL);
        return;
    }
    mmi_link_dirty(link);
}

void
mmi_link_flushed(mmi_link *link)
{
    mmi_engine *e = link->engine;
    if (link->state == MMI_LINK_ACTIVE && mmi_link_leaves(link) && !link->socket->closing) {
        mmi_heartbeat_last(link);
    }
    if (link->state == MMI_LINK_ACTIVE && !mmi_link_pending(link) && !mmi_ack_waits(link) &&
        !mmi_retire_waits(link) && (link->socket->closing || mmi_link_leaves(link))) {
        mmi_link_end(link, MMI_LINK_PARTING, MM_REASON_LOCAL, NULL);
        mmi_part_begin(link);
    }
    if (mmi_link_finishes(link) && !link->fin_sent) {
        if (mmi_link_shield_farewell(link)) {
            mmi_link_dirty(link);
            return;   /* it comes here again when that was written */
        }
        link->fin_sent = true;
        e->plat.finish(e->plat.self, link->stream);
    }
}
