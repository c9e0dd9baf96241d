/*
 * link/finished.c: peers that have said that they send nothing more (END), and a socket that has
 * heard it of all who send to it.
 *
 * Not here: saying so (link/finish.c), how a peer is asked to stop (link/stop.c).
 * Law: who sends on behind END breaks the protocol: its connection ends, and says so.
 */
#include "link/inside.h"

void
mmi_finish_told(mmi_link *link)
{
    mmi_socket *s = link->socket;
    const mmi_proto_ops *peer = mmi_proto_find(link->pipe.peer_role);
    if (!mmi_socket_acks(s) || peer == NULL || !peer->finishes || link->end_came) {
        return; /* we have no use for it, it is not that peer's to say, or we know it */
    }
    link->end_came = true;
    if (link->dialer != NULL) {
        link->dialer->ended = true;
    }
    s->ends_came++;
    s->stats.finished_peers++;
    mmi_stop_told(link); /* who is asked to stop has done so: nothing comes behind this */
    mmi_socket_note(s, MM_PEERS);
}

bool
mmi_finish_breached(mmi_link *link)
{
    bool breached = link->end_came;
    if (breached) { /* so it has not finished */
        link->end_came = false;
        link->socket->ends_came--;
        if (link->dialer != NULL) {
            link->dialer->ended = false;
        }
        mmi_link_breach(link, MM_REASON_COMMAND, "a message behind END");
    }
    return breached;
}

bool
mmi_socket_ended(const mmi_socket *s)
{
    bool ended = s->ends_came > 0;
    for (const mmi_list *node = s->dialers.next; ended && node != &s->dialers; node = node->next) {
        ended = MMI_CONTAINER_OF(node, mmi_dialer, node)->ended;
    }
    for (const mmi_list *node = s->links.next; ended && node != &s->links; node = node->next) {
        const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        ended = link->state != MMI_LINK_ACTIVE || link->end_came;
    }
    return ended;
}
