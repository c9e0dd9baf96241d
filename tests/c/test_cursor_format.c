/*
 * test_cursor_format.c: the octets of a cursor, as docs/spool-format.md draws them; cut off
 * anywhere, with each bit turned, and with what is of no known kind.
 *
 * Not here: its slots (test_slots.c), its file (test_cursor_crash.c).
 */
#include "cursor_rig.h"

/* Up to 1,000 done, and 1,003 to 1,202, and 1,205. */
static const char golden_hex[] = "4d4d435552534f520100000000000000"
                                 "01000000180000000102030405060708"
                                 "090a0b0c0d0e0f10e803000000000000"
                                 "020000000500000002c8010201";

static uint8_t octets[MMI_SLOT_DATA_MAX];

/* In memory alone. */
static void
blank(mmi_cursor *c)
{
    *c = (mmi_cursor){ .saved_limit = UINT64_MAX, .slots = { .file = -1 } };
    memcpy(c->uuid, cursor_uuid, MMI_SPOOL_UUID);
}

static int
got(mmi_cursor *c, const uint8_t *data, uint32_t size)
{
    blank(c);
    int rc = mmi_cursor_get(c, data, size, UINT64_MAX / 2);
    mmi_cursor_invariants(c);
    return rc;
}

/* What is taken is written again as the same octets. */
static int
refused(const uint8_t *data, uint32_t size)
{
    static uint8_t again[MMI_SLOT_DATA_MAX];
    uint64_t unsaved;
    mmi_cursor c;
    int rc = got(&c, data, size);
    if (rc == MM_OK) {
        CHECK_INT(mmi_cursor_put(&c, UINT64_MAX, again, &unsaved), size);
        CHECK(memcmp(again, data, size) == 0);
    }
    mmi_cursor_close(&c);
    return rc;
}

static void
test_its_octets_are_those_of_the_page(void)
{
    uint8_t golden[sizeof golden_hex];
    uint64_t unsaved;
    uint32_t size = check_hex(golden_hex, golden);
    mmi_cursor c;
    blank(&c);
    mmi_cursor_seek(&c, 1001);
    CHECK_INT(mmi_cursor_done(&c, 1003, 1202), MM_OK);
    CHECK_INT(mmi_cursor_done(&c, 1205, 1205), MM_OK);
    CHECK_INT(mmi_cursor_put(&c, UINT64_MAX, octets, &unsaved), size);
    CHECK_INT(unsaved, 0);
    CHECK(memcmp(octets, golden, size) == 0);
    mmi_cursor_close(&c);
    CHECK_INT(got(&c, golden, size), MM_OK);
    CHECK_INT(c.floor, 1000);
    CHECK_INT(c.top, 1205);
    CHECK_INT(c.above, 201);
    CHECK(!mmi_cursor_is_done(&c, 1203));
    mmi_cursor_close(&c);
}

static void
test_one_with_nothing_above_its_floor_has_one_section(void)
{
    uint64_t unsaved;
    mmi_cursor c;
    blank(&c);
    mmi_cursor_seek(&c, 1001);
    CHECK_INT(mmi_cursor_put(&c, UINT64_MAX, octets, &unsaved), 48);
    CHECK_INT(got(&c, octets, 48), MM_OK);
    CHECK_INT(c.floor, 1000);
    mmi_cursor_close(&c);
}

static void
test_cut_off_anywhere_it_is_refused(void)
{
    uint8_t golden[sizeof golden_hex];
    uint32_t size = check_hex(golden_hex, golden);
    for (uint32_t cut = 0; cut < size; cut++) {
        uint8_t *copy = malloc(cut > 0 ? cut : 1); /* so that a read too far is seen */
        CHECK(copy != NULL);
        memcpy(copy, golden, cut);
        CHECK_INT(refused(copy, cut), cut == 48 ? MM_OK : MM_EPROTO);
        free(copy);
    }
    for (uint32_t more = 1; more < 12; more++) {
        memset(octets, 0, sizeof octets);
        memcpy(octets, golden, size);
        CHECK_INT(refused(octets, size + more), MM_EPROTO);
    }
}

/* Its CRC would say so; without it, it is another cursor, or none, and nothing is read or made
 * beyond what there may be. */
static void
test_a_bit_that_turned_makes_it_another_or_none(void)
{
    uint8_t golden[sizeof golden_hex];
    uint32_t size = check_hex(golden_hex, golden);
    int fine = 0;
    for (uint32_t bit = 0; bit < size * 8; bit++) {
        golden[bit / 8] ^= (uint8_t)(1 << bit % 8);
        int rc = refused(golden, size);
        CHECK(rc == MM_OK || rc == MM_EPROTO || rc == MM_ENOTSUP);
        fine += rc == MM_OK;
        golden[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK(fine > 0);
}

/* Octets that were changed at random, and cut: seeded, so that each run is the same. */
static void
test_whatever_stands_there_it_is_a_cursor_or_none(void)
{
    enum { TIMES = 20000, CHANGES = 4 };
    uint8_t golden[sizeof golden_hex];
    uint32_t size = check_hex(golden_hex, golden), random = 1, fine = 0;
    for (int i = 0; i < TIMES; i++) {
        uint32_t cut = 48 + check_random(&random) % (size - 47);
        uint8_t *copy = malloc(cut); /* so that a read too far is seen */
        CHECK(copy != NULL);
        memcpy(copy, golden, cut);
        if (cut > 56) {
            copy[52] = (uint8_t)(cut - 56); /* of the section, so that more of it is looked at */
        }
        for (uint32_t n = check_random(&random) % CHANGES; n > 0; n--) {
            copy[40 + check_random(&random) % (cut - 40)] = (uint8_t)check_random(&random);
        }
        fine += refused(copy, cut) == MM_OK;
        free(copy);
    }
    CHECK(fine > TIMES / 100 && fine < TIMES);
}

static void
test_what_is_not_known_is_refused_and_not_left_out(void)
{
    uint8_t golden[sizeof golden_hex];
    uint32_t size = check_hex(golden_hex, golden);
    memcpy(octets, golden, size);
    octets[8] = 2; /* a later version */
    CHECK_INT(refused(octets, size), MM_ENOTSUP);
    octets[8] = 1;
    octets[48] = 3; /* another kind of section */
    CHECK_INT(refused(octets, size), MM_ENOTSUP);
    octets[48] = 1; /* the same again */
    CHECK_INT(refused(octets, size), MM_EPROTO);
    octets[48] = 0;
    CHECK_INT(refused(octets, size), MM_EPROTO);
    octets[48] = 2;
    octets[16] = 2; /* without a place */
    CHECK_INT(refused(octets, size), MM_EPROTO);
}

/* What no cursor can be, though all CRCs are right. */
static void
test_ranges_that_cannot_be_are_refused(void)
{
    static const char *const ranges[] = {
        "00000000",
        "01000000",
        "00010000",
        "0180808080",
        "8100",
        "ffffffffffffffffffff",
        "01ffffffffffffffffff01",
        "ffffffffffffffffff0101",
        "0180808040",
        "8080804001",
    };
    uint8_t golden[sizeof golden_hex];
    (void)check_hex(golden_hex, golden);
    for (size_t i = 0; i < MMI_COUNT_OF(ranges); i++) {
        memcpy(octets, golden, 56);
        uint32_t size = check_hex(ranges[i], octets + 56);
        octets[52] = (uint8_t)size;
        CHECK_INT(refused(octets, 56 + size), MM_EPROTO);
    }
    octets[52] = 0; /* none at all */
    CHECK_INT(refused(octets, 56), MM_EPROTO);
    memcpy(octets, golden, 48);
    octets[47] = 0x80; /* a floor that no spool reaches */
    CHECK_INT(refused(octets, 48), MM_EPROTO);
    octets[47] = 0;
    octets[24] ^= 1; /* another spool's */
    CHECK_INT(refused(octets, 48), MM_EPROTO);
}

/* A claim takes no room: what the spool does not have is left out. */
static void
test_no_room_is_taken_for_what_the_spool_does_not_have(void)
{
    uint8_t golden[sizeof golden_hex];
    mmi_cursor c;
    (void)check_hex(golden_hex, golden);
    memcpy(octets, golden, 56);
    uint32_t size = check_hex("feffff3f01", octets + 56); /* one, 2^27 - 1 above the floor */
    octets[52] = (uint8_t)size;
    CHECK_INT(refused(octets, 56 + size), MM_EPROTO); /* above what may be */
    size = check_hex("80ffff3f01", octets + 56);
    blank(&c);
    CHECK_INT(mmi_cursor_get(&c, octets, 56 + size, 2000), MM_OK);
    CHECK_INT(c.word_count, 0);
    CHECK(c.ahead > 2000);
    CHECK_INT(c.floor, 1000);
    mmi_cursor_close(&c);
}

int
main(void)
{
    RUN(test_its_octets_are_those_of_the_page);
    RUN(test_one_with_nothing_above_its_floor_has_one_section);
    RUN(test_cut_off_anywhere_it_is_refused);
    RUN(test_a_bit_that_turned_makes_it_another_or_none);
    RUN(test_whatever_stands_there_it_is_a_cursor_or_none);
    RUN(test_what_is_not_known_is_refused_and_not_left_out);
    RUN(test_ranges_that_cannot_be_are_refused);
    RUN(test_no_room_is_taken_for_what_the_spool_does_not_have);
    return 0;
}
