/*
 * test_send_run.c: a run of messages with what goes with them, and their receipts, as the binding
 * calls it.
 * Not here: the table of receipts (test_receipts.c), threads and loops (tests/unit).
 */
#include <pthread.h>

#include "sockets.h"

enum { MANY = 300, QUEUE = 40, SHORT_MS = 20 };

static const uint8_t NOTE[] = { 3, 0, 1, 'k' };
static mm_body run[MANY];

static mm_handle
open_push(mm_handle engine, uint32_t flags, char *where)
{
    mm_socket_opts opts;
    mm_handle push;
    CHECK_INT(mm_socket_defaults(MM_PUSH, &opts), MM_OK);
    opts.flags |= flags;
    opts.send_queue_messages = QUEUE;
    CHECK_INT(mm_socket_open(engine, MM_PUSH, &opts, &push), MM_OK);
    CHECK_INT(mm_bind(push, TCP, where, MM_ENDPOINT_MAX), MM_OK);
    return push;
}

static mm_handle
open_pull(mm_handle engine, const char *where)
{
    mm_socket_opts opts;
    mm_handle pull;
    CHECK_INT(mm_socket_defaults(MM_PULL, &opts), MM_OK);
    CHECK_INT(mm_socket_open(engine, MM_PULL, &opts, &pull), MM_OK);
    CHECK_INT(mm_connect(pull, where), MM_OK);
    return pull;
}

static void
test_what_no_note_can_be_is_refused(void)
{
    static uint8_t large[MM_META_SIZE_MAX + 1];
    const uint8_t malformed[] = { 1, 0, 2, 0, 0 };
    mm_note *note;
    CHECK_INT(mm_note_new(large, sizeof large, &note), MM_EMSGSIZE);
    CHECK(note == NULL);
    CHECK_INT(mm_note_new(malformed, sizeof malformed, &note), MM_EINVAL);
    CHECK_INT(mm_note_new(NOTE, 0, &note), MM_EINVAL);
    mm_test_alloc_fail(1);
    CHECK_INT(mm_note_new(NOTE, sizeof NOTE, &note), MM_ENOMEM);
    CHECK(note == NULL);
    mm_note_free(note);
}

static void
test_a_run_that_finds_no_room_says_how_much_went(void)
{
    char where[MM_ENDPOINT_MAX];
    mm_handle engine = open_engine(), push = open_push(engine, MM_OPT_AT_LEAST_ONCE, where);
    static uint8_t outcomes[MANY];
    mm_receipt_range of;
    size_t sent;
    mm_note *note;
    CHECK_INT(mm_note_new(NOTE, sizeof NOTE, &note), MM_OK);
    CHECK_INT(mm_receipts_reserve(push, MANY, &of.first), MM_OK);
    CHECK_INT(mm_send_run(push, run, MANY, note, of.first, SHORT_MS, 0, &sent), MM_ETIMEDOUT);
    CHECK_INT(sent, QUEUE);
    CHECK_INT(mm_send_run(push, run, MANY, note, of.first + sent, 0, 0, &sent), MM_EAGAIN);
    CHECK_INT(sent, 0);
    of.count = QUEUE;
    CHECK_INT(mm_receipts_wait(push, &of, 1, outcomes, 0, 0), MM_EAGAIN);
    CHECK_INT(mm_receipts_wait(push, &of, 1, outcomes, SHORT_MS, 0), MM_ETIMEDOUT);
    of.count++;   /* the one that was not sent has none */
    CHECK_INT(mm_receipts_look(push, &of, 1, outcomes), MM_EINVAL);
    CHECK_INT(mm_send_run(push, run, 1, NULL, of.first, 0, 0, &sent), MM_EINVAL); /* it is known */
    CHECK_INT(mm_send_run(push, run, 1, NULL, of.first + MANY, 0, 0, &sent), MM_EINVAL);
    mm_note_free(note);
    mm_socket_close(push);
    CHECK_INT(mm_receipts_wait(push, &of, 1, outcomes, 0, 0), MM_ECLOSED);
    CHECK_INT(mm_receipts_forget(push, &of, 1), MM_ECLOSED);
    close_engine(engine, 0);
}

static void
test_who_is_not_acknowledged_has_no_numbers(void)
{
    char where[MM_ENDPOINT_MAX];
    mm_handle engine = open_engine(), push = open_push(engine, 0, where);
    mm_handle pull = open_pull(engine, where);
    uint8_t outcome = MM_RECEIPT_OPEN;
    mm_receipt_range one = { .first = 1, .count = 1 };
    size_t sent;
    CHECK_INT(mm_receipts_reserve(push, 1, &one.first), MM_ENOTSUP);
    CHECK_INT(mm_receipts_reserve(pull, 1, &one.first), MM_ENOTSUP);
    CHECK_INT(mm_send_run(push, run, 1, NULL, 1, 0, 0, &sent), MM_ENOTSUP);
    CHECK_INT(mm_send_run(pull, run, 1, NULL, 1, 0, 0, &sent), MM_ENOTSUP);
    CHECK_INT(mm_receipts_look(push, &one, 1, &outcome), MM_EINVAL);
    CHECK_INT(mm_receipts_look(pull, &one, 1, &outcome), MM_EINVAL);
    CHECK_INT(mm_receipts_wait(pull, &one, 1, &outcome, 0, 0), MM_EINVAL);
    CHECK_INT(mm_receipts_forget(pull, &one, 1), MM_OK);
    close_engine(engine, 0);
}

/* Receives all of them, and asks for one more. */
static void *
take_noted(void *arg)
{
    mm_handle pull = *(mm_handle *)arg;
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    for (uint32_t got = 0; got < MANY; got += batch->message_count) {
        CHECK(mm_recv(pull, batch, MANY, UINT32_MAX, PATIENCE_MS, 0) > 0);
        for (uint32_t i = 0; i < batch->message_count; i++) {
            const uint8_t *data;
            uint32_t size;
            CHECK_INT(mm_batch_meta(batch, i, &data, &size), 1);
            CHECK(size == sizeof NOTE && memcmp(data, NOTE, size) == 0);
        }
    }
    CHECK_INT(mm_recv(pull, batch, 1, UINT32_MAX, 0, 0), MM_EAGAIN);
    mm_batch_free(batch);
    return NULL;
}

static void
test_a_wait_for_several_ranges_ends_with_the_last(void)
{
    char where[MM_ENDPOINT_MAX];
    mm_handle engine = open_engine(), other = open_engine();
    mm_handle push = open_push(engine, MM_OPT_AT_LEAST_ONCE, where), pull = open_pull(other, where);
    static uint8_t outcomes[MANY];
    mm_receipt_range parts[3];
    mm_note *note;
    pthread_t taker;
    size_t sent, at = 0;
    CHECK_INT(mm_note_new(NOTE, sizeof NOTE, &note), MM_OK);
    CHECK(pthread_create(&taker, NULL, take_noted, &pull) == 0);
    for (size_t i = 0; i < 3; i++, at += MANY / 3) {
        uint64_t between;
        parts[i].count = MANY / 3;
        CHECK_INT(mm_receipts_reserve(push, MANY / 3, &parts[i].first), MM_OK);
        CHECK_INT(mm_receipts_reserve(push, 1 + i, &between), MM_OK); /* another thread's */
        int rc = mm_send_run(push, run + at, MANY / 3, note, parts[i].first, PATIENCE_MS, 0, &sent);
        CHECK_INT(rc, MM_OK);
        CHECK_INT(sent, MANY / 3);
    }
    CHECK_INT(mm_receipts_wait(push, parts, 3, outcomes, PATIENCE_MS, 0), MM_OK);
    for (size_t i = 0; i < MANY; i++) {
        CHECK_INT(outcomes[i], MM_RECEIPT_ACKED);
    }
    CHECK_INT(mm_receipts_wait(push, parts, 3, outcomes, 0, 0), MM_OK); /* as often as it likes */
    pthread_join(taker, NULL);
    mm_note_free(note);
    close_engine(other, 0);
    close_engine(engine, 0);
}

/* As a user's Arrow array is laid out, of three elements. */
static void
test_an_arrays_elements_have_a_receipt_each(void)
{
    char where[MM_ENDPOINT_MAX];
    mm_handle engine = open_engine(), push = open_push(engine, MM_OPT_AT_LEAST_ONCE, where);
    mm_batch *batch;
    const uint8_t bodies[] = { 'a', 'b', 'c' };
    const uint64_t sizes[] = { 1, 1, 1 }, peers[] = { 0, 0, 0 };
    uint8_t outcomes[3] = { MM_RECEIPT_OPEN, MM_RECEIPT_OPEN, MM_RECEIPT_OPEN };
    mm_receipt_range of = { .count = 3 };
    uint64_t done = 0;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    CHECK_INT(mm_batch_set(batch, bodies, sizes, peers, 3), MM_OK);
    void *schema = mm_arrow_schema(), *array = mm_arrow_array(batch, 0, 3);
    CHECK(schema != NULL && array != NULL);
    CHECK_INT(mm_receipts_reserve(push, 3, &of.first), MM_OK);
    CHECK_INT(mm_send_arrow_run(push, schema, array, NULL, of.first, &done, 0, 0), MM_OK);
    CHECK_INT(done, 3);
    CHECK_INT(mm_receipts_wait(push, &of, 1, outcomes, 0, 0), MM_EAGAIN);
    CHECK_INT(mm_receipts_forget(push, &of, 1), MM_OK);
    CHECK_INT(mm_receipts_look(push, &of, 1, outcomes), MM_EINVAL);
    mm_arrow_drop(schema, array);
    mm_batch_free(batch);
    close_engine(engine, 0);
}

int
main(void)
{
    for (size_t i = 0; i < MANY; i++) {
        run[i] = (mm_body){ .data = NOTE, .size = i % sizeof NOTE };
    }
    RUN(test_what_no_note_can_be_is_refused);
    RUN(test_a_run_that_finds_no_room_says_how_much_went);
    RUN(test_who_is_not_acknowledged_has_no_numbers);
    RUN(test_a_wait_for_several_ranges_ends_with_the_last);
    RUN(test_an_arrays_elements_have_a_receipt_each);
    return 0;
}
