/*
 * sched/waker.c: how event loops wait: a waker is one notifier and a list of sockets that became
 * ready.
 *
 * Not here: blocking threads (sched/wait.c), those that wait for several sockets
 * (sched/pollset.c), and how all are rung (wake/wake.c).
 * Law: what was taken is off the list, and comes again only if it is asked for again.
 */
#include "sched/sched.h"

int
mmi_waker_open(mmi_engine *e, mmi_waker **out)
{
    mmi_waker *w = mmi_alloc(sizeof *w);
    if (w == NULL) {
        return MM_ENOMEM;
    }
    mmi_list_init(&w->watches);
    mmi_list_init(&w->ready);
    w->outlook = -1;
    w->parsed = e->parsed_messages;
    int rc = mmi_notifier_take(e, &w->notifier);
    if (rc == MM_OK && (w->handle = mmi_handle_new(MMI_HANDLE_WAKER, e, w)) == 0) {
        mmi_notifier_give(e, w->notifier);
        rc = MM_EMFILE;
    }
    if (rc != MM_OK) {
        mmi_free(w);
        return rc;
    }
    /* Without one, for want of descriptors, the loop only watches the notifier. */
    if (e->plat.outlook_open != NULL &&
        e->plat.outlook_open(e->plat.self, w->notifier, &w->outlook) != MM_OK) {
        w->outlook = -1;
    }
    mmi_list_push_back(&e->wakers, &w->node);
    *out = w;
    return MM_OK;
}

void
mmi_waker_close(mmi_engine *e, mmi_waker *w)
{
    MMI_LIST_EACH (&w->watches, node, after) {
        mmi_watch_free(MMI_CONTAINER_OF(node, mmi_watch, waker_node));
    }
    mmi_list_rm(&w->node);
    mmi_handle_free(w->handle);
    if (e->lead.loop == w) {
        mmi_runner_part(e);   /* the runner notices when it looks, if not sooner */
    }
    /* Who watches a copy of the descriptor learns that there will be no more news. */
    e->plat.notifier_ring(e->plat.self, w->notifier);
    /* Not given back to the pool: an event loop may still have it registered. */
    e->plat.notifier_close(e->plat.self, w->notifier);
    if (w->outlook >= 0) {
        e->plat.notifier_close(e->plat.self, w->outlook);
    }
    mmi_free(w);
}

int
mmi_waker_watch(mmi_waker *w, mmi_socket *s, uint32_t events)
{
    mmi_watch *watch = NULL;
    MMI_LIST_EACH (&s->watches, node, after) {
        mmi_watch *other = MMI_CONTAINER_OF(node, mmi_watch, socket_node);
        if (other->waker == w) {
            watch = other;
        }
    }
    if (watch == NULL) {
        watch = mmi_alloc(sizeof *watch);
        if (watch == NULL) {
            return MM_ENOMEM;
        }
        watch->waker = w;
        watch->socket = s->handle;
        mmi_list_init(&watch->ready_node);
        mmi_list_push_back(&s->watches, &watch->socket_node);
        mmi_list_push_back(&w->watches, &watch->waker_node);
    }
    watch->wanted = w->pollset != NULL ? events : watch->wanted | events;
    watch->asked = events;
    uint32_t now = mmi_watch_due(watch, s, mmi_socket_ready(s));
    if (mmi_socket_keyed(s)) {
        now &= ~(uint32_t)MM_WRITABLE;   /* the caller tries once more after asking to be told */
    }
    if (now != 0) {
        mmi_watch_fire(s->engine, watch, now);
    }
    return (int)now;
}

static uint32_t
waker_pop(mmi_waker *w, mm_ready *out, uint32_t cap)
{
    uint32_t count = 0;
    while (count < cap) {
        mmi_list *node = mmi_list_pop_front(&w->ready);
        if (node == NULL) {
            break;
        }
        mmi_watch *watch = MMI_CONTAINER_OF(node, mmi_watch, ready_node);
        out[count++] = (mm_ready){ .socket = watch->socket, .events = watch->fired };
        watch->fired = 0;
        if (watch->closed) {
            out[count - 1].events = 0;
            mmi_watch_free(watch);
        }
    }
    return count;
}

/* One look, without waiting. false: the waker is gone. */
static bool
waker_lead(mmi_engine *e, mmi_waker *w)
{
    mm_handle handle = w->handle;
    w->taking = true;
    mmi_lead_enter(e, MMI_OWNER_LOOP);
    mmi_engine_turn(e, 0);
    mmi_lead_leave(e);
    if (mmi_handle_object(handle, MMI_HANDLE_WAKER, e) == NULL) {
        return false;
    }
    w->taking = false;
    return true;
}

int
mmi_waker_take(mmi_engine *e, mmi_waker *w, mm_ready *out, uint32_t cap)
{
    bool lead = mmi_lead_vacant(&e->lead) && e->lead.loop == w;
    if (lead && !waker_lead(e, w)) {
        return MM_ECLOSED;
    }
    /* It may lead from now on, or no longer. */
    mmi_lead_waited(e, mmi_waker_lone(e, w), lead, e->parsed_messages - w->parsed);
    w->parsed = e->parsed_messages;
    uint32_t count = waker_pop(w, out, cap);
    if (!mmi_list_empty(&w->ready)) {
        mmi_waker_ring(e, w);
    } else if (w->rung) {
        w->rung = false;
        e->plat.notifier_clear(e->plat.self, w->notifier);
    }
    return (int)count;
}
