/*
 * test_stream.c: TCP and unix streams of the real platform: options, families, limits of the
 * system.
 * Not here: what every platform does (test_plat_streams.c), failing calls (test_syscalls.c).
 * Law: every descriptor is CLOEXEC and nonblocking; a failure leaves none open.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include "base/limits.h"
#include "places.h"
#include "plat/posix/posix.h"

static void
wait_for(int fd, short events)
{
    struct pollfd row = { .fd = fd, .events = events };
    CHECK_INT(poll(&row, 1, 10000), 1);
}

typedef struct joined {
    int listener, near_end, far_end;
    mmi_addr at, peer;
} joined;

static joined
join_at(const mmi_plat *p, mmi_addr at)
{
    joined j = { .at = at };
    CHECK_INT(p->listen(p->self, &j.at, &j.listener), MM_OK);
    int rc = p->connect(p->self, &j.at, &j.near_end);
    CHECK(rc == MM_OK || rc == MM_EAGAIN);
    wait_for(j.near_end, POLLOUT);
    CHECK_INT(p->connected(p->self, j.near_end), MM_OK);
    wait_for(j.listener, POLLIN);
    CHECK_INT(p->accept(p->self, j.listener, &j.far_end, &j.peer), MM_OK);
    return j;
}

static void
part(const mmi_plat *p, const joined *j)
{
    p->close(p->self, j->near_end);
    p->close(p->self, j->far_end);
    p->close(p->self, j->listener);
}

/* A few small pieces go as one, more or larger ones as they are: nobody can tell. */
static void
test_pieces_arrive_whole_whether_they_go_as_one_or_not(void)
{
    enum { PIECES_MAX = 40, ROOM = 1000 };
    mmi_plat p = open_plat();
    joined j = join_at(&p, addr_tcp4(0));
    uint8_t sent[ROOM], got[ROOM];
    mmi_iov iov[PIECES_MAX];
    for (size_t i = 0; i < sizeof sent; i++) {
        sent[i] = (uint8_t)(i * 7 + 1);
    }
    const size_t sizes[] = { 1, 40, 511, 512, 513, ROOM };
    for (size_t s = 0; s < MMI_COUNT_OF(sizes); s++) {
        for (int n = 1; n <= PIECES_MAX; n++) {
            size_t left = sizes[s];
            for (int i = 0; i < n; i++) {   /* some are empty, the last has the rest */
                size_t size = i == n - 1 ? left : (left / 2) * (size_t)(i % 3 != 1);
                iov[i] = (mmi_iov){ .data = sent + sizes[s] - left, .size = size };
                left -= size;
            }
            CHECK_INT(p.writev(p.self, j.near_end, iov, n), (int64_t)sizes[s]);
            for (size_t read = 0; read < sizes[s];) {
                wait_for(j.far_end, POLLIN);
                int64_t more = plat_get(&p, j.far_end, got + read, sizeof got - read);
                CHECK(more > 0);
                read += (size_t)more;
            }
            CHECK(memcmp(got, sent, sizes[s]) == 0);
        }
    }
    part(&p, &j);
    p.free(p.self);
}

static bool
have_ipv6(void)
{
    const struct sockaddr_in6 one = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    bool there = fd >= 0 && bind(fd, (const struct sockaddr *)&one, sizeof one) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return there;
}

static int
option(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;
    CHECK_INT(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

static void
check_flags(int fd)
{
    CHECK_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
    CHECK((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
}

static void
test_both_ends_of_tcp_are_prompt_and_notice_a_dead_peer(void)
{
    mmi_plat p = open_plat();
    joined j = join_at(&p, addr_tcp4(0));
    const int ends[] = { j.near_end, j.far_end };
    for (size_t i = 0; i < MMI_COUNT_OF(ends); i++) {
        CHECK_INT(option(ends[i], IPPROTO_TCP, TCP_NODELAY), 1);
        CHECK_INT(option(ends[i], SOL_SOCKET, SO_KEEPALIVE), 1);
        CHECK_INT(option(ends[i], IPPROTO_TCP, TCP_KEEPIDLE), 10);
        CHECK_INT(option(ends[i], IPPROTO_TCP, TCP_KEEPINTVL), 5);
        CHECK_INT(option(ends[i], IPPROTO_TCP, TCP_KEEPCNT), 3);
    }
    part(&p, &j);
    p.free(p.self);
}

static void
test_both_ends_of_a_unix_stream_take_a_whole_write(void)
{
    mmi_plat p = open_plat();
    char folder[PLACE_SIZE];
    place_open(folder);
    joined j = join_at(&p, addr_unix(folder, "s"));
    uint8_t *block = calloc(1, MMI_IO_BUFFER_SIZE);
    CHECK(block != NULL);
    CHECK_INT(plat_put(&p, j.near_end, block, MMI_IO_BUFFER_SIZE), MMI_IO_BUFFER_SIZE);
    CHECK_INT(plat_put(&p, j.far_end, block, MMI_IO_BUFFER_SIZE), MMI_IO_BUFFER_SIZE);
    free(block);
    part(&p, &j);
    p.free(p.self);
    place_close(folder);
}

static void
test_no_descriptor_is_inherited_and_none_blocks(void)
{
    mmi_plat p = open_plat();
    char folder[PLACE_SIZE];
    place_open(folder);
    const mmi_addr places[] = { addr_tcp4(0), addr_unix(folder, "s") };
    for (size_t i = 0; i < MMI_COUNT_OF(places); i++) {
        joined j = join_at(&p, places[i]);
        check_flags(j.listener);
        check_flags(j.near_end);
        check_flags(j.far_end);
        part(&p, &j);
    }
    p.free(p.self);
    place_close(folder);
}

static void
test_who_is_accepted_is_named(void)
{
    mmi_plat p = open_plat();
    const mmi_addr places[] = { addr_tcp4(0), addr_tcp6(0) };
    for (size_t i = 0; i < (have_ipv6() ? 2 : 1); i++) {
        joined j = join_at(&p, places[i]);
        struct sockaddr_storage addr;
        socklen_t size = sizeof addr;
        mmi_addr near_addr;
        CHECK_INT(getsockname(j.near_end, (struct sockaddr *)&addr, &size), 0);
        mmi_addr_from_sockaddr(&addr, &near_addr);
        CHECK(j.peer.kind == places[i].kind && j.peer.port == near_addr.port);
        CHECK(memcmp(j.peer.ip, near_addr.ip, sizeof near_addr.ip) == 0);
        part(&p, &j);
    }
    p.free(p.self);
}

static void
test_an_address_is_free_again_at_once_though_its_connections_linger(void)
{
    mmi_plat p = open_plat();
    joined j = join_at(&p, addr_tcp4(0));
    p.close(p.self, j.far_end);   /* closed here first: TIME_WAIT is on this side */
    p.close(p.self, j.near_end);
    p.close(p.self, j.listener);
    mmi_addr again = j.at;
    CHECK_INT(p.listen(p.self, &again, &j.listener), MM_OK);
    CHECK_INT(again.port, j.at.port);
    p.free(p.self);
}

static void
test_every_interface_means_both_families(void)
{
    mmi_plat p = open_plat();
    mmi_addr any = { .kind = MMI_ADDR_TCP6, .any = true };
    joined j = { .at = any };
    CHECK_INT(p.listen(p.self, &j.at, &j.listener), MM_OK);
    CHECK(j.at.any && j.at.port != 0 && !mmi_addr_loopback(&j.at));
    const mmi_addr ways[] = { addr_tcp4(j.at.port), addr_tcp6(j.at.port) };
    for (size_t i = 0; i < (have_ipv6() ? 2 : 1); i++) {
        int rc = p.connect(p.self, &ways[i], &j.near_end);
        CHECK(rc == MM_OK || rc == MM_EAGAIN);
        wait_for(j.listener, POLLIN);
        CHECK_INT(p.accept(p.self, j.listener, &j.far_end, &j.peer), MM_OK);
        CHECK(mmi_addr_loopback(&j.peer));   /* a mapped 127.0.0.1 counts */
    }
    p.free(p.self);
}

static void
test_one_ipv6_address_leaves_the_ipv4_port_to_others(void)
{
    if (!have_ipv6()) {
        printf("no IPv6 loopback here\n");
        return;
    }
    mmi_plat p = open_plat();
    mmi_addr six = addr_tcp6(0);
    int first, second;
    CHECK_INT(p.listen(p.self, &six, &first), MM_OK);
    CHECK_INT(option(first, IPPROTO_IPV6, IPV6_V6ONLY), 1);
    mmi_addr four = addr_tcp4(six.port);
    int rc = p.listen(p.self, &four, &second);
    CHECK(rc == MM_OK || rc == MM_EADDRINUSE);   /* in use: by a stranger, not by us */
    p.free(p.self);
}

static void
test_an_address_of_another_machine_cannot_be_bound(void)
{
    mmi_plat p = open_plat();
    mmi_addr other = { .kind = MMI_ADDR_TCP4, .ip = { 192, 0, 2, 1 } };
    int l, before = fds_open();
    CHECK_INT(p.listen(p.self, &other, &l), MM_EADDRNOTAVAIL);
    fds_are(before);
    p.free(p.self);
}

static void
test_a_reset_is_told_to_the_reader(void)
{
    mmi_plat p = open_plat();
    joined j = join_at(&p, addr_tcp4(0));
    struct linger hard = { .l_onoff = 1 };
    char c;
    CHECK_INT(setsockopt(j.near_end, SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
    p.close(p.self, j.near_end);
    CHECK_INT(p.watch(p.self, j.far_end, MMI_WATCH_READ, 4), MM_OK);
    mmi_event event;
    CHECK_INT(p.poll(p.self, &event, 1, UINT64_MAX), 1);
    CHECK((event.events & MMI_WATCH_HANGUP) != 0);
    CHECK_INT(plat_get(&p, j.far_end, &c, 1), MM_ECONNRESET);
    p.finish(p.self, j.far_end);   /* too late, and harmless */
    p.close(p.self, j.far_end);
    p.close(p.self, j.listener);
    p.free(p.self);
}

static void
test_out_of_descriptors_is_said_and_a_newcomer_goes_on_waiting(void)
{
    mmi_plat p = open_plat();
    mmi_addr at = addr_tcp4(0), more = addr_tcp4(0), peer;
    int l, s, t;
    CHECK_INT(p.listen(p.self, &at, &l), MM_OK);
    int rc = p.connect(p.self, &at, &s);
    CHECK(rc == MM_OK || rc == MM_EAGAIN);
    wait_for(l, POLLIN);
    int before = fds_open();
    rlim_t limit = fds_limit(0);
    CHECK_INT(p.accept(p.self, l, &t, &peer), MM_EMFILE);
    CHECK_INT(p.connect(p.self, &at, &t), MM_EMFILE);
    CHECK_INT(p.listen(p.self, &more, &t), MM_EMFILE);
    fds_restore(limit);
    fds_are(before);
    CHECK_INT(p.accept(p.self, l, &t, &peer), MM_OK);
    p.free(p.self);
}

static void
test_no_memory_to_note_a_descriptor_leaves_none_open(void)
{
    int before = fds_open();
    mmi_plat p = open_plat(), fresh = open_plat();
    mmi_addr at = addr_tcp4(0), more = addr_tcp4(0), peer;
    mmi_addr any = { .kind = MMI_ADDR_TCP6, .any = true };
    int l, s, t, ends[2];
    CHECK_INT(p.listen(p.self, &at, &l), MM_OK);
    int rc = p.connect(p.self, &at, &s);
    CHECK(rc == MM_OK || rc == MM_EAGAIN);
    wait_for(l, POLLIN);
    int during = fds_open();
    for (int what = 0; what < 5; what++) {
        mm_test_alloc_fail(1);
        switch (what) {
        case 0: rc = fresh.connect(fresh.self, &at, &t); break;
        case 1: rc = fresh.listen(fresh.self, &more, &t); break;
        case 2: rc = fresh.pair(fresh.self, ends); break;
        case 3:   /* for want of memory it must not quietly become an IPv4 one */
            rc = fresh.listen(fresh.self, &any, &t);
            break;
        default: rc = fresh.accept(fresh.self, l, &t, &peer); break;
        }
        mm_test_alloc_fail(0);
        CHECK_INT(rc, MM_ENOMEM);
        fds_are(during);
    }
    CHECK(any.kind == MMI_ADDR_TCP6 && any.any);
    CHECK_INT(p.accept(p.self, l, &t, &peer), MM_EAGAIN);   /* the newcomer was let go */
    char c;
    wait_for(s, POLLIN);
    int64_t got = plat_get(&p, s, &c, 1);
    CHECK(got == 0 || got == MM_ECONNRESET);
    p.free(p.self);
    fresh.free(fresh.self);
    fds_are(before);
}

int
main(void)
{
    int before = fds_open();
    RUN(test_both_ends_of_tcp_are_prompt_and_notice_a_dead_peer);
    RUN(test_both_ends_of_a_unix_stream_take_a_whole_write);
    RUN(test_no_descriptor_is_inherited_and_none_blocks);
    RUN(test_pieces_arrive_whole_whether_they_go_as_one_or_not);
    RUN(test_who_is_accepted_is_named);
    RUN(test_an_address_is_free_again_at_once_though_its_connections_linger);
    RUN(test_every_interface_means_both_families);
    RUN(test_one_ipv6_address_leaves_the_ipv4_port_to_others);
    RUN(test_an_address_of_another_machine_cannot_be_bound);
    RUN(test_a_reset_is_told_to_the_reader);
    RUN(test_out_of_descriptors_is_said_and_a_newcomer_goes_on_waiting);
    RUN(test_no_memory_to_note_a_descriptor_leaves_none_open);
    fds_are(before);
    return 0;
}
