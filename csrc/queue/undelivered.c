/*
 * queue/undelivered.c: what becomes of messages of a backlog that are not delivered: dropped, dead
 * letters, or put by until somebody can have them.
 *
 * Not here: when that is (backlog.c, accept.c), letters themselves (dead.c).  Law: as in
 * queue/backlog.h.
 */
#include "queue/backlog.h"

#include <inttypes.h>
#include <stdio.h>

#define UNDELIVERED_STUCK "; send_queue_messages wait, and with them all that was sent later"
#define UNDELIVERED_FRAMES                                                                         \
    "of several frames, while all peers speak SP, where a message is one body"
static const char undelivered_waits[] = UNDELIVERED_FRAMES;
static const char undelivered_stuck[] = UNDELIVERED_FRAMES UNDELIVERED_STUCK;

void
mmi_back_note(mmi_back *back, uint64_t key, mmi_back_where where, mmi_pipe *p)
{
    if (back->note != NULL) {
        back->note(back, key, where, p);
    }
}

void
mmi_back_drop(mmi_back *back, mmi_drop_why why, mmi_pipe *p, mmi_msg *m)
{
    uint64_t key = m->key;
    mmi_receipts_settle(&back->receipts, m, MM_RECEIPT_DROPPED);
    if (mmi_back_sourced(back)) {
        mmi_msg_unref(m);
    } else {
        mmi_drop_of(back->host, why, p, m);
    }
    mmi_back_note(back, key, MMI_BACK_DROPPED, NULL);
}

/* What is told of one that is more than any peer takes: of those that wait the last one's sizes. */
static const char *
undelivered_over(mmi_back *back, const mmi_msg *m, bool stuck)
{
    uint64_t size;
    uint32_t frames;
    mmi_lb_takes(&back->lb, &size, &frames);
    snprintf(back->wordless_why, sizeof back->wordless_why,
             "of %zu bytes in %" PRIu32 " frame%s; the peers say they take %" PRIu64 " in %" PRIu32
             " at most (message_size_max, frames_max)%s",
             m->size, m->frame_count, mmi_plural(m->frame_count), size, frames,
             stuck ? UNDELIVERED_STUCK : "");
    return back->wordless_why;
}

void
mmi_back_wordless(mmi_back *back, mmi_msg *m, int why)
{
    mmi_proto_host *host = back->host;
    bool waits = (host->opts->flags & MM_OPT_AT_LEAST_ONCE) != 0;
    if (!waits || mmi_ring_push(&back->wordless, m) != MM_OK) {
        mmi_back_drop(back, waits ? MMI_DROP_MEMORY : mmi_drop_unsendable(why), NULL, m);
        return;
    }
    bool stuck = mmi_back_sourced(back) && back->wordless.count >= host->opts->send_queue_messages;
    host->event(host, MM_EVENT_UNSENDABLE, MM_REASON_NONE, 0, 1,
                why == MM_EMSGSIZE ? undelivered_over(back, m, stuck)
                : stuck            ? undelivered_stuck
                                   : undelivered_waits);
}

void
mmi_back_bury(mmi_back *back, mmi_drop_why why, mmi_pipe *p, mmi_msg *m)
{
    uint64_t key = m->key;
    bool late = why == MMI_DROP_EXPIRED;
    int outcome = late ? MM_RECEIPT_EXPIRED : MM_RECEIPT_ATTEMPTS;
    const mmi_source *source = &back->receipts.source;
    if (source->arg != NULL && key != 0 && !late && mmi_dead_full(&back->dead, m)) {
        source->told(source->arg, key, 1, MM_RECEIPT_OPEN);
        mmi_msg_unref(m);
        mmi_back_note(back, key, MMI_BACK_DROPPED, NULL);
        return;
    }
    back->spent += late ? 0 : 1;
    if (source->arg != NULL && key != 0 && mmi_dead_keeps(&back->dead, m)) {
        source->dead(source->arg, 1);
        mmi_receipts_tell(&back->receipts, key, outcome);
    } else {
        mmi_receipts_settle(&back->receipts, m, outcome);
    }
    mmi_dead_add(&back->dead, why, p, m);
    mmi_back_note(back, key, late ? MMI_BACK_EXPIRED : MMI_BACK_DROPPED, NULL);
}

int
mmi_back_letter_done(mmi_back *back, uint64_t number, int outcome)
{
    const mmi_source *source = &back->receipts.source;
    if (source->arg == NULL || number == 0) {
        return MM_ESTATE;
    }
    source->dead(source->arg, -1);
    source->told(source->arg, number, 1, outcome);
    mmi_receipts_tell(&back->receipts, number, outcome);
    return MM_OK;
}

void
mmi_back_expired(mmi_proto_host *host, mmi_pipe *p, mmi_msg *m)
{
    mmi_back_bury(host->back, MMI_DROP_EXPIRED, p, m);
}
