/*
 * link/retiring.c: whether something is under way with a peer that is left once nothing is.
 *
 * Not here: leaving it, and when it is looked (link/retire.c).
 * Law: nothing is written, read or ended here.
 */
#include "link/inside.h"

enum {
    RETIRING_SILENCE_MS = 60000 /* without a message to or from it: then it has nothing to say */
};
static const uint64_t RETIRING_NS_PER_MS = 1000000;

/* The peer may still say something that is wanted. */
static bool
retiring_hears(const mmi_link *link)
{
    const mmi_proto_ops *ops = link->socket->ops;
    const mmi_acks *a = link->pipe.acks;
    uint64_t silence_ns = link->engine->now_ns - link->retiring->moved_ns;
    bool talks = ops->converses && (link->pipe.inbox.count > 0 || link->unqueued != NULL ||
                                    silence_ns < RETIRING_SILENCE_MS * RETIRING_NS_PER_MS);
    return talks || link->stopping == MM_STOP_ASKED ||
           (a != NULL && a->received != a->done.count) ||
           (ops->owes != NULL && ops->owes(link->socket->state, &link->pipe));
}

bool
mmi_retire_unread(const mmi_link *link)
{
    return link->wire->beats && link->pipe.unacked == NULL && link->written != link->confirmed;
}

bool
mmi_retire_waits(const mmi_link *link)
{
    return link->retiring != NULL && !link->socket->closing &&
           (!link->pipe.stopped || mmi_retire_unread(link) || retiring_hears(link));
}

void
mmi_retire_end(mmi_link *link)
{
    if (link->retiring != NULL) {
        mmi_timer_clear(&link->engine->timers, &link->retiring->timer);
        mmi_free(link->retiring);
        link->retiring = NULL;
    }
}
