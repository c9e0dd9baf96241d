/*
 * frame.c: the head of a ZMTP 3.x frame.  RFC 23 and 37, framing.
 *
 * Not here: bodies.  Law: pure; nothing is read beyond len.
 */
#include "wire/zmtp/frame.h"

#include "base/octets.h"

enum { FRAME_RESERVED = 0xf8, FRAME_SHORT_MAX = 255, FRAME_SHORT_HEAD = 2 };

int
mmi_frame_head_parse(const uint8_t *buf, size_t len, mmi_frame_head *out)
{
    if (len < 1) {
        return 0;
    }
    uint8_t flags = buf[0];
    if ((flags & FRAME_RESERVED) != 0 ||
        (flags & (MMI_FRAME_MORE | MMI_FRAME_COMMAND)) == (MMI_FRAME_MORE | MMI_FRAME_COMMAND)) {
        return MM_EPROTO;
    }
    out->flags = flags;
    if ((flags & MMI_FRAME_LONG) == 0) {
        out->size = len >= FRAME_SHORT_HEAD ? buf[1] : 0;
        return len >= FRAME_SHORT_HEAD ? FRAME_SHORT_HEAD : 0;
    }
    if (len < MMI_FRAME_HEAD_MAX) {
        return 0;
    }
    out->size = mmi_be64_get(buf + 1);
    return out->size > INT64_MAX ? MM_EPROTO : MMI_FRAME_HEAD_MAX;
}

size_t
mmi_frame_head_put(uint8_t out[MMI_FRAME_HEAD_MAX], uint8_t flags, uint64_t size)
{
    if (size <= FRAME_SHORT_MAX) {
        out[0] = flags & (uint8_t)~MMI_FRAME_LONG;
        out[1] = (uint8_t)size;
        return FRAME_SHORT_HEAD;
    }
    out[0] = flags | MMI_FRAME_LONG;
    mmi_be64_put(out + 1, size);
    return MMI_FRAME_HEAD_MAX;
}

void
mmi_msg_seal(mmi_msg *m, uint32_t i)
{
    mmi_frame *f = &m->frames[i];
    if (f->head_size == 0) {
        uint8_t flags = i + 1 < m->frame_count ? MMI_FRAME_MORE : 0;
        f->head_size = (uint8_t)mmi_frame_head_put(f->head, flags, f->size);
    }
}
