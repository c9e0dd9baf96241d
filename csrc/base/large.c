/*
 * large.c: a few unused blocks, the oldest first.  See large.h.
 * Not here: what is in them.
 * Law: the flag is held for a few instructions, in which nothing is freed; nobody waits for it.
 */
#include "base/large.h"

#include <stdatomic.h>
#include <string.h>

enum { LARGE_SPARES_MAX = 8 };

typedef struct large_spare {
    void *block;
    size_t size;   /* bytes */
} large_spare;

static struct {
    atomic_flag busy;
    uint32_t count;
    size_t size;   /* bytes of all */
    large_spare spares[LARGE_SPARES_MAX];
} large = { .busy = ATOMIC_FLAG_INIT };

static bool
large_enter(void)
{
    return !atomic_flag_test_and_set_explicit(&large.busy, memory_order_acquire);
}

static void
large_leave(void)
{
    atomic_flag_clear_explicit(&large.busy, memory_order_release);
}

static void *
large_remove(uint32_t i)
{
    void *block = large.spares[i].block;
    large.size -= large.spares[i].size;
    large.count--;
    memmove(&large.spares[i], &large.spares[i + 1], (large.count - i) * sizeof large.spares[0]);
    return block;
}

void *
mmi_large_take(size_t size)
{
    void *block = NULL;
    if (!large_enter()) {
        return NULL;
    }
    for (uint32_t i = large.count; i > 0 && block == NULL; i--) {   /* the last may be cached yet */
        const large_spare *s = &large.spares[i - 1];
        block = s->size >= size && s->size / 2 <= size ? large_remove(i - 1) : NULL;
    }
    large_leave();
    return block;
}

/* What has to be freed, count of it. */
static uint32_t
large_keep(void *block, size_t size, void **old)
{
    uint32_t count = 0;
    if (size < MMI_LARGE_MIN || size > MMI_LARGE_KEPT_MAX || !large_enter()) {
        old[0] = block;
        return 1;
    }
    while (large.count == LARGE_SPARES_MAX || large.size + size > MMI_LARGE_KEPT_MAX) {
        old[count++] = large_remove(0);
    }
    large.spares[large.count++] = (large_spare){ block, size };
    large.size += size;
    large_leave();
    return count;
}

void
mmi_large_free(void *block)
{
    void *old[LARGE_SPARES_MAX];
    for (uint32_t i = large_keep(block, mmi_alloc_size(block), old); i > 0; i--) {
        mmi_free(old[i - 1]);
    }
}
