/*
 * test_crc32c.c: CRC-32C, by the machine's instruction and by tables, against one bit at a time.
 *
 * Not here: what the spool protects with it (test_spool_format.c, test_slots.c).
 */
#include "spool/crc32c.h"

#include "base/base.h"
#include "check.h"

enum {
    SIZE_MAX_HERE = 16 * 1024,   /* octets: some rounds of the three streams */
    ROUNDS = 400,
    ALIGNMENTS = 9
};

typedef uint32_t crc_way(uint32_t before, const void *data, size_t size);
static crc_way *const ways[] = { mmi_crc32c, mmi_crc32c_table };

/* As RFC 3720 says it, from the polynomial alone. */
static uint32_t
crc_slow(uint32_t before, const uint8_t *data, size_t size)
{
    uint32_t state = ~before;
    for (size_t i = 0; i < size; i++) {
        state ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            state = state >> 1 ^ (state & 1 ? 0x82f63b78u : 0);
        }
    }
    return ~state;
}

/* In a block of its own, so that a look past its end is noticed. */
static uint8_t *
noise(uint32_t *seed, size_t size)
{
    uint8_t *data = malloc(size > 0 ? size : 1);
    CHECK(data != NULL);
    for (size_t i = 0; i < size; i++) {
        data[i] = (uint8_t)check_random(seed);
    }
    return data;
}

static void
test_known_vectors(void)
{
    uint8_t zeros[32] = { 0 }, ones[32], up[32], down[32];
    memset(ones, 0xff, sizeof ones);
    for (int i = 0; i < 32; i++) {
        up[i] = (uint8_t)i;
        down[31 - i] = (uint8_t)i;
    }
    for (size_t w = 0; w < MMI_COUNT_OF(ways); w++) {
        CHECK_INT(ways[w](0, zeros, sizeof zeros), 0x8a9136aa);
        CHECK_INT(ways[w](0, ones, sizeof ones), 0x62a8ab43);
        CHECK_INT(ways[w](0, up, sizeof up), 0x46dd794e);
        CHECK_INT(ways[w](0, down, sizeof down), 0x113fdb5c);
        CHECK_INT(ways[w](0, "123456789", 9), 0xe3069283);
        CHECK_INT(ways[w](0, "", 0), 0);
        CHECK_INT(ways[w](0x12345678, "", 0), 0x12345678);
    }
}

static void
test_each_octet_alone_gives_what_the_polynomial_gives(void)
{
    for (int octet = 0; octet < 256; octet++) {
        uint8_t one = (uint8_t)octet;
        for (size_t w = 0; w < MMI_COUNT_OF(ways); w++) {
            CHECK_INT(ways[w](0, &one, 1), crc_slow(0, &one, 1));
        }
    }
}

static void
test_every_small_size_at_every_alignment(void)
{
    uint32_t seed = 7;
    for (size_t size = 0; size < 80; size++) {
        for (size_t skip = 0; skip < ALIGNMENTS; skip++) {
            uint8_t *data = noise(&seed, skip + size);
            uint32_t before = check_random(&seed);
            for (size_t w = 0; w < MMI_COUNT_OF(ways); w++) {
                CHECK_INT(ways[w](before, data + skip, size), crc_slow(before, data + skip, size));
            }
            free(data);
        }
    }
}

static void
test_random_sizes_wherever_they_are_cut(void)
{
    uint32_t seed = 11;
    for (int round = 0; round < ROUNDS; round++) {
        size_t size = check_random(&seed) % SIZE_MAX_HERE;
        size_t cut = size > 0 ? check_random(&seed) % size : 0;
        uint8_t *data = noise(&seed, size);
        uint32_t wanted = crc_slow(0, data, size);
        for (size_t w = 0; w < MMI_COUNT_OF(ways); w++) {
            crc_way *other = ways[MMI_COUNT_OF(ways) - 1 - w];
            CHECK_INT(ways[w](0, data, size), wanted);
            CHECK_INT(ways[w](ways[w](0, data, cut), data + cut, size - cut), wanted);
            CHECK_INT(other(ways[w](0, data, cut), data + cut, size - cut), wanted);
        }
        free(data);
    }
}

/* Around where three streams begin, and where a second round of them does. */
static void
test_the_sizes_at_which_it_goes_another_way(void)
{
    uint32_t seed = 13;
    for (size_t rounds = 1; rounds <= 3; rounds++) {
        for (size_t size = rounds * 3072 - 9; size <= rounds * 3072 + 9; size++) {
            uint8_t *data = noise(&seed, size);
            CHECK_INT(mmi_crc32c(0, data, size), crc_slow(0, data, size));
            free(data);
        }
    }
}

static void
test_every_bit_counts(void)
{
    uint32_t seed = 17;
    uint8_t *data = noise(&seed, 3200);
    uint32_t was = mmi_crc32c(0, data, 3200);
    for (size_t bit = 0; bit < (size_t)3200 * 8; bit++) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(mmi_crc32c(0, data, 3200) != was);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK_INT(mmi_crc32c(0, data, 3200), was);
    free(data);
}

int
main(void)
{
    RUN(test_known_vectors);
    RUN(test_each_octet_alone_gives_what_the_polynomial_gives);
    RUN(test_every_small_size_at_every_alignment);
    RUN(test_random_sizes_wherever_they_are_cut);
    RUN(test_the_sizes_at_which_it_goes_another_way);
    RUN(test_every_bit_counts);
    return 0;
}
