/*
 * plat/sim/seek.c: octets that are sought in all that a simulated world writes.
 *
 * Law: each end is a stream of its own: what comes in several writes is found as well.
 */
#include <string.h>

#include "plat/sim/world.h"

/* How much of what is sought is there with one octet more. */
static uint32_t
seek_on(const mmi_sim *w, uint32_t there, uint8_t octet)
{
    while (there > 0 && w->sought[there] != octet) {
        there = w->borders[there - 1];
    }
    return there + (w->sought[there] == octet);
}

void
mmi_sim_seek(mmi_sim *w, const uint8_t *octets, size_t size)
{
    w->sought_size = (uint32_t)size;
    if (size > 0) {
        memcpy(w->sought, octets, size);
    }
    for (uint32_t i = 1, there = 0; i < size; i++) {
        there = seek_on(w, there, w->sought[i]);
        w->borders[i] = (uint8_t)there;
    }
    for (uint32_t i = 0; i < w->end_count; i++) {
        if (w->ends[i].end != NULL) {
            w->ends[i].end->sought = 0;
        }
    }
}

void
mmi_sim_seek_in(mmi_sim *w, sim_end *writes, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size && w->sought_size > 0; i++) {
        writes->sought = seek_on(w, writes->sought, data[i]);
        if (writes->sought == w->sought_size) {
            w->found++;
            writes->sought = w->borders[w->sought_size - 1];
        }
    }
}
