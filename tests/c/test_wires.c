/*
 * test_wires.c: peers of two wires at one socket: how messages look on each, which peer a message
 * goes to, and what becomes of a segment whose peer went away when the next one speaks the other
 * wire.
 * Not here: the octets themselves (tests/unit/test_codec_*.py), connections (tests/unit).
 * Law: what one wire cannot say is refused or counted, and nothing else is lost or changed.
 */
#include "base/limits.h"
#include "queue/backlog.h"
#include "wire/sp/reader.h"
#include "fake.h"

enum { ROUNDS = 2000, STREAM_MAX = 64 * 1024 };

static const mmi_framing *
framing_of(int mapping, int role)
{
    return mmi_framing_sp(mapping, mmi_sp_of_role(role));
}

/* Puts m, takes it apart again, and checks that size, cost and frames are what they were (SP: of
 * what the peer takes it for). */
static void
round_trip(const mmi_framing *f, mmi_msg *m, const char *joined)
{
    size_t cost, again;
    CHECK(f->check == NULL || f->check(f, m) == MM_OK);
    size_t size = f->size(f, m, &cost);
    uint8_t *out = malloc(size);
    CHECK(out != NULL);
    f->put(f, m, out);
    CHECK_INT(f->next(f, out, &again), size);
    CHECK_INT(again, cost);
    size_t at = 0;
    for (uint32_t i = 0; i < m->frame_count; i++) {   /* heads and bodies by turns are the same */
        uint8_t own[MMI_FRAMING_HEAD_MAX];
        size_t head_size;
        const uint8_t *head = f->head(f, m, i, own, &head_size);
        CHECK(memcmp(head, out + at, head_size) == 0);
        at += head_size;
        const mmi_frame *frame = &m->frames[i];
        CHECK(frame->size == 0 || memcmp(frame->data, out + at, frame->size) == 0);
        at += frame->size;
    }
    CHECK_INT(at, size);
    mmi_msg *opened = f->open(f, out);
    CHECK(opened != NULL);
    CHECK_INT(mmi_msg_cost(opened), cost);
    fake_is(opened, joined);
    mmi_msg_unref(m);
    free(out);
}

/* A message of one frame has a short way as well: the same octets, or none. */
static void
test_the_short_way_writes_what_put_does_if_it_fits(void)
{
    static const size_t sizes[] = { 0, 1, 254, 255, 256, 257, 1024, 65535, 65536 };
    static uint8_t body[65536], whole[2][65536 + MMI_FRAME_HEAD_MAX];
    const mmi_framing *f = &mmi_framing_zmtp;
    for (size_t i = 0; i < MMI_COUNT_OF(sizes); i++) {
        mmi_msg m;
        mmi_frame frame;
        size_t cost;
        memset(body, (int)i + 1, sizes[i]);
        memset(whole, 0, sizeof whole);
        mmi_msg_borrow(&m, &frame, body, sizes[i]);
        size_t size = f->size(f, &m, &cost);
        CHECK_INT(f->put_body(body, sizes[i], whole[1], size - 1), 0);
        CHECK_INT(f->put_body(body, sizes[i], whole[1], 0), 0);
        CHECK(memcmp(whole[0], whole[1], sizeof whole[0]) == 0);   /* untouched */
        f->put(f, &m, whole[0]);
        CHECK_INT(f->put_body(sizes[i] > 0 ? body : NULL, sizes[i], whole[1], size), size);
        CHECK(memcmp(whole[0], whole[1], sizeof whole[0]) == 0);
    }
}

static void
test_what_a_framing_puts_it_opens_again(void)
{
    round_trip(&mmi_framing_zmtp, fake_text("body"), "body");
    round_trip(&mmi_framing_zmtp, FRAMES("a", "", "c"), "a||c");
    for (int mapping = MMI_SP_PLAIN; mapping <= MMI_SP_MARKED; mapping++) {
        round_trip(framing_of(mapping, MM_PUSH), fake_text("body"), "body");
        round_trip(framing_of(mapping, MM_PULL), fake_text(""), "");
        round_trip(framing_of(mapping, MM_PAIR), fake_text("body"), "body");
        round_trip(framing_of(mapping, MM_PUB), FRAMES("topic", "body"), "topicbody");
        round_trip(framing_of(mapping, MM_REQ), FRAMES("\200123", "", "q"), "\200123||q");
        round_trip(framing_of(mapping, MM_REP), FRAMES("\001123\200123", "", "a"),
                   "\001123\200123||a");
    }
}

static void
test_sp_has_no_words_for_more_frames_than_its_form(void)
{
    const struct {
        int role;
        mmi_msg *m;
        int rc;
    } cases[] = {
        { MM_PUSH, FRAMES("a", "b"), MM_ENOTSUP },
        { MM_PUB, FRAMES("a", "b", "c"), MM_ENOTSUP },
        { MM_PAIR, FRAMES("a", ""), MM_ENOTSUP },
        { MM_REQ, FRAMES("a", "", "b"), MM_EINVAL },
        { MM_REP, FRAMES("\200123", "", "a", "b"), MM_ENOTSUP },
        { MM_REP, fake_text("no envelope"), MM_EINVAL },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cases); i++) {
        const mmi_framing *f = framing_of(MMI_SP_PLAIN, cases[i].role);
        CHECK_INT(f->check(f, cases[i].m), cases[i].rc);
        mmi_msg_unref(cases[i].m);
    }
}

/* A socket with a peer of each wire. */
static fake_sock *
two_wires(int role, uint32_t overflow, uint32_t queue, fake_pipe **zmtp, fake_pipe **sp)
{
    fake_sock *s = fake_open(role, overflow, queue);
    s->framing = &mmi_framing_zmtp;
    *zmtp = fake_connect(s);
    s->framing = framing_of(MMI_SP_PLAIN, role);
    *sp = fake_connect(s);
    return s;
}

static void
test_frames_go_to_whose_wire_has_them_and_the_turn_goes_on(void)
{
    fake_pipe *zmtp, *sp;
    fake_sock *s = two_wires(MM_PUSH, MM_OVERFLOW_BLOCK, 2, &zmtp, &sp);
    CHECK_INT(fake_send_msg(s, FRAMES("a", "1")), MM_OK);
    CHECK_INT(fake_send_msg(s, FRAMES("a", "2")), MM_OK);
    CHECK(zmtp->pipe.outbox.count == 2 && sp->pipe.outbox.count == 0);
    /* Room, but no words: who waits is not told of it. */
    CHECK_INT(fake_send_msg(s, FRAMES("a", "3")), MM_EAGAIN);
    CHECK_INT(s->ops->ready(s->state), 0);
    CHECK_INT(fake_send(s, "single"), MM_OK);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(fake_send_msg(s, FRAMES("a", "3")), MM_EAGAIN);
    fake_is(fake_take(zmtp), "a|1");
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(fake_send_msg(s, FRAMES("a", "3")), MM_OK);
    fake_is(fake_take(sp), "single");
    fake_close(s);
}

static void
test_frames_that_nobody_can_have_are_refused_whatever_the_policy(void)
{
    const uint32_t policies[] = { MM_OVERFLOW_BLOCK, MM_OVERFLOW_ERROR, MM_OVERFLOW_DROP_NEWEST,
                                  MM_OVERFLOW_DROP_OLDEST };
    for (size_t i = 0; i < MMI_COUNT_OF(policies); i++) {
        fake_sock *s = fake_open(MM_PUSH, policies[i], 1);
        s->framing = framing_of(MMI_SP_PLAIN, MM_PUSH);
        fake_pipe *sp = fake_connect(s);
        CHECK_INT(fake_send_msg(s, FRAMES("a", "b")), MM_ENOTSUP);
        CHECK((s->ops->ready(s->state) & MM_WRITABLE) != 0);
        CHECK_INT(fake_send(s, "x"), MM_OK);
        CHECK_INT(fake_send_msg(s, FRAMES("a", "b")), MM_ENOTSUP);   /* full, too */
        CHECK_INT(fake_dropped(s), 0);
        fake_is(fake_take(sp), "x");
        fake_close(s);
    }
}

static void
test_the_oldest_is_dropped_where_the_new_one_can_go(void)
{
    fake_pipe *zmtp, *sp;
    fake_sock *s = two_wires(MM_PUSH, MM_OVERFLOW_DROP_OLDEST, 1, &zmtp, &sp);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(fake_send_msg(s, FRAMES("a", "b")), MM_OK);
    }
    CHECK_INT(s->stats.dropped_overflow, 4);
    CHECK_INT(sp->pipe.outbox.count, 0);
    fake_is(fake_take(zmtp), "a|b");
    fake_close(s);
}

static void
test_kept_frames_that_the_others_cannot_have_are_counted(void)
{
    fake_pipe *zmtp, *sp;
    fake_sock *s = two_wires(MM_PUSH, MM_OVERFLOW_BLOCK, 10, &zmtp, &sp);
    CHECK_INT(fake_send_msg(s, FRAMES("a", "b")), MM_OK);
    CHECK_INT(fake_send(s, "to sp"), MM_OK);
    CHECK_INT(fake_send(s, "one"), MM_OK);
    fake_cut(zmtp);
    CHECK_INT(s->stats.dropped_unencodable, 1);
    fake_is(fake_take(sp), "to sp");
    fake_is(fake_take(sp), "one");
    CHECK_INT(fake_dropped(s), 1);
    fake_close(s);
}

/* The messages of the outbox, a segment, joined by '|', frames by '+'. */
static void
outbox_is(const fake_pipe *p, const char *wanted)
{
    char text[256] = "";
    const mmi_framing *f = p->pipe.framing;
    mmi_pipe_invariants(&p->pipe);
    for (uint32_t i = 0; i < p->pipe.outbox.slot_count; i++) {
        mmi_segment_out *segment = mmi_segment_out_of(mmi_ring_at(&p->pipe.outbox, i));
        CHECK(segment != NULL && segment->framing == f);
        size_t cost;
        for (size_t at = segment->first; at < segment->used;
             at += f->next(f, segment->data + at, &cost)) {
            mmi_msg *m = f->open(f, segment->data + at);
            for (uint32_t j = 0; j < m->frame_count; j++) {
                size_t used = strlen(text);
                snprintf(text + used, sizeof text - used, "%s%.*s",
                         used == 0 ? ""
                         : j == 0  ? "|"
                                   : "+",
                         (int)m->frames[j].size, (const char *)m->frames[j].data);
            }
            mmi_msg_unref(m);
        }
    }
    if (strcmp(text, wanted) != 0) {
        fprintf(stderr, "the outbox is \"%s\", wanted \"%s\"\n", text, wanted);
        exit(1);
    }
}

static const mmi_framing *
pair_v0(void)
{
    return mmi_framing_sp(MMI_SP_MARKED, mmi_sp_find(MMI_SP_PAIR0));
}

static void
test_a_segment_is_transcoded_for_the_next_peer(void)
{
    fake_sock *s = fake_open(MM_PAIR, MM_OVERFLOW_BLOCK, 100);
    const mmi_framing *wires[] = { &mmi_framing_zmtp, framing_of(MMI_SP_PLAIN, MM_PAIR), pair_v0(),
                                   &mmi_framing_zmtp, pair_v0() };
    s->segments = true;
    s->framing = wires[0];
    fake_pipe *p = fake_connect(s);
    CHECK_INT(fake_send(s, "one"), MM_OK);
    CHECK_INT(fake_send_msg(s, FRAMES("no", "words")), MM_OK);
    CHECK_INT(fake_send(s, ""), MM_OK);
    CHECK_INT(fake_send(s, "four"), MM_OK);
    outbox_is(p, "one|no+words||four");
    for (size_t i = 1; i < MMI_COUNT_OF(wires); i++) {
        fake_cut(p);
        s->framing = wires[i];
        p = fake_connect(s);
        outbox_is(p, "one||four");
        CHECK_INT(p->pipe.accepted, 3);
        CHECK_INT(s->stats.dropped_unencodable, 1);
    }
    CHECK_INT(fake_send(s, "five"), MM_OK);
    outbox_is(p, "one||four|five");
    CHECK_INT(fake_queued(s), 4);
    fake_close(s);
}

static void
test_a_segment_of_nothing_but_frames_leaves_nothing(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 100);
    s->segments = true;
    s->framing = &mmi_framing_zmtp;
    fake_pipe *p = fake_connect(s);
    CHECK_INT(fake_send_msg(s, FRAMES("a", "b")), MM_OK);
    CHECK_INT(fake_send_msg(s, FRAMES("c", "d")), MM_OK);
    fake_cut(p);
    s->framing = framing_of(MMI_SP_PLAIN, MM_PUSH);
    p = fake_connect(s);
    CHECK(p->pipe.outbox.slot_count == 0 && p->wrote_count == 0 && p->pipe.accepted == 0);
    CHECK(s->stats.dropped_unencodable == 2 && fake_queued(s) == 0);
    fake_close(s);
}

static void
test_without_memory_what_is_left_of_a_segment_stays(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 100);
    s->segments = true;
    s->framing = &mmi_framing_zmtp;
    fake_pipe *p = fake_connect(s);
    CHECK_INT(fake_send(s, "one"), MM_OK);
    CHECK_INT(fake_send_msg(s, FRAMES("no", "words")), MM_OK);
    CHECK_INT(fake_send(s, "three"), MM_OK);
    fake_cut(p);
    s->framing = framing_of(MMI_SP_MARKED, MM_PUSH);
    mm_test_alloc_fail(1);   /* the first message, when the peer comes */
    p = fake_connect(s);
    uint64_t bytes;
    CHECK_INT(mmi_back_count(s->host.back, &bytes), 3);
    int64_t failures = 0;
    for (int64_t n = 1; mmi_back_count(s->host.back, &bytes) > 0; n = failures % 5 + 1) {
        CHECK_INT(fake_queued(s) + s->stats.dropped_unencodable, 3);
        mm_test_alloc_fail(n);
        s->ops->out(s->state, &p->pipe);
        mm_test_alloc_fail(0);
        failures++;
    }
    CHECK(failures > 3);
    outbox_is(p, "one|three");
    CHECK_INT(s->stats.dropped_unencodable, 1);
    fake_close(s);
}

static void
test_a_publisher_counts_what_a_wire_cannot_say(void)
{
    const uint32_t policies[] = { MM_OVERFLOW_BLOCK, MM_OVERFLOW_DROP_OLDEST };
    for (size_t i = 0; i < MMI_COUNT_OF(policies); i++) {
        fake_pipe *zmtp, *sp;
        fake_sock *s = two_wires(MM_PUB, policies[i], 1, &zmtp, &sp);
        const uint8_t *topic = (const uint8_t *)"t";
        CHECK_INT(s->ops->subscription(s->state, &zmtp->pipe, true, topic, 1), MM_OK);
        CHECK_INT(s->ops->subscription(s->state, &sp->pipe, true, topic, 0), MM_OK);
        CHECK_INT(fake_send_msg(s, FRAMES("other", "body")), MM_OK);
        /* sp is full: no matter */
        CHECK_INT(fake_send_msg(s, FRAMES("t", "two", "three")), MM_OK);
        CHECK_INT(s->stats.dropped_unencodable, 1);
        CHECK_INT(fake_dropped(s), 1);
        fake_is(fake_take(sp), "other|body");
        fake_is(fake_take(zmtp), "t|two|three");
        fake_close(s);
    }
}

static void
test_a_reply_in_frames_to_a_peer_of_sp_is_refused_and_can_be_made_anew(void)
{
    fake_sock *s = fake_open(MM_REP, MM_OVERFLOW_ERROR, 10);
    s->framing = framing_of(MMI_SP_PLAIN, MM_REP);
    fake_pipe *p = fake_connect(s);
    CHECK_INT(fake_deliver(p, FRAMES("\200123", "", "q")), MM_OK);
    fake_recv_is(s, "\200123||q");
    mmi_msg *frames = FRAMES("\200123", "", "a", "b"), *one = FRAMES("\200123", "", "a");
    frames->pipe_id = one->pipe_id = p->pipe.id;
    CHECK_INT(fake_send_msg(s, frames), MM_ENOTSUP);
    CHECK_INT(fake_send_msg(s, one), MM_OK);
    fake_is(fake_take(p), "\200123||a");
    CHECK_INT(fake_dropped(s), 0);
    fake_close(s);
}

static bool
keep_even(void *asked, const uint8_t *data, size_t size)
{
    ++*(uint32_t *)asked;
    return size > 0 && data[0] % 2 == 0;
}

static void
test_sifting_a_segment_keeps_the_wanted_in_order(void)
{
    uint32_t seed = 7;
    for (int round = 0; round < 200; round++) {
        uint32_t count = 1 + check_random(&seed) % 20, size = check_random(&seed) % 5, asked = 0;
        mmi_segment_in *segment = mmi_segment_in_new(count, count, (size_t)count * size);
        uint8_t wanted[20];
        uint32_t kept = 0;
        for (uint32_t i = 0; i <= count; i++) {
            segment->offset[i] = i * size;
            if (i < count && size > 0) {
                uint8_t letter = (uint8_t)check_random(&seed);
                memset(segment->data + (size_t)i * size, letter, size);
                if (letter % 2 == 0) {
                    wanted[kept++] = letter;
                }
            }
        }
        segment->one_size = size;
        CHECK_INT(mmi_segment_in_sift(segment, keep_even, &asked), count - kept);
        CHECK_INT(asked, count);
        CHECK_INT(segment->msg.count, kept);
        CHECK_INT(segment->msg.cost, kept * (size + MMI_FRAME_OVERHEAD));
        for (uint32_t i = 0; i < kept; i++) {
            mmi_msg *m = mmi_segment_in_copy(segment, i);
            CHECK(m->size == size && m->frames[0].data[size - 1] == wanted[i]);
            mmi_msg_unref(m);
        }
        mmi_msg_unref(&segment->msg);
    }
}

/* A stream of SP messages; some with a hop count that is to be skipped, if the form has one. */
static size_t
stream_of(const mmi_framing *f, uint8_t *out, uint32_t *seed)
{
    size_t used = 0, cost;
    uint32_t count = check_random(seed) % 40;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t body[600];
        size_t size = check_random(seed) % (check_random(seed) % 8 == 0 ? sizeof body : 20);
        memset(body, (int)i, sizeof body);
        mmi_msg *m = mmi_msg_copy(body, size);
        f->put(f, m, out + used);
        if (f->form == MMI_SP_HOPS && check_random(seed) % 10 == 0) {
            out[used + mmi_sp_length_size(f->mapping) + 3] = MMI_SP_HOPS_MAX + 1;
        }
        used += f->size(f, m, &cost);
        mmi_msg_unref(m);
    }
    return used;
}

/* Bodies end to end, by way of segments as far as there is room for, or one by one. */
static size_t
read_all(const mmi_framing *f, const uint8_t *data, size_t size, uint32_t *seed, uint8_t *out)
{
    mmi_sp_reader r;
    mmi_sp_reader_limits limits = {
        .message_size_max = 500, .hops_max = MMI_SP_HOPS_MAX, .mapping = f->mapping, .form = f->form
    };
    size_t used = 0;
    int rc = 1;
    mmi_sp_reader_init(&r, &limits);
    while (rc > 0) {
        mmi_segment_in *segment = NULL;
        if (seed != NULL) {
            mmi_reader_room room = { .messages = check_random(seed) % 4,
                                     .cost = check_random(seed) % 700 };
            segment = mmi_sp_reader_segment(&r, &data, &size, room, NULL);
            CHECK(segment == NULL ||
                  (segment->msg.count <= room.messages && segment->msg.cost <= room.cost));
        }
        if (segment != NULL) {
            size_t bytes = mmi_segment_in_bytes(segment, 0, segment->msg.count);
            for (uint32_t i = 0; segment->one_size > 0 && i < segment->msg.count; i++) {
                CHECK_INT(mmi_segment_in_bytes(segment, i, 1), segment->one_size);
            }
            memcpy(out + used, segment->data, bytes);
            used += bytes;
            mmi_msg_unref(&segment->msg);
            continue;
        }
        mmi_input in;
        rc = mmi_sp_reader_next(&r, &data, &size, &in);
        if (rc > 0) {
            memcpy(out + used, in.msg->frames[0].data, in.msg->size);
            used += in.msg->size;
            mmi_msg_unref(in.msg);
        }
    }
    out[used++] = (uint8_t)r.reason;
    out[used++] = (uint8_t)r.skipped;
    mmi_sp_reader_fini(&r);
    return used;
}

static void
test_segments_and_single_messages_are_the_same_bodies(void)
{
    static uint8_t stream[STREAM_MAX], packed[STREAM_MAX], single[STREAM_MAX];
    const mmi_framing *forms[] = { framing_of(MMI_SP_PLAIN, MM_PUSH),
                                   framing_of(MMI_SP_MARKED, MM_PUSH),
                                   framing_of(MMI_SP_PLAIN, MM_PAIR),
                                   framing_of(MMI_SP_MARKED, MM_PAIR) };
    uint32_t seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        const mmi_framing *f = forms[round % (int)MMI_COUNT_OF(forms)];
        size_t size = stream_of(f, stream, &seed);
        size -= size > 0 && round % 3 == 0 ? check_random(&seed) % size : 0;
        size_t used = read_all(f, stream, size, &seed, packed);
        CHECK_INT(read_all(f, stream, size, NULL, single), used);
        CHECK(memcmp(packed, single, used) == 0);
    }
}

int
main(void)
{
    RUN(test_the_short_way_writes_what_put_does_if_it_fits);
    RUN(test_what_a_framing_puts_it_opens_again);
    RUN(test_sp_has_no_words_for_more_frames_than_its_form);
    RUN(test_frames_go_to_whose_wire_has_them_and_the_turn_goes_on);
    RUN(test_frames_that_nobody_can_have_are_refused_whatever_the_policy);
    RUN(test_the_oldest_is_dropped_where_the_new_one_can_go);
    RUN(test_kept_frames_that_the_others_cannot_have_are_counted);
    RUN(test_a_segment_is_transcoded_for_the_next_peer);
    RUN(test_a_segment_of_nothing_but_frames_leaves_nothing);
    RUN(test_without_memory_what_is_left_of_a_segment_stays);
    RUN(test_a_publisher_counts_what_a_wire_cannot_say);
    RUN(test_a_reply_in_frames_to_a_peer_of_sp_is_refused_and_can_be_made_anew);
    RUN(test_sifting_a_segment_keeps_the_wanted_in_order);
    RUN(test_segments_and_single_messages_are_the_same_bodies);
    return 0;
}
