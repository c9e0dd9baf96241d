/*
 * slots.c: two slots that are written in turn.
 *
 * Not here: what is in them.  Law: of the two slots one at most is not known to be on the disk, and
 * that one is the next to be written.
 */
#include "spool/slots.h"

#include <string.h>

#include "base/octets.h"
#include "spool/crc32c.h"
#include "spool/file.h"

enum { SLOT_NUMBER = 8, SLOT_SIZE = 16, SLOT_CRC = 20, SLOTS = 2 };
enum { SLOT_LOOKS = 8 }; /* at a file that somebody writes, until one slot of it is whole */
static const uint8_t slot_magic[8] = "MMSLOT1";

static uint32_t
slot_index(uint64_t number)
{
    return (uint32_t)(number % SLOTS);
}

static uint64_t
slot_at(uint64_t number)
{
    return slot_index(number) * (uint64_t)MMI_SLOT;
}

static uint32_t
slot_crc(const uint8_t head[MMI_SLOT_HEAD], const uint8_t *data, uint32_t size)
{
    return mmi_crc32c(mmi_crc32c(0, head + SLOT_NUMBER, SLOT_CRC - SLOT_NUMBER), data, size);
}

static void
slot_head_put(uint8_t head[MMI_SLOT_HEAD], uint64_t number, const uint8_t *data, uint32_t size)
{
    memcpy(head, slot_magic, sizeof slot_magic);
    mmi_le64_put(head + SLOT_NUMBER, number);
    mmi_le32_put(head + SLOT_SIZE, size);
    mmi_le32_put(head + SLOT_CRC, slot_crc(head, data, size));
}

/* Its number; 0: it is not whole. */
static uint64_t
slot_whole(const uint8_t *slot, uint32_t index)
{
    uint64_t number = mmi_le64_get(slot + SLOT_NUMBER);
    uint32_t size = mmi_le32_get(slot + SLOT_SIZE);
    bool whole = memcmp(slot, slot_magic, sizeof slot_magic) == 0 && size <= MMI_SLOT_DATA_MAX &&
                 number < UINT64_MAX && slot_index(number) == index &&
                 slot_crc(slot, slot + MMI_SLOT_HEAD, size) == mmi_le32_get(slot + SLOT_CRC);
    return whole ? number : 0;
}

static bool
slot_is_empty(const uint8_t *slot)
{
    return slot[0] == 0 && memcmp(slot, slot + 1, MMI_SLOT - 1) == 0;
}

/* The pieces, which are the caller's to change, are on the disk once it says MM_OK. */
static int
slots_put(mmi_slots *s, uint64_t at, mmi_iov *pieces, int n)
{
    int rc = mmi_spool_write_all(s->files, s->file, at, pieces, n);
    rc = rc == MM_OK ? s->files->sync_data(s->files->self, s->file) : rc;
    s->failed = rc != MM_OK;
    return rc;
}

/* All room that it will ever need is taken, so that a full disk stops no cursor. */
static int
slots_make(mmi_slots *s, uint8_t *both)
{
    memset(both, 0, SLOTS * (size_t)MMI_SLOT);
    slot_head_put(both + slot_at(1), 1, NULL, 0);
    s->number = 1;
    return slots_put(s, 0, &(mmi_iov){ both, SLOTS * (size_t)MMI_SLOT }, 1);
}

/* What it holds is found, and is on the disk from then on.  *blank: it held nothing. */
static int
slots_find(mmi_slots *s, uint8_t *both, uint8_t *data, uint32_t *size, bool *blank)
{
    const mmi_files *f = s->files;
    uint64_t numbers[SLOTS];
    int64_t n = f->read(f->self, s->file, 0, both, SLOTS * (size_t)MMI_SLOT);
    if (n < 0) {
        return (int)n;
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        numbers[i] = slot_whole(both + slot_at(i), i);
    }
    *size = 0;
    s->number = numbers[0] > numbers[1] ? numbers[0] : numbers[1];
    if (s->number == 0) {
        /* Nobody was told that anything is there before number 1 was on the disk; then comes 2. */
        *blank = slot_is_empty(both);
        return *blank ? slots_make(s, both) : MM_EPROTO;
    }
    uint32_t other = 1 - slot_index(s->number);
    s->older = numbers[other] == 0 && !(s->number == 1 && slot_is_empty(both));
    uint8_t *slot = both + slot_at(s->number);
    *size = mmi_le32_get(slot + SLOT_SIZE);
    memcpy(data, slot + MMI_SLOT_HEAD, *size);
    return slots_put(s, slot_at(s->number), &(mmi_iov){ slot, MMI_SLOT_HEAD + *size }, 1);
}

/* One look.  Both slots may be written while they are read, one after the other: MM_EPROTO then. */
static int
slots_glance(const mmi_files *f, int file, uint8_t *both, uint8_t *data, uint32_t *size)
{
    memset(both, 0, SLOTS * (size_t)MMI_SLOT);
    int64_t n = f->read(f->self, file, 0, both, SLOTS * (size_t)MMI_SLOT);
    uint64_t first = slot_whole(both, 0), second = slot_whole(both + MMI_SLOT, 1);
    const uint8_t *slot = both + (second > first ? MMI_SLOT : 0);
    *size = 0;
    if (n < 0) {
        return (int)n;
    }
    if (first == 0 && second == 0) {
        return slot_is_empty(both) ? MM_OK : MM_EPROTO; /* it is being made */
    }
    *size = mmi_le32_get(slot + SLOT_SIZE);
    memcpy(data, slot + MMI_SLOT_HEAD, *size);
    return MM_OK;
}

int
mmi_slots_look(const mmi_files *files, int dir, const char *name, uint8_t *data, uint32_t *size)
{
    int file;
    uint8_t *both = mmi_alloc(SLOTS * (size_t)MMI_SLOT);
    int rc = both != NULL ? files->open(files->self, dir, name, 0, &file) : MM_ENOMEM;
    if (rc == MM_OK) {
        rc = MM_EPROTO;
        for (int i = 0; i < SLOT_LOOKS && rc == MM_EPROTO; i++) {
            rc = slots_glance(files, file, both, data, size);
        }
        files->close(files->self, file);
    }
    mmi_free(both);
    return rc;
}

int
mmi_slots_open(mmi_slots *s, const mmi_files *files, int dir, const char *name, bool create,
               uint8_t *data, uint32_t *size)
{
    uint32_t flags = MMI_FILE_WRITE | (create ? MMI_FILE_CREATE : 0);
    const mmi_spool_place place = { files, dir };
    bool blank = false;
    *s = (mmi_slots){ .files = files, .file = -1 };
    uint8_t *both = mmi_alloc(SLOTS * (size_t)MMI_SLOT);   /* zeros, where the file is shorter */
    int rc = both != NULL ? mmi_spool_open_own(&place, name, flags, &s->file) : MM_ENOMEM;
    if (rc == MM_OK) {
        rc = slots_find(s, both, data, size, &blank);
    } else {
        s->file = -1;
    }
    if (rc != MM_OK) {
        mmi_slots_close(s);
    }
    if (rc != MM_OK && create && blank) { /* as on a full disk: it is not one that is there */
        (void)files->unlink(files->self, dir, name);
    }
    mmi_free(both);
    return rc;
}

int
mmi_slots_write(mmi_slots *s, const uint8_t *data, uint32_t size)
{
    uint8_t head[MMI_SLOT_HEAD];
    MMI_ASSERT(s->file >= 0);
    if (size > MMI_SLOT_DATA_MAX) {
        return MM_EMSGSIZE;
    }
    if (s->failed) {
        return MM_EIO;
    }
    slot_head_put(head, s->number + 1, data, size);
    mmi_iov pieces[] = { { head, sizeof head }, { (uint8_t *)data, size } };
    int rc = slots_put(s, slot_at(s->number + 1), pieces, size > 0 ? 2 : 1);
    s->number += rc == MM_OK;
    return rc;
}

void
mmi_slots_close(mmi_slots *s)
{
    if (s->file >= 0) {
        s->files->close(s->files->self, s->file);
        s->file = -1;
    }
}
