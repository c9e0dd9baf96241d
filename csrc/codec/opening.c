/*
 * opening.c: from the first octet to the hello of its wire.
 * Not here: what either hello says (hello.c, sp_hello.c).
 * Law: as in opening.h.
 */
#include "codec/opening.h"

#include <stdio.h>
#include <string.h>

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

static int
opening_sniff(mmi_opening *o, const uint8_t *buf, size_t size)
{
    char detail[MM_DETAIL_MAX + 1];
    int wire = mmi_wire_sniff(buf, size);
    if (wire > 0) {
        return opening_begin(o, wire);
    }
    snprintf(detail, sizeof detail, "the first octet is %02x, neither ZMTP's ff nor SP's 00",
             buf[0]);
    return opening_fail(o, MM_REASON_NOT_ZMTP, detail);
}

/* A hello failed.  One that dialed with the wrong wire is told the right one. */
static int
opening_failed(mmi_opening *o, int rc)
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
    return rc;
}

int
mmi_opening_feed(mmi_opening *o, const uint8_t *buf, size_t size, size_t *used)
{
    *used = 0;
    if (o->reason != 0) {
        return MM_EPROTO;
    }
    if (!o->heard && size > 0) {
        o->heard = true;
        o->first = buf[0];
    }
    if (o->wire == 0) {
        int rc = size > 0 ? opening_sniff(o, buf, size) : MM_OK;
        if (rc != MM_OK || o->wire == 0) {
            return rc;
        }
    }
    int rc = o->wire == MMI_WIRE_SP ? mmi_sp_hello_feed(&o->sp, buf, size, used)
                                    : mmi_hello_feed(&o->zmtp, buf, size, used);
    return rc < 0 ? opening_failed(o, rc) : rc;
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
