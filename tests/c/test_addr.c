/*
 * test_addr.c: platform addresses to and from the system's, as text, and whether they stay here.
 * Not here: look-ups (test_resolve.c).
 * Law: what goes to the system and back is the same; text is cut, never overrun.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/un.h>

#include "places.h"
#include "plat/posix/posix.h"

static mmi_addr
addr_of(uint8_t kind, const char *ip, uint16_t port)
{
    mmi_addr a = { .kind = kind, .port = port };
    CHECK_INT(inet_pton(kind == MMI_ADDR_TCP4 ? AF_INET : AF_INET6, ip, a.ip), 1);
    return a;
}

static void
test_there_and_back_is_the_same(void)
{
    mmi_addr all[] = { addr_of(MMI_ADDR_TCP4, "192.0.2.7", 65535), addr_tcp4(0),
                       addr_of(MMI_ADDR_TCP6, "2001:db8::7", 1), addr_tcp6(80) };
    all[3].scope = 9;
    for (size_t i = 0; i < MMI_COUNT_OF(all); i++) {
        struct sockaddr_storage storage;
        mmi_addr back;
        memset(&storage, 0xaa, sizeof storage);
        memset(&back, 0xaa, sizeof back);
        socklen_t size = mmi_addr_to_sockaddr(&all[i], &storage);
        CHECK(size == (all[i].kind == MMI_ADDR_TCP4 ? sizeof(struct sockaddr_in)
                                                    : sizeof(struct sockaddr_in6)));
        mmi_addr_from_sockaddr(&storage, &back);
        CHECK(back.kind == all[i].kind && back.port == all[i].port && back.scope == all[i].scope);
        CHECK(memcmp(back.ip, all[i].ip, sizeof back.ip) == 0 && !back.any && back.path[0] == 0);
    }
}

static void
test_the_port_is_in_network_order_for_the_system(void)
{
    mmi_addr a = addr_tcp4(0x1234);
    struct sockaddr_storage storage;
    CHECK(mmi_addr_to_sockaddr(&a, &storage) > 0);
    const uint8_t *port = (const uint8_t *)&((struct sockaddr_in *)&storage)->sin_port;
    CHECK(port[0] == 0x12 && port[1] == 0x34);
}

static void
test_a_unix_path_goes_whole_and_an_unnamed_peer_comes_back_without(void)
{
    mmi_addr a = { .kind = MMI_ADDR_UNIX }, back;
    struct sockaddr_storage storage;
    memset(a.path, 'p', sizeof a.path - 1);
    CHECK_INT(mmi_addr_to_sockaddr(&a, &storage), sizeof(struct sockaddr_un));
    const struct sockaddr_un *un = (const struct sockaddr_un *)&storage;
    CHECK(un->sun_family == AF_UNIX && strcmp(un->sun_path, a.path) == 0);
    memset(&storage, 0, sizeof storage);
    storage.ss_family = AF_UNIX;
    mmi_addr_from_sockaddr(&storage, &back);
    CHECK(back.kind == MMI_ADDR_UNIX && back.path[0] == '\0');
}

static void
test_an_abstract_name_goes_with_its_own_octets_and_no_more(void)
{
    mmi_addr a = { .kind = MMI_ADDR_UNIX, .path = "@name" };
    struct sockaddr_storage storage;
    memset(&storage, 0xaa, sizeof storage);
    CHECK_INT(mmi_addr_to_sockaddr(&a, &storage), offsetof(struct sockaddr_un, sun_path) + 5);
    const struct sockaddr_un *un = (const struct sockaddr_un *)&storage;
    CHECK(un->sun_family == AF_UNIX && memcmp(un->sun_path, "\0name", 5) == 0);
}

static void
text_is(const mmi_addr *a, const char *wanted)
{
    char text[160];
    mmi_addr_format(a, a->kind == MMI_ADDR_UNIX ? "ipc" : "tcp", text, sizeof text);
    if (strcmp(text, wanted) != 0) {
        fprintf(stderr, "'%s', wanted '%s'\n", text, wanted);
        exit(1);
    }
    for (size_t size = 1; size <= strlen(wanted) + 1; size++) {   /* cut at every length */
        memset(text, '#', sizeof text);
        mmi_addr_format(a, a->kind == MMI_ADDR_UNIX ? "ipc" : "tcp", text, size);
        CHECK_INT(strlen(text), size - 1);
        CHECK(strncmp(text, wanted, size - 1) == 0 && text[size] == '#');
    }
}

static void
test_text_is_what_one_would_connect_to(void)
{
    mmi_addr a = addr_tcp4(5555);
    text_is(&a, "tcp://127.0.0.1:5555");
    a = addr_tcp6(1);
    text_is(&a, "tcp://[::1]:1");
    a = addr_of(MMI_ADDR_TCP6, "2001:db8:1:2:3:4:5:6", 65535);
    text_is(&a, "tcp://[2001:db8:1:2:3:4:5:6]:65535");
    a = (mmi_addr){ .kind = MMI_ADDR_TCP4, .any = true };
    text_is(&a, "tcp://0.0.0.0:0");
    a = addr_unix("/run", "x");
    text_is(&a, "ipc:///run/x");
    a = (mmi_addr){ .kind = MMI_ADDR_UNIX, .path = "@x" };
    text_is(&a, "ipc://@x");
    a = (mmi_addr){ .kind = MMI_ADDR_NONE };
    text_is(&a, "?");
    a = addr_of(MMI_ADDR_TCP6, "fe80::1", 7);
    a.scope = 4000000000u;   /* no interface has that number */
    text_is(&a, "tcp://[fe80::1%4000000000]:7");
    a.scope = if_nametoindex("lo");
    if (a.scope != 0) {
        text_is(&a, "tcp://[fe80::1%lo]:7");
    }
}

static void
test_what_stays_on_this_machine(void)
{
    static const struct {
        uint8_t kind;
        const char *ip;
        bool here;
    } table[] = {
        { MMI_ADDR_TCP4, "127.0.0.1", true },
        { MMI_ADDR_TCP4, "127.255.255.254", true },
        { MMI_ADDR_TCP4, "126.255.255.255", false },
        { MMI_ADDR_TCP4, "128.0.0.1", false },
        { MMI_ADDR_TCP4, "0.0.0.0", false },
        { MMI_ADDR_TCP4, "10.0.0.1", false },
        { MMI_ADDR_TCP6, "::1", true },
        { MMI_ADDR_TCP6, "::", false },
        { MMI_ADDR_TCP6, "::2", false },
        { MMI_ADDR_TCP6, "1::1", false },
        { MMI_ADDR_TCP6, "fe80::1", false },
        { MMI_ADDR_TCP6, "::ffff:127.0.0.1", true },
        { MMI_ADDR_TCP6, "::ffff:127.9.9.9", true },
        { MMI_ADDR_TCP6, "::ffff:10.0.0.1", false },
        { MMI_ADDR_TCP6, "::127.0.0.1", false },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        mmi_addr a = addr_of(table[i].kind, table[i].ip, 1);
        CHECK_INT(mmi_addr_loopback(&a), table[i].here);
        a.any = true;   /* every interface, whatever else it says */
        CHECK(!mmi_addr_loopback(&a));
    }
    mmi_addr a = addr_unix("/tmp", "x");
    CHECK(mmi_addr_loopback(&a));
    a = (mmi_addr){ .kind = MMI_ADDR_NONE };
    CHECK(!mmi_addr_loopback(&a));
}

int
main(void)
{
    RUN(test_there_and_back_is_the_same);
    RUN(test_the_port_is_in_network_order_for_the_system);
    RUN(test_a_unix_path_goes_whole_and_an_unnamed_peer_comes_back_without);
    RUN(test_an_abstract_name_goes_with_its_own_octets_and_no_more);
    RUN(test_text_is_what_one_would_connect_to);
    RUN(test_what_stays_on_this_machine);
    return 0;
}
