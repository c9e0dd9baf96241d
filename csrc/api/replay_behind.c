/*
 * api/replay_behind.c: subscribers that are behind: each has a reader in its turn, and what that
 * reads while its queue has room; where it has come to the live ones, it is one of them.
 *
 * Not here: reading (api/replay_read.c), who is behind (queue/replays.h).
 * Law: as in api/replay.h; no pointer to a subscriber is kept while the engine's lock is not held.
 */
#include "api/replay.h"

#include <string.h>

#include "queue/drop.h"
#include "queue/expiry.h"
#include "socket/socket.h"

static const uint64_t BEHIND_US_PER_MS = 1000;

static void
slot_clear(replay_slot *slot)
{
    mmi_replay_run_drop(&slot->run);
    mmi_spool_reader_close(&slot->reader);
    *slot = (replay_slot){ .reader = { .file = { .file = -1 } } };
}

void
mmi_replay_slots_end(mm_replay *r)
{
    for (size_t i = 0; i < MM_REPLAY_READERS_MAX; i++) {
        if (r->slots[i].pipe_id != 0) {
            slot_clear(&r->slots[i]);
        }
    }
}

static uint64_t
behind_back(uint64_t from, uint64_t count)
{
    return count < from ? from - count : 0;
}

/* From where on it wants messages; what it was heard to have of this spool goes first.  *exact: it
 * is to be told if that is gone. */
static uint64_t
behind_wanted(const mm_replay *r, mmi_replay_node *node, uint64_t end, bool *exact)
{
    *exact = true;
    const mmi_replay *from = &node->from;
    for (uint32_t i = 0; i < from->place_count; i++) {
        if (memcmp(from->places[i].producer, r->shared->spool.uuid, MMI_PRODUCER_SIZE) == 0) {
            return from->places[i].next;
        }
    }
    *exact = from->kind == MMI_REPLAY_SEQ;
    switch (from->kind) {
    case MMI_REPLAY_SEQ: return from->value;
    case MMI_REPLAY_LAST: return behind_back(end, from->value);
    case MMI_REPLAY_SINCE: {
        uint64_t now_us = mmi_thread_wall_us(NULL), most_ms = now_us / BEHIND_US_PER_MS;
        uint64_t ms = from->value < most_ms ? from->value : most_ms;
        node->since_us = behind_back(now_us, ms * BEHIND_US_PER_MS) + 1;
        return 0;
    }
    default: return 0;
    }
}

/* It is told where what it gets begins. */
static void
behind_tell(mm_replay *r, mmi_replay_node *node, uint64_t number)
{
    mmi_pipe *p = node->dist->pipe;
    node->placed = true;
    if (mmi_replay_place_at(mmi_link_of_pipe(p), r->epoch, number) != MM_OK) {
        p->ops->close(p, MM_REASON_MEMORY, NULL);
    }
}

/* Where it begins is found out. */
static void
behind_place(mm_replay *r, mmi_replay_node *node, replay_slot *slot)
{
    mmi_spool_where where;
    mmi_spool_shared_locate(r->shared, 1, &where);
    uint64_t end = node->end, first = where.first < end ? where.first : end;
    bool exact;
    uint64_t wanted = behind_wanted(r, node, end, &exact);
    node->next = wanted < first ? first : wanted > end ? end : wanted;
    slot->removed = exact && wanted > 0 && wanted < first ? first - wanted : 0;
    slot->since_us = node->since_us;
    slot->since_end = end;
    if (node->since_us == 0) {
        behind_tell(r, node, node->next);
    }
}

/* The next one in turn has that slot.  false: there is none. */
static bool
behind_take(mm_replay *r, mmi_replays *all, replay_slot *slot)
{
    mmi_replay_node *node = mmi_replays_waiting(all);
    if (node == NULL) {
        return false;
    }
    node->taken = true;
    slot->pipe_id = node->dist->pipe->id;
    slot->since_us = node->placed ? 0 : node->since_us;
    slot->since_end = node->end;
    if (!node->placed && node->next == 0) {
        behind_place(r, node, slot);
    }
    mmi_spool_reader_open(&slot->reader, &r->shared->files, r->shared->dir, node->next);
    return true;
}

/* One message.  false: its queue has no room. */
static bool
behind_give_one(mm_replay *r, mmi_socket *s, mmi_replay_node *node, mmi_msg *m)
{
    mmi_pipe *p = node->dist->pipe;
    uint64_t number = m->origin.number;
    int rc = mmi_pipe_check(p, m);
    if (!mmi_replays_wants(s->host.replays, node, m)) {
        mmi_msg_unref(m);
    } else if (rc != MM_OK) {
        mmi_drop_of(&s->host, mmi_drop_unsendable(rc), p, m);
        p->ops->left_out(p);
    } else if (mmi_api_sizes(s, m->size, m->frame_count) != MM_OK) { /* as the live ones */
        mmi_drop_of(&s->host, MMI_DROP_TOO_LARGE, p, m);
    } else {
        bool expires = mmi_expires(m);
        if (!mmi_ring_fits(&p->outbox, mmi_msg_cost(m))) {
            return false;
        }
        if (!node->placed) {
            behind_tell(r, node, number);
        }
        if (mmi_pipe_send(p, m) != MM_OK) {
            return false;
        }
        if (expires) {
            mmi_socket_expiring(s);
        }
    }
    node->next = number + 1;
    return true;
}

/* What is gone is told of. */
static void
behind_told(replay_slot *slot, mmi_link *link)
{
    const mmi_lost lost[] = { { MMI_LOST_REMOVED, slot->removed },
                              { MMI_LOST_HARMED, slot->harmed } };
    for (size_t i = 0; i < MMI_COUNT_OF(lost); i++) {
        if (lost[i].count > 0) {
            mmi_replay_tell_lost(link, &lost[i]);
        }
    }
    slot->removed = slot->harmed = 0;
}

/* It goes on no further, once it has all that is in front of that. */
static void
behind_end(replay_slot *slot, mmi_pipe *p)
{
    slot->room = false;
    if (p->outbox.count == 0) {
        mmi_replay_end_harmed(mmi_link_of_pipe(p), slot->failed_first, slot->failed_last);
        slot_clear(slot);
    }
}

/* What was read for it goes to its queue. */
static void
behind_give(mm_replay *r, mmi_socket *s, replay_slot *slot)
{
    mmi_replays *all = s->host.replays;
    replay_run *run = &slot->run;
    mmi_replay_node *node = mmi_replays_find(all, slot->pipe_id);
    if (node == NULL) {
        slot_clear(slot);
        return;
    }
    behind_told(slot, mmi_link_of_pipe(node->dist->pipe));
    slot->room = true;
    while (run->given < run->count && slot->room) {
        slot->room = behind_give_one(r, s, node, run->messages[run->given]);
        run->given += slot->room;
    }
    if (run->given < run->count) {
        if (mmi_replays_waiting(all) != NULL) { /* others need the reader more */
            mmi_replays_yield(all, node);
            slot_clear(slot);
        }
        return;
    }
    if (slot->failed_last > 0) {
        behind_end(slot, node->dist->pipe);
        return;
    }
    node->next = slot->reader.next_seq > node->next ? slot->reader.next_seq : node->next;
    slot->room = node->next < all->next;
    if (node->next == all->next) {
        if (!node->placed) {
            behind_tell(r, node, all->next);
        }
        mmi_replays_live(all, node);
        mmi_socket_note(s, MM_DRAINED);
        slot_clear(slot);
    }
}

/* All of it that needs the engine's lock.  The number of the next message of the live ones; 0: the
 * socket is gone. */
static uint64_t
behind_round(mm_replay *r)
{
    mmi_socket *s;
    if (mmi_api_enter_last(r->socket, &s) != MM_OK) {
        return 0;
    }
    mmi_replays *all = s->host.replays;
    uint64_t live = all->next, reading = 0;
    for (size_t i = 0; i < MM_REPLAY_READERS_MAX; i++) {
        replay_slot *slot = &r->slots[i];
        if (slot->pipe_id != 0) {
            behind_give(r, s, slot);
        }
        slot->room |= slot->pipe_id == 0 && behind_take(r, all, slot);
        reading += slot->pipe_id != 0;
    }
    uint64_t behind = 0;
    MMI_LIST_EACH (&all->behind, node, after) {
        behind++;
    }
    pthread_mutex_lock(&r->lock);
    r->counts.behind = behind;
    r->counts.reading = reading;
    pthread_mutex_unlock(&r->lock);
    (void)mmi_api_leave(s, MM_OK);
    return live;
}

/* What is too old it need not read: files of which all is. */
static void
behind_seek(mm_replay *r, replay_slot *slot)
{
    if (slot->since_us > 0 && !slot->sought) {
        uint64_t seq = mmi_spool_shared_since(r->shared, slot->since_us);
        slot->sought = true;
        seq = seq < slot->since_end ? seq : slot->since_end;
        if (seq > slot->reader.next_seq) {
            mmi_spool_reader_seek(&slot->reader, seq);
        }
    }
}

bool
mmi_replay_behind(mm_replay *r, int *rc)
{
    uint64_t live = behind_round(r);
    bool more = false;
    for (size_t i = 0; i < MM_REPLAY_READERS_MAX && live > 0; i++) {
        replay_slot *slot = &r->slots[i];
        if (slot->pipe_id == 0 || !slot->room || slot->run.given < slot->run.count) {
            continue;
        }
        replay_gone gone;
        behind_seek(r, slot);
        uint64_t first = slot->reader.next_seq;
        const replay_want want = { live, slot->since_us, slot->since_end };
        int read = mmi_replay_read(r, &slot->reader, &slot->run, &want, &gone);
        slot->removed += gone.removed;
        slot->harmed += gone.harmed;
        if (read == MM_ENOMEM) {
            *rc = MM_ENOMEM;
            continue;
        }
        if (read < 0) {
            slot->failed_first = first;
            slot->failed_last = gone.last;
        }
        more = true;
    }
    return more;
}
