/*
 * disk_rig.h: a simulated disk with its root open, for tests of crashes and faults.
 * Not here: the tests (test_disk_*.c); what both implementations promise (test_files*.c).
 * Law: a crash is followed by a reboot and an open root; what differs between seeds is tallied, so
 * that a test can ask for what must never be, and for what must be seen at least once.
 */
#ifndef DISK_RIG_H
#define DISK_RIG_H

#include "files_world.h"

enum { SEEDS = 1000 };

typedef struct disk_rig {
    mmi_disk *disk;
    mmi_files files;
    int dir;
} disk_rig;

static inline disk_rig
rig_open(uint64_t seed, const mmi_disk_opts *opts)
{
    disk_rig r = { .disk = mmi_disk_new(seed, opts) };
    CHECK(r.disk != NULL);
    mmi_disk_files(r.disk, &r.files);
    CHECK_INT(r.files.root(r.files.self, "/", &r.dir), MM_OK);
    return r;
}

static inline disk_rig
rig_plain(uint64_t seed)
{
    return rig_open(seed, &(mmi_disk_opts){ .capacity = 0 });
}

static inline void
rig_close(disk_rig *r)
{
    mmi_disk_free(r->disk);
}

/* A crash, and what is left of it to be looked at. */
static inline void
rig_crash(disk_rig *r)
{
    mmi_disk_crash(r->disk);
    mmi_disk_reboot(r->disk);
    CHECK_INT(r->files.root(r->files.self, "/", &r->dir), MM_OK);
}

static inline mmi_disk_state
rig_space(const disk_rig *r)
{
    mmi_disk_state state;
    mmi_disk_inspect(r->disk, &state);
    return state;
}

/* A file of that name that holds this text, and is synced; its name is not. */
static inline int
rig_synced(disk_rig *r, const char *name, const char *text)
{
    int file = file_of(&r->files, r->dir, name, text);
    CHECK_INT(CALL(r, sync, file), MM_OK);
    return file;
}

/* The same, and its name, too. */
static inline int
rig_durable(disk_rig *r, const char *name, const char *text)
{
    int file = rig_synced(r, name, text);
    CHECK_INT(CALL(r, sync_folder, r->dir), MM_OK);
    return file;
}

/* A folder that survives everything. */
static inline int
rig_folder(disk_rig *r, const char *name)
{
    int sub;
    CHECK_INT(CALL(r, mkdir, r->dir, name), MM_OK);
    CHECK_INT(CALL(r, sync_folder, r->dir), MM_OK);
    CHECK_INT(CALL(r, folder, r->dir, name, &sub), MM_OK);
    return sub;
}

#endif
