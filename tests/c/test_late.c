/*
 * test_late.c: what is remembered of messages that were taken back, of which of them an ACK is, and
 * which of those that wait it takes out.
 * Not here: when they are taken back, and what a user sees of it (tests/sim/test_late_acks.py).
 */
#include "queue/late.h"

#include "keyed.h"

enum { EPOCH = 7, LOOKS = 16384 };   /* as in queue/late.c */

/* Nobody is there, so what comes back waits. */
static fake_sock *
alone(void)
{
    return fake_open_with(MM_PUSH, MM_OVERFLOW_BLOCK, 100, MM_OPT_AT_LEAST_ONCE);
}

static void
again(fake_sock *s, mmi_msg *m, uint64_t epoch, uint64_t number)
{
    m->origin = (mmi_origin){ .epoch = epoch, .number = number, .attempt = 2 };
    s->ops->again(s->state, m);
}

static uint64_t
waiting(const fake_sock *s)
{
    uint64_t bytes;
    return mmi_back_count(s->host.back, &bytes);
}

/* That many come back, and each is remembered by the number it has. */
static void
take_back(fake_sock *s, mmi_late *late, uint64_t count)
{
    *late = (mmi_late){ .count = 0 };
    for (uint64_t number = 1; number <= count; number++) {
        const mmi_origin origin = { .epoch = EPOCH, .number = number };
        mmi_late_add(late, number, &origin);
        again(s, fake_text("x"), EPOCH, number);
    }
    CHECK_INT(waiting(s), count);
}

/* How many of those that wait are done; `stale` others were taken back, and do not wait. */
static uint32_t
late_ack(mmi_late *late, fake_sock *s, const mmi_ack *ack, uint32_t stale)
{
    uint32_t others = UINT32_MAX, done = mmi_late_ack(late, s->host.back, ack, &others);
    CHECK_INT(others, stale);
    return done;
}

static void
test_a_floor_is_of_all_up_to_it(void)
{
    mmi_late late;
    fake_sock *s = alone();
    take_back(s, &late, 10);
    mmi_ack ack = { .floor = 4, .limit = 100 };
    CHECK_INT(late_ack(&late, s, &ack, 0), 4);
    CHECK_INT(waiting(s), 6);
    CHECK_INT(late_ack(&late, s, &ack, 0), 0); /* it is said again and again */
    ack.floor = UINT64_MAX;
    CHECK_INT(late_ack(&late, s, &ack, 0), 6);
    CHECK_INT(late.count, 0);
    CHECK_INT(waiting(s), 0);
    fake_close(s);
}

static void
test_bits_are_of_single_ones_above_it(void)
{
    static const uint8_t bits[] = { 0x81, 0x02 };
    mmi_late late;
    fake_sock *s = alone();
    take_back(s, &late, 30);
    const mmi_ack ack = { .floor = 2, .limit = 100, .bits = bits, .bits_size = sizeof bits };
    CHECK_INT(late_ack(&late, s, &ack, 0), 5); /* 1, 2, 3, 10 and 12 */
    for (uint32_t i = 0; i < late.count; i++) {
        uint64_t n = late.at[i].number;
        CHECK(n > 3 && n != 10 && n != 12);
    }
    CHECK_INT(late.count, 25);
    CHECK_INT(waiting(s), 25);
    fake_close(s);
}

static void
test_what_the_peer_gave_back_is_forgotten(void)
{
    mmi_late late;
    fake_sock *s = alone();
    take_back(s, &late, 3);
    mmi_late_forget(&late, 2);
    mmi_late_forget(&late, 2);
    mmi_late_forget(&late, 9);
    const mmi_ack ack = { .floor = 3, .limit = 100 };
    CHECK_INT(late_ack(&late, s, &ack, 0), 2);
    CHECK_INT(waiting(s), 1);
    fake_close(s);
}

static void
test_the_oldest_is_forgotten_first(void)
{
    for (uint64_t count = MMI_LATE_MAX - 1; count <= MMI_LATE_MAX + 1; count++) {
        mmi_late late;
        fake_sock *s = alone();
        take_back(s, &late, count);
        uint64_t kept = count < MMI_LATE_MAX ? count : MMI_LATE_MAX;
        CHECK_INT(late.count, kept);
        CHECK_INT(late.at[0].number, count - kept + 1);
        const mmi_ack ack = { .floor = count, .limit = 1000 };
        CHECK_INT(late_ack(&late, s, &ack, 0), kept);
        CHECK_INT(waiting(s), count - kept);
        fake_close(s);
    }
}

static void
test_only_what_was_there_first_is_meant(void)
{
    mmi_late late;
    fake_sock *s = alone();
    take_back(s, &late, 1);
    again(s, fake_text("of another connection"), EPOCH + 1, 1);
    again(s, fake_text("another one"), EPOCH, 2);
    CHECK_INT(fake_send(s, "nobody had it"), MM_OK);
    const mmi_ack ack = { .floor = 1, .limit = 100 };
    CHECK_INT(late_ack(&late, s, &ack, 0), 1);
    CHECK_INT(waiting(s), 3);
    fake_close(s);
}

static void
test_what_waits_for_the_owner_of_its_key_is_found(void)
{
    fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 1, MM_OPT_AT_LEAST_ONCE);
    fake_pipe *p = fake_connect(s);
    mmi_late late = { .count = 0 };
    const mmi_origin origin = { .epoch = EPOCH, .number = 5 };
    CHECK(p != NULL);
    CHECK_INT(send_keyed(s, "k", "fills its queue"), MM_OK);
    again(s, keyed("k", "x"), EPOCH, 5);
    again(s, keyed("k", "y"), EPOCH, 6);
    CHECK_INT(waiting(s), 2);
    mmi_late_add(&late, 1, &origin);
    const mmi_ack ack = { .floor = 1, .limit = 100 };
    CHECK_INT(late_ack(&late, s, &ack, 0), 1);
    CHECK_INT(waiting(s), 1);
    CHECK_INT(fake_take_all(p), 2);
    fake_close(s);
}

static void
test_no_more_than_so_many_are_looked_at(void)
{
    for (int beyond = 0; beyond <= 1; beyond++) {
        mmi_late late;
        fake_sock *s = alone();
        take_back(s, &late, 1);
        for (int i = 0; i < LOOKS - 1 + beyond; i++) {   /* each goes in front */
            again(s, fake_text("y"), EPOCH + 1, (uint64_t)i);
        }
        const mmi_ack ack = { .floor = 1, .limit = 100 };
        CHECK_INT(late_ack(&late, s, &ack, (uint32_t)beyond), 1 - beyond);
        fake_close(s);
    }
}

/* Somebody else has two of them: it is told of those once, and they are no error. */
static void
test_what_does_not_wait_any_more_is_stale(void)
{
    mmi_late late;
    uint64_t number = 5;
    fake_sock *s = alone();
    take_back(s, &late, 4);
    for (; number < 7; number++) {
        const mmi_origin origin = { .epoch = EPOCH, .number = number };
        mmi_late_add(&late, number, &origin);
    }
    const mmi_ack ack = { .floor = 6, .limit = 100 };
    CHECK_INT(late_ack(&late, s, &ack, 2), 4);
    CHECK_INT(late_ack(&late, s, &ack, 0), 0);
    fake_close(s);
}

int
main(void)
{
    RUN(test_a_floor_is_of_all_up_to_it);
    RUN(test_bits_are_of_single_ones_above_it);
    RUN(test_what_the_peer_gave_back_is_forgotten);
    RUN(test_the_oldest_is_forgotten_first);
    RUN(test_only_what_was_there_first_is_meant);
    RUN(test_what_waits_for_the_owner_of_its_key_is_found);
    RUN(test_no_more_than_so_many_are_looked_at);
    RUN(test_what_does_not_wait_any_more_is_stale);
    return 0;
}
