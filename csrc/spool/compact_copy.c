/*
 * spool/compact_copy.c: what becomes of each message, and the file beside, to which goes what
 * stays.
 *
 * Law: as in spool/compact.h.  A batch of which all stays, with nothing missing before it, is the
 * same octets but for its chain and salt; else it is one SPARSE, or several if it would be too
 * large.
 */
#include <string.h>

#include "base/varint.h"
#include "spool/compact.h"

const char mmi_compact_name[] = "compact.seg";

/* Octets of the records that a SPARSE has room for. */
static const uint64_t COPY_ROOM = MMI_SPOOL_BODY_MAX - MMI_SPOOL_SPARSE_BODY;

uint64_t
mmi_compact_clean_us(const mmi_compact *c, bool *notes)
{
    mmi_spool_sparse sparse = { .clean_us = 0 };
    const mmi_spool_batch *batch = &c->scan.batch;
    if (batch->type == MMI_SPOOL_SPARSE) { /* it was checked as it was scanned */
        (void)mmi_spool_sparse_get(c->scan.body, batch->body_size, &sparse);
    }
    *notes = sparse.clean_us == 0 && c->scan.next_seq - 1 <= c->mapped_seq &&
             batch->first_seq < c->skipped_seq;
    return *notes ? c->plan.now_us : sparse.clean_us;
}

mmi_compact_fate
mmi_compact_fate_of(const mmi_compact *c, const mmi_spool_record *r, uint64_t seq,
                    uint64_t clean_us)
{
    uint64_t hash[2];
    if (!mmi_spool_keys_of(&c->keys, r, hash)) {
        return MMI_COMPACT_STAYS;
    }
    if (mmi_spool_keys_get(&c->keys, hash) > seq) {
        return MMI_COMPACT_GOES;
    }
    bool old = clean_us > 0 && c->plan.now_us >= clean_us &&
               c->plan.now_us - clean_us >= c->plan.tombstone_us;
    return r->size > 0 ? MMI_COMPACT_STAYS : old ? MMI_COMPACT_BURIED : MMI_COMPACT_WAITS;
}

int
mmi_compact_copy_begin(mmi_compact *c)
{
    const mmi_files *f = c->place.files;
    mmi_spool_file first;
    int file, rc = mmi_spool_file_open(&c->place, c->bases[c->group.first], false, &first);
    if (rc != MM_OK) { /* it went, or cannot be read: reading it says so */
        return MM_OK;
    }
    mmi_spool_file_close(&c->place, &first);
    rc = f->open(f->self, c->place.dir, mmi_compact_name, MMI_FILE_WRITE | MMI_FILE_CREATE, &file);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_spool_head head = { .base_seq = first.head.base_seq,
                            .made_us = first.head.made_us, /* so that it is as old as it was */
                            .epoch = first.head.epoch,
                            .version = MMI_SPOOL_COMPACTED };
    memcpy(head.uuid, c->uuid, sizeof head.uuid);
    c->random(c->arg, &head.salt, sizeof head.salt);
    c->to = (mmi_spool_file){ .file = file };
    rc = f->truncate(f->self, file, 0); /* what a crash left there is no part of it */
    rc = rc == MM_OK ? mmi_spool_file_begin(&c->place, &c->to, file, 0, &head) : rc;
    c->next_seq = head.base_seq;
    c->time_us = head.made_us;
    c->epoch = head.epoch;
    return rc;
}

void
mmi_compact_copy_drop(mmi_compact *c)
{
    const mmi_files *f = c->place.files;
    if (c->to.file >= 0) {
        mmi_spool_file_close(&c->place, &c->to);
        (void)f->unlink(f->self, c->place.dir, mmi_compact_name); /* if it has no other name now */
    }
}

/* A batch behind the last; its source's epoch and time are its own. */
static int
copy_put(mmi_compact *c, uint8_t type, uint64_t first, uint32_t count, const uint8_t *body,
         uint32_t size)
{
    const mmi_spool_batch *from = &c->scan.batch;
    mmi_spool_batch batch = { .epoch = c->epoch,
                              .type = type,
                              .count = (uint16_t)count,
                              .first_seq = first,
                              .time_us = c->time_us,
                              .durable_seq = from->durable_seq };
    return mmi_spool_file_write(&c->place, &c->to, &batch, body, size, 0);
}

/* What waits in the body is a SPARSE up to that number. */
static int
copy_sparse(mmi_compact *c, uint64_t last, uint64_t clean_us, uint32_t count, uint32_t size)
{
    uint8_t none[MMI_SPOOL_SPARSE_BODY], *body = count > 0 ? c->body : none;
    const mmi_spool_sparse sparse = { .last_seq = last, .clean_us = clean_us };
    mmi_spool_sparse_put(body, &sparse);
    int rc = copy_put(c, MMI_SPOOL_SPARSE, c->next_seq, count, body,
                      count > 0 ? size : (uint32_t)sizeof none);
    c->next_seq = rc == MM_OK ? last + 1 : c->next_seq;
    return rc;
}

/* Numbers before that one, of which nothing is there any more. */
static int
copy_hole(mmi_compact *c, uint64_t behind)
{
    return c->next_seq < behind ? copy_sparse(c, behind - 1, 0, 0, 0) : MM_OK;
}

/* What of a batch waits in the body. */
typedef struct copy_run {
    uint64_t last, clean_us; /* the number of the last record */
    uint32_t size, count;
} copy_run;

static int
run_flush(mmi_compact *c, copy_run *run)
{
    int rc =
        run->count > 0 ? copy_sparse(c, run->last, run->clean_us, run->count, run->size) : MM_OK;
    run->count = 0;
    run->size = MMI_SPOOL_SPARSE_BODY;
    return rc;
}

/* A record that stays, as the octets that it is. */
static int
run_add(mmi_compact *c, copy_run *run, uint64_t seq, const uint8_t *octets, uint64_t size)
{
    int rc = MM_OK;
    if (run->size + size + MMI_SPOOL_SKIP_MAX > COPY_ROOM) {
        rc = run_flush(c, run);
    }
    if (rc == MM_OK && size + MMI_SPOOL_SKIP_MAX > COPY_ROOM - MMI_SPOOL_SPARSE_BODY) {
        rc = copy_hole(c, seq); /* it has no room in a SPARSE, and needs none */
        rc = rc == MM_OK ? copy_put(c, MMI_SPOOL_DATA, seq, 1, octets, (uint32_t)size) : rc;
        c->next_seq = rc == MM_OK ? seq + 1 : c->next_seq;
        return rc;
    }
    uint64_t skip = seq - (run->count > 0 ? run->last + 1 : c->next_seq);
    uint64_t need = run->size + size + MMI_SPOOL_SKIP_MAX;
    rc = rc == MM_OK ? mmi_spool_body_room(&c->body, &c->body_cap, need) : rc;
    if (rc != MM_OK) {
        return rc;
    }
    uint8_t *to = mmi_varint_put(c->body + run->size, skip);
    memcpy(to, octets, size);
    run->size = (uint32_t)(to + size - c->body);
    run->last = seq;
    run->count++;
    return MM_OK;
}

/* What stays of a batch; of its own file's numbers. */
static int
copy_some(mmi_compact *c, uint64_t bound)
{
    bool notes;
    mmi_spool_walk walk;
    mmi_spool_record record;
    uint64_t seq, clean_us = mmi_compact_clean_us(c, &notes);
    copy_run run = { .clean_us = clean_us, .size = MMI_SPOOL_SPARSE_BODY };
    int rc = mmi_spool_walk_begin(&walk, &c->scan.batch, c->scan.body, c->scan.next_seq);
    rc = rc == MM_OK ? 1 : rc;
    while (rc == 1) {
        const uint8_t *at = walk.at;
        uint64_t left = walk.left;
        mmi_spool_walk one = walk;
        rc = mmi_spool_walk_next(&walk, &record, &seq);
        if (rc != 1 || seq >= bound) {
            break;
        }
        int64_t size = mmi_spool_record_get(one.at, left, &record);
        if (mmi_compact_fate_of(c, &record, seq, clean_us) <= MMI_COMPACT_WAITS) {
            int put = run_add(c, &run, seq, at, (uint64_t)size);
            rc = put == MM_OK ? 1 : put;
        }
    }
    return rc < 0 ? rc : run_flush(c, &run);
}

/* Does all of a DATA stay, as it is? */
static bool
copy_all(mmi_compact *c, uint64_t bound)
{
    bool notes;
    mmi_spool_walk walk;
    mmi_spool_record record;
    uint64_t seq, clean_us = mmi_compact_clean_us(c, &notes);
    const mmi_spool_batch *batch = &c->scan.batch;
    if (batch->type != MMI_SPOOL_DATA || batch->first_seq != c->next_seq ||
        c->scan.next_seq > bound ||
        mmi_spool_walk_begin(&walk, batch, c->scan.body, c->scan.next_seq) != MM_OK) {
        return false;
    }
    while (mmi_spool_walk_next(&walk, &record, &seq) == 1) {
        mmi_compact_fate fate = mmi_compact_fate_of(c, &record, seq, clean_us);
        if (fate > MMI_COMPACT_WAITS || (fate == MMI_COMPACT_WAITS && notes)) {
            return false;
        }
    }
    return walk.records == 0;
}

/* What is harmed, and was told of, stays so; a gap says nothing of the next file's numbers. */
static int
copy_gap(mmi_compact *c, uint64_t bound)
{
    uint8_t body[MMI_SPOOL_GAP_BODY];
    mmi_spool_gap gap;
    int rc = mmi_spool_gap_get(c->scan.body, c->scan.batch.body_size, &gap);
    rc = rc == MM_OK ? copy_hole(c, c->scan.batch.first_seq) : rc;
    gap.last_seq = gap.last_seq < bound ? gap.last_seq : bound - 1;
    mmi_spool_gap_put(body, &gap);
    rc = rc == MM_OK ? copy_put(c, MMI_SPOOL_GAP, c->next_seq, 0, body, sizeof body) : rc;
    c->next_seq = rc == MM_OK ? gap.last_seq + 1 : c->next_seq;
    return rc;
}

int
mmi_compact_copy_batch(mmi_compact *c)
{
    const mmi_spool_batch *batch = &c->scan.batch;
    const uint64_t bound = c->bases[c->at + 1];
    if (c->to.file < 0) {
        return MM_EPROTO; /* its first file could not be read as it was begun */
    }
    c->epoch = batch->epoch;
    c->time_us = batch->time_us;
    if (batch->type == MMI_SPOOL_GAP) {
        return copy_gap(c, bound);
    }
    if (!copy_all(c, bound)) {
        return copy_some(c, bound);
    }
    int rc =
        copy_put(c, MMI_SPOOL_DATA, batch->first_seq, batch->count, c->scan.body, batch->body_size);
    c->next_seq = rc == MM_OK ? c->scan.next_seq : c->next_seq;
    return rc;
}

int
mmi_compact_copy_end(mmi_compact *c)
{
    const mmi_files *f = c->place.files;
    int rc = copy_hole(c, c->bases[c->group.first + c->group.count]);
    return rc == MM_OK ? f->sync(f->self, c->to.file) : rc;
}
