/*
 * queue/receipts.c: see queue/receipts.h.
 */
#include "queue/receipts.h"

/* An outcome as the value of a map, which is not NULL. */
static void *
receipts_value(int outcome)
{
    static uint8_t places[MM_RECEIPTS];
    return &places[outcome];
}

static int
receipts_outcome_of(const void *value)
{
    return (int)((const uint8_t *)value - (const uint8_t *)receipts_value(0));
}

void
mmi_receipts_fini(mmi_receipts *r)
{
    mmi_map_fini(&r->by_number);
}

int
mmi_receipts_open(mmi_receipts *r, mmi_msg *m)
{
    int rc = mmi_map_put(&r->by_number, r->last + 1, receipts_value(MM_RECEIPT_OPEN));
    if (rc == MM_OK) {
        m->key = ++r->last;
    }
    return rc;
}

void
mmi_receipts_settle(mmi_receipts *r, mmi_msg *m, int outcome)
{
    if (m->key != 0 && mmi_map_find(&r->by_number, m->key) != NULL) {
        int rc = mmi_map_put(&r->by_number, m->key, receipts_value(outcome));
        MMI_ASSERT(rc == MM_OK);   /* it is there */
        m->key = 0;
    }
}

int
mmi_receipts_outcome(const mmi_receipts *r, uint64_t number)
{
    const void *value = mmi_map_find(&r->by_number, number);
    return value != NULL ? receipts_outcome_of(value) : MM_EINVAL;
}

void
mmi_receipts_forget(mmi_receipts *r, uint64_t number)
{
    (void)mmi_map_rm(&r->by_number, number);
}
