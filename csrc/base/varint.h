/*
 * varint.h: numbers as files have them where most are small: seven bits an octet, low ones first, the highest bit of
 * each octet but the last is set.
 *
 * Law: pure.  Of the shortest form only, so that what was read and is written again is the same octets.
 */
#ifndef MMI_VARINT_H
#define MMI_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MMI_VARINT_BITS = 7,     /* of each octet */
    MMI_VARINT_MORE = 128,   /* set in each octet but the last */
    MMI_VARINT_MAX = 10      /* octets of 64 bits */
};

/* Octets that it takes. */
static inline uint32_t
mmi_varint_size(uint64_t value)
{
    uint32_t size = 1;
    for (; value >= MMI_VARINT_MORE; value >>= MMI_VARINT_BITS) {
        size++;
    }
    return size;
}

/* What is behind it; it takes MMI_VARINT_MAX octets at most. */
static inline uint8_t *
mmi_varint_put(uint8_t *out, uint64_t value)
{
    for (; value >= MMI_VARINT_MORE; value >>= MMI_VARINT_BITS) {
        *out++ = (uint8_t)(value | MMI_VARINT_MORE);
    }
    *out++ = (uint8_t)value;
    return out;
}

/* What is behind it; NULL: there is none before `end`, or one of another form. */
static inline const uint8_t *
mmi_varint_get(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < MMI_VARINT_MAX && at + i < end; i++) {
        uint8_t octet = at[i];
        sum |= (uint64_t)(octet & (MMI_VARINT_MORE - 1)) << (MMI_VARINT_BITS * i);
        if (octet < MMI_VARINT_MORE) {
            bool too_large = i == MMI_VARINT_MAX - 1 && octet > 1;   /* one bit of 64 is left there */
            bool too_long = i > 0 && octet == 0;
            *value = sum;
            return too_large || too_long ? NULL : at + i + 1;
        }
    }
    return NULL;
}

#endif
