/*
 * spool/scan.c: looking through a segment file: what is sound there, and what follows what.
 *
 * Law: as in spool/file.h; memory is asked for by what was checked, and no more than a body may
 * have.
 */
#include "spool/file.h"

#include <string.h>

enum { SCAN_LOOK = 64 * 1024 /* octets that are read at once in search of something */ };

int64_t
mmi_spool_read_over(const mmi_spool_place *p, int file, uint64_t at, uint8_t *buf, size_t size)
{
    int64_t got = p->files->read(p->files->self, file, at, buf, size);
    uint64_t end, part;
    if (got != MM_EIO) {
        return got;
    }
    int rc = p->files->size(p->files->self, file, &end);
    if (rc != MM_OK) {
        return rc;
    }
    uint64_t left = end > at ? end - at : 0, most = left < size ? left : size;
    for (uint64_t done = 0; done < most; done += part) {
        part = MMI_FILE_SECTOR - (at + done) % MMI_FILE_SECTOR;
        part = part < most - done ? part : most - done;
        got = p->files->read(p->files->self, file, at + done, buf + done, part);
        if (got < 0 && got != MM_EIO) {
            return got;
        }
        if (got != (int64_t)part) { /* or it is shorter than a moment ago */
            memset(buf + done, MMI_SPOOL_UNREADABLE, part);
        }
    }
    return (int64_t)most;
}

/* Room for the body of the batch, and the body. 1; 0: it is not whole, or harmed. */
static int
scan_body(const mmi_spool_place *p, const mmi_spool_file *f, mmi_spool_scan *scan, uint64_t at,
          const mmi_spool_batch *batch)
{
    uint64_t size;
    int rc = p->files->size(p->files->self, f->file, &size);
    if (rc != MM_OK || size < at + MMI_SPOOL_BATCH_HEAD + batch->body_size) {
        return rc; /* no memory for what cannot be there */
    }
    rc = mmi_spool_body_room(&scan->body, &scan->body_cap, batch->body_size);
    if (rc != MM_OK) {
        return rc;
    }
    int64_t got = batch->body_size > 0
                      ? p->files->read(p->files->self, f->file, at + MMI_SPOOL_BATCH_HEAD,
                                       scan->body, batch->body_size)
                      : 0;
    scan->unreadable = scan->unreadable || got == MM_EIO;
    if (got < 0) {
        return got == MM_EIO ? 0 : (int)got;
    }
    return got == (int64_t)batch->body_size &&
           mmi_spool_body_check(batch, f->head.salt, scan->body);
}

uint64_t
mmi_spool_scan_behind(const mmi_spool_batch *batch, const uint8_t *body)
{
    mmi_spool_gap gap;
    mmi_spool_sparse sparse;
    if (batch->type == MMI_SPOOL_SPARSE) {
        bool good = mmi_spool_sparse_get(body, batch->body_size, &sparse) == MM_OK &&
                    sparse.last_seq >= batch->first_seq && sparse.last_seq < UINT64_MAX &&
                    sparse.last_seq - batch->first_seq + 1 >= batch->count;
        return good ? sparse.last_seq + 1 : 0;
    }
    if (batch->type != MMI_SPOOL_GAP) {
        return batch->first_seq + batch->count;
    }
    bool sound = mmi_spool_gap_get(body, batch->body_size, &gap) == MM_OK &&
                 gap.last_seq >= batch->first_seq && gap.last_seq < UINT64_MAX;
    return sound ? gap.last_seq + 1 : 0;
}

int
mmi_spool_scan_at(const mmi_spool_place *p, const mmi_spool_file *f, mmi_spool_scan *scan,
                  uint64_t at)
{
    uint8_t head[MMI_SPOOL_BATCH_HEAD];
    mmi_spool_batch batch;
    int64_t got = p->files->read(p->files->self, f->file, at, head, sizeof head);
    scan->unreadable = scan->unreadable || got == MM_EIO;
    if (got < (int64_t)sizeof head) {
        return got < 0 && got != MM_EIO ? (int)got : 0;
    }
    bool sound = mmi_spool_batch_get(head, f->head.salt, &batch) == MM_OK &&
                 (batch.type != MMI_SPOOL_SPARSE || f->head.version == MMI_SPOOL_COMPACTED) &&
                 (!scan->chained || batch.chain == scan->chain) &&
                 (scan->next_seq == 0 || batch.first_seq == scan->next_seq);
    int rc = sound ? scan_body(p, f, scan, at, &batch) : 0;
    uint64_t behind = rc == 1 ? mmi_spool_scan_behind(&batch, scan->body) : 0;
    if (rc != 1 || behind == 0) {
        return rc < 0 ? rc : 0;
    }
    scan->at = at;
    scan->batch = batch;
    memcpy(scan->head, head, sizeof head);
    scan->next_seq = behind;
    scan->chain = batch.head_crc;
    scan->chained = true;
    return 1;
}

int
mmi_spool_scan_next(const mmi_spool_place *p, const mmi_spool_file *f, mmi_spool_scan *scan)
{
    return mmi_spool_scan_at(p, f, scan, scan->at + mmi_spool_batch_size(scan->batch.body_size));
}

int
mmi_spool_scan_find(const mmi_spool_place *p, const mmi_spool_file *f, mmi_spool_scan *scan,
                    uint64_t at)
{
    uint8_t look[SCAN_LOOK];
    for (;;) {
        int64_t got = mmi_spool_read_over(p, f->file, at, look, sizeof look);
        if (got < MMI_SPOOL_ALIGN) {
            return got < 0 ? (int)got : 0;
        }
        for (int64_t i = 0; i + MMI_SPOOL_ALIGN <= got; i += MMI_SPOOL_ALIGN) {
            if (mmi_spool_batch_begins(look + i)) {
                scan->chained = false;
                scan->next_seq = 0;
                int rc = mmi_spool_scan_at(p, f, scan, at + (uint64_t)i);
                if (rc != 0) {
                    return rc;
                }
            }
        }
        at += (uint64_t)got & ~(uint64_t)(MMI_SPOOL_ALIGN - 1);
    }
}

void
mmi_spool_scan_end(mmi_spool_scan *scan)
{
    mmi_free(scan->body);
    *scan = (mmi_spool_scan){ .at = 0 };
}

int
mmi_spool_used(const mmi_spool_place *p, const mmi_spool_file *f, uint64_t at, uint64_t *end)
{
    uint8_t look[SCAN_LOOK];
    *end = at;
    for (;;) {
        int64_t got = mmi_spool_read_over(p, f->file, at, look, sizeof look);
        if (got <= 0) {
            return (int)got;
        }
        for (int64_t i = got; i-- > 0;) {
            if (look[i] != 0) {
                *end = at + (uint64_t)i + 1;
                break;
            }
        }
        at += (uint64_t)got;
    }
}
