/*
 * api/spool.c: spools as the binding sees them.
 *
 * Not here: what they do (spool/shared.h), what is read of them (api/spool_reader.c).  Law: options
 * and what came from files are checked here or below, never asserted.
 */
#include "api/spool.h"

#include <stdatomic.h>
#include <string.h>

#include "api/api.h"

static const uint64_t SPOOL_US_PER_MS = 1000;

_Static_assert((int)MM_SPOOL_HARMED == (int)MMI_SPOOL_HARMED, "one code");
_Static_assert((int)MM_SPOOL_SHARED == (int)MMI_SPOOL_SHARED, "one code");
_Static_assert((int)MM_SPOOL_REMOTE == (int)MMI_SPOOL_REMOTE, "one code");
_Static_assert((int)MM_SPOOL_DISK == (int)MMI_SPOOL_DISK, "levels");
_Static_assert((int)MM_SPOOL_DROP_NEWEST == (int)MMI_SPOOL_DROP_NEWEST, "overflow");
_Static_assert((int)MM_SPOOL_FULL_DISK == (int)MMI_SPOOL_FULL_DISK, "why it is full");
_Static_assert((int)MM_SPOOL_OWNER_MAX == (int)MMI_SPOOL_OWNER, "owner");
_Static_assert((int)MM_SPOOL_PRODUCERS_MAX == (int)MMI_PRODUCERS_MAX, "producers");

int
mmi_spool_rc(int rc, int64_t timeout_ms)
{
    return rc == MM_ETIMEDOUT && timeout_ms == 0 ? MM_EAGAIN : rc;
}

static void
spool_report(const mmi_spool_report *from, mm_spool_report *to)
{
    *to = (mm_spool_report){ .made = from->made,
                             .unclean = from->unclean,
                             .torn_bytes = from->torn_bytes,
                             .torn_left = from->torn_left,
                             .lost_first = from->lost_first,
                             .lost_last = from->lost_last,
                             .harmed_file = from->harmed_file,
                             .harmed_at = from->harmed_at,
                             .copied_messages = from->copied };
    memcpy(to->owner, from->owner, sizeof from->owner);
}

int
mm_spool_open(const char *path, const mm_spool_opts *o, mm_spool_report *report, mm_spool **spool)
{
    mmi_spool_report found = { .made = false };
    mmi_spool_shared_opts opts = {
        .spool = { .level = (mmi_spool_level)o->level,
                   .file_bytes = o->file_bytes,
                   .batch_bytes = (uint32_t)o->batch_bytes,
                   .max_bytes = o->max_bytes,
                   .max_messages = o->max_messages,
                   .segment_age_us = o->segment_age_ms * SPOOL_US_PER_MS,
                   .gaps = o->gaps != 0,
                   .remote = o->remote != 0,
                   .owner = o->owner,
                   .uuid = o->uuid },
        .overflow = (mmi_spool_overflow)o->overflow,
        .sync_every_ns = o->sync_every_ms * MMI_SPOOL_NS_PER_MS,
        .max_age_us = o->max_age_ms * SPOOL_US_PER_MS,
        .acked_by = (const char *const *)o->acked_by,
        .acked_by_count = o->acked_by_count,
        .compact_ppm = o->compact_ppm,
        .tombstone_us = o->tombstone_age_ms * SPOOL_US_PER_MS,
    };
    if (o->level > MM_SPOOL_DISK || o->overflow > MM_SPOOL_DROP_NEWEST ||
        o->batch_bytes > (uint64_t)MMI_SPOOL_BODY_MAX ||
        o->sync_every_ms > UINT64_MAX / MMI_SPOOL_NS_PER_MS / 2 ||
        o->max_age_ms > MMI_SPOOL_AGE_MAX / SPOOL_US_PER_MS ||
        o->segment_age_ms > MMI_SPOOL_AGE_MAX / SPOOL_US_PER_MS ||
        o->tombstone_age_ms > MMI_SPOOL_AGE_MAX / SPOOL_US_PER_MS || o->compact_ppm > 1000000) {
        return MM_EINVAL;
    }
    mm_spool *s = mmi_alloc(sizeof *s);
    if (s == NULL) {
        return MM_ENOMEM;
    }
    int rc = mmi_spool_shared_open(&s->shared, path, &opts, &found);
    spool_report(&found, report);
    if (rc != MM_OK) {
        mmi_free(s);
        return rc;
    }
    *spool = s;
    return MM_OK;
}

int
mm_spool_close(mm_spool *s)
{
    int rc = mmi_spool_shared_close(&s->shared);
    mmi_free(s);
    return rc;
}

void
mm_spool_abandon(mm_spool *s)
{
    mmi_spool_shared_abandon(&s->shared);
    mmi_free(s);
}

uint64_t
mm_spool_clock_ms(void)
{
    return mmi_thread_now_ns() / MMI_SPOOL_NS_PER_MS;
}

void
mm_spool_did_add(const mm_spool_did *one, mm_spool_did *all)
{
    all->done += one->done;
    all->first = all->first == 0 ? one->first : all->first;
    all->last = one->last > 0 ? one->last : all->last;
    all->repeated += one->repeated;
    all->original = one->repeated > 0 ? one->original : all->original;
    all->until = one->until > all->until ? one->until : all->until;
    all->unkept += one->unkept;
}

int
mm_spool_append_once(mm_spool *s, const mm_body *bodies, size_t count, const mm_spool_plan *plan,
                     const mm_spool_origin *origin, uint32_t flags, int64_t timeout_ms,
                     int64_t slice_ms, mm_spool_did *did)
{
    mmi_spool_record records[MMI_SPOOL_RUN];
    uint64_t sizes[MMI_SPOOL_RUN];
    mmi_spool_wait wait = mmi_spool_wait_of(timeout_ms, slice_ms);
    int rc = MM_OK;
    wait.in_a_row = (flags & MM_SPOOL_IN_A_ROW) != 0;
    *did = (mm_spool_did){ .done = 0 };
    if (!mmi_spool_plan_valid(bodies, count, plan, origin)) {
        return MM_EINVAL;
    }
    while (rc == MM_OK && did->done < count) {
        size_t left = count - did->done, some = left < MMI_SPOOL_RUN ? left : (size_t)MMI_SPOOL_RUN;
        mmi_spool_did one;
        mmi_spool_records(bodies + did->done, some, plan, origin, did->done, sizes, records);
        bool waits = (flags & MM_SPOOL_WAITS) != 0 && some == left;
        rc = mmi_spool_shared_put(&s->shared, records, some, waits, &wait, &one);
        mmi_spool_did_add(&one, did);
        if (wait.in_a_row) {
            break;
        }
    }
    return mmi_spool_rc(rc, timeout_ms);
}

int
mm_spool_append(mm_spool *s, const mm_body *bodies, size_t count, const uint8_t *meta,
                uint32_t meta_size, uint32_t flags, int64_t timeout_ms, int64_t slice_ms,
                mm_spool_did *did)
{
    const mm_spool_plan plan = { .meta = meta, .meta_size = meta_size };
    return mm_spool_append_once(s, bodies, count, &plan, NULL, flags, timeout_ms, slice_ms, did);
}

int
mm_spool_last_origin(mm_spool *s, const uint8_t *producer, uint64_t *number)
{
    mmi_spool_shared *h = &s->shared;
    pthread_mutex_lock(&h->lock);
    const mmi_producer *one = mmi_producers_find(&h->spool.producers, producer);
    *number = one != NULL ? one->number : 0;
    pthread_mutex_unlock(&h->lock);
    return one != NULL;
}

int
mmi_spool_planned(const uint8_t *bodies, const uint64_t *sizes, uint32_t frames,
                  const mm_spool_plan *plan, mmi_spool_record *record)
{
    *record = (mmi_spool_record){ .meta = plan->meta,
                                  .meta_size = plan->meta_size,
                                  .due_us = plan->due_us,
                                  .priority = (uint8_t)plan->priority,
                                  .frames = frames,
                                  .sizes = sizes,
                                  .data = bodies };
    if (frames == 0 || frames > (uint32_t)MMI_SPOOL_FRAMES_MAX ||
        plan->priority >= MM_PRIORITIES_MAX || !mmi_api_meta_valid(plan->meta, plan->meta_size)) {
        return MM_EINVAL;
    }
    for (uint32_t i = 0; i < frames; i++) {
        if (sizes[i] > UINT64_MAX - record->size) {
            return MM_EMSGSIZE;
        }
        record->size += sizes[i];
    }
    return MM_OK;
}

int
mm_spool_append_frames(mm_spool *s, const uint8_t *bodies, const uint64_t *sizes, uint32_t frames,
                       const mm_spool_plan *plan, int waits, int64_t timeout_ms, int64_t slice_ms,
                       mm_spool_did *did)
{
    const mmi_spool_wait wait = mmi_spool_wait_of(timeout_ms, slice_ms);
    mmi_spool_record record;
    mmi_spool_did one;
    *did = (mm_spool_did){ .done = 0 };
    int rc = mmi_spool_planned(bodies, sizes, frames, plan, &record);
    if (rc != MM_OK) {
        return rc;
    }
    rc = mmi_spool_shared_put(&s->shared, &record, 1, waits != 0, &wait, &one);
    *did = (mm_spool_did){
        .done = one.done, .first = one.first, .last = one.last, .unkept = one.unkept
    };
    return mmi_spool_rc(rc, timeout_ms);
}

int
mm_spool_flush(mm_spool *s, uint32_t level, int64_t timeout_ms, int64_t slice_ms)
{
    const mmi_spool_wait wait = mmi_spool_wait_of(timeout_ms, slice_ms);
    if (level > MM_SPOOL_DISK) {
        return MM_EINVAL;
    }
    int rc = mmi_spool_shared_wait(&s->shared, UINT64_MAX, (mmi_spool_level)level, &wait);
    return mmi_spool_rc(rc, timeout_ms);
}

uint32_t
mm_spool_trim(mm_spool *s, uint64_t seq)
{
    return mmi_spool_shared_trim(&s->shared, seq);
}

uint64_t
mm_spool_clock_jumps(const mm_spool *s)
{
    return atomic_load_explicit(&s->shared.keep.jumps, memory_order_relaxed);
}

void
mm_spool_inspect(mm_spool *s, mm_spool_info *out)
{
    mmi_spool_shared *h = &s->shared;
    pthread_mutex_lock(&h->lock);
    const mmi_spool *log = &h->spool;
    *out = (mm_spool_info){ .epoch = log->epoch,
                            .files = log->file_count,
                            .failed = log->failed,
                            .first_seq = mmi_spool_first(log),
                            .last_seq = log->last_seq,
                            .written_seq = log->written_seq,
                            .durable_seq = log->durable_seq,
                            .bytes = mmi_spool_bytes(log),
                            .appended_messages = h->counts.appended,
                            .dropped_oldest = h->counts.dropped_oldest,
                            .dropped_newest = h->counts.dropped_newest,
                            .syncs = h->counts.syncs,
                            .sync_ns = h->counts.sync_ns,
                            .sync_max_ns = h->counts.sync_max_ns,
                            .expired_messages = h->counts.expired_messages,
                            .expired_files = h->counts.expired_files,
                            .acked_messages = h->counts.acked_messages,
                            .acked_files = h->counts.acked_files,
                            .clean_seq = log->clean_seq > 0 ? log->clean_seq - 1 : 0,
                            .compactions = h->compaction.ended,
                            .compacted_messages = h->counts.compacted_messages,
                            .compacted_files = h->counts.compacted_files,
                            .compaction_failed = h->compaction.rc != MM_OK,
                            .clock_jumps = h->keep.jumps,
                            .repeated_messages = h->counts.repeated,
                            .producers = log->producers.count,
                            .forgotten_producers = log->producers.forgotten,
                            .full_why = log->refused.why,
                            .full_messages = log->refused.messages,
                            .full_bytes = log->refused.bytes,
                            .full = log->full };
    memcpy(out->uuid, log->uuid, sizeof out->uuid);
    pthread_mutex_unlock(&h->lock);
}
