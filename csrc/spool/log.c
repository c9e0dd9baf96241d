/*
 * spool/log.c: what is put into a spool, and how it gets to the disk.
 *
 * Not here: opening and closing (spool/open.c), what goes (spool/trim.c).  Law: as in spool/log.h.
 */
#include "spool/log.h"

#include <string.h>

static const uint64_t LOG_END =
    MMI_SPOOL_BATCH_HEAD;      /* octets of a CLOSE: there is always room for one */
static const uint64_t LOG_SEQ_MAX = UINT64_MAX / 2;   /* the last number that is given */

void
mmi_spool_invariants(const mmi_spool *s)
{
    MMI_ASSERT(s->durable_seq <= s->written_seq && s->written_seq <= s->last_seq);
    MMI_ASSERT(s->pending.count == 0 || s->pending.first_seq + s->pending.count == s->last_seq + 1);
    MMI_ASSERT(s->busy || s->writing.count == 0);
    MMI_ASSERT(s->file_count > 0 && s->bases[s->file_count - 1] == s->file.head.base_seq);
    MMI_ASSERT(s->file_count == 1 || s->bases[s->file_count - 2] < s->file.head.base_seq);
    MMI_ASSERT(s->busy || s->then_end == s->file.end);
    MMI_ASSERT(s->synced_end <= s->file.end);
}

#ifdef MMI_CHECKED
#define LOG_CHANGED(s) mmi_spool_invariants(s)
#else
#define LOG_CHANGED(s) ((void)(s))
#endif

uint64_t
mmi_spool_visible(const mmi_spool *s)
{
    return s->opts.level == MMI_SPOOL_DISK ? s->durable_seq : s->written_seq;
}

uint64_t
mmi_spool_first(const mmi_spool *s)
{
    return s->bases[0];
}

uint64_t
mmi_spool_bytes(const mmi_spool *s)
{
    return s->sealed_bytes + s->then_end + s->pending.size;
}

/* Messages that a file has, about, so that some of max_messages can go. */
static uint64_t
log_share(const mmi_spool *s)
{
    uint64_t most = s->opts.max_messages;
    return most > 0 ? most / MMI_SPOOL_FILES_A_LIMIT + (most % MMI_SPOOL_FILES_A_LIMIT != 0)
                    : UINT64_MAX;
}

/* Messages of the last file. */
static uint64_t
log_here(const mmi_spool *s)
{
    return s->written_seq + 1 - s->file.head.base_seq;
}

static int
log_refuse(mmi_spool *s, mmi_spool_full why)
{
    s->refused = (mmi_spool_refusal){ .why = why,
                                      .messages = s->last_seq + 1 - mmi_spool_first(s),
                                      .bytes = mmi_spool_bytes(s) };
    return MM_ENOSPC;
}

/* Does the last file, or the one that comes next, have room for what waits and so much more? */
static int
log_room(mmi_spool *s, uint64_t more)
{
    const mmi_spool_opts *o = &s->opts;
    uint64_t takes = mmi_spool_batch_size((uint32_t)(s->pending.size + more)) + LOG_END;
    uint64_t messages = s->last_seq + 1 - mmi_spool_first(s);
    uint64_t bytes = s->sealed_bytes + s->then_end + takes + MMI_SPOOL_FILE_HEAD; /* if it rolls */
    if (o->max_messages > 0 && messages >= o->max_messages) {
        return log_refuse(s, MMI_SPOOL_FULL_MESSAGES);
    }
    if (o->max_bytes > 0 && bytes > o->max_bytes) {
        return log_refuse(s, MMI_SPOOL_FULL_BYTES);
    }
    if ((!s->cramped && s->then_end + takes <= o->file_bytes) || s->spare >= 0) {
        return MM_OK;
    }
    s->wants_spare = true;
    return s->no_spare && !s->busy ? log_refuse(s, MMI_SPOOL_FULL_DISK) : MM_EAGAIN;
}

int
mmi_spool_put(mmi_spool *s, const mmi_spool_record *r, uint64_t *seq)
{
    mmi_spool_pending *b = &s->pending;
    uint64_t size = mmi_spool_record_size(r);
    const uint64_t head = MMI_SPOOL_FILE_HEAD + MMI_SPOOL_BATCH_HEAD + MMI_SPOOL_ALIGN + LOG_END;
    if (s->failed) {
        return MM_EIO;
    }
    if (r->producer != NULL && mmi_producers_repeats(&s->producers, r->producer, r->number, seq)) {
        return MMI_SPOOL_REPEATED;
    }
    if (s->last_seq >= LOG_SEQ_MAX) {
        return MM_ENOSPC;
    }
    if (size > MMI_SPOOL_BODY_MAX || size > s->opts.file_bytes - head) {
        return MM_EMSGSIZE;
    }
    if (b->count > 0 && (b->size + size > s->opts.batch_bytes || b->count == MMI_SPOOL_COUNT_MAX ||
                         b->count >= log_share(s))) {
        return MM_EAGAIN;
    }
    int rc = log_room(s, size);
    s->full = rc == MM_ENOSPC;
    rc = rc == MM_OK ? mmi_spool_body_room(&b->body, &b->cap, b->size + size) : rc;
    rc = rc == MM_OK && r->producer != NULL ? mmi_producers_reserve(&s->producers) : rc;
    if (rc != MM_OK) {
        return rc;
    }
    (void)mmi_spool_record_put(b->body + b->size, r);
    b->size += (uint32_t)size;
    b->first_seq = b->count == 0 ? s->last_seq + 1 : b->first_seq;
    b->count++;
    *seq = ++s->last_seq;
    if (r->producer != NULL) {
        mmi_producers_note(&s->producers, r->producer, r->number, *seq);
    }
    LOG_CHANGED(s);
    return MM_OK;
}

/* What waits becomes what is written. */
static void
log_take_batch(mmi_spool *s, mmi_spool_job *job, uint64_t now)
{
    mmi_spool_pending empty = s->writing;
    uint64_t takes = mmi_spool_batch_size(s->pending.size);
    s->writing = s->pending;
    s->pending = (mmi_spool_pending){ .body = empty.body, .cap = empty.cap };
    s->time_us = now > s->time_us ? now : s->time_us;
    job->batch = (mmi_spool_batch){ .epoch = s->epoch,
                                    .count = (uint16_t)s->writing.count,
                                    .type = MMI_SPOOL_DATA,
                                    .first_seq = s->writing.first_seq,
                                    .time_us = s->time_us,
                                    .durable_seq = s->durable_seq };
    job->rolls = s->cramped || s->file.end + takes + LOG_END > s->opts.file_bytes ||
                 (s->spare >= 0 && log_here(s) >= log_share(s));
    s->then_end = s->file.end + takes;
}

/* The spare becomes the last file; with the batch that is taken, if there is one. */
static void
log_take_spare(mmi_spool *s, mmi_spool_job *job, uint64_t now)
{
    job->rolls = true;
    job->used = s->spare;
    job->stale = s->spare_stale;
    s->spare = -1;
    s->spare_stale = 0;
    s->time_us = now > s->time_us ? now : s->time_us;
    job->head = (mmi_spool_head){ .base_seq = s->written_seq + 1,
                                  .made_us = s->time_us,
                                  .epoch = s->epoch };
    memcpy(job->head.uuid, s->uuid, sizeof job->head.uuid);
    s->opts.random(s->opts.arg, &job->head.salt, sizeof job->head.salt);
    s->then_end = MMI_SPOOL_FILE_HEAD;
    s->then_end += s->writing.count > 0 ? mmi_spool_batch_size(s->writing.size) : 0;
    s->wants_roll = false;
}

/* Those of all that was put by now: what is taken is all of it.  When a file is begun, so that an
 * opening has to read no more than the last one; and if that failed, when something is written. */
static void
log_take_producers(mmi_spool *s, mmi_spool_job *job)
{
    const bool again = mmi_spool_unlisted(s) && (s->wants_list || s->writing.count > 0);
    job->marks = s->producers.count > 0 && s->origin_seq == 0;
    s->origin_seq = job->marks ? s->producers.first_seq : s->origin_seq;
    s->wants_list = false;
    if (s->producers.count > 0 && (job->rolls || again)) {
        job->list = mmi_producers_image(&s->producers, s->uuid, s->last_seq, &job->list_size);
        job->list_seq = s->last_seq;
    }
}

/* A large batch: more seems to come, and what is written now is synced with that.  The next job
 * syncs at the latest, if it has nothing large.  A sync of room that was never written to costs
 * about as much as it takes to write some MiB. */
static bool
log_defers(const mmi_spool *s)
{
    const uint64_t largest = s->opts.batch_bytes;
    return s->writing.size >= largest / MMI_SPOOL_LARGE_PART &&
           s->then_end - s->synced_end < largest * MMI_SPOOL_BATCHES_A_SYNC;
}

bool
mmi_spool_take(mmi_spool *s, bool syncs, mmi_spool_job *job)
{
    *job = (mmi_spool_job){ .file = s->file, .used = -1, .spare = -1 };
    bool writes = s->pending.count > 0;
    if (s->busy || s->failed || mmi_spool_files_reserve(s, 1) != MM_OK) {
        return false; /* without memory it waits */
    }
    uint64_t now = s->opts.now_us(s->opts.arg);
    if (writes) {
        log_take_batch(s, job, now);
    }
    if (job->rolls || (s->wants_roll && s->spare >= 0)) {
        log_take_spare(s, job, now);
    }
    log_take_producers(s, job);
    bool unsynced = writes || s->durable_seq < s->written_seq;
    bool at_once = syncs || job->list != NULL;
    job->syncs = unsynced && (at_once || (s->opts.level == MMI_SPOOL_DISK && !log_defers(s)));
    bool half =
        s->then_end > s->opts.file_bytes / 2 || log_here(s) + s->writing.count >= log_share(s) / 2;
    bool soon = s->wants_spare || s->wants_roll || (writes && (half || job->rolls));
    job->spares = s->spare < 0 && soon;
    job->reserves = job->spares && !s->reserved;
    bool news = (job->syncs && writes) || s->durable_seq != s->noted_seq;
    job->notes = news && now - s->noted_us >= (uint64_t)MMI_SPOOL_NOTE_US;
    s->noted_us = job->notes ? now : s->noted_us;
    s->busy = writes || job->rolls || job->syncs || job->spares || job->notes || job->list != NULL;
    return s->busy;
}

/* The batch, if there is one, as the first of a new file, which gets its name when all of it is
 * durable. */
static int
log_roll(const mmi_spool *s, mmi_spool_job *job)
{
    const mmi_spool_place *p = &s->place;
    const mmi_spool_pending *b = &s->writing;
    mmi_spool_file next;
    int rc = p->files->sync_data(p->files->self, job->file.file);
    if (rc != MM_OK) {
        return rc;
    }
    job->batch.durable_seq = job->head.base_seq - 1; /* as is known now */
    rc = mmi_spool_file_begin(p, &next, job->used, job->stale, &job->head);
    if (rc == MM_OK && b->count > 0) {
        rc = mmi_spool_file_write(p, &next, &job->batch, b->body, b->size, s->opts.file_bytes);
    }
    rc = rc == MM_OK ? mmi_spool_file_name(p, &next) : rc;
    if (rc == MM_OK) {
        /* The rest of its room is others'; where that fails it is zeros. */
        (void)p->files->truncate(p->files->self, job->file.file, job->file.end);
        mmi_spool_file_close(p, &job->file);
        job->file = next;
    }
    return rc;
}

void
mmi_spool_write(mmi_spool *s, mmi_spool_job *job)
{
    const mmi_spool_place *p = &s->place;
    const mmi_spool_pending *b = &s->writing;
    job->rc = job->marks ? mmi_spool_note(s, s->durable_seq) : MM_OK;
    if (job->rc == MM_OK && job->rolls) {
        job->rc = log_roll(s, job);
    } else if (job->rc == MM_OK && b->count > 0) {
        job->rc =
            mmi_spool_file_write(p, &job->file, &job->batch, b->body, b->size, s->opts.file_bytes);
    }
    if (job->rc == MM_OK && job->syncs && !job->rolls) {
        job->rc = p->files->sync_data(p->files->self, job->file.file);
    }
    job->durable_seq = job->syncs || job->rolls ? s->written_seq + b->count : s->durable_seq;
    if (job->rc == MM_OK && job->list != NULL) {
        job->rc = mmi_spool_producers_save(s, job->list, job->list_size, &job->listed);
    }
    if (job->rc == MM_OK && job->notes) {
        job->rc = mmi_spool_note(s, job->durable_seq);
    }
    if (job->rc == MM_OK && job->spares) {
        job->spare_rc = job->reserves ? mmi_spool_reserve_make(s) : MM_OK;
        job->reserves = job->reserves && job->spare_rc == MM_OK;
        job->spare_rc = job->spare_rc == MM_OK ? mmi_spool_spare(p, s->opts.file_bytes, &job->spare)
                                               : job->spare_rc;
    }
}

/* One file more; room for it was made when it was taken.  In place of one that had no message: they
 * have one name. */
static void
log_rolled(mmi_spool *s, uint64_t base)
{
    if (s->bases[s->file_count - 1] < base) {
        s->ends[s->file_count - 1] = s->file.end;
        s->sealed_bytes += s->file.end;
        s->bases[s->file_count++] = base;
    }
}

int
mmi_spool_wrote(mmi_spool *s, mmi_spool_job *job)
{
    s->busy = false;
    mmi_free(job->list);
    job->list = NULL;
    s->listed_seq = job->listed ? job->list_seq : s->listed_seq;
    if (job->rc != MM_OK) {
        s->failed = true;
        s->writing.count = s->writing.size = 0;
        if (job->rolls && job->file.file == job->used) {
            s->file.file = job->used; /* the old one is closed */
        } else if (job->rolls && job->used >= 0) {
            s->spare = job->used; /* to be closed with the rest */
        }
        return MM_EIO;
    }
    if (job->spares) {
        s->reserved = s->reserved || job->reserves;
        s->spare = job->spare;
        s->no_spare = job->spare_rc != MM_OK;
        s->wants_spare = false;
        s->wants_roll = s->wants_roll && !s->no_spare;
    }
    if (job->rolls) {
        log_rolled(s, job->head.base_seq);
        s->cramped = false;
        s->begun_us = 0;
    }
    if (s->writing.count > 0 && s->begun_us == 0) {
        s->begun_us = job->batch.time_us;
    }
    s->file = job->file;
    s->synced_end = job->syncs || job->rolls ? s->file.end : s->synced_end;
    s->written_seq += s->writing.count;
    s->durable_seq = job->durable_seq;
    s->noted_seq = job->notes ? job->durable_seq : s->noted_seq;
    s->writing.count = s->writing.size = 0;
    LOG_CHANGED(s);
    return MM_OK;
}
