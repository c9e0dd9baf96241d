/*
 * map.h: a hash table from a 64-bit key to a pointer.
 * Not here: ordered traversal, byte-string keys (callers hash those, with a seed, and chain what
 * collides). Law: a map of all zeroes is empty; rm and find never fail or allocate.  Values are not
 * NULL.
 */
#ifndef MMI_MAP_H
#define MMI_MAP_H

#include "base/base.h"

typedef struct mmi_map_slot {
    uint64_t key;
    void *value;               /* NULL: the slot is free */
} mmi_map_slot;

typedef struct mmi_map {
    mmi_map_slot *slots;
    uint32_t cap, count;       /* cap: a power of two, at least twice count */
} mmi_map;

void mmi_map_fini(mmi_map *map); /* the values are the caller's */
int mmi_map_put(mmi_map *map, uint64_t key, void *value) MMI_WARN_UNUSED;
/* adds or replaces; MM_ENOMEM only when adding */
void *mmi_map_find(const mmi_map *map, uint64_t key);                 /* NULL: not there */
void *mmi_map_rm(mmi_map *map, uint64_t key);                         /* what was there, or NULL */

#endif
