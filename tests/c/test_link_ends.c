/*
 * test_link_ends.c: connections that end while they are written, or for which the system has no
 * memory as they do: their streams are closed, and nothing of theirs is left.
 * Not here: what is counted as they end (test_engine_outside.c), what their peers still read
 * (tests/sim/test_parting.py).
 * Law: the platform itself says when, from within a write.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "sockets.h"
#include "sched/sched.h"

static mmi_plat plain;
static _Thread_local bool sends;       /* this thread's next write is the one */
static _Thread_local bool closes;      /* this thread closes the engine */
static atomic_int stream = -1;         /* that was written then */
static atomic_bool stream_closed;
static atomic_bool waits_for_writers;  /* the engine is closed, and waits for who still writes */
static _Atomic(mm_handle) disconnects; /* within that write; 0: nobody */
static const char *disconnected;       /* its endpoint */
static atomic_bool no_memory;          /* for what poll is to know of that stream, once */

static int64_t
hooked_writev(void *self, int s, const mmi_iov *iov, int n)
{
    int64_t size = plain.writev(self, s, iov, n);
    if (sends) {
        sends = false;
        atomic_store(&stream, s);
        mm_handle who = atomic_load(&disconnects);
        if (who != 0) {
            CHECK_INT(mm_disconnect(who, disconnected), MM_OK);
            atomic_store(&no_memory, true);
        } else {
            AWAIT(atomic_load(&waits_for_writers));
        }
    }
    return size;
}

static int
hooked_watch(void *self, int s, uint32_t events, uint64_t tag)
{
    bool fails = events != 0 && s == atomic_load(&stream) && atomic_exchange(&no_memory, false);
    return fails ? MM_ENOMEM : plain.watch(self, s, events, tag);
}

/* From then on nobody hears that the peer closes in its turn. */
static int
hooked_poll(void *self, mmi_event *out, int cap, uint64_t deadline_ns)
{
    int count = plain.poll(self, out, cap, deadline_ns);
    return atomic_load(&waits_for_writers) ? 0 : count;
}

static int
hooked_wait(void *self, int notifier, uint64_t deadline_ns)
{
    if (closes && deadline_ns == UINT64_MAX) {
        atomic_store(&waits_for_writers, true);
    }
    return plain.wait(self, notifier, deadline_ns);
}

static void
hooked_close(void *self, int s)
{
    if (s == atomic_load(&stream)) {
        atomic_store(&stream_closed, true);
    }
    plain.close(self, s);
}

static mm_handle
open_hooked(void)
{
    mm_handle engine;
    CHECK_INT(mmi_plat_posix(false, &plain), MM_OK);
    mmi_plat plat = plain;
    plat.writev = hooked_writev;
    plat.watch = hooked_watch;
    plat.poll = hooked_poll;
    plat.wait = hooked_wait;
    plat.close = hooked_close;
    atomic_store(&stream, -1);
    atomic_store(&stream_closed, false);
    atomic_store(&waits_for_writers, false);
    CHECK_INT(mmi_engine_open(&plat, &engine), MM_OK);
    return engine;
}

/* A thread that writes to a connection. */
static void *
send_run(void *arg)
{
    sends = true;
    CHECK_INT(mm_send(*(mm_handle *)arg, (const uint8_t *)"body", 4, PATIENCE_MS, 0), MM_OK);
    return NULL;
}

static void
test_an_engine_closed_while_a_link_is_written_leaves_nothing_of_it(void)
{
    mm_handle engine = open_hooked(), other = open_engine();
    mm_handle push = open_quiet(engine, MM_PUSH), pull = open_quiet(other, MM_PULL);
    pthread_t writer;
    join(pull, push, TCP);
    await_no_burst();
    CHECK_INT(pthread_create(&writer, NULL, send_run, &push), 0);
    AWAIT(atomic_load(&stream) >= 0);
    closes = true;
    close_engine(engine, 0);
    closes = false;
    CHECK_INT(pthread_join(writer, NULL), 0);
    CHECK(atomic_load(&stream_closed));
    close_engine(other, 0);
    CHECK_INT(mm_live_handles(), 0);
}

static void
test_a_link_that_ends_and_cannot_be_polled_is_closed_at_once(void)
{
    mm_handle engine = open_hooked(), other = open_engine();
    mm_socket_opts opts = opts_of(MM_PUSH);
    opts.linger_ms = 0;
    mm_handle push = open_with(engine, MM_PUSH, &opts), pull = open_quiet(other, MM_PULL);
    char endpoint[MM_ENDPOINT_MAX + 1];
    CHECK_INT(mm_bind(pull, TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(push, endpoint), MM_OK);
    CHECK_INT(mm_wait_peers(push, 1, PATIENCE_MS, 0), MM_OK);
    await_no_burst();
    disconnected = endpoint;
    atomic_store(&disconnects, push);
    (void)send_run(&push);
    atomic_store(&disconnects, 0);
    CHECK(!atomic_load(&no_memory));
    AWAIT(atomic_load(&stream_closed));
    close_engine(engine, 0);
    close_engine(other, 0);
    CHECK_INT(mm_live_handles(), 0);
}

int
main(void)
{
    RUN(test_an_engine_closed_while_a_link_is_written_leaves_nothing_of_it);
    RUN(test_a_link_that_ends_and_cannot_be_polled_is_closed_at_once);
    return 0;
}
