/*
 * format_record.c: a message as a record of a batch's body.
 *
 * Not here: heads (format.c).
 * Law: a record is written in one way only, and one that is written in another is none: varints are
 * of the shortest form, nothing that is empty is there.  So what was read and written again is the
 * same octets.
 */
#include "spool/format.h"

#include <string.h>

#include "base/limits.h"
#include "base/octets.h"
#include "base/varint.h"

_Static_assert((int)MMI_SPOOL_FRAMES_MAX == (int)MMI_FRAMES_MAX, "what a socket sends fits");

enum {
    NUMBER = 8,   /* octets */
    FRAMES_MIN = 2 /* of a record that says how many */
};

/* What is still to be read. */
typedef struct rest {
    const uint8_t *at;
    uint64_t size;
} rest;

static bool
rest_varint(rest *r, uint64_t *value)
{
    const uint8_t *behind = mmi_varint_get(r->at, r->at + r->size, value);
    if (behind == NULL) {
        return false;
    }
    r->size -= (uint64_t)(behind - r->at);
    r->at = behind;
    return true;
}

/* That many octets; NULL: there are fewer. */
static const uint8_t *
rest_take(rest *r, uint64_t size)
{
    const uint8_t *at = r->at;
    if (size > r->size) {
        return NULL;
    }
    r->at += size;
    r->size -= size;
    return at;
}

static uint32_t
record_attrs(const mmi_spool_record *r)
{
    return (r->meta_size > 0 ? MMI_SPOOL_META : 0) | (r->producer != NULL ? MMI_SPOOL_ORIGIN : 0) |
           (r->frames > 1 ? MMI_SPOOL_FRAMES : 0) | (r->due_us > 0 ? MMI_SPOOL_DUE : 0) |
           (r->priority > 0 ? MMI_SPOOL_PRIORITY : 0);
}

/* Of what stands behind its size. */
static uint64_t
record_inner_size(const mmi_spool_record *r)
{
    uint64_t size = mmi_varint_size(record_attrs(r)) + r->size;
    size += r->meta_size > 0 ? mmi_varint_size(r->meta_size) + (uint64_t)r->meta_size : 0;
    size += r->producer != NULL ? MMI_SPOOL_UUID + NUMBER : 0;
    size += (r->due_us > 0 ? NUMBER : 0) + (r->priority > 0 ? 1 : 0);
    size += r->frames > 1 ? mmi_varint_size(r->frames) : 0;
    for (uint32_t i = 0; i + 1 < r->frames; i++) {
        size += mmi_varint_size(r->sizes[i]);
    }
    return size;
}

uint64_t
mmi_spool_record_size(const mmi_spool_record *r)
{
    uint64_t inner = record_inner_size(r);
    return mmi_varint_size(inner) + inner;
}

uint8_t *
mmi_spool_record_put(uint8_t *out, const mmi_spool_record *r)
{
    MMI_ASSERT(r->frames > 0 && r->frames <= MMI_SPOOL_FRAMES_MAX);
    MMI_ASSERT(r->meta_size <= MMI_META_SIZE_MAX);
    out = mmi_varint_put(out, record_inner_size(r));
    out = mmi_varint_put(out, record_attrs(r));
    if (r->meta_size > 0) {
        out = mmi_varint_put(out, r->meta_size);
        memcpy(out, r->meta, r->meta_size);
        out += r->meta_size;
    }
    if (r->producer != NULL) {
        memcpy(out, r->producer, MMI_SPOOL_UUID);
        mmi_le64_put(out + MMI_SPOOL_UUID, r->number);
        out += MMI_SPOOL_UUID + NUMBER;
    }
    if (r->due_us > 0) {
        mmi_le64_put(out, r->due_us);
        out += NUMBER;
    }
    if (r->priority > 0) {
        *out++ = r->priority;
    }
    if (r->frames > 1) {
        out = mmi_varint_put(out, r->frames);
    }
    for (uint32_t i = 0; i + 1 < r->frames; i++) {
        out = mmi_varint_put(out, r->sizes[i]);
    }
    if (r->data == NULL) {
        return out;
    }
    memcpy(out, r->data, r->size);
    return out + r->size;
}

static bool
record_get_meta(rest *in, mmi_spool_record *out)
{
    uint64_t size;
    if (!rest_varint(in, &size) || size == 0 || size > MMI_META_SIZE_MAX) {
        return false;
    }
    out->meta = rest_take(in, size);
    out->meta_size = (uint32_t)size;
    return out->meta != NULL;
}

static bool
record_get_origin(rest *in, mmi_spool_record *out)
{
    out->producer = rest_take(in, MMI_SPOOL_UUID);
    const uint8_t *number = rest_take(in, NUMBER);
    out->number = number != NULL ? mmi_le64_get(number) : 0;
    return out->producer != NULL && number != NULL;
}

static bool
record_get_due(rest *in, mmi_spool_record *out)
{
    const uint8_t *due = rest_take(in, NUMBER);
    out->due_us = due != NULL ? mmi_le64_get(due) : 0;
    return out->due_us > 0;
}

static bool
record_get_priority(rest *in, mmi_spool_record *out)
{
    const uint8_t *priority = rest_take(in, 1);
    out->priority = priority != NULL ? *priority : 0;
    return out->priority > 0;
}

static bool
record_get_frames(rest *in, mmi_spool_record *out)
{
    uint64_t frames, size, sum = 0;
    if (!rest_varint(in, &frames) || frames < FRAMES_MIN || frames > MMI_SPOOL_FRAMES_MAX) {
        return false;
    }
    out->frames = (uint32_t)frames;
    out->sizes_at = in->at;
    /* Once the last varint was read, this has seen to the sum; the last frame has what remains. */
    for (uint32_t i = 0; i + 1 < out->frames; i++) {
        if (!rest_varint(in, &size) || size > in->size || sum > in->size - size) {
            return false;
        }
        sum += size;
    }
    return true;
}

int64_t
mmi_spool_record_get(const uint8_t *data, uint64_t size, mmi_spool_record *out)
{
    mmi_spool_record r = { .frames = 1 };
    rest all = { data, size }, in;
    uint64_t inner, attrs;
    if (!rest_varint(&all, &inner) || inner > all.size) {
        return MM_EPROTO;
    }
    in = (rest){ all.at, inner };
    if (!rest_varint(&in, &attrs) || attrs >= MMI_SPOOL_ATTRS ||
        ((attrs & MMI_SPOOL_META) != 0 && !record_get_meta(&in, &r)) ||
        ((attrs & MMI_SPOOL_ORIGIN) != 0 && !record_get_origin(&in, &r)) ||
        ((attrs & MMI_SPOOL_DUE) != 0 && !record_get_due(&in, &r)) ||
        ((attrs & MMI_SPOOL_PRIORITY) != 0 && !record_get_priority(&in, &r)) ||
        ((attrs & MMI_SPOOL_FRAMES) != 0 && !record_get_frames(&in, &r))) {
        return MM_EPROTO;
    }
    r.data = in.at;
    r.size = in.size;
    *out = r;
    return (int64_t)(size - all.size + inner);
}

uint64_t
mmi_spool_record_sizes_size(const mmi_spool_record *r)
{
    return r->frames > 1 ? (uint64_t)(r->data - r->sizes_at) : 0;
}

void
mmi_spool_frame_sizes(const uint8_t *at, uint64_t at_size, uint32_t frames, uint64_t size,
                      uint64_t *sizes)
{
    rest in = { at, at_size };
    uint64_t sum = 0;
    for (uint32_t i = 0; i + 1 < frames; i++) {
        bool whole = rest_varint(&in, &sizes[i]);
        MMI_ASSERT(whole);   /* it was read before */
        sum += sizes[i];
    }
    sizes[frames - 1] = size - sum;
}

void
mmi_spool_record_frames(const mmi_spool_record *r, uint64_t *sizes)
{
    mmi_spool_frame_sizes(r->sizes_at, mmi_spool_record_sizes_size(r), r->frames, r->size, sizes);
}

uint64_t
mmi_spool_record_first(const mmi_spool_record *r)
{
    rest in = { r->sizes_at, mmi_spool_record_sizes_size(r) };
    uint64_t size = 0;
    return r->frames > 1 && rest_varint(&in, &size) ? size : 0;
}
