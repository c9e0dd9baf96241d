/*
 * wire/sp/body.c: the length in front of an SP message, and the words between it and the body.
 *
 * Not here: the stream (wire/sp/reader.c).  Law: pure; every length is checked against what is
 * there.
 */
#include "wire/sp/body.h"

#include "base/octets.h"

enum { SP_LENGTH = 8, SP_MARK = 1, SP_LAST_WORD = 0x80, SP_HOPS_OCTET_MAX = 0xff };

size_t
mmi_sp_length_size(int mapping)
{
    return mapping == MMI_SP_MARKED ? MMI_SP_LENGTH_MAX : SP_LENGTH;
}

int
mmi_sp_length_parse(int mapping, const uint8_t *buf, size_t len, uint64_t *size)
{
    size_t whole = mmi_sp_length_size(mapping);
    if (mapping == MMI_SP_MARKED && len > 0 && buf[0] != SP_MARK) {
        return MM_EPROTO;
    }
    if (len < whole) {
        return 0;
    }
    *size = mmi_be64_get(buf + whole - SP_LENGTH);
    return (int)whole;
}

static int
sp_hops_parse(uint32_t hops_max, const uint8_t *data, size_t size)
{
    if (size < MMI_SP_WORD || mmi_be32_get(data) > SP_HOPS_OCTET_MAX) {
        return MM_EPROTO;
    }
    return mmi_be32_get(data) > hops_max ? MM_EMSGSIZE : MMI_SP_WORD;
}

/* Words up to and including the first with the top bit, words_max of them at most. */
static int
sp_stack_parse(uint32_t words_max, const uint8_t *data, size_t size)
{
    size_t at = 0;
    for (uint32_t i = 0; i < words_max; i++) {
        if (size - at < MMI_SP_WORD) {
            return MM_EPROTO;
        }
        bool last = (data[at] & SP_LAST_WORD) != 0;
        at += MMI_SP_WORD;
        if (last) {
            return (int)at;
        }
    }
    return MM_EMSGSIZE;
}

int
mmi_sp_header_parse(int form, uint32_t hops_max, const uint8_t *data, size_t size)
{
    switch (form) {
    case MMI_SP_HOPS: return sp_hops_parse(hops_max, data, size);
    case MMI_SP_ASKED: return sp_stack_parse(1, data, size);
    case MMI_SP_STACK: return sp_stack_parse(hops_max, data, size);
    default: return 0;
    }
}

mmi_msg *
mmi_sp_open(int form, size_t header, const uint8_t *data, size_t size)
{
    if (!mmi_sp_has_envelope(form)) {
        return mmi_msg_copy(data + header, size - header);
    }
    const uint64_t sizes[] = { header, 0, size - header };
    return mmi_msg_copy_frames(data, sizes, MMI_COUNT_OF(sizes));
}

mmi_msg *
mmi_sp_open_block(int form, size_t header, uint8_t *block, size_t size)
{
    mmi_msg *body = mmi_msg_adopt(block, size);
    if (body == NULL) {
        return NULL;
    }
    body->frames[0].data += header;
    body->frames[0].size -= header;
    body->size -= header;
    if (!mmi_sp_has_envelope(form)) {
        return body;
    }
    const uint64_t sizes[MMI_SP_ENVELOPE_FRAMES] = { header, 0 };
    mmi_msg *m = mmi_msg_prepend_frames(body, block, sizes, MMI_SP_ENVELOPE_FRAMES);
    if (m == NULL) {
        body->adopted = NULL;
        mmi_msg_unref(body);
    }
    return m;
}

int
mmi_sp_check(int form, uint32_t bodies_max, uint32_t hops_max, const mmi_msg *m)
{
    uint32_t envelope = 0;
    if (mmi_sp_has_envelope(form)) {
        envelope = MMI_SP_ENVELOPE_FRAMES;
        if (m->frame_count <= envelope || m->frames[1].size != 0) {
            return MM_EINVAL;
        }
        const mmi_frame *words = &m->frames[0];
        int header = mmi_sp_header_parse(form, hops_max, words->data, words->size);
        if (header < 0 || (size_t)header != words->size) {
            return MM_EINVAL;
        }
    }
    if (m->frame_count == envelope) {
        return MM_EINVAL;
    }
    return m->frame_count - envelope <= bodies_max ? MM_OK : MM_ENOTSUP;
}

size_t
mmi_sp_head_put(uint8_t out[MMI_SP_HEAD_MAX], int mapping, int form, const mmi_msg *m)
{
    size_t at = 0;
    size_t hops = form == MMI_SP_HOPS ? MMI_SP_WORD : 0;
    uint64_t size = (uint64_t)m->size + hops;
    if (mapping == MMI_SP_MARKED) {
        out[at++] = SP_MARK;
    }
    mmi_be64_put(out + at, size);
    at += SP_LENGTH;
    if (hops > 0) {
        mmi_be32_put(out + at, 1);   /* the first connection it goes over */
    }
    return at + hops;
}
