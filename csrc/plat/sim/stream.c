/*
 * plat/sim/stream.c: byte streams of the simulated world, and what can go wrong with them.
 *
 * Law: bytes arrive in order or not at all; a chunk is visible at its time, and while no partition
 * lies between the two engines; a reset stream gives nothing any more, at either end.
 */
#include <stdio.h>
#include <string.h>

#include "plat/sim/world.h"

enum { SIM_ENDS_FIRST = 64, SIM_ENDS_SEGMENT = 256 /* from here on gaps are closed first */ };

/* The place of an id, which need not be there any more; end_count: it is over all there are. */
static uint32_t
sim_place(const mmi_sim *w, int id)
{
    uint32_t low = 0, high = w->end_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (w->ends[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

sim_end *
mmi_sim_end(mmi_sim *w, int id)
{
    uint32_t place = sim_place(w, id);
    return place < w->end_count && w->ends[place].id == id ? w->ends[place].end : NULL;
}

/* A world of many connections one after the other holds no more than are open at a time. */
static void
sim_close_gaps(mmi_sim *w)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->end_count; i++) {
        if (w->ends[i].end != NULL) {
            w->ends[kept++] = w->ends[i];
        }
    }
    w->end_count = kept;
}

static sim_end *
sim_end_new(mmi_sim *w)
{
    sim_end *end = mmi_alloc(sizeof *end);
    if (end == NULL) {
        return NULL;
    }
    bool full = w->end_count == w->end_cap;
    if (full && w->end_cap >= SIM_ENDS_SEGMENT) {
        sim_close_gaps(w);
    }
    if (full && w->end_count >= w->end_cap / 2) {
        uint32_t cap = w->end_cap == 0 ? SIM_ENDS_FIRST : w->end_cap * 2;
        sim_slot *grown = mmi_realloc(w->ends, cap * sizeof *grown);
        if (grown == NULL) {
            mmi_free(end);
            return NULL;
        }
        w->ends = grown;
        w->end_cap = cap;
    }
    end->id = ++w->end_last_id;   /* ids are never used again: a trace stays readable */
    w->ends[w->end_count++] = (sim_slot){ .id = end->id, .end = end };
    return end;
}

static void
sim_end_free(mmi_sim *w, sim_end *end)
{
    w->ends[sim_place(w, end->id)].end = NULL;
    if (end->peer != NULL) {
        end->peer->peer = NULL;
        end->peer->peer_was = end->owner;
    }
    mmi_free(end->data);
    mmi_free(end->chunks);
    mmi_free(end);
}

/* Until when nothing sent by the peer is seen here; 0: nothing is in the way. */
static uint64_t
sim_cut_until(const mmi_sim *w, const sim_end *end)
{
    const sim_engine *from = end->peer != NULL ? end->peer->owner : end->peer_was;
    if (end->owner == NULL || from == NULL) {
        return 0;
    }
    uint64_t until = w->cut[from->index][end->owner->index].until_ns;
    return until > w->now_ns ? until : 0;
}

static size_t
sim_visible(const mmi_sim *w, const sim_end *end)
{
    size_t size = 0;
    if (end->black_hole || sim_cut_until(w, end) != 0) {
        return 0;
    }
    for (uint32_t i = 0; i < end->chunk_count && end->chunks[i].due_ns <= w->now_ns; i++) {
        size += end->chunks[i].size;
    }
    return size;
}

static bool
sim_eof(const mmi_sim *w, const sim_end *end)
{
    return end->fin_ns != 0 && end->fin_ns <= w->now_ns && end->data_size == 0 &&
           !end->black_hole && sim_cut_until(w, end) == 0;
}

size_t
mmi_sim_room(const mmi_sim *w, const sim_end *end)
{
    const sim_end *peer = end->peer;
    if (peer == NULL) {
        return 0;
    }
    return peer->data_size < w->opts.buffer_size ? w->opts.buffer_size - peer->data_size : 0;
}

uint32_t
mmi_sim_end_ready(const mmi_sim *w, const sim_end *end)
{
    if (end->listening) {
        return end->waiting_count > 0 ? MMI_WATCH_READ : 0;
    }
    if (end->reset) {
        return MMI_WATCH_READ | MMI_WATCH_WRITE | MMI_WATCH_HANGUP;
    }
    if (end->connected_ns > w->now_ns) {
        return 0;
    }
    uint32_t ready = sim_visible(w, end) > 0 || sim_eof(w, end) ? MMI_WATCH_READ : 0;
    bool gone = end->peer == NULL;
    return ready | (mmi_sim_room(w, end) > 0 || gone ? (uint32_t)MMI_WATCH_WRITE : 0);
}

uint64_t
mmi_sim_end_next(const mmi_sim *w, const sim_end *end)
{
    uint64_t next = UINT64_MAX;
    if (end->connected_ns > w->now_ns) {
        next = end->connected_ns;
    }
    uint64_t cut = sim_cut_until(w, end);
    if (end->chunk_count > 0 && end->chunks[0].due_ns > w->now_ns && end->chunks[0].due_ns < next) {
        next = end->chunks[0].due_ns;
    }
    if (end->fin_ns > w->now_ns && end->fin_ns < next) {
        next = end->fin_ns;
    }
    return cut != 0 && cut < next ? cut : next;
}

void
mmi_sim_end_reset(mmi_sim *w, sim_end *end)
{
    if (end->listening || end->reset) {
        return;
    }
    mmi_sim_trace(w, end->owner, "reset", end->id, (int64_t)end->data_size);
    w->resets++;
    end->reset = true;
    end->data_size = 0;
    end->chunk_count = 0;
    if (end->peer != NULL) {
        end->peer->reset = true;
        end->peer->data_size = 0;
        end->peer->chunk_count = 0;
    }
}

uint32_t
mmi_sim_open_ends(const mmi_sim *w)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->end_count; i++) {
        count += w->ends[i].end != NULL;
    }
    return count;
}

void
mmi_sim_free_ends(mmi_sim *w)
{
    for (uint32_t i = 0; i < w->end_count; i++) {
        if (w->ends[i].end != NULL) {
            sim_end_free(w, w->ends[i].end);
        }
    }
    mmi_free(w->ends);
}

static int
sim_join(mmi_sim *w, sim_end **a, sim_end **b)
{
    *a = sim_end_new(w);
    *b = *a != NULL ? sim_end_new(w) : NULL;
    if (*b == NULL) {
        if (*a != NULL) {
            sim_end_free(w, *a);
        }
        return MM_ENOMEM;
    }
    (*a)->peer = *b;
    (*b)->peer = *a;
    (*a)->black_hole = (*b)->black_hole = mmi_sim_chance(w, w->opts.half_open_ppm);
    return MM_OK;
}

int
mmi_sim_pair(void *self, int s[2])
{
    sim_engine *e = self;
    sim_end *a, *b;
    int rc = sim_join(e->world, &a, &b);
    if (rc == MM_OK) {
        s[0] = a->id;
        s[1] = b->id;
    }
    return rc;
}

static bool
sim_same_addr(const mmi_addr *a, const mmi_addr *b)
{
    if (a->kind == MMI_ADDR_UNIX || b->kind == MMI_ADDR_UNIX) {
        return a->kind == b->kind && strcmp(a->path, b->path) == 0;
    }
    bool ip = a->any || b->any || (a->kind == b->kind && memcmp(a->ip, b->ip, sizeof a->ip) == 0);
    return ip && a->port == b->port;
}

static sim_end *
sim_find_listener(mmi_sim *w, const mmi_addr *a)
{
    for (uint32_t i = 0; i < w->end_count; i++) {
        sim_end *end = w->ends[i].end;
        if (end != NULL && end->listening && sim_same_addr(&end->addr, a)) {
            return end;
        }
    }
    return NULL;
}

int
mmi_sim_connect(void *self, const mmi_addr *a, int *s)
{
    sim_engine *e = self;
    mmi_sim *w = e->world;
    sim_end *listener = sim_find_listener(w, a);
    if (listener == NULL || listener->waiting_count == SIM_BACKLOG_MAX ||
        mmi_sim_chance(w, w->opts.refuse_ppm)) {
        mmi_sim_trace(w, e, "refused", 0, a->port);
        return MM_ECONNREFUSED;
    }
    sim_end *near_end, *far_end;
    int rc = sim_join(w, &near_end, &far_end);
    if (rc != MM_OK) {
        return rc;
    }
    near_end->owner = e;
    near_end->connected_ns =
        w->now_ns + 1 + mmi_sim_between(w, w->opts.latency_min_ns, w->opts.latency_max_ns);
    far_end->owner = listener->owner;
    listener->waiting[listener->waiting_count++] = far_end->id;
    mmi_sim_trace(w, e, "connect", near_end->id, a->port);
    *s = near_end->id;
    return MM_EAGAIN;
}

int
mmi_sim_connected(void *self, int s)
{
    sim_engine *e = self;
    sim_end *end = mmi_sim_end(e->world, s);
    if (end == NULL || end->reset || end->peer == NULL) {
        return MM_ECONNREFUSED;
    }
    return end->connected_ns <= e->world->now_ns ? MM_OK : MM_EAGAIN;
}

int
mmi_sim_listen(void *self, mmi_addr *a, int *l)
{
    sim_engine *e = self;
    mmi_sim *w = e->world;
    if (a->kind == MMI_ADDR_UNIX && a->any) {
        snprintf(a->path, sizeof a->path, "/sim/%u", (unsigned)w->next_port++);
    } else if (a->kind != MMI_ADDR_UNIX && a->port == 0) {
        a->port = w->next_port++;
    }
    if (sim_find_listener(w, a) != NULL) {
        return MM_EADDRINUSE;
    }
    sim_end *end = sim_end_new(w);
    if (end == NULL) {
        return MM_ENOMEM;
    }
    end->listening = true;
    end->addr = *a;
    mmi_sim_trace(w, e, "listen", end->id, a->port);
    *l = end->id;
    return MM_OK;
}

int
mmi_sim_accept(void *self, int l, int *s, mmi_addr *peer)
{
    sim_engine *e = self;
    mmi_sim *w = e->world;
    sim_end *end = mmi_sim_end(w, l);
    if (end == NULL || end->waiting_count == 0) {
        return MM_EAGAIN;
    }
    if (mmi_sim_chance(w, w->opts.accept_emfile_ppm)) {
        mmi_sim_trace(w, e, "emfile", l, 0);
        return MM_EMFILE;
    }
    *s = end->waiting[0];
    end->waiting_count--;
    memmove(end->waiting, end->waiting + 1, (size_t)end->waiting_count * sizeof end->waiting[0]);
    *peer = end->addr;
    mmi_sim_trace(w, e, "accept", *s, 0);
    return MM_OK;
}

int64_t
mmi_sim_readv(void *self, int s, const mmi_iov *iov, int n)
{
    sim_engine *e = self;
    mmi_sim *w = e->world;
    sim_end *end = mmi_sim_end(w, s);
    if (end == NULL || end->reset) {
        return MM_ECONNRESET;
    }
    if (mmi_sim_chance(w, w->opts.eagain_ppm)) {
        return MM_EAGAIN;
    }
    size_t visible = sim_visible(w, end);
    if (visible == 0) {
        return sim_eof(w, end) ? 0 : MM_EAGAIN;
    }
    if (mmi_sim_chance(w, w->opts.split_ppm)) {
        visible = (size_t)mmi_sim_between(w, 1, visible);
    }
    size_t taken = 0;
    for (int i = 0; i < n && taken < visible; i++) {
        size_t part = iov[i].size < visible - taken ? iov[i].size : visible - taken;
        memcpy(iov[i].data, end->data + taken, part);
        taken += part;
    }
    end->data_size -= taken;
    memmove(end->data, end->data + taken, end->data_size);
    for (size_t left = taken; left > 0;) {
        size_t part = end->chunks[0].size < left ? end->chunks[0].size : left;
        end->chunks[0].size -= part;
        left -= part;
        if (end->chunks[0].size == 0) {
            end->chunk_count--;
            memmove(end->chunks, end->chunks + 1, end->chunk_count * sizeof *end->chunks);
        }
    }
    mmi_sim_trace(w, e, "read", s, (int64_t)taken);
    return (int64_t)taken;
}

/* Room for size more bytes and one more chunk; false: no memory. */
static bool
sim_reserve(sim_end *end, size_t size)
{
    if (end->data_size + size > end->data_cap) {
        size_t cap = 2 * (end->data_size + size);
        uint8_t *grown = mmi_realloc(end->data, cap);
        if (grown == NULL) {
            return false;
        }
        end->data = grown;
        end->data_cap = cap;
    }
    if (end->chunk_count == end->chunk_cap) {
        uint32_t cap = end->chunk_cap == 0 ? 16 : 2 * end->chunk_cap;
        sim_chunk *grown = mmi_realloc(end->chunks, cap * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        end->chunks = grown;
        end->chunk_cap = cap;
    }
    return true;
}

static uint64_t
sim_due(mmi_sim *w, const sim_end *to)
{
    uint64_t due = w->now_ns + mmi_sim_between(w, w->opts.latency_min_ns, w->opts.latency_max_ns);
    uint64_t last = to->chunk_count > 0 ? to->chunks[to->chunk_count - 1].due_ns : 0;
    return due > last ? due : last;
}

int64_t
mmi_sim_writev(void *self, int s, const mmi_iov *iov, int n)
{
    sim_engine *e = self;
    mmi_sim *w = e->world;
    sim_end *end = mmi_sim_end(w, s);
    if (end == NULL || end->reset || end->peer == NULL || end->finished) {
        return MM_ECONNRESET;
    }
    uint64_t limit = w->opts.reset_after_bytes;
    if (mmi_sim_chance(w, w->opts.reset_ppm) || (limit != 0 && end->bytes_written >= limit)) {
        mmi_sim_end_reset(w, end);
        return MM_ECONNRESET;
    }
    size_t room = mmi_sim_room(w, end), total = 0;
    if (room == 0 || mmi_sim_chance(w, w->opts.eagain_ppm)) {
        return MM_EAGAIN;
    }
    if (w->reset_in > 0 && --w->reset_in == 0) {
        mmi_sim_end_reset(w, end);
        return MM_ECONNRESET;
    }
    for (int i = 0; i < n; i++) {
        total += iov[i].size;
    }
    total = total < room ? total : room;
    if (total > 1 && mmi_sim_chance(w, w->opts.short_write_ppm)) {
        total = (size_t)mmi_sim_between(w, 1, total);
    }
    sim_end *to = end->peer;
    if (!sim_reserve(to, total)) {
        return MM_EAGAIN;
    }
    size_t put = 0;
    for (int i = 0; i < n && put < total; i++) {
        size_t part = iov[i].size < total - put ? iov[i].size : total - put;
        memcpy(to->data + to->data_size + put, iov[i].data, part);
        put += part;
    }
    mmi_sim_seek_in(w, end, to->data + to->data_size, total);
    w->writes++;
    uint64_t due = sim_due(w, to);
    to->chunks[to->chunk_count++] = (sim_chunk){ .due_ns = due, .size = total };
    to->data_size += total;
    end->bytes_written += total;
    end->last_due_ns = due;
    mmi_sim_trace(w, e, "write", s, (int64_t)total);
    return (int64_t)total;
}

void
mmi_sim_finish(void *self, int s)
{
    sim_engine *e = self;
    sim_end *end = mmi_sim_end(e->world, s);
    if (end == NULL || end->finished) {
        return;
    }
    end->finished = true;
    if (end->peer != NULL) {
        end->peer->fin_ns = sim_due(e->world, end->peer);
        end->peer->fin_ns += end->peer->fin_ns == 0;
    }
    mmi_sim_trace(e->world, e, "finish", s, 0);
}

void
mmi_sim_close(void *self, int s)
{
    sim_engine *e = self;
    mmi_sim *w = e->world;
    sim_end *end = mmi_sim_end(w, s);
    if (end == NULL) {
        return;
    }
    mmi_sim_trace(w, e, "close", s, 0);
    for (int i = 0; i < end->waiting_count; i++) {
        sim_end *waiting = mmi_sim_end(w, end->waiting[i]);
        if (waiting != NULL) {
            mmi_sim_end_reset(w, waiting);
            sim_end_free(w, waiting);
        }
    }
    mmi_sim_finish(self, s);
    sim_end_free(w, end);
}
