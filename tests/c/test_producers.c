/*
 * test_producers.c: the table of who puts, by itself, and as octets: as a model says, at its limit,
 * one below and one above, and whatever stands in its place.
 *
 * Not here: a spool that has one (test_spool_origins.c).
 */
#include "base/octets.h"
#include "check.h"
#include "spool/crc32c.h"
#include "spool/producers.h"

static const uint8_t uuid_of[MMI_SPOOL_UUID] = { 1, 2,  3,  4,  5,  6,  7,  8,
                                                 9, 10, 11, 12, 13, 14, 15, 16 };

/* As docs/spool-format.md shows it: two producers, of all up to number 1,000. */
static const char producers_hex[] = "4d4d50524f445543"
                                    "b6ea40b4"
                                    "01000000"
                                    "0102030405060708090a0b0c0d0e0f10"
                                    "e803000000000000"
                                    "0200000000000000"
                                    "61000000000000000000000000000000"
                                    "0700000000000000"
                                    "0300000000000000"
                                    "0100000000000000"
                                    "62000000000000000000000000000000"
                                    "2a00000000000000"
                                    "e803000000000000"
                                    "0200000000000000";

static void
name_of(uint32_t who, uint8_t name[MMI_SPOOL_UUID])
{
    memset(name, 0, MMI_SPOOL_UUID);
    mmi_le32_put(name, who);
}

static void
note(mmi_producers *p, uint32_t who, uint64_t number, uint64_t seq)
{
    uint8_t name[MMI_SPOOL_UUID];
    name_of(who, name);
    CHECK_INT(mmi_producers_reserve(p), MM_OK);
    mmi_producers_note(p, name, number, seq);
}

static bool
knows(const mmi_producers *p, uint32_t who, uint64_t number, uint64_t seq)
{
    uint8_t name[MMI_SPOOL_UUID];
    name_of(who, name);
    const mmi_producer *one = mmi_producers_find(p, name);
    CHECK(one == NULL || (one->number == number && one->seq == seq));
    return one != NULL;
}

static void
test_as_many_as_the_limit_are_known_and_the_oldest_goes(void)
{
    enum { MOST = MMI_PRODUCERS_MAX };
    mmi_producers p = { .count = 0 };
    CHECK(!knows(&p, 0, 0, 0));
    for (uint32_t who = 0; who < MOST; who++) {
        note(&p, who, who + 5, who + 1);
    }
    CHECK_INT(p.count, MOST);
    CHECK_INT(p.forgotten, 0);
    for (uint32_t who = 0; who < MOST; who++) {
        CHECK(knows(&p, who, who + 5, who + 1));
    }
    note(&p, 0, 6, MOST + 1);   /* it put again, and so the second one is the oldest */
    note(&p, MOST, 1, MOST + 2);
    CHECK_INT(p.count, MOST);
    CHECK_INT(p.forgotten, 1);
    CHECK(knows(&p, 0, 6, MOST + 1));
    CHECK(!knows(&p, 1, 0, 0));
    CHECK(knows(&p, 2, 7, 3));
    CHECK(knows(&p, MOST, 1, MOST + 2));
    mmi_producers_fini(&p);
    CHECK_INT(p.count, 0);
}

/* A table of one, and one of few: each is as the last so many that put. */
static void
test_it_is_what_the_last_that_put_say(void)
{
    enum { WHO = 9, STEPS = 3000 };
    for (uint32_t most = 1; most < WHO + 2; most++) {
        uint64_t numbers[WHO] = { 0 }, seqs[WHO] = { 0 }, runs[WHO] = { 0 };
        uint32_t seed = most * 77 + 1;
        mmi_producers p = { .most = most };
        for (uint64_t step = 1, seq = 1; step < STEPS; step++) {
            uint32_t who = check_random(&seed) % WHO;
            bool dense = check_random(&seed) % 2 == 0,
                 known = knows(&p, who, numbers[who], seqs[who]);
            seq += dense ? 1 : 2;
            uint64_t number = numbers[who] + (check_random(&seed) % 3 > 0 ? 1 : 2), found;
            bool row = known && number == numbers[who] + 1 && seq == seqs[who] + 1;
            runs[who] = row ? runs[who] + 1 : 1;
            numbers[who] = number;
            seqs[who] = seq;
            note(&p, who, number, seq);
            uint32_t later = 0;
            for (uint32_t i = 0; i < WHO; i++) {
                later += seqs[i] > 0;
            }
            CHECK_INT(p.count, later < most ? later : most);
            for (uint32_t i = 0; i < WHO; i++) {
                uint32_t rank = 0;
                uint8_t name[MMI_SPOOL_UUID];
                for (uint32_t k = 0; k < WHO; k++) {
                    rank += seqs[k] > seqs[i];
                }
                CHECK_INT(knows(&p, i, numbers[i], seqs[i]), seqs[i] > 0 && rank < most);
                name_of(i, name);
                for (uint64_t back = 0; back < 4 && back < numbers[i]; back++) {
                    bool is = mmi_producers_repeats(&p, name, numbers[i] - back, &found);
                    CHECK_INT(is, seqs[i] > 0 && rank < most);
                    CHECK(!is || found == (back < runs[i] ? seqs[i] - back : 0));
                }
                CHECK(!mmi_producers_repeats(&p, name, numbers[i] + 1, &found));
            }
        }
        mmi_producers_fini(&p);
    }
}

static uint8_t *
image_of(const mmi_producers *p, uint64_t seq, size_t *size)
{
    uint8_t *image = mmi_producers_image(p, uuid_of, seq, size);
    CHECK(image != NULL);
    mmi_producers_seal(image, *size);
    return image;
}

static void
test_what_is_written_is_read(void)
{
    const uint32_t counts[] = { 1, 2, 63, 64, 65, MMI_PRODUCERS_MAX };
    for (size_t i = 0; i < MMI_COUNT_OF(counts); i++) {
        mmi_producers p = { .count = 0 }, again = { .count = 0 };
        size_t size, other;
        uint64_t seq = 0;
        for (uint32_t who = 0; who < counts[i]; who++) {
            note(&p, who, who, 2 * who + 1);
            note(&p, who, who + 1, 2 * who + 2);
        }
        uint8_t *image = image_of(&p, 1000000, &size);
        CHECK_INT(size, MMI_PRODUCERS_HEAD + (uint64_t)counts[i] * MMI_PRODUCERS_EACH);
        CHECK_INT(mmi_producers_read(&again, image, size, uuid_of, &seq), MM_OK);
        CHECK_INT(seq, 1000000);
        uint8_t *same = image_of(&again, seq, &other);
        CHECK_INT(other, size);
        CHECK(memcmp(image, same, size) == 0);
        mmi_free(image);
        mmi_free(same);
        mmi_producers_fini(&p);
        mmi_producers_fini(&again);
    }
}

static void
test_the_octets_are_those_of_the_page(void)
{
    mmi_producers p = { .count = 0 };
    uint8_t wanted[256];
    size_t size, golden_size = check_hex(producers_hex, wanted);
    note(&p, 'a', 7, 3);
    note(&p, 'b', 41, 999);
    note(&p, 'b', 42, 1000);
    uint8_t *image = image_of(&p, 1000, &size);
    CHECK_INT(size, golden_size);
    for (size_t i = 0; i < size; i++) {
        CHECK_INT(image[i], wanted[i]);
    }
    mmi_free(image);
    mmi_producers_fini(&p);
}

/* Reads what is whole, but for what was changed in it. */
static int
read_changed(size_t at, const void *octets, size_t count, size_t cut)
{
    uint8_t image[256];
    mmi_producers p = { .count = 0 };
    uint64_t seq;
    size_t size = check_hex(producers_hex, image);
    memcpy(image + at, octets, count);
    size -= cut;
    mmi_producers_seal(image, size);
    int rc = mmi_producers_read(&p, image, size, uuid_of, &seq);
    mmi_producers_fini(&p);
    return rc;
}

static int
read_number(size_t at, uint64_t value)
{
    uint8_t octets[8];
    mmi_le64_put(octets, value);
    return read_changed(at, octets, sizeof octets, 0);
}

static void
test_what_cannot_be_is_refused(void)
{
    const uint8_t first = 'a', later = 2;
    CHECK_INT(read_changed(0, "M", 1, 0), MM_OK);
    CHECK_INT(read_changed(0, "N", 1, 0), MM_EPROTO);
    CHECK_INT(read_changed(12, &later, 1, 0), MM_ENOTSUP);
    CHECK_INT(read_changed(16, "x", 1, 0), MM_EPROTO);   /* another spool's */
    CHECK_INT(read_changed(0, "M", 1, 1), MM_EPROTO);
    CHECK_INT(read_changed(0, "M", 1, MMI_PRODUCERS_EACH), MM_EPROTO);
    CHECK_INT(read_number(40, 1), MM_EPROTO);            /* another count */
    CHECK_INT(read_number(40, UINT64_MAX), MM_EPROTO);
    CHECK_INT(read_number(32, 999), MM_EPROTO);          /* it tells of less than it has */
    CHECK_INT(read_number(48 + 24, 0), MM_EPROTO);       /* no number of a spool */
    CHECK_INT(read_number(48 + 24, 1000), MM_EPROTO);    /* not in their order */
    CHECK_INT(read_number(88 + 32, 0), MM_EPROTO);       /* a run of none */
    CHECK_INT(read_number(88 + 32, 43), MM_OK);          /* of all that there can be */
    CHECK_INT(read_number(88 + 32, 44), MM_EPROTO);      /* of more */
    CHECK_INT(read_number(48 + 32, 4), MM_EPROTO);       /* of more than the spool's */
    CHECK_INT(read_changed(88, &first, 1, 0), MM_EPROTO);   /* one twice */
}

static void
test_each_bit_counts(void)
{
    uint8_t image[256];
    size_t size = check_hex(producers_hex, image);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        mmi_producers p = { .count = 0 };
        uint64_t seq;
        image[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK_INT(mmi_producers_read(&p, image, size, uuid_of, &seq), MM_EPROTO);
        image[bit / 8] ^= (uint8_t)(1 << bit % 8);
        mmi_producers_fini(&p);
    }
}

int
main(void)
{
    RUN(test_as_many_as_the_limit_are_known_and_the_oldest_goes);
    RUN(test_it_is_what_the_last_that_put_say);
    RUN(test_what_is_written_is_read);
    RUN(test_the_octets_are_those_of_the_page);
    RUN(test_what_cannot_be_is_refused);
    RUN(test_each_bit_counts);
    return 0;
}
