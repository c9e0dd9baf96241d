/*
 * sched/life.c: opening and closing an engine, and its thread, the runner.
 *
 * Not here: the turn (sched/turn.c), what engines share (engine/engine.c).
 * Law: the engine's platform is not freed before nobody waits outside the lock.
 */
#include <stdio.h>

#include "ends/ends.h"
#include "link/ask.h"
#include "socket/ended.h"
#include "sched/sched.h"

static void
engine_run(void *arg)
{
    mmi_engine *e = arg;
    pthread_mutex_lock(&e->lock);
    while (!e->stop) {
        mmi_engine_refresh(e);
        if ((e->lead.wake & MMI_MAY_PARK) != 0) {
            mmi_runner_park(e);
        }
        mmi_engine_turn(e, UINT64_MAX);
    }
    pthread_mutex_unlock(&e->lock);
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
    mmi_ended_fini(e);
    mmi_timers_fini(&e->timers);
    mmi_engine_forget_policies(e);
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
    mmi_engine *e = mmi_engine_take();
    if (e == NULL) {
        plat->free(plat->self);
        return MM_EMFILE;
    }
    e->plat = *plat;
    e->idle_notifier = e->park_notifier = e->events_notifier = e->questions_notifier = -1;
    mmi_list *lists[] = { &e->sockets, &e->dirty,    &e->touched, &e->dead,     &e->deferring,
                          &e->bursts,  &e->rung,     &e->wakers,  &e->pollsets, &e->told,
                          &e->parting, &e->policies, &e->ended };
    mmi_fair_init(&e->questions);
    snprintf(e->features, sizeof e->features, "%s", mmi_wire_features);
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

static bool
engine_nobody_outside(const mmi_engine *e)
{
    return e->outside == 0;
}

int
mmi_engine_close(mmi_engine *e, int64_t timeout_ms, mmi_engine_lost *lost)
{
    e->closing = true;
    mmi_lead_kick(e, MMI_TAKE_BACK);
    mmi_handle_free(e->handle);
    e->handle = 0;
    mmi_engine_refresh(e);
    MMI_LIST_EACH (&e->wakers, node, after) {
        mmi_waker_close(e, MMI_CONTAINER_OF(node, mmi_waker, node));
    }
    MMI_LIST_EACH (&e->pollsets, node, after) {
        mmi_pollset_close(e, MMI_CONTAINER_OF(node, mmi_waker, node)->pollset);
    }
    mmi_events_close(e);
    mmi_ask_close(e);
    MMI_LIST_EACH (&e->sockets, node, after) {
        mmi_socket_close(MMI_CONTAINER_OF(node, mmi_socket, node));
    }
    mmi_engine_settle(e, true);
    e->plat.interrupt(e->plat.self);
    engine_wait_idle(e, mmi_engine_done, mmi_deadline(e->now_ns, timeout_ms));
    MMI_LIST_EACH (&e->sockets, node, after) {
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
    lost->messages = e->abandoned_messages;
    lost->count = mmi_ended_take(e, lost->ended, lost->cap);
    engine_release(e);
    pthread_mutex_unlock(&e->lock);
    return MM_OK;
}
