/*
 * test_command.c: frame heads and the commands after the handshake: written, read, refused.
 * Not here: the stream of frames (test_reader.c), READY (test_hello.c).
 * Law: what is written is read back the same; each length is believed only as far as it is there.
 */
#include "check.h"
#include "wire/zmtp/command.h"
#include "wire/zmtp/frame.h"

/* Parses a copy of exactly that size, so that the sanitizer sees a read beyond it. */
static int
head(const void *data, size_t size, mmi_frame_head *out)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    CHECK(copy != NULL);
    memcpy(copy, data, size);
    int rc = mmi_frame_head_parse(copy, size, out);
    free(copy);
    return rc;
}

static void
test_a_head_is_two_octets_up_to_255_and_nine_beyond(void)
{
    static const uint64_t sizes[] = { 0,
                                      1,
                                      254,
                                      255,
                                      256,
                                      65535,
                                      65536,
                                      UINT32_MAX,
                                      (uint64_t)UINT32_MAX + 1,
                                      INT64_MAX - 1,
                                      INT64_MAX };
    static const uint8_t flags[] = { 0, MMI_FRAME_MORE, MMI_FRAME_COMMAND };
    for (size_t i = 0; i < MMI_COUNT_OF(sizes); i++) {
        for (size_t k = 0; k < MMI_COUNT_OF(flags); k++) {
            uint8_t out[MMI_FRAME_HEAD_MAX];
            mmi_frame_head h;
            int n = (int)mmi_frame_head_put(out, flags[k], sizes[i]);
            CHECK_INT(n, sizes[i] <= 255 ? 2 : 9);
            CHECK_INT(out[0], flags[k] | (sizes[i] <= 255 ? 0 : MMI_FRAME_LONG));
            for (int part = 0; part < n; part++) {
                CHECK_INT(head(out, (size_t)part, &h), 0);
            }
            CHECK_INT(head(out, (size_t)n, &h), n);
            CHECK(h.size == sizes[i] && (h.flags & ~MMI_FRAME_LONG) == flags[k]);
        }
    }
    uint8_t out[MMI_FRAME_HEAD_MAX];
    mmi_frame_head_put(out, MMI_FRAME_LONG | MMI_FRAME_MORE, 3);
    CHECK_INT(out[0], MMI_FRAME_MORE);   /* long is the size's business, not the caller's */
}

static void
test_heads_that_cannot_be_are_refused_at_their_first_octet(void)
{
    for (int flags = 0; flags < 256; flags++) {
        uint8_t octets[9] = { (uint8_t)flags };
        mmi_frame_head h;
        bool bad = (flags & 0xf8) != 0 || (flags & 5) == 5;
        CHECK_INT(head(octets, 1, &h), bad ? MM_EPROTO : 0);
        CHECK_INT(head(octets, 9, &h), bad ? MM_EPROTO : (flags & 2) != 0 ? 9 : 2);
    }
    const uint8_t small[] = { 2, 0, 0, 0, 0, 0, 0, 0, 5 };
    const uint8_t over[] = { 2, 0x80, 0, 0, 0, 0, 0, 0, 0 };
    mmi_frame_head h;
    CHECK_INT(head(small, 9, &h), 9);    /* long with a small size is odd, and legal */
    CHECK_INT(h.size, 5);
    CHECK_INT(head(over, 8, &h), 0);
    CHECK_INT(head(over, 9, &h), MM_EPROTO);
}

static void
test_sealing_marks_frames_but_the_last_and_only_once(void)
{
    const uint64_t sizes[] = { 0, 300, 2 };
    mmi_msg *m = mmi_msg_new(sizes, 3);
    CHECK(m != NULL);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_INT(m->frames[i].head_size, 0);
        mmi_msg_seal(m, i);
    }
    CHECK(m->frames[0].head_size == 2 && m->frames[0].head[0] == MMI_FRAME_MORE);
    CHECK(m->frames[1].head_size == 9 && m->frames[1].head[0] == (MMI_FRAME_MORE | MMI_FRAME_LONG));
    CHECK(m->frames[2].head_size == 2 && m->frames[2].head[0] == 0 && m->frames[2].head[1] == 2);
    m->frames[2].head[1] = 77;
    mmi_msg_seal(m, 2);
    CHECK_INT(m->frames[2].head[1], 77);
    mmi_msg_unref(m);
}

static int
parse(const void *data, size_t size, mmi_command *out, uint8_t *keep)
{
    memcpy(keep, data, size);
    return mmi_command_parse(keep, size, out);
}

/* A written command frame parses to this kind and data. */
static void
reads_back(const uint8_t *frame, size_t size, int kind, const void *data, size_t data_size)
{
    mmi_frame_head h;
    mmi_command c;
    int n = mmi_frame_head_parse(frame, size, &h);
    CHECK(n > 0 && (size_t)n + h.size == size);
    CHECK((h.flags & MMI_FRAME_COMMAND) != 0 && (h.flags & MMI_FRAME_MORE) == 0);
    uint8_t *keep = malloc(h.size);
    CHECK_INT(parse(frame + n, h.size, &c, keep), MM_OK);
    CHECK_INT(c.kind, kind);
    CHECK_INT(c.size, data_size);
    CHECK(memcmp(c.data, data, data_size) == 0);
    free(keep);
}

static void
writes_of_delivery(uint8_t *out)
{
    const mmi_count count = { .epoch = 7, .producer = { 1, 2, 3 } };
    const mmi_origin origin = { .epoch = 5, .number = 1000, .attempt = 2 };
    uint8_t data[MMI_COUNT_SIZE];
    mmi_count read;
    mmi_origin from;
    mmi_count_put(data, &count);
    reads_back(out, mmi_command_put_count(out, &count), MMI_COMMAND_COUNT, data, MMI_COUNT_SIZE);
    CHECK(mmi_count_get(data, sizeof data, &read) && read.epoch == 7 && read.producer[2] == 3);
    CHECK(!mmi_count_get(data, sizeof data - 1, &read));
    mmi_again_put(data, &origin);
    size_t size = mmi_command_put_again(out, &origin);
    CHECK_INT(size, MMI_COMMAND_AGAIN_SIZE);
    reads_back(out, size, MMI_COMMAND_AGAIN, data, MMI_AGAIN_SIZE);
    CHECK(mmi_again_get(data, MMI_AGAIN_SIZE, &from));
    CHECK(from.epoch == 5 && from.number == 1000 && from.attempt == 2);
    CHECK(!mmi_again_get(data, MMI_AGAIN_SIZE - 1, &from));
    memset(data, 0, sizeof data);
    CHECK(!mmi_again_get(data, MMI_AGAIN_SIZE, &from));   /* nobody has it for the 0th time */
    mmi_ack ack = { .ends = true, .floor = 41, .limit = 1041 };
    uint8_t body[MMI_ACK_SIZE + 1] = { 0 };
    mmi_ack_put(body, &ack);
    body[MMI_ACK_SIZE] = 2;
    size = mmi_command_put_ack(out, sizeof body);
    memcpy(out + size, body, sizeof body);
    reads_back(out, size + sizeof body, MMI_COMMAND_ACK, body, sizeof body);
    CHECK(mmi_ack_get(body, sizeof body, &ack) && ack.ends && ack.floor == 41);
    CHECK(ack.limit == 1041 && ack.bits_size == 1 && ack.bits[0] == 2);
    CHECK(!mmi_ack_get(body, MMI_ACK_SIZE - 1, &ack));
    CHECK(!mmi_ack_get(body, (size_t)MMI_ACK_SIZE + MMI_ACK_BITMAP_MAX + 1, &ack));
}

static void
test_nack_and_extend_name_messages(void)
{
    uint8_t out[MMI_COMMAND_OVERHEAD];
    const uint8_t back[] = { 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 42 };
    const uint8_t *number = back + MMI_NACK_DELAY_SIZE;
    reads_back(out, mmi_command_put_nack(out, 42, 258), MMI_COMMAND_NACK, back, sizeof back);
    reads_back(out, mmi_command_put_extend(out, 42), MMI_COMMAND_EXTEND, number, MMI_NUMBER_SIZE);
    mmi_numbers of;
    CHECK(mmi_nack_get(back, sizeof back, &of) && of.delay_ms == 258 && of.count == 1);
    CHECK(of.at == number);
    CHECK(mmi_extend_get(number, MMI_NUMBER_SIZE, &of) && of.delay_ms == 0 && of.count == 1);
    static const uint8_t many[MMI_NACK_DELAY_SIZE + MMI_NUMBER_SIZE * (MMI_NUMBERS_MAX + 1)];
    const size_t most = (size_t)MMI_NUMBER_SIZE * MMI_NUMBERS_MAX;
    for (size_t size = 0; size <= sizeof many; size++) {
        bool whole = size > 0 && size <= most && size % MMI_NUMBER_SIZE == 0;
        CHECK(mmi_extend_get(many, size, &of) == whole);
        CHECK(!whole || of.count == size / MMI_NUMBER_SIZE);
        size_t rest = size < MMI_NACK_DELAY_SIZE ? 0 : size - MMI_NACK_DELAY_SIZE;
        whole = rest > 0 && rest <= most && rest % MMI_NUMBER_SIZE == 0;
        CHECK(mmi_nack_get(many, size, &of) == whole);
    }
}

static void
test_what_is_written_is_read_back(void)
{
    static uint8_t topic[70000];
    static const size_t sizes[] = { 0, 1, 200, 245, 246, 247, 255, 256, 65535, 70000 };
    uint8_t *out = malloc(sizeof topic + MMI_COMMAND_OVERHEAD);
    memset(topic, 't', sizeof topic);
    for (size_t i = 0; i < MMI_COUNT_OF(sizes); i++) {
        size_t size = mmi_command_put_subscription(out, 1, true, topic, sizes[i]);
        CHECK(size <= sizes[i] + MMI_COMMAND_OVERHEAD);
        reads_back(out, size, MMI_COMMAND_SUBSCRIBE, topic, sizes[i]);
        size = mmi_command_put_subscription(out, 1, false, topic, sizes[i]);
        reads_back(out, size, MMI_COMMAND_CANCEL, topic, sizes[i]);
        for (int add = 0; add < 2; add++) {   /* ZMTP 3.0: a message, not a command */
            mmi_frame_head h;
            size = mmi_command_put_subscription(out, 0, add == 1, topic, sizes[i]);
            int n = mmi_frame_head_parse(out, size, &h);
            CHECK((h.flags & ~MMI_FRAME_LONG) == 0 && h.size == sizes[i] + 1);
            CHECK(out[n] == add && memcmp(out + n + 1, topic, sizes[i]) == 0);
            CHECK_INT(size, (size_t)n + 1 + sizes[i]);
        }
    }
    for (size_t size = 0; size <= MMI_PING_CONTEXT_MAX; size++) {
        reads_back(out, mmi_command_put_ping(out, 655, topic, size), MMI_COMMAND_PING, topic, size);
        reads_back(out, mmi_command_put_pong(out, topic, size), MMI_COMMAND_PONG, topic, size);
    }
    reads_back(out, mmi_command_put_stop(out), MMI_COMMAND_STOP, "", 0);
    reads_back(out, mmi_command_put_stopped(out), MMI_COMMAND_STOPPED, "", 0);
    reads_back(out, mmi_command_put_end(out), MMI_COMMAND_END, "", 0);
    writes_of_delivery(out);
    reads_back(out, mmi_command_put_error(out, ""), MMI_COMMAND_ERROR, "", 0);
    reads_back(out, mmi_command_put_error(out, "no"), MMI_COMMAND_ERROR, "no", 2);
    topic[MMI_ERROR_TEXT_MAX + 40] = '\0';
    size_t size = mmi_command_put_error(out, (const char *)topic);
    CHECK(size <= MMI_ERROR_TEXT_MAX + MMI_COMMAND_OVERHEAD);
    reads_back(out, size, MMI_COMMAND_ERROR, topic, MMI_ERROR_TEXT_MAX);
    free(out);
}

static void
test_a_ping_says_its_time_to_live(void)
{
    static const uint16_t times[] = { 0, 1, 255, 256, 655, 65535 };
    for (size_t i = 0; i < MMI_COUNT_OF(times); i++) {
        uint8_t out[MMI_COMMAND_OVERHEAD + 8];
        mmi_command c;
        size_t size = mmi_command_put_ping(out, times[i], (const uint8_t *)"12345678", 8);
        CHECK_INT(mmi_command_parse(out + 2, size - 2, &c), MM_OK);
        CHECK_INT(c.ttl_ds, times[i]);
        CHECK(out[7] == times[i] >> 8 && out[8] == (times[i] & 255));
    }
}

static void
test_commands_that_are_malformed_and_those_that_are_only_unknown(void)
{
    static const struct {
        const char *data;
        size_t size;
        int rc, kind;
    } table[] = {
        { "", 0, MM_EPROTO, 0 },
        { "\0", 1, MM_EPROTO, 0 },
        { "\1", 1, MM_EPROTO, 0 },
        { "\5PING", 5, MM_EPROTO, 0 },
        { "\377PING", 5, MM_EPROTO, 0 },
        { "\1X", 2, MM_OK, MMI_COMMAND_UNKNOWN },
        { "\4ping\0\0", 7, MM_OK, MMI_COMMAND_UNKNOWN },
        { "\3PIN", 4, MM_OK, MMI_COMMAND_UNKNOWN },
        { "\5PING\0", 6, MM_OK, MMI_COMMAND_UNKNOWN },
        { "\4PING", 5, MM_EPROTO, 0 },
        { "\4PING\0", 6, MM_EPROTO, 0 },
        { "\4PING\0\1", 7, MM_OK, MMI_COMMAND_PING },
        { "\4PONG", 5, MM_OK, MMI_COMMAND_PONG },
        { "\4PING\0\1"
          "0123456789abcdef",
          23, MM_OK, MMI_COMMAND_PING },
        { "\4PING\0\1"
          "0123456789abcdefg",
          24, MM_EPROTO, 0 },
        { "\4PONG0123456789abcdef", 21, MM_OK, MMI_COMMAND_PONG },
        { "\4PONG0123456789abcdefg", 22, MM_EPROTO, 0 },
        { "\5ERROR", 6, MM_EPROTO, 0 },
        { "\5ERROR\0", 7, MM_OK, MMI_COMMAND_ERROR },
        { "\5ERROR\3no", 9, MM_EPROTO, 0 },
        { "\5ERROR\2no", 9, MM_OK, MMI_COMMAND_ERROR },
        { "\5ERROR\1no", 9, MM_OK, MMI_COMMAND_ERROR },
        { "\5READY", 6, MM_OK, MMI_COMMAND_READY },
        { "\11SUBSCRIBE", 10, MM_OK, MMI_COMMAND_SUBSCRIBE },
        { "\6CANCELx", 8, MM_OK, MMI_COMMAND_CANCEL },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        mmi_command c = { .kind = 0 };
        uint8_t *keep = malloc(table[i].size > 0 ? table[i].size : 1);
        CHECK_INT(parse(table[i].data, table[i].size, &c, keep), table[i].rc);
        if (table[i].rc == MM_OK) {
            CHECK_INT(c.kind, table[i].kind);
            CHECK(c.data >= keep && c.data + c.size <= keep + table[i].size);
        }
        free(keep);
    }
}

int
main(void)
{
    RUN(test_a_head_is_two_octets_up_to_255_and_nine_beyond);
    RUN(test_heads_that_cannot_be_are_refused_at_their_first_octet);
    RUN(test_sealing_marks_frames_but_the_last_and_only_once);
    RUN(test_nack_and_extend_name_messages);
    RUN(test_what_is_written_is_read_back);
    RUN(test_a_ping_says_its_time_to_live);
    RUN(test_commands_that_are_malformed_and_those_that_are_only_unknown);
    return 0;
}
