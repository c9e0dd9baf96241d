/*
 * spool/recover.c: see spool/recover.h.
 */
#include "spool/recover.h"

#include <string.h>

enum {
    LOOK_RECORD_MIN = 2,  /* octets of a message in a batch */
    LOOK_TORN = 64 * 1024 /* octets that may be of a torn batch whose head is, too */
};

/* The last number of a batch, or of what it tells of. */
static uint64_t
look_last(const mmi_spool_scan *scan)
{
    return scan->next_seq - 1;
}

/* This batch begins where the proved ones end, as far as is known by now; or ends there. */
static void
look_pass(const mmi_spool_scan *scan, mmi_spool_found *out)
{
    if (look_last(scan) <= out->proved_seq) {
        out->proved_end = scan->at + mmi_spool_batch_size(scan->batch.body_size);
        out->proved_next = scan->next_seq;
        out->proved_chain = scan->chain;
    } else if (scan->batch.first_seq <= out->proved_seq + 1) {
        out->proved_end = scan->at;
        out->proved_next = scan->batch.first_seq;
        out->proved_chain = scan->batch.chain;
    }
}

/* The sound batches at the beginning. */
static int
look_front(const mmi_spool_place *p, const mmi_spool_file *f, mmi_spool_scan *scan,
           mmi_spool_found *out)
{
    scan->next_seq = f->head.base_seq;
    scan->chain = f->head.crc;
    scan->chained = true;
    int rc = mmi_spool_scan_at(p, f, scan, MMI_SPOOL_FILE_HEAD);
    for (; rc == 1; rc = mmi_spool_scan_next(p, f, scan)) {
        if (scan->batch.durable_seq > out->proved_seq) {
            out->proved_seq = scan->batch.durable_seq;
        }
        look_pass(scan, out);
        out->next_seq = scan->next_seq;
        out->end = scan->at + mmi_spool_batch_size(scan->batch.body_size);
        out->chain = scan->chain;
        out->time_us = scan->batch.time_us;
        bool first = out->first_us == 0 && scan->batch.count > 0;
        out->first_us = first ? scan->batch.time_us : out->first_us;
        out->epoch = scan->batch.epoch > out->epoch ? scan->batch.epoch : out->epoch;
        out->closed = scan->batch.type == MMI_SPOOL_CLOSE;
        out->close_chain = scan->batch.chain;
    }
    return rc;
}

/* What is behind them could not be read: once more, as a disk that fails now and then is no harm.
 * MM_EIO: now it is a sound batch, and may be one the next time. */
static int
look_again(const mmi_spool_place *p, const mmi_spool_file *f, mmi_spool_scan *scan,
           mmi_spool_found *out)
{
    scan->unreadable = false;
    scan->next_seq = out->next_seq;
    scan->chain = out->chain;
    scan->chained = true;
    int rc = mmi_spool_scan_at(p, f, scan, out->end);
    out->unreadable = scan->unreadable;
    return rc == 1 ? MM_EIO : rc;
}

/* Where a torn batch ends that begins at `end`, in room that another file had: zeros there say that
 * none was begun.  Without its head nobody knows how far it went: what is behind the first octets
 * cannot be told from what was there before, and most of it is that. */
static int
look_torn(const mmi_spool_place *p, const mmi_spool_file *f, mmi_spool_found *out)
{
    static const uint8_t zeros[MMI_SPOOL_BATCH_HEAD];
    uint8_t head[MMI_SPOOL_BATCH_HEAD];
    mmi_spool_batch batch;
    int64_t got = mmi_spool_read_over(p, f->file, out->end, head, sizeof head);
    out->used = out->end;
    if (got <= 0 || memcmp(head, zeros, (size_t)got) == 0) {
        return got < 0 ? (int)got : MM_OK;
    }
    bool sound =
        got == (int64_t)sizeof head && mmi_spool_batch_get(head, f->head.salt, &batch) == MM_OK;
    uint64_t used = out->end + (sound ? mmi_spool_batch_size(batch.body_size) : LOOK_TORN);
    out->used = used < out->stale ? used : out->stale;
    return MM_OK;
}

/* What is behind `end` and may be of this file. */
static int
look_used(const mmi_spool_place *p, const mmi_spool_file *f, mmi_spool_found *out)
{
    bool again = f->head.version == MMI_SPOOL_AGAIN;
    int rc = again ? p->files->size(p->files->self, f->file, &out->stale) : MM_OK;
    if (rc != MM_OK) {
        return rc;
    }
    return again && !out->unreadable ? look_torn(p, f, out)
                                     : mmi_spool_used(p, f, out->end, &out->used);
}

/* Behind them: whether a sound batch says that those in between were durable. */
static int
look_behind(const mmi_spool_place *p, const mmi_spool_file *f, mmi_spool_scan *scan,
            mmi_spool_found *out)
{
    uint64_t at = out->end;
    int rc;
    while ((rc = mmi_spool_scan_find(p, f, scan, at)) == 1) {
        bool later = scan->batch.first_seq >= out->next_seq;
        if (later && out->again == 0) {
            out->again = scan->at;
            out->lost_last = scan->batch.first_seq - 1;
        }
        if (later && scan->batch.durable_seq > out->proved_seq) {
            out->proved_seq = scan->batch.durable_seq;
        }
        at = scan->at + mmi_spool_batch_size(scan->batch.body_size);
        out->used = later && at > out->used ? at : out->used;
    }
    return rc;
}

/* Which numbers are gone. */
static void
look_lost(mmi_spool_found *out)
{
    if (out->again == 0) {
        uint64_t most = out->unreadable ? (out->used - out->end) / LOOK_RECORD_MIN : 0;
        uint64_t last = out->next_seq - 1 + most;
        out->lost_last = out->proved_seq > last ? out->proved_seq : last;
    }
    out->told_seq = out->lost_last > out->proved_seq ? out->lost_last : out->proved_seq;
}

/* Where what is proved ends, among the sound ones: from where that was known as they were passed,
 * as those behind may have said more. */
static int
look_proved(const mmi_spool_place *p, const mmi_spool_file *f, mmi_spool_scan *scan,
            mmi_spool_found *out)
{
    scan->next_seq = out->proved_next;
    scan->chain = out->proved_chain;
    scan->chained = true;
    int rc = out->proved_end < out->end ? mmi_spool_scan_at(p, f, scan, out->proved_end) : 0;
    for (; rc == 1 && look_last(scan) <= out->proved_seq; rc = mmi_spool_scan_next(p, f, scan)) {
        look_pass(scan, out);
    }
    return rc < 0 ? rc : MM_OK;
}

int
mmi_spool_look(const mmi_spool_place *p, const mmi_spool_file *f, uint64_t known_seq,
               mmi_spool_found *out)
{
    mmi_spool_scan scan = { .at = 0 };
    uint64_t before = f->head.base_seq - 1; /* a file is begun when all before it is durable */
    *out = (mmi_spool_found){ .next_seq = f->head.base_seq,
                              .end = MMI_SPOOL_FILE_HEAD,
                              .chain = f->head.crc,
                              .proved_end = MMI_SPOOL_FILE_HEAD,
                              .proved_next = f->head.base_seq,
                              .proved_chain = f->head.crc,
                              .proved_seq = known_seq > before ? known_seq : before };
    int rc = look_front(p, f, &scan, out);
    rc = rc == 0 && scan.unreadable ? look_again(p, f, &scan, out) : rc;
    rc = rc == 0 ? look_used(p, f, out) : rc;
    bool closed = out->closed && out->used == out->end;
    if (rc == 0 && !closed && (out->used > out->end || out->stale > out->end)) {
        rc = look_behind(p, f, &scan, out);
    }
    out->closed = closed && out->used == out->end;
    out->harmed = rc == 0 && (out->proved_seq >= out->next_seq || out->unreadable);
    out->told_seq = out->proved_seq;
    if (!out->harmed) {
        out->again = out->lost_last = 0;
    } else {
        look_lost(out);
    }
    rc = rc == 0 ? look_proved(p, f, &scan, out) : rc;
    mmi_spool_scan_end(&scan);
    return rc;
}
