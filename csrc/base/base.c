/*
 * base.c: the failed assertion and the one door to the heap.
 * Not here: any other state than the countdown of the allocation test hook.
 * Law: with the hook off an allocation costs one relaxed load more than malloc.
 */
#include "base/base.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic int64_t base_fail_countdown;

void
mmi_assert_failed(const char *text, const char *file, int line)
{
    fprintf(stderr, "meshmsg: assertion failed: %s (%s:%d)\n", text, file, line);
    abort();
}

/* Two threads may both see 1: the counter then ends at -1, which is as good as off. */
static bool
base_must_fail(void)
{
    if (atomic_load_explicit(&base_fail_countdown, memory_order_relaxed) <= 0) {
        return false;
    }
    return atomic_fetch_sub_explicit(&base_fail_countdown, 1, memory_order_relaxed) == 1;
}

void *
mmi_alloc(size_t size)
{
    return base_must_fail() ? NULL : calloc(1, size == 0 ? 1 : size);
}

void *
mmi_realloc(void *old, size_t size)
{
    return base_must_fail() ? NULL : realloc(old, size == 0 ? 1 : size);
}

void
mmi_free(void *ptr)
{
    free(ptr);
}

void
mm_test_alloc_fail(int64_t countdown)
{
    atomic_store_explicit(&base_fail_countdown, countdown, memory_order_relaxed);
}
