/*
 * test_xpub.c: what XPUB tells its user of subscriptions, and what its user decides by hand.
 * Not here: who gets what, and the overflow policies (test_pub.c).
 * Law: once all notices are taken, what was told is what the peers asked for.
 */
#include "base/limits.h"
#include "fake.h"

static int
pub_tell(fake_pipe *p, bool add, const char *topic)
{
    return p->sock->ops->subscription(p->sock->state, &p->pipe, add, (const uint8_t *)topic,
                                      strlen(topic));
}

static uint32_t
pub_reach(fake_sock *s, const char *topic)
{
    return s->ops->reach(s->state, (const uint8_t *)topic, strlen(topic));
}

static fake_sock *
fake_open_verbose(void)
{
    return fake_open_with(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10, MM_OPT_XPUB_VERBOSE);
}

static void
notice_is(fake_sock *s, bool add, const char *topic, uint64_t peer)
{
    mmi_msg *m = NULL;
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    CHECK(m->frame_count == 1 && m->size == strlen(topic) + 1);
    CHECK(m->frames[0].data[0] == add && memcmp(m->frames[0].data + 1, topic, m->size - 1) == 0);
    CHECK_INT(m->pipe_id, peer);
    mmi_msg_unref(m);
}

static void
test_xpub_hears_the_first_subscription_and_the_last_cancellation(void)
{
    fake_sock *s = fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    CHECK_INT(pub_tell(b, true, "t"), MM_OK);
    CHECK_INT(pub_tell(b, true, "u"), MM_OK);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE | MM_READABLE);
    CHECK_INT(pub_tell(a, false, "t"), MM_OK);
    CHECK_INT(pub_tell(b, false, "t"), MM_OK);
    fake_recv_is(s, "\x01t");
    fake_recv_is(s, "\x01u");
    mmi_msg *m = NULL;
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    CHECK(m->size == 2 && memcmp(m->frames[0].data, "\0t", 2) == 0);
    CHECK_INT(m->pipe_id, b->pipe.id);
    mmi_msg_unref(m);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

static void
test_xpub_hears_the_cancellations_of_a_lost_peer(void)
{
    fake_sock *s = fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(pub_tell(a, true, "mine"), MM_OK);
    CHECK_INT(pub_tell(a, true, ""), MM_OK);
    CHECK_INT(pub_tell(a, true, "both"), MM_OK);
    CHECK_INT(pub_tell(b, true, "both"), MM_OK);
    fake_recv_is(s, "\x01mine");
    fake_recv_is(s, "\x01");
    fake_recv_is(s, "\x01"
                    "both");
    fake_cut(a);
    mmi_msg *m = NULL;
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    CHECK(m->size == 5 && memcmp(m->frames[0].data, "\0mine", 5) == 0);
    mmi_msg_unref(m);
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    CHECK(m->size == 1 && m->frames[0].data[0] == 0);
    mmi_msg_unref(m);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    CHECK_INT(pub_reach(s, "both"), 1);
    fake_close(s);
}

static void
test_verbose_xpub_hears_every_one(void)
{
    fake_sock *s = fake_open_verbose();
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    const uint64_t ids[] = { a->pipe.id, b->pipe.id, a->pipe.id, b->pipe.id };
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    CHECK_INT(pub_tell(b, true, "t"), MM_OK);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);        /* says nothing new */
    CHECK_INT(pub_tell(b, false, "t"), MM_OK);
    CHECK_INT(pub_tell(b, false, "t"), MM_OK);
    fake_cut(a);
    for (int i = 0; i < 4; i++) {
        notice_is(s, i < 2, "t", ids[i]);
    }
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

static void
test_verbose_xpub_hears_of_a_peer_that_came_back_while_nobody_read(void)
{
    fake_sock *s = fake_open_verbose();
    fake_pipe *a = fake_connect(s);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    fake_recv_is(s, "\x01t");
    uint64_t id = a->pipe.id;
    fake_cut(a);
    a = fake_connect(s);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    notice_is(s, false, "t", id);
    notice_is(s, true, "t", a->pipe.id);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

static void
test_xpub_receives_other_messages_as_they_are(void)
{
    fake_sock *s = fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_deliver(a, FRAMES("hello", "world")), MM_OK);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    fake_recv_is(s, "\x01t");
    fake_recv_is(s, "hello|world");
    CHECK_INT(fake_deliver(a, fake_text("last words")), MM_OK);
    fake_cut(a);
    mmi_msg *m = NULL;
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    mmi_msg_unref(m);
    fake_recv_is(s, "last words");
    fake_close(s);
}

/* Changes that nobody reads: the last state of each topic is told, and no memory piles up. */
static void
test_a_topic_that_changes_often_waits_with_two_changes_at_most(void)
{
    for (int verbose = 0; verbose < 2; verbose++) {
        fake_sock *s =
            verbose ? fake_open_verbose() : fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10);
        fake_pipe *a = fake_connect(s), *polite = fake_connect(s);
        CHECK_INT(pub_tell(a, true, "t"), MM_OK);
        CHECK_INT(pub_tell(polite, true, "polite"), MM_OK);
        fake_recv_is(s, "\x01t");
        for (int i = 0; i < 1000; i++) {
            CHECK_INT(pub_tell(a, false, "t"), MM_OK);
            CHECK_INT(pub_tell(a, true, "t"), MM_OK);
        }
        CHECK_INT(pub_tell(a, false, "t"), MM_OK);
        fake_recv_is(s, "\x01polite");
        notice_is(s, false, "t", a->pipe.id);
        CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
        CHECK_INT(fake_dropped(s), 0);
        fake_close(s);
    }
}

/* So whoever answers what it is told last of a topic and a peer answers what is so. */
static void
test_a_peer_that_came_back_to_a_topic_before_it_was_told_is_told_of_once(void)
{
    const uint32_t flags[] = { 0, MM_OPT_XPUB_VERBOSE, MM_OPT_XPUB_MANUAL };
    for (int i = 0; i < 3; i++) {
        fake_sock *s = fake_open_with(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10, flags[i]);
        fake_pipe *a = fake_connect(s), *b = fake_connect(s);
        CHECK_INT(pub_tell(a, true, "t"), MM_OK);
        CHECK_INT(pub_tell(a, false, "t"), MM_OK);
        CHECK_INT(pub_tell(b, true, "u"), MM_OK);
        CHECK_INT(pub_tell(a, true, "t"), MM_OK);
        notice_is(s, true, "t", a->pipe.id);
        notice_is(s, true, "u", b->pipe.id);
        CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
        CHECK_INT(pub_tell(a, false, "t"), MM_OK);
        CHECK_INT(pub_tell(a, true, "t"), MM_OK);
        notice_is(s, false, "t", a->pipe.id);
        notice_is(s, true, "t", a->pipe.id);
        CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
        fake_close(s);
    }
}

static void
test_topics_that_came_and_went_untold_are_forgotten_the_oldest_first(void)
{
    fake_sock *s = fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s);
    char topic[16];
    for (int i = 0; i < MMI_NOTICES_MAX + 10; i++) {
        snprintf(topic, sizeof topic, "%d", i);
        CHECK_INT(pub_tell(a, true, topic), MM_OK);
        CHECK_INT(pub_tell(a, false, topic), MM_OK);
    }
    fake_recv_is(s, "\x01"
                    "10");
    for (int i = 1; i < MMI_NOTICES_MAX * 2; i++) {
        CHECK_INT(fake_recv_rc(s), MM_OK);
    }
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    CHECK_INT(fake_dropped(s), 0);
    CHECK_INT(s->stats.parsed_messages, MMI_NOTICES_MAX * 2);
    static char large[1 << 20];
    memset(large, 'l', sizeof large - 1);
    s->opts.topic_size_max = sizeof large;
    for (int i = 0; i < 20; i++) {
        large[0] = (char)('a' + i);
        CHECK_INT(pub_tell(a, true, large), MM_OK);
        CHECK_INT(pub_tell(a, false, large), MM_OK);
    }
    uint32_t count = 0;
    while (fake_recv_rc(s) == MM_OK) {
        count++;
    }
    CHECK_INT(count, MMI_SUBSCRIPTION_BYTES_MAX / (sizeof large - 1) * 2);
    fake_close(s);
}

/* What was told, replayed by a set, is what the tree says, whatever came in between. */
static void
test_what_was_told_and_the_tree_agree_in_the_end(void)
{
    enum { TOPICS = 6, PEERS = 3, IDS = 256 };
    for (uint32_t seed = 1; seed <= 40; seed++) {
        bool verbose = seed % 2 == 0;
        uint32_t state = seed;
        int told[TOPICS] = { 0 };
        bool last[IDS][TOPICS] = { { 0 } };   /* what each was told of as, at last */
        fake_sock *s =
            verbose ? fake_open_verbose() : fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10);
        fake_pipe *peers[PEERS] = { fake_connect(s), fake_connect(s), fake_connect(s) };
        for (int step = 0; step < 600; step++) {
            uint32_t who = check_random(&state) % PEERS, what = check_random(&state) % 40;
            char topic[2] = { (char)('a' + check_random(&state) % TOPICS), 0 };
            if (what == 0) {
                fake_cut(peers[who]);
                peers[who] = fake_connect(s);
            } else if (what < 30) {
                mm_test_alloc_fail(check_random(&state) % 20);
                int rc = pub_tell(peers[who], what < 16, topic);
                mm_test_alloc_fail(0);
                CHECK(rc == MM_OK || (rc == MM_ENOMEM && what < 16));
            }
            mmi_msg *m;
            bool reads = step == 599 || what >= 30;
            while (reads && s->ops->recv(s->state, &m) == MM_OK) {
                int i = m->frames[0].data[1] - 'a';
                told[i] += m->frames[0].data[0] == 1 ? 1 : -1;
                CHECK(told[i] >= 0 && (verbose || told[i] <= 1));
                bool *known = &last[verbose ? m->pipe_id % IDS : 0][i];
                CHECK(*known != (m->frames[0].data[0] == 1));
                *known = !*known;
                mmi_msg_unref(m);
                reads = step == 599 || check_random(&state) % 3 > 0;
            }
        }
        for (int i = 0; i < TOPICS; i++) {
            char topic[2] = { (char)('a' + i), 0 };
            bool known = last[0][i];
            for (int who = 0; verbose && who < PEERS; who++) {
                known |= last[peers[who]->pipe.id % IDS][i];
            }
            CHECK_INT(known, told[i] > 0);
            int reach = (int)pub_reach(s, topic);
            CHECK_INT(told[i], verbose ? reach : reach > 0);
        }
        fake_close(s);
    }
}

static void
test_notices_and_messages_take_turns(void)
{
    fake_sock *s = fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_deliver(a, fake_text("one")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("two")), MM_OK);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    CHECK_INT(pub_tell(a, true, "u"), MM_OK);
    fake_recv_is(s, "\x01t");
    fake_recv_is(s, "one");
    fake_recv_is(s, "\x01u");
    fake_recv_is(s, "two");
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

static void
test_without_memory_a_subscription_is_neither_held_nor_told(void)
{
    fake_sock *s = fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s);
    int rc = MM_ENOMEM;
    for (int n = 1; rc != MM_OK; n++) {
        CHECK_INT(pub_reach(s, "t"), 0);
        CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
        mm_test_alloc_fail(n);
        rc = pub_tell(a, true, "t");
        mm_test_alloc_fail(0);
        CHECK_INT(a->pipe.subscriptions, rc == MM_OK);
    }
    mm_test_alloc_fail(1);
    CHECK_INT(fake_recv_rc(s), MM_ENOMEM);
    mm_test_alloc_fail(0);
    fake_recv_is(s, "\x01t");
    fake_close(s);
}

static int
pub_grant(fake_sock *s, uint64_t id, bool add, const char *topic)
{
    return s->ops->grant(s->state, id, add, (const uint8_t *)topic, strlen(topic));
}

/* By hand: what peers ask for, what they were given and what was told, each against a plain set. */
static void
test_by_hand_peers_get_what_the_user_says_whatever_they_ask_for(void)
{
    enum { TOPICS = 4, PEERS = 3 };
    for (uint32_t seed = 1; seed <= 40; seed++) {
        uint32_t state = seed;
        int asked[PEERS][TOPICS] = { { 0 } }, given[PEERS][TOPICS] = { { 0 } },
            told[TOPICS] = { 0 };
        fake_sock *s = fake_open_with(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10, MM_OPT_XPUB_MANUAL);
        fake_pipe *peers[PEERS] = { fake_connect(s), fake_connect(s), fake_connect(s) };
        for (int step = 0; step < 500; step++) {
            uint32_t who = check_random(&state) % PEERS, i = check_random(&state) % TOPICS;
            uint32_t what = check_random(&state) % 20;
            char topic[2] = { (char)('a' + i), 0 };
            bool add = what % 2 == 0;
            mm_test_alloc_fail(check_random(&state) % 16);
            int rc = MM_ENOMEM;
            if (what < 8) {
                rc = pub_tell(peers[who], add, topic);
                asked[who][i] = rc == MM_OK ? add : asked[who][i];
            } else if (what < 16) {
                rc = pub_grant(s, peers[who]->pipe.id, add, topic);
                CHECK(rc == MM_ENOMEM || rc == (given[who][i] != add));
                given[who][i] = rc >= 0 ? add : given[who][i];
            }
            mm_test_alloc_fail(0);
            CHECK(rc >= 0 || rc == MM_ENOMEM);
            if (what == 16) {
                uint64_t id = peers[who]->pipe.id;
                fake_cut(peers[who]);
                CHECK_INT(pub_grant(s, id, true, topic), MM_EHOSTUNREACH);
                peers[who] = fake_connect(s);
                memset(asked[who], 0, sizeof asked[who]);
                memset(given[who], 0, sizeof given[who]);
            }
            mmi_msg *m;
            while ((what > 17 || step == 499) && s->ops->recv(s->state, &m) == MM_OK) {
                told[m->frames[0].data[1] - 'a'] += m->frames[0].data[0] == 1 ? 1 : -1;
                mmi_msg_unref(m);
            }
            CHECK_INT(pub_reach(s, topic), given[0][i] + given[1][i] + given[2][i]);
        }
        for (int i = 0; i < TOPICS; i++) {
            CHECK_INT(told[i], asked[0][i] + asked[1][i] + asked[2][i]);
        }
        fake_close(s);
    }
}

static void
test_a_welcome_is_the_first_and_there_is_one_a_peer(void)
{
    fake_sock *s = fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 1);
    s->ops->set_welcome(s->state, fake_text("old"));
    s->ops->set_welcome(s->state, fake_text("hello"));
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK(a->pipe.outbox.count == 0 && b->pipe.outbox.count == 0);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    CHECK_INT(pub_tell(a, true, "u"), MM_OK);
    fake_is(fake_take(a), "hello");
    CHECK_INT(pub_tell(a, false, "t"), MM_OK);
    CHECK_INT(pub_tell(a, true, "t"), MM_OK);
    CHECK(fake_take(a) == NULL);
    mm_test_alloc_fail(0);
    CHECK_INT(s->stats.sent_messages, 1);
    for (int n = 1; s->stats.sent_messages == 1; n++) {
        mm_test_alloc_fail(n);
        (void)pub_tell(b, true, "t");
        mm_test_alloc_fail(0);
    }
    CHECK_INT(s->stats.dropped_overflow + b->pipe.outbox.count, 1);
    CHECK_INT(pub_grant(s, a->pipe.id, true, "t"), MM_ENOTSUP);
    fake_close(s);
}

int
main(void)
{
    RUN(test_xpub_hears_the_first_subscription_and_the_last_cancellation);
    RUN(test_xpub_hears_the_cancellations_of_a_lost_peer);
    RUN(test_verbose_xpub_hears_every_one);
    RUN(test_xpub_receives_other_messages_as_they_are);
    RUN(test_verbose_xpub_hears_of_a_peer_that_came_back_while_nobody_read);
    RUN(test_a_topic_that_changes_often_waits_with_two_changes_at_most);
    RUN(test_a_peer_that_came_back_to_a_topic_before_it_was_told_is_told_of_once);
    RUN(test_topics_that_came_and_went_untold_are_forgotten_the_oldest_first);
    RUN(test_what_was_told_and_the_tree_agree_in_the_end);
    RUN(test_notices_and_messages_take_turns);
    RUN(test_by_hand_peers_get_what_the_user_says_whatever_they_ask_for);
    RUN(test_a_welcome_is_the_first_and_there_is_one_a_peer);
    RUN(test_without_memory_a_subscription_is_neither_held_nor_told);
    return 0;
}
