/*
 * socket/resume.h: of a SUB that wants a replay: from where on, and where it is with each publisher, so that it goes on
 * there after a reconnect.
 *
 * Not here: what is said of that to a publisher (link/replay.c).
 * Law: of so many publishers at most; of those without a connection the one that was heard longest ago is forgotten
 * first.  A place is moved by the endpoint that came to it first, until all connections that it is of have ended: what
 * another endpoint calls itself moves nobody's.
 */
#ifndef MMI_RESUME_H
#define MMI_RESUME_H

#include "wire/delivery.h"

typedef struct mmi_resume_place {
    mmi_replay_place of;         /* next 0: nobody's */
    uint64_t epoch;              /* of the last message that was heard of it; 0: none was */
    uint64_t heard;              /* the greater, the later it was found last */
    uint32_t users;              /* connections that it is of now */
    const void *owner;           /* the endpoint whose connections move it, while there are users */
} mmi_resume_place;

typedef struct mmi_resume {
    mmi_replay from;             /* what its user asked for; no places */
    uint64_t finds;
    mmi_resume_place places[MMI_REPLAY_PLACES_MAX];
} mmi_resume;

/* The place of a publisher, for one more connection of that endpoint.  NULL: there are too many with one, or it is not
 * that endpoint's to move. */
mmi_resume_place *mmi_resume_find(mmi_resume *r, const uint8_t producer[MMI_PRODUCER_SIZE], const void *owner);
/* Has another endpoint the place of that publisher? */
bool mmi_resume_taken(const mmi_resume *r, const uint8_t producer[MMI_PRODUCER_SIZE], const void *owner);
void mmi_resume_leave(mmi_resume_place *place);   /* NULL is fine */
/* What is said to a publisher: *out. */
void mmi_resume_ask(const mmi_resume *r, mmi_replay *out);

#endif
