/*
 * link/retire.c: a peer that is left for another one, once nothing is under way there: it gets
 * nothing more from now on, and what it owes is waited for.
 *
 * Not here: what is waited for (link/retiring.c), a peer that is left within linger (link/leave.c),
 * who is left (ends/dialer.c).
 * Law: no time ends it but a silence, and that only of a role of which nobody knows what its peers
 * have yet to say.  The end of the connection, or of the socket, ends it as ever.
 */
#include "link/inside.h"

enum {
    RETIRE_LOOK_MS = 20 /* between two looks: not each thing that may be waited for rings */
};
static bool
retire_arm(mmi_retiring *r)
{
    mmi_engine *e = r->link->engine;
    return mmi_timer_set(&e->timers, &r->timer, mmi_deadline(e->now_ns, RETIRE_LOOK_MS)) == MM_OK;
}

static void
retire_look(mmi_link *link)
{
    mmi_retiring *r = link->retiring;
    uint64_t messages = link->written + link->parsed;
    if (messages != r->messages) {
        r->messages = messages;
        r->moved_ns = link->engine->now_ns;
    }
    if (mmi_retire_unread(link)) {
        mmi_heartbeat_ping(link);
    }
    mmi_link_dirty(link);
    if (!mmi_tx_is_writing(link) && !mmi_link_pending(link)) {
        mmi_link_flushed(link);
    }
}

void
mmi_link_retire(mmi_link *link)
{
    mmi_retiring *r = link->state == MMI_LINK_ACTIVE ? mmi_alloc(sizeof *r) : NULL;
    if (r == NULL) {
        mmi_link_leave(link);
        return;
    }
    r->link = link;
    r->timer.kind = MMI_TIMER_RETIRE;
    r->moved_ns = link->engine->now_ns;
    if (!retire_arm(r)) {
        mmi_free(r);
        mmi_link_leave(link);
        return;
    }
    link->retiring = r;
    link->leave_ns = UINT64_MAX;
    if (link->socket->ops->halts && link->stopping == MM_STOP_NONE && !link->end_came &&
        mmi_wire_knows(link->features, "stop")) {
        mmi_stop_ask(link);
    }
    mmi_link_stop(link);
    retire_look(link);
}

void
mmi_retire_due(mmi_timer *timer)
{
    mmi_retiring *r = MMI_CONTAINER_OF(timer, mmi_retiring, timer);
    mmi_link *link = r->link;
    if (!retire_arm(r)) {
        mmi_retire_end(link); /* and is left within linger */
        mmi_link_leave(link);
        return;
    }
    retire_look(link);
}
