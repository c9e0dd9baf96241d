/*
 * queue/delayed.c: see queue/delayed.h.  A binary min-heap.
 */
#include "queue/delayed.h"

#include <string.h>

enum { DELAYED_CAP_MIN = 16 };

static bool
delayed_before(const mmi_delayed_entry *a, const mmi_delayed_entry *b)
{
    return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->order < b->order);
}

static void
delayed_up(mmi_delayed *d, uint32_t i, mmi_delayed_entry entry)
{
    for (; i > 0 && delayed_before(&entry, &d->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        d->heap[i] = d->heap[(i - 1) / 2];
    }
    d->heap[i] = entry;
}

/* From the root on. */
static void
delayed_down(mmi_delayed *d, mmi_delayed_entry entry)
{
    uint32_t i = 0, child;
    while ((child = 2 * i + 1) < d->count) {
        if (child + 1 < d->count && delayed_before(&d->heap[child + 1], &d->heap[child])) {
            child++;
        }
        if (!delayed_before(&d->heap[child], &entry)) {
            break;
        }
        d->heap[i] = d->heap[child];
        i = child;
    }
    d->heap[i] = entry;
}

/* Those of it count for the limits of what came back. */
static void
delayed_count(mmi_delayed *d, const mmi_msg *m, bool comes)
{
    size_t cost = mmi_msg_cost(m);
    bool returned = m->origin.attempt > 0;
    if (comes) {
        d->bytes += cost;
        d->returned += returned ? 1 : 0;
        d->returned_bytes += returned ? cost : 0;
    } else {
        d->bytes -= cost;
        d->returned -= returned ? 1 : 0;
        d->returned_bytes -= returned ? cost : 0;
    }
}

int
mmi_delayed_add(mmi_delayed *d, mmi_msg *m, uint64_t due_ns)
{
    if (d->count == d->cap) {
        uint32_t cap = d->cap == 0 ? (uint32_t)DELAYED_CAP_MIN : d->cap * 2;
        mmi_delayed_entry *heap = mmi_realloc(d->heap, (size_t)cap * sizeof *heap);
        if (heap == NULL) {
            return MM_ENOMEM;
        }
        d->heap = heap;
        d->cap = cap;
    }
    delayed_count(d, m, true);
    d->count++;
    delayed_up(d, d->count - 1,
               (mmi_delayed_entry){ .due_ns = due_ns, .order = d->added++, .m = m });
    return MM_OK;
}

uint64_t
mmi_delayed_next(const mmi_delayed *d)
{
    return d->count == 0 ? UINT64_MAX : d->heap[0].due_ns;
}

mmi_msg *
mmi_delayed_take(mmi_delayed *d, uint64_t now_ns)
{
    if (mmi_delayed_next(d) > now_ns || d->count == 0) {
        return NULL;
    }
    mmi_msg *m = d->heap[0].m;
    d->count--;
    if (d->count > 0) {
        delayed_down(d, d->heap[d->count]);
    } else {
        mmi_delayed_fini(d); /* gives the memory back */
    }
    delayed_count(d, m, false);
    return m;
}

void
mmi_delayed_fini(mmi_delayed *d)
{
    MMI_ASSERT(d->count == 0);
    mmi_free(d->heap);
    d->heap = NULL;
    d->cap = 0;
}
