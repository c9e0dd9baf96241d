/*
 * segment_run.h: how many of the messages that lie there go into one segment, and whether the segment stays
 * where they are.
 *
 * Not here: what a message looks like (reader_segment.c, wire/sp/segment.c), moving them together.
 * Law: never more than there is room for; at least one, should there be room for it.
 */
#ifndef MMI_SEGMENT_RUN_H
#define MMI_SEGMENT_RUN_H

#include "base/segment.h"

/* What a queue still takes: messages, and as mmi_msg_cost charges them. */
typedef struct mmi_reader_room {
    uint32_t messages;
    size_t cost;
} mmi_reader_room;

/* The messages so far: where they end, how many, of how many frames and bytes. */
typedef struct mmi_segment_run {
    const uint8_t *start, *end;
    uint32_t messages, frames;
    size_t bytes;
    /* private */
    mmi_reader_room room;
    size_t bytes_max;
    struct { const uint8_t *end; uint32_t messages, frames; size_t bytes; } copied; /* at most */
} mmi_segment_run;

mmi_segment_run mmi_segment_run_of(mmi_reader_room room, const uint8_t *start, const mmi_arena *arena);
static inline bool
mmi_segment_run_open(const mmi_segment_run *run)
{
    return run->messages < run->room.messages;
}
/* One more message, which ends at end.  false: it does not go with those before. */
bool mmi_segment_run_add(mmi_segment_run *run, uint32_t frames, size_t bytes, const uint8_t *end);
/* A segment for the messages of the run, which is cut should they be too many to copy; whoever asked
 * moves them there.  NULL: none, or no memory. */
mmi_segment_in *mmi_segment_run_end(mmi_segment_run *run, mmi_arena *arena) MMI_WARN_UNUSED;

#endif
