/*
 * link/stop.c: the end of receiving, without loss: a peer is asked to send nothing more (STOP),
 * hands on what it has not begun, and says when that was all (STOPPED).
 *
 * Not here: what a sender does with its queue (link/leave.c, role/role.h: stop), what is known of
 * all that were asked (link/stopped.c), the call of the user (ends/stop.c).
 * Law: reading goes on until the peer has said so, or was found to be unable to, or time is up;
 * what came until then is given out, and only then is there no more.  Who sends on behind STOPPED
 * breaks the protocol: its connection ends, and says so.  Who has said END owes no answer: that was
 * all.
 */
#include <stdio.h>
#include <string.h>

#include "link/inside.h"

static const uint8_t stop_fence[] = { 'S', 'T', 'O', 'P' };   /* the context of a PING of ours */

/* What it sends all the same may be lost, and nobody here can count that. */
static void
stop_tell(mmi_link *link, int state)
{
    static const char *const why[] = {
        [MM_STOP_CANNOT] = "it knows no way to stop sending",
        [MM_STOP_LATE] = "it had not said by the deadline that it was done",
        [MM_STOP_CANCELLED] = "its subscriptions were cancelled, and it cannot say that it is done",
    };
    char detail[MM_DETAIL_MAX + 1];
    snprintf(detail, sizeof detail, "%s; what is on its way from it may be lost, unknown how many",
             why[state]);
    mmi_link_tell(link, MM_EVENT_PEER_UNREAD, MM_REASON_NONE, detail);
    link->stopping = (uint8_t)state;
}

/* Nothing more is read from it. */
static void
stop_halt(mmi_link *link, int state)
{
    stop_tell(link, state);
    link->halted = true;
    mmi_link_watch(link);
}

/* A publisher that knows no STOP: the subscriptions are cancelled, and when it answers a PING
 * behind that it has read so.  MM_ENOMEM. */
static int
stop_cancel(mmi_link *link)
{
    mmi_socket *s = link->socket;
    int rc = s->ops->cancel(s->state, &link->pipe);
    if (rc == MM_OK && link->wire->beats) {
        uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_PING_CONTEXT_MAX];
        size_t size = link->wire->put_ping(frame, 0, stop_fence, sizeof stop_fence);
        rc = mmi_link_control(link, frame, size);
    }
    if (rc == MM_OK) {
        link->stopping = MM_STOP_CANCELLING;
    }
    if (rc == MM_OK && !link->wire->beats) {
        stop_tell(link, MM_STOP_CANCELLED);
    }
    return rc;
}

void
mmi_stop_ask(mmi_link *link)
{
    if (link->end_came) {
        link->stopping = MM_STOP_STOPPED;
        return;
    }
    int rc = MM_ENOTSUP;
    if (mmi_wire_knows(link->features, "stop")) {
        uint8_t frame[MMI_COMMAND_OVERHEAD];
        rc = mmi_link_control(link, frame, link->wire->put_stop(frame));
        link->stopping = rc == MM_OK ? MM_STOP_ASKED : MM_STOP_NONE;
    } else if (link->wire->tells_topics && link->socket->ops->cancel != NULL) {
        rc = stop_cancel(link);
    }
    if (rc != MM_OK) {
        stop_halt(link, MM_STOP_CANNOT);
    }
}

void
mmi_stop_begin(mmi_link *link)
{
    bool heard = link->state == MMI_LINK_HELLO && link->handshake->wire != NULL;
    if (link->state == MMI_LINK_ACTIVE) {
        mmi_stop_ask(link);
    } else if (mmi_link_is_attempt(link) && !heard) {
        mmi_link_close(link, MM_REASON_LOCAL, NULL);
    }
}

void
mmi_stop_read(mmi_link *link)
{
    if (link->state != MMI_LINK_DEAD && link->socket->host.stopping) {
        mmi_socket_touch(link->socket);
    }
}

bool
mmi_stop_breached(mmi_link *link)
{
    bool breached = link->stopping == MM_STOP_STOPPED;
    if (breached) {
        mmi_link_breach(link, MM_REASON_COMMAND, "a message behind STOPPED");
    }
    return breached;
}

/* Of roles that only answer there is nothing to stop. */
void
mmi_stop_asked(mmi_link *link)
{
    if (link->socket->ops->stop != NULL) {
        link->stopped_due = true;   /* one is owed at a time, so a flood costs nothing */
        mmi_link_stop(link);
        mmi_link_dirty(link);
    }
}

void
mmi_stop_answer(mmi_link *link)
{
    uint8_t frame[MMI_COMMAND_OVERHEAD];
    if (mmi_link_control(link, frame, link->wire->put_stopped(frame)) == MM_OK) {
        link->stopped_due = false;
        mmi_heartbeat_ping(link);   /* its answer confirms what was written */
    }
}

void
mmi_stop_told(mmi_link *link)
{
    if (link->stopping == MM_STOP_ASKED) {
        link->stopping = MM_STOP_STOPPED;
        mmi_socket_touch(link->socket);
    }
}

void
mmi_stop_pong(mmi_link *link, const mmi_command *command)
{
    if (link->stopping == MM_STOP_CANCELLING && command->size == sizeof stop_fence &&
        memcmp(command->data, stop_fence, sizeof stop_fence) == 0) {
        stop_tell(link, MM_STOP_CANCELLED);
        mmi_socket_touch(link->socket);
    }
}

void
mmi_stop_late(mmi_link *link)
{
    if (link->state == MMI_LINK_HELLO) {
        stop_tell(link, MM_STOP_LATE);   /* it may have sent messages behind its READY */
        mmi_link_close(link, MM_REASON_LOCAL, NULL);
    } else if (mmi_stop_waits(link)) {
        stop_halt(link, MM_STOP_LATE);
    }
}
