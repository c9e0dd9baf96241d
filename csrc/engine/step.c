/*
 * step.c: one turn of the engine: poll, ready links, timers; and settling, what is done once a
 * turn.
 *
 * Not here: what links and endpoints do.  Law: the lock is held but around poll; events are looked
 * up by tag, so one for something closed meanwhile leads nowhere.
 */
#include <string.h>

#include "engine/link.h"

enum { STEP_EVENTS_MAX = 256 };

static void
step_event(mmi_engine *e, const mmi_event *event)
{
    mmi_tag_kind kind;
    void *object = mmi_tag_find(e, event->tag, &kind);
    if (object == NULL) {
        return;
    }
    switch (kind) {
    case MMI_TAG_LINK:
        mmi_link_event(object, event->events);
        break;
    case MMI_TAG_LISTENER:
        mmi_listener_accept(object);
        break;
    case MMI_TAG_DIALER:
        mmi_dialer_resolved(object);
        break;
    }
}

static void
step_timer(mmi_timer *timer)
{
    switch (timer->kind) {
    case MMI_TIMER_LINK:
        mmi_link_timer(MMI_CONTAINER_OF(timer, mmi_link, timer));
        break;
    case MMI_TIMER_DIALER:
        mmi_dialer_due(MMI_CONTAINER_OF(timer, mmi_dialer, timer));
        break;
    case MMI_TIMER_LISTENER:
        mmi_listener_accept(MMI_CONTAINER_OF(timer, mmi_listener, timer));
        break;
    case MMI_TIMER_LINGER:
        mmi_socket_end(MMI_CONTAINER_OF(timer, mmi_socket, linger_timer));
        break;
    case MMI_TIMER_TICK:
        mmi_socket_tick(MMI_CONTAINER_OF(timer, mmi_socket, tick_timer));
        break;
    default:
        mmi_socket_tell_drops(MMI_CONTAINER_OF(timer, mmi_socket, drops_timer));
        break;
    }
}

static bool
step_inproc_pending(const mmi_engine *e)
{
    MMI_LIST_EACH(&e->inproc, node, after) {
        if (mmi_inproc_pending(MMI_CONTAINER_OF(node, mmi_listener, inproc_node)->inproc)) {
            return true;
        }
    }
    return false;
}

void
mmi_engine_step(mmi_engine *e, bool wait)
{
    mmi_event events[STEP_EVENTS_MAX];
    pthread_mutex_lock(&e->lock);
    mmi_engine_refresh(e);
    mmi_engine_settle(e, true);
    uint64_t deadline = mmi_timers_next(&e->timers);
    if (e->stop || step_inproc_pending(e) || (!wait && e->thread != NULL)) {
        deadline = e->now_ns;
    }
    e->polling = true;
    e->poll_deadline_ns = deadline;
    pthread_mutex_unlock(&e->lock);
    int count = e->plat.poll(e->plat.self, events, STEP_EVENTS_MAX, deadline);
    pthread_mutex_lock(&e->lock);
    e->polling = false;
    mmi_engine_refresh(e);
    for (int i = 0; i < count; i++) {
        step_event(e, &events[i]);
    }
    MMI_LIST_EACH(&e->inproc, node, after) {
        mmi_listener *l = MMI_CONTAINER_OF(node, mmi_listener, inproc_node);
        if (mmi_inproc_pending(l->inproc)) {
            mmi_listener_accept(l);
        }
    }
    mmi_timer *due;
    while ((due = mmi_timers_pop_due(&e->timers, e->now_ns)) != NULL) {
        step_timer(due);
    }
    mmi_engine_settle(e, true);
    pthread_mutex_unlock(&e->lock);
}

void
mmi_engine_step_now(void *engine)
{
    mmi_engine_step(engine, false);
}

/*
 * A caller writes what it queued itself, so that a lone message needs no other thread; in a burst
 * it leaves it to the runner until there is a good deal to write (docs/adr: inline or batched).
 */
static void
settle_dirty(mmi_engine *e, bool runner)
{
    mmi_list later;
    mmi_list_init(&later);
    mmi_list *node;
    while ((node = mmi_list_pop_front(&e->dirty)) != NULL) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, dirty);
        if (runner || e->thread == NULL || mmi_link_flush_due(link, e->now_ns)) {
            mmi_link_flush(link);
        } else {
            mmi_list_push_back(&later, node);
        }
    }
    while ((node = mmi_list_pop_front(&later)) != NULL) {
        mmi_list_push_back(&e->dirty, node);
    }
}

/* The runner sleeps, and there is something for it: messages to write, or a timer that is due
 * sooner. */
static void
settle_runner(mmi_engine *e)
{
    bool sooner = mmi_timers_next(&e->timers) < e->poll_deadline_ns;
    bool sleeps = e->polling || e->thread == NULL;   /* a simulated one sleeps between its steps */
    if (sleeps && (sooner || !mmi_list_empty(&e->dirty))) {
        e->polling = false;   /* one interrupt is enough until it polls again */
        e->plat.interrupt(e->plat.self);
    }
}

void
mmi_engine_settle(mmi_engine *e, bool runner)
{
    mmi_list *node;
    settle_dirty(e, runner);
    while ((node = mmi_list_pop_front(&e->dead)) != NULL) {
        mmi_link_free(MMI_CONTAINER_OF(node, mmi_link, dirty));
    }
    while ((node = mmi_list_pop_front(&e->touched)) != NULL) {
        mmi_socket *s = MMI_CONTAINER_OF(node, mmi_socket, touched);
        if (s->closing) {
            mmi_socket_reap(s);
        } else {
            mmi_socket_update(s);
        }
    }
    if (!runner) {
        settle_runner(e);
    }
    if (e->closing && mmi_list_empty(&e->sockets)) {
        e->plat.notifier_ring(e->plat.self, e->idle_notifier);
    }
}
