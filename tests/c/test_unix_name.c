/*
 * test_unix_name.c: names of the abstract namespace: no file, and only the same user and root.
 * This program's own getsockopt stands before the system's and tells the user it is told to.
 * Not here: socket files (test_unix_file.c).
 * Law: who is refused is told apart, has no descriptor left, and takes nothing from the others.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "places.h"
#include "plat/posix/posix.h"

enum { STRANGER = 4242 };

static struct {
    bool pretend, fails;
    uid_t uid;
} said;

static uid_t ours;

int
getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    if (name == SO_PEERCRED && said.fails) {
        errno = ENOPROTOOPT;
        return -1;
    }
    int rc = (int)syscall(SYS_getsockopt, fd, level, name, value, size);
    if (rc == 0 && name == SO_PEERCRED && said.pretend) {
        ((struct ucred *)value)->uid = said.uid;
    }
    return rc;
}

uid_t
geteuid(void)
{
    return ours;
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
test_a_listener_lets_in_the_same_user_and_root_alone(void)
{
    static const struct {
        uid_t ours, theirs;
        bool in;
    } table[] = { { 33, 33, true },
                  { 33, 0, true },
                  { 0, 0, true },
                  { 33, STRANGER, false },
                  { 0, STRANGER, false } };
    mmi_plat p = open_plat();
    mmi_addr a = name_of("in"), peer;
    int l, s, t;
    CHECK_INT(p.listen(p.self, &a, &l), MM_OK);
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        said.pretend = true;
        said.uid = ours = 0;
        CHECK_INT(p.connect(p.self, &a, &s), MM_OK);
        int before = fds_open();
        ours = table[i].ours;
        said.uid = table[i].theirs;
        CHECK_INT(p.accept(p.self, l, &t, &peer), table[i].in ? MM_OK : MM_EPERM);
        CHECK_INT(peer.uid, table[i].theirs);
        if (table[i].in) {
            p.close(p.self, t);
        }
        fds_are(before);
        p.close(p.self, s);
    }
    CHECK_INT(p.accept(p.self, l, &t, &peer), MM_EAGAIN);
    p.free(p.self);
    said.pretend = false;
}

static void
test_who_dials_goes_to_the_same_user_and_root_alone_but_root_to_all(void)
{
    static const struct {
        uid_t ours, theirs;
        bool goes;
    } table[] = {
        { 33, 33, true }, { 33, 0, true }, { 0, STRANGER, true }, { 33, STRANGER, false }
    };
    mmi_plat p = open_plat();
    mmi_addr a = name_of("out");
    int l, s, before;
    CHECK_INT(p.listen(p.self, &a, &l), MM_OK);
    before = fds_open();
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        said.pretend = true;
        ours = table[i].ours;
        said.uid = table[i].theirs;
        CHECK_INT(p.connect(p.self, &a, &s), table[i].goes ? MM_OK : MM_EPERM);
        if (table[i].goes) {
            p.close(p.self, s);
        }
        fds_are(before);
    }
    p.free(p.self);
    said.pretend = false;
}

static void
test_who_is_unknown_is_not_let_in(void)
{
    mmi_plat p = open_plat();
    mmi_addr a = name_of("unknown"), peer;
    int l, s, t;
    ours = 0;
    CHECK_INT(p.listen(p.self, &a, &l), MM_OK);
    CHECK_INT(p.connect(p.self, &a, &s), MM_OK);
    said.fails = true;
    CHECK_INT(p.accept(p.self, l, &t, &peer), MM_EPERM);
    CHECK_INT(p.connect(p.self, &a, &t), MM_EPERM);
    said.fails = false;
    p.free(p.self);
}

static void
test_nobody_is_asked_about_a_file_which_has_a_mode(void)
{
    char folder[PLACE_SIZE];
    place_open(folder);
    mmi_plat p = open_plat();
    mmi_addr a = addr_unix(folder, "s"), peer;
    int l, s, t;
    ours = 33;
    said.pretend = true;
    said.uid = STRANGER;
    CHECK_INT(p.listen(p.self, &a, &l), MM_OK);
    CHECK_INT(p.connect(p.self, &a, &s), MM_OK);
    CHECK_INT(p.accept(p.self, l, &t, &peer), MM_OK);
    said.pretend = false;
    p.free(p.self);
    place_close(folder);
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
    ours = getuid();
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

int
main(void)
{
    int before = fds_open();
    ours = getuid();
    RUN(test_a_name_is_there_as_long_as_its_socket_and_no_file);
    RUN(test_the_longest_name_is_whole);
    RUN(test_a_listener_lets_in_the_same_user_and_root_alone);
    RUN(test_who_dials_goes_to_the_same_user_and_root_alone_but_root_to_all);
    RUN(test_who_is_unknown_is_not_let_in);
    RUN(test_nobody_is_asked_about_a_file_which_has_a_mode);
    RUN(test_who_is_at_the_other_side_is_told_of_files_and_names_and_of_nothing_else);
    fds_are(before);
    return 0;
}
