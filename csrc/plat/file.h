/*
 * file.h: files, for what must outlive the process: a table like mmi_plat, but its calls block.
 * plat/posix/file.c implements it over the system, plat/sim/disk.c in memory with faults and crashes.
 * Not here: formats, checksums, which file is synced when, what a user is told (the spool's part).
 *
 * A file or folder is a small int of the platform's choosing (posix: the fd).  Results: >= 0 or a
 * negative mm_err; then errno is what the system said, or would have said (EDQUOT, too, is
 * MM_ENOSPC; what has no code of its own is MM_EIO).  Any thread may call anything (sim: one thread),
 * without a lock that somebody waits for: a sync may take seconds.  A file is not closed while it is
 * used.  After a fork the child closes its copies, and calls nothing else with them: they are
 * one open file with the parent's, and so is their lock.
 *
 * Names: one component, relative to an open folder: 1 to MMI_FILE_NAME_MAX of A-Z a-z 0-9 . _ -,
 * neither "." nor "..".  Others are refused, MM_EINVAL or MM_ENAMETOOLONG, before the system is
 * asked; symbolic links are not followed.  Only root takes a path.
 *
 * Laws, which a spool may count on:
 * 1. What a write took is read by all who read from then on.  A crash of the process keeps it.
 * 2. A crash of the machine keeps what was written before a sync of the file said OK, and its size.
 *    Of what was written since, each sector (MMI_FILE_SECTOR octets) may be there or not, in any order,
 *    and the size may be the old, the new, or one between.  What was never written reads as zeros.
 * 3. It keeps the names a folder had when sync_folder said OK.  Each name made, removed or changed
 *    since may be as before or as it is now; changes of one name survive in their order.  A rename
 *    within a folder is there whole or not at all; of one between folders the new name survives
 *    first: until both are synced the file may have both names, never neither.
 *    A new file needs a sync of it and sync_folder of its folder, a new folder one of its parent.
 * 4. After a sync that did not say OK, nothing is known of anything written to that file since the
 *    last that did: it may be gone though it still reads, and a later sync that says OK says nothing
 *    of it (Linux drops what it could not write).  The same of sync_folder.
 * 5. Nothing is tried again but a call that a signal broke before it did anything (EINTR).
 */
#ifndef MMI_FILE_H
#define MMI_FILE_H

#include "plat/plat.h"

#define MMI_FILE_SIZE_MAX (UINT64_C(1) << 40)   /* octets: where a file may end, on any file system */
enum {
    MMI_FILE_NAME_MAX = 128,    /* octets */
    MMI_FILE_PIECES_MAX = 1024, /* of one write */
    MMI_FILE_SECTOR = 512,      /* octets that a crash keeps or loses together */
    MMI_FILE_ENTRY_MAX = 255    /* octets of a name that list tells of, as a system may have them */
};

/* How a file is opened.  Without WRITE: to be read, which needs no other. */
enum {
    MMI_FILE_WRITE = 1,
    MMI_FILE_CREATE = 2, /* made if it is not there; with WRITE only.  Mode 0600, no octets */
    MMI_FILE_NEW = 4     /* with CREATE: MM_EEXIST if it is there */
};

typedef enum mmi_entry_kind {
    MMI_ENTRY_FILE,
    MMI_ENTRY_FOLDER,
    MMI_ENTRY_OTHER /* a link, a socket, ...: no call here opens it */
} mmi_entry_kind;

typedef struct mmi_entry {
    mmi_entry_kind kind;
    char name[MMI_FILE_ENTRY_MAX + 1]; /* also those that the other calls refuse, so that nothing is
                                          hidden */
} mmi_entry;

typedef struct mmi_space {
    uint64_t free; /* octets that this user may still write, roughly */
    bool remote;   /* on another machine (NFS, SMB): locks and syncs are only as good as its are */
    bool shared;   /* every user of this machine may make names in the folder, and change what it has */
} mmi_space;

typedef struct mmi_files mmi_files;
struct mmi_files {
    void *self;
    const char *name; /* "posix", "sim" */

    /* A folder by its path, which may be a link; sim: "/" only.  MM_ENOENT, MM_ENOTDIR, MM_EPERM,
     * MM_EMFILE.  The others below open it further; closed by close. */
    int (*root)(void *self, const char *path, int *dir);
    int (*folder)(void *self, int dir, const char *name, int *sub); /* a link: MM_ENOTDIR, MM_ELOOP */
    int (*mkdir)(void *self, int dir, const char *name);   /* mode 0700; MM_EEXIST, MM_ENOSPC */
    /* MM_ENOENT, MM_EEXIST, MM_ELOOP (a link), MM_ENOTSUP (no regular file), MM_EPERM (also, with
     * WRITE: it has a second name, planted perhaps; errno is EMLINK), MM_EMFILE, MM_ENOSPC, MM_EROFS. */
    int (*open)(void *self, int dir, const char *name, uint32_t flags, int *file);
    /* Of a file or folder; its locks go when the last copy is closed.  Says nothing of what was
     * written: that is for sync. */
    void (*close)(void *self, int file);

    /* Octets from at on: as many as asked for, fewer only where the file ends.  MM_EIO: none is
     * given, even if some could be read.  MM_EINVAL: past MMI_FILE_SIZE_MAX. */
    int64_t (*read)(void *self, int file, uint64_t at, void *buf, size_t size);
    /* > 0 octets of the pieces, in their order; 0 of none.  Fewer than asked for: the rest did not go, and
     * the next write says why (MM_ENOSPC, mostly).  An error: any part of it may be in the file.
     * MM_EINVAL: too many pieces, past MMI_FILE_SIZE_MAX, not opened with WRITE. */
    int64_t (*write)(void *self, int file, uint64_t at, const mmi_iov *pieces, int n);
    int (*sync_data)(void *self, int file); /* the octets, and the size if needed to read them */
    int (*sync)(void *self, int file);      /* and what else is known of the file: times, mode */
    int (*sync_folder)(void *self, int dir);
    /* Room for the first so many octets is the file's: it is at least so large, what was not written
     * reads as zeros, and to write there needs no more room.  MM_ENOSPC: the size may be between.
     * MM_ENOTSUP: not on this file system; then zeros are to be written. */
    int (*reserve)(void *self, int file, uint64_t size);
    int (*truncate)(void *self, int file, uint64_t size); /* cut, or longer by zeros */
    int (*size)(void *self, int file, uint64_t *size);

    /* In place of what has the new name.  A folder: only of an empty folder, else MM_EEXIST; not
     * into itself, MM_EINVAL.  A file in place of a folder: MM_ENOTSUP; the reverse: MM_ENOTDIR. */
    int (*rename)(void *self, int from_dir, const char *from, int to_dir, const char *to);
    /* A file's name; who has it open reads and writes on.  A folder: MM_ENOTSUP. */
    int (*unlink)(void *self, int dir, const char *name);
    /* Each entry but "." and "..", in no order: how many.  each calls nothing of this table, and
     * keeps no pointer to the entry. */
    int (*list)(void *self, int dir, void (*each)(void *arg, const mmi_entry *entry), void *arg);

    /* For one who opened the file with WRITE, or of a folder, on this machine, in this process or another; MM_EAGAIN:
     * another has it.  It is the open file's: a second lock by the same is MM_OK, closing another
     * that was opened does not end it.  MM_ENOTSUP: not on this file system. */
    int (*lock)(void *self, int file);
    int (*unlock)(void *self, int file);
    int (*space)(void *self, int dir, mmi_space *out);
};

void mmi_files_posix(mmi_files *out);

/* file.c: what every implementation asks first, and how the system's errors are called here. */
int mmi_file_error(int error);                          /* sets errno; the mm_err */
int mmi_file_check_name(const char *name);              /* MM_OK, MM_EINVAL, MM_ENAMETOOLONG */
int mmi_file_check_flags(uint32_t flags);               /* MM_OK, MM_EINVAL */
int mmi_file_check_range(uint64_t at, uint64_t size);   /* MM_OK, MM_EINVAL */
int64_t mmi_file_check_pieces(uint64_t at, const mmi_iov *pieces, int n); /* octets, or MM_EINVAL */

#endif
