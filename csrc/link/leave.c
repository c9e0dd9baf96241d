/*
 * link/leave.c: a peer that is to get nothing more, and one that is left.
 *
 * Not here: the end of a connection (link.c), of a socket (socket.c).
 * Law: what a role that shares out had not begun to write is handed on at once; what is written at
 * this moment, or is nobody else's, goes out.
 */
#include "link/link.h"

void
mmi_link_stop(mmi_link *link)
{
    if (link->state != MMI_LINK_ACTIVE || link->pipe.stopped) {
        return;
    }
    link->stop_due = link->writing;   /* only its writer knows what was begun */
    if (link->stop_due) {
        return;
    }
    mmi_socket *s = link->socket;
    mmi_engine_catch_up(s->engine);
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
    link->leaving = true;
    link->leave_ns = end;
    mmi_heartbeat_start(link);   /* it is judged as ever meanwhile: it may hang, or be gone */
    mmi_link_stop(link);
    mmi_link_dirty(link);
    if (!link->writing && !mmi_link_pending(link)) {
        mmi_link_flushed(link);
    }
}
