/*
 * test_resolve.c: names to addresses off the thread that asks, with a resolver of the test's own
 * in the system's place: it answers when the test lets it.
 * Not here: real names (test_plat_contract.c).
 * Law: no real look-up is made; an answer goes to who asked, or nowhere.
 */
#include <dlfcn.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>

#include "base/limits.h"
#include "places.h"
#include "plat/posix/posix.h"

enum { SPREAD = 20 };   /* addresses of the name "many" */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_moved = PTHREAD_COND_INITIALIZER;
static int inside, most_inside, asked, gone;
static bool gate_open;

static struct sockaddr_in spread_addrs[SPREAD];
static struct sockaddr odd_addr = { .sa_family = AF_UNIX };
static struct addrinfo spread[SPREAD + 1];

static struct addrinfo *
spread_list(void)
{
    spread[0] = (struct addrinfo){ .ai_addr = &odd_addr,
                                   .ai_addrlen = sizeof odd_addr,
                                   .ai_next = &spread[1] };
    for (int i = 0; i < SPREAD; i++) {
        spread_addrs[i] =
            (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)(i + 1)) };
        spread[i + 1] = (struct addrinfo){ .ai_addr = (struct sockaddr *)&spread_addrs[i],
                                           .ai_addrlen = sizeof spread_addrs[i],
                                           .ai_next = i + 1 < SPREAD ? &spread[i + 2] : NULL };
    }
    return spread;
}

/* In the system's place: "bad" is unknown, "many" has many addresses, "odd" none of ours, and "n7"
 * is 127.0.0.7. */
int
getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
            struct addrinfo **out)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if ((hints->ai_flags & AI_NUMERICHOST) != 0) {
        return real(host, service, hints, out);
    }
    pthread_mutex_lock(&gate);
    asked++;
    most_inside = ++inside > most_inside ? inside : most_inside;
    pthread_cond_broadcast(&gate_moved);
    while (!gate_open) {
        pthread_cond_wait(&gate_moved, &gate);
    }
    inside--;
    pthread_mutex_unlock(&gate);
    int rc = EAI_NONAME;
    if (strcmp(host, "many") == 0 || strcmp(host, "odd") == 0) {
        *out = spread_list();
        spread[0].ai_next = host[0] == 'm' ? &spread[1] : NULL;
        rc = 0;
    } else if (host[0] == 'n') {
        char number[32];
        snprintf(number, sizeof number, "127.0.0.%s", host + 1);
        rc = real(number, service, hints, out);
    }
    pthread_mutex_lock(&gate);
    gone++;
    pthread_cond_broadcast(&gate_moved);
    pthread_mutex_unlock(&gate);
    return rc;
}

void
freeaddrinfo(struct addrinfo *list)
{
    void (*real)(struct addrinfo *);
    *(void **)&real = dlsym(RTLD_NEXT, "freeaddrinfo");
    if (list != spread) {
        real(list);
    }
}

static void
gate_set(bool open)
{
    pthread_mutex_lock(&gate);
    gate_open = open;
    most_inside = inside;
    pthread_cond_broadcast(&gate_moved);
    pthread_mutex_unlock(&gate);
}

/* Until so many look-ups stand inside the system's resolver. */
static void
gate_await(int wanted)
{
    pthread_mutex_lock(&gate);
    while (inside < wanted) {
        pthread_cond_wait(&gate_moved, &gate);
    }
    pthread_mutex_unlock(&gate);
}

/* A counter that the resolver's threads move. */
static int
gate_read(const int *counter)
{
    pthread_mutex_lock(&gate);
    int value = *counter;
    pthread_mutex_unlock(&gate);
    return value;
}

/* Lets everybody through, also the forgotten of an earlier test; how many there were so far. */
static int
gate_empty(void)
{
    gate_set(true);
    pthread_mutex_lock(&gate);
    while (gone < asked) {
        pthread_cond_wait(&gate_moved, &gate);
    }
    int all = gone;
    pthread_mutex_unlock(&gate);
    return all;
}

static int
ask(const mmi_plat *p, const char *host, uint64_t tag)
{
    mmi_addr found[MMI_ADDRS_MAX];
    return p->resolve(p->self, host, 5, tag, found, MMI_ADDRS_MAX);
}

static int
take(const mmi_plat *p, uint64_t tag)
{
    mmi_addr found[MMI_ADDRS_MAX];
    int count = p->resolve_take(p->self, tag, found, MMI_ADDRS_MAX);
    return count == 1 ? found[0].ip[3] : count;   /* the last octet of n's address */
}

/* Polls until so many look-ups were told, with room for cap at a time; sums their tags. */
static uint64_t
await(const mmi_plat *p, int wanted, int cap)
{
    mmi_event events[64];
    uint64_t sum = 0;
    uint64_t end = p->now_ns(p->self) + 20 * PLACE_SECOND_NS;
    for (int told = 0; told < wanted;) {
        int count = p->poll(p->self, events, cap, end);
        CHECK(count <= cap && p->now_ns(p->self) < end);
        for (int i = 0; i < count; i++) {
            CHECK_INT(events[i].events, MMI_RESOLVED);
            sum += events[i].tag;
        }
        told += count;
        CHECK(told <= wanted);
    }
    CHECK_INT(p->poll(p->self, events, cap, 0), 0);
    return sum;
}

static void
test_a_number_needs_no_thread(void)
{
    mmi_plat p = open_plat();
    mmi_addr found[2];
    int before = gate_read(&asked);
    CHECK_INT(p.resolve(p.self, "127.0.0.9", 80, 1, found, 2), 1);
    CHECK(found[0].kind == MMI_ADDR_TCP4 && found[0].ip[3] == 9 && found[0].port == 80);
    CHECK_INT(p.resolve(p.self, "::1", 65535, 1, found, 2), 1);
    CHECK(found[0].kind == MMI_ADDR_TCP6 && found[0].ip[15] == 1 && found[0].port == 65535);
    unsigned lo = if_nametoindex("lo");
    if (lo != 0) {
        CHECK_INT(p.resolve(p.self, "fe80::1%lo", 1, 1, found, 2), 1);
        CHECK_INT(found[0].scope, lo);
    }
    CHECK_INT(gate_read(&asked), before);
    p.free(p.self);
}

static void
test_an_answer_is_told_once_and_taken_once(void)
{
    mmi_plat p = open_plat();
    gate_set(false);
    CHECK_INT(ask(&p, "n7", 70), MM_EAGAIN);
    gate_await(1);
    CHECK_INT(take(&p, 70), MM_EAGAIN);
    gate_set(true);
    CHECK(await(&p, 1, 8) == 70);
    CHECK_INT(take(&p, 71), MM_EAGAIN);
    CHECK_INT(take(&p, 70), 7);
    CHECK_INT(take(&p, 70), MM_EAGAIN);
    p.free(p.self);
}

static void
test_a_name_nobody_knows_is_told_like_any_other(void)
{
    mmi_plat p = open_plat();
    mmi_addr found[2];
    gate_set(true);
    CHECK_INT(ask(&p, "bad", 1), MM_EAGAIN);
    CHECK_INT(ask(&p, "odd", 2), MM_EAGAIN);
    CHECK(await(&p, 2, 8) == 3);
    CHECK_INT(take(&p, 1), MM_ENOHOST);
    CHECK_INT(take(&p, 2), MM_ENOHOST);
    CHECK_INT(p.resolve_wait(p.self, "bad", 1, found, 2), MM_ENOHOST);
    CHECK_INT(p.resolve_wait(p.self, "n3", 9, found, 2), 1);
    CHECK(found[0].ip[3] == 3 && found[0].port == 9);
    p.free(p.self);
}

static void
test_of_many_addresses_as_many_as_there_is_room_for(void)
{
    mmi_plat p = open_plat();
    mmi_addr found[SPREAD];
    gate_set(true);
    for (uint64_t tag = 1; tag <= 3; tag++) {
        CHECK_INT(ask(&p, "many", tag), MM_EAGAIN);
        CHECK(await(&p, 1, 8) == tag);
    }
    CHECK_INT(p.resolve_take(p.self, 1, found, SPREAD), MMI_ADDRS_MAX);
    for (int i = 0; i < MMI_ADDRS_MAX; i++) {
        CHECK(found[i].kind == MMI_ADDR_TCP4 && found[i].port == i + 1);
    }
    CHECK_INT(p.resolve_take(p.self, 2, found, 3), 3);
    CHECK_INT(p.resolve_take(p.self, 3, found, 1), 1);
    p.free(p.self);
}

static void
test_so_many_look_ups_at_once_and_the_others_wait_their_turn(void)
{
    mmi_plat p = open_plat();
    uint64_t sum = 0;
    gate_set(false);
    for (uint64_t tag = 1; tag <= 3 * MMI_RESOLVERS_MAX; tag++) {
        CHECK_INT(ask(&p, "n1", tag), MM_EAGAIN);
        sum += tag;
    }
    gate_await(MMI_RESOLVERS_MAX);
    CHECK_INT(gate_read(&most_inside), MMI_RESOLVERS_MAX);
    gate_set(true);
    CHECK(await(&p, 3 * MMI_RESOLVERS_MAX, 5) == sum);
    CHECK(gate_read(&most_inside) <= MMI_RESOLVERS_MAX);
    for (uint64_t tag = 1; tag <= 3 * MMI_RESOLVERS_MAX; tag++) {
        CHECK_INT(take(&p, tag), 1);
    }
    p.free(p.self);
}

static void
test_what_is_forgotten_is_never_told_wherever_it_stood(void)
{
    mmi_plat p = open_plat();
    gate_set(false);
    for (uint64_t tag = 1; tag <= MMI_RESOLVERS_MAX + 2; tag++) {
        CHECK_INT(ask(&p, "n1", tag), MM_EAGAIN);
    }
    gate_await(MMI_RESOLVERS_MAX);
    p.resolve_forget(p.self, 1);                        /* running */
    p.resolve_forget(p.self, MMI_RESOLVERS_MAX + 2);    /* waiting */
    p.resolve_forget(p.self, 999);
    CHECK_INT(ask(&p, "n2", 1), MM_EAGAIN);             /* the tag may be used again */
    gate_set(true);
    uint64_t sum = 0;
    for (uint64_t tag = 1; tag <= MMI_RESOLVERS_MAX + 1; tag++) {
        sum += tag;
    }
    CHECK(await(&p, MMI_RESOLVERS_MAX + 1, 64) == sum);
    CHECK_INT(take(&p, 1), 2);                          /* the answer to the second question */
    p.resolve_forget(p.self, 2);                        /* finished, told */
    CHECK_INT(take(&p, 2), MM_EAGAIN);
    CHECK_INT(take(&p, MMI_RESOLVERS_MAX + 2), MM_EAGAIN);
    CHECK_INT(take(&p, 3), 1);
    p.free(p.self);
}

static void
test_a_platform_that_goes_waits_for_no_look_up(void)
{
    int finished = gate_empty(), before = fds_open(), wanted = 0;
    for (int i = 0; i < 3; i++) {
        mmi_plat p = open_plat();
        gate_set(i == 0);
        CHECK_INT(ask(&p, "n1", 1), MM_EAGAIN);
        wanted++;
        if (i == 0) {
            CHECK(await(&p, 1, 8) == 1);   /* finished and not taken */
        } else {
            for (uint64_t tag = 2; tag <= MMI_RESOLVERS_MAX + 3; tag++) {
                CHECK_INT(ask(&p, "n1", tag), MM_EAGAIN);
            }
            gate_await(MMI_RESOLVERS_MAX);
            wanted += MMI_RESOLVERS_MAX - 1;
        }
        p.free(p.self);   /* returns though they stand in the system's resolver */
        CHECK_INT(gate_empty(), finished + wanted);   /* those that waited were never begun */
        fds_are(before);
    }
}

static void
test_no_memory_asks_nobody(void)
{
    mmi_plat p = open_plat();
    int before = gate_read(&asked);
    mm_test_alloc_fail(1);
    CHECK_INT(ask(&p, "n1", 1), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK_INT(take(&p, 1), MM_EAGAIN);
    CHECK_INT(gate_read(&asked), before);
    p.free(p.self);
}

int
main(void)
{
    RUN(test_a_number_needs_no_thread);
    RUN(test_an_answer_is_told_once_and_taken_once);
    RUN(test_a_name_nobody_knows_is_told_like_any_other);
    RUN(test_of_many_addresses_as_many_as_there_is_room_for);
    RUN(test_so_many_look_ups_at_once_and_the_others_wait_their_turn);
    RUN(test_what_is_forgotten_is_never_told_wherever_it_stood);
    RUN(test_a_platform_that_goes_waits_for_no_look_up);
    RUN(test_no_memory_asks_nobody);
    return 0;
}
