/*
 * link/shield.c: see link/shield.h.
 * Not here: what is to be written (link/write.c), what becomes of what was read (link/rx.c).
 * Law: the mechanism is called without the engine's lock, and blocks grow with what is written.
 */
#include "link/shield.h"

#include <string.h>

#include "link/plan.h"

enum {
    SHIELD_READ = 48 * 1024,             /* octets that are read at once: as often as what they
                                            become fits beside them                            */
    SHIELD_BEFORE = MMI_MECHANISM_RECORD_MAX,   /* octets of a record that ends in them         */
    SHIELD_FIRST_CAP = 256               /* octets of the block for a batch, at first          */
};

int
mmi_link_shield_begin(mmi_link *link, mmi_shield shield)
{
    struct mmi_link_shield *s = mmi_alloc(sizeof *s);
    MMI_ASSERT(shield.mechanism->record_max <= MMI_MECHANISM_RECORD_MAX);
    if (s == NULL) {
        shield.mechanism->end(shield.self);
        return MM_ENOMEM;
    }
    s->of = shield;
    link->shield = s;
    link->shared = false;   /* what is lent is plain */
    return MM_OK;
}

bool
mmi_link_shield_who(const mmi_link *link, mmi_applicant *out)
{
    const mmi_mechanism *m = link->shield != NULL ? link->shield->of.mechanism : NULL;
    *out = (mmi_applicant){ .mechanism = mmi_mechanism_name(m) };
    if (m == NULL || m->applicant == NULL) {
        return false;
    }
    m->applicant(link->shield->of.self, out);
    return true;
}

void
mmi_link_shield_free(mmi_link *link)
{
    struct mmi_link_shield *s = link->shield;
    if (s != NULL) {
        s->of.mechanism->end(s->of.self);
        mmi_free(s->out);
        mmi_free(s->records);
        mmi_free((void *)s->early.data);
        mmi_free(s);
        link->shield = NULL;
    }
}

/* MM_ENOMEM */
static int
shield_reserve(struct mmi_link_shield *s, size_t size)
{
    size_t cap = s->out_cap == 0 ? (size_t)SHIELD_FIRST_CAP : s->out_cap;
    while (cap < s->out_size + size) {
        cap *= 2;
    }
    if (cap > s->out_cap) {
        uint8_t *grown = mmi_realloc(s->out, cap);
        if (grown == NULL) {
            return MM_ENOMEM;
        }
        s->out = grown;
        s->out_cap = cap;
    }
    if (s->record_count == s->record_cap) {
        uint32_t more = s->record_cap == 0 ? 4 : s->record_cap * 2;
        mmi_link_record *grown = mmi_realloc(s->records, more * sizeof *grown);
        if (grown == NULL) {
            return MM_ENOMEM;
        }
        s->records = grown;
        s->record_cap = more;
    }
    return MM_OK;
}

int
mmi_link_shield_first(mmi_link *link, const uint8_t *data, size_t size)
{
    struct mmi_link_shield *s = link->shield;
    int rc = shield_reserve(s, size);
    if (rc == MM_OK && size > 0) {
        memcpy(s->out + s->out_size, data, size);
        s->out_size += size;
        link->sealed_left = s->out_left = s->out_size;
    }
    return rc;
}

int
mmi_link_shield_opened(mmi_link *link, const mmi_outer *outer)
{
    struct mmi_link_shield *s = link->shield;
    if (outer == NULL) {
        return MM_OK;
    }
    size_t size = outer->plain_size - outer->plain_at;
    uint8_t *copy = mmi_alloc(size > 0 ? size : 1);
    if (copy == NULL) {
        return MM_ENOMEM;
    }
    memcpy(copy, outer->plain + outer->plain_at, size);
    s->early = (mmi_octets){ .data = copy, .size = size };
    s->failed = outer->failed;
    s->why = outer->why;
    return MM_OK;
}

/* More records of the batch, of these octets.  MM_OK, or as seal. */
static int
shield_seal(struct mmi_link_shield *s, const uint8_t *plain, size_t size)
{
    const mmi_mechanism *m = s->of.mechanism;
    while (size > 0) {
        int rc = shield_reserve(s, m->room(s->of.self, size));
        if (rc != MM_OK) {
            return rc;
        }
        size_t part = size;
        int64_t n = m->seal(s->of.self, plain, &part, s->out + s->out_size);
        if (n == MM_EAGAIN) {
            continue;
        }
        if (n < 0) {
            return (int)n;
        }
        size_t before = s->record_count > 0 ? s->records[s->record_count - 1].plain : 0;
        s->out_size += (size_t)n;
        s->records[s->record_count++] =
            (mmi_link_record){ .plain = before + part, .sealed = s->out_size };
        plain += part;
        size -= part;
    }
    return MM_OK;
}

/* A batch of the beginning of these octets.  Pieces are put together, as a record is sealed from
 * one block; a large piece is sealed where it lies. */
static int
shield_batch(struct mmi_link_shield *s, const mmi_iov *iov, int n)
{
    uint8_t plain[MMI_MECHANISM_RECORD_MAX];   /* it would be a block of each link's */
    size_t record_max = s->of.mechanism->record_max, have = 0, left = MMI_LINK_PLAN_SEALED;
    int rc = MM_OK;
    for (int i = 0; i < n && left > 0 && rc == MM_OK; i++) {
        const uint8_t *at = iov[i].data;
        size_t size = iov[i].size < left ? iov[i].size : left;
        left -= size;
        while (size > 0 && rc == MM_OK) {
            size_t part = size < record_max - have ? size : record_max - have;
            if (part < record_max) {
                memcpy(plain + have, at, part);
                have += part;
            } else {
                rc = shield_seal(s, at, part);
            }
            if (have == record_max) {
                rc = shield_seal(s, plain, have);
                have = 0;
            }
            at += part;
            size -= part;
        }
    }
    return rc == MM_OK && have > 0 ? shield_seal(s, plain, have) : rc;
}

/* Plain octets of the records that were taken whole since it was asked last. */
static size_t
shield_taken(struct mmi_link_shield *s, size_t sent)
{
    size_t before = s->record_next > 0 ? s->records[s->record_next - 1].plain : 0, now = before;
    while (s->record_next < s->record_count && s->records[s->record_next].sealed <= sent) {
        now = s->records[s->record_next++].plain;
    }
    return now - before;
}

/* The last octets there are.  MM_ENOMEM. */
static int
shield_part(struct mmi_link_shield *s)
{
    int rc = s->farewell_now ? shield_reserve(s, MMI_FAREWELL_MAX) : MM_OK;
    if (rc == MM_OK && s->farewell_now) {
        s->out_size += s->of.mechanism->farewell(s->of.self, s->out + s->out_size);
        s->farewell_now = false;
    }
    return rc;
}

int64_t
mmi_link_shield_write(mmi_link *link, const mmi_iov *iov, int n, size_t *total)
{
    struct mmi_link_shield *s = link->shield;
    const mmi_plat *p = &link->engine->plat;
    if (s->out_left == 0) {
        s->out_size = 0;
        s->record_count = s->record_next = 0;
        int rc = shield_batch(s, iov, n);
        rc = rc == MM_OK ? shield_part(s) : rc;
        if (rc != MM_OK) {
            return rc;
        }
        s->out_left = s->out_size;
    }
    size_t before = s->record_next > 0 ? s->records[s->record_next - 1].plain : 0;
    *total = s->record_count > 0 ? s->records[s->record_count - 1].plain - before : 0;
    if (s->out_left > 0) {
        mmi_iov rest = { .data = s->out + (s->out_size - s->out_left), .size = s->out_left };
        int64_t sent = p->writev(p->self, link->stream, &rest, 1);
        if (sent < 0) {
            return sent;
        }
        s->out_left -= (size_t)sent;
    }
    return (int64_t)shield_taken(s, s->out_size - s->out_left);
}

/* What the handshake opened. */
static size_t
shield_early(struct mmi_link_shield *s, uint8_t *out)
{
    size_t size = s->early.size;
    if (size > 0) {
        memcpy(out, s->early.data, size);
    }
    mmi_free((void *)s->early.data);
    s->early = (mmi_octets){ .data = NULL };
    return size;
}

/* Plain octets of these: called without the lock.  s->failed says whether something wrong is behind
 * them, and s->why what it is, also of a mechanism that says nothing. */
static size_t
shield_open(struct mmi_link_shield *s, uint8_t *in, size_t size, uint8_t *out, size_t cap)
{
    size_t early = s->early.data != NULL ? shield_early(s, out) : 0, given = 0;
    if (s->failed == MM_OK) {
        s->why.reason = MM_REASON_CRYPTO;
        s->why.detail[0] = '\0';
        s->failed =
            s->of.mechanism->open(s->of.self, in, size, out + early, cap - early, &given, &s->why);
    }
    given += early;
    s->more = given == cap || s->failed != MM_OK;
    return given;
}

bool
mmi_link_shield_closed(const mmi_link *link)
{
    const struct mmi_link_shield *s = link->shield;
    const mmi_mechanism *m = s != NULL ? s->of.mechanism : NULL;
    return m != NULL && m->closed != NULL && !s->more && s->early.data == NULL &&
           !mmi_link_paused(link) && m->closed(s->of.self);
}

/* The octets are not what the peer sealed: who did is not to be told. */
static void
shield_refused(mmi_link *link)
{
    const mmi_refusal *why = &link->shield->why;
    bool memory = link->shield->failed == MM_ENOMEM;
    mmi_link_close(link, memory ? MM_REASON_MEMORY : why->reason,
                   memory || why->detail[0] == '\0' ? NULL : why->detail);
}

/* Feeds what open has more to give, until the inbox is full; then what is wrong behind it ends the
 * link.  Drops the lock. */
static void
shield_more(mmi_link *link)
{
    struct mmi_link_shield *s = link->shield;
    mmi_engine *e = link->engine;
    while (s->more && mmi_link_lives(link) && !mmi_link_paused(link) && !link->socket->closing) {
        if (s->failed != MM_OK) {
            shield_refused(link);
            return;
        }
        mmi_arena *arena = mmi_arena_new();   /* segments may keep the one before */
        if (arena == NULL) {
            mmi_link_close(link, MM_REASON_MEMORY, NULL);
            return;
        }
        size_t tail = link->tail_size, cap = MMI_IO_BUFFER_SIZE - tail;
        if (tail > 0) {
            memcpy(arena->data, link->tail, tail);
        }
        link->reading = true;
        mmi_engine_unlock(e);
        size_t n = shield_open(s, NULL, 0, arena->data + tail, cap);
        mmi_engine_relock(e);
        link->reading = false;
        mmi_stop_read(link);
        if (n > 0 && mmi_link_lives(link) && !link->socket->closing) {
            link->tail_size = 0;
            mmi_link_feed(link, arena->data, tail + n, arena);
        }
        mmi_arena_unref(arena);
    }
    if (mmi_link_lives(link) && mmi_link_shield_closed(link)) {
        mmi_link_read_ended(link, 0, false);
    }
}

/* Reads and opens while there is much, and room for what it becomes; without the lock.  Octets
 * read, or as readv; *plain: those they gave, from out on.  An error behind some is told the next
 * time. */
static int64_t
shield_fill(mmi_link *link, mmi_iov *in, uint8_t *out, bool once, size_t *plain)
{
    struct mmi_link_shield *s = link->shield;
    const mmi_plat *p = &link->engine->plat;
    size_t cap = (size_t)((uint8_t *)in->data - out), room;
    int64_t n = s->read_error, total = 0;
    s->read_error = 0;
    *plain = 0;
    if (n < 0) {
        return n;
    }
    do {
        n = p->readv(p->self, link->stream, in, 1);
        if (n > 0) {
            *plain += shield_open(s, in->data, (size_t)n, out + *plain, cap - *plain);
            total += n;
        }
        room = cap - *plain;
    } while (n == SHIELD_READ && !once && !s->more && room >= SHIELD_READ + SHIELD_BEFORE);
    s->read_error = total > 0 && n < 0 && n != MM_EAGAIN ? (int)n : 0;
    return total > 0 ? total : n;
}

/* Feeds what lies behind a tail, of which a segment was made already, and what follows. */
static void
shield_feed(mmi_link *link, mmi_arena *arena, mmi_segment_in *segment, uint8_t *buf, size_t size)
{
    link->tail_size = 0;
    if (segment != NULL) {
        mmi_link_segment(link, segment);
    }
    mmi_link_feed(link, buf, size, arena);
    shield_more(link);
}

int64_t
mmi_link_shield_read(mmi_link *link, mmi_arena *arena, bool discard, size_t *offered)
{
    mmi_engine *e = link->engine;
    size_t tail = link->tail_size, plain;
    mmi_iov in = { .data = arena->data + MMI_IO_BUFFER_SIZE - SHIELD_READ, .size = SHIELD_READ };
    if (tail > 0) {
        memcpy(arena->data, link->tail, tail);
    }
    mmi_reader_room room = mmi_link_room(link);
    mmi_segment_in *segment = NULL;
    const uint8_t *buf = arena->data;
    link->reading = true;
    mmi_engine_unlock(e);
    int64_t n = shield_fill(link, &in, arena->data + tail, discard, &plain);
    size_t size = tail + plain;
    if (plain > 0 && room.messages > 0 && !discard) {
        segment = mmi_parser_segment(&link->parser, &buf, &size, room, arena);
    }
    mmi_engine_relock(e);
    link->reading = false;
    mmi_stop_read(link);
    *offered = n > 0 ? ((size_t)n + SHIELD_READ - 1) / SHIELD_READ * SHIELD_READ : SHIELD_READ;
    if (discard || !mmi_link_lives(link) || link->socket->closing) {
        mmi_msg_unref(segment != NULL ? &segment->msg : NULL);
        if (n > 0) {
            link->tail_size = 0;   /* it is in front of what was read */
            mmi_part_read(link, buf, size);
        }
        mmi_part_rest(link);
        n = n > 0 && mmi_link_shield_closed(link) ? 0 : n;
        return discard && link->state != MMI_LINK_DEAD ? n : MM_ECLOSED;
    }
    if (n > 0) {
        link->last_in_ns = e->now_ns;
        shield_feed(link, arena, segment, arena->data + (buf - arena->data), size);
    }
    return n;
}

void
mmi_link_shield_feed(mmi_link *link, uint8_t *buf, size_t size)
{
    struct mmi_link_shield *s = link->shield;
    mmi_engine *e = link->engine;
    if (size == 0 && s->early.data == NULL) {
        return;
    }
    mmi_arena *arena = mmi_arena_new();
    if (arena == NULL) {
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
        return;
    }
    link->reading = true;
    mmi_engine_unlock(e);
    size_t n = shield_open(s, buf, size, arena->data, MMI_IO_BUFFER_SIZE);
    mmi_engine_relock(e);
    link->reading = false;
    mmi_stop_read(link);
    if (!mmi_link_lives(link) || link->socket->closing) {
        mmi_part_rest(link);
    } else {
        shield_feed(link, arena, NULL, arena->data, n);
    }
    mmi_arena_unref(arena);
}

void
mmi_link_shield_resume(mmi_link *link)
{
    if (link->shield != NULL && link->shield->more && !link->reading) {
        shield_more(link);
    }
}
