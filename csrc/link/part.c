/*
 * link/part.c: an end of our own making, of which the peer may still read all that was written.
 *
 * FIN, not a reset: a peer that is reset loses what its system holds, and a libzmq reader that is
 * busy loses it at the first PONG it sends to who is gone.  So the stream is kept and read until
 * the peer closes it.  Law: such a link is no peer any more; of what still comes, only PONGs count,
 * which take from what is in doubt.  It stays until the peer closes, its machine is gone, or it has
 * read no further for MMI_PART_MS, as far as its PONGs and the system tell; but no longer than
 * MMI_PART_LIFE_MS, and not beside MMI_PARTING_MAX younger ones.  So the peer decides neither how
 * long nor how many.  What it has not confirmed by then stays in doubt.
 */
#include "link/inside.h"

static const uint64_t PART_NS_PER_MS = 1000000;

/* A PING is not answered: that would be a receipt for messages that are thrown away here.  No
 * message is put together: a peer that hangs in the midst of a large one would keep its memory. */
static void
part_glean(mmi_link *link, const uint8_t *buf, size_t size)
{
    mmi_input input;
    link->deaf |= !mmi_parser_skip(&link->parser);
    while (!link->deaf && (link->state == MMI_LINK_PARTING || link->state == MMI_LINK_ACTIVE)) {
        int rc = mmi_parser_next(&link->parser, &buf, &size, &input);
        if (rc == 0) {
            return;
        }
        link->deaf = rc < 0;
        if (rc > 0 && input.command.kind == MMI_COMMAND_PONG) {
            mmi_heartbeat_pong(link, &input.command);
        }
        bool settles = rc > 0 && (input.command.kind == MMI_COMMAND_ACK ||
                                  input.command.kind == MMI_COMMAND_NACK);
        if (settles && link->state == MMI_LINK_ACTIVE) {
            mmi_ack_came(link, &input.command);   /* what waits for credit goes out */
        }
    }
}

void
mmi_part_read(mmi_link *link, const uint8_t *buf, size_t size)
{
    link->last_in_ns = link->engine->now_ns;
    part_glean(link, buf, size);
}

void
mmi_part_rest(mmi_link *link)
{
    if (link->reading) {
        return;   /* who reads has it, and what comes behind it: it calls this again */
    }
    part_glean(link, NULL, 0);
    if (link->unread != NULL) {
        part_glean(link, link->unread + link->unread_used, link->unread_size - link->unread_used);
        mmi_link_unread_drop(link);
    }
    if (link->tail_size > 0) {
        part_glean(link, link->tail, link->tail_size);
        link->tail_size = 0;
    }
}

static void
part_again(mmi_link *link)
{
    mmi_engine *e = link->engine;
    uint64_t next = mmi_deadline(e->now_ns, MMI_HEARTBEAT_INTERVAL_MS);
    if (mmi_timer_set(&e->timers, &link->timer, next) != MM_OK) {
        mmi_link_close(link, MM_REASON_LOCAL, NULL);
    }
}

void
mmi_part_yield(mmi_engine *e)
{
    if (!mmi_list_empty(&e->parting)) {
        mmi_link *oldest = MMI_CONTAINER_OF(e->parting.next, mmi_link, parted);
        mmi_part_end(oldest);
        /* Not at once: who asks walks over links. */
        mmi_link_doom(oldest, MMI_TX_CLOSE, MM_REASON_LOCAL, NULL);
        mmi_link_dirty(oldest);
    }
}

void
mmi_part_begin(mmi_link *link)
{
    mmi_engine *e = link->engine;
    if (link->msg_offset > 0 || link->cut) { /* nothing goes in the midst of it */
        link->msg_offset = 0;
        mmi_link_commands_end(link);
        link->command_size = 0;
    }
    mmi_link_leave_place(link); /* a successor may come: here others count, MMI_PARTING_MAX */
    mmi_tx_part(link);   /* that is done: whoever dooms it from now on wants it closed */
    link->pong_due = link->stopped_due = link->hung = link->halted = false;
    link->silence.owed_ns = 0;
    link->silence.moved_ns = link->parted_ns = e->now_ns;
    mmi_list_push_back(&e->parting, &link->parted);
    if (++e->parting_count > MMI_PARTING_MAX) {
        mmi_part_yield(e);
    }
    mmi_part_rest(link);
    part_again(link);
    mmi_link_dirty(link);
    mmi_link_watch(link);
}

void
mmi_link_part(mmi_link *link, int reason, const char *detail)
{
    if (link->state == MMI_LINK_ACTIVE && mmi_tx_is_writing(link)) {
        mmi_link_doom_written(link, MMI_TX_PART, reason, detail);   /* its writer does it */
        return;
    }
    if (link->state != MMI_LINK_ACTIVE) {
        if (link->state != MMI_LINK_PARTING) {
            mmi_link_close(link, reason, detail);
        }
        return;
    }
    if (link->msg_offset == 0 && link->sealed_left == 0 && !link->socket->closing) {
        mmi_heartbeat_last(link);
    }
    mmi_link_end(link, MMI_LINK_PARTING, reason, detail);
    mmi_part_begin(link);
    mmi_link_release_dialer(link, reason);
}

void
mmi_link_end_doomed(mmi_link *link)
{
    const mmi_tx *tx = &link->tx;
    if ((tx->then & MMI_TX_PART) != 0) {
        mmi_link_part(link, tx->reason, tx->detail);
    } else if (tx->reason == MM_REASON_RESET) {
        mmi_link_reset(link);
    } else {
        mmi_link_close(link, tx->reason, tx->detail);
    }
}

void
mmi_part_due(mmi_link *link)
{
    mmi_engine *e = link->engine;
    mmi_silence *s = &link->silence;
    mmi_transit t;
    e->plat.transit(e->plat.self, link->stream, 0, &t);
    s->moved_ns = t.untaken < s->untaken ? e->now_ns : s->moved_ns;
    s->untaken = t.untaken;
    bool still = t.owed && s->owed_ns != 0; /* as at the last look */
    s->owed_ns = t.owed ? e->now_ns : 0;
    if ((still && t.heard_ns >= MMI_HEARTBEAT_TIMEOUT_MS * PART_NS_PER_MS) ||
        e->now_ns - s->moved_ns >= MMI_PART_MS * PART_NS_PER_MS ||
        e->now_ns - link->parted_ns >= MMI_PART_LIFE_MS * PART_NS_PER_MS) {
        mmi_link_close(link, MM_REASON_LOCAL, NULL);
        return;
    }
    part_again(link);
}
