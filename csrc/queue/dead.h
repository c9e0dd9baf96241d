/*
 * queue/dead.h: dead letters: messages that were accepted, and will not be delivered: handed out too
 * often, or expired.  They wait here until somebody takes them, if the socket keeps them.
 *
 * Not here: who decides that (queue/backlog.c), who takes them (api/receipt.c).
 * Law: within the limits of one queue; what finds no room, or is not kept, is dropped and counted,
 * but for what a source has (queue/source.h) and is not over: that one keeps it until there is
 * room, and nobody is handed it.
 */
#ifndef MMI_DEAD_H
#define MMI_DEAD_H

#include "queue/drop.h"

typedef struct mmi_dead {
    mmi_proto_host *host;
    mmi_ring letters;
} mmi_dead;

void mmi_dead_init(mmi_dead *dead, mmi_proto_host *host);
void mmi_dead_fini(mmi_dead *dead);
/* Takes m, which nobody else changes; why: MMI_DROP_EXPIRED or MMI_DROP_ATTEMPTS; p: whose it was
 * last, or NULL. */
void mmi_dead_add(mmi_dead *dead, mmi_drop_why why, mmi_pipe *p, mmi_msg *m);
/* Will it be kept? */
bool mmi_dead_keeps(const mmi_dead *dead, const mmi_msg *m);
bool mmi_dead_room(const mmi_dead *dead);   /* for any */
/* Is it not, only as others wait to be taken? */
bool mmi_dead_full(const mmi_dead *dead, const mmi_msg *m);
/* The oldest, with an mm_dead as its number; NULL: there is none. */
mmi_msg *mmi_dead_take(mmi_dead *dead);

#endif
