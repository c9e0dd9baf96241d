/*
 * test_large.c: large blocks, of which a few are kept for the next; and bodies that grow into them.
 * Not here: blocks of one size (test_arena.c); what readers put in them (test_reader.c).
 * Law: a block has one holder at a time; what is kept is bounded, and what claims get of it.
 */
#include <pthread.h>

#include "base/large.h"
#include "base/msg.h"
#include "check.h"
#include "wire/block.h"

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
    for (size_t size = MMI_LARGE_MIN; size <= (size_t)MMI_LARGE_KEPT_MAX; size += size / 8) {
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
    CHECK(mmi_large_take(MIB + MIB / 8) == NULL);   /* too small */
    CHECK(mmi_large_take(MIB / 4 * 3) == NULL);     /* more than a quarter would be wasted */
    CHECK(mmi_large_take(MIB - 1) == two);
    CHECK(mmi_large_take(MIB / 8 * 7) == one);
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

/* Feeds a body of whole octets in pieces, and checks what came of it; spare: one was there. */
static void
feed(mmi_block *b, size_t whole, size_t piece, bool spare)
{
    static uint8_t bytes[MIB];
    for (size_t i = 0; i < whole; i++) {
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    }
    const uint8_t *at = bytes;
    while (b->size < whole) {
        size_t size = whole - b->size < piece ? whole - b->size : piece;
        CHECK_INT(mmi_block_take(b, whole, &at, &size), MM_OK);
        CHECK_INT(size, 0);
        CHECK_INT(b->lent, spare);
        CHECK(b->cap >= b->size && (spare ? b->cap == whole : b->cap <= whole));
    }
    CHECK(memcmp(b->data, bytes, whole) == 0);
}

static void
test_a_body_is_read_into_a_spare_block_and_is_the_same(void)
{
    const size_t pieces[] = { 1000, 4096, 100000, MIB };
    for (size_t i = 0; i < MMI_COUNT_OF(pieces); i++) {
        mmi_block b = { 0 };
        feed(&b, MIB, pieces[i], false);
        uint8_t *block = b.data;
        mmi_block_fini(&b);   /* given up */
        feed(&b, MIB - 10, pieces[i], true);
        CHECK(b.data == block);
        mmi_msg *m = mmi_msg_adopt(b.data, (size_t)b.size);
        CHECK(m != NULL);
        b.data = NULL;
        mmi_block_fini(&b);   /* arrived */
        mmi_msg_unref(m);
        CHECK(mmi_large_take(MIB) == block);
        mmi_free(block);
    }
}

/* Who only says that much will come gets what is there, of which few are lent, whatever comes and
 * goes beside it. */
static void
test_claims_hold_no_more_than_is_lent(void)
{
    enum { CLAIMS = 200, SMALL = MMI_BLOCK_FIRST + 64 };
    static mmi_block claims[CLAIMS];
    static uint8_t body[MIB];
    for (int round = 0; round < 3; round++) {
        int64_t before = live_bytes();
        int lent = 0;
        for (int i = 0; i < CLAIMS; i++) {
            mmi_msg *m = mmi_msg_copy(body, sizeof body);
            CHECK(m != NULL);
            mmi_msg_unref(m);
            CHECK_INT(mmi_block_grow(&claims[i], 1, MIB), MM_OK);
            lent += claims[i].lent;
        }
        CHECK_INT(lent, MMI_LARGE_KEPT_MAX / MIB);
        CHECK(live_bytes() - before <= MMI_LARGE_KEPT_MAX / 4 * 9 + CLAIMS * SMALL);
        for (int i = 0; i < CLAIMS; i++) {
            mmi_block_fini(&claims[i]);   /* and all can be lent again */
        }
        forget();
        CHECK_INT(live_bytes(), before);
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
    RUN(test_a_body_is_read_into_a_spare_block_and_is_the_same);
    RUN(test_claims_hold_no_more_than_is_lent);
    RUN(test_a_block_has_one_holder_at_a_time);
    CHECK_INT(live_bytes(), 0);
    return 0;
}
