/*
 * cursor_steps.h: what tests of shared cursors and of sweeps do again and again.
 *
 * Not here: the tests (test_spool_cursors.c, test_spool_sweep.c).  Law: every step is checked;
 * clocks are changed while the spool's own thread waits.
 */
#ifndef CURSOR_STEPS_H
#define CURSOR_STEPS_H

#include "base/meta.h"
#include "spool/shared_cursors.h"
#include "spool_threads.h"

enum {
    CURSOR_BODY = MMI_SPOOL_FILE_MIN / 8 /* octets of a message: some seven have room in a file */
};

static inline void
put_some(threads_rig *r, int count, bool waits)
{
    static const uint8_t body[CURSOR_BODY];
    uint64_t size = sizeof body;
    mmi_spool_did did;
    const mmi_spool_record record = { .frames = 1, .sizes = &size, .data = body, .size = size };
    for (int i = 0; i < count; i++) {
        CHECK_INT(mmi_spool_shared_put(&r->spool, &record, 1, waits, &PATIENTLY, &did), MM_OK);
    }
}

/* One that has a key. */
static inline void
put_keyed(threads_rig *r, int key)
{
    static const uint8_t body[CURSOR_BODY];
    uint64_t size = sizeof body;
    mmi_spool_did did;
    const uint8_t meta[] = { MMI_META_KEY, 0, 1, (uint8_t)key };
    const mmi_spool_record record = { .meta = meta,
                                      .meta_size = sizeof meta,
                                      .frames = 1,
                                      .sizes = &size,
                                      .data = body,
                                      .size = size };
    CHECK_INT(mmi_spool_shared_put(&r->spool, &record, 1, true, &PATIENTLY, &did), MM_OK);
}

static inline uint32_t
files_of(threads_rig *r)
{
    pthread_mutex_lock(&r->spool.lock);
    uint32_t files = r->spool.spool.file_count;
    pthread_mutex_unlock(&r->spool.lock);
    return files;
}

/* The first number of a file. */
static inline uint64_t
base_of(threads_rig *r, uint32_t index)
{
    pthread_mutex_lock(&r->spool.lock);
    CHECK(index < r->spool.spool.file_count);
    uint64_t base = r->spool.spool.bases[index];
    pthread_mutex_unlock(&r->spool.lock);
    return base;
}

static inline uint64_t
last_of(threads_rig *r)
{
    pthread_mutex_lock(&r->spool.lock);
    uint64_t last = r->spool.spool.last_seq;
    pthread_mutex_unlock(&r->spool.lock);
    return last;
}

static inline mmi_spool_counts
counts_of(threads_rig *r)
{
    pthread_mutex_lock(&r->spool.lock);
    mmi_spool_counts counts = r->spool.counts;
    pthread_mutex_unlock(&r->spool.lock);
    return counts;
}

/* One at a time, until there are so many files. */
static inline void
put_files(threads_rig *r, uint32_t files)
{
    while (files_of(r) < files) {
        put_some(r, 1, true);
    }
}

static inline mmi_spool_cursor *
cursor_of(threads_rig *r, const char *name, uint64_t start)
{
    mmi_spool_cursor *c = NULL;
    CHECK_INT(mmi_spool_shared_cursor_open(&r->spool, name, true, start, &c), MM_OK);
    return c;
}

static inline mmi_spool_cursor_info
cursor_info(threads_rig *r, mmi_spool_cursor *c)
{
    mmi_spool_cursor_info info;
    mmi_spool_shared_cursor_inspect(&r->spool, c, &info);
    return info;
}

static inline void
cursor_did(threads_rig *r, mmi_spool_cursor *c, uint64_t first, uint64_t last)
{
    CHECK_INT(mmi_spool_shared_cursor_done(&r->spool, c, first, last), MM_OK);
}

static inline void
cursor_saved(threads_rig *r, mmi_spool_cursor *c)
{
    CHECK_INT(mmi_spool_shared_cursor_save(&r->spool, c, &PATIENTLY), MM_OK);
}

static inline void
cursor_closed(threads_rig *r, mmi_spool_cursor *c)
{
    CHECK_INT(mmi_spool_shared_cursor_close(&r->spool, c), MM_OK);
}

/* The first number that is there. */
static inline uint64_t
first_of(threads_rig *r)
{
    mmi_spool_where where;
    mmi_spool_shared_locate(&r->spool, 1, &where);
    return where.first;
}

/* Is the thread asleep, with nothing left to sweep or to save? */
static inline bool
swept(mmi_spool_shared *h)
{
    pthread_mutex_lock(&h->lock);
    bool looked = !h->sweep_wanted && h->swept_files == h->spool.file_count;
    bool is = h->idle && (looked || h->spool.file_count == 1);
    pthread_mutex_unlock(&h->lock);
    return is;
}

/* Files are looked at now, and as long as some go. */
static inline void
sweep_now(threads_rig *r)
{
    threads_stop(&r->spool);
    r->spool.sweep_wanted = true;
    pthread_cond_signal(&r->spool.work);
    threads_go_on(&r->spool);
    AWAIT(swept(&r->spool));
}

#endif
