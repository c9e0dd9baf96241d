/*
 * stream.c: byte streams and listeners over TCP and unix sockets; those within the process are
 * handed on (memory.c).
 *
 * Not here: which of them is ready (epoll.c, poll.c).  Law: nothing blocks, nothing raises SIGPIPE,
 * every descriptor is CLOEXEC.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/limits.h"
#include "plat/posix/posix.h"

enum {
    STREAM_BACKLOG = 65535,             /* as many as the system lets wait: somaxconn */
    STREAM_KEEPALIVE_IDLE_S = 10,       /* the only sign of a dead peer where there is no PING */
    STREAM_KEEPALIVE_INTERVAL_S = 5,
    STREAM_KEEPALIVE_PROBES = 3,
    STREAM_JOIN_BYTES = 512,            /* of a write of a few pieces: sooner copied into one */
    STREAM_JOIN_PIECES = 16,
    STREAM_UNIX_SEND_BYTES = 2 * MMI_IO_BUFFER_SIZE   /* Linux doubles that, up to wmem_max */
};

_Static_assert(sizeof(mmi_iov) == sizeof(struct iovec), "mmi_iov is handed to the system as iovec");
_Static_assert(offsetof(mmi_iov, size) == offsetof(struct iovec, iov_len), "in the same layout");

static void
stream_option(int fd, int level, int name, int value)
{
    /* Refused options cost speed or detection, never correctness. */
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

/* What a unix socket holds for its peer does not grow as TCP's does: wmem_default, 208 KiB, is less
 * than one of our writes, and each would stop half-way.  An accepted one has not its listener's. */
static void
stream_tune_unix(int fd)
{
    int system = 0;
    socklen_t size = sizeof system;
    (void)getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &system, &size);
    if (system < STREAM_UNIX_SEND_BYTES) {
        stream_option(fd, SOL_SOCKET, SO_SNDBUF, STREAM_UNIX_SEND_BYTES);
    }
}

static void
stream_tune(int fd, int family)
{
    if (family == AF_UNIX) {
        stream_tune_unix(fd);
        return;
    }
    /* No SO_SNDBUF, SO_RCVBUF: a size that is set ends the kernel's autotuning (tcp_wmem, tcp_rmem)
     * and is cut to wmem_max or rmem_max, often less than autotuning reaches.  Larger and fixed
     * ones were measured: within 10 % (docs/performance-log.md). */
    stream_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    stream_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    stream_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, STREAM_KEEPALIVE_IDLE_S);
    stream_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, STREAM_KEEPALIVE_INTERVAL_S);
    stream_option(fd, IPPROTO_TCP, TCP_KEEPCNT, STREAM_KEEPALIVE_PROBES);
}

static int
stream_family(const mmi_addr *a)
{
    return a->kind == MMI_ADDR_TCP4 ? AF_INET : a->kind == MMI_ADDR_TCP6 ? AF_INET6 : AF_UNIX;
}

/* A new socket for an address, or a negative mm_err. */
static int
stream_socket(mmi_posix *p, const mmi_addr *a)
{
    int fd = socket(stream_family(a), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return mmi_posix_error(errno);
    }
    stream_tune(fd, stream_family(a));
    return mmi_posix_note(p, fd);
}

int
mmi_posix_connect(void *self, const mmi_addr *a, int *s)
{
    mmi_posix *p = self;
    struct sockaddr_storage addr;
    socklen_t size = mmi_addr_to_sockaddr(a, &addr);
    int fd = stream_socket(p, a);
    if (fd < 0) {
        return fd;
    }
    int rc = MM_OK;
    if (connect(fd, (struct sockaddr *)&addr, size) == 0) {
        rc = MM_OK;
    } else if (errno == EINPROGRESS) {
        rc = MM_EAGAIN;
    } else {
        /* A unix socket whose backlog is full says EAGAIN: nobody takes us now, as good as
         * refused. */
        rc = errno == EAGAIN ? MM_ECONNREFUSED : mmi_posix_error(errno);
    }
    if (rc != MM_OK && rc != MM_EAGAIN) {
        mmi_posix_shut(p, fd);
        return rc;
    }
    *s = fd;
    return rc;
}

int
mmi_posix_connected(void *self, int s)
{
    (void)self;
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        error = errno;
    }
    return error == 0 ? MM_OK : mmi_posix_error(error);
}

static int
stream_bind(mmi_posix *p, int fd, mmi_addr *a)
{
    if (a->kind == MMI_ADDR_UNIX) {
        return mmi_unix_listen(p, fd, a, STREAM_BACKLOG);
    }
    struct sockaddr_storage addr;
    socklen_t size = mmi_addr_to_sockaddr(a, &addr);
    stream_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (a->kind == MMI_ADDR_TCP6) {
        stream_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, !a->any);
    }
    if (bind(fd, (struct sockaddr *)&addr, size) != 0 || listen(fd, STREAM_BACKLOG) != 0) {
        return mmi_posix_error(errno);
    }
    bool any = a->any;
    size = sizeof addr;
    if (getsockname(fd, (struct sockaddr *)&addr, &size) != 0) {
        return mmi_posix_error(errno);
    }
    mmi_addr_from_sockaddr(&addr, a);
    a->any = any;
    return MM_OK;
}

int
mmi_posix_listen(void *self, mmi_addr *a, int *l)
{
    mmi_posix *p = self;
    int fd = stream_socket(p, a);
    int rc = fd < 0 ? fd : stream_bind(p, fd, a);
    if (rc == MM_EADDRNOTAVAIL && a->any && a->kind == MMI_ADDR_TCP6) {
        /* No IPv6 on this machine: every IPv4 interface then. */
        if (fd >= 0) {
            mmi_posix_shut(p, fd);
        }
        *a = (mmi_addr){ .kind = MMI_ADDR_TCP4, .any = true, .port = a->port };
        fd = stream_socket(p, a);
        rc = fd < 0 ? fd : stream_bind(p, fd, a);
    }
    if (rc != MM_OK) {
        if (fd >= 0) {
            mmi_unix_forget(p, fd);
            mmi_posix_shut(p, fd);
        }
        return rc;
    }
    *l = fd;
    return MM_OK;
}

int
mmi_posix_accept(void *self, int l, int *s, mmi_addr *peer)
{
    mmi_posix *p = self;
    struct sockaddr_storage addr;
    socklen_t size = sizeof addr;
    memset(&addr, 0, sizeof addr);
    int fd = accept4(l, (struct sockaddr *)&addr, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK ? MM_EAGAIN : mmi_posix_error(errno);
    }
    mmi_addr_from_sockaddr(&addr, peer);   /* its options are those of the listener, over TCP */
    if (addr.ss_family == AF_UNIX) {
        stream_tune_unix(fd);
    }
    fd = mmi_posix_note(p, fd);
    *s = fd;
    return fd < 0 ? fd : MM_OK;
}

int
mmi_posix_pair(void *self, int s[2])
{
    return mmi_memory_pair(&((mmi_posix *)self)->memory, s);
}

int64_t
mmi_posix_lend(void *self, int s, const mmi_iov *iov, mmi_msg *const *owners, int n)
{
    (void)self;
    return mmi_memory_lend(s, iov, owners, n);
}

int
mmi_posix_borrow(void *self, int s, mmi_iov *piece)
{
    (void)self;
    return mmi_memory_borrow(s, piece);
}

void
mmi_posix_consume(void *self, int s, size_t size)
{
    (void)self;
    mmi_memory_consume(s, size);
}

int64_t
mmi_posix_readv(void *self, int s, const mmi_iov *iov, int n)
{
    (void)self;
    if (mmi_memory_is(s)) {
        return mmi_memory_readv(s, iov, n);
    }
    for (;;) {
        ssize_t got = n == 1 ? recv(s, iov->data, iov->size, 0)   /* the shorter way */
                             : readv(s, (const struct iovec *)iov, n);
        if (got >= 0) {
            return got;
        }
        if (errno != EINTR) {
            return errno == EAGAIN || errno == EWOULDBLOCK ? MM_EAGAIN : MM_ECONNRESET;
        }
    }
}

/* A few small pieces end to end, as one write of one piece costs the kernel less than what the copy
 * costs us.  0: they are more than that; else the size of all. */
static size_t
stream_join(const mmi_iov *iov, int n, uint8_t *all)
{
    size_t size = 0;
    for (int i = 0; i < n; i++) {
        if (iov[i].size > STREAM_JOIN_BYTES - size) {
            return 0;
        }
        memcpy(all + size, iov[i].data, iov[i].size);
        size += iov[i].size;
    }
    return size;
}

int64_t
mmi_posix_writev(void *self, int s, const mmi_iov *iov, int n)
{
    (void)self;
    if (mmi_memory_is(s)) {
        return mmi_memory_lend(s, iov, NULL, n);
    }
    uint8_t all[STREAM_JOIN_BYTES];
    size_t size = n > 1 && n <= STREAM_JOIN_PIECES ? stream_join(iov, n, all) : 0;
    const mmi_iov joined = { .data = all, .size = size };
    if (size > 0) {
        iov = &joined;
        n = 1;
    }
    struct msghdr message = { .msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)n };
    for (;;) {
        ssize_t put = n == 1 ? send(s, iov->data, iov->size, MSG_NOSIGNAL)
                             : sendmsg(s, &message, MSG_NOSIGNAL);
        if (put >= 0) {
            return put;
        }
        if (errno != EINTR) {
            return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? MM_EAGAIN
                                                                               : MM_ECONNRESET;
        }
    }
}

void
mmi_posix_finish(void *self, int s)
{
    (void)self;
    if (mmi_memory_is(s)) {
        mmi_memory_finish(s);
    } else {
        mmi_posix_probe_as_usual(s);
        (void)shutdown(s, SHUT_WR);
    }
}

void
mmi_posix_close(void *self, int s)
{
    mmi_posix *p = self;
    if (mmi_memory_is(s)) {
        mmi_memory_close(s);
        return;
    }
    mmi_unix_forget(p, s);
    p->ops->watch(p->poller, s, 0, 0);
    mmi_posix_shut(p, s);
}
