/*
 * wire/sp/segment.c: a run of whole SP messages in the fed bytes -> one segment.
 *
 * Not here: whatever is not whole, has an envelope, or is an error: mmi_sp_reader_next sees to
 * that.  Law: a first walk counts, a second moves; nothing is consumed that is not in the segment.
 */
#include <string.h>

#include "wire/sp/reader.h"

/* The body of the whole message at at; returns where the next begins, NULL: not one for a segment.
 * */
static const uint8_t *
sp_segment_body(const mmi_sp_reader_limits *l, const uint8_t *at, const uint8_t *end,
                const uint8_t **body, size_t *size)
{
    uint64_t length;
    int n = mmi_sp_length_parse(l->mapping, at, (size_t)(end - at), &length);
    if (n <= 0 || length > l->message_size_max || length > (uint64_t)(end - at) - (uint64_t)n) {
        return NULL;
    }
    int header = mmi_sp_header_parse(l->form, l->hops_max, at + n, (size_t)length);
    if (header < 0) {
        return NULL;
    }
    *body = at + n + header;
    *size = (size_t)length - (size_t)header;
    return at + n + length;
}

static void
sp_segment_move(const mmi_sp_reader_limits *l, mmi_segment_in *segment, const uint8_t *at,
                const uint8_t *end)
{
    uint32_t offset = 0;
    bool alike = true;
    for (uint32_t i = 0; i < segment->msg.count; i++) {
        const uint8_t *body;
        size_t size;
        at = sp_segment_body(l, at, end, &body, &size);
        MMI_ASSERT(at != NULL);   /* the first walk saw it */
        segment->offset[i] = offset;
        memmove(segment->data + offset, body, size);   /* never beyond body: heads go away */
        offset += (uint32_t)size;
        alike &= i == 0 || size == segment->offset[1];
    }
    segment->offset[segment->msg.count] = offset;
    segment->one_size = alike ? segment->offset[1] : 0;
}

mmi_segment_in *
mmi_sp_reader_segment(const mmi_sp_reader *r, const uint8_t **buf, size_t *size,
                      mmi_reader_room room, mmi_arena *arena)
{
    const mmi_sp_reader_limits *l = &r->limits;
    if (!mmi_sp_reader_idle(r) || r->reason != 0 || mmi_sp_has_envelope(l->form)) {
        return NULL;
    }
    const uint8_t *at = *buf, *end = *buf + *size, *body;
    mmi_segment_run run = mmi_segment_run_of(room, at, arena);
    size_t one;
    while (mmi_segment_run_open(&run) && (at = sp_segment_body(l, at, end, &body, &one)) != NULL &&
           mmi_segment_run_add(&run, 1, one, at)) {
    }
    mmi_segment_in *segment = mmi_segment_run_end(&run, arena);
    if (segment != NULL) {
        sp_segment_move(l, segment, *buf, run.end);
        *size -= (size_t)(run.end - *buf);
        *buf = run.end;
    }
    return segment;
}
