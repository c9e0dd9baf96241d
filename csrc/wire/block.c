/*
 * block.c: an unfinished body.  See block.h.
 *
 * Not here: messages.  Law: doubles, so that a body of any size costs a few copies of itself.
 */
#include "wire/block.h"

#include <string.h>

#include "base/large.h"

/* Room for all of a large body from the beginning on, if a spare block has it. */
static bool
block_borrow(mmi_block *b, uint64_t whole)
{
    if (b->data != NULL || whole < (uint64_t)MMI_LARGE_MIN ||
        whole > (uint64_t)MMI_LARGE_KEPT_MAX) {
        return false;
    }
    b->data = mmi_large_lend((size_t)whole);
    b->lent = b->data != NULL;
    b->cap = b->lent ? whole : 0;
    return b->lent;
}

int
mmi_block_grow(mmi_block *b, uint64_t want, uint64_t whole)
{
    if (b->size + want <= b->cap) {
        return MM_OK;
    }
    uint64_t cap = b->size + want;
    if (cap < b->size * 2) {
        cap = b->size * 2;
    }
    if (cap < MMI_BLOCK_FIRST) {
        cap = MMI_BLOCK_FIRST;
    }
    if (cap > whole) {
        cap = whole;
    }
    if (block_borrow(b, whole)) {
        return MM_OK;
    }
    uint8_t *grown = mmi_realloc(b->data, (size_t)cap);
    if (grown == NULL) {
        return MM_ENOMEM;
    }
    b->data = grown;
    b->cap = cap;
    return MM_OK;
}

int
mmi_block_take(mmi_block *b, uint64_t whole, const uint8_t **buf, size_t *size)
{
    uint64_t left = whole - b->size;
    size_t part = left < *size ? (size_t)left : *size;
    if (part == 0) {
        return MM_OK;
    }
    int rc = mmi_block_grow(b, part, whole);
    if (rc == MM_OK) {
        memcpy(b->data + b->size, *buf, part);
        b->size += part;
        *buf += part;
        *size -= part;
    }
    return rc;
}

void
mmi_block_fini(mmi_block *b)
{
    if (b->lent) {
        mmi_large_settle((size_t)b->cap);
    }
    mmi_large_free(b->data);
    *b = (mmi_block){ 0 };
}
