/*
 * spool_steps.h: what tests of the spool do again and again on the simulated disk.
 *
 * Not here: the spool and its model (spool_rig.h).  Law: every step is checked.
 */
#ifndef SPOOL_STEPS_H
#define SPOOL_STEPS_H

#include "spool_rig.h"

/* A new spool, open, on a disk without faults. */
static inline void
spool_rig_started(spool_rig *r, uint64_t seed, mmi_spool_level level)
{
    spool_rig_new(r, seed, &(mmi_disk_opts){ .capacity = 0 });
    r->opts.level = level;
    CHECK_INT(spool_rig_open(r), MM_OK);
}

/* So many batches, with so many messages each. */
static inline void
spool_rig_batches(spool_rig *r, int batches, int each)
{
    for (int b = 0; b < batches; b++) {
        for (int i = 0; i < each; i++) {
            CHECK_INT(spool_rig_put(r), MM_OK);
        }
        CHECK_INT(spool_rig_commit(r, false), MM_OK);
    }
}

/* Batches of three, until there are so many files. */
static inline void
spool_rig_files(spool_rig *r, uint32_t files)
{
    while (r->spool.file_count < files) {
        spool_rig_batches(r, 1, 3);
    }
}

/* Of the next batch a part of the head is there, and nothing of its body. */
static inline void
spool_rig_tear_head(spool_rig *r)
{
    uint8_t head[20] = "MMB1";
    memset(head + 4, 7, sizeof head - 4);
    CHECK_INT(file_put(&r->disk.files, r->spool.file.file, r->spool.file.end, head, sizeof head), sizeof head);
}

/* Takes all that is free but so many octets, as another program may. */
static inline void
spool_rig_hog(spool_rig *r, const char *name, uint64_t but)
{
    static const uint8_t octets[4096] = { 1 };
    int file = file_made(&r->disk.files, r->disk.dir, name);
    uint64_t at = 0;
    mmi_space space;
    CHECK_INT(CALL(&r->disk, size, file, &at), MM_OK);
    at = (at + sizeof octets - 1) / sizeof octets * sizeof octets;
    while (file_put(&r->disk.files, file, at, octets, sizeof octets) == (int64_t)sizeof octets) {
        at += sizeof octets;
    }
    CHECK(at >= but);
    CHECK_INT(CALL(&r->disk, truncate, file, at - but), MM_OK);
    CHECK_INT(CALL(&r->disk, sync, file), MM_OK);
    CHECK_INT(CALL(&r->disk, sync_folder, r->disk.dir), MM_OK);
    CALL(&r->disk, close, file);
    CHECK_INT(CALL(&r->disk, space, r->disk.dir, &space), MM_OK);
    CHECK_INT(space.free, but);
}

static inline void
spool_rig_close(spool_rig *r)
{
    CHECK_INT(mmi_spool_close(&r->spool), MM_OK);
    r->open = false;
}

#endif
