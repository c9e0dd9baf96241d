/*
 * wire/handshake.c: from the first octet to the hello of its wire.
 * Not here: what either hello says (hello.c, wire/sp/hello.c).
 * Law: as in wire/handshake.h.
 */
#include "wire/handshake.h"

#include <stdio.h>
#include <string.h>

enum {
    OPENING_EXCERPT_MAX = 60,            /* octets of what a stranger said that are shown */
    OPENING_GREETING_SIZE = 64,
    OPENING_TLS_HANDSHAKE = 0x16, OPENING_TLS_MAJOR = 3
};

static int
opening_fail(mmi_opening *o, int reason, const char *detail)
{
    o->reason = reason;
    snprintf(o->detail, sizeof o->detail, "%s", detail);
    return reason == MM_REASON_MEMORY ? MM_ENOMEM : MM_EPROTO;
}

/* The wire is known: its hello begins. */
static int
opening_begin(mmi_opening *o, int wire)
{
    if (wire == MMI_WIRE_SP && o->config.sp == NULL) {
        return opening_fail(o, MM_REASON_SOCKET_TYPE, "an SP peer, and this role speaks no SP");
    }
    if (wire == MMI_WIRE_SP && o->config.zmtp.refusal != NULL) {
        return opening_fail(o, MM_REASON_CONNECTIONS, o->config.zmtp.refusal);
    }
    if (wire == MMI_WIRE_SP) {
        mmi_sp_hello_init(&o->sp, o->config.sp, o->config.wire == 0);
    } else if (mmi_hello_init(&o->zmtp, &o->config.zmtp) != MM_OK) {
        return opening_fail(o, MM_REASON_MEMORY, "out of memory");
    }
    o->wire = wire;
    return MM_OK;
}

int
mmi_opening_init(mmi_opening *o, const mmi_opening_config *config)
{
    memset(o, 0, sizeof *o);
    o->config = *config;
    return config->wire == 0 ? MM_OK : opening_begin(o, config->wire);
}

void
mmi_opening_fini(mmi_opening *o)
{
    if (o->wire == MMI_WIRE_ZMTP) {
        mmi_hello_fini(&o->zmtp);
    }
}

/* The first octets are of neither wire: they are shown, up to the end of a line. */
static int
opening_stranger(mmi_opening *o, int reason, const uint8_t *buf, size_t size)
{
    char detail[MM_DETAIL_MAX + 1], said[OPENING_EXCERPT_MAX + 1];
    size_t line = 0;
    while (line < size && buf[line] != '\r' && buf[line] != '\n') {
        line++;
    }
    mmi_text_excerpt(said, sizeof said, buf, line);
    if (buf[0] == MMI_HELLO_ZMTP1) {
        return opening_fail(o, reason == MM_REASON_NOT_ZMTP ? MM_REASON_OLD_ZMTP : reason,
                            MMI_HELLO_ZMTP1_TEXT);
    }
    if (buf[0] >= 0x20 && buf[0] < 0x7f) {
        snprintf(detail, sizeof detail, "not ZeroMQ or NNG: it said '%s'", said);
    } else {
        bool tls = size > 1 && buf[0] == OPENING_TLS_HANDSHAKE && buf[1] == OPENING_TLS_MAJOR;
        snprintf(detail, sizeof detail, "not ZeroMQ or NNG: its first octet is %02x%s", buf[0],
                 tls ? ", as of TLS" : "");
    }
    return opening_fail(o, reason, detail);
}

static int
opening_sniff(mmi_opening *o, const uint8_t *buf, size_t size)
{
    int wire = mmi_wire_sniff(buf, size);
    return wire > 0 ? opening_begin(o, wire) : opening_stranger(o, MM_REASON_NOT_ZMTP, buf, size);
}

/* A hello failed.  One that dialed with the wrong wire is told the right one. */
static int
opening_failed(mmi_opening *o, int rc, const uint8_t *buf, size_t size)
{
    bool sp = o->wire == MMI_WIRE_SP;
    int other = mmi_wire_sniff(&o->first, 1);
    o->reason = sp ? o->sp.reason : o->zmtp.reason;
    snprintf(o->detail, sizeof o->detail, "%s", sp ? o->sp.detail : o->zmtp.detail);
    if (o->reason == MM_REASON_NOT_ZMTP && other == MMI_WIRE_SP) {
        return opening_fail(o, o->reason, "the peer speaks SP: connect to sp+tcp:// or sp+ipc://");
    }
    if (o->reason == MM_REASON_NOT_SP && other == MMI_WIRE_ZMTP) {
        return opening_fail(o, o->reason, "the peer speaks ZMTP: connect to tcp:// or ipc://");
    }
    bool foreign = o->reason == MM_REASON_NOT_ZMTP || o->reason == MM_REASON_NOT_SP;
    return foreign && other < 0 && o->heard == size ? opening_stranger(o, o->reason, buf, size)
                                                    : rc;
}

int
mmi_opening_feed(mmi_opening *o, const uint8_t *buf, size_t size, size_t *used)
{
    *used = 0;
    if (o->reason != 0) {
        return MM_EPROTO;
    }
    if (o->heard == 0 && size > 0) {
        o->first = buf[0];
    }
    o->heard += size;
    if (o->wire == 0) {
        int rc = size > 0 ? opening_sniff(o, buf, size) : MM_OK;
        if (rc != MM_OK || o->wire == 0) {
            return rc;
        }
    }
    int rc = o->wire == MMI_WIRE_SP ? mmi_sp_hello_feed(&o->sp, buf, size, used)
                                    : mmi_hello_feed(&o->zmtp, buf, size, used);
    return rc < 0 ? opening_failed(o, rc, buf, size) : rc;
}

/* What usually is behind an end at this point, as far as one can tell from here. */
static const char *
opening_guess(const mmi_opening *o)
{
    bool dialed = o->config.wire != 0;
    if (o->heard == 0 && !dialed) {
        return "a port scan, a health check, or a peer that gave up";
    }
    if (o->wire == MMI_WIRE_SP) {
        return o->heard == 0 ? "it may speak ZMTP (tcp:// instead of sp+tcp://), or be no NNG peer"
                             : "it may not want this role";
    }
    if (o->heard == 0) {
        return "no ZeroMQ peer, or it wants PLAIN or CURVE, or takes no more";
    }
    return o->heard < OPENING_GREETING_SIZE
               ? "it may want PLAIN or CURVE (ours is NULL), or speak ZMTP 2"
               : "it may not want this role, or be closing";
}

void
mmi_opening_ended(mmi_opening *o, const char *how)
{
    if (o->heard == 0) {
        snprintf(o->detail, sizeof o->detail, "%s before it said anything: %s", how,
                 opening_guess(o));
    } else {
        snprintf(o->detail, sizeof o->detail, "%s after %llu octets: %s", how,
                 (unsigned long long)o->heard, opening_guess(o));
    }
}

size_t
mmi_opening_output(const mmi_opening *o, const uint8_t **out)
{
    *out = NULL;
    if (o->wire == 0) {
        return 0;
    }
    return o->wire == MMI_WIRE_SP ? mmi_sp_hello_output(&o->sp, out)
                                  : mmi_hello_output(&o->zmtp, out);
}

void
mmi_opening_sent(mmi_opening *o, size_t size)
{
    if (o->wire == MMI_WIRE_SP) {
        mmi_sp_hello_sent(&o->sp, size);
    } else {
        mmi_hello_sent(&o->zmtp, size);
    }
}
