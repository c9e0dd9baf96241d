/*
 * spool/blocks.c: see spool/blocks.h.
 */
#include "spool/blocks.h"

#include <string.h>

#include "base/octets.h"

enum { BLOCKS_SALT = 8 /* octets */ };

void
mmi_spool_block_head(const mmi_spool_reader *reader, uint8_t out[MMI_SPOOL_BLOCK_HEAD])
{
    mmi_le64_put(out, reader->file.head.salt);
    memcpy(out + BLOCKS_SALT, reader->scan.head, MMI_SPOOL_BATCH_HEAD);
}

void
mmi_spool_blocks_open(mmi_spool_blocks *b, const uint8_t *data, uint64_t size, uint64_t from,
                      uint64_t to)
{
    *b = (mmi_spool_blocks){ .at = data, .left = size, .to = to, .reader = { .next_seq = from } };
}

/* Begins the next block at the number that is next.  1; 0: there is none; MM_EPROTO. */
static int
blocks_next(mmi_spool_blocks *b)
{
    mmi_spool_reader *r = &b->reader;
    mmi_spool_scan *scan = &r->scan;
    uint64_t from = r->next_seq;
    if (b->left == 0) {
        return 0;
    }
    uint64_t salt = b->left >= MMI_SPOOL_BLOCK_HEAD ? mmi_le64_get(b->at) : 0;
    if (b->left < MMI_SPOOL_BLOCK_HEAD ||
        mmi_spool_batch_get(b->at + BLOCKS_SALT, salt, &scan->batch) != MM_OK ||
        (scan->batch.type != MMI_SPOOL_DATA && scan->batch.type != MMI_SPOOL_SPARSE) ||
        b->left - MMI_SPOOL_BLOCK_HEAD < scan->batch.body_size ||
        !mmi_spool_body_check(&scan->batch, salt, b->at + MMI_SPOOL_BLOCK_HEAD)) {
        return MM_EPROTO;
    }
    scan->body = (uint8_t *)b->at + MMI_SPOOL_BLOCK_HEAD; /* which is only read */
    scan->next_seq = mmi_spool_scan_behind(&scan->batch, scan->body);
    if (from < scan->batch.first_seq || from >= scan->next_seq) {
        return MM_EPROTO;
    }
    r->loaded = true;
    r->walks = false;
    if (mmi_spool_reader_begin(r) < 0) {
        r->loaded = false;
        return MM_EPROTO;
    }
    b->at += MMI_SPOOL_BLOCK_HEAD + scan->batch.body_size;
    b->left -= MMI_SPOOL_BLOCK_HEAD + scan->batch.body_size;
    return 1;
}

/* Room for what the rows are likely to take of the block that is begun, and of those behind it.
 * It is no more than came, and than the limit; of few rows of many it is their share. */
static int
blocks_room(const mmi_spool_blocks *b, mmi_spool_rows *rows, uint32_t most, uint64_t max_bytes)
{
    uint64_t octets = b->left + b->reader.scan.batch.body_size;
    uint64_t messages = b->to - b->reader.next_seq;
    if (most < messages) {
        octets = octets / messages * most;
    }
    return mmi_spool_rows_room(rows, octets < max_bytes ? octets : max_bytes);
}

int
mmi_spool_blocks_take(mmi_spool_blocks *b, mmi_spool_rows *rows, uint32_t most, uint64_t max_bytes)
{
    mmi_spool_reader *r = &b->reader;
    while (r->next_seq < b->to) {
        bool in_one = r->loaded && r->next_seq < r->scan.next_seq;
        int rc = in_one ? 1 : blocks_next(b);
        if (rc != 1) { /* it ends before it has all it was to have: told once these are taken */
            return rc < 0 ? rc : rows->count > 0 ? 1 : MM_EPROTO;
        }
        if (rows->count == 0 && blocks_room(b, rows, most, max_bytes) != MM_OK) {
            return MM_ENOMEM;
        }
        rc = mmi_spool_rows_take(rows, r, b->to, most, max_bytes);
        if (rc != 1 && (rc != 0 || r->next_seq < b->to)) {
            return rc;
        }
    }
    return b->left == 0 ? 1 : MM_EPROTO; /* nothing was asked for behind that */
}
