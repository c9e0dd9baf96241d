/*
 * engine/share.h: how much of the time of who polls goes to steps of handshakes, which take long
 * where a mechanism protects connections: a quarter, while others have work.
 *
 * Between two polls steps may take MMI_SHARE_SLICE_NS, and the last one may begin just before that:
 * so long others wait for them at most.  What steps took is owed to others: a third of what others
 * take is paid back, and all of it by a poll that found no work for them.  A step in the midst of
 * which the machine or the thread stood still is owed as one of 10 ms: else nobody's handshake went on
 * for three times as long, and all would be late.
 * Not here: the steps (link/handshake.c), the turn (sched/turn.c).
 * Law: time is an argument; nobody starves: each poll pays something back.
 */
#ifndef MMI_SHARE_H
#define MMI_SHARE_H

#include <stdbool.h>
#include <stdint.h>

enum { MMI_SHARE_SLICE_NS = 200 * 1000 };   /* two steps of CURVE */

/* All 0: nothing is owed. */
typedef struct mmi_share {
    uint64_t owed_ns;
    uint64_t from_ns;                    /* when the last poll was over */
    uint64_t stepped_ns;                 /* of the time since then */
    bool others;                         /* they had work since then; set by who finds it */
} mmi_share;

/* May one more step be made now?  Else poll tells of it again. */
static inline bool
mmi_share_may(const mmi_share *share)
{
    return share->owed_ns < MMI_SHARE_SLICE_NS;
}

void mmi_share_stepped(mmi_share *share, uint64_t took_ns);
void mmi_share_polls(mmi_share *share, uint64_t now_ns);     /* the next poll begins */
void mmi_share_polled(mmi_share *share, uint64_t now_ns);    /* it is over */

#endif
