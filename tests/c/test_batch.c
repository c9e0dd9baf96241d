/*
 * test_batch.c: what a batch holds of the segment, and of the arena, that its messages came in.
 * Not here: taking messages from sockets (test_engine_*.c), Arrow (test_arrow.c).
 * Law: a batch that lasts pins at most PINS_TIMES its own octets, or that of LEAST octets; its
 * messages are the same, copied or not.
 */
#include "batch/batch.h"

#include "check.h"

enum { PINS_TIMES = 8, LEAST = 4096, BODY = 64, PEER = 77, KEPT = 500 };

static uint8_t
octet_of(uint32_t i, uint32_t j)
{
    return (uint8_t)(i * 31 + j);
}

/* A segment of as many messages as an arena takes, each of frames of BODY octets. */
static mmi_segment_in *
segment_in(mmi_arena *arena, uint32_t frames_each)
{
    uint32_t frames = MMI_IO_BUFFER_SIZE / BODY / frames_each * frames_each;
    uint32_t count = frames / frames_each;
    mmi_segment_in *segment =
        mmi_segment_in_over(count, frames, (size_t)frames * BODY, arena, arena->data);
    CHECK(segment != NULL);
    for (uint32_t i = 0; i < frames; i++) {
        segment->offset[i] = i * BODY;
        for (uint32_t j = 0; j < BODY; j++) {
            segment->data[i * BODY + j] = octet_of(i, j);
        }
    }
    segment->offset[frames] = frames * BODY;
    for (uint32_t i = 0; segment->first_frame != NULL && i <= count; i++) {
        segment->first_frame[i] = i * frames_each;
    }
    segment->one_size = frames_each == 1 ? BODY : 0;
    segment->msg.pipe_id = PEER;
    return segment;
}

static mmi_batch *
batch_new(bool lasting)
{
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    ((mmi_batch *)batch)->lasting = lasting;
    return (mmi_batch *)batch;
}

/* Adds count messages from the first-th on. */
static void
batch_take(mmi_batch *b, mmi_segment_in *segment, uint32_t first, uint32_t count)
{
    mmi_span span = { .msg = mmi_msg_ref(&segment->msg), .first = first, .count = count };
    span.bytes = mmi_segment_in_bytes(segment, first, count);
    CHECK_INT(mmi_batch_reserve(b), MM_OK);
    mmi_batch_add(b, &span);
}

static void
batch_fill(mmi_batch *b)
{
    uint32_t lost;
    CHECK_INT(mmi_batch_fill(b, &lost), MM_OK);
    CHECK_INT(lost, 0);
    CHECK_INT(mmi_batch_bodies(b), MM_OK);
}

/* The bodies are the last frames of messages [first, first + count). */
static void
check_bodies(const mmi_batch *b, uint32_t first, uint32_t count, uint32_t frames_each)
{
    const mm_batch *pub = &b->pub;
    CHECK_INT(pub->message_count, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *at = pub->body + pub->body_offset[i];
        uint32_t frame = (first + i) * frames_each + frames_each - 1;
        CHECK_INT(pub->body_offset[i + 1] - pub->body_offset[i], BODY);
        for (uint32_t j = 0; j < BODY; j++) {
            CHECK_INT(at[j], octet_of(frame, j));
        }
        CHECK_INT(pub->peer != NULL ? pub->peer[i] : pub->one_peer, PEER);
    }
}

/* Does a batch of count messages refer to the arena after the segment itself is gone? */
static bool
stays(bool lasting, uint32_t first, uint32_t count, uint32_t frames_each)
{
    mmi_arena *arena = mmi_arena_new();
    CHECK(arena != NULL);
    mmi_segment_in *segment = segment_in(arena, frames_each);
    mmi_batch *b = batch_new(lasting);
    batch_take(b, segment, first, count);
    CHECK_INT(segment->pinned > MMI_IO_BUFFER_SIZE, true);
    mmi_msg_unref(&segment->msg);
    batch_fill(b);
    check_bodies(b, first, count, frames_each);
    bool pinned = mmi_arena_shared(arena);
    CHECK(!pinned || b->whole != NULL);
    const uint8_t *body = b->pub.body + b->pub.body_offset[0];
    CHECK(!pinned || frames_each > 1 || body == arena->data + (size_t)first * BODY);
    mm_batch_free(&b->pub);
    CHECK(!mmi_arena_shared(arena));
    mmi_arena_unref(arena);
    return pinned;
}

/* The fewest messages of which a lasting batch is no copy. */
static uint32_t
least_that_stays(uint32_t frames_each)
{
    mmi_arena *arena = mmi_arena_new();
    mmi_segment_in *segment = segment_in(arena, frames_each);
    size_t each = frames_each * (BODY + sizeof *segment->offset);
    uint32_t least = (uint32_t)((segment->pinned + PINS_TIMES * each - 1) / (PINS_TIMES * each));
    mmi_msg_unref(&segment->msg);
    mmi_arena_unref(arena);
    return least;
}

static void
test_a_small_part_of_an_arena_is_copied_and_a_sizable_one_is_not(void)
{
    for (uint32_t frames_each = 1; frames_each <= 3; frames_each++) {
        uint32_t least = least_that_stays(frames_each);
        CHECK(!stays(true, 0, 1, frames_each));
        CHECK(!stays(true, 5, least - 1, frames_each));
        CHECK(stays(true, 0, least, frames_each));
        CHECK(stays(true, 5, least + 1, frames_each));
    }
}

static void
test_a_batch_that_does_not_last_is_never_copied(void)
{
    CHECK(stays(false, 0, 1, 1));
    CHECK(stays(false, 9, 2, 2));
}

static void
test_a_segment_that_is_no_more_than_a_copy_is_not_copied(void)
{
    uint32_t most = PINS_TIMES * LEAST / (BODY + sizeof(uint32_t));
    for (uint32_t count = most - 8; count < most + 8; count++) {
        mmi_segment_in *segment = mmi_segment_in_new(count, count, (size_t)count * BODY);
        for (uint32_t i = 0; i <= count; i++) {
            segment->offset[i] = i * BODY;
        }
        memset(segment->data, 3, (size_t)count * BODY);
        size_t held = segment->pinned;
        mmi_batch *b = batch_new(true);
        batch_take(b, segment, 0, 1);
        mmi_msg_unref(&segment->msg);
        batch_fill(b);
        CHECK_INT(b->whole == NULL, held > PINS_TIMES * LEAST);
        mm_batch_free(&b->pub);
    }
}

static void
test_many_small_batches_keep_no_arena(void)
{
    mmi_batch *kept[KEPT];
    int64_t before, after;
    (void)mm_test_alloc_live(&before);
    for (uint32_t i = 0; i < KEPT; i++) {
        mmi_arena *arena = mmi_arena_new();
        mmi_segment_in *segment = segment_in(arena, 1);
        kept[i] = batch_new(true);
        batch_take(kept[i], segment, i, 32);
        mmi_msg_unref(&segment->msg);
        batch_fill(kept[i]);
        CHECK(!mmi_arena_shared(arena));
        mmi_arena_unref(arena);
    }
    (void)mm_test_alloc_live(&after);
    CHECK(after - before < KEPT * 4 * LEAST + MMI_IO_BUFFER_SIZE);   /* and an arena to spare */
    for (uint32_t i = 0; i < KEPT; i++) {
        check_bodies(kept[i], i, 32, 1);
        mm_batch_free(&kept[i]->pub);
    }
}

static void
test_without_memory_for_a_copy_a_batch_pins_and_loses_nothing(void)
{
    for (int64_t countdown = 1; countdown <= 5; countdown++) {
        mmi_arena *arena = mmi_arena_new();
        mmi_segment_in *segment = segment_in(arena, 1);
        mmi_batch *b = batch_new(true);
        batch_take(b, segment, 4, 3);
        mmi_msg_unref(&segment->msg);
        uint32_t lost;
        mm_test_alloc_fail(countdown);
        CHECK_INT(mmi_batch_fill(b, &lost), MM_OK);
        mm_test_alloc_fail(0);
        CHECK_INT(mmi_batch_bodies(b), MM_OK);
        CHECK(mmi_arena_shared(arena));
        check_bodies(b, 4, 3, 1);
        mm_batch_free(&b->pub);
        mmi_arena_unref(arena);
    }
}

/* Is a batch of this message alone the message itself?  Whether or not, its frames are the same. */
static bool
is_lent(const uint64_t *sizes, uint32_t frames)
{
    mmi_msg *m = mmi_msg_new(sizes, frames);
    CHECK(m != NULL);
    for (uint32_t i = 0; i < frames; i++) {
        memset(mmi_msg_data(m, i), (int)i + 1, sizes[i]);
    }
    mmi_batch *b = batch_new(false);
    mmi_span span = { .msg = m, .count = 1, .bytes = m->size };
    CHECK_INT(mmi_batch_reserve(b), MM_OK);
    mmi_batch_add(b, &span);
    batch_fill(b);
    CHECK_INT(b->pub.message_count, 1);
    bool lent = b->pub.big != NULL;
    for (uint32_t i = 0; i < frames; i++) {
        uint64_t size = lent ? 0 : b->pub.offset[i + 1] - b->pub.offset[i];
        const uint8_t *data =
            lent ? mm_msg_frame(b->pub.big, i, &size) : b->pub.data + b->pub.offset[i];
        CHECK_INT(size, sizes[i]);
        CHECK(data[0] == i + 1 && data[size - 1] == i + 1);
    }
    CHECK_INT(b->pub.body_offset[1], sizes[frames - 1]);
    mm_batch_free(&b->pub);
    return lent;
}

static void
test_a_lone_message_is_lent_if_any_of_its_frames_is_over_the_limit(void)
{
    enum { MOST = MMI_BATCH_INLINE_MAX };
    CHECK(!is_lent((uint64_t[]){ MOST }, 1));
    CHECK(is_lent((uint64_t[]){ MOST + 1 }, 1));
    CHECK(!is_lent((uint64_t[]){ MOST, MOST, MOST }, 3));
    CHECK(is_lent((uint64_t[]){ MOST + 1, 1, 1 }, 3));
    CHECK(is_lent((uint64_t[]){ 1, MOST + 1, 1 }, 3));
    CHECK(is_lent((uint64_t[]){ 1, 1, MOST + 1 }, 3));
}

int
main(void)
{
    int64_t live;
    (void)mm_test_alloc_live(&live);   /* counts from now on */
    RUN(test_a_small_part_of_an_arena_is_copied_and_a_sizable_one_is_not);
    RUN(test_a_batch_that_does_not_last_is_never_copied);
    RUN(test_a_segment_that_is_no_more_than_a_copy_is_not_copied);
    RUN(test_many_small_batches_keep_no_arena);
    RUN(test_a_lone_message_is_lent_if_any_of_its_frames_is_over_the_limit);
    RUN(test_without_memory_for_a_copy_a_batch_pins_and_loses_nothing);
    return 0;
}
