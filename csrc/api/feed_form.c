/*
 * api/feed_form.c: see api/feed_form.h.
 */
#include "api/feed_form.h"

#include <string.h>

#include "queue/backlog.h"

enum {
    FORM_MANY = 4,      /* messages that are worth a segment */
    FORM_QUEUE_PART = 2 /* of the send queue a segment may take so much */
};

static void
form_ask(mmi_feed_shape *shape, mm_feed *f)
{
    mmi_socket *s;
    shape->framing = NULL;
    if (f->of_group || mmi_api_enter(f->socket, &s) != MM_OK) {
        return;
    }
    const mm_socket_opts *o = &s->opts;
    bool fits = o->send_queue_bytes / FORM_QUEUE_PART >= (uint64_t)MMI_SEGMENT_CAP;
    shape->most = o->send_queue_messages / FORM_QUEUE_PART;
    shape->size_max = MMI_SEGMENT_BODY_MAX - MMI_FRAME_OVERHEAD;
    if (o->message_size_max < shape->size_max) {
        shape->size_max = o->message_size_max;
    }
    if (fits && shape->most >= FORM_MANY) {
        shape->framing = mmi_back_segments(s->host.back);
    }
    mmi_engine_leave_quick(s->engine);
}

/* Has it nothing but small octets? */
static bool
form_plain(const mmi_feed_shape *shape, const mmi_spool_record *r)
{
    return r->frames == 1 && r->meta_size == 0 && r->priority == 0 && r->size <= shape->size_max;
}

void
mmi_feed_form_shape(mmi_feed_form *run, mm_feed *f, mmi_feed_read *read, uint64_t now_us)
{
    memset(read->beside, 0, sizeof read->beside);
    run->shape.framing = NULL;
    if (read->count < FORM_MANY) {
        return;
    }
    form_ask(&run->shape, f);
    for (size_t i = read->count; run->shape.framing != NULL && i > 0; i--) {
        const mmi_spool_record *r = &read->records[i - 1];
        bool next = i < read->count && read->seqs[i] == read->seqs[i - 1] + 1;
        if (!read->done[i - 1] && r->due_us <= now_us && form_plain(&run->shape, r)) {
            read->beside[i - 1] = 1 + (next ? read->beside[i] : 0);
        }
    }
}

/* The segment at the end of the run, if the message of that number goes into it; else NULL. */
static mmi_segment_out *
form_open_segment(const mmi_feed_form *run, uint64_t seq, size_t size)
{
    mmi_msg *last = run->count > run->sent ? run->entries[run->count - 1] : NULL;
    mmi_segment_out *segment = last != NULL ? mmi_segment_out_of(last) : NULL;
    bool goes = segment != NULL && segment->cap - segment->used >= size &&
                last->count < run->shape.most && last->key + last->count == seq;
    return goes ? segment : NULL;
}

/* A new one, for the i-th and those beside it: no larger than they are.  NULL: no memory. */
static mmi_segment_out *
form_new_segment(mmi_feed_form *run, const mmi_feed_read *read, size_t i)
{
    uint64_t cap = 0;
    for (size_t k = i; k < i + read->beside[i] && cap < (uint64_t)MMI_SEGMENT_CAP; k++) {
        cap += read->records[k].size + MMI_FRAMING_HEAD_MAX;
    }
    cap = cap < (uint64_t)MMI_SEGMENT_CAP / 2 ? cap : (uint64_t)MMI_SEGMENT_CAP;
    mmi_segment_out *segment = mmi_segment_out_new(run->shape.framing, (size_t)cap);
    if (segment != NULL) {
        segment->msg.key = read->seqs[i];
        run->entries[run->count] = &segment->msg;
        run->seqs[run->count++] = read->seqs[i];
    }
    return segment;
}

int
mmi_feed_form_join(mmi_feed_form *run, const mmi_feed_read *read, size_t i, uint64_t life)
{
    const mmi_framing *framing = run->shape.framing;
    const mmi_spool_record *r = &read->records[i];
    uint64_t seq = read->seqs[i];
    if (read->beside[i] == 0) {
        return mmi_feed_form_add(run, r, seq, life);
    }
    mmi_frame frame;
    mmi_msg m;
    mmi_msg_borrow(&m, &frame, r->data, (size_t)r->size);
    m.origin = (mmi_origin){ .epoch = life, .number = seq, .attempt = 1 };
    size_t cost, size = framing->size(framing, &m, &cost);
    mmi_segment_out *segment = form_open_segment(run, seq, size);
    if (segment == NULL && read->beside[i] < FORM_MANY) {
        return mmi_feed_form_add(run, r, seq, life);
    }
    segment = segment == NULL ? form_new_segment(run, read, i) : segment;
    if (segment == NULL) {
        return MM_ENOMEM;
    }
    framing->put(framing, &m, segment->data + segment->used);
    segment->used += size;
    segment->msg.size += (size_t)r->size;
    segment->msg.count++;
    segment->msg.cost += cost;
    run->messages++;
    return MM_OK;
}

int
mmi_feed_form_add(mmi_feed_form *run, const mmi_spool_record *r, uint64_t seq, uint64_t life)
{
    mmi_msg *m = mmi_spool_message(r, seq, life);
    if (m == NULL) {
        return MM_ENOMEM;
    }
    m->key = seq;
    m->origin.attempt = 1;
    run->entries[run->count] = m;
    run->seqs[run->count++] = seq;
    run->messages++;
    return MM_OK;
}

int
mmi_feed_form_send_segment(mmi_feed_form *run, mmi_socket *s)
{
    mmi_msg *m = run->entries[run->sent];
    uint32_t count = m->count;
    size_t size = m->size;
    int rc = mmi_back_send_segment(s->host.back, mmi_segment_out_of(m));
    if (rc == MM_OK) {
        s->stats.sent_messages += count;
        s->stats.sent_bytes += size;
    }
    return rc;
}

/* The messages of a segment, each by itself.  MM_ENOMEM. */
static int
form_open(mmi_segment_out *segment, mmi_msg *out[FEED_RUN])
{
    const mmi_framing *framing = segment->framing;
    size_t cost, at = segment->first;
    for (uint32_t i = 0; i < segment->msg.count; i++) {
        out[i] = framing->open(framing, segment->data + at);
        if (out[i] == NULL) {
            while (i > 0) {
                mmi_msg_unref(out[--i]);
            }
            return MM_ENOMEM;
        }
        mmi_segment_out_gave(segment, i, out[i]);
        at += framing->next(framing, segment->data + at, &cost);
    }
    return MM_OK;
}

int
mmi_feed_form_open(mmi_feed_form *run)
{
    mmi_msg *opened[FEED_RUN], *m = run->entries[run->sent];
    uint32_t count = m->count;
    uint64_t first = m->key;
    int rc = form_open(mmi_segment_out_of(m), opened);
    if (rc != MM_OK) {
        return rc;
    }
    size_t behind = run->count - run->sent - 1, at = run->sent;
    memmove(&run->entries[at + count], &run->entries[at + 1], behind * sizeof run->entries[0]);
    memmove(&run->seqs[at + count], &run->seqs[at + 1], behind * sizeof run->seqs[0]);
    for (uint32_t i = 0; i < count; i++) {
        run->entries[at + i] = opened[i];
        run->seqs[at + i] = first + i;
    }
    run->count += count - 1;
    mmi_msg_unref(m);
    return MM_OK;
}
