/*
 * test_hello.c: greeting and READY: two of ours, every refusal, every split, no memory.
 * Not here: timeouts and eviction (tests/hostile); peers in Python (tests/unit).
 * Law: refused at the first octet that cannot be right, with a reason; no octet behind is used.
 */
#include "check.h"
#include "role/role.h"
#include "wire/wire.h"
#include "wire/zmtp/command.h"
#include "wire/zmtp/frame.h"
#include "wire/zmtp/hello.h"

enum { GREETING = 64, BYTES_MAX = 20000 };

typedef struct bytes {
    uint8_t data[BYTES_MAX];
    size_t size;
} bytes;

static mmi_hello
hello_of(int role, const char *identity)
{
    mmi_hello h;
    mmi_hello_config config = { .role = role,
                                .roles = &mmi_roles_known,
                                .identity = (const uint8_t *)identity,
                                .identity_size = strlen(identity),
                                .features = "1" };
    CHECK_INT(mmi_hello_init(&h, &config), MM_OK);
    return h;
}

/* All that a well-behaved peer of that role sends. */
static bytes
spoken_by(int role, const char *identity)
{
    mmi_hello h = hello_of(role, identity);
    mmi_hello other = hello_of(MM_PUSH, "");
    const uint8_t *out;
    size_t used, size = mmi_hello_output(&other, &out);
    CHECK_INT(mmi_hello_feed(&h, out, size, &used), 0);
    bytes b = { .size = mmi_hello_output(&h, &out) };
    memcpy(b.data, out, b.size);
    mmi_hello_fini(&h);
    mmi_hello_fini(&other);
    return b;
}

static void
add(bytes *b, const void *data, size_t size)
{
    CHECK(b->size + size <= BYTES_MAX);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void
add_command(bytes *b, const char *name, const void *data, size_t size)
{
    uint8_t head[MMI_FRAME_HEAD_MAX], length = (uint8_t)strlen(name);
    add(b, head, mmi_frame_head_put(head, MMI_FRAME_COMMAND, 1 + length + size));
    add(b, &length, 1);
    add(b, name, length);
    add(b, data, size);
}

static void
add_property(bytes *b, const char *name, const void *value, size_t size)
{
    uint8_t length = (uint8_t)strlen(name);
    uint8_t value_size[] = { (uint8_t)(size >> 24), (uint8_t)(size >> 16), (uint8_t)(size >> 8),
                             (uint8_t)size };
    add(b, &length, 1);
    add(b, name, length);
    add(b, value_size, 4);
    add(b, value, size);
}

/* Feeds all, in pieces of that size; the last answer.  Each piece lies in a block of its own. */
static int
feed(mmi_hello *h, const bytes *b, size_t piece, size_t *total)
{
    int rc = 0;
    *total = 0;
    while (rc == 0 && *total < b->size) {
        size_t size = b->size - *total < piece ? b->size - *total : piece, used = 0;
        uint8_t *copy = malloc(size);
        memcpy(copy, b->data + *total, size);
        rc = mmi_hello_feed(h, copy, size, &used);
        free(copy);
        CHECK(used <= size && (rc != 0 || used == size));
        CHECK(h->in_cap <= MMI_HANDSHAKE_SIZE_MAX);
        *total += used;
    }
    return rc;
}

static void
test_two_of_ours_understand_each_other_at_every_split(void)
{
    bytes b = spoken_by(MM_DEALER, "me");
    size_t own = b.size, total;
    add(&b, "\0\5first", 7);   /* a message right behind the handshake is not ours to use */
    for (size_t piece = 1; piece <= b.size; piece++) {
        mmi_hello h = hello_of(MM_ROUTER, "you");
        CHECK_INT(feed(&h, &b, piece, &total), 1);
        CHECK_INT(total, own);
        CHECK(h.peer.role == MM_DEALER && h.peer.minor == 1 && h.reason == 0);
        CHECK(h.peer.identity_size == 2 && memcmp(h.peer.identity, "me", 2) == 0);
        CHECK(strcmp(h.peer.features, "1") == 0);
        mmi_hello_fini(&h);
    }
}

static void
test_ready_waits_for_the_greeting_and_output_is_given_once(void)
{
    mmi_hello h = hello_of(MM_PUSH, "");
    bytes b = spoken_by(MM_PULL, "");
    const uint8_t *out;
    size_t used;
    CHECK_INT(mmi_hello_output(&h, &out), GREETING);
    CHECK(out[0] == 0xff && out[9] == 0x7f && out[10] == 3 && out[11] == 1);
    CHECK(memcmp(out + 12, "NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20) == 0);
    mmi_hello_sent(&h, 10);
    CHECK_INT(mmi_hello_output(&h, &out), GREETING - 10);
    mmi_hello_sent(&h, GREETING - 10);
    CHECK_INT(mmi_hello_output(&h, &out), 0);
    CHECK_INT(mmi_hello_feed(&h, b.data, GREETING - 1, &used), 0);
    CHECK_INT(mmi_hello_output(&h, &out), 0);
    CHECK_INT(mmi_hello_feed(&h, b.data + GREETING - 1, 1, &used), 0);
    CHECK(mmi_hello_output(&h, &out) > 8 && memcmp(out + 2, "\5READY", 6) == 0);
    CHECK_INT(mmi_hello_feed(&h, NULL, 0, &used), 0);
    mmi_hello_fini(&h);
}

static void
test_roles_that_fit_and_all_others_are_refused_both_ways(void)
{
    static const char *const fits[] = {
        "PUSH PULL",           "PUB SUB",       "PUB XSUB",      "XPUB SUB",
        "XPUB XSUB",           "REQ REP",       "REQ ROUTER",    "REP DEALER",
        "DEALER DEALER",       "DEALER ROUTER", "ROUTER ROUTER", "PAIR PAIR",
        "SURVEYOR RESPONDENT", "BUS BUS",
    };
    for (int a = 1; a < MM_ROLE_COUNT; a++) {
        for (int b = 1; b < MM_ROLE_COUNT; b++) {
            char one[32], two[32];
            snprintf(one, sizeof one, "%s %s", mm_role_name(a), mm_role_name(b));
            snprintf(two, sizeof two, "%s %s", mm_role_name(b), mm_role_name(a));
            bool fit = false;
            for (size_t i = 0; i < MMI_COUNT_OF(fits); i++) {
                fit = fit || strcmp(one, fits[i]) == 0 || strcmp(two, fits[i]) == 0;
            }
            bytes spoken = spoken_by(b, "");
            mmi_hello h = hello_of(a, "");
            size_t total;
            CHECK_INT(mmi_roles_fit(mmi_roles_known.of(a), mmi_roles_known.of(b)), fit);
            CHECK_INT(feed(&h, &spoken, 1000, &total), fit ? 1 : MM_EPROTO);
            CHECK_INT(h.reason, fit ? 0 : MM_REASON_SOCKET_TYPE);
            mmi_hello_fini(&h);
        }
    }
    CHECK_INT(mmi_roles_known.named((const uint8_t *)"PUSH", 4)->number, MM_PUSH);
    CHECK(mmi_roles_known.named((const uint8_t *)"PUSHX", 5) == NULL);
    CHECK(mmi_roles_known.named((const uint8_t *)"PUS", 3) == NULL);
    CHECK(mmi_roles_known.named((const uint8_t *)"push", 4) == NULL);
    CHECK(mmi_roles_known.named((const uint8_t *)"", 0) == NULL);
}

/* PUSH hears this behind a good greeting (or as it is): the reason, at every split; told: an ERROR
 * command goes back. */
static void
refused(const bytes *rest, bool greeted, int reason, bool told)
{
    bytes b = { .size = 0 };
    if (greeted) {
        bytes peer = spoken_by(MM_PULL, "");
        add(&b, peer.data, GREETING);
    }
    add(&b, rest->data, rest->size);
    for (size_t piece = 1; piece <= b.size; piece = piece < 100 ? piece + 1 : piece * 3) {
        mmi_hello h = hello_of(MM_PUSH, "");
        const uint8_t *out;
        size_t total, used;
        CHECK_INT(feed(&h, &b, piece, &total), reason == 0 ? 1 : MM_EPROTO);
        CHECK_INT(h.reason, reason);
        size_t size = mmi_hello_output(&h, &out);
        bool error = memmem(out, size, "\5ERROR", 6) != NULL;
        CHECK_INT(error, told);
        CHECK(reason == 0 || h.detail[0] != '\0');
        if (reason != 0) {
            CHECK_INT(mmi_hello_feed(&h, b.data, 1, &used), MM_EPROTO);   /* and so it stays */
            CHECK_INT(mmi_hello_output(&h, &out), size);
        }
        mmi_hello_fini(&h);
    }
}

static void
test_greetings_that_are_not_ours(void)
{
    bytes good = spoken_by(MM_PULL, "");
    static const struct {
        size_t at;
        uint8_t octet;
        int reason;
    } table[] = {
        { 0, 0xfe, MM_REASON_NOT_ZMTP },
        { 0, 0x00, MM_REASON_NOT_ZMTP },
        { 0, 0x01, MM_REASON_OLD_ZMTP },
        { 9, 0x7e, MM_REASON_OLD_ZMTP },
        { 10, 2, MM_REASON_OLD_ZMTP },
        { 10, 0, MM_REASON_OLD_ZMTP },
        { 12, 'P', MM_REASON_MECHANISM },
        { 31, 'x', MM_REASON_MECHANISM },
        { 16, 1, MM_REASON_MECHANISM },
        { 1, 0x55, 0 },
        { 32, 1, 0 },   /* padding and as-server prove nothing */
        { 63, 0x77, 0 },
        { 10, 4, 0 },
        { 11, 9, 0 },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        bytes b = good;
        b.data[table[i].at] = table[i].octet;
        refused(&b, false, table[i].reason, false);
    }
}

static void
test_an_older_minor_version_is_remembered(void)
{
    bytes b = spoken_by(MM_PULL, "");
    size_t total;
    b.data[11] = 0;
    mmi_hello h = hello_of(MM_PUSH, "");
    CHECK_INT(feed(&h, &b, 7, &total), 1);
    CHECK_INT(h.peer.minor, 0);
    mmi_hello_fini(&h);
}

static void
test_what_is_no_ready_is_refused(void)
{
    bytes b = { .size = 0 };
    add(&b, "\0\1x", 3);
    refused(&b, true, MM_REASON_HANDSHAKE, true);          /* a message */
    b = (bytes){ .size = 0 };
    add(&b, "\5\0", 2);
    refused(&b, true, MM_REASON_FRAME_FLAGS, true);
    b = (bytes){ .size = 0 };
    add(&b, "\4\2\5x", 4);
    refused(&b, true, MM_REASON_HANDSHAKE, true);          /* a malformed command */
    b = (bytes){ .size = 0 };
    add_command(&b, "PONG", "", 0);
    refused(&b, true, MM_REASON_HANDSHAKE, true);
    b = (bytes){ .size = 0 };
    add_command(&b, "ERROR", "\3n\1o", 4);
    refused(&b, true, MM_REASON_ERROR_COMMAND, false);     /* no ERROR in answer to an ERROR */
    b = (bytes){ .size = 0 };
    add(&b, "\6\0\0\0\0\0\1\0\0", 9);
    refused(&b, true, MM_REASON_METADATA, true);           /* 64 KiB of it are announced */
}

static void
test_properties_and_their_limits(void)
{
    static const struct {
        const char *name;
        const char *value;
        size_t value_size;
        int reason;          /* of a READY with Socket-Type and this one */
    } table[] = {
        { "X-Other", "any\0thing", 9, 0 },
        { "x-meshmsg", "7", 1, 0 },
        { "Identity", "", 0, 0 },
        { "identity", "me", 2, 0 },
        { "Identity", "\0me", 3, MM_REASON_IDENTITY },
        { "socket-type", "PULL", 4, MM_REASON_METADATA },
        { "Bad Name", "", 0, MM_REASON_METADATA },
        { "", "", 0, MM_REASON_METADATA },
        { "B\1d", "", 0, MM_REASON_METADATA },
        { "A-_.+9z", "", 0, 0 },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        bytes body = { .size = 0 }, b = { .size = 0 };
        add_property(&body, "Socket-Type", "PULL", 4);
        add_property(&body, table[i].name, table[i].value, table[i].value_size);
        add_command(&b, "READY", body.data, body.size);
        refused(&b, true, table[i].reason, table[i].reason != 0);
    }
    for (size_t size = 254; size <= 256; size++) {
        static char identity[256] = "i";
        bytes body = { .size = 0 }, b = { .size = 0 };
        add_property(&body, "Socket-Type", "PULL", 4);
        add_property(&body, "Identity", identity, size);
        add_command(&b, "READY", body.data, body.size);
        refused(&b, true, size > 255 ? MM_REASON_IDENTITY : 0, size > 255);
    }
    for (int count = MMI_PROPERTIES_MAX - 1; count <= MMI_PROPERTIES_MAX + 1; count++) {
        bytes body = { .size = 0 }, b = { .size = 0 };
        add_property(&body, "Socket-Type", "PULL", 4);
        for (int i = 1; i < count; i++) {
            char name[16];
            snprintf(name, sizeof name, "X-%d", i);
            add_property(&body, name, "v", 1);
        }
        add_command(&b, "READY", body.data, body.size);
        bool over = count > MMI_PROPERTIES_MAX;
        refused(&b, true, over ? MM_REASON_METADATA : 0, over);
    }
}

static void
test_properties_cut_at_every_length_are_refused(void)
{
    bytes body = { .size = 0 };
    add_property(&body, "Socket-Type", "PULL", 4);
    size_t first = body.size;
    add_property(&body, "X-Other", "something", 9);
    for (size_t size = 0; size <= body.size; size++) {
        bytes b = { .size = 0 };
        add_command(&b, "READY", body.data, size);
        bool whole = size == body.size || size == first;
        int reason = size == 0 ? MM_REASON_SOCKET_TYPE : whole ? 0 : MM_REASON_METADATA;
        refused(&b, true, reason, reason != 0);
    }
}

static void
test_long_features_are_cut_and_unknown_types_refused(void)
{
    char value[100];
    bytes body = { .size = 0 }, b = { .size = 0 };
    memset(value, 'f', sizeof value);
    add_property(&body, "X-Meshmsg", value, sizeof value);
    add_property(&body, "Socket-Type", "PULL", 4);
    bytes peer = spoken_by(MM_PULL, "");
    add(&b, peer.data, GREETING);
    add_command(&b, "READY", body.data, body.size);
    mmi_hello h = hello_of(MM_PUSH, "");
    size_t total;
    CHECK_INT(feed(&h, &b, 50, &total), 1);
    CHECK_INT(strlen(h.peer.features), sizeof h.peer.features - 1);
    mmi_hello_fini(&h);
    /* 63 octets are read, and what is cut there is no word: "ack" of "acknowledges". */
    for (size_t end = MMI_FEATURES_MAX - 4; end <= (size_t)MMI_FEATURES_MAX; end++) {
        memset(value, 'f', sizeof value);
        memcpy(value, "1 meta ", 7);
        memcpy(value + end - 4, " ack", 4);
        for (int whole = 0; whole < 2; whole++) {
            value[end] = whole ? ' ' : 'n';
            body.size = b.size = 0;
            add_property(&body, "X-Meshmsg", value, sizeof value);
            add_property(&body, "Socket-Type", "PULL", 4);
            add(&b, peer.data, GREETING);
            add_command(&b, "READY", body.data, body.size);
            h = hello_of(MM_PUSH, "");
            CHECK_INT(feed(&h, &b, 50, &total), 1);
            CHECK(mmi_wire_knows(h.peer.features, "meta"));
            CHECK(mmi_wire_knows(h.peer.features, "ack") == (whole == 1));
            mmi_hello_fini(&h);
        }
    }
    const char *types[] = { "pull", "PULLX", "", "STREAM", "PU" };
    for (size_t i = 0; i < MMI_COUNT_OF(types); i++) {
        body.size = b.size = 0;
        add_property(&body, "Socket-Type", types[i], strlen(types[i]));
        add_command(&b, "READY", body.data, body.size);
        refused(&b, true, MM_REASON_SOCKET_TYPE, true);
    }
}

static void
test_no_memory_at_any_point_is_said_and_leaks_nothing(void)
{
    bytes b = spoken_by(MM_PULL, "");
    for (size_t piece = 1; piece < 2000; piece *= 10) {
        bool through = false;
        for (int64_t n = 1; !through; n++) {
            mmi_hello h;
            mmi_hello_config config = { .role = MM_PUSH, .roles = &mmi_roles_known };
            size_t total, used;
            CHECK(n < 10);
            mm_test_alloc_fail(n);
            int rc = mmi_hello_init(&h, &config);
            CHECK(rc == MM_OK || (rc == MM_ENOMEM && n == 1));
            if (rc == MM_OK) {
                rc = feed(&h, &b, piece, &total);
                CHECK(rc == 1 || (rc == MM_ENOMEM && h.reason == MM_REASON_MEMORY));
                through = rc == 1;
                CHECK(through || mmi_hello_feed(&h, b.data, 1, &used) == MM_ENOMEM);
            }
            mm_test_alloc_fail(0);
            mmi_hello_fini(&h);
        }
    }
}

static void
test_a_feature_is_a_whole_word_behind_the_version(void)
{
    CHECK(mmi_wire_knows("1 refuse", "refuse"));
    CHECK(mmi_wire_knows("1 a refuse b", "refuse"));
    CHECK(mmi_wire_knows("2  refuse", "refuse"));
    CHECK(mmi_wire_knows(mmi_wire_features, "refuse"));
    static const char *const others[] = { "",          "1",       "1 ",       "refuse",  "1refuse",
                                          "1 refused", "1 refus", "1 Refuse", "refuse 1" };
    for (size_t i = 0; i < MMI_COUNT_OF(others); i++) {
        CHECK(!mmi_wire_knows(others[i], "refuse"));
    }
}

int
main(void)
{
    RUN(test_two_of_ours_understand_each_other_at_every_split);
    RUN(test_ready_waits_for_the_greeting_and_output_is_given_once);
    RUN(test_roles_that_fit_and_all_others_are_refused_both_ways);
    RUN(test_greetings_that_are_not_ours);
    RUN(test_an_older_minor_version_is_remembered);
    RUN(test_what_is_no_ready_is_refused);
    RUN(test_properties_and_their_limits);
    RUN(test_properties_cut_at_every_length_are_refused);
    RUN(test_long_features_are_cut_and_unknown_types_refused);
    RUN(test_a_feature_is_a_whole_word_behind_the_version);
    RUN(test_no_memory_at_any_point_is_said_and_leaks_nothing);
    return 0;
}
