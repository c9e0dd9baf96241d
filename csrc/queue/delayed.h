/*
 * queue/delayed.h: messages that are handed out later: as their sender said, or as who had one gave it
 * back so.
 *
 * Not here: how long that may be (api), who asks what is due (queue/backlog.c).
 * Law: they come out by the time they are due, and of one time in the order they came in.  A message
 * that expires is due by then at the latest: somebody is told in time.
 */
#ifndef MMI_DELAYED_H
#define MMI_DELAYED_H

#include "base/msg.h"

typedef struct mmi_delayed_entry {
    uint64_t due_ns, order;
    mmi_msg *m;
} mmi_delayed_entry;

typedef struct mmi_delayed {
    mmi_delayed_entry *heap;
    uint32_t count, cap;
    uint64_t added;              /* messages, ever */
    size_t bytes;                /* as mmi_msg_cost charges them */
    uint32_t returned;           /* of them: those that somebody had */
    size_t returned_bytes;
} mmi_delayed;

/* MM_OK: took m; MM_ENOMEM. */
int mmi_delayed_add(mmi_delayed *d, mmi_msg *m, uint64_t due_ns) MMI_WARN_UNUSED;
uint64_t mmi_delayed_next(const mmi_delayed *d);               /* UINT64_MAX: there is none */
mmi_msg *mmi_delayed_take(mmi_delayed *d, uint64_t now_ns);    /* NULL: none is due */
void mmi_delayed_fini(mmi_delayed *d);                         /* nothing is in it */

#endif
