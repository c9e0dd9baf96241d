/*
 * engine/engine.c: the table of engines, and what everybody needs of one: its lock, its clock,
 * notifiers, waiting without the lock.
 *
 * Not here: opening and closing (sched/life.c), what it owns.
 * Law: engine structs are static; whoever waits outside the lock is counted in e->outside.
 */
#include "engine/engine.h"

#include <sched.h>
#include <string.h>

enum { ENGINE_YIELDS = 1000 }; /* times that who goes last looks whether others had the lock */

static mmi_engine engines[MMI_ENGINES_MAX];
static bool engine_lock_ready[MMI_ENGINES_MAX];
static pthread_mutex_t engine_table = PTHREAD_MUTEX_INITIALIZER;

/* What is done under it is short: better to spin for it a little than to sleep. */
static void
engine_lock_init(mmi_engine *e)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    (void)pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&e->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    atomic_store(&e->wanted, 0);
}

void
mmi_engine_lock(mmi_engine *e)
{
    if (pthread_mutex_trylock(&e->lock) != 0) {
        atomic_fetch_add(&e->wanted, 1);
        pthread_mutex_lock(&e->lock);
        atomic_fetch_sub(&e->wanted, 1);
        atomic_fetch_add(&e->handed, 1);
    }
}

void
mmi_engine_lock_last(mmi_engine *e)
{
    unsigned handed = atomic_load(&e->handed);
    for (int i = 0;
         i < ENGINE_YIELDS && atomic_load(&e->wanted) > 0 && atomic_load(&e->handed) == handed;
         i++) {
        sched_yield();
    }
    mmi_engine_lock(e);
}

mmi_engine *
mmi_engine_take(void)
{
    mmi_engine *found = NULL;
    pthread_mutex_lock(&engine_table);
    for (uint32_t i = 0; i < MMI_ENGINES_MAX && found == NULL; i++) {
        mmi_engine *e = &engines[i];
        if (!engine_lock_ready[i]) {
            engine_lock_init(e);
            engine_lock_ready[i] = true;
        }
        pthread_mutex_lock(&e->lock);
        if (!e->open) {
            found = e;
        } else {
            pthread_mutex_unlock(&e->lock);
        }
    }
    if (found != NULL) {
        const size_t kept = offsetof(mmi_engine, open);
        memset((char *)found + kept, 0, sizeof *found - kept);
        found->open = true;
    }
    pthread_mutex_unlock(&engine_table);
    return found;
}

void
mmi_engine_refresh(mmi_engine *e)
{
    e->now_ns = e->plat.now_ns(e->plat.self);
}

uint32_t
mmi_engine_random(mmi_engine *e)
{
    uint32_t value = 0;
    e->plat.random(e->plat.self, &value, sizeof value);
    return value;
}

int
mmi_notifier_take(mmi_engine *e, int *notifier)
{
    if (e->notifier_count > 0) {
        *notifier = e->notifiers[--e->notifier_count];
        return MM_OK;
    }
    return e->plat.notifier_open(e->plat.self, notifier);
}

void
mmi_notifier_give(mmi_engine *e, int notifier)
{
    if (e->notifier_count == e->notifier_cap) {
        uint32_t cap = e->notifier_cap == 0 ? 8 : e->notifier_cap * 2;
        int *grown = mmi_realloc(e->notifiers, cap * sizeof *grown);
        if (grown == NULL) {
            e->plat.notifier_close(e->plat.self, notifier);
            return;
        }
        e->notifiers = grown;
        e->notifier_cap = cap;
    }
    e->plat.notifier_clear(e->plat.self, notifier);
    e->notifiers[e->notifier_count++] = notifier;
}

void
mmi_engine_unlock(mmi_engine *e)
{
    e->outside++;
    pthread_mutex_unlock(&e->lock);
}

void
mmi_engine_relock(mmi_engine *e)
{
    mmi_engine_lock(e);
    e->outside--;
    if (e->closing) {
        e->plat.notifier_ring(e->plat.self, e->idle_notifier);
    }
    mmi_engine_refresh(e);
}

int
mmi_engine_wait(mmi_engine *e, int notifier, uint64_t deadline_ns)
{
    mmi_engine_unlock(e);
    int rc = e->plat.wait(e->plat.self, notifier, deadline_ns);
    mmi_engine_relock(e);
    return rc;
}

uint64_t
mmi_deadline(uint64_t now_ns, int64_t ms)
{
    const uint64_t ns_per_ms = 1000000;
    if (ms < 0 || (uint64_t)ms > (UINT64_MAX - now_ns) / ns_per_ms) {
        return UINT64_MAX;
    }
    return now_ns + (uint64_t)ms * ns_per_ms;
}

void
mmi_engines_lock(void)
{
    pthread_mutex_lock(&engine_table);
    for (uint32_t i = 0; i < MMI_ENGINES_MAX && engine_lock_ready[i]; i++) {
        pthread_mutex_lock(&engines[i].lock);
    }
}

void
mmi_engines_unlock(void)
{
    for (uint32_t i = 0; i < MMI_ENGINES_MAX && engine_lock_ready[i]; i++) {
        pthread_mutex_unlock(&engines[i].lock);
    }
    pthread_mutex_unlock(&engine_table);
}

void
mmi_engines_after_fork(void)
{
    pthread_mutex_init(&engine_table, NULL);
    for (uint32_t i = 0; i < MMI_ENGINES_MAX && engine_lock_ready[i]; i++) {
        mmi_engine *e = &engines[i];
        engine_lock_init(e);
        if (e->open) {
            e->plat.after_fork(e->plat.self);
            e->open = false;   /* its memory is the parent's business: forgotten, not freed */
        }
    }
}
