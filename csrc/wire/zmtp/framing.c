/*
 * framing.c: whole messages as ZMTP 3.x frames.  RFC 23.
 * Not here: reading what a peer sends (reader.c).
 * Law: as in framing.h.
 */
#include "wire/framing.h"

#include <string.h>

#include "base/limits.h"
#include "wire/zmtp/frame.h"

enum { FRAMING_SHORT_MAX = 255, FRAMING_SHORT_HEAD = 2 };

static size_t
zmtp_head_size(size_t size)
{
    return size <= FRAMING_SHORT_MAX ? (size_t)FRAMING_SHORT_HEAD : (size_t)MMI_FRAME_HEAD_MAX;
}

static size_t
zmtp_size(const mmi_framing *framing, const mmi_msg *m, size_t *cost)
{
    (void)framing;
    size_t size = m->size;
    *cost = mmi_msg_cost(m);
    for (uint32_t i = 0; i < m->frame_count; i++) {
        size += zmtp_head_size(m->frames[i].size);
    }
    return size;
}

static void
zmtp_put(const mmi_framing *framing, const mmi_msg *m, uint8_t *out)
{
    (void)framing;
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
zmtp_put_body(const uint8_t *body, size_t size, uint8_t *out, size_t room)
{
    size_t head = zmtp_head_size(size);
    if (room < head || size > room - head) {
        return 0;
    }
    (void)mmi_frame_head_put(out, 0, size);
    if (size > 0) {
        memcpy(out + head, body, size);
    }
    return head + size;
}

/* The frame at *at, which moves behind it: where its body is, and how large. true: more follow. */
static bool
zmtp_frame(const uint8_t **at, const uint8_t **body, size_t *size)
{
    mmi_frame_head head;
    int head_size = mmi_frame_head_parse(*at, MMI_FRAME_HEAD_MAX, &head);
    MMI_ASSERT(head_size > 0);
    *body = *at + head_size;
    *size = (size_t)head.size;
    *at = *body + head.size;
    return (head.flags & MMI_FRAME_MORE) != 0;
}

static size_t
zmtp_next(const mmi_framing *framing, const uint8_t *at, size_t *cost)
{
    (void)framing;
    const uint8_t *start = at, *body;
    size_t size;
    bool more;
    *cost = 0;
    do {
        more = zmtp_frame(&at, &body, &size);
        *cost += size + MMI_FRAME_OVERHEAD;
    } while (more);
    return (size_t)(at - start);
}

static mmi_msg *
zmtp_open(const mmi_framing *framing, const uint8_t *at)
{
    size_t cost, size;
    const uint8_t *end = at + framing->next(framing, at, &cost), *body;
    uint64_t *sizes = mmi_alloc(cost / MMI_FRAME_OVERHEAD * sizeof *sizes);
    uint32_t count = 0;
    if (sizes == NULL) {
        return NULL;
    }
    for (const uint8_t *frame = at; frame < end; count++) {
        (void)zmtp_frame(&frame, &body, &size);
        sizes[count] = size;
    }
    mmi_msg *m = mmi_msg_new(sizes, count);
    for (uint32_t i = 0; m != NULL && i < count; i++) {
        (void)zmtp_frame(&at, &body, &size);
        if (size > 0) {
            memcpy(mmi_msg_data(m, i), body, size);
        }
    }
    mmi_free(sizes);
    return m;
}

static const uint8_t *
zmtp_head(const mmi_framing *framing, mmi_msg *m, uint32_t i, uint8_t out[MMI_FRAMING_HEAD_MAX],
          size_t *size)
{
    (void)framing;
    (void)out;
    mmi_msg_seal(m, i);   /* once, however many peers it goes to */
    *size = m->frames[i].head_size;
    return m->frames[i].head;
}

const mmi_framing mmi_framing_zmtp = {
    .size = zmtp_size,
    .put = zmtp_put,
    .put_body = zmtp_put_body,
    .next = zmtp_next,
    .open = zmtp_open,
    .head = zmtp_head,
};
