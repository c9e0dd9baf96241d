/*
 * wire/sp/framing.c: whole messages as SP has them: a length, header words, and a body.
 * Not here: reading what a peer sends (wire/sp/reader.c).
 * Law: as in framing.h; one row for each way a protocol of ours sends over a mapping.
 */
#include <string.h>

#include "base/limits.h"
#include "wire/framing.h"
#include "wire/sp/body.h"

_Static_assert((int)MMI_SP_HEAD_MAX <= (int)MMI_FRAMING_HEAD_MAX, "an SP head has room");

/* Frames that the peer takes a message for. */
static size_t
sp_frames(const mmi_framing *f)
{
    return mmi_sp_has_envelope(f->form) ? MMI_SP_ENVELOPE_FRAMES + 1 : 1;
}

static size_t
sp_head_size(const mmi_framing *f)
{
    return mmi_sp_length_size(f->mapping) + (f->form == MMI_SP_HOPS ? (size_t)MMI_SP_WORD : 0);
}

static size_t
sp_size(const mmi_framing *f, const mmi_msg *m, size_t *cost)
{
    *cost = m->size + sp_frames(f) * MMI_FRAME_OVERHEAD;
    return sp_head_size(f) + m->size;
}

/* All of it stands in front of the first frame. */
static const uint8_t *
sp_head(const mmi_framing *f, mmi_msg *m, uint32_t i, uint8_t out[MMI_FRAMING_HEAD_MAX],
        size_t *size)
{
    *size = i == 0 ? mmi_sp_head_put(out, f->mapping, f->form, m) : 0;
    return out;
}

static void
sp_put(const mmi_framing *f, const mmi_msg *m, uint8_t *out)
{
    uint8_t head[MMI_FRAMING_HEAD_MAX];
    size_t head_size = mmi_sp_head_put(head, f->mapping, f->form, m);
    memcpy(out, head, head_size);
    out += head_size;
    for (uint32_t i = 0; i < m->frame_count; i++) {
        const mmi_frame *frame = &m->frames[i];
        if (frame->size > 0) {
            memcpy(out, frame->data, frame->size);
            out += frame->size;
        }
    }
}

/* Where the words and the body of the message there are, and their octets. */
static const uint8_t *
sp_whole(const mmi_framing *f, const uint8_t *at, size_t *size)
{
    uint64_t length = 0;
    int n = mmi_sp_length_parse(f->mapping, at, mmi_sp_length_size(f->mapping), &length);
    MMI_ASSERT(n > 0);
    *size = (size_t)length;
    return at + n;
}

static size_t
sp_next(const mmi_framing *f, const uint8_t *at, size_t *cost)
{
    size_t size;
    const uint8_t *data = sp_whole(f, at, &size);
    size_t words = f->form == MMI_SP_HOPS ? (size_t)MMI_SP_WORD : 0;
    *cost = size - words + sp_frames(f) * MMI_FRAME_OVERHEAD;
    return (size_t)(data - at) + size;
}

static mmi_msg *
sp_open(const mmi_framing *f, const uint8_t *at)
{
    size_t size;
    const uint8_t *data = sp_whole(f, at, &size);
    int header = mmi_sp_header_parse(f->form, MMI_SP_HOPS_MAX, data, size);
    MMI_ASSERT(header >= 0);   /* it was checked before it was put */
    return mmi_sp_open(f->form, (size_t)header, data, size);
}

static int
sp_check(const mmi_framing *f, const mmi_msg *m)
{
    return mmi_sp_check(f->form, f->bodies_max, MMI_SP_HOPS_MAX, m);
}

#define SP_FRAMING(on, sends, bodies)                                                              \
    { .size = sp_size,                                                                             \
      .put = sp_put,                                                                               \
      .next = sp_next,                                                                             \
      .open = sp_open,                                                                             \
      .check = sp_check,                                                                           \
      .head = sp_head,                                                                             \
      .mapping = (on),                                                                             \
      .form = (sends),                                                                             \
      .bodies_max = (bodies) }
#define SP_FRAMINGS(on)                                                                            \
    SP_FRAMING(on, MMI_SP_RAW, 1), SP_FRAMING(on, MMI_SP_RAW, 2), SP_FRAMING(on, MMI_SP_HOPS, 1),  \
        SP_FRAMING(on, MMI_SP_ASKED, 1), SP_FRAMING(on, MMI_SP_STACK, 1)

static const mmi_framing sp_framings[] = { SP_FRAMINGS(MMI_SP_PLAIN), SP_FRAMINGS(MMI_SP_MARKED) };

const mmi_framing *
mmi_framing_sp(int mapping, const mmi_sp_protocol *ours)
{
    const mmi_framing *f = sp_framings;
    while (f->mapping != mapping || f->form != ours->form || f->bodies_max != ours->bodies_max) {
        f++;
        MMI_ASSERT(f < sp_framings + MMI_COUNT_OF(sp_framings));   /* every row of sp.c is here */
    }
    return f;
}
