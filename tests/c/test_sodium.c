/*
 * test_sodium.c: what is needed of libsodium: found once, by any thread, and tried before use.
 * Not here: CURVE, which uses it.
 * Law: a machine without libsodium must be told what to install; that is all it can be tested for.
 */
#include <pthread.h>

#include "check.h"
#include "plat/library.h"

enum { THREADS = 8 };

static const uint8_t KEY[MMI_KEY_SIZE] = { 1, 2, 3 }, NONCE[MMI_NONCE_SIZE] = { 4 };

static void
functions_of(const mmi_sodium *table, void *functions[MMI_SODIUM_FUNCTIONS])
{
    memcpy(functions, table, offsetof(mmi_sodium, pieces));
}

static void *
find(void *arg)
{
    (void)arg;
    return (void *)(uintptr_t)mmi_sodium_get();
}

static void
test_all_threads_find_the_same(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK_INT(pthread_create(&threads[i], NULL, find, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *found = NULL;
        CHECK_INT(pthread_join(threads[i], &found), 0);
        CHECK(found == (const void *)mmi_sodium_get());
    }
}

static void
test_a_machine_without_it_is_told_what_to_install(void)
{
    if (mmi_sodium_get() != NULL) {
        CHECK_INT(strlen(mmi_sodium_missing()), 0);
        return;
    }
    printf("no libsodium: %s\n", mmi_sodium_missing());
    CHECK(strstr(mmi_sodium_missing(), "libsodium.so.26") != NULL);
    CHECK(strstr(mmi_sodium_missing(), "libsodium.so.23") != NULL);
    CHECK(strstr(mmi_sodium_missing(), "pip install meshmsg[curve]") != NULL);
}

static void
test_boxes_are_sealed_and_opened_in_place(void)
{
    const mmi_sodium *sodium = mmi_sodium_get();
    uint8_t octets[MMI_BOX_PLAIN_PAD + 5] = { 0 };
    memcpy(octets + MMI_BOX_PLAIN_PAD, "hello", 5);
    CHECK_INT(sodium->secretbox(octets, octets, sizeof octets, NONCE, KEY), 0);
    CHECK(memcmp(octets + MMI_BOX_PLAIN_PAD, "hello", 5) != 0);
    CHECK_INT(sodium->secretbox_open(octets, octets, sizeof octets, NONCE, KEY), 0);
    CHECK(memcmp(octets + MMI_BOX_PLAIN_PAD, "hello", 5) == 0);
    CHECK_INT(sodium->box_afternm(octets, octets, sizeof octets, NONCE, KEY), 0);
    octets[MMI_BOX_PAD] ^= 0x80;
    CHECK(sodium->box_open_afternm(octets, octets, sizeof octets, NONCE, KEY) != 0);
}

static void
test_both_sides_agree_on_a_key(void)
{
    const mmi_sodium *sodium = mmi_sodium_get();
    uint8_t secrets[2][MMI_KEY_SIZE] = { { 7 }, { 9 } }, publics[2][MMI_KEY_SIZE];
    uint8_t shared[2][MMI_KEY_SIZE];
    for (int i = 0; i < 2; i++) {
        CHECK_INT(sodium->scalarmult_base(publics[i], secrets[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_INT(sodium->box_beforenm(shared[i], publics[1 - i], secrets[i]), 0);
    }
    CHECK(memcmp(shared[0], shared[1], MMI_KEY_SIZE) == 0);
}

static int
wrong_multiply(uint8_t *q, const uint8_t *n)
{
    memcpy(q, n, MMI_KEY_SIZE);
    return 0;
}

/* Opens without a look at the tag, or seals without a change. */
static int
wrong_box(uint8_t *out, const uint8_t *in, unsigned long long size, const uint8_t *n,
          const uint8_t *k)
{
    (void)n, (void)k;
    memmove(out, in, size);
    return 0;
}

static int
wrong_agree(uint8_t *k, const uint8_t *pk, const uint8_t *sk)
{
    (void)pk;
    memcpy(k, sk, MMI_KEY_SIZE);
    return 0;
}

static void
test_a_function_that_is_missing_or_wrong_is_named(void)
{
    mmi_sodium wrongs = { wrong_multiply, wrong_agree, wrong_box,           wrong_box,
                          wrong_box,      wrong_box,   { NULL, NULL, NULL } };
    void *bad[MMI_SODIUM_FUNCTIONS], *functions[MMI_SODIUM_FUNCTIONS];
    functions_of(&wrongs, bad);
    for (int i = 0; i < MMI_SODIUM_FUNCTIONS; i++) {
        const char *wrong = NULL;
        mmi_sodium table;
        functions_of(mmi_sodium_get(), functions);
        CHECK_INT(mmi_sodium_fill(&table, functions, &wrong), MM_OK);
        CHECK(wrong == NULL);
        functions[i] = bad[i];
        CHECK_INT(mmi_sodium_fill(&table, functions, &wrong), MM_EINVAL);
        CHECK(wrong == mmi_sodium_names[i]);
        functions[i] = NULL;
        CHECK_INT(mmi_sodium_offer(functions, &wrong), MM_EINVAL);
        CHECK(wrong == mmi_sodium_names[i]);
    }
}

static void
test_an_offer_that_comes_late_changes_nothing(void)
{
    const mmi_sodium *before = mmi_sodium_get();
    void *functions[MMI_SODIUM_FUNCTIONS];
    const char *wrong = NULL;
    functions_of(before, functions);
    CHECK_INT(mmi_sodium_offer(functions, &wrong), MM_OK);
    CHECK(mmi_sodium_get() == before);
}

static int
wrong_hash(uint8_t *out, const uint8_t *in, const uint8_t *k, const uint8_t *c)
{
    (void)k, (void)c;
    memset(out, in[0], MMI_KEY_SIZE);
    return 0;
}

static int
wrong_stream(uint8_t *c, const uint8_t *m, unsigned long long size, const uint8_t *n, uint64_t ic,
             const uint8_t *k)
{
    (void)n, (void)ic, (void)k;
    memmove(c, m, size);
    return 0;
}

static int
wrong_tag(uint8_t *out, const uint8_t *in, unsigned long long size, const uint8_t *k)
{
    (void)in, (void)size, (void)k;
    memset(out, 0, MMI_TAG_SIZE);
    return 0;
}

static void
pieces_of(const mmi_sodium_pieces *from, void *pieces[MMI_SODIUM_PIECES])
{
    memcpy(pieces, from, sizeof *from);
}

static void
test_pieces_that_are_missing_or_wrong_are_not_used(void)
{
    const mmi_sodium *sodium = mmi_sodium_get();
    const mmi_sodium_pieces wrongs = { wrong_hash, wrong_stream, wrong_tag };
    void *pieces[MMI_SODIUM_PIECES], *bad[MMI_SODIUM_PIECES];
    pieces_of(&wrongs, bad);
    CHECK(mmi_sodium_has_pieces(sodium));
    for (int i = 0; i < MMI_SODIUM_PIECES; i++) {
        mmi_sodium table = *sodium;
        pieces_of(&sodium->pieces, pieces);
        table.pieces = (mmi_sodium_pieces){ .hsalsa20 = NULL };
        mmi_sodium_add_pieces(&table, pieces);
        CHECK(mmi_sodium_has_pieces(&table));
        table.pieces = (mmi_sodium_pieces){ .hsalsa20 = NULL };
        pieces[i] = bad[i];
        mmi_sodium_add_pieces(&table, pieces);
        CHECK(!mmi_sodium_has_pieces(&table));
        pieces[i] = NULL;
        mmi_sodium_add_pieces(&table, pieces);
        CHECK(!mmi_sodium_has_pieces(&table));
    }
}

/* Both ways, of all sizes; and none opens of which a bit was changed. */
static void
test_a_box_of_pieces_is_that_of_the_library(void)
{
    enum { SIZES = 600 };
    const mmi_sodium *sodium = mmi_sodium_get();
    uint8_t subkey[MMI_KEY_SIZE], plain[MMI_BOX_PLAIN_PAD + SIZES] = { 0 };
    uint8_t theirs[sizeof plain], ours[sizeof plain];
    for (size_t i = MMI_BOX_PLAIN_PAD; i < sizeof plain; i++) {
        plain[i] = (uint8_t)(i * 7);
    }
    mmi_sodium_subkey(sodium, subkey, KEY, NONCE);
    for (size_t size = MMI_BOX_PLAIN_PAD; size <= sizeof plain; size++) {
        CHECK_INT(sodium->box_afternm(theirs, plain, size, NONCE, KEY), 0);
        memcpy(ours, plain, size);
        memset(ours, 0xaa, MMI_BOX_PLAIN_PAD); /* whatever is there */
        mmi_sodium_seal(sodium, ours, size, NONCE + MMI_NONCE_PREFIX, subkey);
        CHECK(memcmp(ours, theirs, size) == 0);
        size_t bit = size * 31 % ((size - MMI_BOX_PAD) * 8) + MMI_BOX_PAD * 8;
        ours[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(!mmi_sodium_open(sodium, ours, size, NONCE + MMI_NONCE_PREFIX, subkey));
        ours[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(memcmp(ours, theirs, size) == 0);
        CHECK(mmi_sodium_open(sodium, ours, size, NONCE + MMI_NONCE_PREFIX, subkey));
        CHECK(memcmp(ours + MMI_BOX_PLAIN_PAD, plain + MMI_BOX_PLAIN_PAD,
                     size - MMI_BOX_PLAIN_PAD) == 0);
    }
}

int
main(void)
{
    RUN(test_all_threads_find_the_same);
    RUN(test_a_machine_without_it_is_told_what_to_install);
    if (mmi_sodium_get() == NULL) {
        return 0;
    }
    RUN(test_boxes_are_sealed_and_opened_in_place);
    RUN(test_both_sides_agree_on_a_key);
    RUN(test_a_function_that_is_missing_or_wrong_is_named);
    RUN(test_an_offer_that_comes_late_changes_nothing);
    RUN(test_pieces_that_are_missing_or_wrong_are_not_used);
    RUN(test_a_box_of_pieces_is_that_of_the_library);
    return 0;
}
