/*
 * tran.c: tcp and ipc: from a URL to platform addresses; and the table of transports.
 *
 * Law: a number is an address at once, a name is looked up by the platform, off this thread.
 */
#include "tran/tran.h"

#include <string.h>

static int
tcp_resolve(const mmi_plat *pl, const mmi_url *u, uint64_t tag, mmi_addr *out, int cap)
{
    return pl->resolve(pl->self, u->host, u->port, tag, out, cap);
}

static int
ipc_resolve(const mmi_plat *pl, const mmi_url *u, uint64_t tag, mmi_addr *out, int cap)
{
    (void)pl;
    (void)tag;
    if (cap < 1 || strlen(u->host) >= sizeof out->path) {
        return cap < 1 ? MM_EADDRINVAL : MM_ENAMETOOLONG;
    }
    memset(out, 0, sizeof *out);
    out->kind = MMI_ADDR_UNIX;
    out->any = strcmp(u->host, "*") == 0;
    memcpy(out->path, u->host, strlen(u->host) + 1);
    return 1;
}

static int
stream_dial(const mmi_plat *pl, const mmi_url *u, const mmi_addr *a, int *stream)
{
    (void)u;
    return pl->connect(pl->self, a, stream);
}

static const mmi_tran_ops tran_tcp = {
    .scheme = "tcp", .local = false, .resolve = tcp_resolve, .dial = stream_dial
};
static const mmi_tran_ops tran_ipc = {
    .scheme = "ipc", .local = true, .resolve = ipc_resolve, .dial = stream_dial
};

const mmi_tran_ops *
mmi_tran_find(int scheme)
{
    switch (scheme) {
    case MMI_TCP:
        return &tran_tcp;
    case MMI_IPC:
        return &tran_ipc;
    case MMI_INPROC:
        return &mmi_inproc_ops;
    default:
        return NULL;
    }
}
