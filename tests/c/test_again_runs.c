/*
 * test_again_runs.c: messages with an AGAIN each, read many at once, are what they are read one by
 * one; whatever stands between them, and wherever the octets end.
 * Not here: segments without AGAIN (test_arena.c), what a link makes of them (test_link_ack.c).
 */
#include "check.h"
#include "wire/zmtp/reader.h"

enum { STREAM = 8192, MESSAGES = 64, ROUNDS = 6000, RECORDED = STREAM / 2 };

static const mmi_reader_limits wide = { 1 << 20, 100, 1000 };

typedef struct seen {
    mmi_origin origin; /* attempt 0: no AGAIN */
    uint64_t body;     /* a hash of all frames */
    uint32_t frames;
} seen;

typedef struct record {
    seen at[RECORDED];
    uint32_t count, segments;
} record;

static void
note(record *to, const mmi_origin *origin, const mmi_msg *m)
{
    seen *s = &to->at[to->count++];
    CHECK(to->count <= RECORDED);
    s->origin = *origin;
    s->frames = m->frame_count;
    s->body = 0;
    for (uint32_t i = 0; i < m->frame_count; i++) {
        for (size_t k = 0; k < m->frames[i].size; k++) {
            s->body = s->body * 31 + m->frames[i].data[k];
        }
    }
}

/* A run goes on, or begins elsewhere, in each of the ways there are. */
static size_t
stream_of(uint8_t *out, uint32_t *seed)
{
    const mmi_framing *f = &mmi_framing_zmtp_counted;
    mmi_origin origin = { .epoch = 1, .number = 100, .attempt = 1 };
    size_t used = 0, cost;
    uint32_t count = check_random(seed) % MESSAGES;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t sizes[2] = { sizeof i, 3 };
        mmi_msg *m = mmi_msg_new(sizes, check_random(seed) % 6 == 0 ? 2 : 1);
        memcpy(mmi_msg_data(m, 0), &i, sizeof i);
        if (m->frame_count == 2) {
            memset(mmi_msg_data(m, 1), 'x', 3);
        }
        switch (check_random(seed) % 12) {
        case 0: origin.epoch++; break;
        case 1: origin.number += 2; break;
        case 2: origin.attempt++; break;
        case 3: origin.number = UINT64_MAX; break;
        default: origin.number++; break;
        }
        origin.number += origin.number == 0; /* there is no number 0 */
        m->origin = origin;
        m->origin.attempt = check_random(seed) % 7 == 0 ? 0 : origin.attempt;
        f->put(f, m, out + used);
        used += f->size(f, m, &cost);
        CHECK(used <= STREAM);
        mmi_msg_unref(m);
    }
    return used;
}

static void
read_singly(const uint8_t *data, size_t size, record *to)
{
    mmi_reader r;
    mmi_input in;
    mmi_origin again = { .attempt = 0 };
    mmi_reader_init(&r, &wide);
    while (mmi_reader_next(&r, &data, &size, &in) == 1) {
        if (in.msg == NULL) {
            if (in.command.kind == MMI_COMMAND_AGAIN &&
                !mmi_again_get(in.command.data, in.command.size, &again)) {
                break; /* the link ends for it */
            }
            continue;
        }
        note(to, &again, in.msg);
        again.attempt = 0;
        mmi_msg_unref(in.msg);
    }
    mmi_reader_fini(&r);
}

/* As a link reads: what AGAIN is of comes by itself. */
static void
read_runs(uint8_t *data, size_t size, mmi_reader_room room, record *to)
{
    mmi_reader r;
    mmi_input in;
    mmi_origin again = { .attempt = 0 };
    const uint8_t *at = data;
    mmi_reader_init(&r, &wide);
    for (;;) {
        mmi_segment_in *s =
            again.attempt == 0 ? mmi_reader_segment(&r, &at, &size, room, NULL) : NULL;
        for (uint32_t i = 0; s != NULL && i < s->msg.count; i++) {
            mmi_msg *m = mmi_segment_in_copy(s, i);
            note(to, &m->origin, m);
            mmi_msg_unref(m);
        }
        if (s != NULL) {
            to->segments++;
            mmi_msg_unref(&s->msg);
            continue;
        }
        if (mmi_reader_next(&r, &at, &size, &in) != 1) {
            break;
        }
        if (in.msg == NULL) {
            if (in.command.kind == MMI_COMMAND_AGAIN &&
                !mmi_again_get(in.command.data, in.command.size, &again)) {
                break;
            }
            continue;
        }
        note(to, &again, in.msg);
        again.attempt = 0;
        mmi_msg_unref(in.msg);
    }
    mmi_reader_fini(&r);
}

static void
test_runs_are_what_they_are_one_by_one(void)
{
    uint32_t seed = 3;
    uint8_t data[STREAM], copy[STREAM];
    for (int round = 0; round < ROUNDS; round++) {
        size_t size = stream_of(data, &seed);
        size -= size > 0 && round % 3 == 0 ? check_random(&seed) % size : 0;
        for (uint32_t flips = size > 0 && round % 2 == 0 ? check_random(&seed) % 4 : 0; flips > 0;
             flips--) { /* whatever else somebody may send */
            data[check_random(&seed) % size] ^= (uint8_t)(1 << check_random(&seed) % 8);
        }
        static record runs, single;
        runs.count = single.count = 0;
        mmi_reader_room room = { .messages = 1 + check_random(&seed) % MESSAGES, .cost = 1 << 20 };
        memcpy(copy, data, size);
        read_singly(data, size, &single);
        read_runs(copy, size, room, &runs);
        CHECK_INT(runs.count, single.count);
        for (uint32_t i = 0; i < runs.count; i++) {
            const seen *a = &runs.at[i], *b = &single.at[i];
            CHECK(a->body == b->body && a->frames == b->frames);
            CHECK_INT(a->origin.attempt, b->origin.attempt);
            CHECK(b->origin.attempt == 0 ||
                  (a->origin.epoch == b->origin.epoch && a->origin.number == b->origin.number));
        }
    }
}

static void
test_numbers_in_a_row_are_one_segment(void)
{
    const mmi_framing *f = &mmi_framing_zmtp_counted;
    uint8_t data[STREAM];
    size_t size = 0, cost;
    for (uint64_t i = 0; i < MESSAGES; i++) {
        mmi_msg *m = mmi_msg_copy((const uint8_t *)&i, sizeof i);
        m->origin = (mmi_origin){ .epoch = 5, .number = 700 + i, .attempt = 1 };
        f->put(f, m, data + size);
        size += f->size(f, m, &cost);
        mmi_msg_unref(m);
    }
    record runs = { .count = 0 };
    read_runs(data, size, (mmi_reader_room){ .messages = 1000, .cost = 1 << 20 }, &runs);
    CHECK(runs.count == MESSAGES && runs.segments == 1);
    CHECK(runs.at[9].origin.number == 709 && runs.at[9].origin.epoch == 5);
}

/* Such an AGAIN is told as before: the run ends in front of it. */
static void
test_a_bad_again_is_no_part_of_a_run(void)
{
    const mmi_framing *f = &mmi_framing_zmtp_counted;
    for (size_t at = 0; at < MMI_COMMAND_AGAIN_SIZE; at++) {
        uint64_t body = 1;
        uint8_t data[STREAM];
        size_t size = 0, cost;
        for (uint64_t i = 0; i < 2; i++) {
            mmi_msg *m = mmi_msg_copy((const uint8_t *)&body, sizeof body);
            m->origin = (mmi_origin){ .epoch = 5, .number = 1 + i, .attempt = 1 };
            f->put(f, m, data + size);
            size += i == 0 ? f->size(f, m, &cost) : 0;
            mmi_msg_unref(m);
        }
        data[size + at] ^= 0x80;
        const uint8_t *from = data;
        size_t left = size + MMI_COMMAND_AGAIN_SIZE + 2 + sizeof body;
        mmi_reader r;
        mmi_reader_init(&r, &wide);
        mmi_reader_room room = { .messages = 10, .cost = 1 << 20 };
        mmi_segment_in *s = mmi_reader_segment(&r, &from, &left, room, NULL);
        CHECK(s != NULL && s->msg.count == 1 && from == data + size);
        mmi_msg_unref(&s->msg);
        mmi_reader_fini(&r);
    }
}

int
main(void)
{
    RUN(test_runs_are_what_they_are_one_by_one);
    RUN(test_numbers_in_a_row_are_one_segment);
    RUN(test_a_bad_again_is_no_part_of_a_run);
    return 0;
}
