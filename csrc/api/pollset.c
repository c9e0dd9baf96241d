/*
 * api/pollset.c: pollsets: several sockets that a thread waits for.
 *
 * Not here: the waiting (sched/pollset.c).  Law: as in api.c.
 */
#include "api/api.h"

int
mm_pollset_open(mm_handle engine, mm_handle *pollset)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_pollset *g;
    rc = mmi_pollset_open(e, &g);
    if (rc == MM_OK) {
        *pollset = g->waker.handle;
    }
    return mmi_api_end(e, rc);
}

int
mm_pollset_close(mm_handle pollset)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(pollset, MMI_HANDLE_POLLSET, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_pollset_close(e, object);
    return mmi_api_end(e, MM_OK);
}

int
mm_pollset_watch(mm_handle pollset, mm_handle socket, uint32_t events)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_pollset *g = mmi_handle_object(pollset, MMI_HANDLE_POLLSET, s->engine);
    return mmi_api_leave(s, g == NULL ? MM_EINVAL : mmi_pollset_add(g, s, events));
}

int
mm_pollset_fileno(mm_handle pollset, int *fd)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(pollset, MMI_HANDLE_POLLSET, &object, &e);
    return rc != MM_OK ? rc : mmi_api_end(e, mmi_pollset_fileno(e, object, fd));
}

int
mm_pollset_remove(mm_handle pollset, mm_handle socket)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(pollset, MMI_HANDLE_POLLSET, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_pollset_rm(e, object, socket);
    return mmi_api_end(e, MM_OK);
}

int
mm_pollset_poll(mm_handle pollset, mm_ready *out, uint32_t cap, int64_t timeout_ms,
                int64_t slice_ms)
{
    void *object;
    mmi_engine *e;
    int rc = cap == 0 ? MM_EINVAL : mmi_handle_lock(pollset, MMI_HANDLE_POLLSET, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine_refresh(e);
    mmi_engine_materialize(e);
    return mmi_api_end(e, mmi_pollset_poll(e, object, out, cap, timeout_ms, slice_ms));
}
