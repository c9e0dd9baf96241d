/*
 * test_api.c: the public functions given what they should not be given: closed handles, handles of
 * another kind, roles that cannot, options and addresses that make no sense.
 * Not here: what they do when all is right.
 * Law: every one answers, none crashes, and nothing has changed after a refusal.
 */
#include <stdbool.h>

#include "sockets.h"

typedef struct result {
    const char *name;
    int rc;
} result;

enum { CALLS = 32 };

static const uint64_t size_one = 1;
static const uint8_t octet[1] = { 'x' };
static const mm_body body = { octet, 1 };

static void
close_last(mm_handle engine)
{
    CHECK_INT(mm_engine_close(engine, 0, NULL), MM_OK);
    CHECK_INT(mm_live_handles(), 0);
}

/* Every call on a socket, without waiting; how many there are. */
static int
call_all(mm_handle s, mm_batch *batch, result *out)
{
    static mm_stats stats;
    static mm_peer peer;
    static mm_event event;
    mm_drain_info info;
    char bound[256];
    uint64_t id, next;
    uint32_t count;
    size_t sent;
    int fd;
    const result all[] = {
        { "bind", mm_bind(s, "inproc://never", bound, sizeof bound) },
        { "connect", mm_connect(s, "inproc://never") },
        { "unbind", mm_unbind(s, "inproc://never") },
        { "disconnect", mm_disconnect(s, "inproc://never") },
        { "subscribe", mm_subscribe(s, octet, 1) },
        { "unsubscribe", mm_unsubscribe(s, octet, 1) },
        { "send", mm_send(s, octet, 1, 0, 0) },
        { "send_frames", mm_send_frames(s, 0, &body, 1, 0, 0) },
        { "send_packed", mm_send_packed(s, 0, octet, &size_one, 1, NULL, 0, 0, 0) },
        { "send_many", mm_send_many(s, &body, 1, 0, 0, &sent) },
        { "recv", mm_recv(s, batch, 1, 100, 0, 0) },
        { "request", mm_request(s, &body, 1, 0, 0, &id) },
        { "request_packed", mm_request_packed(s, octet, &size_one, 1, NULL, 0, 0, 0, &id) },
        { "survey", mm_survey(s, &body, 1, 0, 1, 0, 0, &id) },
        { "reply", mm_recv_reply(s, 1, batch, 0, 0) },
        { "replies_ready", mm_replies_ready(s, &id, 1) },
        { "request_cancel", mm_request_cancel(s, 1) },
        { "wait_peers", mm_wait_peers(s, 1, 0, 0) },
        { "wait_subscribers", mm_wait_subscribers(s, octet, 1, 1, 0, 0) },
        { "drain", mm_drain(s, 0, 0, &info) },
        { "peer_count", mm_peer_count(s, &count) },
        { "subscriber_count", mm_subscriber_count(s, octet, 1, &count) },
        { "router_peer", mm_router_peer(s, octet, 1, &id) },
        { "fileno", mm_fileno(s, &fd) },
        { "hold", mm_mark_unclaimed(s, 0) },
        { "watch", mm_watch(s, 0, MM_READABLE) },
        { "pollset_watch", mm_pollset_watch(0, s, MM_READABLE) },
        { "stats", mm_socket_stats(s, &stats) },
        { "peers", mm_socket_peers(s, &peer, 1, &count) },
        { "events", mm_socket_events(s, 1, &event, 1, &next) },
    };
    int calls = (int)(sizeof all / sizeof all[0]);
    CHECK(calls <= CALLS);
    memcpy(out, all, sizeof all);
    return calls;
}

static void
all_say(mm_handle s, mm_batch *batch, int wanted)
{
    result results[CALLS];
    int calls = call_all(s, batch, results);
    for (int i = 0; i < calls; i++) {
        if (results[i].rc != wanted) {
            fprintf(stderr, "%s said %d, wanted %d\n", results[i].name, results[i].rc, wanted);
            exit(1);
        }
    }
    CHECK_INT(mm_socket_close(s), wanted);
}

static void
test_every_call_on_a_closed_socket_says_closed(void)
{
    mm_handle engine = open_engine(), closed = open_socket(engine, MM_PUSH);
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    CHECK_INT(mm_socket_close(closed), MM_OK);
    all_say(closed, batch, MM_ECLOSED);
    all_say(0, batch, MM_ECLOSED);
    mm_handle orphan = open_socket(engine, MM_PULL);
    CHECK_INT(mm_engine_close(engine, 0, NULL), MM_OK);
    all_say(orphan, batch, MM_ECLOSED);
    CHECK_INT(mm_engine_close(engine, 0, NULL), MM_ECLOSED);
    mm_batch_free(batch);
    CHECK_INT(mm_live_handles(), 0);
}

static void
test_a_handle_of_another_kind_is_a_bad_argument(void)
{
    mm_handle engine = open_engine(), socket = open_socket(engine, MM_PUSH), waker, other;
    mm_socket_opts opts;
    mm_batch *batch;
    mm_ready ready;
    int fds[2];
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    CHECK_INT(mm_waker_open(engine, &waker, fds), MM_OK);
    all_say(engine, batch, MM_EINVAL);
    all_say(waker, batch, MM_EINVAL);
    all_say(UINT64_MAX, batch, MM_EINVAL);
    CHECK_INT(mm_engine_close(socket, 0, NULL), MM_EINVAL);
    CHECK_INT(mm_socket_defaults(MM_PUSH, &opts), MM_OK);
    CHECK_INT(mm_socket_open(socket, MM_PUSH, &opts, &other), MM_EINVAL);
    CHECK_INT(mm_waker_open(socket, &other, fds), MM_EINVAL);
    CHECK_INT(mm_waker_take(socket, &ready, 1), MM_EINVAL);
    CHECK_INT(mm_waker_close(engine), MM_EINVAL);
    CHECK_INT(mm_watch(socket, engine, MM_READABLE), MM_EINVAL);
    CHECK_INT(mm_watch(socket, waker, 0x100), MM_EINVAL);
    CHECK_INT(mm_waker_close(waker), MM_OK);
    CHECK_INT(mm_waker_close(waker), MM_ECLOSED);
    CHECK_INT(mm_waker_take(waker, &ready, 1), MM_ECLOSED);
    CHECK_INT(mm_watch(socket, waker, MM_READABLE), MM_EINVAL);
    mm_batch_free(batch);
    close_last(engine);
}

static void
test_a_waker_watches_sockets_of_its_own_engine_only(void)
{
    mm_handle one = open_engine(), two = open_engine(), waker;
    int fds[2];
    CHECK_INT(mm_waker_open(one, &waker, fds), MM_OK);
    CHECK_INT(mm_watch(open_socket(two, MM_PULL), waker, MM_READABLE), MM_EINVAL);
    CHECK_INT(mm_watch(open_socket(one, MM_PULL), waker, MM_READABLE), MM_OK);
    CHECK_INT(mm_engine_close(two, 0, NULL), MM_OK);
    close_last(one);
}

static void
test_a_role_says_what_it_cannot_do(void)
{
    mm_handle engine = open_engine();
    mm_batch *batch;
    uint64_t id;
    uint32_t count;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    for (int role = 1; role < MM_ROLE_COUNT; role++) {
        mm_handle s = open_socket(engine, role);
        bool sends = role != MM_PULL && role != MM_SUB;
        bool receives = role != MM_PUSH && role != MM_PUB && role != MM_REQ && role != MM_SURVEYOR;
        bool reaches = role == MM_PUB || role == MM_XPUB;
        bool subscribes = role == MM_SUB || role == MM_XSUB;
        CHECK_INT(mm_recv(s, batch, 1, 1, 0, 0), receives ? MM_EAGAIN : MM_ENOTSUP);
        CHECK_INT(mm_recv(s, batch, 0, 1, 0, 0), MM_EINVAL);
        CHECK((mm_send(s, octet, 1, 0, 0) == MM_ENOTSUP) == !sends || role == MM_REQ);
        bool asks = role == MM_REQ || role == MM_SURVEYOR;
        CHECK_INT(mm_recv_reply(s, 1, batch, 0, 0) == MM_ENOTSUP, !asks);
        CHECK_INT(mm_request(s, &body, 1, 0, 0, &id) == MM_ENOTSUP, role != MM_REQ);
        CHECK_INT(mm_survey(s, &body, 1, 0, 1, 0, 0, &id) == MM_ENOTSUP, role != MM_SURVEYOR);
        CHECK_INT(mm_subscribe(s, octet, 1), subscribes ? MM_OK : MM_ENOTSUP);
        CHECK_INT(mm_subscriber_count(s, octet, 1, &count), reaches ? MM_OK : MM_ENOTSUP);
        CHECK_INT(mm_wait_subscribers(s, octet, 1, 0, 0, 0), reaches ? MM_OK : MM_ENOTSUP);
        CHECK_INT(mm_router_peer(s, octet, 1, &id),
                  role == MM_ROUTER ? MM_EHOSTUNREACH : MM_ENOTSUP);
        CHECK_INT(mm_peer_count(s, &count), MM_OK);
        CHECK_INT(count, 0);
    }
    mm_batch_free(batch);
    close_last(engine);
}

static void
test_options_that_make_no_sense_open_no_socket(void)
{
    mm_handle engine = open_engine(), socket = 5;
    mm_socket_opts good, o;
    CHECK_INT(mm_socket_defaults(MM_DEALER, &good), MM_OK);
    for (int what = 0; what < 25; what++) {
        int role = MM_DEALER;
        o = good;
        switch (what) {
        case 0: o.overflow = 0; break;
        case 1: o.overflow = MM_OVERFLOW_DROP_OLDEST + 1; break;
        case 2: o.send_queue_messages = 0; break;
        case 3: o.recv_queue_messages = 0; break;
        case 4: o.send_queue_bytes = 0; break;
        case 5: o.recv_queue_bytes = 0; break;
        case 6: o.frames_max = 0; break;
        case 7: o.half_open_max = 0; break;
        case 8: o.connections_max = 0; break;
        case 9: o.handshake_timeout_ms = 0; break;
        case 10: o.reconnect_min_ms = 0; break;
        case 11: o.reconnect_max_ms = o.reconnect_min_ms - 1; break;
        case 12: o.heartbeat_timeout_ms = 0; break;
        case 13: o.identity_size = MM_IDENTITY_MAX + 1; break;
        case 14: o.identity_size = 1; break;                        /* begins with 0 */
        case 15:
            o.identity_size = 1;
            o.identity[0] = 'x';
            role = MM_PUSH;
            break;
        case 16: o.topic_size_max = UINT32_MAX; break;
        case 17: role = 0; break;
        case 18: o.no_peer = MM_NO_PEER_DROP + 1; break;
        case 19:
            o.no_peer = MM_NO_PEER_BLOCK;
            role = MM_PUB;
            o.identity_size = 0;
            break;
        case 20:
            o.no_peer = MM_NO_PEER_DROP;
            role = MM_REQ;
            break;
        case 21: o.flags = MM_OPT_HASH; break;                      /* of a PUSH only */
        case 22: o.flags = MM_OPT_LEAST_LOADED; break;
        case 23:
            o.flags = MM_OPT_HASH | MM_OPT_LEAST_LOADED;
            role = MM_PUSH;
            break;
        default: role = MM_ROLE_COUNT; break;
        }
        CHECK_INT(mm_socket_open(engine, role, &o, &socket), MM_EINVAL);
        CHECK_INT(socket, 5);
    }
    CHECK_INT(mm_socket_defaults(0, &o), MM_EINVAL);
    CHECK_INT(mm_socket_defaults(MM_ROLE_COUNT, &o), MM_EINVAL);
    CHECK_INT(mm_engine_open(2, &socket), MM_EINVAL);
    CHECK_INT(mm_engine_open(0, NULL), MM_EINVAL);
    CHECK_INT(mm_live_handles(), 1);
    close_last(engine);
}

static void
test_addresses_are_refused_before_anything_happens(void)
{
    mm_handle engine = open_engine(), s = open_socket(engine, MM_PULL);
    char bound[256] = "untouched";
    mm_stats stats;
    const char *bad[] = { "", "tcp://", "udp://127.0.0.1:1", "tcp://127.0.0.1", "inproc://" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_INT(mm_bind(s, bad[i], bound, sizeof bound), MM_EADDRINVAL);
        CHECK_INT(mm_connect(s, bad[i]), MM_EADDRINVAL);
        CHECK_INT(mm_disconnect(s, bad[i]), MM_EADDRINVAL);
        CHECK_INT(mm_unbind(s, bad[i]), MM_EADDRINVAL);
    }
    CHECK_INT(mm_connect(s, "tcp://127.0.0.1:0"), MM_EADDRINVAL);
    CHECK_INT(mm_connect(s, "tcp://*:5"), MM_EADDRINVAL);
    CHECK_INT(mm_bind(s, "tcp://*:0", bound, sizeof bound), MM_EINSECURE);
    CHECK_INT(mm_bind(s, "tcp://0.0.0.0:0", bound, sizeof bound), MM_EINSECURE);
    CHECK_INT(mm_bind(s, "ipc:///no/such/folder/s", bound, sizeof bound), MM_ENOENT);
    CHECK_INT(mm_bind(s, "tcp://192.0.2.1:0", bound, sizeof bound), MM_EINSECURE);
    CHECK(strcmp(bound, "untouched") == 0);
    CHECK_INT(mm_socket_stats(s, &stats), MM_OK);
    CHECK(stats.listeners == 0 && stats.dialers == 0);
    CHECK_INT(mm_bind(s, "inproc://a", bound, sizeof bound), MM_OK);
    CHECK_INT(mm_bind(s, "inproc://a", bound, sizeof bound), MM_EADDRINUSE);
    CHECK_INT(mm_bind(s, "tcp://127.0.0.1:0", bound, 5), MM_OK);
    CHECK_INT(strlen(bound), 4);   /* cut, and still ended */
    CHECK_INT(mm_unbind(s, "inproc://a"), MM_OK);
    CHECK_INT(mm_unbind(s, "inproc://a"), MM_ENOENT);
    CHECK_INT(mm_disconnect(s, "inproc://a"), MM_ENOENT);
    close_last(engine);
}

static void
test_only_a_router_names_the_peer_it_dials_and_each_name_once(void)
{
    mm_handle engine = open_engine(), pull = open_socket(engine, MM_PULL);
    mm_handle router = open_socket(engine, MM_ROUTER);
    uint8_t name[MM_IDENTITY_MAX + 1] = { 0 };
    mm_stats stats;
    CHECK_INT(mm_connect_as(router, "inproc://a", name, 1), MM_EINVAL);   /* begins with 0 */
    memset(name, 'n', sizeof name);
    CHECK_INT(mm_connect_as(router, "inproc://a", name, 0), MM_EINVAL);
    CHECK_INT(mm_connect_as(router, "inproc://a", name, MM_IDENTITY_MAX + 1), MM_EINVAL);
    CHECK_INT(mm_connect_as(pull, "inproc://a", name, 1), MM_ENOTSUP);
    char node[MM_NODE_NAME_MAX + 2];   /* who has no TLS cannot ask for a key */
    memset(node, 'x', sizeof node);
    node[sizeof node - 1] = '\0';
    CHECK_INT(mm_connect_node(pull, "tcp://127.0.0.1:1", name, node + 1), MM_EINVAL);
    CHECK_INT(mm_connect_node(pull, "tcp://127.0.0.1:1", name, node), MM_EINVAL);
    CHECK_INT(mm_connect_node(pull, "tcp://127.0.0.1:1", name, ""), MM_EINVAL);
    CHECK_INT(mm_connect_node(pull, "inproc://a", name, "x"), MM_EINVAL);
    CHECK_INT(mm_connect_as(router, "inproc://", name, 1), MM_EADDRINVAL);
    CHECK_INT(mm_connect_as(router, "inproc://a", name, MM_IDENTITY_MAX), MM_OK);
    CHECK_INT(mm_connect_as(router, "inproc://a", name, MM_IDENTITY_MAX), MM_ESTATE);
    CHECK_INT(mm_connect_as(router, "inproc://a", name, MM_IDENTITY_MAX - 1), MM_OK);
    CHECK_INT(mm_socket_stats(router, &stats), MM_OK);
    CHECK_INT(stats.dialers, 2);
    CHECK_INT(mm_disconnect(router, "inproc://a"), MM_OK);
    CHECK_INT(mm_connect_as(router, "inproc://b", name, MM_IDENTITY_MAX), MM_OK);
    CHECK_INT(mm_socket_close(pull), MM_OK);
    CHECK_INT(mm_socket_close(router), MM_OK);
    close_last(engine);
}

static void
test_engines_of_both_pollers_open_and_close_again_and_again(void)
{
    enum { SOME = 20 };
    mm_handle engines[SOME];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < SOME; i++) {
            CHECK_INT(mm_engine_open(i % 2 == 0 ? 0 : MM_ENGINE_POLL, &engines[i]), MM_OK);
        }
        CHECK_INT(mm_live_handles(), SOME);
        for (int i = 0; i < SOME; i++) {
            uint64_t abandoned = 9;
            CHECK_INT(mm_engine_close(engines[i], -1, &abandoned), MM_OK);
            CHECK_INT(abandoned, 0);
            CHECK_INT(mm_engine_close(engines[i], -1, &abandoned), MM_ECLOSED);
        }
        CHECK_INT(mm_live_handles(), 0);
    }
}

int
main(void)
{
    RUN(test_every_call_on_a_closed_socket_says_closed);
    RUN(test_a_handle_of_another_kind_is_a_bad_argument);
    RUN(test_a_waker_watches_sockets_of_its_own_engine_only);
    RUN(test_a_role_says_what_it_cannot_do);
    RUN(test_options_that_make_no_sense_open_no_socket);
    RUN(test_addresses_are_refused_before_anything_happens);
    RUN(test_only_a_router_names_the_peer_it_dials_and_each_name_once);
    RUN(test_engines_of_both_pollers_open_and_close_again_and_again);
    return 0;
}
