/*
 * refusal.h: what a REP or RESPONDENT sends instead of an answer it will not give: the id, a frame
 * that is the word REFUSED where an answer has its empty one, and the reason in words.
 * Not here: who may be told so (pipe.h, hears_refusals).
 * Law: no answer looks like it, as the frame behind an answer's id is empty; who does not know it
 * finds a malformed answer.
 */
#ifndef MMI_REFUSAL_H
#define MMI_REFUSAL_H

#include <string.h>

#include "base/limits.h"
#include "base/msg.h"

#define MMI_REFUSAL_WORD "REFUSED"

enum {
    MMI_REFUSAL_WORD_SIZE = sizeof(MMI_REFUSAL_WORD) - 1,
    MMI_REFUSAL_FRAMES = 3,          /* id, word, reason                       */
    MMI_REFUSAL_ENVELOPE_FRAMES = 2  /* those in front of the reason           */
};

/* Is it one?  Its id is not looked at. */
static inline bool
mmi_refusal_is(const mmi_msg *m)
{
    return m->frame_count == MMI_REFUSAL_FRAMES && m->frames[1].size == MMI_REFUSAL_WORD_SIZE &&
           m->frames[2].size <= MMI_REFUSAL_REASON_MAX &&
           memcmp(m->frames[1].data, MMI_REFUSAL_WORD, MMI_REFUSAL_WORD_SIZE) == 0;
}

#endif
