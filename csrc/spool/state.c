/*
 * spool/state.c: what a spool keeps beside its segment files, and which of those it knows of.
 *
 * Not here: the slots it is kept in (spool/slots.h).  Law: it is evidence, and nothing more:
 * without it the segment files say the same, but for how far they were durable.
 */
#include <string.h>

#include "base/octets.h"
#include "spool/log.h"

enum {
    STATE_VERSION = 1,
    STATE_FORMAT = 16, /* where in the state, behind the uuid */
    STATE_EPOCH = 20,
    STATE_KNOWN = 24,
    STATE_START = 32,
    STATE_CLEAN = 40, /* version 1 has it since there is compaction; a spool without one says 0 */
    STATE_ORIGIN = 48, /* likewise, since messages may have an origin */
    STATE_SIZE = 56,
    STATE_SIZE_MIN = 40,
    STATE_FILES_FIRST = 16 /* files that there is room to know of */
};
static const char state_name[] = "META";

int
mmi_spool_files_reserve(mmi_spool *s, uint32_t more)
{
    uint64_t need = (uint64_t)s->file_count + more;
    uint64_t cap = mmi_spool_cap(s->file_cap, STATE_FILES_FIRST, need);
    if (need <= s->file_cap) {
        return MM_OK;
    }
    uint64_t *bases = mmi_realloc(s->bases, cap * sizeof *bases);
    s->bases = bases != NULL ? bases : s->bases;
    uint64_t *ends = bases != NULL ? mmi_realloc(s->ends, cap * sizeof *ends) : NULL;
    s->ends = ends != NULL ? ends : s->ends;
    s->file_cap = ends != NULL ? (uint32_t)cap : s->file_cap;
    return ends != NULL ? MM_OK : MM_ENOMEM;
}

int
mmi_spool_note(mmi_spool *s, uint64_t durable_seq)
{
    uint8_t data[STATE_SIZE];
    memcpy(data, s->uuid, MMI_SPOOL_UUID);
    mmi_le32_put(data + STATE_FORMAT, STATE_VERSION);
    mmi_le32_put(data + STATE_EPOCH, s->epoch);
    mmi_le64_put(data + STATE_KNOWN, durable_seq);
    mmi_le64_put(data + STATE_START, s->start_seq);
    mmi_le64_put(data + STATE_CLEAN, s->clean_seq);
    mmi_le64_put(data + STATE_ORIGIN, s->origin_seq);
    return mmi_slots_write(&s->state, data, sizeof data);
}

int
mmi_spool_state_open(mmi_spool *s, bool *known)
{
    static const uint8_t none[MMI_SPOOL_UUID];
    uint8_t *data = mmi_alloc(MMI_SLOT_DATA_MAX);
    uint32_t size;
    if (data == NULL) {
        return MM_ENOMEM;
    }
    const mmi_files *f = s->place.files;
    int rc = mmi_slots_open(&s->state, f, s->place.dir, state_name, true, data, &size);
    if (rc == MM_EPROTO) { /* made anew: what it says stands in the segment files, too */
        rc = s->quarantine < 0
                 ? MM_ENOSPC
                 : f->rename(f->self, s->place.dir, state_name, s->quarantine, state_name);
        rc = rc == MM_OK ? mmi_slots_open(&s->state, f, s->place.dir, state_name, true, data, &size)
                         : rc;
    }
    if (rc == MM_ENOSPC && mmi_spool_reserve_give(s)) {
        rc = mmi_slots_open(&s->state, f, s->place.dir, state_name, true, data, &size);
    }
    *known = rc == MM_OK && size >= STATE_SIZE_MIN && memcmp(data, none, MMI_SPOOL_UUID) != 0;
    if (*known && mmi_le32_get(data + STATE_FORMAT) != STATE_VERSION) {
        rc = MM_ENOTSUP;
    } else if (*known) {
        uint64_t durable = mmi_le64_get(data + STATE_KNOWN);
        memcpy(s->uuid, data, MMI_SPOOL_UUID);
        s->epoch = mmi_le32_get(data + STATE_EPOCH);
        s->start_seq = mmi_le64_get(data + STATE_START);
        s->clean_seq = size >= STATE_ORIGIN ? mmi_le64_get(data + STATE_CLEAN) : 0;
        s->origin_seq = size >= STATE_SIZE ? mmi_le64_get(data + STATE_ORIGIN) : 0;
        s->opts.known_seq = durable > s->opts.known_seq ? durable : s->opts.known_seq;
    }
    mmi_free(data);
    return rc;
}

bool
mmi_spool_state_look(const mmi_spool_place *place, mmi_spool_stated *out)
{
    static const uint8_t none[MMI_SPOOL_UUID];
    uint8_t *data = mmi_alloc(MMI_SLOT_DATA_MAX);
    uint32_t size;
    bool known = data != NULL &&
                 mmi_slots_look(place->files, place->dir, state_name, data, &size) == MM_OK &&
                 size >= STATE_SIZE_MIN && memcmp(data, none, MMI_SPOOL_UUID) != 0 &&
                 mmi_le32_get(data + STATE_FORMAT) == STATE_VERSION;
    if (known) {
        memcpy(out->uuid, data, MMI_SPOOL_UUID);
        out->epoch = mmi_le32_get(data + STATE_EPOCH);
        out->durable_seq = mmi_le64_get(data + STATE_KNOWN);
        out->clean_seq = size >= STATE_ORIGIN ? mmi_le64_get(data + STATE_CLEAN) : 0;
        out->origin_seq = size >= STATE_SIZE ? mmi_le64_get(data + STATE_ORIGIN) : 0;
    }
    mmi_free(data);
    return known;
}
