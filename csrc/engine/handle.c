/*
 * handle.c: the process-wide table of handles.  See handle.h.
 *
 * Not here: what a handle stands for.  Law: slots are static, so reading one is always safe; every
 * field a reader may see without the table's lock is atomic.
 */
#include "engine/handle.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/limits.h"
#include "engine/engine.h"

enum {
    HANDLE_SLOTS = MMI_ENGINES_MAX + 2 * MMI_SOCKETS_MAX,
    HANDLE_INDEX_BITS = 28,
    HANDLE_TRIES = 32
};

typedef struct handle_slot {
    _Atomic(mmi_engine *) engine;
    _Atomic(void *) object;
    atomic_uint generation;
    atomic_uint epoch;
    uint32_t next_free;   /* index + 1; under the table's lock */
} handle_slot;

static handle_slot handle_slots[HANDLE_SLOTS];
static uint32_t handle_first_free, handle_used, handle_live;
static atomic_uint handle_epoch = 1;
static pthread_mutex_t handle_table = PTHREAD_MUTEX_INITIALIZER;

static uint32_t
handle_index(mm_handle handle)
{
    return (uint32_t)handle & ((1u << HANDLE_INDEX_BITS) - 1);
}

/* A slot in use has an odd generation, so no number can name what was in a free one. */
static bool
handle_current(const handle_slot *slot, mm_handle handle)
{
    uint32_t generation = (uint32_t)(handle >> 32);
    return (generation & 1) == 1 && atomic_load(&slot->generation) == generation;
}

mm_handle
mmi_handle_new(mmi_handle_kind kind, mmi_engine *engine, void *object)
{
    uint32_t index = 0;
    pthread_mutex_lock(&handle_table);
    if (handle_first_free != 0) {
        index = handle_first_free - 1;
        handle_first_free = handle_slots[index].next_free;
    } else if (handle_used < HANDLE_SLOTS) {
        index = handle_used++;
    } else {
        pthread_mutex_unlock(&handle_table);
        return 0;
    }
    handle_live++;
    pthread_mutex_unlock(&handle_table);
    handle_slot *slot = &handle_slots[index];
    uint32_t generation = atomic_load(&slot->generation) + 1;
    atomic_store(&slot->epoch, atomic_load(&handle_epoch));
    atomic_store(&slot->object, object);
    atomic_store(&slot->engine, engine);
    atomic_store(&slot->generation, generation);
    return (uint64_t)generation << 32 | (uint64_t)kind << HANDLE_INDEX_BITS | index;
}

void
mmi_handle_free(mm_handle handle)
{
    uint32_t index = handle_index(handle);
    handle_slot *slot = &handle_slots[index];
    atomic_fetch_add(&slot->generation, 1);
    pthread_mutex_lock(&handle_table);
    slot->next_free = handle_first_free;
    handle_first_free = index + 1;
    handle_live--;
    pthread_mutex_unlock(&handle_table);
}

/* A few tries, as what is done under it is short. */
static bool
handle_try_engine(mmi_engine *e)
{
    for (int i = 0; i < HANDLE_TRIES; i++) {
        if (pthread_mutex_trylock(&e->lock) == 0) {
            return true;
        }
    }
    return false;
}

typedef enum handle_way { HANDLE_WAIT, HANDLE_TRY, HANDLE_LAST } handle_way;

static bool
handle_lock_engine(mmi_engine *e, handle_way way)
{
    switch (way) {
    case HANDLE_TRY: return handle_try_engine(e);
    case HANDLE_LAST: mmi_engine_lock_last(e); return true;
    default: mmi_engine_lock(e); return true;
    }
}

static int
handle_enter(mm_handle handle, mmi_handle_kind kind, handle_way way, void **object,
             mmi_engine **engine)
{
    uint32_t index = handle_index(handle);
    if (index >= HANDLE_SLOTS || ((uint32_t)handle >> HANDLE_INDEX_BITS) != (uint32_t)kind) {
        return handle == 0 ? MM_ECLOSED : MM_EINVAL;
    }
    handle_slot *slot = &handle_slots[index];
    mmi_engine *e = atomic_load(&slot->engine);
    if (e == NULL) {
        return MM_EINVAL;
    }
    if (atomic_load(&slot->epoch) != atomic_load(&handle_epoch)) {
        return MM_EFORKED;
    }
    if (!handle_lock_engine(e, way)) {
        return MM_EAGAIN;
    }
    if (!handle_current(slot, handle)) {
        pthread_mutex_unlock(&e->lock);
        return MM_ECLOSED;
    }
    *object = atomic_load(&slot->object);
    *engine = e;
    return MM_OK;
}

int
mmi_handle_lock(mm_handle handle, mmi_handle_kind kind, void **object, mmi_engine **engine)
{
    return handle_enter(handle, kind, HANDLE_WAIT, object, engine);
}

int
mmi_handle_trylock(mm_handle handle, mmi_handle_kind kind, void **object, mmi_engine **engine)
{
    return handle_enter(handle, kind, HANDLE_TRY, object, engine);
}

int
mmi_handle_lock_last(mm_handle handle, mmi_handle_kind kind, void **object, mmi_engine **engine)
{
    return handle_enter(handle, kind, HANDLE_LAST, object, engine);
}

void *
mmi_handle_object(mm_handle handle, mmi_handle_kind kind, const mmi_engine *engine)
{
    uint32_t index = handle_index(handle);
    if (index >= HANDLE_SLOTS || ((uint32_t)handle >> HANDLE_INDEX_BITS) != (uint32_t)kind) {
        return NULL;
    }
    handle_slot *slot = &handle_slots[index];
    if (atomic_load(&slot->engine) != engine ||
        atomic_load(&slot->epoch) != atomic_load(&handle_epoch) || !handle_current(slot, handle)) {
        return NULL;
    }
    return atomic_load(&slot->object);
}

int
mmi_handle_count(void)
{
    pthread_mutex_lock(&handle_table);
    int count = (int)handle_live;
    pthread_mutex_unlock(&handle_table);
    return count;
}

void
mmi_handle_table_lock(void)
{
    pthread_mutex_lock(&handle_table);
}

void
mmi_handle_table_unlock(void)
{
    pthread_mutex_unlock(&handle_table);
}

void
mmi_handle_after_fork(void)
{
    pthread_mutex_init(&handle_table, NULL);
    atomic_fetch_add(&handle_epoch, 1);
    handle_live = 0;   /* the old slots stay taken, so their handles go on saying MM_EFORKED */
}

uint32_t
mmi_fork_epoch(void)
{
    return atomic_load(&handle_epoch);
}
