/*
 * spool/since.c: from which segment file on messages are young enough, by when each file was begun.
 *
 * Not here: from which number on (api/spool_since.c), leaving out what is older, as it is read
 * (api/replay_read.c).
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
