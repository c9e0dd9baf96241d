/*
 * test_syscalls.c: what the real platform makes of system calls that fail as they seldom do.
 * This program's own listen, sendmsg and so on stand before the system's and fail when told to.
 * Not here: failures that can be had for real (test_stream.c, test_unix_file.c, test_posix.c).
 * Law: whatever fails leaves no descriptor, file or memory; EINTR comes out of nothing but wait.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "places.h"
#include "plat/posix/posix.h"

typedef enum call {
    CALL_NONE,
    CALL_SOCKET,
    CALL_LISTEN,
    CALL_NAME,
    CALL_OPTION,
    CALL_ACCEPT,
    CALL_CONNECT,
    CALL_READ,
    CALL_WRITE,
    CALL_MODE,
    CALL_RANDOM,
    CALL_EPOLL,
    CALL_THREAD,
    CALL_BIND
} call;

static struct {
    call what;
    int error, skip, times;      /* fails this often, after so many that do not */
} fault;

static void
fail(call what, int error, int times)
{
    fault.what = what;
    fault.error = error;
    fault.times = times;
    fault.skip = 0;
}

static bool
failing(call what)
{
    if (fault.what != what || fault.times == 0 || fault.skip-- > 0) {
        return false;
    }
    fault.times--;
    errno = fault.error;
    return true;
}

int
socket(int family, int type, int protocol)
{
    return failing(CALL_SOCKET) ? -1 : (int)syscall(SYS_socket, family, type, protocol);
}

int
bind(int fd, const struct sockaddr *addr, socklen_t size)
{
    return failing(CALL_BIND) ? -1 : (int)syscall(SYS_bind, fd, addr, size);
}

int
listen(int fd, int backlog)
{
    return failing(CALL_LISTEN) ? -1 : (int)syscall(SYS_listen, fd, backlog);
}

int
getsockname(int fd, struct sockaddr *addr, socklen_t *size)
{
    return failing(CALL_NAME) ? -1 : (int)syscall(SYS_getsockname, fd, addr, size);
}

int
getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    return failing(CALL_OPTION) ? -1 : (int)syscall(SYS_getsockopt, fd, level, name, value, size);
}

int
accept4(int fd, struct sockaddr *addr, socklen_t *size, int flags)
{
    return failing(CALL_ACCEPT) ? -1 : (int)syscall(SYS_accept4, fd, addr, size, flags);
}

int
connect(int fd, const struct sockaddr *addr, socklen_t size)
{
    return failing(CALL_CONNECT) ? -1 : (int)syscall(SYS_connect, fd, addr, size);
}

ssize_t
recv(int fd, void *buf, size_t size, int flags)
{
    return failing(CALL_READ) ? -1 : syscall(SYS_recvfrom, fd, buf, size, flags, NULL, NULL);
}

ssize_t
send(int fd, const void *buf, size_t size, int flags)
{
    CHECK((flags & MSG_NOSIGNAL) != 0);
    return failing(CALL_WRITE) ? -1 : syscall(SYS_sendto, fd, buf, size, flags, NULL, 0);
}

ssize_t
readv(int fd, const struct iovec *iov, int n)
{
    return failing(CALL_READ) ? -1 : syscall(SYS_readv, fd, iov, n);
}

ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
    CHECK((flags & MSG_NOSIGNAL) != 0);
    return failing(CALL_WRITE) ? -1 : syscall(SYS_sendmsg, fd, message, flags);
}

int
fchmod(int fd, mode_t mode)
{
    return failing(CALL_MODE) ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

ssize_t
getrandom(void *buf, size_t size, unsigned flags)
{
    if (failing(CALL_RANDOM)) {
        return -1;
    }
    return syscall(SYS_getrandom, buf, size > 3 ? 3 : size, flags);   /* and never all at once */
}

int
epoll_ctl(int epoll, int what, int fd, struct epoll_event *event)
{
    return failing(CALL_EPOLL) ? -1 : (int)syscall(SYS_epoll_ctl, epoll, what, fd, event);
}

int
pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return failing(CALL_THREAD) ? fault.error : real(id, attr, run, arg);
}

static mmi_plat
open_faultless(void)
{
    fault.what = CALL_NONE;
    return open_plat();
}

static void
test_a_bind_that_fails_half_way_leaves_nothing(void)
{
    static const struct {
        call what;
        int error, wanted;
        bool unix_only, tcp_only;
    } table[] = {
        { CALL_SOCKET, ENFILE, MM_EMFILE, false, false },
        { CALL_SOCKET, ENOBUFS, MM_ENOMEM, false, false },
        { CALL_LISTEN, EADDRINUSE, MM_EADDRINUSE, false, false },
        { CALL_LISTEN, ENOBUFS, MM_ENOMEM, false, false },
        { CALL_NAME, ENOBUFS, MM_ENOMEM, false, true },
        { CALL_MODE, EPERM, MM_EPERM, true, false },
        { CALL_BIND, ENOSPC, MM_ENOSPC, true, false },
        { CALL_BIND, EDQUOT, MM_ENOSPC, true, false },
        { CALL_BIND, EROFS, MM_EROFS, true, false },
        { CALL_BIND, ENOENT, MM_ENOENT, true, false },
        { CALL_BIND, EACCES, MM_EPERM, false, false },
        { CALL_BIND, EADDRNOTAVAIL, MM_EADDRNOTAVAIL, false, true },
    };
    char folder[PLACE_SIZE];
    place_open(folder);
    setenv("TMPDIR", folder, 1);   /* nor is a folder left that was made for a fresh path */
    mmi_plat p = open_faultless();
    int before = fds_open();
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        mmi_addr local = addr_unix(folder, "s"), tcp = addr_tcp4(0);
        int l;
        if (!table[i].tcp_only) {
            fail(table[i].what, table[i].error, 1);
            CHECK_INT(p.listen(p.self, &local, &l), table[i].wanted);
            CHECK(!place_has(local.path));
            mmi_addr fresh = { .kind = MMI_ADDR_UNIX, .any = true };
            fail(table[i].what, table[i].error, 1);
            CHECK_INT(p.listen(p.self, &fresh, &l), table[i].wanted);
        }
        if (!table[i].unix_only) {
            fail(table[i].what, table[i].error, 1);
            CHECK_INT(p.listen(p.self, &tcp, &l), table[i].wanted);
        }
        fds_are(before);
        CHECK_INT(p.listen(p.self, &local, &l), MM_OK);
        p.close(p.self, l);
        CHECK(!place_has(local.path));
    }
    p.free(p.self);
    place_close(folder);
}

static void
test_without_ipv6_every_interface_is_every_ipv4_one(void)
{
    static const struct {
        int error, wanted;
    } table[] = { { EAFNOSUPPORT, MM_OK }, { EMFILE, MM_EMFILE }, { ENOBUFS, MM_ENOMEM } };
    mmi_plat p = open_faultless();
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        mmi_addr any = { .kind = MMI_ADDR_TCP6, .any = true };
        int l, s;
        fail(CALL_SOCKET, table[i].error, 1);
        CHECK_INT(p.listen(p.self, &any, &l), table[i].wanted);
        CHECK(any.any && any.kind == (table[i].wanted == MM_OK ? MMI_ADDR_TCP4 : MMI_ADDR_TCP6));
        if (table[i].wanted == MM_OK) {
            mmi_addr to = addr_tcp4(any.port);
            int rc = p.connect(p.self, &to, &s);
            CHECK(rc == MM_OK || rc == MM_EAGAIN);
        }
    }
    mmi_addr any = { .kind = MMI_ADDR_TCP6, .any = true };
    int l, before = fds_open();
    fail(CALL_SOCKET, EAFNOSUPPORT, 2);   /* no IPv4 either */
    CHECK_INT(p.listen(p.self, &any, &l), MM_EADDRNOTAVAIL);
    fds_are(before);
    p.free(p.self);
}

static void
test_a_connect_that_fails_at_once_leaves_no_descriptor(void)
{
    static const struct {
        int error, wanted;
    } table[] = { { ECONNREFUSED, MM_ECONNREFUSED },   { ENETUNREACH, MM_ENOROUTE },
                  { EHOSTUNREACH, MM_ENOROUTE },       { EACCES, MM_EPERM },
                  { EADDRNOTAVAIL, MM_EADDRNOTAVAIL }, { EAGAIN, MM_ECONNREFUSED } };
    mmi_plat p = open_faultless();
    int before = fds_open(), s = -9;
    mmi_addr at = addr_tcp4(1);
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        fail(CALL_CONNECT, table[i].error, 1);
        CHECK_INT(p.connect(p.self, &at, &s), table[i].wanted);
        CHECK_INT(s, -9);
        fds_are(before);
    }
    p.free(p.self);
}

static void
test_an_accept_that_fails_says_whether_to_pause_or_to_skip(void)
{
    static const struct {
        int error, wanted;
    } table[] = { { EAGAIN, MM_EAGAIN },           { EMFILE, MM_EMFILE }, { ENFILE, MM_EMFILE },
                  { ECONNABORTED, MM_ECONNRESET }, { EPERM, MM_EPERM },   { ENOBUFS, MM_ENOMEM } };
    mmi_plat p = open_faultless();
    mmi_addr at = addr_tcp4(0), peer;
    int l, s;
    CHECK_INT(p.listen(p.self, &at, &l), MM_OK);
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        fail(CALL_ACCEPT, table[i].error, 1);
        CHECK_INT(p.accept(p.self, l, &s, &peer), table[i].wanted);
    }
    p.free(p.self);
}

/* Two descriptors: what pair gives is none. */
static void
joined_ends(const mmi_plat *p, int ends[2])
{
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    CHECK(mmi_posix_note(p->self, ends[0]) >= 0 && mmi_posix_note(p->self, ends[1]) >= 0);
}

static void
test_an_interrupted_read_or_write_is_done_again(void)
{
    mmi_plat p = open_faultless();
    int ends[2];
    char buf[8];
    joined_ends(&p, ends);
    fail(CALL_WRITE, EINTR, 3);
    CHECK_INT(plat_put(&p, ends[0], "abc", 3), 3);
    CHECK_INT(fault.times, 0);
    fail(CALL_READ, EINTR, 3);
    CHECK_INT(plat_get(&p, ends[1], buf, sizeof buf), 3);
    CHECK_INT(fault.times, 0);
    static const int again[] = { EAGAIN, ENOBUFS }, lost[] = { EPIPE, ECONNRESET, EIO, ETIMEDOUT };
    for (size_t i = 0; i < MMI_COUNT_OF(again); i++) {
        fail(CALL_WRITE, again[i], 1);
        CHECK_INT(plat_put(&p, ends[0], "x", 1), MM_EAGAIN);
    }
    for (size_t i = 0; i < MMI_COUNT_OF(lost); i++) {
        fail(CALL_WRITE, lost[i], 1);
        CHECK_INT(plat_put(&p, ends[0], "x", 1), MM_ECONNRESET);
        fail(CALL_READ, lost[i], 1);
        CHECK_INT(plat_get(&p, ends[1], buf, 1), MM_ECONNRESET);
    }
    CHECK_INT(plat_get(&p, ends[1], buf, 1), MM_EAGAIN);   /* nothing of it was written */
    p.close(p.self, ends[1]);
    p.free(p.self);
}

static void
test_how_a_connect_ended_is_unknown_only_with_an_error(void)
{
    mmi_plat p = open_faultless();
    int ends[2];
    joined_ends(&p, ends);
    CHECK_INT(p.connected(p.self, ends[0]), MM_OK);
    fail(CALL_OPTION, ENOBUFS, 1);
    CHECK_INT(p.connected(p.self, ends[0]), MM_ENOMEM);
    CHECK_INT(p.connected(p.self, 1000000), MM_ECONNRESET);
    p.close(p.self, ends[1]);
    p.free(p.self);
}

static void
test_randomness_comes_whole_though_the_system_gives_pieces(void)
{
    mmi_plat p = open_faultless();
    uint8_t bytes[256] = { 0 };
    fail(CALL_RANDOM, EINTR, 5);
    p.random(p.self, bytes, sizeof bytes);
    CHECK_INT(fault.times, 0);
    for (size_t i = 0; i < sizeof bytes; i += 8) {   /* eight zeroes in a row: not in our days */
        uint64_t piece;
        memcpy(&piece, bytes + i, sizeof piece);
        CHECK(piece != 0);
    }
    p.free(p.self);
}

static void
test_a_watch_the_system_refuses_is_refused(void)
{
    mmi_plat p = open_faultless();
    int ends[2];
    mmi_event event;
    joined_ends(&p, ends);
    fail(CALL_EPOLL, ENOSPC, 1);
    CHECK_INT(p.watch(p.self, ends[0], MMI_WATCH_WRITE, 1), MM_ENOMEM);
    CHECK_INT(p.poll(p.self, &event, 1, 0), 0);
    CHECK_INT(p.watch(p.self, ends[0], MMI_WATCH_WRITE, 1), MM_OK);
    CHECK_INT(p.poll(p.self, &event, 1, 0), 1);
    CHECK_INT(dup2(ends[1], ends[0]), ends[0]);   /* another stream under its number */
    CHECK_INT(p.poll(p.self, &event, 1, 0), 0);
    fail(CALL_EPOLL, ENOSPC, 1);
    fault.skip = 1;   /* the change says it is not there any more, then adding it fails */
    CHECK_INT(p.watch(p.self, ends[0], MMI_WATCH_WRITE, 2), MM_ENOMEM);
    CHECK_INT(p.watch(p.self, ends[0], MMI_WATCH_WRITE, 2), MM_OK);
    CHECK_INT(p.poll(p.self, &event, 1, 0), 1);
    CHECK_INT(event.tag, 2);
    p.close(p.self, ends[1]);
    p.free(p.self);
    int before = fds_open();
    fail(CALL_EPOLL, ENOSPC, 1);
    CHECK_INT(mmi_plat_posix(false, &p), MM_ENOMEM);
    fds_are(before);
}

static void
no_thread(void *arg)
{
    (void)arg;
    CHECK(false);
}

static void
test_a_thread_that_does_not_start_is_out_of_memory(void)
{
    mmi_plat p = open_faultless();
    mmi_addr found[1];
    void *thread = &p;
    fail(CALL_THREAD, EAGAIN, 1);
    CHECK_INT(p.thread_start(p.self, no_thread, NULL, &thread), MM_ENOMEM);
    CHECK(thread == &p);
    fail(CALL_THREAD, EAGAIN, 1);
    CHECK_INT(p.resolve(p.self, "localhost", 1, 5, found, 1), MM_ENOMEM);
    CHECK_INT(p.resolve_take(p.self, 5, found, 1), MM_EAGAIN);
    p.free(p.self);
}

int
main(void)
{
    int before = fds_open();
    RUN(test_a_bind_that_fails_half_way_leaves_nothing);
    RUN(test_without_ipv6_every_interface_is_every_ipv4_one);
    RUN(test_a_connect_that_fails_at_once_leaves_no_descriptor);
    RUN(test_an_accept_that_fails_says_whether_to_pause_or_to_skip);
    RUN(test_an_interrupted_read_or_write_is_done_again);
    RUN(test_how_a_connect_ended_is_unknown_only_with_an_error);
    RUN(test_randomness_comes_whole_though_the_system_gives_pieces);
    RUN(test_a_watch_the_system_refuses_is_refused);
    RUN(test_a_thread_that_does_not_start_is_out_of_memory);
    fds_are(before);
    return 0;
}
