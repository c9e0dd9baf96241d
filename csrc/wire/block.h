/*
 * block.h: a body that comes in pieces: memory that grows with what arrived, never with what was
 * claimed.
 *
 * Not here: whether its size is allowed; that was asked before.  Law: size <= cap <= whole; cap is
 * at most twice what has arrived and is about to, or MMI_BLOCK_FIRST, unless data is lent: a block
 * that was there, of which a process lends few (base/large.h).
 */
#ifndef MMI_BLOCK_H
#define MMI_BLOCK_H

#include "base/base.h"

enum {
    MMI_BLOCK_FIRST = 4096,          /* bytes taken at first, if the body is not smaller  */
    MMI_READER_DIRECT = 64 * 1024    /* bytes: a larger body is read straight into its block */
};

typedef struct mmi_block {
    uint8_t *data;
    uint64_t size, cap;
    bool lent;           /* until fini, also where a message has taken data over */
} mmi_block;

/* Room for want more bytes of a body of whole bytes (size + want <= whole).  MM_ENOMEM. */
int mmi_block_grow(mmi_block *b, uint64_t want, uint64_t whole) MMI_WARN_UNUSED;
/* Takes what there is of it from *buf, advancing both.  MM_ENOMEM. */
int mmi_block_take(mmi_block *b, uint64_t whole, const uint8_t **buf,
                   size_t *size) MMI_WARN_UNUSED;
void mmi_block_fini(mmi_block *b);   /* frees data, and makes it empty */

#endif
