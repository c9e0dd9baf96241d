/*
 * link/ask.h: a link whose peer is who it says, and of which somebody outside is asked whether it may
 * come in: the question, and the answer.
 *
 * From MMI_STEP_ASK to the answer the link is still half-open: no pipe, no peer; it is evicted, reset
 * and closed as any that is in its handshake.  What its peer says meanwhile is kept, a little of it.
 * A question is taken once, by who calls first; addresses take turns (base/fair.h).  An answer is for the id of
 * the question, and finds nobody once the link has ended, was answered, or waited too long.
 * Not here: the steps before and after (link/handshake.c), lists (wire/applicant.h).
 * Law: an answer is only noted; who polls makes the step.  No answer in time is MM_LATER.
 */
#ifndef MMI_LINK_ASK_H
#define MMI_LINK_ASK_H

#include "link/link.h"

enum { MMI_ASK_AHEAD_MAX = 4096 };       /* octets that are kept; then reading is paused */

struct mmi_link_ask {
    mmi_fair_node place;                 /* in engine->questions, until somebody takes it */
    mmi_link *link;
    uint64_t until_ns;
    bool taken;                          /* and counted in its socket's asked */
    bool answered;
    mmi_answer answer;
    size_t ahead_size;
    uint8_t ahead[MMI_ASK_AHEAD_MAX];    /* what came behind what asks */
};

/* The engine's questions: a descriptor that is readable while some are not taken.  MM_ESTATE: it is
 * open. */
int mmi_ask_open(mmi_engine *e, int *fd) MMI_WARN_UNUSED;
void mmi_ask_close(mmi_engine *e);       /* rings it first */
void mmi_ask_ring(mmi_engine *e);        /* who waits for some is to look; until it took what there is */
/* The next one, and its data.  1; 0: there is none, or the sockets of all have MMI_ASKED_MAX. */
int mmi_ask_take(mmi_engine *e, mm_question *out, uint8_t *data);
/* metadata: of who is let in; copied.  Without memory for that the peer is to try again.  MM_ESTATE: nobody waits for
 * it. */
int mmi_ask_answer(mmi_engine *e, uint64_t id, const mmi_answer *answer,
                   mmi_octets metadata) MMI_WARN_UNUSED;

bool mmi_ask_waits(mmi_engine *e, uint64_t id);   /* is there somebody for an answer? */

/* Of this room.  Asks; octets of ahead, at most MMI_ASK_AHEAD_MAX, came behind.  MM_ENOMEM;
 * MM_EMSGSIZE: more data than a question has. */
int mmi_ask_begin(mmi_link *link, const uint8_t *ahead, size_t size) MMI_WARN_UNUSED;
void mmi_ask_late(mmi_link *link);       /* nobody answered in time */
void mmi_ask_end(mmi_link *link);        /* it is no longer in its handshake */

#endif
