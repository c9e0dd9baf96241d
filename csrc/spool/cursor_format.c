/*
 * cursor_format.c: a cursor as the octets of a slot, as docs/spool-format.md draws it.
 *
 * Not here: the slots (spool/slots.h), the file (spool/cursor_file.c).
 * Law: pure.  What is read is bounds-checked, and a section that is not known is refused: what it
 * says belongs to the floor beside it, and would be wrong beside a later one.
 */
#include <string.h>

#include "base/octets.h"
#include "base/varint.h"
#include "spool/cursor.h"

enum {
    CURSOR_VERSION_AT = 8,
    CURSOR_ZERO_AT = 12,
    CURSOR_SECTIONS = 16,        /* where they begin */
    CURSOR_VERSION = 1,
    SECTION_HEAD = 8,            /* octets: kind u32, size u32 */
    SECTION_PLACE = 1,
    SECTION_DONE = 2,
    PLACE_SIZE = MMI_SPOOL_UUID + 8,
    DONE_MAX = 2 * MMI_VARINT_MAX /* octets of one range */
};
static const uint8_t cursor_magic[8] = { 'M', 'M', 'C', 'U', 'R', 'S', 'O', 'R' };

static uint8_t *
section_put(uint8_t *out, uint32_t kind, uint32_t size)
{
    mmi_le32_put(out, kind);
    mmi_le32_put(out + 4, size);
    return out + SECTION_HEAD;
}

uint32_t
mmi_cursor_put(const mmi_cursor *c, uint64_t limit, uint8_t out[MMI_SLOT_DATA_MAX],
               uint64_t *unsaved)
{
    uint64_t floor = c->floor < limit ? c->floor : limit, before = floor, first, last;
    memcpy(out, cursor_magic, sizeof cursor_magic);
    mmi_le32_put(out + CURSOR_VERSION_AT, CURSOR_VERSION);
    mmi_le32_put(out + CURSOR_ZERO_AT, 0);
    uint8_t *at = section_put(out + CURSOR_SECTIONS, SECTION_PLACE, PLACE_SIZE);
    memcpy(at, c->uuid, MMI_SPOOL_UUID);
    mmi_le64_put(at + MMI_SPOOL_UUID, floor);
    uint8_t *head = at + PLACE_SIZE, *begin = head + SECTION_HEAD;
    const uint8_t *room = out + MMI_SLOT_DATA_MAX - DONE_MAX;
    at = begin;
    while (at <= room && mmi_cursor_run(c, before + 1, limit, &first, &last)) {
        at = mmi_varint_put(at, first - before - 1);
        at = mmi_varint_put(at, last - first + 1);
        before = last;
    }
    *unsaved = at > room ? mmi_cursor_count(c, before + 1, limit) : 0;
    if (at == begin) {
        return (uint32_t)(head - out);
    }
    (void)section_put(head, SECTION_DONE, (uint32_t)(at - begin));
    return (uint32_t)(at - out);
}

/* Ranges, each behind the one before, with numbers between them that are not done. */
static int
done_get(mmi_cursor *c, const uint8_t *at, const uint8_t *end, uint64_t last_seq)
{
    uint64_t before = c->floor, gap, count;
    bool some = at < end;
    while (at != NULL && at < end) {
        at = mmi_varint_get(at, end, &gap);
        at = at != NULL ? mmi_varint_get(at, end, &count) : NULL;
        if (at == NULL || gap == 0 || count == 0 || gap > MMI_CURSOR_SPAN_MAX ||
            count > MMI_CURSOR_SPAN_MAX || before - c->floor + gap + count > MMI_CURSOR_SPAN_MAX) {
            return MM_EPROTO;
        }
        uint64_t first = before + gap + 1, last = before + gap + count;
        c->ahead = last > last_seq ? last : c->ahead;
        if (first <= last_seq) {
            int rc = mmi_cursor_done(c, first, last < last_seq ? last : last_seq);
            if (rc != MM_OK) {
                return rc;
            }
        }
        before = last;
    }
    return some ? MM_OK : MM_EPROTO;
}

static int
place_get(mmi_cursor *c, const uint8_t *data, uint32_t size, uint64_t last_seq)
{
    if (size != PLACE_SIZE || memcmp(data, c->uuid, MMI_SPOOL_UUID) != 0) {
        return MM_EPROTO;
    }
    uint64_t floor = mmi_le64_get(data + MMI_SPOOL_UUID);
    if (floor > UINT64_MAX / 2) {
        return MM_EPROTO;
    }
    c->floor = c->top = floor;
    if (floor > last_seq) {
        c->ahead = floor;
    }
    return MM_OK;
}

static int
section_get(mmi_cursor *c, uint32_t kind, const uint8_t *data, uint32_t size, uint64_t last_seq)
{
    switch (kind) {
    case SECTION_PLACE: return place_get(c, data, size, last_seq);
    case SECTION_DONE: return done_get(c, data, data + size, last_seq);
    default: return MM_ENOTSUP;
    }
}

int
mmi_cursor_get(mmi_cursor *c, const uint8_t *data, uint32_t size, uint64_t last_seq)
{
    uint32_t before = 0, at = CURSOR_SECTIONS;
    if (size < CURSOR_SECTIONS || memcmp(data, cursor_magic, sizeof cursor_magic) != 0) {
        return MM_EPROTO;
    }
    if (mmi_le32_get(data + CURSOR_VERSION_AT) != CURSOR_VERSION) {
        return MM_ENOTSUP;
    }
    int rc = mmi_le32_get(data + CURSOR_ZERO_AT) == 0 ? MM_OK : MM_EPROTO;
    while (rc == MM_OK && at < size) {
        if (size - at < SECTION_HEAD) {
            return MM_EPROTO;
        }
        uint32_t kind = mmi_le32_get(data + at), has = mmi_le32_get(data + at + 4);
        at += SECTION_HEAD;
        /* In the order of their kinds, each once; the place is the first. */
        if (has > size - at || kind <= before || (before == 0) != (kind == SECTION_PLACE)) {
            return MM_EPROTO;
        }
        rc = section_get(c, kind, data + at, has, last_seq);
        before = kind;
        at += has;
    }
    if (rc == MM_OK && before == 0) {
        return MM_EPROTO;
    }
    if (rc == MM_OK && c->floor > last_seq) { /* numbers that are still to be given are not done */
        mmi_cursor_seek(c, last_seq + 1);
    }
    return rc;
}
