/*
 * plat/memory/queue.c: the bytes on their way through a stream within the process, as pieces.
 *
 * Not here: whose they are and who is told (memory.c).  Law: the owner of a piece is held until the
 * piece has been read; bytes of a segment or block never move, so what was borrowed stays where it
 * is while more is put behind it.
 */
#include <string.h>

#include "plat/memory/end.h"

static memory_piece *
queue_at(memory_queue *q, uint32_t i)
{
    return &q->pieces[(q->first + i) % MEMORY_PIECES_MAX];
}

/* false: there are too many pieces. */
static bool
queue_push(memory_queue *q, const uint8_t *data, size_t size, mmi_msg *owner)
{
    memory_piece *last = q->count > 0 ? queue_at(q, q->count - 1) : NULL;
    if (last != NULL && last->owner == owner && last->data + last->size == data) {
        last->size += size;
    } else if (q->count < MEMORY_PIECES_MAX) {
        *queue_at(q, q->count++) =
            (memory_piece){ .owner = mmi_msg_ref(owner), .data = data, .size = size };
    } else {
        return false;
    }
    q->bytes += size;
    return true;
}

static void
queue_free_block(memory_queue *q)
{
    mmi_msg_unref(q->block != NULL ? &q->block->msg : NULL);
    q->block = NULL;
}

/* false: no memory, or too many pieces. */
static bool
queue_copy(memory_queue *q, const uint8_t *data, size_t size)
{
    mmi_segment_out *block = q->block;
    if (block == NULL || block->cap - block->used < size) {
        size_t cap = q->count == 0 ? (size_t)MEMORY_BLOCK_FIRST : (size_t)MEMORY_BLOCK_CAP;
        block = mmi_segment_out_new(NULL, size > cap ? size : cap);
        if (block == NULL) {
            return false;
        }
        queue_free_block(q);
        q->block = block;
    }
    memcpy(block->data + block->used, data, size);
    if (!queue_push(q, block->data + block->used, size, &block->msg)) {
        return false;
    }
    block->used += size;
    return true;
}

/* Octets taken. */
size_t
mmi_memory_put(memory_queue *q, const uint8_t *data, size_t size, mmi_msg *owner)
{
    if (q->bytes >= MEMORY_BYTES_MAX) {
        return 0;
    }
    size_t room = MEMORY_BYTES_MAX - q->bytes;
    size_t part = size <= MEMORY_WHOLE_MAX || size <= room ? size : room;
    bool lent = owner != NULL && size >= MEMORY_LEND_MIN;
    bool taken = lent ? queue_push(q, data, part, owner) : queue_copy(q, data, part);
    return taken ? part : 0;
}

void
mmi_memory_drop(memory_queue *q, size_t size)
{
    MMI_ASSERT(size <= q->bytes);
    q->bytes -= size;
    while (size > 0) {
        memory_piece *front = queue_at(q, 0);
        size_t part = size < front->size ? size : front->size;
        front->data += part;
        front->size -= part;
        size -= part;
        if (front->size == 0) {
            mmi_msg_unref(front->owner);
            q->first = (q->first + 1) % MEMORY_PIECES_MAX;
            q->count--;
        }
    }
    if (q->count == 0 && q->block != NULL) {
        if (q->block->room > MEMORY_BLOCK_FIRST) {
            queue_free_block(q);
        } else {
            q->block->used = 0;   /* nobody refers to it any more */
        }
    }
}

void
mmi_memory_clear(memory_queue *q)
{
    mmi_memory_drop(q, q->bytes);
    queue_free_block(q);
}

static bool
piece_is_run(const memory_piece *piece)
{
    return piece->owner->kind == MMI_MSG_SEGMENT_OUT;
}

bool
mmi_memory_front(const memory_queue *q, mmi_iov *piece)
{
    const memory_piece *front = &q->pieces[q->first];
    const memory_piece *next = &q->pieces[(q->first + 1) % MEMORY_PIECES_MAX];
    if (q->count == 0 || !piece_is_run(front) || (q->count > 1 && !piece_is_run(next))) {
        return false;
    }
    *piece = (mmi_iov){ .data = (void *)front->data, .size = front->size };
    return true;
}

/* A run that would be cut is left for the next read, unless it comes first: a reader that borrows
 * then finds whole messages. */
size_t
mmi_memory_get(memory_queue *q, const mmi_iov *iov, int n)
{
    size_t left = 0, got = 0, into = 0;
    for (int i = 0; i < n; i++) {
        left += iov[i].size;
    }
    bool inside = true;
    for (int i = 0; i < n && q->count > 0;) {
        const memory_piece *front = queue_at(q, 0);
        size_t room = iov[i].size - into;
        size_t part = front->size < room ? front->size : room;
        if (!inside && piece_is_run(front) && front->size > left) {
            break;
        }
        inside = part < front->size;
        memcpy((uint8_t *)iov[i].data + into, front->data, part);
        mmi_memory_drop(q, part);
        got += part;
        left -= part;
        into += part;
        if (into == iov[i].size) {
            into = 0;
            i++;
        }
    }
    return got;
}
