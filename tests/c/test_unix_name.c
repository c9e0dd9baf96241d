/*
 * test_unix_name.c: names of the abstract namespace; who is at the other side of a unix socket.
 * This program's own getsockopt stands before the system's, and tells the groups it is told to.
 * Not here: socket files (test_unix_file.c), who may be there (test_user.c).
 * Law: what the system does not tell is not guessed.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "places.h"
#include "plat/posix/posix.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

enum { GROUP = 5000, MANY = 3000 };

/* What is pretended of the groups of whoever is asked about: how many; GROUP is the last. */
static struct {
    bool pretend, fails;
    socklen_t count;
} said;

int
getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    if (said.fails && (name == SO_PEERCRED || name == SO_PEERGROUPS)) {
        errno = ENOPROTOOPT;
        return -1;
    }
    if (name != SO_PEERGROUPS || !said.pretend) {
        return (int)syscall(SYS_getsockopt, fd, level, name, value, size);
    }
    socklen_t room = *size / (socklen_t)sizeof(gid_t);
    *size = said.count * (socklen_t)sizeof(gid_t);
    for (socklen_t i = 0; i < said.count && i < room; i++) {
        ((gid_t *)value)[i] = i + 1 == said.count ? GROUP : i;
    }
    errno = ERANGE;
    return said.count <= room ? 0 : -1;
}

static mmi_addr
name_of(const char *what)
{
    mmi_addr a = { .kind = MMI_ADDR_UNIX };
    snprintf(a.path, sizeof a.path, "@meshmsg-test-%d-%s", (int)getpid(), what);
    return a;
}

static void
test_a_name_is_there_as_long_as_its_socket_and_no_file(void)
{
    mmi_plat p = open_plat();
    mmi_addr a = name_of("here"), peer;
    int l, m, s, t, before = fds_open();
    CHECK_INT(p.connect(p.self, &a, &s), MM_ECONNREFUSED);
    CHECK_INT(p.listen(p.self, &a, &l), MM_OK);
    CHECK_INT(p.listen(p.self, &a, &m), MM_EADDRINUSE);
    CHECK(!place_has(a.path));
    CHECK_INT(p.connect(p.self, &a, &s), MM_OK);
    CHECK_INT(p.accept(p.self, l, &t, &peer), MM_OK);
    CHECK(peer.kind == MMI_ADDR_UNIX);
    p.close(p.self, s);
    p.close(p.self, t);
    p.close(p.self, l);
    CHECK_INT(p.connect(p.self, &a, &s), MM_ECONNREFUSED);
    CHECK_INT(p.listen(p.self, &a, &l), MM_OK);
    p.close(p.self, l);
    fds_are(before);
    p.free(p.self);
}

static void
test_the_longest_name_is_whole(void)
{
    mmi_plat p = open_plat();
    mmi_addr a = name_of(""), b;
    int l, m;
    size_t have = strlen(a.path);
    memset(a.path + have, 'n', sizeof a.path - 1 - have);
    b = a;
    b.path[sizeof b.path - 2] = 'm';
    CHECK_INT(p.listen(p.self, &a, &l), MM_OK);
    CHECK_INT(p.listen(p.self, &b, &m), MM_OK);
    CHECK_INT(p.listen(p.self, &b, &m), MM_EADDRINUSE);
    p.free(p.self);
}

static void
test_who_is_at_the_other_side_is_told_of_files_and_names_and_of_nothing_else(void)
{
    char folder[PLACE_SIZE];
    place_open(folder);
    mmi_plat p = open_plat();
    mmi_addr at[] = { name_of("who"), addr_unix(folder, "s") }, tcp = addr_tcp4(0), peer;
    mmi_credentials who;
    int l, s, t;
    for (size_t i = 0; i < MMI_COUNT_OF(at); i++) {
        CHECK_INT(p.listen(p.self, &at[i], &l), MM_OK);
        CHECK_INT(p.connect(p.self, &at[i], &s), MM_OK);
        CHECK_INT(p.accept(p.self, l, &t, &peer), MM_OK);
        CHECK_INT(p.peer_credentials(p.self, s, &who), MM_OK);
        CHECK(who.uid == getuid() && who.gid == getgid() && who.pid == (uint32_t)getpid());
        CHECK_INT(p.peer_credentials(p.self, t, &who), MM_OK);
        CHECK(who.uid == getuid() && who.gid == getgid() && who.pid == (uint32_t)getpid());
    }
    CHECK_INT(p.listen(p.self, &tcp, &l), MM_OK);
    CHECK_INT(p.connect(p.self, &tcp, &s), MM_EAGAIN);
    CHECK_INT(p.peer_credentials(p.self, s, &who), MM_ENOTSUP);
    p.free(p.self);
    place_close(folder);
}

static void
test_the_groups_of_who_is_at_the_other_side_are_told_few_and_many(void)
{
    static const socklen_t counts[] = { 0, 1, 2, 63, 64, 65, MANY };
    const uint32_t asked[] = { 70000, GROUP, 70001 }, others[] = { 70000, 70001 };
    mmi_plat p = open_plat();
    mmi_addr a = name_of("groups"), tcp = addr_tcp4(0);
    int l, s;
    CHECK_INT(p.listen(p.self, &a, &l), MM_OK);
    CHECK_INT(p.connect(p.self, &a, &s), MM_OK);
    said.pretend = true;
    for (size_t i = 0; i < MMI_COUNT_OF(counts); i++) {
        said.count = counts[i];
        CHECK_INT(p.peer_of_group(p.self, s, asked, 3), counts[i] > 0 ? MM_OK : MM_EPERM);
        CHECK_INT(p.peer_of_group(p.self, s, others, 2), MM_EPERM);
        CHECK_INT(p.peer_of_group(p.self, s, asked, 0), MM_EPERM);
    }
    said.count = 1u << 20;   /* no system has so many */
    CHECK_INT(p.peer_of_group(p.self, s, asked, 3), MM_ENOTSUP);
    said.pretend = false;
    CHECK(p.peer_of_group(p.self, s, asked, 3) == MM_EPERM);
    said.fails = true;
    CHECK_INT(p.peer_of_group(p.self, s, asked, 3), MM_ENOTSUP);
    said.fails = false;
    p.close(p.self, s);
    CHECK_INT(p.listen(p.self, &tcp, &l), MM_OK);
    CHECK_INT(p.connect(p.self, &tcp, &s), MM_EAGAIN);
    CHECK(p.peer_of_group(p.self, s, asked, 3) != MM_OK);
    CHECK_INT(p.user(p.self), geteuid());
    p.free(p.self);
}

int
main(void)
{
    int before = fds_open();
    RUN(test_a_name_is_there_as_long_as_its_socket_and_no_file);
    RUN(test_the_longest_name_is_whole);
    RUN(test_who_is_at_the_other_side_is_told_of_files_and_names_and_of_nothing_else);
    RUN(test_the_groups_of_who_is_at_the_other_side_are_told_few_and_many);
    fds_are(before);
    return 0;
}
