/*
 * test_order.c: digests of rows, and rows in their order, out of arrays of any layout.
 *
 * Digests that are wanted are those of `openssl mac SIPHASH` (c-rounds 1, d-rounds 3, 16 octets).
 * Not here: files of rows (tests/unit/test_spark_ordering.py).
 */
#include "order/order.h"

#include "base/sip.h"
#include "check.h"

enum { ROWS = 6, BATCH = 4096 };

static const uint8_t secret[MMI_DIGEST_SECRET] = "meshmsg/order/1";
static const char values[] = "???abcabcdefgh0ab";
static const int32_t value_at[] = { 0, 3, 6, 15, 15, 17, 17 };
static const int64_t large_at[] = { 0, 3, 6, 15, 15, 17, 17 };
static const char keys[] = "kc";
static const int32_t key_at[] = { 0, 0, 0, 1, 1, 2, 2 };
static const uint8_t key_valid[] = { 0x34 };       /* rows 2, 4 and 5 */
static const char names[] = "xnm", texts[] = "yv";
static const int32_t name_at[] = { 0, 1, 2, 3 }, text_at[] = { 0, 1, 2, 2 };
static const uint8_t text_valid[] = { 0x03 };      /* the last header has no value */
static const int32_t list_at[] = { 0, 1, 1, 3, 3, 3, 3 };
static const uint8_t list_valid[] = { 0x3d };      /* all rows but 1 */

/* A table of ROWS rows, of which some are shown. */
typedef struct table {
    mmi_arrow_schema type, value, key, headers, header, name, text;
    mmi_arrow_schema *columns[3], *element[1], *fields[2];
    mmi_arrow_array array, values, keys, lists, structs, names, texts;
    mmi_arrow_array *arrays[3], *elements[1], *inner[2];
    const void *buffers[7][3];
} table;

static mmi_arrow_array
array_of(int64_t length, int64_t nulls, int64_t buffers, const void **where)
{
    return (mmi_arrow_array){
        .length = length, .null_count = nulls, .n_buffers = buffers, .buffers = where
    };
}

static void
table_make(table *t, bool large)
{
    memset(t, 0, sizeof *t);
    t->type =
        (mmi_arrow_schema){ .format = "+s", .name = "", .n_children = 3, .children = t->columns };
    t->value = (mmi_arrow_schema){ .format = large ? "U" : "z", .name = "value" };
    t->key = (mmi_arrow_schema){ .format = "u", .name = "key" };
    t->headers = (mmi_arrow_schema){
        .format = "+l", .name = "headers", .n_children = 1, .children = t->element
    };
    t->header = (mmi_arrow_schema){
        .format = "+s", .name = "element", .n_children = 2, .children = t->fields
    };
    t->name = (mmi_arrow_schema){ .format = "u", .name = "key" };
    t->text = (mmi_arrow_schema){ .format = "z", .name = "value" };
    t->columns[0] = &t->headers;
    t->columns[1] = &t->value;
    t->columns[2] = &t->key;
    t->element[0] = &t->header;
    t->fields[0] = &t->name;
    t->fields[1] = &t->text;
    const void *const buffers[7][3] = {
        { NULL },
        { NULL, large ? (const void *)large_at : value_at, values },
        { key_valid, key_at, keys },
        { list_valid, list_at },
        { NULL },
        { NULL, name_at, names },
        { text_valid, text_at, texts },
    };
    memcpy(t->buffers, buffers, sizeof buffers);
    t->array = array_of(ROWS, 0, 1, t->buffers[0]);
    t->values = array_of(ROWS, 0, 3, t->buffers[1]);
    t->keys = array_of(ROWS, -1, 3, t->buffers[2]);
    t->lists = array_of(ROWS, 1, 2, t->buffers[3]);
    t->structs = array_of(3, 0, 1, t->buffers[4]);
    t->names = array_of(3, 0, 3, t->buffers[5]);
    t->texts = array_of(3, 1, 3, t->buffers[6]);
    t->arrays[0] = &t->lists;
    t->arrays[1] = &t->values;
    t->arrays[2] = &t->keys;
    t->elements[0] = &t->structs;
    t->inner[0] = &t->names;
    t->inner[1] = &t->texts;
    t->array.n_children = 3;
    t->array.children = t->arrays;
    t->lists.n_children = 1;
    t->lists.children = t->elements;
    t->structs.n_children = 2;
    t->structs.children = t->inner;
}

/* Rows [first, first + count): the table is cut, or each of its columns is. */
static void
table_cut(table *t, int64_t first, int64_t count, bool columns)
{
    t->array.length = count;
    for (int i = 0; columns && i < 3; i++) {
        t->arrays[i]->offset = first;
        t->arrays[i]->length = count;
    }
    t->array.offset = columns ? 0 : first;
}

static void
check_digest(const mmi_digest *is, uint64_t high, uint64_t low)
{
    CHECK(is->high == high && is->low == low);
}

static void
test_a_digest_is_that_of_the_row_wherever_it_stands(void)
{
    table t;
    mmi_digest digests[ROWS];
    for (int way = 0; way < 4; way++) {
        for (int64_t first = 0; first < 2; first++) {
            table_make(&t, (way & 1) != 0);
            table_cut(&t, first, ROWS - first, (way & 2) != 0);
            CHECK_INT(mmi_digests(secret, &t.type, &t.array, digests), MM_OK);
            check_digest(&digests[1 - first], UINT64_C(0x9f35756d00d67950),
                         UINT64_C(0x5a7d7cdee0ef6140));
            check_digest(&digests[2 - first], UINT64_C(0xfabaf1ab875bba7f),
                         UINT64_C(0x2d72ac7a70fb0fab));
        }
    }
}

static void
test_a_column_that_is_not_there_is_null(void)
{
    table t;
    mmi_digest digest;
    table_make(&t, false);
    table_cut(&t, 1, 1, false);
    t.columns[0] = &t.value;
    t.arrays[0] = &t.values;
    t.type.n_children = t.array.n_children = 1;
    CHECK_INT(mmi_digests(secret, &t.type, &t.array, &digest), MM_OK);
    check_digest(&digest, UINT64_C(0x9f35756d00d67950), UINT64_C(0x5a7d7cdee0ef6140));
}

static void
test_rows_differ_where_anything_does(void)
{
    table t;
    mmi_digest digests[ROWS];
    table_make(&t, false);
    CHECK_INT(mmi_digests(secret, &t.type, &t.array, digests), MM_OK);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < i; j++) {
            CHECK(digests[i].high != digests[j].high && digests[i].low != digests[j].low);
        }
    }
}

/* Four at once, or one alone: with sizes that differ, and words that are left over. */
static void
test_a_digest_does_not_depend_on_the_rows_beside(void)
{
    enum { LONG = 23, SIZE = 131 };
    static int32_t at[LONG + 1];
    static uint8_t data[LONG * SIZE];
    uint32_t seed = 5;
    table t;
    mmi_digest all[LONG], alone;
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)check_random(&seed);
    }
    for (int i = 0; i < LONG; i++) {
        at[i + 1] = at[i] + (i < 8 ? SIZE : (int)(check_random(&seed) % (SIZE + 1)));
    }
    table_make(&t, false);
    t.columns[0] = &t.value;
    t.arrays[0] = &t.values;
    t.type.n_children = t.array.n_children = 1;
    t.buffers[1][1] = at;
    t.buffers[1][2] = data;
    t.array.length = t.values.length = LONG;
    CHECK_INT(mmi_digests(secret, &t.type, &t.array, all), MM_OK);
    for (int i = 0; i < LONG; i++) {
        table_cut(&t, i, 1, false);
        CHECK_INT(mmi_digests(secret, &t.type, &t.array, &alone), MM_OK);
        check_digest(&alone, all[i].high, all[i].low);
    }
}

/* What the processor has is compared with what any has. */
static void
test_four_texts_at_once_are_hashed_as_each_alone(void)
{
    enum { WORDS = 40 };
    static uint8_t data[4][WORDS * MMI_SIP_WORD];
    uint32_t seed = 3;
    for (size_t i = 0; i < sizeof data; i++) {
        data[i / sizeof data[0]][i % sizeof data[0]] = (uint8_t)check_random(&seed);
    }
    for (size_t words = 0; words <= WORDS; words++) {
        mmi_sip four[4], one[4];
        mmi_sip *const s[4] = { &four[0], &four[1], &four[2], &four[3] };
        const uint8_t *const texts[4] = { data[0], data[1], data[2], data[3] };
        for (int i = 0; i < 4; i++) {
            four[i] = one[i] = mmi_sip_begun(data[i]);
        }
        size_t did = mmi_sip_four(s, texts, words);
        CHECK(did <= words && (did == 0 || words - did < 4));
        for (int i = 0; i < 4; i++) {
            for (size_t at = 0; at < did * MMI_SIP_WORD; at += MMI_SIP_WORD) {
                mmi_sip_word(&one[i], mmi_le64_get(data[i] + at), 1);
            }
            CHECK(memcmp(&one[i], &four[i], sizeof one[i]) == 0);
        }
    }
}

static void
test_what_is_no_table_of_rows_is_refused(void)
{
    static const char *const formats[] = { "", "+", "+L", "+m", "vz", "w:4", "i", "zz", "+lz" };
    table t;
    mmi_digest digests[ROWS];
    for (size_t i = 0; i < MMI_COUNT_OF(formats); i++) {
        table_make(&t, false);
        t.value.format = formats[i];
        CHECK_INT(mmi_digests(secret, &t.type, &t.array, digests), MM_EINVAL);
        table_make(&t, false);
        t.text.format = formats[i];
        CHECK_INT(mmi_digests(secret, &t.type, &t.array, digests), MM_EINVAL);
    }
    table_make(&t, false);
    CHECK_INT(mmi_digests(secret, &t.value, &t.values, digests), MM_EINVAL);
    t.value.name = "values";
    CHECK_INT(mmi_digests(secret, &t.type, &t.array, digests), MM_EINVAL);
    t.value.name = "key"; /* twice */
    CHECK_INT(mmi_digests(secret, &t.type, &t.array, digests), MM_EINVAL);
    table_make(&t, false);
    t.array.n_children = 2;
    CHECK_INT(mmi_digests(secret, &t.type, &t.array, digests), MM_EINVAL);
    table_make(&t, false);
    t.values.n_buffers = 2;
    CHECK_INT(mmi_digests(secret, &t.type, &t.array, digests), MM_EINVAL);
    table_make(&t, false);
    t.buffers[0][0] = key_valid;
    t.array.null_count = 1;
    CHECK_INT(mmi_digests(secret, &t.type, &t.array, digests), MM_EINVAL);
}

/* Takes all that the orders have, a batch of so many bytes at a time, and each row is behind the
 * one before; how many. */
static uint64_t
take_all(mmi_order **orders, uint32_t count, uint64_t bytes, const mmi_arrow_schema *type)
{
    static mmi_digest digests[BATCH];
    mmi_digest last = { 0, 0 };
    uint64_t taken = 0;
    while (count > 0) {
        mmi_arrow_array out;
        int rc = mmi_order_take(orders, count, bytes, &out);
        for (uint32_t i = 0; rc == 0 && i < count; i++) {
            if (orders[i]->at == orders[i]->count) {
                mmi_order_free(orders[i]);
                orders[i] = orders[--count];
                break;
            }
        }
        if (rc == 0) {
            continue;
        }
        CHECK_INT(rc, 1);
        CHECK(out.length > 0 && out.length <= BATCH);
        CHECK_INT(mmi_digests(secret, type, &out, digests), MM_OK);
        for (int64_t i = 0; i < out.length; i++) {
            CHECK(digests[i].high > last.high ||
                  (digests[i].high == last.high && digests[i].low >= last.low));
            last = digests[i];
        }
        taken += (uint64_t)out.length;
        out.release(&out);
        CHECK(out.release == NULL);
    }
    return taken;
}

static void
test_rows_of_several_orders_come_as_one(void)
{
    static const uint64_t bytes[] = { 0, 1, 60, 1 << 20 };
    for (size_t b = 0; b < MMI_COUNT_OF(bytes); b++) {
        table t[3];
        mmi_order_part *parts[3];
        mmi_order *orders[2];
        for (int i = 0; i < 3; i++) {
            table_make(&t[i], false);
            table_cut(&t[i], i, ROWS - i, i == 1);
            CHECK_INT(mmi_order_part_new(secret, &t[i].type, &t[i].array, &parts[i]), MM_OK);
        }
        CHECK_INT(mmi_order_new(parts, 2, &orders[0]), MM_OK);
        CHECK_INT(mmi_order_new(parts + 2, 1, &orders[1]), MM_OK);
        CHECK_INT(take_all(orders, 2, bytes[b], &t[0].type), ROWS + ROWS - 1 + ROWS - 2);
        for (int i = 0; i < 3; i++) {
            mmi_free(parts[i]);
        }
    }
}

static void
test_many_rows_are_sorted_though_they_crowd(void)
{
    enum { MANY = 3000 };
    static int32_t at[MANY + 1];
    static uint8_t data[MANY];
    for (int kinds = 1; kinds <= 256; kinds *= 4) {
        uint32_t seed = 7;
        table t;
        mmi_order_part *part;
        mmi_order *order;
        table_make(&t, false);
        for (int i = 0; i < MANY; i++) {
            data[i] = (uint8_t)(check_random(&seed) % (uint32_t)kinds);
            at[i + 1] = i + 1;
        }
        t.columns[0] = &t.value;
        t.arrays[0] = &t.values;
        t.type.n_children = t.array.n_children = 1;
        t.buffers[1][1] = at;
        t.buffers[1][2] = data;
        t.array.length = t.values.length = MANY;
        CHECK_INT(mmi_order_part_new(secret, &t.type, &t.array, &part), MM_OK);
        CHECK_INT(mmi_order_new(&part, 1, &order), MM_OK);
        CHECK_INT(take_all(&order, 1, 1 << 16, &t.type), MANY);
        mmi_free(part);
    }
}

static void
test_parts_of_other_types_are_refused(void)
{
    table t, other;
    mmi_order_part *parts[2];
    mmi_order *orders[2], *none = NULL;
    mmi_arrow_array out;
    table_make(&t, false);
    table_make(&other, true);
    CHECK_INT(mmi_order_part_new(secret, &t.type, &t.array, &parts[0]), MM_OK);
    CHECK_INT(mmi_order_part_new(secret, &other.type, &other.array, &parts[1]), MM_OK);
    CHECK_INT(mmi_order_new(parts, 2, &none), MM_EINVAL);
    CHECK_INT(mmi_order_new(&parts[0], 1, &orders[0]), MM_OK);
    CHECK_INT(mmi_order_new(&parts[1], 1, &orders[1]), MM_OK);
    CHECK_INT(mmi_order_take(orders, 2, 100, &out), MM_EINVAL);
    CHECK_INT(mmi_order_take(orders, 0, 100, &out), MM_EINVAL);
    CHECK_INT(mmi_order_take(orders, 1, (uint64_t)MMI_ORDER_BYTES_MAX + 1, &out), MM_EINVAL);
    for (int i = 0; i < 2; i++) {
        mmi_order_free(orders[i]);
        mmi_free(parts[i]);
    }
    mmi_order_free(none);
}

/* What cannot be had leaves nothing behind: the sanitizer looks. */
static void
test_without_memory_nothing_is_left(void)
{
    table t;
    int rc = MM_ENOMEM;
    int64_t n = 0, bytes, live = mm_test_alloc_live(&bytes);
    table_make(&t, false);
    while (rc != 1) {
        mmi_order_part *part = NULL;
        mmi_order *order = NULL;
        mmi_arrow_array out;
        mm_test_alloc_fail(++n);
        rc = mmi_order_part_new(secret, &t.type, &t.array, &part);
        rc = rc == MM_OK ? mmi_order_new(&part, 1, &order) : rc;
        rc = rc == MM_OK ? mmi_order_take(&order, 1, 1 << 20, &out) : rc;
        mm_test_alloc_fail(0);
        CHECK(rc == 1 || rc == MM_ENOMEM);
        if (rc == 1) {
            out.release(&out);
        }
        mmi_order_free(order);
        mmi_free(part);
    }
    CHECK(n > 10);
    CHECK_INT(mm_test_alloc_live(&bytes), live);
}

static void
test_the_sum_of_digests_is_that_of_all_rows_however_they_are_cut(void)
{
    table t;
    uint64_t whole[2] = { 0, 0 }, cut[2] = { 0, 0 };
    for (int64_t size = ROWS; size > 0; size -= 4) {
        for (int64_t first = 0; first < ROWS; first += size) {
            mmi_order_part *part = NULL;
            table_make(&t, false);
            table_cut(&t, first, first + size < ROWS ? size : ROWS - first, false);
            CHECK_INT(mmi_order_part_new(secret, &t.type, &t.array, &part), MM_OK);
            mmi_order_part_add(part, size == ROWS ? whole : cut);
            mmi_free(part);
        }
    }
    CHECK(whole[0] != 0 && whole[1] != 0);
    CHECK(whole[0] == cut[0] && whole[1] == cut[1]);
}

static void
test_a_sum_of_digests_has_as_many_bits_as_one(void)
{
    uint64_t sum[2] = { 0, 0 };
    mmi_order_part *part = mmi_alloc(sizeof *part + 2 * sizeof part->digests[0]);
    CHECK(part != NULL);
    part->count = 2;
    part->digests[0] = (mmi_digest){ .high = UINT64_MAX, .low = UINT64_MAX };
    part->digests[1] = (mmi_digest){ .high = 4, .low = 2 };
    mmi_order_part_add(part, sum);
    CHECK(sum[0] == 4 && sum[1] == 1);
    mmi_free(part);
}

int
main(void)
{
    RUN(test_a_digest_is_that_of_the_row_wherever_it_stands);
    RUN(test_a_column_that_is_not_there_is_null);
    RUN(test_rows_differ_where_anything_does);
    RUN(test_a_digest_does_not_depend_on_the_rows_beside);
    RUN(test_four_texts_at_once_are_hashed_as_each_alone);
    RUN(test_what_is_no_table_of_rows_is_refused);
    RUN(test_rows_of_several_orders_come_as_one);
    RUN(test_many_rows_are_sorted_though_they_crowd);
    RUN(test_parts_of_other_types_are_refused);
    RUN(test_the_sum_of_digests_is_that_of_all_rows_however_they_are_cut);
    RUN(test_a_sum_of_digests_has_as_many_bits_as_one);
    RUN(test_without_memory_nothing_is_left);
    return 0;
}
