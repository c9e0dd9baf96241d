/*
 * test_engine_inproc.c: what connections within a process do without: a copy of what was sent.
 * Not here: their streams (test_memory.c), what goes on beside a read (test_engine_outside.c).
 * Law: what is there in one piece is read where it lies; who waits to be accepted is not slept on.
 */
#include <stdatomic.h>

#include "engine/handle.h"
#include "sockets.h"
#include "sched/sched.h"

static int (*plain_borrow)(void *self, int s, mmi_iov *piece);
static atomic_int borrowed;

static int
noting_borrow(void *self, int s, mmi_iov *piece)
{
    int rc = plain_borrow(self, s, piece);
    if (rc == MM_OK) {
        atomic_fetch_add(&borrowed, 1);
    }
    return rc;
}

static void
test_what_came_from_within_the_process_is_read_where_it_lies(void)
{
    static const uint8_t body[100];
    mmi_plat plat;
    mm_handle engine;
    CHECK_INT(mmi_plat_posix(false, &plat), MM_OK);
    plain_borrow = plat.borrow;
    plat.borrow = noting_borrow;
    CHECK_INT(mmi_engine_open(&plat, &engine), MM_OK);
    mm_handle push = open_quiet(engine, MM_PUSH), pull = open_quiet(engine, MM_PULL);
    join(pull, push, "inproc://lies-there");
    int before = atomic_load(&borrowed);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(mm_send(push, body, sizeof body, PATIENCE_MS, 0), MM_OK);
        take_all(pull, 1, PATIENCE_MS);
    }
    CHECK(atomic_load(&borrowed) > before);
    close_engine(engine, 1000);
}

static int (*plain_poll)(void *self, mmi_event *out, int cap, uint64_t deadline_ns);
static uint64_t (*plain_now)(void *self);
static int polls, patient;

static int
noting_poll(void *self, mmi_event *out, int cap, uint64_t deadline_ns)
{
    polls++;
    patient += deadline_ns > plain_now(self);
    return plain_poll(self, out, cap, deadline_ns);
}

static void
test_nobody_sleeps_while_a_connection_waits_to_be_accepted(void)
{
    mm_sim_opts opts = { .latency_max_ns = 1000 };
    mm_handle world, engine;
    void *object;
    mmi_engine *e;
    CHECK_INT(mm_sim_open(1, &opts, &world), MM_OK);
    CHECK_INT(mm_sim_engine_open(world, &engine), MM_OK);
    mm_handle push = open_quiet(engine, MM_PUSH), pull = open_quiet(engine, MM_PULL);
    char endpoint[MM_ENDPOINT_MAX + 1];
    CHECK_INT(mm_bind(pull, "inproc://waits", endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(mm_connect(push, "inproc://waits"), MM_OK);
    CHECK_INT(mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e), MM_OK);
    plain_poll = e->plat.poll;
    plain_now = e->plat.now_ns;
    e->plat.poll = noting_poll;
    mmi_engine_turn(e, UINT64_MAX);
    CHECK(polls == 1 && patient == 0);
    mmi_engine_leave(e);
    CHECK_INT(mm_wait_peers(pull, 1, 1000, 0), MM_OK);
    CHECK(patient > 0);
    close_engine(engine, 1000);
    CHECK_INT(mm_sim_close(world), MM_OK);
}

int
main(void)
{
    RUN(test_nobody_sleeps_while_a_connection_waits_to_be_accepted);
    RUN(test_what_came_from_within_the_process_is_read_where_it_lies);
    return 0;
}
