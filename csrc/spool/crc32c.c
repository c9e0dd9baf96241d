/*
 * crc32c.c: CRC-32C by the instruction of x86-64 (SSE 4.2) or of arm64 where there is one, else
 * eight octets at a time from tables.
 *
 * Law: no state, and so nothing to set up: the compiler makes the tables, of the entries whose
 * number is a power of two.  Each other is the XOR of those of its bits, as a CRC is linear.
 */
#include "spool/crc32c.h"

#include <string.h>

#include "base/octets.h"

#define CRC_ENTRY(i, a, b, c, d, e, f, g, h)                                                       \
    (((i) & 1 ? (a) : 0) ^ ((i) & 2 ? (b) : 0) ^ ((i) & 4 ? (c) : 0) ^ ((i) & 8 ? (d) : 0) ^       \
     ((i) & 16 ? (e) : 0) ^ ((i) & 32 ? (f) : 0) ^ ((i) & 64 ? (g) : 0) ^ ((i) & 128 ? (h) : 0))
#define CRC_4(i, ...)                                                                              \
    CRC_ENTRY(i, __VA_ARGS__), CRC_ENTRY((i) + 1, __VA_ARGS__), CRC_ENTRY((i) + 2, __VA_ARGS__),   \
        CRC_ENTRY((i) + 3, __VA_ARGS__)
#define CRC_16(i, ...)                                                                             \
    CRC_4(i, __VA_ARGS__), CRC_4((i) + 4, __VA_ARGS__), CRC_4((i) + 8, __VA_ARGS__),               \
        CRC_4((i) + 12, __VA_ARGS__)
#define CRC_64(i, ...)                                                                             \
    CRC_16(i, __VA_ARGS__), CRC_16((i) + 16, __VA_ARGS__), CRC_16((i) + 32, __VA_ARGS__),          \
        CRC_16((i) + 48, __VA_ARGS__)
#define CRC_256(...)                                                                               \
    CRC_64(0, __VA_ARGS__), CRC_64(64, __VA_ARGS__), CRC_64(128, __VA_ARGS__),                     \
        CRC_64(192, __VA_ARGS__)

/* crc_table[k][i]: what an octet i comes to, with k octets of zeros behind it. */
/* clang-format off */
static const uint32_t crc_table[8][256] = {
    { CRC_256(0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu,
              0x105ec76fu, 0x20bd8edeu, 0x417b1dbcu, 0x82f63b78u) },
    { CRC_256(0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u,
              0x3fc5f181u, 0x7f8be302u, 0xff17c604u, 0xfbc3faf9u) },
    { CRC_256(0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u,
              0x70a27d8au, 0xe144fb14u, 0xc76580d9u, 0x8b277743u) },
    { CRC_256(0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u,
              0xe964b13du, 0xd725148bu, 0xaba65fe7u, 0x52a0c93fu) },
    { CRC_256(0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u,
              0x8f2261d3u, 0x1ba8b557u, 0x37516aaeu, 0x6ea2d55cu) },
    { CRC_256(0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu,
              0xc00c303eu, 0x85f4168du, 0x0e045bebu, 0x1c08b7d6u) },
    { CRC_256(0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u,
              0x9c5bfaa6u, 0x3d5b83bdu, 0x7ab7077au, 0xf56e0ef4u) },
    { CRC_256(0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau,
              0x847609b4u, 0x0d006599u, 0x1a00cb32u, 0x34019664u) },
};
/* clang-format on */

/* The state is the CRC's complement here, and in all below. */
static uint32_t
crc_by_table(uint32_t state, const uint8_t *at, size_t size)
{
    for (; size >= 8; at += 8, size -= 8) {
        uint64_t octets = mmi_le64_get(at) ^ state;
        state = 0;
        for (int k = 0; k < 8; k++) {
            state ^= crc_table[7 - k][octets >> (8 * k) & 0xff];
        }
    }
    for (; size > 0; at++, size--) {
        state = crc_table[0][(state ^ *at) & 0xff] ^ state >> 8;
    }
    return state;
}

uint32_t
mmi_crc32c_table(uint32_t before, const void *data, size_t size)
{
    return ~crc_by_table(~before, data, size);
}

#if defined(__x86_64__)

#include <nmmintrin.h>

#define CRC_INSTRUCTION __attribute__((target("sse4.2")))
#define CRC_1(state, octet) _mm_crc32_u8((state), (octet))
#define CRC_8(state, octets) ((uint32_t)_mm_crc32_u64((state), (octets)))
/* A look into what the program's start found out of the processor. */
#define CRC_IS_THERE() __builtin_cpu_supports("sse4.2")

#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)

#include <arm_acle.h>

#define CRC_INSTRUCTION
#define CRC_1(state, octet) __crc32cb((state), (octet))
#define CRC_8(state, octets) __crc32cd((state), (octets))
#define CRC_IS_THERE() true

#endif

#if defined(CRC_INSTRUCTION)

#include <stdbool.h>

enum { CRC_STREAM = 1024 };   /* octets */

/* crc_behind[k][i]: what the octet k of a state, i, comes to behind CRC_STREAM octets of zeros. */
/* clang-format off */
static const uint32_t crc_behind[4][256] = {
    { CRC_256(0xfe314258u, 0xf98ef241u, 0xf6f19273u, 0xe80f5217u,
              0xd5f2d2dfu, 0xae09d34fu, 0x59ffd06fu, 0xb3ffa0deu) },
    { CRC_256(0x6213374du, 0xc4266e9au, 0x8da0abc5u, 0x1ead217bu,
              0x3d5a42f6u, 0x7ab485ecu, 0xf5690bd8u, 0xef3e6141u) },
    { CRC_256(0xdb90b473u, 0xb2cd1e17u, 0x60764adfu, 0xc0ec95beu,
              0x84355d8du, 0x0d86cdebu, 0x1b0d9bd6u, 0x361b37acu) },
    { CRC_256(0x6c366f58u, 0xd86cdeb0u, 0xb535cb91u, 0x6f87e1d3u,
              0xdf0fc3a6u, 0xbbf3f1bdu, 0x720b958bu, 0xe4172b16u) },
};
/* clang-format on */

static uint32_t
crc_shift(uint32_t state)
{
    return crc_behind[0][state & 0xff] ^ crc_behind[1][state >> 8 & 0xff] ^
           crc_behind[2][state >> 16 & 0xff] ^ crc_behind[3][state >> 24];
}

/* Three at once: a result is there after three cycles, and each cycle can begin another. */
CRC_INSTRUCTION static uint32_t
crc_of_three(uint32_t state, const uint8_t *at)
{
    uint32_t second = 0, third = 0;
    for (size_t i = 0; i < CRC_STREAM; i += 8) {
        state = CRC_8(state, mmi_le64_get(at + i));
        second = CRC_8(second, mmi_le64_get(at + CRC_STREAM + i));
        third = CRC_8(third, mmi_le64_get(at + 2 * (size_t)CRC_STREAM + i));
    }
    return crc_shift(crc_shift(state) ^ second) ^ third;
}

CRC_INSTRUCTION static uint32_t
crc_by_instruction(uint32_t state, const uint8_t *at, size_t size)
{
    const size_t three = 3 * (size_t)CRC_STREAM;
    for (; size >= three; at += three, size -= three) {
        state = crc_of_three(state, at);
    }
    for (; size >= 8; at += 8, size -= 8) {
        state = CRC_8(state, mmi_le64_get(at));
    }
    for (; size > 0; at++, size--) {
        state = CRC_1(state, *at);
    }
    return state;
}

uint32_t
mmi_crc32c(uint32_t before, const void *data, size_t size)
{
    return CRC_IS_THERE() ? ~crc_by_instruction(~before, data, size)
                          : mmi_crc32c_table(before, data, size);
}

#else

uint32_t
mmi_crc32c(uint32_t before, const void *data, size_t size)
{
    return mmi_crc32c_table(before, data, size);
}

#endif
