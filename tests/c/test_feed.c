/*
 * test_feed.c: a PUSH whose messages are in a spool: its heap of what is sent later, and threads
 * that put, take, look and close at the same time; without memory, too.
 *
 * Not here: what Python sees of it (tests/unit/test_push_spool*.py).  Meant to run under TSan as
 * well.
 */
#include "api/feed.h"

#include "meshmsg_binding.h"
#include "meshmsg_spool.h"
#include "spool_threads.h"

enum {
    HEAP_STEPS = 20000,
    TIMES = 50,          /* that differ */
    PUTTERS = 2,
    EACH = 1500,         /* messages of a putter */
    LIVES = 3
};

static uint32_t
dice(uint64_t *state, uint32_t sides)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % sides;
}

/* The least of those that are there, by looking at all of them. */
static size_t
least(const feed_later *all, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        bool before = all[i].due_us < all[best].due_us ||
                      (all[i].due_us == all[best].due_us && all[i].seq < all[best].seq);
        best = before ? i : best;
    }
    return best;
}

static void
feed_put(mm_feed *f, uint64_t due_us, uint64_t seq)
{
    mmi_feed_add(f, (feed_later){ .due_us = due_us, .seq = seq, .spent = seq % 2 == 0 });
}

static bool
feed_get(mm_feed *f, uint64_t now_us, uint64_t *seq)
{
    feed_later one;
    bool due = mmi_feed_take(f, now_us, &one);
    if (due) {
        *seq = one.seq;
        CHECK(one.spent == (one.seq % 2 == 0));
    }
    return due;
}

static void
test_heap_gives_what_is_due_first(void)
{
    static mm_feed f;
    static feed_later model[HEAP_STEPS];
    size_t count = 0;
    uint64_t state = 7, seq;
    for (uint64_t step = 1; step <= HEAP_STEPS; step++) {
        uint64_t now = dice(&state, TIMES);
        if (dice(&state, 5) < 3) {
            const feed_later one = { dice(&state, TIMES), step, step % 2 == 0 };
            CHECK_INT(mmi_feed_reserve(&f, 1), MM_OK);
            mmi_feed_add(&f, one);
            model[count++] = one;
            continue;
        }
        size_t at = least(model, count);
        bool due = count > 0 && model[at].due_us <= now;
        CHECK(feed_get(&f, now, &seq) == due);
        if (due) {
            CHECK_INT(seq, model[at].seq);
            model[at] = model[--count];
        }
        CHECK_INT(f.again_count, count);
    }
    for (uint64_t last = 0, due = 0; feed_get(&f, UINT64_MAX, &seq); count--) {
        size_t at = least(model, count);
        CHECK_INT(seq, model[at].seq);
        CHECK(model[at].due_us >= due);
        due = model[at].due_us;
        model[at] = model[count - 1];
        last = seq;
        CHECK(last > 0);
    }
    CHECK_INT(count, 0);
    CHECK_INT(f.delayed, 0);
    mmi_free(f.again);
}

static void
test_heap_gives_up_what_was_removed(void)
{
    static mm_feed f;
    uint64_t seqs[64], seq, sum = 0;
    f = (mm_feed){ .refs = 1 };
    for (uint64_t i = 1; i <= 100; i++) {
        CHECK_INT(mmi_feed_reserve(&f, 1), MM_OK);
        feed_put(&f, i * 37 % 11, i);
    }
    CHECK_INT(mmi_feed_take_below(&f, 81, seqs, 64), 64);
    CHECK_INT(mmi_feed_take_below(&f, 81, seqs, 64), 16);
    CHECK_INT(mmi_feed_take_below(&f, 81, seqs, 64), 0);
    CHECK_INT(f.again_count, 20);
    for (uint64_t due = 0; feed_get(&f, UINT64_MAX, &seq); sum += seq) {
        CHECK(seq > 80);
        CHECK(seq * 37 % 11 >= due);
        due = seq * 37 % 11;
    }
    CHECK_INT(sum, (81 + 100) * 20 / 2);
    CHECK_INT(f.delayed, 0);
    mmi_free(f.again);
}

/* What is sent again at once stays in front; the others keep their order, also those that were to
 * go long ago. */
static void
test_heap_waits_as_long_when_the_clock_is_set(void)
{
    static mm_feed f;
    uint64_t seq;
    f = (mm_feed){ .refs = 1 };
    for (uint64_t i = 1; i <= 100; i++) {
        CHECK_INT(mmi_feed_reserve(&f, 1), MM_OK);
        feed_put(&f, i > 10 ? 1000 + i * 37 % 90 : 0, i);
    }
    CHECK_INT(f.delayed, 90);
    mmi_feed_move(&f, -1000 - 5);
    mmi_feed_move(&f, 5000);
    for (uint64_t i = 1; i <= 10; i++) {
        CHECK(feed_get(&f, 0, &seq));
        CHECK_INT(seq, i);
    }
    CHECK(!feed_get(&f, 5000, &seq));
    for (uint64_t due = 0; feed_get(&f, 5000 + 90, &seq);) {
        const uint64_t at = seq * 37 % 90;
        CHECK(at >= due || at <= 6); /* those that it was behind of are due at the same time */
        due = at;
    }
    CHECK_INT(f.again_count, 0);
    CHECK_INT(f.delayed, 0);
    mmi_free(f.again);
}

/* What the socket has finds its way back without memory. */
static void
test_heap_keeps_room_for_what_is_on_its_way(void)
{
    static mm_feed f;
    f = (mm_feed){ .in_flight = 100 };
    (void)mm_test_alloc_fail(1);
    CHECK_INT(mmi_feed_reserve(&f, 10), MM_ENOMEM);
    CHECK_INT(mmi_feed_reserve(&f, 10), MM_OK);
    CHECK(f.again_cap >= 110);
    (void)mm_test_alloc_fail(1);
    for (uint64_t i = 0; i < 110; i++) {
        feed_put(&f, 0, i);
    }
    CHECK_INT(mm_test_alloc_fail(0), 1);
    mmi_free(f.again);
}

typedef struct scene {
    mm_spool *spool;
    mm_handle push;
    mm_feed *feed;
    atomic_bool over;
} scene;

static void *
put_run(void *arg)
{
    scene *s = arg;
    static const uint8_t octets[100];
    const mm_body body = { .data = octets, .size = sizeof octets };
    for (int i = 0; i < EACH; i++) {
        mm_spool_did did = { .done = 0 };
        CHECK_INT(mm_spool_append(s->spool, &body, 1, NULL, 0, 0, -1, 0, &did), MM_OK);
    }
    return NULL;
}

/* Looks at all there is to see, and asks for receipts that nobody reads. */
static void *
look_run(void *arg)
{
    scene *s = arg;
    while (!atomic_load(&s->over)) {
        mm_feed_info info;
        mm_drain_info drain;
        mm_feed_inspect(s->feed, &info);
        if (info.left > 0 && mm_feed_receipts(s->feed, info.acked + 1, 1) == MM_OK) {
            CHECK_INT(mm_receipt_forget(s->push, info.acked + 1), MM_OK);
        }
        (void)mm_drain(s->push, 0, 0, &drain);
    }
    return NULL;
}

/* Takes messages, and acknowledges each by asking for the next. */
static uint64_t
take_some(mm_handle pull, uint64_t most)
{
    mm_batch *batch;
    uint64_t taken = 0;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    while (taken < most) {
        int count = mm_recv(pull, batch, 100, 1 << 20, 200, 0);
        if (count == MM_ETIMEDOUT) {
            break;
        }
        CHECK(count > 0);
        taken += (uint64_t)count;
    }
    mm_batch_free(batch);
    return taken;
}

/* One life: two put, one looks, and messages are taken; then the feed is closed at some moment. */
static uint64_t
live(mm_spool *spool, mm_handle engine, uint64_t most)
{
    mm_socket_opts opts = opts_of(MM_PUSH);
    opts.flags |= MM_OPT_AT_LEAST_ONCE;
    scene s = { .spool = spool, .push = open_with(engine, MM_PUSH, &opts) };
    mm_handle pull = open_socket(engine, MM_PULL);
    pthread_t putters[PUTTERS], looks;
    CHECK_INT(mm_feed_open(s.push, spool, "push", &s.feed), MM_OK);
    join(s.push, pull, TCP);
    for (int i = 0; i < PUTTERS; i++) {
        CHECK_INT(pthread_create(&putters[i], NULL, put_run, &s), 0);
    }
    CHECK_INT(pthread_create(&looks, NULL, look_run, &s), 0);
    uint64_t taken = take_some(pull, most);
    atomic_store(&s.over, true);
    CHECK_INT(pthread_join(looks, NULL), 0);
    mm_feed_info info = { .left = 1 };
    bool last = most == UINT64_MAX;
    for (int i = 0; last && i < PUTTERS; i++) {
        CHECK_INT(pthread_join(putters[i], NULL), 0);
    }
    while (last && info.left > 0) {
        taken += take_some(pull, most);
        mm_feed_inspect(s.feed, &info);
        CHECK_INT(info.failed, MM_OK);
    }
    mm_feed_close(s.feed); /* while the putters go on, and messages are on their way */
    CHECK_INT(mm_socket_close(s.push), MM_OK);
    CHECK_INT(mm_socket_close(pull), MM_OK);
    for (int i = 0; !last && i < PUTTERS; i++) {
        CHECK_INT(pthread_join(putters[i], NULL), 0);
    }
    return taken;
}

static void
test_lives_beside_each_other_lose_nothing(void)
{
    char place[PLACE_SIZE], path[PLACE_SIZE + 16];
    place_open(place);
    snprintf(path, sizeof path, "%s/spool", place);
    CHECK_INT(mkdir(path, 0700), 0);
    mm_spool_report report;
    const mm_spool_opts opts = { .level = MM_SPOOL_OS,
                                 .file_bytes = MMI_SPOOL_FILE_MIN,
                                 .sync_every_ms = 10,
                                 .owner = "a test" };
    mm_spool *spool;
    CHECK_INT(mm_spool_open(path, &opts, &report, &spool), MM_OK);
    mm_handle engine = open_engine();
    uint64_t taken = 0;
    for (int i = 0; i < LIVES; i++) {
        taken += live(spool, engine, 500);
    }
    taken += live(spool, engine, UINT64_MAX);
    CHECK(taken >= (uint64_t)(LIVES + 1) * PUTTERS * EACH);
    close_engine(engine, 0);
    CHECK_INT(mm_spool_close(spool), MM_OK);
    threads_remove(place);
}

int
main(void)
{
    test_heap_gives_what_is_due_first();
    test_heap_gives_up_what_was_removed();
    test_heap_waits_as_long_when_the_clock_is_set();
    test_heap_keeps_room_for_what_is_on_its_way();
    test_lives_beside_each_other_lose_nothing();
    return 0;
}
