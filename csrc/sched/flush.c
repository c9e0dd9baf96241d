/*
 * sched/flush.c: what is done once a turn or a call, before the lock is released: flush, free,
 * wake.
 *
 * Not here: what is done in between (sched/turn.c, api).  Law: writing drops the lock, so the lists
 * are taken from one entry at a time, and whoever settles holds no pointer across it that is not
 * pinned.
 */
#include "ends/ends.h"
#include "link/small.h"
#include "sched/sched.h"

enum {
    SETTLE_MANY_LINKS = 32   /* to write: half of it takes longer than to wake the runner */
};

/*
 * A caller writes what it queued itself, so that a lone message needs no other thread.  In a burst
 * it leaves it to the runner, which then comes by every MMI_PACE_US without being woken, until
 * there is a good deal to write (docs/adr: inline or batched).
 */
static bool
settle_is_due(const mmi_engine *e, const mmi_link *link, bool runner)
{
    return runner || e->thread == NULL || mmi_link_flush_due(link, e->now_ns);
}

/* The next link that is to be written now, off the list; NULL: none. */
static mmi_link *
settle_due(mmi_engine *e, bool runner, bool beside)
{
    mmi_list *node;
    while ((node = beside ? mmi_list_pop_back(&e->dirty) : mmi_list_pop_front(&e->dirty)) != NULL) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, dirty);
        if (settle_is_due(e, link, runner)) {
            return link;
        }
        if (!link->burst) {
            link->burst = true;
            mmi_list_push_back(&e->bursts, &link->bursts);
        }
    }
    return NULL;
}

static void
settle_put_back(mmi_engine *e, mmi_link *link, bool beside)
{
    if (beside) {
        mmi_list_push_back(&e->dirty, &link->dirty);
    } else {
        mmi_list_push_front(&e->dirty, &link->dirty);
    }
}

static bool
settle_many(const mmi_engine *e, bool runner)
{
    int count = 0;
    MMI_LIST_EACH(&e->dirty, node, after) {
        count += settle_is_due(e, MMI_CONTAINER_OF(node, mmi_link, dirty), runner);
        if (count == SETTLE_MANY_LINKS) {
            return true;
        }
    }
    return false;
}

/* Who writes beside another begins at the other end: peers of one process have mostly come one
 * after the other, so two processes get something to do at once.  Nobody waits for ever there:
 * whoever queues more settles as well, from the front. */
static void
settle_dirty(mmi_engine *e, bool runner, bool beside)
{
    mmi_small_writes few;
    few.count = 0;
    if (settle_many(e, runner)) {
        mmi_lead_kick(e, MMI_HELP);
    }
    for (;;) {
        mmi_link *link = settle_due(e, runner, beside);
        if (link != NULL && mmi_small_writes_add(&few, link)) {
            continue;
        }
        if (few.count > 0) {
            if (link != NULL) {   /* later, should it still be there */
                settle_put_back(e, link, beside);
            }
            mmi_small_writes_run(&few, e);
        } else if (link != NULL) {
            mmi_link_flush(link);
        } else {
            return;
        }
    }
}

/* The runner's round through the links in a burst: one that had nothing to write is in none any
 * more. */
void
mmi_settle_bursts(mmi_engine *e)
{
    e->burst_count = 0;
    mmi_list round;
    mmi_list_init(&round);
    mmi_list *node;
    while ((node = mmi_list_pop_front(&e->bursts)) != NULL) {
        mmi_list_push_back(&round, node);
    }
    while ((node = mmi_list_pop_front(&round)) != NULL) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, bursts);
        if (!mmi_link_pending(link)) {
            mmi_engine_catch_up(e);   /* there may be something, since the lock was dropped */
        }
        if (!mmi_link_pending(link)) {
            link->burst = false;
            continue;
        }
        mmi_list_push_back(&e->bursts, node);
        e->burst_count++;
        if (!link->shared || mmi_link_flush_worth(link) ||
            e->now_ns - link->last_flush_ns >= (uint64_t)MMI_PACE_US * 1000) {
            mmi_link_flush(link);
        }
    }
}

bool
mmi_settle_paced(const mmi_engine *e)
{
    bool paced = !mmi_list_empty(&e->lagging);
    MMI_LIST_EACH(&e->bursts, node, after) {
        const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, bursts);
        paced |= (link->watched & MMI_WATCH_WRITE) == 0;
    }
    return paced;
}

void
mmi_socket_hurry(mmi_socket *s)
{
    if (mmi_list_empty(&s->engine->bursts)) {
        return;   /* there may be many links */
    }
    MMI_LIST_EACH(&s->links, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (link->burst && (link->watched & MMI_WATCH_WRITE) == 0 && mmi_link_pending(link)) {
            mmi_link_dirty(link);
        }
    }
}

/* One whose thread waits for many sockets, and knows of no one that is in a hurry. */
void
mmi_engine_hurry(mmi_engine *e)
{
    MMI_LIST_EACH(&e->bursts, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, bursts);
        if ((link->watched & MMI_WATCH_WRITE) == 0 && mmi_link_pending(link)) {
            mmi_link_dirty(link);
        }
    }
}

/* A simulated one sleeps between its steps. */
static bool
settle_sleeps(const mmi_engine *e)
{
    return e->lead.in_poll || e->thread == NULL;
}

/* The runner sleeps, and there is something for it: messages to write, or a timer that is due
 * sooner. */
static void
settle_runner(mmi_engine *e)
{
    const mmi_lead *p = &e->lead;
    if (p->runner != MMI_RUNNER_ACTIVE && p->owner == MMI_OWNER_RUNNER) {
        if (mmi_runner_needed(e)) {
            mmi_lead_kick(e, MMI_TAKE_BACK);
        }
        return;
    }
    bool sooner = mmi_timers_next(&e->timers) < p->deadline_ns;
    bool burst = !p->paced && !mmi_list_empty(&e->bursts);
    if (settle_sleeps(e) && (sooner || burst || !mmi_list_empty(&e->dirty))) {
        mmi_lead_interrupt(e);
    }
}

static void
settle_dead(mmi_engine *e)
{
    MMI_LIST_EACH(&e->dead, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, dirty);
        if (!mmi_link_busy(link)) {
            mmi_list_rm(node);
            mmi_link_free(link);
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

static void
settle(mmi_engine *e, bool runner, bool beside)
{
    mmi_list *node;
    settle_dirty(e, runner, beside);
    settle_dead(e);
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
    if (e->closing && mmi_engine_done(e)) {
        e->plat.notifier_ring(e->plat.self, e->idle_notifier);
    }
}

void
mmi_engine_settle(mmi_engine *e, bool runner)
{
    settle(e, runner, false);
}

void
mmi_settle_beside(mmi_engine *e)
{
    settle(e, false, true);
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
    bool sooner = settle_sleeps(e) && mmi_timers_next(&e->timers) < e->lead.deadline_ns;
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
