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
    mmi_spool_record skipped;
    uint64_t seq, from = r->next_seq;
    if (b->left == 0) {
        return 0;
    }
    uint64_t salt = b->left >= MMI_SPOOL_BLOCK_HEAD ? mmi_le64_get(b->at) : 0;
    if (b->left < MMI_SPOOL_BLOCK_HEAD ||
        mmi_spool_batch_get(b->at + BLOCKS_SALT, salt, &scan->batch) != MM_OK ||
        scan->batch.type != MMI_SPOOL_DATA ||
        b->left - MMI_SPOOL_BLOCK_HEAD < scan->batch.body_size ||
        !mmi_spool_body_check(&scan->batch, salt, b->at + MMI_SPOOL_BLOCK_HEAD)) {
        return MM_EPROTO;
    }
    scan->next_seq = scan->batch.first_seq + scan->batch.count;
    if (from < scan->batch.first_seq || from >= scan->next_seq) {
        return MM_EPROTO;
    }
    r->loaded = true;
    r->at = b->at + MMI_SPOOL_BLOCK_HEAD;
    r->left = scan->batch.body_size;
    r->next_seq = scan->batch.first_seq;
    while (r->next_seq < from) {
        if (mmi_spool_reader_next(r, &skipped, &seq) != 1) {
            r->loaded = false;
            r->next_seq = from;
            return MM_EPROTO;
        }
    }
    b->at += MMI_SPOOL_BLOCK_HEAD + scan->batch.body_size;
    b->left -= MMI_SPOOL_BLOCK_HEAD + scan->batch.body_size;
    return 1;
}

int
mmi_spool_blocks_take(mmi_spool_blocks *b, mmi_spool_rows *rows, uint32_t most, uint64_t max_bytes)
{
    mmi_spool_reader *r = &b->reader;
    while (r->next_seq < b->to) {
        bool in_one = r->loaded && r->next_seq < r->scan.next_seq;
        int rc = in_one ? 1 : blocks_next(b);
        if (rc != 1) {
            return rc == 0 ? 1 : rc;
        }
        uint64_t wanted = b->to - r->next_seq, room = most > rows->count ? most - rows->count : 0;
        uint32_t until = (uint32_t)(wanted < room ? rows->count + wanted : most);
        rc = mmi_spool_rows_take(rows, r, until, max_bytes);
        if (rc != 1 && (rc != 0 || r->next_seq < b->to)) {
            return rc;
        }
    }
    return 1;
}
