/*
 * pack.c: several messages in one block.  See pack.h.
 * Not here: how a message looks on the wire (wire/framing.h).
 * Law: one allocation a pack, besides the arena it may be a part of.
 */
#include "base/pack.h"

#include <string.h>

#include "base/limits.h"

static void
pack_init(mmi_msg *m, mmi_msg_kind kind)
{
    memset(m, 0, sizeof *m);
    atomic_init(&m->refs, 1);
    m->kind = (uint8_t)kind;
}

mmi_pack_out *
mmi_pack_out_new(const struct mmi_framing *framing, size_t cap)
{
    mmi_pack_out *pack = cap == MMI_PACK_CAP ? mmi_pack_spare() : NULL;
    if (pack == NULL) {
        pack = mmi_realloc(NULL, sizeof *pack + cap);
    }
    if (pack != NULL) {
        pack->room = cap;
        pack_init(&pack->msg, MMI_MSG_PACK_OUT);
        pack->framing = framing;
        pack->first = pack->used = 0;
        pack->cap = cap;
        pack->data = (uint8_t *)(pack + 1);
        pack->owner = NULL;
    }
    return pack;
}

mmi_pack_out *
mmi_pack_out_view(mmi_pack_out *owner, size_t at)
{
    mmi_pack_out *view = mmi_realloc(NULL, sizeof *view);
    if (view != NULL) {
        pack_init(&view->msg, MMI_MSG_PACK_OUT);
        view->framing = owner->framing;
        view->first = view->used = view->cap = at;
        view->room = 0;
        view->data = owner->data;
        view->owner = mmi_msg_ref(&owner->msg);
        view->msg.owners = &view->owner;
        view->msg.owner_count = 1;
    }
    return view;
}

mmi_pack_out *
mmi_pack_out_copy(const mmi_pack_out *pack, size_t at, size_t end, uint32_t count, size_t cost)
{
    mmi_pack_out *copy = mmi_pack_out_new(pack->framing, end - at);
    if (copy != NULL) {
        memcpy(copy->data, pack->data + at, end - at);
        copy->used = end - at;
        copy->msg.count = count;
        copy->msg.cost = cost;
    }
    return copy;
}

mmi_pack_out *
mmi_pack_out_split(mmi_pack_out *pack, size_t at, uint32_t count, size_t cost)
{
    mmi_pack_out *rest = mmi_pack_out_copy(pack, at, pack->used, count, cost);
    if (rest != NULL) {
        pack->used = pack->cap = at;   /* nothing is ever appended behind what was copied */
        pack->msg.count -= count;
        pack->msg.cost -= cost;
    }
    return rest;
}

/* A block for the numbers and more octets, which come last. */
static mmi_pack_in *
pack_in_block(uint32_t messages, uint32_t frames, size_t bytes, size_t more)
{
    bool single = frames == messages;
    size_t numbers = (size_t)frames + 1 + (single ? 0 : (size_t)messages + 1);
    size_t size = sizeof(mmi_pack_in) + numbers * sizeof(uint32_t) + more;
    mmi_pack_in *pack = mmi_realloc(NULL, size);
    if (pack == NULL) {
        return NULL;
    }
    pack_init(&pack->msg, MMI_MSG_PACK_IN);
    pack->msg.count = messages;
    pack->msg.cost = bytes + (size_t)frames * MMI_FRAME_OVERHEAD;
    pack->first = pack->one_size = 0;
    pack->arena = NULL;
    pack->held = size;
    pack->offset = (uint32_t *)(pack + 1);
    pack->first_frame = single ? NULL : pack->offset + frames + 1;
    pack->data = (uint8_t *)(pack->offset + numbers);
    return pack;
}

mmi_pack_in *
mmi_pack_in_new(uint32_t messages, uint32_t frames, size_t bytes)
{
    return pack_in_block(messages, frames, bytes, bytes);
}

mmi_pack_in *
mmi_pack_in_over(uint32_t messages, uint32_t frames, size_t bytes, mmi_arena *arena, uint8_t *data)
{
    mmi_pack_in *pack = pack_in_block(messages, frames, bytes, 0);
    if (pack != NULL) {
        pack->arena = mmi_arena_ref(arena);
        pack->held += sizeof *arena;
        pack->data = data;
    }
    return pack;
}

uint32_t
mmi_pack_in_frames(const mmi_pack_in *pack, uint32_t i, uint32_t *frame)
{
    if (pack->first_frame == NULL) {
        *frame = i;
        return 1;
    }
    *frame = pack->first_frame[i];
    return pack->first_frame[i + 1] - *frame;
}

static uint32_t
pack_frame_at(const mmi_pack_in *pack, uint32_t i)
{
    return pack->first_frame == NULL ? i : pack->first_frame[i];
}

size_t
mmi_pack_in_bytes(const mmi_pack_in *pack, uint32_t i, uint32_t count)
{
    return pack->offset[pack_frame_at(pack, i + count)] - pack->offset[pack_frame_at(pack, i)];
}

size_t
mmi_pack_in_cost(const mmi_pack_in *pack, uint32_t i, uint32_t count)
{
    size_t frames = pack_frame_at(pack, i + count) - pack_frame_at(pack, i);
    return mmi_pack_in_bytes(pack, i, count) + frames * MMI_FRAME_OVERHEAD;
}

uint32_t
mmi_pack_in_within(const mmi_pack_in *pack, uint32_t max_messages, size_t max_bytes)
{
    uint32_t low = 1;
    uint32_t high = pack->msg.count < max_messages ? pack->msg.count : max_messages;
    if (mmi_pack_in_bytes(pack, pack->first, high) <= max_bytes) {
        return high;
    }
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (mmi_pack_in_bytes(pack, pack->first, middle) <= max_bytes) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

uint32_t
mmi_pack_in_sift(mmi_pack_in *pack, mmi_pack_keep keep, void *arg)
{
    uint32_t count = pack->msg.count, kept = 0, end = 0;
    uint32_t from = pack->offset[0];
    MMI_ASSERT(pack->first_frame == NULL && pack->first == 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t next = pack->offset[i + 1], size = next - from;
        if (keep(arg, pack->data + from, size)) {
            memmove(pack->data + end, pack->data + from, size);
            pack->offset[kept++] = end;
            end += size;
        }
        from = next;
    }
    pack->offset[kept] = end;
    pack->msg.count = kept;
    pack->msg.cost = end + (size_t)kept * MMI_FRAME_OVERHEAD;
    return count - kept;
}

mmi_pack_in *
mmi_pack_in_fit(mmi_pack_in *pack, size_t before)
{
    uint32_t count = pack->msg.count;
    size_t bytes = mmi_pack_in_bytes(pack, 0, count);
    MMI_ASSERT(pack->first_frame == NULL && pack->first == 0);
    mmi_pack_in *fit = bytes < before / 2 ? mmi_pack_in_new(count, count, bytes) : NULL;
    if (fit == NULL) {
        return pack;
    }
    memcpy(fit->offset, pack->offset, ((size_t)count + 1) * sizeof *fit->offset);
    memcpy(fit->data, pack->data, bytes);
    fit->one_size = pack->one_size;
    fit->msg.pipe_id = pack->msg.pipe_id;
    mmi_msg_unref(&pack->msg);
    return fit;
}

mmi_msg *
mmi_pack_in_copy(const mmi_pack_in *pack, uint32_t i)
{
    uint32_t frame;
    uint32_t count = mmi_pack_in_frames(pack, i, &frame);
    const uint32_t *offset = pack->offset + frame;
    mmi_msg *m;
    if (count == 1) {
        m = mmi_msg_copy(pack->data + offset[0], offset[1] - offset[0]);
    } else {
        uint64_t sizes[MMI_PACK_FRAMES_MAX];
        for (uint32_t j = 0; j < count; j++) {
            sizes[j] = offset[j + 1] - offset[j];
        }
        m = mmi_msg_copy_frames(pack->data + offset[0], sizes, count);
    }
    if (m != NULL) {
        m->pipe_id = pack->msg.pipe_id;
    }
    return m;
}
