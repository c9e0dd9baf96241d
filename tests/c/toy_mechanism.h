/*
 * toy_mechanism.h: a mechanism that protects nothing, and does all that one has to do: TOYXOR.
 *
 * Each side says "TOY", an octet of the key, and its properties; a record is a length of 4 octets, an
 * octet that depends on all of them, and the plain octets under a stream of the key and the record's
 * number, which is one more than the last one's.  With whole_frames a record is one ZMTP frame, as a
 * box of CURVE is, so that it is kept until it is whole; else it is what it is given, as in TLS.
 * One that asks says nothing before the answer; to who may not come in it says "NAY".  As an outer one
 * it is told no properties, notes whom it was aimed at, and ends with a record of no length.
 * Not here: tests.
 * Law: what is wrong with the peer's octets is a result; what we do wrong is a failed check.
 */
#ifndef TOY_MECHANISM_H
#define TOY_MECHANISM_H

#include "base/octets.h"
#include "check.h"
#include "wire/mechanism.h"
#include "wire/zmtp/frame.h"

typedef struct toy_config {
    uint8_t key;
    bool whole_frames;
    uint64_t spoils; /* the number of the record that goes out wrong; 0: none */
    bool skips; /* ... and there it leaves one out */
    bool asks; /* whether the peer may come in */
    bool confirms; /* ... and then it waits for "YES" */
    bool asks_twice; /* ... and asks once more, which it must not */
    /* Called by begin, by each feed and by each answer; NULL: nothing is. */
    void (*step)(void *arg);
    void *arg;
} toy_config;

static const uint32_t TOY_FAREWELL = UINT32_MAX; /* in the place of a length */

enum { TOY_HELLO = 6, TOY_NAY = 3, TOY_YES = 3, TOY_HEAD = 5, TOY_METADATA_MAX = 1024 };

typedef struct toy_buffer {
    uint8_t *data;
    size_t size, cap;
} toy_buffer;

typedef struct toy {
    const toy_config *config;
    uint8_t out[TOY_HELLO + TOY_METADATA_MAX], in[TOY_HELLO + TOY_METADATA_MAX];
    size_t out_size, out_sent, in_size, held; /* held: what is said once it may come in */
    bool failed, confirming;
    toy_buffer kept; /* seal: a frame that is not whole */
    uint64_t sealed, opened; /* records */
    toy_buffer came; /* open: records that were not given yet */
    size_t plain_at, plain_left; /* of the first of them, opened where it lies */
    bool parted, closed; /* it said that it ends; the peer did */
} toy;

static inline void
toy_append(toy_buffer *b, const uint8_t *data, size_t size)
{
    if (b->size + size > b->cap) {
        b->cap = (b->size + size) * 2;
        b->data = realloc(b->data, b->cap);
        CHECK(b->data != NULL);
    }
    if (size > 0) {
        memcpy(b->data + b->size, data, size);
    }
    b->size += size;
}

static inline void
toy_xor(uint8_t *data, size_t size, uint64_t key)
{
    for (size_t i = 0; i < size; i++) {
        data[i] ^= (uint8_t)(key + i * 13);
    }
}

static inline uint8_t
toy_tag(const uint8_t *plain, size_t size, uint64_t number)
{
    uint8_t tag = (uint8_t)(number * 31);
    for (size_t i = 0; i < size; i++) {
        tag = (uint8_t)(tag * 3 + plain[i]);
    }
    return tag;
}

static inline void
toy_step(const toy *t)
{
    if (t->config->step != NULL) {
        t->config->step(t->config->arg);
    }
}

static inline void *
toy_begin(const void *config, bool dials, const uint8_t *metadata, size_t size, uint64_t frame_max)
{
    (void)frame_max;
    (void)dials;
    toy *t = calloc(1, sizeof *t);
    CHECK(t != NULL && size <= TOY_METADATA_MAX);
    t->config = config;
    memcpy(t->out, "TOY", 3);
    t->out[3] = t->config->key;
    t->out[4] = (uint8_t)(size >> 8);
    t->out[5] = (uint8_t)size;
    if (size > 0) {
        memcpy(t->out + TOY_HELLO, metadata, size);
    }
    toy_xor(t->out + TOY_HELLO, size, t->config->key);
    *(t->config->asks ? &t->held : &t->out_size) = TOY_HELLO + size;
    toy_step(t);
    return t;
}

static inline void
toy_end(void *self)
{
    toy *t = self;
    free(t->kept.data);
    free(t->came.data);
    free(t);
}

/* Octets of the peer's hello that are needed, as far as that is known. */
static inline size_t
toy_need(const toy *t)
{
    size_t size = t->in_size < TOY_HELLO ? 0 : (size_t)(t->in[4] << 8 | t->in[5]);
    return TOY_HELLO + size;
}

static inline int
toy_confirm(toy *t, const uint8_t *buf, size_t size, size_t *used)
{
    while (!t->failed && *used < size && t->in_size < TOY_YES) {
        t->failed = buf[(*used)++] != (uint8_t)"YES"[t->in_size++];
    }
    if (t->failed) {
        return MM_EPROTO;
    }
    return t->in_size < TOY_YES    ? MMI_STEP_MORE
           : t->config->asks_twice ? MMI_STEP_ASK
                                   : MMI_STEP_DONE;
}

static inline int
toy_feed(void *self, const uint8_t *buf, size_t size, size_t *used, mmi_refusal *why)
{
    toy *t = self;
    toy_step(t);
    if (t->confirming) {
        return toy_confirm(t, buf, size, used);
    }
    while (!t->failed && *used < size && t->in_size < toy_need(t)) {
        t->in[t->in_size++] = buf[(*used)++];
        bool known = t->in_size < 3 || memcmp(t->in, "TOY", 3) == 0;
        bool keyed = t->in_size < 4 || t->in[3] == t->config->key;
        t->failed = !known || !keyed || toy_need(t) > sizeof t->in;
        if (t->in_size == TOY_NAY && memcmp(t->in, "NAY", TOY_NAY) == 0) {
            why->reason = MM_REASON_NOT_ALLOWED;
        }
        snprintf(why->detail, sizeof why->detail, "%s",
                 !keyed                                 ? "another key"
                 : why->reason == MM_REASON_NOT_ALLOWED ? "the peer says no"
                                                        : "not a toy");
    }
    if (t->failed) {
        return MM_EPROTO;
    }
    if (t->in_size < toy_need(t)) {
        return MMI_STEP_MORE;
    }
    toy_xor(t->in + TOY_HELLO, t->in_size - TOY_HELLO, t->config->key);
    return t->config->asks ? MMI_STEP_ASK : MMI_STEP_DONE;
}

static inline void
toy_applicant(const void *self, mmi_applicant *out)
{
    const toy *t = self;
    out->key = (mmi_octets){ .data = t->in + 3, .size = 1 };
}

static inline int
toy_answer(void *self, const mmi_answer *answer, mmi_refusal *why)
{
    toy *t = self;
    (void)why;
    toy_step(t);
    if (answer->kind == MM_DENY) {
        memcpy(t->out, "NAY", TOY_NAY);
    }
    t->out_size = answer->kind == MM_ALLOW ? t->held : answer->kind == MM_DENY ? TOY_NAY : 0;
    if (t->config->confirms && answer->kind == MM_ALLOW) {
        t->confirming = true;
        t->in_size = 0;
        return MMI_STEP_MORE;
    }
    return MMI_STEP_DONE; /* also of a no, which is for others to heed */
}

static inline size_t
toy_output(const void *self, const uint8_t **out)
{
    const toy *t = self;
    *out = t->out + t->out_sent;
    return t->out_size - t->out_sent;
}

static inline void
toy_sent(void *self, size_t size)
{
    toy *t = self;
    t->out_sent += size;
    CHECK(t->out_sent <= t->out_size);
}

static inline const uint8_t *
toy_metadata(const void *self, size_t *size)
{
    const toy *t = self;
    *size = (size_t)(t->in[4] << 8 | t->in[5]);
    return t->in + TOY_HELLO;
}

static inline size_t
toy_room(const void *self, size_t size)
{
    const toy *t = self;
    return t->kept.size + size + TOY_HEAD;
}

static inline size_t
toy_record(toy *t, const uint8_t *plain, size_t size, uint8_t *out)
{
    t->sealed++;
    if (t->config->skips && t->sealed == t->config->spoils) {
        t->sealed++;
    }
    mmi_be32_put(out, (uint32_t)size);
    out[4] = toy_tag(plain, size, t->sealed) ^ (uint8_t)(t->sealed == t->config->spoils);
    memcpy(out + TOY_HEAD, plain, size);
    toy_xor(out + TOY_HEAD, size, t->config->key + t->sealed);
    return TOY_HEAD + size;
}

static inline int64_t
toy_seal(void *self, const uint8_t *plain, size_t *size, uint8_t *out)
{
    toy *t = self;
    CHECK(!t->parted);
    if (!t->config->whole_frames) {
        return (int64_t)toy_record(t, plain, *size, out);
    }
    size_t had = t->kept.size;
    mmi_frame_head head;
    toy_append(&t->kept, plain, *size);
    int n = mmi_frame_head_parse(t->kept.data, t->kept.size, &head);
    CHECK(n >= 0); /* it is ours */
    if (n == 0 || head.size > t->kept.size - (size_t)n) {
        return 0;
    }
    size_t whole = (size_t)n + (size_t)head.size;
    *size = whole - had;
    t->kept.size = 0;
    return (int64_t)toy_record(t, t->kept.data, whole, out);
}

/* The first record that came, if it is whole, is opened.  MM_EPROTO. */
static inline int
toy_open_first(toy *t, mmi_refusal *why)
{
    if (t->plain_left > 0 || t->came.size < TOY_HEAD) {
        return MM_OK;
    }
    size_t size = mmi_be32_get(t->came.data);
    if (size == TOY_FAREWELL) {
        t->closed = true;
        t->came.size = 0;
        return MM_OK;
    }
    if (t->came.size - TOY_HEAD < size) {
        return MM_OK;
    }
    t->opened++;
    toy_xor(t->came.data + TOY_HEAD, size, t->config->key + t->opened);
    t->failed |= t->came.data[4] != toy_tag(t->came.data + TOY_HEAD, size, t->opened);
    if (t->failed) { /* is it the one behind? */
        toy_xor(t->came.data + TOY_HEAD, size, t->config->key + t->opened);
        toy_xor(t->came.data + TOY_HEAD, size, t->config->key + t->opened + 1);
        bool behind = t->came.data[4] == toy_tag(t->came.data + TOY_HEAD, size, t->opened + 1);
        why->reason = behind ? MM_REASON_SEQUENCE : why->reason;
    }
    t->plain_at = TOY_HEAD;
    t->plain_left = size;
    return t->failed ? MM_EPROTO : MM_OK;
}

static inline int
toy_open(void *self, uint8_t *in, size_t size, uint8_t *out, size_t cap, size_t *given,
         mmi_refusal *why)
{
    toy *t = self;
    CHECK(!t->failed);
    toy_append(&t->came, in, size);
    for (*given = 0; *given < cap;) {
        if (toy_open_first(t, why) != MM_OK) {
            return MM_EPROTO;
        }
        size_t part = t->plain_left < cap - *given ? t->plain_left : cap - *given;
        if (part == 0) {
            break;
        }
        memcpy(out + *given, t->came.data + t->plain_at, part);
        *given += part;
        t->plain_at += part;
        t->plain_left -= part;
        if (t->plain_left == 0) {
            memmove(t->came.data, t->came.data + t->plain_at, t->came.size - t->plain_at);
            t->came.size -= t->plain_at;
        }
    }
    return MM_OK;
}

static inline bool
toy_idle(const void *self)
{
    const toy *t = self;
    return t->came.size == 0;
}

static char toy_aimed[300]; /* host and wire of the last one that dialed */

static inline int
toy_aim(void *self, const char *host, const char *wire, const mmi_expected *who)
{
    (void)self, (void)who;
    snprintf(toy_aimed, sizeof toy_aimed, "%s %s", host, wire);
    return strcmp(host, "localhost") == 0 ? MM_EINVAL : MM_OK;
}

static inline bool
toy_closed(const void *self)
{
    const toy *t = self;
    return t->closed;
}

static inline size_t
toy_farewell(void *self, uint8_t *out)
{
    toy *t = self;
    CHECK(!t->parted);
    t->parted = true;
    mmi_be32_put(out, TOY_FAREWELL);
    out[4] = 0;
    return TOY_HEAD;
}

#define TOY_DOES(called, octets)                                                                   \
    .name = (called), .record_max = (octets), .begin = toy_begin, .end = toy_end,                  \
    .feed = toy_feed, .applicant = toy_applicant, .answer = toy_answer, .output = toy_output,      \
    .sent = toy_sent, .metadata = toy_metadata, .room = toy_room, .seal = toy_seal,                \
    .open = toy_open, .idle = toy_idle
#define TOY(called, octets) { TOY_DOES(called, octets) }
#define TOY_OUTER(called, octets)                                                                  \
    { TOY_DOES(called, octets), .outer = true, .aim = toy_aim, .closed = toy_closed,               \
      .farewell = toy_farewell }

#endif
