/*
 * api/spool_blocks.c: ranges of a spool that go to another process, and come from one.
 *
 * Not here: what stands where (spool/blocks.h).  Law: as there.
 */
#include "api/spool.h"

#include "spool/blocks.h"

_Static_assert((int)MM_SPOOL_BLOCK_HEAD == (int)MMI_SPOOL_BLOCK_HEAD, "octets");

struct mm_spool_blocks {
    mmi_spool_blocks blocks;
};

void
mm_spool_reader_block(const mm_spool_reader *r, mm_spool_block *out)
{
    const mmi_spool_scan *scan = &r->reader.scan;
    mmi_spool_block_head(&r->reader, out->head);
    out->body = scan->body;
    out->body_size = scan->batch.body_size;
    out->last = scan->next_seq - 1;
}

void
mm_spool_reader_each(mm_spool_reader *r)
{
    r->reader.each = true;
}

mm_spool_blocks *
mm_spool_blocks_new(const uint8_t *data, uint64_t size, uint64_t from, uint64_t to)
{
    mm_spool_blocks *b = mmi_alloc(sizeof *b);
    if (b != NULL) {
        mmi_spool_blocks_open(&b->blocks, data, size, from, to);
    }
    return b;
}

void
mm_spool_blocks_free(mm_spool_blocks *b)
{
    mmi_free(b);
}

int
mm_spool_blocks_rows(mm_spool_blocks *b, uint32_t max_messages, uint64_t max_bytes,
                     mm_spool_rows **out)
{
    mmi_spool_rows *rows = mmi_spool_rows_new();
    if (rows == NULL) {
        return MM_ENOMEM;
    }
    int rc = mmi_spool_blocks_take(&b->blocks, rows, max_messages, max_bytes);
    if (rows->count == 0) {
        mmi_spool_rows_unref(rows);
        return rc == 1 ? 0 : rc;
    }
    *out = (mm_spool_rows *)rows; /* what is amiss behind it is told by the next call */
    return 1;
}
