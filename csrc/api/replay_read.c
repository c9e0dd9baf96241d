/*
 * api/replay_read.c: reading the messages of a spool for those who get them, live or behind.
 *
 * Law: no lock is held while the disk works; what is gone is passed over and counted.
 */
#include "api/replay.h"

/* Has the reader a batch?  1; 0: nothing is there yet; MM_EAGAIN: it went on; MM_ENOMEM; or it
 * failed. */
static int
read_load(mm_replay *r, mmi_spool_reader *reader, replay_gone *gone)
{
    mmi_spool_where where;
    int rc = mmi_spool_shared_load(r->shared, reader, &where);
    uint64_t first = reader->next_seq; /* behind what compaction removed, which is no loss */
    if (rc == MM_ENOENT) {
        mmi_spool_shared_locate(r->shared, first, &where);
        uint64_t next = where.first > first ? where.first : first + 1;
        gone->removed += next - first;
        mmi_spool_reader_seek(reader, next);
        return MM_EAGAIN;
    }
    gone->last = rc == MMI_SPOOL_HARMED ? reader->lost_last : first;
    if (rc == MMI_SPOOL_HARMED && r->shared->spool.opts.gaps) {
        gone->harmed += gone->last - first + 1;
        mmi_spool_reader_seek(reader, gone->last + 1);
        return MM_EAGAIN;
    }
    return rc;
}

static bool
read_full(const replay_run *run)
{
    return run->count == REPLAY_RUN || run->bytes >= REPLAY_RUN_BYTES;
}

/* The messages of the batch that the reader has.  1; MM_ENOMEM; or it cannot be read. */
static int
read_batch(mmi_spool_reader *reader, replay_run *run, uint64_t below, uint64_t since_us)
{
    mmi_spool_record record;
    uint64_t seq;
    int rc = 1;
    while (!read_full(run) && reader->next_seq < below &&
           (rc = mmi_spool_reader_next(reader, &record, &seq)) == 1) {
        if (reader->scan.batch.time_us < since_us) {
            continue;
        }
        mmi_msg *m = mmi_spool_message(&record, seq, reader->scan.batch.epoch);
        if (m == NULL) {
            mmi_spool_reader_seek(reader, seq);
            return MM_ENOMEM;
        }
        run->bytes += m->size;
        run->messages[run->count++] = m;
    }
    return rc < 0 ? rc : 1;
}

int
mmi_replay_read(mm_replay *r, mmi_spool_reader *reader, replay_run *run, uint64_t below,
                uint64_t since_us, replay_gone *gone)
{
    *gone = (replay_gone){ .last = 0 };
    run->count = run->given = run->bytes = 0;
    const uint64_t from = reader->next_seq;
    int rc = MM_EAGAIN; /* past all that is gone in a row, so that it is told of once */
    while (rc == MM_EAGAIN && reader->next_seq < below) {
        rc = read_load(r, reader, gone);
    }
    if (rc != 1) {
        bool passed = reader->next_seq != from;
        return rc == MM_EAGAIN || rc == 0 ? passed : rc;
    }
    rc = read_batch(reader, run, below, since_us);
    /* Of what is gone behind a batch, too, it is told with those in front of it. */
    for (int i = 1; rc == 1 && i < REPLAY_RUN && !read_full(run) && reader->next_seq < below; i++) {
        rc = read_load(r, reader, gone);
        rc = rc == 1 ? read_batch(reader, run, below, since_us) : rc;
    }
    if (reader->next_seq != from) {
        rc = 1; /* what stopped it does so again, where it is now */
    }
    gone->last = rc == MMI_SPOOL_HARMED ? gone->last : reader->next_seq;
    return rc;
}

void
mmi_replay_run_drop(replay_run *run)
{
    while (run->given < run->count) {
        mmi_msg_unref(run->messages[run->given++]);
    }
    run->count = run->given = 0;
}
