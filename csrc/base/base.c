/*
 * base.c: the failed assertion and the one door to the heap.
 * Not here: any other state than that of the test hooks.
 * Law: with the hooks off an allocation costs two relaxed loads more than malloc, and freeing one.
 */
#include "base/base.h"
#include "meshmsg_testing.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic int64_t base_fail_countdown, base_blocks, base_bytes, base_wall_ahead;
static atomic_bool base_counts;
static _Atomic uint32_t base_cpus;

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

/* What was allocated, or with -1 is about to be freed. */
static void
base_count(void *ptr, int64_t sign)
{
    if (ptr != NULL && atomic_load_explicit(&base_counts, memory_order_relaxed)) {
        int64_t size = (int64_t)malloc_usable_size(ptr);
        atomic_fetch_add_explicit(&base_blocks, sign, memory_order_relaxed);
        atomic_fetch_add_explicit(&base_bytes, sign * size, memory_order_relaxed);
    }
}

void *
mmi_alloc(size_t size)
{
    void *ptr = base_must_fail() ? NULL : calloc(1, size == 0 ? 1 : size);
    base_count(ptr, 1);
    return ptr;
}

void *
mmi_realloc(void *old, size_t size)
{
    if (base_must_fail()) {
        return NULL;
    }
    base_count(old, -1);
    void *ptr = realloc(old, size == 0 ? 1 : size);
    base_count(ptr != NULL ? ptr : old, 1);
    return ptr;
}

void
mmi_free(void *ptr)
{
    base_count(ptr, -1);
    free(ptr);
}

size_t
mmi_alloc_size(void *ptr)
{
    return malloc_usable_size(ptr);
}

int64_t
mm_test_alloc_fail(int64_t countdown)
{
    return atomic_exchange_explicit(&base_fail_countdown, countdown, memory_order_relaxed);
}

int64_t
mm_test_alloc_live(int64_t *bytes)
{
    atomic_store_explicit(&base_counts, true, memory_order_relaxed);
    *bytes = atomic_load_explicit(&base_bytes, memory_order_relaxed);
    return atomic_load_explicit(&base_blocks, memory_order_relaxed);
}

void
mm_test_cpus(uint32_t count)
{
    atomic_store_explicit(&base_cpus, count, memory_order_relaxed);
}

uint32_t
mmi_cpus_told(void)
{
    return atomic_load_explicit(&base_cpus, memory_order_relaxed);
}

void
mm_test_wall_ahead(int64_t by_us)
{
    atomic_store_explicit(&base_wall_ahead, by_us, memory_order_relaxed);
}

int64_t
mmi_wall_ahead_us(void)
{
    return atomic_load_explicit(&base_wall_ahead, memory_order_relaxed);
}
