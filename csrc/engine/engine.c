/*
 * engine.c: opening and closing an engine, waiting without its lock, and what engines share.
 *
 * Not here: the step (sched/turn.c), what is stepped (link, endpoint, socket).
 * Law: engine structs are static; whoever waits outside the lock is counted in e->outside, and the
 * engine's platform is not freed before that is zero.
 */
#include "engine/engine.h"

#include <string.h>

#include "link/link.h"

static mmi_engine engines[MMI_ENGINES_MAX];
static bool engine_lock_ready[MMI_ENGINES_MAX];
static pthread_mutex_t engine_table = PTHREAD_MUTEX_INITIALIZER;

static void
engine_run(void *arg)
{
    mmi_engine *e = arg;
    pthread_mutex_lock(&e->lock);
    while (!e->stop) {
        mmi_engine_refresh(e);
        if (e->park_wanted) {
            mmi_runner_park(e);
        }
        mmi_engine_turn(e, UINT64_MAX);
    }
    pthread_mutex_unlock(&e->lock);
}

/* What is done under it is short: better to spin for it a little than to sleep. */
static void
engine_lock_init(mmi_engine *e)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    (void)pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&e->lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

/* A free engine, locked and marked open; NULL: too many. */
static mmi_engine *
engine_take(void)
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
        memset((char *)found + sizeof found->lock, 0, sizeof *found - sizeof found->lock);
        found->open = true;
    }
    pthread_mutex_unlock(&engine_table);
    return found;
}

static void
engine_release(mmi_engine *e)
{
    for (uint32_t i = 0; i < e->notifier_count; i++) {
        e->plat.notifier_close(e->plat.self, e->notifiers[i]);
    }
    if (e->idle_notifier >= 0) {
        e->plat.notifier_close(e->plat.self, e->idle_notifier);
    }
    if (e->park_notifier >= 0) {
        e->plat.notifier_close(e->plat.self, e->park_notifier);
    }
    if (e->handle != 0) {
        mmi_handle_free(e->handle);
    }
    mmi_timers_fini(&e->timers);
    mmi_free(e->notifiers);
    mmi_free(e->tags);
    mmi_arena_unref(e->arena);
    e->arena = NULL;
    e->plat.free(e->plat.self);
    e->open = false;
}

int
mmi_engine_open(mmi_plat *plat, mm_handle *out)
{
    mmi_engine *e = engine_take();
    if (e == NULL) {
        plat->free(plat->self);
        return MM_EMFILE;
    }
    e->plat = *plat;
    e->idle_notifier = e->park_notifier = e->events_notifier = -1;
    mmi_list *lists[] = { &e->sockets, &e->dirty,  &e->touched, &e->dead,
                          &e->lagging, &e->bursts, &e->rung,   &e->wakers,
                          &e->groups, &e->told,  &e->parting };
    for (size_t i = 0; i < MMI_COUNT_OF(lists); i++) {
        mmi_list_init(lists[i]);
    }
    int rc = e->plat.notifier_open(e->plat.self, &e->idle_notifier);
    if (rc == MM_OK) {
        rc = e->plat.notifier_open(e->plat.self, &e->park_notifier);
    }
    int spare;   /* so that one thread can wait even when there are no descriptors left */
    if (rc == MM_OK && (rc = mmi_notifier_take(e, &spare)) == MM_OK) {
        mmi_notifier_give(e, spare);
    }
    e->arena = mmi_arena_new();
    if (rc == MM_OK && e->arena == NULL) {
        rc = MM_ENOMEM;
    }
    if (rc == MM_OK && (e->handle = mmi_handle_new(MMI_HANDLE_ENGINE, e, e)) == 0) {
        rc = MM_EMFILE;
    }
    mmi_engine_refresh(e);
    if (rc == MM_OK) {
        rc = e->plat.thread_start(e->plat.self, engine_run, e, &e->thread);
    }
    if (rc != MM_OK) {
        engine_release(e);
        pthread_mutex_unlock(&e->lock);
        return rc;
    }
    *out = e->handle;
    pthread_mutex_unlock(&e->lock);
    return MM_OK;
}

/* Waits until check() holds or the deadline has come; the lock is dropped meanwhile. */
static void
engine_wait_idle(mmi_engine *e, bool (*done)(const mmi_engine *e), uint64_t deadline_ns)
{
    while (!done(e)) {
        int rc = mmi_engine_wait(e, e->idle_notifier, deadline_ns);
        e->plat.notifier_clear(e->plat.self, e->idle_notifier);
        if (rc == MM_ETIMEDOUT) {
            return;
        }
    }
}

bool
mmi_engine_done(const mmi_engine *e)
{
    MMI_LIST_EACH(&e->sockets, node, after) {
        if (!MMI_CONTAINER_OF(node, mmi_socket, node)->ended) {
            return false;
        }
    }
    return true;
}

static bool
engine_nobody_outside(const mmi_engine *e)
{
    return e->outside == 0;
}

int
mmi_engine_close(mmi_engine *e, int64_t timeout_ms, uint64_t *abandoned)
{
    e->closing = true;
    mmi_runner_unpark(e);
    mmi_handle_free(e->handle);
    e->handle = 0;
    mmi_engine_refresh(e);
    MMI_LIST_EACH(&e->wakers, node, after) {
        mmi_waker_close(e, MMI_CONTAINER_OF(node, mmi_waker, node));
    }
    MMI_LIST_EACH(&e->groups, node, after) {
        mmi_group_close(e, MMI_CONTAINER_OF(node, mmi_waker, node)->group);
    }
    mmi_events_close(e);
    MMI_LIST_EACH(&e->sockets, node, after) {
        mmi_socket_close(MMI_CONTAINER_OF(node, mmi_socket, node));
    }
    mmi_engine_settle(e, true);
    e->plat.interrupt(e->plat.self);
    engine_wait_idle(e, mmi_engine_done, mmi_deadline(e->now_ns, timeout_ms));
    MMI_LIST_EACH(&e->sockets, node, after) {
        mmi_socket_cut(MMI_CONTAINER_OF(node, mmi_socket, node));
    }
    mmi_engine_settle(e, true);
    engine_wait_idle(e, engine_nobody_outside, UINT64_MAX);
    e->stop = true;
    e->plat.interrupt(e->plat.self);
    void *thread = e->thread;
    if (thread != NULL) {
        pthread_mutex_unlock(&e->lock);
        e->plat.thread_join(e->plat.self, thread);
        pthread_mutex_lock(&e->lock);
    }
    mmi_engine_settle(e, true);   /* links that somebody was still writing to */
    *abandoned = e->abandoned_messages;
    engine_release(e);
    pthread_mutex_unlock(&e->lock);
    return MM_OK;
}

void
mmi_engine_leave(mmi_engine *e)
{
    mmi_engine_settle(e, false);
    pthread_mutex_unlock(&e->lock);
}

bool
mmi_engine_leaves_quick(const mmi_engine *e)
{
    bool sleeps = e->polling || e->thread == NULL;
    bool sooner = sleeps && mmi_timers_next(&e->timers) < e->poll_deadline_ns;
    return mmi_list_empty(&e->dirty) && mmi_list_empty(&e->touched) && mmi_list_empty(&e->dead) &&
           !e->closing && !sooner;
}

void
mmi_engine_leave_quick(mmi_engine *e)
{
    if (!mmi_engine_leaves_quick(e)) {
        mmi_engine_refresh(e);
        mmi_engine_settle(e, false);
    }
    pthread_mutex_unlock(&e->lock);
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
    pthread_mutex_lock(&e->lock);
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
