/*
 * test_replay_turns.c: turns of the thread of a PUB over a spool, made one by one: who is behind
 * comes to where the live ones are, also while more is put all the time; who has no room is left
 * alone; and who is behind as it ends gets what its queue takes.
 *
 * Not here: what Python sees of it (tests/unit/test_replay*.py).  Meant to run under TSan as well.
 */
#include "api/replay.h"
#include "meshmsg_binding.h"
#include "meshmsg_spool.h"
#include "spool_threads.h"

enum {
    OLD = 300,               /* messages that were put before: a batch each */
    QUEUE = 10 * OLD,        /* messages that a connection's queue takes */
    SMALL = 100,             /* octets of a message */
    LARGE = 200000,
    MANY = MM_REPLAY_READERS_MAX + 4,
    LARGE_OLD = 150,         /* more than the system keeps for a connection */
    SEAM = 40
};

typedef struct scene {
    char place[PLACE_SIZE];
    mm_spool *spool;
    mm_handle engine, pub;
    mm_replay *replay;
    char endpoint[MM_ENDPOINT_MAX + 1];
    uint64_t last;           /* that was put */
} scene;

/* Each is a batch of its own, as it is there before the next comes, and begins with its number. */
static void
put(scene *s, uint32_t count, uint64_t size)
{
    static uint8_t octets[LARGE];
    const mm_body body = { .data = octets, .size = size };
    for (uint32_t i = 0; i < count; i++) {
        mm_spool_did did = { .done = 0 };
        s->last++;
        memcpy(octets, &s->last, sizeof s->last);
        CHECK_INT(mm_spool_append(s->spool, &body, 1, NULL, 0, 1, -1, 0, &did), MM_OK);
    }
}

/* So many were put before; and the live ones have none yet. */
static void
scene_open(scene *s, const mm_socket_opts *pub, uint32_t old, uint64_t size)
{
    char path[PLACE_SIZE + 16];
    mm_spool_report report;
    const mm_spool_opts opts = {
        .level = MM_SPOOL_OS, .file_bytes = 1 << 24, .sync_every_ms = 10, .owner = "a test"
    };
    *s = (scene){ .last = 0 };
    place_open(s->place);
    snprintf(path, sizeof path, "%s/spool", s->place);
    CHECK_INT(mkdir(path, 0700), 0);
    CHECK_INT(mm_spool_open(path, &opts, &report, &s->spool), MM_OK);
    put(s, old, size);
    s->engine = open_engine();
    s->pub = open_with(s->engine, MM_PUB, pub);
    CHECK_INT(mmi_replay_make(s->pub, s->spool, &s->replay), MM_OK);
    CHECK_INT(mm_bind(s->pub, TCP, s->endpoint, sizeof s->endpoint), MM_OK);
}

/* Its thread ends it; what it finds is as `stop` says. */
static void
scene_end(scene *s)
{
    CHECK_INT(mmi_thread_start(mmi_replay_run, s->replay, &s->replay->thread), MM_OK);
    mm_replay_close(s->replay);
}

static void
scene_close(scene *s)
{
    close_engine(s->engine, 0);
    CHECK_INT(mm_spool_close(s->spool), MM_OK);
    threads_remove(s->place);
}

static uint32_t
waiting(const scene *s)
{
    mmi_socket *socket;
    uint32_t count = 0;
    CHECK_INT(mmi_api_enter(s->pub, &socket), MM_OK);
    MMI_LIST_EACH (&socket->host.replays->behind, node, after) {
        count += MMI_CONTAINER_OF(node, mmi_replay_node, node)->begun;
    }
    CHECK_INT(mmi_api_leave(socket, MM_OK), MM_OK);
    return count;
}

static uint64_t
behind(const scene *s)
{
    mm_replay_info info;
    mm_replay_inspect(s->replay, &info);
    return info.behind;
}

/* One that wants all there is. */
static mm_handle
sub_open(const scene *s, uint32_t queue)
{
    mm_socket_opts opts = opts_of(MM_SUB);
    opts.flags |= MM_OPT_REPLAY;
    opts.recv_queue_messages = queue;
    mm_handle sub = open_with(s->engine, MM_SUB, &opts);
    CHECK_INT(mm_sub_replay(sub, MM_REPLAY_EARLIEST, 0), MM_OK);
    CHECK_INT(mm_subscribe(sub, "", 0), MM_OK);
    CHECK_INT(mm_connect(sub, s->endpoint), MM_OK);
    return sub;
}

/* All of them come, each once and in order. */
static void
takes(mm_handle sub, uint64_t last)
{
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    for (uint64_t next = 1; next <= last;) {
        int count = mm_recv(sub, batch, 1, 1 << 20, PATIENCE_MS, 0);
        CHECK_INT(count, 1);
        size_t size;
        const void *data = mm_batch_frame(batch, 0, 0, &size);
        CHECK(memcmp(data, &next, sizeof next) == 0);
        next++;
    }
    mm_batch_free(batch);
}

static void
test_who_is_behind_is_live_in_the_end_though_more_is_put_all_the_time(void)
{
    scene s;
    bool retry;
    mm_socket_opts pub = opts_of(MM_PUB);
    pub.send_queue_messages = QUEUE;
    scene_open(&s, &pub, OLD, SMALL);
    mm_handle sub = sub_open(&s, QUEUE);
    AWAIT(waiting(&s) == 1);
    uint32_t turns = 0;
    do {
        put(&s, 1, SMALL);
        CHECK_INT(mmi_replay_turn(s.replay, &retry), 1);
        turns++;
    } while (behind(&s) > 0 && turns < 2 * OLD);
    CHECK(turns < OLD + SEAM);
    takes(sub, s.last);
    CHECK_INT(mm_socket_close(sub), MM_OK);
    scene_end(&s);
    CHECK_INT(mm_socket_close(s.pub), MM_OK);
    scene_close(&s);
}

static void
test_who_has_no_room_makes_no_turns(void)
{
    scene s;
    bool retry;
    mm_handle subs[MANY];
    mm_socket_opts pub = opts_of(MM_PUB);
    pub.send_queue_messages = 1;
    scene_open(&s, &pub, LARGE_OLD, LARGE);
    for (int i = 0; i < MANY; i++) {
        subs[i] = sub_open(&s, 1);
    }
    AWAIT(waiting(&s) == MANY);
    AWAIT(mmi_replay_turn(s.replay, &retry) == 0 && mmi_replay_turn(s.replay, &retry) == 0);
    CHECK_INT(behind(&s), MANY);
    CHECK_INT(mmi_thread_start(mmi_replay_run, s.replay, &s.replay->thread), MM_OK);
    for (int i = 0; i < MANY; i++) { /* and each has it all, once it has room */
        takes(subs[i], s.last);
        CHECK_INT(mm_socket_close(subs[i]), MM_OK);
    }
    mm_replay_close(s.replay);
    CHECK_INT(mm_socket_close(s.pub), MM_OK);
    scene_close(&s);
}

/* So much of what was put has one that is behind as it ends. */
static void
ends(uint32_t linger_ms, uint32_t queue, uint64_t last)
{
    scene s;
    mm_socket_opts pub = opts_of(MM_PUB);
    pub.send_queue_messages = queue;
    pub.linger_ms = linger_ms;
    scene_open(&s, &pub, OLD, SMALL);
    mm_handle sub = sub_open(&s, QUEUE);
    AWAIT(waiting(&s) == 1);
    s.replay->stop = true;
    s.replay->stop_at = s.last;
    scene_end(&s);
    CHECK_INT(mm_socket_close(s.pub), MM_OK);
    takes(sub, last);
    if (last == 0) {
        mm_batch *batch;
        CHECK_INT(mm_batch_new(&batch), MM_OK);
        CHECK_INT(mm_recv(sub, batch, 1, 1, 0, 0), MM_EAGAIN);
        mm_batch_free(batch);
    }
    CHECK_INT(mm_socket_close(sub), MM_OK);
    scene_close(&s);
}

static void
test_who_is_behind_as_it_ends_has_what_its_queue_takes(void)
{
    ends(PATIENCE_MS, QUEUE, OLD);
}

static void
test_without_linger_nobody_is_read_for_as_it_ends(void)
{
    ends(0, QUEUE, 0);
}

int
main(void)
{
    RUN(test_who_is_behind_is_live_in_the_end_though_more_is_put_all_the_time);
    RUN(test_who_has_no_room_makes_no_turns);
    RUN(test_who_is_behind_as_it_ends_has_what_its_queue_takes);
    RUN(test_without_linger_nobody_is_read_for_as_it_ends);
    return 0;
}
