/*
 * spool_rig.h: a spool on the simulated disk, and a model of what is in it.
 *
 * Not here: the tests (test_spool_*.c).  Law: what a message is follows from its number and the
 * life in which it was put, so that whatever comes back can be judged; numbers that were never
 * durable may be given again.
 */
#ifndef SPOOL_RIG_H
#define SPOOL_RIG_H

#include "disk_rig.h"
#include "spool/reader.h"

enum {
    SPOOL_BODY_MAX = 900,       /* octets of a message */
    SPOOL_MESSAGES_MAX = 4096,  /* of a model */
    SPOOL_TRIES = 40            /* to open on a disk with faults */
};

typedef struct spool_rig {
    disk_rig disk;
    mmi_spool_opts opts;
    mmi_spool spool;
    mmi_spool_report report;
    bool open;
    uint32_t seed;
    uint64_t clock_us;
    uint32_t life;
    uint32_t lives[SPOOL_MESSAGES_MAX]; /* in which each number was put last; 0: never */
    uint64_t durable;                   /* it was said to be, up to here */
} spool_rig;

static inline uint64_t
spool_now(void *arg)
{
    spool_rig *r = arg;
    return r->clock_us += 7;
}

static inline void
spool_random(void *arg, void *buf, size_t size)
{
    spool_rig *r = arg;
    for (size_t i = 0; i < size; i++) {
        ((uint8_t *)buf)[i] = (uint8_t)check_random(&r->seed);
    }
}

static inline uint32_t
spool_body(uint64_t seq, uint32_t life, uint8_t body[SPOOL_BODY_MAX])
{
    uint32_t seed = (uint32_t)seq * 2654435761u + life * 40503u + 1;
    uint32_t size = check_random(&seed) % SPOOL_BODY_MAX;
    for (uint32_t i = 0; i < size; i += (uint32_t)sizeof seed) {
        uint32_t word = check_random(&seed);
        memcpy(body + i, &word, sizeof word); /* which has room, as SPOOL_BODY_MAX is whole words */
    }
    return size;
}

static inline void
spool_rig_new(spool_rig *r, uint64_t seed, const mmi_disk_opts *opts)
{
    *r = (spool_rig){ .disk = rig_open(seed, opts), .seed = (uint32_t)seed * 7919u + 1 };
    r->opts = (mmi_spool_opts){ .level = MMI_SPOOL_DISK,
                                .file_bytes = MMI_SPOOL_FILE_MIN,
                                .owner = "a test",
                                .arg = r,
                                .now_us = spool_now,
                                .random = spool_random };
}

static inline int
spool_rig_open(spool_rig *r)
{
    int rc = mmi_spool_open(&r->spool, &r->disk.files, r->disk.dir, &r->opts, &r->report);
    r->open = rc == MM_OK;
    r->life += r->open;
    return rc;
}

/* One job, if there is something to do. */
static inline int
spool_rig_job(spool_rig *r, bool syncs)
{
    mmi_spool_job job;
    int rc = MM_OK;
    if (mmi_spool_take(&r->spool, syncs, &job)) {
        mmi_spool_write(&r->spool, &job);
        rc = mmi_spool_wrote(&r->spool, &job);
    }
    r->durable = r->spool.durable_seq > r->durable ? r->spool.durable_seq : r->durable;
    return rc;
}

/* What waits goes to the disk. */
static inline int
spool_rig_commit(spool_rig *r, bool syncs)
{
    mmi_spool_job job;
    int rc = MM_OK;
    while (rc == MM_OK && mmi_spool_take(&r->spool, syncs, &job)) {
        mmi_spool_write(&r->spool, &job);
        rc = mmi_spool_wrote(&r->spool, &job);
    }
    r->durable = r->spool.durable_seq > r->durable ? r->spool.durable_seq : r->durable;
    return rc;
}

/* The next message; written first, if that is asked for.  As mmi_spool_put. */
static inline int
spool_rig_put(spool_rig *r)
{
    uint8_t body[SPOOL_BODY_MAX];
    uint64_t seq = r->spool.last_seq + 1;
    CHECK(seq < SPOOL_MESSAGES_MAX);
    uint64_t size = spool_body(seq, r->life, body);
    const mmi_spool_record record = { .frames = 1, .sizes = &size, .data = body, .size = size };
    int rc = mmi_spool_put(&r->spool, &record, &seq);
    if (rc == MM_EAGAIN) {
        rc = spool_rig_commit(r, false);
        rc = rc == MM_OK ? mmi_spool_put(&r->spool, &record, &seq) : rc;
    }
    if (rc == MM_OK) {
        r->lives[seq] = r->life;
    }
    return rc;
}

/* All that can be seen, from the first number on: each is what was put under it.  The number
 * behind the last; or an error of the reader, and *at where. */
static inline int
spool_rig_read(spool_rig *r, uint64_t from, uint64_t *at)
{
    mmi_spool_reader reader;
    mmi_spool_where where;
    uint8_t wanted[SPOOL_BODY_MAX];
    int rc;
    mmi_spool_reader_open(&reader, &r->disk.files, r->disk.dir, from);
    for (;;) {
        mmi_spool_record got;
        uint64_t seq;
        mmi_spool_locate(&r->spool, reader.next_seq, &where);
        rc = mmi_spool_reader_load(&reader, &where);
        if (rc != 1) {
            break;
        }
        while ((rc = mmi_spool_reader_next(&reader, &got, &seq)) == 1) {
            CHECK_INT(seq, from);
            CHECK_INT(got.size, spool_body(seq, r->lives[seq], wanted));
            CHECK(memcmp(got.data, wanted, got.size) == 0);
            from++;
        }
        CHECK_INT(rc, 0);
    }
    *at = reader.next_seq;
    mmi_spool_reader_close(&reader);
    return rc;
}

/* Files go that have nothing above that number, at most so many: how many went. */
static inline uint32_t
spool_trim(mmi_spool *s, uint64_t seq, uint32_t most)
{
    uint32_t files = mmi_spool_trim_run(s, mmi_spool_trim_plan(s, seq, most));
    mmi_spool_trim_done(s, files);
    return files;
}

/* The machine or the processes stop, and all of it is forgotten but what is on the disk. */
static inline void
spool_rig_stop(spool_rig *r, bool machine)
{
    if (r->open) {
        mmi_spool_abandon(&r->spool);
        r->open = false;
    }
    if (machine) {
        mmi_disk_crash(r->disk.disk);
    } else {
        mmi_disk_kill(r->disk.disk);
    }
    mmi_disk_reboot(r->disk.disk);
    CHECK_INT(r->disk.files.root(r->disk.files.self, "/", &r->disk.dir), MM_OK);
}

/* On a disk with faults, which it has no more once half of the tries are over. */
static inline void
spool_rig_open_somehow(spool_rig *r)
{
    for (uint32_t tries = 0; spool_rig_open(r) != MM_OK; tries++) {
        CHECK(tries < SPOOL_TRIES);
        spool_rig_stop(r, false);
        if (tries > SPOOL_TRIES / 2) {
            mmi_disk_faults(r->disk.disk, &(mmi_disk_opts){ .capacity = 0 });
        }
    }
}

static inline void
spool_rig_free(spool_rig *r)
{
    if (r->open) {
        (void)mmi_spool_close(&r->spool);
    }
    rig_close(&r->disk);
}

#endif
