/*
 * test_spool_blocks.c: batches of a spool that came from another process: their messages, each
 * limit, and whatever octets stand there instead.
 *
 * Not here: where they come from (tests/unit/test_ranges.py).
 */
#include <string.h>

#include "base/octets.h"
#include "check.h"
#include "meshmsg_testing.h"
#include "spool/blocks.h"

enum { BATCHES = 3, EACH = 20, MESSAGES = BATCHES * EACH, ROOM = 16384, FAILURES_MAX = 60 };
enum { SALT = 8, BODY = 64, FIRST = 100 };

static const uint8_t META[] = { 3, 0, 1, 'k', 4, 0, 3, 1, 'a', 'x' };

/* A batch of EACH messages from seq on, each as long as its number is beyond FIRST.  Its octets. */
static size_t
put_block(uint8_t *out, uint64_t seq, uint64_t salt)
{
    mmi_spool_batch batch = {
        .type = MMI_SPOOL_DATA, .count = EACH, .first_seq = seq, .epoch = 2, .time_us = 7
    };
    uint8_t data[MESSAGES], *at = out + BODY;
    memset(data, 9, sizeof data);
    for (uint64_t i = 0; i < EACH; i++) {
        uint64_t size = seq + i - FIRST;
        const mmi_spool_record r = { .meta = i % 2 == 0 ? META : NULL,
                                     .meta_size = i % 2 == 0 ? (uint32_t)sizeof META : 0,
                                     .frames = 1,
                                     .sizes = &size,
                                     .data = data,
                                     .size = size };
        at = mmi_spool_record_put(at, &r);
    }
    mmi_le64_put(out, salt);
    mmi_spool_batch_put(out + SALT, &batch, salt, out + BODY, (uint32_t)(at - out - BODY));
    return (size_t)(at - out);
}

/* The first so many, of different files.  Their octets. */
static size_t
put_some(uint8_t *out, uint64_t count)
{
    size_t size = 0;
    for (uint64_t i = 0; i < count; i++) {
        size += put_block(out + size, FIRST + i * EACH, i * 77);
    }
    return size;
}

static size_t
put_blocks(uint8_t *out)
{
    return put_some(out, BATCHES);
}

static void
check_rows(const mmi_spool_rows *rows, uint64_t first)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        uint64_t seq = first + i;
        CHECK_INT(rows->seq[i], seq);
        CHECK_INT(rows->epoch[i], 2);
        CHECK_INT(rows->data.offset[i + 1] - rows->data.offset[i], seq - FIRST);
        CHECK_INT(rows->key.offset[i + 1] - rows->key.offset[i], seq % 2 == 0);
    }
}

/* All messages from one to before another, so many at once, of the batches that have them. */
static void
check_range(uint64_t from, uint64_t to, uint32_t most, uint64_t bytes)
{
    uint8_t data[ROOM];
    const size_t size = from < to ? put_some(data, (to - FIRST + EACH - 1) / EACH) : 0;
    mmi_spool_blocks b;
    mmi_spool_blocks_open(&b, data, size, from, to);
    uint64_t seq = from;
    for (int rc = 0; rc == 0;) {
        mmi_spool_rows *rows = mmi_spool_rows_new();
        CHECK(rows != NULL);
        rc = mmi_spool_blocks_take(&b, rows, most, bytes);
        CHECK(rc == 0 || rc == 1);
        CHECK(rows->count <= most && (rows->bytes <= bytes || rows->count == 1));
        CHECK(rc == 1 || rows->count > 0);
        check_rows(rows, seq);
        seq += rows->count;
        mmi_spool_rows_unref(rows);
    }
    CHECK_INT(seq, to);
}

static void
test_a_range_has_its_numbers_whatever_the_limits_are(void)
{
    const uint64_t end = FIRST + MESSAGES;
    for (uint64_t from = FIRST; from < FIRST + EACH; from += 3) {
        for (uint64_t to = from; to <= end; to += 7) {
            check_range(from, to, 1 + (uint32_t)(to % 9), UINT64_MAX);
            check_range(from, to, UINT32_MAX, 1 + to % 200);
        }
        check_range(from, end, EACH, UINT64_MAX);
    }
}

static void
test_room_for_bodies_is_made_once(void)
{
    uint8_t data[ROOM];
    const size_t size = put_blocks(data);
    mmi_spool_blocks b;
    mmi_spool_rows *rows = mmi_spool_rows_new();
    CHECK(rows != NULL);
    mmi_spool_blocks_open(&b, data, size, FIRST, FIRST + MESSAGES);
    CHECK_INT(mmi_spool_blocks_take(&b, rows, UINT32_MAX, UINT64_MAX), 1);
    CHECK(rows->data.cap < size && rows->data.cap >= rows->data.size);
    mmi_spool_rows_unref(rows);
}

/* What is read of these octets from FIRST on: how many messages, all of them right. */
static uint32_t
read_of(const uint8_t *data, size_t size, int *rc)
{
    mmi_spool_blocks b;
    mmi_spool_rows *rows = mmi_spool_rows_new();
    CHECK(rows != NULL);
    mmi_spool_blocks_open(&b, data, size, FIRST, FIRST + MESSAGES);
    *rc = mmi_spool_blocks_take(&b, rows, UINT32_MAX, UINT64_MAX);
    check_rows(rows, FIRST);
    uint32_t count = rows->count;
    mmi_spool_rows_unref(rows);
    return count;
}

static void
test_no_octet_can_be_another(void)
{
    uint8_t data[ROOM];
    int rc;
    const size_t size = put_blocks(data);
    for (size_t at = 0; at < size; at++) {
        for (int bit = 0; bit < 8; bit += 3) {
            data[at] ^= (uint8_t)(1 << bit);
            uint32_t count = read_of(data, size, &rc);
            CHECK(rc == MM_EPROTO && count % EACH == 0 && count < MESSAGES);
            data[at] ^= (uint8_t)(1 << bit);
        }
    }
    CHECK_INT(read_of(data, size, &rc), MESSAGES);
    CHECK_INT(rc, 1);
}

static void
test_octets_that_are_cut_are_told(void)
{
    uint8_t data[ROOM];
    int rc;
    const size_t size = put_blocks(data);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *exact = malloc(cut > 0 ? cut : 1); /* the sanitizer sees what is read beyond */
        CHECK(exact != NULL);
        memcpy(exact, data, cut);
        uint32_t count = read_of(exact, cut, &rc);
        bool whole = count % EACH == 0 && count < MESSAGES;
        CHECK(whole && (rc == MM_EPROTO || rc == 1));
        free(exact);
    }
}

/* Sound batches that are not those that were asked for. */
static void
test_other_numbers_are_told(void)
{
    uint8_t data[ROOM];
    int rc;
    size_t size = put_block(data, FIRST + 1, 0);
    CHECK_INT(read_of(data, size, &rc), 0);
    CHECK_INT(rc, MM_EPROTO);
    size = put_block(data, FIRST, 0);
    size_t hole = put_block(data + size, FIRST + EACH + 1, 0);
    CHECK_INT(read_of(data, size + hole, &rc), EACH);
    CHECK_INT(rc, MM_EPROTO);
    size_t same = put_block(data + size, FIRST, 0);
    CHECK_INT(read_of(data, size + same, &rc), EACH);
    CHECK_INT(rc, MM_EPROTO);
}

/* A peer can make the CRCs right of anything. */
static void
test_batches_that_lie_are_told(void)
{
    uint8_t data[ROOM], body[BODY];
    int rc;
    const mmi_spool_gap gap = { .last_seq = FIRST + MESSAGES };
    mmi_spool_gap_put(body, &gap);
    memcpy(data + BODY, body, MMI_SPOOL_GAP_BODY);
    mmi_le64_put(data, 5);
    mmi_spool_batch batch = { .type = MMI_SPOOL_GAP, .first_seq = FIRST, .epoch = 1 };
    mmi_spool_batch_put(data + SALT, &batch, 5, data + BODY, MMI_SPOOL_GAP_BODY);
    CHECK_INT(read_of(data, BODY + MMI_SPOOL_GAP_BODY, &rc), 0);
    CHECK_INT(rc, MM_EPROTO);
    for (uint32_t size = 0; size < BODY; size++) { /* fewer records than it counts, or none */
        memset(data + BODY, 0x7f, size);
        batch =
            (mmi_spool_batch){ .type = MMI_SPOOL_DATA, .count = 2, .first_seq = FIRST, .epoch = 1 };
        mmi_spool_batch_put(data + SALT, &batch, 5, data + BODY, size);
        CHECK_INT(read_of(data, BODY + size, &rc), 0);
        CHECK_INT(rc, MM_EPROTO);
    }
}

/* Once all that was asked for is taken. */
static void
test_octets_behind_the_last_are_told(void)
{
    uint8_t data[ROOM] = { 0 };
    const size_t size = put_blocks(data);
    for (uint64_t to = FIRST + 1; to <= FIRST + MESSAGES; to++) {
        const size_t most = to > FIRST + MESSAGES - EACH ? size + 1 : size;
        mmi_spool_blocks b;
        mmi_spool_rows *rows = mmi_spool_rows_new();
        CHECK(rows != NULL);
        mmi_spool_blocks_open(&b, data, most, FIRST, to);
        CHECK_INT(mmi_spool_blocks_take(&b, rows, UINT32_MAX, UINT64_MAX), MM_EPROTO);
        CHECK_INT(rows->count, to - FIRST);
        check_rows(rows, FIRST);
        mmi_spool_rows_unref(rows);
    }
}

/* With the n-th allocation failing: what was taken is whole, and the rest is taken afterwards. */
static void
test_without_memory_nothing_is_lost(void)
{
    uint8_t data[ROOM];
    const size_t size = put_blocks(data);
    for (uint64_t n = 1; n <= FAILURES_MAX; n++) {
        mmi_spool_blocks b;
        mmi_spool_rows *rows = mmi_spool_rows_new();
        CHECK(rows != NULL);
        mmi_spool_blocks_open(&b, data, size, FIRST + 5, FIRST + MESSAGES);
        mm_test_alloc_fail(n);
        int rc = mmi_spool_blocks_take(&b, rows, UINT32_MAX, UINT64_MAX);
        mm_test_alloc_fail(0);
        CHECK(rc == 1 || rc == MM_ENOMEM);
        check_rows(rows, FIRST + 5);
        CHECK_INT(mmi_spool_blocks_take(&b, rows, UINT32_MAX, UINT64_MAX), 1);
        CHECK_INT(rows->count, MESSAGES - 5);
        check_rows(rows, FIRST + 5);
        mmi_spool_rows_unref(rows);
    }
}

int
main(void)
{
    RUN(test_a_range_has_its_numbers_whatever_the_limits_are);
    RUN(test_room_for_bodies_is_made_once);
    RUN(test_no_octet_can_be_another);
    RUN(test_octets_that_are_cut_are_told);
    RUN(test_other_numbers_are_told);
    RUN(test_octets_behind_the_last_are_told);
    RUN(test_batches_that_lie_are_told);
    RUN(test_without_memory_nothing_is_lost);
    return 0;
}
