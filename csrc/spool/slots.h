/*
 * slots.h: a small file that changes often and must be old or new, never harmed: two slots that are written in turn,
 * each with a number that goes up and a CRC-32C.  What was written last and is whole is what there is.
 *
 *   a slot of MMI_SLOT octets: "MMSLOT1\0", number u64, size u32, CRC-32C u32 (of number, size and data), data; what is
 *   behind the data was there before.  Even numbers are in the first slot, odd ones in the second.
 *   A file is made with number 1, which has no data, and zeros in the first slot.
 *
 * Not here: what is in it (spool/state.c, spool/cursor.h).
 * Law: a write goes to the slot that does not hold what was read or written last, and counts once it is synced.  After
 * one that failed nothing more is written until it was opened again.  What opening gives is on the disk: it is written
 * again where it stands, and synced, as it may have been read from a cache that the disk knows nothing of.
 */
#ifndef MMI_SPOOL_SLOTS_H
#define MMI_SPOOL_SLOTS_H

#include "plat/file.h"

enum {
    MMI_SLOT = 32 * 1024,                /* octets */
    MMI_SLOT_HEAD = 24,                  /* octets */
    MMI_SLOT_DATA_MAX = MMI_SLOT - MMI_SLOT_HEAD   /* octets */
};

typedef struct mmi_slots {
    const mmi_files *files;
    int file;                            /* < 0: not open */
    uint64_t number;                     /* of what it holds; 1: nothing yet */
    bool older;                          /* when opened, the other slot was harmed: by a write that did not say MM_OK,
                                            or by rot of what was written last; it cannot tell which */
    bool failed;
} mmi_slots;

/* Opens a file, or makes it (create; its name is durable once the caller has synced the folder), and reads what it
 * holds into data, which has MMI_SLOT_DATA_MAX octets; *size 0: nothing yet.  MM_EPROTO: neither slot is whole, and it
 * is not one that was never made to the end; MM_ENOMEM; or what the file said: MM_ENOENT, MM_EIO (of a slot that cannot
 * be read, too: it may be the newer one), ...  Then it is not open. */
int mmi_slots_open(mmi_slots *s, const mmi_files *files, int dir, const char *name, bool create, uint8_t *data,
                   uint32_t *size) MMI_WARN_UNUSED;
/* What such a file holds at this moment, without a change, though somebody may write it.  MM_EPROTO: neither slot is
 * whole, however often it looks; else as open. */
int mmi_slots_look(const mmi_files *files, int dir, const char *name, uint8_t *data, uint32_t *size) MMI_WARN_UNUSED;
/* MM_OK: it is on the disk.  MM_EMSGSIZE: over MMI_SLOT_DATA_MAX; else what the file said; MM_EIO after one that
 * failed. */
int mmi_slots_write(mmi_slots *s, const uint8_t *data, uint32_t size) MMI_WARN_UNUSED;
/* Once more than opened is fine, and so is one that could not be opened. */
void mmi_slots_close(mmi_slots *s);

#endif
