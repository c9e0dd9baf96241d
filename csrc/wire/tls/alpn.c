/*
 * wire/tls/alpn.c: the names of what is spoken inside TLS.
 * Not here: wires.
 * Law: who offers is held to what it offered.
 */
#include <string.h>

#include "wire/tls/inside.h"

static const uint8_t alpn_zmtp[] = { 6, 'z', 'm', 't', 'p', '/', '3' };
static const uint8_t alpn_sp[] = { 4, 's', 'p', '/', '1' };

_Static_assert(sizeof alpn_zmtp + sizeof alpn_sp <= TLS_ALPN_MAX, "both fit");

bool
mmi_tls_alpn_known(const uint8_t *name)
{
    return (name[0] == alpn_zmtp[0] && memcmp(name, alpn_zmtp, sizeof alpn_zmtp) == 0) ||
           (name[0] == alpn_sp[0] && memcmp(name, alpn_sp, sizeof alpn_sp) == 0);
}

size_t
mmi_tls_alpn_put(const char *wire, uint8_t out[TLS_ALPN_MAX])
{
    size_t size = 0;
    if (wire == NULL || strcmp(wire, "SP") != 0) {
        memcpy(out, alpn_zmtp, sizeof alpn_zmtp);
        size += sizeof alpn_zmtp;
    }
    if (wire == NULL || strcmp(wire, "SP") == 0) {
        memcpy(out + size, alpn_sp, sizeof alpn_sp);
        size += sizeof alpn_sp;
    }
    return size;
}
