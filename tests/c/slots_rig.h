/*
 * slots_rig.h: what is written into slots by tests, and what came back.
 * Not here: the tests (test_slots*.c).
 * Law: what is written follows from its number, so that what comes back can be judged.
 */
#ifndef SLOTS_RIG_H
#define SLOTS_RIG_H

#include "base/octets.h"
#include "disk_rig.h"
#include "spool/slots.h"

#define BOTH (2 * (uint64_t)MMI_SLOT)

static uint8_t buffer[MMI_SLOT_DATA_MAX];

/* Its number stands in front; 0: no octets. */
static inline uint32_t
data_of(uint32_t id, uint8_t data[MMI_SLOT_DATA_MAX])
{
    uint32_t seed = id * 2654435761u + 1, kind = check_random(&seed) % 8;
    uint32_t most = kind == 0 ? MMI_SLOT_DATA_MAX : kind < 4 ? 2000 : 100;
    uint32_t size = kind == 1 ? (uint32_t)MMI_SLOT_DATA_MAX : 4 + check_random(&seed) % (most - 3);
    if (id == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < size; i++) {
        data[i] = (uint8_t)check_random(&seed);
    }
    mmi_le32_put(data, id);
    return size;
}

/* The number of what came back; UINT32_MAX: nobody wrote it so. */
static inline uint32_t
id_of(const uint8_t *data, uint32_t size)
{
    static uint8_t wanted[MMI_SLOT_DATA_MAX];
    uint32_t id = size >= 4 ? mmi_le32_get(data) : 0;
    bool same = data_of(id, wanted) == size && memcmp(data, wanted, size) == 0;
    return same ? id : UINT32_MAX;
}

static inline int
write_id(mmi_slots *s, uint32_t id)
{
    static uint8_t data[MMI_SLOT_DATA_MAX];
    uint32_t size = data_of(id, data);
    return mmi_slots_write(s, data, size);
}

static inline int
open_in(mmi_slots *s, const mmi_files *files, int dir, bool create, uint32_t *id)
{
    uint32_t size = UINT32_MAX;
    int rc = mmi_slots_open(s, files, dir, "slots", create, buffer, &size);
    *id = rc == MM_OK ? id_of(buffer, size) : UINT32_MAX;
    CHECK((rc == MM_OK) == (s->file >= 0));
    return rc;
}

static inline uint32_t
opened(mmi_slots *s, const mmi_files *files, int dir)
{
    uint32_t id;
    CHECK_INT(open_in(s, files, dir, false, &id), MM_OK);
    return id;
}

/* A file that was closed, in which these were written. */
static inline void
made(const mmi_files *files, int dir, uint32_t last)
{
    mmi_slots s;
    uint32_t id;
    CHECK_INT(open_in(&s, files, dir, true, &id), MM_OK);
    CHECK_INT(id, 0);
    for (id = 1; id <= last; id++) {
        CHECK_INT(write_id(&s, id), MM_OK);
    }
    mmi_slots_close(&s);
}

#endif
