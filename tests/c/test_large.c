/*
 * test_large.c: large blocks, of which a few are kept for the next; and bodies that grow into them.
 * Not here: blocks of one size (test_arena.c); what readers put in them (test_reader.c).
 * Law: a block has one holder at a time; what is kept is bounded; a claim gets no memory.
 */
#include <pthread.h>

#include "base/large.h"
#include "base/limits.h"
#include "base/msg.h"
#include "check.h"
#include "codec/block.h"

enum { MIB = 1024 * 1024, THREADS = 4, ROUNDS = 3000 };

static uint8_t *
fresh(size_t size)
{
    uint8_t *block = mmi_realloc(NULL, size);
    CHECK(block != NULL);
    return block;
}

static int64_t
live_bytes(void)
{
    int64_t bytes;
    (void)mm_test_alloc_live(&bytes);
    return bytes;
}

/* Takes all that is kept: tests begin with nothing. */
static void
forget(void)
{
    for (size_t size = MMI_LARGE_MIN; size <= (size_t)MMI_LARGE_KEPT_MAX; size += size / 2) {
        for (void *block; (block = mmi_large_take(size)) != NULL;) {
            mmi_free(block);
        }
    }
}

static void
test_the_block_used_last_is_given_out_first_to_what_it_suits(void)
{
    uint8_t *one = fresh(MIB), *two = fresh(MIB);
    mmi_large_free(one);
    mmi_large_free(two);
    CHECK(mmi_large_take(MIB + MIB / 2) == NULL);   /* too small */
    CHECK(mmi_large_take(MIB / 4) == NULL);         /* too large: it would be wasted */
    CHECK(mmi_large_take(MIB - 1) == two);
    CHECK(mmi_large_take(MIB * 3 / 4) == one);
    CHECK(mmi_large_take(MIB) == NULL);
    mmi_large_free(two);
    CHECK(mmi_large_take(MIB) == two);
    mmi_free(one);
    mmi_free(two);
}

static void
test_what_is_kept_is_bounded_and_the_oldest_goes(void)
{
    int64_t before = live_bytes();
    uint8_t *blocks[40];
    for (size_t i = 0; i < MMI_COUNT_OF(blocks); i++) {
        blocks[i] = fresh(MMI_LARGE_MIN + i % 20 * MMI_LARGE_MIN);
    }
    for (size_t i = 0; i < MMI_COUNT_OF(blocks); i++) {
        mmi_large_free(blocks[i]);
    }
    CHECK(live_bytes() - before <= MMI_LARGE_KEPT_MAX);
    CHECK(mmi_large_take(20 * MMI_LARGE_MIN) == blocks[39]);   /* the newest is always there */
    mmi_free(blocks[39]);
    for (int i = 0; i < 40; i++) {
        blocks[i] = fresh(MMI_LARGE_MIN);
    }
    for (int i = 0; i < 40; i++) {
        mmi_large_free(blocks[i]);
    }
    CHECK(live_bytes() - before <= 9 * MMI_LARGE_MIN);   /* eight, however small */
    forget();
    CHECK_INT(live_bytes(), before);
}

static void
test_small_and_huge_blocks_and_none_are_freed_at_once(void)
{
    int64_t before = live_bytes();
    mmi_large_free(fresh(MMI_LARGE_MIN / 2));
    mmi_large_free(fresh((size_t)MMI_LARGE_KEPT_MAX + MIB));
    mmi_large_free(NULL);
    CHECK_INT(live_bytes(), before);
}

static void
test_a_large_message_is_made_in_what_the_last_one_left(void)
{
    static uint8_t body[MIB];
    mmi_msg *m = mmi_msg_copy(body, sizeof body);
    CHECK(m != NULL);
    void *block = m;
    mmi_msg *second = mmi_msg_ref(m);
    mmi_msg_unref(m);
    CHECK(mmi_large_take(sizeof body) == NULL);   /* somebody has it */
    mmi_msg_unref(second);
    m = mmi_msg_copy(body, sizeof body - 5000);
    CHECK(m == block);
    CHECK_INT(m->size, sizeof body - 5000);
    mmi_msg_unref(m);
    mm_test_alloc_fail(1);                        /* and needs no memory for it */
    m = mmi_msg_copy(body, sizeof body);
    mm_test_alloc_fail(0);
    CHECK(m == block);
    mmi_msg_unref(m);
    forget();
}

/* Feeds a body of whole octets in pieces, and checks what came of it. */
static void
feed(mmi_block *b, size_t whole, size_t piece)
{
    static uint8_t bytes[2 * MIB];
    for (size_t i = 0; i < whole; i++) {
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    }
    const uint8_t *at = bytes;
    while (b->size < whole) {
        size_t size = whole - b->size < piece ? whole - b->size : piece;
        size_t given = size;
        CHECK_INT(mmi_block_take(b, whole, &at, &size), MM_OK);
        CHECK_INT(size, 0);
        CHECK(b->cap <= whole && b->cap >= b->size && given > 0);
    }
    CHECK(memcmp(b->data, bytes, whole) == 0);
}

static void
test_a_body_grows_into_a_spare_block_and_is_the_same(void)
{
    const size_t pieces[] = { 1000, 4096, 100000, MIB };
    for (size_t i = 0; i < MMI_COUNT_OF(pieces); i++) {
        mmi_block b = { 0 };
        feed(&b, MIB, pieces[i]);   /* from the heap, or, later, in what the one before left */
        uint8_t *block = b.data;
        CHECK(i == 0 || b.cap == MIB);
        mmi_block_fini(&b);
        feed(&b, MIB - 10, pieces[i]);
        CHECK(b.data == block);
        mmi_block_fini(&b);
    }
    forget();
}

/* The spare turns up when half of the body is there already. */
static void
test_a_body_moves_when_a_spare_block_turns_up(void)
{
    mmi_block b = { 0 };
    static uint8_t half[MIB / 2];
    memset(half, 'h', sizeof half);
    const uint8_t *at = half;
    size_t size = sizeof half;
    CHECK_INT(mmi_block_take(&b, MIB, &at, &size), MM_OK);
    uint8_t *spare = fresh(MIB);
    mmi_large_free(spare);
    CHECK_INT(mmi_block_grow(&b, MIB / 2, MIB), MM_OK);
    CHECK(b.data == spare && b.cap == MIB);
    CHECK(memcmp(b.data, half, sizeof half) == 0);
    mmi_block_fini(&b);
    forget();
}

/* Who only says that much will come gets what is kept, and no more. */
static void
test_claims_get_no_memory(void)
{
    mmi_block claims[20] = { { 0 } };
    for (int i = 0; i < 3; i++) {
        uint8_t *kept[] = { fresh(MIB), fresh(MIB), fresh(MIB) };
        for (size_t k = 0; k < MMI_COUNT_OF(kept); k++) {
            mmi_large_free(kept[k]);
        }
        int64_t before = live_bytes();
        for (size_t c = 0; c < MMI_COUNT_OF(claims); c++) {
            CHECK_INT(mmi_block_grow(&claims[c], 1, MIB), MM_OK);
        }
        CHECK(live_bytes() - before <= (int64_t)MMI_COUNT_OF(claims) * (MMI_BLOCK_FIRST + 64));
        for (size_t c = 0; c < MMI_COUNT_OF(claims); c++) {
            mmi_block_fini(&claims[c]);
        }
        forget();
    }
}

static void *
take_and_keep(void *arg)
{
    uint32_t seed = (uint32_t)(uintptr_t)arg + 1;
    for (int i = 0; i < ROUNDS; i++) {
        size_t size = MMI_LARGE_MIN + check_random(&seed) % MIB;
        uint8_t *block = mmi_large_take(size);
        block = block != NULL ? block : fresh(size);
        block[0] = block[size - 1] = (uint8_t)i;   /* TSan: nobody else has it */
        CHECK(block[0] == (uint8_t)i && block[size - 1] == (uint8_t)i);
        mmi_large_free(block);
    }
    return NULL;
}

static void
test_a_block_has_one_holder_at_a_time(void)
{
    int64_t before = live_bytes();
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK_INT(pthread_create(&threads[i], NULL, take_and_keep, (void *)i), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        CHECK_INT(pthread_join(threads[i], NULL), 0);
    }
    CHECK(live_bytes() - before <= MMI_LARGE_KEPT_MAX);
    forget();
    CHECK_INT(live_bytes(), before);
}

int
main(void)
{
    (void)live_bytes();   /* from now on they are counted */
    RUN(test_the_block_used_last_is_given_out_first_to_what_it_suits);
    RUN(test_what_is_kept_is_bounded_and_the_oldest_goes);
    RUN(test_small_and_huge_blocks_and_none_are_freed_at_once);
    RUN(test_a_large_message_is_made_in_what_the_last_one_left);
    RUN(test_a_body_grows_into_a_spare_block_and_is_the_same);
    RUN(test_a_body_moves_when_a_spare_block_turns_up);
    RUN(test_claims_get_no_memory);
    RUN(test_a_block_has_one_holder_at_a_time);
    CHECK_INT(live_bytes(), 0);
    return 0;
}
