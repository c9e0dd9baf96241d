/*
 * test_toy.c: sockets over a transport that the library has not heard of (toy.h), on this machine
 * and in a simulated world.
 * Not here: the transports there are (test_tran.c, tests/conformance).
 * Law: a line in the list of transports is all that a new one needs of the rest.
 */
#include <sys/wait.h>

#include "sockets.h"
#include "toy.h"

enum { EVENTS = 256, STEP_NS = 1000000 };

/* Two engines that reach each other. */
typedef struct pair_of_engines {
    mm_handle world;      /* 0: this machine */
    mm_handle a, b;
} pair_of_engines;

static pair_of_engines
engines_open(bool simulated)
{
    const mm_sim_opts opts = { .latency_max_ns = STEP_NS };
    pair_of_engines p = { .world = 0 };
    if (simulated) {
        CHECK_INT(mm_sim_open(1, &opts, &p.world), MM_OK);
        CHECK_INT(mm_sim_engine_open(p.world, &p.a), MM_OK);
        CHECK_INT(mm_sim_engine_open(p.world, &p.b), MM_OK);
    } else {
        p.a = open_engine();
        p.b = open_engine();
    }
    return p;
}

static void
engines_close(const pair_of_engines *p)
{
    close_engine(p->a, 1000);
    close_engine(p->b, 1000);
    if (p->world != 0) {
        CHECK_INT(mm_sim_close(p->world), MM_OK);
    }
}

/* Everything else gets a moment. */
static void
engines_move(const pair_of_engines *p)
{
    if (p->world != 0) {
        CHECK_INT(mm_sim_run(p->world, STEP_NS), MM_OK);
    } else {
        (void)sched_yield();
    }
}

/* Returns once there was an event with that reason, and checks what it says. */
static void
await_event(const pair_of_engines *p, mm_handle socket, uint32_t kind, int reason,
            const char *detail)
{
    static mm_event events[EVENTS];
    uint64_t next = 1;
    for (;;) {
        int count = mm_socket_events(socket, next, events, EVENTS, &next);
        CHECK(count >= 0);
        for (int i = 0; i < count; i++) {
            if (events[i].kind == kind && events[i].reason == reason) {
                CHECK(strcmp(events[i].endpoint, "toy://a") == 0);
                CHECK(strstr(events[i].address, "://") == NULL ||
                      strncmp(events[i].address, "toy://", strlen("toy://")) == 0);
                CHECK(detail == NULL || strcmp(events[i].detail, detail) == 0);
                return;
            }
        }
        engines_move(p);
    }
}

static void
say(mm_handle push, mm_handle pull, const char *text)
{
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    CHECK_INT(mm_send(push, (const uint8_t *)text, strlen(text), PATIENCE_MS, 0), MM_OK);
    CHECK_INT(mm_recv(pull, batch, 1, 1 << 20, PATIENCE_MS, 0), 1);
    CHECK_INT(batch->offset[1] - batch->offset[0], strlen(text));
    CHECK(memcmp(batch->data + batch->offset[0], text, strlen(text)) == 0);
    mm_batch_free(batch);
}

static void
test_an_endpoint_is_read_by_its_transport(void)
{
    char why[MM_WHY_SIZE], longest[64] = "toy://";
    memset(longest + 6, 'x', TOY_NAME_MAX + 1);
    CHECK_INT(mm_url_why("toy://a", MM_USE_BIND, why, sizeof why), MM_OK);
    CHECK_INT(mm_url_why("toy://", MM_USE_BIND, why, sizeof why), MM_EADDRINVAL);
    CHECK(strcmp(why, "the name is missing: toy://name") == 0);
    CHECK_INT(mm_url_why(longest, MM_USE_CONNECT, why, sizeof why), MM_ENAMETOOLONG);
    CHECK(strcmp(why, "the name has 33 octets; 32 is the limit") == 0);
    CHECK_INT(mm_url_why("sp+toy://a", MM_USE_CONNECT, why, sizeof why), MM_EADDRINVAL);
    CHECK(strcmp(why, "the scheme is not one of tcp, ipc, inproc, toy, sp+tcp, sp+ipc, "
                      "tls+tcp, sp+tls+tcp") == 0);
}

static void
test_a_scheme_is_added_once_and_as_far_as_there_is_room(void)
{
    mmi_tran long_one = toy_tran;
    long_one.scheme = "abcdefghijklmnop";
    CHECK_INT(mmi_tran_add(&toy_tran), MM_EINVAL);
    CHECK_INT(mmi_tran_add(&long_one), MM_EINVAL);
}

static void
two_sockets_talk(bool simulated)
{
    const pair_of_engines p = engines_open(simulated);
    mm_handle push = open_socket(p.a, MM_PUSH), pull = open_socket(p.b, MM_PULL);
    char endpoint[MM_ENDPOINT_MAX + 1];
    CHECK_INT(mm_bind(pull, "toy://a", endpoint, sizeof endpoint), MM_OK);
    CHECK(strcmp(endpoint, "toy://a") == 0);
    CHECK_INT(mm_bind(pull, "toy://a", endpoint, sizeof endpoint), MM_EADDRINUSE);
    CHECK_INT(mm_connect(push, "toy://a"), MM_OK);
    say(push, pull, "hello");
    CHECK_INT(mm_disconnect(push, "toy://a"), MM_OK);
    CHECK_INT(mm_unbind(pull, "toy://a"), MM_OK);
    CHECK_INT(mm_unbind(pull, "toy://a"), MM_ENOENT);
    CHECK_INT(mm_bind(pull, "toy://a", endpoint, sizeof endpoint), MM_OK); /* the name is free */
    engines_close(&p);
}

static void
it_is_dialed_until_it_is_there_and_again_when_it_went(bool simulated)
{
    const pair_of_engines p = engines_open(simulated);
    mm_handle push = open_socket(p.a, MM_PUSH);
    CHECK_INT(mm_connect(push, "toy://a"), MM_OK);
    await_event(&p, push, MM_EVENT_CONNECT_FAILED, MM_REASON_UNREACHABLE, "the name is unknown");
    for (int i = 0; i < 3; i++) {
        mm_handle pull = open_socket(p.b, MM_PULL);
        char endpoint[MM_ENDPOINT_MAX + 1];
        CHECK_INT(mm_bind(pull, "toy://a", endpoint, sizeof endpoint), MM_OK);
        CHECK_INT(mm_wait_peers(pull, 1, PATIENCE_MS, 0), MM_OK);
        say(push, pull, "again");
        CHECK_INT(mm_socket_close(pull), MM_OK);
        for (uint32_t count = 1; count > 0; engines_move(&p)) {
            CHECK_INT(mm_peer_count(push, &count), MM_OK); /* it has seen that */
        }
    }
    engines_close(&p);
}

static void
who_is_turned_away_is_told_why(bool simulated)
{
    const pair_of_engines p = engines_open(simulated);
    mm_handle push = open_socket(p.a, MM_PUSH), pull = open_socket(p.b, MM_PULL);
    char endpoint[MM_ENDPOINT_MAX + 1];
    atomic_store(&toy_shut_out, true);
    CHECK_INT(mm_bind(pull, "toy://a", endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(push, "toy://a"), MM_OK);
    await_event(&p, push, MM_EVENT_CONNECT_FAILED, MM_REASON_USER, TOY_SHUT);
    atomic_store(&toy_shut_in, true);
    atomic_store(&toy_shut_out, false);
    await_event(&p, pull, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_USER, TOY_SHUT);
    atomic_store(&toy_shut_in, false);
    say(push, pull, "at last");
    engines_close(&p);
}

static void
test_two_sockets_talk(void)
{
    two_sockets_talk(false);
    two_sockets_talk(true);
}

static void
test_it_is_dialed_until_it_is_there_and_again_when_it_went(void)
{
    it_is_dialed_until_it_is_there_and_again_when_it_went(false);
    it_is_dialed_until_it_is_there_and_again_when_it_went(true);
}

static void
test_who_is_turned_away_is_told_why(void)
{
    who_is_turned_away_is_told_why(false);
    who_is_turned_away_is_told_why(true);
}

static void
test_a_fork_holds_its_lock_and_the_child_forgets_its_names(void)
{
    mm_handle engine = open_engine(), pull = open_socket(engine, MM_PULL);
    char endpoint[MM_ENDPOINT_MAX + 1];
    int status;
    CHECK_INT(mm_bind(pull, "toy://a", endpoint, sizeof endpoint), MM_OK);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        bool right = toy_fork_locks == 1 && toy_fork_unlocks == 0 && toy_fork_children == 1 &&
                     pthread_mutex_trylock(&toy_table) == 0 && toy_find("a") == NULL;
        _exit(right ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(toy_fork_locks == 1 && toy_fork_unlocks == 1 && toy_fork_children == 0);
    CHECK(toy_find("a") != NULL);
    close_engine(engine, 1000);
    CHECK(toy_find("a") == NULL);
}

int
main(void)
{
    CHECK_INT(mmi_tran_add(&toy_tran), MM_OK);
    RUN(test_an_endpoint_is_read_by_its_transport);
    RUN(test_a_scheme_is_added_once_and_as_far_as_there_is_room);
    RUN(test_two_sockets_talk);
    RUN(test_it_is_dialed_until_it_is_there_and_again_when_it_went);
    RUN(test_who_is_turned_away_is_told_why);
    RUN(test_a_fork_holds_its_lock_and_the_child_forgets_its_names);
    return 0;
}
