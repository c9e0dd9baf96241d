/*
 * survey.h: how a survey and its answers look on the wire, for both sides of it.
 * Frames: the id, 4 octets big-endian with the highest bit set; an empty one; the user's.
 * Not here: SP's form of the same (a codec's business).
 * Law: an id's first octet has MMI_SURVEY_ID_MARK, a word of the way back has not.
 */
#ifndef MMI_SURVEY_H
#define MMI_SURVEY_H

#include "base/base.h"

enum {
    MMI_SURVEY_ID_SIZE = 4,          /* octets                      */
    MMI_SURVEY_ID_MARK = 0x80,       /* in the first octet of an id */
    MMI_SURVEY_ENVELOPE_FRAMES = 2   /* the id and the delimiter    */
};

#endif
