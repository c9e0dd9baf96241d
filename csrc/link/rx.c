/*
 * link/rx.c: from bytes of an active link to messages in its pipe's inbox and commands carried out.
 *
 * Not here: parsing (wire/parser.h).  Law: when the inbox is full, reading stops and nothing is
 * lost: the message that found no room and the bytes behind it are kept, and the kernel's buffer
 * slows the peer.
 */
#include <stdio.h>

#include "link/inside.h"

static bool
link_is_publisher(const mmi_link *link)
{
    return link->socket->ops->subscription != NULL;
}

static void
link_subscription(mmi_link *link, bool add, const uint8_t *topic, size_t size)
{
    mmi_socket *s = link->socket;
    if (!link_is_publisher(link)) {
        return;   /* a command we have no use for is ignored */
    }
    int rc = s->ops->subscription(s->state, &link->pipe, add, topic, size);
    mmi_socket_note(s, MM_PEERS);
    char detail[MM_DETAIL_MAX + 1];
    switch (rc) {
    case MM_OK: break;
    case MM_EMSGSIZE:
        snprintf(detail, sizeof detail, "a topic of %zu bytes, the limit is %u", size,
                 s->opts.topic_size_max);
        mmi_link_breach(link, MM_REASON_TOPIC_SIZE, detail);
        break;
    case MM_EPROTO:
        snprintf(detail, sizeof detail, "over %u subscription%s or %d bytes of topics",
                 s->opts.subscriptions_max, mmi_plural(s->opts.subscriptions_max),
                 MMI_SUBSCRIPTION_BYTES_MAX);
        mmi_link_breach(link, MM_REASON_SUBSCRIPTIONS, detail);
        break;
    case MM_ESTATE: mmi_member_changed(link); break;
    default: mmi_link_close(link, MM_REASON_MEMORY, NULL); break;
    }
}

static void
link_command(mmi_link *link, const mmi_command *command)
{
    char detail[MM_DETAIL_MAX + 1];
    switch (command->kind) {
    case MMI_COMMAND_PONG:
        mmi_stop_pong(link, command);
        mmi_heartbeat_command(link, command);
        break;
    case MMI_COMMAND_PING: mmi_heartbeat_command(link, command); break;
    case MMI_COMMAND_STOP: mmi_stop_asked(link); break;
    case MMI_COMMAND_STOPPED: mmi_stop_told(link); break;
    case MMI_COMMAND_COUNT:
        mmi_ack_counted(link, command);
        mmi_replay_counted(link, command);
        break;
    case MMI_COMMAND_REPLAY: mmi_replay_came(link, command); break;
    case MMI_COMMAND_AT: mmi_replay_at(link, command); break;
    case MMI_COMMAND_LOST: mmi_replay_lost(link, command); break;
    case MMI_COMMAND_AGAIN: mmi_ack_again(link, command); break;
    case MMI_COMMAND_META: mmi_meta_came(link, command); break;
    case MMI_COMMAND_END: mmi_finish_told(link); break;
    case MMI_COMMAND_ACK:
    case MMI_COMMAND_EXTEND:
    case MMI_COMMAND_NACK: mmi_ack_came(link, command); break;
    case MMI_COMMAND_SUBSCRIBE:
    case MMI_COMMAND_CANCEL:
        link_subscription(link, command->kind == MMI_COMMAND_SUBSCRIBE, command->data,
                          command->size);
        break;
    case MMI_COMMAND_ERROR:
        link->wire->refusal(command, detail, sizeof detail);
        mmi_link_close(link, MM_REASON_ERROR_COMMAND, detail);
        break;
    case MMI_COMMAND_READY: mmi_link_close(link, MM_REASON_HANDSHAKE, "a second READY"); break;
    default: break;
    }
}

/* The form of a subscription that is a message. */
static bool
link_is_subscription(const mmi_link *link, const mmi_msg *m, mmi_command *topic)
{
    return link_is_publisher(link) && link->wire->topic_message != NULL &&
           link->wire->topic_message(m, topic);
}

/* Must what comes from this peer be compared with our topics?  Not where it
 * was told them. */
static bool
link_filters(const mmi_link *link)
{
    return !link->wire->tells_topics && link->socket->ops->wants != NULL;
}

/* Where what comes now was first: as AGAIN says, or here. */
static mmi_origin
rx_origin(mmi_link *link)
{
    mmi_origin origin = link->again;
    if (origin.attempt == 0) {
        origin.epoch = link->pipe.acks->of.epoch;
    }
    link->again.attempt = 0;
    return origin;
}

static void
link_message(mmi_link *link, mmi_msg *m)
{
    mmi_socket *s = link->socket;
    mmi_command topic;
    if (link_is_subscription(link, m, &topic)) {
        link_subscription(link, topic.kind == MMI_COMMAND_SUBSCRIBE, topic.data, topic.size);
        mmi_msg_unref(m);
        return;
    }
    if (mmi_stop_breached(link) || mmi_finish_breached(link) || mmi_ack_breached(link, 1)) {
        mmi_msg_unref(m);
        return;
    }
    mmi_msg_from(m, link->pipe.id, link->pipe.known);
    mmi_meta_take(link, m);
    if (link->pipe.acks != NULL) {
        m->number = mmi_acks_came(link->pipe.acks, 1);
        m->origin = rx_origin(link);
    }
    mmi_replay_number(link, m, 1);
    link->parsed++;
    s->stats.parsed_messages++;
    link->engine->parsed_messages++;
    if (s->ops->in == NULL) {
        mmi_drop_of(&s->host, MMI_DROP_MALFORMED, &link->pipe, m);   /* the role receives none */
        return;
    }
    if (link_filters(link) && !s->ops->wants(s->state, m->frames[0].data, m->frames[0].size)) {
        s->stats.filtered_messages++;
        mmi_msg_unref(m);
        return;
    }
    bool was_empty = link->pipe.inbox.count == 0;
    int rc = mmi_pipe_push_in(&link->pipe, m);
    if (rc == MM_ENOMEM) {
        mmi_drop_of(&s->host, MMI_DROP_MEMORY, &link->pipe, m);
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
        return;
    }
    if (rc != MM_OK) {
        link->unqueued = m;
        link->pipe.in_blocked = true;
        return;
    }
    if (was_empty) {
        s->ops->in(s->state, &link->pipe);
        mmi_socket_touch(s);
    }
}

void
mmi_link_segment(mmi_link *link, mmi_segment_in *segment)
{
    mmi_socket *s = link->socket;
    uint32_t count = segment->msg.count;
    bool was_empty = link->pipe.inbox.count == 0;
    if (mmi_stop_breached(link) || mmi_finish_breached(link) || mmi_ack_breached(link, count)) {
        mmi_msg_unref(&segment->msg);
        return;
    }
    mmi_msg_from(&segment->msg, link->pipe.id, link->pipe.known);
    if (link->pipe.acks != NULL) {
        mmi_origin own = segment->msg.origin; /* each of its messages has an AGAIN */
        segment->msg.number = mmi_acks_came(link->pipe.acks, count);
        segment->msg.origin = own.attempt > 0 ? own : rx_origin(link);
    } else {
        segment->msg.origin = (mmi_origin){ .attempt = 0 };
    }
    mmi_replay_number(link, &segment->msg, count);
    link->parsed += count;
    s->stats.parsed_messages += count;
    link->engine->parsed_messages += count;
    if (link_filters(link)) {
        size_t before = mmi_segment_in_bytes(segment, 0, count);
        uint32_t unwanted = mmi_segment_in_sift(segment, s->ops->wants, s->state);
        segment = mmi_segment_in_fit(segment, before);
        s->stats.filtered_messages += unwanted;
        count -= unwanted;
    }
    if (count == 0) {
        mmi_msg_unref(&segment->msg);
        return;
    }
    int rc = mmi_pipe_push_in(&link->pipe, &segment->msg);
    if (rc != MM_OK) {
        MMI_ASSERT(rc == MM_ENOMEM);   /* it was made to fit */
        mmi_drop_of(&s->host, MMI_DROP_MEMORY, &link->pipe, &segment->msg);
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
    } else if (was_empty) {
        s->ops->in(s->state, &link->pipe);
        mmi_socket_touch(s);
    }
}

mmi_reader_room
mmi_link_room(const mmi_link *link)
{
    const mmi_ring *in = &link->pipe.inbox;
    mmi_reader_room room = { .messages = 0, .cost = 0 };
    /* What an AGAIN or META that was read is of comes by itself. */
    bool segments =
        link->socket->ops->take != NULL && link->again.attempt == 0 && link->meta == NULL;
    if (segments && in->count < in->count_max && in->bytes < in->bytes_max) {
        room = (mmi_reader_room){ .messages = in->count_max - in->count,
                                  .cost = in->bytes_max - in->bytes };
    }
    return room;
}

/* What the parser dropped itself: SP messages that came over too many connections, or answer
 * nothing. */
static void
link_note_skipped(mmi_link *link)
{
    mmi_socket *s = link->socket;
    uint64_t count = mmi_parser_skipped(&link->parser) - link->skipped;
    if (count > 0) {
        link->skipped += count;
        link->parsed += count;
        s->stats.parsed_messages += count;
        mmi_drop_count_of(&s->host, MMI_DROP_MALFORMED, &link->pipe, count);
    }
}

void
mmi_link_eat(mmi_link *link, const uint8_t **buf, size_t *size, mmi_arena *arena)
{
    mmi_input input;
    while (mmi_link_lives(link) && link->unqueued == NULL) {
        mmi_reader_room room = mmi_link_room(link);
        mmi_segment_in *segment = NULL;
        if (*size > 0 && room.messages > 0) {
            segment = mmi_parser_segment(&link->parser, buf, size, room, arena);
        }
        if (segment != NULL) {
            mmi_link_segment(link, segment);
            continue;
        }
        if (mmi_link_keep_tail(link, *buf, *size)) {
            *size = 0;
            return;
        }
        int rc = mmi_parser_next(&link->parser, buf, size, &input);
        link_note_skipped(link);
        if (rc == 0) {
            return;
        }
        if (rc < 0) {
            const char *detail;
            int reason = mmi_parser_reason(&link->parser, &detail);
            mmi_link_breach(link, reason, detail);
            return;
        }
        if (input.msg != NULL) {
            link_message(link, input.msg);
        } else {
            link_command(link, &input.command);
        }
    }
}

void
mmi_link_feed(mmi_link *link, uint8_t *start, size_t size, mmi_arena *arena)
{
    const uint8_t *buf = start;
    mmi_link_eat(link, &buf, &size, arena);
    if (mmi_link_lives(link)) {
        mmi_link_keep_unread(link, start + (buf - start), size, arena);
    }
}

void
mmi_link_resume(mmi_link *link)
{
    if (link->state != MMI_LINK_ACTIVE || link->socket->closing) {
        return;
    }
    if (link->unqueued != NULL) {
        mmi_msg *m = link->unqueued;
        bool was_empty = link->pipe.inbox.count == 0;
        if (mmi_pipe_push_in(&link->pipe, m) != MM_OK) {
            return;
        }
        link->unqueued = NULL;
        link->pipe.in_blocked = false;
        if (was_empty) {
            link->socket->ops->in(link->socket->state, &link->pipe);
        }
        mmi_socket_touch(link->socket);
    }
    if (link->unread != NULL) {
        size_t used = link->unread_used;
        link->unread_used = link->unread_size;   /* unless the feed is stopped again */
        mmi_link_feed(link, link->unread + used, link->unread_size - used, link->unread_arena);
        if (link->unread_used == link->unread_size) {
            mmi_link_unread_drop(link);
        }
    }
    link->hung = false;
    /* Silence while we did not listen does not count. */
    link->last_in_ns = link->engine->now_ns;
    if (link->state == MMI_LINK_ACTIVE) {
        link->watched |= MMI_WATCH_HANGUP;   /* never asked for: have it set again */
        mmi_link_watch(link);
    }
}
