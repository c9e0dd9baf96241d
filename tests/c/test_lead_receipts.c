/*
 * test_lead_receipts.c: who waits for a receipt polls for itself, as who waits for a message does;
 * and whoever else waits is served all the same.
 *
 * Not here: lone callers that receive (test_lead.c), what a receipt says (test_receipts.c).
 * Meant to run under TSan as well.
 */
#include <pthread.h>

#include "engine/handle.h"
#include "sched/sched.h"
#include "sockets.h"

enum { TRIPS = 2000, WAITERS = 3, MANY = 4000 };
static const mm_push_opts CONFIRMED = { .confirm = 1 };
static const uint64_t SIZE = 1;

typedef struct rig {
    mm_handle here, there, push, pull;
    pthread_t takes;
} rig;

/* Takes until it is closed: each receive says that what came before is done. */
static void *
takes_run(void *arg)
{
    mm_handle pull = *(mm_handle *)arg;
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    int rc;
    while ((rc = mm_recv(pull, batch, 1, 1 << 20, -1, 0)) == 1) {
        CHECK_INT(mm_recv(pull, batch, 1, 1 << 20, 0, 0), MM_EAGAIN);
    }
    CHECK_INT(rc, MM_ECLOSED);
    mm_batch_free(batch);
    return NULL;
}

/* The same of what comes fast: by the batch. */
static void *
takes_many_run(void *arg)
{
    take_all(*(mm_handle *)arg, MANY, PATIENCE_MS);
    return takes_run(arg);
}

static void
rig_open(rig *r, void *(*takes)(void *))
{
    mm_socket_opts opts = opts_of(MM_PUSH);
    opts.flags |= MM_OPT_AT_LEAST_ONCE;
    opts.send_queue_messages = MANY;
    r->here = open_engine();
    r->there = open_engine();
    r->push = open_with(r->here, MM_PUSH, &opts);
    r->pull = open_socket(r->there, MM_PULL);
    join(r->pull, r->push, TCP);
    CHECK_INT(pthread_create(&r->takes, NULL, takes, &r->pull), 0);
}

static void
rig_close(rig *r)
{
    CHECK_INT(mm_socket_close(r->pull), MM_OK);
    pthread_join(r->takes, NULL);
    close_engine(r->here, 0);
    close_engine(r->there, 0);
}

static uint64_t
send_confirmed(mm_handle push)
{
    uint64_t receipt;
    CHECK_INT(mm_push(push, (const uint8_t *)"x", &SIZE, 1, &CONFIRMED, PATIENCE_MS, 0, &receipt),
              MM_OK);
    return receipt;
}

static void
trip(mm_handle push)
{
    uint64_t receipt = send_confirmed(push);
    CHECK_INT(mm_receipt_wait(push, receipt, PATIENCE_MS, 0), MM_RECEIPT_ACKED);
    CHECK_INT(mm_receipt_forget(push, receipt), MM_OK);
}

static uint64_t
leads_of(mm_handle engine)
{
    void *object;
    mmi_engine *e;
    CHECK_INT(mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e), MM_OK);
    uint64_t leads = e->lead.leads;
    mmi_engine_leave(e);
    return leads;
}

static void
test_who_waits_alone_polls_for_itself(void)
{
    rig r;
    rig_open(&r, takes_run);
    for (uint32_t i = 0; i < TRIPS; i++) {
        trip(r.push);
    }
    CHECK(leads_of(r.here) > 0);
    rig_close(&r);
}

static void *
trips_run(void *arg)
{
    for (uint32_t i = 0; i < TRIPS / WAITERS; i++) {
        trip(*(mm_handle *)arg);
    }
    return NULL;
}

static void *
takes_open_run(void *arg)
{
    mm_handle pull = *(mm_handle *)arg;
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    int rc = 1;
    while (rc == 1 || rc == MM_EAGAIN) {
        rc = mm_recv(pull, batch, 1, 1 << 20, 0, 0);
        rc = rc == MM_EAGAIN ? mm_recv(pull, batch, 1, 1 << 20, -1, 0) : rc;
    }
    CHECK_INT(rc, MM_ECLOSED);
    mm_batch_free(batch);
    return NULL;
}

static void
test_of_several_that_wait_each_gets_its_receipt(void)
{
    rig r;
    pthread_t waiters[WAITERS];
    rig_open(&r, takes_open_run);
    for (uint32_t i = 0; i < TRIPS / WAITERS; i++) {
        trip(r.push);
    }
    for (int i = 0; i < WAITERS; i++) {
        CHECK_INT(pthread_create(&waiters[i], NULL, trips_run, &r.push), 0);
    }
    for (int i = 0; i < WAITERS; i++) {
        pthread_join(waiters[i], NULL);
    }
    rig_close(&r);
}

/* Many acknowledgements during one wait: whoever polls, all come. */
static void
test_receipts_of_many_come_though_the_thread_that_waits_polls(void)
{
    rig r;
    uint64_t first = 0;
    static uint8_t outcomes[MANY];
    rig_open(&r, takes_many_run);
    for (uint32_t i = 0; i < MANY; i++) {
        uint64_t receipt = send_confirmed(r.push);
        first = first != 0 ? first : receipt;
        CHECK_INT(receipt, first + i);
    }
    const mm_receipt_range range = { .first = first, .count = MANY };
    CHECK_INT(mm_receipts_wait(r.push, &range, 1, outcomes, PATIENCE_MS, 0), MM_OK);
    for (uint32_t i = 0; i < MANY; i++) {
        CHECK_INT(outcomes[i], MM_RECEIPT_ACKED);
    }
    CHECK_INT(mm_receipts_forget(r.push, &range, 1), MM_OK);
    trip(r.push);
    rig_close(&r);
}

static void *
closed_run(void *arg)
{
    mm_handle push = *(mm_handle *)arg;
    uint64_t receipt = send_confirmed(push);
    CHECK_INT(mm_receipt_wait(push, receipt, -1, 0), MM_ECLOSED);
    return NULL;
}

/* Nobody takes what it sends, so the receipt never comes. */
static void
test_a_socket_closes_under_who_waits_and_polls(void)
{
    rig r;
    pthread_t waits;
    rig_open(&r, takes_run);
    mm_socket_opts opts = opts_of(MM_PUSH);
    opts.flags |= MM_OPT_AT_LEAST_ONCE;
    mm_handle idle = open_socket(r.there, MM_PULL), push = open_with(r.here, MM_PUSH, &opts);
    join(idle, push, TCP);
    for (uint32_t i = 0; i < TRIPS / WAITERS; i++) {
        trip(r.push);
    }
    uint64_t leads = leads_of(r.here);
    CHECK(leads > 0);
    CHECK_INT(pthread_create(&waits, NULL, closed_run, &push), 0);
    AWAIT(leads_of(r.here) > leads);
    CHECK_INT(mm_socket_close(push), MM_OK);
    pthread_join(waits, NULL);
    rig_close(&r);
}

int
main(void)
{
    RUN(test_who_waits_alone_polls_for_itself);
    RUN(test_of_several_that_wait_each_gets_its_receipt);
    RUN(test_receipts_of_many_come_though_the_thread_that_waits_polls);
    RUN(test_a_socket_closes_under_who_waits_and_polls);
    return 0;
}
