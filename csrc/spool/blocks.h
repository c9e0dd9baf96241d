/*
 * blocks.h: batches of a spool on their way to another process: each as it stands in its file, behind the salt of that
 * file, end to end.
 *
 *    0  salt u64       8  head of the batch (MMI_SPOOL_BATCH_HEAD)       64  body
 *
 * Not here: which batches (spool/reader.h), who asks for them (Python: _ranges).
 * Law: pure.  What comes from a peer is believed no sooner than what comes from a disk: its CRCs are right, it is
 * bounds-checked all the same, and it has the numbers that were asked for, one by one.
 */
#ifndef MMI_SPOOL_BLOCKS_H
#define MMI_SPOOL_BLOCKS_H

#include "spool/rows.h"

enum { MMI_SPOOL_BLOCK_HEAD = 8 + MMI_SPOOL_BATCH_HEAD };        /* octets */

/* What stands in front of the body of the batch that the reader has. */
void mmi_spool_block_head(const mmi_spool_reader *reader, uint8_t out[MMI_SPOOL_BLOCK_HEAD]);

/* Those that came, being read. */
typedef struct mmi_spool_blocks {
    const uint8_t *at;           /* of the next block */
    uint64_t left, to;           /* octets from there on; the number behind the last that is given */
    mmi_spool_reader reader;     /* of the block that was begun; it has no file */
} mmi_spool_blocks;

/* Messages [from, to) of so many octets, which stay for as long; it holds nothing. */
void mmi_spool_blocks_open(mmi_spool_blocks *b, const uint8_t *data, uint64_t size, uint64_t from, uint64_t to);
/* Takes what there is.  1: there are no more; 0: there are so many, or the next one would be over; MM_ENOMEM;
 * MM_EPROTO: the next is no batch, harmed, or not of the next number; or, with all taken, something is behind it. */
int mmi_spool_blocks_take(mmi_spool_blocks *b, mmi_spool_rows *rows, uint32_t most, uint64_t max_bytes);

#endif
