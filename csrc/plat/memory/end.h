/*
 * plat/memory/end.h: the two ends of a stream within the process, for memory.c and plat/memory/queue.c only.
 *
 * Law: all of an end is read and changed under its pair's lock, but node, ready, events and tag,
 * which change under that and its platform's; so either is enough to read these.
 */
#ifndef MMI_MEMORY_END_H
#define MMI_MEMORY_END_H

#include "plat/memory/memory.h"

enum {
    MEMORY_BYTES_MAX = 256 * 1024,   /* in a queue: as much, and it takes no more          */
    MEMORY_WHOLE_MAX = 128 * 1024,   /* a piece: is taken whole or not at all; larger: cut */
    MEMORY_LEND_MIN = 16384,         /* a piece: smaller is copied, so that many make one  */
    MEMORY_PIECES_MAX = 128,         /* in a queue; a power of two                         */
    MEMORY_BLOCK_FIRST = 2 * 1024,   /* bytes of a block of copies, which a queue keeps    */
    MEMORY_BLOCK_CAP = 32 * 1024     /* bytes of one when there are more                   */
};

typedef struct memory_piece {
    mmi_msg *owner;
    const uint8_t *data;
    size_t size;
} memory_piece;

/* What one end has written and the other not read. */
typedef struct memory_queue {
    memory_piece pieces[MEMORY_PIECES_MAX];
    uint32_t first, count;
    size_t bytes;
    mmi_segment_out *block;             /* of copies; the last one */
} memory_queue;

typedef struct memory_end {
    struct memory_pair *pair;
    int stream;
    bool open, finished, reset;      /* reset: the other closed and had not read all */
    memory_queue in;
    mmi_memory *memory;              /* its platform's; NULL: of none yet */
    mmi_list node, ready;            /* memory->ends, memory->ready */
    uint32_t watched, events;
    uint64_t tag;
} memory_end;

typedef struct memory_pair {
    pthread_mutex_t lock;
    memory_end end[2];
} memory_pair;

static inline memory_end *
memory_other(const memory_end *end)
{
    return &end->pair->end[end == &end->pair->end[0]];
}

/* plat/memory/queue.c: under the pair's lock. */
size_t mmi_memory_put(memory_queue *q, const uint8_t *data, size_t size, mmi_msg *owner);
size_t mmi_memory_get(memory_queue *q, const mmi_iov *iov, int n);
bool mmi_memory_front(const memory_queue *q, mmi_iov *piece);
void mmi_memory_drop(memory_queue *q, size_t size);
void mmi_memory_clear(memory_queue *q);

#endif
