/*
 * test_spool_view.c: a view of a spool in a thread beside who writes, rolls, trims and closes it:
 * dense numbers, right bodies, and nothing that is not durable.
 *
 * Not here: lives, harm (tests/unit/test_spool_view.py), kills (tests/crash).  Meant to run under
 * TSan as well.
 */
#include "spool/view.h"

#include "spool_threads.h"

enum { MESSAGES = 800, SIZE = 900, KEEPS = 100 };

typedef struct writer {
    threads_rig *r;
    bool trims;
} writer;

static void *
writer_run(void *arg)
{
    writer *w = arg;
    uint8_t body[SIZE];
    const uint64_t size = sizeof body;
    for (uint64_t seq = 1; seq <= MESSAGES; seq++) {
        mmi_spool_did did;
        memset(body, (int)(seq % 251), sizeof body);
        const mmi_spool_record record = { .frames = 1, .sizes = &size, .data = body, .size = size };
        CHECK_INT(mmi_spool_shared_put(&w->r->spool, &record, 1, seq % 5 == 0, &PATIENTLY, &did),
                  MM_OK);
        CHECK_INT(did.last, seq);
        if (w->trims && seq % KEEPS == 0) {
            mmi_spool_shared_trim(&w->r->spool, seq - KEEPS / 2);
        }
    }
    CHECK_INT(mmi_spool_shared_wait(&w->r->spool, MESSAGES, MMI_SPOOL_DISK, &PATIENTLY), MM_OK);
    return NULL;
}

/* Reads what there is: the next number, perhaps behind files that went. */
static uint64_t
view_reads(mmi_spool_view *v, mmi_spool_reader *reader, bool trims)
{
    mmi_spool_where where;
    mmi_spool_record got;
    uint64_t seq;
    CHECK_INT(mmi_spool_view_follow(v, reader->next_seq - 1, &PATIENTLY), MM_OK);
    mmi_spool_view_locate(v, reader->next_seq, &where);
    int rc = mmi_spool_reader_load(reader, &where);
    if (rc == MM_ENOENT && trims) {
        CHECK_INT(mmi_spool_view_look(v), MM_OK);
        mmi_spool_view_locate(v, reader->next_seq, &where);
        mmi_spool_reader_seek(reader,
                              where.first > reader->next_seq ? where.first : reader->next_seq);
        return reader->next_seq;
    }
    CHECK_INT(rc, 1);
    uint64_t next = reader->next_seq;
    while (mmi_spool_reader_next(reader, &got, &seq) == 1) {
        CHECK_INT(seq, next++);
        CHECK(seq <= where.visible || got.size == SIZE);
        CHECK_INT(got.size, SIZE);
        CHECK_INT(got.data[0], seq % 251);
        CHECK_INT(got.data[SIZE - 1], seq % 251);
    }
    return next;
}

static void
follow(bool trims, mmi_spool_level level)
{
    threads_rig r;
    mmi_spool_view v;
    mmi_spool_reader reader;
    pthread_t thread;
    threads_new(&r, level);
    writer w = { .r = &r, .trims = trims };
    CHECK_INT(mmi_spool_view_open(&v, r.path, false), MM_OK);
    mmi_spool_reader_open(&reader, &v.files, v.dir, 1);
    CHECK_INT(pthread_create(&thread, NULL, writer_run, &w), 0);
    while (view_reads(&v, &reader, trims) <= MESSAGES) {
        uint64_t shown = v.visible; /* no other thread looks */
        pthread_mutex_lock(&r.spool.lock);
        while (r.spool.spool.busy) { /* what was done on the disk is noted then */
            mmi_thread_wait(&r.spool.done, &r.spool.lock, UINT64_MAX);
        }
        CHECK(shown <= r.spool.spool.durable_seq);
        pthread_mutex_unlock(&r.spool.lock);
    }
    pthread_join(thread, NULL);
    mmi_spool_reader_close(&reader);
    mmi_spool_view_close(&v);
    threads_free(&r);
}

static void
test_a_view_follows_who_writes(void)
{
    follow(false, MMI_SPOOL_OS);
    follow(false, MMI_SPOOL_DISK);
}

static void
test_a_view_follows_who_writes_and_trims(void)
{
    follow(true, MMI_SPOOL_OS);
    follow(true, MMI_SPOOL_DISK);
}

static void
test_a_view_waits_no_longer_than_asked(void)
{
    threads_rig r;
    mmi_spool_view v;
    threads_new(&r, MMI_SPOOL_DISK);
    CHECK_INT(mmi_spool_view_open(&v, r.path, false), MM_OK);
    const mmi_spool_wait never = { .deadline_ns = 0 };
    const mmi_spool_wait slice = { .deadline_ns = UINT64_MAX, .slice_ns = 1000 };
    const mmi_spool_wait soon = { .deadline_ns = mmi_thread_now_ns() + 1000000 };
    CHECK_INT(mmi_spool_view_follow(&v, 0, &never), MM_ETIMEDOUT);
    CHECK_INT(mmi_spool_view_follow(&v, 0, &slice), MM_EINTR);
    CHECK_INT(mmi_spool_view_follow(&v, 0, &soon), MM_ETIMEDOUT);
    mmi_spool_view_close(&v);
    threads_free(&r);
}

static void
test_where_there_is_no_spool_nothing_is_made(void)
{
    char place[PLACE_SIZE];
    mmi_spool_view v;
    place_open(place);
    CHECK_INT(mmi_spool_view_open(&v, place, false), MM_ENOENT);
    CHECK_INT(mmi_spool_view_open(&v, "/nowhere/at/all", false), MM_ENOENT);
    place_close(place);
}

int
main(void)
{
    RUN(test_a_view_follows_who_writes);
    RUN(test_a_view_follows_who_writes_and_trims);
    RUN(test_a_view_waits_no_longer_than_asked);
    RUN(test_where_there_is_no_spool_nothing_is_made);
    return 0;
}
