/*
 * fuzz_blocks.c: libFuzzer harness of batches of a spool that come from a peer (a range): any
 * octets, in any portions.  What is taken has the numbers that were asked for, one behind the other
 * but for what is absent on purpose, and no more than was allowed.
 *
 * The first octets say from where to where, how many at once, and whether the CRCs are set right
 * first: with a wrong one nothing behind it is looked at.
 * Not here: the same batches in a file (fuzz_spool.c), how they are asked for.
 */
#include <string.h>

#include "base/octets.h"
#include "spool/blocks.h"
#include "spool/crc32c.h"

enum {
    FUZZ_HEAD = 4, /* octets in front: from, how many numbers, rows at once, whether to sum */
    FUZZ_BASE = 50, /* the first number of the seeds */
    FUZZ_BYTES = 300, /* octets of rows at once */
    SALT_SIZE = 8,
    CRC_AT = 4,
    SIZE_AT = 8,
    BODY_CRC_AT = 12
};

static uint32_t
salted(const uint8_t *salt, const uint8_t *data, size_t size)
{
    return mmi_crc32c(mmi_crc32c(0, salt, SALT_SIZE), data, size);
}

/* Blocks that lie one behind the other get the CRCs that they must have. */
static void
sum_blocks(uint8_t *data, size_t size)
{
    while (size >= MMI_SPOOL_BLOCK_HEAD) {
        uint8_t *head = data + SALT_SIZE, *at = data + MMI_SPOOL_BLOCK_HEAD;
        uint32_t body = mmi_le32_get(head + SIZE_AT);
        if (body > size - MMI_SPOOL_BLOCK_HEAD) {
            return;
        }
        mmi_le32_put(head + BODY_CRC_AT, salted(data, at, body));
        mmi_le32_put(head + CRC_AT, salted(data, head + SIZE_AT, MMI_SPOOL_BATCH_HEAD - SIZE_AT));
        data += MMI_SPOOL_BLOCK_HEAD + body;
        size -= MMI_SPOOL_BLOCK_HEAD + body;
    }
}

static void
check_rows(const mmi_spool_rows *rows, uint32_t before, uint64_t *next, uint64_t to)
{
    for (uint32_t i = before; i < rows->count; i++) {
        uint64_t seq = (uint64_t)rows->seq[i];
        MMI_ASSERT(seq >= *next && seq < to);
        *next = seq + 1;
    }
}

static void
take_all(mmi_spool_blocks *b, uint32_t most, uint64_t from, uint64_t to)
{
    int rc = 0;
    for (bool moved = true; rc == 0 && moved;) {
        mmi_spool_rows *rows = mmi_spool_rows_new();
        MMI_ASSERT(rows != NULL);
        uint64_t left = b->left, seq = b->reader.next_seq;
        rc = mmi_spool_blocks_take(b, rows, most, FUZZ_BYTES);
        MMI_ASSERT(rc == 0 || rc == 1 || rc == MM_EPROTO);
        MMI_ASSERT(rows->count <= most);
        check_rows(rows, 0, &from, to);
        moved = b->left < left || b->reader.next_seq > seq;
        mmi_spool_rows_unref(rows);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < FUZZ_HEAD) {
        return 0;
    }
    uint64_t from = FUZZ_BASE + data[0] % FUZZ_BASE, to = from + 1 + data[1];
    uint32_t most = 1 + data[2] % 16;
    bool sums = data[3] % 2 != 0;
    size -= FUZZ_HEAD;
    uint8_t *exact = mmi_alloc(size > 0 ? size : 1); /* so that a look behind it is seen */
    MMI_ASSERT(exact != NULL);
    memcpy(exact, data + FUZZ_HEAD, size);
    if (sums) {
        sum_blocks(exact, size);
    }
    mmi_spool_blocks b;
    mmi_spool_blocks_open(&b, exact, size, from, to);
    take_all(&b, most, from, to);
    mmi_free(exact);
    return 0;
}
