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
 * there is a good deal to write (ADR 10).
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
    mmi_link *link;
    while ((link = mmi_tx_pop_due(e, beside)) != NULL && !settle_is_due(e, link, runner)) {
        mmi_tx_pace(link);
    }
    return link;
}

static bool
settle_many(const mmi_engine *e, bool runner)
{
    int count = 0, listed = 0;
    for (const mmi_list *node = e->dirty.next; node != &e->dirty; node = node->next) {
        if (++listed == SETTLE_MANY_LINKS) {
            break;
        }
    }
    if (listed < SETTLE_MANY_LINKS) {
        return false;   /* mostly: they need no look at each */
    }
    MMI_LIST_EACH (&e->dirty, node, after) {
        count += settle_is_due(e, mmi_tx_of_due(node), runner);
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
                mmi_tx_put_back(link, beside);
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
    while (!mmi_list_empty(&round)) {
        mmi_link *link = mmi_tx_of_paced(round.next);
        if (!mmi_link_pending(link)) {
            mmi_engine_materialize(e);   /* there may be something, since the lock was dropped */
        }
        mmi_tx_unpace(link);
        if (!mmi_link_pending(link)) {
            continue;
        }
        mmi_tx_pace(link);
        e->burst_count++;
        if (mmi_link_round_due(link, e->now_ns)) {
            mmi_link_flush(link);
        }
    }
}

bool
mmi_settle_paced(const mmi_engine *e)
{
    bool paced = !mmi_list_empty(&e->deferring);
    MMI_LIST_EACH (&e->bursts, node, after) {
        paced |= mmi_link_awaits_round(mmi_tx_of_paced(node));
    }
    return paced;
}

void
mmi_socket_flush_now(mmi_socket *s)
{
    if (mmi_list_empty(&s->engine->bursts)) {
        return;   /* there may be many links */
    }
    MMI_LIST_EACH (&s->links, node, after) {
        mmi_link_flush_now(MMI_CONTAINER_OF(node, mmi_link, node));
    }
}

/* One whose thread waits for many sockets, and does not know for which it is urgent. */
void
mmi_engine_flush_now(mmi_engine *e)
{
    MMI_LIST_EACH (&e->bursts, node, after) {
        mmi_link_flush_now(mmi_tx_of_paced(node));
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
    MMI_LIST_EACH (&e->dead, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (!mmi_link_busy(link)) {
            mmi_socket *s = link->socket;
            mmi_list_rm(node);
            mmi_link_free(link);
            if (s->closing) {
                mmi_socket_touch(s);   /* it may have waited for that */
            }
        }
    }
}

bool
mmi_engine_done(const mmi_engine *e)
{
    MMI_LIST_EACH (&e->sockets, node, after) {
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
    if (!mmi_list_empty(&e->dirty)) {
        settle_dirty(e, runner, beside);
    }
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
    settle(e, false, false);
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
        settle(e, false, false);
    }
    pthread_mutex_unlock(&e->lock);
}
