/*
 * zmtp/counted.c: the framing of a peer that acknowledges: as framing.c, but a message that was
 * handed to somebody before has AGAIN in front of it, which says where it was first.
 * Not here: what AGAIN says (wire/delivery.h), reading what a peer sends (reader.c).
 * Law: AGAIN and its message are one piece: nothing comes between them, and no queue parts them.
 */
#include "wire/delivery.h"
#include "wire/zmtp/command.h"
#include "wire/zmtp/frame.h"

/* Octets of AGAIN in front of it. */
static size_t
counted_size_before(const mmi_msg *m)
{
    return m->origin.attempt > 0 ? (size_t)MMI_COMMAND_AGAIN_SIZE : 0;
}

static size_t
counted_size(const mmi_framing *f, const mmi_msg *m, size_t *cost)
{
    return counted_size_before(m) + mmi_framing_zmtp.size(f, m, cost);
}

static void
counted_put(const mmi_framing *f, const mmi_msg *m, uint8_t *out)
{
    if (m->origin.attempt > 0) {
        out += mmi_command_put_again(out, &m->origin);
    }
    mmi_framing_zmtp.put(f, m, out);
}

static size_t
counted_put_body(const uint8_t *body, size_t size, uint8_t *out, size_t room)
{
    return mmi_framing_zmtp.put_body(body, size, out, room);
}

/* Octets of AGAIN that stand there. */
static size_t
counted_before(const uint8_t *at)
{
    return at[0] == MMI_FRAME_COMMAND ? (size_t)MMI_COMMAND_AGAIN_SIZE : 0;
}

static size_t
counted_next(const mmi_framing *f, const uint8_t *at, size_t *cost)
{
    size_t before = counted_before(at);
    return before + mmi_framing_zmtp.next(f, at + before, cost);
}

static mmi_msg *
counted_open(const mmi_framing *f, const uint8_t *at)
{
    size_t before = counted_before(at);
    mmi_msg *m = mmi_framing_zmtp.open(&mmi_framing_zmtp, at + before);
    (void)f;
    if (m != NULL && before > 0) {
        bool ours = mmi_again_get(at + before - MMI_AGAIN_SIZE, MMI_AGAIN_SIZE, &m->origin);
        MMI_ASSERT(ours);
    }
    return m;
}

static const uint8_t *
counted_head(const mmi_framing *f, mmi_msg *m, uint32_t i, uint8_t out[MMI_FRAMING_HEAD_MAX],
             size_t *size)
{
    if (i > 0 || m->origin.attempt == 0) {
        return mmi_framing_zmtp.head(f, m, i, out, size);
    }
    size_t before = mmi_command_put_again(out, &m->origin);
    mmi_msg_seal(m, 0);
    for (size_t k = 0; k < m->frames[0].head_size; k++) {
        out[before + k] = m->frames[0].head[k];
    }
    *size = before + m->frames[0].head_size;
    return out;
}

const mmi_framing mmi_framing_zmtp_counted = {
    .size = counted_size,
    .put = counted_put,
    .put_body = counted_put_body,
    .next = counted_next,
    .open = counted_open,
    .head = counted_head,
};
