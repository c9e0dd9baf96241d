/*
 * memory.c: the ends of streams within the process: opened, watched, written, read and closed.
 *
 * Not here: how their bytes are kept (plat/memory/queue.c).  Law: a platform is woken when an end
 * of its gets something to tell and its poll sleeps, and not again before it has looked; a closed
 * end is in no list and no table, and the last of a pair frees it.
 */
#include <string.h>

#include "plat/memory/end.h"

enum {
    MEMORY_FIRST = 1 << 30,          /* streams from here on: no descriptor is as large */
    MEMORY_CHUNK = 1024,             /* ends in a part of the table                     */
    MEMORY_CHUNKS_MAX = 1024
};

/* Parts of the table are never given back, so that an end is found without its lock. */
typedef struct memory_chunk {
    _Atomic(memory_end *) end[MEMORY_CHUNK];
    int free_next[MEMORY_CHUNK];
} memory_chunk;

static pthread_mutex_t memory_table = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(memory_chunk *) memory_chunks[MEMORY_CHUNKS_MAX];
static int memory_chunk_count;
static int memory_free = -1;         /* a list, through free_next */

static memory_chunk *
table_chunk(int index)
{
    return atomic_load_explicit(&memory_chunks[index / MEMORY_CHUNK], memory_order_acquire);
}

static memory_end *
memory_find(int s)
{
    int index = s - MEMORY_FIRST;
    return atomic_load_explicit(&table_chunk(index)->end[index % MEMORY_CHUNK],
                                memory_order_acquire);
}

/* One more part of the table, all of it free.  MM_EMFILE, MM_ENOMEM. */
static int
table_grow(void)
{
    if (memory_chunk_count == MEMORY_CHUNKS_MAX) {
        return MM_EMFILE;
    }
    memory_chunk *chunk = mmi_alloc(sizeof *chunk);
    if (chunk == NULL) {
        return MM_ENOMEM;
    }
    int base = memory_chunk_count * MEMORY_CHUNK;
    for (int i = 0; i < MEMORY_CHUNK; i++) {
        chunk->free_next[i] = i + 1 < MEMORY_CHUNK ? base + i + 1 : -1;
    }
    atomic_store_explicit(&memory_chunks[memory_chunk_count++], chunk, memory_order_release);
    memory_free = base;
    return MM_OK;
}

static int
table_add(memory_end *end)
{
    pthread_mutex_lock(&memory_table);
    int rc = memory_free < 0 ? table_grow() : MM_OK;
    if (rc == MM_OK) {
        int index = memory_free;
        memory_chunk *chunk = table_chunk(index);
        memory_free = chunk->free_next[index % MEMORY_CHUNK];
        atomic_store_explicit(&chunk->end[index % MEMORY_CHUNK], end, memory_order_release);
        end->stream = MEMORY_FIRST + index;
    }
    pthread_mutex_unlock(&memory_table);
    return rc;
}

static void
table_rm(int s)
{
    int index = s - MEMORY_FIRST;
    memory_chunk *chunk = table_chunk(index);
    pthread_mutex_lock(&memory_table);
    atomic_store_explicit(&chunk->end[index % MEMORY_CHUNK], NULL, memory_order_release);
    chunk->free_next[index % MEMORY_CHUNK] = memory_free;
    memory_free = index;
    pthread_mutex_unlock(&memory_table);
}

bool
mmi_memory_is(int s)
{
    return s >= MEMORY_FIRST;
}

void
mmi_memory_init(mmi_memory *m, void (*wake)(void *arg), void *arg)
{
    pthread_mutex_init(&m->lock, NULL);
    mmi_list_init(&m->ends);
    mmi_list_init(&m->ready);
    atomic_init(&m->ready_count, 0);
    atomic_init(&m->asleep, false);
    m->wake = wake;
    m->wake_arg = arg;
}

void
mmi_memory_fini(mmi_memory *m)
{
    while (!mmi_list_empty(&m->ends)) {
        mmi_memory_close(MMI_CONTAINER_OF(m->ends.next, memory_end, node)->stream);
    }
    pthread_mutex_destroy(&m->lock);
}

/* As epoll has it: a hang-up is told whatever the mask, but not where nothing is asked. */
static uint32_t
end_events(const memory_end *end)
{
    const memory_end *other = memory_other(end);
    if (end->watched == 0 || !end->open) {
        return 0;
    }
    if (!other->open) {
        return MMI_WATCH_READ | MMI_WATCH_WRITE | MMI_WATCH_HANGUP;
    }
    bool read = end->in.count > 0 || other->finished;
    const memory_queue *out = &other->in;
    bool write = out->bytes <= MEMORY_BYTES_MAX / 2 && out->count <= MEMORY_PIECES_MAX / 2;
    return end->watched &
           ((read ? (uint32_t)MMI_WATCH_READ : 0) | (write ? (uint32_t)MMI_WATCH_WRITE : 0));
}

/* After any change: its platform hears of it. The pair's lock is held. */
static void
end_tell(memory_end *end)
{
    uint32_t events = end_events(end);
    mmi_memory *m = end->memory;
    if (events == end->events || m == NULL) {
        return;
    }
    pthread_mutex_lock(&m->lock);
    bool was = end->events != 0;
    end->events = events;
    if (events != 0 && !was) {
        mmi_list_push_back(&m->ready, &end->ready);
        atomic_fetch_add(&m->ready_count, 1);
    } else if (events == 0) {
        mmi_list_rm(&end->ready);
        atomic_fetch_sub(&m->ready_count, 1);
    }
    pthread_mutex_unlock(&m->lock);
    if (events != 0 && atomic_exchange(&m->asleep, false)) {
        m->wake(m->wake_arg);
    }
}

/* To the platform that opens or watches it, if it has none. */
static void
end_join(memory_end *end, mmi_memory *m)
{
    if (end->memory == NULL) {
        end->memory = m;
        pthread_mutex_lock(&m->lock);
        mmi_list_push_back(&m->ends, &end->node);
        pthread_mutex_unlock(&m->lock);
    }
}

static void
end_leave(memory_end *end)
{
    mmi_memory *m = end->memory;
    if (m != NULL) {
        pthread_mutex_lock(&m->lock);
        mmi_list_rm(&end->node);
        pthread_mutex_unlock(&m->lock);
    }
}

static void
pair_free(memory_pair *pair)
{
    for (int i = 0; i < 2; i++) {
        mmi_memory_clear(&pair->end[i].in);
    }
    pthread_mutex_destroy(&pair->lock);
    mmi_free(pair);
}

int
mmi_memory_pair(mmi_memory *m, int s[2])
{
    memory_pair *pair = mmi_alloc(sizeof *pair);
    if (pair == NULL) {
        return MM_ENOMEM;
    }
    pthread_mutex_init(&pair->lock, NULL);
    int rc = MM_OK;
    for (int i = 0; i < 2 && rc == MM_OK; i++) {
        memory_end *end = &pair->end[i];
        end->pair = pair;
        mmi_list_init(&end->node);
        mmi_list_init(&end->ready);
        rc = table_add(end);
        end->open = rc == MM_OK;
    }
    if (rc != MM_OK) {
        if (pair->end[0].open) {
            table_rm(pair->end[0].stream);
        }
        pair_free(pair);
        return rc;
    }
    pthread_mutex_lock(&pair->lock);
    end_join(&pair->end[0], m);   /* the other is joined by the platform that first watches it */
    pthread_mutex_unlock(&pair->lock);
    s[0] = pair->end[0].stream;
    s[1] = pair->end[1].stream;
    return MM_OK;
}

void
mmi_memory_watch(mmi_memory *m, int s, uint32_t events, uint64_t tag)
{
    memory_end *end = memory_find(s);
    pthread_mutex_lock(&end->pair->lock);
    end_join(end, m);
    pthread_mutex_lock(&m->lock);
    end->tag = tag;
    pthread_mutex_unlock(&m->lock);
    end->watched = events;
    end_tell(end);
    pthread_mutex_unlock(&end->pair->lock);
}

int64_t
mmi_memory_lend(int s, const mmi_iov *iov, mmi_msg *const *owners, int n)
{
    memory_end *end = memory_find(s), *other = memory_other(end);
    size_t total = 0;
    pthread_mutex_lock(&end->pair->lock);
    bool lost = !other->open || end->finished;
    for (int i = 0; i < n && !lost; i++) {
        mmi_msg *owner = owners != NULL ? owners[i] : NULL;
        size_t put =
            iov[i].size > 0 ? mmi_memory_put(&other->in, iov[i].data, iov[i].size, owner) : 0;
        total += put;
        if (put < iov[i].size) {
            break;
        }
    }
    if (total > 0) {
        end_tell(other);
        end_tell(end);
    }
    pthread_mutex_unlock(&end->pair->lock);
    return lost ? MM_ECONNRESET : total > 0 ? (int64_t)total : MM_EAGAIN;
}

/* Something was read: room for the one who writes. */
static void
end_told_read(memory_end *end)
{
    end_tell(end);
    end_tell(memory_other(end));
}

int64_t
mmi_memory_readv(int s, const mmi_iov *iov, int n)
{
    memory_end *end = memory_find(s), *other = memory_other(end);
    pthread_mutex_lock(&end->pair->lock);
    int64_t rc = end->reset ? MM_ECONNRESET : !other->open || other->finished ? 0 : MM_EAGAIN;
    size_t got = mmi_memory_get(&end->in, iov, n);
    if (got > 0) {
        rc = (int64_t)got;
        end_told_read(end);
    }
    pthread_mutex_unlock(&end->pair->lock);
    return rc;
}

int
mmi_memory_borrow(int s, mmi_iov *piece)
{
    memory_end *end = memory_find(s), *other = memory_other(end);
    pthread_mutex_lock(&end->pair->lock);
    bool more = other->open && !other->finished;
    int rc = mmi_memory_front(&end->in, piece) ? MM_OK
             : end->in.count == 0 && more      ? MM_EAGAIN
                                               : MM_ENOTSUP;
    pthread_mutex_unlock(&end->pair->lock);
    return rc;
}

void
mmi_memory_consume(int s, size_t size)
{
    memory_end *end = memory_find(s);
    pthread_mutex_lock(&end->pair->lock);
    mmi_memory_drop(&end->in, size);
    end_told_read(end);
    pthread_mutex_unlock(&end->pair->lock);
}

size_t
mmi_memory_untaken(int s)
{
    memory_end *end = memory_find(s);
    pthread_mutex_lock(&end->pair->lock);
    size_t bytes = memory_other(end)->in.bytes;
    pthread_mutex_unlock(&end->pair->lock);
    return bytes;
}

void
mmi_memory_finish(int s)
{
    memory_end *end = memory_find(s);
    pthread_mutex_lock(&end->pair->lock);
    end->finished = true;
    end_tell(memory_other(end));
    pthread_mutex_unlock(&end->pair->lock);
}

void
mmi_memory_close(int s)
{
    memory_end *end = memory_find(s), *other = memory_other(end);
    memory_pair *pair = end->pair;
    table_rm(s);
    pthread_mutex_lock(&pair->lock);
    end->open = false;
    other->reset |= end->in.count > 0;
    mmi_memory_clear(&end->in);
    end_tell(end);
    end_leave(end);
    bool last = !other->open;
    if (!last) {
        end_tell(other);
    }
    pthread_mutex_unlock(&pair->lock);
    if (last) {
        pair_free(pair);
    }
}

int
mmi_memory_take(mmi_memory *m, mmi_event *out, int cap)
{
    int count = 0;
    if (atomic_load(&m->ready_count) == 0) {
        return 0;
    }
    pthread_mutex_lock(&m->lock);
    int all = (int)atomic_load(&m->ready_count);
    for (; count < all && count < cap; count++) {
        mmi_list *node = mmi_list_pop_front(&m->ready);
        const memory_end *end = MMI_CONTAINER_OF(node, memory_end, ready);
        out[count] = (mmi_event){ .tag = end->tag, .events = end->events };
        mmi_list_push_back(&m->ready, node);   /* each in its turn */
    }
    pthread_mutex_unlock(&m->lock);
    return count;
}

bool
mmi_memory_doze(mmi_memory *m)
{
    atomic_store(&m->asleep, true);
    if (atomic_load(&m->ready_count) == 0) {
        return true;
    }
    atomic_store(&m->asleep, false);
    return false;
}

void
mmi_memory_wake(mmi_memory *m)
{
    atomic_store(&m->asleep, false);
}

void
mmi_memory_lock(void)
{
    pthread_mutex_lock(&memory_table);
}

void
mmi_memory_unlock(void)
{
    pthread_mutex_unlock(&memory_table);
}

void
mmi_memory_after_fork(void)
{
    pthread_mutex_init(&memory_table, NULL);   /* the parent's ends stay in it, unused */
}
