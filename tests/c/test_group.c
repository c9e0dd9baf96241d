/*
 * test_group.c: the role of a group: who is in it, what its topics are, who gets a message, and
 * what is done without being handed out.
 *
 * Not here: the balance, lanes and what is taken back (test_push.c, test_route.c), sockets
 * (test_groups.c).
 */
#include "fake.h"
#include "queue/backlog.h"

enum { TOLD_MAX = 64 };

/* What a source was told, by number. */
typedef struct source {
    int outcomes[TOLD_MAX];
} source;

static void
told(void *arg, uint64_t first, uint64_t count, int outcome)
{
    source *of = arg;
    for (uint64_t number = first; number < first + count; number++) {
        CHECK(number > 0 && number < TOLD_MAX && of->outcomes[number] == 0);
        of->outcomes[number] = outcome;
    }
}

static void
gone(void *arg)
{
    (void)arg;
}

static fake_sock *
group_of(source *of)
{
    fake_sock *s =
        fake_open_of(&mmi_group_ops, MM_OVERFLOW_BLOCK, 10, MM_OPT_AT_LEAST_ONCE | MM_OPT_HASH);
    *of = (source){ { 0 } };
    s->host.back->receipts.source = (mmi_source){ .arg = of, .told = told, .gone = gone };
    return s;
}

static int
asks(fake_pipe *p, const char *topic)
{
    return p->sock->ops->subscription(p->sock->state, &p->pipe, true, (const uint8_t *)topic,
                                      strlen(topic));
}

static int
begins(fake_pipe *p)
{
    return p->sock->ops->begin(p->sock->state, &p->pipe);
}

static fake_pipe *
member(fake_sock *s, const char *topic)
{
    fake_pipe *p = fake_connect(s);
    CHECK_INT(asks(p, topic), MM_OK);
    CHECK_INT(begins(p), MM_OK);
    return p;
}

static int
send_as(fake_sock *s, uint64_t number, const char *topic)
{
    mmi_msg *m = FRAMES(topic, "body");
    m->key = number;
    m->origin = (mmi_origin){ .epoch = 1, .number = number, .attempt = 1 };
    m->alone = true;
    int rc = s->ops->send(s->state, m);
    if (rc != MM_OK) {
        mmi_msg_unref(m);
    }
    return rc;
}

static void
test_who_has_not_begun_gets_nothing(void)
{
    source of;
    fake_sock *s = group_of(&of);
    fake_pipe *idle = fake_connect(s);
    CHECK_INT(asks(idle, ""), MM_OK);
    CHECK_INT(s->ops->topics(s->state), 0);
    CHECK_INT(s->begun_count, 0);
    fake_pipe *p = member(s, "a");
    CHECK_INT(s->begun_count, 1);
    for (uint64_t i = 1; i <= 10; i++) {
        CHECK_INT(send_as(s, i, "ab"), MM_OK);
    }
    CHECK_INT(idle->pipe.outbox.count, 0);
    CHECK_INT(fake_take_all(p), 10);
    fake_close(s);
}

static void
test_what_nobody_wants_is_done(void)
{
    source of;
    fake_sock *s = group_of(&of);
    CHECK_INT(send_as(s, 1, "a"), MM_OK); /* nobody ever was in it */
    CHECK_INT(of.outcomes[1], MM_RECEIPT_ACKED);
    fake_pipe *p = member(s, "a");
    CHECK_INT(send_as(s, 2, "b"), MM_OK);
    CHECK_INT(send_as(s, 3, "ab"), MM_OK);
    CHECK_INT(of.outcomes[2], MM_RECEIPT_ACKED);
    CHECK_INT(of.outcomes[3], MM_RECEIPT_OPEN);
    CHECK_INT(s->stats.unwanted_messages, 2);
    CHECK_INT(p->pipe.outbox.count, 1);
    CHECK_INT(s->ops->reach(s->state, (const uint8_t *)"abc", 3), 1);
    CHECK_INT(s->ops->reach(s->state, (const uint8_t *)"b", 1), 0);
    fake_close(s);
}

static void
test_topics_are_the_same_in_whatever_order(void)
{
    source of;
    fake_sock *s = group_of(&of);
    fake_pipe *p = fake_connect(s), *same = fake_connect(s), *more = fake_connect(s),
              *less = fake_connect(s), *other = fake_connect(s), *none = fake_connect(s);
    const char *const first[] = { "a", "b", "abc" }, *const again[] = { "abc", "b", "a", "b" };
    for (size_t i = 0; i < MMI_COUNT_OF(first); i++) {
        CHECK_INT(asks(p, first[i]), MM_OK);
        CHECK_INT(asks(more, first[i]), MM_OK);
    }
    for (size_t i = 0; i < MMI_COUNT_OF(again); i++) {
        CHECK_INT(asks(same, again[i]), MM_OK);
    }
    CHECK_INT(same->pipe.subscriptions, 3);
    CHECK_INT(asks(more, "c"), MM_OK);
    CHECK_INT(asks(less, "a"), MM_OK);
    CHECK_INT(asks(other, "ab"), MM_OK);
    CHECK_INT(asks(other, "a"), MM_OK);
    CHECK_INT(asks(other, "b"), MM_OK);
    CHECK_INT(begins(p), MM_OK);
    CHECK_INT(begins(p), MM_OK);
    CHECK_INT(begins(same), MM_OK);
    CHECK_INT(begins(more), MM_EINVAL);
    CHECK_INT(begins(less), MM_EINVAL);
    CHECK_INT(begins(other), MM_EINVAL);
    CHECK_INT(begins(none), MM_EPROTO);
    CHECK_INT(asks(p, "d"), MM_ESTATE);
    CHECK_INT(s->ops->topics(s->state), 3);
    CHECK_INT(s->begun_count, 2);
    fake_close(s);
}

/* Of the first that comes then; what waits goes back to its source, which gives it again. */
static void
test_an_empty_group_takes_other_topics(void)
{
    source of;
    fake_sock *s = group_of(&of);
    fake_cut(member(s, "a"));
    for (uint64_t i = 1; i <= 3; i++) {
        CHECK_INT(send_as(s, i, "a"), MM_OK);
    }
    uint64_t bytes;
    CHECK_INT(mmi_back_count(s->host.back, &bytes), 3);
    fake_cut(member(s, "a"));
    CHECK_INT(mmi_back_count(s->host.back, &bytes), 3);
    fake_pipe *p = member(s, "b");
    CHECK_INT(mmi_back_count(s->host.back, &bytes), 0);
    for (uint64_t i = 1; i <= 3; i++) {
        CHECK_INT(of.outcomes[i], MM_RECEIPT_DROPPED);
    }
    CHECK_INT(p->pipe.outbox.count, 0);
    CHECK_INT(fake_dropped(s), 0);
    fake_close(s);
}

/* Its topic is its key, where it has none of its own. */
static void
test_one_topic_goes_to_one_member(void)
{
    source of;
    fake_sock *s = group_of(&of);
    fake_pipe *p[3] = { member(s, ""), member(s, ""), member(s, "") };
    for (uint64_t i = 1; i <= 9; i++) {
        CHECK_INT(send_as(s, i, "one"), MM_OK);
    }
    uint32_t has = 0;
    for (int i = 0; i < 3; i++) {
        has += p[i]->pipe.outbox.count == 9;
        CHECK(p[i]->pipe.outbox.count == 0 || p[i]->pipe.outbox.count == 9);
    }
    CHECK_INT(has, 1);
    for (int i = 0; i < 3; i++) {
        if (p[i]->pipe.outbox.count == 9) {
            fake_cut(p[i]);
        }
    }
    CHECK_INT(fake_queued(s), 9); /* at another one */
    fake_close(s);
}

static void
test_limits_of_topics_hold(void)
{
    source of;
    fake_sock *s = group_of(&of);
    s->opts.subscriptions_max = 2;
    s->opts.topic_size_max = 3;
    fake_pipe *p = fake_connect(s);
    CHECK_INT(asks(p, "abcd"), MM_EMSGSIZE);
    CHECK_INT(asks(p, "abc"), MM_OK);
    CHECK_INT(asks(p, "b"), MM_OK);
    CHECK_INT(asks(p, "c"), MM_EPROTO);
    const uint8_t *const b = (const uint8_t *)"b";
    CHECK_INT(s->ops->subscription(s->state, &p->pipe, false, b, 1), MM_OK);
    CHECK_INT(s->ops->subscription(s->state, &p->pipe, false, b, 1), MM_OK);
    CHECK_INT(p->pipe.subscriptions, 1);
    CHECK_INT(p->pipe.subscription_bytes, 3);
    fake_close(s);
}

/* Each step fails without memory and is as if it never was, or is done. */
static void
test_without_memory_nothing_is_half_done(void)
{
    for (int n = 1; n < 40; n++) {
        source of;
        fake_sock *s = group_of(&of);
        fake_pipe *p = fake_connect(s);
        CHECK_INT(mm_test_alloc_fail(n), 0);
        int rc = asks(p, "a topic");
        CHECK(rc == MM_OK || rc == MM_ENOMEM);
        CHECK_INT(p->pipe.subscriptions, rc == MM_OK);
        rc = begins(p);
        CHECK_INT(rc, p->pipe.subscriptions == 1 ? MM_OK : MM_EPROTO);
        (void)mm_test_alloc_fail(0);
        CHECK_INT(s->ops->topics(s->state), rc == MM_OK);
        fake_close(s);
    }
}

int
main(void)
{
    test_who_has_not_begun_gets_nothing();
    test_what_nobody_wants_is_done();
    test_topics_are_the_same_in_whatever_order();
    test_an_empty_group_takes_other_topics();
    test_one_topic_goes_to_one_member();
    test_limits_of_topics_hold();
    test_without_memory_nothing_is_half_done();
    return 0;
}
