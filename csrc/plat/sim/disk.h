/*
 * disk.h: a simulated disk: the files of file.h in memory, with crashes and faults from a seed.
 *
 * Not here: the world of streams (sim.h), which a disk needs no more than it needs a disk.
 * One thread.  Law: the same seed, options and calls give the same results and the same hash.
 * Memory grows with what is written, not with where, nor with what is reserved.
 *
 * What is written is in the cache, which every reader sees; a sync brings it to the platter; a
 * crash leaves what is there, and of the rest what the seed draws: none, all, the front part, or each sector
 * (at times each 4 KiB page) by itself.  Names likewise, by the third law of file.h.
 */
#ifndef MMI_DISK_H
#define MMI_DISK_H

#include "plat/file.h"

typedef struct mmi_disk mmi_disk;

typedef enum mmi_disk_op {
    MMI_DISK_OPEN, /* root, folder, open */
    MMI_DISK_READ,
    MMI_DISK_WRITE,
    MMI_DISK_SYNC, /* sync, sync_data */
    MMI_DISK_SYNC_FOLDER,
    MMI_DISK_RESERVE,
    MMI_DISK_TRUNCATE,
    MMI_DISK_NAME, /* mkdir, rename, unlink */
    MMI_DISK_LIST,
    MMI_DISK_LOCK,
    MMI_DISK_OPS
} mmi_disk_op;

/* Where the sectors of a write go that goes astray. */
typedef enum mmi_disk_way {
    MMI_DISK_LOST,  /* nowhere */
    MMI_DISK_MOVED, /* elsewhere in the file */
    MMI_DISK_OTHER  /* into another file, if there is one */
} mmi_disk_way;

/* All zeroes: a disk without end that never fails.  ppm: of a million. */
typedef struct mmi_disk_opts {
    uint64_t capacity;        /* octets; over it: what fits is written, then ENOSPC; 0: no end */
    uint32_t handles_max;     /* open at once, over it: EMFILE; 0: DISK_HANDLES_MAX */
    uint32_t read_eio_ppm, write_eio_ppm, short_write_ppm;
    uint32_t sync_eio_ppm;    /* then some went; the rest stays, or is gone, and the next sync says OK */
    uint32_t writeback_ppm;   /* of a sector that is written again: it was brought to the platter before */
    uint32_t rot_ppm;         /* of a sector, at a crash: one bit of it turns */
    uint32_t slow_ppm;        /* of a call: it takes between slow_min_ns and slow_max_ns */
    uint64_t slow_min_ns, slow_max_ns;
    void (*pass)(void *arg, uint64_t ns); /* lets that time pass, by whose clock it is; NULL: nobody's */
    void *arg;
} mmi_disk_opts;

typedef struct mmi_disk_state {
    uint64_t operations;      /* calls so far but size, unlock, space and close */
    uint64_t hash;            /* over them and their results */
    uint64_t used;            /* octets, in whole pages, that are written or reserved */
    uint64_t slow_ns;         /* that calls took in all */
    uint64_t struck;          /* calls that failed, or went astray, by a plan */
    uint32_t handles;         /* that are open */
} mmi_disk_state;

mmi_disk *mmi_disk_new(uint64_t seed, const mmi_disk_opts *opts);   /* NULL: no memory */
void mmi_disk_free(mmi_disk *d);
void mmi_disk_files(mmi_disk *d, mmi_files *out);   /* as often as wanted: all see the same files */
void mmi_disk_faults(mmi_disk *d, const mmi_disk_opts *opts);       /* from now on */

/* The nth call of that kind from now (1: the next) fails with that errno, once; 0 of a write: it
 * is short.  In place of what was planned for that kind before. */
void mmi_disk_fail(mmi_disk *d, mmi_disk_op op, uint64_t nth, int error);
/* The nth write from now says that it went, and so do the syncs behind it, but what it took is not where it was meant
 * for; likewise.  It still reads right, until its sectors are written again, forgotten, or the machine stops. */
void mmi_disk_stray(mmi_disk *d, mmi_disk_way way, uint64_t nth);
/* The cache has nothing any more but what waits for a sync: the rest is read from the platter. */
void mmi_disk_forget(mmi_disk *d);
/* The machine stops: what is open is closed, and every call says EIO until the reboot. */
void mmi_disk_crash(mmi_disk *d);
/* So in the nth operation from now: what it does is done, but is not synced; it says EIO.  0: not. */
void mmi_disk_crash_in(mmi_disk *d, uint64_t nth);
/* Crashes from now on keep what this says, of all that was not synced: it is asked once about each piece, numbered from
 * 0 on, a sector that would differ, the size and room of a file, or a change of names.  A change that needs one that is
 * not kept is not kept.  The same calls have the same pieces.  NULL: the seed draws. */
void mmi_disk_choose(mmi_disk *d, bool (*keeps)(void *arg, uint64_t piece), void *arg);
void mmi_disk_reboot(mmi_disk *d);
/* The processes stop, the machine goes on: what is open is closed, what was written stays. */
void mmi_disk_kill(mmi_disk *d);
/* A bit of the sector that holds this octet turns, in the cache and on the platter.  MM_EINVAL: it
 * was never written. */
int mmi_disk_rot(mmi_disk *d, int file, uint64_t at);
/* The sector that holds this octet cannot be read, EIO, until some of it is written again.  MM_EINVAL: it was never
 * written. */
int mmi_disk_spoil(mmi_disk *d, int file, uint64_t at);
void mmi_disk_inspect(const mmi_disk *d, mmi_disk_state *out);

#endif
