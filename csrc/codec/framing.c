/*
 * framing.c: whole messages as ZMTP 3.x frames.  RFC 23.
 * Not here: reading what a peer sends (reader.c).
 * Law: as in framing.h.
 */
#include "codec/framing.h"

#include <string.h>

#include "base/limits.h"
#include "codec/frame.h"

enum { FRAMING_SHORT_MAX = 255, FRAMING_SHORT_HEAD = 2 };

static size_t
zmtp_size(const mmi_msg *m)
{
    size_t size = m->size;
    for (uint32_t i = 0; i < m->frame_count; i++) {
        bool small = m->frames[i].size <= FRAMING_SHORT_MAX;
        size += small ? (size_t)FRAMING_SHORT_HEAD : (size_t)MMI_FRAME_HEAD_MAX;
    }
    return size;
}

static void
zmtp_put(const mmi_msg *m, uint8_t *out)
{
    for (uint32_t i = 0; i < m->frame_count; i++) {
        const mmi_frame *f = &m->frames[i];
        out += mmi_frame_head_put(out, i + 1 < m->frame_count ? MMI_FRAME_MORE : 0, f->size);
        if (f->size > 0) {
            memcpy(out, f->data, f->size);
            out += f->size;
        }
    }
}

static size_t
zmtp_next(const uint8_t *at, size_t *cost)
{
    const uint8_t *start = at;
    mmi_frame_head head;
    *cost = 0;
    do {
        int size = mmi_frame_head_parse(at, MMI_FRAME_HEAD_MAX, &head);
        MMI_ASSERT(size > 0);
        at += (size_t)size + (size_t)head.size;
        *cost += (size_t)head.size + MMI_FRAME_OVERHEAD;
    } while ((head.flags & MMI_FRAME_MORE) != 0);
    return (size_t)(at - start);
}

const mmi_framing mmi_framing_zmtp = {
    .size = zmtp_size,
    .put = zmtp_put,
    .next = zmtp_next,
};
