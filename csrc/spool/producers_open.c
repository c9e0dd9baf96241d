/*
 * spool/producers_open.c: which producers a spool knows, found out as it is opened, when all that
 * is there is durable: by their file, and by the messages behind what that tells of.
 *
 * Not here: the file (spool/producers_file.c).
 * Law: a file that tells of more messages than there are is not believed, and neither is one that
 * is harmed: then the messages say it.  What is told of is on the disk from then on.
 */
#include "spool/reader.h"

int
mmi_spool_producers_heard(mmi_producers *p, mmi_spool_reader *r)
{
    mmi_spool_record record;
    uint64_t seq;
    int rc;
    while ((rc = mmi_spool_reader_next(r, &record, &seq)) == 1) {
        int room = record.producer != NULL ? mmi_producers_reserve(p) : MM_OK;
        if (room != MM_OK) {
            return room;
        }
        if (record.producer != NULL) {
            mmi_producers_note(p, record.producer, record.number, seq);
        }
    }
    return rc;
}

/* Where reading goes on behind what is not there. */
static uint64_t
known_behind(const mmi_spool_reader *r, const mmi_spool_where *where, int rc)
{
    uint64_t behind = rc == MMI_SPOOL_HARMED ? r->lost_last + 1
                      : rc == MM_EPROTO      ? r->scan.next_seq
                      : where->base == 0     ? where->first
                      : where->bound > 0     ? where->bound
                                             : where->visible + 1;
    return behind > r->next_seq ? behind : r->next_seq + 1;
}

/* The messages from that number on.  Those that went or are harmed say nothing. */
static int
known_scan(mmi_spool *s, uint64_t from)
{
    mmi_spool_reader r;
    mmi_spool_where where;
    int rc = 1;
    mmi_spool_reader_open(&r, s->place.files, s->place.dir, from);
    while (rc != 0) {
        mmi_spool_locate(s, r.next_seq, &where);
        rc = mmi_spool_reader_load(&r, &where);
        rc = rc == 1 ? mmi_spool_producers_heard(&s->producers, &r) : rc;
        if (rc == 0 && r.next_seq <= where.visible) {
            rc = MMI_SPOOL_PASSED; /* the batch is at its end */
        } else if (rc == MM_ENOENT || rc == MMI_SPOOL_HARMED || rc == MM_EPROTO) {
            mmi_spool_reader_seek(&r, known_behind(&r, &where, rc));
            rc = MMI_SPOOL_PASSED;
        }
        if (rc < 0) {
            break;
        }
    }
    mmi_spool_reader_close(&r);
    return rc;
}

/* What their file says.  *seq: it tells of the messages up to it; 0: there is none. */
static int
known_load(mmi_spool *s, uint64_t *seq)
{
    int rc = mmi_spool_producers_load(&s->place, s->uuid, &s->producers, seq);
    if (rc == MM_OK && *seq <= s->last_seq) {
        return MM_OK;
    }
    mmi_producers_fini(&s->producers);
    *seq = 0;
    if (rc == MM_OK || rc == MM_EPROTO) { /* and it must not be believed later */
        rc = mmi_spool_producers_drop(s) ? MM_ENOENT : MM_EIO;
    }
    return rc == MM_ENOENT ? MM_OK : rc;
}

int
mmi_spool_producers_open(mmi_spool *s, bool known)
{
    uint64_t listed, from = known ? s->origin_seq : 1;
    s->producers.most = s->opts.producers_max;
    s->opts.random(s->opts.arg, s->producers.secret, sizeof s->producers.secret);
    int rc = known_load(s, &listed);
    from = listed > 0 ? listed + 1 : from;
    if (rc == MM_OK && from > 0 && from <= s->last_seq) {
        rc = known_scan(s, from);
    }
    if (rc != MM_OK || s->producers.count == 0) {
        return rc;
    }
    s->origin_seq = s->origin_seq > 0 ? s->origin_seq : listed > 0 ? 1 : s->producers.first_seq;
    return mmi_spool_producers_list(s); /* what was read may be in a cache alone */
}
