/*
 * queue/receipts.h: what became of messages whose sender wants to know, by a number of its socket.
 *
 * Not here: who waits (api/receipt.c).
 * Law: a number has one outcome, the first, and is known until it is forgotten.
 */
#ifndef MMI_RECEIPTS_H
#define MMI_RECEIPTS_H

#include "base/map.h"
#include "base/msg.h"
#include "meshmsg_binding.h"

typedef struct mmi_receipts {
    mmi_map by_number;
    uint64_t last;               /* number; 0: none yet */
} mmi_receipts;

void mmi_receipts_fini(mmi_receipts *r);
/* A message is about to be accepted: m->key becomes its number.  MM_ENOMEM. */
int mmi_receipts_open(mmi_receipts *r, mmi_msg *m) MMI_WARN_UNUSED;
/* That is what became of a message, an mm_receipt; one without a number is nobody's.  It has none
 * then. */
static inline bool
mmi_receipts_awaited(const mmi_receipts *r)
{
    return r->by_number.count > 0;
}
void mmi_receipts_settle(mmi_receipts *r, mmi_msg *m, int outcome);
/* mm_receipt, MM_RECEIPT_OPEN; MM_EINVAL: there is no such number. */
int mmi_receipts_outcome(const mmi_receipts *r, uint64_t number);
void mmi_receipts_forget(mmi_receipts *r, uint64_t number);

#endif
