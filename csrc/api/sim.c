/*
 * api/sim.c: simulated worlds from outside: open, run, break, heal, look.
 *
 * Law: a world is used from one thread; it outlives its engines, which are closed first.
 */
#include <stdio.h>
#include <string.h>

#include "plat/sim/world.h"

enum { SIM_WORLDS_MAX = 256, SIM_BUFFER_SIZE = 256 * 1024 };

static mmi_sim *sim_worlds[SIM_WORLDS_MAX];
static pthread_mutex_t sim_table = PTHREAD_MUTEX_INITIALIZER;

mmi_sim *
mmi_sim_find(mm_handle world)
{
    mmi_sim *found = NULL;
    pthread_mutex_lock(&sim_table);
    if (world >= 1 && world <= SIM_WORLDS_MAX) {
        found = sim_worlds[world - 1];
    }
    pthread_mutex_unlock(&sim_table);
    return found;
}

static bool
sim_opts_valid(const mm_sim_opts *o)
{
    return o->latency_min_ns <= o->latency_max_ns && o->eagain_ppm < 1000000;
}

int
mm_sim_open(uint64_t seed, const mm_sim_opts *opts, mm_handle *world)
{
    if (!sim_opts_valid(opts)) {
        return MM_EINVAL;
    }
    mmi_sim *w = mmi_alloc(sizeof *w);
    if (w == NULL) {
        return MM_ENOMEM;
    }
    w->opts = *opts;
    if (w->opts.buffer_size == 0) {
        w->opts.buffer_size = SIM_BUFFER_SIZE;
    }
    w->random_state = seed;
    w->hash = 0xcbf29ce484222325ull;
    w->now_ns = 1000000000;
    w->next_port = SIM_FIRST_PORT;
    int rc = MM_EMFILE;
    pthread_mutex_lock(&sim_table);
    for (mm_handle i = 0; i < SIM_WORLDS_MAX && rc != MM_OK; i++) {
        if (sim_worlds[i] == NULL) {
            sim_worlds[i] = w;
            *world = i + 1;
            rc = MM_OK;
        }
    }
    pthread_mutex_unlock(&sim_table);
    if (rc != MM_OK) {
        mmi_free(w);
    }
    return rc;
}

int
mm_sim_close(mm_handle world)
{
    mmi_sim *w = mmi_sim_find(world);
    if (w == NULL) {
        return MM_ECLOSED;
    }
    for (uint32_t i = 0; i < w->engine_count; i++) {
        if (w->engines[i].open) {
            return MM_ESTATE;
        }
    }
    pthread_mutex_lock(&sim_table);
    sim_worlds[world - 1] = NULL;
    pthread_mutex_unlock(&sim_table);
    mmi_sim_free_ends(w);
    mmi_free(w);
    return MM_OK;
}

int
mm_sim_faults(mm_handle world, const mm_sim_opts *opts)
{
    mmi_sim *w = mmi_sim_find(world);
    if (w == NULL || !sim_opts_valid(opts)) {
        return w == NULL ? MM_ECLOSED : MM_EINVAL;
    }
    uint64_t buffer_size = opts->buffer_size != 0 ? opts->buffer_size : w->opts.buffer_size;
    w->opts = *opts;
    w->opts.buffer_size = buffer_size;
    return MM_OK;
}

int
mm_sim_heal(mm_handle world)
{
    mmi_sim *w = mmi_sim_find(world);
    if (w == NULL) {
        return MM_ECLOSED;
    }
    w->opts = (mm_sim_opts){ .latency_min_ns = w->opts.latency_min_ns,
                             .latency_max_ns = w->opts.latency_max_ns,
                             .buffer_size = w->opts.buffer_size };
    w->reset_in = 0;
    memset(w->cut, 0, sizeof w->cut);
    return MM_OK;
}

int
mm_sim_run(mm_handle world, uint64_t for_ns)
{
    mmi_sim *w = mmi_sim_find(world);
    if (w == NULL) {
        return MM_ECLOSED;
    }
    mmi_sim_run_until(w, w->now_ns + for_ns, NULL);
    return MM_OK;
}

int
mm_sim_partition(mm_handle world, uint32_t from, uint32_t to, uint64_t for_ns)
{
    mmi_sim *w = mmi_sim_find(world);
    if (w == NULL || from >= w->engine_count || to >= w->engine_count) {
        return w == NULL ? MM_ECLOSED : MM_EINVAL;
    }
    bool ever = for_ns > UINT64_MAX - w->now_ns;
    sim_partition *cut = &w->cut[from][to];
    cut->since_ns = cut->until_ns > w->now_ns ? cut->since_ns : w->now_ns;
    cut->until_ns = ever ? UINT64_MAX : w->now_ns + for_ns;
    mmi_sim_trace(w, &w->engines[from], "partition", (int)to, (int64_t)for_ns);
    return MM_OK;
}

int
mm_sim_reset_all(mm_handle world)
{
    mmi_sim *w = mmi_sim_find(world);
    if (w == NULL) {
        return MM_ECLOSED;
    }
    for (uint32_t i = 0; i < w->end_count; i++) {
        if (w->ends[i].end != NULL) {
            mmi_sim_end_reset(w, w->ends[i].end);
        }
    }
    return MM_OK;
}

int
mm_sim_reset_in(mm_handle world, uint64_t nth)
{
    mmi_sim *w = mmi_sim_find(world);
    if (w == NULL) {
        return MM_ECLOSED;
    }
    w->reset_in = nth;
    return MM_OK;
}

int
mm_sim_seek(mm_handle world, const uint8_t *octets, size_t size)
{
    mmi_sim *w = mmi_sim_find(world);
    if (w == NULL || size > SIM_SOUGHT_MAX) {
        return w == NULL ? MM_ECLOSED : MM_EINVAL;
    }
    mmi_sim_seek(w, octets, size);
    return MM_OK;
}

int
mm_sim_jump_wall(mm_handle world, int64_t by_ns)
{
    mmi_sim *w = mmi_sim_find(world);
    if (w == NULL) {
        return MM_ECLOSED;
    }
    w->wall_jump_ns += (uint64_t)by_ns;
    return MM_OK;
}

int
mm_sim_suspend(mm_handle world, uint64_t for_ns)
{
    mmi_sim *w = mmi_sim_find(world);
    if (w == NULL) {
        return MM_ECLOSED;
    }
    w->now_ns = for_ns > UINT64_MAX - w->now_ns ? UINT64_MAX : w->now_ns + for_ns;
    mmi_sim_trace(w, NULL, "suspend", 0, (int64_t)for_ns);
    return MM_OK;
}

int
mm_sim_inspect(mm_handle world, mm_sim_state *out)
{
    mmi_sim *w = mmi_sim_find(world);
    if (w == NULL) {
        return MM_ECLOSED;
    }
    *out = (mm_sim_state){ .now_ns = w->now_ns,
                           .trace_hash = w->hash,
                           .trace_lines = w->trace_count,
                           .writes = w->writes,
                           .resets = w->resets,
                           .found = w->found,
                           .engines = w->engine_count,
                           .open_streams = mmi_sim_open_ends(w) };
    return MM_OK;
}

int
mm_sim_trace(mm_handle world, uint64_t line, char *out, size_t size)
{
    mmi_sim *w = mmi_sim_find(world);
    if (w == NULL) {
        return MM_ECLOSED;
    }
    if (line >= w->trace_count || w->trace_count - line > SIM_TRACE_LINES) {
        return MM_EINVAL;
    }
    snprintf(out, size, "%s", w->trace[line % SIM_TRACE_LINES]);
    return MM_OK;
}
