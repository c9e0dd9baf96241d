/*
 * plat/sim/disk_state.h: what the files of the simulated disk share.  Private to plat/.
 *
 * A node is a file or a folder.  seen is what every call sees (the cache), kept what a crash leaves
 * (the platter).  Laws: a sector that is not in differs is the same in both; dirty is part of
 * differs: what the next sync brings to the platter.  An entry lives while it has a node, seen or
 * kept, or while a change of it waits; a node while an entry, a handle or a change has it.
 */
#ifndef MMI_SIM_DISK_STATE_H
#define MMI_SIM_DISK_STATE_H

#include "base/list.h"
#include "base/map.h"
#include "plat/sim/disk.h"

enum {
    DISK_PAGE = 4096,                         /* octets: what memory and room are counted in */
    DISK_SECTORS = DISK_PAGE / MMI_FILE_SECTOR,
    DISK_HANDLES_MAX = 1024
};

typedef struct disk_page {
    uint64_t index;           /* of the file's pages */
    uint8_t dirty, differs;   /* a bit for each sector */
    uint8_t bad;              /* likewise: it cannot be read until it is written again */
    bool paid;                /* counted in the disk's used; not: reserved, or behind the end */
    uint8_t *kept;            /* NULL: as seen */
    uint8_t seen[DISK_PAGE];
} disk_page;

/* Each page of a node; what the body does may take the page away. */
#define DISK_PAGES_EACH(n, page)                                                                   \
    for (uint32_t i_ = 0; i_ < (n)->pages.cap; i_++)                                               \
        for (disk_page *page = (n)->pages.slots[i_].value; page != NULL; page = NULL)

typedef struct disk_node {
    mmi_list at;              /* all of the disk */
    bool folder;
    uint32_t refs;            /* entries, seen and kept; handles; sets of changes */
    uint32_t links, opens;    /* entries that are seen; handles */
    mmi_list entries;         /* of a folder */
    mmi_map pages;            /* of a file, by index */
    uint64_t size, kept_size; /* octets */
    uint64_t reserved, kept_reserved; /* pages from the first */
    bool size_dirty;
    bool spoiled;             /* a page has, or had, a sector that is bad */
    int locked_by;            /* the handle; 0: none */
} disk_node;

typedef struct disk_entry {
    mmi_list at;              /* of its folder */
    disk_node *folder, *seen, *kept;   /* NULL: no such name */
    uint32_t changes;         /* sets that have it */
    char name[MMI_FILE_NAME_MAX + 1];
} disk_entry;

/* From now on the entry has this node.  order_only: it stays as it is, but not before the changes
 * of it that came earlier. */
typedef struct disk_set {
    disk_entry *entry;
    disk_node *node;
    bool order_only;
} disk_set;

/* What is brought to the platter together. */
typedef struct disk_change {
    mmi_list at;              /* of the disk's, in their order */
    bool marked;              /* by who walks them */
    bool gone;                /* a failed sync lost it: it is seen, and no later sync brings it */
    int count;
    disk_set sets[2];
} disk_change;

typedef struct disk_handle {
    int id;                   /* 0: free */
    bool write;
    disk_node *node;
} disk_handle;

/* What a crash keeps of what was not synced. */
typedef struct disk_mood {
    uint32_t keep_ppm;
    bool in_order;            /* the front part, and nothing behind it */
    bool whole_pages;
} disk_mood;

typedef struct disk_plan {
    uint64_t nth;             /* 0: none */
    int error;
} disk_plan;

struct mmi_disk {
    mmi_disk_opts opts;
    uint64_t random_state, operations, hash, slow_ns;
    uint64_t used;            /* pages */
    uint64_t crash_in;        /* operations; 0: not */
    bool off, dying;          /* crashed; to crash at the end of this operation */
    bool cut_short;           /* this write */
    disk_plan plans[MMI_DISK_OPS];
    mmi_disk_way stray_way;
    uint64_t stray_in;        /* writes; 0: none goes astray */
    uint64_t struck;          /* calls that a plan made fail or go astray */
    bool (*keeps)(void *arg, uint64_t piece);   /* what the next crash keeps; NULL: by the seed */
    void *keeps_arg;
    uint64_t pieces;          /* that it was asked about, of this crash */
    mmi_list nodes, changes;
    disk_node *root;
    disk_handle handles[DISK_HANDLES_MAX];
    uint32_t handle_count;
    int last_handle;
};

/* disk_data.c: what is in a file.  Those that may fail return an errno, 0: done. */
uint64_t mmi_disk_between(mmi_disk *d, uint64_t low, uint64_t high);
bool mmi_disk_chance(mmi_disk *d, uint32_t ppm);
bool mmi_disk_chosen(mmi_disk *d);   /* is the next piece of a chosen crash to be kept? */
/* How many octets it took; *error says why they are fewer. */
uint64_t mmi_disk_data_write(mmi_disk *d, disk_node *n, uint64_t at, const uint8_t *data,
                             uint64_t size, int *error);
size_t mmi_disk_data_read(const disk_node *n, uint64_t at, void *buf, size_t size);
int mmi_disk_data_truncate(mmi_disk *d, disk_node *n, uint64_t size);
int mmi_disk_data_reserve(mmi_disk *d, disk_node *n, uint64_t size);
void mmi_disk_data_sync(disk_node *n);
void mmi_disk_data_sync_failed(mmi_disk *d, disk_node *n);
void mmi_disk_data_crash(mmi_disk *d, disk_node *n, const disk_mood *mood);
void mmi_disk_data_unpay(mmi_disk *d, disk_node *n);   /* its room is free again */
void mmi_disk_data_choose(mmi_disk *d, disk_node *n);   /* what is to be kept is on the platter */
void mmi_disk_data_fini(disk_node *n);
/* A sector of a page, on both sides; both are as the one is now; it is about to be changed, false: no memory. */
static inline uint8_t *
mmi_disk_kept(disk_page *page, int sector)
{
    return page->kept + sector * MMI_FILE_SECTOR;
}
static inline uint8_t *
mmi_disk_seen(disk_page *page, int sector)
{
    return page->seen + sector * MMI_FILE_SECTOR;
}
void mmi_disk_settle(disk_page *page, int sector, bool as_seen);
bool mmi_disk_touch(disk_page *page, int sector);
void mmi_disk_rot_sector(mmi_disk *d, disk_page *page, int sector);
/* The page, to be written to; NULL: *error says why. */
disk_page *mmi_disk_page(mmi_disk *d, disk_node *n, uint64_t index, int *error);

/* disk_harm.c: what no call tells of. */
bool mmi_disk_data_bad(const disk_node *n, uint64_t at, size_t size);   /* some of it cannot be read */
void mmi_disk_data_stray(mmi_disk *d, disk_node *n, uint64_t at, uint64_t size);   /* if this write is to */

/* disk_names.c: nodes, what they are called, and who has them open. */
disk_node *mmi_disk_node(mmi_disk *d, bool folder);    /* of no refs yet; NULL: no memory */
void mmi_disk_unref(mmi_disk *d, disk_node *n);
disk_node *mmi_disk_find(const disk_node *folder, const char *name);   /* NULL: no such name */
bool mmi_disk_holds(const disk_node *folder, const disk_node *n);      /* or is it */
bool mmi_disk_empty(const disk_node *folder);
int mmi_disk_change_name(mmi_disk *d, disk_node *folder, const char *name, disk_node *n);
int mmi_disk_change_rename(mmi_disk *d, disk_node *from_dir, const char *from, disk_node *to_dir,
                           const char *to);
void mmi_disk_names_sync(mmi_disk *d, const disk_node *folder);
void mmi_disk_names_sync_failed(mmi_disk *d, const disk_node *folder);
void mmi_disk_names_choose(mmi_disk *d);   /* what is not to be kept is gone */
void mmi_disk_names_crash(mmi_disk *d, const disk_mood *mood);
int mmi_disk_handle(mmi_disk *d, disk_node *n, bool write, int *id);
disk_handle *mmi_disk_handle_find(mmi_disk *d, int id);                /* NULL: none is open */
void mmi_disk_handle_close(mmi_disk *d, disk_handle *h);

/* disk_fate.c: what befalls a call.  begin: an errno, 0: it goes on; then end, with its result. */
int mmi_disk_begin(mmi_disk *d, mmi_disk_op op);
int64_t mmi_disk_end(mmi_disk *d, mmi_disk_op op, int64_t rc);

#endif
