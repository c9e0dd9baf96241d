/*
 * link/overdue.c: when it is looked whether a peer has had messages for too long (ack_timeout);
 * those go to somebody else.
 *
 * Not here: which they are (queue/overdue.h), what the peer says of them (link/ack.c).
 * Law: nothing is taken back of what is being written at this moment.
 */
#include "link/inside.h"
#include "queue/backlog.h"

enum {
    OVERDUE_STEP = 1024,         /* messages that are taken back in one step */
    OVERDUE_BUSY_MS = 1          /* until the next look, while it is written to */
};
static const uint64_t OVERDUE_NS_PER_MS = 1000000;

static void
overdue_arm(mmi_link *link, uint64_t in_ns)
{
    mmi_engine *e = link->engine;
    if (mmi_timer_set(&e->timers, &link->overdue_timer, e->now_ns + in_ns) != MM_OK) {
        mmi_link_close(link, MM_REASON_MEMORY, NULL); /* so all of it comes back */
    }
}

static uint64_t
overdue_pause_ns(const mmi_link *link)
{
    uint64_t part = link->pipe.unacked->overdue->timeout_ns / MMI_OVERDUE_PART;
    return part > OVERDUE_NS_PER_MS ? part : OVERDUE_NS_PER_MS;
}

void
mmi_overdue_start(mmi_link *link)
{
    if (link->pipe.unacked != NULL && link->pipe.unacked->overdue != NULL) {
        link->overdue_timer.kind = MMI_TIMER_OVERDUE;
        overdue_arm(link, overdue_pause_ns(link));
    }
}

/* How many went to somebody else, up to a step of them; fewer: there are no more, or no memory. */
static uint32_t
overdue_take_back(mmi_link *link)
{
    mmi_unacked *u = link->pipe.unacked;
    mmi_back *back = link->socket->host.back;
    mmi_lane *lane = NULL;
    bool first = true;
    uint32_t count = 0;
    uint64_t number;
    while (count < (uint32_t)OVERDUE_STEP && mmi_link_lives(link) &&
           (number = mmi_overdue_take(u->overdue, &u->acked, link->engine->now_ns)) != 0) {
        if (first) {
            lane = mmi_back_overdue(back, &link->pipe);
            mmi_back_pass_on(back, &link->pipe);
            first = false;
        }
        int rc = mmi_ack_take_back(link, number, 0, &u->overdue->late);
        if (rc == MM_ENOMEM) {
            mmi_link_close(link, MM_REASON_MEMORY, NULL);
            break;
        }
        count += rc == MM_OK;
    }
    if (lane != NULL && mmi_link_lives(link)) {
        mmi_back_hand_over(back, lane);
    }
    return count;
}

void
mmi_overdue_due(mmi_link *link)
{
    mmi_socket *s = link->socket;
    if (s->closing) {
        return; /* nothing is given to others any more */
    }
    if (mmi_tx_is_writing(link)) {
        overdue_arm(link, OVERDUE_BUSY_MS * OVERDUE_NS_PER_MS);
        return;
    }
    mmi_unacked *u = link->pipe.unacked;
    mmi_overdue_look(u->overdue, u->written, link->engine->now_ns);
    /* Who is alone, and takes no more, may still be done with it. */
    uint32_t count = mmi_back_others(s->host.back) ? overdue_take_back(link) : 0;
    if (count > 0) {
        mmi_link_tell_count(
            link, MM_EVENT_ACK_TIMEOUT, MM_REASON_NONE, count,
            "it did not acknowledge in time: its messages go to others (ack_timeout)");
        mmi_socket_note(s, MM_DRAINED);
        mmi_finish_look(s); /* some may be dead letters */
    }
    if (mmi_link_lives(link)) {
        overdue_arm(link, count == (uint32_t)OVERDUE_STEP ? 0 : overdue_pause_ns(link));
    }
}
