/*
 * api/sp.c: the SP codec from outside, for tests and tools: only marshalling.
 *
 * Law: nothing here that codec/ does not do by itself.
 */
#include <string.h>

#include "meshmsg_testing.h"
#include "wire/sp/hello.h"
#include "wire/sp/reader.h"

struct mm_codec_sp_reader {
    mmi_sp_reader reader;
};

struct mm_codec_sp_hello {
    mmi_sp_hello hello;
};

int
mm_codec_sniff(const uint8_t *buf, size_t size)
{
    const mmi_wire *wire = size > 0 ? mmi_wire_sniff(buf[0]) : NULL;
    return size == 0 ? 0 : wire != NULL ? wire->id : MM_EPROTO;
}

int
mm_codec_sp_protocol(uint32_t id, uint32_t *peer_id, int *role, int *form)
{
    const mmi_sp_protocol *protocol = mmi_sp_find(id);
    if (protocol == NULL) {
        return MM_EINVAL;
    }
    *peer_id = protocol->peer_id;
    *role = protocol->role;
    *form = protocol->form;
    return MM_OK;
}

uint32_t
mm_codec_sp_of_role(int role)
{
    const mmi_sp_protocol *protocol = mmi_sp_of_role(role);
    return protocol == NULL ? 0 : protocol->id;
}

mm_codec_sp_hello *
mm_codec_sp_hello_new(uint32_t id, int answer)
{
    const mmi_sp_protocol *protocol = mmi_sp_find(id);
    mm_codec_sp_hello *h = protocol == NULL ? NULL : mmi_alloc(sizeof *h);
    if (h != NULL) {
        mmi_sp_hello_init(&h->hello, protocol, answer != 0);
    }
    return h;
}

void
mm_codec_sp_hello_free(mm_codec_sp_hello *h)
{
    mmi_free(h);
}

int
mm_codec_sp_hello_feed(mm_codec_sp_hello *h, const uint8_t *buf, size_t size, size_t *used)
{
    return mmi_sp_hello_feed(&h->hello, buf, size, used);
}

size_t
mm_codec_sp_hello_output(mm_codec_sp_hello *h, uint8_t *out, size_t size)
{
    const uint8_t *from;
    size_t there = mmi_sp_hello_output(&h->hello, &from);
    size_t part = there < size ? there : size;
    memcpy(out, from, part);
    mmi_sp_hello_sent(&h->hello, part);
    return part;
}

int
mm_codec_sp_hello_result(const mm_codec_sp_hello *h, uint32_t *ours, uint32_t *theirs)
{
    *ours = h->hello.ours->id;
    *theirs = h->hello.theirs == NULL ? 0 : h->hello.theirs->id;
    return h->hello.reason;
}

mm_codec_sp_reader *
mm_codec_sp_reader_new(uint64_t message_size_max, uint32_t hops_max, int marked, uint32_t id)
{
    const mmi_sp_protocol *protocol = mmi_sp_find(id);
    mm_codec_sp_reader *r = protocol == NULL ? NULL : mmi_alloc(sizeof *r);
    if (r != NULL) {
        mmi_sp_reader_limits limits = { .message_size_max = message_size_max,
                                        .hops_max = hops_max,
                                        .mapping = marked != 0 ? MMI_SP_MARKED : MMI_SP_PLAIN,
                                        .form = protocol->form };
        mmi_sp_reader_init(&r->reader, &limits);
    }
    return r;
}

void
mm_codec_sp_reader_free(mm_codec_sp_reader *r)
{
    mmi_sp_reader_fini(&r->reader);
    mmi_free(r);
}

int
mm_codec_sp_reader_next(mm_codec_sp_reader *r, const uint8_t *buf, size_t size, size_t *used,
                        mm_msg **msg)
{
    const uint8_t *at = buf;
    size_t left = size;
    mmi_input input = { 0 };
    int rc = mmi_sp_reader_next(&r->reader, &at, &left, &input);
    mmi_sp_reader_invariants(&r->reader);
    *used = size - left;
    *msg = rc == 1 ? input.msg : NULL;
    return rc;
}

int
mm_codec_sp_reader_inspect(const mm_codec_sp_reader *r, uint64_t *held, uint64_t *skipped)
{
    *held = r->reader.block.cap;
    *skipped = r->reader.skipped;
    return r->reader.reason;
}

int
mm_codec_sp_head(uint32_t id, int marked, uint32_t hops_max, const uint8_t *bodies,
                 const uint64_t *sizes, uint32_t count, uint8_t *out, size_t *size)
{
    const mmi_sp_protocol *protocol = mmi_sp_find(id);
    if (protocol == NULL) {
        return MM_EINVAL;
    }
    mmi_msg *m = mmi_msg_copy_frames(bodies, sizes, count);
    if (m == NULL) {
        return MM_ENOMEM;
    }
    int rc = mmi_sp_check(protocol->form, protocol->bodies_max, hops_max, m);
    if (rc == MM_OK) {
        int mapping = marked != 0 ? MMI_SP_MARKED : MMI_SP_PLAIN;
        *size = mmi_sp_head_put(out, mapping, protocol->form, m);
    }
    mmi_msg_unref(m);
    return rc;
}
