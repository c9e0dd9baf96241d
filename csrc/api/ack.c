/*
 * api/ack.c: a message that was received is done.
 *
 * Not here: what its sender is told, and when (queue/acks.c, link/ack.c).
 * Law: what is acknowledged to a connection that ended is not: somebody else gets it.
 */
#include "api/api.h"

#include "queue/acks.h"

/* NULL: it is no peer any more. */
static mmi_link *
ack_link(mmi_socket *s, uint64_t peer)
{
    MMI_LIST_EACH (&s->links, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (link->pipe.id == peer) {
            return mmi_link_is_peer(link) ? link : NULL;
        }
    }
    return NULL;
}

int
mm_ack(mm_handle socket, uint64_t peer, uint64_t number)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    const mmi_link *link = ack_link(s, peer);
    bool done = link != NULL && link->pipe.acks != NULL && mmi_acks_done(link->pipe.acks, number);
    if (done) {
        mmi_acks_tell(link->pipe.acks);
    }
    return mmi_api_leave(s, done ? 1 : 0);
}

int
mm_nack(mm_handle socket, uint64_t peer, uint64_t number, uint32_t delay_ms)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_link *link = ack_link(s, peer);
    return mmi_api_leave(s, link != NULL ? mmi_link_nack(link, number, delay_ms) : 0);
}

int
mm_extend(mm_handle socket, uint64_t peer, uint64_t number)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_link *link = ack_link(s, peer);
    return mmi_api_leave(s, link != NULL ? mmi_link_extend(link, number) : 0);
}
