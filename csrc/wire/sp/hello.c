/*
 * wire/sp/hello.c: the SP hello: 00 'S' 'P' 00, the protocol, 00 00.
 *
 * Not here: which protocols there are (sp.c).  Law: every octet is looked at as it comes; there are
 * only 8, so nothing can be made to grow.
 */
#include "wire/sp/hello.h"

#include <string.h>

enum { HELLO_PROTOCOL_AT = 4, HELLO_RESERVED_AT = 6, HELLO_PAIR = 1 };

static const uint8_t sp_hello_start[HELLO_PROTOCOL_AT] = { 0x00, 'S', 'P', 0x00 };

static void
sp_hello_say(mmi_sp_hello *h)
{
    memcpy(h->out, sp_hello_start, sizeof sp_hello_start);
    h->out[HELLO_PROTOCOL_AT] = (uint8_t)(h->ours->id >> 8);
    h->out[HELLO_PROTOCOL_AT + 1] = (uint8_t)h->ours->id;
    h->out_size = MMI_SP_HELLO_SIZE;
}

void
mmi_sp_hello_init(mmi_sp_hello *h, const mmi_sp_protocol *ours, bool answer)
{
    memset(h, 0, sizeof *h);
    h->ours = ours;
    h->answer = answer;
    if (!answer) {
        sp_hello_say(h);
    }
}

size_t
mmi_sp_hello_output(const mmi_sp_hello *h, const uint8_t **out)
{
    *out = h->out + h->out_sent;
    return (size_t)h->out_size - h->out_sent;
}

void
mmi_sp_hello_sent(mmi_sp_hello *h, size_t size)
{
    h->out_sent += (uint8_t)size;
}

/* All 8 octets are there and well formed: is the peer one for us? 1 or MM_EPROTO. */
static int
sp_hello_done(mmi_sp_hello *h)
{
    uint32_t id = (uint32_t)h->in[HELLO_PROTOCOL_AT] << 8 | h->in[HELLO_PROTOCOL_AT + 1];
    const mmi_sp_protocol *theirs = mmi_sp_find(id);
    bool pairs = theirs != NULL && theirs->id >> 4 == HELLO_PAIR && h->ours->id >> 4 == HELLO_PAIR;
    if (h->answer) {
        if (pairs) {
            h->ours = theirs;   /* both versions are peers of themselves */
        }
        sp_hello_say(h);
    }
    if (theirs == NULL) {
        return mmi_refuse(h, MM_REASON_SOCKET_TYPE, "an unknown SP protocol, 0x%04x", id);
    }
    if (!mmi_sp_match(h->ours, theirs)) {
        h->instead = pairs ? theirs : NULL;
        return mmi_refuse(h, MM_REASON_SOCKET_TYPE,
                          pairs ? "%s cannot talk to %s; the next attempt is made as the latter"
                                : "%s cannot talk to %s",
                          h->ours->name, theirs->name);
    }
    h->theirs = theirs;
    return 1;
}

/* Takes one more octet. MM_OK: it may be right; MM_EPROTO. */
static int
sp_hello_octet(mmi_sp_hello *h, uint8_t octet)
{
    size_t at = h->in_size;
    if (at < HELLO_PROTOCOL_AT && octet != sp_hello_start[at]) {
        return mmi_refuse(h, MM_REASON_NOT_SP, "octet %zu is %02x, an SP hello's %02x", at, octet,
                          sp_hello_start[at]);
    }
    if (at >= HELLO_RESERVED_AT && octet != 0) {
        return mmi_refuse(h, MM_REASON_NOT_SP, "octet %zu is %02x, an SP hello's 00", at, octet);
    }
    h->in[h->in_size++] = octet;
    return MM_OK;
}

int
mmi_sp_hello_feed(mmi_sp_hello *h, const uint8_t *buf, size_t size, size_t *used)
{
    *used = 0;
    if (h->reason != 0) {
        return MM_EPROTO;
    }
    if (h->theirs != NULL) {
        return 1;
    }
    while (*used < size) {
        int rc = sp_hello_octet(h, buf[*used]);
        if (rc != MM_OK) {
            return rc;
        }
        (*used)++;
        if (h->in_size == MMI_SP_HELLO_SIZE) {
            return sp_hello_done(h);
        }
    }
    return 0;
}
