/*
 * queue/receipts.h: what became of messages whose sender wants to know, by a number of its socket.
 *
 * Numbers of a run of messages are consecutive, so outcomes are kept an octet each, in blocks.
 * Not here: who waits (api/receipt.c, api/send_run.c).
 * Law: a number has one outcome, the first, and is known until it is forgotten.  A block is there
 * while one of its numbers is known; that of the last number also longer.
 */
#ifndef MMI_RECEIPTS_H
#define MMI_RECEIPTS_H

#include "base/map.h"
#include "base/msg.h"
#include "meshmsg_binding.h"
#include "queue/source.h"

struct mmi_receipt_block;

typedef struct mmi_receipts {
    mmi_map blocks;              /* by number / MM_RECEIPT_BLOCK */
    struct mmi_receipt_block *newest;   /* where one was opened last */
    uint64_t last;               /* number that was given; 0: none yet */
    uint64_t open;               /* numbers whose outcome is not known yet */
    bool news;                   /* one is known since somebody asked (mmi_receipts_news) */
    mmi_source source;           /* told of each that has a number, whether it is known here or not */
} mmi_receipts;

void mmi_receipts_fini(mmi_receipts *r);
/* The first of count numbers that are nobody else's. */
uint64_t mmi_receipts_reserve(mmi_receipts *r, uint64_t count);
/* A message is about to be accepted: m->key becomes its number.  MM_ENOMEM. */
int mmi_receipts_open(mmi_receipts *r, mmi_msg *m) MMI_WARN_UNUSED;
/* Without a message: of one that a source has.  MM_EINVAL: it is known; MM_ENOMEM. */
int mmi_receipts_open_number(mmi_receipts *r, uint64_t number) MMI_WARN_UNUSED;
/* That became of it, if its receipt is open. */
void mmi_receipts_tell(mmi_receipts *r, uint64_t number, int outcome);
/* The same of count numbers from first on. */
void mmi_receipts_tell_run(mmi_receipts *r, uint64_t first, uint64_t count, int outcome);
/* The same with a number that was reserved.  MM_EINVAL: it was not, or is known; MM_ENOMEM. */
int mmi_receipts_open_as(mmi_receipts *r, mmi_msg *m, uint64_t number) MMI_WARN_UNUSED;
/* Is there any whose outcome is not known, or somebody who is told of all? */
static inline bool
mmi_receipts_awaited(const mmi_receipts *r)
{
    return r->open > 0 || r->source.arg != NULL;
}
/* That is what became of a message, an mm_receipt, or of a segment that a source has; one without a number is
 * nobody's.  It has none then.  What a source has is not dropped: its receipt stays open. */
void mmi_receipts_settle(mmi_receipts *r, mmi_msg *m, int outcome);
/* The same of count numbers of a source, which there is. */
void mmi_receipts_settle_run(mmi_receipts *r, uint64_t first, uint64_t count, int outcome);
/* Is the outcome of one known since the last call? */
static inline bool
mmi_receipts_news(mmi_receipts *r)
{
    bool news = r->news;
    r->news = false;
    return news;
}
/* mm_receipt, MM_RECEIPT_OPEN; MM_EINVAL: there is no such number. */
int mmi_receipts_outcome(const mmi_receipts *r, uint64_t number);
/* Of count numbers from first on, those that are MM_RECEIPT_OPEN in outcomes: what is known of them
 * goes there, and is forgotten here.  *open: how many still are.  MM_EINVAL: one of them is no
 * number, and those in front of it are as said. */
int mmi_receipts_take(mmi_receipts *r, uint64_t first, uint64_t count, uint8_t *outcomes,
                      uint64_t *open) MMI_WARN_UNUSED;
/* Copies its blocks, as mm_receipts_all says; how many there are. */
uint64_t mmi_receipts_copy(const mmi_receipts *r, uint64_t *indexes, uint8_t *outcomes,
                           uint64_t max);
void mmi_receipts_forget(mmi_receipts *r, uint64_t number);
/* The same of count numbers from first on; those that are not known are left out. */
void mmi_receipts_forget_run(mmi_receipts *r, uint64_t first, uint64_t count);

#endif
