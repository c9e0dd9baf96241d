/*
 * link/become.c: a link whose handshake is done: what was told is kept with it, and it becomes a
 * peer, or is one too many.
 *
 * Not here: the handshake (link/handshake.c).  Law: it is a peer to its role last of all, and
 * nothing that can fail comes behind that but subscriptions.
 */
#include <stdio.h>
#include <string.h>

#include "link/inside.h"
#include "link/shield.h"
#include "socket/group.h"

/* Octets of a command: a topic, what goes with a message, or what an ACK has. */
static uint32_t
become_command_max(const mm_socket_opts *o)
{
    uint32_t ack = (o->flags & MM_OPT_AT_LEAST_ONCE) != 0 ? MMI_ACK_SIZE + MMI_ACK_BITMAP_MAX : 0;
    uint32_t most = ack > (uint32_t)MMI_META_SIZE_MAX ? ack : (uint32_t)MMI_META_SIZE_MAX;
    return o->topic_size_max > most ? o->topic_size_max : most;
}

mmi_wire_limits
mmi_link_limits(const mm_socket_opts *o)
{
    bool little = (o->flags & MM_OPT_ASKED_LITTLE) != 0;
    uint64_t most = o->message_size_max;
    most = little && most > MM_ASKED_LITTLE_MAX ? (uint64_t)MM_ASKED_LITTLE_MAX : most;
    return (mmi_wire_limits){ .message_size_max = most,
                              .frames_max = o->frames_max,
                              .command_size_max = become_command_max(o) + MMI_COMMAND_OVERHEAD };
}

/* detail: for us; told: for the peer, where its wire has words for it. */
static void
become_refuse(mmi_link *link, int reason, const char *detail, const char *told)
{
    uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_ERROR_TEXT_MAX];
    if (link->wire->put_error == NULL ||
        mmi_link_control(link, frame, link->wire->put_error(frame, told)) != MM_OK) {
        mmi_link_close(link, reason, detail);
        return;
    }
    mmi_link_refuse(link, reason, detail);
}

/* Its role did not take it. */
static void
become_refuse_peer(mmi_link *link, int rc)
{
    int reason = rc == MM_ESTATE       ? MM_REASON_ROLE_REFUSED
                 : rc == MM_EADDRINUSE ? MM_REASON_IDENTITY
                                       : MM_REASON_MEMORY;
    const char *detail = rc == MM_ESTATE       ? "this socket takes no more peers"
                         : rc == MM_EADDRINUSE ? "a connected peer has this identity"
                                               : "out of memory";
    become_refuse(link, reason, detail, detail);
}

/* What the peer is known by here: as it was dialed, else as it says.  MM_ENOMEM. */
static int
become_keep_identity(mmi_link *link, const mmi_wire_peer *peer)
{
    const mmi_dialer *d = link->dialer;
    bool dialed = d != NULL && d->identity_size > 0;
    const uint8_t *identity = dialed ? d->identity : peer->identity;
    size_t size = dialed ? d->identity_size : peer->identity_size;
    if (size == 0) {
        return MM_OK;
    }
    link->identity = mmi_alloc(size);
    if (link->identity == NULL) {
        return MM_ENOMEM;
    }
    memcpy(link->identity, identity, size);
    link->pipe.identity = link->identity;
    link->pipe.identity_size = size;
    return MM_OK;
}

/* Before the first record, as a mechanism has the properties no longer.  MM_ENOMEM */
static int
become_keep_known(mmi_link *link, const mmi_wire_peer *peer)
{
    const mmi_socket *s = link->socket;
    char names[MMI_MECHANISMS_CAP];
    if (s->outer == NULL && s->mechanism == NULL) {
        return MM_OK;
    }
    mmi_mechanism_names(s->outer, s->mechanism, names, sizeof names);
    const mmi_admitted *admitted = link->admitted;
    mmi_applicant who;
    (void)mmi_link_shield_who(link, &who);
    const mmi_known known = { .pipe_id = link->pipe.id,
                              .mechanism = names,
                              .user_id = peer->user_id,
                              .properties = peer->properties.data,
                              .properties_size = peer->properties.size,
                              .key = who.key.data,
                              .key_size = who.key.size,
                              .metadata = admitted != NULL ? admitted->metadata : NULL,
                              .metadata_size = admitted != NULL ? admitted->metadata_size : 0 };
    link->pipe.known = mmi_known_new(&known);
    return link->pipe.known == NULL ? MM_ENOMEM : MM_OK;
}

/* MM_ENOMEM. */
static int
become_keep_group(mmi_link *link, const char *group)
{
    size_t size = strlen(group) + 1;
    link->group = size > 1 ? mmi_alloc(size) : NULL;
    if (size > 1 && link->group == NULL) {
        return MM_ENOMEM;
    }
    if (size > 1) {
        memcpy(link->group, group, size);
    }
    return MM_OK;
}

/* What is sent to it is no more than it says it takes. */
static void
become_keep_limits(mmi_link *link)
{
    uint64_t size;
    uint32_t frames;
    if (mmi_wire_takes(link->features, &size, &frames)) {
        mmi_pipe_limit(&link->pipe, size, frames);
    }
}

/* What the hello told is kept with the link.  MM_ENOMEM. */
static int
become_keep_peer(mmi_link *link)
{
    const mmi_wire_limits limits = mmi_link_limits(&link->socket->opts);
    mmi_wire_peer peer;
    mmi_handshake_peer(link->handshake, &peer);
    link->wire = peer.wire;
    mmi_parser_init(&link->parser, &limits, peer.wire, link->handshake);
    mmi_shield shield = mmi_handshake_take_shield(link->handshake);
    if (shield.mechanism != NULL && mmi_link_shield_begin(link, shield) != MM_OK) {
        return MM_ENOMEM;
    }
    link->pipe.framing = peer.framing;
    link->pipe.peer_role = peer.role;
    mmi_text_copy(link->features, sizeof link->features, peer.features);
    become_keep_limits(link);
    if (become_keep_group(link, peer.group) != MM_OK) {
        return MM_ENOMEM;
    }
    mmi_meta_begin(link);
    const mmi_proto_ops *role = mmi_proto_find(peer.role);
    bool asks = role != NULL && role->asks;
    link->pipe.hears_refusals = asks && mmi_wire_knows(peer.features, "refuse");
    mmi_finish_begin(link);
    int rc = become_keep_known(link, &peer);
    return rc == MM_OK ? become_keep_identity(link, &peer) : rc;
}

/* MM_ENOMEM. */
static int
become_keep(mmi_link *link)
{
    mmi_handshake *o = link->handshake;
    const uint8_t *out;
    size_t left = mmi_handshake_output(o, &out);
    int rc = become_keep_peer(link);
    if (rc == MM_OK && link->shield != NULL) {
        rc = mmi_link_shield_first(link, out, left);
        rc = rc == MM_OK ? mmi_link_shield_opened(link, mmi_handshake_opened(o)) : rc;
    } else if (rc == MM_OK && left > 0) {
        rc = mmi_link_control(link, out, left);
    }
    mmi_link_commands_begin(link); /* it is no frame of its own: nothing may go in front of it */
    link->pipe.segments = link->socket->segments;
    mmi_handshake_fini(o);
    mmi_free(o);
    link->handshake = NULL;
    return rc;
}

/* Its connection is of that group from now on.  MM_ENOMEM. */
static int
become_move(mmi_link *link, mmi_socket *group)
{
    mmi_socket *s = link->socket;
    void *state = mmi_alloc(group->ops->pipe_size);
    if (state == NULL) {
        return MM_ENOMEM;
    }
    mmi_free(link->pipe.state);
    link->pipe.state = state;
    link->pipe.segments = group->segments;
    s->half_open--;
    group->half_open++;
    mmi_list_rm(&link->node);
    mmi_list_push_back(&group->links, &link->node);
    link->socket = group;
    return MM_OK;
}

/* One that says a group becomes a member of it, where groups are kept.  false: it was refused. */
static bool
become_member(mmi_link *link)
{
    mmi_socket *group, *s = link->socket;
    char detail[MM_DETAIL_MAX + 1];
    bool asks = link->group != NULL && s->find_group != NULL;
    int rc = asks ? s->find_group(s, link->group, &group) : MM_ENOTSUP;
    if (rc == MM_ENOTSUP) {
        return true; /* it gets what others get, and knows that */
    }
    if (rc == MM_ESTATE) {
        snprintf(detail, sizeof detail, "there are %d groups here, as many as may be",
                 MMI_GROUPS_MAX);
        become_refuse(link, MM_REASON_GROUP, detail, detail);
        return false;
    }
    if (rc == MM_OK && !mmi_ack_can(link)) {
        snprintf(detail, sizeof detail, "a member of a group acknowledges, and this does not");
        become_refuse(link, MM_REASON_GROUP, detail, detail);
        return false;
    }
    rc = rc == MM_OK ? become_move(link, group) : rc;
    if (rc != MM_OK) {
        become_refuse_peer(link, rc);
    }
    return rc == MM_OK;
}

/* A subscriber that cannot say its topics is sent everything. */
static void
become_subscribe_all(mmi_link *link)
{
    mmi_socket *s = link->socket;
    int rc = s->ops->subscription(s->state, &link->pipe, true, (const uint8_t *)"", 0);
    if (rc != MM_OK) {
        mmi_link_close(link, rc == MM_EPROTO ? MM_REASON_SUBSCRIPTIONS : MM_REASON_MEMORY, NULL);
    }
}

/* From here on the protocol knows it. */
static void
become_activate(mmi_link *link)
{
    mmi_socket *s = link->socket;
    mmi_link_leave_half_open(link);
    mmi_life_to(link, MMI_LINK_ACTIVE);
    link->active_ns = link->last_in_ns = s->engine->now_ns;
    link->wall_ns = s->engine->plat.wall_ns(s->engine->plat.self);
    s->peer_count++;
    if (s->group != NULL) {
        s->group->home->peer_count++;
    }
    mmi_socket_home(s)->stats.handshakes++;
    mmi_heartbeat_start(link);
    if (s->host.stopping) {
        mmi_stop_ask(link);
    }
    mmi_link_tell(link, MM_EVENT_PEER_UP, MM_REASON_NONE, mmi_role_name(link->pipe.peer_role));
    mmi_ack_began(link);
    mmi_replay_asked(link);
    mmi_member_asked(link);
    mmi_overdue_start(link);
    mmi_finish_began(link);
    mmi_socket_note(s, MM_PEERS);
}

void
mmi_link_become_peer(mmi_link *link)
{
    mmi_socket *s = link->socket;
    if (become_keep(link) != MM_OK) {
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
        return;
    }
    if (mmi_link_revoked(link)) {   /* since the list was asked */
        mmi_link_close(link, MM_REASON_REVOKED, NULL);
        return;
    }
    char detail[MM_DETAIL_MAX + 1], told[MM_DETAIL_MAX + 1];
    if (mmi_require_lacks(link, detail, told)) {
        become_refuse(link, MM_REASON_FEATURE, detail, told);
        return;
    }
    if (!become_member(link)) {
        return;
    }
    s = link->socket;
    int rc = mmi_ack_begin(link);
    rc = rc == MM_OK ? mmi_replay_ask(link) : rc;
    rc = rc == MM_OK ? s->ops->add(s->state, &link->pipe) : rc;
    if (rc != MM_OK) {
        become_refuse_peer(link, rc);
        return;
    }
    become_activate(link);
    if (mmi_replay_begin(link) != MM_OK) {
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
        return;
    }
    mmi_socket_touch(s);
    mmi_link_dirty(link);
    if (!link->wire->tells_topics && s->ops->subscription != NULL) {
        become_subscribe_all(link);
    }
}
