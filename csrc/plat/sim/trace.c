/*
 * plat/sim/trace.c: what is drawn from the seed of a simulated world, and the trace of what came
 * of it.
 *
 * Law: the same seed and the same calls give the same numbers and the same hash.
 */
#include <stdio.h>

#include "plat/sim/chance.h"
#include "plat/sim/world.h"

uint64_t
mmi_sim_random(mmi_sim *w)
{
    return sim_chance_next(&w->random_state);
}

bool
mmi_sim_chance(mmi_sim *w, uint32_t ppm)
{
    return ppm > 0 && mmi_sim_random(w) % 1000000 < ppm;
}

uint64_t
mmi_sim_between(mmi_sim *w, uint64_t low, uint64_t high)
{
    return high <= low ? low : low + mmi_sim_random(w) % (high - low + 1);
}

void
mmi_sim_trace(mmi_sim *w, const sim_engine *e, const char *what, int id, int64_t value)
{
    char *line = w->trace[w->trace_count++ % SIM_TRACE_LINES];
    snprintf(line, SIM_TRACE_WIDTH, "%12.6f ms engine %u %s %d: %lld", (double)w->now_ns / 1e6,
             e != NULL ? e->index : 99, what, id, (long long)value);
    for (const char *c = line; *c != '\0'; c++) {
        w->hash = (w->hash ^ (uint8_t)*c) * 0x100000001b3ull;   /* FNV-1a */
    }
}
