/*
 * test_spool_nowait.c: a spool for an event loop: what is put without waiting, and the bell that
 * tells when it is kept.
 *
 * Not here: the loop (tests/unit/test_aio_spool.py).  Meant to run under TSan as well.
 */
#include "spool/nowait.h"

#include <poll.h>

#include "spool_threads.h"

enum { SIZE = 1000, MANY = 200, PUTTERS = 3 };

static int
put(threads_rig *r, size_t count, mmi_spool_did *did)
{
    static const uint8_t body[SIZE];
    const uint64_t size = sizeof body;
    mmi_spool_record records[MANY];
    for (size_t i = 0; i < count; i++) {
        records[i] = (mmi_spool_record){ .frames = 1, .sizes = &size, .data = body, .size = size };
    }
    return mmi_spool_nowait_put(&r->spool, records, count, did);
}

static bool
rung(const mmi_spool_watch *w, int timeout_ms)
{
    struct pollfd fd = { .fd = w->bell, .events = POLLIN };
    return poll(&fd, 1, timeout_ms) == 1;
}

static void
test_nothing_is_written_before_it_is_asked_for(void)
{
    threads_rig r;
    mmi_spool_did did;
    mmi_spool_watch w;
    mmi_spool_kept kept;
    threads_new(&r, MMI_SPOOL_DISK);
    CHECK_INT(mmi_spool_watch_open(&w, &r.spool), MM_OK);
    threads_stop(&r.spool);
    threads_go_on(&r.spool);
    CHECK_INT(put(&r, 10, &did), MM_OK);
    CHECK(did.done == 10 && did.first == 1 && did.last == 10);
    mmi_spool_watch_set(&w, UINT64_MAX, 10, &kept);
    CHECK(kept.last == 10 && kept.written == 0 && kept.durable == 0 && !kept.failed);
    CHECK(!rung(&w, 0));
    mmi_spool_nowait_write(&r.spool);
    CHECK(rung(&w, -1));
    mmi_spool_watch_set(&w, 11, 11, &kept);
    CHECK(kept.written == 10 && kept.durable == 10);
    CHECK(!rung(&w, 0));
    mmi_spool_watch_set(&w, UINT64_MAX, 10, &kept); /* it is so already */
    CHECK(rung(&w, 0));
    mmi_spool_watch_set(&w, UINT64_MAX, UINT64_MAX, &kept);
    CHECK(!rung(&w, 0));
    mmi_spool_watch_close(&w);
    CHECK_INT(r.spool.counts.appended, 10);
    threads_free(&r);
}

static void
test_what_has_no_room_is_for_another_call(void)
{
    threads_rig r;
    mmi_spool_did did;
    uint64_t last = 0;
    int rc;
    threads_new(&r, MMI_SPOOL_OS);
    threads_stop(&r.spool);
    threads_go_on(&r.spool);
    while ((rc = put(&r, 1, &did)) == MM_OK) { /* until a batch is full, as nobody writes it */
        CHECK_INT(did.last, ++last);
    }
    CHECK_INT(rc, MM_EAGAIN);
    CHECK(did.done == 0 && did.last == 0);
    CHECK(last > 1);
    CHECK_INT(r.spool.spool.written_seq, 0);
    CHECK_INT(mmi_spool_shared_wait(&r.spool, UINT64_MAX, MMI_SPOOL_DISK, &PATIENTLY), MM_OK);
    CHECK_INT(put(&r, MANY, &did), MM_EAGAIN); /* some of them */
    CHECK_INT(did.done, last);
    CHECK_INT(did.last, 2 * last);
    threads_free(&r);
}

static void
test_a_full_spool_waits_and_drops_nothing(void)
{
    threads_rig r;
    mmi_spool_did did;
    threads_prepare(&r, MMI_SPOOL_OS);
    r.opts.spool.max_messages = 5;
    r.opts.overflow = MMI_SPOOL_DROP_OLDEST;
    threads_open(&r);
    for (uint64_t last = 0; last < 5;) { /* not all at once, as each file has some of them only */
        int rc = put(&r, (size_t)(5 - last), &did);
        CHECK(rc == MM_OK || rc == MM_EAGAIN);
        last += did.done;
        CHECK(did.done == 0 || did.last == last);
        CHECK_INT(mmi_spool_shared_wait(&r.spool, UINT64_MAX, MMI_SPOOL_DISK, &PATIENTLY), MM_OK);
    }
    CHECK_INT(put(&r, 1, &did), MM_EAGAIN);
    CHECK_INT(did.done, 0);
    CHECK_INT(r.spool.counts.dropped_oldest, 0);
    threads_free(&r);
}

typedef struct putter {
    threads_rig *r;
    uint64_t last;
} putter;

static void *
putter_run(void *arg)
{
    putter *p = arg;
    mmi_spool_watch w;
    mmi_spool_kept kept;
    CHECK_INT(mmi_spool_watch_open(&w, &p->r->spool), MM_OK);
    for (int i = 0; i < MANY;) {
        mmi_spool_did did;
        int rc = put(p->r, 3, &did);
        CHECK(rc == MM_OK || rc == MM_EAGAIN);
        mmi_spool_nowait_write(&p->r->spool);
        i += (int)did.done;
        p->last = did.last > 0 ? did.last : p->last;
        mmi_spool_watch_set(&w, UINT64_MAX, p->last, &kept);
        CHECK(rung(&w, -1));
        mmi_spool_watch_set(&w, UINT64_MAX, UINT64_MAX, &kept);
        CHECK(kept.durable >= p->last);
    }
    mmi_spool_watch_close(&w);
    return NULL;
}

static void
test_each_loop_has_its_bell(void)
{
    threads_rig r;
    putter putters[PUTTERS];
    pthread_t threads[PUTTERS];
    threads_new(&r, MMI_SPOOL_DISK);
    for (int i = 0; i < PUTTERS; i++) {
        putters[i] = (putter){ .r = &r };
        CHECK_INT(pthread_create(&threads[i], NULL, putter_run, &putters[i]), 0);
    }
    for (int i = 0; i < PUTTERS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(r.spool.watches == NULL);
    CHECK(r.spool.counts.appended >= (uint64_t)PUTTERS * MANY);
    threads_free(&r);
}

static int
no_disk(void *self, int file)
{
    (void)self;
    (void)file;
    errno = EIO;
    return MM_EIO;
}

static void
test_a_disk_that_fails_rings(void)
{
    threads_rig r;
    mmi_spool_did did;
    mmi_spool_watch w;
    mmi_spool_kept kept;
    threads_new(&r, MMI_SPOOL_DISK);
    CHECK_INT(mmi_spool_watch_open(&w, &r.spool), MM_OK);
    threads_stop(&r.spool);
    r.spool.files.sync_data = no_disk;
    threads_go_on(&r.spool);
    CHECK_INT(put(&r, 1, &did), MM_OK);
    mmi_spool_watch_set(&w, UINT64_MAX, 1, &kept);
    mmi_spool_nowait_write(&r.spool);
    CHECK(rung(&w, -1));
    mmi_spool_watch_set(&w, UINT64_MAX, 1, &kept);
    CHECK(kept.failed && kept.durable == 0);
    CHECK(rung(&w, 0));
    CHECK_INT(put(&r, 1, &did), MM_EIO);
    mmi_spool_watch_close(&w);
    CHECK_INT(mmi_spool_shared_close(&r.spool), MM_EIO);
    threads_remove(r.place);
}

int
main(void)
{
    RUN(test_nothing_is_written_before_it_is_asked_for);
    RUN(test_what_has_no_room_is_for_another_call);
    RUN(test_a_full_spool_waits_and_drops_nothing);
    RUN(test_each_loop_has_its_bell);
    RUN(test_a_disk_that_fails_rings);
    return 0;
}
