/*
 * octets.h: numbers as the wires have them, most significant octet first; and as the files of a spool have them, least
 * significant octet first.
 *
 * Law: pure; at any address.  One load or store each: loops over the octets of a frame's size, of
 * which each message that is read needs two, took 3 to 8 ns of it.
 */
#ifndef MMI_OCTETS_H
#define MMI_OCTETS_H

#include <stdint.h>
#include <string.h>

/* To or from the order of the wires, and of the files; one of them is the machine's own. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define MMI_BE32(value) __builtin_bswap32(value)
#define MMI_BE64(value) __builtin_bswap64(value)
#define MMI_LE16(value) (value)
#define MMI_LE32(value) (value)
#define MMI_LE64(value) (value)
#else
#define MMI_BE32(value) (value)
#define MMI_BE64(value) (value)
#define MMI_LE16(value) __builtin_bswap16(value)
#define MMI_LE32(value) __builtin_bswap32(value)
#define MMI_LE64(value) __builtin_bswap64(value)
#endif

static inline uint32_t
mmi_be32_get(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return MMI_BE32(value);
}

static inline uint64_t
mmi_be64_get(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return MMI_BE64(value);
}

static inline void
mmi_be32_put(uint8_t *at, uint32_t value)
{
    value = MMI_BE32(value);
    memcpy(at, &value, sizeof value);
}

static inline void
mmi_be64_put(uint8_t *at, uint64_t value)
{
    value = MMI_BE64(value);
    memcpy(at, &value, sizeof value);
}

static inline uint16_t
mmi_le16_get(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return MMI_LE16(value);
}

static inline uint32_t
mmi_le32_get(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return MMI_LE32(value);
}

static inline uint64_t
mmi_le64_get(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return MMI_LE64(value);
}

static inline void
mmi_le16_put(uint8_t *at, uint16_t value)
{
    value = MMI_LE16(value);
    memcpy(at, &value, sizeof value);
}

static inline void
mmi_le32_put(uint8_t *at, uint32_t value)
{
    value = MMI_LE32(value);
    memcpy(at, &value, sizeof value);
}

static inline void
mmi_le64_put(uint8_t *at, uint64_t value)
{
    value = MMI_LE64(value);
    memcpy(at, &value, sizeof value);
}

#endif
