/*
 * queue/late.h: messages that a peer had for too long, so that they were taken back from it: while one
 * waits for somebody else, an acknowledgement that comes yet is in time.
 *
 * Not here: when they are taken back (link/overdue.c).
 * Law: MMI_LATE_MAX of a peer are remembered; of the others, the oldest, an acknowledgement counts for
 * nothing.  So does that of one that somebody else has.
 */
#ifndef MMI_LATE_H
#define MMI_LATE_H

#include "base/msg.h"
#include "wire/delivery.h"

enum { MMI_LATE_MAX = 256 };   /* messages */

typedef struct mmi_late_one {
    uint64_t number;             /* that it had on this connection */
    uint64_t epoch, first;       /* and where it was first, as mmi_origin has it */
} mmi_late_one;

typedef struct mmi_late {
    mmi_late_one at[MMI_LATE_MAX];   /* the oldest in front */
    uint32_t count;
} mmi_late;

struct mmi_back;

/* It was taken back; origin: as it has it now. */
void mmi_late_add(mmi_late *late, uint64_t number, const mmi_origin *origin);
/* The peer gave it back itself, and will not be done with it. */
void mmi_late_forget(mmi_late *late, uint64_t number);
/* What the peer says: those of them that wait here are done.  How many that are; *stale: the others, for which it
 * counts for nothing. */
uint32_t mmi_late_ack(mmi_late *late, struct mmi_back *back, const mmi_ack *ack, uint32_t *stale);

#endif
