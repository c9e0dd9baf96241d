/*
 * test_handle.c: the process-wide table of handles: generations, kinds, forks, and its end.
 * Not here: what a handle stands for; the objects are the test's own.
 * Law: a handle that is not one is told so, and is never followed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "check.h"
#include "engine/engine.h"

enum { SLOTS = MMI_ENGINES_MAX + 2 * MMI_SOCKETS_MAX, INDEX_BITS = 28 };

static mmi_engine one, two;
static int objects[8];

static void
engines_init(void)
{
    pthread_mutex_init(&one.lock, NULL);
    pthread_mutex_init(&two.lock, NULL);
}

/* What looking a handle up says; what is locked is unlocked again. */
static int
look(mm_handle h, mmi_handle_kind kind, void **object)
{
    mmi_engine *e = NULL;
    int rc = mmi_handle_lock(h, kind, object, &e);
    if (rc == MM_OK) {
        CHECK(pthread_mutex_trylock(&e->lock) != 0);
        pthread_mutex_unlock(&e->lock);
    }
    CHECK((rc == MM_OK) == (e != NULL));
    CHECK(pthread_mutex_trylock(&one.lock) == 0 && pthread_mutex_trylock(&two.lock) == 0);
    pthread_mutex_unlock(&one.lock);
    pthread_mutex_unlock(&two.lock);
    return rc;
}

static void
test_a_handle_leads_to_its_object_until_it_is_freed(void)
{
    void *found = NULL;
    int before = mmi_handle_count();
    mm_handle a = mmi_handle_new(MMI_HANDLE_SOCKET, &one, &objects[0]);
    mm_handle b = mmi_handle_new(MMI_HANDLE_WAKER, &two, &objects[1]);
    CHECK(a != 0 && b != 0 && a != b);
    CHECK_INT(mmi_handle_count(), before + 2);
    CHECK_INT(look(a, MMI_HANDLE_SOCKET, &found), MM_OK);
    CHECK(found == &objects[0]);
    CHECK_INT(look(b, MMI_HANDLE_WAKER, &found), MM_OK);
    CHECK(found == &objects[1]);
    mmi_handle_free(a);
    CHECK_INT(look(a, MMI_HANDLE_SOCKET, &found), MM_ECLOSED);
    CHECK_INT(look(b, MMI_HANDLE_WAKER, &found), MM_OK);
    mmi_handle_free(b);
    CHECK_INT(look(b, MMI_HANDLE_WAKER, &found), MM_ECLOSED);
    CHECK_INT(mmi_handle_count(), before);
}

static void
test_a_stale_handle_never_leads_to_who_has_the_slot_now(void)
{
    void *found = NULL;
    mm_handle seen[50];
    for (int i = 0; i < 50; i++) {
        mmi_engine *e = i % 2 == 0 ? &one : &two;
        seen[i] = mmi_handle_new(MMI_HANDLE_SOCKET, e, &objects[i % 8]);
        CHECK_INT(seen[i] & 0xfffffff, seen[0] & 0xfffffff);   /* the same slot each time */
        for (int k = 0; k < i; k++) {
            CHECK(seen[k] != seen[i]);
            CHECK_INT(look(seen[k], MMI_HANDLE_SOCKET, &found), MM_ECLOSED);
            CHECK(mmi_handle_object(seen[k], MMI_HANDLE_SOCKET, e) == NULL);
        }
        CHECK_INT(look(seen[i], MMI_HANDLE_SOCKET, &found), MM_OK);
        CHECK(found == &objects[i % 8]);
        mmi_handle_free(seen[i]);
    }
}

static void
test_a_handle_is_of_one_kind(void)
{
    void *found = NULL;
    mm_handle h = mmi_handle_new(MMI_HANDLE_SOCKET, &one, &objects[0]);
    CHECK_INT(look(h, MMI_HANDLE_ENGINE, &found), MM_EINVAL);
    CHECK_INT(look(h, MMI_HANDLE_WAKER, &found), MM_EINVAL);
    CHECK(mmi_handle_object(h, MMI_HANDLE_WAKER, &one) == NULL);
    CHECK(mmi_handle_object(h, MMI_HANDLE_SOCKET, &two) == NULL);
    CHECK(mmi_handle_object(h, MMI_HANDLE_SOCKET, &one) == &objects[0]);
    mmi_handle_free(h);
    CHECK(mmi_handle_object(h, MMI_HANDLE_SOCKET, &one) == NULL);
}

static void
test_a_number_that_was_never_a_handle_is_refused(void)
{
    void *found = NULL;
    mm_handle h = mmi_handle_new(MMI_HANDLE_SOCKET, &one, &objects[0]);
    CHECK_INT(look(0, MMI_HANDLE_SOCKET, &found), MM_ECLOSED);
    CHECK_INT(look(UINT64_MAX, MMI_HANDLE_SOCKET, &found), MM_EINVAL);
    mm_handle kind = (mm_handle)MMI_HANDLE_SOCKET << INDEX_BITS;
    CHECK_INT(look(kind | SLOTS, MMI_HANDLE_SOCKET, &found), MM_EINVAL);
    CHECK_INT(look(kind | (SLOTS - 1), MMI_HANDLE_SOCKET, &found), MM_EINVAL);   /* never used */
    CHECK_INT(look((1ull << 32) + h, MMI_HANDLE_SOCKET, &found), MM_ECLOSED);
    CHECK(mmi_handle_object(kind | SLOTS, MMI_HANDLE_SOCKET, &one) == NULL);
    mmi_handle_free(h);
    /* The generation of a free slot was never that of a handle. */
    CHECK_INT(look((1ull << 32) + h, MMI_HANDLE_SOCKET, &found), MM_ECLOSED);
    CHECK(mmi_handle_object((1ull << 32) + h, MMI_HANDLE_SOCKET, &one) == NULL);
    uint32_t seed = 7;
    for (int i = 0; i < 100000; i++) {
        mm_handle any = (mm_handle)check_random(&seed) << 32 | check_random(&seed);
        int rc = look(any, (mmi_handle_kind)(1 + i % 3), &found);
        CHECK(rc == MM_EINVAL || rc == MM_ECLOSED);
    }
}

static void
test_the_table_ends_and_a_freed_slot_is_used_again(void)
{
    int room = 0, before = mmi_handle_count();
    mm_handle *all = calloc(SLOTS, sizeof *all);
    void *found = NULL;
    CHECK(all != NULL);
    for (room = 0; room < SLOTS; room++) {
        all[room] = mmi_handle_new(MMI_HANDLE_SOCKET, &one, &objects[0]);
        if (all[room] == 0) {
            break;
        }
    }
    CHECK_INT(room, SLOTS - before);
    CHECK(mmi_handle_new(MMI_HANDLE_SOCKET, &one, &objects[0]) == 0);
    CHECK_INT(mmi_handle_count(), SLOTS);
    mmi_handle_free(all[1000]);
    mm_handle again = mmi_handle_new(MMI_HANDLE_SOCKET, &two, &objects[1]);
    CHECK(again != 0 && again != all[1000]);
    CHECK_INT(look(all[1000], MMI_HANDLE_SOCKET, &found), MM_ECLOSED);
    all[1000] = again;
    CHECK(mmi_handle_new(MMI_HANDLE_SOCKET, &one, &objects[0]) == 0);
    for (int i = 0; i < room; i++) {
        mmi_handle_free(all[i]);
    }
    CHECK_INT(mmi_handle_count(), before);
    free(all);
}

static atomic_int threads_left;

static void *
open_and_close(void *arg)
{
    mmi_engine *e = arg;
    for (int i = 0; i < 5000; i++) {
        void *found = NULL;
        mmi_engine *locked;
        mm_handle h = mmi_handle_new(MMI_HANDLE_SOCKET, e, arg);
        CHECK(h != 0);
        CHECK_INT(mmi_handle_lock(h, MMI_HANDLE_SOCKET, &found, &locked), MM_OK);
        CHECK(found == arg && locked == e);
        mmi_handle_free(h);
        pthread_mutex_unlock(&locked->lock);
        CHECK_INT(mmi_handle_lock(h, MMI_HANDLE_SOCKET, &found, &locked), MM_ECLOSED);
    }
    atomic_fetch_sub(&threads_left, 1);
    return NULL;
}

static void
test_threads_open_and_close_without_meeting(void)
{
    pthread_t threads[4];
    int before = mmi_handle_count();
    atomic_store(&threads_left, 4);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(pthread_create(&threads[i], NULL, open_and_close, i % 2 == 0 ? &one : &two), 0);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_INT(pthread_join(threads[i], NULL), 0);
    }
    CHECK_INT(threads_left, 0);
    CHECK_INT(mmi_handle_count(), before);
}

/* In the child; 0 when all is right. */
static int
child_looks(mm_handle inherited, mm_handle closed)
{
    void *found = NULL;
    mmi_engine *e;
    bool right = mmi_handle_lock(inherited, MMI_HANDLE_SOCKET, &found, &e) == MM_EFORKED &&
                 mmi_handle_lock(closed, MMI_HANDLE_SOCKET, &found, &e) == MM_EFORKED &&
                 mmi_handle_object(inherited, MMI_HANDLE_SOCKET, &one) == NULL &&
                 mmi_handle_count() == 0;
    mm_handle own = mmi_handle_new(MMI_HANDLE_SOCKET, &two, &objects[3]);
    right = right && own != 0 && mmi_handle_count() == 1 &&
            mmi_handle_lock(own, MMI_HANDLE_SOCKET, &found, &e) == MM_OK && e == &two;
    mm_handle more = mmi_handle_new(MMI_HANDLE_SOCKET, &two, &objects[4]);
    right = right && (more & 0xfffffff) != (inherited & 0xfffffff) &&
            mmi_handle_lock(inherited, MMI_HANDLE_SOCKET, &found, &e) == MM_EFORKED;
    return right ? 0 : 1;
}

static void
test_a_child_is_told_which_handles_its_parent_opened(void)
{
    void *found = NULL;
    uint32_t epoch = mmi_fork_epoch();
    mm_handle h = mmi_handle_new(MMI_HANDLE_SOCKET, &one, &objects[2]);
    mm_handle closed = mmi_handle_new(MMI_HANDLE_SOCKET, &one, &objects[3]);
    mmi_handle_free(closed);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        _exit(mmi_fork_epoch() == epoch + 1 ? child_looks(h, closed) : 2);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK_INT(look(h, MMI_HANDLE_SOCKET, &found), MM_OK);
    CHECK(found == &objects[2]);
    CHECK_INT(mmi_fork_epoch(), epoch);
    mmi_handle_free(h);
}

int
main(void)
{
    engines_init();
    RUN(test_a_handle_leads_to_its_object_until_it_is_freed);
    RUN(test_a_stale_handle_never_leads_to_who_has_the_slot_now);
    RUN(test_a_handle_is_of_one_kind);
    RUN(test_a_number_that_was_never_a_handle_is_refused);
    RUN(test_threads_open_and_close_without_meeting);
    RUN(test_a_child_is_told_which_handles_its_parent_opened);
    RUN(test_the_table_ends_and_a_freed_slot_is_used_again);
    return 0;
}
