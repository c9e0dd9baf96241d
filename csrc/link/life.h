/*
 * link/life.h: the life of a link, as one state machine.
 *
 * CONNECTING  its stream is not there yet
 * HELLO       the handshake is under way (link/handshake.c), or it is asked who may come in
 * ACTIVE      it is a peer: its role has the pipe
 * REFUSED     the peer is told why it is none (any more): that is written, then FIN
 * PARTING     the end is of our own making: all was written, FIN is, and it is read until the peer
 *             closes (link/part.c)
 * DEAD        closed; in memory until the engine settles and nobody reads or writes it
 *
 * to \ from   CONNECTING  HELLO  ACTIVE  REFUSED  PARTING     by
 * HELLO       yes         .      .       .        .           link/handshake.c
 * ACTIVE      .           yes    .       .        .           link/become.c
 * REFUSED     .           yes    yes     .        .           mmi_link_refuse
 * PARTING     .           .      yes     .        .           link/part.c, link/leave.c
 * DEAD        yes         yes    yes     yes      yes         mmi_link_close
 *
 * What goes with some states only:
 * ask         HELLO, DEAD                somebody is asked whether it may come in
 * surplus     all but ACTIVE, PARTING    one too many: it is only told so
 * leave_ns    ACTIVE, PARTING, DEAD      not 0: it is left, and goes once what is queued was written
 * retiring    ACTIVE                     it is left once nothing is under way; leave_ns is set, too
 * end_out     HEARD: from HELLO on       the peer can hear our END
 *             TOLD: from ACTIVE on       it was told
 * fin_sent    REFUSED, PARTING, DEAD     FIN was
 * parted      PARTING                    it is among those that the engine counts
 * The other flags of a link are no part of it: each is asked for in several states, and none of them
 * says which one it is.
 *
 * Not here: who writes it, and what is to end it when that is back (link/tx.h); what ends with it
 * (link/end.c).
 * Law: mmi_life_to alone writes the state.
 */
#ifndef MMI_LINK_LIFE_H
#define MMI_LINK_LIFE_H

#include <stdbool.h>

struct mmi_link;

typedef enum mmi_link_state {
    MMI_LINK_NEW,              /* being made: in no list yet */
    MMI_LINK_CONNECTING,
    MMI_LINK_HELLO,
    MMI_LINK_ACTIVE,
    MMI_LINK_REFUSED,
    MMI_LINK_PARTING,
    MMI_LINK_DEAD
} mmi_link_state;

typedef enum mmi_end_out { MMI_END_NONE, MMI_END_HEARD, MMI_END_TOLD } mmi_end_out;

/* Is that one of the table? */
bool mmi_life_follows(mmi_link_state from, mmi_link_state to);
void mmi_life_to(struct mmi_link *link, mmi_link_state state);

/* What is never so; looked at after each change in checked builds (MMI_CHECKED, base/base.h). */
void mmi_life_invariants(const struct mmi_link *link);

#endif
