/*
 * api/feed_heap.c: which messages of a spool are to be sent later, or again, and when.
 *
 * A binary heap of times and numbers; what is in flight has room in it.
 * Not here: sending them (api/feed_run.c).  Law: feed->lock is held, but by mmi_feed_clock.
 */
#include "api/feed.h"

static const uint64_t HEAP_LOOK_NS = 10000000;   /* that two looks at clocks may be apart */
static const uint64_t HEAP_NS_PER_US = 1000;
static const int64_t HEAP_SET_US = 1000000; /* that the wall clock moves at once: it was set */

static bool
heap_before(const feed_later *a, const feed_later *b)
{
    return a->due_us < b->due_us || (a->due_us == b->due_us && a->seq < b->seq);
}

int
mmi_feed_reserve(mm_feed *f, size_t more)
{
    size_t need = f->again_count + f->in_flight + more;
    if (need <= f->again_cap) {
        return MM_OK;
    }
    size_t cap = (size_t)mmi_spool_cap(f->again_cap, FEED_RUN, need);
    feed_later *grown = mmi_realloc(f->again, cap * sizeof *grown);
    if (grown == NULL) {
        return MM_ENOMEM;
    }
    f->again = grown;
    f->again_cap = cap;
    return MM_OK;
}

/* One that is behind all others finds its place. */
static void
heap_push(feed_later *heap, size_t at, feed_later one)
{
    for (; at > 0 && heap_before(&one, &heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = one;
}

void
mmi_feed_add(mm_feed *f, feed_later one)
{
    MMI_ASSERT(f->again_count < f->again_cap);   /* it was reserved */
    heap_push(f->again, f->again_count++, one);
    f->delayed += one.due_us > 0;
}

bool
mmi_feed_take(mm_feed *f, uint64_t now_us, feed_later *one)
{
    feed_later *h = f->again;
    if (f->again_count == 0 || h[0].due_us > now_us) {
        return false;
    }
    *one = h[0];
    f->delayed -= h[0].due_us > 0;
    const feed_later last = h[--f->again_count];
    size_t at = 0, count = f->again_count;
    for (;;) {
        size_t child = at * 2 + 1;
        child += child + 1 < count && heap_before(&h[child + 1], &h[child]);
        if (child >= count || !heap_before(&h[child], &last)) {
            break;
        }
        h[at] = h[child];
        at = child;
    }
    h[at] = last;
    return true;
}

void
mmi_feed_move(mm_feed *f, int64_t by_us)
{
    for (size_t i = 0; i < f->again_count; i++) {
        feed_later one = f->again[i];
        if (one.due_us > 0) { /* 0: at once, whatever the time is */
            const uint64_t moved = one.due_us + (uint64_t)by_us;
            one.due_us = by_us < 0 && one.due_us <= (uint64_t)-by_us ? 1 : moved;
        }
        heap_push(f->again, i, one);
    }
}

uint64_t
mmi_feed_clock(mm_feed *f)
{
    const uint64_t before = mmi_thread_now_ns(), wall_us = mmi_thread_wall_us(NULL);
    if (mmi_thread_now_ns() - before > HEAP_LOOK_NS) { /* this thread stood still in between */
        return wall_us;
    }
    const uint64_t ahead = wall_us - before / HEAP_NS_PER_US;
    const int64_t by_us = (int64_t)(ahead - f->clock_us);
    if (f->clock_us != 0 && (by_us > HEAP_SET_US || by_us < -HEAP_SET_US)) {
        pthread_mutex_lock(&f->lock);
        mmi_feed_move(f, by_us);
        pthread_mutex_unlock(&f->lock);
    }
    f->clock_us = ahead;
    return wall_us;
}

size_t
mmi_feed_take_below(mm_feed *f, uint64_t seq, uint64_t *seqs, size_t most)
{
    size_t taken = 0, kept = 0;
    for (size_t i = 0; i < f->again_count; i++) {
        const feed_later one = f->again[i];
        if (one.seq < seq && taken < most) {
            seqs[taken++] = one.seq;
            f->delayed -= one.due_us > 0;
        } else {
            heap_push(f->again, kept++, one);
        }
    }
    f->again_count = kept;
    return taken;
}
