/*
 * test_toy_role.c: sockets of a role that the library has not heard of (toy_role.h), on this
 * machine, within the process and in a simulated world.
 * Not here: the roles there are (test_push.c and its like, tests/conformance).
 * Law: its table is all that a new one needs of the rest.
 */
#include "sockets.h"
#include "toy_role.h"

enum { EVENTS = 64, STEP_NS = 1000000 };

static const char *const PLACES[] = { "tcp://127.0.0.1:0", "inproc://latest" };

static void
say(mm_handle from, mm_handle to, const char *text)
{
    mm_batch *batch;
    size_t size;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    CHECK_INT(mm_send(from, text, strlen(text), PATIENCE_MS, 0), MM_OK);
    CHECK_INT(mm_recv(to, batch, 1, 1 << 20, PATIENCE_MS, 0), 1);
    const void *body = mm_batch_frame(batch, 0, 0, &size);
    CHECK(size == strlen(text) && memcmp(body, text, size) == 0);
    mm_batch_free(batch);
}

/* Returns once a handshake was refused for the roles of its sides, and checks what is said. */
static void
await_refusal(mm_handle socket, const char *detail)
{
    static mm_event events[EVENTS];
    uint64_t next = 1;
    for (bool told = false; !told; (void)sched_yield()) {
        int count = mm_socket_events(socket, next, events, EVENTS, &next);
        CHECK(count >= 0);
        for (int i = 0; i < count; i++) {
            bool refused = events[i].reason == MM_REASON_SOCKET_TYPE;
            CHECK(!refused || strcmp(events[i].detail, detail) == 0);
            told = told || refused;
        }
    }
}

static void
test_a_number_and_a_name_are_given_once(void)
{
    mmi_proto_ops other = toy_latest_ops;
    CHECK_INT(mmi_proto_add(&toy_latest_ops), MM_EINVAL);
    other.is.number = TOY_LATEST + 1;
    CHECK_INT(mmi_proto_add(&other), MM_EINVAL);
    other.is.name = "PUSH";
    CHECK_INT(mmi_proto_add(&other), MM_EINVAL);
    other.is.name = "";
    CHECK_INT(mmi_proto_add(&other), MM_EINVAL);
    other.is.name = "OTHER";
    static const int none[] = { 0, -1, MM_PUSH, 32 };
    for (size_t i = 0; i < MMI_COUNT_OF(none); i++) {
        other.is.number = none[i];
        CHECK_INT(mmi_proto_add(&other), MM_EINVAL);
    }
}

static void
test_what_is_asked_of_roles_is_read_in_its_table(void)
{
    mm_handle engine = open_engine(), socket;
    mm_socket_opts opts = opts_of(TOY_LATEST);
    CHECK(strcmp(mm_role_name(TOY_LATEST), "LATEST") == 0);
    CHECK(strcmp(mm_role_name(TOY_LATEST + 1), "unknown role") == 0);
    CHECK_INT(mm_role_facts(TOY_LATEST), MM_ROLE_SENDS | MM_ROLE_RECEIVES);
    CHECK_INT(mm_role_facts(TOY_LATEST + 1), 0);
    CHECK_INT(opts.overflow, MM_OVERFLOW_BLOCK);
    opts.no_peer = MM_NO_PEER_ERROR;   /* it does not share out */
    CHECK_INT(mm_socket_open(engine, TOY_LATEST, &opts, &socket), MM_EINVAL);
    opts = opts_of(TOY_LATEST);
    opts.identity[0] = 'x';
    opts.identity_size = 1;            /* it is not named */
    CHECK_INT(mm_socket_open(engine, TOY_LATEST, &opts, &socket), MM_EINVAL);
    opts = opts_of(TOY_LATEST);
    opts.flags = MM_OPT_ACK_MANUAL;    /* nothing is acknowledged */
    CHECK_INT(mm_socket_open(engine, TOY_LATEST, &opts, &socket), MM_EINVAL);
    socket = open_socket(engine, TOY_LATEST);
    CHECK_INT(mm_subscribe(socket, "a", 1), MM_ENOTSUP);
    CHECK(mm_connect(socket, "sp+tcp://127.0.0.1:1") < 0);   /* SP has no such protocol */
    close_engine(engine, 0);
}

static void
test_two_of_them_talk_both_ways(void)
{
    for (size_t i = 0; i < MMI_COUNT_OF(PLACES); i++) {
        mm_handle engine = open_engine();
        mm_handle a = open_socket(engine, TOY_LATEST), b = open_socket(engine, TOY_LATEST);
        mm_stats stats;
        CHECK_INT(mm_send(a, "x", 1, 0, 0), MM_EAGAIN);   /* nobody is there */
        join(a, b, PLACES[i]);
        say(a, b, "one");
        say(b, a, "two");
        say(b, a, "three");
        CHECK_INT(mm_socket_stats(a, &stats), MM_OK);
        CHECK(stats.sent_messages == 1 && stats.received_messages == 2);
        close_engine(engine, 1000);
    }
}

static void
test_they_talk_in_a_simulated_world(void)
{
    const mm_sim_opts opts = { .latency_max_ns = STEP_NS };
    mm_handle world, one, two;
    char endpoint[MM_ENDPOINT_MAX + 1];
    CHECK_INT(mm_sim_open(1, &opts, &world), MM_OK);
    CHECK_INT(mm_sim_engine_open(world, &one), MM_OK);
    CHECK_INT(mm_sim_engine_open(world, &two), MM_OK);
    mm_handle a = open_socket(one, TOY_LATEST), b = open_socket(two, TOY_LATEST);
    CHECK_INT(mm_bind(a, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(b, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(a, 1, PATIENCE_MS, 0), MM_OK);
    say(a, b, "one");
    say(b, a, "two");
    close_engine(one, 1000);
    close_engine(two, 1000);
    CHECK_INT(mm_sim_close(world), MM_OK);
}

static void
test_a_message_goes_to_the_peer_that_came_last(void)
{
    mm_handle engine = open_engine(), hub = open_socket(engine, TOY_LATEST);
    mm_handle first = open_socket(engine, TOY_LATEST), second = open_socket(engine, TOY_LATEST);
    char endpoint[MM_ENDPOINT_MAX + 1];
    CHECK_INT(mm_bind(hub, TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(first, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(hub, 1, PATIENCE_MS, 0), MM_OK);
    say(hub, first, "to the first");
    CHECK_INT(mm_connect(second, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(hub, 2, PATIENCE_MS, 0), MM_OK);
    say(hub, second, "to the second");
    CHECK_INT(mm_socket_close(second), MM_OK);
    for (uint32_t count = 2; count > 1; (void)sched_yield()) {
        CHECK_INT(mm_peer_count(hub, &count), MM_OK);
    }
    say(hub, first, "to the first again");
    close_engine(engine, 1000);
}

static void
test_that_one_of_two_names_the_other_is_enough_and_one_must(void)
{
    mm_handle engine = open_engine();
    mm_handle latest = open_socket(engine, TOY_LATEST), pull = open_socket(engine, MM_PULL);
    mm_handle hub = open_socket(engine, TOY_LATEST), push = open_socket(engine, MM_PUSH);
    char endpoint[MM_ENDPOINT_MAX + 1];
    join(pull, latest, TCP);
    say(latest, pull, "PULL does not name it");
    CHECK_INT(mm_bind(hub, TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(push, endpoint), MM_OK);
    await_refusal(hub, "LATEST cannot talk to PUSH");
    close_engine(engine, 0);
}

int
main(void)
{
    CHECK_INT(mmi_proto_add(&toy_latest_ops), MM_OK);
    RUN(test_a_number_and_a_name_are_given_once);
    RUN(test_what_is_asked_of_roles_is_read_in_its_table);
    RUN(test_two_of_them_talk_both_ways);
    RUN(test_they_talk_in_a_simulated_world);
    RUN(test_a_message_goes_to_the_peer_that_came_last);
    RUN(test_that_one_of_two_names_the_other_is_enough_and_one_must);
    return 0;
}
