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
    ACK_EARLY_MAX = 256 * 1024, /* octets of all of it                              */
    ACK_DELAY_MAX_MS = 2000000000, /* milliseconds that a NACK may ask for; more is that much */
    ACK_EXTENDS_MAX = 64 * 1024 /* octets of commands that wait: no EXTEND is added */
};

static const uint64_t ACK_NS_PER_MS = 1000000;
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

bool
mmi_ack_can(const mmi_link *link)
{
    const mmi_proto_ops *peer = mmi_proto_find(link->pipe.peer_role);
    return link->wire->counted != NULL && peer != NULL && peer->acks &&
           mmi_wire_knows(link->features, ack_word);
}

int
mmi_ack_begin(mmi_link *link)
{
    mmi_socket *s = link->socket;
    mmi_pipe *p = &link->pipe;
    if (!ack_wanted(s) || !mmi_ack_can(link)) {
        return MM_OK;
    }
    mmi_count count = { .epoch = ack_epoch(link) };
    memcpy(count.producer, s->producer, sizeof count.producer);
    uint8_t frame[MMI_COMMAND_OVERHEAD];
    int rc = mmi_link_control(link, frame, link->wire->put_count(frame, &count));
    p->unacked =
        rc == MM_OK ? mmi_unacked_new(&p->outbox, &s->host.back->receipts, count.epoch) : NULL;
    p->framing = link->wire->counted;
    uint64_t timeout = s->opts.ack_timeout_ms * ACK_NS_PER_MS;
    if (p->unacked != NULL && timeout > 0) {
        p->unacked->overdue = mmi_overdue_new(timeout);
        return p->unacked->overdue != NULL ? MM_OK : MM_ENOMEM;
    }
    return p->unacked != NULL ? MM_OK : MM_ENOMEM;
}

void
mmi_ack_began(mmi_link *link)
{
    if (ack_wanted(link->socket) && link->pipe.unacked == NULL) {
        mmi_link_tell(link, MM_EVENT_PEER_UNACKED, MM_REASON_NONE,
                      "it does not acknowledge: it gets what others have no room for, and "
                      "that is lost with it (delivery; require refuses it)");
    }
}

void
mmi_ack_counted(mmi_link *link, const mmi_command *command)
{
    mmi_socket *s = link->socket;
    mmi_count count;
    if (!mmi_socket_acks(s) || link->wire->counted == NULL) {
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

/* Some are done: of what is kept there is less, and perhaps more may be written.  late: those of
 * them that were taken back, and that nobody else had got yet. */
static void
ack_took(mmi_link *link, uint64_t newly, uint32_t late)
{
    mmi_socket *s = link->socket;
    link->confirmed += newly; /* a late one counted when it was taken back */
    s->stats.confirmed_messages += newly + late;
    s->stats.acked_messages += newly + late;
    s->stats.redelivered_messages -= late;
    s->ops->out(s->state, &link->pipe);
    /* As of any queue: who waits is woken for many messages, not for one. */
    mmi_socket_note(s, mmi_back_low(s->host.back) ? MMI_ROOM | MM_DRAINED : MM_DRAINED);
    mmi_finish_look(s);
    if (s->closing && !mmi_ack_waits(link)) {
        ack_release(s);
    } else if (mmi_link_leaves(link)) {
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
        mmi_link_breach(link, MM_REASON_COMMAND,
                        "too many ACKs, NACKs and EXTENDs during one write");
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
    uint64_t newly = 0, limit = u->limit;
    uint32_t late = 0, stale = 0;
    if (!mmi_ack_get(command->data, command->size, &ack) ||
        mmi_unacked_ack(u, &ack, &newly) != MM_OK) {
        mmi_link_breach(link, MM_REASON_COMMAND,
                        "an ACK of what was not sent, or less than before");
        return false;
    }
    link->pipe.overdue &=
        u->limit == limit; /* it has done something, if only what was taken back */
    mmi_back *back = link->socket->host.back;
    /* Before its new credit: it would get again what it has done. */
    if (u->overdue != NULL) {
        late = mmi_late_ack(&u->overdue->late, back, &ack, &stale);
    }
    link->socket->stats.stale_acks += stale;
    ack_took(link, newly, late);
    return mmi_member_begins(link);
}

int
mmi_ack_take_back(mmi_link *link, uint64_t number, uint64_t due_ns, mmi_late *late)
{
    mmi_socket *s = link->socket;
    mmi_msg *m;
    int rc = mmi_unacked_give_back(link->pipe.unacked, number, &m);
    if (rc == MM_OK) {
        s->stats.redelivered_messages++;
        link->confirmed++;
        m->due_ns = due_ns;
        if (late != NULL) {
            mmi_late_add(late, number, &m->origin);
        }
        s->ops->again(s->state, m);
    }
    return rc;
}

static bool
ack_refuse(mmi_link *link, const mmi_command *command)
{
    mmi_numbers numbers;
    bool good = mmi_nack_get(command->data, command->size, &numbers);
    mmi_overdue *overdue = link->pipe.unacked->overdue;
    uint64_t due = 0;
    if (good && numbers.delay_ms > 0) {
        uint32_t most = (uint32_t)ACK_DELAY_MAX_MS;
        uint32_t delay_ms = numbers.delay_ms < most ? numbers.delay_ms : most;
        due = mmi_deadline(link->engine->now_ns, delay_ms);
    }
    for (uint32_t i = 0; i < numbers.count && good; i++) {
        uint64_t number = mmi_be64_get(numbers.at + i * MMI_NUMBER_SIZE);
        int rc = mmi_ack_take_back(link, number, due, NULL);
        if (rc == MM_EAGAIN && overdue != NULL) {
            mmi_late_forget(&overdue->late, number); /* it was taken back, and is not done */
        }
        if (rc == MM_ENOMEM) {
            mmi_link_close(link, MM_REASON_MEMORY, NULL); /* so all of it comes back */
            return false;
        }
        good = rc != MM_EPROTO;
    }
    if (!good) {
        mmi_link_breach(link, MM_REASON_COMMAND,
                        "a NACK that is malformed, or of what was not sent");
        return false;
    }
    mmi_socket_note(link->socket, MM_DRAINED);
    mmi_finish_look(link->socket); /* what was given back may be a dead letter */
    return true;
}

/* Those are still worked on. */
static bool
ack_extend(mmi_link *link, const mmi_command *command)
{
    const mmi_unacked *u = link->pipe.unacked;
    mmi_numbers numbers;
    bool good = mmi_extend_get(command->data, command->size, &numbers);
    for (uint32_t i = 0; i < numbers.count && good; i++) {
        uint64_t number = mmi_be64_get(numbers.at + i * MMI_NUMBER_SIZE);
        good = number > 0 && number <= u->written;
        if (good && u->overdue != NULL && !mmi_marks_has(&u->acked, number) &&
            mmi_overdue_extend(u->overdue, &u->acked, number, link->engine->now_ns) != MM_OK) {
            mmi_link_close(link, MM_REASON_MEMORY, NULL); /* so all of it comes back */
            return false;
        }
    }
    if (!good) {
        mmi_link_breach(link, MM_REASON_COMMAND,
                        "an EXTEND that is malformed, or of what was not sent");
    }
    return good;
}

static bool
ack_settle(mmi_link *link, const mmi_command *command)
{
    if (link->socket->host.back->receipts.source.settled) {
        return true; /* it is about to be closed, and what this is about goes again */
    }
    switch (command->kind) {
    case MMI_COMMAND_ACK: return ack_apply(link, command);
    case MMI_COMMAND_NACK: return ack_refuse(link, command);
    default: return ack_extend(link, command);
    }
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

/* Was it given out, and is it not done yet? */
static bool
ack_has(const mmi_acks *a, uint64_t number)
{
    return a != NULL && number > 0 && number <= a->given && !mmi_marks_has(&a->done, number);
}

int
mmi_link_nack(mmi_link *link, uint64_t number, uint32_t delay_ms)
{
    mmi_acks *a = link->pipe.acks;
    if (!ack_has(a, number)) {
        return 0;
    }
    uint8_t frame[MMI_COMMAND_OVERHEAD];
    int rc = mmi_link_control(link, frame, link->wire->put_nack(frame, number, delay_ms));
    if (rc != MM_OK) {
        return rc;
    }
    (void)mmi_acks_done(a, number);
    mmi_acks_tell(a); /* behind that */
    return 1;
}

int
mmi_link_extend(mmi_link *link, uint64_t number)
{
    if (!ack_has(link->pipe.acks, number)) {
        return 0;
    }
    if (link->command_size > (size_t)ACK_EXTENDS_MAX) {
        return 1; /* the peer reads nothing at the moment: enough of that kind is on its way */
    }
    uint8_t frame[MMI_COMMAND_OVERHEAD];
    int rc = mmi_link_control(link, frame, link->wire->put_extend(frame, number));
    return rc == MM_OK ? 1 : rc;
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
