/*
 * segment_run.c: see segment_run.h.
 * Not here: reading, moving.
 * Law: a segment that is a part of an arena has at least half of its octets, so that what waits in
 * a queue takes at most twice the memory it is charged for.
 */
#include "wire/segment_run.h"

mmi_segment_run
mmi_segment_run_of(mmi_reader_room room, const uint8_t *start, const mmi_arena *arena)
{
    mmi_segment_run run = { .start = start, .end = start, .room = room };
    run.bytes_max = arena != NULL ? (size_t)MMI_IO_BUFFER_SIZE : (size_t)MMI_SEGMENT_IN_BYTES;
    return run;
}

bool
mmi_segment_run_add(mmi_segment_run *run, uint32_t frames, size_t bytes, const uint8_t *end)
{
    size_t cost = run->bytes + (size_t)run->frames * MMI_FRAME_OVERHEAD;
    size_t more = bytes + (size_t)frames * MMI_FRAME_OVERHEAD;
    if (more > run->room.cost - cost ||
        (run->messages > 0 && run->bytes + bytes > run->bytes_max)) {
        return false;
    }
    run->end = end;
    run->messages++;
    run->frames += frames;
    run->bytes += bytes;
    if (run->messages == 1 || run->bytes <= (size_t)MMI_SEGMENT_IN_BYTES) {
        run->copied.end = end;
        run->copied.messages = run->messages;
        run->copied.frames = run->frames;
        run->copied.bytes = run->bytes;
    }
    return true;
}

mmi_segment_in *
mmi_segment_run_end(mmi_segment_run *run, mmi_arena *arena)
{
    if (run->messages == 0) {
        return NULL;
    }
    if (arena != NULL && run->bytes >= (size_t)MMI_SEGMENT_KEEPS_MIN) {
        return mmi_segment_in_over(run->messages, run->frames, run->bytes, arena,
                                   arena->data + (run->start - arena->data));
    }
    run->end = run->copied.end;
    run->messages = run->copied.messages;
    run->frames = run->copied.frames;
    run->bytes = run->copied.bytes;
    return mmi_segment_in_new(run->messages, run->frames, run->bytes);
}
