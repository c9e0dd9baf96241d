/*
 * socket/ready.c: what a socket is ready for, and who is told: threads that wait in a call, watches
 * of event loops and of pollsets, its descriptor.
 *
 * Not here: how they wait (sched/wait.c, sched/waker.c, sched/pollset.c), how they are rung (wake).
 * Law: a change is noted, and told when the engine settles, or between the reads or writes of much.
 */
#include "socket/group.h"

void
mmi_socket_touch(mmi_socket *s)
{
    if (!mmi_list_linked(&s->touched)) {
        mmi_list_push_back(&s->engine->touched, &s->touched);
    }
}

void
mmi_socket_note(mmi_socket *s, uint32_t news)
{
    s->news |= news;
    mmi_socket_touch(s);
    if (s->group != NULL && (news & MM_PEERS) != 0) {
        s->group->home->news |= MM_PEERS;
        mmi_socket_touch(s->group->home);
    }
}

uint32_t
mmi_socket_ready(const mmi_socket *s)
{
    uint32_t ready = s->ops->ready(s->state);
    if ((s->host.stopping && s->ends->stopped(s)) || (s->ends_came > 0 && s->ends->ended(s))) {
        ready |= MM_READABLE;   /* that there is nothing more */
    }
    return ready;
}

static void
fileno_level(mmi_socket *s, bool readable)
{
    const mmi_plat *plat = &s->engine->plat;
    if (s->fileno < 0 || readable == s->fileno_rung) {
        return;
    }
    s->fileno_rung = readable;
    if (readable) {
        plat->notifier_ring(plat->self, s->fileno);
    } else {
        plat->notifier_clear(plat->self, s->fileno);
    }
}

void
mmi_socket_fire(mmi_socket *s, uint32_t ready)
{
    MMI_LIST_EACH (&s->watches, node, after) {
        mmi_watch *watch = MMI_CONTAINER_OF(node, mmi_watch, socket_node);
        uint32_t due = mmi_watch_due(watch, s, ready);
        if (due != 0) {
            mmi_watch_fire(s->engine, watch, due);
        }
    }
    fileno_level(s, (ready & MM_READABLE) != 0 || s->unclaimed);
}

void
mmi_socket_unwatch(mmi_socket *s)
{
    MMI_LIST_EACH (&s->watches, node, after) {
        mmi_watch *watch = MMI_CONTAINER_OF(node, mmi_watch, socket_node);
        mmi_list_rm(&watch->socket_node);
        watch->closed = true;
        mmi_watch_fire(s->engine, watch, 0);
    }
    if (s->fileno >= 0) {
        s->engine->plat.notifier_close(s->engine->plat.self, s->fileno);
        s->fileno = -1;
        s->engine->filenos--;
    }
}

int
mmi_socket_fileno(mmi_socket *s, int *fd)
{
    if (s->fileno < 0) {
        int rc = s->engine->plat.notifier_open(s->engine->plat.self, &s->fileno);
        if (rc != MM_OK) {
            s->fileno = -1;
            return rc;
        }
        s->fileno_rung = false;
        s->engine->filenos++;
        mmi_socket_touch(s);
    }
    *fd = s->fileno;
    s->host.looked = true;
    return MM_OK;
}

void
mmi_socket_interrupt(mmi_socket *s)
{
    MMI_LIST_EACH (&s->waiters, node, after) {
        mmi_waiter *w = MMI_CONTAINER_OF(node, mmi_waiter, node);
        if ((w->events & MM_READABLE) != 0) {
            mmi_waiter_wake(s->engine, w, MMI_WAITER_INTERRUPTED);
        }
    }
    mmi_socket_fire(s, MM_READABLE);
}

/* Each readiness wakes one thread, which passes it on when it leaves; what is news to all wakes
 * all. */
void
mmi_socket_update(mmi_socket *s)
{
    uint32_t ready = mmi_socket_ready(s);
    uint32_t news = s->news;
    uint32_t single = ready & MM_READABLE;
    s->news = 0;
    MMI_LIST_EACH (&s->waiters, node, after) {
        mmi_waiter *w = MMI_CONTAINER_OF(node, mmi_waiter, node);
        uint32_t due = w->events & (single | news);
        if (w->key == 0) {
            single &= ~(w->events & single);
        } else if (s->ops->replied(s->state, w->key)) {
            due |= MM_READABLE;
        }
        if (due != 0) {
            mmi_waiter_wake(s->engine, w, MMI_WAITER_WOKEN);
        }
    }
    if (mmi_socket_keyed(s)) {
        /* Whether a send can succeed depends on the message: only news can tell, not a level. */
        ready &= ~(uint32_t)MM_WRITABLE;
        ready |= (news & (MMI_ROOM | MM_PEERS)) != 0 ? MM_WRITABLE : 0;
    }
    mmi_socket_fire(s, ready | (news & (MM_PEERS | MM_DRAINED)));
}

void
mmi_socket_update_early(mmi_socket *s)
{
    if (mmi_list_linked(&s->touched) && !s->closing && !mmi_list_empty(&s->waiters)) {
        mmi_socket_update(s);
    }
}
