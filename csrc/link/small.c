/*
 * link/small.c: what is little, written or read for several links with the lock dropped once.
 */
#include "link/inside.h"

#include <string.h>

_Static_assert(MMI_SMALL_LINKS *MMI_SMALL_READ <= MMI_IO_BUFFER_SIZE, "an arena has all pieces");

/* All it has to write is one entry of its outbox, from the beginning, and that is small. */
static bool
write_fits(const mmi_link *link)
{
    const mmi_ring *out = &link->pipe.outbox;
    return link->state == MMI_LINK_ACTIVE && !mmi_link_stilled(link) &&
           link->tx.state != MMI_TX_WRITING && link->tx.then == 0 && !link->shared &&
           link->shield == NULL && !link->pong_due && link->command_size == 0 &&
           link->command_out_size == 0 && link->msg_offset == 0 && out->slot_count == 1 &&
           mmi_ring_at(out, 0)->meta == NULL && mmi_replay_before(link, mmi_ring_at(out, 0)) == 0 &&
           out->bytes <= (size_t)MMI_SMALL_WRITE && !mmi_ack_due(link);
}

/* The octets of that entry, which everybody who was sent the same message has.  false: too many. */
static bool
write_encode(mmi_small_write *one, const mmi_small_write *before)
{
    const mmi_framing *f = one->link->pipe.framing;
    mmi_msg *m = mmi_ring_at(&one->link->pipe.outbox, 0);
    one->front = m;
    if (before != NULL && before->front == m && before->link->pipe.framing == f) {
        one->octets = before->octets;
        one->write = before->write;
        return true;
    }
    const mmi_segment_out *segment = mmi_segment_out_of(m);
    size_t cost;
    one->octets = one->own;
    one->write.full = false;
    one->write.total = segment != NULL ? segment->used - segment->first : f->size(f, m, &cost);
    if (one->write.total > sizeof one->own) {
        return false;
    }
    if (segment != NULL) {
        memcpy(one->own, segment->data + segment->first, one->write.total);
    } else {
        f->put(f, m, one->own);
    }
    return true;
}

bool
mmi_small_writes_add(mmi_small_writes *all, mmi_link *link)
{
    if (all->count == MMI_SMALL_LINKS || !write_fits(link)) {
        return false;
    }
    mmi_small_write *one = &all->at[all->count];
    one->link = link;
    one->stream = link->stream;
    one->written_before = link->written;
    mmi_unacked *u = link->pipe.unacked;
    if (!write_encode(one, all->count > 0 ? one - 1 : NULL) ||
        (u != NULL && mmi_unacked_reserve(u, 1) != MM_OK) || !mmi_link_write_begin(link)) {
        return false;
    }
    link->pipe.pinned = 1;
    all->count++;
    return true;
}

void
mmi_small_writes_run(mmi_small_writes *all, mmi_engine *e)
{
    const mmi_plat *p = &e->plat;
    uint64_t began_ns = e->now_ns;   /* what comes from here on answers it: see flush_due */
    mmi_engine_unlock(e);
    for (uint32_t i = 0; i < all->count; i++) {
        mmi_small_write *one = &all->at[i];
        const mmi_iov iov = { .data = (void *)one->octets, .size = one->write.total };
        one->write.n = p->writev(p->self, one->stream, &iov, 1);
    }
    mmi_engine_relock(e);
    for (uint32_t i = 0; i < all->count; i++) {   /* of all, before the lock is dropped again */
        mmi_small_write *one = &all->at[i];
        one->write.n = mmi_link_write_took(one->link, MMI_LINK_ACTIVE, one->write.n);
        one->write.at_ns = began_ns;
    }
    for (uint32_t i = 0; i < all->count; i++) {
        mmi_link_write_on(all->at[i].link, all->at[i].write, all->at[i].written_before);
    }
    all->count = 0;
}

/* It is read by itself when there was much last time, or the rest of something begun is to come. */
static bool
read_fits(mmi_link *link)
{
    uint8_t *area;
    return mmi_link_lives(link) && !link->socket->closing && !link->reading && !link->shared &&
           link->reads_little && link->tail_size == 0 && !mmi_link_paused(link) &&
           link->shield == NULL && mmi_parser_direct(&link->parser, &area) == 0;
}

bool
mmi_small_reads_add(mmi_small_reads *all, mmi_link *link)
{
    if (all->count == MMI_SMALL_LINKS || !read_fits(link)) {
        return false;
    }
    link->reading = true;
    all->link[all->count] = link;
    all->stream[all->count] = link->stream;
    all->count++;
    return true;
}

/* What a link read.  true: there may be more. */
static bool
read_took(mmi_link *link, uint8_t *buf, int64_t n, mmi_arena *arena)
{
    if (!mmi_link_lives(link) || link->socket->closing) {
        if (n > 0) {
            mmi_part_read(link, buf, (size_t)n);
        }
        return false;   /* closing: poll tells again, and what comes is then discarded */
    }
    if (n > 0) {
        link->last_in_ns = link->engine->now_ns;
        mmi_link_feed(link, buf, (size_t)n, arena);
    } else if (n != MM_EAGAIN) {
        mmi_link_read_ended(link, n, false);
    }
    link->reads_little = n < MMI_SMALL_READ;
    return !link->reads_little;
}

/* Reads into pieces of the arena, and makes messages of all before the arena is read into again. */
static void
reads_into(mmi_small_reads *all, mmi_engine *e, mmi_arena *arena)
{
    const mmi_plat *p = &e->plat;
    mmi_engine_unlock(e);
    for (uint32_t i = 0; i < all->count; i++) {
        const mmi_iov iov = { .data = arena->data + (size_t)i * MMI_SMALL_READ,
                              .size = MMI_SMALL_READ };
        all->n[i] = p->readv(p->self, all->stream[i], &iov, 1);
    }
    mmi_engine_relock(e);
    for (uint32_t i = 0; i < all->count; i++) {
        uint8_t *buf = arena->data + (size_t)i * MMI_SMALL_READ;
        all->more[i] = read_took(all->link[i], buf, all->n[i], arena);
    }
}

void
mmi_small_reads_run(mmi_small_reads *all, mmi_engine *e)
{
    mmi_arena *arena = mmi_link_arena(e);
    if (arena != NULL) {
        reads_into(all, e, arena);
    }
    for (uint32_t i = 0; i < all->count; i++) {
        mmi_link *link = all->link[i];
        link->reading = false;
        if (link->state == MMI_LINK_PARTING) {
            mmi_part_rest(link);
        }
        mmi_stop_read(link);
        if (arena == NULL || all->more[i]) {
            mmi_link_readable(link);   /* which says so if there is no memory */
        } else if (link->state != MMI_LINK_DEAD) {
            mmi_link_watch(link);
        }
    }
    all->count = 0;
}
