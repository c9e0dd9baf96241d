/*
 * test_spool_format.c: what stands in the files of a spool, octet by octet, and that nothing harmed
 * is taken for it.
 *
 * Not here: records that nobody would write (test_spool_record.c), what is believed after a crash.
 * Law: what is read stands in a block of just its size, so that the sanitizer sees a look past it.
 */
#include "spool/format.h"

#include "base/octets.h"
#include "check.h"
#include "spool/crc32c.h"

enum { BITS = 8 };
static const uint64_t SALT = UINT64_C(0x1122334455667788);

static const uint8_t producer[MMI_SPOOL_UUID] = "producer-of-here";

/* The first 64 octets of a file; zeros follow. */
static const char head_hex[] = "4d4d53504f4f4c31"                 /* MMSPOOL1 */
                               "0100000000000000"                 /* version 1 */
                               "000102030405060708090a0b0c0d0e0f" /* uuid */
                               "2a00000000000000"                 /* base_seq 42 */
                               "8877665544332211"                 /* salt */
                               "00a0724e18090000"                 /* made_us 10000000000000 */
                               "03000000"                         /* epoch 3 */
                               "44ee093c";

/* One frame "hello"; meta and origin and "x"; three frames "ab", "", "cde"; an empty frame;
 * "y" that is due at 10000000000000; "z" of priority 7; the three frames with all there may be. */
static const char body_hex[] = "06"
                               "00"
                               "68656c6c6f"
                               "1f"
                               "03"
                               "04"
                               "03000161"
                               "70726f64756365722d6f662d68657265"
                               "0807060504030201"
                               "78"
                               "09"
                               "04"
                               "03"
                               "02"
                               "00"
                               "6162636465"
                               "01"
                               "00"
                               "0a"
                               "08"
                               "00a0724e18090000"
                               "79"
                               "03"
                               "10"
                               "07"
                               "7a"
                               "2f"
                               "1f"
                               "04"
                               "03000161"
                               "70726f64756365722d6f662d68657265"
                               "0807060504030201"
                               "00a0724e18090000"
                               "ff"
                               "03"
                               "02"
                               "00"
                               "6162636465";
static const char data_hex[] = "4d4d4231" /* MMB1 */
                               "6f4ac195"
                               "72000000" /* body_size 114 */
                               "5c956ee7"         /* body_crc */
                               "2a00000000000000" /* first_seq 42 */
                               "03000000"         /* epoch 3 */
                               "0700"             /* count 7 */
                               "01"               /* DATA */
                               "00"
                               "01a0724e18090000" /* time_us 10000000000001 */
                               "2900000000000000" /* durable_seq 41 */
                               "0d0c0b0a"         /* chain */
                               "00000000";
static const char gap_hex[] = "4d4d4231"
                              "a97d9b85"
                              "0c000000"
                              "21b57321"
                              "2e00000000000000" /* first_seq 46 */
                              "03000000"
                              "0000"
                              "02" /* GAP */
                              "00"
                              "02a0724e18090000"
                              "2d00000000000000"
                              "0d0c0b0a"
                              "00000000"
                              "3100000000000000" /* last_seq 49 */
                              "07000000";        /* why */
static const char close_hex[] = "4d4d4231"
                                "5ad6367f"
                                "00000000"
                                "165159af"
                                "3200000000000000" /* first_seq 50 */
                                "03000000"
                                "0000"
                                "03" /* CLOSE */
                                "00"
                                "03a0724e18090000"
                                "3100000000000000"
                                "0d0c0b0a"
                                "00000000";

/* In a block of its own. */
static uint8_t *
copy_of(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    CHECK(copy != NULL);
    memcpy(copy, data, size);
    return copy;
}

static mmi_spool_head
some_head(void)
{
    mmi_spool_head head = { .base_seq = 42, .salt = SALT, .made_us = 10000000000000, .epoch = 3 };
    for (int i = 0; i < MMI_SPOOL_UUID; i++) {
        head.uuid[i] = (uint8_t)i;
    }
    return head;
}

static mmi_spool_batch
some_batch(mmi_spool_type type)
{
    mmi_spool_batch batch = { .type = (uint8_t)type, .epoch = 3, .chain = 0x0a0b0c0d };
    batch.first_seq = type == MMI_SPOOL_DATA ? 42 : type == MMI_SPOOL_GAP ? 46 : 50;
    batch.durable_seq = batch.first_seq - 1;
    batch.time_us = 10000000000000 + (uint64_t)type;
    batch.count = type == MMI_SPOOL_DATA ? 7 : 0;
    return batch;
}

static void
check_octets(const uint8_t *is, const char *hex)
{
    uint8_t wanted[512];
    size_t size = check_hex(hex, wanted);
    for (size_t i = 0; i < size; i++) {
        if (is[i] != wanted[i]) {
            fprintf(stderr, "octet %zu is %02x, wanted %02x\n", i, is[i], wanted[i]);
        }
    }
    CHECK(memcmp(is, wanted, size) == 0);
}

static void
test_the_head_of_a_file_is_these_octets(void)
{
    uint8_t out[MMI_SPOOL_FILE_HEAD], golden[MMI_SPOOL_FILE_HEAD] = { 0 };
    mmi_spool_head head = some_head(), read = { 0 };
    mmi_spool_head_put(out, &head);
    check_octets(out, head_hex);
    check_hex(head_hex, golden);
    CHECK(memcmp(out, golden, sizeof out) == 0);
    CHECK_INT(mmi_spool_head_get(golden, &read), MM_OK);
    CHECK(memcmp(read.uuid, head.uuid, MMI_SPOOL_UUID) == 0);
    CHECK_INT(read.base_seq, 42);
    CHECK_INT(read.salt, SALT);
    CHECK_INT(read.made_us, 10000000000000);
    CHECK_INT(read.epoch, 3);
    CHECK_INT(read.crc, head.crc);
    CHECK_INT(head.crc, mmi_le32_get(golden + 60));
}

static void
test_each_bit_of_the_head_of_a_file_counts(void)
{
    uint8_t data[MMI_SPOOL_FILE_HEAD];
    mmi_spool_head head = some_head(), read;
    mmi_spool_head_put(data, &head);
    for (size_t bit = 0; bit < sizeof data * BITS; bit++) {
        data[bit / BITS] ^= (uint8_t)(1 << bit % BITS);
        CHECK_INT(mmi_spool_head_get(data, &read), MM_EPROTO);
        data[bit / BITS] ^= (uint8_t)(1 << bit % BITS);
    }
    CHECK_INT(mmi_spool_head_get(data, &read), MM_OK);
}

/* What the head would be, with that number there, and its CRC right. */
static int
head_with(size_t at, uint32_t value, size_t size)
{
    uint8_t data[MMI_SPOOL_FILE_HEAD];
    mmi_spool_head head = some_head(), read;
    mmi_spool_head_put(data, &head);
    memset(data + at, 0, size);
    mmi_le32_put(data + at, value);
    mmi_le32_put(data + 60, mmi_crc32c(0, data, 60));
    return mmi_spool_head_get(data, &read);
}

static void
test_a_head_that_is_of_another_version_or_says_what_cannot_be(void)
{
    CHECK_INT(head_with(8, 1, 4), MM_OK);
    CHECK_INT(head_with(8, 0, 4), MM_EPROTO);
    CHECK_INT(head_with(8, 3, 4), MM_OK);
    CHECK_INT(head_with(8, 4, 4), MM_ENOTSUP);
    CHECK_INT(head_with(12, 1, 4), MM_EPROTO);
    CHECK_INT(head_with(32, 0, 8), MM_EPROTO);
    CHECK_INT(head_with(32, 1, 8), MM_OK);
    CHECK_INT(head_with(0, 0x324d4d4d, 4), MM_EPROTO);
}

/* The records of body_hex. */
static const uint64_t three_sizes[] = { 2, 0, 3 };
static const uint8_t some_meta[] = { 3, 0, 1, 'a' };
static const mmi_spool_record some_records[] = {
    { .frames = 1, .data = (const uint8_t *)"hello", .size = 5 },
    { .frames = 1,
      .data = (const uint8_t *)"x",
      .size = 1,
      .meta = some_meta,
      .meta_size = sizeof some_meta,
      .producer = producer,
      .number = UINT64_C(0x0102030405060708) },
    { .frames = 3, .sizes = three_sizes, .data = (const uint8_t *)"abcde", .size = 5 },
    { .frames = 1, .data = (const uint8_t *)"", .size = 0 },
    { .frames = 1, .data = (const uint8_t *)"y", .size = 1, .due_us = 10000000000000 },
    { .frames = 1, .data = (const uint8_t *)"z", .size = 1, .priority = 7 },
    { .frames = 3,
      .sizes = three_sizes,
      .data = (const uint8_t *)"abcde",
      .size = 5,
      .meta = some_meta,
      .meta_size = sizeof some_meta,
      .producer = producer,
      .number = UINT64_C(0x0102030405060708),
      .due_us = 10000000000000,
      .priority = 255 },
};

static size_t
some_body(uint8_t *out)
{
    uint8_t *end = out;
    for (size_t i = 0; i < MMI_COUNT_OF(some_records); i++) {
        uint8_t *next = mmi_spool_record_put(end, &some_records[i]);
        CHECK_INT(next - end, mmi_spool_record_size(&some_records[i]));
        end = next;
    }
    return (size_t)(end - out);
}

static void
check_same(const mmi_spool_record *is, const mmi_spool_record *wanted)
{
    uint64_t sizes[MMI_SPOOL_FRAMES_MAX];
    CHECK_INT(is->meta_size, wanted->meta_size);
    CHECK(is->meta_size == 0 || memcmp(is->meta, wanted->meta, is->meta_size) == 0);
    CHECK((is->producer != NULL) == (wanted->producer != NULL));
    if (is->producer != NULL) {
        CHECK(memcmp(is->producer, wanted->producer, MMI_SPOOL_UUID) == 0);
        CHECK(is->number == wanted->number);
    }
    CHECK(is->due_us == wanted->due_us);
    CHECK_INT(is->priority, wanted->priority);
    CHECK_INT(is->frames, wanted->frames);
    CHECK_INT(is->size, wanted->size);
    CHECK(memcmp(is->data, wanted->data, is->size) == 0);
    mmi_spool_record_frames(is, sizes);
    uint64_t last = wanted->size;
    for (uint32_t i = 0; i + 1 < is->frames; i++) {
        CHECK_INT(sizes[i], wanted->sizes[i]);
        last -= sizes[i];
    }
    CHECK_INT(sizes[is->frames - 1], last);
}

static void
check_same_batch(const mmi_spool_batch *is, const mmi_spool_batch *wanted)
{
    CHECK_INT(is->body_size, wanted->body_size);
    CHECK_INT(is->body_crc, wanted->body_crc);
    CHECK_INT(is->head_crc, wanted->head_crc);
    CHECK_INT(is->epoch, wanted->epoch);
    CHECK_INT(is->chain, wanted->chain);
    CHECK_INT(is->count, wanted->count);
    CHECK_INT(is->type, wanted->type);
    CHECK_INT(is->first_seq, wanted->first_seq);
    CHECK_INT(is->time_us, wanted->time_us);
    CHECK_INT(is->durable_seq, wanted->durable_seq);
}

static void
test_a_batch_of_each_kind_of_record_is_these_octets(void)
{
    uint8_t body[256], golden[256], out[MMI_SPOOL_BATCH_HEAD];
    size_t size = some_body(body);
    check_octets(body, body_hex);
    CHECK_INT(size, check_hex(body_hex, golden));
    mmi_spool_batch batch = some_batch(MMI_SPOOL_DATA), read = { 0 };
    mmi_spool_batch_put(out, &batch, SALT, body, (uint32_t)size);
    check_octets(out, data_hex);
    CHECK_INT(mmi_spool_batch_get(out, SALT, &read), MM_OK);
    check_same_batch(&read, &batch);
    CHECK(mmi_spool_body_check(&read, SALT, golden));
    size_t at = 0;
    for (size_t i = 0; i < MMI_COUNT_OF(some_records); i++) {
        mmi_spool_record r;
        int64_t n = mmi_spool_record_get(golden + at, size - at, &r);
        CHECK_INT(n, mmi_spool_record_size(&some_records[i]));
        check_same(&r, &some_records[i]);
        at += (size_t)n;
    }
    CHECK_INT(at, size);
}

static void
test_a_gap_is_these_octets(void)
{
    uint8_t out[MMI_SPOOL_BATCH_HEAD + MMI_SPOOL_GAP_BODY], *body = out + MMI_SPOOL_BATCH_HEAD;
    const mmi_spool_gap gap = { .last_seq = 49, .why = 7 };
    mmi_spool_gap read = { 0 };
    mmi_spool_batch batch = some_batch(MMI_SPOOL_GAP);
    mmi_spool_gap_put(body, &gap);
    mmi_spool_batch_put(out, &batch, SALT, body, MMI_SPOOL_GAP_BODY);
    check_octets(out, gap_hex);
    CHECK_INT(mmi_spool_gap_get(body, MMI_SPOOL_GAP_BODY, &read), MM_OK);
    CHECK_INT(read.last_seq, 49);
    CHECK_INT(read.why, 7);
    CHECK_INT(mmi_spool_gap_get(body, MMI_SPOOL_GAP_BODY - 1, &read), MM_EPROTO);
    CHECK_INT(mmi_spool_gap_get(body, MMI_SPOOL_GAP_BODY + 1, &read), MM_EPROTO);
}

static void
test_a_close_is_these_octets(void)
{
    uint8_t out[MMI_SPOOL_BATCH_HEAD];
    mmi_spool_batch batch = some_batch(MMI_SPOOL_CLOSE), read;
    mmi_spool_batch_put(out, &batch, SALT, NULL, 0);
    check_octets(out, close_hex);
    CHECK_INT(mmi_spool_batch_get(out, SALT, &read), MM_OK);
    check_same_batch(&read, &batch);
    CHECK(mmi_spool_body_check(&read, SALT, NULL));
}

static void
test_a_batch_takes_whole_multiples_of_eight(void)
{
    CHECK_INT(mmi_spool_batch_size(0), 56);
    CHECK_INT(mmi_spool_batch_size(1), 64);
    CHECK_INT(mmi_spool_batch_size(8), 64);
    CHECK_INT(mmi_spool_batch_size(9), 72);
    CHECK_INT(mmi_spool_batch_size(MMI_SPOOL_BODY_MAX), MMI_SPOOL_BODY_MAX + 56);
    CHECK_INT(mmi_spool_batch_size(UINT32_MAX), UINT64_C(0x100000038));
}

/* Whether a batch is taken for what it is, as a reader would go about it. */
static bool
batch_is_whole(const uint8_t *data, size_t size, uint64_t salt)
{
    mmi_spool_batch b;
    return size >= MMI_SPOOL_BATCH_HEAD && mmi_spool_batch_get(data, salt, &b) == MM_OK &&
           size - MMI_SPOOL_BATCH_HEAD >= b.body_size &&
           mmi_spool_body_check(&b, salt, data + MMI_SPOOL_BATCH_HEAD);
}

static void
test_each_bit_of_a_batch_and_of_the_salt_counts_and_so_does_each_octet(void)
{
    const char *const hexes[] = { data_hex, gap_hex, close_hex };
    for (size_t h = 0; h < MMI_COUNT_OF(hexes); h++) {
        uint8_t golden[256];
        size_t size = check_hex(hexes[h], golden);
        size += h == 0 ? check_hex(body_hex, golden + size) : 0;
        uint8_t *data = copy_of(golden, size);
        CHECK(batch_is_whole(data, size, SALT));
        for (size_t bit = 0; bit < size * BITS; bit++) {
            data[bit / BITS] ^= (uint8_t)(1 << bit % BITS);
            CHECK(!batch_is_whole(data, size, SALT));
            data[bit / BITS] ^= (uint8_t)(1 << bit % BITS);
        }
        for (int bit = 0; bit < 64; bit++) {
            CHECK(!batch_is_whole(data, size, SALT ^ UINT64_C(1) << bit));
        }
        for (size_t cut = 0; cut < size; cut++) {
            uint8_t *part = copy_of(data, cut);
            CHECK(!batch_is_whole(part, cut, SALT));
            free(part);
        }
        free(data);
    }
}

/* A head with that many octets changed at that place, and its CRC right. */
static int
batch_with(mmi_spool_type type, size_t at, uint64_t value, size_t size)
{
    uint8_t data[MMI_SPOOL_BATCH_HEAD], body[MMI_SPOOL_GAP_BODY] = { 0 }, octets[8];
    uint8_t salted[8 + MMI_SPOOL_BATCH_HEAD];
    mmi_spool_batch batch = some_batch(type), read;
    mmi_spool_batch_put(data, &batch, SALT, body, type == MMI_SPOOL_CLOSE ? 0 : sizeof body);
    mmi_le64_put(octets, value);
    memcpy(data + at, octets, size);
    mmi_le64_put(salted, SALT);
    memcpy(salted + 8, data + 8, MMI_SPOOL_BATCH_HEAD - 8);
    mmi_le32_put(data + 4, mmi_crc32c(0, salted, MMI_SPOOL_BATCH_HEAD));
    return mmi_spool_batch_get(data, SALT, &read);
}

static void
test_a_batch_that_says_what_cannot_be_is_none(void)
{
    static const struct {
        mmi_spool_type type;
        size_t at;
        uint64_t value;
        size_t size;
        int wanted;
    } cases[] = {
        { MMI_SPOOL_DATA, 0, 0x32424d4d, 4, MM_EPROTO },
        { MMI_SPOOL_DATA, 30, 0, 1, MM_EPROTO },
        { MMI_SPOOL_CLOSE, 30, MMI_SPOOL_TYPES, 1, MM_EPROTO },
        { MMI_SPOOL_CLOSE, 30, 255, 1, MM_EPROTO },
        { MMI_SPOOL_DATA, 28, 0, 2, MM_EPROTO },
        { MMI_SPOOL_DATA, 28, MMI_SPOOL_COUNT_MAX, 2, MM_OK },
        { MMI_SPOOL_GAP, 28, 1, 2, MM_EPROTO },
        { MMI_SPOOL_CLOSE, 28, 1, 2, MM_EPROTO },
        { MMI_SPOOL_DATA, 8, MMI_SPOOL_BODY_MAX, 4, MM_OK },
        { MMI_SPOOL_DATA, 8, MMI_SPOOL_BODY_MAX + 1, 4, MM_EPROTO },
        { MMI_SPOOL_GAP, 8, MMI_SPOOL_GAP_BODY + 1, 4, MM_EPROTO },
        { MMI_SPOOL_CLOSE, 8, 1, 4, MM_EPROTO },
        { MMI_SPOOL_DATA, 16, 0, 8, MM_EPROTO },
        { MMI_SPOOL_DATA, 16, 1, 8, MM_OK },
        { MMI_SPOOL_DATA, 16, UINT64_MAX - 7, 8, MM_OK },
        { MMI_SPOOL_DATA, 16, UINT64_MAX - 6, 8, MM_EPROTO },
        { MMI_SPOOL_CLOSE, 16, UINT64_MAX, 8, MM_OK },
        { MMI_SPOOL_DATA, 31, 1, 1, MM_EPROTO },
        { MMI_SPOOL_DATA, 52, 1, 1, MM_EPROTO },
        { MMI_SPOOL_DATA, 55, 128, 1, MM_EPROTO },
        { MMI_SPOOL_DATA, 24, UINT32_MAX, 4, MM_OK },
        { MMI_SPOOL_DATA, 32, UINT64_MAX, 8, MM_OK },
        { MMI_SPOOL_DATA, 40, UINT64_MAX, 8, MM_OK },
        { MMI_SPOOL_DATA, 48, 0, 4, MM_OK },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cases); i++) {
        CHECK_INT(batch_with(cases[i].type, cases[i].at, cases[i].value, cases[i].size),
                  cases[i].wanted);
    }
}

int
main(void)
{
    RUN(test_the_head_of_a_file_is_these_octets);
    RUN(test_each_bit_of_the_head_of_a_file_counts);
    RUN(test_a_head_that_is_of_another_version_or_says_what_cannot_be);
    RUN(test_a_batch_of_each_kind_of_record_is_these_octets);
    RUN(test_a_gap_is_these_octets);
    RUN(test_a_close_is_these_octets);
    RUN(test_a_batch_takes_whole_multiples_of_eight);
    RUN(test_each_bit_of_a_batch_and_of_the_salt_counts_and_so_does_each_octet);
    RUN(test_a_batch_that_says_what_cannot_be_is_none);
    return 0;
}
