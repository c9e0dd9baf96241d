/*
 * test_changes_waiting.c: a subscriber that changes its mind on and on, and a publisher that does
 * not read meanwhile, in a simulated world.
 * Not here: what one change says (test_command.c), who is told (test_sub.c).
 * Law: what waits to be told is bounded by the topics that differ, not by how often they changed;
 * a publisher that reads has in the end the topics that the subscriber has, whatever came before.
 */
#include "wire/zmtp/frame.h"
#include "raw.h"

enum {
    BUFFER_SIZE = 4096,                /* octets the simulated kernel holds, each way */
    TOPICS = 40,
    TOPIC_SIZE_MAX = 80,
    CHANGES = 60000,
    STORIES = 12,                      /* sequences that are tried */
    /* Octets that may wait for it: being written, and behind that what may come before a fold. */
    WAITING_MAX = BUFFER_SIZE + 2 * (MMI_CHANGES_WAITING_BYTES + TOPIC_SIZE_MAX * 2)
};
static const char READY_PUB[] = "\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03PUB";

/* What the subscriber has, and what the publisher has been told. */
typedef struct story {
    raw r;
    int minor;
    bool ours[TOPICS], told[TOPICS];
    uint32_t random;
} story;

static uint32_t
next(story *s)
{
    s->random = s->random * 1664525u + 1013904223u;
    return s->random >> 8;
}

/* Some are beginnings of others, one is long. */
static size_t
topic_of(int i, uint8_t *out)
{
    size_t size = (size_t)(i * 2 % TOPIC_SIZE_MAX);
    memset(out, 'a' + i % 3, size + 1);
    out[size] = (uint8_t)i;
    return size + 1;
}

static int
topic_index(const uint8_t *topic, size_t size)
{
    uint8_t made[TOPIC_SIZE_MAX + 1];
    CHECK(size > 0 && topic[size - 1] < TOPICS);
    CHECK(topic_of(topic[size - 1], made) == size && memcmp(made, topic, size) == 0);
    return topic[size - 1];
}

/* A socket of ours that has dialed a publisher of that version of ZMTP. */
static story
story_open(int role, int minor, uint32_t seed)
{
    const mm_sim_opts sim = { .buffer_size = BUFFER_SIZE };
    mm_socket_opts opts = opts_of(role);
    opts.heartbeat_interval_ms = 0;
    story s = { .r = raw_open(role, &sim, &opts), .minor = minor, .random = seed };
    raw *r = &s.r;
    mmi_addr at = addr_tcp4(0), peer;
    char endpoint[MM_ENDPOINT_MAX + 1];
    int listener;
    CHECK_INT(r->plat.listen(r->plat.self, &at, &listener), MM_OK);
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", (unsigned)at.port);
    CHECK_INT(mm_connect(r->ours, endpoint), MM_OK);
    CHECK_INT(mm_sim_run(r->world, MS), MM_OK);
    CHECK_INT(r->plat.accept(r->plat.self, listener, &r->stream, &peer), MM_OK);
    uint8_t greeting[sizeof RAW_GREETING];
    memcpy(greeting, RAW_GREETING, sizeof greeting);
    greeting[11] = (uint8_t)minor;
    raw_put(r, greeting, sizeof greeting);
    raw_put(r, READY_PUB, sizeof READY_PUB - 1);
    CHECK_INT(mm_wait_peers(r->ours, 1, PATIENCE_MS, 0), MM_OK);
    (void)raw_take(r);
    return s;
}

/* A Sub is asked to, an XSub sent a message. */
static void
change(story *s, int role, int i)
{
    uint8_t message[TOPIC_SIZE_MAX + 2] = { !s->ours[i] };
    size_t size = topic_of(i, message + 1);
    if (role == MM_XSUB) {
        CHECK_INT(mm_send(s->r.ours, message, size + 1, 0, 0), MM_OK);
    } else if (s->ours[i]) {
        CHECK_INT(mm_unsubscribe(s->r.ours, message + 1, size), MM_OK);
    } else {
        CHECK_INT(mm_subscribe(s->r.ours, message + 1, size), MM_OK);
    }
    s->ours[i] = !s->ours[i];
}

/* Reads all that there is, and believes it; nothing is said twice.  Returns how many octets. */
static size_t
hear(story *s)
{
    size_t got = raw_take(&s->r);
    for (size_t at = 0; at < got;) {
        mmi_frame_head head;
        int n = mmi_frame_head_parse(raw_taken + at, got - at, &head);
        CHECK(n > 0 && head.size <= got - at - (size_t)n);
        const uint8_t *body = raw_taken + at + n;
        mmi_command c = { .kind = body[0] == 1 ? MMI_COMMAND_SUBSCRIBE : MMI_COMMAND_CANCEL,
                          .data = body + 1,
                          .size = (size_t)head.size - 1 };
        CHECK_INT((head.flags & MMI_FRAME_COMMAND) != 0, s->minor > 0);
        CHECK(s->minor == 0 || mmi_command_parse(body, (size_t)head.size, &c) == MM_OK);
        if (c.kind == MMI_COMMAND_SUBSCRIBE || c.kind == MMI_COMMAND_CANCEL) {
            int i = topic_index(c.data, c.size);
            CHECK_INT(s->told[i], c.kind == MMI_COMMAND_CANCEL);
            s->told[i] = !s->told[i];
        }
        at += (size_t)n + (size_t)head.size;
    }
    return got;
}

static void
check_told(const story *s)
{
    CHECK(memcmp(s->ours, s->told, sizeof s->ours) == 0);
}

static void
check_bounded(int role, int minor)
{
    story s = story_open(role, minor, 1);
    for (int i = 0; i < CHANGES; i++) {
        change(&s, role, (int)(next(&s) % TOPICS));
    }
    CHECK(hear(&s) <= (size_t)WAITING_MAX);
    check_told(&s);
    raw_close(&s.r);
}

static void
test_what_waits_for_a_publisher_that_never_reads_is_bounded(void)
{
    check_bounded(MM_SUB, 1);
    check_bounded(MM_SUB, 0);
    check_bounded(MM_XSUB, 1);
    check_bounded(MM_XSUB, 0);
}

/* It reads now and then, the more seldom the later; a PING goes between the changes. */
static void
check_any_story(int minor, uint32_t seed)
{
    story s = story_open(MM_SUB, minor, seed);
    for (uint32_t i = 0; i < CHANGES / 10; i++) {
        uint32_t which = next(&s) % (i + 1000);
        change(&s, MM_SUB, (int)(next(&s) % (1 + seed * 4 % TOPICS)));
        if (which == 0) {
            CHECK(hear(&s) <= (size_t)WAITING_MAX);
            check_told(&s);
        } else if (which == 1) {
            CHECK_INT(mm_sim_run(s.r.world, MS), MM_OK);
        } else if (which == 2) {
            mm_subscribed_info info;
            (void)(mm_wait_subscribed(s.r.ours, 1, 0, 0, &info) == MM_OK);
        }
    }
    (void)hear(&s);
    check_told(&s);
    raw_close(&s.r);
}

static void
test_after_any_sequence_the_publisher_has_the_topics_that_we_have(void)
{
    for (uint32_t seed = 1; seed <= STORIES; seed++) {
        check_any_story(seed % 2 == 0, seed);
    }
}

/* The PING that was sent last asks for them; its answer is what counts. */
static void
test_a_ping_behind_changes_that_were_summed_up_still_speaks_for_them(void)
{
    story s = story_open(MM_SUB, 1, 1);
    mm_subscribed_info info;
    for (int i = 0; i < CHANGES; i++) {
        change(&s, MM_SUB, i % TOPICS);
    }
    CHECK_INT(mm_wait_subscribed(s.r.ours, 1, 0, 0, &info), MM_EAGAIN);
    CHECK_INT(info.waiting, 1);
    size_t got = hear(&s);
    uint8_t context[MMI_PING_CONTEXT_MAX], pong[MMI_COMMAND_OVERHEAD + MMI_PING_CONTEXT_MAX];
    memcpy(context, raw_taken + got - sizeof context, sizeof context); /* a PING's end */
    raw_put(&s.r, pong, mmi_command_put_pong(pong, context, sizeof context));
    CHECK_INT(mm_sim_run(s.r.world, MS), MM_OK);
    CHECK_INT(mm_wait_subscribed(s.r.ours, 1, 0, 0, &info), MM_OK);
    CHECK_INT(info.probable, 1);
    check_told(&s);
    raw_close(&s.r);
}

int
main(void)
{
    RUN(test_what_waits_for_a_publisher_that_never_reads_is_bounded);
    RUN(test_after_any_sequence_the_publisher_has_the_topics_that_we_have);
    RUN(test_a_ping_behind_changes_that_were_summed_up_still_speaks_for_them);
    return 0;
}
