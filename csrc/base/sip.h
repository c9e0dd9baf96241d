/*
 * sip.h: SipHash of 128 bits, a word of 64 bits at a time, with as many rounds as is said.
 *
 * Not here: what is hashed (spool/keys.c, order/digest.c).  Law: pure; the same numbers on every machine.
 */
#ifndef MMI_SIP_H
#define MMI_SIP_H

#include <stddef.h>

#include "base/octets.h"

enum {
    MMI_SIP_KEY = 16,       /* octets */
    MMI_SIP_WORD = 8,       /* octets */
    MMI_SIP_WIDE = 0xee,    /* what makes it 128 bits */
    MMI_SIP_SECOND = 0xdd
};

typedef struct mmi_sip {
    uint64_t v[4];
} mmi_sip;

static inline uint64_t
mmi_sip_turned(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void
mmi_sip_rounds(mmi_sip *s, int rounds)
{
    uint64_t *v = s->v;
    for (int i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[1] = mmi_sip_turned(v[1], 13) ^ v[0];
        v[0] = mmi_sip_turned(v[0], 32);
        v[2] += v[3];
        v[3] = mmi_sip_turned(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = mmi_sip_turned(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = mmi_sip_turned(v[1], 17) ^ v[2];
        v[2] = mmi_sip_turned(v[2], 32);
    }
}

static inline mmi_sip
mmi_sip_begun(const uint8_t key[MMI_SIP_KEY])
{
    uint64_t k0 = mmi_le64_get(key), k1 = mmi_le64_get(key + MMI_SIP_WORD);
    return (mmi_sip){ { k0 ^ UINT64_C(0x736f6d6570736575),
                        k1 ^ UINT64_C(0x646f72616e646f6d) ^ MMI_SIP_WIDE,
                        k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573) } };
}

static inline void
mmi_sip_word(mmi_sip *s, uint64_t word, int rounds)
{
    s->v[3] ^= word;
    mmi_sip_rounds(s, rounds);
    s->v[0] ^= word;
}

/* Behind the last word, which has the size of all in its highest octet. */
static inline void
mmi_sip_end(mmi_sip *s, int rounds, uint64_t hash[2])
{
    s->v[2] ^= MMI_SIP_WIDE;
    mmi_sip_rounds(s, rounds);
    hash[0] = s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
    s->v[1] ^= MMI_SIP_SECOND;
    mmi_sip_rounds(s, rounds);
    hash[1] = s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

/* Up to so many words of each of four texts, with one round a word, as far as it is quicker than one text after
 * another: how many. */
size_t mmi_sip_four(mmi_sip *const s[4], const uint8_t *const data[4], size_t words);

#endif
