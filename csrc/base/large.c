/*
 * large.c: a few unused blocks, the oldest first.  See large.h.
 * Not here: what is in them.
 * Law: the flag is held for a few instructions, in which nothing is freed; nobody waits for it.
 */
#include "base/large.h"

#include <stdatomic.h>
#include <string.h>

#include "base/spare.h"

enum { LARGE_SPARES_MAX = 8 };

typedef struct large_spare {
    void *block;
    size_t size; /* bytes */
} large_spare;

static struct {
    atomic_flag busy;
    uint32_t count;
    size_t size; /* bytes of all */
    large_spare spares[LARGE_SPARES_MAX];
} large = { .busy = ATOMIC_FLAG_INIT };

static _Atomic size_t large_lent; /* bytes */

static void *
large_remove(uint32_t i)
{
    const large_spare s = large.spares[i];
    large.size -= s.size;
    large.count--;
    memmove(&large.spares[i], &large.spares[i + 1], (large.count - i) * sizeof s);
    MMI_SPARE_SHOW(s.block, s.size);
    return s.block;
}

void *
mmi_large_take(size_t size)
{
    void *block = NULL;
    if (!mmi_spare_enter(&large.busy)) {
        return NULL;
    }
    for (uint32_t i = large.count; i > 0 && block == NULL; i--) { /* the last may be cached yet */
        const large_spare *s = &large.spares[i - 1];
        block = s->size >= size && s->size - size <= size / 4 ? large_remove(i - 1) : NULL;
    }
    mmi_spare_leave(&large.busy);
    return block;
}

void *
mmi_large_lend(size_t size)
{
    const size_t most = (size_t)MMI_LARGE_KEPT_MAX;
    if (size > most) {
        return NULL;
    }
    size_t lent = atomic_fetch_add_explicit(&large_lent, size, memory_order_relaxed);
    void *block = lent <= most - size ? mmi_large_take(size) : NULL;
    if (block == NULL) {
        mmi_large_settle(size);
    }
    return block;
}

void
mmi_large_settle(size_t size)
{
    atomic_fetch_sub_explicit(&large_lent, size, memory_order_relaxed);
}

/* What has to be freed, count of it. */
static uint32_t
large_keep(void *block, size_t size, void **old)
{
    uint32_t count = 0;
    if (size < (size_t)MMI_LARGE_MIN || size > (size_t)MMI_LARGE_KEPT_MAX ||
        !mmi_spare_enter(&large.busy)) {
        old[0] = block;
        return 1;
    }
    while (large.count == LARGE_SPARES_MAX || large.size + size > (size_t)MMI_LARGE_KEPT_MAX) {
        old[count++] = large_remove(0);
    }
    MMI_SPARE_HIDE(block, size);
    large.spares[large.count++] = (large_spare){ block, size };
    large.size += size;
    mmi_spare_leave(&large.busy);
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
