/*
 * link/tx.c: who writes a link and when: the states and events of link/tx.h, and what decides.
 *
 * Not here: the writes themselves (link/write.c, link/small.c), the settle and the rounds that call
 * them (sched/flush.c).
 * Law: as in link/tx.h; nothing is written or ended here, and the lock is not dropped.
 */
#include <string.h>

#include "link/inside.h"

/* Sends closer than this to a write are a burst: to a write of the same link; or of any link of a
 * socket whose messages go to whoever it has, as else two peers in turn would make none.  What
 * answers something that came since is none: a quick exchange of questions and answers.  An ACK is
 * answered only by who waited for all he sent: else a fast sender would write each message by
 * itself, as there is always an ACK of the one before. */
static const uint64_t TX_BURST_NS = 20000;

#ifdef MMI_CHECKED
#define TX_CHANGED(link) mmi_tx_invariants(link)
#else
#define TX_CHANGED(link) ((void)0)
#endif

mmi_tx_next
mmi_tx_decide(mmi_tx_look in)
{
    if (!in.whole || in.ends) {
        return MMI_TX_NEXT_END;
    }
    if (in.paced && !in.full && !in.finishes && !in.worth) {
        return MMI_TX_NEXT_ROUND;
    }
    return in.pending && in.rounds ? MMI_TX_NEXT_WRITE : MMI_TX_NEXT_END;
}

void
mmi_tx_init(mmi_link *link)
{
    mmi_list_init(&link->tx.due);
    mmi_list_init(&link->tx.paced);
}

void
mmi_tx_fini(mmi_link *link)
{
    mmi_free(link->tx.detail);
}

void
mmi_link_dirty(mmi_link *link)
{
    if (link->state != MMI_LINK_DEAD && !mmi_list_linked(&link->tx.due)) {
        mmi_list_push_back(&link->engine->dirty, &link->tx.due);
    }
    TX_CHANGED(link);
}

bool
mmi_link_flush_worth(const mmi_link *link)
{
    const mmi_ring *out = &link->pipe.outbox;
    return out->bytes >= MMI_LINK_WORTH_BYTES || out->count >= out->count_max / 2;
}

void
mmi_tx_queued(mmi_pipe *p)
{
    mmi_link *link = MMI_CONTAINER_OF(p, mmi_link, pipe);
    if (mmi_link_polled_for_room(link)) {
        return;   /* poll tells when there is some */
    }
    if (!mmi_tx_is_paced(link) || mmi_link_flush_worth(link)) {
        mmi_link_dirty(link); /* in a burst the runner writes soon, until there is a good deal */
    }
}

static uint64_t
tx_flushed_ns(const mmi_link *link)
{
    return link->socket->segments ? link->socket->last_flush_ns : link->tx.flushed_ns;
}

static bool
tx_answers(const mmi_link *link)
{
    const mmi_unacked *u = link->pipe.unacked;
    return link->last_in_ns > link->tx.asked_ns && (u == NULL || mmi_unacked_count(u) == 0);
}

bool
mmi_link_flush_due(const mmi_link *link, uint64_t now_ns)
{
    const mmi_tx *tx = &link->tx;
    return (tx->then & (MMI_TX_RESUME | MMI_TX_PART | MMI_TX_CLOSE)) != 0 ||
           link->socket->closing || mmi_link_leaves(link) || mmi_link_flush_worth(link) ||
           (!mmi_tx_is_paced(link) &&
            (now_ns - tx_flushed_ns(link) >= TX_BURST_NS || tx_answers(link)));
}

bool
mmi_link_round_due(const mmi_link *link, uint64_t now_ns)
{
    return !link->shared || mmi_link_flush_worth(link) ||
           now_ns - link->tx.flushed_ns >= (uint64_t)MMI_PACE_US * 1000;
}

void
mmi_tx_pace(mmi_link *link)
{
    if (!mmi_tx_is_paced(link)) {
        mmi_list_push_back(&link->engine->bursts, &link->tx.paced);
    }
    TX_CHANGED(link);
}

void
mmi_tx_unpace(mmi_link *link)
{
    mmi_list_rm(&link->tx.paced);
    TX_CHANGED(link);
}

bool
mmi_tx_begin(mmi_link *link)
{
    bool begins = link->tx.state != MMI_TX_WRITING;
    link->tx.state = MMI_TX_WRITING;
    TX_CHANGED(link);
    return begins;
}

void
mmi_tx_end(mmi_link *link)
{
    MMI_ASSERT(link->tx.state == MMI_TX_WRITING);
    link->tx.state = MMI_TX_IDLE;
    TX_CHANGED(link);
}

void
mmi_tx_block(mmi_link *link)
{
    MMI_ASSERT(link->tx.state == MMI_TX_IDLE);
    if (link->state != MMI_LINK_DEAD) {
        link->tx.state = MMI_TX_BLOCKED;
    }
    TX_CHANGED(link);
}

void
mmi_tx_flushed(mmi_link *link, uint64_t asked_ns)
{
    link->tx.flushed_ns = link->socket->last_flush_ns = link->engine->now_ns;
    link->tx.asked_ns = asked_ns;
}

void
mmi_tx_then(mmi_link *link, uint32_t what)
{
    link->tx.then |= what;
    TX_CHANGED(link);
}

bool
mmi_tx_take(mmi_link *link, uint32_t what)
{
    bool asked = (link->tx.then & what) != 0;
    link->tx.then &= ~what;
    TX_CHANGED(link);
    return asked;
}

void
mmi_link_doom(mmi_link *link, uint32_t how, int reason, const char *detail)
{
    mmi_tx *tx = &link->tx;
    if (!mmi_tx_ends(link)) {
        size_t size = detail != NULL ? strlen(detail) + 1 : 0;
        tx->then |= how;
        tx->reason = reason;
        mmi_free(tx->detail); /* of why it was parted */
        tx->detail = size > 0 ? mmi_alloc(size) : NULL;
        if (tx->detail != NULL) {
            memcpy(tx->detail, detail, size);
        }
    } else if (how == MMI_TX_CLOSE) {
        tx->then = (tx->then & ~(uint32_t)MMI_TX_PART) | MMI_TX_CLOSE;
    }
    TX_CHANGED(link);
}

void
mmi_tx_part(mmi_link *link)
{
    link->tx.then &= ~(uint32_t)(MMI_TX_RESUME | MMI_TX_PART | MMI_TX_CLOSE);
    link->tx.reason = 0;
    TX_CHANGED(link);
}

void
mmi_tx_close(mmi_link *link)
{
    mmi_list_rm(&link->tx.due);
    mmi_list_rm(&link->tx.paced);
    if (link->tx.state == MMI_TX_BLOCKED) {
        link->tx.state = MMI_TX_IDLE;
    }
    TX_CHANGED(link);
}

mmi_link *
mmi_tx_pop_due(mmi_engine *e, bool last)
{
    mmi_list *node = last ? mmi_list_pop_back(&e->dirty) : mmi_list_pop_front(&e->dirty);
    return node != NULL ? mmi_tx_of_due(node) : NULL;
}

void
mmi_tx_put_back(mmi_link *link, bool last)
{
    if (last) {
        mmi_list_push_back(&link->engine->dirty, &link->tx.due);
    } else {
        mmi_list_push_front(&link->engine->dirty, &link->tx.due);
    }
    TX_CHANGED(link);
}

void
mmi_tx_invariants(const mmi_link *link)
{
    const mmi_tx *tx = &link->tx;
    bool dead = link->state == MMI_LINK_DEAD;
    uint32_t ends = tx->then & (MMI_TX_PART | MMI_TX_CLOSE);
    MMI_ASSERT(!dead || (!mmi_list_linked(&tx->due) && !mmi_tx_is_paced(link)));
    MMI_ASSERT(!dead || tx->state != MMI_TX_BLOCKED);
    MMI_ASSERT(ends != (MMI_TX_PART | MMI_TX_CLOSE)); /* one way or the other */
    MMI_ASSERT((ends != 0) == (tx->reason != 0));
    MMI_ASSERT(tx->state != MMI_TX_WRITING || link->state != MMI_LINK_CONNECTING);
}
