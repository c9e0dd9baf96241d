/*
 * reader_segment.c: a run of whole messages in the fed bytes -> one segment.
 *
 * Messages with an AGAIN each, of one place and with numbers in a row, are a run as well: the
 * segment says where its first was.
 * Not here: whatever is not whole, not small, another command or an error: mmi_reader_next sees to
 * that.  Law: a first walk counts, a second moves: into a block, or, should the run be most of an
 * arena, together where it is; nothing is consumed that is not in the segment.
 */
#include <string.h>

#include "base/octets.h"
#include "wire/zmtp/reader.h"

static const uint8_t segment_again_head[] = {
    MMI_FRAME_COMMAND, MMI_COMMAND_AGAIN_SIZE - 2, 5, 'A', 'G', 'A', 'I', 'N',
};

typedef struct segment_walk {
    const uint8_t *at, *end;
    uint32_t frames, messages;
    size_t bytes;
    mmi_origin first; /* of the first message, as its AGAIN says; attempt 0: it has none */
} segment_walk;

/* The head of the frame at at; false: not whole, or not the body of a message. */
static inline bool
segment_head(const uint8_t *at, const uint8_t *end, const uint8_t **body, size_t *size)
{
    if (end - at < 2 || (at[0] & ~(MMI_FRAME_MORE | MMI_FRAME_LONG)) != 0) {
        return false;
    }
    if ((at[0] & MMI_FRAME_LONG) == 0) {
        *body = at + 2;
        *size = at[1];
        return *size <= (size_t)(end - *body);
    }
    if (end - at < MMI_FRAME_HEAD_MAX) {
        return false;
    }
    uint64_t size64 = mmi_be64_get(at + 1);
    *body = at + MMI_FRAME_HEAD_MAX;
    *size = (size_t)size64;
    return size64 <= (uint64_t)(end - *body);
}

/* The AGAIN at at, as our own senders write it; false: something else is there. */
static bool
segment_again(const uint8_t *at, const uint8_t *end, mmi_origin *origin)
{
    const uint8_t *data = at + MMI_COMMAND_AGAIN_SIZE - MMI_AGAIN_SIZE;
    return end - at > MMI_COMMAND_AGAIN_SIZE && at[0] == MMI_FRAME_COMMAND &&
           memcmp(at, segment_again_head, sizeof segment_again_head) == 0 &&
           mmi_again_get(data, MMI_AGAIN_SIZE, origin);
}

/* Passes over what is in front of the next message; false: it is not of this run. */
static bool
segment_before(segment_walk *w, const uint8_t **at)
{
    mmi_origin origin = { .attempt = 0 };
    bool again = segment_again(*at, w->end, &origin);
    *at += again ? (size_t)MMI_COMMAND_AGAIN_SIZE : 0;
    if (w->messages == 0) {
        w->first = origin;
        return true;
    }
    return again == (w->first.attempt > 0) &&
           (!again || (origin.epoch == w->first.epoch && origin.attempt == w->first.attempt &&
                       origin.number - w->first.number == w->messages));
}

/* Walks over one whole message within the limits; false: there is none. */
static bool
segment_message(const mmi_reader *r, segment_walk *w)
{
    const uint8_t *at = w->at, *body;
    if (!segment_before(w, &at)) {
        return false;
    }
    size_t size, bytes = 0;
    uint32_t frames = 0;
    bool more;
    do {
        if (!segment_head(at, w->end, &body, &size)) {
            return false;
        }
        bytes += size;
        frames++;
        if (bytes > r->limits.message_size_max || frames > r->limits.frames_max ||
            frames > (uint32_t)MMI_SEGMENT_FRAMES_MAX) {
            return false;
        }
        more = (at[0] & MMI_FRAME_MORE) != 0;
        at = body + size;
    } while (more);
    w->at = at;
    w->frames = frames;
    w->bytes = bytes;
    w->messages++;
    return true;
}

/* The bodies of the messages from at on, end to end; each has an AGAIN, if the segment says so. */
static void
segment_move(mmi_segment_in *segment, const uint8_t *at, const uint8_t *end)
{
    uint32_t messages = segment->msg.count, frame = 0, offset = 0;
    size_t before = segment->msg.origin.attempt > 0 ? (size_t)MMI_COMMAND_AGAIN_SIZE : 0;
    bool alike = true;
    for (uint32_t i = 0; i < messages; i++) {
        bool more;
        at += before;
        if (segment->first_frame != NULL) {
            segment->first_frame[i] = frame;
        }
        do {
            const uint8_t *body;
            size_t size;
            bool whole = segment_head(at, end, &body, &size);
            MMI_ASSERT(whole);   /* the first walk saw it */
            more = (at[0] & MMI_FRAME_MORE) != 0;
            segment->offset[frame++] = offset;
            memmove(segment->data + offset, body, size);   /* never beyond body: heads go away */
            offset += (uint32_t)size;
            alike &= i == 0 || size == segment->offset[1];
            at = body + size;
        } while (more);
    }
    segment->offset[frame] = offset;
    segment->one_size = segment->first_frame == NULL && alike ? segment->offset[1] : 0;
    if (segment->first_frame != NULL) {
        segment->first_frame[messages] = frame;
    }
}

mmi_segment_in *
mmi_reader_segment(const mmi_reader *r, const uint8_t **buf, size_t *size, mmi_reader_room room,
                   mmi_arena *arena)
{
    if (!mmi_reader_idle(r) || r->reason != 0) {
        return NULL;
    }
    segment_walk w = { .at = *buf, .end = *buf + *size };
    mmi_segment_run run = mmi_segment_run_of(room, *buf, arena);
    while (mmi_segment_run_open(&run) && segment_message(r, &w) &&
           mmi_segment_run_add(&run, w.frames, w.bytes, w.at)) {
    }
    mmi_segment_in *segment = mmi_segment_run_end(&run, arena);
    if (segment != NULL) {
        segment->msg.origin = w.first;
        segment_move(segment, *buf, run.end);
        *size -= (size_t)(run.end - *buf);
        *buf = run.end;
    }
    return segment;
}

bool
mmi_reader_waits(const mmi_reader *r, const uint8_t *buf, size_t size, size_t size_max)
{
    const uint8_t *at = buf, *end = buf + size;
    if (!mmi_reader_idle(r) || r->reason != 0 || size > size_max) {
        return false;
    }
    for (uint32_t frames = 1; frames <= (uint32_t)MMI_SEGMENT_FRAMES_MAX; frames++) {
        const uint8_t *body;
        size_t body_size;
        if (at < end && (at[0] & ~(MMI_FRAME_MORE | MMI_FRAME_LONG)) != 0) {
            return false;
        }
        if (segment_head(at, end, &body, &body_size)) {
            if ((at[0] & MMI_FRAME_MORE) == 0) {
                return false;   /* whole: it was left because there was no room */
            }
            at = body + body_size;
            continue;
        }
        mmi_frame_head head = { .flags = 0, .size = 0 };
        int head_size = mmi_frame_head_parse(at, (size_t)(end - at), &head);
        size_t limit =
            r->limits.message_size_max < size_max ? (size_t)r->limits.message_size_max : size_max;
        return head_size >= 0 && head.size <= limit && frames <= r->limits.frames_max;
    }
    return false;   /* of too many frames for a segment, or for anybody */
}
