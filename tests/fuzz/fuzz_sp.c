/*
 * fuzz_sp.c: libFuzzer harness of an SP connection from its first octet: sniffer, hello, messages.
 * The same bytes whole and in pieces give the same, and what was read could be sent again.
 *
 * The first octet says how the rest is cut, the second which protocol we are and which mapping.
 * Law: no crash, no leak, invariants hold after every call.
 */
#include <string.h>

#include "wire/sp/hello.h"
#include "wire/sp/reader.h"

enum { FUZZ_MARKED = 0x80, FUZZ_HOPS = 4, FUZZ_SIZE = 100000 };

static const uint8_t fuzz_ids[] = {
    MMI_SP_PAIR0, MMI_SP_PAIR1, MMI_SP_PUB,      MMI_SP_SUB,        MMI_SP_REQ, MMI_SP_REP,
    MMI_SP_PUSH,  MMI_SP_PULL,  MMI_SP_SURVEYOR, MMI_SP_RESPONDENT, MMI_SP_BUS,
};

typedef struct fuzz_side {
    const mmi_sp_protocol *protocol;
    mmi_sp_hello hello;
    mmi_sp_reader reader;
    bool open;              /* the hello is done */
    int rc, reason;
    uint64_t hash;
} fuzz_side;

static void
fuzz_message(fuzz_side *s, mmi_msg *m)
{
    uint8_t head[MMI_SP_HEAD_MAX];
    MMI_ASSERT(mmi_sp_check(s->protocol->form, s->protocol->bodies_max, FUZZ_HOPS, m) == MM_OK);
    MMI_ASSERT(mmi_sp_head_put(head, s->reader.limits.mapping, s->protocol->form, m) <=
               MMI_SP_HEAD_MAX);
    s->hash = s->hash * 31 + m->frame_count;
    for (uint32_t i = 0; i < m->frame_count; i++) {
        s->hash = s->hash * 31 + m->frames[i].size;
        for (size_t j = 0; j < m->frames[i].size; j++) {
            s->hash = s->hash * 31 + m->frames[i].data[j];
        }
    }
    mmi_msg_unref(m);
}

static void
fuzz_feed(fuzz_side *s, const uint8_t *data, size_t size)
{
    size_t used = 0;
    if (!s->open) {
        s->rc = mmi_sp_hello_feed(&s->hello, data, size, &used);
        MMI_ASSERT(used <= size);
        s->reason = s->hello.reason;
        s->open = s->rc == 1;
        if (!s->open) {
            return;
        }
    }
    data += used;
    size -= used;
    mmi_input input = { 0 };
    while ((s->rc = mmi_sp_reader_next(&s->reader, &data, &size, &input)) == 1) {
        mmi_sp_reader_invariants(&s->reader);
        fuzz_message(s, input.msg);
    }
    mmi_sp_reader_invariants(&s->reader);
    MMI_ASSERT(s->rc != 0 || size == 0);
    s->reason = s->reader.reason;
}

static void
fuzz_run(fuzz_side *s, const uint8_t *data, size_t size, size_t piece, uint8_t kind)
{
    s->protocol = mmi_sp_find(fuzz_ids[(kind & 0x7f) % MMI_COUNT_OF(fuzz_ids)]);
    mmi_sp_reader_limits limits = { .message_size_max = FUZZ_SIZE,
                                    .hops_max = FUZZ_HOPS,
                                    .mapping =
                                        (kind & FUZZ_MARKED) != 0 ? MMI_SP_MARKED : MMI_SP_PLAIN,
                                    .form = s->protocol->form };
    mmi_sp_hello_init(&s->hello, s->protocol, true);
    mmi_sp_reader_init(&s->reader, &limits);
    while (size > 0 && s->rc >= 0) {
        size_t part = piece < size ? piece : size;
        uint8_t *copy = mmi_alloc(part); /* its own block, so that a read beyond it is noticed */
        memcpy(copy, data, part);
        fuzz_feed(s, copy, part);
        mmi_free(copy);
        data += part;
        size -= part;
    }
    const uint8_t *out;
    MMI_ASSERT(mmi_sp_hello_output(&s->hello, &out) ==
               (s->hello.in_size == MMI_SP_HELLO_SIZE ? MMI_SP_HELLO_SIZE : 0));
    mmi_sp_reader_fini(&s->reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) {
        return 0;
    }
    fuzz_side whole = { .hash = 7 }, cut = { .hash = 7 };
    fuzz_run(&whole, data + 2, size - 2, size, data[1]);
    fuzz_run(&cut, data + 2, size - 2, 1 + data[0] % 16, data[1]);
    MMI_ASSERT(whole.rc == cut.rc && whole.reason == cut.reason && whole.hash == cut.hash);
    MMI_ASSERT(whole.reader.skipped == cut.reader.skipped);
    const mmi_wire *wire = mmi_wire_sniff(data[2]);
    MMI_ASSERT(wire == &mmi_wire_sp || whole.reason == MM_REASON_NOT_SP);
    MMI_ASSERT((wire == NULL) == (data[2] != 0xff && data[2] != 0x00));
    return 0;
}
