/*
 * plat/sim/sim.c: the simulated world's clock and order of events; and its platform table.
 *
 * Not here: chance (plat/sim/trace.c), streams (plat/sim/stream.c), the public calls (api/sim.c).
 * Law: time moves only when no engine can; an engine can when it was interrupted, its deadline has
 * come, or something it watches is ready.
 */
#include <string.h>

#include "plat/sim/world.h"

enum { SIM_STEPS_AN_INSTANT = 20000 };   /* then the clock is pushed on: nothing may hang */
static const uint64_t SIM_WAIT_MAX_NS = 3600ull * 1000000000;   /* one virtual hour */
static const uint64_t SIM_PUSH_NS = 1000;
static const uint64_t SIM_WALL_START_NS = 1700000000ull * 1000000000;

static bool
sim_lookup_due(const mmi_sim *w, const sim_lookup *l)
{
    return l->used && !l->told && l->due_ns <= w->now_ns;
}

static bool
sim_can_move(const mmi_sim *w, const sim_engine *e)
{
    if (!e->open || e->step == NULL) {
        return false;
    }
    if (e->interrupted || e->deadline_ns <= w->now_ns) {
        return true;
    }
    for (uint32_t i = 0; i < w->end_count; i++) {
        const sim_end *end = w->ends[i].end;
        if (end != NULL && end->owner == e && (end->watched & mmi_sim_end_ready(w, end)) != 0) {
            return true;
        }
    }
    for (int i = 0; i < SIM_LOOKUPS_MAX; i++) {
        if (w->lookups[i].engine == e && sim_lookup_due(w, &w->lookups[i])) {
            return true;
        }
    }
    return false;
}

/* One engine of those that can move, drawn; NULL: none. */
static sim_engine *
sim_draw(mmi_sim *w)
{
    sim_engine *able[SIM_ENGINES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->engine_count; i++) {
        if (sim_can_move(w, &w->engines[i])) {
            able[count++] = &w->engines[i];
        }
    }
    return count == 0 ? NULL : able[mmi_sim_random(w) % count];
}

static uint64_t
sim_next_ns(const mmi_sim *w)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < w->engine_count; i++) {
        const sim_engine *e = &w->engines[i];
        if (e->open && e->step != NULL && e->deadline_ns < next) {
            next = e->deadline_ns;
        }
    }
    for (uint32_t i = 0; i < w->end_count; i++) {
        uint64_t due = w->ends[i].end != NULL ? mmi_sim_end_next(w, w->ends[i].end) : UINT64_MAX;
        next = due < next ? due : next;
    }
    for (int i = 0; i < SIM_LOOKUPS_MAX; i++) {
        const sim_lookup *l = &w->lookups[i];
        if (l->used && !l->told && l->due_ns > w->now_ns && l->due_ns < next) {
            next = l->due_ns;
        }
    }
    return next;
}

void
mmi_sim_run_until(mmi_sim *w, uint64_t until_ns, const bool *stop)
{
    while (stop == NULL || !*stop) {
        sim_engine *e = w->steps_here < SIM_STEPS_AN_INSTANT ? sim_draw(w) : NULL;
        if (e != NULL) {
            w->steps_here++;
            e->step(e->arg);
            continue;
        }
        uint64_t next =
            w->steps_here < SIM_STEPS_AN_INSTANT ? sim_next_ns(w) : w->now_ns + SIM_PUSH_NS;
        w->steps_here = 0;
        if (next > until_ns) {
            w->now_ns = until_ns > w->now_ns ? until_ns : w->now_ns;
            return;
        }
        w->now_ns = next > w->now_ns ? next : w->now_ns + 1;
    }
}

static sim_engine *
sim_of(void *self)
{
    return self;
}

static uint64_t
sim_now_ns(void *self)
{
    return sim_of(self)->world->now_ns;
}

static uint64_t
sim_wall_ns(void *self)
{
    const mmi_sim *w = sim_of(self)->world;
    return SIM_WALL_START_NS + w->now_ns + w->wall_jump_ns;
}

static void
sim_random(void *self, void *buf, size_t size)
{
    uint8_t *at = buf;
    for (size_t i = 0; i < size; i++) {
        at[i] = (uint8_t)mmi_sim_random(sim_of(self)->world);
    }
}

static int
sim_loopback(uint16_t port, mmi_addr *out, int cap)
{
    if (cap < 1) {
        return MM_EADDRINVAL;
    }
    *out = (mmi_addr){ .kind = MMI_ADDR_TCP4, .port = port, .ip = { 127, 0, 0, 1 } };
    return 1;
}

static int
sim_resolve_wait(void *self, const char *host, uint16_t port, mmi_addr *out, int cap)
{
    (void)self;
    return strcmp(host, "nowhere.invalid") == 0 ? MM_ENOHOST : sim_loopback(port, out, cap);
}

static int
sim_resolve(void *self, const char *host, uint16_t port, uint64_t tag, mmi_addr *out, int cap)
{
    sim_engine *e = sim_of(self);
    mmi_sim *w = e->world;
    if (strncmp(host, "127.", 4) == 0 || strchr(host, ':') != NULL) {
        return sim_loopback(port, out, cap);
    }
    for (int i = 0; i < SIM_LOOKUPS_MAX; i++) {
        if (!w->lookups[i].used) {
            uint64_t due =
                w->now_ns + mmi_sim_between(w, w->opts.latency_min_ns, w->opts.latency_max_ns);
            w->lookups[i] = (sim_lookup){ .engine = e,
                                          .tag = tag,
                                          .due_ns = due,
                                          .port = port,
                                          .used = true,
                                          .known = strcmp(host, "nowhere.invalid") != 0 };
            return MM_EAGAIN;
        }
    }
    return MM_ENOMEM;
}

static int
sim_resolve_take(void *self, uint64_t tag, mmi_addr *out, int cap)
{
    sim_engine *e = sim_of(self);
    for (int i = 0; i < SIM_LOOKUPS_MAX; i++) {
        sim_lookup *l = &e->world->lookups[i];
        if (l->used && l->engine == e && l->tag == tag && l->due_ns <= e->world->now_ns) {
            l->used = false;
            return l->known ? sim_loopback(l->port, out, cap) : MM_ENOHOST;
        }
    }
    return MM_EAGAIN;
}

static void
sim_resolve_forget(void *self, uint64_t tag)
{
    sim_engine *e = sim_of(self);
    for (int i = 0; i < SIM_LOOKUPS_MAX; i++) {
        sim_lookup *l = &e->world->lookups[i];
        if (l->engine == e && l->tag == tag) {
            l->used = false;
        }
    }
}

static int
sim_watch(void *self, int s, uint32_t events, uint64_t tag)
{
    sim_engine *e = sim_of(self);
    sim_end *end = mmi_sim_end(e->world, s);
    if (end != NULL) {
        end->owner = e;
        end->watched = events;
        end->tag = tag;
    }
    return MM_OK;
}

static int
sim_poll(void *self, mmi_event *out, int cap, uint64_t deadline_ns)
{
    sim_engine *e = sim_of(self);
    mmi_sim *w = e->world;
    int count = 0;
    e->deadline_ns = deadline_ns;
    e->interrupted = false;
    uint32_t first = w->end_count > 0 ? (uint32_t)(mmi_sim_random(w) % w->end_count) : 0;
    for (uint32_t i = 0; i < w->end_count && count < cap; i++) {
        const sim_end *end = w->ends[(first + i) % w->end_count].end;
        uint32_t ready =
            end != NULL && end->owner == e ? end->watched & mmi_sim_end_ready(w, end) : 0;
        if (ready != 0) {
            out[count++] = (mmi_event){ .tag = end->tag, .events = ready };
        }
    }
    for (int i = 0; i < SIM_LOOKUPS_MAX && count < cap; i++) {
        sim_lookup *l = &w->lookups[i];
        if (l->engine == e && sim_lookup_due(w, l)) {
            l->told = true;
            out[count++] = (mmi_event){ .tag = l->tag, .events = MMI_RESOLVED };
        }
    }
    e->interrupted = count > 0;   /* what it does about them may set timers: it polls once more */
    return count;
}

static void
sim_interrupt(void *self)
{
    sim_of(self)->interrupted = true;
}

static int
sim_notifier_open(void *self, int *n)
{
    mmi_sim *w = sim_of(self)->world;
    for (int i = 0; i < SIM_NOTIFIERS_MAX; i++) {
        if (!w->notifier_used[i]) {
            w->notifier_used[i] = true;
            w->notifiers[i] = false;
            *n = i;
            return MM_OK;
        }
    }
    return MM_EMFILE;
}

static void
sim_notifier_ring(void *self, int n)
{
    sim_of(self)->world->notifiers[n] = true;
}

static void
sim_notifier_clear(void *self, int n)
{
    sim_of(self)->world->notifiers[n] = false;
}

static void
sim_notifier_close(void *self, int n)
{
    sim_of(self)->world->notifier_used[n] = false;
}

static int
sim_wait(void *self, int n, uint64_t deadline_ns)
{
    mmi_sim *w = sim_of(self)->world;
    uint64_t end = w->now_ns + SIM_WAIT_MAX_NS;
    mmi_sim_run_until(w, deadline_ns < end ? deadline_ns : end, &w->notifiers[n]);
    return w->notifiers[n] ? MM_OK : MM_ETIMEDOUT;
}

static int
sim_thread_start(void *self, void (*run)(void *arg), void *arg, void **thread)
{
    (void)self;
    (void)run;
    (void)arg;
    *thread = NULL;
    return MM_OK;
}

static void
sim_thread_join(void *self, void *thread)
{
    (void)self;
    (void)thread;
}

static void
sim_after_fork(void *self)
{
    (void)self;   /* a world holds no descriptor */
}

static void
sim_free(void *self)
{
    sim_engine *e = sim_of(self);
    e->open = false;
    e->step = NULL;
}

int
mmi_sim_plat(mmi_sim *world, mmi_plat *out)
{
    if (world->engine_count == SIM_ENGINES_MAX) {
        return MM_EMFILE;
    }
    sim_engine *e = &world->engines[world->engine_count];
    *e = (sim_engine){
        .world = world, .index = world->engine_count++, .open = true, .deadline_ns = 0
    };
    *out = (mmi_plat){
        .self = e,
        .name = "sim",
        .domain = world,
        .now_ns = sim_now_ns,
        .wall_ns = sim_wall_ns,
        .random = sim_random,
        .resolve = sim_resolve,
        .resolve_take = sim_resolve_take,
        .resolve_forget = sim_resolve_forget,
        .resolve_wait = sim_resolve_wait,
        .connect = mmi_sim_connect,
        .connected = mmi_sim_connected,
        .listen = mmi_sim_listen,
        .accept = mmi_sim_accept,
        .pair = mmi_sim_pair,
        .readv = mmi_sim_readv,
        .writev = mmi_sim_writev,
        .transit = mmi_sim_transit,
        .peer_credentials = mmi_sim_credentials,
        .peer_of_group = mmi_sim_of_group,
        .user = mmi_sim_user,
        .finish = mmi_sim_finish,
        .close = mmi_sim_close,
        .watch = sim_watch,
        .poll = sim_poll,
        .interrupt = sim_interrupt,
        .cpus = 1,
        .notifier_open = sim_notifier_open,
        .notifier_ring = sim_notifier_ring,
        .notifier_clear = sim_notifier_clear,
        .notifier_close = sim_notifier_close,
        .wait = sim_wait,
        .thread_start = sim_thread_start,
        .thread_join = sim_thread_join,
        .after_fork = sim_after_fork,
        .free = sim_free,
    };
    return MM_OK;
}

void
mmi_sim_attach(const mmi_plat *plat, void (*step)(void *arg), void *arg)
{
    sim_engine *e = plat->self;
    e->step = step;
    e->arg = arg;
}
