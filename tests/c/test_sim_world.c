/*
 * test_sim_world.c: the simulated world's clock, engines, notifiers, look-ups and trace.
 * Not here: streams and faults (test_sim_faults.c); what it shares with the real platform
 * (test_plat_*.c).
 * Law: time moves only when nobody can; the same seed gives the same trace.
 */
#include "check.h"
#include "plat/sim/world.h"

static const uint64_t MS = 1000000, HOUR = 3600ull * 1000000000;
static const mm_sim_opts quiet = { .latency_min_ns = 1000, .latency_max_ns = 1000 };

static mm_handle
open_world(uint64_t seed)
{
    mm_handle world = 0;
    CHECK_INT(mm_sim_open(seed, &quiet, &world), MM_OK);
    return world;
}

static mmi_plat
open_engine(mm_handle world)
{
    mmi_plat p;
    CHECK_INT(mmi_sim_plat(mmi_sim_find(world), &p), MM_OK);
    return p;
}

static uint64_t
now_of(mm_handle world)
{
    mm_sim_state state;
    CHECK_INT(mm_sim_inspect(world, &state), MM_OK);
    return state.now_ns;
}

static void
test_options_that_make_no_sense_open_no_world(void)
{
    mm_sim_opts opts = { .latency_min_ns = 2, .latency_max_ns = 1 };
    mm_handle world = 77;
    CHECK_INT(mm_sim_open(1, &opts, &world), MM_EINVAL);
    opts = (mm_sim_opts){ .eagain_ppm = 1000000 };
    CHECK_INT(mm_sim_open(1, &opts, &world), MM_EINVAL);
    mm_test_alloc_fail(1);
    CHECK_INT(mm_sim_open(1, &quiet, &world), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK_INT(world, 77);
    world = open_world(1);
    CHECK_INT(mm_sim_faults(world, &opts), MM_EINVAL);
    CHECK_INT(mm_sim_close(world), MM_OK);
}

static void
test_there_are_so_many_worlds_and_a_closed_one_makes_room(void)
{
    mm_handle worlds[256], more = 0;
    for (int i = 0; i < 256; i++) {
        worlds[i] = open_world((uint64_t)i);
    }
    CHECK_INT(mm_sim_open(1, &quiet, &more), MM_EMFILE);
    CHECK_INT(mm_sim_close(worlds[100]), MM_OK);
    CHECK_INT(mm_sim_open(1, &quiet, &worlds[100]), MM_OK);
    for (int i = 0; i < 256; i++) {
        CHECK_INT(mm_sim_close(worlds[i]), MM_OK);
    }
}

static void
test_a_closed_world_says_so_to_every_call(void)
{
    mm_handle closed = open_world(1);
    CHECK_INT(mm_sim_close(closed), MM_OK);
    mm_handle handles[] = { 0, closed, 256, 257, UINT64_MAX };
    mm_sim_state state;
    char line[SIM_TRACE_WIDTH];
    for (size_t i = 0; i < MMI_COUNT_OF(handles); i++) {
        mm_handle w = handles[i];
        CHECK(mmi_sim_find(w) == NULL);
        CHECK_INT(mm_sim_close(w), MM_ECLOSED);
        CHECK_INT(mm_sim_faults(w, &quiet), MM_ECLOSED);
        CHECK_INT(mm_sim_heal(w), MM_ECLOSED);
        CHECK_INT(mm_sim_run(w, 1), MM_ECLOSED);
        CHECK_INT(mm_sim_partition(w, 0, 0, 1), MM_ECLOSED);
        CHECK_INT(mm_sim_reset_all(w), MM_ECLOSED);
        CHECK_INT(mm_sim_reset_in(w, 1), MM_ECLOSED);
        CHECK_INT(mm_sim_seek(w, NULL, 0), MM_ECLOSED);
        CHECK_INT(mm_sim_jump_wall(w, 1), MM_ECLOSED);
        CHECK_INT(mm_sim_suspend(w, 1), MM_ECLOSED);
        CHECK_INT(mm_sim_inspect(w, &state), MM_ECLOSED);
        CHECK_INT(mm_sim_trace(w, 0, line, sizeof line), MM_ECLOSED);
    }
}

static void
test_a_world_outlives_its_engines_and_holds_so_many(void)
{
    mm_handle world = open_world(1);
    mmi_plat engines[SIM_ENGINES_MAX], more;
    mm_sim_state state;
    for (int i = 0; i < SIM_ENGINES_MAX; i++) {
        engines[i] = open_engine(world);
    }
    CHECK_INT(mmi_sim_plat(mmi_sim_find(world), &more), MM_EMFILE);
    CHECK_INT(mm_sim_inspect(world, &state), MM_OK);
    CHECK_INT(state.engines, SIM_ENGINES_MAX);
    for (int i = 0; i < SIM_ENGINES_MAX; i++) {
        CHECK_INT(mm_sim_close(world), MM_ESTATE);
        engines[i].after_fork(engines[i].self);
        engines[i].free(engines[i].self);
    }
    CHECK_INT(mm_sim_close(world), MM_OK);
}

static void
test_running_moves_the_clock_by_exactly_that_and_a_jump_moves_the_wall_only(void)
{
    mm_handle world = open_world(1);
    mmi_plat p = open_engine(world);
    uint64_t now = p.now_ns(p.self), wall = p.wall_ns(p.self);
    CHECK_INT(mm_sim_run(world, 12345), MM_OK);
    CHECK_INT(p.now_ns(p.self), now + 12345);
    CHECK_INT(p.wall_ns(p.self), wall + 12345);
    CHECK_INT(mm_sim_jump_wall(world, -(int64_t)HOUR), MM_OK);
    CHECK_INT(p.now_ns(p.self), now + 12345);
    CHECK_INT(p.wall_ns(p.self), wall + 12345 - HOUR);
    CHECK_INT(mm_sim_jump_wall(world, (int64_t)HOUR + 5), MM_OK);
    CHECK_INT(p.wall_ns(p.self), wall + 12350);
    CHECK_INT(mm_sim_run(world, 0), MM_OK);
    CHECK_INT(p.now_ns(p.self), now + 12345);
    p.free(p.self);
    CHECK_INT(mm_sim_close(world), MM_OK);
}

/* An engine's step for the tests: it polls with a deadline that lies so far ahead. */
typedef struct stepper {
    mmi_plat plat;
    uint64_t every_ns, last_ns;
    int steps, events, ring;     /* ring: the notifier it rings at its fifth step; -1: none */
    mmi_event seen[8];
} stepper;

static void
stepper_step(void *arg)
{
    stepper *s = arg;
    s->last_ns = s->plat.now_ns(s->plat.self);
    uint64_t due = s->every_ns == UINT64_MAX ? UINT64_MAX : s->last_ns + s->every_ns;
    s->events += s->plat.poll(s->plat.self, s->seen, 8, due);
    if (++s->steps == 5 && s->ring >= 0) {
        s->plat.notifier_ring(s->plat.self, s->ring);
    }
}

static void
stepper_open(stepper *s, mm_handle world, uint64_t every_ns)
{
    *s = (stepper){ .plat = open_engine(world), .every_ns = every_ns, .ring = -1 };
    void *thread = s;
    CHECK_INT(s->plat.thread_start(s->plat.self, stepper_step, s, &thread), MM_OK);
    CHECK(thread == NULL);   /* nobody runs it: the world does */
    s->plat.thread_join(s->plat.self, thread);
    CHECK_INT(s->steps, 0);
    mmi_sim_attach(&s->plat, stepper_step, s);
}

static void
test_an_engine_is_stepped_when_its_deadline_has_come_and_not_before(void)
{
    mm_handle world = open_world(1);
    stepper s;
    stepper_open(&s, world, 10 * MS);
    uint64_t start = now_of(world);
    CHECK_INT(mm_sim_run(world, 1), MM_OK);
    CHECK_INT(s.steps, 1);
    CHECK_INT(mm_sim_run(world, 10 * MS - 2), MM_OK);
    CHECK_INT(s.steps, 1);
    CHECK_INT(mm_sim_run(world, 1), MM_OK);
    CHECK_INT(s.steps, 2);
    CHECK_INT(s.last_ns, start + 10 * MS);
    CHECK_INT(mm_sim_run(world, 100 * MS), MM_OK);
    CHECK_INT(s.steps, 12);
    s.plat.free(s.plat.self);
    CHECK_INT(mm_sim_run(world, 100 * MS), MM_OK);
    CHECK_INT(s.steps, 12);
    CHECK_INT(mm_sim_close(world), MM_OK);
}

static void
test_an_interrupted_engine_is_stepped_at_once_and_once(void)
{
    mm_handle world = open_world(1);
    stepper s;
    stepper_open(&s, world, UINT64_MAX);
    CHECK_INT(mm_sim_run(world, HOUR), MM_OK);
    CHECK_INT(s.steps, 1);
    uint64_t now = now_of(world);
    s.plat.interrupt(s.plat.self);
    s.plat.interrupt(s.plat.self);
    CHECK_INT(mm_sim_run(world, HOUR), MM_OK);
    CHECK_INT(s.steps, 2);
    CHECK_INT(s.last_ns, now);
    s.plat.free(s.plat.self);
    CHECK_INT(mm_sim_close(world), MM_OK);
}

static void
test_a_wait_runs_the_world_until_it_is_rung_or_its_time_has_come(void)
{
    mm_handle world = open_world(1);
    mmi_plat waiting = open_engine(world);
    stepper s;
    int n;
    CHECK_INT(waiting.notifier_open(waiting.self, &n), MM_OK);
    stepper_open(&s, world, 10 * MS);
    s.ring = n;
    uint64_t start = now_of(world);
    CHECK_INT(waiting.wait(waiting.self, n, start + 30 * MS), MM_ETIMEDOUT);
    CHECK_INT(now_of(world), start + 30 * MS);
    CHECK_INT(waiting.wait(waiting.self, n, UINT64_MAX), MM_OK);
    CHECK_INT(s.steps, 5);
    CHECK_INT(now_of(world), start + 40 * MS);
    waiting.notifier_clear(waiting.self, n);
    CHECK_INT(waiting.wait(waiting.self, n, UINT64_MAX), MM_ETIMEDOUT);   /* an hour, not ever */
    CHECK_INT(now_of(world), start + 40 * MS + HOUR);
    waiting.free(waiting.self);
    s.plat.free(s.plat.self);
    CHECK_INT(mm_sim_close(world), MM_OK);
}

static void
test_an_engine_that_never_rests_does_not_stop_the_clock(void)
{
    mm_handle world = open_world(1);
    stepper s;
    stepper_open(&s, world, 0);
    uint64_t start = now_of(world);
    CHECK_INT(mm_sim_run(world, 5000), MM_OK);
    CHECK_INT(now_of(world), start + 5000);
    CHECK(s.steps > 1000);
    s.plat.free(s.plat.self);
    CHECK_INT(mm_sim_close(world), MM_OK);
}

static void
test_notifiers_run_out_and_a_closed_one_comes_back_silent(void)
{
    mm_handle world = open_world(1);
    mmi_plat p = open_engine(world);
    int n = -1;
    for (int i = 0; i < SIM_NOTIFIERS_MAX; i++) {
        CHECK_INT(p.notifier_open(p.self, &n), MM_OK);
    }
    CHECK_INT(p.notifier_open(p.self, &n), MM_EMFILE);
    p.notifier_ring(p.self, 9);
    p.notifier_close(p.self, 9);
    CHECK_INT(p.notifier_open(p.self, &n), MM_OK);
    CHECK_INT(n, 9);
    CHECK_INT(p.wait(p.self, n, 0), MM_ETIMEDOUT);
    p.free(p.self);
    CHECK_INT(mm_sim_close(world), MM_OK);
}

static void
test_look_ups_take_their_time_and_are_told_once(void)
{
    mm_handle world = open_world(1);
    stepper s;
    mmi_addr found[2];
    stepper_open(&s, world, UINT64_MAX);
    const mmi_plat *p = &s.plat;
    CHECK_INT(mm_sim_run(world, 1), MM_OK);
    CHECK_INT(p->resolve(p->self, "there", 5, 1, found, 2), MM_EAGAIN);
    CHECK_INT(p->resolve(p->self, "nowhere.invalid", 5, 2, found, 2), MM_EAGAIN);
    CHECK_INT(p->resolve(p->self, "gone", 5, 3, found, 2), MM_EAGAIN);
    p->resolve_forget(p->self, 3);
    CHECK_INT(p->resolve_take(p->self, 1, found, 2), MM_EAGAIN);
    CHECK_INT(mm_sim_run(world, 999), MM_OK);
    CHECK_INT(s.events, 0);
    CHECK_INT(mm_sim_run(world, 1), MM_OK);
    CHECK_INT(s.events, 2);
    CHECK_INT(mm_sim_run(world, MS), MM_OK);
    CHECK_INT(s.events, 2);
    CHECK_INT(p->resolve_take(p->self, 1, found, 2), 1);
    CHECK(found[0].port == 5 && mmi_addr_loopback(&found[0]));
    CHECK_INT(p->resolve_take(p->self, 2, found, 2), MM_ENOHOST);
    CHECK_INT(p->resolve_take(p->self, 3, found, 2), MM_EAGAIN);
    CHECK_INT(p->resolve_wait(p->self, "nowhere.invalid", 5, found, 2), MM_ENOHOST);
    CHECK_INT(p->resolve(p->self, "127.0.0.1", 5, 1, found, 0), MM_EADDRINVAL);
    CHECK_INT(p->resolve(p->self, "::1", 5, 1, found, 2), 1);
    s.plat.free(s.plat.self);
    CHECK_INT(mm_sim_close(world), MM_OK);
}

static void
test_look_ups_run_out_and_one_that_nobody_takes_does_not_stop_the_clock(void)
{
    mm_handle world = open_world(1);
    mmi_plat p = open_engine(world);
    mmi_addr found[1];
    for (uint64_t tag = 1; tag <= SIM_LOOKUPS_MAX; tag++) {
        CHECK_INT(p.resolve(p.self, "there", 1, tag, found, 1), MM_EAGAIN);
    }
    CHECK_INT(p.resolve(p.self, "there", 1, 99, found, 1), MM_ENOMEM);
    p.resolve_forget(p.self, 5);
    CHECK_INT(p.resolve(p.self, "there", 1, 99, found, 1), MM_EAGAIN);
    uint64_t start = now_of(world);
    CHECK_INT(mm_sim_run(world, HOUR), MM_OK);   /* in steps of a nanosecond this never ends */
    CHECK_INT(now_of(world), start + HOUR);
    p.free(p.self);
    CHECK_INT(mm_sim_run(world, HOUR), MM_OK);
    CHECK_INT(mm_sim_close(world), MM_OK);
}

static uint64_t
hash_of(uint64_t seed, mm_sim_state *state)
{
    mm_handle world = open_world(seed);
    mmi_plat p = open_engine(world);
    uint8_t bytes[8];
    int s, l;
    mmi_addr a = { .kind = MMI_ADDR_TCP4, .any = true };
    CHECK_INT(p.listen(p.self, &a, &l), MM_OK);
    for (int i = 0; i < 600; i++) {
        p.random(p.self, bytes, sizeof bytes);
        a.port = bytes[0] % 2 == 0 ? a.port : 1;
        (void)p.connect(p.self, &a, &s);
    }
    CHECK_INT(mm_sim_inspect(world, state), MM_OK);
    char line[SIM_TRACE_WIDTH];
    CHECK_INT(mm_sim_trace(world, state->trace_lines, line, sizeof line), MM_EINVAL);
    CHECK_INT(mm_sim_trace(world, state->trace_lines - 1, line, sizeof line), MM_OK);
    CHECK(strstr(line, "engine 0 refused 0: 1") != NULL);
    CHECK_INT(mm_sim_trace(world, state->trace_lines - SIM_TRACE_LINES, line, 5), MM_OK);
    CHECK_INT(strlen(line), 4);
    CHECK_INT(mm_sim_trace(world, state->trace_lines - SIM_TRACE_LINES - 1, line, sizeof line),
              MM_EINVAL);
    p.free(p.self);
    CHECK_INT(mm_sim_close(world), MM_OK);
    return state->trace_hash;
}

static void
test_the_same_seed_gives_the_same_trace_and_another_seed_another(void)
{
    mm_sim_state one, two;
    CHECK(hash_of(7, &one) == hash_of(7, &two));
    CHECK_INT(one.trace_lines, two.trace_lines);
    CHECK(one.now_ns == two.now_ns);
    CHECK(hash_of(8, &two) != one.trace_hash);
}

int
main(void)
{
    RUN(test_options_that_make_no_sense_open_no_world);
    RUN(test_there_are_so_many_worlds_and_a_closed_one_makes_room);
    RUN(test_a_closed_world_says_so_to_every_call);
    RUN(test_a_world_outlives_its_engines_and_holds_so_many);
    RUN(test_running_moves_the_clock_by_exactly_that_and_a_jump_moves_the_wall_only);
    RUN(test_an_engine_is_stepped_when_its_deadline_has_come_and_not_before);
    RUN(test_an_interrupted_engine_is_stepped_at_once_and_once);
    RUN(test_a_wait_runs_the_world_until_it_is_rung_or_its_time_has_come);
    RUN(test_an_engine_that_never_rests_does_not_stop_the_clock);
    RUN(test_notifiers_run_out_and_a_closed_one_comes_back_silent);
    RUN(test_look_ups_take_their_time_and_are_told_once);
    RUN(test_look_ups_run_out_and_one_that_nobody_takes_does_not_stop_the_clock);
    RUN(test_the_same_seed_gives_the_same_trace_and_another_seed_another);
    return 0;
}
