/*
 * test_mechanism_steps.c: the steps of a mechanism's handshake are made without the engine's lock,
 * and whatever ends the connection meanwhile, the step and its link end well.
 * Not here: what a protected connection promises (test_mechanism.c).
 * Law: what happens during a step is done by the step itself, so each run is the same.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "protected.h"
#include "socket/allowed.h"
#include "toy_mechanism.h"

enum { STEPS_MAX = 8 };

static const mmi_mechanism toyxor = TOY("TOYXOR", 1000), toytls = TOY_OUTER("TOYTLS", 1000);
static const toy_config toy_key = { .key = 0x42 };

static bool outside;                     /* the mechanism comes before the wire */

static const char *
place(void)
{
    return outside ? "tls+tcp://127.0.0.1:0" : TCP;
}

static void
cover(mm_handle socket, const toy_config *config)
{
    if (outside) {
        enclose(socket, &toytls, config);
    } else {
        protect(socket, &toyxor, config);
    }
}

/* What happens in the n-th step of one side. */
typedef struct scene {
    sides s;
    char endpoint[MM_ENDPOINT_MAX + 1];
    int steps, at;
    void (*happens)(struct scene *scene);
} scene;

static void
step(void *arg)
{
    scene *c = arg;
    if (++c->steps == c->at && c->happens != NULL) {
        c->happens(c);
    }
}

static bool
lets_in(const void *config, const mmi_applicant *who, mmi_answer *out)
{
    (void)config;
    CHECK_INT(who->key.size, 1);
    CHECK_INT(who->key.data[0], toy_key.key);
    CHECK(strcmp(who->mechanism, outside ? "TOYTLS" : "TOYXOR") == 0);
    CHECK((who->properties.size == 0) == outside);   /* nothing of the wire was said yet */
    CHECK(who->user.size == 0 && who->certificate.size == 0);
    out->kind = MM_ALLOW;
    return true;
}

static bool
says_no(const void *config, const mmi_applicant *who, mmi_answer *out)
{
    (void)config;
    (void)who;
    out->kind = MM_DENY;
    snprintf(out->why, sizeof out->why, "not on the list");
    return true;
}

static bool
says_later(const void *config, const mmi_applicant *who, mmi_answer *out)
{
    (void)config;
    (void)who;
    snprintf(out->why, sizeof out->why, "the list is being read");
    return true;
}

/* One side tells of its steps; the listening one asks who comes. */
static toy_config
of_scene(scene *c, bool tells, bool listens)
{
    toy_config config = { .key = toy_key.key, .asks = listens };
    if (tells) {
        config.step = step;
        config.arg = c;
    }
    return config;
}

static void
scene_open(scene *c, const mm_sim_opts *faults, const toy_config *push, const toy_config *pull)
{
    c->s = sides_open(1, faults);
    cover(c->s.push, push);
    cover(c->s.pull, pull);
    guard(c->s.pull, lets_in);
    CHECK_INT(mm_bind(c->s.pull, place(), c->endpoint, sizeof c->endpoint), MM_OK);
    CHECK_INT(mm_connect(c->s.push, c->endpoint), MM_OK);
}

/* Would wait for ever if its thread had the engine's lock. */
static void
looks_in(scene *c)
{
    mm_stats stats;
    CHECK_INT(mm_socket_stats(c->s.push, &stats), MM_OK);
    CHECK_INT(mm_socket_stats(c->s.pull, &stats), MM_OK);
    c->at++;   /* and in the next step */
}

static void
test_every_step_is_made_without_the_lock(void)
{
    for (int listens = 0; listens < 2; listens++) {
        scene c = { .at = 1, .happens = looks_in };
        toy_config push = of_scene(&c, !listens, false), pull = of_scene(&c, listens, true);
        scene_open(&c, &(mm_sim_opts){ .latency_max_ns = 0 }, &push, &pull);
        CHECK_INT(mm_wait_peers(c.s.push, 1, PATIENCE_MS, 0), MM_OK);
        CHECK_INT(mm_wait_peers(c.s.pull, 1, PATIENCE_MS, 0), MM_OK);
        CHECK(c.steps >= (listens ? 3 : 2));   /* begin, feed; and the answer */
        CHECK_INT(c.at, c.steps + 1);
        sides_close(&c.s);
    }
}

static void
closes_push(scene *c)
{
    CHECK_INT(mm_socket_close(c->s.push), MM_OK);
}

static void
closes_pull(scene *c)
{
    CHECK_INT(mm_socket_close(c->s.pull), MM_OK);
}

static void
disconnects(scene *c)
{
    CHECK_INT(mm_disconnect(c->s.push, c->endpoint), MM_OK);
}

static void
unbinds(scene *c)
{
    CHECK_INT(mm_unbind(c->s.pull, c->endpoint), MM_OK);
}

static void
resets(scene *c)
{
    CHECK_INT(mm_sim_reset_all(c->s.world), MM_OK);
}

/* Longer than a handshake may take. */
static void
takes_long(scene *c)
{
    CHECK_INT(mm_sim_suspend(c->s.world, (uint64_t)60 * 1000000000), MM_OK);
}

/* Ends as it may: no half-open link stays, and who can still connect does. */
static void
ends_well(scene *c, bool again)
{
    mm_stats stats;
    if (again) {
        CHECK_INT(mm_wait_peers(c->s.push, 1, PATIENCE_MS, 0), MM_OK);
        CHECK_INT(mm_wait_peers(c->s.pull, 1, PATIENCE_MS, 0), MM_OK);
    }
    CHECK_INT(mm_sim_run(c->s.world, (uint64_t)20 * 1000000000), MM_OK);
    if (mm_socket_stats(c->s.pull, &stats) == MM_OK) {
        CHECK_INT(stats.half_open, 0);
    }
    sides_close(&c->s);
}

static void
test_whatever_happens_during_a_step_ends_well(void)
{
    static const struct {
        void (*happens)(scene *c);
        bool again;                      /* it connects again, or did already */
    } cases[] = {
        { closes_push, false }, { closes_pull, false }, { disconnects, false },
        { unbinds, false },     { resets, true },       { takes_long, true },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cases); i++) {
        for (int listens = 0; listens < 2; listens++) {
            int reached = 0;
            for (int at = 1; at <= STEPS_MAX; at++) {
                scene c = { .at = at, .happens = cases[i].happens };
                toy_config push = of_scene(&c, !listens, false), pull = of_scene(&c, listens, true);
                const mm_sim_opts faults = { .latency_max_ns = 1000, .buffer_size = 200 };
                scene_open(&c, &faults, &push, &pull);
                bool again = cases[i].again;
                CHECK_INT(mm_sim_run(c.s.world, (uint64_t)2 * 1000000000), MM_OK);
                reached = c.steps >= at ? at : reached;
                ends_well(&c, again);
            }
            CHECK(reached >= 2);
        }
    }
}

/* The runner is in a step while another thread closes its engine. */
static void
awaits_the_end(scene *c)
{
    mm_stats stats;
    AWAIT(mm_socket_stats(c->s.push, &stats) == MM_ECLOSED);
}

static void
test_an_engine_that_is_closed_waits_for_the_step(void)
{
    for (int at = 1; at <= 2; at++) {
        scene c = { .at = at, .happens = awaits_the_end };
        toy_config push = of_scene(&c, true, false), pull = of_scene(&c, false, true);
        scene_open(&c, NULL, &push, &pull);
        mm_stats stats;
        AWAIT(mm_socket_stats(c.s.pull, &stats) == MM_OK && stats.accepts > 0);
        sides_close(&c.s);
    }
}

/* Takes every engine's lock. */
static void
forks(scene *c)
{
    (void)c;
    pid_t child = fork();
    if (child == 0) {
        _exit(mm_strerror(MM_EFORKED) == NULL);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void
test_a_fork_during_a_step_is_none_of_its_business(void)
{
    scene c = { .at = 2, .happens = forks };
    toy_config push = of_scene(&c, false, false), pull = of_scene(&c, true, true);
    scene_open(&c, NULL, &push, &pull);
    CHECK_INT(mm_wait_peers(c.s.push, 1, PATIENCE_MS, 0), MM_OK);
    CHECK_INT(mm_wait_peers(c.s.pull, 1, PATIENCE_MS, 0), MM_OK);
    sides_close(&c.s);
}

/* Whatever the mechanism makes of a no, nobody becomes a peer. */
static void
test_who_is_not_on_the_list_is_no_peer_and_both_say_so(void)
{
    static const struct {
        mmi_allow allow;
        const char *to_pull;
        uint32_t to_push;                /* times that the asking side heard a word */
    } cases[] = {
        { says_no, "not on the list", 1 },
        { says_later, "later: the list is being read", 0 },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cases); i++) {
        scene c = { .at = 0 };
        toy_config push = of_scene(&c, false, false), pull = of_scene(&c, false, true);
        c.s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
        cover(c.s.push, &push);
        cover(c.s.pull, &pull);
        guard(c.s.pull, cases[i].allow);
        refused_at(&c.s, place(), "");
        int kind = MM_EVENT_HANDSHAKE_FAILED, no = MM_REASON_NOT_ALLOWED;
        CHECK(told(c.s.pull, kind, no, cases[i].to_pull) > 0);
        CHECK((told(c.s.push, kind, no, "the peer says no") > 0) == cases[i].to_push);
        CHECK((told(c.s.push, kind, MM_REASON_HANDSHAKE_EOF, "") > 0) != cases[i].to_push);
        mm_stats stats;
        CHECK_INT(mm_socket_stats(c.s.pull, &stats), MM_OK);
        CHECK_INT(stats.closed[no], stats.handshakes_failed);
        CHECK_INT(stats.handshakes + stats.half_open, 0);
        sides_close(&c.s);
    }
}

/* The list that the step asks goes with the socket. */
static void
test_a_socket_that_is_closed_in_a_step_is_there_until_the_step_is_over(void)
{
    for (int at = 1; at <= 4; at++) {
        scene c = { .at = at, .happens = closes_pull };
        toy_config push = of_scene(&c, false, false), pull = of_scene(&c, true, true);
        void *object;
        mmi_engine *e;
        c.s = sides_open(1, &(mm_sim_opts){ .latency_max_ns = 0 });
        cover(c.s.push, &push);
        cover(c.s.pull, &pull);
        CHECK_INT(mmi_handle_lock(c.s.pull, MMI_HANDLE_SOCKET, &object, &e), MM_OK);
        mmi_socket *s = object;
        s->allowed = mmi_allowed_new();
        s->allow = mmi_allowed_ask;
        s->allow_config = s->allowed;
        pthread_mutex_unlock(&e->lock);
        CHECK_INT(mm_bind(c.s.pull, place(), c.endpoint, sizeof c.endpoint), MM_OK);
        CHECK_INT(mm_connect(c.s.push, c.endpoint), MM_OK);
        CHECK_INT(mm_sim_run(c.s.world, (uint64_t)2 * 1000000000), MM_OK);
        CHECK(c.steps >= at || at > 2);
        sides_close(&c.s);
    }
}

int
main(void)
{
    for (int i = 0; i < 2; i++) {
        outside = i > 0;
        RUN(test_every_step_is_made_without_the_lock);
        RUN(test_whatever_happens_during_a_step_ends_well);
        RUN(test_an_engine_that_is_closed_waits_for_the_step);
        RUN(test_a_fork_during_a_step_is_none_of_its_business);
        RUN(test_who_is_not_on_the_list_is_no_peer_and_both_say_so);
        RUN(test_a_socket_that_is_closed_in_a_step_is_there_until_the_step_is_over);
    }
    return 0;
}
