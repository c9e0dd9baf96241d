/*
 * file.h: one segment file of a spool: made, written to batch by batch, and looked through.
 *
 * Not here: which files a spool knows of (spool/log.h), what is believed of one after a crash (spool/recover.h).
 * Law: nothing here says that anything is durable but the caller's sync.  A file gets its name only when its head is.
 */
#ifndef MMI_SPOOL_FILE_H
#define MMI_SPOOL_FILE_H

#include "plat/file.h"
#include "spool/format.h"

/* Beside mm_err: what was durable is gone; why a folder is none for a spool. */
enum { MMI_SPOOL_HARMED = -1000, MMI_SPOOL_SHARED = -1001, MMI_SPOOL_REMOTE = -1002 };

enum {
    MMI_SPOOL_UNREADABLE = 0xff,         /* stands for an octet that the disk does not give */
    MMI_SPOOL_NAME = 25,                 /* octets of a file's name: 20 digits, ".seg", and the end */
    MMI_SPOOL_AHEAD = 1024 * 1024        /* octets of zeros that are written ahead of small batches */
};
extern const char mmi_spool_spare_name[];    /* of a file that has room and no head yet */
extern const char mmi_spool_again_name[];    /* of one that went, until it is the spare */

/* How much room there is to be when `need` is: so much more than before that growing is rare.  cap: what there is, 0:
 * nothing; first: the least. */
static inline uint64_t
mmi_spool_cap(uint64_t cap, uint64_t first, uint64_t need)
{
    for (cap = cap > first ? cap : first; cap < need; cap *= 2) {
    }
    return cap;
}
/* Room in a body for so many octets, up to MMI_SPOOL_BODY_MAX; what is in it stays.  MM_ENOMEM. */
int mmi_spool_body_room(uint8_t **body, uint32_t *cap, uint64_t need) MMI_WARN_UNUSED;

void mmi_spool_name(uint64_t base_seq, char out[MMI_SPOOL_NAME]);
bool mmi_spool_name_get(const char *name, uint64_t *base_seq);   /* false: it is no segment's */

typedef struct mmi_spool_place {
    const mmi_files *files;
    int dir;
} mmi_spool_place;

/* The segment files of a folder: the base_seq of each, ascending, for the caller to free; NULL: there are none, or it
 * failed.  MM_ENOMEM, or what the folder said. */
int mmi_spool_list(const mmi_spool_place *place, uint64_t **bases, uint32_t *count) MMI_WARN_UNUSED;
/* Is that folder one for a spool?  MM_OK; MMI_SPOOL_REMOTE: on another machine's file system, and not `remote`;
 * MMI_SPOOL_SHARED: every user of this machine may write to it; or what the folder said. */
int mmi_spool_folder_check(const mmi_spool_place *place, bool remote) MMI_WARN_UNUSED;

typedef struct mmi_spool_file {
    int file;                            /* < 0: not open */
    mmi_spool_head head;
    uint64_t end;                        /* behind the last batch; the next one goes there */
    uint64_t zeroed;                     /* up to there something is written, zeros or what another file left */
    uint64_t stale;                      /* up to there stands, behind the zeros at `end`, what another file left */
    uint32_t chain;                      /* head_crc of the last batch */
} mmi_spool_file;

/* A file with room for so many octets (0: none), under the spare's name, whatever was there; not durable.
 * MM_ENOSPC. */
int mmi_spool_spare(const mmi_spool_place *place, uint64_t size, int *file);
/* The file of that name, of so many octets, is one without a head, with room for `size`, under the spare's name: what
 * it has is written over.  Whoever has it open finds its name gone before anything else.  On an error it went, or has
 * its name still; the spare that was there is there.  *unsure becomes true where the folder could not be synced:
 * whether a crash would show that name nobody knows. */
int mmi_spool_again(const mmi_spool_place *place, const char *name, uint64_t was, uint64_t size, int *file,
                    bool *unsure);
/* Opens a file to be written; one that has a second name (a hard link) becomes a copy of its own before, so that what
 * has the other name does not change.  As open of file.h; and what copying says. */
int mmi_spool_open_own(const mmi_spool_place *place, const char *name, uint32_t flags, int *file);
/* All of the pieces, which are the caller's to change.  MM_ENOSPC, MM_EIO: some of it may be there. */
int mmi_spool_write_all(const mmi_files *files, int file, uint64_t at, mmi_iov *pieces, int n) MMI_WARN_UNUSED;
/* Room for so many octets is that file's, which has `was`: reserved, or where that cannot be, filled.  MM_ENOSPC. */
int mmi_spool_room(const mmi_spool_place *place, int file, uint64_t was, uint64_t size);
/* Gives the spare that head; then it is written, but neither synced nor named.  stale: octets that another file left in
 * it; its version says so. */
int mmi_spool_file_begin(const mmi_spool_place *place, mmi_spool_file *f, int spare, uint64_t stale,
                         const mmi_spool_head *head);
/* Syncs it whole, gives it its name in place of whatever has it, and makes that durable. */
int mmi_spool_file_name(const mmi_spool_place *place, const mmi_spool_file *f);
/* Opens one to be read, and written if asked; its head is read, and no batch.  MM_EPROTO, MM_ENOTSUP: as
 * mmi_spool_head_get; base_seq is not that of its name.  MM_ENOENT: also, it went meanwhile. */
int mmi_spool_file_open(const mmi_spool_place *place, uint64_t base_seq, bool write, mmi_spool_file *f);
void mmi_spool_file_close(const mmi_spool_place *place, mmi_spool_file *f);
/* Has it no name any more?  Then its room may be another file's, and what cannot be read there is no harm. */
bool mmi_spool_file_gone(const mmi_spool_place *place, uint64_t base_seq);

/* As read, but what the disk does not give (MM_EIO) is stepped over, by the sector, and is MMI_SPOOL_UNREADABLE: in
 * search of something, and nothing is believed that is not checked. */
int64_t mmi_spool_read_over(const mmi_spool_place *place, int file, uint64_t at, uint8_t *buf, size_t size);

/* Writes a batch behind the last; its chain is set here.  Zeros go ahead of small ones, up to size octets of the file;
 * and as many as a batch's head has go before what another file left, so that where it ends is seen.
 * On an error the file is as if nothing had been written, but nobody may write to it any more. */
int mmi_spool_file_write(const mmi_spool_place *place, mmi_spool_file *f, mmi_spool_batch *batch, const uint8_t *body,
                         uint32_t body_size, uint64_t size);

/* A look through a file: the batch at `at`, whose body is in `body`, which grows.  All zeroes but `at` to begin. */
typedef struct mmi_spool_scan {
    uint64_t at;                         /* of the batch */
    uint64_t next_seq;                   /* behind the batch; 0 to begin: any is the first */
    uint32_t chain;                      /* head_crc of the batch */
    bool chained;                        /* chain is known: it is asked of the next */
    mmi_spool_batch batch;
    uint8_t head[MMI_SPOOL_BATCH_HEAD];  /* of the batch, as it stands in the file */
    bool unreadable;                     /* some of what was looked at could not be read; whoever asks resets it */
    uint8_t *body;
    uint32_t body_cap;
} mmi_spool_scan;

/* Is there a sound batch at that place, that follows what was seen before?  1; 0: no, or it cannot be read; or
 * MM_ENOMEM.  Of 1 the scan is of it. */
int mmi_spool_scan_at(const mmi_spool_place *place, const mmi_spool_file *f, mmi_spool_scan *scan, uint64_t at);
/* The one behind that, likewise. */
int mmi_spool_scan_next(const mmi_spool_place *place, const mmi_spool_file *f, mmi_spool_scan *scan);
/* The number behind those that a batch of that body tells of; 0: the body makes no sense. */
uint64_t mmi_spool_scan_behind(const mmi_spool_batch *batch, const uint8_t *body);
/* Behind `at`, wherever: the next place with a sound batch, whatever it follows.  1, 0, or an error. */
int mmi_spool_scan_find(const mmi_spool_place *place, const mmi_spool_file *f, mmi_spool_scan *scan, uint64_t at);
void mmi_spool_scan_end(mmi_spool_scan *scan);
/* Where the last octet that is not zero, or cannot be read, stands, from `at` on, and one further; `at`: there is
 * none. */
int mmi_spool_used(const mmi_spool_place *place, const mmi_spool_file *f, uint64_t at, uint64_t *end);

#endif
