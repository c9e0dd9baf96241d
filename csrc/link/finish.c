/*
 * link/finish.c: the end of all messages: who sends nothing more tells its peers so (END), once all
 * that it accepted is done.
 *
 * Not here: what a peer makes of it (link/finished.c), what is acknowledged (link/ack.c).
 * Law: END is said once a connection, behind its last message, and by a socket of which nothing is
 * queued or unacknowledged anywhere.
 */
#include "link/inside.h"
#include "queue/backlog.h"

void
mmi_finish_begin(mmi_link *link)
{
    const mmi_proto_ops *peer = mmi_proto_find(link->pipe.peer_role);
    bool hears = link->socket->ops->finishes && link->wire->put_end != NULL && peer != NULL &&
                 peer->acks && mmi_wire_knows(link->features, "ack");
    link->end_out = hears ? MMI_END_HEARD : MMI_END_NONE;
}

void
mmi_finish_began(mmi_link *link)
{
    if (link->dialer != NULL) {
        link->dialer->ended = false; /* who is there now has said nothing yet */
    }
    mmi_finish_look(link->socket);
}

/* Nothing waits, and no peer has anything that it is not done with. */
static bool
finish_all_done(const mmi_socket *s)
{
    uint64_t bytes;
    const mmi_back *back = s->host.back;
    bool done = back == NULL || (mmi_back_count(back, &bytes) == 0 && back->delayed.count == 0);
    if (done && mmi_back_sourced(back)) {
        done = back->receipts.source.left(back->receipts.source.arg) == 0;
    }
    for (const mmi_list *node = s->links.next; done && node != &s->links; node = node->next) {
        const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        done = link->state != MMI_LINK_ACTIVE ||
               (link->pipe.outbox.count == 0 && !mmi_ack_awaited(link));
    }
    return done;
}

void
mmi_finish_look(mmi_socket *s)
{
    if (!s->host.finished || s->host.ended || !finish_all_done(s)) {
        return;
    }
    s->host.ended = true;
    MMI_LIST_EACH (&s->links, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (mmi_finish_due(link)) {
            mmi_link_dirty(link);
        }
    }
    mmi_socket_note(s, MM_PEERS | MM_DRAINED);
}

void
mmi_finish_tell(mmi_link *link)
{
    mmi_socket *s = link->socket;
    uint8_t frame[MMI_COMMAND_OVERHEAD];
    if (mmi_link_control(link, frame, link->wire->put_end(frame)) == MM_OK) {
        link->end_out = MMI_END_TOLD;
        s->stats.finished_peers++;
        mmi_socket_note(s, MM_PEERS | MM_DRAINED);
    } else if (!mmi_tx_ends(link)) { /* a peer that is not told would wait for ever */
        mmi_link_doom(link, MMI_TX_CLOSE, MM_REASON_MEMORY, NULL);
    }
}

bool
mmi_finish_told_all(const mmi_socket *s)
{
    bool all = s->host.ended;
    for (const mmi_list *node = s->links.next; all && node != &s->links; node = node->next) {
        all = !mmi_finish_due(MMI_CONTAINER_OF(node, mmi_link, node));
    }
    return all;
}
