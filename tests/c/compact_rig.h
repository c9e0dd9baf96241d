/*
 * compact_rig.h: a spool of messages with keys on the simulated disk, a model of what compaction
 * may take, and passes of it.
 *
 * Not here: the tests (test_spool_compact*.c).  Law: what a message is follows from its number:
 * its key, and whether it is a tombstone; so whatever is read can be judged.
 */
#ifndef COMPACT_RIG_H
#define COMPACT_RIG_H

#include "base/meta.h"
#include "spool/compact.h"
#include "spool_steps.h"

enum { KEYED_BODY = 200, NO_KEY = -1 };

/* What the message of a number is. */
typedef struct keyed {
    int key;              /* NO_KEY: none */
    uint64_t size;        /* octets; 0 with a key: a tombstone */
} keyed;

typedef keyed (*keyed_of)(uint64_t seq);

static inline int
keyed_put(spool_rig *r, keyed_of what)
{
    uint8_t body[KEYED_BODY], meta[] = { MMI_META_KEY, 0, 2, 0, 0 };
    uint64_t seq = r->spool.last_seq + 1;
    keyed m = what(seq);
    memset(body, (int)(seq % 251), sizeof body);
    meta[3] = (uint8_t)(m.key >> 8);
    meta[4] = (uint8_t)m.key;
    const mmi_spool_record record = { .meta = m.key == NO_KEY ? NULL : meta,
                                      .meta_size = m.key == NO_KEY ? 0 : sizeof meta,
                                      .frames = 1,
                                      .sizes = &m.size,
                                      .data = body,
                                      .size = m.size };
    int rc = mmi_spool_put(&r->spool, &record, &seq);
    if (rc == MM_EAGAIN) {
        rc = spool_rig_commit(r, false);
        rc = rc == MM_OK ? mmi_spool_put(&r->spool, &record, &seq) : rc;
    }
    return rc;
}

/* Batches of so many, until there are so many files. */
static inline void
keyed_files(spool_rig *r, keyed_of what, uint32_t files, int each)
{
    while (r->spool.file_count < files) {
        for (int i = 0; i < each; i++) {
            CHECK_INT(keyed_put(r, what), MM_OK);
        }
        CHECK_INT(spool_rig_commit(r, false), MM_OK);
    }
}

/* A whole pass over the sealed files, as the plan says; what the plan leaves open is filled in. */
static inline int
keyed_pass(spool_rig *r, mmi_compact_plan plan, mmi_compact *c)
{
    mmi_spool *s = &r->spool;
    uint32_t count = plan.count > 0 ? plan.count : s->file_count - 1;
    plan.bases = s->bases;
    plan.count = count;
    plan.end = s->bases[count];
    plan.clean_seq = s->clean_seq;
    plan.now_us = plan.now_us > 0 ? plan.now_us : spool_now(r);
    int rc = mmi_compact_begin(c, s, &plan);
    while (rc == MM_OK && c->state != MMI_COMPACT_DONE) {
        rc = mmi_compact_step(c);
        rc = rc == 1 ? MM_OK : rc;
        uint32_t at;
        if (rc == MM_OK && c->state == MMI_COMPACT_COMMIT) {
            mmi_compact_names names = { .named = false };
            bool there = mmi_compact_commit_plan(c, s, &at);
            rc = there ? mmi_compact_commit_run(c, &names) : MM_OK;
            if (there) {
                mmi_compact_commit_done(c, s, at, &names);
            }
            if (rc == MM_OK) {
                mmi_compact_committed(c, there ? MMI_COMPACT_TAKEN : MMI_COMPACT_LEFT);
            }
        }
    }
    s->clean_seq = rc == MM_OK ? mmi_compact_clean(c) : s->clean_seq;
    mmi_compact_end(c);
    return rc;
}

/* Each number that can be read, in `there`; all of them are what they are to be.  What the reader
 * said last. */
static inline int
keyed_read(spool_rig *r, keyed_of what, bool *there, uint64_t most)
{
    mmi_spool_reader reader;
    mmi_spool_where where;
    int rc;
    memset(there, 0, most * sizeof *there);
    mmi_spool_reader_open(&reader, &r->disk.files, r->disk.dir, mmi_spool_first(&r->spool));
    do {
        mmi_spool_record got;
        uint64_t seq;
        mmi_spool_locate(&r->spool, reader.next_seq, &where);
        rc = mmi_spool_reader_load(&reader, &where);
        int next = rc == 1;
        while (next == 1 && (next = mmi_spool_reader_next(&reader, &got, &seq)) == 1) {
            keyed m = what(seq);
            CHECK(seq < most && !there[seq]);
            CHECK_INT(got.size, m.size);
            CHECK_INT(got.meta_size, m.key == NO_KEY ? 0 : 5);
            CHECK(m.key == NO_KEY || got.meta[4] == (uint8_t)m.key);
            for (uint64_t i = 0; i < got.size; i++) {
                CHECK_INT(got.data[i], seq % 251);
            }
            there[seq] = true;
        }
        CHECK(next == 0 || rc != 1);
    } while (rc == 1 || rc == MMI_SPOOL_PASSED);
    if (rc == 0) {
        CHECK_INT(reader.next_seq, r->spool.last_seq + 1);
    }
    mmi_spool_reader_close(&reader);
    return rc;
}

#endif
