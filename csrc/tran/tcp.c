/*
 * tcp.c: tcp://host:port.
 *
 * Not here: look-ups and streams (plat).  Law: to connect, a number is an address at once and a
 * name is looked up off this thread; to bind, the thread that binds looks it up.
 */
#include "tran/tran.h"

static int
tcp_parse(const char *rest, mmi_url *out, char *why)
{
    return mmi_url_host(rest, out, why);
}

static int
tcp_resolve(const mmi_plat *pl, const mmi_url *u, uint64_t tag, mmi_addr *out, int cap)
{
    return pl->resolve(pl->self, u->host, u->port, tag, out, cap);
}

static int
tcp_dial(const mmi_plat *pl, const mmi_url *u, const mmi_addr *a, int *stream, mmi_tran_why *why)
{
    (void)u;
    (void)why;
    return pl->connect(pl->self, a, stream);
}

static int
tcp_locate(const mmi_plat *pl, const mmi_url *u, mmi_addr *out)
{
    mmi_addr found[MMI_ADDRS_MAX];
    if (u->any) {
        *out = (mmi_addr){ .kind = MMI_ADDR_TCP6, .any = true, .port = u->port };
        return MM_OK;
    }
    int count = pl->resolve_wait(pl->self, u->host, u->port, found, MMI_ADDRS_MAX);
    if (count <= 0) {
        return count == 0 ? MM_ENOHOST : count;
    }
    *out = found[0];
    return MM_OK;
}

static int
tcp_listen(const mmi_plat *pl, const mmi_url *u, const mmi_addr *a, mmi_tran_listener *l,
           char *bound, size_t bound_size)
{
    mmi_addr at = *a;
    char scheme[MMI_SCHEME_TEXT_CAP];
    int rc = pl->listen(pl->self, &at, &l->stream);
    if (rc == MM_OK) {
        mmi_addr_format(&at, mmi_url_scheme(u, scheme), bound, bound_size);
    }
    return rc;
}

static int
tcp_accept(const mmi_plat *pl, const mmi_tran_listener *l, int *stream, mmi_addr *peer,
           mmi_tran_why *why)
{
    (void)why;
    return pl->accept(pl->self, l->stream, stream, peer);
}

static void
tcp_close(const mmi_plat *pl, const mmi_tran_listener *l)
{
    pl->close(pl->self, l->stream);
}

const mmi_tran mmi_tran_tcp = { .scheme = "tcp",
                                .flags = MMI_TRAN_WIRES | MMI_TRAN_OUTER,
                                .parse = tcp_parse,
                                .resolve = tcp_resolve,
                                .dial = tcp_dial,
                                .locate = tcp_locate,
                                .listen = tcp_listen,
                                .accept = tcp_accept,
                                .close = tcp_close };
