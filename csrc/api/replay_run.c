/*
 * api/replay_run.c: the thread of a PUB whose messages are in a spool: publishes them in their
 * order, and sees to those that are behind.
 *
 * Not here: those that are behind (api/replay_behind.c).  Law: as in api/replay.h.
 */
#include "api/replay.h"

static const uint64_t REPLAY_RETRY_NS = 10000000; /* until what found no memory is tried again */
enum {
    REPLAY_BEHIND_TURNS = 2, /* runs that one behind gets for each of the live ones */
    REPLAY_END_TURNS = 64   /* runs that one behind gets as the publisher ends, at the most */
};

/* Is it to stop, with all published that it is to publish, or as it cannot? */
static bool
run_stops(mm_replay *r, int rc)
{
    pthread_mutex_lock(&r->lock);
    bool stuck = rc == MM_EAGAIN || rc == MM_ENOMEM || r->counts.failed != 0;
    bool stops = r->stop && (r->published >= r->stop_at || stuck);
    pthread_mutex_unlock(&r->lock);
    return stops;
}

/* The live ones get nothing more; who looks is told why. */
static void
run_fails(mm_replay *r, int rc, uint64_t first, uint64_t last)
{
    pthread_mutex_lock(&r->lock);
    r->counts.failed = rc;
    r->counts.failed_first = first;
    r->counts.failed_last = last;
    pthread_mutex_unlock(&r->lock);
    mmi_spool_stopped(r->socket, rc, first, last, mm_strerror(rc));
}

/* Of the live ones those are told that asked for a replay. */
static void
run_tell_lost(const mmi_replays *all, const replay_gone *gone)
{
    const mmi_lost lost[] = { { MMI_LOST_REMOVED, gone->removed },
                              { MMI_LOST_HARMED, gone->harmed } };
    MMI_LIST_EACH (&all->dist->nodes, node, after) {
        const mmi_dist_node *one = MMI_CONTAINER_OF(node, mmi_dist_node, node);
        for (size_t i = 0; i < MMI_COUNT_OF(lost); i++) {
            if (one->replay != NULL && !one->behind && lost[i].count > 0) {
                mmi_replay_tell_lost(mmi_link_of_pipe(one->pipe), &lost[i]);
            }
        }
    }
}

/* Those never reach the live ones. */
static void
run_lost(mm_replay *r, const replay_gone *gone)
{
    const uint64_t counts[] = { gone->removed, gone->harmed };
    const mmi_drop_why whys[] = { MMI_DROP_REMOVED, MMI_DROP_HARMED };
    mmi_socket *s;
    if (gone->removed + gone->harmed == 0 || mmi_api_enter(r->socket, &s) != MM_OK) {
        return;
    }
    pthread_mutex_lock(&r->lock);
    r->counts.removed += gone->removed;
    r->counts.harmed += gone->harmed;
    pthread_mutex_unlock(&r->lock);
    run_tell_lost(s->host.replays, gone);
    for (size_t i = 0; i < MMI_COUNT_OF(counts); i++) {
        if (counts[i] > 0) {
            mmi_drop_count(&s->host, whys[i], 0, counts[i]);
        }
    }
    (void)mmi_api_leave(s, MM_OK);
}

/* One message.  MM_OK: it was given, or cannot be; else it is to be tried again, or MM_ECLOSED. */
static int
run_publish_one(mm_replay *r, mmi_socket *s, mmi_msg *m)
{
    mmi_api_wait never = mmi_api_wait_of(0, 0);
    m->priority = 0;
    int rc = mmi_api_feed_locked(s, m, &never);
    if (rc == MM_EMSGSIZE || rc == MM_ENOTSUP || rc == MM_EINVAL) {
        pthread_mutex_lock(&r->lock);
        r->counts.refused++;
        pthread_mutex_unlock(&r->lock);
        mmi_drop(&s->host, rc == MM_EMSGSIZE ? MMI_DROP_TOO_LARGE : MMI_DROP_UNENCODABLE, 0, m);
        rc = MM_OK;
    }
    return rc;
}

/* What was read.  MM_OK: all of it; MM_EAGAIN: no room for the rest; MM_ENOMEM; MM_ECLOSED. */
static int
run_publish(mm_replay *r)
{
    mmi_socket *s;
    replay_run *run = &r->live;
    int rc = mmi_api_enter_last(r->socket, &s);
    if (rc != MM_OK) {
        return MM_ECLOSED;
    }
    mmi_engine *e = s->engine;
    uint64_t next = s->host.replays->next;
    while (rc == MM_OK && run->given < run->count) {
        uint64_t number = run->messages[run->given]->origin.number;
        rc = run_publish_one(r, s, run->messages[run->given]);
        if (rc == MM_OK) {
            s->host.replays->next = next = number + 1;
            run->given++;
        }
    }
    next = rc == MM_OK ? r->reader.next_seq : next; /* also past what is gone */
    pthread_mutex_lock(&r->lock);
    r->published = next - 1;
    pthread_mutex_unlock(&r->lock);
    if (rc == MM_OK) {
        s->host.replays->next = next;
        mmi_socket_note(s, MM_DRAINED);
    }
    (void)mmi_api_end(e, MM_OK);
    return rc;
}

/* 1: some were published, or are gone; 0: nothing new; MM_EAGAIN: no room; MM_ENOMEM;
 * MM_ECLOSED. */
static int
run_live(mm_replay *r)
{
    replay_gone gone;
    int rc = 1;
    if (r->live.given == r->live.count && r->counts.failed == 0) {
        uint64_t first = r->reader.next_seq;
        const replay_want all = { .below = UINT64_MAX };
        rc = mmi_replay_read(r, &r->reader, &r->live, &all, &gone);
        run_lost(r, &gone);
        if (rc < 0 && rc != MM_ENOMEM) {
            run_fails(r, rc, first, gone.last);
            rc = 0;
        }
    }
    if (rc != 1 || r->counts.failed != 0) {
        return r->counts.failed != 0 ? 0 : rc;
    }
    rc = run_publish(r);
    return rc == MM_OK ? 1 : rc;
}

static void
run_fill(mm_replay *r)
{
    uint64_t first = 0;
    replay_gone gone = { .last = 0 };
    int rc = mmi_replay_fill(r, &first, &gone);
    if (rc != MM_OK) {
        run_fails(r, rc, first, gone.last);
    }
}

/* Where the live ones get more all the time, those behind have more turns than they: so each that
 * takes what it is given comes to where they are. */
static bool
run_behind(mm_replay *r, bool live, int *rc)
{
    bool more = false, turn = true;
    for (int i = 0; i < (live ? REPLAY_BEHIND_TURNS : 1) && turn; i++) {
        turn = mmi_replay_behind(r, rc);
        more |= turn;
    }
    return more;
}

int
mmi_replay_turn(mm_replay *r, bool *retry)
{
    int rc = run_live(r), behind = MM_OK;
    *retry = false;
    if (rc == MM_ECLOSED || run_stops(r, rc)) {
        return MM_ECLOSED;
    }
    mmi_groups_tend(r);
    if (run_behind(r, rc == 1, &behind)) {
        return 1;
    }
    *retry = rc == MM_ENOMEM || behind == MM_ENOMEM;
    return rc;
}

/* It ends: those behind get what their queues have room for, if somebody writes them yet. */
static void
run_end(mm_replay *r)
{
    mmi_socket *s;
    int rc = mmi_api_enter_last(r->socket, &s);
    if (rc == MM_OK && s->opts.linger_ms > 0) {
        (void)mmi_api_leave(s, MM_OK);
        for (int i = 0; i < REPLAY_END_TURNS && mmi_replay_behind(r, &rc); i++) {
        }
    } else if (rc == MM_OK) {
        (void)mmi_api_leave(s, MM_OK);
    }
    mmi_replay_run_drop(&r->live);
    mmi_replay_slots_end(r);
}

void
mmi_replay_run(void *arg)
{
    mm_replay *r = arg;
    bool retry;
    if (r->fills) {
        run_fill(r);
    }
    for (;;) {
        uint64_t wakes = mmi_spool_shared_wakes(r->shared);
        int rc = mmi_replay_turn(r, &retry);
        if (rc == MM_ECLOSED) {
            break;
        }
        if (rc == 1) {
            continue;
        }
        uint64_t now = mmi_thread_now_ns();
        mmi_spool_wait wait = { .deadline_ns = retry ? now + REPLAY_RETRY_NS : UINT64_MAX };
        uint64_t above = rc == 0 && r->counts.failed == 0 ? r->reader.next_seq - 1 : UINT64_MAX;
        if (mmi_spool_shared_watch(r->shared, above, wakes, &wait) == MM_EIO) {
            run_fails(r, MM_EIO, above + 1, above + 1); /* what was put is not durable */
        }
    }
    run_end(r);
}
