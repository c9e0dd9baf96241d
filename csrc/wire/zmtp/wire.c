/*
 * zmtp/wire.c: ZMTP as the tables of wire.h: 3.1, and what a peer of 3.0 is spoken to with.
 *
 * 3.0 has no heartbeats, and a subscription is a message there.  We take both forms from any
 * peer, as libzmq does, and answer a PING of one that should have none.
 * Not here: any octet (hello.c, reader.c, command.c).  Law: as in wire.h.
 */
#include "wire/handshake.h"
#include "wire/parser.h"
#include "wire/zmtp/command.h"

_Static_assert((int)MMI_COMMAND_COUNT_SIZE + (int)MMI_COMMAND_AT_SIZE <= (int)MMI_NUMBERED_MAX,
               "both have room");

enum { ZMTP_MINOR = 1, ZMTP_FIRST = 0xff, ZMTP_GREETING_SIZE = 64 };

static int
zmtp_begin(mmi_handshake *o)
{
    const mmi_handshake_config *config = &o->config;
    const mmi_hello_config ours = { .role = config->role,
                                    .roles = config->roles,
                                    .identity = config->identity,
                                    .identity_size = config->identity_size,
                                    .features = config->features,
                                    .takes_size = config->takes_size,
                                    .takes_frames = config->takes_frames,
                                    .group = config->group,
                                    .refusal = config->refusal,
                                    .mechanism = config->mechanism,
                                    .mechanism_config = config->mechanism_config,
                                    .outer = o->outer != NULL ? &o->outer->shield : NULL,
                                    .mechanisms = o->mechanisms,
                                    .frame_max = config->frame_max,
                                    .allow = config->allow,
                                    .allow_config = config->allow_config,
                                    .dials = config->wire != NULL };
    return mmi_hello_init(&o->of.zmtp, &ours) == MM_OK
               ? MM_OK
               : mmi_handshake_fail(o, MM_REASON_MEMORY, "out of memory");
}

static void
zmtp_hello_fini(mmi_handshake *o)
{
    mmi_hello_fini(&o->of.zmtp);
}

static int
zmtp_feed(mmi_handshake *o, const uint8_t *buf, size_t size, size_t *used)
{
    return mmi_hello_feed(&o->of.zmtp, buf, size, used);
}

static int
zmtp_step(mmi_handshake *o, const uint8_t *buf, size_t size, size_t *used)
{
    return mmi_hello_step(&o->of.zmtp, buf, size, used);
}

static int
zmtp_answer(mmi_handshake *o, const mmi_answer *answer)
{
    return mmi_hello_answer(&o->of.zmtp, answer);
}

static void
zmtp_applicant(const mmi_handshake *o, mmi_applicant *out)
{
    mmi_hello_applicant(&o->of.zmtp, out);
}

static size_t
zmtp_output(const mmi_handshake *o, const uint8_t **out)
{
    return mmi_hello_output(&o->of.zmtp, out);
}

static void
zmtp_sent(mmi_handshake *o, size_t size)
{
    mmi_hello_sent(&o->of.zmtp, size);
}

static int
zmtp_failure(const mmi_handshake *o, const char **detail)
{
    *detail = o->of.zmtp.detail;
    return o->of.zmtp.reason;
}

static void
zmtp_peer(const mmi_handshake *o, mmi_wire_peer *out)
{
    const mmi_hello_peer *peer = &o->of.zmtp.peer;
    const mmi_shield *shield = &o->of.zmtp.shield;
    *out = (mmi_wire_peer){ .wire = peer->minor > 0 ? &mmi_wire_zmtp : &mmi_wire_zmtp_3_0,
                            .framing = &mmi_framing_zmtp,
                            .role = peer->role,
                            .identity = peer->identity,
                            .identity_size = peer->identity_size,
                            .features = peer->features,
                            .group = peer->group,
                            .user_id = o->of.zmtp.user_id };
    if (shield->mechanism != NULL) {
        out->properties.data = shield->mechanism->metadata(shield->self, &out->properties.size);
    }
}

static mmi_shield
zmtp_take_shield(mmi_handshake *o)
{
    mmi_shield shield = o->of.zmtp.shield;
    if (!mmi_mechanism_seals(shield.mechanism)) {
        return (mmi_shield){ .mechanism = NULL };   /* it ends with the handshake */
    }
    o->of.zmtp.shield = (mmi_shield){ .mechanism = NULL };
    return shield;
}

static const char *
zmtp_guess(const mmi_handshake *o)
{
    const mmi_shield *shield = &o->of.zmtp.shield;
    const mmi_hello_config *c = &o->of.zmtp.config;
    if (o->of.zmtp.peer_serves && c->mechanism != NULL && c->mechanism->serves != NULL &&
        c->mechanism->serves(c->mechanism_config)) {
        return "it is a server, as we are: one of the two has to be the client";
    }
    if (shield->mechanism != NULL && shield->mechanism->guess != NULL) {
        return shield->mechanism->guess(shield->self);
    }
    if (o->config.mechanism != NULL) {
        return "another mechanism, or it does not know us, or want this role";
    }
    if (o->said == 0) {
        return "no ZeroMQ peer, or it wants PLAIN, CURVE or TLS, or takes no more";
    }
    return o->said < ZMTP_GREETING_SIZE
               ? "it may want PLAIN or CURVE (ours is NULL), or speak ZMTP 2"
               : "it may not want this role, or be closing";
}

static bool
zmtp_speaks(int role)
{
    return role > 0;
}

static const mmi_wire_hello zmtp_hello = {
    .begin = zmtp_begin,
    .fini = zmtp_hello_fini,
    .feed = zmtp_feed,
    .step = zmtp_step,
    .answer = zmtp_answer,
    .applicant = zmtp_applicant,
    .output = zmtp_output,
    .sent = zmtp_sent,
    .failure = zmtp_failure,
    .peer = zmtp_peer,
    .take_shield = zmtp_take_shield,
    .guess = zmtp_guess,
    .speaks = zmtp_speaks,
    .first = ZMTP_FIRST,
    .foreign = MM_REASON_NOT_ZMTP,
    .instead = "the peer speaks ZMTP: connect to tcp:// or ipc://",
};

static void
zmtp_reader_init(mmi_parser *p, const mmi_wire_limits *limits, const mmi_handshake *o)
{
    (void)o;
    mmi_reader_init(&p->of.zmtp, limits);
}

static void
zmtp_reader_fini(mmi_parser *p)
{
    mmi_reader_fini(&p->of.zmtp);
}

static bool
zmtp_idle(const mmi_parser *p)
{
    return mmi_reader_idle(&p->of.zmtp);
}

static int
zmtp_next(mmi_parser *p, const uint8_t **buf, size_t *size, mmi_input *out)
{
    return mmi_reader_next(&p->of.zmtp, buf, size, out);
}

static mmi_segment_in *
zmtp_segment(const mmi_parser *p, const uint8_t **buf, size_t *size, mmi_reader_room room,
             mmi_arena *arena)
{
    return mmi_reader_segment(&p->of.zmtp, buf, size, room, arena);
}

static bool
zmtp_waits(const mmi_parser *p, const uint8_t *buf, size_t size, size_t size_max)
{
    return mmi_reader_waits(&p->of.zmtp, buf, size, size_max);
}

static size_t
zmtp_direct(mmi_parser *p, uint8_t **area)
{
    return mmi_reader_direct(&p->of.zmtp, area);
}

static void
zmtp_filled(mmi_parser *p, size_t size)
{
    mmi_reader_filled(&p->of.zmtp, size);
}

static bool
zmtp_skip(mmi_parser *p)
{
    mmi_reader_skip(&p->of.zmtp);
    return true;
}

static int
zmtp_reason(const mmi_parser *p, const char **detail)
{
    *detail = p->of.zmtp.detail;
    return p->of.zmtp.reason;
}

static uint64_t
zmtp_skipped(const mmi_parser *p)
{
    (void)p;
    return 0;
}

static const mmi_wire_reader zmtp_reader = {
    .init = zmtp_reader_init,
    .fini = zmtp_reader_fini,
    .idle = zmtp_idle,
    .next = zmtp_next,
    .segment = zmtp_segment,
    .waits = zmtp_waits,
    .direct = zmtp_direct,
    .filled = zmtp_filled,
    .skip = zmtp_skip,
    .reason = zmtp_reason,
    .skipped = zmtp_skipped,
};

/* A message of one frame that begins with 01 or 00. */
static bool
zmtp_topic_message(const mmi_msg *m, mmi_command *out)
{
    if (m->frame_count != 1 || m->frames[0].size == 0 || m->frames[0].data[0] > 1) {
        return false;
    }
    *out = (mmi_command){ .kind = m->frames[0].data[0] == 1 ? MMI_COMMAND_SUBSCRIBE
                                                            : MMI_COMMAND_CANCEL,
                          .data = m->frames[0].data + 1,
                          .size = m->frames[0].size - 1 };
    return true;
}

/* The frame there, which we wrote ourselves. */
static size_t
zmtp_own_frame(const uint8_t *at, size_t size, mmi_frame_head *head, const uint8_t **body)
{
    int n = mmi_frame_head_parse(at, size, head);
    MMI_ASSERT(n > 0 && head->size <= size - (size_t)n);
    *body = at + n;
    return (size_t)n + (size_t)head->size;
}

static size_t
zmtp_read_back(const uint8_t *at, size_t size, mmi_command *out)
{
    mmi_frame_head head;
    const uint8_t *body;
    size_t whole = zmtp_own_frame(at, size, &head, &body);
    if (mmi_command_parse(body, (size_t)head.size, out) != MM_OK) {
        out->kind = MMI_COMMAND_UNKNOWN;
    }
    return whole;
}

static size_t
zmtp_3_0_read_back(const uint8_t *at, size_t size, mmi_command *out)
{
    mmi_frame_head head;
    const uint8_t *body;
    size_t whole = zmtp_own_frame(at, size, &head, &body);
    out->kind = MMI_COMMAND_UNKNOWN;
    if ((head.flags & MMI_FRAME_COMMAND) == 0 && head.size > 0) {
        *out = (mmi_command){ .kind = body[0] == 1 ? MMI_COMMAND_SUBSCRIBE : MMI_COMMAND_CANCEL,
                              .data = body + 1,
                              .size = (size_t)head.size - 1 };
    }
    return whole;
}

static size_t
zmtp_put_topic(uint8_t *out, bool add, const uint8_t *topic, size_t size)
{
    return mmi_command_put_subscription(out, ZMTP_MINOR, add, topic, size);
}

static size_t
zmtp_3_0_put_topic(uint8_t *out, bool add, const uint8_t *topic, size_t size)
{
    return mmi_command_put_subscription(out, 0, add, topic, size);
}

const mmi_wire mmi_wire_zmtp = {
    .name = "ZMTP 3.1",
    .prefix = "",
    .peer_name = "ZeroMQ peer",
    .id = MMI_WIRE_ZMTP,
    .minor = ZMTP_MINOR,
    .beats = true,
    .tells_topics = true,
    .hello = &zmtp_hello,
    .reader = &zmtp_reader,
    .put_ping = mmi_command_put_ping,
    .put_pong = mmi_command_put_pong,
    .put_error = mmi_command_put_error,
    .put_stop = mmi_command_put_stop,
    .put_stopped = mmi_command_put_stopped,
    .put_count = mmi_command_put_count,
    .put_ack = mmi_command_put_ack,
    .put_nack = mmi_command_put_nack,
    .put_extend = mmi_command_put_extend,
    .put_end = mmi_command_put_end,
    .put_meta = mmi_command_put_meta,
    .counted = &mmi_framing_zmtp_counted,
    .put_replay = mmi_command_put_replay,
    .put_at = mmi_command_put_at,
    .put_lost = mmi_command_put_lost,
    .put_topic = zmtp_put_topic,
    .read_back = zmtp_read_back,
    .topic_message = zmtp_topic_message,
    .refusal = mmi_command_refusal,
};

const mmi_wire mmi_wire_zmtp_3_0 = {
    .name = "ZMTP 3.0",
    .prefix = "",
    .peer_name = "ZeroMQ peer",
    .id = MMI_WIRE_ZMTP,
    .minor = 0,
    .beats = false,
    .tells_topics = true,
    .hello = &zmtp_hello,
    .reader = &zmtp_reader,
    .put_ping = NULL,
    .put_pong = mmi_command_put_pong,
    .put_error = mmi_command_put_error,
    .put_stop = mmi_command_put_stop,
    .put_stopped = mmi_command_put_stopped,
    .put_topic = zmtp_3_0_put_topic,
    .read_back = zmtp_3_0_read_back,
    .topic_message = zmtp_topic_message,
    .refusal = mmi_command_refusal,
};
