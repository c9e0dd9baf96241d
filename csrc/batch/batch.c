/*
 * batch.c: fills a batch: frames end to end in one block, with offsets, as Arrow lays out binary
 * data.
 *
 * A lone message with a frame over MMI_BATCH_INLINE_MAX is handed over by reference, and so is a
 * part of one segment, unless it is to last and would pin much more than it is.  Law: nothing is
 * copied twice; arrays over BATCH_KEEP_BYTES are freed at the next use, so one large batch pins
 * nothing.
 */
#include "batch/batch.h"

#include <string.h>

enum {
    BATCH_KEEP_BYTES = 4 * 1024 * 1024,
    BATCH_FIRST_BYTES = 4096,
    BATCH_FIRST_COUNT = 64,
    BATCH_PINS_TIMES = 8   /* a lasting batch pins at most so many times its own octets */
};

int
mm_batch_new(mm_batch **batch)
{
    mmi_batch *b = mmi_alloc(sizeof *b);
    if (b == NULL) {
        return MM_ENOMEM;
    }
    atomic_init(&b->refs, 1);
    *batch = &b->pub;
    return MM_OK;
}

void
mm_batch_free(mm_batch *batch)
{
    mmi_batch *b = (mmi_batch *)batch;
    if (b == NULL || atomic_fetch_sub(&b->refs, 1) != 1) {
        return;
    }
    mmi_batch_reset(b);
    mmi_free(b->body);
    mmi_free(b->body_offset);
    mmi_free(b->known);
    mmi_free(b->lease);
    mmi_free(b->note);
    mmi_free(b->taken);
    mmi_free(b->data);
    mmi_free(b->offset);
    mmi_free(b->peer);
    mmi_free(b->first_frame);
    mmi_free(b->envelope);
    mmi_free(b);
}

void
mm_batch_drop(mm_batch *batch)
{
    mmi_batch_reset((mmi_batch *)batch);
}

mmi_batch *
mmi_batch_ref(mmi_batch *b)
{
    atomic_fetch_add(&b->refs, 1);
    return b;
}

mm_batch *
mm_batch_share(mm_batch *batch)
{
    return &mmi_batch_ref((mmi_batch *)batch)->pub;
}

void
mmi_batch_reset(mmi_batch *b)
{
    while (b->taken_count > 0) {
        mmi_msg_unref(b->taken[--b->taken_count].msg);
    }
    mmi_msg_unref(b->whole);
    b->whole = NULL;
    if (b->known_count > 0) {
        mmi_batch_known_drop(b);
    }
    if (b->note_count > 0) {
        mmi_batch_note_drop(b);
    }
    b->message_count = 0;
    b->bytes = 0;
    b->leased = false;
    b->pub = (mm_batch){ 0 };
}

/* Resizes an array (given by the address of its pointer) to want items of size bytes. */
static bool
batch_grow(void *array, uint32_t want, size_t size)
{
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = mmi_realloc(old, (size_t)want * size);
    if (grown == NULL) {
        return false;
    }
    memcpy(array, &grown, sizeof grown);
    return true;
}

static uint32_t
batch_cap(uint32_t cap, uint32_t want)
{
    uint32_t grown = cap == 0 ? BATCH_FIRST_COUNT : cap;
    while (grown < want) {
        grown *= 2;
    }
    return grown;
}

int
mmi_batch_reserve(mmi_batch *b)
{
    if (b->taken_count < b->taken_cap) {
        return MM_OK;
    }
    uint32_t cap = batch_cap(b->taken_cap, b->taken_count + 1);
    if (!batch_grow(&b->taken, cap, sizeof *b->taken)) {
        return MM_ENOMEM;
    }
    b->taken_cap = cap;
    return MM_OK;
}

void
mmi_batch_add(mmi_batch *b, const mmi_span *span)
{
    b->taken[b->taken_count++] = *span;
    b->message_count += span->count;
    b->bytes += span->bytes;
}

static bool
batch_size_arrays(mmi_batch *b, uint32_t messages, uint32_t frames, size_t bytes)
{
    if (b->data_cap > BATCH_KEEP_BYTES && bytes <= BATCH_KEEP_BYTES) {
        mmi_free(b->data);
        b->data = NULL;
        b->data_cap = 0;
    }
    if (messages + 1 > b->message_cap) {
        uint32_t cap = batch_cap(b->message_cap, messages + 1);
        if (!batch_grow(&b->first_frame, cap, sizeof *b->first_frame) ||
            !batch_grow(&b->envelope, cap, sizeof *b->envelope) ||
            !batch_grow(&b->peer, cap, sizeof *b->peer)) {
            return false;
        }
        b->message_cap = cap;
    }
    if (frames + 1 > b->frame_cap) {
        uint32_t cap = batch_cap(b->frame_cap, frames + 1);
        if (!batch_grow(&b->offset, cap, sizeof *b->offset)) {
            return false;
        }
        b->frame_cap = cap;
    }
    if (bytes > b->data_cap || b->data == NULL) {
        size_t cap = bytes < BATCH_FIRST_BYTES ? BATCH_FIRST_BYTES : bytes + bytes / 2;
        mmi_free(b->data);
        b->data = mmi_realloc(NULL, cap);   /* not zeroed: it is about to be filled */
        b->data_cap = b->data != NULL ? cap : 0;
    }
    return b->data != NULL;
}

static bool
batch_is_big(const mmi_msg *m)
{
    for (uint32_t i = 0; m->kind == MMI_MSG_ONE && i < m->frame_count; i++) {
        if (m->frames[i].size > MMI_BATCH_INLINE_MAX) {
            return true;
        }
    }
    return false;
}

static uint32_t
batch_span_frames(const mmi_span *span)
{
    const mmi_segment_in *segment = mmi_segment_in_of(span->msg);
    if (segment == NULL) {
        return span->msg->frame_count;
    }
    return segment->first_frame == NULL ? span->count
                                        : segment->first_frame[span->first + span->count] -
                                              segment->first_frame[span->first];
}

bool
mmi_batch_pins(const mmi_batch *b, const mmi_span *span)
{
    const mmi_segment_in *segment = mmi_segment_in_of(span->msg);
    if (!b->lasting || segment == NULL) {
        return false;
    }
    size_t own = span->bytes + batch_span_frames(span) * sizeof *segment->offset;
    if (own < BATCH_FIRST_BYTES) {
        own = BATCH_FIRST_BYTES;   /* a copy takes no less */
    }
    return segment->pinned > own * BATCH_PINS_TIMES;
}

/* Where the copying stands. */
typedef struct batch_pen {
    uint32_t message, frame, at;
} batch_pen;

static void
batch_copy_one(mmi_batch *b, batch_pen *pen, const mmi_msg *m)
{
    b->first_frame[pen->message] = pen->frame;
    b->envelope[pen->message] = m->envelope_count;
    b->peer[pen->message++] = m->pipe_id;
    for (uint32_t j = 0; j < m->frame_count; j++) {
        b->offset[pen->frame++] = pen->at;
        if (m->frames[j].size > 0) {
            memcpy(b->data + pen->at, m->frames[j].data, m->frames[j].size);
            pen->at += (uint32_t)m->frames[j].size;
        }
    }
}

static void
batch_copy_segment(mmi_batch *b, batch_pen *pen, const mmi_segment_in *segment,
                   const mmi_span *span)
{
    uint32_t first, frames = batch_span_frames(span);
    (void)mmi_segment_in_frames(segment, span->first, &first);
    for (uint32_t i = 0; i < span->count; i++) {
        uint32_t frame;
        (void)mmi_segment_in_frames(segment, span->first + i, &frame);
        b->first_frame[pen->message] = pen->frame + frame - first;
        b->envelope[pen->message] = 0;
        b->peer[pen->message++] = segment->msg.pipe_id;
    }
    uint32_t start = segment->offset[first];
    for (uint32_t j = 0; j < frames; j++) {
        b->offset[pen->frame++] = pen->at + segment->offset[first + j] - start;
    }
    if (span->bytes > 0) {
        memcpy(b->data + pen->at, segment->data + start, span->bytes);
    }
    pen->at += (uint32_t)span->bytes;
}

/* The size of each message of a span if all are one frame of it, without an envelope; else 0. */
static uint32_t
batch_one_size(const mmi_span *span)
{
    const mmi_msg *m = span->msg;
    if (m->kind == MMI_MSG_SEGMENT_IN) {
        return mmi_segment_in_of(span->msg)->one_size;
    }
    return m->frame_count == 1 && m->envelope_count == 0 ? (uint32_t)m->size : 0;
}

/* Messages that are alike are cut by the user in fewer steps: one_peer, one_size. */
static void
batch_compare(mmi_batch *b)
{
    uint64_t peer = b->taken[0].msg->pipe_id;
    uint32_t size = batch_one_size(&b->taken[0]);
    for (uint32_t i = 1; i < b->taken_count && size > 0; i++) {
        bool same = b->taken[i].msg->pipe_id == peer && batch_one_size(&b->taken[i]) == size;
        size = same ? size : 0;
    }
    b->pub.one_size = size;
    b->pub.one_peer = size > 0 ? peer : 0;
}

static void
batch_copy(mmi_batch *b)
{
    batch_pen pen = { 0, 0, 0 };
    batch_compare(b);
    for (uint32_t i = 0; i < b->taken_count; i++) {
        const mmi_segment_in *segment = mmi_segment_in_of(b->taken[i].msg);
        if (b->leased) {
            mmi_batch_lease_add(b, pen.message, &b->taken[i]);
        }
        mmi_batch_note_add(b, pen.message, b->taken[i].msg);
        if (segment == NULL) {
            batch_copy_one(b, &pen, b->taken[i].msg);
        } else {
            batch_copy_segment(b, &pen, segment, &b->taken[i]);
        }
        if (b->taken[i].msg->known != NULL) {
            mmi_batch_known_add(b, b->taken[i].msg->known);
        }
        mmi_msg_unref(b->taken[i].msg);
    }
    b->taken_count = 0;
    b->first_frame[pen.message] = pen.frame;
    b->offset[pen.frame] = pen.at;
    b->pub.known = b->known_count > 0;
    b->pub.noted = b->note_count;
    b->pub.frame_count = pen.frame;
    b->pub.data = b->data;
    b->pub.offset = b->offset;
    b->pub.first_frame = b->first_frame;
    b->pub.envelope = b->envelope;
    b->pub.peer = b->peer;
}

/* The whole batch is a part of one segment: the user sees the segment itself. */
static void
batch_point(mmi_batch *b)
{
    mm_batch *pub = &b->pub;
    const mmi_span *span = &b->taken[0];
    const mmi_segment_in *segment = mmi_segment_in_of(span->msg);
    uint32_t first;
    (void)mmi_segment_in_frames(segment, span->first, &first);
    pub->frame_count = batch_span_frames(span);
    pub->data = segment->data;
    pub->first_frame = NULL;
    pub->offset = segment->offset + first;
    if (pub->frame_count != span->count) {
        pub->first_frame = segment->first_frame + span->first;
        pub->offset = segment->offset;   /* frames are counted from the first of the segment */
    }
    pub->one_size = segment->one_size;
    pub->envelope = NULL;
    pub->peer = NULL;
    pub->one_peer = span->msg->pipe_id;
    pub->known = span->msg->known != NULL;
    b->whole = span->msg;
    b->whole_first = span->first;
    b->taken_count = 0;
}

static int
batch_lose(mmi_batch *b, uint32_t *lost)
{
    *lost = b->message_count;
    mmi_batch_reset(b);
    return MM_ENOMEM;
}

int
mm_batch_set(mm_batch *batch, const uint8_t *bodies, const uint64_t *sizes, const uint64_t *peers,
             uint32_t count)
{
    mmi_batch *b = (mmi_batch *)batch;
    size_t bytes = 0;
    mmi_batch_reset(b);
    for (uint32_t i = 0; i < count; i++) {
        bytes += (size_t)sizes[i];
    }
    if (bytes > INT32_MAX) {
        return MM_EMSGSIZE;
    }
    if (!batch_size_arrays(b, count, count, bytes)) {
        return MM_ENOMEM;
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        b->offset[i] = at;
        b->peer[i] = peers[i];
        at += (uint32_t)sizes[i];
    }
    b->offset[count] = at;
    if (bytes > 0) {
        memcpy(b->data, bodies, bytes);
    }
    *batch = (mm_batch){ .message_count = count,
                         .frame_count = count,
                         .data = b->data,
                         .offset = b->offset,
                         .peer = b->peer };
    return mmi_batch_bodies(b);
}

int
mmi_batch_reserve_lent(mmi_batch *b)
{
    return batch_size_arrays(b, 1, 0, 0) ? MM_OK : MM_ENOMEM;
}

void
mmi_batch_lend(mmi_batch *b, mmi_msg *m)
{
    b->whole = m;
    b->whole_first = 0;
    b->envelope[0] = m->envelope_count;
    b->peer[0] = m->pipe_id;
    b->pub.message_count = 1;
    b->pub.known = m->known != NULL;
    b->pub.noted = m->meta != NULL;
    b->pub.big = m;
    b->pub.envelope = b->envelope;
    b->pub.peer = b->peer;
}

int
mmi_batch_fill(mmi_batch *b, uint32_t *lost)
{
    mm_batch *pub = &b->pub;
    *pub = (mm_batch){ .message_count = b->message_count };
    *lost = 0;
    const mmi_span *only = b->taken_count == 1 ? &b->taken[0] : NULL;
    bool whole = only != NULL && only->msg->kind == MMI_MSG_SEGMENT_IN;
    if (whole && !mmi_batch_pins(b, only)) {
        batch_point(b);
        return MM_OK;
    }
    bool big = only != NULL && batch_is_big(only->msg);
    uint32_t frames = 0;
    for (uint32_t i = 0; i < b->taken_count && !big; i++) {
        frames += batch_span_frames(&b->taken[i]);
    }
    if (!mmi_batch_known_room(b) || !mmi_batch_lease_room(b) || !mmi_batch_note_room(b) ||
        !batch_size_arrays(b, b->message_count, frames, big ? 0 : b->bytes)) {
        if (!whole) {
            return batch_lose(b, lost);
        }
        batch_point(b);   /* better pinned than lost */
        return MM_OK;
    }
    if (!big) {
        batch_copy(b);
        return MM_OK;
    }
    mmi_batch_lend(b, only->msg);
    b->taken_count = 0;
    return MM_OK;
}

/* The bodies of messages of several frames, which do not lie end to end: copied. */
static int
batch_gather_bodies(mmi_batch *b)
{
    const mm_batch *pub = &b->pub;
    size_t bytes = 0;
    for (uint32_t i = 0; i < pub->message_count; i++) {
        uint32_t last = pub->first_frame[i + 1] - 1;
        bytes += pub->offset[last + 1] - pub->offset[last];
    }
    mmi_free(b->body);
    b->body = mmi_realloc(NULL, bytes);
    if (b->body == NULL) {
        return MM_ENOMEM;
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < pub->message_count; i++) {
        uint32_t last = pub->first_frame[i + 1] - 1;
        uint32_t size = pub->offset[last + 1] - pub->offset[last];
        b->body_offset[i] = at;
        memcpy(b->body + at, pub->data + pub->offset[last], size);
        at += size;
    }
    b->body_offset[pub->message_count] = at;
    b->pub.body = b->body;
    b->pub.body_offset = b->body_offset;
    return MM_OK;
}

int
mmi_batch_bodies(mmi_batch *b)
{
    mm_batch *pub = &b->pub;
    if (pub->big == NULL && pub->frame_count == pub->message_count) {
        pub->body = pub->data;
        pub->body_offset = pub->offset;
        return MM_OK;
    }
    if (pub->message_count + 1 > b->body_offset_cap) {
        uint32_t cap = batch_cap(b->body_offset_cap, pub->message_count + 1);
        if (!batch_grow(&b->body_offset, cap, sizeof *b->body_offset)) {
            return MM_ENOMEM;
        }
        b->body_offset_cap = cap;
    }
    if (pub->big == NULL) {
        return batch_gather_bodies(b);
    }
    const mmi_frame *last = &pub->big->frames[pub->big->frame_count - 1];
    if (last->size > INT32_MAX) {
        return MM_EMSGSIZE;
    }
    b->body_offset[0] = 0;
    b->body_offset[1] = (uint32_t)last->size;
    pub->body = last->data;
    pub->body_offset = b->body_offset;
    return MM_OK;
}
