/*
 * api/spool_reader.c: what is read of a spool and of a view of one, message by message.
 *
 * Not here: tables of it (api/spool_arrow.c).  Law: as in spool/reader.h; what is read stays where
 * it is until the next load.
 */
#include "api/spool.h"

int
mm_spool_reader_open(mm_spool *s, uint64_t seq, mm_spool_reader **reader)
{
    const mm_spool_reader of = { .spool = s };
    return mmi_spool_reader_make(&of, &s->shared.files, s->shared.dir, seq, reader);
}

void
mm_spool_reader_close(mm_spool_reader *r)
{
    mmi_spool_reader_close(&r->reader);
    mmi_free(r);
}

/* *first: the first number that is there. */
static int
reader_load(mm_spool_reader *r, int64_t timeout_ms, int64_t slice_ms, uint64_t *first)
{
    mmi_spool_where where;
    mmi_spool_shared *h = &r->spool->shared;
    const uint64_t from = r->reader.next_seq;
    mmi_spool_shared_locate(h, from, &where);
    if (where.visible < r->reader.next_seq && timeout_ms != 0) {
        const mmi_spool_wait wait = mmi_spool_wait_of(timeout_ms, slice_ms);
        int rc = mmi_spool_shared_follow(h, r->reader.next_seq - 1, &wait);
        if (rc != MM_OK) {
            return rc == MM_ETIMEDOUT ? 0 : rc;
        }
    }
    int rc = mmi_spool_shared_load(h, &r->reader, &where);
    *first = where.first;
    /* Behind what compaction removed there is nothing yet: who waits looks at his clock. */
    return rc == 0 && timeout_ms != 0 && r->reader.next_seq != from ? MM_EINTR : rc;
}

int
mm_spool_reader_load(mm_spool_reader *r, int64_t timeout_ms, int64_t slice_ms, uint64_t *goes_on)
{
    uint64_t first = 0;
    int rc = r->view != NULL ? mmi_spool_view_load(r, timeout_ms, slice_ms, &first)
                             : reader_load(r, timeout_ms, slice_ms, &first);
    *goes_on = rc == MM_ENOENT ? first : r->reader.lost_last + 1;
    return rc;
}

int
mm_spool_reader_next(mm_spool_reader *r, mm_spool_message *out)
{
    mmi_spool_record record;
    uint64_t seq;
    int rc = mmi_spool_reader_next(&r->reader, &record, &seq);
    if (rc == 1) {
        const mmi_spool_batch *batch = &r->reader.scan.batch;
        const uint64_t first = mmi_spool_record_first(&record);
        *out = (mm_spool_message){ .seq = seq,
                                   .time_us = batch->time_us,
                                   .epoch = batch->epoch,
                                   .frames = record.frames,
                                   .meta_size = record.meta_size,
                                   .sizes_size = (uint32_t)mmi_spool_record_sizes_size(&record),
                                   .meta = record.meta,
                                   .sizes = record.sizes_at,
                                   .first = record.data,
                                   .data = record.data + first,
                                   .first_size = first,
                                   .size = record.size - first };
    }
    return rc;
}

void
mm_spool_message_frames(const mm_spool_message *m, uint64_t *sizes)
{
    const uint64_t size = m->first_size + m->size;
    mmi_spool_frame_sizes(m->sizes, m->sizes_size, m->frames, size, sizes);
}

uint64_t
mm_spool_reader_seq(const mm_spool_reader *r)
{
    return r->reader.next_seq;
}

void
mm_spool_reader_seek(mm_spool_reader *r, uint64_t seq)
{
    mmi_spool_reader_seek(&r->reader, seq);
}
