/*
 * queue/overdue.h: which messages a peer has had for too long, and did not acknowledge: since they were
 * written to it, or since it said that it still works on them.
 *
 * When messages were written is remembered for a few numbers only, so what is overdue is found up to
 * an MMI_OVERDUE_PART-th of the time late, and never early.
 * Not here: what is acknowledged (queue/unacked.h), when this is looked at (link/overdue.c).
 * Law: each number comes out once.  What is remembered is bounded, whatever a peer says.
 */
#ifndef MMI_OVERDUE_H
#define MMI_OVERDUE_H

#include "base/list.h"
#include "base/map.h"
#include "base/marks.h"
#include "queue/late.h"

enum {
    MMI_OVERDUE_PART = 8,        /* looks in the time that a peer has */
    MMI_OVERDUE_MARKS = MMI_OVERDUE_PART + 2
};

typedef struct mmi_overdue {
    uint64_t timeout_ns;
    uint64_t written[MMI_OVERDUE_MARKS], at_ns[MMI_OVERDUE_MARKS];   /* numbers up to it, by then */
    uint32_t mark_count;
    uint64_t next, upto;         /* numbers: the next to look at, and up to which time is over */
    mmi_list extended;           /* the one whose time ends first in front */
    mmi_map by_number;           /* the same */
    mmi_late late;               /* what was taken back of it */
} mmi_overdue;

mmi_overdue *mmi_overdue_new(uint64_t timeout_ns) MMI_WARN_UNUSED;   /* NULL: no memory */
void mmi_overdue_free(mmi_overdue *o);                  /* NULL is fine */
/* A look: numbers up to that are written by now. */
void mmi_overdue_look(mmi_overdue *o, uint64_t written, uint64_t now_ns);
/* A number that is overdue now and not among those that are done; 0: there is none. */
uint64_t mmi_overdue_take(mmi_overdue *o, const mmi_marks *done, uint64_t now_ns);
/* The time of a number that is written, and not done, begins anew.  MM_ENOMEM. */
int mmi_overdue_extend(mmi_overdue *o, const mmi_marks *done, uint64_t number,
                       uint64_t now_ns) MMI_WARN_UNUSED;

#endif
