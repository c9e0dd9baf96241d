/*
 * api/retained.c: what a PUB retains of a topic.
 *
 * Not here: retaining (queue/retained.h).
 */
#include "queue/retained.h"
#include "api/api.h"
#include "batch/batch.h"
#include "queue/replays.h"

/* Of a PUB whose messages are in a spool: is what was put up to that number not published yet? */
static bool
retained_awaits(const mmi_socket *s, uint64_t mark)
{
    return s->host.retained->filling ||
           (mmi_replays_on(s->host.replays) && s->host.replays->next < mark);
}

/* All there is to retain is: MM_OK; or as of a wait, or why it never will be. */
static int
retained_wait(mmi_socket *s, uint64_t *mark, mmi_api_wait *w)
{
    int rc = MM_OK;
    if (*mark == 0 && mmi_replays_on(s->host.replays)) {
        *mark = s->host.replays->source.end(s->host.replays->source.arg);
    }
    while (rc == MM_OK && retained_awaits(s, *mark)) {
        rc = mmi_replays_failed(s->host.replays);
        rc = rc == MM_OK ? mmi_api_wait_for(s, w, MM_DRAINED, 0) : rc;
    }
    return rc;
}

int
mm_retained(mm_handle socket, const void *topic, size_t size, mm_batch *batch, uint64_t *mark,
            int64_t timeout_ms, int64_t slice_ms)
{
    uint64_t own = 0;
    mmi_batch *b = (mmi_batch *)batch;
    mmi_batch_reset(b);
    mmi_socket *s;
    int rc = mmi_batch_reserve_lent(b);
    rc = rc == MM_OK ? mmi_api_enter(socket, &s) : rc;
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
    rc = s->host.retained != NULL ? retained_wait(s, mark != NULL ? mark : &own, &w) : MM_ENOTSUP;
    if (rc == MM_OK) {
        mmi_msg *m = mmi_retained_find(s->host.retained, topic, size);
        rc = m != NULL ? 1 : MM_ENOENT;
        if (m != NULL) {
            mmi_batch_lend(b, mmi_msg_ref(m));
        }
    }
    return mmi_api_end(e, rc);
}
