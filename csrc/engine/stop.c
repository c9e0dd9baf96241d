/*
 * stop.c: the end of receiving, without loss: peers are asked to send nothing more (STOP), hand on
 * what they have not begun, and say when that was all (STOPPED).
 *
 * Not here: what a sender does with its queue (link/leave.c, role/role.h: stop).
 * Law: reading goes on until the peer has said so, or was found to be unable to, or time is up;
 * what came until then is given out, and only then is there no more.  Who sends on behind STOPPED
 * breaks the protocol: its connection ends, and says so.  What became of a peer that was asked is
 * known as long as the socket is there, also when its connection has ended: one by one of
 * MMI_STOP_ENDED_MAX of those; how many more had not answered is counted.
 */
#include <stdio.h>
#include <string.h>

#include "wire/zmtp/hello.h"
#include "link/link.h"

static const uint8_t stop_fence[] = { 'S', 'T', 'O', 'P' };   /* the context of a PING of ours */

/* A peer that was asked, and whose connection ended since. */
typedef struct stop_ended {
    mmi_list node;
    uint64_t id;
    int state;
    char address[];
} stop_ended;

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
    snprintf(detail, sizeof detail,
             "%s; what is on its way from it may be lost, unknown how many", why[state]);
    mmi_socket_event(link->socket, MM_EVENT_PEER_UNREAD, MM_REASON_NONE, link->pipe.id, 1,
                     link->endpoint, link->address, detail);
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
    if (rc == MM_OK && link->minor > 0) {
        uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_PING_CONTEXT_MAX];
        size_t size = mmi_command_put_ping(frame, 0, stop_fence, sizeof stop_fence);
        rc = mmi_link_control(link, frame, size);
    }
    if (rc == MM_OK) {
        link->stopping = MM_STOP_CANCELLING;
    }
    if (rc == MM_OK && link->minor == 0) {
        stop_tell(link, MM_STOP_CANCELLED);
    }
    return rc;
}

void
mmi_stop_ask(mmi_link *link)
{
    int rc = MM_ENOTSUP;
    if (!mmi_link_sp(link) && mmi_hello_knows(link->features, "stop")) {
        uint8_t frame[MMI_COMMAND_OVERHEAD];
        rc = mmi_link_control(link, frame, mmi_command_put_stop(frame));
        link->stopping = rc == MM_OK ? MM_STOP_ASKED : MM_STOP_NONE;
    } else if (!mmi_link_sp(link) && link->socket->ops->cancel != NULL) {
        rc = stop_cancel(link);
    }
    if (rc != MM_OK) {
        stop_halt(link, MM_STOP_CANNOT);
    }
}

/* No more peers come: nobody listens or dials. */
static void
stop_arrivals(mmi_socket *s)
{
    MMI_LIST_EACH(&s->listeners, node, after) {
        mmi_listener_close(MMI_CONTAINER_OF(node, mmi_listener, node));
    }
    MMI_LIST_EACH(&s->dialers, node, after) {
        mmi_dialer *d = MMI_CONTAINER_OF(node, mmi_dialer, node);
        if (d->link != NULL) {
            d->link->dialer = NULL;
            d->link = NULL;
        }
        mmi_dialer_close(d);
    }
}

int
mmi_socket_stop(mmi_socket *s, uint64_t deadline_ns)
{
    if (!s->host.stopping) {
        s->host.stopping = true;
        stop_arrivals(s);
        MMI_LIST_EACH(&s->links, node, after) {   /* who has heard nothing of us is no peer */
            mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
            if (link->state == MMI_LINK_ACTIVE) {
                mmi_stop_ask(link);
            } else if (link->state == MMI_LINK_CONNECTING ||
                       (link->state == MMI_LINK_HELLO && link->opening->wire == 0)) {
                mmi_link_close(link, MM_REASON_LOCAL, NULL);
            }
        }
    }
    mmi_socket_touch(s);
    if (deadline_ns > s->engine->now_ns &&
        mmi_timer_set(&s->engine->timers, &s->stop_timer, deadline_ns) == MM_OK) {
        return MM_OK;
    }
    mmi_socket_stop_late(s);
    return deadline_ns > s->engine->now_ns ? MM_ENOMEM : MM_OK;
}

/* To who is in the midst of its handshake we may be a peer already: it is asked when that is
 * done. */
static bool
stop_waits(const mmi_link *link)
{
    return link->state == MMI_LINK_HELLO ||
           (link->state == MMI_LINK_ACTIVE &&
            (link->stopping == MM_STOP_ASKED || link->stopping == MM_STOP_CANCELLING));
}

void
mmi_socket_stop_late(mmi_socket *s)
{
    MMI_LIST_EACH(&s->links, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (link->state == MMI_LINK_HELLO) {
            stop_tell(link, MM_STOP_LATE);   /* it may have sent messages behind its READY */
            mmi_link_close(link, MM_REASON_LOCAL, NULL);
        } else if (stop_waits(link)) {
            stop_halt(link, MM_STOP_LATE);
        }
    }
    mmi_socket_touch(s);
}

bool
mmi_socket_stopped(const mmi_socket *s)
{
    MMI_LIST_EACH(&s->links, node, after) {
        const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        /* Behind STOPPED come no messages, so a read finds none. */
        bool reads = link->reading && link->stopping != MM_STOP_STOPPED;
        bool came = link->held != NULL || link->unread_used < link->unread_size || reads;
        if (stop_waits(link) || (link->state == MMI_LINK_ACTIVE && came)) {
            return false;
        }
    }
    return true;
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
    if (mmi_link_control(link, frame, mmi_command_put_stopped(frame)) == MM_OK) {
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

/* To who has heard of us in its handshake we may be a peer already, as in stop_waits. */
void
mmi_stop_ended(mmi_link *link, int was)
{
    mmi_socket *s = link->socket;
    bool heard = was == MMI_LINK_ACTIVE ||
                 (was == MMI_LINK_HELLO && link->opening != NULL && link->opening->wire != 0);
    if (!s->host.stopping || s->closing || !heard) {
        return;
    }
    bool open = link->stopping == MM_STOP_NONE || link->stopping == MM_STOP_ASKED ||
                link->stopping == MM_STOP_CANCELLING;
    int state = open ? MM_STOP_GONE : link->stopping;
    size_t size = strlen(link->address) + 1;
    stop_ended *one = NULL;
    if (s->stop_ended_count < MMI_STOP_ENDED_MAX) {
        one = mmi_alloc(sizeof *one + size);
    }
    if (one == NULL) {
        s->stop_unlisted += state != MM_STOP_STOPPED;
        return;
    }
    one->id = link->pipe.id;
    one->state = state;
    memcpy(one->address, link->address, size);
    mmi_list_init(&one->node);
    mmi_list_push_back(&s->stop_ended, &one->node);
    s->stop_ended_count++;
}

void
mmi_stop_fini(mmi_socket *s)
{
    MMI_LIST_EACH(&s->stop_ended, node, after) {
        mmi_free(MMI_CONTAINER_OF(node, stop_ended, node));
    }
}

static void
look_put(mm_peer *out, uint64_t id, int state, const char *address)
{
    *out = (mm_peer){ .id = id, .stop = (uint32_t)state };
    snprintf(out->address, sizeof out->address, "%s", address);
}

uint32_t
mmi_stop_look(const mmi_socket *s, mm_peer *out, uint32_t cap)
{
    uint32_t count = 0;
    MMI_LIST_EACH(&s->stop_ended, node, after) {
        const stop_ended *one = MMI_CONTAINER_OF(node, stop_ended, node);
        if (count++ < cap) {
            look_put(&out[count - 1], one->id, one->state, one->address);
        }
    }
    MMI_LIST_EACH(&s->links, node, after) {
        const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        bool asked = link->state == MMI_LINK_ACTIVE || link->state == MMI_LINK_HELLO;
        if (!s->host.stopping || !asked) {
            continue;
        }
        if (count++ < cap) {
            int state = link->stopping != MM_STOP_NONE ? link->stopping : MM_STOP_ASKED;
            look_put(&out[count - 1], link->pipe.id, state, link->address);
        }
    }
    if (s->stop_unlisted > 0 && count++ < cap) {
        char more[64];
        snprintf(more, sizeof more, "each of %llu more peers",
                 (unsigned long long)s->stop_unlisted);
        look_put(&out[count - 1], 0, MM_STOP_GONE, s->stop_unlisted == 1 ? "another peer" : more);
    }
    return count;
}
