/*
 * test_sim_partition.c: partitions of the simulated world, its addresses, and its memory running
 * out.
 * Not here: the other faults (test_sim_faults.c).
 * Law: during a partition nothing arrives that way, whatever the sender does; what fails for want
 * of memory has changed nothing.
 */
#include "sim_rig.h"

enum { A, B };   /* the engines, by order of opening */

static int64_t
partition_get(sim_rig *r, int s)
{
    char buf[16];
    const mmi_plat *p = s == r->near_end ? &r->a : &r->b;
    return plat_get(p, s, buf, sizeof buf);
}

static void
test_a_partition_holds_one_direction_until_its_time(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    CHECK_INT(mm_sim_partition(r.world, A, B, 1000), MM_OK);
    CHECK_INT(plat_put(&r.a, r.near_end, "abc", 3), 3);
    CHECK_INT(plat_put(&r.b, r.far_end, "de", 2), 2);
    CHECK_INT(partition_get(&r, r.near_end), 2);
    CHECK_INT(mm_sim_run(r.world, 999), MM_OK);
    CHECK_INT(partition_get(&r, r.far_end), MM_EAGAIN);
    CHECK_INT(mm_sim_run(r.world, 1), MM_OK);
    CHECK_INT(partition_get(&r, r.far_end), 3);
    rig_close(&r);
}

static void
test_what_was_on_its_way_before_the_partition_waits_as_well(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_min_ns = 10, .latency_max_ns = 10 });
    CHECK_INT(plat_put(&r.a, r.near_end, "abc", 3), 3);
    r.a.finish(r.a.self, r.near_end);
    CHECK_INT(mm_sim_partition(r.world, A, B, 1000), MM_OK);
    CHECK_INT(mm_sim_run(r.world, 500), MM_OK);
    CHECK_INT(partition_get(&r, r.far_end), MM_EAGAIN);
    CHECK_INT(mm_sim_run(r.world, 500), MM_OK);
    CHECK_INT(partition_get(&r, r.far_end), 3);
    CHECK_INT(partition_get(&r, r.far_end), 0);
    rig_close(&r);
}

static void
test_closing_behind_a_partition_does_not_carry_anything_through_it(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    mmi_event event;
    CHECK_INT(r.b.watch(r.b.self, r.far_end, MMI_WATCH_READ, 5), MM_OK);
    CHECK_INT(mm_sim_partition(r.world, A, B, 1000), MM_OK);
    CHECK_INT(plat_put(&r.a, r.near_end, "abc", 3), 3);
    r.a.close(r.a.self, r.near_end);
    CHECK_INT(mm_sim_run(r.world, 999), MM_OK);
    CHECK_INT(r.b.poll(r.b.self, &event, 1, 0), 0);
    CHECK_INT(partition_get(&r, r.far_end), MM_EAGAIN);
    CHECK_INT(mm_sim_run(r.world, 1), MM_OK);
    CHECK_INT(r.b.poll(r.b.self, &event, 1, 0), 1);
    CHECK_INT(partition_get(&r, r.far_end), 3);
    CHECK_INT(partition_get(&r, r.far_end), 0);
    rig_close(&r);
}

static void
test_healing_ends_a_partition_at_once_and_for_ever_is_for_ever(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    CHECK_INT(mm_sim_partition(r.world, A, B, UINT64_MAX), MM_OK);
    CHECK_INT(plat_put(&r.a, r.near_end, "abc", 3), 3);
    CHECK_INT(mm_sim_run(r.world, 3600ull * 1000000000), MM_OK);
    CHECK_INT(partition_get(&r, r.far_end), MM_EAGAIN);
    CHECK_INT(mm_sim_heal(r.world), MM_OK);
    CHECK_INT(partition_get(&r, r.far_end), 3);
    rig_close(&r);
}

static void
test_a_partition_is_between_engines_that_are_there(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    CHECK_INT(mm_sim_partition(r.world, A, 2, 1), MM_EINVAL);
    CHECK_INT(mm_sim_partition(r.world, 2, A, 1), MM_EINVAL);
    CHECK_INT(mm_sim_partition(r.world, A, A, 1000), MM_OK);
    CHECK_INT(plat_put(&r.a, r.near_end, "abc", 3), 3);
    CHECK_INT(partition_get(&r, r.far_end), 3);
    rig_close(&r);
}

static void
test_a_listener_is_found_by_family_address_and_port(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    mmi_addr other = r.at, any = { .kind = MMI_ADDR_TCP6, .any = true, .port = 9 };
    int s;
    other.ip[3] = 2;
    CHECK_INT(r.a.connect(r.a.self, &other, &s), MM_ECONNREFUSED);
    CHECK_INT(r.b.listen(r.b.self, &other, &s), MM_OK);
    CHECK_INT(r.a.connect(r.a.self, &other, &s), MM_EAGAIN);
    other = addr_tcp6(r.at.port);
    CHECK_INT(r.a.connect(r.a.self, &other, &s), MM_ECONNREFUSED);
    CHECK_INT(r.b.listen(r.b.self, &any, &s), MM_OK);
    other = addr_tcp4(9);
    CHECK_INT(r.a.connect(r.a.self, &other, &s), MM_EAGAIN);
    CHECK_INT(r.b.listen(r.b.self, &other, &s), MM_EADDRINUSE);
    other = addr_unix("/x", "y");
    CHECK_INT(r.a.connect(r.a.self, &other, &s), MM_ECONNREFUSED);
    CHECK_INT(r.b.listen(r.b.self, &other, &s), MM_OK);
    CHECK_INT(r.b.listen(r.b.self, &other, &s), MM_EADDRINUSE);
    CHECK_INT(r.a.connect(r.a.self, &other, &s), MM_EAGAIN);
    rig_close(&r);
}

static void
test_calls_with_a_stream_that_is_gone_do_no_harm(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    const int none[] = { 0, -1, 1000000, r.near_end };
    int t;
    mmi_addr peer;
    r.a.close(r.a.self, r.near_end);
    for (size_t i = 0; i < MMI_COUNT_OF(none); i++) {
        CHECK_INT(plat_put(&r.a, none[i], "x", 1), MM_ECONNRESET);
        char c;
        CHECK_INT(plat_get(&r.a, none[i], &c, 1), MM_ECONNRESET);
        CHECK_INT(r.a.connected(r.a.self, none[i]), MM_ECONNREFUSED);
        CHECK_INT(r.a.accept(r.a.self, none[i], &t, &peer), MM_EAGAIN);
        CHECK_INT(r.a.watch(r.a.self, none[i], MMI_WATCH_READ, 1), MM_OK);
        r.a.finish(r.a.self, none[i]);
        r.a.close(r.a.self, none[i]);
    }
    rig_close(&r);
}

static uint32_t
partition_streams(const sim_rig *r)
{
    mm_sim_state state;
    CHECK_INT(mm_sim_inspect(r->world, &state), MM_OK);
    return state.open_streams;
}

static void
test_no_memory_for_a_stream_leaves_no_half_of_one(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    int failures = 0;
    for (int i = 0; i < 200; i++) {   /* past where the table of ends grows */
        for (int64_t n = 1; n < 6; n++) {
            uint32_t before = partition_streams(&r);
            int ends[2], l;
            mmi_addr at = addr_tcp4(0);
            mm_test_alloc_fail(n);
            int rc = i % 3 == 0   ? r.a.pair(r.a.self, ends)
                     : i % 3 == 1 ? r.a.listen(r.a.self, &at, &l)
                                  : r.a.connect(r.a.self, &r.at, ends);
            mm_test_alloc_fail(0);
            failures += rc == MM_ENOMEM;
            uint32_t more = rc == MM_ENOMEM || rc == MM_ECONNREFUSED ? 0 : i % 3 == 1 ? 1 : 2;
            CHECK(rc == MM_OK || rc == MM_EAGAIN || more == 0);
            CHECK_INT(partition_streams(&r), before + more);
        }
    }
    CHECK(failures > 200);
    rig_close(&r);
}

static void
test_no_memory_for_bytes_means_again_and_loses_none(void)
{
    sim_rig r = rig_open(&(mm_sim_opts){ .latency_max_ns = 0 });
    uint8_t sent = 0, next = 0, buf[256];
    int again = 0;
    for (int i = 0; i < 200; i++) {
        mm_test_alloc_fail(1 + i % 2);
        int64_t rc = plat_put(&r.a, r.near_end, &sent, 1);
        mm_test_alloc_fail(0);
        CHECK(rc == 1 || rc == MM_EAGAIN);
        sent = (uint8_t)(sent + (rc == 1));
        again += rc == MM_EAGAIN;
    }
    CHECK(again > 0 && sent > 0);
    int64_t got = plat_get(&r.b, r.far_end, buf, sizeof buf);
    CHECK_INT(got, sent);
    for (int64_t i = 0; i < got; i++) {
        CHECK_INT(buf[i], next++);
    }
    rig_close(&r);
}

int
main(void)
{
    RUN(test_a_partition_holds_one_direction_until_its_time);
    RUN(test_what_was_on_its_way_before_the_partition_waits_as_well);
    RUN(test_closing_behind_a_partition_does_not_carry_anything_through_it);
    RUN(test_healing_ends_a_partition_at_once_and_for_ever_is_for_ever);
    RUN(test_a_partition_is_between_engines_that_are_there);
    RUN(test_a_listener_is_found_by_family_address_and_port);
    RUN(test_calls_with_a_stream_that_is_gone_do_no_harm);
    RUN(test_no_memory_for_a_stream_leaves_no_half_of_one);
    RUN(test_no_memory_for_bytes_means_again_and_loses_none);
    return 0;
}
