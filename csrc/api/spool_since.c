/*
 * api/spool_since.c: the first message that was put at some time or later, by when its batch was
 * written.
 *
 * Not here: which file it is in (spool/since.c, spool/view.c).
 * Law: time never goes back in a spool.  What is harmed may have been young, unless older ones are
 * behind it.
 */
#include "api/spool.h"

/* The reader is behind what it has, or what is not there.  *harmed: the first number of what cannot
 * be read, with nothing older behind it; 0: there is none.  1: it went on; 0: it is there. */
static int
since_pass(mm_spool_reader *r, uint64_t time_us, uint64_t *harmed)
{
    uint64_t goes_on;
    int rc = mm_spool_reader_load(r, 0, 0, &goes_on);
    uint64_t at = r->reader.next_seq;
    if (rc == 1 && r->reader.scan.batch.time_us < time_us) {
        *harmed = 0;
        mm_spool_reader_seek(r, r->reader.scan.next_seq);
        return 1;
    }
    if (rc == MMI_SPOOL_HARMED) {
        *harmed = *harmed > 0 ? *harmed : at;
        mm_spool_reader_seek(r, goes_on);
        return 1;
    }
    if (rc == MM_ENOENT) {
        *harmed = 0; /* it went as well */
        mm_spool_reader_seek(r, goes_on > at ? goes_on : at + 1);
        return 1;
    }
    return rc < 0 ? rc : 0;
}

/* From the place of the reader on, which is closed. */
static int
since_find(mm_spool_reader *r, uint64_t time_us, uint64_t *seq)
{
    uint64_t harmed = 0;
    int rc;
    do {
        rc = since_pass(r, time_us, &harmed);
    } while (rc == 1);
    *seq = harmed > 0 ? harmed : r->reader.next_seq;
    mm_spool_reader_close(r);
    return rc;
}

int
mm_spool_since(mm_spool *s, uint64_t time_us, uint64_t *seq)
{
    mm_spool_reader *r;
    int rc = mm_spool_reader_open(s, mmi_spool_shared_since(&s->shared, time_us), &r);
    return rc == MM_OK ? since_find(r, time_us, seq) : rc;
}

int
mm_spool_view_since(mm_spool_view *v, uint64_t time_us, uint64_t *seq)
{
    mm_spool_reader *r;
    int rc = mmi_spool_view_look(&v->view);
    if (rc == MM_OK) {
        rc = mm_spool_view_reader_open(v, mmi_spool_view_since(&v->view, time_us), &r);
    }
    return rc == MM_OK ? since_find(r, time_us, seq) : rc;
}
