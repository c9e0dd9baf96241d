/*
 * queue/levels.c: see queue/levels.h.
 */
#include "queue/levels.h"

void
mmi_levels_init(mmi_levels *l, uint32_t used)
{
    *l = (mmi_levels){ .used = used };
    for (uint32_t i = 0; i < used; i++) {
        mmi_ring_init(&l->at[i], UINT32_MAX, SIZE_MAX);
    }
}

/* The highest level below that one that has a message; used: there is none. */
static uint32_t
levels_below(const mmi_levels *l, uint32_t level)
{
    while (level > 0) {
        level--;
        if (l->at[level].slot_count > 0) {
            return level;
        }
    }
    return l->used;
}

/* The level whose turn it is, below the highest that has a message; used: none is. */
static uint32_t
levels_turn(const mmi_levels *l, uint32_t top)
{
    uint32_t first = levels_below(l, top);
    if (l->run < (uint32_t)MMI_LEVELS_RUN || first == l->used) {
        return l->used;
    }
    uint32_t next = levels_below(l, l->turn < top ? l->turn : top);
    return next < l->used ? next : first;
}

mmi_ring *
mmi_levels_next(mmi_levels *l)
{
    uint32_t top = levels_below(l, l->used);
    if (top == l->used) {
        return NULL;
    }
    uint32_t turn = levels_turn(l, top);
    return &l->at[turn < l->used ? turn : top];
}

void
mmi_levels_took(mmi_levels *l, const mmi_ring *from)
{
    uint32_t level = (uint32_t)(from - l->at), top = levels_below(l, l->used);
    if (level < top) {
        l->run = 0;
        l->turn = level;
    } else if (levels_below(l, level) < l->used) {
        l->run++;
    } else {
        l->run = 0;
    }
}

mmi_msg *
mmi_levels_take_lowest(mmi_levels *l)
{
    uint32_t i = 0;
    while (i < l->used && l->at[i].slot_count == 0) {
        i++;
    }
    return i < l->used ? mmi_ring_pop(&l->at[i]) : NULL;
}

uint32_t
mmi_levels_count(const mmi_levels *l, uint64_t *bytes)
{
    uint32_t count = 0;
    *bytes = 0;
    for (uint32_t i = 0; i < l->used; i++) {
        count += l->at[i].count;
        *bytes += l->at[i].bytes;
    }
    return count;
}
