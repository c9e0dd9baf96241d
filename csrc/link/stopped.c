/*
 * link/stopped.c: what a socket that stops receiving knows of those it asked: who has yet to
 * answer, whether all that comes has come, what became of each.
 *
 * Not here: asking, and what they say (link/stop.c), the call of the user (ends/stop.c).
 * Law: what became of a peer that was asked is known as long as the socket is there, also when its
 * connection has ended: one by one of MMI_STOP_ENDED_MAX of those; how many more had not answered
 * is counted.
 */
#include <stdio.h>
#include <string.h>

#include "link/inside.h"

/* A peer that was asked, and whose connection ended since. */
typedef struct stop_ended {
    mmi_list node;
    uint64_t id;
    int state;
    char address[];
} stop_ended;

/* To who is in the midst of its handshake we may be a peer already: it is asked when that is
 * done. */
bool
mmi_stop_waits(const mmi_link *link)
{
    return link->state == MMI_LINK_HELLO ||
           (link->state == MMI_LINK_ACTIVE &&
            (link->stopping == MM_STOP_ASKED || link->stopping == MM_STOP_CANCELLING));
}

bool
mmi_socket_stopped(const mmi_socket *s)
{
    MMI_LIST_EACH (&s->links, node, after) {
        const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        /* Behind STOPPED come no messages, so a read finds none. */
        bool reads = link->reading && link->stopping != MM_STOP_STOPPED;
        bool came = link->unqueued != NULL || link->unread_used < link->unread_size || reads;
        if (mmi_stop_waits(link) || (link->state == MMI_LINK_ACTIVE && came)) {
            return false;
        }
    }
    return true;
}

/* To who has heard of us in its handshake we may be a peer already, as in mmi_stop_waits. */
void
mmi_stop_ended(mmi_link *link, mmi_link_state was)
{
    mmi_socket *s = link->socket;
    bool heard = was == MMI_LINK_ACTIVE || (was == MMI_LINK_HELLO && link->handshake != NULL &&
                                            link->handshake->wire != NULL);
    if (!s->host.stopping || s->closing || !heard) {
        return;
    }
    bool open = link->stopping == MM_STOP_NONE || link->stopping == MM_STOP_ASKED ||
                link->stopping == MM_STOP_CANCELLING;
    int state = open ? MM_STOP_GONE : link->stopping;
    size_t size = strlen(link->address) + 1;
    stop_ended *one = NULL;
    if (s->stop_ended_count < MMI_STOP_ENDED_MAX) {
        one = mmi_alloc(sizeof *one + size);
    }
    if (one == NULL) {
        s->stop_unlisted += state != MM_STOP_STOPPED;
        return;
    }
    one->id = link->pipe.id;
    one->state = state;
    memcpy(one->address, link->address, size);
    mmi_list_init(&one->node);
    mmi_list_push_back(&s->stop_ended, &one->node);
    s->stop_ended_count++;
}

void
mmi_stop_fini(mmi_socket *s)
{
    MMI_LIST_EACH (&s->stop_ended, node, after) {
        mmi_free(MMI_CONTAINER_OF(node, stop_ended, node));
    }
}

static void
inspect_put(mm_peer *out, uint64_t id, int state, const char *address)
{
    *out = (mm_peer){ .id = id, .stop = (uint32_t)state };
    snprintf(out->address, sizeof out->address, "%s", address);
}

uint32_t
mmi_stop_inspect(mmi_socket *s, void *out, uint32_t cap)
{
    mm_peer *peers = out;
    uint32_t count = 0;
    MMI_LIST_EACH (&s->stop_ended, node, after) {
        const stop_ended *one = MMI_CONTAINER_OF(node, stop_ended, node);
        if (count++ < cap) {
            inspect_put(&peers[count - 1], one->id, one->state, one->address);
        }
    }
    MMI_LIST_EACH (&s->links, node, after) {
        const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        bool asked = link->state == MMI_LINK_ACTIVE || link->state == MMI_LINK_HELLO;
        if (!s->host.stopping || !asked) {
            continue;
        }
        if (count++ < cap) {
            int state = link->stopping != MM_STOP_NONE ? link->stopping : MM_STOP_ASKED;
            inspect_put(&peers[count - 1], link->pipe.id, state, link->address);
        }
    }
    if (s->stop_unlisted > 0 && count++ < cap) {
        char more[64];
        snprintf(more, sizeof more, "each of %llu more peers",
                 (unsigned long long)s->stop_unlisted);
        inspect_put(&peers[count - 1], 0, MM_STOP_GONE,
                    s->stop_unlisted == 1 ? "another peer" : more);
    }
    return count;
}
