/*
 * batch.c: fills a batch: frames end to end in one block, with offsets, as Arrow lays out binary
 * data.
 *
 * A lone message with a frame over MM_BATCH_INLINE_MAX is handed over by reference.  Law: nothing
 * is copied twice; arrays over BATCH_KEEP_BYTES are freed at the next use, so one large batch pins
 * nothing.
 */
#include "engine/batch.h"

#include <string.h>

enum { BATCH_KEEP_BYTES = 4 * 1024 * 1024, BATCH_FIRST_BYTES = 4096, BATCH_FIRST_COUNT = 64 };

int
mm_batch_new(mm_batch **batch)
{
    mmi_batch *b = mmi_alloc(sizeof *b);
    if (b == NULL) {
        return MM_ENOMEM;
    }
    *batch = &b->pub;
    return MM_OK;
}

void
mm_batch_free(mm_batch *batch)
{
    mmi_batch *b = (mmi_batch *)batch;
    if (b == NULL) {
        return;
    }
    mmi_free(b->taken);
    mmi_free(b->data);
    mmi_free(b->offset);
    mmi_free(b->peer);
    mmi_free(b->first_frame);
    mmi_free(b->envelope);
    mmi_free(b);
}

/* Resizes an array (given by the address of its pointer) to want items of size bytes. */
static bool
batch_grow(void *array, uint32_t want, size_t size)
{
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = mmi_realloc(old, (size_t)want * size);
    if (grown == NULL) {
        return false;
    }
    memcpy(array, &grown, sizeof grown);
    return true;
}

static uint32_t
batch_cap(uint32_t cap, uint32_t want)
{
    uint32_t grown = cap == 0 ? BATCH_FIRST_COUNT : cap;
    while (grown < want) {
        grown *= 2;
    }
    return grown;
}

int
mmi_batch_reserve(mmi_batch *b, uint32_t messages)
{
    b->taken_count = 0;
    if (messages <= b->taken_cap) {
        return MM_OK;
    }
    uint32_t cap = batch_cap(b->taken_cap, messages);
    if (!batch_grow(&b->taken, cap, sizeof *b->taken)) {
        return MM_ENOMEM;
    }
    b->taken_cap = cap;
    return MM_OK;
}

static bool
batch_size_arrays(mmi_batch *b, uint32_t messages, uint32_t frames, size_t bytes)
{
    if (b->data_cap > BATCH_KEEP_BYTES && bytes <= BATCH_KEEP_BYTES) {
        mmi_free(b->data);
        b->data = NULL;
        b->data_cap = 0;
    }
    if (messages + 1 > b->message_cap) {
        uint32_t cap = batch_cap(b->message_cap, messages + 1);
        if (!batch_grow(&b->first_frame, cap, sizeof *b->first_frame) ||
            !batch_grow(&b->envelope, cap, sizeof *b->envelope) ||
            !batch_grow(&b->peer, cap, sizeof *b->peer)) {
            return false;
        }
        b->message_cap = cap;
    }
    if (frames + 1 > b->frame_cap) {
        uint32_t cap = batch_cap(b->frame_cap, frames + 1);
        if (!batch_grow(&b->offset, cap, sizeof *b->offset)) {
            return false;
        }
        b->frame_cap = cap;
    }
    if (bytes > b->data_cap || b->data == NULL) {
        size_t cap = bytes < BATCH_FIRST_BYTES ? BATCH_FIRST_BYTES : bytes + bytes / 2;
        mmi_free(b->data);
        b->data = mmi_realloc(NULL, cap);   /* not zeroed: it is about to be filled */
        b->data_cap = b->data != NULL ? cap : 0;
    }
    return b->data != NULL;
}

static bool
batch_is_big(const mmi_msg *m)
{
    for (uint32_t i = 0; i < m->frame_count; i++) {
        if (m->frames[i].size > MM_BATCH_INLINE_MAX) {
            return true;
        }
    }
    return false;
}

static void
batch_copy(mmi_batch *b)
{
    size_t at = 0;
    uint32_t frame = 0;
    for (uint32_t i = 0; i < b->taken_count; i++) {
        mmi_msg *m = b->taken[i];
        b->first_frame[i] = frame;
        b->envelope[i] = m->envelope_count;
        b->peer[i] = m->pipe_id;
        for (uint32_t j = 0; j < m->frame_count; j++) {
            b->offset[frame++] = at;
            if (m->frames[j].size > 0) {
                memcpy(b->data + at, m->frames[j].data, m->frames[j].size);
                at += m->frames[j].size;
            }
        }
        mmi_msg_unref(m);
    }
    b->first_frame[b->taken_count] = frame;
    b->offset[frame] = at;
    b->pub.frame_count = frame;
}

int
mmi_batch_fill(mmi_batch *b, uint32_t *lost)
{
    mm_batch *pub = &b->pub;
    uint32_t frames = 0;
    size_t bytes = 0;
    *lost = 0;
    bool big = b->taken_count == 1 && batch_is_big(b->taken[0]);
    for (uint32_t i = 0; i < b->taken_count && !big; i++) {
        frames += b->taken[i]->frame_count;
        bytes += b->taken[i]->size;
    }
    if (!batch_size_arrays(b, b->taken_count, frames, bytes)) {
        *lost = b->taken_count;
        while (b->taken_count > 0) {
            mmi_msg_unref(b->taken[--b->taken_count]);
        }
        return MM_ENOMEM;
    }
    pub->message_count = b->taken_count;
    pub->frame_count = 0;
    pub->big = NULL;
    if (big) {
        pub->big = b->taken[0];
        b->first_frame[0] = 0;
        b->first_frame[1] = 0;
        b->envelope[0] = b->taken[0]->envelope_count;
        b->peer[0] = b->taken[0]->pipe_id;
    } else {
        batch_copy(b);
    }
    b->taken_count = 0;
    pub->data = b->data;
    pub->offset = b->offset;
    pub->first_frame = b->first_frame;
    pub->envelope = b->envelope;
    pub->peer = b->peer;
    return MM_OK;
}

uint32_t
mm_msg_frame_count(const mm_msg *msg)
{
    return msg->frame_count;
}

const uint8_t *
mm_msg_frame(const mm_msg *msg, uint32_t index, uint64_t *size)
{
    if (index >= msg->frame_count) {
        *size = 0;
        return NULL;
    }
    *size = msg->frames[index].size;
    return msg->frames[index].data;
}

void
mm_msg_free(mm_msg *msg)
{
    mmi_msg_unref(msg);
}
