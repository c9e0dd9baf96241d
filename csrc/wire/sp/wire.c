/*
 * sp/wire.c: SP as the tables of wire.h.  It has messages and nothing else: no commands, no
 * heartbeats, no subscriptions.
 *
 * Not here: any octet (hello.c, reader.c, body.c).  Law: as in wire.h.
 */
#include "wire/handshake.h"
#include "wire/parser.h"

static int
sp_begin(mmi_handshake *o)
{
    const mmi_handshake_config *config = &o->config;
    const mmi_sp_protocol *ours =
        config->as != 0 ? mmi_sp_find(config->as) : mmi_sp_of_role(config->role);
    if (ours == NULL) {
        return mmi_handshake_fail(o, MM_REASON_SOCKET_TYPE,
                                  "an SP peer, and this role speaks no SP");
    }
    if (config->refusal != NULL) {
        return mmi_handshake_fail(o, MM_REASON_CONNECTIONS, config->refusal);
    }
    if (config->mechanism != NULL) {
        return mmi_handshake_fail(
            o, MM_REASON_MECHANISM,
            "an SP peer, and SP has no mechanism; this endpoint asks for one");
    }
    mmi_sp_hello_init(&o->of.sp, ours, config->wire == NULL);
    return MM_OK;
}

static void
sp_hello_fini(mmi_handshake *o)
{
    (void)o;
}

static int
sp_feed(mmi_handshake *o, const uint8_t *buf, size_t size, size_t *used)
{
    int rc = mmi_sp_hello_feed(&o->of.sp, buf, size, used);
    o->instead = o->of.sp.instead != NULL ? o->of.sp.instead->id : 0;
    return rc;
}

static size_t
sp_output(const mmi_handshake *o, const uint8_t **out)
{
    return mmi_sp_hello_output(&o->of.sp, out);
}

static void
sp_sent(mmi_handshake *o, size_t size)
{
    mmi_sp_hello_sent(&o->of.sp, size);
}

static int
sp_failure(const mmi_handshake *o, const char **detail)
{
    *detail = o->of.sp.detail;
    return o->of.sp.reason;
}

static int
sp_mapping(const mmi_handshake *o)
{
    return o->config.marks ? MMI_SP_MARKED : MMI_SP_PLAIN;
}

static void
sp_peer(const mmi_handshake *o, mmi_wire_peer *out)
{
    *out = (mmi_wire_peer){ .wire = &mmi_wire_sp,
                            .framing = mmi_framing_sp(sp_mapping(o), o->of.sp.ours),
                            .role = o->of.sp.theirs->role,
                            .features = "",
                            .group = "",
                            .user_id = "" };
}

static const char *
sp_guess(const mmi_handshake *o)
{
    return o->said == 0 ? "it may speak ZMTP (tcp://) or TLS (sp+tls+tcp://), or be no NNG"
                        : "it may not want this role";
}

static mmi_shield
sp_take_shield(mmi_handshake *o)
{
    (void)o;
    return (mmi_shield){ .mechanism = NULL };
}

static bool
sp_speaks(int role)
{
    return mmi_sp_of_role(role) != NULL;
}

static const mmi_wire_hello sp_hello = {
    .begin = sp_begin,
    .fini = sp_hello_fini,
    .feed = sp_feed,
    .output = sp_output,
    .sent = sp_sent,
    .failure = sp_failure,
    .peer = sp_peer,
    .take_shield = sp_take_shield,
    .guess = sp_guess,
    .speaks = sp_speaks,
    .first = 0x00,
    .foreign = MM_REASON_NOT_SP,
    .instead = "the peer speaks SP: connect to sp+tcp:// or sp+ipc://",
};

static void
sp_reader_init(mmi_parser *p, const mmi_wire_limits *limits, const mmi_handshake *o)
{
    const mmi_sp_reader_limits sp = { .message_size_max = limits->message_size_max,
                                      .hops_max = MMI_SP_HOPS_MAX,
                                      .mapping = sp_mapping(o),
                                      .form = o->of.sp.ours->form };
    mmi_sp_reader_init(&p->of.sp, &sp);
}

static void
sp_reader_fini(mmi_parser *p)
{
    mmi_sp_reader_fini(&p->of.sp);
}

static bool
sp_idle(const mmi_parser *p)
{
    return mmi_sp_reader_idle(&p->of.sp);
}

static int
sp_next(mmi_parser *p, const uint8_t **buf, size_t *size, mmi_input *out)
{
    return mmi_sp_reader_next(&p->of.sp, buf, size, out);
}

static mmi_segment_in *
sp_segment(const mmi_parser *p, const uint8_t **buf, size_t *size, mmi_reader_room room,
           mmi_arena *arena)
{
    return mmi_sp_reader_segment(&p->of.sp, buf, size, room, arena);
}

static bool
sp_waits(const mmi_parser *p, const uint8_t *buf, size_t size, size_t size_max)
{
    (void)p;
    (void)buf;
    (void)size;
    (void)size_max;
    return false;
}

static size_t
sp_direct(mmi_parser *p, uint8_t **area)
{
    return mmi_sp_reader_direct(&p->of.sp, area);
}

static void
sp_filled(mmi_parser *p, size_t size)
{
    mmi_sp_reader_filled(&p->of.sp, size);
}

/* No commands stand between the messages. */
static bool
sp_skip(mmi_parser *p)
{
    mmi_sp_reader_fini(&p->of.sp);
    return false;
}

static int
sp_reason(const mmi_parser *p, const char **detail)
{
    *detail = p->of.sp.detail;
    return p->of.sp.reason;
}

static uint64_t
sp_skipped(const mmi_parser *p)
{
    return p->of.sp.skipped;
}

static const mmi_wire_reader sp_reader = {
    .init = sp_reader_init,
    .fini = sp_reader_fini,
    .idle = sp_idle,
    .next = sp_next,
    .segment = sp_segment,
    .waits = sp_waits,
    .direct = sp_direct,
    .filled = sp_filled,
    .skip = sp_skip,
    .reason = sp_reason,
    .skipped = sp_skipped,
};

const mmi_wire mmi_wire_sp = {
    .name = "SP",
    .prefix = "sp+",
    .peer_name = "NNG peer",
    .id = MMI_WIRE_SP,
    .hello = &sp_hello,
    .reader = &sp_reader,
};
