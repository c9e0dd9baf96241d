/*
 * edited.h: octets on their way from one side to the other, which a small program changes: each
 * step is about one record, and says whether it is kept, left out, doubled, swapped, or changed.
 *
 * Not here: who makes the records, and what must not open behind a change (fuzz_tls.c).
 * Law: what was sent and what came are both kept, so that the first change is where they differ.
 */
#ifndef EDITED_H
#define EDITED_H

#include <string.h>

#include "base/base.h"

enum {
    EDIT_KEEP,
    EDIT_DROP,
    EDIT_DOUBLE,
    EDIT_SWAP,                           /* it comes behind the next one                  */
    EDIT_FLIP,                           /* one bit, at an offset                         */
    EDIT_END,                            /* without its last octets                       */
    EDIT_BEGIN,                          /* without its first ones                        */
    EDIT_INSERT,                         /* octets of the program, in front               */
    EDIT_PLAIN,                          /* as large, and in a record, but never sealed   */
    EDIT_KINDS
};

/* Of a record of TLS. */
enum { EDIT_HEAD = 5, EDIT_CHANGE_CIPHER = 20, EDIT_ALERT = 21, EDIT_HANDSHAKE = 22 };

typedef struct edit_program {
    const uint8_t *at;
    size_t left;
} edit_program;

typedef struct edit_octets {
    uint8_t *data;
    size_t size;
} edit_octets;

/* One direction. */
typedef struct edit_way {
    edit_octets sent, came, held;        /* held: swapped with what has not come yet */
} edit_way;

/* Behind its end a program is zeros: all is kept. */
static inline uint8_t
edit_next(edit_program *p)
{
    if (p->left == 0) {
        return 0;
    }
    p->left--;
    return *p->at++;
}

static inline void
edit_add(edit_octets *to, const uint8_t *data, size_t size)
{
    if (size > 0) {
        to->data = mmi_realloc(to->data, to->size + size);
        MMI_ASSERT(to->data != NULL);
        memcpy(to->data + to->size, data, size);
        to->size += size;
    }
}

static inline void
edit_end(edit_way *w)
{
    mmi_free(w->sent.data);
    mmi_free(w->came.data);
    mmi_free(w->held.data);
}

/* What was held comes now. */
static inline void
edit_release(edit_way *w)
{
    edit_add(&w->came, w->held.data, w->held.size);
    w->held.size = 0;
}

static inline void
edit_insert(edit_octets *to, edit_program *p)
{
    size_t size = edit_next(p);
    size = size < p->left ? size : p->left;
    edit_add(to, p->at, size);
    p->at += size;
    p->left -= size;
}

/* What comes of one record, of at least one octet. */
static inline void
edit_record(edit_way *w, edit_program *p, int kind, const uint8_t *record, size_t size)
{
    size_t at = kind >= EDIT_FLIP ? edit_next(p) % size : 0;
    size_t came = w->came.size;
    edit_add(&w->sent, record, size);
    switch (kind) {
    case EDIT_DROP: break;
    case EDIT_SWAP: edit_add(&w->held, record, size); return;
    case EDIT_END: edit_add(&w->came, record, size - at); break;
    case EDIT_BEGIN: edit_add(&w->came, record + at, size - at); break;
    case EDIT_INSERT: edit_insert(&w->came, p); edit_add(&w->came, record, size); break;
    default: edit_add(&w->came, record, size);
    }
    if (kind == EDIT_DOUBLE) {
        edit_add(&w->came, record, size);
    } else if (kind == EDIT_FLIP) {
        w->came.data[came + at] ^= (uint8_t)(1 << edit_next(p) % 8);
    } else if (kind == EDIT_PLAIN && size > EDIT_HEAD) {
        memset(w->came.data + came + EDIT_HEAD, edit_next(p), size - EDIT_HEAD);
    }
    edit_release(w);
}

/* So many octets came as they were sent. */
static inline size_t
edit_same(const edit_way *w)
{
    size_t most = w->sent.size < w->came.size ? w->sent.size : w->came.size, at = 0;
    while (at < most && w->sent.data[at] == w->came.data[at]) {
        at++;
    }
    return at;
}

/* What a handshake is about, of some octets: heads of plain records are not, and those that only
 * are there for what stands between, and alerts, are not either. */
static inline void
edit_essence(const uint8_t *data, size_t size, edit_octets *out)
{
    for (size_t at = 0; at + EDIT_HEAD <= size;) {
        size_t whole = EDIT_HEAD + ((size_t)data[at + 3] << 8 | data[at + 4]);
        whole = whole < size - at ? whole : size - at;
        if (data[at] == EDIT_HANDSHAKE) {
            edit_add(out, data + at + EDIT_HEAD, whole - EDIT_HEAD);
        } else if (data[at] != EDIT_CHANGE_CIPHER && data[at] != EDIT_ALERT) {
            edit_add(out, data + at, whole);
        }
        at += whole;
    }
}

static inline bool
edit_same_essence(const edit_way *w, size_t fed)
{
    edit_octets sent = { NULL, 0 }, came = { NULL, 0 };
    edit_essence(w->sent.data, w->sent.size, &sent);
    edit_essence(w->came.data, fed, &came);
    bool same = sent.size == came.size && memcmp(sent.data, came.data, sent.size) == 0;
    mmi_free(sent.data);
    mmi_free(came.data);
    return same;
}

#endif
