/*
 * test_map.c: the hash map against a plain array.
 * Not here: byte-string keys.
 * Law: after each step the map finds exactly what the array holds.
 */
#include "base/map.h"
#include "check.h"

enum { KEYS = 300 };

static void
test_an_empty_map_finds_nothing(void)
{
    mmi_map map = { 0 };
    CHECK(mmi_map_find(&map, 1) == NULL);
    CHECK(mmi_map_rm(&map, 1) == NULL);
    mmi_map_fini(&map);
}

static void
test_put_replaces_without_memory(void)
{
    mmi_map map = { 0 };
    int a, b;
    CHECK_INT(mmi_map_put(&map, 5, &a), MM_OK);
    mm_test_alloc_fail(1);
    CHECK_INT(mmi_map_put(&map, 5, &b), MM_OK);
    mm_test_alloc_fail(0);
    CHECK(mmi_map_find(&map, 5) == &b);
    CHECK_INT(map.count, 1);
    mmi_map_fini(&map);
}

static void
test_no_memory_changes_nothing(void)
{
    mmi_map map = { 0 };
    int value;
    for (uint64_t key = 0; key < 100; key++) {
        mm_test_alloc_fail(1);
        int rc = mmi_map_put(&map, key, &value);
        mm_test_alloc_fail(0);
        if (rc != MM_OK) {
            CHECK_INT(rc, MM_ENOMEM);
            CHECK(mmi_map_find(&map, key) == NULL);
            CHECK_INT(map.count, key);
            CHECK_INT(mmi_map_put(&map, key, &value), MM_OK);
        }
    }
    for (uint64_t key = 0; key < 100; key++) {
        CHECK(mmi_map_rm(&map, key) == &value);
    }
    CHECK_INT(map.count, 0);
    mmi_map_fini(&map);
}

/* Keys that are far apart, next to each other, and equal in their low bits. */
static uint64_t
model_key(uint32_t i)
{
    switch (i % 3) {
    case 0: return i;
    case 1: return (uint64_t)i << 32;
    default: return UINT64_MAX - (uint64_t)i * 4096;
    }
}

static void
test_a_map_behaves_like_a_table(void)
{
    for (uint32_t seed = 1; seed <= 20; seed++) {
        uint32_t state = seed, count = 0;
        char values[KEYS] = { 0 };
        bool there[KEYS] = { false };
        mmi_map map = { 0 };
        for (int step = 0; step < 3000; step++) {
            uint32_t i = check_random(&state) % KEYS;
            if (check_random(&state) % 2 == 0) {
                CHECK_INT(mmi_map_put(&map, model_key(i), &values[i]), MM_OK);
                count += !there[i];
                there[i] = true;
            } else {
                CHECK(mmi_map_rm(&map, model_key(i)) == (there[i] ? &values[i] : NULL));
                count -= there[i];
                there[i] = false;
            }
            CHECK_INT(map.count, count);
            i = check_random(&state) % KEYS;
            CHECK(mmi_map_find(&map, model_key(i)) == (there[i] ? &values[i] : NULL));
        }
        for (uint32_t i = 0; i < KEYS; i++) {
            CHECK(mmi_map_find(&map, model_key(i)) == (there[i] ? &values[i] : NULL));
        }
        mmi_map_fini(&map);
    }
}

int
main(void)
{
    RUN(test_an_empty_map_finds_nothing);
    RUN(test_put_replaces_without_memory);
    RUN(test_no_memory_changes_nothing);
    RUN(test_a_map_behaves_like_a_table);
    return 0;
}
