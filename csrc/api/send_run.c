/*
 * api/send_run.c: sending a run of messages with which something goes, the same with each, or which
 * have receipts.
 *
 * Such messages stand alone in the queues, so none of them is borrowed or goes into a segment.
 * Not here: runs of bodies alone (api/send.c), waiting for receipts (api/receipt.c).
 * Law: as in api/send.c; *sent counts those that were accepted, whatever ends the call.
 */
#include "api/api.h"

#include "queue/backlog.h"

int
mm_note_new(const uint8_t *octets, size_t size, mm_note **note)
{
    *note = NULL;
    if (size > (size_t)MMI_META_SIZE_MAX) {
        return MM_EMSGSIZE;
    }
    if (size == 0 || !mmi_meta_check(octets, size)) {
        return MM_EINVAL;
    }
    *note = (mm_note *)mmi_meta_new(octets, size);
    return *note != NULL ? MM_OK : MM_ENOMEM;
}

void
mm_note_free(mm_note *note)
{
    mmi_meta_unref((mmi_meta *)note);
}

/* One of them, with a receipt of that number, or of 0: none.  MM_OK: it was accepted. */
static int
run_send(mmi_socket *s, const mm_body *body, mmi_meta *meta, uint64_t receipt, mmi_api_wait *w)
{
    mmi_msg *m = mmi_msg_copy(body->data, body->size);
    if (m == NULL) {
        return MM_ENOMEM;
    }
    m->alone = true;
    m->meta = mmi_meta_ref(meta);
    mmi_receipts *r = receipt != 0 ? &s->host.back->receipts : NULL;
    int rc = r != NULL ? mmi_receipts_open_as(r, m, receipt) : MM_OK;
    if (rc == MM_OK) {
        rc = mmi_api_send_locked(s, m, w);
        if (rc != MM_OK && rc != MM_ECLOSED && r != NULL) {
            mmi_receipts_forget(r, receipt);
        }
    }
    if (rc != MM_OK) {
        mmi_msg_unref(m);
    }
    return rc;
}

int
mm_send_run(mm_handle socket, const mm_body *bodies, size_t count, mm_note *note, uint64_t receipt,
            int64_t timeout_ms, int64_t slice_ms, size_t *sent)
{
    mmi_socket *s;
    *sent = 0;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
    if (receipt != 0 && !mmi_api_confirms(s)) {
        rc = MM_ENOTSUP;
    }
    for (size_t i = 0; rc == MM_OK && i < count; i++) {
        rc = run_send(s, &bodies[i], (mmi_meta *)note, receipt != 0 ? receipt + i : 0, &w);
        *sent += rc == MM_OK;
    }
    return mmi_api_end(e, rc);
}
