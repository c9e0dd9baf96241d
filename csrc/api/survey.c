/*
 * api/survey.c: asking everybody: a survey begins here; its answers come as replies do
 * (api/send.c).
 *
 * Law: the bounds of a survey are set before the lock that it was sent under is let go, so no
 * answer comes to one without them.
 */
#include "api/api.h"

#include "queue/drop.h"

/* Locked. MM_OK: m is gone, and *id is bounded. */
static int
survey_begin(mmi_socket *s, mmi_msg *m, uint32_t expect, int64_t deadline_ms, mmi_api_wait *w,
             uint64_t *id)
{
    if (s->ops->bound == NULL) {
        return MM_ENOTSUP;
    }
    uint64_t deadline_ns = mmi_deadline(s->engine->now_ns, deadline_ms);
    mmi_msg *kept = mmi_msg_ref(m);
    int rc = mmi_api_send_locked(s, m, w);
    if (rc == MM_OK) {
        *id = kept->key;
        s->ops->bound(s->state, *id, deadline_ns, expect);
        mmi_socket_tick(s);
    }
    mmi_msg_unref(kept);
    return rc;
}

/* Asks m, which was just made (NULL: there was no memory). */
static int
survey_ask(mm_handle socket, mmi_msg *m, uint32_t expect, int64_t deadline_ms, int64_t timeout_ms,
           int64_t slice_ms, uint64_t *id)
{
    if (m == NULL) {
        return MM_ENOMEM;
    }
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc == MM_OK) {
        mmi_engine *e = s->engine;
        mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
        rc = survey_begin(s, m, expect, deadline_ms, &w, id);
        mmi_engine_leave(e);
    }
    if (rc != MM_OK) {
        mmi_msg_unref(m);
    }
    return rc;
}

int
mm_survey(mm_handle socket, const mm_body *frames, uint32_t count, uint32_t expect,
          int64_t deadline_ms, int64_t timeout_ms, int64_t slice_ms, uint64_t *id)
{
    return count == 0 || deadline_ms <= 0
               ? MM_EINVAL
               : survey_ask(socket, mmi_msg_gather(frames, count), expect, deadline_ms, timeout_ms,
                            slice_ms, id);
}

int
mm_survey_packed(mm_handle socket, const uint8_t *bodies, const uint64_t *sizes, uint32_t count,
                 const uint8_t *meta, size_t meta_size, uint32_t expect, int64_t deadline_ms,
                 int64_t timeout_ms, int64_t slice_ms, uint64_t *id)
{
    mmi_msg *m;
    int rc =
        deadline_ms <= 0 ? MM_EINVAL : mmi_api_packed(bodies, sizes, count, meta, meta_size, &m);
    return rc != MM_OK ? rc : survey_ask(socket, m, expect, deadline_ms, timeout_ms, slice_ms, id);
}

int
mm_survey_asked(mm_handle socket, uint64_t id, uint64_t *peers, uint32_t cap)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    if (s->ops->asked == NULL) {
        return mmi_api_leave(s, MM_ENOTSUP);
    }
    return mmi_api_leave(s, (int)s->ops->asked(s->state, id, peers, cap));
}

int
mm_answers_late(mm_handle socket, uint32_t count, uint64_t bytes)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    if (s->ops->replies == NULL) {
        return mmi_api_leave(s, MM_ENOTSUP);
    }
    if (count > s->stats.received_messages || bytes > s->stats.received_bytes) {
        return mmi_api_leave(s, MM_EINVAL);
    }
    s->stats.received_messages -= count;
    s->stats.received_bytes -= bytes;
    mmi_drop_count(&s->host, MMI_DROP_LATE, 0, count);
    return mmi_api_leave(s, MM_OK);
}
