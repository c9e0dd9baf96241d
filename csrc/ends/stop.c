/*
 * ends/stop.c: a socket that is to receive nothing more: no new peers come, those that are there
 * are asked to stop sending, and it waits for their answers no longer than to a deadline.
 *
 * Not here: what is said to a peer (link/stop.c), what became of each (link/stopped.c).
 */
#include "ends/ends.h"
#include "link/link.h"

void
mmi_socket_no_arrivals(mmi_socket *s)
{
    MMI_LIST_EACH (&s->listeners, node, after) {
        mmi_listener_close(MMI_CONTAINER_OF(node, mmi_listener, node));
    }
    MMI_LIST_EACH (&s->dialers, node, after) {
        mmi_dialer *d = MMI_CONTAINER_OF(node, mmi_dialer, node);
        if (d->link != NULL) {
            mmi_link_forget_dialer(d->link);
        }
        mmi_dialer_close(d);
    }
}

int
mmi_socket_stop(mmi_socket *s, uint64_t deadline_ns)
{
    if (!s->host.stopping) {
        s->host.stopping = true;
        mmi_socket_no_arrivals(s);
        MMI_LIST_EACH (&s->links, node, after) {
            mmi_stop_begin(MMI_CONTAINER_OF(node, mmi_link, node));
        }
    }
    mmi_socket_touch(s);
    if (deadline_ns > s->engine->now_ns &&
        mmi_timer_set(&s->engine->timers, &s->stop_timer, deadline_ns) == MM_OK) {
        return MM_OK;
    }
    mmi_socket_stop_late(s);
    return deadline_ns > s->engine->now_ns ? MM_ENOMEM : MM_OK;
}

void
mmi_socket_stop_late(mmi_socket *s)
{
    MMI_LIST_EACH (&s->links, node, after) {
        mmi_stop_late(MMI_CONTAINER_OF(node, mmi_link, node));
    }
    mmi_socket_touch(s);
}
