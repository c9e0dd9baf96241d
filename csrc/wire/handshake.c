/*
 * wire/handshake.c: from the first octet to the hello of its wire.
 * Not here: what a hello says (zmtp/hello.c, sp/hello.c).
 * Law: as in wire/handshake.h.
 */
#include "wire/handshake.h"

#include <stdio.h>
#include <string.h>

enum {
    OPENING_EXCERPT_MAX = 60,            /* octets of what a stranger said that are shown */
    OPENING_TLS_HANDSHAKE = 0x16, OPENING_TLS_MAJOR = 3
};

int
mmi_opening_fail(mmi_opening *o, int reason, const char *detail)
{
    o->reason = reason;
    snprintf(o->detail, sizeof o->detail, "%s", detail);
    return reason == MM_REASON_MEMORY ? MM_ENOMEM : MM_EPROTO;
}

/* The wire is known: its hello begins. */
static int
opening_begin(mmi_opening *o, const mmi_wire *wire)
{
    int rc = wire->hello->begin(o);
    if (rc == MM_OK) {
        o->wire = wire;
    }
    return rc;
}

int
mmi_opening_init(mmi_opening *o, const mmi_opening_config *config)
{
    memset(o, 0, sizeof *o);
    o->config = *config;
    return config->wire == NULL ? MM_OK : opening_begin(o, config->wire);
}

void
mmi_opening_fini(mmi_opening *o)
{
    if (o->wire != NULL) {
        o->wire->hello->fini(o);
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
        return mmi_opening_fail(o, reason == MM_REASON_NOT_ZMTP ? MM_REASON_OLD_ZMTP : reason,
                            MMI_HELLO_ZMTP1_TEXT);
    }
    if (buf[0] >= 0x20 && buf[0] < 0x7f) {
        snprintf(detail, sizeof detail, "not ZeroMQ or NNG: it said '%s'", said);
    } else {
        bool tls = size > 1 && buf[0] == OPENING_TLS_HANDSHAKE && buf[1] == OPENING_TLS_MAJOR;
        snprintf(detail, sizeof detail, "not ZeroMQ or NNG: its first octet is %02x%s", buf[0],
                 tls ? ", as of TLS" : "");
    }
    return mmi_opening_fail(o, reason, detail);
}

static int
opening_sniff(mmi_opening *o, const uint8_t *buf, size_t size)
{
    const mmi_wire *wire = mmi_wire_sniff(buf[0]);
    return wire != NULL ? opening_begin(o, wire)
                        : opening_stranger(o, MM_REASON_NOT_ZMTP, buf, size);
}

/* A hello failed.  One that dialed with the wrong wire is told the right one. */
static int
opening_failed(mmi_opening *o, int rc, const uint8_t *buf, size_t size)
{
    const mmi_wire *other = mmi_wire_sniff(o->first);
    const char *detail;
    o->reason = o->wire->hello->failure(o, &detail);
    snprintf(o->detail, sizeof o->detail, "%s", detail);
    if (o->reason != o->wire->hello->foreign || other == o->wire) {
        return rc;
    }
    if (other != NULL) {
        return mmi_opening_fail(o, o->reason, other->hello->instead);
    }
    return o->heard == size ? opening_stranger(o, o->reason, buf, size) : rc;
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
    if (o->wire == NULL) {
        int rc = size > 0 ? opening_sniff(o, buf, size) : MM_OK;
        if (rc != MM_OK || o->wire == NULL) {
            return rc;
        }
    }
    int rc = o->wire->hello->feed(o, buf, size, used);
    return rc < 0 ? opening_failed(o, rc, buf, size) : rc;
}

/* What usually is behind an end at this point, as far as one can tell from here. */
static const char *
opening_guess(const mmi_opening *o)
{
    return o->wire == NULL ? "a port scan, a health check, or a peer that gave up"
                           : o->wire->hello->guess(o);
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
    return o->wire == NULL ? 0 : o->wire->hello->output(o, out);
}

void
mmi_opening_sent(mmi_opening *o, size_t size)
{
    if (o->wire != NULL) {
        o->wire->hello->sent(o, size);
    }
}

mmi_shield
mmi_opening_take_shield(mmi_opening *o)
{
    return o->wire->hello->take_shield(o);
}

void
mmi_opening_peer(const mmi_opening *o, mmi_wire_peer *out)
{
    *out = (mmi_wire_peer){ .wire = o->wire, .features = "" };
    o->wire->hello->peer(o, out);
}
