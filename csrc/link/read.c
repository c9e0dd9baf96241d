/*
 * link/read.c: octets of a link from its stream into memory, without the engine's lock.
 *
 * Not here: what becomes of them (link/rx.c).  Law: one thread at a time reads a link; no more than
 * MMI_LINK_STEP_BYTES before others get their turn; nothing is read while the inbox is full.
 */
#include <string.h>

#include "link/inside.h"
#include "link/shield.h"

enum {
    READ_UNDER_LOCK_MAX = 4 * 1024   /* bytes that are sooner parsed than the lock is dropped */
};

mmi_arena *
mmi_link_arena(mmi_engine *e)
{
    if (mmi_arena_shared(e->arena)) {
        mmi_arena *fresh = mmi_arena_new();
        if (fresh == NULL) {
            return NULL;
        }
        mmi_arena_unref(e->arena);
        e->arena = fresh;
    }
    return e->arena;
}

/* A closing link: nobody is to have what still arrives, but the peer lives. */
static int64_t
read_discard(mmi_link *link, mmi_arena *arena, size_t *offered)
{
    mmi_engine *e = link->engine;
    mmi_iov iov = { .data = arena->data, .size = MMI_IO_BUFFER_SIZE };
    *offered = iov.size;
    int64_t n = e->plat.readv(e->plat.self, link->stream, &iov, 1);
    if (n > 0) {
        mmi_part_read(link, arena->data, (size_t)n);
    }
    return n;
}

/* It was read when the link was closed: not given out, but not missed either. */
static void
read_late(mmi_link *link, const uint8_t *buf, size_t size, size_t into_body)
{
    if (into_body > 0) {
        mmi_parser_filled(&link->parser, into_body);
    }
    link->tail_size = 0;   /* it is in front of what was read */
    mmi_part_read(link, buf, size);
}

/* Whole messages and commands where the peer has them; what there is no room for stays there.
 * The lock is dropped for the making of the segment that most of it becomes. */
static int64_t
read_lent(mmi_link *link, const mmi_iov *piece)
{
    mmi_engine *e = link->engine;
    const uint8_t *buf = piece->data;
    size_t size = piece->size;
    mmi_reader_room room = mmi_link_room(link);
    mmi_segment_in *segment = NULL;
    if (size > READ_UNDER_LOCK_MAX && room.messages > 0) {
        link->reading = true;
        mmi_engine_unlock(e);
        segment = mmi_parser_segment(&link->parser, &buf, &size, room, NULL);
        mmi_engine_relock(e);
        link->reading = false;
    }
    if (!mmi_link_lives(link) || link->socket->closing) {
        mmi_msg_unref(segment != NULL ? &segment->msg : NULL);
        mmi_part_rest(link);
        return MM_ECLOSED;
    }
    link->last_in_ns = e->now_ns;
    if (segment != NULL) {
        mmi_link_segment(link, segment);
    } else {
        mmi_link_eat(link, &buf, &size, NULL);
    }
    e->plat.consume(e->plat.self, link->stream, piece->size - size);
    return mmi_link_lives(link) ? (int64_t)(piece->size - size) : MM_ECLOSED;
}

/* One read: into an unfinished large body first, the rest into the arena.  The lock is dropped for
 * it, and for the making of the segment that most of it becomes.  MM_ECLOSED: the link is no longer
 * active. */
static int64_t
read_once(mmi_link *link, mmi_arena *arena, size_t *offered)
{
    mmi_engine *e = link->engine;
    mmi_iov iov[2];
    int count = 0;
    uint8_t *area;
    size_t tail = link->tail_size;
    size_t direct = mmi_parser_direct(&link->parser, &area);
    if (direct > 0) {
        iov[count++] = (mmi_iov){ .data = area, .size = direct };
    } else if (link->shared && tail == 0) {
        *offered = 0;   /* there may be more, and it costs little to look */
        int rc = e->plat.borrow(e->plat.self, link->stream, &iov[0]);
        if (rc != MM_ENOTSUP) {
            return rc == MM_OK ? read_lent(link, &iov[0]) : rc;
        }
    }
    if (tail > 0) {
        memcpy(arena->data, link->tail, tail);
    }
    if (direct == 0 || !link->shared) {
        iov[count++] = (mmi_iov){ .data = arena->data + tail, .size = MMI_IO_BUFFER_SIZE - tail };
    }
    *offered = link->shared ? 0 : direct + MMI_IO_BUFFER_SIZE - tail;
    mmi_reader_room room = mmi_link_room(link);
    link->reading = true;
    mmi_engine_unlock(e);
    int64_t n = e->plat.readv(e->plat.self, link->stream, iov, count);
    mmi_segment_in *segment = NULL;
    const uint8_t *buf = arena->data;
    size_t into_body = n > 0 && (uint64_t)n > direct ? direct : n > 0 ? (size_t)n : 0;
    size_t size = n > 0 ? tail + (size_t)n - into_body : 0;
    if (into_body == 0 && size > 0 && room.messages > 0) {
        segment = mmi_parser_segment(&link->parser, &buf, &size, room, arena);
    }
    mmi_engine_relock(e);
    link->reading = false;
    mmi_stop_read(link);
    if (!mmi_link_lives(link) || link->socket->closing) {
        mmi_msg_unref(segment != NULL ? &segment->msg : NULL);
        if (n > 0) {
            read_late(link, buf, size, into_body);
        }
        mmi_part_rest(link);
        return MM_ECLOSED;
    }
    if (n <= 0) {
        return n;
    }
    link->last_in_ns = e->now_ns;
    if (into_body > 0) {
        mmi_parser_filled(&link->parser, into_body);
    }
    link->tail_size = 0;
    if (segment != NULL) {
        mmi_link_segment(link, segment);
    }
    mmi_link_feed(link, arena->data + (buf - arena->data), size, arena);
    return n;
}

void
mmi_link_readable(mmi_link *link)
{
    size_t total = 0;
    if (link->reading) {
        return;
    }
    while (link->state != MMI_LINK_DEAD && !mmi_tx_ends(link) && !mmi_link_paused(link) &&
           total < MMI_LINK_STEP_BYTES) {
        if (total > 0) {   /* there is much: who takes messages does so beside this read */
            mmi_socket_update_early(link->socket);
            mmi_lead_busy(link->engine);   /* though its wait brought few, if they are large */
        }
        bool discard = link->socket->closing || mmi_link_finishes(link);
        mmi_arena *arena = mmi_link_arena(link->engine);
        if (arena == NULL) {
            mmi_link_close(link, MM_REASON_MEMORY, NULL);
            return;
        }
        size_t offered;
        int64_t n = link->shield != NULL ? mmi_link_shield_read(link, arena, discard, &offered)
                    : discard            ? read_discard(link, arena, &offered)
                                         : read_once(link, arena, &offered);
        if (n == MM_EAGAIN || n == MM_ECLOSED) {
            break;   /* closing: poll tells again, and what comes is then discarded */
        }
        if (n <= 0) {
            mmi_link_read_ended(link, n, discard);
            return;
        }
        total += (size_t)n;
        if ((size_t)n < offered) {
            break;   /* most likely all there was; poll is level-triggered */
        }
    }
    link->reads_little = total < MMI_SMALL_READ;
    mmi_link_watch(link);
}
