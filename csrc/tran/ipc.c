/*
 * ipc.c: ipc://path, ipc://@name, and ipc:// with path * (bind: a fresh one).
 *
 * Not here: the files (plat/posix/unix_file.c); whose program may be at the other side
 * (ends/user.c).  Law: a path and a name differ here only.
 */
#include <string.h>

#include "base/limits.h"
#include "tran/tran.h"

static int
ipc_parse(const char *rest, mmi_url *out, char *why)
{
    if (rest[0] == '\0') {
        return mmi_url_refuse(why, "the path is missing: ipc:///path/of/a/file");
    }
    if (strcmp(rest, "@") == 0) {
        return mmi_url_refuse(why, "the name behind @ is missing");
    }
    out->any = strcmp(rest, "*") == 0;
    return mmi_url_name(rest, MMI_IPC_PATH_MAX, rest[0] == '@' ? "name with its @" : "path", out,
                        why);
}

static int
ipc_addr(const mmi_url *u, mmi_addr *out)
{
    if (strlen(u->host) >= sizeof out->path) {
        return MM_ENAMETOOLONG;
    }
    memset(out, 0, sizeof *out);
    out->kind = MMI_ADDR_UNIX;
    out->any = u->any;
    memcpy(out->path, u->host, strlen(u->host) + 1);
    return MM_OK;
}

static int
ipc_resolve(const mmi_plat *pl, const mmi_url *u, uint64_t tag, mmi_addr *out, int cap)
{
    (void)pl;
    (void)tag;
    int rc = cap < 1 ? MM_EADDRINVAL : ipc_addr(u, out);
    return rc == MM_OK ? 1 : rc;
}

static int
ipc_dial(const mmi_plat *pl, const mmi_url *u, const mmi_addr *a, int *stream, mmi_tran_why *why)
{
    (void)u, (void)why;
    return pl->connect(pl->self, a, stream);
}

static int
ipc_listen(const mmi_plat *pl, const mmi_url *u, const mmi_addr *a, mmi_tran_listener *l,
           char *bound, size_t bound_size)
{
    (void)a;
    mmi_addr at;
    int rc = ipc_addr(u, &at);
    if (rc == MM_OK) {
        at.open = l->open;
        rc = pl->listen(pl->self, &at, &l->stream);
    }
    if (rc == MM_OK) {
        mmi_addr_format(&at, u->scheme, bound, bound_size);
    }
    return rc;
}

static int
ipc_accept(const mmi_plat *pl, const mmi_tran_listener *l, int *stream, mmi_addr *peer,
           mmi_tran_why *why)
{
    (void)why;
    int rc = pl->accept(pl->self, l->stream, stream, peer);
    peer->kind = MMI_ADDR_NONE;   /* who connects has no path */
    return rc;
}

static void
ipc_close(const mmi_plat *pl, const mmi_tran_listener *l)
{
    pl->close(pl->self, l->stream);
}

const mmi_tran mmi_tran_ipc = { .scheme = "ipc",
                                .flags = MMI_TRAN_LOCAL | MMI_TRAN_WIRES | MMI_TRAN_MARKS |
                                         MMI_TRAN_USERS,
                                .parse = ipc_parse,
                                .resolve = ipc_resolve,
                                .dial = ipc_dial,
                                .listen = ipc_listen,
                                .accept = ipc_accept,
                                .close = ipc_close };
