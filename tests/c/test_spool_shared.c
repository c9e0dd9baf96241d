/*
 * test_spool_shared.c: a spool that threads share, on the system's files: each message of each
 * thread is there, in its thread's order; who follows sees all of them; who waits for room gets it.
 *
 * Not here: what a crash leaves (test_spool_crash.c).  Meant to run under TSan as well.
 */
#include "spool_threads.h"

enum { WRITERS = 4, EACH = 300, A_RUN = 7 };

typedef struct writer {
    threads_rig *r;
    uint32_t number;
    bool waits;
} writer;

/* Messages of a thread say whose they are, and which of its. */
static void *
writer_run(void *arg)
{
    const writer *w = arg;
    uint32_t bodies[A_RUN][2];
    uint64_t size = sizeof bodies[0];
    mmi_spool_did did = { .done = 0 };
    for (uint32_t i = 0; i < EACH;) {
        mmi_spool_record records[A_RUN];
        size_t count = 0;
        for (; count < A_RUN && i < EACH; count++, i++) {
            bodies[count][0] = w->number;
            bodies[count][1] = i;
            records[count] = (mmi_spool_record){
                .frames = 1, .sizes = &size, .data = (const uint8_t *)bodies[count], .size = size
            };
        }
        CHECK_INT(mmi_spool_shared_put(&w->r->spool, records, count, w->waits, &PATIENTLY, &did),
                  MM_OK);
        CHECK_INT(did.done, count);
    }
    CHECK_INT(mmi_spool_shared_wait(&w->r->spool, did.last, MMI_SPOOL_DISK, &PATIENTLY), MM_OK);
    return NULL;
}

/* Reads so many, as they come: those of each thread are in its order. */
static void
follow(threads_rig *r, uint32_t count)
{
    uint32_t next[WRITERS] = { 0 };
    mmi_spool_reader reader;
    mmi_spool_reader_open(&reader, &r->spool.files, r->spool.dir, 1);
    for (uint32_t seen = 0; seen < count;) {
        mmi_spool_where where;
        mmi_spool_record got;
        uint64_t seq;
        CHECK_INT(mmi_spool_shared_follow(&r->spool, reader.next_seq - 1, &PATIENTLY), MM_OK);
        mmi_spool_shared_locate(&r->spool, reader.next_seq, &where);
        CHECK_INT(mmi_spool_reader_load(&reader, &where), 1);
        for (; mmi_spool_reader_next(&reader, &got, &seq) == 1; seen++) {
            uint32_t body[2];
            CHECK_INT(seq, seen + 1);
            CHECK_INT(got.size, sizeof body);
            memcpy(body, got.data, sizeof body);
            CHECK(body[0] < WRITERS);
            CHECK_INT(body[1], next[body[0]]);
            next[body[0]]++;
        }
    }
    mmi_spool_reader_close(&reader);
}

static void
write_and_follow(mmi_spool_level level, bool waits)
{
    threads_rig r;
    pthread_t threads[WRITERS];
    writer writers[WRITERS];
    threads_new(&r, level);
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i] = (writer){ .r = &r, .number = i, .waits = waits || i == 0 };
        CHECK_INT(pthread_create(&threads[i], NULL, writer_run, &writers[i]), 0);
    }
    follow(&r, WRITERS * EACH);
    for (uint32_t i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_INT(r.spool.counts.appended, WRITERS * EACH);
    CHECK_INT(mmi_spool_shared_close(&r.spool), MM_OK);
    threads_open(&r);
    follow(&r, WRITERS * EACH);
    threads_free(&r);
}

static void
test_what_threads_put_is_there_and_followed(void)
{
    write_and_follow(MMI_SPOOL_DISK, true);
    write_and_follow(MMI_SPOOL_DISK, false);
    write_and_follow(MMI_SPOOL_OS, true);
    write_and_follow(MMI_SPOOL_OS, false);
}

static int
put_one(threads_rig *r, size_t size, const mmi_spool_wait *wait)
{
    static const uint8_t body[MMI_SPOOL_FILE_MIN / 4];
    uint64_t sizes = size;
    mmi_spool_did did;
    const mmi_spool_record record = { .frames = 1, .sizes = &sizes, .data = body, .size = size };
    return mmi_spool_shared_put(&r->spool, &record, 1, true, wait, &did);
}

/* Nobody waits for them: the spool's own thread syncs what was put off. */
static void
test_large_batches_get_to_the_disk_though_nobody_waits_for_them(void)
{
    static const uint8_t body[MMI_SPOOL_FILE_MIN / 10];
    uint64_t size = sizeof body;
    const mmi_spool_record record = { .frames = 1, .sizes = &size, .data = body, .size = size };
    threads_rig r;
    mmi_spool_did did;
    threads_new(&r, MMI_SPOOL_DISK);
    for (uint64_t i = 1; i <= 40; i++) {
        CHECK_INT(mmi_spool_shared_put(&r.spool, &record, 1, false, &PATIENTLY, &did), MM_OK);
        CHECK_INT(did.last, i);
    }
    CHECK_INT(mmi_spool_shared_follow(&r.spool, did.last - 1, &PATIENTLY), MM_OK);
    threads_free(&r);
}

/* A thread that does not wait writes a large batch, while so many wait: is it synced at once? */
static bool
lead_synced(threads_rig *r, uint32_t sync_waits)
{
    static const uint8_t body[MMI_SPOOL_FILE_MIN / 10];
    mmi_spool *s = &r->spool.spool;
    uint64_t size = sizeof body, seq;
    const mmi_spool_record record = { .frames = 1, .sizes = &size, .data = body, .size = size };
    pthread_mutex_lock(&r->spool.lock);
    while (s->busy || s->durable_seq < s->last_seq) {   /* what was put off before */
        if (!mmi_spool_shared_lead(&r->spool, true)) {
            mmi_thread_wait(&r->spool.done, &r->spool.lock, UINT64_MAX);
        }
    }
    CHECK_INT(mmi_spool_put(s, &record, &seq), MM_OK);
    r->spool.sync_waits += sync_waits;
    CHECK(mmi_spool_shared_lead(&r->spool, false));
    r->spool.sync_waits -= sync_waits;
    bool synced = s->durable_seq == seq;
    pthread_mutex_unlock(&r->spool.lock);
    return synced;
}

static void
test_no_sync_is_put_off_while_somebody_waits_for_one(void)
{
    threads_rig r;
    threads_new(&r, MMI_SPOOL_DISK);
    CHECK(!lead_synced(&r, 0));
    CHECK(lead_synced(&r, 1));
    CHECK_INT(put_one(&r, 1, &PATIENTLY), MM_OK);
    CHECK_INT(r.spool.sync_waits, 0);
    threads_free(&r);
}

static void *
trim_run(void *arg)
{
    threads_rig *r = arg;
    mmi_spool_shared_trim(&r->spool, 5);
    return NULL;
}

static void
test_who_finds_it_full_waits_is_told_or_others_go(void)
{
    enum { SIZE = MMI_SPOOL_FILE_MIN / 5 };
    const mmi_spool_wait never = { .deadline_ns = 0 };
    threads_rig r;
    pthread_t thread;
    threads_new(&r, MMI_SPOOL_DISK);
    CHECK_INT(mmi_spool_shared_close(&r.spool), MM_OK);
    r.opts.spool.max_bytes = 3 * (uint64_t)MMI_SPOOL_FILE_MIN;
    threads_open(&r);
    int rc = MM_OK;
    while ((rc = put_one(&r, SIZE, &PATIENTLY)) == MM_OK) {
    }
    CHECK_INT(rc, MM_ENOSPC);
    r.spool.overflow = MMI_SPOOL_BLOCK;
    CHECK_INT(put_one(&r, SIZE, &never), MM_ETIMEDOUT);
    CHECK_INT(put_one(&r, SIZE, &(mmi_spool_wait){ .deadline_ns = UINT64_MAX, .slice_ns = 1000 }),
              MM_EINTR);
    CHECK_INT(pthread_create(&thread, NULL, trim_run, &r), 0);
    CHECK_INT(put_one(&r, SIZE, &PATIENTLY), MM_OK);
    pthread_join(thread, NULL);
    r.spool.overflow = MMI_SPOOL_DROP_OLDEST;
    uint64_t first = mmi_spool_first(&r.spool.spool);
    for (int i = 0; i < 12; i++) {
        CHECK_INT(put_one(&r, SIZE, &PATIENTLY), MM_OK);
    }
    CHECK(mmi_spool_first(&r.spool.spool) > first);
    CHECK_INT(r.spool.counts.dropped_oldest, mmi_spool_first(&r.spool.spool) - first);
    while (r.spool.spool.sealed_bytes + r.spool.spool.then_end + SIZE < r.opts.spool.max_bytes) {
        CHECK_INT(put_one(&r, SIZE / 2, &PATIENTLY), MM_OK);
    }
    r.spool.overflow = MMI_SPOOL_DROP_NEWEST;
    uint64_t last = r.spool.spool.last_seq;
    CHECK_INT(put_one(&r, SIZE, &PATIENTLY), MM_OK);
    CHECK_INT(r.spool.spool.last_seq, last);
    CHECK_INT(r.spool.counts.dropped_newest, 1);
    threads_free(&r);
}

int
main(void)
{
    RUN(test_what_threads_put_is_there_and_followed);
    RUN(test_large_batches_get_to_the_disk_though_nobody_waits_for_them);
    RUN(test_no_sync_is_put_off_while_somebody_waits_for_one);
    RUN(test_who_finds_it_full_waits_is_told_or_others_go);
    return 0;
}
