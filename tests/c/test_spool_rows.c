/*
 * test_spool_rows.c: messages of a spool as a table: its columns, its limits, parts that outlive
 * it, and no memory at any moment.
 *
 * Not here: what libraries make of it (tests/unit/test_spool_arrow.py).
 */
#include "spool/rows.h"

#include "spool_threads.h"

enum { MESSAGES = 100, EACH = 10, FIELDS = 9, KEYED = 3, TOPICAL = 5, FAILURES_MAX = 80 };
enum { DATA = 6, TIMES = 7 };   /* columns */

/* Key, headers, expires (5,000 ns), and in front of it all when it was made (3,000 ns). */
static const uint8_t META[] = { 1, 0,   8, 0, 0, 0, 0,   0,   0, 0x0b, 0xb8, 3, 0,
                                1, 'k', 4, 0, 3, 1, 'a', 'x', 5, 0,    2,    1, 'b',
                                2, 0,   8, 0, 0, 0, 0,   0,   0, 0x13, 0x88 };

static void
fill(threads_rig *r)
{
    uint8_t body[MESSAGES];
    mmi_spool_did did;
    memset(body, 7, sizeof body);
    for (uint64_t i = 0; i < MESSAGES; i++) { /* as many octets as its number */
        uint64_t size = i + 1, first = 1;
        bool keyed = i % KEYED == 0;
        const mmi_spool_record record = { .meta = keyed ? META : NULL,
                                          .meta_size = keyed ? (uint32_t)sizeof META : 0,
                                          .frames = size % TOPICAL == 0 ? 2 : 1,
                                          .sizes = size % TOPICAL == 0 ? &first : &size,
                                          .data = body,
                                          .size = size };
        CHECK_INT(mmi_spool_shared_put(&r->spool, &record, 1, i % EACH == 0, &PATIENTLY, &did),
                  MM_OK);
    }
    CHECK_INT(mmi_spool_shared_wait(&r->spool, MESSAGES, MMI_SPOOL_DISK, &PATIENTLY), MM_OK);
}

/* Rows from the reader's place on. */
static int
read_rows(threads_rig *r, mmi_spool_reader *reader, uint32_t most, uint64_t bytes,
          mmi_spool_rows *rows)
{
    mmi_spool_where where;
    int rc = 1;
    while (rc == 1) {
        mmi_spool_shared_locate(&r->spool, reader->next_seq, &where);
        rc = mmi_spool_reader_load(reader, &where);
        rc = rc == 1 ? mmi_spool_rows_take(rows, reader, UINT64_MAX, most, bytes) : rc;
    }
    return rc;
}

static void
check_rows(const mmi_spool_rows *rows, uint64_t first)
{
    uint32_t keyless = 0, topicless = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        uint64_t seq = first + i;
        bool keyed = (seq - 1) % KEYED == 0;
        int32_t key = rows->key.offset[i + 1] - rows->key.offset[i];
        CHECK_INT(rows->seq[i], seq);
        bool topical = seq % TOPICAL == 0;
        CHECK_INT(rows->data.offset[i + 1] - rows->data.offset[i], topical ? seq - 1 : seq);
        CHECK_INT(rows->data.data[rows->data.offset[i]], 7);
        CHECK_INT(rows->topic.offset[i + 1] - rows->topic.offset[i], topical);
        CHECK_INT(rows->topic_valid[i / 8] >> i % 8 & 1, topical);
        CHECK_INT(rows->sizes.offset[i + 1] - rows->sizes.offset[i], topical);
        topicless += !topical;
        CHECK_INT(key, keyed);
        CHECK_INT(rows->key_valid[i / 8] >> i % 8 & 1, keyed);
        CHECK_INT(rows->headers[i + 1] - rows->headers[i], keyed ? 2 : 0);
        CHECK_INT(rows->made.us[i], keyed ? 3 : 0);
        CHECK_INT(rows->made.valid[i / 8] >> i % 8 & 1, keyed);
        CHECK_INT(rows->expires.us[i], keyed ? 5 : 0);
        CHECK_INT(rows->expires.valid[i / 8] >> i % 8 & 1, keyed);
        keyless += !keyed;
    }
    CHECK_INT(rows->made.without, keyless);
    CHECK_INT(rows->expires.without, keyless);
    CHECK_INT(rows->keyless, keyless);
    CHECK_INT(rows->topicless, topicless);
}

static void
test_limits_cut_rows_and_the_next_go_on(void)
{
    threads_rig r;
    threads_new(&r, MMI_SPOOL_OS);
    fill(&r);
    for (uint32_t most = 1; most <= MESSAGES + 1; most += 7) {
        mmi_spool_reader reader;
        mmi_spool_reader_open(&reader, &r.spool.files, r.spool.dir, 1);
        uint64_t seq = 1;
        while (seq <= MESSAGES) {
            mmi_spool_rows *rows = mmi_spool_rows_new();
            CHECK(rows != NULL);
            CHECK_INT(read_rows(&r, &reader, most, (uint64_t)most * 20, rows), 0);
            CHECK(rows->count > 0 && rows->count <= most);
            CHECK(rows->bytes <= (uint64_t)most * 20 || rows->count == 1);
            check_rows(rows, seq);
            seq += rows->count;
            CHECK_INT(reader.next_seq, seq);
            mmi_spool_rows_unref(rows);
        }
        mmi_spool_reader_close(&reader);
    }
    threads_free(&r);
}

static void
test_each_part_of_a_table_holds_it(void)
{
    threads_rig r;
    mmi_spool_reader reader;
    mmi_arrow_schema schema;
    mmi_arrow_array table, parts[FIELDS];
    threads_new(&r, MMI_SPOOL_OS);
    fill(&r);
    mmi_spool_reader_open(&reader, &r.spool.files, r.spool.dir, 1);
    mmi_spool_rows *rows = mmi_spool_rows_new();
    CHECK_INT(read_rows(&r, &reader, UINT32_MAX, UINT64_MAX, rows), 0);
    mmi_spool_reader_close(&reader);
    threads_free(&r);
    CHECK_INT(mmi_spool_rows_schema(&schema), MM_OK);
    CHECK_INT(schema.n_children, FIELDS);
    CHECK(strcmp(schema.children[DATA]->name, "data") == 0);
    CHECK(strcmp(schema.children[TIMES]->name, "timestamp") == 0);
    CHECK(strcmp(schema.children[FIELDS - 1]->name, "expires") == 0);
    CHECK_INT(mmi_spool_rows_export(rows, &table), MM_OK);
    mmi_spool_rows_unref(rows);
    CHECK_INT(table.n_children, FIELDS);
    for (int i = 0; i < FIELDS; i++) {
        parts[i] = *table.children[i];
        table.children[i]->release = NULL;
        CHECK_INT(parts[i].length, MESSAGES);
    }
    table.release(&table);
    CHECK(table.release == NULL);
    for (int i = 0; i < FIELDS; i++) {
        mmi_arrow_view view;
        size_t size;
        if (mmi_arrow_open(schema.children[i], &parts[i], &view) == MM_OK) {
            const uint8_t *last = mmi_arrow_at(&view, MESSAGES - 1, &size);
            CHECK(last != NULL);
            CHECK_INT(size, i == DATA ? MESSAGES - 1 : 1);
        }
        parts[i].release(&parts[i]);
    }
    schema.release(&schema);
    CHECK(schema.release == NULL);
}

static void
test_no_rows_are_a_table(void)
{
    mmi_arrow_array table;
    mmi_spool_rows *rows = mmi_spool_rows_new();
    CHECK_INT(mmi_spool_rows_export(rows, &table), MM_OK);
    mmi_spool_rows_unref(rows);
    CHECK_INT(table.length, 0);
    for (int i = 0; i < FIELDS; i++) {
        CHECK(table.children[i]->n_buffers < 3 || table.children[i]->buffers[2] != NULL);
    }
    table.release(&table);
}

/* With the n-th allocation failing: what was taken is whole, and the rest is taken afterwards. */
static void
test_without_memory_nothing_is_lost(void)
{
    threads_rig r;
    threads_new(&r, MMI_SPOOL_OS);
    fill(&r);
    for (uint64_t n = 1; n <= FAILURES_MAX; n++) {
        mmi_spool_reader reader;
        mmi_arrow_array table;
        mmi_arrow_schema schema;
        mmi_spool_reader_open(&reader, &r.spool.files, r.spool.dir, 1);
        mmi_spool_rows *rows = mmi_spool_rows_new();
        threads_stop(&r.spool); /* the spool's own thread asks for none meanwhile */
        threads_go_on(&r.spool);
        mm_test_alloc_fail(n);
        int rc = read_rows(&r, &reader, UINT32_MAX, UINT64_MAX, rows);
        int exported = mmi_spool_rows_export(rows, &table);
        int typed = mmi_spool_rows_schema(&schema);
        mm_test_alloc_fail(0);
        CHECK(rc == 0 || rc == MM_ENOMEM);
        CHECK_INT(reader.next_seq, rows->count + 1);
        CHECK((rc != 0) + (exported != MM_OK) + (typed != MM_OK) <= 1);
        if (exported == MM_OK) {
            table.release(&table);
        }
        if (typed == MM_OK) {
            schema.release(&schema);
        }
        CHECK_INT(read_rows(&r, &reader, UINT32_MAX, UINT64_MAX, rows), 0);
        CHECK_INT(rows->count, MESSAGES);
        check_rows(rows, 1);
        mmi_spool_rows_unref(rows);
        mmi_spool_reader_close(&reader);
    }
    threads_free(&r);
}

int
main(void)
{
    RUN(test_limits_cut_rows_and_the_next_go_on);
    RUN(test_each_part_of_a_table_holds_it);
    RUN(test_no_rows_are_a_table);
    RUN(test_without_memory_nothing_is_lost);
    return 0;
}
