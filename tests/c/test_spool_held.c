/*
 * test_spool_held.c: what is held while files go, at whatever moment: a lease that somebody was
 * given, or that was renewed, and a cursor that was sent back.  What was granted is there until it
 * is given up, at each level.
 *
 * Not here: what leases and cursors are (test_spool_cursors.c), what goes (test_spool_sweep.c).
 * Meant to run under TSan as well; MESHMSG_SPOOL_ROUNDS says how often each is tried.
 */
#include <stdatomic.h>

#include "cursor_steps.h"

enum {
    ROUNDS = 150,       /* grants of each kind and level */
    LOOKS = 20,         /* at what is held, before it is given up */
    SHORT_NS = 20000,   /* of a lease that ends about when files go */
    AHEAD = 40          /* messages that there are about */
};
static const uint64_t HELD_NS = UINT64_C(3600) * 1000000000;

static int
rounds(void)
{
    const char *asked = getenv("MESHMSG_SPOOL_ROUNDS");
    return asked != NULL ? atoi(asked) : ROUNDS;
}

/* Threads that work until the one that asks for what is held has done so often enough. */
typedef struct crowd {
    threads_rig r;
    mmi_spool_cursor *cursor;
    atomic_bool stop;
    uint32_t granted, refused, removed;
} crowd;

static void *
crowd_put(void *arg)
{
    crowd *w = arg;
    while (!atomic_load(&w->stop)) {
        put_some(&w->r, 1, false);
        while (!atomic_load(&w->stop) && last_of(&w->r) > first_of(&w->r) + AHEAD) {
            sched_yield();
        }
    }
    return NULL;
}

static void *
crowd_trim(void *arg)
{
    crowd *w = arg;
    while (!atomic_load(&w->stop)) {
        (void)mmi_spool_shared_trim(&w->r.spool, last_of(&w->r));
    }
    return NULL;
}

/* It was granted: nothing from there on goes. */
static void
crowd_look(crowd *w, uint64_t from)
{
    for (int i = 0; i < LOOKS; i++) {
        CHECK(first_of(&w->r) <= from);
        sched_yield();
    }
    w->granted++;
}

static uint64_t
crowd_between(crowd *w, uint32_t *seed)
{
    uint64_t first = first_of(&w->r), last = last_of(&w->r);
    return first + check_random(seed) % (last - first + 2);
}

/* Taken anew, and renewed at about the moment at which it ends. */
static void
crowd_lease(crowd *w, uint32_t *seed)
{
    uint64_t from = crowd_between(w, seed);
    bool renews = check_random(seed) % 2 == 0;
    int rc = MM_OK;
    if (renews) {
        uint64_t short_ns = check_random(seed) % SHORT_NS;
        rc = mmi_spool_shared_lease(&w->r.spool, "held", from, short_ns);
    }
    if (rc == MM_OK) {
        rc = mmi_spool_shared_lease(&w->r.spool, "held", from, HELD_NS);
    }
    CHECK(rc == MM_OK || rc == MM_ENOENT);
    w->refused += rc == MM_ENOENT;
    if (rc == MM_OK) {
        crowd_look(w, from);
        CHECK_INT(mmi_spool_shared_release(&w->r.spool, "held"), MM_OK);
    }
}

/* Done with all, so that files go, and sent back as they do. */
static void
crowd_seek(crowd *w, uint32_t *seed)
{
    pthread_mutex_lock(&w->r.spool.lock);
    uint64_t seen = mmi_spool_visible(&w->r.spool.spool);
    pthread_mutex_unlock(&w->r.spool.lock);
    if (seen > 0) {
        cursor_did(&w->r, w->cursor, 1, seen);
    }
    cursor_saved(&w->r, w->cursor);
    uint64_t from = crowd_between(w, seed);
    int rc = mmi_spool_shared_cursor_seek(&w->r.spool, w->cursor, from);
    CHECK(rc == MM_OK || rc == MM_ENOENT || rc == MM_EINVAL);
    w->refused += rc == MM_ENOENT;
    if (rc == MM_OK) {
        crowd_look(w, from);
    }
}

static void
crowd_run(mmi_spool_level level, void (*ask)(crowd *, uint32_t *), bool trims, uint32_t seed)
{
    static const char *const names[] = { "one" };
    crowd w = { .granted = 0 };
    pthread_t threads[2];
    int count = 0;
    threads_prepare(&w.r, level);
    if (!trims) {
        w.r.opts.acked_by = names;
        w.r.opts.acked_by_count = 1;
    }
    threads_open(&w.r);
    w.cursor = trims ? NULL : cursor_of(&w.r, names[0], MMI_SPOOL_EARLIEST);
    put_files(&w.r, 2);
    CHECK_INT(pthread_create(&threads[count++], NULL, crowd_put, &w), 0);
    if (trims) {
        CHECK_INT(pthread_create(&threads[count++], NULL, crowd_trim, &w), 0);
    }
    uint64_t before = first_of(&w.r);
    /* And until it was granted, and files went: the other thread may not have had its turn. */
    for (int i = 0; i < rounds() || w.granted == 0 || first_of(&w.r) == before; i++) {
        ask(&w, &seed);
    }
    atomic_store(&w.stop, true);
    while (count > 0) {
        pthread_join(threads[--count], NULL);
    }
    CHECK(w.granted > 0 && first_of(&w.r) > before);
    if (w.cursor != NULL) {
        cursor_closed(&w.r, w.cursor);
    }
    threads_free(&w.r);
}

static void
test_a_lease_that_was_given_holds_whoever_trims(void)
{
    for (int level = MMI_SPOOL_BUFFERED; level <= MMI_SPOOL_DISK; level++) {
        crowd_run((mmi_spool_level)level, crowd_lease, true, 7 + (uint32_t)level);
    }
}

static void
test_a_cursor_that_was_sent_back_holds_what_it_is_not_done_with(void)
{
    for (int level = MMI_SPOOL_BUFFERED; level <= MMI_SPOOL_DISK; level++) {
        crowd_run((mmi_spool_level)level, crowd_seek, false, 70 + (uint32_t)level);
    }
}

/* It is sent back before its files go, and done with them once more: nothing of that is new on the
 * disk, and they go all the same.  ahead: by a seek. */
static void
done_again(bool ahead)
{
    static const char *const names[] = { "one" };
    threads_rig r;
    threads_prepare(&r, MMI_SPOOL_DISK);
    r.opts.acked_by = names;
    r.opts.acked_by_count = 1;
    threads_open(&r);
    mmi_spool_cursor *c = cursor_of(&r, names[0], MMI_SPOOL_EARLIEST);
    put_files(&r, 2);
    uint64_t last = last_of(&r);
    threads_stop(&r.spool);
    CHECK_INT(mmi_cursor_done(&c->cursor, 1, last), MM_OK);
    CHECK_INT(mmi_spool_cursors_save(&r.spool, c), MM_OK);
    mmi_cursor_seek(&c->cursor, 1);
    pthread_cond_signal(&r.spool.work);
    threads_go_on(&r.spool);
    AWAIT(swept(&r.spool));
    CHECK_INT(first_of(&r), 1);
    if (ahead) {
        CHECK_INT(mmi_spool_shared_cursor_seek(&r.spool, c, last + 1), MM_OK);
    } else {
        cursor_did(&r, c, 1, last);
    }
    AWAIT(first_of(&r) > 1);
    cursor_closed(&r, c);
    threads_free(&r);
}

static void
test_what_is_done_once_more_goes_though_nothing_is_saved_for_it(void)
{
    done_again(false);
    done_again(true);
}

/* Another file is begun so that the last one can go; others have the lock meanwhile. */
static mmi_spool_shared *watched;
static mmi_files real;

static int
lease_as_it_rolls(void *self, int from_dir, const char *from, int to_dir, const char *to)
{
    mmi_spool_shared *h = watched;
    watched = NULL;
    if (h != NULL) {
        CHECK_INT(mmi_spool_shared_lease(h, "late", 1, HELD_NS), MM_OK);
    }
    return real.rename(self, from_dir, from, to_dir, to);
}

static void
test_a_lease_that_is_given_as_another_file_is_begun_holds(void)
{
    threads_rig r;
    threads_new(&r, MMI_SPOOL_DISK);
    put_some(&r, 4, true); /* half of a file */
    uint64_t last = last_of(&r);
    threads_stop(&r.spool);
    real = r.spool.files;
    watched = &r.spool;
    r.spool.files.rename = lease_as_it_rolls;
    threads_go_on(&r.spool);
    CHECK_INT(mmi_spool_shared_trim(&r.spool, last), 0);
    CHECK(watched == NULL);
    CHECK_INT(first_of(&r), 1);
    CHECK_INT(mmi_spool_shared_release(&r.spool, "late"), MM_OK);
    CHECK_INT(mmi_spool_shared_trim(&r.spool, last), 1);
    CHECK_INT(first_of(&r), last + 1);
    threads_free(&r);
}

/* How long it holds is counted from when it was given, and not from when it was asked for. */
static atomic_bool asks;

static void *
lease_later(void *arg)
{
    threads_rig *r = arg;
    atomic_store(&asks, true);
    CHECK_INT(mmi_spool_shared_lease(&r->spool, "one", 1, HELD_NS), MM_OK);
    return NULL;
}

static void
test_a_lease_that_had_to_wait_is_as_long_as_asked(void)
{
    threads_rig r;
    pthread_t thread;
    threads_new(&r, MMI_SPOOL_DISK);
    put_some(&r, 1, true);
    pthread_mutex_lock(&r.spool.lock);
    CHECK_INT(pthread_create(&thread, NULL, lease_later, &r), 0);
    AWAIT(atomic_load(&asks));
    uint64_t asked = clock_ns();
    AWAIT(clock_ns() > asked + SHORT_NS * UINT64_C(100));
    uint64_t given = clock_ns();
    pthread_mutex_unlock(&r.spool.lock);
    pthread_join(thread, NULL);
    pthread_mutex_lock(&r.spool.lock);
    CHECK(mmi_spool_keep_lease_end(&r.spool.keep) >= given + HELD_NS);
    pthread_mutex_unlock(&r.spool.lock);
    threads_free(&r);
}

int
main(void)
{
    RUN(test_what_is_done_once_more_goes_though_nothing_is_saved_for_it);
    RUN(test_a_lease_that_is_given_as_another_file_is_begun_holds);
    RUN(test_a_lease_that_had_to_wait_is_as_long_as_asked);
    RUN(test_a_lease_that_was_given_holds_whoever_trims);
    RUN(test_a_cursor_that_was_sent_back_holds_what_it_is_not_done_with);
    return 0;
}
