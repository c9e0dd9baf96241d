/*
 * spool/since.c: from which segment file on messages are young enough, by when each file was begun,
 * and from which number on, by when its batch was written.
 *
 * Not here: leaving out what is older, as it is read (api/replay_read.c).
 * Law: time never goes back in a spool; a file is begun when all before it was written, and its
 * head says when.  A head that cannot be read says nothing, and an older one is asked.
 */
#include "spool/shared.h"

/* The file with the highest number below that one; 0: there is none. */
static uint64_t
since_before(mmi_spool_shared *h, uint64_t seq, uint64_t *made_us)
{
    const mmi_spool *s = &h->spool;
    uint64_t base = 0;
    pthread_mutex_lock(&h->lock);
    for (uint32_t i = s->file_count; i-- > 0 && base == 0;) {
        base = s->bases[i] < seq ? s->bases[i] : 0;
        *made_us = i + 1 == s->file_count ? s->file.head.made_us : 0;
    }
    pthread_mutex_unlock(&h->lock);
    return base;
}

uint64_t
mmi_spool_shared_since(mmi_spool_shared *h, uint64_t time_us)
{
    const mmi_spool_place place = { &h->files, h->dir };
    uint64_t base = UINT64_MAX, last = 1, made_us;
    while ((base = since_before(h, base, &made_us)) > 0) {
        mmi_spool_file f;
        last = base;
        if (made_us == 0 && mmi_spool_file_open(&place, base, false, &f) == MM_OK) {
            made_us = f.head.made_us;
            mmi_spool_file_close(&place, &f);
        }
        if (made_us > 0 && made_us < time_us) {
            break;
        }
    }
    return last;
}

/* The reader is behind what it has, or what is not there.  *harmed: the first number of what cannot
 * be read, with nothing older behind it; 0: there is none.  1: it went on; 0: it is there. */
static int
since_pass(mmi_spool_shared *h, mmi_spool_reader *r, uint64_t time_us, uint64_t *harmed)
{
    mmi_spool_where where;
    int rc = mmi_spool_shared_load(h, r, &where);
    uint64_t at = r->next_seq;
    if (rc == 1 && r->scan.batch.time_us < time_us) {
        *harmed = 0;
        mmi_spool_reader_seek(r, r->scan.next_seq);
        return 1;
    }
    if (rc == MMI_SPOOL_HARMED) {
        *harmed = *harmed > 0 ? *harmed : at;
        mmi_spool_reader_seek(r, r->lost_last + 1);
        return 1;
    }
    if (rc == MM_ENOENT) {
        *harmed = 0; /* it went as well */
        mmi_spool_shared_locate(h, at, &where);
        mmi_spool_reader_seek(r, where.first > at ? where.first : at + 1);
        return 1;
    }
    return rc < 0 ? rc : 0;
}

int
mmi_spool_shared_young(mmi_spool_shared *h, uint64_t time_us, uint64_t *seq)
{
    mmi_spool_reader r;
    uint64_t harmed = 0;
    int rc;
    mmi_spool_reader_open(&r, &h->files, h->dir, mmi_spool_shared_since(h, time_us));
    do {
        rc = since_pass(h, &r, time_us, &harmed);
    } while (rc == 1);
    *seq = harmed > 0 ? harmed : r.next_seq;
    mmi_spool_reader_close(&r);
    return rc;
}
