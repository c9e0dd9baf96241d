/*
 * spool/keys.c: see spool/keys.h.
 */
#include "spool/keys.h"

#include "base/meta.h"
#include "base/sip.h"

enum {
    KEYS_FIRST = 1024,     /* slots that there are at first; a power of two */
    KEYS_ITEM_HEAD = 3,    /* octets in front of an item (base/meta.h) */
    KEYS_ROUNDS = 2,       /* of SipHash, for each word */
    KEYS_LAST_ROUNDS = 4
};

void
mmi_spool_key_hash(const uint8_t secret[MMI_SPOOL_SECRET], const uint8_t *key, size_t size,
                   uint64_t hash[2])
{
    uint64_t last = (uint64_t)size << 56;
    mmi_sip s = mmi_sip_begun(secret);
    for (; size >= MMI_SIP_WORD; size -= MMI_SIP_WORD, key += MMI_SIP_WORD) {
        mmi_sip_word(&s, mmi_le64_get(key), KEYS_ROUNDS);
    }
    for (size_t i = 0; i < size; i++) {
        last |= (uint64_t)key[i] << (8 * i);
    }
    mmi_sip_word(&s, last, KEYS_ROUNDS);
    mmi_sip_end(&s, KEYS_LAST_ROUNDS, hash);
}

bool
mmi_spool_keys_of(const mmi_spool_keys *k, const mmi_spool_record *r, uint64_t hash[2])
{
    if (r->meta_size == 0 || !mmi_meta_check(r->meta, r->meta_size)) {
        return false; /* what makes no sense has no key, and stays */
    }
    for (uint32_t at = 0; at + KEYS_ITEM_HEAD <= r->meta_size;) {
        const uint8_t *item = r->meta + at;
        uint32_t size = (uint32_t)item[1] << 8 | item[2];
        if (item[0] == MMI_META_KEY && size > 0) {
            mmi_spool_key_hash(k->secret, item + KEYS_ITEM_HEAD, size, hash);
            return true;
        }
        at += KEYS_ITEM_HEAD + size;
    }
    return false;
}

/* The slot that has it, or the free one where it would be. */
static mmi_spool_key_slot *
keys_slot(const mmi_spool_keys *k, const uint64_t hash[2])
{
    uint32_t at = (uint32_t)hash[0];
    for (;; at++) {
        mmi_spool_key_slot *slot = &k->slots[at & (k->cap - 1)];
        if (slot->seq == 0 || (slot->hash[0] == hash[0] && slot->hash[1] == hash[1])) {
            return slot;
        }
    }
}

/* Room for one more.  MM_EAGAIN: it is full; MM_ENOMEM. */
static int
keys_room(mmi_spool_keys *k)
{
    if (k->count >= k->most) {
        return MM_EAGAIN;
    }
    if (k->count < k->cap / 4 * 3) {
        return MM_OK;
    }
    mmi_spool_keys old = *k;
    uint32_t cap = k->cap > 0 ? k->cap * 2 : (uint32_t)KEYS_FIRST;
    mmi_spool_key_slot *slots = mmi_alloc(cap * sizeof *slots);
    if (slots == NULL) {
        return k->count > 0 ? MM_EAGAIN : MM_ENOMEM; /* with what there is, more is done later */
    }
    k->slots = slots;
    k->cap = cap;
    for (uint32_t i = 0; i < old.cap; i++) {
        if (old.slots[i].seq != 0) {
            *keys_slot(k, old.slots[i].hash) = old.slots[i];
        }
    }
    mmi_free(old.slots);
    return MM_OK;
}

int
mmi_spool_keys_put(mmi_spool_keys *k, const uint64_t hash[2], uint64_t seq)
{
    mmi_spool_key_slot *slot = k->cap > 0 ? keys_slot(k, hash) : NULL;
    if (slot == NULL || slot->seq == 0) {
        int rc = keys_room(k);
        if (rc != MM_OK) {
            return rc;
        }
        slot = keys_slot(k, hash);
        k->count++;
    }
    *slot = (mmi_spool_key_slot){ .hash = { hash[0], hash[1] }, .seq = seq };
    return MM_OK;
}

uint64_t
mmi_spool_keys_get(const mmi_spool_keys *k, const uint64_t hash[2])
{
    return k->cap > 0 ? keys_slot(k, hash)->seq : 0;
}

void
mmi_spool_keys_clear(mmi_spool_keys *k)
{
    mmi_free(k->slots);
    k->slots = NULL;
    k->cap = k->count = 0;
}
