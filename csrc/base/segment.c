/*
 * segment.c: several messages in one block.  See segment.h.
 * Not here: how a message looks on the wire (wire/framing.h).
 * Law: one allocation a segment, besides the arena it may be a part of.
 */
#include "base/segment.h"

#include <string.h>

#include "base/limits.h"

static void
segment_init(mmi_msg *m, mmi_msg_kind kind)
{
    memset(m, 0, sizeof *m);
    atomic_init(&m->refs, 1);
    m->kind = (uint8_t)kind;
}

mmi_segment_out *
mmi_segment_out_new(const struct mmi_framing *framing, size_t cap)
{
    mmi_segment_out *segment = cap == MMI_SEGMENT_CAP ? mmi_segment_spare() : NULL;
    if (segment == NULL) {
        segment = mmi_realloc(NULL, sizeof *segment + cap);
    }
    if (segment != NULL) {
        segment->room = cap;
        segment_init(&segment->msg, MMI_MSG_SEGMENT_OUT);
        segment->framing = framing;
        segment->first = segment->used = 0;
        segment->cap = cap;
        segment->data = (uint8_t *)(segment + 1);
        segment->owner = NULL;
    }
    return segment;
}

mmi_segment_out *
mmi_segment_out_view_of_nothing(void)
{
    mmi_segment_out *view = mmi_alloc(sizeof *view);
    if (view != NULL) {
        segment_init(&view->msg, MMI_MSG_SEGMENT_OUT);
    }
    return view;
}

void
mmi_segment_out_view_begin(mmi_segment_out *view, mmi_segment_out *owner, size_t at)
{
    view->framing = owner->framing;
    view->first = view->used = view->cap = at;
    view->data = owner->data;
    view->owner = mmi_msg_ref(&owner->msg);
    view->msg.owners = &view->owner;
    view->msg.owner_count = 1;
}

mmi_segment_out *
mmi_segment_out_view(mmi_segment_out *owner, size_t at)
{
    mmi_segment_out *view = mmi_segment_out_view_of_nothing();
    if (view != NULL) {
        mmi_segment_out_view_begin(view, owner, at);
    }
    return view;
}

mmi_segment_out *
mmi_segment_out_copy(const mmi_segment_out *segment, size_t at, size_t end, uint32_t count,
                     size_t cost)
{
    mmi_segment_out *copy = mmi_segment_out_new(segment->framing, end - at);
    if (copy != NULL) {
        memcpy(copy->data, segment->data + at, end - at);
        copy->used = end - at;
        copy->msg.count = count;
        copy->msg.cost = cost;
    }
    return copy;
}

mmi_segment_out *
mmi_segment_out_split(mmi_segment_out *segment, size_t at, uint32_t count, size_t cost)
{
    mmi_segment_out *rest = mmi_segment_out_copy(segment, at, segment->used, count, cost);
    if (rest != NULL) {
        segment->used = segment->cap = at;   /* nothing is ever appended behind what was copied */
        segment->msg.count -= count;
        segment->msg.cost -= cost;
        rest->msg.key = segment->msg.key > 0 ? segment->msg.key + segment->msg.count : 0;
    }
    return rest;
}

/* A block for the numbers and more octets, which come last. */
static mmi_segment_in *
segment_in_block(uint32_t messages, uint32_t frames, size_t bytes, size_t more)
{
    bool single = frames == messages;
    size_t numbers = (size_t)frames + 1 + (single ? 0 : (size_t)messages + 1);
    size_t size = sizeof(mmi_segment_in) + numbers * sizeof(uint32_t) + more;
    mmi_segment_in *segment = NULL;
    if (size > (size_t)MMI_SEGMENT_IN_BLOCK / 2 && size <= (size_t)MMI_SEGMENT_IN_BLOCK) {
        segment = mmi_segment_in_spare();
        size = MMI_SEGMENT_IN_BLOCK;
    }
    if (segment == NULL) {
        segment = mmi_realloc(NULL, size);
    }
    if (segment == NULL) {
        return NULL;
    }
    segment_init(&segment->msg, MMI_MSG_SEGMENT_IN);
    segment->msg.count = messages;
    segment->msg.cost = bytes + (size_t)frames * MMI_FRAME_OVERHEAD;
    segment->first = segment->one_size = 0;
    segment->arena = NULL;
    segment->pinned = size;
    segment->offset = (uint32_t *)(segment + 1);
    segment->first_frame = single ? NULL : segment->offset + frames + 1;
    segment->data = (uint8_t *)(segment->offset + numbers);
    return segment;
}

mmi_segment_in *
mmi_segment_in_new(uint32_t messages, uint32_t frames, size_t bytes)
{
    return segment_in_block(messages, frames, bytes, bytes);
}

mmi_segment_in *
mmi_segment_in_over(uint32_t messages, uint32_t frames, size_t bytes, mmi_arena *arena,
                    uint8_t *data)
{
    mmi_segment_in *segment = segment_in_block(messages, frames, bytes, 0);
    if (segment != NULL) {
        segment->arena = mmi_arena_ref(arena);
        segment->pinned += sizeof *arena;
        segment->data = data;
    }
    return segment;
}

uint32_t
mmi_segment_in_frames(const mmi_segment_in *segment, uint32_t i, uint32_t *frame)
{
    if (segment->first_frame == NULL) {
        *frame = i;
        return 1;
    }
    *frame = segment->first_frame[i];
    return segment->first_frame[i + 1] - *frame;
}

static uint32_t
segment_frame_at(const mmi_segment_in *segment, uint32_t i)
{
    return segment->first_frame == NULL ? i : segment->first_frame[i];
}

size_t
mmi_segment_in_bytes(const mmi_segment_in *segment, uint32_t i, uint32_t count)
{
    return segment->offset[segment_frame_at(segment, i + count)] -
           segment->offset[segment_frame_at(segment, i)];
}

size_t
mmi_segment_in_cost(const mmi_segment_in *segment, uint32_t i, uint32_t count)
{
    size_t frames = segment_frame_at(segment, i + count) - segment_frame_at(segment, i);
    return mmi_segment_in_bytes(segment, i, count) + frames * MMI_FRAME_OVERHEAD;
}

uint32_t
mmi_segment_in_within(const mmi_segment_in *segment, uint32_t max_messages, size_t max_bytes)
{
    uint32_t low = 1;
    uint32_t high = segment->msg.count < max_messages ? segment->msg.count : max_messages;
    if (mmi_segment_in_bytes(segment, segment->first, high) <= max_bytes) {
        return high;
    }
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (mmi_segment_in_bytes(segment, segment->first, middle) <= max_bytes) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

uint32_t
mmi_segment_in_sift(mmi_segment_in *segment, mmi_segment_keep keep, void *arg)
{
    uint32_t count = segment->msg.count, kept = 0, end = 0;
    uint32_t from = segment->offset[0];
    MMI_ASSERT(segment->first_frame == NULL && segment->first == 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t next = segment->offset[i + 1], size = next - from;
        if (keep(arg, segment->data + from, size)) {
            memmove(segment->data + end, segment->data + from, size);
            segment->offset[kept++] = end;
            end += size;
        }
        from = next;
    }
    segment->offset[kept] = end;
    segment->msg.count = kept;
    segment->msg.cost = end + (size_t)kept * MMI_FRAME_OVERHEAD;
    return count - kept;
}

mmi_segment_in *
mmi_segment_in_fit(mmi_segment_in *segment, size_t before)
{
    uint32_t count = segment->msg.count;
    size_t bytes = mmi_segment_in_bytes(segment, 0, count);
    MMI_ASSERT(segment->first_frame == NULL && segment->first == 0);
    mmi_segment_in *fit = bytes < before / 2 ? mmi_segment_in_new(count, count, bytes) : NULL;
    if (fit == NULL) {
        return segment;
    }
    memcpy(fit->offset, segment->offset, ((size_t)count + 1) * sizeof *fit->offset);
    memcpy(fit->data, segment->data, bytes);
    fit->one_size = segment->one_size;
    mmi_msg_from(&fit->msg, segment->msg.pipe_id, segment->msg.known);
    mmi_msg_unref(&segment->msg);
    return fit;
}

mmi_msg *
mmi_segment_in_copy(const mmi_segment_in *segment, uint32_t i)
{
    uint32_t frame;
    uint32_t count = mmi_segment_in_frames(segment, i, &frame);
    const uint32_t *offset = segment->offset + frame;
    mmi_msg *m;
    if (count == 1) {
        m = mmi_msg_copy(segment->data + offset[0], offset[1] - offset[0]);
    } else {
        uint64_t sizes[MMI_SEGMENT_FRAMES_MAX];
        for (uint32_t j = 0; j < count; j++) {
            sizes[j] = offset[j + 1] - offset[j];
        }
        m = mmi_msg_copy_frames(segment->data + offset[0], sizes, count);
    }
    if (m != NULL) {
        mmi_msg_from(m, segment->msg.pipe_id, segment->msg.known);
        m->number = segment->msg.number > 0 ? segment->msg.number + i : 0;
        m->origin = segment->msg.origin;
        m->origin.number += m->origin.attempt > 0 ? i : 0;
    }
    return m;
}
