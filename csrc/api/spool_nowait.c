/*
 * api/spool_nowait.c: spools for event loops.
 *
 * Not here: what waits (api/spool.c).  Law: as in spool/nowait.h.
 */
#include "api/api.h"
#include "api/spool.h"
#include "spool/nowait.h"

struct mm_spool_watch {
    mmi_spool_watch watch;
};

int
mm_spool_append_once_nowait(mm_spool *s, const mm_body *bodies, size_t count,
                            const mm_spool_plan *plan, const mm_spool_origin *origin,
                            mm_spool_did *did)
{
    mmi_spool_record records[MMI_SPOOL_RUN];
    uint64_t sizes[MMI_SPOOL_RUN];
    int rc = MM_OK;
    *did = (mm_spool_did){ .done = 0 };
    if (!mmi_spool_plan_valid(bodies, count, plan, origin)) {
        return MM_EINVAL;
    }
    while (rc == MM_OK && did->done < count) {
        size_t left = count - did->done, some = left < MMI_SPOOL_RUN ? left : (size_t)MMI_SPOOL_RUN;
        mmi_spool_did one;
        mmi_spool_records(bodies + did->done, some, plan, origin, did->done, sizes, records);
        rc = mmi_spool_nowait_put(&s->shared, records, some, &one);
        mmi_spool_did_add(&one, did);
    }
    return rc;
}

int
mm_spool_append_frames_nowait(mm_spool *s, const uint8_t *bodies, const uint64_t *sizes,
                              uint32_t frames, const mm_spool_plan *plan, mm_spool_did *did)
{
    mmi_spool_record record;
    mmi_spool_did one = { .done = 0 };
    int rc = mmi_spool_planned(bodies, sizes, frames, plan, &record);
    if (rc == MM_OK) {
        rc = mmi_spool_nowait_put(&s->shared, &record, 1, &one);
    }
    *did = (mm_spool_did){ .done = one.done, .first = one.first, .last = one.last };
    return rc;
}

void
mm_spool_write_soon(mm_spool *s)
{
    mmi_spool_nowait_write(&s->shared);
}

int
mm_spool_watch_open(mm_spool *s, mm_spool_watch **watch, int *bell)
{
    mm_spool_watch *w = mmi_alloc(sizeof *w);
    int rc = w != NULL ? mmi_spool_watch_open(&w->watch, &s->shared) : MM_ENOMEM;
    if (rc != MM_OK) {
        mmi_free(w);
        return rc;
    }
    *watch = w;
    *bell = w->watch.bell;
    return MM_OK;
}

void
mm_spool_watch_set(mm_spool_watch *w, uint64_t written_at, uint64_t durable_at, mm_spool_kept *now)
{
    mmi_spool_kept kept;
    mmi_spool_watch_set(&w->watch, written_at, durable_at, &kept);
    *now = (mm_spool_kept){
        .last = kept.last, .written = kept.written, .durable = kept.durable, .failed = kept.failed
    };
}

void
mm_spool_watch_close(mm_spool_watch *w)
{
    mmi_spool_watch_close(&w->watch);
    mmi_free(w);
}
