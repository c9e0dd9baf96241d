/*
 * batch/frames.c: reading a batch: its frames, what is routing in front of them, who sent it.
 *
 * Not here: filling it (batch/batch.c).  Law: of mm_ functions no index reaches outside the batch.
 */
#include "batch/batch.h"

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

uint32_t
mmi_batch_envelope(const mm_batch *batch, uint32_t i)
{
    return batch->envelope != NULL ? batch->envelope[i] : 0;
}

/* Frames of message i are *first and those behind it: how many. */
static uint32_t
frames_of(const mm_batch *batch, uint32_t i, uint32_t *first)
{
    *first = batch->first_frame == NULL ? i : batch->first_frame[i];
    return batch->first_frame == NULL ? 1 : batch->first_frame[i + 1] - *first;
}

const void *
mmi_batch_frame(const mm_batch *batch, uint32_t i, uint32_t j, size_t *size)
{
    uint64_t big_size;
    if (batch->big != NULL) {
        const uint8_t *data = mm_msg_frame(batch->big, j, &big_size);
        *size = (size_t)big_size;
        return data;
    }
    uint32_t first, count = frames_of(batch, i, &first);
    *size = 0;
    if (j >= count) {
        return NULL;
    }
    *size = batch->offset[first + j + 1] - batch->offset[first + j];
    return batch->data + batch->offset[first + j];
}

uint32_t
mm_batch_frame_count(const mm_batch *batch, uint32_t i)
{
    if (i >= batch->message_count) {
        return 0;
    }
    uint32_t first;
    uint32_t count = batch->big != NULL ? batch->big->frame_count : frames_of(batch, i, &first);
    return count - mmi_batch_envelope(batch, i);
}

const void *
mm_batch_frame(const mm_batch *batch, uint32_t i, uint32_t j, size_t *size)
{
    *size = 0;
    return j < mm_batch_frame_count(batch, i)
               ? mmi_batch_frame(batch, i, j + mmi_batch_envelope(batch, i), size)
               : NULL;
}

uint64_t
mm_batch_peer(const mm_batch *batch, uint32_t i)
{
    if (i >= batch->message_count) {
        return 0;
    }
    return batch->peer != NULL ? batch->peer[i] : batch->one_peer;
}
