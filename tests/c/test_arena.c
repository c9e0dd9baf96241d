/*
 * test_arena.c: segments that stay in the arena they were read into, for both wires; spare blocks.
 * Not here: reading in general (test_reader.c), segments that are copied (test_wires.c).
 * Law: the bodies are those that one by one would give; what a segment refers to stays as it is.
 */
#include "base/arena.h"
#include "check.h"
#include "meshmsg_testing.h"
#include "wire/framing.h"
#include "wire/zmtp/reader.h"
#include "wire/sp/reader.h"

enum { ROUNDS = 60, BODY_MAX = 20000, MESSAGES_MAX = 65536 };

static const mmi_reader_limits wide = { 1 << 20, 100, 1000 };
static const mmi_reader_room plenty = { MESSAGES_MAX, 1 << 30 };
static uint8_t pattern[BODY_MAX + 256];

static void
test_spare_blocks_are_kept_up_to_a_number_and_given_out_again(void)
{
    static mmi_spares spares = MMI_SPARES_INIT;
    int blocks[3];
    CHECK(mmi_spare_take(&spares) == NULL);
    CHECK(mmi_spare_keep(&spares, &blocks[0], 2));
    CHECK(mmi_spare_keep(&spares, &blocks[1], 2));
    CHECK(!mmi_spare_keep(&spares, &blocks[2], 2));
    CHECK(mmi_spare_take(&spares) == &blocks[1]);
    CHECK(mmi_spare_take(&spares) == &blocks[0]);
    CHECK(mmi_spare_take(&spares) == NULL);
    for (int i = 0; i < MMI_SPARES_MAX; i++) {
        CHECK(mmi_spare_keep(&spares, &blocks[0], UINT32_MAX));
    }
    CHECK(!mmi_spare_keep(&spares, &blocks[0], UINT32_MAX));
}

static void
test_who_finds_the_spare_blocks_in_use_does_without(void)
{
    static mmi_spares spares = MMI_SPARES_INIT;
    int block;
    CHECK(mmi_spare_keep(&spares, &block, 1));
    CHECK(!atomic_flag_test_and_set(&spares.busy));   /* as a fork in the middle leaves it */
    CHECK(mmi_spare_take(&spares) == NULL);
    CHECK(!mmi_spare_keep(&spares, &block, 2));
    atomic_flag_clear(&spares.busy);
    CHECK(mmi_spare_take(&spares) == &block);
}

/* Messages of random sizes in the words of a wire, up to size octets; how many octets. */
static size_t
write_stream(const mmi_framing *f, uint8_t *out, size_t size, size_t body_max, uint32_t frames_max,
             uint32_t *seed)
{
    size_t used = 0, cost;
    for (;;) {
        uint32_t frames = 1 + check_random(seed) % frames_max;
        uint64_t sizes[4];
        for (uint32_t i = 0; i < frames; i++) {
            sizes[i] = check_random(seed) % body_max;
        }
        mmi_msg *m = mmi_msg_new(sizes, frames);
        for (uint32_t i = 0; i < frames; i++) {
            memcpy(mmi_msg_data(m, i), pattern + check_random(seed) % 256, (size_t)sizes[i]);
        }
        bool fits = f->size(f, m, &cost) <= size - used;
        if (fits) {
            f->put(f, m, out + used);
            used += f->size(f, m, &cost);
        }
        mmi_msg_unref(m);
        if (!fits) {
            return used;
        }
    }
}

/* Every frame of a segment against the octets as they came, which next walks. */
static void
check_segment(const mmi_framing *f, const mmi_segment_in *segment, const uint8_t *at)
{
    for (uint32_t i = 0; i < segment->msg.count; i++) {
        size_t cost;
        mmi_msg *wanted = f->open(f, at), *is = mmi_segment_in_copy(segment, i);
        CHECK_INT(is->frame_count, wanted->frame_count);
        for (uint32_t j = 0; j < is->frame_count; j++) {
            CHECK_INT(is->frames[j].size, wanted->frames[j].size);
            CHECK(memcmp(is->frames[j].data, wanted->frames[j].data, is->frames[j].size) == 0);
        }
        at += f->next(f, at, &cost);
        mmi_msg_unref(wanted);
        mmi_msg_unref(is);
    }
}

typedef mmi_segment_in *(*segment_of)(const uint8_t **buf, size_t *size, mmi_reader_room room,
                                      mmi_arena *arena);

static mmi_segment_in *
zmtp_segment(const uint8_t **buf, size_t *size, mmi_reader_room room, mmi_arena *arena)
{
    mmi_reader r;
    mmi_reader_init(&r, &wide);
    mmi_segment_in *segment = mmi_reader_segment(&r, buf, size, room, arena);
    mmi_reader_fini(&r);
    return segment;
}

static mmi_segment_in *
sp_segment(const uint8_t **buf, size_t *size, mmi_reader_room room, mmi_arena *arena)
{
    mmi_sp_reader r;
    mmi_sp_reader_limits limits = {
        .message_size_max = 1 << 20, .hops_max = 8, .mapping = MMI_SP_PLAIN, .form = MMI_SP_RAW
    };
    mmi_sp_reader_init(&r, &limits);
    mmi_segment_in *segment = mmi_sp_reader_segment(&r, buf, size, room, arena);
    mmi_sp_reader_fini(&r);
    return segment;
}

/* Reads all of an arena by way of segments; how many of them stayed in it. */
static int
read_arena(const mmi_framing *f, segment_of make, mmi_arena *arena, const uint8_t *copy,
           size_t size, mmi_reader_room room)
{
    mmi_segment_in *segments[MESSAGES_MAX / 64];
    const uint8_t *from[MMI_COUNT_OF(segments)];
    const uint8_t *buf = arena->data, *end = buf + size;
    uint32_t count = 0;
    int stayed = 0;
    while (size > 0) {
        size_t before = size;
        CHECK(count < MMI_COUNT_OF(segments));
        from[count] = copy + (buf - arena->data);
        mmi_segment_in *segment = segments[count++] = make(&buf, &size, room, arena);
        CHECK(segment != NULL && size < before && buf + size == end);
        CHECK(segment->msg.count <= room.messages && segment->msg.cost <= room.cost);
        size_t bytes = mmi_segment_in_bytes(segment, 0, segment->msg.count);
        CHECK_INT(segment->arena != NULL, bytes >= MMI_SEGMENT_KEEPS_MIN);
        CHECK(segment->arena != NULL || bytes <= MMI_SEGMENT_IN_BYTES || segment->msg.count == 1);
        stayed += segment->arena != NULL;
    }
    for (uint32_t i = 0; i < count; i++) {   /* none changed what another refers to */
        check_segment(f, segments[i], from[i]);
    }
    CHECK_INT(mmi_arena_shared(arena), stayed > 0);
    for (uint32_t i = 0; i < count; i++) {
        mmi_msg_unref(&segments[i]->msg);
    }
    CHECK(!mmi_arena_shared(arena));
    return stayed;
}

static int
rounds_of(const mmi_framing *f, segment_of make, uint32_t frames_max)
{
    uint32_t seed = 11 + frames_max;
    int stayed = 0;
    mmi_arena *arena = mmi_arena_new();
    uint8_t *copy = malloc(MMI_IO_BUFFER_SIZE);
    CHECK(arena != NULL && copy != NULL);
    for (int round = 0; round < ROUNDS; round++) {
        size_t body_max = 1 + check_random(&seed) % BODY_MAX;
        size_t octets = MMI_IO_BUFFER_SIZE / (round % 3 == 0 ? 4 : 1);
        size_t size = write_stream(f, arena->data, octets, body_max, frames_max, &seed);
        memcpy(copy, arena->data, size);
        mmi_reader_room room = plenty;
        if (round % 2 == 1) {
            room.messages = 1 + MESSAGES_MAX / (1 + check_random(&seed) % 4000);
            room.cost = 2 * MMI_SEGMENT_KEEPS_MIN + check_random(&seed) % (1 << 20);
        }
        stayed += read_arena(f, make, arena, copy, size, room);
    }
    free(copy);
    mmi_arena_unref(arena);
    return stayed;
}

static void
test_a_segment_of_most_of_an_arena_stays_in_it(void)
{
    CHECK(rounds_of(&mmi_framing_zmtp, zmtp_segment, 1) > ROUNDS / 4);
}

static void
test_messages_of_several_frames_stay_in_it_too(void)
{
    CHECK(rounds_of(&mmi_framing_zmtp, zmtp_segment, 4) > ROUNDS / 4);
}

static void
test_so_do_messages_of_the_second_wire(void)
{
    const mmi_framing *sp = mmi_framing_sp(MMI_SP_PLAIN, mmi_sp_of_role(MM_PUSH));
    CHECK(rounds_of(sp, sp_segment, 1) > ROUNDS / 4);
}

static void
test_half_an_arena_and_no_octet_less_stays_in_it(void)
{
    enum { COUNT = 64, BODY = MMI_SEGMENT_KEEPS_MIN / COUNT };
    mmi_arena *arena = mmi_arena_new();
    uint8_t *copy = malloc(MMI_IO_BUFFER_SIZE);
    CHECK(arena != NULL && copy != NULL);
    for (int over = -1; over <= 1; over++) {
        size_t size = 0;
        for (int i = 0; i < COUNT; i++) {
            size_t body = BODY + (i == 0 ? (size_t)over : 0);
            size += mmi_framing_zmtp.put_body(pattern, body, arena->data + size,
                                              MMI_IO_BUFFER_SIZE - size);
        }
        memcpy(copy, arena->data, size);
        CHECK_INT(read_arena(&mmi_framing_zmtp, zmtp_segment, arena, copy, size, plenty),
                  over >= 0);
    }
    free(copy);
    mmi_arena_unref(arena);
}

static void
test_a_segment_says_whether_its_messages_are_of_one_size(void)
{
    static const uint64_t sizes[][3] = { { 9, 9, 9 }, { 9, 9, 8 }, { 8, 9, 9 }, { 9, 8, 9 } };
    const mmi_framing *sp = mmi_framing_sp(MMI_SP_PLAIN, mmi_sp_of_role(MM_PUSH));
    for (int i = 0; i < 2 * (int)MMI_COUNT_OF(sizes); i++) {
        const mmi_framing *f = i % 2 == 0 ? &mmi_framing_zmtp : sp;
        uint8_t octets[128];
        const uint8_t *buf = octets;
        size_t size = 0, cost;
        for (int j = 0; j < 3; j++) {
            mmi_msg *m = mmi_msg_new(&sizes[i / 2][j], 1);
            memcpy(mmi_msg_data(m, 0), pattern, sizes[i / 2][j]);
            f->put(f, m, octets + size);
            size += f->size(f, m, &cost);
            mmi_msg_unref(m);
        }
        mmi_segment_in *segment = (f == sp ? sp_segment : zmtp_segment)(&buf, &size, plenty, NULL);
        CHECK_INT(segment->msg.count, 3);
        CHECK_INT(segment->one_size, i / 2 == 0 ? 9 : 0);
        mmi_msg_unref(&segment->msg);
    }
}

static void
test_without_memory_nothing_is_taken_from_an_arena(void)
{
    uint32_t seed = 3;
    mmi_arena *arena = mmi_arena_new();
    size_t all = write_stream(&mmi_framing_zmtp, arena->data, MMI_IO_BUFFER_SIZE, 5000, 1, &seed);
    const uint8_t *buf = arena->data;
    size_t size = all;
    mm_test_alloc_fail(1);
    CHECK(zmtp_segment(&buf, &size, plenty, arena) == NULL);
    mm_test_alloc_fail(0);
    CHECK(buf == arena->data && size == all && !mmi_arena_shared(arena));
    mmi_arena_unref(arena);
}

static bool
keep_first(void *kept, const uint8_t *data, size_t size)
{
    (void)data;
    return size > 0 && (*(uint32_t *)kept)++ == 0;
}

static bool
keep_most(void *asked, const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    return ++*(uint32_t *)asked % 4 != 0;
}

static void
test_what_is_left_of_a_sifted_segment_does_not_pin_the_arena(void)
{
    uint32_t seed = 5;
    for (int most = 0; most < 2; most++) {
        mmi_arena *arena = mmi_arena_new();
        size_t size =
            write_stream(&mmi_framing_zmtp, arena->data, MMI_IO_BUFFER_SIZE, 3000, 1, &seed);
        const uint8_t *buf = arena->data;
        uint32_t asked = 0;
        mmi_segment_in *segment = zmtp_segment(&buf, &size, plenty, arena);
        CHECK(segment != NULL && segment->arena == arena);
        segment->msg.pipe_id = 9;
        size_t before = mmi_segment_in_bytes(segment, 0, segment->msg.count);
        (void)mmi_segment_in_sift(segment, most ? keep_most : keep_first, &asked);
        uint32_t count = segment->msg.count;
        mmi_msg *wanted = mmi_segment_in_copy(segment, 0);
        segment = mmi_segment_in_fit(segment, before);
        CHECK_INT(mmi_arena_shared(arena), most);
        CHECK_INT(segment->msg.count, count);
        CHECK_INT(segment->msg.pipe_id, 9);
        mmi_msg *is = mmi_segment_in_copy(segment, 0);
        CHECK(is->size == wanted->size &&
              memcmp(is->frames[0].data, wanted->frames[0].data, is->size) == 0);
        mmi_msg_unref(is);
        mmi_msg_unref(wanted);
        mmi_msg_unref(&segment->msg);
        mmi_arena_unref(arena);
    }
}

static void
test_an_arena_nobody_holds_is_used_again(void)
{
    mmi_arena *first = mmi_arena_new();
    mmi_arena_unref(mmi_arena_ref(first));
    CHECK(!mmi_arena_shared(first));
    mmi_arena_unref(first);
    mmi_arena *second = mmi_arena_new();
    CHECK(second == first);
    mmi_arena_unref(second);
    mmi_arena_unref(NULL);
}

static void
test_a_block_of_a_received_segment_that_needs_above_half_of_it_is_used_again(void)
{
    size_t half = (size_t)MMI_SEGMENT_IN_BLOCK / 2, head = sizeof(mmi_segment_in);
    mmi_segment_in *first = mmi_segment_in_new(1, 1, half + 1 - head - 2 * sizeof(uint32_t));
    CHECK_INT(first->pinned, MMI_SEGMENT_IN_BLOCK); /* what it keeps, not what is in it */
    void *block = first;
    mmi_msg_unref(&first->msg);
    mmi_segment_in *second = mmi_segment_in_new(1, 1, MMI_SEGMENT_IN_BYTES);
    CHECK(second == block);
    CHECK(second->arena == NULL && second->first == 0 && second->first_frame == NULL);
    memset(second->data, 1, MMI_SEGMENT_IN_BYTES); /* all of it is there, whatever the first took */
    mmi_segment_in *third = mmi_segment_in_new(1, 1, half - head - 2 * sizeof(uint32_t));
    CHECK_INT(third->pinned, half);
    mmi_msg_unref(&third->msg);
    mmi_msg_unref(&second->msg);
}

static void
test_of_blocks_of_received_segments_a_few_are_kept(void)
{
    enum { HELD = 40, KEPT = 16 };
    mmi_segment_in *held[HELD];
    for (int i = 0; i < HELD; i++) {
        held[i] = mmi_segment_in_new(1, 1, MMI_SEGMENT_IN_BYTES);
    }
    int64_t bytes, before = mm_test_alloc_live(&bytes);
    for (int i = 0; i < HELD; i++) {
        mmi_msg_unref(&held[i]->msg);
    }
    CHECK_INT(mm_test_alloc_live(&bytes) - before, KEPT - HELD);
}

static void
test_what_is_larger_than_a_block_or_in_an_arena_has_its_own(void)
{
    mmi_segment_in *large = mmi_segment_in_new(1, 1, MMI_SEGMENT_IN_BLOCK);
    CHECK(large->pinned > (size_t)MMI_SEGMENT_IN_BLOCK);
    mmi_msg_unref(&large->msg);
    mmi_arena *arena = mmi_arena_new();
    uint32_t many =
        MMI_SEGMENT_IN_BLOCK / sizeof(uint32_t) * 3 / 4; /* their numbers alone need it */
    mmi_segment_in *over = mmi_segment_in_over(many, many, 0, arena, arena->data);
    CHECK_INT(over->pinned, MMI_SEGMENT_IN_BLOCK + sizeof *arena);
    mmi_msg_unref(&over->msg);
    CHECK(!mmi_arena_shared(arena));
    mmi_arena_unref(arena);
}

int
main(void)
{
    for (size_t i = 0; i < sizeof pattern; i++) {
        pattern[i] = (uint8_t)(i * 7 + i / 256);
    }
    RUN(test_spare_blocks_are_kept_up_to_a_number_and_given_out_again);
    RUN(test_who_finds_the_spare_blocks_in_use_does_without);
    RUN(test_a_segment_of_most_of_an_arena_stays_in_it);
    RUN(test_messages_of_several_frames_stay_in_it_too);
    RUN(test_so_do_messages_of_the_second_wire);
    RUN(test_half_an_arena_and_no_octet_less_stays_in_it);
    RUN(test_a_segment_says_whether_its_messages_are_of_one_size);
    RUN(test_without_memory_nothing_is_taken_from_an_arena);
    RUN(test_what_is_left_of_a_sifted_segment_does_not_pin_the_arena);
    RUN(test_an_arena_nobody_holds_is_used_again);
    RUN(test_a_block_of_a_received_segment_that_needs_above_half_of_it_is_used_again);
    RUN(test_of_blocks_of_received_segments_a_few_are_kept);
    RUN(test_what_is_larger_than_a_block_or_in_an_arena_has_its_own);
    return 0;
}
