/*
 * sched/turn.c: one turn of the engine: poll, ready links, timers.
 *
 * Not here: what links and endpoints do, settling (sched/flush.c).  Law: the lock is held but
 * around poll; events are looked up by tag, so one for something closed meanwhile leads nowhere.
 */
#include "ends/ends.h"
#include "link/small.h"
#include "sched/sched.h"

enum { STEP_EVENTS_MAX = 256, STEP_PACE_NS = MMI_PACE_US * 1000, STEP_PACE_LINKS = 16 };

static void
step_event(mmi_engine *e, const mmi_event *event)
{
    mmi_tag_kind kind;
    void *object = mmi_tag_find(e, event->tag, &kind);
    if (object == NULL) {
        return;
    }
    e->share.others |= kind != MMI_TAG_LINK || !mmi_link_steps(object);
    switch (kind) {
    case MMI_TAG_LINK: mmi_link_event(object, event->events); break;
    case MMI_TAG_LISTENER: mmi_listener_accept(object); break;
    case MMI_TAG_DIALER: mmi_dialer_resolved(object); break;
    }
}

/* Of many links that can be read, those that mostly bring little are read together. */
static bool
step_together(mmi_engine *e, mmi_small_reads *few, const mmi_event *event)
{
    mmi_tag_kind kind;
    mmi_link *link = mmi_tag_find(e, event->tag, &kind);
    if (link == NULL || kind != MMI_TAG_LINK || event->events != MMI_WATCH_READ) {
        return false;
    }
    if (few->count == MMI_SMALL_LINKS) {
        mmi_small_reads_run(few, e);   /* the lock was dropped: it may be gone */
        link = mmi_tag_find(e, event->tag, &kind);
    }
    return link != NULL && mmi_small_reads_add(few, link);
}

static void
step_events(mmi_engine *e, const mmi_event *events, int count)
{
    mmi_small_reads few;
    few.count = 0;
    for (int i = 0; i < count; i++) {
        if (count == 1 || !step_together(e, &few, &events[i])) {
            step_event(e, &events[i]);
        }
    }
    if (few.count > 0) {
        e->share.others = true;
        mmi_small_reads_run(&few, e);
    }
}

static void
step_timer(mmi_timer *timer)
{
    switch (timer->kind) {
    case MMI_TIMER_LINK: mmi_link_timer(MMI_CONTAINER_OF(timer, mmi_link, timer)); break;
    case MMI_TIMER_OVERDUE:
        mmi_overdue_due(MMI_CONTAINER_OF(timer, mmi_link, overdue_timer));
        break;
    case MMI_TIMER_RETIRE: mmi_retire_due(timer); break;
    case MMI_TIMER_DIALER: mmi_dialer_due(MMI_CONTAINER_OF(timer, mmi_dialer, timer)); break;
    case MMI_TIMER_LISTENER:
        mmi_listener_accept(MMI_CONTAINER_OF(timer, mmi_listener, timer));
        break;
    case MMI_TIMER_LINGER: mmi_socket_end(MMI_CONTAINER_OF(timer, mmi_socket, linger_timer)); break;
    case MMI_TIMER_STOP:
        mmi_socket_stop_late(MMI_CONTAINER_OF(timer, mmi_socket, stop_timer));
        break;
    case MMI_TIMER_EXPIRE:
        mmi_socket_expire(MMI_CONTAINER_OF(timer, mmi_socket, expire_timer));
        break;
    case MMI_TIMER_TICK: mmi_socket_tick(MMI_CONTAINER_OF(timer, mmi_socket, tick_timer)); break;
    default: mmi_socket_tell_drops(MMI_CONTAINER_OF(timer, mmi_socket, drops_timer)); break;
    }
}

static bool
step_rung(const mmi_engine *e)
{
    MMI_LIST_EACH (&e->rung, node, after) {
        if (mmi_listener_rung(MMI_CONTAINER_OF(node, mmi_listener, rung_node))) {
            return true;
        }
    }
    return false;
}

/* Before everybody sleeps: no link has something to write that nobody is to write. */
static void
step_invariants(const mmi_engine *e)
{
    MMI_LIST_EACH (&e->sockets, socket, next_socket) {
        const mmi_socket *s = MMI_CONTAINER_OF(socket, mmi_socket, node);
        MMI_LIST_EACH (&s->links, node, after) {
            MMI_ASSERT(!mmi_link_stranded(MMI_CONTAINER_OF(node, mmi_link, node)));
        }
    }
}

#ifdef MMI_CHECKED
#define STEP_SLEEPS(e) step_invariants(e)
#else
#define STEP_SLEEPS(e) ((void)step_invariants)
#endif

void
mmi_engine_turn(mmi_engine *e, uint64_t until_ns)
{
    mmi_event events[STEP_EVENTS_MAX];
    mmi_engine_materialize(e);
    mmi_engine_settle(e, true);
    bool bursts = !mmi_list_empty(&e->bursts);
    mmi_settle_bursts(e);
    if (bursts) {
        mmi_engine_settle(e, true);
    }
    e->share.others |= e->burst_count > 0;
    bool paced = mmi_settle_paced(e);   /* the lock is not dropped any more before the poll */
    uint64_t deadline = mmi_timers_next(&e->timers);
    /* With many links a round costs so much more, and each is worth more when it comes later. */
    uint64_t pace_ns = (uint64_t)STEP_PACE_NS * (1 + e->burst_count / STEP_PACE_LINKS);
    if (paced && e->now_ns + pace_ns < deadline) {
        deadline = e->now_ns + pace_ns;
    }
    deadline = until_ns < deadline ? until_ns : deadline;
    if (e->stop || (e->lead.wake & MMI_POLL_NOW) != 0 || step_rung(e)) {
        deadline = e->now_ns;
    }
    mmi_share_polls(&e->share, e->now_ns);
    STEP_SLEEPS(e);
    mmi_lead_poll_begin(e, deadline, paced);
    pthread_mutex_unlock(&e->lock);
    int count = e->plat.poll(e->plat.self, events, STEP_EVENTS_MAX, deadline);
    mmi_engine_lock(e);
    mmi_lead_poll_end(e);
    mmi_engine_refresh(e);
    mmi_share_polled(&e->share, e->now_ns);
    step_events(e, events, count);
    MMI_LIST_EACH (&e->rung, node, after) {
        mmi_listener *l = MMI_CONTAINER_OF(node, mmi_listener, rung_node);
        if (mmi_listener_rung(l)) {
            mmi_listener_accept(l);
        }
    }
    mmi_timer *due;
    while ((due = mmi_timers_pop_due(&e->timers, e->now_ns)) != NULL) {
        step_timer(due);
    }
    mmi_engine_settle(e, true);
}

void
mmi_engine_step_now(void *engine)
{
    mmi_engine *e = engine;
    mmi_engine_lock(e);
    mmi_engine_refresh(e);
    mmi_engine_turn(e, e->thread != NULL ? e->now_ns : UINT64_MAX);
    pthread_mutex_unlock(&e->lock);
}
