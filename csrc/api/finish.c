/*
 * api/finish.c: a socket that sends nothing more says so to its peers.
 *
 * Not here: when they are told (link/finish.c).  Law: as in api/send.c.
 */
#include "api/api.h"

#include "queue/backlog.h"

int
mm_finish(mm_handle socket)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    if (!s->ops->finishes) {
        return mmi_api_leave(s, MM_ENOTSUP);
    }
    s->host.finished = true;
    mmi_finish_look(s);
    mmi_socket_note(s, MMI_ROOM | MM_PEERS); /* who waits for room waits in vain */
    return mmi_api_leave(s, MM_OK);
}

/* Until all is done, and so many were told.  Leaves the engine locked. */
static int
finish_wait(mmi_socket *s, uint32_t count, mmi_api_wait *w)
{
    int rc = s->host.finished ? MM_OK : MM_ESTATE;
    while (rc == MM_OK && !(mmi_finish_told_all(s) && s->stats.finished_peers >= count)) {
        rc = s->host.back != NULL ? mmi_back_failed(s->host.back) : MM_OK;
        rc = rc == MM_OK ? mmi_api_wait_for(s, w, MM_PEERS | MM_DRAINED, 0) : rc;
    }
    return rc;
}

int
mm_wait_finished(mm_handle socket, uint32_t count, int64_t timeout_ms, int64_t slice_ms)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
    return mmi_api_end(e, finish_wait(s, count, &w));
}
