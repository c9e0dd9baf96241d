/*
 * api/replay_fill.c: a PUB that retains, and whose messages are in a spool: the last of each topic
 * there is retained before anything is published.
 *
 * Not here: what retaining is (queue/retained.h).
 * Law: as in api/replay.h.  Nobody gets a value before all were read; who asked for a replay is
 * read for meanwhile.
 */
#include "api/replay.h"
#include "queue/retained.h"

static const uint64_t FILL_RETRY_NS = 10000000; /* until what found no memory is tried again */
static const char FILL_HARMED[] = "harmed in its spool (on_corruption)";

static bool
fill_stops(mm_replay *r)
{
    pthread_mutex_lock(&r->lock);
    bool stops = r->stop;
    pthread_mutex_unlock(&r->lock);
    return stops;
}

/* Some harmed ones may have been the last of their topics: an older one is retained then. */
static void
fill_tell(mmi_proto_host *host, uint64_t harmed)
{
    if (harmed > 0) {
        host->stats->unretained_messages += harmed;
        host->event(host, MM_EVENT_NOT_RETAINED, MM_REASON_NONE, 0, harmed, FILL_HARMED);
    }
}

/* What was read, up to where there is memory.  MM_ENOMEM; MM_ECLOSED. */
static int
fill_run(mm_replay *r, uint64_t harmed, bool last)
{
    mmi_socket *s;
    replay_run *run = &r->live;
    if (mmi_api_enter(r->socket, &s) != MM_OK) {
        return MM_ECLOSED;
    }
    mmi_retained *retained = s->host.retained;
    int rc = MM_OK;
    fill_tell(&s->host, harmed);
    while (run->given < run->count && rc == MM_OK) {
        mmi_msg *m = run->messages[run->given];
        if (mmi_api_sizes(s, m->size, m->frame_count) != MM_OK) { /* it was never published here */
            mmi_drop(&s->host, MMI_DROP_TOO_LARGE, 0, m);
        } else {
            rc = mmi_retained_fill(retained, m);
        }
        run->given += rc == MM_OK;
    }
    if (rc == MM_OK && last) {
        mmi_retained_filled(retained);
        if (retained->expiring > 0) {
            mmi_socket_expiring(s);
        }
        mmi_socket_note(s, MM_DRAINED);
    }
    (void)mmi_api_leave(s, MM_OK);
    return rc;
}

static void
fill_waits(mm_replay *r)
{
    mmi_spool_wait wait = { .deadline_ns = mmi_thread_now_ns() + FILL_RETRY_NS };
    uint64_t wakes = mmi_spool_shared_wakes(r->shared);
    (void)mmi_spool_shared_watch(r->shared, UINT64_MAX, wakes, &wait);
}

int
mmi_replay_fill(mm_replay *r, uint64_t *first, replay_gone *gone)
{
    mmi_spool_where where;
    mmi_spool_reader reader;
    uint64_t end = r->reader.next_seq;
    mmi_spool_shared_locate(r->shared, 1, &where);
    mmi_spool_reader_open(&reader, &r->shared->files, r->shared->dir,
                          where.first < end ? where.first : end);
    int rc = MM_OK, behind;
    bool last = false;
    while (rc == MM_OK && !last && !fill_stops(r)) {
        *first = reader.next_seq;
        const replay_want all = { .below = end };
        rc = mmi_replay_read(r, &reader, &r->live, &all, gone);
        last = reader.next_seq >= end;
        rc = rc >= 0 ? fill_run(r, gone->harmed, last) : rc;
        while (rc == MM_ENOMEM && !fill_stops(r)) {
            fill_waits(r);
            rc = fill_run(r, 0, last);
        }
        mmi_replay_run_drop(&r->live);
        (void)mmi_replay_behind(r, &behind);
    }
    mmi_spool_reader_close(&reader);
    return rc == MM_ENOMEM || rc == MM_ECLOSED ? MM_OK : rc;
}
