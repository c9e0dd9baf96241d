/*
 * test_writable.c: a socket that says it can be written to takes the next small message.
 * Not here: roles whose sends depend on the message (pub, router), or on who is asked (req,
 * surveyor); waiting (test_pollers.c).
 * Law: ready to send is no guess: nobody else sends, the peers stay, and there is memory.
 */
#include "base/limits.h"
#include "fake.h"

enum { PEERS = 3, STEPS = 400, ROLES = 5 };

static const int roles[ROLES] = { MM_PUSH, MM_DEALER, MM_PAIR, MM_XSUB, MM_BUS };

static bool
writable(const fake_sock *s)
{
    return (s->ops->ready(s->state) & MM_WRITABLE) != 0;
}

static void
test_a_queue_that_is_just_full_is_not_writable(void)
{
    for (int i = 0; i < ROLES; i++) {
        fake_sock *s = fake_open(roles[i], MM_OVERFLOW_BLOCK, 2);
        fake_pipe *a = fake_connect(s);
        CHECK_INT(fake_send(s, "1"), MM_OK);
        CHECK(writable(s));
        CHECK_INT(fake_send(s, "2"), MM_OK);
        CHECK(!writable(s));
        fake_take_all(a);
        CHECK(writable(s));
        CHECK_INT(fake_send(s, "3"), MM_OK);
        fake_close(s);
    }
}

static void
test_one_of_two_that_are_full_has_room_is_enough_for_who_shares_out_alone(void)
{
    for (int i = 0; i < ROLES; i++) {
        fake_sock *s = fake_open(roles[i], MM_OVERFLOW_BLOCK, 1);
        fake_pipe *a = fake_connect(s);
        if (fake_connect(s) == NULL) {   /* a PAIR */
            fake_close(s);
            continue;
        }
        bool shares = roles[i] == MM_PUSH || roles[i] == MM_DEALER;
        for (int sent = 0; sent < (shares ? 2 : 1); sent++) {
            CHECK(writable(s));
            CHECK_INT(fake_send(s, "m"), MM_OK);
        }
        CHECK(!writable(s));
        fake_take_all(a);
        CHECK(writable(s) == shares);
        CHECK_INT(fake_send(s, "m"), shares ? MM_OK : MM_EAGAIN);
        fake_close(s);
    }
}

/* Peers come, go and read; messages small and large, few and many. */
static void
test_whenever_it_is_writable_a_small_message_is_taken(void)
{
    static char large[3000], small[MMI_READY_BYTES + 1];
    memset(large, 'l', sizeof large - 1);
    memset(small, 's', sizeof small - 1);
    uint32_t writes = 0;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        uint32_t state = seed;
        fake_sock *s =
            fake_open(roles[seed % ROLES], seed % 3 == 0 ? MM_OVERFLOW_ERROR : MM_OVERFLOW_BLOCK,
                      1 + check_random(&state) % 6);
        s->opts.send_queue_bytes = seed % 2 == 0 ? 1 << 20 : 500 + check_random(&state) % 6000;
        fake_pipe *peers[PEERS] = { NULL };
        for (int step = 0; step < STEPS; step++) {
            uint32_t who = check_random(&state) % PEERS, what = check_random(&state) % 12;
            if (what == 0 && peers[who] != NULL) {
                fake_cut(peers[who]);
                peers[who] = NULL;
            } else if (what < 3 && peers[who] == NULL) {
                peers[who] = fake_connect(s);
            } else if (what < 6 && peers[who] != NULL) {
                mmi_msg_unref(fake_take(peers[who]));
            } else if (what < 7) {
                (void)fake_send(s, large);
            } else if (writable(s)) {
                CHECK_INT(fake_send(s, what < 9 ? "s" : small), MM_OK);
                writes++;
            }
        }
        fake_close(s);
    }
    CHECK(writes > 5000);
}

int
main(void)
{
    RUN(test_a_queue_that_is_just_full_is_not_writable);
    RUN(test_one_of_two_that_are_full_has_room_is_enough_for_who_shares_out_alone);
    RUN(test_whenever_it_is_writable_a_small_message_is_taken);
    return 0;
}
