/*
 * api/pollset.c: groups: several sockets that a thread waits for.
 *
 * Not here: the waiting (sched/pollset.c).  Law: as in api.c.
 */
#include "api/api.h"

int
mm_group_open(mm_handle engine, mm_handle *group)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_group *g;
    rc = mmi_group_open(e, &g);
    if (rc == MM_OK) {
        *group = g->waker.handle;
    }
    return mmi_api_end(e, rc);
}

int
mm_group_close(mm_handle group)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(group, MMI_HANDLE_GROUP, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_group_close(e, object);
    return mmi_api_end(e, MM_OK);
}

int
mm_group_add(mm_handle group, mm_handle socket)
{
    return mm_group_watch(group, socket, MM_READABLE);
}

int
mm_group_watch(mm_handle group, mm_handle socket, uint32_t events)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_group *g = mmi_handle_object(group, MMI_HANDLE_GROUP, s->engine);
    return mmi_api_leave(s, g == NULL ? MM_EINVAL : mmi_group_add(g, s, events));
}

int
mm_group_fileno(mm_handle group, int *fd)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(group, MMI_HANDLE_GROUP, &object, &e);
    return rc != MM_OK ? rc : mmi_api_end(e, mmi_group_fileno(e, object, fd));
}

int
mm_group_remove(mm_handle group, mm_handle socket)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(group, MMI_HANDLE_GROUP, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_group_rm(e, object, socket);
    return mmi_api_end(e, MM_OK);
}

int
mm_group_poll(mm_handle group, mm_ready *out, uint32_t cap, int64_t timeout_ms, int64_t slice_ms)
{
    void *object;
    mmi_engine *e;
    int rc = cap == 0 ? MM_EINVAL : mmi_handle_lock(group, MMI_HANDLE_GROUP, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine_refresh(e);
    mmi_engine_catch_up(e);
    return mmi_api_end(e, mmi_group_poll(e, object, out, cap, timeout_ms, slice_ms));
}
