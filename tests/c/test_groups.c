/*
 * test_groups.c: a PUB whose messages are in a spool, and its groups: members that come and go
 * while threads put, look, move and forget; and each allocation failing.
 *
 * Not here: what Python sees of it (tests/unit/test_groups*.py), the role (test_group.c).  Meant to
 * run under TSan as well.
 */
#include <stdatomic.h>

#include "api/feed.h"
#include "meshmsg_binding.h"
#include "meshmsg_spool.h"
#include "spool_threads.h"

enum {
    MEMBERS = 3,
    ROUNDS = 12,
    EACH = 2000,         /* messages in all */
    FEW = 5,
    ALLOCATIONS = 150
};

typedef struct scene {
    char place[PLACE_SIZE];
    mm_spool *spool;
    mm_handle engine, pub;
    mm_replay *replay;
    char endpoint[MM_ENDPOINT_MAX + 1];
    atomic_bool over;
    atomic_uint taken;
} scene;

static void
scene_open(scene *s)
{
    char path[PLACE_SIZE + 16];
    mm_spool_report report;
    const mm_spool_opts opts = { .level = MM_SPOOL_OS,
                                 .file_bytes = MMI_SPOOL_FILE_MIN,
                                 .sync_every_ms = 10,
                                 .owner = "a test" };
    *s = (scene){ .over = false };
    place_open(s->place);
    snprintf(path, sizeof path, "%s/spool", s->place);
    CHECK_INT(mkdir(path, 0700), 0);
    CHECK_INT(mm_spool_open(path, &opts, &report, &s->spool), MM_OK);
    s->engine = open_engine();
    s->pub = open_socket(s->engine, MM_PUB);
    CHECK_INT(mm_replay_open(s->pub, s->spool, &s->replay), MM_OK);
    CHECK_INT(mm_bind(s->pub, TCP, s->endpoint, sizeof s->endpoint), MM_OK);
}

static void
scene_close(scene *s)
{
    mm_replay_close(s->replay);
    CHECK_INT(mm_socket_close(s->pub), MM_OK);
    close_engine(s->engine, 0);
    CHECK_INT(mm_spool_close(s->spool), MM_OK);
    threads_remove(s->place);
}

static void
put(const scene *s, uint32_t count)
{
    static const uint8_t octets[100];
    const mm_body body = { .data = octets, .size = sizeof octets };
    for (uint32_t i = 0; i < count; i++) {
        mm_spool_did did = { .done = 0 };
        CHECK_INT(mm_spool_append(s->spool, &body, 1, NULL, 0, 0, -1, 0, &did), MM_OK);
    }
}

/* MM_OK, MM_ENOMEM. */
static int
member_open(const scene *s, const char *group, mm_handle *out)
{
    mm_socket_opts opts = opts_of(MM_SUB);
    opts.flags |= MM_OPT_GROUP;
    opts.reconnect_min_ms = opts.reconnect_max_ms = 1;
    int rc = mm_socket_open(s->engine, MM_SUB, &opts, out);
    if (rc != MM_OK) {
        return rc;
    }
    rc = mm_sub_group(*out, group);
    rc = rc == MM_OK ? mm_subscribe(*out, "", 0) : rc;
    rc = rc == MM_OK ? mm_connect(*out, s->endpoint) : rc;
    if (rc != MM_OK) {
        (void)mm_socket_close(*out);
    }
    return rc;
}

static void *
put_run(void *arg)
{
    put(arg, EACH);
    return NULL;
}

/* A member comes, takes some, and goes, over and over. */
static void *
member_run(void *arg)
{
    scene *s = arg;
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    while (!atomic_load(&s->over)) {
        mm_handle sub;
        CHECK_INT(member_open(s, "busy", &sub), MM_OK);
        for (int i = 0; i < ROUNDS && !atomic_load(&s->over); i++) {
            int count = mm_recv(sub, batch, 20, 1 << 20, 20, 0);
            CHECK(count > 0 || count == MM_ETIMEDOUT);
            atomic_fetch_add(&s->taken, count > 0 ? (unsigned)count : 0);
        }
        CHECK_INT(mm_socket_close(sub), MM_OK);
    }
    mm_batch_free(batch);
    return NULL;
}

/* Looks at all groups, and moves one that is idle, or tries to. */
static void *
look_run(void *arg)
{
    scene *s = arg;
    while (!atomic_load(&s->over)) {
        mm_group_info infos[MM_GROUPS_MAX];
        uint32_t count;
        CHECK_INT(mm_replay_groups(s->replay, infos, MM_GROUPS_MAX, &count), MM_OK);
        CHECK(count <= 2);
        CHECK_INT(mm_group_seek(s->replay, "idle", 0), MM_OK);
        CHECK_INT(mm_group_forget(s->replay, "idle"), MM_OK);
        int rc = mm_group_seek(s->replay, "busy", 0); /* in between two members */
        CHECK(rc == MM_OK || rc == MM_ESTATE);
    }
    return NULL;
}

static uint64_t
left_of(const scene *s, const char *cursor)
{
    mm_spool_cursor_info info;
    CHECK_INT(mm_spool_cursor_look(s->spool, cursor, &info), MM_OK);
    return info.left;
}

static void
test_members_come_and_go_beside_each_other(void)
{
    scene s;
    scene_open(&s);
    pthread_t puts, looks, members[MEMBERS];
    CHECK_INT(mm_group_seek(s.replay, "busy", 0), MM_OK);
    CHECK_INT(pthread_create(&puts, NULL, put_run, &s), 0);
    CHECK_INT(pthread_create(&looks, NULL, look_run, &s), 0);
    for (int i = 0; i < MEMBERS; i++) {
        CHECK_INT(pthread_create(&members[i], NULL, member_run, &s), 0);
    }
    CHECK_INT(pthread_join(puts, NULL), 0);
    AWAIT(atomic_load(&s.taken) >= EACH);
    atomic_store(&s.over, true);
    CHECK_INT(pthread_join(looks, NULL), 0);
    for (int i = 0; i < MEMBERS; i++) {
        CHECK_INT(pthread_join(members[i], NULL), 0);
    }
    atomic_store(&s.over, false);
    CHECK_INT(pthread_create(&members[0], NULL, member_run, &s), 0);
    AWAIT(left_of(&s, "group.busy") == 0);
    atomic_store(&s.over, true);
    CHECK_INT(pthread_join(members[0], NULL), 0);
    scene_close(&s);
}

/* Until it is done: what fails for want of memory is tried again. */
static void
put_surely(const scene *s, uint32_t count)
{
    static const uint8_t octets[100];
    const mm_body body = { .data = octets, .size = sizeof octets };
    while (count > 0) {
        mm_spool_did did = { .done = 0 };
        int rc = mm_spool_append(s->spool, &body, 1, NULL, 0, 0, -1, 0, &did);
        CHECK(rc == MM_OK || rc == MM_ENOMEM);
        count -= (uint32_t)did.done;
    }
}

static bool
all_done(const scene *s)
{
    mm_spool_cursor_info info;
    int rc = mm_spool_cursor_look(s->spool, "group.few", &info);
    CHECK(rc == MM_OK || rc == MM_ENOMEM);
    return rc == MM_OK && info.left == 0;
}

/* A member comes and takes what there is, with the n-th allocation failing, whoever's that is. */
static void
round_without(scene *s, int64_t n)
{
    mm_handle sub = 0;
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    (void)mm_test_alloc_fail(n);
    int rc = member_open(s, "few", &sub);
    CHECK(rc == MM_OK || rc == MM_ENOMEM || rc == MM_EMFILE);
    if (rc != MM_OK) {
        (void)mm_test_alloc_fail(0);
        CHECK_INT(member_open(s, "few", &sub), MM_OK);
    }
    put_surely(s, FEW);
    while (!all_done(s)) {
        int count = mm_recv(sub, batch, 1, 1 << 20, 5, 0);
        CHECK(count > 0 || count == MM_ETIMEDOUT || count == MM_ENOMEM);
    }
    (void)mm_test_alloc_fail(0);
    CHECK_INT(mm_socket_close(sub), MM_OK);
    mm_batch_free(batch);
}

static void
test_each_allocation_may_fail(void)
{
    scene s;
    scene_open(&s);
    for (int64_t n = 1; n <= ALLOCATIONS; n++) {
        int rc;
        AWAIT((rc = mm_group_seek(s.replay, "few", UINT64_MAX)) != MM_ESTATE);
        CHECK_INT(rc, MM_OK);
        round_without(&s, n);
        if (n % 2 == 0) { /* its first member makes it anew, and all that it is made of */
            AWAIT((rc = mm_group_forget(s.replay, "few")) != MM_ESTATE); /* until that has left */
            CHECK_INT(rc, MM_OK);
        }
    }
    scene_close(&s);
}

int
main(void)
{
    test_members_come_and_go_beside_each_other();
    test_each_allocation_may_fail();
    return 0;
}
