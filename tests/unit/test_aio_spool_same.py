"""A spool for asyncio does what one for threads does: the same tests, over both.

Not here: what only a loop has: tasks, cancels, closing while they wait (test_aio_spool.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from meshmsg import aio
from tests.support import spooled
from tests.support.inloop import LoopThread
from tests.support.spooled import SpoolInLoop
from tests.unit import (
    test_spool,
    test_spool_arguments,
    test_spool_arrow,
    test_spool_batch,
    test_spool_compact,
    test_spool_cursor,
    test_spool_cursor_life,
    test_spool_kept,
    test_spool_life,
    test_spool_limits,
    test_spool_options,
    test_spool_origins,
    test_spool_starts,
    test_spool_there,
)

MODULES = (
    *(test_spool, test_spool_arguments, test_spool_arrow, test_spool_batch, test_spool_life),
    *(test_spool_cursor, test_spool_cursor_life, test_spool_kept, test_spool_limits),
    *(test_spool_compact, test_spool_origins, test_spool_options, test_spool_starts),
    test_spool_there,
)


@pytest.fixture(autouse=True)
def in_a_loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each spool of these tests is one of a loop."""
    thread = LoopThread()
    made: list[SpoolInLoop] = []

    def opened(path: str | Path, **options: Any) -> SpoolInLoop:
        made.append(SpoolInLoop(thread, thread.call(lambda: aio.Spool(path, **options))))
        return made[-1]

    def small(path: str | Path, **options: Any) -> SpoolInLoop:
        options.setdefault("durability", "os")
        return opened(path, segment_bytes=spooled.SEGMENT, **options)

    for module in MODULES:
        monkeypatch.setattr(module, "small", small, raising=False)
    monkeypatch.setattr(test_spool_limits.mm, "Spool", opened)
    yield
    for one in made:
        one.close()
    thread.close()


test_buffers = test_spool.test_each_kind_of_buffer_is_kept
test_copies = test_spool.test_what_is_put_is_a_copy
test_refused = test_spool.test_what_is_no_body_is_refused_with_a_hint
test_notes = test_spool.test_what_goes_with_a_message_comes_back
test_levels = test_spool.test_what_a_level_promises_is_so_when_a_call_returns
test_by_itself = test_spool.test_what_nobody_waits_for_gets_to_the_disk_by_itself
test_numbers = test_spool.test_it_goes_on_with_its_numbers
test_seeks = test_spool.test_a_reader_goes_where_it_is_told
test_seconds = test_spool.test_a_read_says_its_seconds
test_empty = test_spool.test_an_empty_body_is_a_message_and_no_messages_are_none
test_generators = test_spool.test_what_a_generator_gave_before_it_raised_is_kept
test_room = test_spool.test_a_message_has_room_in_a_segment_or_is_refused
test_trims = test_spool.test_trimming_removes_whole_files
test_calls = test_spool_arguments.test_wrong_arguments_of_calls_are_told
test_timeouts = test_spool_arguments.test_wrong_timeouts_are_told
test_wrong_notes = test_spool_arguments.test_what_cannot_go_with_a_message_is_told
test_closing = test_spool_life.test_closing_ends_who_waits
test_closing_a_reader = test_spool_life.test_closing_a_reader_ends_who_reads
test_many_close = test_spool_life.test_many_may_close_at_once
test_closed = test_spool_life.test_what_is_closed_says_so
test_open_once = test_spool_life.test_a_spool_is_open_once
test_full = test_spool_limits.test_a_full_spool_says_so_and_keeps_what_it_has
test_full_of_many = test_spool_limits.test_of_many_those_that_had_room_are_kept
test_blocking = test_spool_limits.test_blocking_waits_for_a_trim
test_oldest = test_spool_limits.test_the_oldest_go
test_newest = test_spool_limits.test_the_newest_is_not_kept
test_small_files = test_spool_limits.test_a_small_spool_has_small_files
test_syncs = test_spool_limits.test_syncs_are_counted
test_batches = test_spool_batch.test_a_batch_is_a_run_of_messages
test_batch_limits = test_spool_batch.test_limits_cut_a_batch
test_batches_go_on = test_spool_batch.test_reading_goes_on_where_a_batch_ended
test_batches_are_waited_for = test_spool_batch.test_a_batch_that_is_waited_for
test_batches_follow = test_spool_batch.test_an_iteration_a_read_and_a_batch_follow_each_other
test_batches_harmed = test_spool_batch.test_harm_ends_a_batch
test_batches_removed = test_spool_batch.test_what_was_removed_is_told
test_batches_wrong = test_spool_batch.test_wrong_limits_are_told
test_batches_closed = test_spool_batch.test_closing_ends_who_waits_for_a_batch
test_arrays = test_spool_arrow.test_each_kind_of_array_is_kept
test_arrays_wrong = test_spool_arrow.test_what_cannot_be_put_is_told
test_arrays_room = test_spool_arrow.test_a_batch_that_has_no_room_says_how_many_had
test_arrays_late = test_spool_arrow.test_a_batch_that_is_late_says_how_many_were_put
test_columns = test_spool_arrow.test_a_table_has_what_the_messages_have
test_done = test_spool_cursor.test_what_is_done_is_not_read_again
test_done_late = test_spool_cursor.test_a_reader_leaves_out_what_is_done_by_the_time_it_comes_there
test_done_files = test_spool_cursor.test_a_reader_of_many_batches_and_files_leaves_out_what_is_done
test_done_batches = test_spool_cursor.test_a_batch_ends_before_what_is_done
test_done_batches_waited = test_spool_cursor.test_a_batch_of_what_is_not_done_is_waited_for
test_starts = test_spool_cursor.test_where_a_new_one_begins
test_back_and_forth = test_spool_cursor.test_one_goes_back_and_forth_and_that_is_kept
test_saves = test_spool_cursor.test_a_save_waits_for_the_messages
test_one_name = test_spool_cursor.test_those_of_one_name_are_the_same
test_reader_ends = test_spool_cursor.test_a_reader_ends_with_its_cursor
test_listed = test_spool_cursor.test_they_are_listed_and_removed
test_removed = test_spool_cursor.test_what_was_removed_is_done_and_told
test_harmed = test_spool_cursor.test_a_reader_that_met_harm_says_so
test_wrong_names = test_spool_cursor.test_a_name_that_is_none_is_refused
test_long_names = test_spool_cursor.test_a_name_may_be_as_long_as_that
test_text_names = test_spool_cursor.test_a_name_is_text
test_wrong_starts = test_spool_cursor.test_a_start_that_is_none_is_refused
test_wrong_numbers = test_spool_cursor.test_numbers_that_cannot_be_done_are_refused
test_no_file = test_spool_cursor.test_no_room_for_its_file_is_told
test_saved_by_itself = test_spool_cursor_life.test_what_is_done_is_saved_by_itself
test_closing_saves = test_spool_cursor_life.test_closing_the_spool_saves_and_closes_them
test_closing_reads = test_spool_cursor_life.test_closing_ends_who_reads
test_unsaved = test_spool_cursor_life.test_one_that_cannot_be_saved_says_so
test_unsaved_told = test_spool_cursor_life.test_a_spool_tells_of_a_cursor_that_cannot_be_saved
test_acked = test_spool_kept.test_files_go_once_all_are_done_with_them
test_not_named = test_spool_kept.test_nothing_is_awaited_that_is_not_named
test_acked_closed = test_spool_kept.test_one_that_nobody_has_open_counts
test_acked_room = test_spool_kept.test_room_is_made_for_who_waits_for_it
test_aged = test_spool_kept.test_files_that_are_too_old_go
test_compacted = test_spool_compact.test_the_last_message_of_each_key_stays
test_compacted_tombstones = (
    test_spool_compact.test_a_tombstone_takes_what_was_before_it_and_goes_later
)
test_compacted_cursors = test_spool_compact.test_a_cursor_is_done_with_what_went
test_compacted_files = test_spool_compact.test_files_go_by_a_cursor_that_passed_what_went
test_compacted_leases = test_spool_compact.test_a_lease_holds_what_is_there_from_its_number_on
test_compacts = test_spool_compact.test_it_compacts_by_itself
test_segment_age = test_spool_compact.test_a_file_that_is_too_old_for_more_is_sealed
test_compacted_late = test_spool_compact.test_who_waits_no_longer_is_told_and_it_goes_on
test_compacted_closed = test_spool_compact.test_closed_it_says_so
test_compacted_wrong = test_spool_compact.test_wrong_arguments_are_told
test_leases = test_spool_kept.test_a_lease_holds_what_is_there
test_leases_end = test_spool_kept.test_a_lease_ends_by_itself
test_leases_full = test_spool_kept.test_a_lease_does_not_hold_what_has_no_room
test_wrong_seconds = test_spool_kept.test_seconds_have_limits
test_wrong_lists = test_spool_kept.test_names_to_wait_for_are_a_list_of_names
test_many_names = test_spool_kept.test_names_to_wait_for_have_a_limit
test_origins = test_spool_origins.test_a_repeat_is_not_put_and_says_which_it_was
test_origins_notes = (
    test_spool_origins.test_what_goes_with_a_message_goes_with_one_that_has_an_origin
)
test_origins_names = test_spool_origins.test_a_producer_is_a_name_or_sixteen_bytes
test_origins_limits = test_spool_origins.test_numbers_go_from_nought_to_as_many_as_there_are
test_origins_wrong = test_spool_origins.test_what_is_no_origin_is_refused
test_origins_many = test_spool_origins.test_of_many_those_are_put_that_were_not_there
test_origins_wait = test_spool_origins.test_a_repeat_waits_until_the_first_is_kept
test_origins_full = test_spool_origins.test_a_full_spool_tells_of_repeats
test_origins_dropped = test_spool_origins.test_what_is_dropped_is_not_known
test_origins_large = test_spool_origins.test_a_message_that_is_too_large_is_not_known
test_origins_broken = test_spool_origins.test_what_a_generator_gave_before_it_raised_is_known
test_origins_lives = test_spool_origins.test_the_next_life_knows
test_origins_gone = test_spool_origins.test_it_is_known_when_the_messages_went
test_starts = test_spool_starts.test_a_cursor_begins_where_it_says
test_starts_there = test_spool_starts.test_one_that_is_there_goes_on_where_it_was
test_starts_times = test_spool_starts.test_a_time_is_that_of_the_writing
test_starts_empty = test_spool_starts.test_of_a_spool_without_messages_all_begin_with_the_next
test_starts_gone = test_spool_starts.test_what_was_removed_is_an_error_only_if_it_was_named
test_starts_wrong = test_spool_starts.test_what_says_nothing_is_refused
test_starts_neither = test_spool_starts.test_what_is_neither_is_a_type_error
test_there = test_spool_there.test_what_is_there_is_opened_as_ever
test_not_there = test_spool_there.test_what_is_there_in_its_place_is_told
test_there_wrong = test_spool_there.test_it_is_true_or_false
test_topics = test_spool_options.test_a_topic_is_the_first_of_two_frames
test_topics_empty = test_spool_options.test_an_empty_topic_is_none
test_topics_origins = test_spool_options.test_what_has_a_topic_may_have_an_origin
test_topics_large = test_spool_options.test_a_topic_that_is_too_large_is_told
test_expires = test_spool_options.test_a_message_expires_at_a_time
test_later = test_spool_options.test_what_is_for_later_or_urgent_is_read_at_once
test_options_wrong = test_spool_options.test_what_cannot_be_said_is_refused
test_options_levels = test_spool_options.test_each_level_is_taken
