/*
 * test_half_open.c: who goes when a listener has too many unfinished handshakes.
 * Not here: that it goes (tests/hostile/test_half_open.py).
 * Law: one address takes no more than its part of the places from others.
 */
#include "check.h"
#include "socket/half_open.h"

enum { MANY = 300, PART = MMI_HALF_OPEN_ADDRESS_MAX };

static mmi_half_open all;
static mmi_half_open_place places[MANY];

static mmi_addr
ip4(uint8_t last, uint16_t port)
{
    return (mmi_addr){ .kind = MMI_ADDR_TCP4, .port = port, .ip = { 10, 0, 0, last } };
}

static mmi_addr
ip6(uint8_t network, uint8_t last)
{
    return (mmi_addr){ .kind = MMI_ADDR_TCP6, .ip = { 0x20, 1, [7] = network, [15] = last } };
}

static void
enter(int i, mmi_addr peer)
{
    CHECK_INT(mmi_half_open_enter(&all, &places[i], &peer), MM_OK);
}

static void
check_goes(int i)
{
    CHECK(mmi_half_open_surplus(&all) == &places[i]);
}

static void
all_leave(void)
{
    for (int i = 0; i < MANY; i++) {
        mmi_half_open_leave(&all, &places[i]);
    }
    CHECK_INT(all.count, 0);
    CHECK_INT(all.addresses.count, 0);
    CHECK(mmi_half_open_surplus(&all) == NULL);
    mmi_half_open_fini(&all);
}

static void
test_the_oldest_goes_where_nobody_has_more_than_its_part(void)
{
    mmi_half_open_init(&all);
    for (int i = 0; i < MANY; i++) {
        enter(i, ip4((uint8_t)(i % 5), (uint16_t)i));
    }
    check_goes(0);
    mmi_half_open_leave(&all, &places[0]);
    mmi_half_open_leave(&all, &places[0]);   /* it is not there any more */
    CHECK_INT(all.count, MANY - 1);
    check_goes(1);
    all_leave();
}

static void
test_the_oldest_of_an_address_with_more_than_its_part_goes_first(void)
{
    mmi_half_open_init(&all);
    enter(0, ip4(1, 1));
    enter(1, ip6(1, 1));
    for (int i = 2; i < 2 + PART; i++) {
        enter(i, ip4(2, (uint16_t)i));
    }
    check_goes(0);   /* it has no more than that */
    enter(2 + PART, ip4(2, 1));
    check_goes(2);
    mmi_half_open_leave(&all, &places[2]);
    check_goes(0);
    all_leave();
}

static void
test_a_network_of_ip6_and_an_address_of_ip4_however_it_is_written_are_one(void)
{
    mmi_half_open_init(&all);
    enter(0, ip4(9, 1));
    for (int i = 1; i <= PART; i++) {
        enter(i, ip6(7, (uint8_t)i));
    }
    check_goes(0);
    enter(PART + 1, ip6(7, 200));
    check_goes(1);
    all_leave();
    mmi_half_open_init(&all);
    mmi_addr mapped = { .kind = MMI_ADDR_TCP6,
                        .ip = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 } };
    enter(0, ip6(0, 1));
    for (int i = 1; i <= PART; i++) {
        enter(i, i % 2 == 0 ? mapped : ip4(1, 1));
    }
    check_goes(0);
    mapped.ip[15] = 2;
    enter(PART + 1, mapped);
    check_goes(0);
    enter(PART + 2, ip4(1, 2));
    check_goes(1);
    all_leave();
}

static void
test_those_without_an_address_are_one(void)
{
    const mmi_addr none = { .kind = MMI_ADDR_NONE }, path = { .kind = MMI_ADDR_UNIX };
    mmi_half_open_init(&all);
    for (int i = 0; i < MANY; i++) {
        enter(i, i % 2 == 0 ? none : path);
    }
    check_goes(0);
    all_leave();
}

static void
test_without_memory_nobody_enters(void)
{
    mmi_half_open_init(&all);
    for (int i = 0; i < MANY; i++) {
        mmi_addr peer = ip6((uint8_t)i, 1);
        for (int64_t n = 1; n <= 2; n++) {
            mm_test_alloc_fail(n);
            int rc = mmi_half_open_enter(&all, &places[i], &peer);
            mm_test_alloc_fail(0);
            CHECK(rc == MM_OK || rc == MM_ENOMEM);
            CHECK((rc == MM_OK) == (places[i].from != NULL));
            CHECK_INT(all.count, i + (rc == MM_OK ? 1 : 0));
            mmi_half_open_leave(&all, &places[i]);
        }
        enter(i, peer);
    }
    all_leave();
}

static void
test_a_listener_that_is_closed_leaves_no_address(void)
{
    int64_t bytes, before = mm_test_alloc_live(&bytes);
    mmi_half_open_init(&all);
    for (int i = 0; i < MANY; i++) {
        enter(i, ip4((uint8_t)i, 1));
    }
    mmi_half_open_fini(&all);
    CHECK_INT(mm_test_alloc_live(&bytes), before);
    for (int i = 0; i < MANY; i++) {
        mmi_half_open_leave(&all, &places[i]);
    }
}

int
main(void)
{
    RUN(test_the_oldest_goes_where_nobody_has_more_than_its_part);
    RUN(test_the_oldest_of_an_address_with_more_than_its_part_goes_first);
    RUN(test_a_network_of_ip6_and_an_address_of_ip4_however_it_is_written_are_one);
    RUN(test_those_without_an_address_are_one);
    RUN(test_without_memory_nobody_enters);
    RUN(test_a_listener_that_is_closed_leaves_no_address);
    return 0;
}
