/*
 * api/options.c: the options of a socket: what they are for a role, and what they may be.
 *
 * Not here: what each does.
 */
#include "api/api.h"

int
mm_socket_defaults(int role, mm_socket_opts *opts)
{
    const mmi_proto_ops *ops = mmi_proto_find(role);
    if (ops == NULL) {
        return MM_EINVAL;
    }
    *opts = (mm_socket_opts){
        .send_queue_messages = MMI_QUEUE_MESSAGES,
        .recv_queue_messages = MMI_QUEUE_MESSAGES,
        .send_queue_bytes = MMI_QUEUE_BYTES,
        .recv_queue_bytes = MMI_QUEUE_BYTES,
        .overflow = ops->overflow != 0 ? ops->overflow : MM_OVERFLOW_BLOCK,
        .message_size_max = MMI_MESSAGE_SIZE_MAX,
        .frames_max = MMI_FRAMES_MAX,
        .topic_size_max = MMI_TOPIC_SIZE_MAX,
        .subscriptions_max = MMI_SUBSCRIPTIONS_MAX,
        .retain_topics_max = MMI_RETAIN_TOPICS_MAX,
        .retain_bytes_max = MMI_RETAIN_BYTES_MAX,
        .half_open_max = MMI_HALF_OPEN_MAX,
        .connections_max = MMI_CONNECTIONS_MAX,
        .handshake_timeout_ms = MMI_HANDSHAKE_TIMEOUT_MS,
        .heartbeat_interval_ms = MMI_HEARTBEAT_INTERVAL_MS,
        .heartbeat_timeout_ms = MMI_HEARTBEAT_TIMEOUT_MS,
        .reconnect_min_ms = MMI_RECONNECT_MIN_MS,
        .reconnect_max_ms = MMI_RECONNECT_MAX_MS,
        .linger_ms = MMI_LINGER_MS,
        .spin_us = MM_SPIN_AUTO,
    };
    return MM_OK;
}

const char *
mm_role_name(int role)
{
    return mmi_role_name(role);
}

int
mm_role_facts(int role)
{
    const mmi_proto_ops *ops = mmi_proto_find(role);
    if (ops == NULL) {
        return 0;
    }
    return (ops->send != NULL ? MM_ROLE_SENDS : 0) |
           (ops->recv != NULL || ops->reply != NULL ? MM_ROLE_RECEIVES : 0) |
           (ops->shares ? MM_ROLE_SHARES : 0) | (ops->keeps ? MM_ROLE_KEEPS : 0) |
           (ops->subscribe != NULL ? MM_ROLE_SUBSCRIBES : 0) |
           (ops->subscription != NULL ? MM_ROLE_PUBLISHES : 0);
}

int
mm_roles_fit(int one, int other)
{
    const mmi_proto_ops *a = mmi_proto_find(one), *b = mmi_proto_find(other);
    return a != NULL && b != NULL && mmi_roles_fit(&a->is, &b->is);
}

_Static_assert((int)MM_PREFETCH_MAX == (int)MMI_UNACKED_MAX, "as many as an ACK can tell of");

/* Of what a PUSH is asked for beyond sending. */
static bool
options_of_push(const mmi_proto_ops *role, const mm_socket_opts *o)
{
    const uint32_t acked = MM_OPT_AT_LEAST_ONCE | MM_OPT_REQUIRE_ACKS;
    const uint32_t routing = MM_OPT_LEAST_LOADED | MM_OPT_HASH;
    bool kept = o->max_attempts > 0 || o->ack_timeout_ms > 0 ||
                (o->flags & MM_OPT_KEEP_DEAD) != 0; /* of a PUB: of its groups */
    bool asked = (o->flags & (acked | routing)) != 0 || (kept && role->replay == NULL) ||
                 o->priorities > 0 || o->delayed_messages > 0 || o->delayed_bytes > 0 ||
                 (o->peers_min > 0 && role->replay == NULL);
    bool keyed = (o->flags & MM_OPT_HASH) != 0;
    bool acks = (o->flags & MM_OPT_AT_LEAST_ONCE) != 0;
    return (!asked || role->again != NULL) && (o->flags & routing) != routing &&
           o->priorities <= MM_PRIORITIES_MAX && (!keyed || o->priorities <= 1) &&
           (o->peers_min == 0 || keyed || role->replay != NULL) &&
           ((o->flags & MM_OPT_REQUIRE_ACKS) == 0 || acks);
}

bool
mmi_api_opts_valid(const mmi_proto_ops *role, const mm_socket_opts *o)
{
    if (o->identity_size > MM_IDENTITY_MAX || (o->identity_size > 0 && !role->named) ||
        (o->identity_size > 0 && o->identity[0] == 0)) {
        return false;
    }
    if (o->no_peer > MM_NO_PEER_DROP || (o->no_peer != MM_NO_PEER_AS_FULL && !role->shares) ||
        (o->no_peer == MM_NO_PEER_DROP && role->keeps)) {
        return false;
    }
    bool acks = (o->flags & MM_OPT_ACK_MANUAL) != 0 || o->prefetch > 0;
    const uint32_t grouped = MM_OPT_GROUP | MM_OPT_CONFLATE | MM_OPT_CONFLATE_TOPIC | MM_OPT_REPLAY;
    bool group = (o->flags & MM_OPT_GROUP) != 0, subscribes = role->wants != NULL;
    if ((group && (!subscribes || (o->flags & grouped) != MM_OPT_GROUP)) ||
        (!group && (o->flags & MM_OPT_REQUIRE_GROUP) != 0) || (acks && subscribes && !group)) {
        return false;
    }
    if (!options_of_push(role, o) || (acks && !role->acks) || o->prefetch > MM_PREFETCH_MAX ||
        ((o->flags & MM_OPT_REQUIRE_HEADERS) != 0 && role->send == NULL) ||
        ((o->flags & MM_OPT_REPLAY) != 0 && role->wants == NULL) ||
        ((o->flags & MM_OPT_RETAIN) != 0 && !role->retains) ||
        o->retain_topics_max > MM_RETAIN_TOPICS_MOST ||
        (o->flags & (MM_OPT_REPLAY | MM_OPT_REQUIRE_REPLAY)) == MM_OPT_REQUIRE_REPLAY) {
        return false;
    }
    return o->overflow >= MM_OVERFLOW_BLOCK && o->overflow <= MM_OVERFLOW_DROP_OLDEST &&
           o->send_queue_messages > 0 && o->recv_queue_messages > 0 && o->send_queue_bytes > 0 &&
           o->recv_queue_bytes > 0 && o->frames_max > 0 && o->half_open_max > 0 &&
           o->connections_max > 0 && o->handshake_timeout_ms > 0 && o->reconnect_min_ms > 0 &&
           o->reconnect_max_ms >= o->reconnect_min_ms &&
           (o->heartbeat_interval_ms == 0 || o->heartbeat_timeout_ms > 0) &&
           o->topic_size_max <= UINT32_MAX - MMI_COMMAND_OVERHEAD;
}
