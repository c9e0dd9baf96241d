/*
 * test_tran.c: the transports: tcp and ipc from a URL to a stream, inproc and its table of names.
 * Not here: how a URL is read (test_url.c), sockets (tests/conformance).
 * Law: a name has one listener in a domain, exactly while it is open; no stream is lost or leaked.
 */
#include <sys/wait.h>

#include "places.h"
#include "plat/sim/sim.h"
#include "tran/tran.h"

enum { BACKLOG = 128, NAME_MAX_SIZE = 246 };

static mmi_url
url_of(const char *text)
{
    mmi_url u;
    char why[128] = "";
    CHECK_INT(mmi_tran_parse(text, 0, &u, why), MM_OK);
    return u;
}

static mmi_url
named(const char *name)
{
    mmi_url u = { .scheme = "inproc", .wire = &mmi_wire_zmtp };
    snprintf(u.host, sizeof u.host, "%s", name);
    return u;
}

static int
dial(const mmi_plat *p, const char *name, int *s)
{
    const mmi_url u = named(name);
    mmi_tran_why why = { .reason = MM_REASON_NONE };
    return mmi_tran_inproc.dial(p, &u, NULL, s, &why);
}

static int
listen_at(const mmi_plat *p, const char *name, mmi_tran_listener *l)
{
    const mmi_url u = named(name);
    char bound[MM_ENDPOINT_MAX + 1];
    return mmi_tran_inproc.listen(p, &u, NULL, l, bound, sizeof bound);
}

static int
accepted(const mmi_plat *p, const mmi_tran_listener *l, int *s)
{
    mmi_addr peer;
    mmi_tran_why why = { .reason = MM_REASON_NONE };
    return mmi_tran_inproc.accept(p, l, s, &peer, &why);
}

static void
test_each_scheme_has_its_transport_and_no_other_has_one(void)
{
    const mmi_url tcp = url_of("tcp://a:1"), over_sp = url_of("sp+tcp://a:1");
    const mmi_url ipc = url_of("ipc:///a"), inproc = url_of("inproc://a");
    CHECK(mmi_tran_of(&tcp) == &mmi_tran_tcp && mmi_tran_of(&over_sp) == &mmi_tran_tcp);
    CHECK(mmi_tran_of(&ipc) == &mmi_tran_ipc && mmi_tran_of(&inproc) == &mmi_tran_inproc);
    const mmi_url none = { .scheme = "" }, longer = { .scheme = "tcps" }, part = { .scheme = "tc" };
    CHECK(mmi_tran_of(&none) == NULL && mmi_tran_of(&longer) == NULL && mmi_tran_of(&part) == NULL);
}

static void
test_tcp_is_resolved_by_the_platform_and_dialed(void)
{
    mmi_plat p = open_plat();
    mmi_url u = url_of("tcp://127.0.0.1:0");
    const mmi_tran *tcp = mmi_tran_of(&u);
    mmi_addr at[2];
    mmi_tran_why why = { .reason = MM_REASON_NONE };
    int l, s;
    CHECK_INT(tcp->resolve(&p, &u, 1, at, 2), 1);
    CHECK_INT(at[0].kind, MMI_ADDR_TCP4);
    CHECK_INT(p.listen(p.self, &at[0], &l), MM_OK);
    int rc = tcp->dial(&p, &u, &at[0], &s, &why);
    CHECK(rc == MM_OK || rc == MM_EAGAIN);
    p.free(p.self);
}

static void
test_an_ipc_path_is_an_address_at_once_up_to_107_octets(void)
{
    mmi_url u = { .scheme = "ipc" };
    const mmi_tran *ipc = mmi_tran_of(&u);
    mmi_addr at;
    memset(u.host, 'p', 107);
    CHECK_INT(ipc->resolve(NULL, &u, 1, &at, 1), 1);
    CHECK(at.kind == MMI_ADDR_UNIX && strcmp(at.path, u.host) == 0 && at.port == 0);
    CHECK_INT(ipc->resolve(NULL, &u, 1, &at, 0), MM_EADDRINVAL);
    u.host[107] = 'p';
    CHECK_INT(ipc->resolve(NULL, &u, 1, &at, 1), MM_ENAMETOOLONG);
}

static void
test_ipc_dials_who_listens_on_the_path(void)
{
    char folder[PLACE_SIZE], text[160];
    place_open(folder);
    mmi_plat p = open_plat();
    snprintf(text, sizeof text, "ipc://%s/s", folder);
    mmi_url u = url_of(text);
    const mmi_tran *ipc = mmi_tran_of(&u);
    mmi_addr at;
    mmi_tran_why why = { .reason = MM_REASON_NONE };
    int l, s;
    CHECK_INT(ipc->resolve(&p, &u, 1, &at, 1), 1);
    CHECK_INT(ipc->dial(&p, &u, &at, &s, &why), MM_ECONNREFUSED);
    CHECK_INT(p.listen(p.self, &at, &l), MM_OK);
    CHECK_INT(ipc->dial(&p, &u, &at, &s, &why), MM_OK);
    CHECK_INT(why.reason, MM_REASON_NONE);
    p.free(p.self);
    place_close(folder);
}

static void
test_a_name_has_one_listener_while_it_is_open(void)
{
    mmi_plat p = open_plat(), other = open_plat();
    mmi_tran_listener l, more = { .state = NULL }, second;
    int s;
    CHECK_INT(dial(&p, "a", &s), MM_ECONNREFUSED);
    CHECK_INT(listen_at(&p, "a", &l), MM_OK);
    CHECK_INT(listen_at(&p, "a", &more), MM_EADDRINUSE);
    CHECK_INT(listen_at(&other, "a", &more), MM_EADDRINUSE);
    CHECK(more.state == NULL);
    CHECK_INT(listen_at(&p, "A", &second), MM_OK);
    mmi_tran_inproc.close(&p, &l);
    CHECK_INT(dial(&p, "a", &s), MM_ECONNREFUSED);
    CHECK_INT(listen_at(&other, "a", &l), MM_OK);
    mmi_tran_inproc.close(&p, &l);
    mmi_tran_inproc.close(&p, &second);
    p.free(p.self);
    other.free(other.self);
}

static void
test_a_name_too_long_is_no_address_and_the_longest_is_whole(void)
{
    mmi_plat p = open_plat();
    char name[NAME_MAX_SIZE + 2];
    mmi_tran_listener l;
    int s;
    memset(name, 'n', sizeof name);
    name[NAME_MAX_SIZE + 1] = '\0';
    CHECK_INT(listen_at(&p, name, &l), MM_ENAMETOOLONG);
    name[NAME_MAX_SIZE] = '\0';
    CHECK_INT(listen_at(&p, name, &l), MM_OK);
    CHECK_INT(dial(&p, name, &s), MM_OK);
    name[NAME_MAX_SIZE - 1] = '\0';
    CHECK_INT(dial(&p, name, &s), MM_ECONNREFUSED);
    mmi_tran_inproc.close(&p, &l);
    p.free(p.self);
}

static void
test_newcomers_are_accepted_in_order_and_wake_their_listener(void)
{
    mmi_plat p = open_plat(), dialing = open_plat();
    mmi_tran_listener l;
    mmi_event event;
    int near_end[3], far_end;
    char buf[4];
    CHECK_INT(listen_at(&p, "a", &l), MM_OK);
    CHECK(!mmi_tran_inproc.pending(&l));
    CHECK_INT(accepted(&p, &l, &far_end), MM_EAGAIN);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(dial(&dialing, "a", &near_end[i]), MM_OK);
        char body = (char)('0' + i);
        CHECK_INT(plat_put(&dialing, near_end[i], &body, 1), 1);   /* before anybody accepts */
    }
    CHECK_INT(p.poll(p.self, &event, 1, UINT64_MAX), 0);   /* was interrupted: does not sleep */
    for (int i = 0; i < 3; i++) {
        CHECK(mmi_tran_inproc.pending(&l));
        CHECK_INT(accepted(&p, &l, &far_end), MM_OK);
        CHECK_INT(plat_get(&p, far_end, buf, sizeof buf), 1);
        CHECK_INT(buf[0], '0' + i);
        p.close(p.self, far_end);
    }
    CHECK(!mmi_tran_inproc.pending(&l));
    mmi_tran_inproc.close(&p, &l);
    p.free(p.self);
    dialing.free(dialing.self);
}

static void
test_the_queue_is_bounded_and_closing_the_listener_ends_those_in_it(void)
{
    mmi_plat p = open_plat(), dialing = open_plat();
    mmi_tran_listener l;
    int s[BACKLOG], more = -5, before = fds_open();
    char c;
    CHECK_INT(listen_at(&p, "a", &l), MM_OK);
    for (int i = 0; i < BACKLOG; i++) {
        CHECK_INT(dial(&dialing, "a", &s[i]), MM_OK);
    }
    fds_are(before);   /* names and streams of this process need none */
    CHECK_INT(dial(&dialing, "a", &more), MM_ECONNREFUSED);
    CHECK_INT(more, -5);
    mmi_tran_inproc.close(&p, &l);
    for (int i = 0; i < BACKLOG; i++) {
        CHECK_INT(plat_get(&dialing, s[i], &c, 1), 0);
    }
    p.free(p.self);
    dialing.free(dialing.self);
}

static void
test_a_dial_that_fails_leaves_nothing_with_the_listener(void)
{
    mmi_plat p = open_plat(), dialing = open_plat();
    mmi_tran_listener l;
    int s;
    mm_test_alloc_fail(1);
    CHECK_INT(listen_at(&p, "a", &l), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK_INT(listen_at(&p, "a", &l), MM_OK);
    mm_test_alloc_fail(1);
    CHECK_INT(dial(&dialing, "a", &s), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK(!mmi_tran_inproc.pending(&l));
    rlim_t limit = fds_limit(0);
    CHECK_INT(dial(&dialing, "a", &s), MM_OK);   /* it needs no descriptor */
    fds_restore(limit);
    mmi_tran_inproc.close(&p, &l);
    p.free(p.self);
    dialing.free(dialing.self);
}

static void
test_a_simulated_world_has_names_of_its_own(void)
{
    mm_sim_opts opts = { .latency_max_ns = 0 };
    mm_handle world;
    mmi_plat p = open_plat(), sim;
    mmi_tran_listener real, simulated;
    int s;
    CHECK_INT(mm_sim_open(1, &opts, &world), MM_OK);
    CHECK_INT(mmi_sim_plat(mmi_sim_find(world), &sim), MM_OK);
    CHECK_INT(listen_at(&p, "a", &real), MM_OK);
    CHECK_INT(dial(&sim, "a", &s), MM_ECONNREFUSED);
    CHECK_INT(listen_at(&sim, "a", &simulated), MM_OK);
    CHECK_INT(dial(&sim, "a", &s), MM_OK);
    CHECK(mmi_tran_inproc.pending(&simulated) && !mmi_tran_inproc.pending(&real));
    mmi_tran_inproc.close(&p, &real);
    mmi_tran_inproc.close(&sim, &simulated);
    sim.free(sim.self);
    p.free(p.self);
    CHECK_INT(mm_sim_close(world), MM_OK);
}

static void
test_a_forked_child_has_no_names(void)
{
    mmi_plat p = open_plat();
    mmi_tran_listener l, own;
    int s, status;
    CHECK_INT(listen_at(&p, "a", &l), MM_OK);
    pid_t child = fork();   /* the hooks of fork.c hold the table's lock across it */
    CHECK(child >= 0);
    if (child == 0) {
        mmi_plat fresh;
        bool right = mmi_plat_posix(false, &fresh) == MM_OK &&
                     dial(&fresh, "a", &s) == MM_ECONNREFUSED &&
                     listen_at(&fresh, "a", &own) == MM_OK && dial(&fresh, "a", &s) == MM_OK;
        _exit(right ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_INT(dial(&p, "a", &s), MM_OK);
    mmi_tran_inproc.close(&p, &l);
    p.free(p.self);
}

int
main(void)
{
    int before = fds_open();
    RUN(test_each_scheme_has_its_transport_and_no_other_has_one);
    RUN(test_tcp_is_resolved_by_the_platform_and_dialed);
    RUN(test_an_ipc_path_is_an_address_at_once_up_to_107_octets);
    RUN(test_ipc_dials_who_listens_on_the_path);
    RUN(test_a_name_has_one_listener_while_it_is_open);
    RUN(test_a_name_too_long_is_no_address_and_the_longest_is_whole);
    RUN(test_newcomers_are_accepted_in_order_and_wake_their_listener);
    RUN(test_the_queue_is_bounded_and_closing_the_listener_ends_those_in_it);
    RUN(test_a_dial_that_fails_leaves_nothing_with_the_listener);
    RUN(test_a_simulated_world_has_names_of_its_own);
    RUN(test_a_forked_child_has_no_names);
    fds_are(before);
    return 0;
}
