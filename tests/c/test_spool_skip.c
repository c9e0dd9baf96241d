/*
 * test_spool_skip.c: who reads some messages of a batch, and leaves out those in between, goes on
 * in it from where he is.
 *
 * Not here: which those are (test_cursor_spool.c), batches that compaction wrote
 * (test_spool_sparse.c).
 */
#include "spool_steps.h"

enum {
    EACH = 20,   /* messages of a batch: those of this seed fit into one */
    BATCHES = 3
};

/* The message of that number, and what stands before it in memory is no record any more: who looks
 * at that again finds harm. */
static void
read_and_harm(spool_rig *r, mmi_spool_reader *reader, uint64_t seq)
{
    mmi_spool_where where;
    mmi_spool_record got;
    uint8_t wanted[SPOOL_BODY_MAX];
    uint64_t at;
    mmi_spool_reader_seek(reader, seq);
    mmi_spool_locate(&r->spool, seq, &where);
    CHECK_INT(mmi_spool_reader_load(reader, &where), 1);
    CHECK_INT(mmi_spool_reader_next(reader, &got, &at), 1);
    CHECK_INT(at, seq);
    CHECK_INT(got.size, spool_body(seq, r->lives[seq], wanted));
    CHECK(memcmp(got.data, wanted, got.size) == 0);
    memset(reader->scan.body, 0xff, (size_t)(reader->walk.at - reader->scan.body));
}

static void
begin(spool_rig *r, mmi_spool_reader *reader)
{
    spool_rig_started(r, 1, MMI_SPOOL_OS);
    spool_rig_batches(r, BATCHES, EACH);
    CHECK_INT(r->spool.written_seq, BATCHES * EACH);
    mmi_spool_reader_open(reader, &r->disk.files, r->disk.dir, 1);
}

/* However many are left out one by one, each record of a batch is looked at once. */
static void
test_what_was_passed_of_a_batch_is_not_looked_at_again(void)
{
    for (uint64_t step = 1; step <= EACH + 1; step++) {
        spool_rig r;
        mmi_spool_reader reader;
        begin(&r, &reader);
        for (uint64_t seq = 1; seq <= BATCHES * EACH; seq += step) {
            read_and_harm(&r, &reader, seq);
        }
        CHECK_INT(reader.scan.batch.count, EACH);
        mmi_spool_reader_close(&reader);
        spool_rig_free(&r);
    }
}

/* What is behind him is read from the disk again. */
static void
test_who_goes_back_reads_it_again(void)
{
    spool_rig r;
    mmi_spool_reader reader;
    begin(&r, &reader);
    for (uint64_t seq = EACH * 2; seq > 0; seq--) {
        read_and_harm(&r, &reader, seq);
        read_and_harm(&r, &reader, seq + EACH / 2);
    }
    mmi_spool_reader_close(&reader);
    spool_rig_free(&r);
}

/* Nor does he who comes upon a record that makes no sense pass it by: he is told each time. */
static void
test_who_is_told_of_a_record_is_told_again(void)
{
    spool_rig r;
    mmi_spool_reader reader;
    mmi_spool_where where;
    mmi_spool_record got;
    uint64_t at;
    begin(&r, &reader);
    read_and_harm(&r, &reader, 1);
    for (int again = 0; again < 3; again++) {
        mmi_spool_locate(&r.spool, 2, &where);
        memset((uint8_t *)reader.scan.body, 0xff, reader.scan.batch.body_size);
        CHECK_INT(mmi_spool_reader_next(&reader, &got, &at), again == 0 ? MM_EPROTO : 0);
        CHECK_INT(mmi_spool_reader_load(&reader, &where), MM_EPROTO);
        CHECK_INT(reader.next_seq, 2);
    }
    mmi_spool_reader_close(&reader);
    spool_rig_free(&r);
}

int
main(void)
{
    RUN(test_what_was_passed_of_a_batch_is_not_looked_at_again);
    RUN(test_who_goes_back_reads_it_again);
    RUN(test_who_is_told_of_a_record_is_told_again);
    return 0;
}
