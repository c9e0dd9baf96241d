/*
 * addr.c: platform addresses: to and from the system's, as text, and whether they stay on this
 * machine.
 *
 * Law: no look-ups here.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "plat/posix/posix.h"

socklen_t
mmi_addr_to_sockaddr(const mmi_addr *a, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (a->kind == MMI_ADDR_TCP4) {
        struct sockaddr_in *in = (struct sockaddr_in *)out;
        in->sin_family = AF_INET;
        in->sin_port = htons(a->port);
        memcpy(&in->sin_addr, a->ip, sizeof in->sin_addr);
        return sizeof *in;
    }
    if (a->kind == MMI_ADDR_TCP6) {
        struct sockaddr_in6 *in = (struct sockaddr_in6 *)out;
        in->sin6_family = AF_INET6;
        in->sin6_port = htons(a->port);
        in->sin6_scope_id = a->scope;
        memcpy(&in->sin6_addr, a->ip, sizeof in->sin6_addr);
        return sizeof *in;
    }
    struct sockaddr_un *un = (struct sockaddr_un *)out;
    un->sun_family = AF_UNIX;
    snprintf(un->sun_path, sizeof un->sun_path, "%s", a->path);
    if (mmi_unix_abstract(a)) {
        un->sun_path[0] = '\0';   /* then every octet counts, up to the size */
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(a->path));
    }
    return sizeof *un;
}

void
mmi_addr_from_sockaddr(const struct sockaddr_storage *in, mmi_addr *out)
{
    memset(out, 0, sizeof *out);
    if (in->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)in;
        out->kind = MMI_ADDR_TCP4;
        out->port = ntohs(v4->sin_port);
        memcpy(out->ip, &v4->sin_addr, sizeof v4->sin_addr);
    } else if (in->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)in;
        out->kind = MMI_ADDR_TCP6;
        out->port = ntohs(v6->sin6_port);
        out->scope = v6->sin6_scope_id;
        memcpy(out->ip, &v6->sin6_addr, sizeof v6->sin6_addr);
    } else {
        out->kind = MMI_ADDR_UNIX;
    }
}

void
mmi_addr_format(const mmi_addr *a, const char *scheme, char *out, size_t size)
{
    char ip[INET6_ADDRSTRLEN] = "";
    char zone[IF_NAMESIZE + 1] = "";
    switch (a->kind) {
    case MMI_ADDR_TCP4:
        inet_ntop(AF_INET, a->ip, ip, sizeof ip);
        snprintf(out, size, "%s://%s:%u", scheme, ip, (unsigned)a->port);
        break;
    case MMI_ADDR_TCP6:
        inet_ntop(AF_INET6, a->ip, ip, sizeof ip);
        if (a->scope != 0) {
            zone[0] = '%';
            if (if_indextoname(a->scope, zone + 1) == NULL) {
                snprintf(zone, sizeof zone, "%%%u", (unsigned)a->scope);
            }
        }
        snprintf(out, size, "%s://[%s%s]:%u", scheme, ip, zone, (unsigned)a->port);
        break;
    case MMI_ADDR_UNIX: snprintf(out, size, "%s://%s", scheme, a->path); break;
    default: snprintf(out, size, "?"); break;
    }
}

bool
mmi_addr_loopback(const mmi_addr *a)
{
    static const uint8_t mapped[13] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127 };
    static const uint8_t one[16] = { [15] = 1 };
    switch (a->kind) {
    case MMI_ADDR_TCP4: return !a->any && a->ip[0] == mapped[12];
    case MMI_ADDR_TCP6:
        return !a->any &&
               (memcmp(a->ip, one, sizeof one) == 0 || memcmp(a->ip, mapped, sizeof mapped) == 0);
    default: return a->kind == MMI_ADDR_UNIX;
    }
}

uint64_t
mmi_addr_network(const mmi_addr *a)
{
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
    bool maps = a->kind == MMI_ADDR_TCP6 && memcmp(a->ip, mapped, sizeof mapped) == 0;
    uint8_t octets[8] = { 0xff, 0xff, 0xff, 0xff };   /* no IPv6 address of a peer begins so */
    uint64_t network = 0;
    if (a->kind == MMI_ADDR_TCP4 || maps) {
        memcpy(octets + 4, a->ip + (maps ? sizeof mapped : 0), 4);
        memcpy(&network, octets, sizeof network);
    } else if (a->kind == MMI_ADDR_TCP6) {
        memcpy(&network, a->ip, sizeof network);
    }
    return network;
}
