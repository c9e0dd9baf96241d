/*
 * timer.c: a binary min-heap of deadlines.
 * Not here: a clock, and what happens when a timer is due.
 * Law: heap[i]->index == i + 1 for every i, and no timer is due before its parent in the heap.
 */
#include "base/timer.h"

#include <string.h>

enum { TIMERS_CAP_MIN = 16 };

static void
timers_place(mmi_timers *t, uint32_t i, mmi_timer *timer)
{
    t->heap[i] = timer;
    timer->index = i + 1;
}

static void
timers_up(mmi_timers *t, uint32_t i, mmi_timer *timer)
{
    while (i > 0 && t->heap[(i - 1) / 2]->deadline_ns > timer->deadline_ns) {
        timers_place(t, i, t->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    timers_place(t, i, timer);
}

static void
timers_down(mmi_timers *t, uint32_t i, mmi_timer *timer)
{
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= t->count) {
            break;
        }
        if (child + 1 < t->count && t->heap[child + 1]->deadline_ns < t->heap[child]->deadline_ns) {
            child++;
        }
        if (t->heap[child]->deadline_ns >= timer->deadline_ns) {
            break;
        }
        timers_place(t, i, t->heap[child]);
        i = child;
    }
    timers_place(t, i, timer);
}

/* Puts timer at i, whichever way it has to move from there. */
static void
timers_settle(mmi_timers *t, uint32_t i, mmi_timer *timer)
{
    if (i > 0 && t->heap[(i - 1) / 2]->deadline_ns > timer->deadline_ns) {
        timers_up(t, i, timer);
    } else {
        timers_down(t, i, timer);
    }
}

void
mmi_timers_fini(mmi_timers *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        t->heap[i]->index = 0;
    }
    mmi_free(t->heap);
    memset(t, 0, sizeof(*t));
}

int
mmi_timer_set(mmi_timers *t, mmi_timer *timer, uint64_t deadline_ns)
{
    if (timer->index != 0) {
        timer->deadline_ns = deadline_ns;
        timers_settle(t, timer->index - 1, timer);
        return MM_OK;
    }
    if (t->count == t->cap) {
        uint32_t cap = t->cap == 0 ? (uint32_t)TIMERS_CAP_MIN : t->cap * 2;
        mmi_timer **heap = mmi_realloc(t->heap, (size_t)cap * sizeof(*heap));
        if (heap == NULL) {
            return MM_ENOMEM;
        }
        t->heap = heap;
        t->cap = cap;
    }
    timer->deadline_ns = deadline_ns;
    timers_up(t, t->count++, timer);
    return MM_OK;
}

void
mmi_timer_clear(mmi_timers *t, mmi_timer *timer)
{
    if (timer->index == 0) {
        return;
    }
    uint32_t i = timer->index - 1;
    timer->index = 0;
    mmi_timer *last = t->heap[--t->count];
    if (last != timer) {
        timers_settle(t, i, last);
    }
}

uint64_t
mmi_timers_next(const mmi_timers *t)
{
    return t->count == 0 ? UINT64_MAX : t->heap[0]->deadline_ns;
}

mmi_timer *
mmi_timers_pop_due(mmi_timers *t, uint64_t now_ns)
{
    if (t->count == 0 || t->heap[0]->deadline_ns > now_ns) {
        return NULL;
    }
    mmi_timer *timer = t->heap[0];
    mmi_timer_clear(t, timer);
    return timer;
}
