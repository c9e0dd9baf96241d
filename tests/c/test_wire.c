/*
 * test_wire.c: the tables of the wires say what they mean: what is put is read back, what a wire
 * has no words for it has no function for, and each begins with an octet of its own.
 * Not here: octets against golden vectors (tests/unit/test_codec_*.py), links (tests/c/test_*.c).
 * Law: every table is looked at, so that a new wire need only be named in wires below.
 */
#include "check.h"
#include "wire/handshake.h"
#include "wire/parser.h"

enum { TOPIC_MAX = 3000 };

static const mmi_wire *const wires[] = { &mmi_wire_zmtp, &mmi_wire_zmtp_3_0, &mmi_wire_sp };

static void
test_what_a_wire_says_it_can_do_it_has_words_for(void)
{
    for (size_t i = 0; i < MMI_COUNT_OF(wires); i++) {
        const mmi_wire *w = wires[i];
        CHECK(w->name != NULL && w->prefix != NULL && w->peer_name != NULL);
        CHECK(w->hello != NULL && w->reader != NULL);
        CHECK(w->beats == (w->put_ping != NULL));
        CHECK(!w->beats || w->put_pong != NULL);
        CHECK(w->tells_topics == (w->put_topic != NULL));
        CHECK(w->tells_topics == (w->read_back != NULL));
        CHECK((w->put_error != NULL) == (w->refusal != NULL));
        CHECK((w->put_stop != NULL) == (w->put_stopped != NULL));
    }
}

static void
test_a_wire_is_known_by_its_first_octet(void)
{
    for (size_t i = 0; i < MMI_COUNT_OF(wires); i++) {
        const mmi_wire *found = mmi_wire_sniff(wires[i]->hello->first);
        CHECK(found != NULL && found->hello == wires[i]->hello);
        CHECK_INT(found->id, wires[i]->id);
    }
    CHECK(mmi_wire_sniff('G') == NULL);    /* HTTP */
    CHECK(mmi_wire_sniff(0x16) == NULL);   /* TLS */
    CHECK(mmi_wire_sniff(0x01) == NULL);   /* ZMTP 1.0 */
}

/* A topic of that size, as a wire puts it, is read back; and a peer's parser reads the same. */
static void
topic_comes_back(const mmi_wire *w, bool add, size_t size)
{
    static uint8_t topic[TOPIC_MAX], out[TOPIC_MAX + MMI_COMMAND_OVERHEAD];
    memset(topic, (int)size, sizeof topic);
    size_t whole = w->put_topic(out, add, topic, size);
    CHECK(whole <= size + MMI_COMMAND_OVERHEAD);
    mmi_command c;
    CHECK_INT(w->read_back(out, whole, &c), whole);
    CHECK_INT(c.kind, add ? MMI_COMMAND_SUBSCRIBE : MMI_COMMAND_CANCEL);
    CHECK(c.size == size && memcmp(c.data, topic, size) == 0);

    mmi_parser p = { .reader = NULL };
    const mmi_wire_limits limits = { .message_size_max = TOPIC_MAX + 1,
                                     .frames_max = 1,
                                     .command_size_max = TOPIC_MAX + MMI_COMMAND_OVERHEAD };
    mmi_parser_init(&p, &limits, w, NULL);
    const uint8_t *at = out;
    mmi_input in;
    CHECK_INT(mmi_parser_next(&p, &at, &whole, &in), 1);
    if (in.msg != NULL) {
        CHECK(w->topic_message(in.msg, &in.command));
    }
    CHECK_INT(in.command.kind, add ? MMI_COMMAND_SUBSCRIBE : MMI_COMMAND_CANCEL);
    CHECK(in.command.size == size && memcmp(in.command.data, topic, size) == 0);
    mmi_msg_unref(in.msg);
    mmi_parser_fini(&p);
}

static void
test_an_endpoint_names_its_wire_in_front(void)
{
    for (size_t i = 0; i < MMI_COUNT_OF(wires); i++) {
        char text[64];
        snprintf(text, sizeof text, "%stcp://h:1", wires[i]->prefix);
        const char *rest = text;
        CHECK(mmi_wire_of_text(&rest)->hello == wires[i]->hello);
        CHECK(strcmp(rest, "tcp://h:1") == 0);
    }
}

static void
test_a_topic_that_is_put_is_read_back(void)
{
    static const size_t sizes[] = { 0, 1, 200, 244, 245, 254, 255, 256, TOPIC_MAX };
    for (size_t i = 0; i < MMI_COUNT_OF(wires); i++) {
        for (size_t j = 0; wires[i]->tells_topics && j < MMI_COUNT_OF(sizes); j++) {
            topic_comes_back(wires[i], true, sizes[j]);
            topic_comes_back(wires[i], false, sizes[j]);
        }
    }
}

static void
test_another_command_is_read_back_as_none_of_a_topic(void)
{
    static const uint8_t context[MMI_PING_CONTEXT_MAX] = { 0 };
    for (size_t i = 0; i < MMI_COUNT_OF(wires); i++) {
        const mmi_wire *w = wires[i];
        uint8_t out[MMI_COMMAND_OVERHEAD + MMI_PING_CONTEXT_MAX];
        mmi_command c;
        if (w->read_back != NULL) {
            size_t size = w->put_pong(out, context, sizeof context);
            CHECK_INT(w->read_back(out, sizeof out, &c), size);
            CHECK(c.kind != MMI_COMMAND_SUBSCRIBE && c.kind != MMI_COMMAND_CANCEL);
        }
    }
}

static void
test_a_parser_without_a_wire_has_nothing_and_can_be_ended(void)
{
    mmi_parser p = { .reader = NULL };
    CHECK(mmi_parser_idle(&p));
    CHECK(!mmi_parser_skip(&p));
    mmi_parser_fini(&p);
}

static void
test_a_handshake_of_a_role_without_words_is_refused(void)
{
    mmi_handshake o;
    const mmi_handshake_config sp = { .role = MM_ROUTER, .wire = &mmi_wire_sp };
    CHECK(!mmi_wire_sp.hello->speaks(MM_ROUTER) && mmi_wire_zmtp.hello->speaks(MM_ROUTER));
    CHECK_INT(mmi_handshake_init(&o, &sp), MM_EPROTO);
    CHECK_INT(o.reason, MM_REASON_SOCKET_TYPE);
    mmi_handshake_fini(&o);
}

int
main(void)
{
    RUN(test_what_a_wire_says_it_can_do_it_has_words_for);
    RUN(test_a_wire_is_known_by_its_first_octet);
    RUN(test_an_endpoint_names_its_wire_in_front);
    RUN(test_a_topic_that_is_put_is_read_back);
    RUN(test_another_command_is_read_back_as_none_of_a_topic);
    RUN(test_a_parser_without_a_wire_has_nothing_and_can_be_ended);
    RUN(test_a_handshake_of_a_role_without_words_is_refused);
    return 0;
}
