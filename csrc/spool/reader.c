/*
 * spool/reader.c: see spool/reader.h.
 */
#include "spool/reader.h"

#include <string.h>

#include "base/meta.h"

void
mmi_spool_locate(const mmi_spool *s, uint64_t seq, mmi_spool_where *out)
{
    uint32_t from = 0, to = s->file_count;
    *out =
        (mmi_spool_where){ .visible = mmi_spool_visible(s), .first = s->bases[0], .uuid = s->uuid };
    if (seq < s->bases[0]) {
        return;
    }
    while (to - from > 1) {
        uint32_t middle = from + (to - from) / 2;
        if (s->bases[middle] <= seq) {
            from = middle;
        } else {
            to = middle;
        }
    }
    out->base = s->bases[from];
    out->bound = from + 1 < s->file_count ? s->bases[from + 1] : 0;
}

void
mmi_spool_reader_open(mmi_spool_reader *r, const mmi_files *files, int dir, uint64_t seq)
{
    *r = (mmi_spool_reader){ .place = { files, dir }, .file = { .file = -1 }, .next_seq = seq };
}

void
mmi_spool_reader_close(mmi_spool_reader *r)
{
    mmi_spool_file_close(&r->place, &r->file);
    mmi_spool_scan_end(&r->scan);
    r->loaded = false;
}

void
mmi_spool_reader_seek(mmi_spool_reader *r, uint64_t seq)
{
    if (seq < r->next_seq) { /* behind: from the beginning of its file */
        mmi_spool_file_close(&r->place, &r->file);
        r->loaded = false;
    }
    r->next_seq = seq;
    r->begun = false;
}

/* Is next_seq in the batch that was read? */
static bool
reader_has(const mmi_spool_reader *r)
{
    return r->loaded && r->scan.batch.first_seq <= r->next_seq && r->next_seq < r->scan.next_seq;
}

/* The next batch of the file.  As mmi_spool_scan_at. */
static int
reader_step(mmi_spool_reader *r)
{
    r->walks = false;
    if (r->loaded) {
        return mmi_spool_scan_next(&r->place, &r->file, &r->scan);
    }
    r->scan.next_seq = r->file.head.base_seq;
    r->scan.chain = r->file.head.crc;
    r->scan.chained = true;
    int rc = mmi_spool_scan_at(&r->place, &r->file, &r->scan, MMI_SPOOL_FILE_HEAD);
    if (rc != 1) {
        r->scan.at = MMI_SPOOL_FILE_HEAD;
    }
    return rc;
}

/* Behind what is no batch: the next that is one, of this file.  1; 0: there is none. */
static int
reader_skip(mmi_spool_reader *r, uint64_t from, uint64_t bound)
{
    uint64_t at =
        r->loaded ? r->scan.at + mmi_spool_batch_size(r->scan.batch.body_size) : r->scan.at;
    int rc;
    while ((rc = mmi_spool_scan_find(&r->place, &r->file, &r->scan, at)) == 1) {
        uint64_t first = r->scan.batch.first_seq;
        if (first >= from && (bound == 0 || first < bound)) {
            break;
        }
        at = r->scan.at + mmi_spool_batch_size(r->scan.batch.body_size);
    }
    r->loaded = rc == 1;
    return rc;
}

/* Goes on to the batch that has next_seq. */
static int
reader_find(mmi_spool_reader *r, const mmi_spool_where *where)
{
    uint64_t bound = where->bound;
    while (!reader_has(r)) {
        if (r->loaded &&
            r->scan.batch.first_seq > r->next_seq) { /* told of before, and asked again */
            r->lost_last = r->scan.batch.first_seq - 1;
            return MMI_SPOOL_HARMED;
        }
        uint64_t from = r->loaded ? r->scan.next_seq : r->file.head.base_seq;
        int rc = reader_step(r);
        if (rc < 0) {
            return rc;
        }
        bool mine = rc == 1 && (bound == 0 || r->scan.batch.first_seq < bound);
        r->loaded = r->loaded || rc == 1;
        if (mine) {
            continue;
        }
        rc = rc == 1 ? 0 : reader_skip(r, from, bound); /* else the rest is the next file's */
        if (rc < 0) {
            return rc;
        }
        uint64_t goes_on = rc == 1      ? r->scan.batch.first_seq
                           : bound != 0 ? bound
                                        : where->visible + 1;
        if (r->next_seq < goes_on) {
            r->lost_last = goes_on - 1;
            r->loaded = rc == 1;
            return MMI_SPOOL_HARMED;
        }
    }
    return MM_OK;
}

int
mmi_spool_reader_begin(mmi_spool_reader *r)
{
    mmi_spool_record record;
    uint64_t seq;
    int rc = r->walks
                 ? MM_OK
                 : mmi_spool_walk_begin(&r->walk, &r->scan.batch, r->scan.body, r->scan.next_seq);
    rc = rc == MM_OK ? 1 : rc;
    while (rc == 1 && r->walk.seq < r->next_seq) {
        rc = mmi_spool_walk_next(&r->walk, &record, &seq);
    }
    r->walks = rc >= 0;
    if (rc < 0) {
        return rc;
    }
    r->begun = true;
    r->next_seq = r->walk.seq;
    return r->walk.records > 0;
}

/* Opens the file that has next_seq, if it is another one.  MM_OK; MMI_SPOOL_HARMED; or an error. */
static int
reader_open(mmi_spool_reader *r, const mmi_spool_where *where)
{
    if (where->base == 0 || (r->file.file >= 0 && r->file.head.base_seq == where->base)) {
        return MM_OK;
    }
    mmi_spool_file_close(&r->place, &r->file);
    r->loaded = false;
    int rc = mmi_spool_file_open(&r->place, where->base, false, &r->file);
    if (rc == MM_OK && memcmp(r->file.head.uuid, where->uuid, MMI_SPOOL_UUID) != 0) {
        mmi_spool_file_close(&r->place, &r->file);
        rc = MM_EPROTO; /* another spool's */
    }
    if (rc == MM_EPROTO || rc == MM_EIO) {
        r->lost_last = where->bound != 0 ? where->bound - 1 : where->visible;
        return MMI_SPOOL_HARMED;
    }
    return rc;
}

/* What there is in the file that is open.  As load. */
static int
reader_here(mmi_spool_reader *r, const mmi_spool_where *where)
{
    const uint64_t last = where->bound != 0 ? where->bound - 1 : where->visible;
    int rc = 0;
    r->begun = false; /* what was begun is at its end */
    while (rc == 0) {
        rc = reader_find(r, where);
        if (rc != MM_OK) {
            return rc;
        }
        if (r->scan.batch.type == MMI_SPOOL_GAP) { /* it says nothing of the next file's */
            r->lost_last = r->scan.next_seq - 1 < last ? r->scan.next_seq - 1 : last;
            return MMI_SPOOL_HARMED;
        }
        rc = mmi_spool_reader_begin(r);
        if (rc == 0 && r->each) {
            return 1;
        }
        if (rc == 0 && r->next_seq > last) {
            return where->bound != 0 ? MMI_SPOOL_PASSED : 0;
        }
    }
    return rc;
}

/* Has another file its name by now?  Then that is opened: 1.  MM_ENOENT: it went, and its room may
 * have been written over.  0: it is the one. */
static int
reader_anew(mmi_spool_reader *r, const mmi_spool_where *where)
{
    mmi_spool_file file;
    int rc = r->file.file < 0 ? MM_EIO : mmi_spool_file_open(&r->place, where->base, false, &file);
    if (rc != MM_OK) {
        return rc == MM_ENOENT ? rc : 0;
    }
    bool other = file.head.crc != r->file.head.crc &&
                 memcmp(file.head.uuid, where->uuid, MMI_SPOOL_UUID) == 0;
    mmi_spool_file_close(&r->place, other ? &r->file : &file);
    if (other) {
        r->file = file;
        r->loaded = false;
    }
    return other;
}

int
mmi_spool_reader_load(mmi_spool_reader *r, const mmi_spool_where *where)
{
    if (r->next_seq > where->visible) {
        return 0;
    }
    if (reader_has(r) && r->begun) {
        return 1; /* it is in the middle of it */
    }
    if (where->base == 0 && !reader_has(r)) {
        return MM_ENOENT;
    }
    int rc = reader_open(r, where);
    rc = rc == MM_OK ? reader_here(r, where) : rc;
    int anew = rc == MMI_SPOOL_HARMED && where->base != 0 ? reader_anew(r, where) : 0;
    if (anew < 0) {
        mmi_spool_reader_close(r);
        return anew;
    }
    return anew == 1 ? reader_here(r, where) : rc;
}

int
mmi_spool_reader_next(mmi_spool_reader *r, mmi_spool_record *out, uint64_t *seq)
{
    if (!r->loaded || !r->begun) {
        return 0;
    }
    int rc = mmi_spool_walk_next(&r->walk, out, seq);
    if (rc == 1 && out->meta_size > 0 && !mmi_meta_check(out->meta, out->meta_size)) {
        rc = MM_EPROTO;
    }
    r->next_seq = rc == 1 ? r->walk.seq : r->next_seq;
    r->begun = r->walks = rc >= 0; /* else who loads again is at the same one */
    return rc;
}
