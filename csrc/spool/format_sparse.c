/*
 * format_sparse.c: the records of a batch, one after another, with their numbers: of a DATA they
 * follow each other, of a SPARSE some are passed over.
 *
 * Not here: heads (format.c), what is in a record (format_record.c).
 * Law: as in format.h; numbers go up, and stay within the batch.
 */
#include "base/octets.h"
#include "base/varint.h"
#include "spool/format.h"

enum { SPARSE_CLEAN = 8 };

void
mmi_spool_sparse_put(uint8_t out[MMI_SPOOL_SPARSE_BODY], const mmi_spool_sparse *sparse)
{
    mmi_le64_put(out, sparse->last_seq);
    mmi_le64_put(out + SPARSE_CLEAN, sparse->clean_us);
}

int
mmi_spool_sparse_get(const uint8_t *body, size_t size, mmi_spool_sparse *out)
{
    if (size < MMI_SPOOL_SPARSE_BODY) {
        return MM_EPROTO;
    }
    *out = (mmi_spool_sparse){
        .last_seq = mmi_le64_get(body),
        .clean_us = mmi_le64_get(body + SPARSE_CLEAN),
    };
    return MM_OK;
}

/* On to the record of a SPARSE that comes next, whose number is `seq` if none is passed over. */
static int
walk_skip(mmi_spool_walk *w, uint64_t seq)
{
    if (w->records == 0) {
        w->seq = w->behind;
        return w->left == 0 ? MM_OK : MM_EPROTO;
    }
    uint64_t skip;
    const uint8_t *at = mmi_varint_get(w->at, w->at + w->left, &skip);
    if (at == NULL || seq >= w->behind || skip >= w->behind - seq) {
        return MM_EPROTO;
    }
    w->left -= (uint64_t)(at - w->at);
    w->at = at;
    w->seq = seq + skip;
    return MM_OK;
}

int
mmi_spool_walk_begin(mmi_spool_walk *w, const mmi_spool_batch *batch, const uint8_t *body,
                     uint64_t behind)
{
    *w = (mmi_spool_walk){ .at = body,
                           .left = batch->body_size,
                           .seq = batch->first_seq,
                           .behind = behind,
                           .records = batch->count,
                           .sparse = batch->type == MMI_SPOOL_SPARSE };
    if (!w->sparse) {
        return MM_OK;
    }
    w->at += MMI_SPOOL_SPARSE_BODY;
    w->left -= MMI_SPOOL_SPARSE_BODY;
    return walk_skip(w, batch->first_seq);
}

int
mmi_spool_walk_next(mmi_spool_walk *w, mmi_spool_record *out, uint64_t *seq)
{
    if (w->records == 0) {
        return 0;
    }
    int64_t size = mmi_spool_record_get(w->at, w->left, out);
    if (size < 0) {
        return MM_EPROTO;
    }
    *seq = w->seq;
    w->at += size;
    w->left -= (uint64_t)size;
    w->records--;
    if (w->sparse) {
        return walk_skip(w, *seq + 1) == MM_OK ? 1 : MM_EPROTO;
    }
    w->seq++;
    return 1;
}
