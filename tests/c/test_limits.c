/*
 * test_limits.c: the limits on subscriptions: at the limit minus one, at it, and one over.
 * Not here: queue limits (test_ring.c, test_push.c).
 * Law: what is refused has changed nothing.
 */
#include "base/limits.h"
#include "fake.h"

static int
limits_tell(fake_pipe *p, bool add, const uint8_t *topic, size_t size)
{
    return p->sock->ops->subscription(p->sock->state, &p->pipe, add, topic, size);
}

static void
test_topic_size_of_a_peer(void)
{
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_DROP_NEWEST, 10);
    static const uint8_t topic[1001];
    fake_pipe *a = fake_connect(s);
    CHECK_INT(limits_tell(a, true, topic, 999), MM_OK);
    CHECK_INT(limits_tell(a, true, topic, 1000), MM_OK);
    CHECK_INT(limits_tell(a, true, topic, 1001), MM_EMSGSIZE);
    CHECK_INT(limits_tell(a, false, topic, 1001), MM_EMSGSIZE);
    CHECK_INT(a->pipe.subscriptions, 2);
    CHECK_INT(a->pipe.subscription_bytes, 1999);
    fake_close(s);
}

static void
test_topic_size_of_the_user(void)
{
    static const uint8_t topic[1002];
    for (int role = MM_SUB; role <= MM_XSUB; role += MM_XSUB - MM_SUB) {
        fake_sock *s = fake_open(role, MM_OVERFLOW_BLOCK, 10);
        CHECK_INT(s->ops->subscribe(s->state, true, topic, 1000), MM_OK);
        CHECK_INT(s->ops->subscribe(s->state, true, topic, 1001), MM_EMSGSIZE);
        if (role == MM_XSUB) {
            CHECK_INT(fake_send_msg(s, mmi_msg_copy(topic, 1002)), MM_EMSGSIZE);
            CHECK_INT(fake_send_msg(s, mmi_msg_copy(topic, 1001)), MM_OK);
        }
        fake_close(s);
    }
}

static void
test_subscriptions_of_a_peer_each_topic_once(void)
{
    fake_sock *s = fake_open(MM_XPUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    uint8_t topic[2] = { 0 };
    for (int i = 0; i < 200; i++) {
        topic[0] = (uint8_t)(i / 2);
        CHECK_INT(limits_tell(a, true, topic, 2), MM_OK);
    }
    CHECK_INT(limits_tell(a, true, topic, 2), MM_OK);   /* it has that one */
    CHECK_INT(limits_tell(a, true, (const uint8_t *)"new", 3), MM_EPROTO);
    CHECK_INT(a->pipe.subscriptions, 100);
    CHECK_INT(limits_tell(b, true, topic, 2), MM_OK);
    CHECK_INT(limits_tell(a, false, topic, 2), MM_OK);
    CHECK_INT(limits_tell(a, true, (const uint8_t *)"new", 3), MM_OK);
    CHECK_INT(limits_tell(a, true, (const uint8_t *)"one more", 8), MM_EPROTO);
    fake_close(s);
}

static void
test_bytes_of_topics_of_a_peer(void)
{
    enum { TOPIC = 1024 * 1024 };
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_DROP_NEWEST, 10);
    s->opts.topic_size_max = TOPIC;
    s->opts.subscriptions_max = UINT32_MAX;
    uint8_t *topic = calloc(1, TOPIC);
    fake_pipe *a = fake_connect(s);
    CHECK(topic != NULL);
    for (int i = 0; i < MMI_SUBSCRIPTION_BYTES_MAX / TOPIC - 1; i++) {
        topic[0] = (uint8_t)i;
        CHECK_INT(limits_tell(a, true, topic, TOPIC), MM_OK);
    }
    CHECK_INT(limits_tell(a, true, topic, TOPIC - 1), MM_OK);
    CHECK_INT(limits_tell(a, true, topic, 2), MM_EPROTO);
    CHECK_INT(limits_tell(a, true, topic, 1), MM_OK);
    CHECK_INT(limits_tell(a, true, (const uint8_t *)"x", 1), MM_EPROTO);
    CHECK_INT(limits_tell(a, true, topic, 0), MM_OK);
    CHECK_INT(a->pipe.subscription_bytes, MMI_SUBSCRIPTION_BYTES_MAX);
    free(topic);
    fake_close(s);
}

/* HOSTILE 32: a million subscriptions; the tree grows no further than the limit. */
static void
test_a_flood_of_subscriptions_is_held_to_the_limit(void)
{
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_DROP_NEWEST, 10);
    s->opts.subscriptions_max = 10000;
    fake_pipe *a = fake_connect(s);
    int refused = 0;
    for (uint32_t i = 0; i < 1000000; i++) {
        const uint8_t topic[] = { (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i };
        int rc = limits_tell(a, true, topic, 3);
        CHECK(rc == MM_OK || rc == MM_EPROTO);
        refused += rc == MM_EPROTO;
    }
    CHECK_INT(refused, 990000);
    CHECK_INT(a->pipe.subscriptions, 10000);
    fake_cut(a);
    const uint8_t first[] = { 0, 0, 0 };
    CHECK_INT(s->ops->reach(s->state, first, 3), 0);
    fake_close(s);
}

static void
test_no_memory_for_a_subscription_at_any_point(void)
{
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_DROP_NEWEST, 10);
    fake_pipe *a = fake_connect(s);
    uint32_t held = 0;
    const char *topics[] = { "abc", "abd", "ab", "x", "" };
    for (int i = 0; i < 5; i++) {
        int rc = MM_ENOMEM;
        for (int n = 1; rc != MM_OK; n++) {
            mm_test_alloc_fail(n);
            rc = limits_tell(a, true, (const uint8_t *)topics[i], strlen(topics[i]));
            mm_test_alloc_fail(0);
            CHECK(rc == MM_OK || rc == MM_ENOMEM);
            held += rc == MM_OK;
            CHECK_INT(a->pipe.subscriptions, held);
        }
    }
    fake_close(s);
}

int
main(void)
{
    RUN(test_topic_size_of_a_peer);
    RUN(test_topic_size_of_the_user);
    RUN(test_subscriptions_of_a_peer_each_topic_once);
    RUN(test_bytes_of_topics_of_a_peer);
    RUN(test_a_flood_of_subscriptions_is_held_to_the_limit);
    RUN(test_no_memory_for_a_subscription_at_any_point);
    return 0;
}
