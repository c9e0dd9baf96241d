/*
 * msg.c: messages: one block holds head, frames, owners and, where they are copied, the bodies.
 * Not here: queues, and the encoding of frames.
 * Law: a message with one reference belongs to its holder, who may change it in place; one with
 * more is never changed.  A chain of owners is as long as the wrappings of a message: a few.
 */
#include "base/msg.h"

#include <string.h>

#include "base/large.h"
#include "base/limits.h"
#include "base/segment.h"

/* All of a message but its frames, and what owns them. */
static inline void
msg_init(mmi_msg *m, uint32_t count, mmi_frame *frames, size_t size)
{
    atomic_init(&m->refs, 1);
    m->kind = MMI_MSG_ONE;
    m->borrowed = m->alone = false;
    m->count = 1;
    m->frame_count = count;
    m->envelope_count = m->owner_count = 0;
    m->pipe_id = m->key = m->number = m->due_ns = 0;
    m->origin = (mmi_origin){ .attempt = 0 };
    m->priority = 0;
    m->known = NULL;
    m->meta = NULL;
    m->size = size;
    m->cost = 0;
    m->frames = frames;
    m->owners = NULL;
    m->adopted = NULL;
}

/* A block for count frames, owner_count owners and body_size bytes; frames are left to the caller.
 * *body is where the bodies begin. */
static mmi_msg *
msg_block(uint64_t count, uint64_t owner_count, size_t body_size, uint8_t **body)
{
    size_t head = sizeof(mmi_msg) + (size_t)count * sizeof(mmi_frame) +
                  (size_t)owner_count * sizeof(mmi_msg *);
    if (count > UINT32_MAX || owner_count > UINT32_MAX || body_size > SIZE_MAX / 2 - head) {
        return NULL;
    }
    size_t size = head + body_size;
    mmi_msg *m = body_size >= (size_t)MMI_LARGE_MIN ? mmi_large_take(size) : NULL;
    if (m == NULL && (m = mmi_realloc(NULL, size)) == NULL) {
        return NULL;
    }
    msg_init(m, (uint32_t)count, (mmi_frame *)(m + 1), body_size);
    m->owner_count = (uint32_t)owner_count;
    m->owners = owner_count == 0 ? NULL : (mmi_msg **)(m->frames + count);
    *body = (uint8_t *)m + head;
    return m;
}

static void
msg_frame_set(mmi_frame *frame, const uint8_t *data, size_t size)
{
    frame->data = data;
    frame->size = size;
    frame->head_size = 0;
}

mmi_msg *
mmi_msg_new(const uint64_t *sizes, uint32_t count)
{
    size_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (sizes[i] > SIZE_MAX / 4 - total) {
            return NULL;
        }
        total += (size_t)sizes[i];
    }
    uint8_t *body;
    mmi_msg *m = msg_block(count, 0, total, &body);
    for (uint32_t i = 0; m != NULL && i < count; i++) {
        msg_frame_set(&m->frames[i], body, (size_t)sizes[i]);
        body += sizes[i];
    }
    return m;
}

mmi_msg *
mmi_msg_copy(const uint8_t *body, size_t size)
{
    uint8_t *room;
    mmi_msg *m = msg_block(1, 0, size, &room);
    if (m == NULL) {
        return NULL;
    }
    msg_frame_set(&m->frames[0], room, size);
    if (size > 0) {
        memcpy(room, body, size);
    }
    return m;
}

mmi_msg *
mmi_msg_copy_frames(const uint8_t *bodies, const uint64_t *sizes, uint32_t count)
{
    mmi_msg *m = mmi_msg_new(sizes, count);
    if (m != NULL && m->size > 0) {
        memcpy(mmi_msg_data(m, 0), bodies, m->size);
    }
    return m;
}

mmi_msg *
mmi_msg_gather(const mm_body *frames, uint32_t count)
{
    size_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (frames[i].size > SIZE_MAX / 4 - total) {
            return NULL;
        }
        total += frames[i].size;
    }
    uint8_t *body;
    mmi_msg *m = msg_block(count, 0, total, &body);
    for (uint32_t i = 0; m != NULL && i < count; i++) {
        msg_frame_set(&m->frames[i], body, frames[i].size);
        if (frames[i].size > 0) {
            memcpy(body, frames[i].data, frames[i].size);
        }
        body += frames[i].size;
    }
    return m;
}

mmi_msg *
mmi_msg_adopt(uint8_t *block, size_t size)
{
    uint8_t *body;
    mmi_msg *m = msg_block(1, 0, 0, &body);
    if (m != NULL) {
        msg_frame_set(&m->frames[0], block, size);
        m->size = size;
        m->adopted = block;
    }
    return m;
}

mmi_msg *
mmi_msg_join(mmi_msg **parts, uint32_t count)
{
    if (count == 1 && !mmi_msg_shared(parts[0])) {
        return parts[0];
    }
    uint64_t frame_count = 0;
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        frame_count += parts[i]->frame_count;
        size += parts[i]->size;
    }
    uint8_t *body;
    mmi_msg *m = msg_block(frame_count, count, 0, &body);
    if (m == NULL) {
        return NULL;
    }
    mmi_frame *to = m->frames;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < parts[i]->frame_count; j++, to++) {
            /* An encoded head says whether more follows, and that may have changed. */
            msg_frame_set(to, parts[i]->frames[j].data, parts[i]->frames[j].size);
        }
        m->owners[i] = parts[i];
    }
    m->meta = mmi_meta_ref(parts[0]->meta);
    m->size = size;
    return m;
}

/* What is known of one message is known of the other, which is made of it. */
static void
msg_take_after(mmi_msg *out, const mmi_msg *m)
{
    mmi_msg_from(out, m->pipe_id, m->known);
    out->key = m->key;
    out->meta = mmi_meta_ref(m->meta);
}

mmi_msg *
mmi_msg_prepend_frames(mmi_msg *m, const uint8_t *bodies, const uint64_t *sizes, uint32_t count)
{
    size_t added = 0;
    for (uint32_t i = 0; i < count; i++) {
        added += (size_t)sizes[i];
    }
    uint8_t *body;
    mmi_msg *out = msg_block((uint64_t)m->frame_count + count, 1, added, &body);
    if (out == NULL) {
        return NULL;
    }
    if (added > 0) {
        memcpy(body, bodies, added);
    }
    for (uint32_t i = 0; i < count; i++) {
        msg_frame_set(&out->frames[i], body, (size_t)sizes[i]);
        body += sizes[i];
    }
    if (m->frame_count > 0) {
        memcpy(out->frames + count, m->frames, m->frame_count * sizeof(mmi_frame));
    }
    out->size += m->size;
    out->envelope_count = m->envelope_count;
    msg_take_after(out, m);
    out->owners[0] = m;
    return out;
}

mmi_msg *
mmi_msg_prepend(mmi_msg *m, const uint8_t *body, size_t size)
{
    uint64_t frame_size = size;
    return mmi_msg_prepend_frames(m, body, &frame_size, 1);
}

mmi_msg *
mmi_msg_unwrap(mmi_msg *m)
{
    MMI_ASSERT(m->owner_count == 1 && !mmi_msg_shared(m));
    mmi_msg *inner = m->owners[0];
    m->owner_count = 0;
    mmi_msg_unref(m);
    return inner;
}

mmi_msg *
mmi_msg_strip(mmi_msg *m, uint32_t count)
{
    MMI_ASSERT(count < m->frame_count);
    mmi_msg *out = m;
    if (mmi_msg_shared(m)) {
        uint8_t *body;
        out = msg_block(m->frame_count, 1, 0, &body);
        if (out == NULL) {
            return NULL;
        }
        memcpy(out->frames, m->frames, m->frame_count * sizeof(mmi_frame));
        out->size = m->size;
        out->envelope_count = m->envelope_count;
        msg_take_after(out, m);
        out->owners[0] = m;
    }
    for (uint32_t i = 0; i < count; i++) {
        out->size -= out->frames[i].size;
    }
    out->frames += count;
    out->frame_count -= count;
    out->envelope_count -= out->envelope_count < count ? out->envelope_count : count;
    return out;
}

void
mmi_msg_borrow(mmi_msg *m, mmi_frame *frame, const uint8_t *body, size_t size)
{
    msg_init(m, 1, frame, size);
    m->borrowed = true;
    msg_frame_set(frame, body, size);
}

void
mmi_msg_borrow_more(mmi_msg *m, const uint8_t *body, size_t size)
{
    MMI_ASSERT(m->borrowed && m->frame_count < MMI_BORROW_FRAMES_MAX);
    msg_frame_set(&m->frames[m->frame_count++], body, size);
    m->size += size;
}

mmi_msg *
mmi_msg_own(mmi_msg *m)
{
    if (!m->borrowed) {
        return m;
    }
    uint64_t sizes[MMI_BORROW_FRAMES_MAX];
    for (uint32_t i = 0; i < m->frame_count; i++) {
        sizes[i] = m->frames[i].size;
    }
    mmi_msg *own = mmi_msg_new(sizes, m->frame_count);
    if (own == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < m->frame_count; i++) {
        if (m->frames[i].size > 0) {
            memcpy(mmi_msg_data(own, i), m->frames[i].data, m->frames[i].size);
        }
    }
    msg_take_after(own, m);
    mmi_msg_unref(m);
    return own;
}

mmi_msg *
mmi_msg_ref(mmi_msg *m)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void
mmi_msg_unref(mmi_msg *m)
{
    if (m == NULL) {
        return;
    }
    /* The only holder needs no atomic decrement: nobody else can make a second reference. */
    if (mmi_msg_shared(m) && atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (m->borrowed) {
        return;
    }
    mmi_known_unref(m->known);
    mmi_meta_unref(m->meta);
    for (uint32_t i = 0; i < m->owner_count; i++) {
        mmi_msg_unref(m->owners[i]);
    }
    if (m->adopted != NULL) {
        mmi_large_free(m->adopted);
    }
    if (m->kind == MMI_MSG_ONE && m->size >= (size_t)MMI_LARGE_MIN) {
        mmi_large_free(m);
    } else if (m->kind == MMI_MSG_ONE || !mmi_segment_unused(m)) {
        mmi_free(m);
    }
}

size_t
mmi_msg_cost(const mmi_msg *m)
{
    if (m->kind != MMI_MSG_ONE) {
        return m->cost;
    }
    size_t meta = m->meta != NULL ? m->meta->size + (size_t)MMI_FRAME_OVERHEAD : 0;
    return m->size + (size_t)m->frame_count * MMI_FRAME_OVERHEAD + meta;
}
