/*
 * api/spool_fed.c: a spool whose messages a socket has: what a PUSH (api/feed.c) and a PUB
 * (api/replay.c) share.
 */
#include "api/spool.h"

bool
mmi_spool_claim(mmi_spool_shared *h)
{
    pthread_mutex_lock(&h->lock);
    bool claimed = !h->fed;
    h->fed = true;
    pthread_mutex_unlock(&h->lock);
    return claimed;
}

void
mmi_spool_release(mmi_spool_shared *h)
{
    pthread_mutex_lock(&h->lock);
    h->fed = false;
    pthread_mutex_unlock(&h->lock);
}

void
mmi_spool_stopped(mm_handle socket, int rc, uint64_t first, uint64_t last, const char *other)
{
    mmi_socket *s;
    if (mmi_api_enter(socket, &s) == MM_OK) {
        const char *why =
            rc == MMI_SPOOL_HARMED ? "messages of its spool are harmed (on_corruption)" : other;
        mmi_socket_event(s, MM_EVENT_SPOOL_STOPPED, MM_REASON_NONE, 0, last - first + 1, NULL, NULL,
                         why);
        mmi_socket_note(s, MM_DRAINED | MM_PEERS);
        (void)mmi_api_leave(s, MM_OK);
    }
}

void
mm_spool_tell_full(mm_handle socket, const char *detail)
{
    mmi_socket *s;
    if (mmi_api_enter(socket, &s) == MM_OK) {
        mmi_socket_event(s, MM_EVENT_SPOOL_FULL, MM_REASON_NONE, 0, 1, NULL, NULL, detail);
        (void)mmi_api_leave(s, MM_OK);
    }
}

mmi_msg *
mmi_spool_message(const mmi_spool_record *r, uint64_t seq, uint64_t epoch)
{
    uint64_t sizes[MMI_SPOOL_FRAMES_MAX];
    mmi_spool_record_frames(r, sizes);
    mmi_msg *m = mmi_msg_copy_frames(r->data, sizes, r->frames);
    if (m == NULL) {
        return NULL;
    }
    if (r->meta_size > 0 && (m->meta = mmi_meta_new(r->meta, r->meta_size)) == NULL) {
        mmi_msg_unref(m);
        return NULL;
    }
    m->alone = true;
    m->priority = r->priority;
    m->origin = (mmi_origin){ .epoch = epoch, .number = seq };
    return m;
}
