/*
 * queue/receipts.c: see queue/receipts.h.
 */
#include "queue/receipts.h"

#include <string.h>

enum { RECEIPT_NONE = MM_RECEIPTS };   /* in a block: a number that is not known */

typedef struct mmi_receipt_block {
    uint64_t index;
    uint32_t known;              /* of its numbers */
    uint8_t outcomes[MM_RECEIPT_BLOCK];
} receipt_block;

_Static_assert((int)MM_RECEIPT_OPEN == 0, "who looks for one that is open looks for a zero");

static receipt_block *
receipts_block(const mmi_receipts *r, uint64_t index)
{
    if (r->newest != NULL && r->newest->index == index) {
        return r->newest;
    }
    return mmi_map_find(&r->blocks, index);
}

/* Where the outcome of a number is; NULL: it is not known. */
static uint8_t *
receipts_place(const mmi_receipts *r, uint64_t number)
{
    receipt_block *b = receipts_block(r, number / MM_RECEIPT_BLOCK);
    uint8_t *place = b != NULL ? &b->outcomes[number % MM_RECEIPT_BLOCK] : NULL;
    return place != NULL && *place != RECEIPT_NONE ? place : NULL;
}

/* Nobody asks for any of its numbers. */
static void
receipts_block_unused(mmi_receipts *r, receipt_block *b)
{
    if (b->known == 0 && b != r->newest) {
        (void)mmi_map_rm(&r->blocks, b->index);
        mmi_free(b);
    }
}

/* The block of a number that is to be opened.  NULL: no memory. */
static receipt_block *
receipts_block_for(mmi_receipts *r, uint64_t index)
{
    receipt_block *b = receipts_block(r, index), *before = r->newest;
    if (b == NULL) {
        b = mmi_alloc(sizeof *b);
        if (b == NULL || mmi_map_put(&r->blocks, index, b) != MM_OK) {
            mmi_free(b);
            return NULL;
        }
        b->index = index;
        b->known = 0;
        memset(b->outcomes, RECEIPT_NONE, sizeof b->outcomes);
    }
    r->newest = b;
    if (before != NULL && before != b) {
        receipts_block_unused(r, before);
    }
    return b;
}

void
mmi_receipts_fini(mmi_receipts *r)
{
    if (r->source.arg != NULL) {
        r->source.gone(r->source.arg);
    }
    for (uint32_t i = 0; i < r->blocks.cap; i++) {
        mmi_free(r->blocks.slots[i].value);
    }
    mmi_map_fini(&r->blocks);
}

uint64_t
mmi_receipts_reserve(mmi_receipts *r, uint64_t count)
{
    uint64_t first = r->last + 1;
    r->last += count;
    return first;
}

int
mmi_receipts_open_number(mmi_receipts *r, uint64_t number)
{
    if (receipts_place(r, number) != NULL) {
        return MM_EINVAL;
    }
    receipt_block *b = receipts_block_for(r, number / MM_RECEIPT_BLOCK);
    if (b == NULL) {
        return MM_ENOMEM;
    }
    b->outcomes[number % MM_RECEIPT_BLOCK] = MM_RECEIPT_OPEN;
    b->known++;
    r->open++;
    return MM_OK;
}

int
mmi_receipts_open_as(mmi_receipts *r, mmi_msg *m, uint64_t number)
{
    int rc = number == 0 || number > r->last ? MM_EINVAL : mmi_receipts_open_number(r, number);
    m->key = rc == MM_OK ? number : m->key;
    return rc;
}

int
mmi_receipts_open(mmi_receipts *r, mmi_msg *m)
{
    return mmi_receipts_open_as(r, m, mmi_receipts_reserve(r, 1));
}

/* How many of count numbers from one on are in the same block. */
static size_t
receipts_beside(uint64_t number, uint64_t count)
{
    uint64_t left = MM_RECEIPT_BLOCK - number % MM_RECEIPT_BLOCK;
    return (size_t)(count < left ? count : left);
}

void
mmi_receipts_tell(mmi_receipts *r, uint64_t number, int outcome)
{
    mmi_receipts_tell_run(r, number, 1, outcome);
}

void
mmi_receipts_tell_run(mmi_receipts *r, uint64_t first, uint64_t count, int outcome)
{
    while (count > 0 && r->open > 0) {
        size_t some = receipts_beside(first, count);
        receipt_block *b = receipts_block(r, first / MM_RECEIPT_BLOCK);
        for (size_t i = 0; b != NULL && i < some; i++) {
            uint8_t *place = &b->outcomes[first % MM_RECEIPT_BLOCK + i];
            if (*place == MM_RECEIPT_OPEN) {
                *place = (uint8_t)outcome;
                r->open--;
                r->news = true;
            }
        }
        first += some;
        count -= some;
    }
}

void
mmi_receipts_settle_run(mmi_receipts *r, uint64_t first, uint64_t count, int outcome)
{
    r->source.told(r->source.arg, first, count, outcome);
    if (outcome != MM_RECEIPT_DROPPED) {
        mmi_receipts_tell_run(r, first, count, outcome);
    }
}

void
mmi_receipts_settle(mmi_receipts *r, mmi_msg *m, int outcome)
{
    uint64_t number = m->key;
    if (r->source.arg != NULL && number != 0) {
        m->key = 0;
        mmi_receipts_settle_run(r, number, m->count, outcome);
    } else if (number != 0 && receipts_place(r, number) != NULL) {
        m->key = 0;
        mmi_receipts_tell(r, number, outcome);
    }
}

int
mmi_receipts_outcome(const mmi_receipts *r, uint64_t number)
{
    const uint8_t *place = receipts_place(r, number);
    return place != NULL ? *place : MM_EINVAL;
}

/* It is not asked for any more. */
static void
receipts_drop(mmi_receipts *r, receipt_block *b, uint8_t *place)
{
    r->open -= *place == MM_RECEIPT_OPEN;
    *place = RECEIPT_NONE;
    b->known--;
}

/* As mmi_receipts_take, for numbers of one block. */
static int
receipts_take_of(mmi_receipts *r, receipt_block *b, uint8_t *places, size_t count,
                 uint8_t *outcomes, uint64_t *open)
{
    for (size_t i = 0; i < count; i++) {
        if (outcomes[i] != MM_RECEIPT_OPEN) {
            continue;
        }
        if (places[i] == RECEIPT_NONE) {
            return MM_EINVAL;
        }
        if (places[i] == MM_RECEIPT_OPEN) {
            ++*open;
        } else {
            outcomes[i] = places[i];
            receipts_drop(r, b, &places[i]);
        }
    }
    return MM_OK;
}

int
mmi_receipts_take(mmi_receipts *r, uint64_t first, uint64_t count, uint8_t *outcomes,
                  uint64_t *open)
{
    int rc = MM_OK;
    *open = 0;
    while (rc == MM_OK && count > 0) {
        size_t some = receipts_beside(first, count);
        receipt_block *b = receipts_block(r, first / MM_RECEIPT_BLOCK);
        if (b != NULL) {
            uint8_t *places = b->outcomes + first % MM_RECEIPT_BLOCK;
            rc = receipts_take_of(r, b, places, some, outcomes, open);
            receipts_block_unused(r, b);
        } else if (memchr(outcomes, MM_RECEIPT_OPEN, some) != NULL) {
            rc = MM_EINVAL;
        }
        first += some;
        outcomes += some;
        count -= some;
    }
    return rc;
}

uint64_t
mmi_receipts_copy(const mmi_receipts *r, uint64_t *indexes, uint8_t *outcomes, uint64_t max)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < r->blocks.cap; i++) {
        const receipt_block *b = r->blocks.slots[i].value;
        if (b != NULL && count < max) {
            indexes[count] = b->index;
            memcpy(outcomes + count * MM_RECEIPT_BLOCK, b->outcomes, MM_RECEIPT_BLOCK);
        }
        count += b != NULL;
    }
    return count;
}

void
mmi_receipts_forget(mmi_receipts *r, uint64_t number)
{
    mmi_receipts_forget_run(r, number, 1);
}

void
mmi_receipts_forget_run(mmi_receipts *r, uint64_t first, uint64_t count)
{
    while (count > 0 && r->blocks.count > 0) {
        size_t some = receipts_beside(first, count);
        receipt_block *b = receipts_block(r, first / MM_RECEIPT_BLOCK);
        if (b != NULL) {
            uint8_t *places = b->outcomes + first % MM_RECEIPT_BLOCK;
            for (size_t i = 0; i < some; i++) {
                if (places[i] != RECEIPT_NONE) {
                    receipts_drop(r, b, &places[i]);
                }
            }
            receipts_block_unused(r, b);
        }
        first += some;
        count -= some;
    }
}
