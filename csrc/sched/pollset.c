/*
 * sched/pollset.c: how one thread waits for several sockets: by a waker without descriptors, in
 * which it waits as in a receive, polling itself where it may.
 *
 * Not here: what fires its watches (socket/ready.c), how it waits (sched/wait.c), when it may
 * poll (engine/lead.h).  A thread that waits for other descriptors as well does so by the pollset's
 * own (mmi_pollset_fileno), between two polls without waiting.
 * Law: what it tells of is so at that moment; a watch either waits to fire, is ready, or was given
 * out, and the next call looks again at what was given, so work is for what is ready only.
 */
#include "sched/sched.h"

int
mmi_pollset_open(mmi_engine *e, mmi_pollset **out)
{
    mmi_pollset *g = mmi_alloc(sizeof *g);
    if (g == NULL) {
        return MM_ENOMEM;
    }
    g->waker.handle = mmi_handle_new(MMI_HANDLE_POLLSET, e, g);
    if (g->waker.handle == 0) {
        mmi_free(g);
        return MM_EMFILE;
    }
    g->waker.pollset = g;
    g->spin_us = MM_SPIN_AUTO;
    g->fileno = -1;
    mmi_list_init(&g->waker.watches);
    mmi_list_init(&g->waker.ready);
    mmi_list_init(&g->given);
    mmi_list_push_back(&e->pollsets, &g->waker.node);
    *out = g;
    return MM_OK;
}

void
mmi_pollset_close(mmi_engine *e, mmi_pollset *g)
{
    if (g->waiter != NULL) {
        mmi_waiter_wake(e, g->waiter, MMI_WAITER_CLOSED);
    }
    if (g->fileno >= 0) { /* who waits for a copy of it learns that there will be no more news */
        e->plat.notifier_ring(e->plat.self, g->fileno);
        e->plat.notifier_close(e->plat.self, g->fileno);
        e->filenos--;
    }
    MMI_LIST_EACH (&g->waker.watches, node, after) {
        mmi_watch_free(MMI_CONTAINER_OF(node, mmi_watch, waker_node));
    }
    mmi_list_rm(&g->waker.node);
    mmi_handle_free(g->waker.handle);
    mmi_free(g);
}

int
mmi_pollset_fileno(mmi_engine *e, mmi_pollset *g, int *fd)
{
    if (g->fileno < 0) {
        int rc = e->plat.notifier_open(e->plat.self, &g->fileno);
        if (rc != MM_OK) {
            g->fileno = -1;
            return rc;
        }
        e->filenos++;
        mmi_pollset_ring(e, g); /* its first poll comes before the first wait */
    }
    *fd = g->fileno;
    return MM_OK;
}

/* Nothing is left that was not told of: the descriptor waits for news. */
static void
pollset_hush(mmi_engine *e, mmi_pollset *g)
{
    if (g->fileno_rung && mmi_list_empty(&g->waker.ready)) {
        g->fileno_rung = false;
        e->plat.notifier_clear(e->plat.self, g->fileno);
    }
}

int
mmi_pollset_add(mmi_pollset *g, mmi_socket *s, uint32_t events)
{
    const uint32_t all = MM_READABLE | MM_WRITABLE;
    if (events == 0 || (events & ~all) != 0) {
        return MM_EINVAL;
    }
    bool receives = s->ops->recv != NULL, sends = s->ops->send != NULL && !mmi_socket_keyed(s);
    if (((events & MM_READABLE) != 0 && !receives) || ((events & MM_WRITABLE) != 0 && !sends)) {
        return MM_ENOTSUP;
    }
    int now = mmi_waker_watch(&g->waker, s, events);
    if (now < 0) {
        return now;
    }
    g->spin_us = s->opts.spin_us < g->spin_us ? s->opts.spin_us : g->spin_us;
    s->host.looked |= (events & MM_READABLE) != 0;
    return MM_OK;
}

/* Spins as long as all of them agree to. */
static void
pollset_respin(mmi_engine *e, mmi_pollset *g)
{
    g->spin_us = MM_SPIN_AUTO;
    MMI_LIST_EACH (&g->waker.watches, node, after) {
        const mmi_watch *watch = MMI_CONTAINER_OF(node, mmi_watch, waker_node);
        const mmi_socket *s = mmi_handle_object(watch->socket, MMI_HANDLE_SOCKET, e);
        if (s != NULL && s->opts.spin_us < g->spin_us) {
            g->spin_us = s->opts.spin_us;
        }
    }
}

void
mmi_pollset_rm(mmi_engine *e, mmi_pollset *g, mm_handle socket)
{
    MMI_LIST_EACH (&g->waker.watches, node, after) {
        mmi_watch *watch = MMI_CONTAINER_OF(node, mmi_watch, waker_node);
        if (watch->socket == socket) {
            mmi_watch_free(watch);
            pollset_respin(e, g);
            return;
        }
    }
}

/* What was given out comes after what fired since: so all have their turn. */
static void
pollset_look_again(mmi_pollset *g)
{
    mmi_list *node;
    while ((node = mmi_list_pop_front(&g->given)) != NULL) {
        mmi_list_push_back(&g->waker.ready, node);
    }
}

/* Those that are ready still; the others wait to fire again. */
static uint32_t
pollset_pop(mmi_engine *e, mmi_pollset *g, mm_ready *out, uint32_t cap)
{
    uint32_t count = 0;
    bool closed = false;
    mmi_list *node;
    while (count < cap && (node = mmi_list_pop_front(&g->waker.ready)) != NULL) {
        mmi_watch *watch = MMI_CONTAINER_OF(node, mmi_watch, ready_node);
        const mmi_socket *s = mmi_handle_object(watch->socket, MMI_HANDLE_SOCKET, e);
        uint32_t now = 0;
        watch->fired = 0;
        if (s != NULL) {
            now = (mmi_socket_ready(s) | (s->unclaimed ? (uint32_t)MM_READABLE : 0)) & watch->asked;
        }
        if (s == NULL) {
            out[count++] = (mm_ready){ .socket = watch->socket };
            mmi_watch_free(watch);
            closed = true;
        } else if (now != 0) {
            out[count++] = (mm_ready){ .socket = watch->socket, .events = now };
            mmi_list_push_back(&g->given, node);
        } else {
            watch->wanted = watch->asked;
        }
    }
    if (closed) {
        pollset_respin(e, g);
    }
    return count;
}

/* Waits once, then takes what is ready: how many, or why there are none. */
static int
pollset_wait(mmi_engine *e, mmi_pollset *g, mm_ready *out, uint32_t cap, uint64_t deadline_ns,
             int64_t slice_ms)
{
    mmi_waiter w = { .events = MM_READABLE, .receives = true };
    mmi_waiter_spin(e, &w, g->spin_us, &g->spin);
    uint64_t parsed = e->parsed_messages;
    g->waiter = &w;
    mmi_engine_flush_now(e);
    int rc = mmi_waiter_wait(e, &w, deadline_ns, slice_ms);
    if (rc == MM_ECLOSED) {
        return rc;
    }
    g->waiter = NULL;
    mmi_waiter_learn(e, &w, &g->spin, e->parsed_messages);
    uint32_t count = pollset_pop(e, g, out, cap);
    /* Little for each of many is little. */
    mmi_lead_waited(e, w.alone, w.led, (e->parsed_messages - parsed) / (count > 0 ? count : 1));
    return count > 0 ? (int)count : rc;
}

int
mmi_pollset_poll(mmi_engine *e, mmi_pollset *g, mm_ready *out, uint32_t cap, int64_t timeout_ms,
                 int64_t slice_ms)
{
    if (g->waiter != NULL) {
        return MM_ESTATE;
    }
    pollset_look_again(g);
    int count = (int)pollset_pop(e, g, out, cap);
    pollset_hush(e, g);
    if (count == 0 && timeout_ms == 0) {
        return MM_EAGAIN;
    }
    uint64_t deadline = mmi_deadline(e->now_ns, timeout_ms);
    bool had_fileno = g->fileno >= 0;
    while (count == 0) { /* also when what was ready was gone again */
        count = pollset_wait(e, g, out, cap, deadline, slice_ms);
        if (count == 0 && g->fileno >= 0 && !had_fileno) {
            return MM_EINTR; /* there are descriptors to wait for as well, from now on */
        }
    }
    return count;
}
