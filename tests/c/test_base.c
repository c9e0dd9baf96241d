/*
 * test_base.c: allocation and its test hook, lists, and the edges of ring, map and timers.
 * Not here: their everyday life against a model (test_ring.c, test_map.c, test_timer.c).
 * Law: the hook fails exactly the n-th allocation, once.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "base/map.h"
#include "base/ring.h"
#include "base/timer.h"
#include "check.h"

static void
test_the_hook_fails_the_nth_allocation_once(void)
{
    for (int64_t n = 0; n <= 5; n++) {
        mm_test_alloc_fail(n);
        for (int64_t i = 1; i <= 8; i++) {
            void *p = i % 2 == 0 ? mmi_alloc(10) : mmi_realloc(NULL, 10);
            CHECK_INT(p == NULL, i == n);
            mmi_free(p);
        }
    }
    mm_test_alloc_fail(1);
    mm_test_alloc_fail(0);
    void *p = mmi_alloc(1);
    CHECK(p != NULL);
    mmi_free(p);
}

static void
test_live_blocks_and_bytes_are_counted_from_the_first_look_on(void)
{
    int64_t start, now;
    void *before = mmi_alloc(100);
    CHECK_INT(mm_test_alloc_live(&start), 0);
    CHECK_INT(start, 0);
    uint8_t *a = mmi_alloc(1000), *b = mmi_realloc(NULL, 10);
    CHECK_INT(mm_test_alloc_live(&now), 2);
    CHECK(now >= 1010 && now < 1200);
    a = mmi_realloc(a, 5000);
    CHECK_INT(mm_test_alloc_live(&now), 2);
    CHECK(now >= 5010 && now < 5200);
    mm_test_alloc_fail(1);
    CHECK(mmi_realloc(a, 9000) == NULL);   /* which changes nothing */
    mm_test_alloc_fail(0);
    mmi_free(a);
    mmi_free(b);
    mmi_free(NULL);
    CHECK_INT(mm_test_alloc_live(&now), 0);
    CHECK_INT(now, 0);
    mmi_free(before);
    CHECK_INT(mm_test_alloc_live(&now), -1);
}

static void
test_allocation_is_zeroed_and_of_nothing_is_something(void)
{
    uint8_t *a = mmi_alloc(1000), *none = mmi_alloc(0), *less = mmi_realloc(NULL, 0);
    CHECK(a != NULL && none != NULL && less != NULL && none != less);
    for (int i = 0; i < 1000; i++) {
        CHECK_INT(a[i], 0);
        a[i] = 7;
    }
    mm_test_alloc_fail(1);
    CHECK(mmi_realloc(a, 2000) == NULL);
    mm_test_alloc_fail(0);
    CHECK_INT(a[999], 7);   /* still there, and still ours */
    a = mmi_realloc(a, 2000);
    CHECK(a != NULL && a[999] == 7);
    mmi_free(a);
    mmi_free(none);
    mmi_free(less);
    mmi_free(NULL);
}

static void
test_a_failed_assertion_says_where_and_ends_the_program(void)
{
    int ends[2], status;
    char text[300] = "";
    CHECK_INT(pipe(ends), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        MMI_ASSERT(ends[0] == -1);
        _exit(0);
    }
    close(ends[1]);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(read(ends[0], text, sizeof text - 1) > 0);
    CHECK(strstr(text, "ends[0] == -1") != NULL && strstr(text, "test_base.c:") != NULL);
    close(ends[0]);
}

typedef struct item {
    int number;
    mmi_list node;
} item;

static void
test_a_list_keeps_order_and_each_node_knows_whether_it_is_on_one(void)
{
    mmi_list list;
    item items[5] = { { .number = 0 } };
    mmi_list_init(&list);
    CHECK(mmi_list_empty(&list) && mmi_list_pop_front(&list) == NULL);
    for (int i = 0; i < 5; i++) {
        items[i].number = i;
        CHECK(!mmi_list_linked(&items[i].node));
        mmi_list_rm(&items[i].node);   /* all zeroes: on no list */
        mmi_list_push_back(&list, &items[i].node);
        CHECK(mmi_list_linked(&items[i].node));
    }
    mmi_list_rm(&items[2].node);
    mmi_list_rm(&items[2].node);
    CHECK(!mmi_list_linked(&items[2].node));
    mmi_list_push_back(&list, &items[2].node);
    const int wanted[] = { 0, 1, 3, 4, 2 };
    int at = 0;
    MMI_LIST_EACH (&list, node, after) {
        CHECK_INT(MMI_CONTAINER_OF(node, item, node)->number, wanted[at++]);
        mmi_list_rm(node);             /* the walk allows it */
    }
    CHECK_INT(at, 5);
    CHECK(mmi_list_empty(&list));
    MMI_LIST_EACH (&list, node, after) {
        CHECK(node == NULL);
    }
}

static mmi_msg *
text_msg(const char *text)
{
    mmi_msg *m = mmi_msg_copy((const uint8_t *)text, strlen(text));
    CHECK(m != NULL);
    return m;
}

static void
test_a_ring_of_no_room_takes_nothing_and_one_of_one_takes_one(void)
{
    mmi_ring none, one;
    mmi_msg *m = text_msg("x");
    mmi_ring_init(&none, 0, SIZE_MAX);
    CHECK(!mmi_ring_fits(&none, 0) && mmi_ring_low(&none));
    CHECK_INT(mmi_ring_push(&none, m), MM_EAGAIN);
    mmi_ring_init(&one, 1, 0);
    CHECK_INT(mmi_ring_push(&one, m), MM_OK);
    CHECK(!mmi_ring_low(&one) && !mmi_ring_fits(&one, 0));
    CHECK(mmi_ring_remove_at(&one, 0) == m);
    CHECK(one.bytes == 0 && mmi_ring_low(&one));
    CHECK_INT(mmi_ring_push(&one, m), MM_OK);
    mmi_ring_fini(&one);
    CHECK(one.count == 0 && one.bytes == 0 && one.count_max == 1);
    CHECK_INT(mmi_ring_push(&one, text_msg("y")), MM_OK);   /* after fini it is as after init */
    mmi_ring_fini(&one);
    mmi_ring_fini(&none);
}

static void
test_a_ring_does_not_add_up_past_the_end_of_numbers(void)
{
    mmi_ring r;
    mmi_ring_init(&r, 10, 1000);
    CHECK_INT(mmi_ring_push(&r, text_msg("x")), MM_OK);
    CHECK(!mmi_ring_fits(&r, SIZE_MAX) && !mmi_ring_fits(&r, SIZE_MAX - 10));
    CHECK(mmi_ring_fits(&r, 1000 - r.bytes) && !mmi_ring_fits(&r, 1001 - r.bytes));
    mmi_ring_fini(&r);
    r.cap = r.slot_count = UINT32_MAX / 2 + 1;   /* cannot be doubled */
    CHECK_INT(mmi_ring_reserve(&r), MM_ENOMEM);
}

static void
test_a_map_finds_its_way_round_keys_that_collide(void)
{
    mmi_map map = { .cap = 0 };
    char values[64];
    uint64_t keys[64];
    uint32_t found = 0;
    CHECK_INT(mmi_map_put(&map, 1, &values[0]), MM_OK);
    /* Keys of one home in a table of 128, found by trying: 64 of them stand in one run. */
    for (uint64_t key = 2; found < 64; key++) {
        uint64_t mixed = (key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15);
        if (((uint32_t)(mixed >> 32) & 127) == 120) {
            keys[found++] = key;
        }
    }
    CHECK(mmi_map_rm(&map, 1) == &values[0]);
    for (uint32_t i = 0; i < 64; i++) {
        CHECK_INT(mmi_map_put(&map, keys[i], &values[i]), MM_OK);
    }
    CHECK(map.count == 64 && map.cap >= 128);
    for (uint32_t i = 0; i < 64; i += 2) {   /* holes all along the run */
        CHECK(mmi_map_rm(&map, keys[i]) == &values[i]);
        CHECK(mmi_map_rm(&map, keys[i]) == NULL);
        for (uint32_t k = i + 1; k < 64; k++) {
            CHECK(mmi_map_find(&map, keys[k]) == &values[k]);
        }
    }
    CHECK_INT(map.count, 32);
    CHECK(mmi_map_find(&map, 0) == NULL && mmi_map_find(&map, UINT64_MAX) == NULL);
    mmi_map_fini(&map);
    CHECK(map.count == 0 && map.slots == NULL && mmi_map_find(&map, keys[1]) == NULL);
}

static void
test_timers_of_one_time_all_come_out_and_edges_of_time_are_times(void)
{
    mmi_timers t = { .count = 0 };
    mmi_timer same[40] = { { .index = 0 } }, zero = { 0 }, last = { 0 };
    for (int i = 0; i < 40; i++) {
        CHECK_INT(mmi_timer_set(&t, &same[i], 500), MM_OK);
    }
    CHECK_INT(mmi_timer_set(&t, &zero, 0), MM_OK);
    CHECK_INT(mmi_timer_set(&t, &last, UINT64_MAX), MM_OK);
    CHECK(mmi_timers_pop_due(&t, 0) == &zero && mmi_timers_pop_due(&t, 499) == NULL);
    uint64_t seen = 0;
    for (int i = 0; i < 40; i++) {
        mmi_timer *due = mmi_timers_pop_due(&t, 500);
        CHECK(due >= same && due < same + 40 && due->index == 0);
        seen |= (uint64_t)1 << (due - same);
    }
    CHECK(seen == ((uint64_t)1 << 40) - 1);
    CHECK(mmi_timers_pop_due(&t, UINT64_MAX - 1) == NULL);
    CHECK(mmi_timers_next(&t) == UINT64_MAX && mmi_timers_pop_due(&t, UINT64_MAX) == &last);
    mmi_timers_fini(&t);
}

static void
test_a_text_is_copied_whole_or_cut_to_fit_and_ends_there(void)
{
    char out[8];
    memset(out, 'x', sizeof out);
    mmi_text_copy(out, 4, "abc");
    CHECK(memcmp(out, "abc\0xxxx", sizeof out) == 0);
    mmi_text_copy(out, 4, "defg");
    CHECK(memcmp(out, "def\0xxxx", sizeof out) == 0);
    mmi_text_copy(out, 4, "");
    CHECK(memcmp(out, "\0ef\0xxxx", sizeof out) == 0);
    mmi_text_copy(out, 1, "abc");
    CHECK(memcmp(out, "\0ef\0xxxx", sizeof out) == 0);
    mmi_text_copy(out, 2, NULL);
    CHECK(memcmp(out, "\0ef\0xxxx", sizeof out) == 0);
}

int
main(void)
{
    RUN(test_live_blocks_and_bytes_are_counted_from_the_first_look_on);
    RUN(test_the_hook_fails_the_nth_allocation_once);
    RUN(test_allocation_is_zeroed_and_of_nothing_is_something);
    RUN(test_a_failed_assertion_says_where_and_ends_the_program);
    RUN(test_a_list_keeps_order_and_each_node_knows_whether_it_is_on_one);
    RUN(test_a_ring_of_no_room_takes_nothing_and_one_of_one_takes_one);
    RUN(test_a_ring_does_not_add_up_past_the_end_of_numbers);
    RUN(test_a_map_finds_its_way_round_keys_that_collide);
    RUN(test_timers_of_one_time_all_come_out_and_edges_of_time_are_times);
    RUN(test_a_text_is_copied_whole_or_cut_to_fit_and_ends_there);
    return 0;
}
