/*
 * wait.c: how a thread blocks in a call.  It sleeps on a notifier, outside the engine's lock.
 *
 * Not here: who is woken when (socket.c).  Law: a waiter lives on its caller's stack, and is off
 * every list before the call returns; one that was woken and did not need it passes the wake on.
 */
#include "engine/link.h"

/* The socket settles before it sleeps: what this thread queued must be on its way. */
int
mmi_socket_wait(mmi_socket *s, uint32_t events, uint64_t key, uint64_t deadline_ns,
                int64_t slice_ms)
{
    mmi_engine *e = s->engine;
    mmi_waiter w = { .events = events, .key = key };
    int rc = mmi_notifier_take(e, &w.notifier);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_list_push_back(&s->waiters, &w.node);
    mmi_socket_hurry(s);
    mmi_engine_settle(e, true);
    mmi_engine_settle(e, false);   /* and the runner knows of new timers */
    uint64_t slice = slice_ms > 0 ? mmi_deadline(e->now_ns, slice_ms) : UINT64_MAX;
    rc = mmi_engine_wait(e, w.notifier, slice < deadline_ns ? slice : deadline_ns);
    if (w.closed) {
        mmi_notifier_give(e, w.notifier);
        return MM_ECLOSED;
    }
    mmi_list_rm(&w.node);
    mmi_notifier_give(e, w.notifier);
    if (w.rung) {
        mmi_socket_touch(s);   /* if this thread does not use it up, the next one is due */
        return MM_OK;
    }
    return rc == MM_ETIMEDOUT && slice < deadline_ns ? MM_EINTR : rc;
}
