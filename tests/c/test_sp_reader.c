/*
 * test_sp_reader.c: what a link does with the SP reader and bindings do not: reading straight into
 * a large body, and running out of memory at every allocation.
 * Not here: the wire itself (tests/unit/test_codec_sp_*.py).
 * Law: after every step the reader's invariants hold, and nothing is left at the end.
 */
#include "wire/sp/reader.h"

#include "check.h"

enum { LARGE = 300000, STEP = 10000, LIMIT = 1 << 20 };

static uint8_t large_body[LARGE];

static mmi_sp_reader
reader_of(int form)
{
    mmi_sp_reader r;
    mmi_sp_reader_limits limits = { .message_size_max = LIMIT,
                                    .hops_max = MMI_SP_HOPS_MAX,
                                    .mapping = MMI_SP_PLAIN,
                                    .form = form };
    mmi_sp_reader_init(&r, &limits);
    return r;
}

static void
length_put(uint8_t out[8], uint64_t size)
{
    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)(size >> (56 - 8 * i));
    }
}

static int
feed(mmi_sp_reader *r, const uint8_t *data, size_t size, mmi_input *in)
{
    const uint8_t *at = data;
    size_t left = size;
    int rc = mmi_sp_reader_next(r, &at, &left, in);
    mmi_sp_reader_invariants(r);
    if (rc == 0) {
        CHECK_INT(left, 0);
    }
    return rc;
}

/* As a link does: what there is room for goes straight to its place. */
static mmi_msg *
read_directly(mmi_sp_reader *r, const uint8_t *data, size_t size)
{
    mmi_input in = { 0 };
    size_t at = 0;
    for (;;) {
        uint8_t *area;
        size_t room = mmi_sp_reader_direct(r, &area);
        size_t part = room < size - at ? room : size - at;
        if (room == 0) {
            part = size - at < STEP ? size - at : STEP;
            CHECK(part > 0);
            int rc = feed(r, data + at, part, &in);
            CHECK(rc >= 0);
            at += part;
        } else {
            part = part < STEP ? part : STEP;
            memcpy(area, data + at, part);
            mmi_sp_reader_filled(r, part);
            at += part;
            if (feed(r, data, 0, &in) == 1) {
                CHECK_INT(at, size);
                return in.msg;
            }
        }
    }
}

static void
test_a_large_body_is_read_straight_into_its_block(void)
{
    static uint8_t wire[8 + 8 + LARGE];
    for (size_t i = 0; i < LARGE; i++) {
        large_body[i] = (uint8_t)(i * 7 + i / 256);
    }
    for (int form = MMI_SP_RAW; form <= MMI_SP_STACK; form++) {
        static const uint8_t words[][8] = {
            [MMI_SP_HOPS] = { 0, 0, 0, 1 },
            [MMI_SP_ASKED] = { 0x80, 0, 0, 5 },
            [MMI_SP_STACK] = { 0, 0, 0, 1, 0x80, 0, 0, 5 },
        };
        static const size_t sizes[] = { [MMI_SP_HOPS] = 4, [MMI_SP_ASKED] = 4, [MMI_SP_STACK] = 8 };
        size_t header = sizes[form];
        length_put(wire, header + LARGE);
        memcpy(wire + 8, words[form], header);
        memcpy(wire + 8 + header, large_body, LARGE);
        mmi_sp_reader r = reader_of(form);
        mmi_msg *m = read_directly(&r, wire, 8 + header + LARGE);
        bool envelope = form >= MMI_SP_ASKED;
        CHECK_INT(m->frame_count, envelope ? 3 : 1);
        const mmi_frame *body = &m->frames[m->frame_count - 1];
        CHECK_INT(body->size, LARGE);
        CHECK(memcmp(body->data, large_body, LARGE) == 0);
        CHECK_INT(m->size, LARGE + (envelope ? header : 0));
        CHECK(!envelope || memcmp(m->frames[0].data, words[form], header) == 0);
        CHECK(mmi_sp_reader_idle(&r));
        mmi_msg_unref(m);
        mmi_sp_reader_fini(&r);
    }
}

static void
test_a_small_body_is_not_read_directly(void)
{
    mmi_sp_reader r = reader_of(MMI_SP_RAW);
    mmi_input in = { 0 };
    uint8_t head[8], *area;
    CHECK_INT(mmi_sp_reader_direct(&r, &area), 0);
    length_put(head, MMI_READER_DIRECT);
    CHECK_INT(feed(&r, head, sizeof head, &in), 0);
    CHECK_INT(mmi_sp_reader_direct(&r, &area), 0);
    CHECK(!mmi_sp_reader_idle(&r));
    mmi_sp_reader_fini(&r);
}

static void
test_memory_grows_with_what_arrived_when_read_directly(void)
{
    mmi_sp_reader r = reader_of(MMI_SP_RAW);
    mmi_input in = { 0 };
    uint8_t head[8], *area;
    length_put(head, LIMIT);
    CHECK_INT(feed(&r, head, sizeof head, &in), 0);
    CHECK_INT(r.block.cap, 0);
    uint64_t arrived = 0;
    while (arrived < LIMIT / 2) {
        size_t room = mmi_sp_reader_direct(&r, &area);
        CHECK(room > 0);
        uint64_t most = arrived * 2 > MMI_BLOCK_FIRST ? arrived * 2 : MMI_BLOCK_FIRST;
        CHECK(r.block.cap <= most);
        memset(area, 1, room);
        mmi_sp_reader_filled(&r, room);
        arrived += room;
        mmi_sp_reader_invariants(&r);
    }
    mmi_sp_reader_fini(&r);
}

static void
test_no_memory_for_a_direct_read_is_a_reason_at_the_next_call(void)
{
    mmi_sp_reader r = reader_of(MMI_SP_RAW);
    mmi_input in = { 0 };
    uint8_t head[8], *area;
    length_put(head, LIMIT);
    CHECK_INT(feed(&r, head, sizeof head, &in), 0);
    mm_test_alloc_fail(1);
    CHECK_INT(mmi_sp_reader_direct(&r, &area), 0);
    mm_test_alloc_fail(0);
    CHECK_INT(mmi_sp_reader_direct(&r, &area), 0);
    CHECK_INT(feed(&r, head, sizeof head, &in), MM_ENOMEM);
    CHECK_INT(r.reason, MM_REASON_MEMORY);
    mmi_sp_reader_fini(&r);
}

static void
test_a_reader_is_idle_between_messages_only(void)
{
    static const uint8_t wire[] = { 0, 0, 0, 0, 0, 0, 0, 2, 'h', 'i' };
    mmi_sp_reader r = reader_of(MMI_SP_RAW);
    mmi_input in = { 0 };
    CHECK(mmi_sp_reader_idle(&r));
    for (size_t i = 0; i < sizeof wire; i++) {
        int rc = feed(&r, wire + i, 1, &in);
        CHECK_INT(rc, i + 1 == sizeof wire);
        CHECK_INT(mmi_sp_reader_idle(&r), rc);
    }
    mmi_msg_unref(in.msg);
    mmi_sp_reader_fini(&r);
}

/* Reads one message in pieces; 1, or MM_ENOMEM and then for good. */
static int
read_in_pieces(int form, size_t piece, const uint8_t *wire, size_t size)
{
    mmi_sp_reader r = reader_of(form);
    mmi_input in = { 0 };
    int rc = 0;
    for (size_t at = 0; at < size && rc == 0; at += piece) {
        rc = feed(&r, wire + at, piece < size - at ? piece : size - at, &in);
    }
    if (rc == 1) {
        mmi_msg_unref(in.msg);
    } else {
        CHECK_INT(rc, MM_ENOMEM);
        CHECK_INT(r.reason, MM_REASON_MEMORY);
        mm_test_alloc_fail(0);
        CHECK_INT(feed(&r, wire, size, &in), MM_ENOMEM);
    }
    mmi_sp_reader_fini(&r);
    return rc;
}

static void
test_running_out_of_memory_anywhere_is_a_reason_and_leaks_nothing(void)
{
    enum { BODY = 20000 };
    static uint8_t wire[8 + BODY];
    length_put(wire, BODY);
    for (int form = MMI_SP_RAW; form <= MMI_SP_STACK; form++) {
        wire[8] = form == MMI_SP_HOPS ? 0 : 0x80;
        for (size_t piece = 100; piece <= sizeof wire; piece *= 10) {
            int failed = 0;
            for (int64_t nth = 1;; nth++) {
                mm_test_alloc_fail(nth);
                if (read_in_pieces(form, piece, wire, sizeof wire) == 1) {
                    break;
                }
                failed++;
            }
            mm_test_alloc_fail(0);
            CHECK(failed >= (form >= MMI_SP_ASKED ? 3 : 2));
        }
        mm_test_alloc_fail(1);
        CHECK_INT(read_in_pieces(form, sizeof wire, wire, sizeof wire), MM_ENOMEM);
        mm_test_alloc_fail(0);
    }
}

int
main(void)
{
    RUN(test_a_large_body_is_read_straight_into_its_block);
    RUN(test_a_small_body_is_not_read_directly);
    RUN(test_memory_grows_with_what_arrived_when_read_directly);
    RUN(test_no_memory_for_a_direct_read_is_a_reason_at_the_next_call);
    RUN(test_a_reader_is_idle_between_messages_only);
    RUN(test_running_out_of_memory_anywhere_is_a_reason_and_leaks_nothing);
    return 0;
}
