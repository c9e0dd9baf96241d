/*
 * fuzz_handshake.c: libFuzzer harness of a connection of either wire, from its first octet on: the
 * look at the octet, the hello, and the parser behind it; whole and in pieces they end the same,
 * and messages that come in segments are those that come one by one.
 *
 * The first octet says how the rest is cut, the second which role we are, the third who dials.
 */
#include <string.h>

#include "role/role.h"
#include "wire/handshake.h"
#include "wire/parser.h"

enum { FUZZ_SIZE_MAX = 3000 };

typedef struct fuzz_end {
    int rc, wire, reason, parsed, skipped;
    uint64_t messages, sum;
} fuzz_end;

typedef struct fuzz_side {
    mmi_handshake handshake;
    mmi_parser parser;
    fuzz_end end;
    bool segments;
} fuzz_side;

static void
fuzz_count(fuzz_end *end, const uint8_t *data, size_t size)
{
    end->sum = end->sum * 31 + size + 1;
    for (size_t i = 0; i < size; i++) {
        end->sum = end->sum * 31 + data[i];
    }
}

static void
fuzz_message(fuzz_end *end, const mmi_msg *m)
{
    end->messages++;
    for (uint32_t i = 0; i < m->frame_count; i++) {
        fuzz_count(end, m->frames[i].data, m->frames[i].size);
    }
}

static void
fuzz_segment(fuzz_end *end, mmi_segment_in *segment)
{
    for (uint32_t i = 0; i < segment->msg.count; i++) {
        mmi_msg *m = mmi_segment_in_copy(segment, i);
        fuzz_message(end, m);
        mmi_msg_unref(m);
    }
    mmi_msg_unref(&segment->msg);
}

static void
fuzz_established(fuzz_side *s)
{
    const mmi_wire_limits limits = { .message_size_max = FUZZ_SIZE_MAX,
                                     .frames_max = 8,
                                     .command_size_max = 256 };
    mmi_parser_init(&s->parser, &limits, s->handshake.wire, &s->handshake);
}

static void
fuzz_parse(fuzz_side *s, const uint8_t *data, size_t size)
{
    const mmi_reader_room room = { .messages = 7, .cost = 5000 };
    const char *detail;
    while (s->end.parsed == 0) {
        mmi_input in;
        mmi_segment_in *segment =
            s->segments ? mmi_parser_segment(&s->parser, &data, &size, room, NULL) : NULL;
        if (segment != NULL) {
            fuzz_segment(&s->end, segment);
            continue;
        }
        int rc = mmi_parser_next(&s->parser, &data, &size, &in);
        s->end.skipped = (int)mmi_parser_skipped(&s->parser);
        if (rc == 0) {
            return;
        }
        if (rc < 0) {
            s->end.parsed = mmi_parser_reason(&s->parser, &detail);
            MMI_ASSERT(detail[0] != '\0');
        } else if (in.msg != NULL) {
            fuzz_message(&s->end, in.msg);
            mmi_msg_unref(in.msg);
        }
    }
}

static void
fuzz_feed(fuzz_side *s, const uint8_t *data, size_t size)
{
    size_t used = 0;
    if (s->end.rc == 0) {
        const uint8_t *out;
        s->end.rc = mmi_handshake_feed(&s->handshake, data, size, &used);
        MMI_ASSERT(used <= size);
        mmi_handshake_sent(&s->handshake, mmi_handshake_output(&s->handshake, &out));
        if (s->end.rc == 1) {
            fuzz_established(s);
        }
    }
    if (s->end.rc == 1) {
        fuzz_parse(s, data + used, size - used);
    }
}

static fuzz_end
fuzz_run(const uint8_t *data, size_t size, size_t piece, int role, int wire)
{
    fuzz_side s = { .segments = piece >= size };
    const mmi_wire *const wires[] = { NULL, &mmi_wire_zmtp, &mmi_wire_sp };
    const mmi_handshake_config config = {
        .role = role, .roles = &mmi_roles_known, .features = "1", .wire = wires[wire]
    };
    if (mmi_handshake_init(&s.handshake, &config) != MM_OK) {
        return s.end;   /* dialing over SP as a role that has none */
    }
    while (size > 0) {
        size_t part = piece < size ? piece : size;
        uint8_t *copy = mmi_alloc(part);
        memcpy(copy, data, part);
        fuzz_feed(&s, copy, part);
        mmi_free(copy);
        data += part;
        size -= part;
    }
    s.end.wire = s.handshake.wire != NULL ? s.handshake.wire->id : 0;
    s.end.reason = s.handshake.reason;
    MMI_ASSERT((s.end.rc < 0) == (s.end.reason != 0));
    mmi_handshake_fini(&s.handshake);
    mmi_parser_fini(&s.parser);
    return s.end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4) {
        return 0;
    }
    int role = 1 + data[1] % (MM_ROLE_COUNT - 1), wire = data[2] % 3;
    fuzz_end whole = fuzz_run(data + 3, size - 3, size, role, wire);
    fuzz_end cut = fuzz_run(data + 3, size - 3, 1 + data[0] % 64, role, wire);
    MMI_ASSERT(whole.rc == cut.rc && whole.wire == cut.wire && whole.reason == cut.reason);
    MMI_ASSERT(whole.parsed == cut.parsed && whole.skipped == cut.skipped);
    MMI_ASSERT(whole.messages == cut.messages && whole.sum == cut.sum);
    return 0;
}
