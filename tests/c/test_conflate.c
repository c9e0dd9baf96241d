/*
 * test_conflate.c: a SUB that keeps the newest: what is kept, what is dropped, in which order.
 * Not here: real connections (tests/unit/test_conflate.py).
 * Law: what comes is given out, kept or counted; never an older one after a newer one of its topic.
 */
#include "fake.h"

static int
sub_tell(fake_sock *s, bool add, const char *topic)
{
    return s->ops->subscribe(s->state, add, (const uint8_t *)topic, strlen(topic));
}

static fake_sock *
conflating(uint32_t flags, uint32_t queue_messages, const char *topic)
{
    fake_sock *s = fake_open_with(MM_SUB, MM_OVERFLOW_BLOCK, queue_messages, flags);
    CHECK_INT(sub_tell(s, true, topic), MM_OK);
    return s;
}

static void
test_only_the_newest_of_all_is_kept(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE, 10, "");
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(s->ops->ready(s->state), 0);
    for (int i = 0; i < 100; i++) {
        CHECK_INT(fake_deliver(i % 2 ? a : b, FRAMES("t", "old", "frames")), MM_OK);
    }
    CHECK_INT(fake_deliver(b, FRAMES("u", "new", "", "frames")), MM_OK);
    CHECK_INT(fake_queued(s), 1);
    CHECK_INT(s->stats.dropped_conflated, 100);
    CHECK_INT(s->event_counts[MM_EVENT_DROPPED], 0);
    fake_cut(b);
    fake_recv_is(s, "u|new||frames");
    CHECK_INT(s->ops->ready(s->state), 0);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

static void
test_the_newest_of_each_topic_is_kept_where_its_topic_waited(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE_TOPIC, 10, "");
    fake_pipe *a = fake_connect(s);
    const char *topics[] = { "a", "b", "", "ab" };
    for (int round = 0; round < 3; round++) {
        for (int i = 3; i >= 0; i--) {
            char body[2] = { (char)('0' + round), 0 };
            CHECK_INT(fake_deliver(a, FRAMES(topics[i], body)), MM_OK);
        }
    }
    CHECK_INT(s->stats.dropped_conflated, 8);
    fake_recv_is(s, "ab|2");
    CHECK_INT(fake_deliver(a, FRAMES("ab", "3")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("a", "3")), MM_OK);
    fake_recv_is(s, "|2");
    fake_recv_is(s, "b|2");
    fake_recv_is(s, "a|3");
    fake_recv_is(s, "ab|3");
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    fake_close(s);
}

static void
test_the_topic_of_one_frame_is_the_longest_subscription(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE_TOPIC, 10, "fx.");
    CHECK_INT(sub_tell(s, true, "fx.eur"), MM_OK);
    fake_pipe *a = fake_connect(s);
    const char *bodies[] = { "fx.eur 1", "fx.usd 1", "fx.eur 2", "fx.chf 1", "other" };
    for (int i = 0; i < 5; i++) {
        CHECK_INT(fake_deliver(a, fake_text(bodies[i])), MM_OK);
    }
    CHECK_INT(fake_deliver(a, FRAMES("fx.", "a topic of its own")), MM_OK);
    CHECK(s->stats.dropped_conflated == 2 && s->stats.dropped_filtered == 1);
    fake_recv_is(s, "fx.eur 2");
    fake_recv_is(s, "fx.chf 1");
    fake_recv_is(s, "fx.|a topic of its own");
    fake_close(s);
}

static void
test_over_the_queue_s_limits_the_topic_that_waited_longest_goes(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE_TOPIC, 3, "");
    s->opts.recv_queue_bytes = 1000;
    fake_pipe *a = fake_connect(s);
    const char *topics[] = { "1", "2", "3", "4" };
    for (int i = 0; i < 4; i++) {
        CHECK_INT(fake_deliver(a, FRAMES(topics[i], "x")), MM_OK);
    }
    CHECK(s->stats.dropped_overflow == 1 && s->event_counts[MM_EVENT_DROPPED] == 1);
    char large[2000];
    memset(large, 'l', sizeof large);
    large[sizeof large - 1] = 0;
    CHECK_INT(fake_deliver(a, FRAMES("2", large)), MM_OK);   /* the front itself: the others go */
    CHECK(s->stats.dropped_overflow == 3 && s->stats.dropped_conflated == 1);
    CHECK_INT(fake_queued(s), 1);
    CHECK_INT(fake_recv_rc(s), MM_OK);
    CHECK_INT(fake_queued(s), 0);
    fake_close(s);
}

static void
test_what_is_unsubscribed_is_not_ready_any_more(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE_TOPIC, 10, "a");
    CHECK_INT(sub_tell(s, true, "b"), MM_OK);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_deliver(a, FRAMES("a", "x")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("b", "x")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("ab", "x")), MM_OK);
    CHECK_INT(sub_tell(s, false, "a"), MM_OK);
    CHECK_INT(s->stats.dropped_filtered, 2);
    fake_recv_is(s, "b|x");
    CHECK_INT(s->ops->ready(s->state), 0);
    fake_close(s);
}

static void
test_of_all_only_one_is_kept_whatever_its_frames(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE, 10, "");
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_deliver(a, fake_text("t 1")), MM_OK);
    CHECK_INT(fake_deliver(a, FRAMES("t", "2")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("t 3")), MM_OK);
    fake_recv_is(s, "t 3");
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    CHECK_INT(s->stats.dropped_conflated, 2);
    fake_close(s);
}

static void
test_a_message_goes_over_to_the_topic_that_is_left_or_came(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE_TOPIC, 10, "a");
    fake_pipe *a = fake_connect(s);
    CHECK_INT(sub_tell(s, true, "ab"), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("ab 1")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("ac 2")), MM_OK);
    CHECK_INT(sub_tell(s, false, "ab"), MM_OK);        /* "ac 2" in the place of the other */
    CHECK_INT(s->stats.dropped_conflated, 1);
    CHECK_INT(fake_deliver(a, FRAMES("a", "3")), MM_OK);
    fake_recv_is(s, "ac 2");
    fake_recv_is(s, "a|3");
    CHECK_INT(fake_deliver(a, fake_text("ab 4")), MM_OK);
    CHECK_INT(sub_tell(s, true, "ab"), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("ab 5")), MM_OK);
    fake_recv_is(s, "ab 5");
    CHECK_INT(fake_deliver(a, fake_text("ab 6")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("ac 7")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("ab 8")), MM_OK);
    fake_recv_is(s, "ab 8");
    fake_recv_is(s, "ac 7");
    CHECK_INT(fake_deliver(a, fake_text("ab 9")), MM_OK);
    CHECK_INT(sub_tell(s, true, "b"), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("b 10")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("ac 11")), MM_OK);
    fake_recv_is(s, "ab 9");
    fake_recv_is(s, "b 10");
    fake_recv_is(s, "ac 11");
    CHECK_INT(fake_deliver(a, fake_text("ab 12")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("b 13")), MM_OK);
    fake_recv_is(s, "ab 12");
    CHECK_INT(fake_queued(s), 1);
    fake_close(s);
}

/* A newer one of what is its topic now was given out already. */
static void
test_what_goes_over_to_a_topic_that_is_ahead_of_it_is_dropped(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE_TOPIC, 10, "a");
    fake_pipe *a = fake_connect(s);
    CHECK_INT(sub_tell(s, true, "ab"), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("ac 1")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("ab 2")), MM_OK);
    CHECK_INT(fake_deliver(a, fake_text("ac 3")), MM_OK);
    fake_recv_is(s, "ac 3");
    CHECK_INT(sub_tell(s, false, "ab"), MM_OK);
    CHECK_INT(fake_recv_rc(s), MM_EAGAIN);
    CHECK_INT(s->stats.dropped_conflated, 2);
    fake_close(s);
}

enum { MODEL_TOPICS = 7 };
static const char *const model_topics[MODEL_TOPICS] = { "", "a", "ab", "abb", "aa", "b", "ba" };

typedef struct conflate_model {
    fake_sock *s;
    int subscribed[MODEL_TOPICS];
    uint64_t given[2][MODEL_TOPICS]; /* the number of the last; of messages of one frame apart */
} conflate_model;

/* The longest subscription that it begins with; -1: none. */
static int
model_topic(const conflate_model *m, const char *body)
{
    int best = -1;
    for (int i = 0; i < MODEL_TOPICS; i++) {
        size_t size = strlen(model_topics[i]);
        if (m->subscribed[i] > 0 && strncmp(body, model_topics[i], size) == 0 &&
            (best < 0 || size > strlen(model_topics[best]))) {
            best = i;
        }
    }
    return best;
}

/* A message of two frames has its whole first frame for a topic. */
static void
model_recv(conflate_model *m, bool by_topic)
{
    mmi_msg *got;
    if (m->s->ops->recv(m->s->state, &got) != MM_OK) {
        return;
    }
    char text[64] = { 0 };
    const mmi_frame *last = &got->frames[got->frame_count - 1];
    memcpy(text, got->frames[0].data, got->frames[0].size);
    bool one = got->frame_count == 1;
    int topic = model_topic(m, text);
    CHECK(topic >= 0);
    for (int i = 0; !one && i < MODEL_TOPICS; i++) {
        topic = strcmp(text, model_topics[i]) == 0 ? i : topic;
    }
    memcpy(text, last->data, last->size);
    text[last->size] = 0;
    uint64_t number = strtoull(strrchr(text, ' ') + 1, NULL, 10);
    uint64_t *before = by_topic ? &m->given[one][topic] : &m->given[0][0];
    CHECK(number > *before);
    *before = number;
    mmi_msg_unref(got);
}

/* Whatever is subscribed to, cancelled, sent and taken, and whatever memory there is. */
static void
test_of_a_topic_never_an_older_one_comes_after_a_newer_one(void)
{
    for (uint32_t seed = 1; seed <= 300; seed++) {
        uint32_t state = seed;
        bool by_topic = seed % 4 > 0;
        conflate_model m = { .s = fake_open_with(MM_SUB, MM_OVERFLOW_BLOCK, seed % 3 == 0 ? 3 : 50,
                                                 by_topic ? MM_OPT_CONFLATE_TOPIC
                                                          : MM_OPT_CONFLATE) };
        fake_pipe *a = fake_connect(m.s);
        uint64_t came = 0, taken = 0;
        for (uint64_t number = 1; number <= 300; number++) {
            uint32_t i = check_random(&state) % MODEL_TOPICS, what = check_random(&state) % 10;
            uint64_t before = fake_queued(m.s);
            char body[64];
            snprintf(body, sizeof body, "%s %d", model_topics[i], (int)number);
            mmi_msg *sent = what == 0 ? FRAMES(model_topics[i], body) : fake_text(body);
            mm_test_alloc_fail(seed % 5 == 0 ? check_random(&state) % 16 : 0);
            if (what < 4 && fake_deliver(a, sent) == MM_OK) {
                sent = NULL;
                came++;
            } else if (what >= 4 && what < 7) {
                int rc = sub_tell(m.s, what < 6, model_topics[i]);
                m.subscribed[i] += rc != MM_OK ? 0 : what < 6 ? 1 : -1;
                m.given[1][i] = rc == MM_OK && m.subscribed[i] == 0 ? 0 : m.given[1][i];
            } else if (what == 7) {
                model_recv(&m, by_topic);
                taken += before - fake_queued(m.s);
            }
            mm_test_alloc_fail(0);
            mmi_msg_unref(sent);
            CHECK_INT(came, taken + fake_queued(m.s) + fake_dropped(m.s));
            CHECK((m.s->ops->ready(m.s->state) == MM_READABLE) == (fake_queued(m.s) > 0));
        }
        CHECK_INT(a->pipe.inbox.count, 0);
        fake_close(m.s);
    }
}

/* Whatever fails: each message is given out, kept or counted, and the next ones find their way. */
static void
test_without_memory_every_message_is_accounted_for(void)
{
    fake_sock *s = conflating(MM_OPT_CONFLATE_TOPIC, 5, "");
    fake_pipe *a = fake_connect(s);
    uint32_t state = 7, came = 0, taken = 0;
    for (int i = 0; i < 3000; i++) {
        char topic[3] = { (char)('a' + check_random(&state) % 4),
                          (char)('a' + check_random(&state) % 4), 0 };
        mmi_msg *m = FRAMES(topic, "x");
        mm_test_alloc_fail(check_random(&state) % 8);
        int rc = fake_deliver(a, m);
        mm_test_alloc_fail(0);
        came += rc == MM_OK;
        if (rc != MM_OK) {
            mmi_msg_unref(m);
        }
        taken += check_random(&state) % 3 == 0 && fake_recv_rc(s) == MM_OK;
        CHECK_INT(came, taken + fake_queued(s) + fake_dropped(s));
        CHECK((s->ops->ready(s->state) == MM_READABLE) == (fake_queued(s) > 0));
    }
    CHECK(s->stats.dropped_overflow > 0 && s->stats.dropped_conflated > 0);
    fake_close(s);
}

int
main(void)
{
    RUN(test_only_the_newest_of_all_is_kept);
    RUN(test_the_newest_of_each_topic_is_kept_where_its_topic_waited);
    RUN(test_the_topic_of_one_frame_is_the_longest_subscription);
    RUN(test_over_the_queue_s_limits_the_topic_that_waited_longest_goes);
    RUN(test_what_is_unsubscribed_is_not_ready_any_more);
    RUN(test_of_all_only_one_is_kept_whatever_its_frames);
    RUN(test_a_message_goes_over_to_the_topic_that_is_left_or_came);
    RUN(test_what_goes_over_to_a_topic_that_is_ahead_of_it_is_dropped);
    RUN(test_of_a_topic_never_an_older_one_comes_after_a_newer_one);
    RUN(test_without_memory_every_message_is_accounted_for);
    return 0;
}
