/*
 * keys.h: where each key of a spool was last, as compaction has to know it: a table from a hash of the key to a number.
 *
 * The hash is SipHash-2-4 of 128 bits, under a secret of the pass: who chooses keys cannot choose two of one hash, and
 * by chance it does not happen.
 *
 * Not here: which messages go (spool/compact.h).
 * Law: bounded: it says that it is full, and stays as it is.  One call at a time.
 */
#ifndef MMI_SPOOL_KEYS_H
#define MMI_SPOOL_KEYS_H

#include "spool/format.h"

enum {
    MMI_SPOOL_KEYS_MAX = 786432,         /* keys of a table, at most: three quarters of 2^20 slots of 24 octets */
    MMI_SPOOL_SECRET = 16                /* octets */
};

typedef struct mmi_spool_key_slot {
    uint64_t hash[2];
    uint64_t seq;                        /* 0: the slot is free */
} mmi_spool_key_slot;

typedef struct mmi_spool_keys {
    uint8_t secret[MMI_SPOOL_SECRET];
    mmi_spool_key_slot *slots;
    uint32_t cap, count;                 /* cap: a power of two, or 0 */
    uint32_t most;                       /* keys, at most */
} mmi_spool_keys;

void mmi_spool_key_hash(const uint8_t secret[MMI_SPOOL_SECRET], const uint8_t *key, size_t size, uint64_t hash[2]);
/* The hash of the key of a message.  false: it has none, or an empty one. */
bool mmi_spool_keys_of(const mmi_spool_keys *k, const mmi_spool_record *r, uint64_t hash[2]);
/* That key was last at that number, so far.  MM_EAGAIN: it is full; MM_ENOMEM: there is no room for a single one. */
int mmi_spool_keys_put(mmi_spool_keys *k, const uint64_t hash[2], uint64_t seq) MMI_WARN_UNUSED;
uint64_t mmi_spool_keys_get(const mmi_spool_keys *k, const uint64_t hash[2]);   /* 0: it is not there */
void mmi_spool_keys_clear(mmi_spool_keys *k);    /* its memory goes */

#endif
