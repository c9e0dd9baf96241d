/*
 * test_takes.c: peers that say what they take: none is ever queued more than that, however what it
 * is sent was queued before; the word by which they say it.
 * Not here: connections (tests/unit/test_takes*.py).
 * Law: what a peer does not take is refused, goes to others or is counted; nothing else is.
 */
#include "queue/backlog.h"
#include "queue/pipe.h"
#include "wire/wire.h"
#include "fake.h"

enum { ROUNDS = 300, STEPS = 200, SIZE_MAX_OF_TEST = 40 * 1024 };

/* Messages of an entry, which are no more than its peer takes. */
static uint32_t
entry_fits(const mmi_pipe *p, mmi_msg *m)
{
    mmi_segment_out *segment = mmi_segment_out_of(m);
    if (segment == NULL) {
        CHECK(mmi_pipe_takes(p, m->size, m->frame_count));
        return 1;
    }
    uint32_t count = 0;
    size_t cost;
    for (size_t at = segment->first; at < segment->used; count++) {
        mmi_msg *one = segment->framing->open(segment->framing, segment->data + at);
        CHECK(one != NULL && mmi_pipe_takes(p, one->size, one->frame_count));
        mmi_msg_unref(one);
        at += segment->framing->next(segment->framing, segment->data + at, &cost);
    }
    CHECK_INT(count, m->count);
    return count;
}

/* All that is queued for it is taken, and fits; how many. */
static uint32_t
take_fitting(fake_pipe *p)
{
    uint32_t count = 0;
    for (mmi_msg *m; (m = fake_take(p)) != NULL;) {
        count += entry_fits(&p->pipe, m);
        mmi_msg_unref(m);
    }
    return count;
}

static mmi_msg *
sized(size_t size, uint32_t frames)
{
    uint64_t sizes[8] = { size };
    mmi_msg *m = mmi_msg_new(sizes, frames);
    CHECK(m != NULL);
    if (size > 0) {
        memset(mmi_msg_data(m, 0), 'x', size);
    }
    return m;
}

static void
test_what_is_said_is_read_strictly(void)
{
    static const struct {
        const char *features;
        uint64_t size;
        uint32_t frames;       /* 0: it is not said */
    } cases[] = {
        { "", 0, 0 },
        { "1 refuse", 0, 0 },
        { "1 takes=7/3", 7, 3 },
        { "1 takes=0/1 ack", 0, 1 },
        { "1 ack takes=18446744073709551615/4294967295", UINT64_MAX, UINT32_MAX },
        { "1 takes=18446744073709551616/1", 0, 0 },
        { "1 takes=1/4294967296", 0, 0 },
        { "1 takes=99999999999999999999999999999999999999/1", 0, 0 },
        { "1 takes=7/0", 0, 0 },
        { "1 takes=07/3", 0, 0 },
        { "1 takes=7/03", 0, 0 },
        { "1 takes=7", 0, 0 },
        { "1 takes=7/", 0, 0 },
        { "1 takes=/3", 0, 0 },
        { "1 takes=-7/3", 0, 0 },
        { "1 takes=7/3x", 0, 0 },
        { "1 takes=7/3 takes=7/3", 0, 0 },
        { "1 takes=x takes=7/3", 0, 0 },
        { "takes=7/3", 0, 0 },
        { "1 mistakes=7/3", 0, 0 },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cases); i++) {
        uint64_t size = 0;
        uint32_t frames = 0;
        bool said = mmi_wire_takes(cases[i].features, &size, &frames);
        CHECK_INT(said, cases[i].frames > 0);
        CHECK(!said || (size == cases[i].size && frames == cases[i].frames));
    }
}

static void
test_a_segment_is_looked_at_one_by_one_for_who_takes_little(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 100);
    s->segments = true;
    s->framing = &mmi_framing_zmtp;
    fake_pipe *p = fake_connect(s);
    for (size_t size = 1; size <= 20; size++) {
        CHECK_INT(fake_send_msg(s, sized(size, 1)), MM_OK);
    }
    CHECK(p->pipe.outbox.slot_count < 20);   /* they stand in segments */
    fake_cut(p);
    s->takes_size = 10;
    s->takes_frames = 1;
    p = fake_connect(s);
    CHECK_INT(p->pipe.outbox.count, 10);
    CHECK_INT(s->stats.dropped_unencodable, 10);   /* for nobody acknowledges */
    CHECK_INT(take_fitting(p), 10);
    CHECK_INT(fake_send_msg(s, sized(11, 1)), MM_EMSGSIZE);
    CHECK_INT(fake_send_msg(s, sized(5, 2)), MM_EMSGSIZE);
    CHECK_INT(fake_send_msg(s, sized(10, 1)), MM_OK);
    CHECK_INT(take_fitting(p), 1);
    fake_close(s);
}

static void
test_a_burst_is_not_counted_for_who_takes_little(void)
{
    fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_BLOCK, 100);
    s->segments = true;
    s->framing = &mmi_framing_zmtp;
    s->slack = 50;
    fake_pipe *any = fake_connect(s);
    s->takes_size = 10;
    s->takes_frames = 1;
    fake_pipe *little = fake_connect(s);
    CHECK_INT(s->ops->subscription(s->state, &little->pipe, true, NULL, 0), MM_OK);
    CHECK_INT(s->ops->subscription(s->state, &any->pipe, true, NULL, 0), MM_OK);
    for (size_t size = 1; size <= 20; size++) {
        CHECK_INT(fake_send_msg(s, sized(size, 1)), MM_OK);
    }
    CHECK_INT(take_fitting(any), 20);
    CHECK_INT(take_fitting(little), 10);
    CHECK_INT(s->stats.dropped_unencodable, 10);
    fake_close(s);
}

/* One step: a peer comes, goes or is written to, or something is sent.  How many were taken. */
static uint32_t
random_step(fake_sock *s, uint32_t *seed, uint64_t *sent)
{
    static const uint64_t limits[] = { 0, 1, 100, 1000, MMI_SEGMENT_BODY_MAX, UINT64_MAX };
    uint32_t kind = check_random(seed) % 8, taken = 0;
    fake_pipe *p = s->pipe_count > 0 ? s->pipes[check_random(seed) % s->pipe_count] : NULL;
    if (kind == 0 && s->pipe_count < 4) {
        s->takes_size = limits[check_random(seed) % MMI_COUNT_OF(limits)];
        s->takes_frames = check_random(seed) % 4;
        p = fake_connect(s);
        if (s->ops->subscription != NULL) {
            CHECK_INT(s->ops->subscription(s->state, &p->pipe, true, NULL, 0), MM_OK);
        }
    } else if (kind == 1 && p != NULL) {
        taken = take_fitting(p);
    } else if (kind == 2 && p != NULL && check_random(seed) % 4 == 0) {
        taken = take_fitting(p);   /* so none is lost with it but those nobody else takes */
        fake_cut(p);
    } else {
        size_t size = check_random(seed) % (check_random(seed) % 4 == 0 ? SIZE_MAX_OF_TEST : 200);
        *sent += fake_send_msg(s, sized(size, 1 + check_random(seed) % 3)) == MM_OK;
    }
    return taken;
}

static void
test_no_peer_is_queued_more_than_it_takes(void)
{
    static const int roles[] = { MM_PUSH, MM_DEALER, MM_PAIR };
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        uint32_t seed = round * 2654435761u;
        fake_sock *s = fake_open(roles[round % 2], MM_OVERFLOW_BLOCK, 50);
        s->segments = round % 3 != 0;
        s->framing = &mmi_framing_zmtp;
        uint64_t sent = 0, taken = 0;
        for (int i = 0; i < STEPS; i++) {
            taken += random_step(s, &seed, &sent);
        }
        while (s->pipe_count > 0) {
            taken += take_fitting(s->pipes[0]);
            fake_cut(s->pipes[0]);
        }
        CHECK_INT(sent, taken + fake_dropped(s) + fake_queued(s));
        fake_close(s);
    }
}

static void
test_no_subscriber_is_queued_more_than_it_takes(void)
{
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        uint32_t seed = round * 2246822519u;
        fake_sock *s = fake_open(MM_PUB, MM_OVERFLOW_DROP_NEWEST, 50);
        s->segments = round % 3 != 0;
        s->slack = round % 2 == 0 ? 20 : 0;
        s->framing = &mmi_framing_zmtp;
        uint64_t sent = 0;
        for (int i = 0; i < STEPS; i++) {
            (void)random_step(s, &seed, &sent);
        }
        CHECK(sent > 0);
        fake_close(s);
    }
}

int
main(void)
{
    RUN(test_what_is_said_is_read_strictly);
    RUN(test_a_segment_is_looked_at_one_by_one_for_who_takes_little);
    RUN(test_a_burst_is_not_counted_for_who_takes_little);
    RUN(test_no_peer_is_queued_more_than_it_takes);
    RUN(test_no_subscriber_is_queued_more_than_it_takes);
    return 0;
}
