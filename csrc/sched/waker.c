/*
 * sched/waker.c: how event loops wait: a waker is one notifier and a list of sockets that became
 * ready.
 *
 * Not here: blocking threads (wait.c), and those that wait for several sockets (sched/pollset.c),
 * though their watches fire here.  Law: a watch fires once, then has to be asked for again;
 * the notifier is rung when the ready list goes from empty to non-empty, and stays rung until it is
 * empty; it is not rung for a loop that is polling at that moment (sched/poller.c), as it looks by
 * itself.
 */
#include "engine/socket.h"

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
mmi_watch_free(mmi_watch *watch)
{
    mmi_list_rm(&watch->socket_node);
    mmi_list_rm(&watch->waker_node);
    mmi_list_rm(&watch->ready_node);
    mmi_free(watch);
}

void
mmi_waker_close(mmi_engine *e, mmi_waker *w)
{
    MMI_LIST_EACH(&w->watches, node, after) {
        mmi_watch_free(MMI_CONTAINER_OF(node, mmi_watch, waker_node));
    }
    mmi_list_rm(&w->node);
    mmi_handle_free(w->handle);
    if (e->joined == w) {
        (void)e->plat.outlook_join(e->plat.self, w->outlook, false);
        e->joined = NULL;   /* the runner notices when it looks, if not sooner */
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

/* Something is ready: its loop is to come for it, unless it is there. */
static void
waker_ring(mmi_engine *e, mmi_waker *w)
{
    if (w->group != NULL) {
        mmi_group_ring(e, w->group);
    } else if (!w->rung && !w->taking) {
        w->rung = true;
        e->plat.notifier_ring(e->plat.self, w->notifier);
    }
}

static void
watch_fire(mmi_engine *e, mmi_watch *watch, uint32_t fired)
{
    mmi_waker *w = watch->waker;
    watch->fired |= fired;
    watch->wanted &= ~fired;
    if (mmi_list_linked(&watch->ready_node)) {
        return;
    }
    mmi_list_push_back(&w->ready, &watch->ready_node);
    waker_ring(e, w);
}

/* What a watch looks for and is so: to a group, what its caller holds is to be received too. */
static uint32_t
watch_due(const mmi_watch *watch, const mmi_socket *s, uint32_t ready)
{
    bool held = watch->waker->group != NULL && s->held;
    return watch->wanted & (ready | (held ? (uint32_t)MM_READABLE : 0));
}

int
mmi_waker_watch(mmi_waker *w, mmi_socket *s, uint32_t events)
{
    mmi_watch *watch = NULL;
    MMI_LIST_EACH(&s->watches, node, after) {
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
    watch->wanted = w->group != NULL ? events : watch->wanted | events;
    watch->asked = events;
    uint32_t now = watch_due(watch, s, mmi_socket_ready(s));
    if (s->ops->keyed_send) {
        now &= ~(uint32_t)MM_WRITABLE;   /* the caller tries once more after asking to be told */
    }
    if (now != 0) {
        watch_fire(s->engine, watch, now);
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
    e->leading = w->taking = true;
    e->outside++;
    e->leads++;
    mmi_engine_turn(e, 0);
    e->leading = false;
    e->outside--;
    if (e->closing) {
        e->plat.notifier_ring(e->plat.self, e->idle_notifier);
    }
    if (mmi_handle_object(handle, MMI_HANDLE_WAKER, e) == NULL) {
        return false;
    }
    w->taking = false;
    return true;
}

int
mmi_waker_take(mmi_engine *e, mmi_waker *w, mm_ready *out, uint32_t cap)
{
    bool lead = e->parked && !e->unpark && !e->leading && e->joined == w;
    if (lead && !waker_lead(e, w)) {
        return MM_ECLOSED;
    }
    mmi_loop_took(e, w, lead, e->parsed_messages - w->parsed);
    w->parsed = e->parsed_messages;
    uint32_t count = waker_pop(w, out, cap);
    if (!mmi_list_empty(&w->ready)) {
        waker_ring(e, w);
    } else if (w->rung) {
        w->rung = false;
        e->plat.notifier_clear(e->plat.self, w->notifier);
    }
    return (int)count;
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
    MMI_LIST_EACH(&s->watches, node, after) {
        mmi_watch *watch = MMI_CONTAINER_OF(node, mmi_watch, socket_node);
        uint32_t due = watch_due(watch, s, ready);
        if (due != 0) {
            watch_fire(s->engine, watch, due);
        }
    }
    fileno_level(s, (ready & MM_READABLE) != 0 || s->held);
}

void
mmi_socket_unwatch(mmi_socket *s)
{
    MMI_LIST_EACH(&s->watches, node, after) {
        mmi_watch *watch = MMI_CONTAINER_OF(node, mmi_watch, socket_node);
        mmi_list_rm(&watch->socket_node);
        watch->closed = true;
        watch_fire(s->engine, watch, 0);
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
    return MM_OK;
}
