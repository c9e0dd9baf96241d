/*
 * test_reader.c: bytes to messages and commands: every split, every limit, memory that fails at
 * every point, bodies read in directly.
 * Not here: the reader seen from Python (tests/unit/test_codec_reader.py).
 * Law: a message comes out whole or not at all; memory follows what arrived, not what was claimed.
 */
#include "check.h"
#include "wire/zmtp/reader.h"

enum { STREAM_MAX = 4096, LOG_MAX = 8192 };

static const mmi_reader_limits wide = { 1 << 20, 100, 1000 };

typedef struct stream {
    uint8_t data[STREAM_MAX];
    size_t size;
} stream;

static void
add_frame(stream *s, uint8_t flags, const void *body, size_t size)
{
    s->size += mmi_frame_head_put(s->data + s->size, flags, size);
    memcpy(s->data + s->size, body, size);
    s->size += size;
    CHECK(s->size <= STREAM_MAX);
}

/* What came out, as text: "(frame|frame)" for a message, "<kind:data>" for a command. */
typedef struct record {
    char text[LOG_MAX];
    size_t size;
} record;

static void
log_input(record *l, const mmi_input *in)
{
    char *at = l->text + l->size;
    size_t room = LOG_MAX - l->size;
    int n = 0;
    if (in->msg == NULL) {
        n = snprintf(at, room, "<%d:%.*s>", in->command.kind, (int)in->command.size,
                     (const char *)in->command.data);
    } else {
        for (uint32_t i = 0; i < in->msg->frame_count; i++) {
            const mmi_frame *f = &in->msg->frames[i];
            n += snprintf(at + n, room - (size_t)n, "%s%.*s", i == 0 ? "(" : "|", (int)f->size,
                          (const char *)f->data);
        }
        n += snprintf(at + n, room - (size_t)n, ")");
    }
    CHECK(n > 0 && (size_t)n < room);
    l->size += (size_t)n;
}

/* Feeds a piece from a block of exactly its size; what mmi_reader_next says at last. */
static int
feed(mmi_reader *r, const uint8_t *data, size_t size, record *l)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, data, size);
    const uint8_t *at = copy;
    size_t left = size;
    int rc;
    mmi_input in;
    while ((rc = mmi_reader_next(r, &at, &left, &in)) == 1) {
        mmi_reader_invariants(r);
        log_input(l, &in);
        mmi_msg_unref(in.msg);
    }
    mmi_reader_invariants(r);
    CHECK(rc < 0 || left == 0);
    free(copy);
    return rc;
}

static stream
mixed_stream(void)
{
    stream s = { .size = 0 };
    char big[600];
    memset(big, 'B', sizeof big);
    add_frame(&s, 0, "one", 3);
    add_frame(&s, 0, "", 0);
    add_frame(&s, MMI_FRAME_MORE, "a", 1);
    add_frame(&s, MMI_FRAME_COMMAND, "\4PING\0\1ctx", 10);   /* in the middle of a message */
    add_frame(&s, MMI_FRAME_MORE, "", 0);
    add_frame(&s, MMI_FRAME_MORE, big, sizeof big);
    add_frame(&s, 0, "z", 1);
    add_frame(&s, MMI_FRAME_COMMAND, "\11SUBSCRIBEtopic", 15);
    for (int i = 0; i < 9; i++) {
        add_frame(&s, i < 8 ? MMI_FRAME_MORE : 0, "f", 1);
    }
    add_frame(&s, MMI_FRAME_MORE, "id", 2);
    add_frame(&s, MMI_FRAME_MORE, "", 0);
    add_frame(&s, 0, big, sizeof big);
    add_frame(&s, 0, "end", 3);
    return s;
}

static void
test_every_split_gives_the_same(void)
{
    stream s = mixed_stream();
    record whole = { .size = 0 };
    mmi_reader r;
    mmi_reader_init(&r, &wide);
    CHECK_INT(feed(&r, s.data, s.size, &whole), 0);
    CHECK(mmi_reader_idle(&r) && strncmp(whole.text, "(one)()<2:ctx>(a||BBB", 21) == 0);
    CHECK(strstr(whole.text, "|z)<4:topic>(f|f|f|f|f|f|f|f|f)(id||BBB") != NULL);
    mmi_reader_fini(&r);
    for (size_t cut = 0; cut <= s.size; cut++) {
        record l = { .size = 0 };
        mmi_reader_init(&r, &wide);
        CHECK_INT(feed(&r, s.data, cut, &l), 0);
        CHECK_INT(feed(&r, s.data + cut, s.size - cut, &l), 0);
        CHECK(l.size == whole.size && memcmp(l.text, whole.text, l.size) == 0);
        mmi_reader_fini(&r);
    }
    for (size_t piece = 1; piece < 20; piece++) {
        record l = { .size = 0 };
        mmi_reader_init(&r, &wide);
        for (size_t at = 0; at < s.size; at += piece) {
            CHECK_INT(feed(&r, s.data + at, s.size - at < piece ? s.size - at : piece, &l), 0);
        }
        CHECK(l.size == whole.size && memcmp(l.text, whole.text, l.size) == 0);
        mmi_reader_fini(&r);
    }
}

/* However many frames it has, up to those that are looked for together. */
static void
test_a_small_message_that_is_there_whole_takes_one_block(void)
{
    enum { TOGETHER = 8 };
    for (int frames = 1; frames <= TOGETHER + 1; frames++) {
        stream s = { .size = 0 };
        for (int i = 1; i <= frames; i++) {
            add_frame(&s, i < frames ? MMI_FRAME_MORE : 0, "body", (size_t)(i % 5));
        }
        mmi_reader r;
        record l = { .size = 0 };
        mmi_reader_init(&r, &wide);
        mm_test_alloc_fail(2);
        int rc = feed(&r, s.data, s.size, &l);
        mm_test_alloc_fail(0);
        CHECK_INT(rc, frames <= TOGETHER ? 0 : MM_ENOMEM);
        CHECK(frames != 3 || strcmp(l.text, "(b|bo|bod)") == 0);
        mmi_reader_fini(&r);
    }
}

static void
test_a_reader_is_idle_only_between_messages(void)
{
    stream s = { .size = 0 };
    record l = { .size = 0 };
    mmi_reader r;
    mmi_reader_init(&r, &wide);
    add_frame(&s, MMI_FRAME_MORE, "ab", 2);
    add_frame(&s, 0, "cd", 2);
    for (size_t i = 0; i < s.size; i++) {
        CHECK_INT(mmi_reader_idle(&r), i == 0);
        CHECK_INT(feed(&r, s.data + i, 1, &l), 0);
    }
    CHECK(mmi_reader_idle(&r) && strcmp(l.text, "(ab|cd)") == 0);
    mmi_reader_fini(&r);
}

/* A stream whole and octet by octet: the same reason, and it stays in error. */
static void
refused(const mmi_reader_limits *limits, const stream *s, int reason)
{
    for (int octets = 0; octets < 2; octets++) {
        mmi_reader r;
        record l = { .size = 0 };
        int rc = 0;
        mmi_reader_init(&r, limits);
        for (size_t at = 0; rc == 0 && at < s->size; at += octets == 1 ? 1 : s->size) {
            rc = feed(&r, s->data + at, octets == 1 ? 1 : s->size, &l);
        }
        CHECK_INT(rc, reason == 0 ? 0 : MM_EPROTO);
        CHECK_INT(r.reason, reason);
        CHECK((r.detail[0] != '\0') == (reason != 0));
        if (reason != 0) {
            CHECK_INT(feed(&r, (const uint8_t *)"\0\1x", 3, &l), MM_EPROTO);
            uint8_t *area;
            CHECK_INT(mmi_reader_direct(&r, &area), 0);
        }
        CHECK(l.size == 0 || reason == 0);
        mmi_reader_fini(&r);
    }
}

static void
test_the_size_of_a_message_is_that_of_all_its_frames(void)
{
    const mmi_reader_limits limits = { 100, 10, 50 };
    uint8_t body[400] = { 0 };
    for (size_t size = 99; size <= 101; size++) {
        stream s = { .size = 0 }, parts = { .size = 0 };
        add_frame(&s, 0, body, size);
        refused(&limits, &s, size > 100 ? MM_REASON_MESSAGE_SIZE : 0);
        add_frame(&parts, MMI_FRAME_MORE, body, 60);
        add_frame(&parts, 0, body, size - 60);
        refused(&limits, &parts, size > 100 ? MM_REASON_MESSAGE_SIZE : 0);
        parts.size = 0;
        add_frame(&parts, MMI_FRAME_MORE, body, 50);
        add_frame(&parts, MMI_FRAME_MORE, body, 0);
        add_frame(&parts, 0, body, size - 50);
        refused(&limits, &parts, size > 100 ? MM_REASON_MESSAGE_SIZE : 0);
    }
    stream bad = { .size = 0 };
    add_frame(&bad, MMI_FRAME_MORE, body, 1);
    add_frame(&bad, MMI_FRAME_MORE, body, 1);
    add_frame(&bad, 0x80, body, 1);
    refused(&limits, &bad, MM_REASON_FRAME_FLAGS);
    stream s = { .size = 0 };
    add_frame(&s, 0, body, 100);   /* what one message had does not count for the next */
    add_frame(&s, 0, body, 100);
    refused(&limits, &s, 0);
}

static void
test_frames_and_commands_at_the_limit_and_one_over(void)
{
    const mmi_reader_limits limits = { 100, 3, 50 };
    uint8_t body[60] = { 1, 'X' };
    for (int frames = 2; frames <= 4; frames++) {
        stream s = { .size = 0 };
        for (int i = 0; i < frames; i++) {
            add_frame(&s, i + 1 < frames ? MMI_FRAME_MORE : 0, "", 0);
        }
        refused(&limits, &s, frames > 3 ? MM_REASON_FRAME_COUNT : 0);
    }
    for (size_t size = 49; size <= 51; size++) {
        stream s = { .size = 0 };
        add_frame(&s, MMI_FRAME_COMMAND, body, size);
        refused(&limits, &s, size > 50 ? MM_REASON_COMMAND_SIZE : 0);
    }
}

static void
test_what_is_claimed_is_refused_before_it_is_there(void)
{
    static const struct {
        uint8_t head[9];
        int reason;
    } table[] = {
        { { 2, 0, 0, 0, 0, 0, 0, 0, 101 }, MM_REASON_MESSAGE_SIZE },
        { { 2, 0x7f, 255, 255, 255, 255, 255, 255, 255 }, MM_REASON_MESSAGE_SIZE },
        { { 2, 0x80, 0, 0, 0, 0, 0, 0, 0 }, MM_REASON_MESSAGE_SIZE },
        { { 6, 0, 0, 0, 0, 0, 0, 0, 51 }, MM_REASON_COMMAND_SIZE },
        { { 3, 255, 255, 255, 255, 255, 255, 255, 255 }, MM_REASON_MESSAGE_SIZE },
        { { 8, 0 }, MM_REASON_FRAME_FLAGS },
        { { 5, 0 }, MM_REASON_FRAME_FLAGS },
        { { 4, 0 }, MM_REASON_COMMAND },
    };
    const mmi_reader_limits limits = { 100, 3, 50 };
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        stream s = { .size = table[i].head[0] < 8 && (table[i].head[0] & 2) != 0 ? 9 : 2 };
        memcpy(s.data, table[i].head, 9);
        refused(&limits, &s, table[i].reason);
    }
}

static void
test_memory_follows_what_arrived(void)
{
    const mmi_reader_limits limits = { UINT64_MAX, 10, 1000 };
    const uint8_t claim[] = { 2, 0x40, 0, 0, 0, 0, 0, 0, 0 };   /* 2^62 */
    static uint8_t part[10000];
    mmi_reader r;
    record l = { .size = 0 };
    mmi_reader_init(&r, &limits);
    CHECK_INT(feed(&r, claim, sizeof claim, &l), 0);
    CHECK_INT(r.block.cap, 0);
    for (uint64_t came = 0; came < 300000; came += sizeof part) {
        CHECK_INT(feed(&r, part, sizeof part, &l), 0);
        CHECK(r.block.cap <= 2 * (came + sizeof part) + 4096);
    }
    mmi_reader_fini(&r);
}

static void
test_a_large_body_is_read_in_directly(void)
{
    enum { SIZE = 3 * MMI_READER_DIRECT };
    const mmi_reader_limits limits = { SIZE, 10, SIZE };
    uint8_t head_buf[9], *area = NULL;
    for (uint64_t size = MMI_READER_DIRECT; size <= SIZE; size += MMI_READER_DIRECT) {
        mmi_reader r;
        mmi_input in;
        record l = { .size = 0 };
        mmi_reader_init(&r, &limits);
        CHECK_INT(mmi_reader_direct(&r, &area), 0);
        CHECK_INT(feed(&r, head_buf, mmi_frame_head_put(head_buf, 0, size), &l), 0);
        CHECK_INT(feed(&r, (const uint8_t *)"0123", 4, &l), 0);
        uint64_t came = 4;
        size_t room;
        while ((room = mmi_reader_direct(&r, &area)) > 0) {
            CHECK(came + room <= size);
            size_t part = room > 3 ? room - room / 3 : room;   /* a short read now and then */
            memset(area, 'd', part);
            mmi_reader_filled(&r, part);
            mmi_reader_invariants(&r);
            came += part;
        }
        CHECK_INT(came, size == MMI_READER_DIRECT ? 4 : size);   /* only over that size */
        const uint8_t *none = NULL;
        size_t left = 0;
        CHECK_INT(mmi_reader_next(&r, &none, &left, &in), came == size ? 1 : 0);
        if (came == size) {
            CHECK(in.msg->size == size && memcmp(in.msg->frames[0].data, "0123dd", 6) == 0);
            CHECK_INT(in.msg->frames[0].data[size - 1], 'd');
            mmi_msg_unref(in.msg);
        }
        mmi_reader_fini(&r);
    }
}

static void
test_no_memory_at_any_point_ends_the_reader_and_leaks_nothing(void)
{
    stream s = mixed_stream();
    for (size_t piece = 1; piece <= s.size; piece = piece * 7 + 1) {
        bool through = false;
        for (int64_t n = 1; !through; n++) {
            mmi_reader r;
            record l = { .size = 0 };
            int rc = 0;
            CHECK(n < 100);
            mmi_reader_init(&r, &wide);
            mm_test_alloc_fail(n);
            for (size_t at = 0; rc == 0 && at < s.size; at += piece) {
                rc = feed(&r, s.data + at, s.size - at < piece ? s.size - at : piece, &l);
            }
            mm_test_alloc_fail(0);
            through = rc == 0;
            CHECK(through || (rc == MM_ENOMEM && r.reason == MM_REASON_MEMORY));
            CHECK(through || feed(&r, s.data, s.size, &l) == MM_ENOMEM);
            mmi_reader_fini(&r);
        }
    }
}

/* Wherever it is told to: what there is of a message is freed, no more is kept; commands come. */
static void
test_a_reader_that_skips_gives_out_the_commands_and_keeps_no_message(void)
{
    stream s = mixed_stream();
    for (size_t from = 0; from < s.size; from++) {
        mmi_reader r;
        mmi_input in;
        record l = { .size = 0 };
        const uint8_t *at = s.data + from;
        size_t left = s.size - from;
        mmi_reader_init(&r, &wide);
        CHECK_INT(feed(&r, s.data, from, &l), 0);
        mmi_reader_skip(&r);
        int64_t bytes, before = mm_test_alloc_live(&bytes);
        while (mmi_reader_next(&r, &at, &left, &in) == 1) {
            CHECK(in.msg == NULL);
        }
        CHECK_INT(r.reason, 0);
        CHECK_INT(left, 0);
        CHECK(mmi_reader_idle(&r));
        CHECK(mm_test_alloc_live(&bytes) <= before + 1);   /* of a command, until the next call */
        mmi_reader_fini(&r);
    }
}

static void
test_a_large_body_that_is_skipped_is_kept_nowhere(void)
{
    static uint8_t piece[64 * 1024];
    const uint64_t size = 16 * 1024 * 1024;
    uint8_t head[MMI_FRAME_HEAD_MAX];
    record l = { .size = 0 };
    mmi_reader r;
    mmi_reader_init(&r, &(mmi_reader_limits){
                            .message_size_max = size, .frames_max = 1, .command_size_max = 64 });
    CHECK_INT(feed(&r, head, (size_t)mmi_frame_head_put(head, 0, size), &l), 0);
    CHECK_INT(feed(&r, piece, sizeof piece, &l), 0);
    CHECK(r.block.data != NULL);
    mmi_reader_skip(&r);
    for (uint64_t came = sizeof piece; came < size; came += sizeof piece) {
        uint8_t *area;
        CHECK(!mmi_reader_idle(&r));
        CHECK_INT(mmi_reader_direct(&r, &area), 0);
        CHECK_INT(feed(&r, piece, sizeof piece, &l), 0);
        CHECK(r.block.data == NULL);
        mmi_reader_invariants(&r);
    }
    CHECK(mmi_reader_idle(&r));
    mmi_reader_fini(&r);
}

int
main(void)
{
    RUN(test_every_split_gives_the_same);
    RUN(test_a_small_message_that_is_there_whole_takes_one_block);
    RUN(test_a_reader_is_idle_only_between_messages);
    RUN(test_the_size_of_a_message_is_that_of_all_its_frames);
    RUN(test_frames_and_commands_at_the_limit_and_one_over);
    RUN(test_what_is_claimed_is_refused_before_it_is_there);
    RUN(test_memory_follows_what_arrived);
    RUN(test_a_large_body_is_read_in_directly);
    RUN(test_a_reader_that_skips_gives_out_the_commands_and_keeps_no_message);
    RUN(test_a_large_body_that_is_skipped_is_kept_nowhere);
    RUN(test_no_memory_at_any_point_ends_the_reader_and_leaks_nothing);
    return 0;
}
