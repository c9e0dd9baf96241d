/*
 * map.c: open addressing with linear probing; removal shifts back, so there are no tombstones.
 * Law: every key stands between its home slot and the next free slot.
 */
#include "base/map.h"

#include <string.h>

enum { MAP_CAP_MIN = 16 };   /* slots */

static uint32_t
map_home(const mmi_map *map, uint64_t key)
{
    key ^= key >> 32;
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(key >> 32) & (map->cap - 1);
}

/* Where key is, or the free slot where it would go.  There is always a free slot. */
static uint32_t
map_slot(const mmi_map *map, uint64_t key)
{
    uint32_t i = map_home(map, key);
    while (map->slots[i].value != NULL && map->slots[i].key != key) {
        i = (i + 1) & (map->cap - 1);
    }
    return i;
}

static int
map_grow(mmi_map *map)
{
    if (map->cap > UINT32_MAX / 4) {
        return MM_ENOMEM;
    }
    mmi_map bigger = { .cap = map->cap == 0 ? (uint32_t)MAP_CAP_MIN : map->cap * 2 };
    bigger.slots = mmi_alloc((size_t)bigger.cap * sizeof(*bigger.slots));
    if (bigger.slots == NULL) {
        return MM_ENOMEM;
    }
    for (uint32_t i = 0; i < map->cap; i++) {
        if (map->slots[i].value != NULL) {
            bigger.slots[map_slot(&bigger, map->slots[i].key)] = map->slots[i];
        }
    }
    bigger.count = map->count;
    mmi_free(map->slots);
    *map = bigger;
    return MM_OK;
}

void
mmi_map_fini(mmi_map *map)
{
    mmi_free(map->slots);
    memset(map, 0, sizeof(*map));
}

int
mmi_map_put(mmi_map *map, uint64_t key, void *value)
{
    MMI_ASSERT(value != NULL);
    if (map->cap > 0) {
        mmi_map_slot *slot = &map->slots[map_slot(map, key)];
        if (slot->value != NULL) {
            slot->value = value;
            return MM_OK;
        }
    }
    if (map->count >= map->cap / 2 && map_grow(map) != MM_OK) {
        return MM_ENOMEM;
    }
    map->slots[map_slot(map, key)] = (mmi_map_slot){ .key = key, .value = value };
    map->count++;
    return MM_OK;
}

void *
mmi_map_find(const mmi_map *map, uint64_t key)
{
    return map->count == 0 ? NULL : map->slots[map_slot(map, key)].value;
}

void *
mmi_map_rm(mmi_map *map, uint64_t key)
{
    if (map->count == 0) {
        return NULL;
    }
    uint32_t hole = map_slot(map, key);
    void *value = map->slots[hole].value;
    if (value == NULL) {
        return NULL;
    }
    uint32_t mask = map->cap - 1;
    for (uint32_t i = (hole + 1) & mask; map->slots[i].value != NULL; i = (i + 1) & mask) {
        /* A key may move into the hole when that lies between its home and here. */
        uint32_t home = map_home(map, map->slots[i].key);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole].value = NULL;
    map->count--;
    return value;
}
