/*
 * plat/sim/chance.h: where the chance of a simulation comes from.  Private to plat/.
 * Not here: the streams' and the disk's own state, of which each has one.
 * Law: the same state gives the same numbers, on every machine.
 */
#ifndef MMI_SIM_CHANCE_H
#define MMI_SIM_CHANCE_H

#include <stdint.h>

/* splitmix64: small, and good for any seed. */
static inline uint64_t
sim_chance_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

#endif
