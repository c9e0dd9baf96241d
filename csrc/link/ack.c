/*
 * link/ack.c: messages that are acknowledged, on one connection: both sides agree on it, what the
 * peer says of that, and the ACK that is owed to it.
 *
 * Not here: what is kept until it is acknowledged (queue/unacked.c), what was given out and is done
 * (queue/acks.c), whom else a message is given to (queue/backlog.c).
 * Law: COUNT goes before the first message; an ACK is made when the commands before it are written,
 * so one is owed at a time.
 */
#include <stdio.h>
#include <string.h>

#include "base/octets.h"
#include "link/inside.h"
#include "queue/backlog.h"

enum {
    ACK_SMALL = MMI_COMMAND_OVERHEAD + 64, /* octets of one that needs no memory                */
    ACK_EARLY_HEAD = 1 + sizeof(uint32_t), /* octets in front of what was said during a write   */
    ACK_EARLY_MAX = 256 * 1024 /* octets of all of it                               */
};

static const char ack_word[] = "ack"; /* of our features (wire/wire.h) */

static bool
ack_wanted(const mmi_socket *s)
{
    return (s->opts.flags & MM_OPT_AT_LEAST_ONCE) != 0;
}

/* Random, so that no two connections of any two senders have the same. */
static uint64_t
ack_epoch(const mmi_link *link)
{
    uint64_t high = mmi_engine_random(link->engine);
    return high << 32 | mmi_engine_random(link->engine);
}

int
mmi_ack_begin(mmi_link *link)
{
    mmi_socket *s = link->socket;
    mmi_pipe *p = &link->pipe;
    const mmi_proto_ops *peer = mmi_proto_find(p->peer_role);
    if (!ack_wanted(s) || link->wire->counted == NULL || peer == NULL || !peer->acks ||
        !mmi_wire_knows(link->features, ack_word)) {
        return MM_OK;
    }
    mmi_count count = { .epoch = ack_epoch(link) };
    memcpy(count.producer, s->producer, sizeof count.producer);
    uint8_t frame[MMI_COMMAND_OVERHEAD];
    int rc = mmi_link_control(link, frame, link->wire->put_count(frame, &count));
    p->unacked =
        rc == MM_OK ? mmi_unacked_new(&p->outbox, &s->host.back->receipts, count.epoch) : NULL;
    p->framing = link->wire->counted;
    return p->unacked != NULL ? MM_OK : MM_ENOMEM;
}

void
mmi_ack_began(mmi_link *link)
{
    if (ack_wanted(link->socket) && link->pipe.unacked == NULL) {
        mmi_socket_event(link->socket, MM_EVENT_PEER_UNACKED, MM_REASON_NONE, link->pipe.id, 1,
                         link->endpoint, link->address,
                         "it does not acknowledge: what it was sent is lost with it (delivery)");
    }
}

void
mmi_ack_counted(mmi_link *link, const mmi_command *command)
{
    mmi_socket *s = link->socket;
    mmi_count count;
    if (!s->ops->acks || link->wire->counted == NULL) {
        return; /* we have no use for it, or the peer's wire no words to answer */
    }
    if (!mmi_count_get(command->data, command->size, &count) || link->parsed > 0 ||
        link->pipe.acks != NULL) {
        mmi_link_breach(link, MM_REASON_COMMAND, "a COUNT that is malformed, or not the first");
        return;
    }
    link->pipe.acks = mmi_acks_new(&link->pipe, &s->host, &count);
    if (link->pipe.acks == NULL) {
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
        return;
    }
    mmi_link_dirty(link);     /* its first credit */
    mmi_heartbeat_ping(link); /* from now on it knows when to give what we have to somebody else */
}

bool
mmi_ack_breached(mmi_link *link, uint32_t count)
{
    const mmi_acks *a = link->pipe.acks;
    bool breached = a != NULL && !mmi_acks_may(a, count);
    if (breached) {
        mmi_link_breach(link, MM_REASON_COMMAND, "a message over the credit that ACK gave");
    }
    return breached;
}

void
mmi_ack_again(mmi_link *link, const mmi_command *command)
{
    if (link->pipe.acks != NULL && !mmi_again_get(command->data, command->size, &link->again)) {
        mmi_link_breach(link, MM_REASON_COMMAND, "a malformed AGAIN");
    }
}

bool
mmi_ack_waits(const mmi_link *link)
{
    const mmi_socket *s = link->socket;
    const mmi_unacked *u = link->pipe.unacked;
    uint64_t bytes;
    if (u == NULL || u->ends || link->deaf) {
        return false; /* it says nothing more */
    }
    return s->closing ? !link->pipe.stopped && mmi_back_count(s->host.back, &bytes) > 0
                      : mmi_ack_awaited(link);
}

/* Those of its socket that waited for this may end: the next settle looks. */
static void
ack_release(mmi_socket *s)
{
    MMI_LIST_EACH (&s->links, node, after) {
        mmi_link_dirty(MMI_CONTAINER_OF(node, mmi_link, node));
    }
}

/* Some are done: of what is kept there is less, and perhaps more may be written. */
static void
ack_took(mmi_link *link, uint64_t newly)
{
    mmi_socket *s = link->socket;
    link->confirmed += newly;
    s->stats.confirmed_messages += newly;
    s->stats.acked_messages += newly;
    s->ops->out(s->state, &link->pipe);
    /* As of any queue: who waits is woken for many messages, not for one. */
    mmi_socket_note(s, mmi_back_low(s->host.back) ? MMI_ROOM | MM_DRAINED : MM_DRAINED);
    if (s->closing && !mmi_ack_waits(link)) {
        ack_release(s);
    } else if (link->leaving) {
        mmi_link_dirty(link); /* likewise */
    }
}

/* What is written at this moment may be there, and be acknowledged, before its writer has noted it:
 * so what the peer says meanwhile waits.  It is little, as a write is short. */
static void
ack_defer(mmi_link *link, const mmi_command *command)
{
    uint32_t size = (uint32_t)command->size;
    size_t last = link->early_last;
    if (command->kind == MMI_COMMAND_ACK && link->early_size > last &&
        link->early[last] == MMI_COMMAND_ACK) {
        link->early_size = last; /* which it says, too */
    }
    size_t need = link->early_size + ACK_EARLY_HEAD + size;
    if (need > (size_t)ACK_EARLY_MAX) {
        mmi_link_breach(link, MM_REASON_COMMAND, "too many ACKs and NACKs during one write");
        return;
    }
    if (need > link->early_cap) {
        uint8_t *grown = mmi_realloc(link->early, need * 2);
        if (grown == NULL) {
            mmi_link_close(link, MM_REASON_MEMORY, NULL);
            return;
        }
        link->early = grown;
        link->early_cap = need * 2;
    }
    uint8_t *at = link->early + link->early_size;
    link->early_last = link->early_size;
    at[0] = (uint8_t)command->kind;
    memcpy(at + 1, &size, sizeof size);
    if (size > 0) {
        memcpy(at + ACK_EARLY_HEAD, command->data, size);
    }
    link->early_size = need;
}

/* false: the connection ends for it. */
static bool
ack_apply(mmi_link *link, const mmi_command *command)
{
    mmi_unacked *u = link->pipe.unacked;
    mmi_ack ack;
    uint64_t newly = 0;
    if (!mmi_ack_get(command->data, command->size, &ack) ||
        mmi_unacked_ack(u, &ack, &newly) != MM_OK) {
        mmi_link_breach(link, MM_REASON_COMMAND,
                        "an ACK of what was not sent, or less than before");
        return false;
    }
    ack_took(link, newly);
    return true;
}

static bool
ack_refuse(mmi_link *link, const mmi_command *command)
{
    mmi_unacked *u = link->pipe.unacked;
    mmi_socket *s = link->socket;
    bool whole = command->size > 0 && command->size % MMI_NACK_SIZE == 0 &&
                 command->size <= (size_t)MMI_NACK_SIZE * MMI_NACK_NUMBERS_MAX;
    for (size_t at = 0; at < command->size && whole; at += MMI_NACK_SIZE) {
        mmi_msg *m;
        int rc = mmi_unacked_give_back(u, mmi_be64_get(command->data + at), &m);
        if (rc == MM_OK) {
            s->stats.redelivered_messages++;
            link->confirmed++;
            s->ops->again(s->state, m);
        }
        if (rc == MM_ENOMEM) {
            mmi_link_close(link, MM_REASON_MEMORY, NULL); /* so all of it comes back */
            return false;
        }
        whole = rc != MM_EPROTO;
    }
    if (!whole) {
        mmi_link_breach(link, MM_REASON_COMMAND,
                        "a NACK that is malformed, or of what was not sent");
        return false;
    }
    mmi_socket_note(s, MM_DRAINED);
    return true;
}

static bool
ack_settle(mmi_link *link, const mmi_command *command)
{
    return command->kind == MMI_COMMAND_ACK ? ack_apply(link, command) : ack_refuse(link, command);
}

void
mmi_ack_came(mmi_link *link, const mmi_command *command)
{
    if (link->pipe.unacked == NULL) {
        return; /* a command we have no use for is ignored */
    }
    if (mmi_tx_is_writing(link)) {
        ack_defer(link, command);
    } else {
        (void)ack_settle(link, command);
    }
}

void
mmi_ack_early(mmi_link *link)
{
    size_t size = link->early_size;
    link->early_size = link->early_last = 0;
    bool goes_on = true; /* also where it was to end meanwhile: the peer has said this before */
    for (size_t at = 0; at < size && link->state == MMI_LINK_ACTIVE && goes_on;) {
        mmi_command command = { .kind = link->early[at] };
        uint32_t length;
        memcpy(&length, link->early + at + 1, sizeof length);
        command.data = link->early + at + ACK_EARLY_HEAD;
        command.size = length;
        goes_on = ack_settle(link, &command);
        at += ACK_EARLY_HEAD + length;
    }
}

int
mmi_link_nack(mmi_link *link, uint64_t number)
{
    mmi_acks *a = link->pipe.acks;
    if (a == NULL || number == 0 || number > a->given || mmi_marks_has(&a->done, number)) {
        return 0;
    }
    uint8_t frame[MMI_COMMAND_OVERHEAD];
    int rc = mmi_link_control(link, frame, link->wire->put_nack(frame, number));
    if (rc != MM_OK) {
        return rc;
    }
    (void)mmi_acks_done(a, number);
    mmi_acks_tell(a); /* behind that */
    return 1;
}

void
mmi_ack_answer(mmi_link *link)
{
    mmi_acks *a = link->pipe.acks;
    uint8_t small[ACK_SMALL];
    size_t data = mmi_acks_size(a), size = MMI_COMMAND_OVERHEAD + data;
    uint8_t *frame = size <= sizeof small ? small : mmi_alloc(size);
    int rc = MM_ENOMEM;
    if (frame != NULL) {
        size_t head = link->wire->put_ack(frame, data);
        mmi_acks_put(a, frame + head);
        rc = mmi_link_control(link, frame, head + data);
    }
    if (frame != small) {
        mmi_free(frame);
    }
    if (rc != MM_OK && !mmi_tx_ends(link)) { /* a peer that is not told would wait for ever */
        a->due = false;
        mmi_link_doom(link, MMI_TX_CLOSE, MM_REASON_MEMORY, NULL);
    }
}

void
mmi_ack_last(mmi_link *link)
{
    if (link->pipe.acks != NULL) {
        link->pipe.acks->ends = link->pipe.acks->due = true;
    }
}
