/*
 * test_msg.c: messages: copies, joins, wrappings, strippings, references, and the lack of memory.
 * Not here: queues of them.
 * Law: the address sanitizer sees that nothing leaks and nothing freed is read.
 */
#include "base/limits.h"
#include "fake.h"

static void
test_a_copy_is_one_frame_with_its_own_body(void)
{
    uint8_t body[4] = "abc";
    mmi_msg *m = mmi_msg_copy(body, 3);
    body[0] = 'X';
    CHECK_INT(m->frame_count, 1);
    CHECK_INT(m->refs, 1);
    CHECK_INT(m->frames[0].head_size, 0);
    CHECK_INT(mmi_msg_cost(m), 3 + MMI_FRAME_OVERHEAD);
    fake_is(m, "abc");
}

static void
test_a_copy_of_nothing_is_an_empty_frame(void)
{
    mmi_msg *m = mmi_msg_copy(NULL, 0);
    CHECK_INT(m->frame_count, 1);
    CHECK(m->frames[0].data != NULL);
    fake_is(m, "");
    m = mmi_msg_copy_frames(NULL, (const uint64_t[]){ 0, 0 }, 2);
    fake_is(m, "|");
}

/* Head, frame and body in one block: the second allocation is never reached. */
static void
test_a_small_copy_is_one_allocation(void)
{
    mm_test_alloc_fail(2);
    mmi_msg *m = mmi_msg_copy((const uint8_t *)"x", 1);
    CHECK(m != NULL);
    CHECK(mmi_msg_copy((const uint8_t *)"x", 1) == NULL);
    mm_test_alloc_fail(0);
    mmi_msg_unref(m);
}

static void
test_copied_frames_lie_end_to_end(void)
{
    const uint64_t sizes[] = { 2, 0, 3 };
    mmi_msg *m = mmi_msg_copy_frames((const uint8_t *)"aabbb", sizes, 3);
    CHECK_INT(m->size, 5);
    CHECK_INT(mmi_msg_cost(m), 5 + 3 * MMI_FRAME_OVERHEAD);
    fake_is(m, "aa||bbb");
}

static void
test_gathered_frames_are_copied_from_where_they_lie(void)
{
    const mm_body frames[] = { { "aa", 2 }, { NULL, 0 }, { "bbb", 3 } };
    mmi_msg *m = mmi_msg_gather(frames, 3);
    CHECK_INT(m->size, 5);
    fake_is(m, "aa||bbb");
    mm_test_alloc_fail(1);
    CHECK(mmi_msg_gather(frames, 3) == NULL);
    mm_test_alloc_fail(0);
}

static void
test_sizes_that_cannot_be_added_are_no_memory(void)
{
    const uint64_t huge[] = { UINT64_MAX, 1 }, half[] = { SIZE_MAX / 2, SIZE_MAX / 2 };
    const mm_body halves[] = { { "x", SIZE_MAX / 2 }, { "x", SIZE_MAX / 2 } };
    CHECK(mmi_msg_gather(halves, 2) == NULL);
    CHECK(mmi_msg_new(huge, 2) == NULL);
    CHECK(mmi_msg_new(half, 2) == NULL);
}

static void
test_an_adopted_block_is_freed_with_the_message(void)
{
    uint8_t *block = mmi_realloc(NULL, 5);
    memcpy(block, "12345", 5);
    mm_test_alloc_fail(1);
    CHECK(mmi_msg_adopt(block, 5) == NULL);
    mmi_msg *m = mmi_msg_adopt(block, 5);
    CHECK(m->frames[0].data == block);
    fake_is(m, "12345");
}

static void
test_join_takes_all_frames_and_forgets_encoded_heads(void)
{
    mmi_msg *parts[] = { FRAMES("a", "b"), fake_text(""), FRAMES("c", "d") };
    parts[0]->frames[1].head_size = 2;
    mm_test_alloc_fail(1);
    CHECK(mmi_msg_join(parts, 3) == NULL);
    mmi_msg *m = mmi_msg_join(parts, 3);
    CHECK_INT(m->frames[1].head_size, 0);
    CHECK(m->frames[0].data == parts[0]->frames[0].data);
    fake_is(m, "a|b||c|d");
}

static void
test_join_of_one_is_that_one_unless_it_is_shared(void)
{
    mmi_msg *m = fake_text("x");
    CHECK(mmi_msg_join(&m, 1) == m);
    mmi_msg *second = mmi_msg_ref(m);
    mmi_msg *joined = mmi_msg_join(&second, 1);
    CHECK(joined != m);
    fake_is(m, "x");
    fake_is(joined, "x");
}

static void
test_prepend_keeps_the_body_where_it_is(void)
{
    mmi_msg *m = FRAMES("b", "c");
    const uint8_t *where = m->frames[0].data;
    m->pipe_id = 7;
    m->key = 8;
    m->envelope_count = 1;
    m->frames[0].head_size = 2;
    mm_test_alloc_fail(1);
    CHECK(mmi_msg_prepend(m, (const uint8_t *)"a", 1) == NULL);
    mmi_msg *out = mmi_msg_prepend(m, (const uint8_t *)"a", 1);
    CHECK(out->frames[1].data == where && out->frames[1].head_size == 2);
    CHECK(out->pipe_id == 7 && out->key == 8 && out->envelope_count == 1);
    fake_is(out, "a|b|c");
}

static void
test_unwrap_gives_back_what_was_wrapped(void)
{
    mmi_msg *m = fake_text("body");
    const uint64_t sizes[] = { 4, 0 };
    mmi_msg *out = mmi_msg_prepend_frames(m, (const uint8_t *)"id12", sizes, 2);
    CHECK_INT(out->size, 8);
    CHECK(mmi_msg_unwrap(out) == m);
    CHECK_INT(m->refs, 1);
    fake_is(m, "body");
}

static void
test_strip_of_the_only_reference_is_in_place_and_cannot_fail(void)
{
    mmi_msg *m = FRAMES("a", "", "b");
    m->envelope_count = 2;
    m->pipe_id = 5;
    mm_test_alloc_fail(1);
    CHECK(mmi_msg_strip(m, 1) == m);
    mm_test_alloc_fail(0);
    CHECK(m->envelope_count == 1 && m->pipe_id == 5 && m->size == 1);
    CHECK(mmi_msg_strip(m, 1) == m);
    CHECK_INT(m->envelope_count, 0);
    fake_is(m, "b");
}

static void
test_strip_of_a_shared_message_leaves_the_other_holder_alone(void)
{
    mmi_msg *m = FRAMES("a", "b");
    mmi_msg *other = mmi_msg_ref(m);
    mm_test_alloc_fail(1);
    CHECK(mmi_msg_strip(m, 1) == NULL);
    mmi_msg *out = mmi_msg_strip(m, 1);
    CHECK(out != m && out->frames[0].data == other->frames[1].data);
    fake_is(other, "a|b");
    fake_is(out, "b");
}

static void
test_a_borrowed_message_is_owned_by_copying_all_its_frames(void)
{
    mmi_msg m;
    mmi_frame room[MMI_BORROW_FRAMES_MAX];
    uint8_t topic[] = "to", body[] = "what";
    mmi_msg_borrow(&m, room, topic, 2);
    mmi_msg_borrow_more(&m, body, 4);
    CHECK(m.frame_count == 2 && m.size == 6);
    CHECK_INT(mmi_msg_cost(&m), 6 + 2 * MMI_FRAME_OVERHEAD);
    m.pipe_id = 7;
    m.key = 8;
    mm_test_alloc_fail(1);
    CHECK(mmi_msg_own(&m) == NULL);
    mm_test_alloc_fail(0);
    mmi_msg *own = mmi_msg_own(&m);
    memset(topic, 0, sizeof topic);
    memset(body, 0, sizeof body);
    CHECK(own->frame_count == 2 && own->size == 6 && own->pipe_id == 7 && own->key == 8);
    CHECK(memcmp(own->frames[0].data, "to", 2) == 0 && memcmp(own->frames[1].data, "what", 4) == 0);
    mmi_msg_unref(own);
}

static void
test_a_borrowed_message_may_have_empty_frames(void)
{
    mmi_msg m;
    mmi_frame room[MMI_BORROW_FRAMES_MAX];
    mmi_msg_borrow(&m, room, NULL, 0);
    mmi_msg_borrow_more(&m, NULL, 0);
    mmi_msg *own = mmi_msg_own(&m);
    CHECK(own->frame_count == 2 && own->size == 0);
    mmi_msg_unref(own);
}

static void
test_a_message_lives_as_long_as_one_reference(void)
{
    mmi_msg *m = fake_text("x");
    for (int i = 0; i < 1000; i++) {
        mmi_msg_ref(m);
    }
    for (int i = 0; i < 1000; i++) {
        mmi_msg_unref(m);
    }
    mmi_msg_unref(NULL);
    fake_is(m, "x");
}

int
main(void)
{
    RUN(test_a_copy_is_one_frame_with_its_own_body);
    RUN(test_a_copy_of_nothing_is_an_empty_frame);
    RUN(test_a_small_copy_is_one_allocation);
    RUN(test_copied_frames_lie_end_to_end);
    RUN(test_gathered_frames_are_copied_from_where_they_lie);
    RUN(test_sizes_that_cannot_be_added_are_no_memory);
    RUN(test_an_adopted_block_is_freed_with_the_message);
    RUN(test_join_takes_all_frames_and_forgets_encoded_heads);
    RUN(test_join_of_one_is_that_one_unless_it_is_shared);
    RUN(test_prepend_keeps_the_body_where_it_is);
    RUN(test_unwrap_gives_back_what_was_wrapped);
    RUN(test_strip_of_the_only_reference_is_in_place_and_cannot_fail);
    RUN(test_strip_of_a_shared_message_leaves_the_other_holder_alone);
    RUN(test_a_borrowed_message_is_owned_by_copying_all_its_frames);
    RUN(test_a_borrowed_message_may_have_empty_frames);
    RUN(test_a_message_lives_as_long_as_one_reference);
    return 0;
}
