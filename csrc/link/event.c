/*
 * link/event.c: what is told of one connection, and whose it is.
 *
 * Not here: how events are kept (socket/events.c), what is told (who calls).
 */
#include "link/inside.h"

const char *
mmi_link_user_id(const mmi_link *link)
{
    if (link->pipe.known != NULL) {
        return link->pipe.known->user_id;
    }
    return link->admitted != NULL ? link->admitted->user_id : "";
}

void
mmi_link_tell_count(const mmi_link *link, int kind, int reason, uint64_t count, const char *detail)
{
    mmi_socket_event(link->socket, kind, reason, link->pipe.id, count, link->endpoint,
                     link->address, detail);
    mmi_socket_event_user(link->socket, mmi_link_user_id(link));
}

void
mmi_link_tell(const mmi_link *link, int kind, int reason, const char *detail)
{
    mmi_link_tell_count(link, kind, reason, 1, detail);
}
