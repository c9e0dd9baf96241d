/*
 * test_engine_beside.c: who waits goes on while another thread still writes or reads much.
 * Not here: how fast that is (bench).  Here the platform holds the writer, or the reader, until who
 * waits has gone on: were it told only when all is written or read, the test would wait for ever.
 * Law: who waits for room is told between two writes of a flush, and who waits for messages between
 * two reads of a step.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>

#include "sched/sched.h"
#include "places.h"
#include "sockets.h"

enum { BODY = 1024, QUEUE = 1000, HALF = QUEUE / 2 * (BODY + 9), FULL_READ = MMI_IO_BUFFER_SIZE };

static int64_t (*plain_writev)(void *self, int s, const mmi_iov *iov, int n);
static int64_t (*plain_readv)(void *self, int s, const mmi_iov *iov, int n);
static atomic_bool hold_write;       /* the next one of a message, */
static atomic_bool held, let_go;     /* which begins, and may end  */
static atomic_llong written_after;   /* octets; < 0: not counted */
static atomic_bool wait_for_full;    /* a read that takes all it was offered, and then another */
static atomic_bool went_on;          /* who waited                                             */
static atomic_bool looked;           /* the platform saw to it                                 */

/* When over half of the queue is written, and the flush goes on, who waits for room must know.  So
 * that it goes on, a write takes all it is offered, however little the system takes at a time. */
static int64_t
holding_writev(void *self, int s, const mmi_iov *iov, int n)
{
    if (atomic_exchange(&hold_write, false)) {
        atomic_store(&held, true);
        AWAIT(atomic_load(&let_go));
        atomic_store(&written_after, 0);
    } else if (atomic_load(&written_after) > HALF) {
        AWAIT(atomic_load(&went_on));
        atomic_store(&looked, true);
        atomic_store(&written_after, -1);
    }
    int64_t all = 0;
    for (int i = 0; i < n; i++) {
        for (size_t at = 0; at < iov[i].size;) {
            mmi_iov rest = { .data = (char *)iov[i].data + at, .size = iov[i].size - at };
            int64_t put = plain_writev(self, s, &rest, 1);
            CHECK(put > 0 || put == MM_EAGAIN);
            at += put > 0 ? (size_t)put : 0;
        }
        all += (int64_t)iov[i].size;
    }
    if (atomic_load(&written_after) >= 0) {
        (void)atomic_fetch_add(&written_after, all);
    }
    return all;
}

static int64_t
holding_readv(void *self, int s, const mmi_iov *iov, int n)
{
    static atomic_bool next;
    if (n == 1 && iov[0].size == FULL_READ && atomic_exchange(&wait_for_full, false)) {
        int there = 0;
        AWAIT(ioctl(s, FIONREAD, &there) == 0 && there > FULL_READ);
        atomic_store(&next, true);
    } else if (atomic_exchange(&next, false)) {
        AWAIT(atomic_load(&went_on));
        atomic_store(&looked, true);
    }
    return plain_readv(self, s, iov, n);
}

static mm_handle
open_holding(void)
{
    mmi_plat plat;
    mm_handle engine;
    CHECK_INT(mmi_plat_posix(false, &plat), MM_OK);
    plain_writev = plat.writev;
    plain_readv = plat.readv;
    plat.writev = holding_writev;
    plat.readv = holding_readv;
    CHECK_INT(mmi_engine_open(&plat, &engine), MM_OK);
    atomic_store(&went_on, false);
    atomic_store(&looked, false);
    atomic_store(&written_after, -1);
    return engine;
}

static mm_handle
open_queue(mm_handle engine, int role)
{
    mm_socket_opts opts = opts_of(role);
    opts.heartbeat_interval_ms = 0;
    opts.send_queue_messages = QUEUE;
    opts.recv_queue_messages = 3 * QUEUE;
    return open_with(engine, role, &opts);
}

/* A pusher and a puller over ipc, where the system's buffer has room for more than one large read
 * or write; one of them is on the engine whose platform holds, the near one. */
typedef struct scene {
    char folder[PLACE_SIZE];
    mm_handle near_engine, far_engine;
    mm_handle push, pull;
} scene;

static void
scene_open(scene *c, bool pushes)
{
    char url[PLACE_SIZE + sizeof "ipc:///s"];
    place_open(c->folder);
    snprintf(url, sizeof url, "ipc://%s/s", c->folder);
    c->near_engine = open_holding();
    c->far_engine = open_engine();
    c->push = open_queue(pushes ? c->near_engine : c->far_engine, MM_PUSH);
    c->pull = open_queue(pushes ? c->far_engine : c->near_engine, MM_PULL);
    join(c->push, c->pull, url);
}

/* The platform saw what it was to see. */
static void
scene_close(scene *c)
{
    CHECK(atomic_load(&looked));
    close_engine(c->near_engine, PATIENCE_MS);
    close_engine(c->far_engine, PATIENCE_MS);
    place_close(c->folder);
}

static int
send_one(mm_handle push, int64_t timeout_ms)
{
    static const uint8_t body[BODY];
    return mm_send(push, body, sizeof body, timeout_ms, 0);
}

/* One message; how it goes. */
static void *
send_run(void *push)
{
    CHECK_INT(send_one(*(mm_handle *)push, PATIENCE_MS), MM_OK);
    return NULL;
}

/* One message that finds no room yet. */
static void *
send_late_run(void *push)
{
    (void)send_run(push);
    atomic_store(&went_on, true);
    return NULL;
}

static void *
recv_run(void *pull)
{
    take_all(*(mm_handle *)pull, 1, PATIENCE_MS);
    atomic_store(&went_on, true);
    return NULL;
}

static bool
somebody_waits(mm_handle socket)
{
    mmi_engine *e;
    void *object;
    CHECK_INT(mmi_handle_lock(socket, MMI_HANDLE_SOCKET, &object, &e), MM_OK);
    bool waits = !mmi_list_empty(&((mmi_socket *)object)->waiters);
    pthread_mutex_unlock(&e->lock);
    return waits;
}

static void
test_who_waits_for_room_goes_on_beside_a_long_flush(void)
{
    scene c;
    pthread_t writer, waiter;
    uint32_t sent = 2;
    scene_open(&c, true);
    await_no_burst();
    atomic_store(&hold_write, true);
    CHECK_INT(pthread_create(&writer, NULL, send_run, &c.push), 0);
    AWAIT(atomic_load(&held));
    int rc;
    while ((rc = send_one(c.push, 0)) == MM_OK) {
        sent++;
    }
    CHECK_INT(rc, MM_EAGAIN);
    CHECK_INT(sent, QUEUE + 1);   /* the one being written still counts; and one is to come */
    CHECK_INT(pthread_create(&waiter, NULL, send_late_run, &c.push), 0);
    AWAIT(somebody_waits(c.push));
    atomic_store(&let_go, true);
    CHECK_INT(pthread_join(waiter, NULL), 0);
    CHECK_INT(pthread_join(writer, NULL), 0);
    take_all(c.pull, sent, PATIENCE_MS);
    scene_close(&c);
}

static void
test_who_waits_for_messages_goes_on_beside_a_long_read(void)
{
    scene c;
    pthread_t waiter;
    scene_open(&c, false);
    CHECK_INT(pthread_create(&waiter, NULL, recv_run, &c.pull), 0);
    AWAIT(somebody_waits(c.pull));
    atomic_store(&wait_for_full, true);
    for (int i = 0; i < QUEUE; i++) {
        CHECK_INT(send_one(c.push, PATIENCE_MS), MM_OK);
    }
    CHECK_INT(pthread_join(waiter, NULL), 0);
    take_all(c.pull, QUEUE - 1, PATIENCE_MS);
    scene_close(&c);
}

int
main(void)
{
    RUN(test_who_waits_for_room_goes_on_beside_a_long_flush);
    RUN(test_who_waits_for_messages_goes_on_beside_a_long_read);
    return 0;
}
